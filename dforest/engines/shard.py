"""What a driver (`dforest.engines.driver`) asks of the rows that one device, or one rank, holds.

Nodes are handed over as arrays of `df_open_node`.

Whatever a shard adds up is an integer of 64 bits, and whatever else it tells of its rows is a least or a greatest number. So what
several shards say together is the sum, the least or the greatest of what each says, in any order, to the bit: a shard made of
several others, on other machines, needs nothing more.

A shard owns the draws of a batch of trees, or the rows of a boosted fit. The driver knows nodes, and never sees rows.
"""

from abc import ABC, abstractmethod

import numpy as np


class ForestShard(ABC):
    """The draws of some trees on the rows of one device, or rank.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), dtype df_open_node
        The roots of the trees; the driver sets their weights.
    has_exact_weights : bool
        Whether the integer weights of some trees' draws were rounded, so that there are exact ones (`rules/weights.h`).

    Notes
    -----
    If the problem has several outputs, what is said of sums and cuts depends on the scales of a node's outputs: `outputs`, an
    ndarray of shape (n_nodes, n_outputs), dtype df_output (`rules/outputs.h`). With one output it is None.
    """

    roots: np.ndarray
    has_exact_weights: bool

    @abstractmethod
    def add_up(self, open_nodes, outputs):
        """Sums over the draws of nodes.

        Returns
        -------
        statistics : ndarray of shape (n_nodes, n_words), dtype int64
        extents : ndarray of shape (n_nodes, 2), dtype int64
            The least and the greatest integer target, of 32 bits; classes, several outputs: nothing in particular.
        """

    @abstractmethod
    def target_extents(self, open_nodes):
        """The least and the greatest exact target of nodes: ndarray of shape (n_nodes, n_outputs, 2), dtype float64.

        Regression only.
        """

    @abstractmethod
    def requantise(self, open_nodes):
        """Give the draws of nodes integer targets by the scales that the nodes have now.

        Regression with one output only.
        """

    @abstractmethod
    def max_weight(self, open_nodes):
        """The heaviest exact weight of nodes: ndarray of shape (n_nodes,), dtype float64; infinite where there are none."""

    @abstractmethod
    def requantise_weights(self, open_nodes):
        """Give the draws of nodes integer weights by the shifts that the nodes have now."""

    @abstractmethod
    def label_sums(self, roots):
        """Sums of the rows that order the labels of trees (`dforest.core.grow.label_order`), whose roots have their scales.

        Returns
        -------
        ndarray of shape (n_trees, n_entries, n_words), dtype int64
            As of `LabelSums`.
        """

    @abstractmethod
    def take_label_ranks(self, ranks):
        """Learn how the trees order labels: ndarray of shape (n_trees, n_ranks), dtype uint32.

        `label_order` of a node is the number of its tree among these.
        """

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
    def count(self, open_nodes, features, ranges, outputs):
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
    def find_cuts(self, open_nodes, totals, outputs, features, ranges, histograms):
        """The best cut of each feature in each node.

        Parameters
        ----------
        histograms : object or ndarray of shape (n_nodes, n_tried, n_entries, n_words), dtype int64
            What `count` returned; or such sums, for nodes whose draws may be elsewhere.
        totals : ndarray of shape (n_nodes, n_words), dtype int64
            Statistics of the nodes. `outputs` have been measured by them.

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

        Draws and class weights; or draws, weight, and the bits of a value for each output and of the impurity. Of a node without
        draws all words are 0.
        """

    @abstractmethod
    def grow_subtrees(self, open_nodes):
        """Grow all that is below nodes of few records: `dforest.engines.nodes.Subtrees`, in the order of the nodes."""

    @abstractmethod
    def rows(self):
        """The row of each record, in the order in which growing left the records: leaf by leaf."""


