"""Honest trees: which rows choose the splits, which rows the leaves learn from, and what this achieves."""

import pickle

import numpy as np
import pytest
from honest import HonestSplitter, PythonHonestSplitter
from honest.in_python import structure_rows
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from dforest import DecisionTreeRegressor, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from dforest.estimators.forest.base import TUNING
from dforest.testing import check_splitter

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
KINDS = pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])


def assert_equal_forests(a, b, left_out=()):
    a, b = a.forest_.as_dict(), b.forest_.as_dict()
    assert a.keys() == b.keys()
    for name in a.keys() - set(left_out):
        assert a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes(), name


def hard_rows(kind, n=900):
    """Rows with missing values, categories and weights."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((n, 5)), 1)
    X[:, 2] = rng.integers(0, 9, n)
    y = X[:, 0] + (X[:, 2] % 3 == 0) + rng.random(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y > 0.8 if kind is RandomForestClassifier else y, rng.integers(1, 5, n)


@METHODS
@pytest.mark.parametrize("min_samples_leaf", [1, 6])
@pytest.mark.parametrize(
    ("kind", "load"),
    [
        (RandomForestClassifier, load_breast_cancer),
        (RandomForestClassifier, load_iris),
        (RandomForestRegressor, load_diabetes),
    ],
)
def test_the_forest_is_that_of_the_splitter_in_python(kind, load, method, min_samples_leaf):
    X, y = load(return_X_y=True)
    parameters = {"method": method, "min_samples_leaf": min_samples_leaf, "max_features": 3, "random_state": 0}
    forests = [kind(4, splitter=splitter(0.4), **parameters).fit(X, y) for splitter in (HonestSplitter, PythonHonestSplitter)]
    assert forests[0].forest_.feature.max() > 0
    assert_equal_forests(*forests, left_out=["leaf_impurity"])


@METHODS
@KINDS
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_leaves_are_means_over_the_estimation_half(kind, method, share):
    """Leaf means are computed by hand, from the hash and the bootstrap. Every leaf has enough draws of both halves."""
    X, y, weight = hard_rows(kind)
    y = y.astype(float)
    least = 3
    forest = kind(
        5, splitter=HonestSplitter(share), method=method, categorical_features=[2], min_samples_leaf=least, random_state=0
    ).fit(X, y, weight)
    leaves, trees = forest.apply(X), forest.forest_
    predicted = np.zeros(len(X))
    for t in range(5):
        drawn = trees.row_counts(t).astype(np.int64)
        structure = structure_rows(trees.seeds[t], np.arange(len(X)), share)
        assert abs(structure.mean() - share) < 0.06
        for leaf in np.unique(leaves[:, t]):
            here = leaves[:, t] == leaf
            assert drawn[here & structure].sum() >= least and drawn[here & ~structure].sum() >= least
            taught = here & ~structure
            predicted[here] += np.average(y[taught], weights=(drawn * weight)[taught]) / 5
        assert len(np.unique(leaves[:, t])) > 10
    given = forest.predict(X) if kind is RandomForestRegressor else forest.predict_proba(X)[:, 1]
    np.testing.assert_allclose(given, predicted, rtol=1e-9, atol=1e-12)


@METHODS
def test_values_do_not_depend_on_targets_that_chose_the_splits(method):
    """Targets of twice the size in one half choose the same splits there, as scores are exact sums of integers."""
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(splitter=HonestSplitter(), method=method, random_state=0)
    before = clone(tree).fit(X, y)
    structure = structure_rows(before.forest_.seeds[0], np.arange(len(y)))
    after = clone(tree).fit(X, np.where(structure, 2 * y, y))
    assert before.get_n_leaves() > 50
    np.testing.assert_array_equal(before.forest_.feature, after.forest_.feature)
    np.testing.assert_array_equal(before.forest_.threshold, after.forest_.threshold)
    np.testing.assert_array_equal(before.predict(X), after.predict(X))


@METHODS
def test_splits_do_not_depend_on_targets_that_make_the_values(method):
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(splitter=HonestSplitter(), method=method, random_state=0)
    before = clone(tree).fit(X, y)
    structure = structure_rows(before.forest_.seeds[0], np.arange(len(y)))
    after = clone(tree).fit(X, np.where(structure, y, y[::-1]))
    np.testing.assert_array_equal(before.forest_.feature, after.forest_.feature)
    np.testing.assert_array_equal(before.forest_.threshold, after.forest_.threshold)
    assert (before.predict(X) != after.predict(X)).mean() > 0.9


def coverage_and_spread(splitter, seed, least=20):
    """How often the interval of a leaf contains the true value, and by how much leaf values vary more than the noise does.

    The true value is 0 everywhere. A mean of m numbers has a variance of 1 / m, so the excess is the mean of squared leaf
    values times m, minus 1.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.random((2000, 5)), rng.standard_normal(2000)
    tree = DecisionTreeRegressor(splitter=splitter, min_samples_leaf=least, random_state=seed).fit(X, y)
    learned = np.ones(2000, bool)
    if splitter != "best":
        learned = ~structure_rows(tree.forest_.seeds[0], np.arange(2000))
    leaf, inside, excess = tree.apply(X), [], []
    for number in np.unique(leaf):
        targets = y[learned & (leaf == number)]
        mean, error = targets.mean(), targets.std(ddof=1) / np.sqrt(len(targets))
        assert mean == pytest.approx(tree.predict(X[leaf == number][:1])[0], abs=1e-9)
        inside.append(abs(mean) < 1.96 * error)
        excess.append(mean**2 * len(targets) - 1)
    return np.mean(inside), np.mean(excess)


