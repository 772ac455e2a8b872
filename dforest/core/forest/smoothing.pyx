"""Leaves of a grown tree that are smoothed from the root down: hierarchical shrinkage [1]_.

A step from a node to its child changes a prediction by the difference of what the two say by themselves. Smoothing multiplies
each of these differences by n / (n + strength), with n the draws in the node above. So a leaf predicts a mean over the nodes of
its path. With the root r, a, b, ..., and the leaf l, where n(a) draws reach a,

    smoothed(l) = above(b) + n(b) / (n(b) + strength) * (own(l) - above(b))            b is the parent of l
    above(b)    = above(a) + (n(a) - n(b)) / (n(a) + strength) * (own(b) - above(a))   a is the parent of b
    above(r)    = own(r).

Each line is between the two numbers that it is made of (`rules/smoothing.h`), so that nothing cancels out. In words: n(a) - n(b)
draws leave the path at a, and by them b counts among those above.

What a node says may be shares of classes, or the mean of targets. The *impurity* of a smoothed leaf is that of the mixture of
what the nodes of its path have. So the means of smoothed leaves are what the nodes above them predict once they are smoothed, and
the root keeps its value and its impurity.

Nothing here is kept: results are new arrays, the arrays handed in are borrowed.

References
----------
.. [1] A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu, "Hierarchical Shrinkage: Improving the accuracy and interpretability of
   tree-based models", ICML 2022.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

from dforest.core.forest.node_table cimport fall_of
from dforest.rules.smoothing cimport df_share_of_draws, df_smoothed
from dforest.rules.weights cimport DF_LEAF_WEIGHT_BITS


def smoothed_nodes(const int32_t[::1] feature not None, const uint32_t[::1] right_child not None, table not None, double strength,
                   bint is_poisson=False):
    """What all nodes of a tree predict once they are smoothed, and how impure they are then.

    Parameters
    ----------
    feature, right_child : ndarray of shape (n,)
        Of the nodes of one tree: see `dforest.core.forest.arrays.Forest`.
    table : NodeTable
        Of the tree as it was grown.
    strength : float
        How many draws have half of the say; above 0, or infinite.
    is_poisson : bool, default=False
        Whether impurities are halves of mean Poisson deviances, and not variances.

    Returns
    -------
    value : ndarray of shape (n, n_values), dtype float64
        As `NodeTable.value`.
    impurity : ndarray of shape (n,), dtype float64
        As `NodeTable.impurity`, which for classes means nothing here.
    """
    cdef const int64_t[::1] draws = table.draws
    cdef const double[:, ::1] own = table.value
    cdef const double[::1] own_impurity = table.impurity
    cdef Py_ssize_t n = feature.shape[0], n_values = own.shape[1], i, child, depth, k
    cdef double share
    level = np.zeros(n, np.int64)
    value, impurity = np.empty((n, n_values)), np.empty(n)
    cdef int64_t[::1] to_depth = level
    cdef double[:, ::1] smoothed = value
    cdef double[::1] to_impurity = impurity
    for i in range(n):
        if feature[i] >= 0:
            to_depth[i + 1] = to_depth[right_child[i]] = to_depth[i] + 1
    # What holds above the children of the last node that has come at each depth, and how many draws that node has.
    cdef Py_ssize_t n_levels = level.max() + 1
    cdef double[:, ::1] above = np.empty((n_levels, n_values))
    cdef double[::1] above_impurity = np.empty(n_levels), n_draws = np.empty(n_levels)
    smoothed[0, :] = own[0, :]
    above[0, :] = own[0, :]
    to_impurity[0] = above_impurity[0] = own_impurity[0]
    with nogil:
        for i in range(n):
            if feature[i] < 0:
                continue
            depth = to_depth[i]
            n_draws[depth] = <double> draws[i]
            if depth > 0:
                share = df_share_of_draws(n_draws[depth - 1] - n_draws[depth], n_draws[depth - 1], strength)
                mix(&above[depth - 1, 0], above_impurity[depth - 1], &own[i, 0], own_impurity[i], n_values, share, is_poisson,
                    &above[depth, 0], &above_impurity[depth])
            share = df_share_of_draws(n_draws[depth], n_draws[depth], strength)
            for k in range(2):
                child = right_child[i] if k else i + 1
                mix(&above[depth, 0], above_impurity[depth], &own[child, 0], own_impurity[child], n_values, share, is_poisson,
                    &smoothed[child, 0], &to_impurity[child])
    return value, impurity


cdef void mix(const double* above, double above_impurity, const double* own, double own_impurity, Py_ssize_t n_values,
              double share, bint is_poisson, double* value, double* impurity) noexcept nogil:
    """What is made of what holds above a node, and of what the node says by itself. OUT value, impurity"""
    cdef double fall = 0.0
    cdef Py_ssize_t k
    for k in range(n_values):
        value[k] = df_smoothed(above[k], own[k], share)
        fall += fall_of(1.0 - share, share, own[k] - above[k], value[k], is_poisson)
    impurity[0] = (1.0 - share) * above_impurity + share * own_impurity + fall / <double> n_values


def weights_of_shares(shares, total, sets, shift):
    """Integer weights whose shares are those of classes, but for rounding: as fine as leaves and sums of them can be.

    Parameters
    ----------
    shares : ndarray of shape (n_leaves, n_classes), dtype float64
        With the classes of several outputs side by side; those of each output add up to 1.
    total : ndarray of shape (n_leaves,), dtype int64
        The weight of each leaf.
    sets : sequence of slice
        The classes of each output.
    shift : ndarray of shape (n_leaves,) or (0,), dtype int32
        See `Forest.leaf_shift`. The weights of leaves without shifts become finer by as many bits, so that sums are exact.

    Returns
    -------
    weights : ndarray of shape (n_leaves, n_classes), dtype int64
    shift : ndarray of shape (n_leaves,), dtype int32

    Examples
    --------
    >>> import numpy as np
    >>> weights, shift = weights_of_shares(np.array([[0.25, 0.75]]), np.array([3]), [slice(0, 2)], np.zeros(0, np.int32))
    >>> np.ldexp(weights, -shift[:, None])
    array([[0.75, 2.25]])
    """
    largest = total if len(shift) else np.full(len(total), total.sum())
    bits = np.maximum(0, DF_LEAF_WEIGHT_BITS - 1 - np.frexp(largest.astype(np.float64))[1])
    weights, total = np.empty(shares.shape, np.int64), (total << bits)[:, None]
    for own in sets:
        ends = np.cumsum(shares[:, own], axis=1)
        ends = np.minimum(np.rint(ends / ends[:, -1:] * total).astype(np.int64), total)
        ends[:, -1:] = total
        weights[:, own] = np.diff(ends, axis=1, prepend=0)
    return weights, (bits + shift if len(shift) else bits).astype(np.int32)