class BoostingShard(ABC):
    """The rows of a boosted fit on one device, or rank.

    Attributes
    ----------
    n_rows : int
        Those of all shards that trees are grown from: all, or those that `draw` has drawn.
    has_hessian : bool
        Whether a row has an integer for its Hessian.
    """

    n_rows: int
    has_hessian: bool

    @abstractmethod
    def draw(self, seed):
        """Draw the rows of an iteration, where it draws some of all: the integer weight of all shards' drawn rows."""

    @abstractmethod
    def measure(self, parameter):
        """The largest gradient, in magnitude, and hessian of each sum of the iteration that begins: float64, (n_sums, 2).

        parameter : float
            Of the loss.
        """

    @abstractmethod
    def quantise(self, factors):
        """Make derivatives quantised gradients, by 2 to the power of their exponents.

        Parameters
        ----------
        factors : ndarray of shape (n_sums, 2), dtype float64

        Returns
        -------
        ndarray of shape (n_sums, 4), dtype int64
            The largest gradient, in magnitude, and hessian, and the sums of magnitudes, times integer weights.
        """

    @abstractmethod
    def begin(self, tree, kind):
        """Begin a tree of the iteration, of this number: all rows are in its root. kind : of its words, as of `Words`"""

    @abstractmethod
    def largest(self, open_nodes):
        """The heaviest weight, the largest gradient, in magnitude, and hessian of nodes: float64, (n_nodes, n_outputs, 3).

        Derivatives are those of the tree that grows, times the weights; 0 stands for what rows have not.
        """

    @abstractmethod
    def quantise_again(self, open_nodes, factors):
        """Make the integers of nodes anew.

        Parameters
        ----------
        factors : ndarray of shape (n_nodes, n_outputs, 2), dtype float64
            2 to the power of the exponents of their gradients and hessians.
        """

    @abstractmethod
    def find_cuts(self, open_nodes, features, exponents, bounds):
        """The best cut of each node by some features.

        Parameters
        ----------
        features : ndarray of shape (n_nodes, n_tried), dtype int32
            -1: none. Each node tries one at least.
        exponents : ndarray of shape (n_nodes, n_outputs, 2), dtype int32
            Of narrow gradients and hessians.
        bounds : ndarray of shape (n_nodes, n_outputs, 2), dtype float64, or None
            Of nodes' steps, in units of these; None: features have no directions.

        Returns
        -------
        cuts : ndarray of shape (n_nodes,), dtype df_boost_cut
            Of equal ones that of the first feature.
        subsets : list of ndarray, dtype uint64
            If the feature has categories, a bit for each code that goes left.
        midpoints : ndarray of shape (n_nodes, n_outputs) or, without bounds, (n_nodes, 0), dtype float64
            Between the steps of both sides of a cut, if its feature has a direction.
        """

    @abstractmethod
    def partition(self, open_nodes, cuts, subsets):
        """Move the rows that go left to the front of their node's run: how many rows do, ndarray of (n_nodes,), int64."""

    @abstractmethod
    def add_up(self, open_nodes):
        """Sums of the quantised gradients and hessians of nodes: ndarray of shape (n_nodes, n_outputs, 2), dtype int64."""

    @abstractmethod
    def max_weight(self, open_nodes):
        """The heaviest exact weight (`rules/weights.h`) of nodes: float64, (n_nodes,). Where there are exact weights only."""

    @abstractmethod
    def weights_of_bytes(self, open_nodes, output, which, keys, shifts):
        """The weight of each value of a byte of what nodes' rows lack: see `dforest.core.boost.quantiles.find_quantiles`.

        Parameters
        ----------
        open_nodes : ndarray of df_open_node, or None
            None: one node with all rows, drawn or not, of which the distances from targets are looked at.
        output : int
        which : int
            The byte, from 0, the first, to 7.
        keys : ndarray of shape (n_nodes,), dtype uint64
        shifts : ndarray of shape (n_nodes,), dtype int32

        Returns
        -------
        ndarray of shape (n_nodes, 256), dtype int64
        """

    @abstractmethod
    def next_keys(self, open_nodes, output, keys):
        """The least key above each node's: ndarray of shape (n_nodes,), dtype uint64; the greatest number where there is none."""

    @abstractmethod
    def sum_terms(self, open_nodes, medians, delta, factor, shifts):
        """Sums for Huber's leaves, of one output: ndarray of shape (n_nodes, 3), dtype int64.

        The lower 31 bits of terms, quantised by the factor, times weights; the rest of these; and weights.
        """

    @abstractmethod
    def custom_values(self, open_nodes):
        """The values of nodes that a loss of the user's own says, given their rows: ndarray of shape (n_nodes,), float64."""

    @abstractmethod
    def update_raw_predictions(self, open_nodes, values):
        """Add the values of leaves, of shape (n_nodes, n_outputs), to the raw predictions of the rows that reach them, drawn or
        not.
        """

    @abstractmethod
    def raw_sums(self):
        """The sums of leaf values of the shard's own rows: ndarray of shape (n_sums, n_own_rows), dtype float64."""
