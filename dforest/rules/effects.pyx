"""The rules of effects as functions over arrays, for drivers that decide for many nodes at a time: see effects.h.

What is known of nodes is an array of float64, of shape (n_nodes, df_effect_words). `rules` are an ndarray of shape (1,), dtype
df_effect_rules. Arrays are borrowed.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

from dforest.rules.numerics cimport (
    df_add_product,
    df_big_difference,
    df_big_floor,
    df_big_of,
    df_big_sum,
    df_big_times,
    df_exact_sum,
)

import numpy as np


def scored(const df_effect_rules[::1] rules not None):
    """How many of the columns are scored: those after them bound cuts."""
    return df_effect_scored(&rules[0])


def numbers_read(const df_effect_rules[::1] rules not None):
    """(how many moments of a row are read, how many it has)."""
    return df_effect_read(&rules[0]), df_effect_moments(&rules[0])


def scale(const df_effect_rules[::1] rules not None, const double[:, :, ::1] extents not None):
    """What is known of nodes whose effects are not known yet.

    Parameters
    ----------
    extents : ndarray of shape (n_nodes, n_read, 2), dtype float64
        The least and the greatest of each moment that is read.

    Returns
    -------
    ndarray of shape (n_nodes, df_effect_words), dtype float64
    """
    cdef Py_ssize_t i, c
    found = np.zeros((extents.shape[0], df_effect_words(&rules[0])))
    cdef double[:, ::1] nodes = found
    for i in range(extents.shape[0]):
        for c in range(extents.shape[1]):
            df_effect_scale(&rules[0], &nodes[i, 0], c, extents[i, c, 0], extents[i, c, 1])
    return found


def solve(const df_effect_rules[::1] rules not None, const int64_t[::1] node_of not None, const int64_t[:, :, ::1] sums not None,
          double[:, ::1] nodes not None):
    """Find the effects of nodes.

    Parameters
    ----------
    node_of : ndarray of shape (n_chunks,), dtype int64
        The node of each chunk of draws, ascending; each node has one chunk or more.
    sums : ndarray of shape (n_chunks, 1 + n_read + n_treatments * n_read, 2), dtype int64
        The upper and the lower word of exact sums over the chunk: of weight, of weight times integer, and of weight times
        instrument times integer.
    nodes : ndarray of shape (n_nodes, df_effect_words), dtype float64
        With scales; the effects are added.
    """
    cdef Py_ssize_t n = df_effect_read(&rules[0]), K = rules[0].n_treatments, n_sums = sums.shape[1], chunk = 0, at, c, k, i
    cdef Py_ssize_t first = df_effect_first_instrument(&rules[0])
    cdef df_exact_sum* total = <df_exact_sum*> calloc(n_sums, sizeof(df_exact_sum))
    cdef int64_t* whole = <int64_t*> calloc(n, sizeof(int64_t))
    cdef int64_t weight, z
    cdef df_exact_sum* product
    try:
        if total == NULL or whole == NULL:
            raise MemoryError()
        for i in range(nodes.shape[0]):
            for at in range(n_sums):
                total[at] = df_big_of(0, 0)
            while chunk < node_of.shape[0] and node_of[chunk] == i:
                for at in range(n_sums):
                    total[at] = df_big_sum(total[at], df_big_of(sums[chunk, at, 0], <uint64_t> sums[chunk, at, 1]))
                chunk += 1
            weight = df_big_floor(total[0], 1)
            for c in range(n):
                whole[c] = df_big_floor(total[1 + c], weight)
            # The sum of w (z - Z) (q - Q) is that of w z q, less Q that of w z, less Z that of w (q - Q).
            for k in range(K):
                z = whole[first + k]
                for c in range(n):
                    product = &total[1 + n + k * n + c]
                    product[0] = df_big_difference(product[0], df_big_times(total[1 + first + k], whole[c]))
                    product[0] = df_big_difference(product[0], df_big_times(total[1 + c], z))
                    product[0] = df_big_sum(product[0], df_big_times(df_big_times(total[0], whole[c]), z))
            for c in range(n):
                df_add_product(&total[1 + c], -whole[c], weight)
            df_effect_solve(&rules[0], &nodes[i, 0], weight, whole, total + 1, total + 1 + n)
    finally:
        free(total)
        free(whole)
