"""What the tests of equality share: the machinery's extremes, and forests as comparable arrays."""

import contextlib

import numpy as np
import pytest

from dforest.core import loops
from dforest.estimators.forest import base as estimator

LONG_WAY = {"small_up_to": 0, "few_below": 0}

# Both extremes of every size threshold in the machinery, and the defaults.
EXTREMES = {
    "default": {},
    "few records node by node": {"small_up_to": 0},
    "small subtrees of three": {"small_up_to": 3},
    "count always": {**LONG_WAY, "small_draws": 0, "sort_below": 0, "codes_per_record": 10**9, "mark_from": 2**31,
                     "copy_from": 0, "block_bytes": 0, "share_from": 1, "share_visits_from": 0,
                     "fetch_up_to": 0},
    "count and mark always": {**LONG_WAY, "small_draws": 0, "sort_below": 0, "codes_per_record": 10**9, "mark_from": 0,
                              "codes_per_mark": 10**9, "block_bytes": 2**24, "buckets": 0, "ranked_above": 0,
                              "fetch_up_to": 2**62},
    "few buckets": {**LONG_WAY, "buckets": 3, "block_bytes": 3000},
    "few buckets in small nodes": {"small_up_to": 0, "buckets": 4},
    "one bucket": {**LONG_WAY, "buckets": 1},
    "some buckets": {**LONG_WAY, "buckets": 20, "block_bytes": 0, "share_from": 1, "share_visits_from": 0,
                     "fetch_up_to": 2**62},
    "ranks by sorting": {"buckets": 0, "ranked_above": 0, "codes_per_mark": 0},
    "no ranks": {"buckets": 0, "ranked_above": 10**9},
    "count by code always": {**LONG_WAY, "small_codes": 10**9, "copy_from": 2**31},
    "insertion sort always": {**LONG_WAY, "small_draws": 0, "sort_below": 2**62, "insertion_below": 2**62},
    "ranks in place of keys": {"keys": False},
    "portable loops": {"loops": "portable", "buckets": 5, "small_up_to": 64},
    "AVX2 loops": {"loops": "avx2", "small_up_to": 64},
    "codes of drawn rows": {"drawn_up_to": 10**9},
    "codes of all rows": {"drawn_up_to": 0},
    "share everything": {"share_from": 1, "share_visits_from": 0},
    "share nothing": {"share_from": 2**62, "share_visits_from": 2**62},
    "all classes always": {"records_per_class": 0},
    "classes present always": {"records_per_class": 10**9},
    "radix sort always": {**LONG_WAY, "small_draws": 0, "sort_below": 2**62, "insertion_below": 0, "block_bytes": 3000},
}


@contextlib.contextmanager
def use_tuning(name):
    """Fit with one of the EXTREMES."""
    estimator.TUNING.update(EXTREMES[name])
    wanted = EXTREMES[name].get("loops")
    loops.use(wanted if wanted in loops.names() else None)
    try:
        yield
    finally:
        estimator.TUNING.clear()
        loops.use()


def assert_equal_forests(a, b, what=""):
    """Whether two fitted estimators hold the same arrays, to the bit."""
    a, b = a.forest_.as_dict(), b.forest_.as_dict()
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, (what, name)
        assert a[name].shape == b[name].shape, (what, name)
        assert a[name].tobytes() == b[name].tobytes(), (what, name)


def nodes_of(forest, t):
    """The arrays of tree t with what its leaves hold beside each node, as the naive twin has them."""
    tree = forest.tree(t)
    is_leaf = tree.feature < 0
    leaf = tree.leaf_row[is_leaf]
    subsets = [tree.subset_of(node) for node in range(len(leaf) + np.count_nonzero(~is_leaf))]
    nodes = {name: getattr(tree, name) for name in ("feature", "threshold", "missing_left")}
    nodes["right"] = np.where(is_leaf, 0, tree.right_child)
    nodes["subsets"] = [None if subset is None else subset.tolist() for subset in subsets]
    nodes["draws"] = tree.leaf_draws[leaf]
    nodes["weight"] = tree.leaf_weight[leaf]
    nodes["shift"] = tree.leaf_shift[leaf] if len(tree.leaf_shift) else np.zeros(len(leaf), np.int32)
    no_number = np.full(len(leaf), np.nan)
    nodes["value"] = no_number if forest.objective.predicts_shares else tree.leaf_value[leaf]
    nodes["impurity"] = no_number if forest.objective.predicts_shares else tree.leaf_impurity[leaf]
    return nodes


def assert_equal_twin(forest, t, twin, what=""):
    """Whether tree t of a forest is that of the naive twin, flattened, node by node."""
    nodes = nodes_of(forest, t)
    assert nodes.pop("subsets") == twin["subsets"], what
    for name, array in nodes.items():
        expected = twin[name][twin["feature"] < 0] if name in ("draws", "weight", "shift", "value", "impurity") else twin[name]
        np.testing.assert_array_equal(array, expected, err_msg=f"{name} {what}")


@pytest.fixture(scope="session")
def extremes():
    return EXTREMES


@pytest.fixture(scope="session")
def tuning():
    return use_tuning


@pytest.fixture(scope="session")
def assert_equal():
    return assert_equal_forests


@pytest.fixture(scope="session")
def assert_twin():
    return assert_equal_twin


@pytest.fixture(scope="session")
def tree_nodes():
    return nodes_of
