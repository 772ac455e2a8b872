"""What a level-wise driver asks of the rows that one device, or one rank, holds.

Open nodes are handed over as arrays of `df_open_node`.

Whatever a shard adds up is an integer of 64 bits, and whatever else it tells of its draws is a least or a greatest number. So
what several shards say together is the sum, the least or the greatest of what each says, in any order, to the bit: a shard made
of several others, on other machines, needs nothing more.

A shard owns the draws of a batch of trees. The driver knows nodes, and never sees draws.
"""

from abc import ABC, abstractmethod

import numpy as np


class Shard(ABC):
    """The draws of some trees on the rows of one device, or rank.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), dtype df_open_node
        The roots of the trees; the driver sets their weights.
    has_exact_weights : bool
        Whether the integer weights of some trees' draws were rounded, so that there are exact ones (`rules/weights.h`).
    """

    roots: np.ndarray
    has_exact_weights: bool

    @abstractmethod
    def add_up(self, open_nodes):
        """Sums over the draws of nodes.

        Returns
        -------
        statistics : ndarray of shape (n_nodes, n_words), dtype int64
        extents : ndarray of shape (n_nodes, 2), dtype int64
            The least and the greatest integer target, of 32 bits; classification: nothing in particular.
        """

    @abstractmethod
    def target_extents(self, open_nodes):
        """The least and the greatest exact target of nodes: ndarray of shape (n_nodes, 2), dtype float64. Regression only."""

    @abstractmethod
    def requantise(self, open_nodes):
        """Give the draws of nodes integer targets by the scales that the nodes have now. Regression only."""

    @abstractmethod
    def heaviest(self, open_nodes):
        """The heaviest exact weight of nodes: ndarray of shape (n_nodes,), dtype float64; infinite where there are none."""

    @abstractmethod
    def weigh(self, open_nodes):
        """Give the draws of nodes integer weights by the shifts that the nodes have now."""

    @abstractmethod
    def key_ranges(self, open_nodes, features):
        """The least and the greatest key of features in nodes; a least one above the greatest: there is none.

        Parameters
        ----------
        features : ndarray of shape (n_nodes, n_tried), dtype uint32

        Returns
        -------
        ndarray of shape (n_nodes, n_tried, 2), dtype uint64
        """

    @abstractmethod
    def count(self, open_nodes, features, ranges):
        """Histograms of features in nodes.

        Parameters
        ----------
        features : ndarray of shape (n_nodes, n_tried), dtype uint32
        ranges : ndarray or None
            What `key_ranges` returned, if any feature has keys: random cuts follow from the ranges, and each such histogram has
            one entry for either side.

        Returns
        -------
        object
            For `find_cuts`, where the shard wants it: sums of int64, of shape (n_nodes, n_tried, n_entries, n_words).
        """

    @abstractmethod
    def find_cuts(self, open_nodes, totals, features, ranges, histograms):
        """The best cut of each feature in each node.

        Parameters
        ----------
        histograms : object or ndarray of shape (n_nodes, n_tried, n_entries, n_words), dtype int64
            What `count` returned; or such sums, for nodes whose draws may be elsewhere.
        totals : ndarray of shape (n_nodes, n_words), dtype int64
            Statistics of the nodes.

        Returns
        -------
        cuts : ndarray of shape (n_nodes, n_tried), dtype df_split
            Score -1 where there is no valid one.
        subsets : ndarray of shape (n_nodes, n_tried, n_subset_words), dtype uint64
        """

    @abstractmethod
    def partition(self, open_nodes, cuts, subsets):
        """Move the draws that go left to the front of their node's run: how many records do, ndarray of (n_nodes,), int64."""

    @abstractmethod
    def leaf_words(self, nodes):
        """What nodes, as `df_grown`, keep as leaves: ndarray of shape (n_nodes, n_leaf_words), dtype int64.

        Draws and class weights; or draws, weight, and the bits of value and impurity. Of a node without draws all words are 0.
        """

    @abstractmethod
    def grow_subtrees(self, open_nodes):
        """Grow all that is below nodes of few records: `dforest.engines.nodes.Subtrees`, in the order of the nodes."""

    @abstractmethod
    def rows(self):
        """The row of each record, in the order in which growing left the records: leaf by leaf."""
