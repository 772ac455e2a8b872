"""The rules of boosted trees as functions over arrays, for drivers that decide for many nodes at a time; see boost.h."""
from libc.stdint cimport int32_t, int64_t

from typing import NamedTuple

import numpy as np

from dforest.rules.boost cimport (
    DF_FINE_BITS, DF_SPILL, DF_WEIGHTED_SPILL, df_absolute_gain, df_boost_limits, df_boost_limits_of, df_choose_words,
    df_common_score, df_fine_exponent, df_gradient_shift, df_has_heavy_tail, df_hessian_shift, df_newton_step, df_takes_times,
    df_word_kind,
)

SPILL, WEIGHTED_SPILL = DF_SPILL, DF_WEIGHTED_SPILL    # the most rows of a word, without and with integer weights
WIDE = int(df_word_kind.DF_WIDE_WORDS)


class Words(NamedTuple):
    """The words of a tree, and what its integers stand for.

    Attributes
    ----------
    kind : int
        A `df_word_kind`.
    fine : tuple of int
        The exponents of fine gradients and hessians.
    coarse : tuple of int
        Those of coarse ones.
    """

    kind: int
    fine: tuple
    coarse: tuple


def takes_times(int64_t largest, int64_t total):
    """Whether rows' integers are multiplied by integer weights, given the largest of these and their sum: bool."""
    return bool(df_takes_times(largest, total))


def fine_exponents(const double[:, ::1] largest not None):
    """The exponents of fine integers, given the largest magnitudes of what they stand for: ndarray of int32 of their shape."""
    cdef Py_ssize_t i, j
    result = np.empty((largest.shape[0], largest.shape[1]), np.int32)
    cdef int32_t[:, ::1] out = result
    for i in range(largest.shape[0]):
        for j in range(largest.shape[1]):
            out[i, j] = df_fine_exponent(largest[i, j], DF_FINE_BITS)
    return result


def choose_words(bint has_hessian, bint is_weighted, const int64_t[::1] extent not None, int64_t total, fine, bint is_wide=False):
    """The `Words` of a tree.

    Parameters
    ----------
    has_hessian : bool
        Whether it has integers.
    is_weighted : bool
        Whether derivatives have been multiplied by weights.
    extent : ndarray of shape (4,), dtype int64
        The largest fine gradient and hessian in magnitude, and the sums of both.
    total : int
        How many rows, or the sum of their integer weights.
    fine : tuple of int
        The exponents of fine gradients and hessians.
    is_wide : bool
        Whether words are to be wide, wherever there are hessians, whatever the sums.
    """
    cdef df_word_kind kind = df_choose_words(
        not has_hessian, is_weighted, is_wide or df_has_heavy_tail(extent[0], extent[2], total)
        or df_has_heavy_tail(extent[1], extent[3], total))
    return Words(int(kind), fine, (fine[0] - df_gradient_shift(kind), fine[1] - df_hessian_shift(kind)))


def gains(const double[::1] scores not None, const int64_t[::1] gradient not None, const int64_t[::1] hessian not None, double l2,
          coarse):
    """The gains of nodes' cuts in units of the loss; 0 where there is none.

    Parameters
    ----------
    scores : ndarray of shape (n_nodes,), dtype float64
        Of the best cuts; below 0 where there is none.
    gradient, hessian : ndarray of shape (n_nodes,), dtype int64
        Sums of the nodes, of coarse integers.
    l2 : float
        In units of the loss.
    coarse : tuple of int
        The exponents of coarse integers.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype float64
    """
    cdef Py_ssize_t i
    cdef int32_t gradient_exponent = coarse[0], hessian_exponent = coarse[1]
    cdef df_boost_limits limits = df_boost_limits_of(l2, 0.0, 1, hessian_exponent)
    cdef double common
    result = np.zeros(scores.shape[0])
    cdef double[::1] out = result
    for i in range(scores.shape[0]):
        common = df_common_score(limits.l2, <double> gradient[i], <double> hessian[i])
        if scores[i] > common:
            out[i] = df_absolute_gain(scores[i] - common, gradient_exponent, hessian_exponent)
    return result


def steps(const int64_t[:, ::1] sums not None, fine, double learning_rate, double l2):
    """The values of nodes by Newton's steps: ndarray of shape (n_nodes,), dtype float64.

    Parameters
    ----------
    sums : ndarray of shape (n_nodes, 2), dtype int64
        Of fine gradients and hessians.
    fine : tuple of int
        Their exponents.
    """
    cdef Py_ssize_t i
    cdef int32_t gradient_exponent = fine[0], hessian_exponent = fine[1]
    result = np.empty(sums.shape[0])
    cdef double[::1] out = result
    for i in range(sums.shape[0]):
        out[i] = df_newton_step(sums[i, 0], sums[i, 1], gradient_exponent, hessian_exponent, learning_rate, l2)
    return result
