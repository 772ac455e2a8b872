"""A single tree in scikit-learn's form: what `tree_` of an estimator is.

Nodes have the numbers they have in the forest: depth-first preorder, as scikit-learn grows them.
A `Tree` owns the arrays it shows and borrows the forest, which predicts.
"""

from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from dforest.core.sparse_rows import SparseRows
from dforest.estimators.prediction import path_matrix
from dforest.estimators.sparse import in_order

TREE_LEAF = -1
TREE_UNDEFINED = -2


class Tree:
    """One tree, with the attributes and methods of scikit-learn's tree objects.

    Tools that read `tree_` of scikit-learn's estimators find here what they look for. The arrays
    are read-only: the forest predicts, so a changed copy would change nothing.

    Parameters
    ----------
    forest : Forest
        A forest of one tree.

    Attributes
    ----------
    node_count, capacity, n_leaves, n_features : int
    max_depth : int
        Depth of the deepest leaf; the root's is 0.
    n_outputs : int
    n_classes : ndarray of shape (n_outputs,), dtype intp
        The number of classes of each output; 1 for regression.
    max_n_classes : int
        The largest number in `n_classes`.
    children_left, children_right : ndarray of shape (node_count,), dtype intp
        Numbers of the children; -1 for leaves.
    feature : ndarray of shape (node_count,), dtype intp
        The feature that a node tests; -2 for leaves.
    threshold : ndarray of shape (node_count,), dtype float64
        A row goes left if x <= threshold. -2 for leaves. NaN where categories are tested (see
        `categories_left`), and where a splitter makes a test of its own, for which `feature` stands.
        The threshold of such a node alone raises ValueError: a reader who goes from node to node, as
        ``sklearn.tree.export_graphviz`` does, would take a test for what it isn't.
    missing_go_to_left : ndarray of shape (node_count,), dtype uint8
        1 where a row whose value is missing goes left, else 0; 0 for leaves.
    impurity : ndarray of shape (node_count,), dtype float64
    n_node_samples : ndarray of shape (node_count,), dtype intp
        The draws that reach a node: for a tree of a forest, a row that its bootstrap drew twice
        counts twice.
    weighted_n_node_samples : ndarray of shape (node_count,), dtype float64
        The total weight of the draws that reach a node, class weights included.
    value : ndarray of shape (node_count, n_outputs, max_n_classes), dtype float64
        Class shares, 0 for classes that an output does not have, or the value that a leaf there would predict.
    """

    def __init__(self, forest):
        if forest.n_trees != 1:
            raise ValueError(f"the forest has {forest.n_trees} trees; allowed is a forest of one tree, as Forest.tree returns it")
        inner = forest.feature >= 0
        numbers = np.arange(len(inner))
        self._forest = forest
        self.node_count = self.capacity = len(inner)
        self.n_leaves = int((~inner).sum())
        self.n_features = forest.n_features
        self._outputs = forest.objective.outputs
        self.n_outputs = len(self._outputs)
        n_classes = [own.stop - own.start for own in self._outputs]
        self.max_n_classes = max(n_classes)
        self.n_classes = _own(n_classes, np.intp)
        self.max_depth = int(forest.depths().max())
        self.children_left = _own(np.where(inner, numbers + 1, TREE_LEAF), np.intp)
        self.children_right = _own(np.where(inner, forest.right_child.astype(np.int64), TREE_LEAF), np.intp)
        self.feature = _own(np.where(inner, forest.feature, TREE_UNDEFINED), np.intp)
        self.threshold = _own(np.where(inner, forest.threshold, TREE_UNDEFINED), np.float64)
        if np.isnan(self.threshold).any():
            self.threshold = self.threshold.view(_Thresholds)
        self.missing_go_to_left = _own(inner & forest.missing_left, np.uint8)

    def __reduce__(self):
        return Tree, (self._forest,)

    @cached_property
    def _table(self):
        return self._forest.node_table(0)

    @cached_property
    def impurity(self):
        return _own(self._table.impurity, np.float64)

    @cached_property
    def n_node_samples(self):
        return _own(self._table.draws, np.intp)

    @cached_property
    def weighted_n_node_samples(self):
        weight = self._forest.objective.total_weight(self._table.weight)
        return _own(np.ldexp(weight.astype(np.float64), -int(self._forest.weight_exponent[0])), np.float64)

    @cached_property
    def value(self):
        return _own(self._by_output(self._table.value), np.float64)

    def _by_output(self, values):
        """Values of nodes or rows, by output: ndarray of shape (n, n_outputs, max_n_classes)."""
        table = np.zeros((len(values), self.n_outputs, self.max_n_classes))
        for o, own in enumerate(self._outputs):
            table[:, o, : own.stop - own.start] = values[:, own]
        return table

    def categories_left(self, node):
        """The categories that go left at a node.

        Parameters
        ----------
        node : int

        Returns
        -------
        ndarray of int64, or None
            Numbers of categories, ascending: places in ``categories_[feature]`` of the estimator.
            Categories that didn't occur at the node in training go where missing values go
            (`missing_go_to_left`). None if the node is a leaf or tests no categories.
        """
        subset = self._forest.subset_of(node)
        if subset is None:
            return None
        numbers = np.arange(self._forest.n_categories[self.feature[node]], dtype=np.int64)
        # The forest stores the categories on the side opposite to the missing values.
        return numbers[np.isin(numbers, subset) != self.missing_go_to_left[node]]

    def predict(self, X):
        """The values of the leaves that rows reach.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), dtype float32 or float64
            Categories and levels as their numbers, missing values as NaN.

        Returns
        -------
        ndarray of shape (n_rows, max_n_classes) or (n_rows, n_outputs, max_n_classes), dtype float64
            Class shares, or means, of one output or of several.
        """
        found = self._forest.packed().mean(_check_array(X), 1)
        if self.n_outputs == 1:
            return found
        return self._by_output(found)

    def apply(self, X):
        """The numbers of the leaves that rows reach, ndarray of shape (n_rows,), dtype intp; X as for `predict`."""
        return self._forest.packed().apply(_check_array(X), 1)[:, 0].astype(np.intp, copy=False)

    def decision_path(self, X):
        """The nodes that rows pass, sparse matrix of shape (n_rows, node_count); X as for `predict`."""
        return path_matrix(self._forest, self._forest.packed().apply(_check_array(X), 1))

    def compute_feature_importances(self, normalize=True):
        """Compute the importance of each feature by impurity.

        Parameters
        ----------
        normalize : bool, default=True
            Scale them to sum 1, unless all are 0.

        Returns
        -------
        ndarray of shape (n_features,), dtype float64
            The sum, over the nodes that test a feature, of the impurity decrease there times the
            node's share of the weight.
        """
        decrease = self._forest.impurity_decrease(relative=normalize)[0]
        return decrease / decrease.sum() if normalize and decrease.any() else decrease

    def compute_node_depths(self):
        """Levels of the nodes, ndarray of shape (node_count,), dtype int64; the root's is 1, as in scikit-learn."""
        return self._forest.depths() + 1


class _Thresholds(np.ndarray):
    """Thresholds of a tree some of whose tests have none."""

    def __getitem__(self, key):
        found = super().__getitem__(key)
        if isinstance(found, np.float64) and np.isnan(found):
            raise ValueError(
                f"node {key} has no threshold: it tests categories (see tree_.categories_left), or makes a test of a "
                "splitter's own; dforest.export_graphviz, export_text and plot_tree show such trees, scikit-learn's "
                "functions can't"
            )
        return found


def _own(values, dtype):
    """A read-only copy."""
    array = np.array(values, dtype)
    array.setflags(write=False)
    return array


def _check_array(X):
    if issparse(X) and X.ndim == 2 and X.dtype in (np.float32, np.float64):
        return SparseRows.of(in_order(X))
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype not in (np.float32, np.float64):
        what = f"{X.ndim}-dimensional array of {X.dtype}" if isinstance(X, np.ndarray) else type(X).__name__
        raise ValueError(f"X is a {what}; allowed are two-dimensional arrays of float32 or float64, or sparse matrices")
    return np.ascontiguousarray(X)