def test_intervals_of_leaves_hold_what_they_say():
    """If a node is cut where its targets look most different, its leaves look more different than they are."""
    honest = np.mean([coverage_and_spread(HonestSplitter(), seed) for seed in range(5)], axis=0)
    usual = np.mean([coverage_and_spread("best", seed) for seed in range(5)], axis=0)
    assert 0.90 < honest[0] < 0.98 and abs(honest[1]) < 0.3
    assert usual[0] < 0.75 and usual[1] > 1.5


@METHODS
@KINDS
@pytest.mark.parametrize("growth", [{}, {"max_leaf_nodes": 30}, {"min_impurity_decrease": 0.002}])
def test_the_forest_is_the_same_on_any_number_of_threads(kind, method, growth, monkeypatch):
    X, y, weight = hard_rows(kind, 2000)
    monkeypatch.setitem(TUNING, "parallel_from", 50)
    parameters = {"splitter": HonestSplitter(), "categorical_features": [2], "method": method, "random_state": 0}
    forests = []
    for n_jobs, visits in ((1, 1 << 17), (2, 60), (5, 60)):
        monkeypatch.setitem(TUNING, "parallel_visits_from", visits)
        forests.append(kind(4, n_jobs=n_jobs, **parameters, **growth).fit(X, y, weight))
    assert_equal_forests(forests[0], forests[1])
    assert_equal_forests(forests[0], forests[2])


@KINDS
def test_copied_codes_and_nodes_opened_again_change_nothing(kind, monkeypatch):
    X, y, weight = hard_rows(kind, 2000)
    parameters = {"splitter": HonestSplitter(), "categorical_features": [2], "random_state": 0}
    given = kind(4, **parameters).fit(X, y, weight)
    for name, value in (("cache_bytes", 0), ("unordered_below", 0), ("sort_below", 0)):
        with monkeypatch.context() as patch:
            patch.setitem(TUNING, name, value)
            assert_equal_forests(given, kind(4, **parameters).fit(X, y, weight))
    # This number of leaves is never reached, so best-first growth must find the same tree as depth-first growth.
    assert_equal_forests(given, kind(4, max_leaf_nodes=len(X), **parameters).fit(X, y, weight))


def test_a_limit_on_the_decrease_is_in_units_of_the_whole_node():
    """A cut that separates two values completely removes all impurity, whichever half is measured."""
    X = np.repeat([[0.0], [1.0]], 200, axis=0)
    y = X[:, 0] * 10
    for limit, n_leaves in ((24.0, 2), (26.0, 1)):
        tree = DecisionTreeRegressor(splitter=HonestSplitter(0.5), min_impurity_decrease=limit, random_state=0).fit(X, y)
        assert tree.get_n_leaves() == n_leaves


def test_one_row_is_a_leaf():
    tree = DecisionTreeRegressor(splitter=HonestSplitter(), random_state=0).fit([[1.0]], [7.0])
    assert tree.predict([[3.0]]) == 7.0


@METHODS
def test_other_criteria(method):
    X, y = load_diabetes(return_X_y=True)
    for criterion in ("squared_error", "poisson", "absolute_error"):
        parameters = {"criterion": criterion, "method": method, "min_samples_leaf": 5, "random_state": 0}
        tree = DecisionTreeRegressor(splitter=HonestSplitter(), **parameters).fit(X, y)
        learned = ~structure_rows(tree.forest_.seeds[0], np.arange(len(y)))
        leaf = tree.apply(X)
        middle = np.median if criterion == "absolute_error" else np.mean
        for number in np.unique(leaf):
            here = leaf == number
            assert tree.predict(X[here][:1])[0] == pytest.approx(middle(y[here & learned]), rel=1e-7)


def test_parameters_and_pickles():
    X, y = load_iris(return_X_y=True)
    splitter = HonestSplitter(structure_share=0.3)
    assert splitter.get_params() == {"structure_share": 0.3} and clone(splitter) == splitter
    forest = ExtraTreesClassifier(3, splitter=splitter, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(forest))
    assert_equal_forests(forest, again)
    assert again.splitter == splitter
    for share in (0, 1, -0.5, "half", float("nan")):
        with pytest.raises(ValueError, match="structure_share"):
            HonestSplitter(share)
    with pytest.raises(ValueError, match="monotonic_cst"):
        clone(forest).set_params(monotonic_cst=[1, 0, 0, 0]).fit(X, y == 1)


def test_it_keeps_the_contract():
    # Scores of splits come from one half, and impurities of nodes from the other.
    check_splitter(HonestSplitter, own_score=True)
