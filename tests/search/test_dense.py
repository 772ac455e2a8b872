"""Exact trees: scikit-learn's on data without ties, and thresholds between adjacent numbers."""

import numpy as np
import pytest
from sklearn import tree as sklearn_tree

import dforest


def assert_same_splits(ours, theirs, rtol):
    forest, tree = ours.forest_, theirs.tree_
    is_leaf = tree.children_left < 0
    np.testing.assert_array_equal(forest.feature, np.where(is_leaf, -1, tree.feature))
    np.testing.assert_allclose(forest.threshold[~is_leaf], tree.threshold[~is_leaf], rtol=rtol)
    np.testing.assert_array_equal(forest.right_child[~is_leaf], tree.children_right[~is_leaf])


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(5))
def test_classification_has_the_splits_of_scikit_learn(seed, criterion):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1000, 6)).astype(np.float32)
    y = np.digitize(X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.3 * rng.standard_normal(1000), [-1, 0, 1])
    # No two cuts of equal class weights; sums are exact, or scikit-learn would split pure nodes.
    weight = rng.integers(2**15, 2**20, 1000) / 2**15
    # Small nodes are divided alike by several columns: large leaves first, then a single column.
    for columns, limits in [(slice(6), {"min_samples_leaf": 40}), (slice(1), {"min_samples_leaf": 1})]:
        limits = {**limits, "criterion": criterion, "random_state": 0}
        ours = dforest.DecisionTreeClassifier(method="dense", **limits).fit(X[:, columns], y, weight)
        theirs = sklearn_tree.DecisionTreeClassifier(**limits).fit(X[:, columns], y, weight)
        assert_same_splits(ours, theirs, 1e-4)
    X = X[:, :1]
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["dense", "hist"])
def test_adjacent_numbers_are_told_apart(method, dtype):
    largest, smallest = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
    for lo in (dtype(1), dtype(-1), dtype(0), smallest, -smallest, np.nextafter(largest, dtype(0)), -largest):
        hi = np.nextafter(dtype(lo), dtype(np.inf))
        X = np.array([[lo], [hi]] * 3, dtype)
        tree = dforest.DecisionTreeClassifier(method=method).fit(X, [0, 1] * 3)
        assert tree.forest_.threshold.dtype == dtype
        assert tree.forest_.threshold[0] == lo                # the middle rounds to one of the two
        assert tree.predict(X).tolist() == [0, 1] * 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["dense", "hist"])
def test_thresholds_between_extreme_numbers(method, dtype):
    largest = np.finfo(dtype).max
    for lo, hi in [(-largest, largest), (-np.inf, 0), (0, np.inf), (-np.inf, np.inf), (largest / 2, largest), (largest, np.inf)]:
        X = np.array([[lo], [hi]] * 3, dtype)
        tree = dforest.DecisionTreeClassifier(method=method).fit(X, [0, 1] * 3)
        assert lo <= tree.forest_.threshold[0] < hi
        assert tree.predict(X).tolist() == [0, 1] * 3


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_rare_rules_are_seen(sign):
    """The largest or smallest 0.05 % of a feature's values: far less than a bin of "hist" holds, unless there are many."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80_000, 4)).astype(np.float32)
    y = sign * X[:, 0] > 3.29
    recall = {}
    for name, parameters in {"bins": {}, "many bins": {"max_bins": 65535}, "dense": {"method": "dense"}}.items():
        forest = dforest.RandomForestClassifier(10, random_state=0, **parameters).fit(X[:40_000], y[:40_000])
        recall[name] = forest.predict(X[40_000:])[y[40_000:]].mean()
    assert recall["bins"] < 0.5 and min(recall["many bins"], recall["dense"]) > 0.9


@pytest.mark.parametrize("growth", [{}, {"max_leaf_nodes": 700}, {"bootstrap": False, "n_jobs": 4}])
def test_thresholds_are_middles_of_values_in_the_node(growth, monkeypatch):
    """Of every node: values are looked up after a tree, or a piece of one, is grown, many nodes at a time."""
    monkeypatch.setattr(dforest.estimators.forest.base, "TUNING", {"parallel_from": 50})
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4)).astype(np.float32)
    X[:, 2] = rng.integers(0, 30, 2000)                       # few values: no buckets, and no ranks in small subtrees
    X[rng.random((2000, 4)) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) > rng.standard_normal(2000)
    parameters = {"method": "dense", "random_state": 0, **growth}
    for model in (dforest.RandomForestClassifier(2, **parameters), dforest.RandomForestRegressor(2, **parameters)):
        model.fit(X, y)
        for tree, drawn in zip(model.estimators_, model.estimators_samples_, strict=True):
            paths = tree.decision_path(X[drawn]).tocsc()
            shown = tree.tree_
            inner = np.flatnonzero(shown.children_left >= 0)
            assert len(inner) > 257                           # more than are looked up together
            for node in inner:
                values = X[drawn[paths.indices[paths.indptr[node] : paths.indptr[node + 1]]], shown.feature[node]]
                values = np.unique(values[~np.isnan(values)])
                if shown.threshold[node] == np.inf:           # missing values against the others
                    continue
                after = np.searchsorted(values, shown.threshold[node], side="right")
                assert shown.threshold[node] == values[after - 1] * np.float32(0.5) + values[after] * np.float32(0.5)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_first_valid_cut_of_lists_of_any_length(n_classes):
    """Loops that look at eight cuts at a time begin with it, and stay within their memory, as sanitizers say."""
    for n in range(64, 73):
        x, y = np.arange(n, dtype=np.float32)[:, None], np.arange(n) * n_classes // n
        y[1::5] = 0
        for least in range(1, 9):
            limits = {"min_samples_leaf": least, "max_depth": 1}
            trees = dforest.DecisionTreeClassifier(method="dense", **limits), sklearn_tree.DecisionTreeClassifier(**limits)
            ours, theirs = (tree.fit(x, y).tree_ for tree in trees)
            left, other = (tree.impurity[1:] @ tree.weighted_n_node_samples[1:] for tree in (ours, theirs))
            np.testing.assert_allclose(left, other, rtol=1e-12)
