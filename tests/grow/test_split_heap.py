"""The nodes that wait for a split: their order, and those that are given up."""

from fractions import Fraction

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


SCORES = st.tuples(st.integers(0, 5) | st.just(5e-324), st.integers(-1, 1) | st.sampled_from([-3000, 3000]))


@given(st.lists(SCORES, min_size=1, max_size=40), st.integers(0, 50))
def test_the_first_are_kept(scores, n_kept):
    """Scores are compared as if they were in one unit, in which float64 may have no room for them."""
    kept, others = split_heap.order_of_splits(*zip(*scores, strict=True), n_kept)
    leaves = range(len(scores) - 1, 2 * len(scores) - 1)
    absolute = [Fraction(score) * Fraction(2) ** unit for score, unit in scores]
    in_order = sorted(leaves, key=lambda leaf: (-absolute[leaf - len(scores) + 1], preorder(leaf)))
    assert kept == in_order[:n_kept]
    assert sorted(others) == sorted(in_order[n_kept:])
