"""Nodes of many trees as flat arrays."""

import doctest

import numpy as np
import pytest

import dforest.core.tree.layout
import dforest.engines.nodes
from dforest.core.tree.layout import take_ranges
from dforest.engines.nodes import Nodes, range_entries


def test_examples():
    for module in (dforest.engines.nodes, dforest.core.tree.layout):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.float64, "3i8"])
def test_ranges_are_taken_as_numpy_takes_entries(dtype):
    rng = np.random.default_rng(0)
    array = rng.integers(0, 99, 3000).astype("i8").reshape(-1, 3) if dtype == "3i8" else rng.integers(0, 2, 1000).astype(dtype)
    for n in (0, 1, 200):
        firsts = rng.integers(0, len(array) + 1, n)
        lengths = (rng.random(n) ** 9 * (len(array) + 1 - firsts)).astype(np.int64)
        found = take_ranges(array, firsts, lengths)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array[range_entries(firsts, lengths)])


def test_ranges_outside_are_refused():
    array = np.arange(5)
    for first, length in ((-1, 1), (0, 6), (5, 1), (2, -1), (2**62, 2**62)):
        with pytest.raises(ValueError, match="leads out of an array of 5"):
            take_ranges(array, np.array([first]), np.array([length]))
    with pytest.raises(ValueError, match="2 firsts, 1 lengths"):
        take_ranges(array, np.array([0, 1]), np.array([1]))
    with pytest.raises(ValueError, match="contiguous"):
        take_ranges(array[::2], np.array([0]), np.array([1]))


def random_tree(rng, has_inner):
    """(nodes of one tree, one list entry of what is known of each node)."""
    feature, n_open = [], 1
    while n_open:
        is_leaf = rng.random() < (0.6 if len(feature) < 40 else 1)
        feature.append(-1 if is_leaf else int(rng.integers(0, 4)))
        n_open += -1 if is_leaf else 1
    feature = np.array(feature, np.int32)
    n, n_leaves = len(feature), int((feature < 0).sum())
    threshold = np.where(feature < 0, 0.0, rng.random(n))
    threshold[feature == 3] = np.nan
    lengths = rng.integers(0, 4, int((feature == 3).sum()))
    return Nodes(
        feature,
        threshold,
        rng.random(n) < 0.5,
        rng.integers(0, 2**40, (n_leaves, 3)),
        rng.random((n - n_leaves if has_inner else 0, 2)),
        lengths,
        rng.integers(0, 2**60, int(lengths.sum())).astype(np.uint64),
    )


@pytest.mark.parametrize("has_inner", [False, True])
def test_trees_in_another_order(has_inner):
    """Trees joined, put into another order and cut apart are what they were."""
    rng = np.random.default_rng(has_inner)
    for _ in range(30):
        trees = [random_tree(rng, has_inner) for _ in range(rng.integers(1, 20))]
        lengths = np.array([len(tree.feature) for tree in trees])
        order = rng.integers(0, len(trees), rng.integers(1, 20))  # some of them, perhaps twice
        taken = Nodes.join(trees).take((np.cumsum(lengths) - lengths)[order], lengths[order])
        found = list(taken.trees(np.concatenate([[0], np.cumsum(lengths[order])])))
        assert len(found) == len(order)
        for tree, number in zip(found, order, strict=True):
            for name, array in trees[number]._asdict().items():
                np.testing.assert_array_equal(getattr(tree, name), array, err_msg=name)
            for node in np.flatnonzero(tree.feature >= 0):
                # A subtree ends where its leaves first outnumber its inner nodes; its right sibling comes next.
                lead = np.cumsum(np.where(tree.feature[node + 1 :] < 0, 1, -1))
                assert tree.right[node] == node + 2 + np.argmax(lead == 1)
