"""Which inner nodes of a tree are to become leaves.

Words: a *branch* is a node and all below it; a node is *cut* when its branch becomes a leaf. Nodes
are in preorder (see `dforest.core.forest_arrays`): the branch of node i is the run of nodes

    i, i + 1, ..., end[i] - 1.

The arrays handed in are borrowed; everything returned is new.
"""
from libc.math cimport INFINITY, ldexp, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free

import numpy as np

cdef extern from "numerics.h" nogil:
    ctypedef struct df_exact_sum:
        pass
    void df_add_square(df_exact_sum* sum, int64_t a, int64_t w)
    void df_add_sum(df_exact_sum* sum, const df_exact_sum* other)
    bint df_sum_above(const df_exact_sum* a, const df_exact_sum* b)
    int32_t df_scale_exponent(double largest, int bits)

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef enum:
    POLL_STEPS = 1 << 22       # look for signals each time so many links have been measured anew


def reduce_errors(const int32_t[::1] feature not None, const uint32_t[::1] right not None,
                  const double[::1] prediction not None, const int64_t[::1] leaf not None,
                  const double[::1] target not None, const uint32_t[::1] weight, bint is_regression):
    """The cuts that leave the fewest errors on some rows, and of those the smallest tree.

    A node is cut where it makes no more errors as a leaf than its branch does once that is cut as
    it should be. The error of a row is 0 or 1 for classes, the squared deviation for numbers, times
    its weight. Deviations are turned into integers first: sums are exact and depend on no order.

    Parameters
    ----------
    feature, right : ndarray of shape (n,)
        Of the nodes of one tree.
    prediction : ndarray of shape (n,), dtype float64
        What each node predicts as a leaf: a class number or a number.
    leaf : ndarray of shape (n_rows,), dtype int64
        The node that each row ends in.
    target : ndarray of shape (n_rows,), dtype float64
        Class numbers, or numbers.
    weight : ndarray of shape (n_rows,), dtype uint32, or None
        None: all 1.
    is_regression : bool

    Returns
    -------
    ndarray of shape (n,), dtype bool
        Nodes that are cut; those below another one may be or not.
    """
    cdef Py_ssize_t n = feature.shape[0], n_rows = target.shape[0], i, row, b
    cdef int exponent = 0
    cdef int64_t deviation
    cdef df_exact_sum least          # error of a branch
    cdef df_exact_sum* error = <df_exact_sum*> calloc(n, sizeof(df_exact_sum))     # first of nodes, then of branches
    result = np.zeros(n, np.bool_)
    cdef uint8_t[::1] cut = result.view(np.uint8)
    if error == NULL:
        raise MemoryError()
    if is_regression:
        exponent = deviation_exponent(target, prediction, weight)
    with nogil:
        for row in range(n_rows):
            i = 0
            while True:
                if is_regression:
                    deviation = <int64_t> rint(ldexp(target[row], exponent) - ldexp(prediction[i], exponent))
                else:
                    deviation = target[row] != prediction[i]
                df_add_square(&error[i], deviation, weight[row] if weight is not None else 1)
                if feature[i] < 0:
                    break
                i = right[i] if leaf[row] >= right[i] else i + 1
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                continue
            b = right[i]
            least = error[i + 1]
            df_add_sum(&least, &error[b])
            if df_sum_above(&error[i], &least):
                error[i] = least
            else:
                cut[i] = True
    free(error)
    return result


