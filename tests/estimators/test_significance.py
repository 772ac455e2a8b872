"""Importances without bias, their p-values, and importances of rows and of groups of columns."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score

from dforest import (
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
    corrected_importance,
    importance_permutation_test,
    importance_pvalues,
)
from dforest.core.predict.permutation import permute_values

rng = np.random.default_rng(0)
N = 300
# One column of each number of values; none has any bearing on y.
NOISE = np.stack([rng.integers(0, k, N) for k in (2, 3, 10, N, N)], axis=1).astype(float)
Y = rng.integers(0, 2, N)


def test_corrected_importances_do_not_favour_columns_of_many_values():
    forest = RandomForestClassifier(200, variable_importance="mdi", random_state=0).fit(NOISE, Y)
    biased = forest.variable_importance_
    found = np.stack([corrected_importance(forest.set_params(random_state=s), NOISE, Y, random_state=s) for s in range(8)])
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / 8**0.5
    assert biased[3] > 5 * biased[0] > 0
    assert (np.abs(mean) < 4.5 * error + 1e-4).all() and np.abs(mean).max() < biased[3] / 10


@pytest.mark.parametrize("kind", ["array", "frame", "numbered frame", "sparse", "categories"])
def test_a_column_that_matters_is_found_in_X_of_any_kind(kind):
    X = np.c_[NOISE, Y + rng.standard_normal(N)]
    parameters = {"array": {"categorical_features": [0], "feature_weights": {0: 2.0}}, "sparse": {"feature_weights": np.ones(6)}}
    forest = RandomForestClassifier(50, random_state=0, max_features=0.5, **parameters.get(kind, {}))
    given = {
        "array": X,
        "frame": pd.DataFrame(X, columns=list("abcdef"), index=rng.permutation(N)),
        "numbered frame": pd.DataFrame(X),
        "sparse": csr_matrix(X),
        "categories": pd.DataFrame(X, columns=list("abcdef")).astype({"a": "category", "c": "category"}),
    }[kind]
    found = corrected_importance(forest, given, Y, rng.integers(1, 3, N), random_state=0)
    assert found.shape == (6,) and found.argmax() == 5 and found[5] > 5 * np.abs(found[:5]).max()
    assert not hasattr(forest, "forest_") and forest.max_features == 0.5


def test_corrected_importances_of_other_forests():
    X = np.c_[NOISE, Y + rng.standard_normal(N)]
    assert corrected_importance(ExtraTreesRegressor(50, random_state=0), X, X[:, 5]).argmax() == 5
    times = np.column_stack([np.ones(N), np.exp(-X[:, 5])])
    assert corrected_importance(RandomSurvivalForest(30, random_state=0), X, times).argmax() == 5


def test_what_corrected_importances_refuse():
    with pytest.raises(TypeError, match="forest is a DecisionTreeClassifier"):
        corrected_importance(DecisionTreeClassifier(), NOISE, Y)
    with pytest.raises(TypeError, match="forest is a IsolationForest"):
        corrected_importance(IsolationForest(), NOISE, Y)
    with pytest.raises(ValueError, match="monotonic_cst=.* allowed is None"):
        corrected_importance(RandomForestClassifier(monotonic_cst=[1, 0, 0, 0, 0]), NOISE, Y)
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="polars"):
        corrected_importance(RandomForestClassifier(), polars.DataFrame(NOISE), Y)


def test_pvalues_by_hand():
    with pytest.warns(UserWarning, match="only 2 importances are below 0"):
        found = importance_pvalues([-2.0, -1.0, 0.0, 1.5, 3.0, 1.0])
    # Those of columns without any bearing: -2, -1, 0, 1, 2.
    np.testing.assert_allclose(found, [1, 0.8, 0.6, 0.2, 0, 0.4])
    with pytest.raises(ValueError, match="no importance is below 0"):
        importance_pvalues([0.0, 1.0])
    with pytest.raises(ValueError, match="finite numbers"):
        importance_pvalues([0.0, np.nan])


def test_pvalues_are_uniform_where_nothing_matters():
    X, y = rng.standard_normal((200, 400)), rng.integers(0, 2, 200)
    X[:, 0] += 2 * y
    found = importance_pvalues(corrected_importance(RandomForestClassifier(300, random_state=0), X, y, random_state=0))
    assert found[0] == 0 and 0.2 < (found[1:] < 0.5).mean() < 0.7 and (found[1:] < 0.05).mean() < 0.12


@pytest.mark.parametrize("wrap", [np.asarray, pd.Series])
def test_permuted_targets(wrap):
    X, y = load_iris(return_X_y=True)
    X = np.c_[X, rng.standard_normal(len(X))]
    forest = RandomForestClassifier(20, random_state=0)
    found = importance_permutation_test(forest, X, wrap(y), n_permutations=19, random_state=0)
    np.testing.assert_array_equal(found.importances, forest.fit(X, y).feature_importances_)
    assert found.permuted_importances.shape == (5, 19)
    assert found.pvalues[2] == found.pvalues[3] == 1 / 20 and found.pvalues[4] > 0.5
    own = importance_permutation_test(
        forest, X, wrap(y), importance=lambda f, X, y: f.oob_importance(X, y).importances_mean, n_permutations=5, random_state=0
    )
    np.testing.assert_array_equal(own.importances, forest.oob_importance(X, y).importances_mean)
    with pytest.raises(ValueError, match="n_permutations=0"):
        importance_permutation_test(forest, X, y, n_permutations=0)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_importances_of_rows(kind, several):
    """Tree by tree and row by row; their means over rows, weighted by trees, are those of `oob_importance`."""
    X, y = load_iris(return_X_y=True) if kind is RandomForestClassifier else load_diabetes(return_X_y=True)
    X, y = X[::3, :4], y[::3]
    y = np.column_stack([y, y[::-1]]) if several else y
    weight = np.where(np.arange(len(X)) % 7 == 0, 0.0, 1.0)
    forest = kind(12, random_state=0, n_jobs=2).fit(X, y, weight)
    local = forest.oob_local_importance(X, y, weight)
    np.testing.assert_array_equal(local, forest.set_params(n_jobs=1).oob_local_importance(X, y, weight))
    kept = np.flatnonzero(weight)
    expected, n_trees = np.zeros((len(X), 4)), np.zeros(len(X))
    columns = y.reshape(len(y), -1)
    for t, tree in enumerate(forest.estimators_):
        out = kept[forest.forest_.row_counts(t) == 0]

        def errors(rows, tree=tree, out=out):
            found = tree.predict(rows).reshape(len(rows), -1)
            return ((found != columns[out]) * 1.0 if kind is RandomForestClassifier else (found - columns[out]) ** 2).mean(axis=1)

        n_trees[out] += 1
        for j in range(4):
            changed = X[out].copy()
            (changed[:, j],) = permute_values([changed[:, j]], [forest.forest_.seeds[t]], [j], 1)
            expected[out, j] += errors(changed) - errors(X[out])
    seen = n_trees > 0
    np.testing.assert_allclose(local[seen], expected[seen] / n_trees[seen, None], rtol=1e-9, atol=1e-9)
    assert np.isnan(local[~seen]).all() and np.isnan(local[weight == 0]).all()


def test_importances_of_rows_say_which_class_a_column_tells():
    X = np.c_[Y, rng.standard_normal((N, 2))]
    X[:, 0] = np.where(rng.random(N) < 0.3, 0, X[:, 0])  # it never errs about class 0, whose rows it then moves to class 1
    forest = RandomForestClassifier(100, random_state=0, min_samples_leaf=5).fit(X, Y)
    local = forest.oob_local_importance(X, Y)
    assert local[:, 0].mean() > 5 * np.abs(local[:, 1:].mean(axis=0)).max()
    numbers, model = X[:, 0] + X[:, 1], RandomForestRegressor(20, random_state=0)
    usual = model.fit(X, numbers).oob_local_importance(X, numbers)
    huge = model.fit(X, numbers * 2.0**500).oob_local_importance(X, numbers * 2.0**500)
    np.testing.assert_allclose(huge, usual * 2.0**1000, rtol=1e-9, atol=1e290)
    with pytest.raises(ValueError, match="other rows"):
        forest.oob_local_importance(X[::-1], Y[::-1])
    times = np.column_stack([np.ones(N), np.arange(N)])
    with pytest.raises(ValueError, match="RandomSurvivalForest has no errors of single rows"):
        RandomSurvivalForest(2).fit(X, times).oob_local_importance(X, times)


def test_importances_of_groups():
    """Two copies of a column stand in for each other; permuted together, they are worth what the column alone is worth."""
    X = np.c_[Y + 0.3 * rng.standard_normal(N), NOISE[:, :2]]
    X = pd.DataFrame(np.c_[X[:, :1], X], columns=["a", "copy", "b", "c"])
    forest = RandomForestClassifier(100, random_state=0).fit(X, Y)
    parameters = {"scoring": "accuracy", "n_repeats": 3, "random_state": 0}
    single = forest.oob_importance(X, Y, **parameters).importances
    found = forest.oob_importance(X, Y, feature_groups={"x": ["a", "copy"], "noise": ["b", "c"]}, **parameters).importances
    assert found.shape == (2, 3) and found[0].mean() > 1.3 * single[:2].mean(axis=1).max() and np.abs(found[1]).mean() < 0.05
    alone = forest.oob_importance(X, Y, feature_groups=[[j] for j in range(4)], **parameters).importances
    np.testing.assert_array_equal(alone, single)
    sparse = RandomForestClassifier(100, random_state=0).fit(csr_matrix(X), Y)
    of_sparse = sparse.oob_importance(csr_matrix(X), Y, feature_groups=[[0, 1], [2, 3]], **parameters).importances
    np.testing.assert_array_equal(of_sparse, found)
    for groups, message in [([], "one group or more"), ([[]], "one group or more"), ([["z"]], "names 'z'"), ([[9]], "holds 9")]:
        with pytest.raises(ValueError, match=message):
            forest.oob_importance(X, Y, scoring=accuracy_score, feature_groups=groups)
    with pytest.raises(ValueError, match="feature_groups needs scoring"):
        forest.oob_importance(X, Y, feature_groups=[[0, 1]])


def test_groups_and_weights_are_passed_on():
    X, groups, weight = np.c_[NOISE, Y + rng.standard_normal(N)], np.arange(N) // 5, rng.integers(1, 4, N)
    forest = RandomForestClassifier(20, bootstrap="group", random_state=0)
    found = corrected_importance(forest, X, Y, random_state=0, groups=groups)
    others = corrected_importance(forest, X, Y, random_state=0, groups=np.arange(N) // 2)
    assert found.argmax() == 5 and (found != others).any()
    asked = []

    def importance(fitted, X, y):
        asked.append(fitted)
        return fitted.feature_importances_

    told = {"groups": groups, "sample_weight": weight}
    tested = importance_permutation_test(forest, X, Y, importance=importance, n_permutations=3, random_state=0, **told)
    assert tested.pvalues[5] == 0.25
    np.testing.assert_array_equal(tested.importances, forest.fit(X, Y, **told).feature_importances_)
    assert all(one.forest_.plans == forest.forest_.plans for one in asked)
    with pytest.raises(ValueError, match="groups"):
        importance_permutation_test(RandomForestClassifier(5, bootstrap="group"), X, Y, n_permutations=3)


def test_masked_cells_are_missing_in_copies_too():
    holes = np.where(rng.random(NOISE.shape) < 0.3, np.nan, NOISE)
    masked = np.ma.masked_array(np.nan_to_num(holes, nan=-9.0), np.isnan(holes))
    forest = RandomForestClassifier(5, random_state=0)
    ours, expected = (corrected_importance(forest, rows, Y, random_state=0) for rows in (masked, holes))
    np.testing.assert_array_equal(ours, expected)
