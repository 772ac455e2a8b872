"""The rules of nodes and cuts as functions over arrays, for drivers that decide for many nodes at a time.

Each is a function of the headers beside this file, called for one node after another. Records are those of records.h; a single
one, such as the limits of a fit, is an array of one entry.
"""
from libc.stdint cimport int32_t, int64_t

import numpy as np

from dforest.rules.criteria cimport df_has_one_class
from dforest.rules.cut cimport df_threshold_of
from dforest.rules.node cimport (
    df_absolute_score,
    df_child_of,
    df_choose_scale,
    df_decreases_enough,
    df_is_leaf_by_size,
    df_is_narrow,
    df_is_pure_enough,
    df_score_exponent,
)
from dforest.rules.random cimport DF_BLOCK, DF_ROOT_PATH
from dforest.rules.records cimport df_column, df_grown, df_limits, df_open_node

from dforest.rules.records import record

BLOCK = DF_BLOCK               # rows of a block of the bootstrap
ROOT_PATH = DF_ROOT_PATH       # the path of a tree's root


def have_one_class(const int64_t[:, ::1] totals not None):
    """Whether all draws of nodes are of one class.

    Parameters
    ----------
    totals : ndarray of shape (n_nodes, n_words), dtype int64
        Statistics of the nodes: draws, weight, and the weight of each class.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype bool
    """
    cdef Py_ssize_t i
    result = np.empty(totals.shape[0], np.bool_)
    cdef unsigned char[::1] out = result.view(np.uint8)
    for i in range(totals.shape[0]):
        out[i] = df_has_one_class(&totals[i, 0], totals.shape[1])
    return result


def are_leaves(const df_limits[::1] limits not None, const df_open_node[::1] places not None,
               const int64_t[:, ::1] totals not None):
    """Which nodes are leaves, as far as their depth, draws and weight tell.

    Parameters
    ----------
    limits : ndarray of shape (1,), dtype df_limits
    places : ndarray of shape (n_nodes,), dtype df_open_node
    totals : ndarray of shape (n_nodes, n_words), dtype int64
        Statistics of the nodes.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype bool
    """
    cdef Py_ssize_t i
    result = np.empty(places.shape[0], np.bool_)
    cdef unsigned char[::1] out = result.view(np.uint8)
    for i in range(places.shape[0]):
        out[i] = df_is_leaf_by_size(&limits[0], places[i].depth, totals[i, 0], totals[i, 1], places[i].root_weight)
    return result


def are_pure_enough(const df_limits[::1] limits not None, const double[::1] impurities not None):
    """Which nodes are leaves by `impurity_threshold`.

    Parameters
    ----------
    limits : ndarray of shape (1,), dtype df_limits
    impurities : ndarray of shape (n_nodes,), dtype float64

    Returns
    -------
    ndarray of shape (n_nodes,), dtype bool
    """
    cdef Py_ssize_t i
    result = np.empty(impurities.shape[0], np.bool_)
    cdef unsigned char[::1] out = result.view(np.uint8)
    for i in range(impurities.shape[0]):
        out[i] = df_is_pure_enough(&limits[0], impurities[i])
    return result


def absolute_scores(int64_t criterion, const double[::1] scores not None, const int32_t[::1] exponents not None):
    """Scores in units of weight times impurity, in which scores of several nodes are compared.

    Parameters
    ----------
    criterion : int
        As records.h numbers them.
    scores : ndarray of shape (n_nodes,), dtype float64
        In the units of the nodes' targets.
    exponents : ndarray of shape (n_nodes,), dtype int32
        Of the scales of the nodes' targets.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype float64
    """
    cdef Py_ssize_t i
    result = np.empty(scores.shape[0])
    cdef double[::1] out = result
    for i in range(scores.shape[0]):
        out[i] = df_absolute_score(scores[i], df_score_exponent(criterion, exponents[i]))
    return result


