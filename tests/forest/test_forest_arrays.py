"""What a forest says of its nodes, against the training rows that reach them."""

import pickle

import joblib
import numpy as np
import pytest
from helpers.device_forests import assert_same
from helpers.walker import Walker

from dforest import DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.core.search.absolute_error import AbsoluteError

FORESTS = {
    "gini": RandomForestClassifier,
    "entropy": RandomForestClassifier,
    "log_loss": RandomForestClassifier,
    "squared_error": RandomForestRegressor,
}
CRITERIA = pytest.mark.parametrize("criterion", FORESTS)


def problem(criterion, n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, 7 * y if criterion == "squared_error" else np.digitize(y, [0, 1, 2])


def impurity(y, weight, criterion):
    if criterion == "squared_error":
        return np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    share = np.bincount(y, weight) / weight.sum()
    share = share[share > 0]
    return 1 - (share**2).sum() if criterion == "gini" else -(share * np.log2(share)).sum()


@CRITERIA
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 9}, {"max_depth": 3}, {"min_samples_leaf": 150}])
def test_node_table(criterion, bootstrap, limits):
    X, y = problem(criterion)
    weight = np.random.default_rng(1).integers(1, 9, len(X))  # integers: they stay as they are
    weight[0] = 1
    model = FORESTS[criterion](3, criterion=criterion, bootstrap=bootstrap, random_state=0, **limits)
    forest = model.fit(X, y, weight).forest_
    passed = model.decision_path(X)[0].toarray() > 0
    for t in range(3):
        counts = forest.row_counts(t).astype(np.int64)
        w = counts * weight
        table = forest.node_table(t)
        tree = forest.tree(t)
        nodes = passed[:, forest.node_offsets[t] : forest.node_offsets[t + 1]] & (counts > 0)[:, None]
        assert all(len(array) == len(tree.feature) for array in table)
        assert table.draws.dtype == table.weight.dtype == np.int64
        for i, rows in enumerate(nodes.T):
            assert table.draws[i] == counts[rows].sum()
            if forest.objective.predicts_shares:
                by_class = np.bincount(y[rows], w[rows], 4)
                np.testing.assert_array_equal(table.weight[i], by_class)
                np.testing.assert_allclose(table.value[i], by_class / by_class.sum())
            else:
                assert table.weight[i, 0] == w[rows].sum()
                np.testing.assert_allclose(table.value[i, 0], np.average(y[rows], weights=w[rows]), rtol=1e-9)
            expected = impurity(y[rows], w[rows], criterion)
            np.testing.assert_allclose(table.impurity[i], expected, rtol=1e-7, atol=1e-12)
            decrease = 0
            if tree.feature[i] >= 0:
                left, right = nodes[:, i + 1], nodes[:, tree.right_child[i]]
                parts = [w[side].sum() * impurity(y[side], w[side], criterion) for side in (left, right)]
                decrease = w[rows].sum() * expected - sum(parts)
            np.testing.assert_allclose(table.decrease[i], decrease, rtol=1e-7, atol=1e-8)


@CRITERIA
def test_impurity_of_leaves(criterion):
    X, y = problem(criterion)
    model = FORESTS[criterion](2, criterion=criterion, max_depth=3, random_state=0).fit(X, y)
    forest = model.forest_
    assert len(forest.leaf_impurity) == (0 if forest.objective.predicts_shares else len(forest.leaf_value))
    assert forest.as_dict()["leaf_impurity"] is forest.leaf_impurity
    again = pickle.loads(pickle.dumps(forest))
    for t in range(2):
        for a, b in zip(forest.node_table(t), again.node_table(t), strict=True):
            np.testing.assert_array_equal(a, b)
    if not forest.objective.predicts_shares:
        grown = RandomForestRegressor(1, max_depth=3, random_state=0, warm_start=True).fit(X, y)
        grown.set_params(n_estimators=2).fit(X, y)
        np.testing.assert_array_equal(grown.forest_.leaf_impurity, forest.leaf_impurity)


def test_leaves_differ_by_impurity_alone():
    X = [[0], [0], [1], [1]]
    forest = DecisionTreeRegressor(min_samples_leaf=2).fit(X, [-1.0, 1, -3, 3]).forest_
    np.testing.assert_array_equal(forest.leaf_impurity, [1, 9])
    np.testing.assert_array_equal(forest.leaf_value, [0, 0])


