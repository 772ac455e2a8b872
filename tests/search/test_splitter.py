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
def test_xor_is_learned(method):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    y = X[:, 0] ^ X[:, 1]
    tree = dforest.DecisionTreeClassifier(method=method, random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    regressor = dforest.DecisionTreeRegressor(method=method, random_state=0).fit(X, y)
    assert np.array_equal(regressor.predict(X), y)


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
