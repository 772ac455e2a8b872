"""Trees of many classes, of which nodes of few records have few: the trees that statistics of all classes grow."""

import numpy as np
import pytest
from scipy import sparse

import dforest
from dforest.estimators.forest import base as estimator

WAYS = ({"records_per_class": 0}, {}, {"records_per_class": 10**9})


def random_table(rng, n_classes):
    n = int(rng.integers(n_classes, 40 * n_classes))
    X = np.round(rng.standard_normal((n, 5)), int(rng.integers(0, 4)))
    y = rng.integers(0, n_classes, n)
    X[:, 0] += y / 10
    X[:, 4] = rng.integers(0, 12, n)
    if rng.integers(2):
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def weights(rng, n):
    return [None, rng.integers(0, 4, n), rng.random(n), 10.0 ** rng.integers(-12, 12, n)][rng.integers(4)]


def random_forest(rng):
    kind = [dforest.RandomForestClassifier, dforest.ExtraTreesClassifier][rng.integers(2)]
    return kind(
        3,
        criterion=["gini", "entropy"][rng.integers(2)],
        method=["hist", "dense"][rng.integers(2)],
        max_leaf_nodes=[None, None, 20][rng.integers(3)],
        min_samples_leaf=int(rng.integers(1, 4)),
        categorical_features=[None, [4]][rng.integers(2)],
        categorical_split=["subset", "one_hot"][rng.integers(2)],
        class_weight=[None, "balanced"][rng.integers(2)],
        n_jobs=int(rng.integers(1, 3)),
        random_state=0,
    )


@pytest.mark.parametrize("n_classes", [9, 64, 65, 300])
@pytest.mark.parametrize("seed", range(10))
def test_classes_that_are_absent_change_nothing(n_classes, seed):
    rng = np.random.default_rng([seed, n_classes])
    X, y = random_table(rng, n_classes)
    if rng.integers(3) == 0:
        X = sparse.csr_matrix(np.where(np.isnan(X), 0.0, X) * (rng.random(X.shape) < 0.3))
    forest, weight = random_forest(rng), weights(rng, len(y))
    if sparse.issparse(X):
        forest.set_params(categorical_features=None)
    shared = {"parallel_from": 1, "parallel_visits_from": 0} if rng.integers(2) else {}
    grown = []
    for way in WAYS:
        estimator.TUNING.update(way | shared)
        grown.append(forest.fit(X, y, weight).forest_.as_dict())
        estimator.TUNING.clear()
    for arrays in grown[1:]:
        for name, array in grown[0].items():
            assert array.tobytes() == arrays[name].tobytes(), name
