"""The rules of boosted trees by hand, for tests: each is a function of boost.h over arrays."""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

import numpy as np

from dforest.rules.boost cimport (
    DF_GRADIENT_BITS,
    DF_SPILL,
    df_absolute_gain,
    df_between_values,
    df_boost_limits,
    df_boost_limits_of,
    df_boost_sums,
    df_choose_packing,
    df_common_score,
    df_cut_score,
    df_ends_at_quantile,
    df_gradient_exponent,
    df_gradient_shift,
    df_has_heavy_tail,
    df_hessian_shift,
    df_is_enough,
    df_limited_value,
    df_narrowed,
    df_newton_value,
    df_pack_gradient,
    df_pack_narrow_gradient,
    df_packing,
    df_quantised_gradient,
    df_reaches_quantile,
    df_robust_step,
    df_sums_of_constant,
    df_sums_of_narrow,
    df_sums_of_wide,
    df_unit_of_scores,
    df_unseen_goes_left,
    df_value_limits,
    df_value_limits_of,
)
from dforest.rules.losses cimport df_most_robust_term, df_robust_term
from dforest.rules.numerics cimport df_add_product, df_exact_sum, df_exp, df_log, df_log1p
from dforest.rules.records cimport df_gradient_sums

from dforest.rules.losses import LOSSES

GRADIENT_BITS = DF_GRADIENT_BITS
SPILL = DF_SPILL
KINDS = {"narrow": df_packing.DF_NARROW_WORDS, "constant": df_packing.DF_CONSTANT_WORDS,
         "wide": df_packing.DF_WIDE_WORDS}


def elementary(name, const double[::1] x not None):
    """A function of numerics.h of each number.

    Parameters
    ----------
    name : {"exp", "log", "log1p"}
    x : ndarray of shape (n,), dtype float64

    Returns
    -------
    ndarray of shape (n,), dtype float64
    """
    cdef int which = ("exp", "log", "log1p").index(name)
    return np.array([df_exp(x[i]) if which == 0 else df_log(x[i]) if which == 1 else df_log1p(x[i])
                     for i in range(x.shape[0])], np.float64)


def quantised_integers(const double[::1] x not None, double factor):
    """Numbers times a power of two as quantised gradients: ndarray of shape (n,), dtype int32."""
    return np.array([df_quantised_gradient(x[i], factor) for i in range(x.shape[0])], np.int32)


def fine_exponent(double largest, int bits=DF_GRADIENT_BITS):
    """The exponent of quantised gradients, given the largest magnitude of what they stand for: int."""
    return df_gradient_exponent(largest, bits)


def coarse_integers(const int32_t[::1] quantised not None, kind, part):
    """Narrow gradients of quantised ones.

    Parameters
    ----------
    quantised : ndarray of shape (n,), dtype int32
    kind : {"narrow", "constant", "wide"}
    part : {"gradient", "hessian"}

    Returns
    -------
    ndarray of shape (n,), dtype int32
    """
    cdef df_packing words = KINDS[kind]
    cdef int32_t shift = df_gradient_shift(words) if part == "gradient" else df_hessian_shift(words)
    return np.array([df_narrowed(quantised[i], shift) for i in range(quantised.shape[0])], np.int32)


def has_heavy_tail(int64_t largest, int64_t sum, int64_t n):
    """Whether the largest of n quantised magnitudes of this sum is far above their mean: bool."""
    return bool(df_has_heavy_tail(largest, sum, n))


def choose_packing(bint has_constant_hessian, bint is_weighted, bint is_heavy):
    """The kind of a tree's words: one of `KINDS`."""
    cdef df_packing kind = df_choose_packing(has_constant_hessian, is_weighted, is_heavy)
    return next(name for name, number in KINDS.items() if number == kind)


def sum_words(kind, const int32_t[::1] gradient not None, const int32_t[::1] hessian not None):
    """The sums of a few rows, added up as words and taken apart again.

    Parameters
    ----------
    kind : {"narrow", "constant", "wide"}
    gradient, hessian : ndarray of shape (n,), dtype int32
        Coarse; n is at most `SPILL`.

    Returns
    -------
    gradient, hessian, count : int
    """
    cdef df_packing words = KINDS[kind]
    cdef uint64_t first = 0, second = 0
    cdef df_boost_sums sums
    for i in range(gradient.shape[0]):
        first += (df_pack_narrow_gradient(gradient[i], hessian[i]) if words == df_packing.DF_NARROW_WORDS
                  else df_pack_gradient(gradient[i]))
        second += <uint64_t> hessian[i]
    sums = (df_sums_of_narrow(first) if words == df_packing.DF_NARROW_WORDS
            else df_sums_of_constant(first) if words == df_packing.DF_CONSTANT_WORDS else df_sums_of_wide(first, second))
    return sums.gradient, sums.hessian, sums.count


