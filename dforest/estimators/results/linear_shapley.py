"""What linear leaves of boosted trees add to Shapley values, beside what leaves of one number do: see `core/predict/shapley.h`.

While a feature is not known, a row goes to both sides of its tests, with the shares that these have in the training weight, and
it has the mean of the leaf in the leaf's linear function: so a leaf adds a term's c = slope (x - center) only if the term's
feature is known. With o and z of each feature on the path as in `core/predict/shapley.h`, that is the game in which the row
reaches the leaf where z of the term's feature j is 0, and c is found there. Its Shapley values are

    c o_j times the integral of the product of f_e over the other features e,   for j itself, and
    c o_j (o_i - z_i) times the integral of t times the product over all others, for each other feature i,

with f_e = t o_e + (1 - t) z_e, over t from 0 to 1. Points of Gauss and Legendre give the integrals exactly. Where the leaf's
bounds keep a row from what its terms add up to, all of its terms are scaled alike, so that they do; and they are 0 where one of
the features has a value that is not finite.

Rows do not depend on each other, and trees are added in their order, so that results have the same bits on any number of threads.
"""

from functools import cache

import numpy as np

from dforest.core.predict.linear_shapley import add_leaf
from dforest.core.predict.shapley_weights import gauss_points
from dforest.core.threads import each

_BLOCK_ROWS = 1024  # of a thread
_points = cache(gauss_points)


def add_linear_parts(forest, X, values, n_threads):
    """Add what the linear functions of a forest's leaves do.

    Parameters
    ----------
    forest : Forest
        Of boosted trees.
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
    values : ndarray of shape (n_rows, n_features, n_sums), dtype float64
        What is added to, in place.
    n_threads : int
    """
    trees, lines = [_Tree(forest, t) for t in range(forest.n_trees)], forest.lines()
    blocks = [slice(first, first + _BLOCK_ROWS) for first in range(0, len(X), _BLOCK_ROWS)]

    def work(b, _):
        rows, own = X[blocks[b]].astype(np.float64), values[blocks[b]]
        for t, tree in enumerate(trees):
            tree.add(rows, lines, own[:, :, t % own.shape[2]])

    each(len(blocks), work, n_threads)


class _Tree:
    """A tree: its tests, and of each leaf that has terms the features on the way there."""

    def __init__(self, forest, t):
        self._forest, self._first, tree = forest, int(forest.node_offsets[t]), forest.tree(t)
        self._n_nodes = len(tree.feature)
        self._inner = np.flatnonzero(tree.feature >= 0).tolist()
        weight = tree.objective.total_weight(tree.weights).astype(np.float64)
        cover, self._leaves = np.zeros(len(tree.feature)), []
        for node in reversed(range(len(tree.feature))):  # children come after their parent
            is_leaf = tree.feature[node] < 0
            cover[node] = weight[tree.leaf_row[node]] if is_leaf else cover[node + 1] + cover[tree.right_child[node]]
        stack = [(0, ())]
        while stack:
            node, path = stack.pop()
            if tree.feature[node] >= 0:
                for side, child in enumerate((node + 1, int(tree.right_child[node]))):
                    stack.append((child, (*path, (node, int(tree.feature[node]), side, cover[child] / cover[node]))))
                continue
            terms = tree.leaf_features[tree.leaf_row[node]]
            if terms[0] >= 0:
                self._leaves.append((int(tree.leaf_row[node]), *_path(path, terms[terms >= 0].tolist())))

    def add(self, X, lines, values):
        """Add to the values of some rows, ndarray of shape (n, n_features)."""
        goes_left = np.zeros((self._n_nodes, len(X)), np.uint8)
        for node in self._inner:
            goes_left[node] = self._goes_left(node, X)
        for leaf, *path in self._leaves:
            add_leaf(goes_left, X, lines[leaf], self._forest.leaf_value[leaf], *path, values)

    def _goes_left(self, node, X):
        """Whether rows go left at a node: ndarray of bool."""
        forest, node = self._forest, self._first + node
        x, missing_left = X[:, forest.feature[node]], bool(forest.missing_left[node])
        if forest.n_categories[forest.feature[node]]:
            return np.isin(x, forest.subset_of(node)) != missing_left
        return np.where(np.isnan(x), missing_left, x <= forest.threshold[node])


def _path(path, terms):
    """What `add_leaf` is told of the way to a leaf, given its edges and the features of its terms."""
    features = list(dict.fromkeys(feature for _, feature, _, _ in path))
    shares = np.ones(len(features))
    for _, feature, _, part in path:
        shares[features.index(feature)] *= part
    edges = np.array([(node, features.index(feature), side) for node, feature, side, _ in path], np.int64)
    places = np.array([features.index(feature) for feature in terms], np.int64)
    return edges, np.array(features, np.int64), shares, places, *_points((len(features) + 1) // 2)