def decrease_enough(const df_limits[::1] limits not None, const double[::1] scores not None,
                    const int64_t[::1] root_weights not None):
    """Whether the best splits of nodes decrease the impurity by `min_impurity_decrease` or more.

    Parameters
    ----------
    limits : ndarray of shape (1,), dtype df_limits
    scores : ndarray of shape (n_nodes,), dtype float64
        Those of `absolute_scores`.
    root_weights : ndarray of shape (n_nodes,), dtype int64
        Of all draws of the nodes' trees.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype bool
    """
    cdef Py_ssize_t i
    result = np.empty(scores.shape[0], np.bool_)
    cdef unsigned char[::1] out = result.view(np.uint8)
    for i in range(scores.shape[0]):
        out[i] = df_decreases_enough(&limits[0], scores[i], root_weights[i])
    return result


def children(const df_open_node[::1] places not None, const int64_t[::1] n_left not None, const int32_t[::1] directions not None,
             const double[::1] middles not None):
    """The children of nodes whose draws have been partitioned.

    Parameters
    ----------
    places : ndarray of shape (n_nodes,), dtype df_open_node
    n_left : ndarray of shape (n_nodes,), dtype int64
        Records that went left.
    directions : ndarray of shape (n_nodes,), dtype int32
        Of the features: 1 or -1, predictions may only rise or only fall with it; 0, either.
    middles : ndarray of shape (n_nodes,), dtype float64
        Between the predictions of the two sides.

    Returns
    -------
    ndarray of shape (2 * n_nodes,), dtype df_open_node
        A left child, its sibling on the right, the next left child, and so on.
    """
    cdef Py_ssize_t i
    result = np.empty(2 * places.shape[0], record("df_open_node"))
    cdef df_open_node[::1] out = result
    for i in range(places.shape[0]):
        out[2 * i] = df_child_of(&places[i], False, n_left[i], directions[i], middles[i])
        out[2 * i + 1] = df_child_of(&places[i], True, n_left[i], directions[i], middles[i])
    return result


def are_narrow(const df_open_node[::1] places not None, const int64_t[:, ::1] extents not None):
    """Whether all targets of nodes may be equal, or lie so close that they need another scale.

    Parameters
    ----------
    places : ndarray of shape (n_nodes,), dtype df_open_node
    extents : ndarray of shape (n_nodes, 2), dtype int64
        The least and the greatest integer target of each.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype bool
    """
    cdef Py_ssize_t i
    result = np.empty(places.shape[0], np.bool_)
    cdef unsigned char[::1] out = result.view(np.uint8)
    for i in range(places.shape[0]):
        out[i] = df_is_narrow(places[i].n, extents[i, 1] - extents[i, 0], places[i].range)
    return result


def choose_scales(const double[:, ::1] extents not None, int bits=31):
    """The scales of targets, given their least and greatest ones.

    Parameters
    ----------
    extents : ndarray of shape (n_nodes, 2), dtype float64
        In each row the first number is below the second.
    bits : int
        The targets' integers are below 2**bits in magnitude.

    Returns
    -------
    centres : ndarray of shape (n_nodes,), dtype float64
    exponents : ndarray of shape (n_nodes,), dtype int32
        A target's integer is (y - centre) * 2**exponent, rounded.
    """
    cdef Py_ssize_t i
    centres, exponents = np.empty(extents.shape[0]), np.empty(extents.shape[0], np.int32)
    cdef double[::1] centre = centres
    cdef int32_t[::1] exponent = exponents
    for i in range(extents.shape[0]):
        exponent[i] = df_choose_scale(extents[i, 0], extents[i, 1], bits, &centre[i])
    return centres, exponents


def thresholds(const df_grown[::1] nodes not None, const df_column[::1] columns not None, bint is_random,
               const double[::1] values not None, const double[::1] highs not None):
    """Where binned nodes cut.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,), dtype df_grown
    columns : ndarray of shape (n_features,), dtype df_column
    is_random : bool
        Whether cuts are drawn.
    values, highs : ndarray of float64
        The upper edges of the bins, and their largest values, of all columns one after another.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype float64
        0 for leaves, NaN where categories are tested.
    """
    cdef Py_ssize_t i
    result = np.empty(nodes.shape[0])
    cdef double[::1] out = result
    for i in range(nodes.shape[0]):
        out[i] = df_threshold_of(&nodes[i], &columns[0], is_random, &values[0], &highs[0])
    return result