def cut_gains(double l2, int32_t exponent, const int64_t[::1] gradient not None, const int64_t[::1] hessian not None, total):
    """The gains of cuts, in units of narrow gradients.

    Parameters
    ----------
    l2 : float
        In units of the loss.
    exponent : int
        Of narrow hessians.
    gradient, hessian : ndarray of shape (n_cuts,), dtype int64
        Sums of the left sides.
    total : (int, int)
        Sums of the node.

    Returns
    -------
    score : ndarray of shape (n_cuts,), dtype float64
        What cuts are compared by.
    gain : ndarray of shape (n_cuts,), dtype float64
    """
    cdef Py_ssize_t i
    cdef df_boost_limits rules = df_boost_limits(0.0, l2, 0.0, 0.0, 1.0, 1, 0)
    cdef df_boost_limits limits = df_boost_limits_of(&rules, 0, exponent)
    cdef int64_t g = total[0], h = total[1]
    cdef double common = df_common_score(limits.l2, g, h)
    scores = np.empty(gradient.shape[0])
    cdef double[::1] out = scores
    for i in range(gradient.shape[0]):
        out[i] = df_cut_score(limits.l2, gradient[i], hessian[i], g - gradient[i], h - hessian[i])
    return scores, scores - common


def absolute_gain(double gain, int32_t gradient_exponent, int32_t hessian_exponent):
    """A gain in units of the loss: float."""
    return df_absolute_gain(gain, df_unit_of_scores(gradient_exponent, hessian_exponent), 1.0)


def are_enough(double l2, double min_hessian, int64_t min_samples_leaf, int32_t exponent, const int64_t[::1] count not None,
               const int64_t[::1] hessian not None):
    """Which sides of cuts have rows and hessian enough.

    Parameters
    ----------
    l2, min_hessian : float
        In units of the loss.
    min_samples_leaf : int
    exponent : int
        Of narrow hessians.
    count, hessian : ndarray of shape (n_sides,), dtype int64

    Returns
    -------
    ndarray of shape (n_sides,), dtype bool
    """
    cdef Py_ssize_t i
    cdef df_boost_limits rules = df_boost_limits(0.0, l2, min_hessian, 0.0, 1.0, min_samples_leaf, 0)
    cdef df_boost_limits limits = df_boost_limits_of(&rules, 0, exponent)
    return np.array([df_is_enough(&limits, count[i], hessian[i]) for i in range(count.shape[0])], bool)


def unseen_goes_left(int64_t n_left, int64_t n_right):
    """Whether missing values go left where a node has none: bool."""
    return bool(df_unseen_goes_left(n_left, n_right))


def newton_value(int64_t gradient, int64_t hessian, int32_t gradient_exponent, int32_t hessian_exponent, double learning_rate,
                 double l2, double max_step=INFINITY, bint is_damped=False, int n_sums=1, double l1=0.0):
    """The value of a leaf by sums of quantised gradients: float."""
    cdef df_value_limits limits = df_value_limits_of(learning_rate, max_step, is_damped, n_sums)
    cdef df_gradient_sums sums
    sums.gradient, sums.hessian = gradient, hessian
    sums.gradient_exponent, sums.hessian_exponent = gradient_exponent, hessian_exponent
    return df_newton_value(&limits, sums, l1, l2)


def damped_value(double step, double learning_rate, int n_sums=1):
    """The value of a leaf with a step, of a loss with a link: float."""
    cdef df_value_limits limits = df_value_limits_of(learning_rate, INFINITY, True, n_sums)
    return df_limited_value(&limits, step, learning_rate * step)


def quantile_of_sorted(const double[::1] values not None, const int64_t[::1] weight not None, double quantile):
    """A quantile of ascending, distinct values: float."""
    cdef Py_ssize_t i = 0
    cdef int64_t total = np.sum(weight), upto = weight[0]
    while not df_reaches_quantile(upto, total, quantile):
        i += 1
        upto += weight[i]
    if i + 1 < values.shape[0] and df_ends_at_quantile(upto, total, quantile):
        return df_between_values(values[i], values[i + 1])
    return values[i]


def robust_step(loss, const double[::1] residual not None, const int64_t[::1] weight not None, double median, double parameter):
    """The robust mean of a leaf: float. loss : str"""
    cdef Py_ssize_t i
    cdef int64_t total = 0
    cdef int number = LOSSES[loss].number
    cdef int32_t exponent = df_gradient_exponent(df_most_robust_term(number, parameter), DF_GRADIENT_BITS)
    cdef double factor = 2.0**exponent
    cdef df_exact_sum sum
    memset(&sum, 0, sizeof(sum))
    for i in range(residual.shape[0]):
        df_add_product(&sum, df_quantised_gradient(df_robust_term(number, residual[i], median, parameter), factor), weight[i])
        total += weight[i]
    return df_robust_step(median, &sum, total, exponent)