def test_units_of_targets():
    X, y = problem("squared_error")
    exact = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y).forest_
    scaled = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, np.ldexp(y, 900)).forest_
    a, b = exact.node_table(0, -10), scaled.node_table(0, 890)
    for name in ("draws", "weight", "value", "decrease"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    with np.errstate(over="ignore"):
        assert np.isinf(scaled.node_table(0).decrease[0]) and np.isfinite(scaled.node_table(0).value).all()


def test_means_lie_between_those_of_children():
    y = np.full(1000, 0.1)
    y[::7] = 0.3
    X = np.random.default_rng(0).standard_normal((1000, 2))
    table = DecisionTreeRegressor().fit(X, y).forest_.node_table(0)
    assert table.value.min() == 0.1 and table.value.max() == 0.3


def test_impurities_next_to_the_end_of_float64s_range():
    y = np.repeat([1e307, 1.7e308], 50)
    tree = DecisionTreeRegressor(criterion="poisson", max_depth=1).fit(y[:, None], y)
    small = DecisionTreeRegressor(criterion="poisson", max_depth=1).fit(y[:, None], y * 2.0**-900)
    np.testing.assert_allclose(np.ldexp(tree.tree_.impurity, -900), small.tree_.impurity, rtol=1e-15)
    assert tree.tree_.impurity[0] > 0
    y = np.repeat([0.0, 2e154], 50)
    tree = DecisionTreeRegressor(max_depth=1).fit(y[:, None], y)
    np.testing.assert_allclose(tree.tree_.impurity[0], 1e308, rtol=1e-15)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
def test_any_unit_of_any_tree(criterion):
    """A forest's exponent is that of its largest leaf; that of one of its trees alone may be less."""
    X, y = problem("squared_error")
    y = np.abs(y)
    y[0] = 1e100
    forest = RandomForestRegressor(5, criterion=criterion, method="dense", random_state=0).fit(X, y).forest_
    own = [int(np.frexp(forest.node_table(t).value.max())[1]) for t in range(5)]
    assert all(a <= forest.tree(t).target_exponent() <= forest.target_exponent() for t, a in enumerate(own))
    assert forest.target_exponent() == max(own) > min(own)
    power = 2 if criterion == "squared_error" else 1
    for t in range(5):
        plain, scaled, alone = forest.node_table(t), forest.node_table(t, 7), forest.tree(t).node_table(0, 7)
        np.testing.assert_array_equal(scaled.value, plain.value / 2.0**7)
        for name in ("impurity", "decrease"):
            np.testing.assert_array_equal(getattr(scaled, name), getattr(plain, name) / 2.0 ** (7 * power))
        for a, b in zip(scaled, alone, strict=True):
            np.testing.assert_array_equal(a, b)


def test_medians_of_the_heaviest_leaves():
    """Total weights of nearly 2**63."""
    half, quarter = 2**31, 2**30
    y = np.array([0, 1, 5, 9], np.int32)
    for count, expected in [
        ([quarter, quarter, quarter, quarter], 3.0),
        ([quarter, quarter, quarter, quarter - 1], 1.0),
        ([1, 1, half, 1], 5.0),
        ([quarter, 5, half, quarter - 9], 5.0),
        ([half, quarter, 7, 8], 0.0),
        ([1, quarter, quarter, half - 3], 5.0),
    ]:
        weight = np.full(4, 2**31 - 1, np.uint32)
        value, impurity = AbsoluteError().configure().leaf_of(y.astype(np.float64), y, np.array(count, np.uint32), weight)
        assert value == expected
        lower = y[next(i for i in range(4) if 2 * sum(count[: i + 1]) >= sum(count))]
        cost = sum(c * abs(int(t - lower)) for c, t in zip(count, y, strict=True))
        assert impurity == pytest.approx(cost / sum(count), rel=1e-15)


# Trees cut back


@CRITERIA
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
def test_cut_back(criterion, share):
    X, y = problem(criterion)
    X = X.astype(np.float32)
    model = FORESTS[criterion](5, criterion=criterion, random_state=0).fit(X, y)
    forest = model.forest_
    cut = np.random.default_rng(2).random(len(forest.feature)) < share
    before = pickle.dumps(forest.as_dict())
    pruned = forest.cut_back(cut)
    assert pickle.dumps(forest.as_dict()) == before
    assert pruned.threshold.dtype == np.float32
    leaves = [pruned.leaf_draws, *pruned.leaf_weight.T, pruned.leaf_value, pruned.leaf_impurity]
    leaves = list(zip(*(part for part in leaves if len(part)), strict=True))
    assert len(set(leaves)) == len(leaves)
    assert set(pruned.leaf_row[pruned.feature < 0]) == set(range(len(leaves)))
    if share == 0.0:
        for name, array in forest.as_dict().items():
            np.testing.assert_array_equal(array, pruned.as_dict()[name])
    for t in range(5):
        tree, small = forest.tree(t), pruned.tree(t)
        ends = cut[forest.node_offsets[t] : forest.node_offsets[t + 1]] | (tree.feature < 0)
        walkers, rows = (Walker(tree), Walker(small)), X.astype(np.float64).tolist()
        reached = np.array([next(node for node in walkers[0].path(0, x) if ends[node]) for x in rows])
        also = np.array([walkers[1].path(0, x)[-1] for x in rows])
        full, table = forest.node_table(t), pruned.node_table(t)
        assert share < 1 or len(small.feature) == 1
        for name in ("draws", "weight", "value", "impurity"):
            np.testing.assert_array_equal(getattr(full, name)[reached], getattr(table, name)[also])
        np.testing.assert_array_equal(small.threshold[small.feature < 0], 0)
        assert not small.missing_left[small.feature < 0].any()
        np.testing.assert_array_equal(pruned.packed().apply(X, 1)[:, t], also)
        np.testing.assert_array_equal(small.packed().mean(X, 1), full.value[reached])


def test_the_order_of_leaf_values_holds_for_cut_trees():
    x = np.linspace(0, 1, 500)[:, None]
    tree = DecisionTreeRegressor().fit(x, np.sort(np.random.default_rng(0).random(500)))
    rng = np.random.default_rng(1)
    for _ in range(20):
        pruned = tree.forest_.cut_back(rng.random(len(tree.forest_.feature)) < 0.1)
        assert (np.diff(pruned.packed().mean(x, 1)[:, 0]) >= 0).all()


@pytest.mark.parametrize("criterion", [*FORESTS, "absolute_error"])
def test_a_pickled_tree_of_a_forest_carries_its_own_leaves(criterion):
    X, y = problem("squared_error" if criterion == "absolute_error" else criterion, n=600)
    kind = FORESTS.get(criterion, RandomForestRegressor)
    method = "dense" if criterion == "absolute_error" else "hist"
    forest = kind(40, criterion=criterion, method=method, random_state=0).fit(X, y)
    for t in (0, 17, 39):
        tree = forest.estimators_[t]
        again = pickle.loads(pickle.dumps(tree))
        np.testing.assert_array_equal(again.predict(X), tree.predict(X))
        np.testing.assert_array_equal(again.apply(X), tree.apply(X))
        for ours, theirs in zip(again.forest_.node_table(0), tree.forest_.node_table(0), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        arrays, own = tree.forest_, again.forest_
        n_different = len(set(arrays.leaf_row[arrays.feature < 0].tolist()))
        assert len(own.leaf_draws) == len(own.leaf_weight) == n_different < len(arrays.leaf_draws)
        assert pickle.dumps(pickle.loads(pickle.dumps(again))) == pickle.dumps(again)
        assert len(pickle.dumps(again.tree_)) < len(pickle.dumps(forest)) / 8
    whole = pickle.loads(pickle.dumps(forest))
    assert_same(forest, whole)


def test_a_forest_from_a_file_that_is_mapped_into_memory(tmp_path):
    X, y = problem("gini")
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    joblib.dump(forest, tmp_path / "forest.joblib")
    again = joblib.load(tmp_path / "forest.joblib", mmap_mode="r")
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    arrays = [value for value in vars(again.forest_).values() if isinstance(value, np.ndarray)]
    assert len(arrays) > 10 and all(type(array) is np.ndarray for array in arrays)
