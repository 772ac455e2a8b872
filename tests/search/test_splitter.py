"""Feature sampling, the order of the search, and the cuts of a node."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from twins import naive

import dforest
from dforest.core.grow.trainer import tree_seeds
from dforest.core.search.feature_order import FeatureOrder
from dforest.splitter import PythonSplitter


@pytest.mark.parametrize("n_features", [1, 2, 7, 300])
def test_order_is_that_of_the_twin(n_features):
    order = FeatureOrder(n_features)
    for seed, node_key in [(0, naive.ROOT_KEY), (2**32 - 1, 2**64 - 1), (5, 7)]:
        drawn = order.draw(seed, node_key, n_features)
        assert drawn == naive.feature_order(n_features, seed, node_key)
        assert sorted(drawn) == list(range(n_features))
        assert order.draw(seed, node_key, n_features // 2) == drawn[: n_features // 2]
    with pytest.raises(ValueError, match="cannot draw"):
        order.draw(0, 0, n_features + 1)


def test_orders_are_uniform_over_nodes_and_trees():
    order = FeatureOrder(4)
    number = {p: i for i, p in enumerate(permutations(range(4)))}
    node_key, node_keys = naive.ROOT_KEY, []
    for side in [0, 1] * 6:
        node_keys.append(node_key)
        node_key = naive.child_key(node_key, side)
    observed = np.zeros(24, int)
    for seed in tree_seeds(11, range(1000)):
        for node_key in node_keys:
            observed[number[tuple(order.draw(seed, node_key, 4))]] += 1
    assert stats.chisquare(observed).pvalue > 1e-4


def test_first_features_are_uniform_and_pairs_independent():
    order = FeatureOrder(50)
    drawn = np.array([order.draw(seed, naive.ROOT_KEY, 7) for seed in tree_seeds(3, range(20000))])
    for place in range(7):
        assert stats.chisquare(np.bincount(drawn[:, place], minlength=50)).pvalue > 1e-4
    assert (np.sort(drawn, axis=1)[:, 1:] > np.sort(drawn, axis=1)[:, :-1]).all()
    pairs = np.bincount(drawn[:, 0] * 50 + drawn[:, 1], minlength=2500).reshape(50, 50)
    assert (np.diag(pairs) == 0).all()
    assert stats.chisquare(pairs[~np.eye(50, dtype=bool)]).pvalue > 1e-4


def test_orders_differ_between_nodes_and_trees():
    order = FeatureOrder(20)
    left, right = (naive.child_key(naive.ROOT_KEY, side) for side in (0, 1))
    drawn = {tuple(order.draw(seed, node_key, 20)) for seed in range(50) for node_key in (naive.ROOT_KEY, left, right)}
    assert len(drawn) == 150


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_search_goes_on_past_constant_columns_and_broken_leaf_rules(method):
    n = 40
    X = np.zeros((n, 30))
    X[0, :29] = 1.0                          # every cut of these leaves one row alone
    X[:, 29] = np.arange(n)
    X[:, :10] = 5.0                          # and these are constant
    y = np.arange(n) >= n // 2
    for seed in range(5):
        tree = dforest.DecisionTreeClassifier(method=method, max_features=1, min_samples_leaf=2, random_state=seed)
        forest = tree.fit(X, y).forest_
        assert forest.feature[0] == 29
        # Within reach of leaf rules any cut is found, and the tree is finished.
        assert tree.score(X, y) == 1.0


@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_constant_features_do_not_count_unless_asked(method, splitter, n_jobs, monkeypatch):
    """A root takes the best of the first two features that are not constant; of the first two; or any that has a cut."""
    n, n_features, n_trees = 40, 12, 150
    X = np.full((n, n_features), 5.0)
    X[:, 0] = np.nan                          # one value too: missing
    varying = [1, 3, 6, 10]                   # from best to worst; of few values, so that all random cuts are the same
    for place, j in enumerate(varying):
        X[:, j] = (np.arange(n) + 2 * place) % n >= n // 2
    X[X[:, 6] == 0, 6] = np.nan               # a value, or missing: two
    y = np.arange(n) >= n // 2
    monkeypatch.setitem(dforest.estimators.forest.base.TUNING, "parallel_visits_from", 1)
    parameters = {"bootstrap": False, "max_features": 2, "max_depth": 1, "random_state": 0, "n_jobs": n_jobs}
    for skips in (True, False):
        forest = dforest.RandomForestClassifier(n_trees, method=method, splitter=splitter,
                                                skip_constant_features=skips, **parameters).fit(X, y).forest_  # fmt: skip
        roots = forest.feature[forest.node_offsets[:-1]]
        expected = []
        for t in range(n_trees):
            order = FeatureOrder(n_features).draw(forest.seeds[t], naive.ROOT_KEY, n_features)
            drawn = [j for j in order if j in varying]
            tried = drawn[:2] if skips else [j for j in order[:2] if j in varying] or drawn[:1]
            expected.append(min(tried))
        assert roots.tolist() == expected
        assert len(set(expected)) == (3 if skips else 4)


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_a_constant_column_with_missing_values_is_a_split(method):
    X = np.array([[1.0], [np.nan], [1.0], [np.nan]])
    tree = dforest.DecisionTreeClassifier(method=method, random_state=0).fit(X, [0, 1, 0, 1])
    assert tree.forest_.threshold[0] == np.inf and not tree.forest_.missing_left[0]
    assert tree.predict([[1.0], [np.nan], [np.inf]]).tolist() == [0, 1, 0]


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_xor_is_learned(method):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    y = X[:, 0] ^ X[:, 1]
    tree = dforest.DecisionTreeClassifier(method=method, random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    regressor = dforest.DecisionTreeRegressor(method=method, random_state=0).fit(X, y)
    assert np.array_equal(regressor.predict(X), y)


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_missing_values_go_where_they_score_more_and_unseen_ones_with_the_larger_side(method):
    X = np.array([0.0, 1, 2, 3, np.nan, np.nan])[:, None]
    for y, expected in [([0, 0, 1, 1, 0, 0], 0), ([0, 0, 1, 1, 1, 1], 1)]:
        tree = dforest.DecisionTreeClassifier(method=method, random_state=0).fit(X, y)
        assert len(tree.forest_.feature) == 3
        assert tree.predict([[np.nan]]) == expected
    X = np.arange(5.0)[:, None]
    for y, expected in [([0, 0, 0, 1, 1], 0), ([0, 0, 1, 1, 1], 1)]:
        assert dforest.DecisionTreeClassifier(method=method).fit(X, y).predict([[np.nan]]) == expected
    tie = dforest.DecisionTreeClassifier(method=method).fit(X[:4], [0, 0, 1, 1])
    assert tie.predict([[np.nan]]) == 1       # to the right


@pytest.mark.parametrize("cache_bytes", [0, 1 << 18])
def test_a_node_seen_in_python_has_the_targets_and_the_seed_of_its_tree(cache_bytes, monkeypatch):
    """Also in a block, of a size that the first nodes exceed."""
    monkeypatch.setitem(dforest.estimators.forest.base.TUNING, "cache_bytes", cache_bytes)
    rng = np.random.default_rng(0)
    X = rng.random((500, 3))
    seen = []

    class Looker(PythonSplitter):
        def best_cut(self, node, feature):
            seen.append((node.rows, node.targets, node.seed))
            return int(np.sort(node.codes(feature))[(node.n_records - 1) // 2]) if node.n_records > 50 else None

    numbers = rng.random(500)
    for y, kind in [(rng.integers(0, 3, 500), dforest.RandomForestClassifier), (numbers, dforest.RandomForestRegressor)]:
        seen.clear()
        forest = kind(2, splitter=Looker, random_state=0).fit(X, y).forest_
        assert {seed for *_, seed in seen} == set(forest.seeds.tolist()) and len(seen) > 20
        for rows, targets, _ in seen:
            np.testing.assert_array_equal(targets, y[rows])
