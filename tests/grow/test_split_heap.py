"""The nodes that wait for a split: their order, and those that are given up."""

from hypothesis import given
from hypothesis import strategies as st
from probes import split_heap


def preorder(number):
    """What compares as places in preorder do, of the leaves of a complete binary tree: the turns on the way to a leaf."""
    turns = []
    while number > 0:
        turns.append(number % 2 == 0)
        number = (number - 1) // 2
    return turns[::-1]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(0, 50))
def test_the_first_are_kept(scores, n_kept):
    kept, others = split_heap.order_of_splits(scores, n_kept)
    leaves = range(len(scores) - 1, 2 * len(scores) - 1)
    in_order = sorted(leaves, key=lambda leaf: (-scores[leaf - len(scores) + 1], preorder(leaf)))
    assert kept == in_order[:n_kept]
    assert sorted(others) == sorted(in_order[n_kept:])
