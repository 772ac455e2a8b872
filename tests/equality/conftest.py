"""What the tests of equality share: the machinery's extremes, and forests as comparable arrays."""

import numpy as np
import pytest
from helpers.tunings import EXTREMES, tuned


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
    return tuned


@pytest.fixture(scope="session")
def assert_equal():
    return assert_equal_forests


@pytest.fixture(scope="session")
def assert_twin():
    return assert_equal_twin


@pytest.fixture(scope="session")
def tree_nodes():
    return nodes_of
