"""A map of rows: near each other are those that often lie in one leaf.

The proximity of two rows is the share of trees in which both reach the same leaf; classical scaling finds points in the plane
whose squared distances are close to 1 less the proximities [1]_. Leaves of trees that are grown in full hold so few draws that
hardly any two rows share one. So a leaf stands here for the *region* that it lies in: the lowest node above it, or itself, that
has at least one in `REGIONS` of the draws.

References
----------
.. [1] L. Breiman, A. Cutler, "Manual for setting up, using, and understanding random forests", 2003.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

MAP_ROWS = 400
REGIONS = 20


def region_of(tree, least):
    """The region of each node of a tree: the lowest of its ancestors and itself that has so many draws, or the root.

    Parameters
    ----------
    tree : dforest.core.forest.arrays.Forest
        Of one tree.
    least : float

    Returns
    -------
    ndarray of shape (n_nodes,), dtype int64
    """
    draws = np.zeros(len(tree.feature), np.int64)
    is_leaf = tree.feature < 0
    draws[is_leaf] = tree.leaf_draws[tree.leaf_row[is_leaf]]
    before = np.concatenate([[0], np.cumsum(draws)])
    region = np.zeros(len(draws), np.int64)
    waiting = [(0, len(draws))]  # a node, and the end of its subtree
    while waiting:
        node, end = waiting.pop()
        if before[end] - before[node] < least:
            continue
        region[node:end] = node
        if not is_leaf[node]:
            right = int(tree.right_child[node])
            waiting += [(right, end), (node + 1, right)]
    return region


def regions_of(forest, leaves):
    """The regions that rows reach in each tree, given what `apply` returns."""
    regions = np.empty_like(leaves)
    for t, draws in enumerate(forest.n_draws.tolist()):
        regions[:, t] = region_of(forest.tree(t), draws / REGIONS)[leaves[:, t]]
    return regions


def proximity_of(leaves):
    """The shares of trees in which rows share a leaf: ndarray of shape (n_rows, n_rows), given what `apply` returns."""
    n_rows, n_trees = leaves.shape
    leaves = leaves + np.arange(n_trees) * (leaves.max(initial=0) + 1)
    numbers = np.unique(leaves, return_inverse=True)[1].ravel()
    shape = n_rows, int(numbers.max(initial=0)) + 1
    is_in = csr_array((np.ones(leaves.size), numbers, np.arange(0, leaves.size + 1, n_trees)), shape=shape)
    return (is_in @ is_in.T).toarray() / n_trees


def classical_scaling(squares):
    """Points in the plane, given squares of Euclidean distances: two columns, and the share of variance that each stands for.

    1 less the proximities are half of such squares: proximities are inner products of vectors that have an entry for each leaf.

    Parameters
    ----------
    squares : ndarray of shape (n_points, n_points)

    Returns
    -------
    points : ndarray of shape (n_points, 2)
        Centred; the coordinate of the largest magnitude in each column is positive.
    shares : ndarray of shape (2,)
        Of the sum of the eigenvalues; 0 where the column is.
    """
    n_points = len(squares)
    rows = squares.mean(axis=0)
    products = -0.5 * (squares - rows - rows[:, None] + squares.mean())
    total = np.trace(products)  # the sum of all eigenvalues, of which none is below 0
    with threadpool_limits(1, user_api="blas"):  # more threads take longer for so few points
        values, vectors = eigh(products, subset_by_index=[max(0, n_points - 2), n_points - 1])
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    values[values < 1e-9 * max(1.0, values[0])] = 0
    points = np.zeros((n_points, 2))
    points[:, : min(2, n_points)] = vectors * np.sqrt(values)
    largest = np.abs(points).argmax(axis=0)
    points *= np.where(points[largest, [0, 1]] < 0, -1, 1)
    shares = np.zeros(2)
    if values[0] > 0:
        shares[: min(2, n_points)] = values / total
    return points, shares