cdef int deviation_exponent(const double[::1] target, const double[::1] prediction, const uint32_t[::1] weight) except? -1:
    """The power of two that makes integers of deviations, so that their weighted squares sum to at most 2**126."""
    total = target.shape[0] if weight is None else int(np.sum(weight, dtype=np.int64))
    lowest = min(np.min(target), np.min(prediction))
    highest = max(np.max(target), np.max(prediction))
    half = 0.5 * highest - 0.5 * lowest
    return df_scale_exponent(half, min(62, (126 - total.bit_length()) // 2) - 1) if half > 0.0 else 0


cdef struct Links:             # the nodes of a tree that may be cut, as a knockout of 2 * size places
    Py_ssize_t size            # a power of two from the number of nodes: node i plays from place size + i
    const double* strength     # [size] of each node's link; infinite for those that may not be cut, or past the end
    uint32_t* winner           # [2 * size] the node of the weakest link below a place, of equals the first


cdef inline bint play(Links* links, Py_ssize_t place) noexcept nogil:
    """Find a place's winner anew; return whether it is another one than before."""
    cdef uint32_t a = links.winner[2 * place], b = links.winner[2 * place + 1], before = links.winner[place]
    links.winner[place] = b if links.strength[b] < links.strength[a] else a
    return links.winner[place] != before


cdef inline void update(Links* links, uint32_t node) noexcept nogil:
    """Take account of the changed strength of a node's link."""
    cdef Py_ssize_t place = (links.size + node) // 2
    while place > 0 and (play(links, place) or links.winner[place] == node):
        place //= 2


def weakest_links(const int32_t[::1] feature not None, const uint32_t[::1] right not None,
                  const double[::1] decrease not None, double alpha=INFINITY):
    """The cuts of minimal cost-complexity pruning, one after the other.

    With R the risk of a set of leaves (the sum of share of weight times impurity), the strength of a
    node's link is g = (R(node) - R(branch)) / (leaves of the branch - 1). The numerator is the sum
    of what the branch's inner nodes decrease, and these are as many as the denominator says: g is
    the mean decrease of the inner nodes of the branch, as far as it isn't cut yet. Always the node
    of the weakest link is cut, of equals the first in preorder.

    Parameters
    ----------
    feature, right : ndarray of shape (n,)
        Of the nodes of one tree.
    decrease : ndarray of shape (n,), dtype float64
        Of the risk by each node's split, finite; 0 for leaves.
    alpha : float
        Stronger links are left.

    Returns
    -------
    nodes : ndarray of shape (n_cuts,), dtype int64
        In the order in which they are cut.
    strength : ndarray of shape (n_cuts,), dtype float64
        Of the links, when they are cut.
    rise : ndarray of shape (n_cuts,), dtype float64
        Of the risk, by each cut.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984,
    chapter 3.
    """
    cdef Py_ssize_t n = feature.shape[0], size = 1, n_cuts = 0, since_poll = 0, i, j
    cdef Links links
    while size < n:
        size *= 2
    parents = np.zeros(n, np.uint32)
    ends = np.empty(n, np.uint32)
    gains = np.zeros(n)                  # decrease by all inner nodes of the branch
    inners = np.zeros(n, np.int64)       # how many these are; 0: the node is a leaf now
    strengths = np.full(size, np.inf)
    winners = np.empty(2 * size, np.uint32)
    cuts = np.empty(n // 2, np.int64)    # a tree of n nodes has n // 2 inner ones
    at_cut = np.empty(n // 2)
    rises = np.empty(n // 2)
    cdef uint32_t[::1] parent = parents, end = ends, winner = winners
    cdef double[::1] gain = gains, strength = strengths, to_strength = at_cut, to_rise = rises
    cdef int64_t[::1] inner = inners, to_cut = cuts
    links.size = size
    links.strength = &strength[0]
    links.winner = &winner[0]
    with nogil:
        for i in range(n - 1, -1, -1):
            if feature[i] < 0:
                end[i] = <uint32_t> (i + 1)
                continue
            parent[i + 1] = parent[right[i]] = <uint32_t> i
            end[i] = end[right[i]]
            inner[i] = 1 + inner[i + 1] + inner[right[i]]
            gain[i] = decrease[i] + (gain[i + 1] + gain[right[i]])
            strength[i] = gain[i] / <double> inner[i]
        for i in range(size):
            winner[size + i] = <uint32_t> i
        for i in range(size - 1, 0, -1):
            play(&links, i)
        while inner[0] > 0:
            i = winner[1]
            if inner[i] == 0 or strength[i] > alpha:
                break
            to_cut[n_cuts] = i
            to_strength[n_cuts] = strength[i]
            to_rise[n_cuts] = gain[i]
            n_cuts += 1
            j = i
            while j < end[i]:            # nothing in the branch can be cut any more
                if inner[j] == 0:
                    j = end[j]
                    continue
                inner[j] = 0
                strength[j] = INFINITY
                update(&links, <uint32_t> j)
                j += 1
            gain[i] = 0.0
            while i > 0:
                i = parent[i]
                inner[i] = 1 + inner[i + 1] + inner[right[i]]
                gain[i] = decrease[i] + (gain[i + 1] + gain[right[i]])
                strength[i] = gain[i] / <double> inner[i]
                update(&links, <uint32_t> i)
                since_poll += 1
            if since_poll >= POLL_STEPS:
                since_poll = 0
                with gil:
                    PyErr_CheckSignals()      # does nothing but in the main thread
    return cuts[:n_cuts].copy(), at_cut[:n_cuts].copy(), rises[:n_cuts].copy()
