"""The rules of boosted trees as functions over arrays, for drivers that decide for many nodes at a time: see boost.h.

Arrays are borrowed, but for those that are returned.
"""
from typing import NamedTuple

from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from dforest.rules.boost cimport (
    DF_GRADIENT_BITS, DF_SPILL, DF_WEIGHTED_SPILL, df_absolute_gain, df_boost_limits, df_boost_limits_of, df_both_gradient_sums,
    df_choose_words, df_gain_of_score, df_gradient_exponent, df_gradient_shift, df_has_heavy_tail, df_hessian_shift, df_is_light,
    df_newton_value, df_takes_times, df_value_limits, df_value_limits_of, df_word_kind,
)
from dforest.rules.records cimport df_gradient_sums

SPILL, WEIGHTED_SPILL = DF_SPILL, DF_WEIGHTED_SPILL    # the most rows of a word, without and with integer weights
WIDE = int(df_word_kind.DF_WIDE_WORDS)


class Words(NamedTuple):
    """The words of a tree, and what its integers stand for.

    Attributes
    ----------
    kind : int
        A `df_word_kind`.
    quantised : tuple of int
        The exponents of quantised gradients and hessians.
    narrow : tuple of int
        Those of narrow ones.
    """

    kind: int
    quantised: tuple
    narrow: tuple


def takes_times(int64_t largest, int64_t total):
    """Whether rows' integers are multiplied by integer weights, given the largest of these and their sum: bool."""
    return bool(df_takes_times(largest, total))


def gradient_exponents(const double[:, ::1] largest not None):
    """The exponents of quantised gradients, given the largest magnitudes of derivatives: ndarray of int32 of their shape."""
    cdef Py_ssize_t i, j
    result = np.empty((largest.shape[0], largest.shape[1]), np.int32)
    cdef int32_t[:, ::1] out = result
    for i in range(largest.shape[0]):
        for j in range(largest.shape[1]):
            out[i, j] = df_gradient_exponent(largest[i, j], DF_GRADIENT_BITS)
    return result


def choose_words(bint has_hessian, bint is_weighted, const int64_t[::1] extent not None, int64_t total, quantised,
                 bint is_wide=False):
    """The `Words` of a tree.

    Parameters
    ----------
    has_hessian : bool
        Whether it has integers.
    is_weighted : bool
        Whether derivatives have been multiplied by weights.
    extent : ndarray of shape (4,), dtype int64
        The largest quantised gradient and hessian in magnitude, and the sums of both.
    total : int
        How many rows, or the sum of their integer weights.
    quantised : tuple of int
        The exponents of quantised gradients and hessians.
    is_wide : bool
        Whether words are to be wide, wherever there are hessians, whatever the sums.
    """
    cdef df_word_kind kind = df_choose_words(
        not has_hessian, is_weighted, is_wide or df_has_heavy_tail(extent[0], extent[2], total)
        or df_has_heavy_tail(extent[1], extent[3], total))
    return Words(int(kind), quantised, (quantised[0] - df_gradient_shift(kind), quantised[1] - df_hessian_shift(kind)))


def gains(const double[::1] scores not None, const int64_t[::1] gradient not None, const int64_t[::1] hessian not None, double l1,
          double l2, const int32_t[:, ::1] narrow not None, double weight_unit):
    """The gains of nodes' cuts in units of the loss; 0 where there is none.

    Parameters
    ----------
    scores : ndarray of shape (n_nodes,), dtype float64
        Of the best cuts; below 0 where there is none.
    gradient, hessian : ndarray of shape (n_nodes,), dtype int64
        Sums of the nodes, of narrow gradients.
    l1, l2 : float
        In units of the loss.
    narrow : ndarray of shape (n_nodes, 2), dtype int32
        The exponents of narrow gradients and hessians.
    weight_unit : float
        The weight that an integer weight of 1 stands for.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype float64
    """
    cdef Py_ssize_t i
    cdef df_boost_limits limits
    cdef double gain
    result = np.zeros(scores.shape[0])
    cdef double[::1] out = result
    for i in range(scores.shape[0]):
        limits = df_boost_limits_of(l1, l2, 0.0, 1, narrow[i, 0], narrow[i, 1], weight_unit)
        gain = df_gain_of_score(&limits, False, scores[i], <double> gradient[i], <double> hessian[i])
        if gain > 0.0:
            out[i] = df_absolute_gain(gain, narrow[i, 0], narrow[i, 1], weight_unit)
    return result


def are_light(const double[::1] heaviest not None, const double[::1] reference not None):
    """Whether nodes need exponents of their own: ndarray of shape (n_nodes,), dtype bool.

    Parameters
    ----------
    heaviest : ndarray of shape (n_nodes,), dtype float64
        Weights of the heaviest rows.
    reference : ndarray of shape (n_nodes,), dtype float64
        Those of the rows that the nodes' exponents were chosen for.
    """
    cdef Py_ssize_t i
    result = np.empty(heaviest.shape[0], bool)
    cdef uint8_t[::1] out = result.view(np.uint8)
    for i in range(heaviest.shape[0]):
        out[i] = df_is_light(heaviest[i], reference[i])
    return result


def add_up_children(df_gradient_sums[::1] sums not None, const int64_t[::1] parents not None, const int64_t[::1] left not None):
    """Sums of nodes from those of their children, one node after another.

    Parameters
    ----------
    sums : ndarray of shape (n_nodes,), dtype df_gradient_sums
        Of leaves; those of parents are written.
    parents, left : ndarray of shape (n_parents,), dtype int64
        The numbers of nodes and of their left children, which the right ones follow; lower nodes first.
    """
    cdef Py_ssize_t i
    for i in range(parents.shape[0]):
        sums[parents[i]] = df_both_gradient_sums(sums[left[i]], sums[left[i] + 1])


def newton_values(const df_gradient_sums[::1] sums not None, double learning_rate, double l1, double l2, double max_step,
                  bint is_damped, int n_sums):
    """The values of nodes by Newton's steps: ndarray of shape (n_nodes,), dtype float64.

    Parameters
    ----------
    sums : ndarray of shape (n_nodes,), dtype df_gradient_sums
    learning_rate, l1, l2, max_step, is_damped, n_sums : float, float, float, float, bool, int
        See boost.h; l1 and l2 are in units of weight.
    """
    cdef Py_ssize_t i
    cdef df_value_limits limits = df_value_limits_of(learning_rate, max_step, is_damped, n_sums)
    result = np.empty(sums.shape[0])
    cdef double[::1] out = result
    for i in range(sums.shape[0]):
        out[i] = df_newton_value(&limits, sums[i], l1, l2)
    return result
