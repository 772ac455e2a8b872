"""Importances by permutation of boosted trees: those of scikit-learn, by all scores, and of queries."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.inspection import permutation_importance
from sklearn.metrics import make_scorer, mean_absolute_error

from dforest import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRanker,
    HistGradientBoostingRegressor,
    ImportanceDisplay,
)

rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(240, 4)), 1)
Z = 2 * X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=240)
WEIGHT = rng.integers(0, 3, 240).astype(float)
QID = np.arange(240) // 12
GRADE = np.clip(np.round(Z), 0, 4)
SMALL = {"max_iter": 8, "min_samples_leaf": 5, "random_state": 0, "max_leaf_nodes": 5}
OF_NUMBERS = [None, "neg_mean_absolute_error", make_scorer(mean_absolute_error)]


def assert_equal_importances(found, theirs):
    for name in ("importances", "importances_mean", "importances_std"):
        np.testing.assert_allclose(found[name], theirs[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(("model", "y", "scorings"), [
    (HistGradientBoostingClassifier(**SMALL), np.array(["no", "yes"])[(Z > 1).astype(int)], [None, "neg_log_loss", "roc_auc"]),
    (HistGradientBoostingClassifier(**SMALL), np.digitize(Z, [0, 1]), [None, "neg_log_loss", "balanced_accuracy"]),
    (HistGradientBoostingRegressor(**SMALL), Z, OF_NUMBERS),
    (HistGradientBoostingRegressor(**SMALL), np.stack([Z, X[:, 2] - Z], axis=1), OF_NUMBERS),
])  # fmt: skip
def test_importances_are_scikit_learns(model, y, scorings, weight):
    model.fit(X[:120], y[:120])
    rows, given = slice(120, None), {"n_repeats": 3, "random_state": 4}
    weight = weight if weight is None else weight[rows]
    for scoring in scorings:
        found = model.permutation_importance(X[rows], y[rows], weight, scoring=scoring, **given)
        theirs = permutation_importance(model, X[rows], y[rows], sample_weight=weight, scoring=scoring, **given)
        if weight is not None:  # rows of weight 0 are left out here, and permuted there
            there = weight > 0
            theirs = permutation_importance(
                model, X[rows][there], y[rows][there], sample_weight=weight[there], scoring=scoring, **given
            )
        assert_equal_importances(found, theirs)
        assert found.importances_mean[0] != 0


def test_losses_offsets_groups_frames_and_sparse_rows():
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["d"] = pd.Categorical(np.array(["u", "v", "w"])[rng.integers(0, 3, 240)])
    model = HistGradientBoostingRegressor("poisson", **SMALL).fit(frame, np.exp(Z), offset=0.1 * X[:, 0])
    given = {"random_state": 0, "n_repeats": 2}
    found = model.permutation_importance(frame, np.exp(Z), scoring="loss", offset=0.1 * X[:, 0], **given)
    shuffled = frame.copy()
    shuffles = np.random.RandomState(np.random.RandomState(0).randint(np.iinfo(np.int32).max + 1))
    order = np.arange(240)
    shuffles.shuffle(order)
    shuffled["a"] = frame["a"].to_numpy()[order]

    def loss(rows):
        p = model.predict(rows, offset=0.1 * X[:, 0])
        return (p - np.exp(Z) * np.log(p)).mean()

    assert found.importances[0, 0] == pytest.approx(loss(shuffled) - loss(frame))
    groups = model.permutation_importance(frame, np.exp(Z), feature_groups=[["a"], ["b", "d"]], **given)
    assert groups.importances.shape == (2, 2)
    alone = model.permutation_importance(frame, np.exp(Z), **given)
    np.testing.assert_allclose(groups.importances[0], alone.importances[0])
    dense = HistGradientBoostingRegressor(**SMALL).fit(X, Z)
    found = dense.permutation_importance(csr_matrix(X), Z, **given)
    assert_equal_importances(found, dense.permutation_importance(X, Z, **given))


def test_importances_of_queries():
    model = HistGradientBoostingRanker(**SMALL).fit(X, GRADE, qid=QID)
    given = {"n_repeats": 3, "random_state": 0}
    found = model.permutation_importance(X, GRADE, qid=QID, **given)
    theirs = permutation_importance(model, X, GRADE, scoring=lambda model, X, y: model.score(X, y, qid=QID), **given)
    assert_equal_importances(found, theirs)
    at_3 = model.permutation_importance(X, GRADE, group=[12] * 20, scoring="ndcg@3", **given)
    theirs = permutation_importance(model, X, GRADE, scoring=lambda model, X, y: model.score(X, y, qid=QID, k=3), **given)
    assert_equal_importances(at_3, theirs)
    pairwise = HistGradientBoostingRanker("pairwise", **SMALL).fit(X, Z, qid=QID)
    by_loss = pairwise.permutation_importance(X, Z, qid=QID, **given)
    assert by_loss.importances_mean.argmax() == 0 < by_loss.importances_mean[0]
    assert_equal_importances(by_loss, pairwise.permutation_importance(X, Z, qid=QID, scoring="loss", **given))


def test_pictures_of_rankers():
    pytest.importorskip("matplotlib")
    model = HistGradientBoostingRanker(**SMALL).fit(X, GRADE, qid=QID)
    display = ImportanceDisplay.from_estimator(model, X, GRADE, kind="permutation", qid=QID, n_repeats=2, random_state=0)
    found = model.permutation_importance(X, GRADE, qid=QID, n_repeats=2, random_state=0)
    assert display.importances_mean.tolist() == found.importances_mean.tolist()
    with pytest.raises(ValueError, match="neither qid nor group is given"):
        ImportanceDisplay.from_estimator(model, X, GRADE, kind="permutation")
    with pytest.raises(ValueError, match='qid given; allowed are these for rankers with kind="permutation" alone'):
        ImportanceDisplay.from_estimator(model, X, GRADE, qid=QID)


@pytest.mark.parametrize(("given", "message"), [
    ({"X": None}, "X=None; allowed are rows"),
    ({"n_repeats": 0}, "n_repeats=0; allowed are integers from 1"),
    ({"scoring": ["r2"]}, r"scoring=\['r2'\]; allowed are a name, a callable and None"),
    ({"scoring": "roc_auc"}, "scoring='roc_auc' can't score the 240 given rows"),
    ({"scoring": mean_absolute_error}, "allowed are scorers, such as make_scorer"),
    ({"feature_groups": [[9]]}, "a group of feature_groups holds 9"),
    ({"y": Z[:9]}, "X, y or sample_weight: Found input variables with inconsistent numbers of samples"),
    ({"offset": np.zeros(3)}, r"offset has the shape \(3,\)"),
])  # fmt: skip
def test_refused(given, message):
    model = HistGradientBoostingRegressor(**SMALL).fit(X, Z)
    with pytest.raises(ValueError, match=message):
        model.permutation_importance(**{"X": X, "y": Z} | given)
