"""Partial dependence: what a tree predicts on average if only some features of a row are known.

A *point* has values of these features. It goes down the tree with a weight of 1: to one side where a node tests one of them, and
to both where the node tests another one, with the shares that both sides have in the node's training weight. Subtrees that test
none of them are not entered: what they add is the weighted mean of their leaves.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np


cdef struct Waiting:           # a subtree, and what of a point reaches it
    int64_t node
    double weight


def mean_predictions(tree, const double[::1] leaf_weight not None, const double[:, ::1] votes not None,
                     const int32_t[::1] place not None, const double[:, ::1] points not None):
    """Mean predictions of a tree at points.

    Parameters
    ----------
    tree : Forest
        Of one tree.
    leaf_weight : ndarray of shape (n_leaves,), dtype float64
        The training weight of each row of the tables of leaves.
    votes : ndarray of shape (n_leaves, n_values), dtype float64
        What each row of the tables of leaves adds to a prediction.
    place : ndarray of shape (n_features,), dtype int32
        The column of `points` that has the values of each feature; -1: they are not known.
    points : ndarray of shape (n_points, n_known), dtype float64
        NaN means missing; categories are numbers.

    Returns
    -------
    ndarray of shape (n_points, n_values), dtype float64
    """
    cdef const int32_t[::1] feature = tree.feature
    cdef const double[::1] threshold = np.asarray(tree.threshold, np.float64)
    cdef const uint32_t[::1] link = tree.link
    cdef const unsigned char[::1] missing_left = tree.missing_left.view(np.uint8)
    cdef const int32_t[::1] n_categories = tree.n_categories
    cdef const uint64_t[::1] words = tree.payload_words
    cdef const int64_t[::1] offsets = tree.payload_offsets
    cdef Py_ssize_t n = feature.shape[0], n_values = votes.shape[1], i, p, k, n_waiting
    cdef int64_t[::1] payload = np.cumsum((tree.feature >= 0) & (tree.n_categories[tree.feature] > 0)) - 1
    cdef double[:, ::1] value = np.empty((n, n_values))        # the weighted mean of the leaves below
    cdef double[::1] weight = np.empty(n)                      # of training rows
    cdef double[::1] fraction = np.zeros(n)                    # of the left child
    cdef unsigned char[::1] enters = np.zeros(n, np.uint8)     # whether there is a test of known values at or below the node
    means = np.zeros((points.shape[0], n_values))
    cdef double[:, ::1] mean = means
    cdef double x, of_point
    cdef bint goes_left
    cdef Waiting* waiting = <Waiting*> malloc((n + 1) * sizeof(Waiting))
    if waiting == NULL:
        raise MemoryError()
    with nogil:
        for i in range(n - 1, -1, -1):                         # children come after their parents
            if feature[i] < 0:
                for k in range(n_values):
                    value[i, k] = votes[link[i], k]
                weight[i] = leaf_weight[link[i]]
                continue
            weight[i] = weight[i + 1] + weight[link[i]]
            fraction[i] = weight[i + 1] / weight[i]
            enters[i] = place[feature[i]] >= 0 or enters[i + 1] or enters[link[i]]
            for k in range(n_values):
                value[i, k] = fraction[i] * value[i + 1, k] + (1.0 - fraction[i]) * value[link[i], k]
        for p in range(points.shape[0]):
            waiting[0].node, waiting[0].weight, n_waiting = 0, 1.0, 1
            while n_waiting > 0:
                n_waiting -= 1
                i, of_point = waiting[n_waiting].node, waiting[n_waiting].weight
                while enters[i]:
                    if place[feature[i]] < 0:
                        waiting[n_waiting].node, waiting[n_waiting].weight = link[i], of_point * (1.0 - fraction[i])
                        n_waiting += 1
                        of_point *= fraction[i]
                        i += 1
                        continue
                    x = points[p, place[feature[i]]]
                    if n_categories[feature[i]] > 0:
                        goes_left = is_member(words, offsets[payload[i]], offsets[payload[i] + 1], x) != missing_left[i]
                    else:
                        goes_left = missing_left[i] if x != x else x <= threshold[i]
                    i = i + 1 if goes_left else <Py_ssize_t> link[i]
                for k in range(n_values):
                    mean[p, k] += of_point * value[i, k]
    free(waiting)
    return means


cdef inline bint is_member(const uint64_t[::1] words, int64_t first, int64_t last, double x) noexcept nogil:
    """Whether a category, which may be missing, is in the set of some words."""
    cdef int64_t category
    if not (0.0 <= x < 64.0 * <double> (last - first)):
        return False
    category = <int64_t> x
    return words[first + (category >> 6)] >> (category & 63) & 1
