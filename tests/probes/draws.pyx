"""Loops by hand, for tests: what the set of `dforest.core.loops` that is in use draws, as functions over arrays.

The probe `rules` has the rules that these loops follow.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

import numpy as np

from dforest.core.loops cimport loops
from dforest.rules.records cimport df_record

from dforest.rules.records import record


def ones(uint32_t seed, uint64_t node, int64_t first, int64_t n):
    """How many of n bits are ones, in a node's stream from the word number `first` on: int."""
    return loops.ones(seed, node, first, n)


def below(uint32_t seed, uint64_t node, int64_t first, int64_t n, uint32_t left, uint32_t right):
    """How many draws n words make, of a node's stream from the word number `first` on, and how many go left: int, int."""
    cdef int64_t n_draws = 0
    cdef int64_t n_left = loops.below(seed, node, first, n, left, right, &n_draws)
    return n_draws, n_left


def draw_block(uint32_t seed, int64_t block, int64_t n, int64_t n_draws):
    """How often each of a block's n rows is drawn: ndarray of shape (n,), dtype uint32."""
    result = np.empty(n, np.uint32)
    cdef uint32_t[::1] out = result
    loops.draw_block(seed, block, n, n_draws, &out[0])
    return result


def subsample_block(uint32_t seed, int64_t block, int64_t n, int64_t n_draws):
    """Which of a block's n rows are drawn without replacement: ndarray of shape (n,), dtype uint32."""
    result = np.empty(n, np.uint32)
    cdef uint32_t[::1] out = result
    loops.subsample_block(seed, block, n, n_draws, &out[0])
    return result


def records(int64_t first, const uint32_t[::1] counts, const int32_t[::1] target not None, const uint32_t[::1] weight, int64_t n):
    """The records of n rows from `first` on that are drawn.

    Parameters
    ----------
    first : int
    counts : ndarray of shape (n,), dtype uint32, or None
        How often each of these rows is drawn; None: once.
    target : ndarray of shape (n_rows,), dtype int32
        Of all rows.
    weight : ndarray of shape (n_rows,), dtype uint32, or None
        Of all rows; None: all are 1.
    n : int

    Returns
    -------
    ndarray of shape (n + 1,), dtype df_record
        Zeros where nothing was written.
    int
        Number of records.
    """
    result = np.zeros(n + 1, record("df_record"))
    cdef df_record[::1] out = result
    return result, loops.records(first, n, NULL if counts is None else &counts[0], &target[0],
                                 NULL if weight is None else &weight[0], &out[0])


def uniforms(uint32_t seed, const uint64_t[::1] stream_keys not None):
    """The first uniform number of the stream for thresholds of each key.

    Parameters
    ----------
    seed : int
    stream_keys : ndarray of shape (n,)
        A multiple of eight.

    Returns
    -------
    ndarray of shape (n,)
    """
    result = np.empty(stream_keys.shape[0])
    cdef double[::1] out = result
    loops.uniforms(seed, &stream_keys[0], <int> stream_keys.shape[0], &out[0])
    return result
