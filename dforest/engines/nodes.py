"""Nodes of many trees as flat arrays, and how they are brought into another order, all at once.

The nodes of a tree, or of a subtree, stand in preorder. A *range* of an array is some of its entries, one after another.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dforest.core.forest.assembly import TreeArrays
from dforest.core.tree.layout import number_children, take_ranges


def range_entries(firsts, lengths):
    """The numbers of the entries in ranges of an array, one range after another: ndarray of int64.

    Examples
    --------
    >>> range_entries(np.array([7, 0]), np.array([2, 3]))
    array([7, 8, 0, 1, 2])
    """
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(firsts - ends + lengths, lengths)


class Nodes(NamedTuple):
    """Nodes of trees, one after another: what `TreeArrays` has of them, but for right children, which follow from the features.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,), dtype int32
    threshold : ndarray of shape (n_nodes,), dtype float64
        NaN where a node has a payload, and only there.
    missing_left : ndarray of shape (n_nodes,), dtype bool
    leaves : ndarray of shape (n_leaves, n_leaf_words), dtype int64
    inner : ndarray of shape (n_inner, n_node_values) or (0, n_node_values), dtype float64
    payload_lengths : ndarray of shape (n_payloads,), dtype int64
    payload_words : ndarray of shape (n_words,), dtype uint64
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    leaves: np.ndarray
    inner: np.ndarray
    payload_lengths: np.ndarray
    payload_words: np.ndarray

    @classmethod
    def none(cls, objective):
        """No nodes of trees for an `Objective`."""
        leaves, inner = (np.int64, objective.n_leaf_words), (np.float64, objective.n_node_values)
        types = np.int32, np.float64, np.bool_, leaves, inner, np.int64, np.uint64
        return cls(*(np.empty(0, dtype) for dtype in types))

    @classmethod
    def join(cls, parts):
        """The nodes of one or more parts, one part after another."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def take(self, firsts, lengths):
        """Ranges of these nodes, one after another.

        Parameters
        ----------
        firsts, lengths : ndarray of shape (n_ranges,), dtype int64
            The first node of each, and how many nodes it has.
        """
        leaves = self.leaf_ranges(firsts, lengths)
        payloads, words = self._payload_ranges(firsts, lengths)
        inner = (firsts - leaves[0], lengths - leaves[1]) if len(self.inner) else (firsts[:0], lengths[:0])
        of_nodes = firsts, lengths
        ranges = of_nodes, of_nodes, of_nodes, leaves, inner, payloads, words
        return Nodes(*(take_ranges(array, *some) for array, some in zip(self, ranges, strict=True)))

    def leaf_ranges(self, firsts, lengths):
        """The leaves in ranges of the nodes, as ranges of the leaves: firsts, lengths."""
        return _true_of(self.feature < 0, firsts, lengths)

    def _payload_ranges(self, firsts, lengths):
        """The payloads in ranges of the nodes, as ranges of the payloads, and of their words."""
        if len(self.payload_lengths) == 0:
            none = np.zeros_like(firsts), np.zeros_like(lengths)
            return none, none
        payloads = _true_of(np.isnan(self.threshold), firsts, lengths)
        return payloads, _counted(self.payload_lengths, *payloads)

    def trees(self, starts):
        """The trees that the nodes make up, as `TreeArrays` that look into these arrays.

        Parameters
        ----------
        starts : ndarray of shape (n_trees + 1,), dtype int64
            Where each tree begins, and the last one ends.
        """
        firsts, lengths = starts[:-1], np.diff(starts)
        leaves = self.leaf_ranges(firsts, lengths)
        inner = firsts - leaves[0], lengths - leaves[1]
        counts = (
            zip(firsts.tolist(), (firsts + lengths).tolist(), strict=True)
            for firsts, lengths in (leaves, inner, *self._payload_ranges(firsts, lengths))
        )
        for (first, last), leaves, inner, payloads, words in zip(pairwise(starts), *counts, strict=True):
            feature = self.feature[first:last]
            right = np.zeros(len(feature), np.uint32)
            number_children(feature, right)
            yield TreeArrays(
                feature,
                self.threshold[first:last],
                right,
                self.missing_left[first:last],
                self.leaves[slice(*leaves)],
                self.inner[slice(*inner)] if len(self.inner) else self.inner,
                self.payload_lengths[slice(*payloads)],
                self.payload_words[slice(*words)],
            )


class Subtrees(NamedTuple):
    """Subtrees that a shard has grown to the end, one after another.

    Attributes
    ----------
    lengths : ndarray of shape (n_subtrees,), dtype int64
        Nodes of each.
    nodes : Nodes
        The nodes of each in preorder.
    leaf_firsts : ndarray of shape (n_leaves,), dtype int64, or None
        Where the draws of each leaf begin; None: the shard does not tell.
    """

    lengths: np.ndarray
    nodes: Nodes
    leaf_firsts: np.ndarray | None

    @classmethod
    def none(cls, objective):
        """No subtrees of trees for an `Objective`."""
        return cls(np.zeros(0, np.int64), Nodes.none(objective), np.zeros(0, np.int64))


def _true_of(flags, firsts, lengths):
    """Ranges of entries as ranges of those that are true: firsts, lengths. To look ranges up is faster than to sum all up."""
    found = np.flatnonzero(flags)
    before = np.searchsorted(found, firsts)
    return before, np.searchsorted(found, firsts + lengths) - before


def _counted(counts, firsts, lengths):
    """Ranges of entries as ranges of what they have, given how many each entry has: firsts, lengths."""
    before = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=before[1:])
    return before[firsts], before[firsts + lengths] - before[firsts]
