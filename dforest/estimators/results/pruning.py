"""Smaller trees from grown ones.

Reduced error pruning [1]_ finds the subtree that is best on a set of rows that the tree was not grown on.
Minimal cost-complexity pruning [2]_ needs no such rows: with R(T) the risk of a tree, the sum over its leaves
of their share of the weight times their impurity, it finds the smallest subtree of least
R(T) + alpha * (leaves of T).

References
----------
.. [1] J. R. Quinlan, "Simplifying decision trees", International Journal of Man-Machine Studies 27(3),
   1987.
.. [2] L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984, chapter 3.
"""

import numpy as np

from dforest.core.forest.node_table import fewest_errors, least_squares, target_power, weakest_links
from dforest.core.threads import each


def reduced_error(forest, X, target, weight):
    """A forest of one tree, cut back to the smallest of its prunings that make the fewest errors.

    Parameters
    ----------
    forest : Forest
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
    target : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Class numbers, or numbers. The errors of all outputs are added up.
    weight : ndarray of shape (n_rows,), dtype int64, or None
        Integer weights of the rows' errors. None means that all are 1.

    Returns
    -------
    Forest
    """
    value = forest.node_table(0).value
    prediction, dtype, find = value, np.float64, least_squares
    if forest.objective.predicts_shares:
        prediction = np.stack([value[:, own].argmax(axis=1) for own in forest.objective.outputs], axis=1)
        dtype, find = np.int64, fewest_errors
    leaf = forest.packed().apply(X, 1)[:, 0]
    tree = forest.tree(0)
    target = np.ascontiguousarray(target.reshape(len(target), -1), dtype)
    cut = find(tree.feature, tree.right_child, np.ascontiguousarray(prediction), leaf, target, weight)
    return forest.cut_back(cut)


def cost_complexity(forest, trees, alpha, n_threads):
    """A forest with some trees cut back to their smallest subtrees of least cost-complexity.

    Parameters
    ----------
    forest : Forest
    trees : range
        Numbers of these trees.
    alpha : float
        Cost of a leaf. If 0, nothing is cut.
    n_threads : int

    Returns
    -------
    Forest
    """
    if alpha == 0.0:
        return forest
    cut = np.zeros(len(forest.feature), bool)
    exponent = forest.target_exponent()

    def mark(i, _):
        nodes, *_ = _links(forest, trees[i], exponent, alpha)
        cut[forest.node_offsets[trees[i]] + nodes] = True

    each(len(trees), mark, n_threads)
    return forest.cut_back(cut) if cut.any() else forest


def cost_complexity_path(forest):
    """All subtrees that are the best for some cost of a leaf.

    Parameters
    ----------
    forest : Forest
        A forest of one tree.

    Returns
    -------
    alphas : ndarray of shape (n_subtrees,), dtype float64
        The least cost of a leaf for which each subtree is the best; 0 for the whole tree. Links of
        equal strength are cut one by one, and so appear more than once.
    risks : ndarray of shape (n_subtrees,), dtype float64
        R(T) of each subtree.
    """
    _, strength, rise, risk, shift = _links(forest, 0, forest.target_exponent())
    with np.errstate(over="ignore"):
        return np.ldexp(np.maximum.accumulate([0.0, *strength]), shift), np.ldexp(np.cumsum([risk, *rise]), shift)


def _links(forest, t, exponent, alpha=np.inf):
    """What `weakest_links` finds in a tree, the risk of the whole tree, and the power of two that all these are in units of.

    Works with targets divided by 2**exponent: impurities themselves may leave float64's range.
    """
    table, tree = forest.node_table(t, exponent), forest.tree(t)
    shift = target_power(forest.criterion) * exponent
    weight, is_leaf = forest.objective.total_weight(table.weight), tree.feature < 0
    risk = (weight[is_leaf] / weight[0] * table.impurity[is_leaf]).sum()
    with np.errstate(over="ignore", under="ignore"):
        alpha = float(np.ldexp(alpha, -shift))
    return *weakest_links(tree.feature, tree.right_child, table.decrease / weight[0], alpha), risk, shift
