"""Which features the nodes of a boosted tree try, as pairs of a node and a feature, and the best cut of each node.

WorkItems are taken in batches, whose histograms there is memory for. A histogram has an entry for each code of its feature.
"""

from typing import NamedTuple

import numpy as np

from dforest.rules.records import record

NO_SUBSET = np.zeros(0, np.uint64)  # of a cut of numbers


class WorkItems(NamedTuple):
    """Some work items, in the order of nodes.

    Attributes
    ----------
    node : ndarray of shape (n_work_items,), dtype int64
        Its place in a table of nodes.
    feature : ndarray of shape (n_work_items,), dtype int32
    entries : ndarray of shape (n_work_items + 1,), dtype int64
        Where the histogram of each pair begins among their entries, and the last one ends.
    words : ndarray of shape (n_work_items + 1,), dtype int64
        Where the subset of each pair begins among their words, and the last one ends. It has a bit for each code, if the feature
        has categories; else it is empty.
    """

    node: np.ndarray
    feature: np.ndarray
    entries: np.ndarray
    words: np.ndarray

    @classmethod
    def of_nodes(cls, features, n_entries, n_words):
        """All work items of nodes and the features that these try.

        Parameters
        ----------
        features : ndarray of shape (n_nodes, n_tried), dtype int32
            -1: none.
        n_entries, n_words : ndarray of shape (n_features,), dtype int64
            Of the histogram and of the subset of each feature.
        """
        node, at = np.nonzero(features >= 0)
        feature = features[node, at]
        return cls(node, feature, offsets(n_entries[feature]), offsets(n_words[feature]))

    def slice(self, first, end):
        """Those from one to before another."""
        edges = (column[first : end + 1] - column[first] for column in (self.entries, self.words))
        return WorkItems(self.node[first:end], self.feature[first:end], *edges)

    def batches(self, room):
        """WorkItems that have up to `room` entries together, or a single one with more; batches follow one another."""
        first = 0
        while first < len(self.node):
            end = max(first + 1, int(np.searchsorted(self.entries, self.entries[first] + room, side="right")) - 1)
            yield self.slice(first, end)
            first = end


class BestCuts:
    """The best cut of each node, as far as work items have been looked at: of equal ones that of the first pair.

    Attributes
    ----------
    cuts : ndarray of shape (n_nodes,), dtype df_boost_cut
    subsets : list of ndarray, dtype uint64
        Of the cuts: if the feature has categories, a bit for each code that goes left.
    midpoints : ndarray of shape (n_nodes, n_midpoints), dtype float64
        Of the cuts: where they part the steps of each output, if features have directions.
    """

    def __init__(self, n_nodes, n_midpoints):
        self.cuts, self.subsets = np.zeros(n_nodes, record("df_boost_cut")), [NO_SUBSET] * n_nodes
        self.cuts["score"], self.midpoints = -np.inf, np.zeros((n_nodes, n_midpoints))

    @property
    def found(self):
        """(cuts, subsets, midpoints)."""
        return self.cuts, self.subsets, self.midpoints

    def take(self, work_items, cuts, words, midpoints):
        """Look at the cuts of further work items. words : their subsets, one after another"""
        starts = first_of_each(work_items.node)
        tops = np.maximum.reduceat(cuts["score"], starts)
        tops = np.flatnonzero(cuts["score"] == tops.repeat(np.diff(starts, append=len(cuts))))
        tops = tops[first_of_each(work_items.node[tops])]
        tops = tops[cuts["score"][tops] > self.cuts["score"][work_items.node[tops]]]
        nodes = work_items.node[tops]
        self.cuts[nodes], self.midpoints[nodes] = cuts[tops], midpoints[tops]
        firsts, ends = work_items.words[tops].tolist(), work_items.words[tops + 1].tolist()
        for node, first, end in zip(nodes.tolist(), firsts, ends, strict=True):
            self.subsets[node] = words[first:end].copy() if first < end else NO_SUBSET


def first_of_each(numbers):
    """Where each of some ascending numbers comes for the first time."""
    return np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))


def offsets(lengths):
    """Where things of some lengths begin, one after another, and the last one ends: ndarray of shape (n + 1,), dtype int64."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
