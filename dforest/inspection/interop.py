"""A single tree in scikit-learn's form: what `tree_` of an estimator is.

Nodes have the numbers they have in the forest: depth-first preorder, as scikit-learn grows them.
A `Tree` owns the arrays it shows and borrows the forest, which predicts.
"""

from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from dforest.core.sparse_rows import SparseRows
from dforest.estimators.data.sparse import in_order
from dforest.estimators.tree_model import path_matrix

TREE_LEAF = -1
TREE_UNDEFINED = -2


class Tree:
    """A single fitted tree, with the attributes and methods of scikit-learn's tree objects.

    It is the attribute `tree_` of single trees, for tools that read this attribute of scikit-learn's estimators. Nodes are
    numbered in depth-first preorder, and the root is 0. The arrays are read-only, as predictions don't use them.

    Parameters
    ----------
    forest : Forest
        A forest of one tree: the attribute `forest_` of a single tree.

    Attributes
    ----------
    node_count, capacity : int
        Number of nodes.
    n_leaves : int
        Number of leaves.
    n_features : int
        Number of features.
    max_depth : int
        Depth of the deepest leaf; the root's depth is 0.
    n_outputs : int
        Number of outputs, which are the columns of y.
    n_classes : ndarray of shape (n_outputs,), dtype intp
        Number of classes of each output; 1 for regression.
    max_n_classes : int
        The largest number in `n_classes`.
    children_left, children_right : ndarray of shape (node_count,), dtype intp
        Numbers of the left and the right child of each node; -1 for leaves.
    feature : ndarray of shape (node_count,), dtype intp
        Number of the feature that each node tests; -2 for leaves.
    threshold : ndarray of shape (node_count,), dtype float64
        Threshold of each node: a row goes left if x <= threshold. It is -2 for leaves, and NaN where a node tests
        categories (see `categories_left`) or makes a test of a splitter's own. Reading the threshold of a single such node
        raises ValueError, so that a tool that goes from node to node, as ``sklearn.tree.export_graphviz`` does, can't
        misread the test.
    missing_go_to_left : ndarray of shape (node_count,), dtype uint8
        1 where a row whose value is missing goes left, else 0; 0 for leaves.
    impurity : ndarray of shape (node_count,), dtype float64
        Impurity of each node, by the criterion.
    n_node_samples : ndarray of shape (node_count,), dtype intp
        Number of draws that reach each node. In the tree of a forest, a row that was drawn twice counts twice.
    weighted_n_node_samples : ndarray of shape (node_count,), dtype float64
        Total weight of the draws that reach each node, class weights included.
    value : ndarray of shape (node_count, n_outputs, max_n_classes), dtype float64
        Shares of the classes in each node, with 0 for classes that an output does not have; for regression, the number that
        the node would predict as a leaf.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y).tree_
    >>> tree.children_left.tolist(), tree.children_right.tolist()
    ([1, -1, -1], [2, -1, -1])
    >>> int(tree.feature[0]), float(tree.threshold[0])
    (2, 2.45)
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
        return _own(weight.astype(np.float64) * self._forest.weight_unit[0], np.float64)

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
        """Return the categories that go left at a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int64, or None
            Numbers of categories in ascending order, which are places in ``categories_[feature]`` of the estimator.
            Categories that did not occur in the node in training go where missing values go (`missing_go_to_left`).
            None if the node is a leaf or tests no categories.
        """
        subset = self._forest.subset_of(node)
        if subset is None:
            return None
        numbers = np.arange(self._forest.n_categories[self.feature[node]], dtype=np.int64)
        # The forest stores the categories on the side opposite to the missing values.
        return numbers[np.isin(numbers, subset) != self.missing_go_to_left[node]]

    def predict(self, X):
        """Return the value of the leaf that each row reaches.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), dtype float32 or float64
            Rows, with categories and levels as their numbers and missing values as NaN; a sparse matrix is allowed too.

        Returns
        -------
        ndarray of shape (n_rows, max_n_classes) or (n_rows, n_outputs, max_n_classes), dtype float64
            Shares of the classes or, for regression, predicted numbers; the second shape is that of several outputs.
        """
        found = self._forest.packed().mean(_check_array(X), 1)
        if self.n_outputs == 1:
            return found
        return self._by_output(found)

    def apply(self, X):
        """Return the number of the leaf that each row reaches: ndarray of shape (n_rows,), dtype intp; X as for `predict`."""
        return self._forest.packed().apply(_check_array(X), 1)[:, 0].astype(np.intp, copy=False)

    def decision_path(self, X):
        """Return the nodes that each row passes: a sparse matrix of shape (n_rows, node_count); X as for `predict`."""
        return path_matrix(self._forest, self._forest.packed().apply(_check_array(X), 1))

    def compute_feature_importances(self, normalize=True):
        """Compute the impurity-based importance of each feature.

        Parameters
        ----------
        normalize : bool, default=True
            Whether to scale the importances to sum to 1, unless all are 0.

        Returns
        -------
        ndarray of shape (n_features,), dtype float64
            The sum, over the nodes that test a feature, of the impurity decrease there times the
            node's share of the weight.
        """
        decrease = self._forest.impurity_decrease(relative=normalize)[0]
        return decrease / decrease.sum() if normalize and decrease.any() else decrease

    def compute_node_depths(self):
        """Return the level of each node: ndarray of shape (node_count,), dtype int64. The root's is 1, as in scikit-learn."""
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
