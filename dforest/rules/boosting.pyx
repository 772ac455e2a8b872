"""The rules of boosted trees as functions over arrays, for drivers that decide for many nodes at a time: see boost.h.

Arrays are borrowed, but for those that are returned.
"""
from typing import NamedTuple

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

import numpy as np

from dforest.rules.boost cimport (
    DF_GRADIENT_BITS, DF_LEAF_TAIL_BITS, DF_SPILL, DF_TAIL_BITS, DF_WEIGHTED_SPILL, df_absolute_gain, df_between_values,
    df_boost_limits, df_boost_limits_of, df_both_gradient_sums, df_choose_packing, df_ends_at_quantile, df_gain_of_score,
    df_gains_enough, df_gradient_exponent, df_gradient_shift, df_has_heavy_tail, df_hessian_shift, df_is_far_below, df_is_light,
    df_limited_value, df_newton_value, df_packing, df_reaches_quantile, df_takes_times, df_unit_of_scores, df_value_limits,
    df_value_limits_of,
)
from dforest.rules.bounds cimport df_bounds, df_child_bounds, df_clip, df_midpoint_prediction
from dforest.rules.ordered_keys cimport df_ordered_key64, df_value64
from dforest.rules.records cimport df_gradient_sums
from dforest.rules.smoothing cimport df_share_of_draws, df_smoothed

SPILL, WEIGHTED_SPILL = DF_SPILL, DF_WEIGHTED_SPILL    # the most rows of a word, without and with integer weights
WIDE = int(df_packing.DF_WIDE_WORDS)


class Words(NamedTuple):
    """The words of a tree, and what its integers stand for.

    Attributes
    ----------
    kind : int
        A `df_packing`.
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


def gradient_exponents(const double[:, :] largest not None):
    """The exponents of quantised gradients, given the largest magnitudes of derivatives: ndarray of int32 of their shape."""
    return np.array([[df_gradient_exponent(largest[i, j], DF_GRADIENT_BITS) for j in range(largest.shape[1])]
                     for i in range(largest.shape[0])], np.int32)


def choose_packing(bint has_hessian, bint is_weighted, const int64_t[::1] extent not None, int64_t total, quantised,
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
    cdef df_packing kind = df_choose_packing(not has_hessian, is_weighted, is_wide or has_heavy_tail(extent, total))
    return Words(int(kind), quantised, (quantised[0] - df_gradient_shift(kind), quantised[1] - df_hessian_shift(kind)))


def enough_gains(const double[::1] gains not None, const int32_t[::1] units not None, double weight_unit, double min_gain):
    """Nodes' gains that are enough for splits, and 0 in place of the others: ndarray of shape (n_nodes,), dtype float64.

    Parameters
    ----------
    gains : ndarray of shape (n_nodes,), dtype float64
        In units of 2 to the power of `units`.
    units : ndarray of shape (n_nodes,), dtype int32
    weight_unit : float
        The weight that an integer weight of 1 stands for.
    min_gain : float
        In units of the loss.
    """
    return np.array([gains[i] if df_gains_enough(gains[i], units[i], weight_unit, min_gain) else 0.0
                     for i in range(gains.shape[0])])


def gains(const double[:] scores not None, const int64_t[:] gradient not None, const int64_t[:] hessian not None, double l1,
          double l2, const int32_t[:, :] narrow not None, double weight_unit, bint is_constrained=False):
    """The gains of nodes' cuts in the units of their scores, if integer weights were the weights; 0 where there is none.

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
    is_constrained : bool
        Whether features have directions.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype float64
    """
    cdef Py_ssize_t i
    cdef df_boost_limits limits, rules = df_boost_limits(l1, l2, 0.0, 0.0, weight_unit, 1, 0)
    cdef double gain
    result = np.zeros(scores.shape[0])
    cdef double[::1] out = result
    for i in range(scores.shape[0]):
        limits = df_boost_limits_of(&rules, narrow[i, 0], narrow[i, 1])
        gain = df_gain_of_score(&limits, is_constrained, scores[i], <double> gradient[i], <double> hessian[i])
        out[i] = max(0.0, gain)
    return result


def units_of_scores(const int32_t[:, :, ::1] narrow not None):
    """The exponents of the units of nodes' scores, the highest of those of their outputs: ndarray of int32.

    narrow : ndarray of shape (n_nodes, n_outputs, 2), the exponents of narrow gradients and hessians
    """
    return np.array([max([df_unit_of_scores(narrow[i, k, 0], narrow[i, k, 1]) for k in range(narrow.shape[1])])
                     for i in range(narrow.shape[0])], np.int32)


def absolute_gains(const double[::1] gains not None, const int32_t[::1] units not None, double weight_unit):
    """Gains in units of the loss, given their `units_of_scores`: ndarray of float64.

    weight_unit : the weight that an integer weight of 1 stands for
    """
    return np.array([df_absolute_gain(gains[i], units[i], weight_unit) for i in range(gains.shape[0])], np.float64)


def bounds_of_children(const double[:, :, ::1] bounds not None, const double[:, ::1] midpoints not None,
                       const int8_t[::1] monotonic_csts not None):
    """The bounds of nodes' children: ndarray of shape (2 * n_nodes, n_outputs, 2), left and right ones in turn.

    Parameters
    ----------
    bounds : ndarray of shape (n_nodes, n_outputs, 2), dtype float64
    midpoints : ndarray of shape (n_nodes, n_outputs), dtype float64
        Between the steps of both children.
    monotonic_csts : ndarray of shape (n_nodes,), dtype int8
        Of the features that the nodes test.
    """
    cdef Py_ssize_t i, k, side
    cdef df_bounds own
    result = np.empty((2 * bounds.shape[0], bounds.shape[1], 2))
    cdef double[:, :, ::1] out = result
    for i in range(bounds.shape[0]):
        for side in range(2):
            for k in range(bounds.shape[1]):
                own = df_child_bounds(df_bounds(bounds[i, k, 0], bounds[i, k, 1]), side, monotonic_csts[i], midpoints[i, k])
                out[2 * i + side, k, 0], out[2 * i + side, k, 1] = own.lower, own.upper
    return result


def are_light(const double[:] max_weight not None, const double[::1] reference not None):
    """Whether nodes need exponents of their own: ndarray of bool.

    Parameters
    ----------
    max_weight, reference : ndarray of shape (n_nodes,), dtype float64
        Weights of the heaviest rows, and of those that the nodes' exponents were chosen for.
    """
    return np.array([df_is_light(max_weight[i], reference[i]) for i in range(max_weight.shape[0])], bool)


def are_far_below(const double[:, :, :] largest not None, const int32_t[:, :, ::1] exponents not None, bint has_hessian,
                  bint are_leaves=False):
    """Whether nodes have gradients or Hessians far below their scales, in any output: ndarray of bool.

    Parameters
    ----------
    largest : ndarray of shape (n_nodes, n_outputs, 2), dtype float64
        The largest gradients, in magnitude, and Hessians.
    exponents : ndarray of shape (n_nodes, n_outputs, 2), dtype int32
        Of quantised gradients and Hessians.
    has_hessian : bool
        Whether there are integers of Hessians.
    are_leaves : bool
        Whether the nodes are leaves whose values are to be found.
    """
    cdef int bits = DF_LEAF_TAIL_BITS if are_leaves else DF_TAIL_BITS
    return np.array([any([df_is_far_below(largest[i, k, j], exponents[i, k, j], bits)
                          for k in range(largest.shape[1]) for j in range(1 + has_hessian)])
                     for i in range(largest.shape[0])], bool)


def has_heavy_tail(const int64_t[::1] extent not None, int64_t total):
    """Whether gradients or Hessians have a heavy tail: bool. Parameters: as of `choose_packing`"""
    return bool(df_has_heavy_tail(extent[0], extent[2], total) or df_has_heavy_tail(extent[1], extent[3], total))


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
    """The values of nodes by Newton's steps, given their sums: ndarray of float64.

    learning_rate, l1, l2, max_step, is_damped, n_sums : see boost.h; l1 and l2 are in units of weight
    """
    cdef df_value_limits limits = df_value_limits_of(learning_rate, max_step, is_damped, n_sums)
    return np.array([df_newton_value(&limits, sums[i], l1, l2) for i in range(sums.shape[0])], np.float64)


def values_of_steps(const double[::1] steps not None, double learning_rate, double max_step, bint is_damped, int n_sums):
    """The values of leaves that have some steps: ndarray of float64. Parameters: see `newton_values`."""
    cdef df_value_limits limits = df_value_limits_of(learning_rate, max_step, is_damped, n_sums)
    return np.array([df_limited_value(&limits, steps[i], learning_rate * steps[i]) for i in range(steps.shape[0])], np.float64)


def clip(const double[:, ::1] values not None, const double[:, :, ::1] bounds not None):
    """Values of nodes, of shape (n_nodes, n_outputs), within bounds, of shape (n_nodes, n_outputs, 2): ndarray of float64."""
    return np.array([[df_clip(values[i, k], bounds[i, k, 0], bounds[i, k, 1]) for k in range(values.shape[1])]
                     for i in range(values.shape[0])], np.float64)


def bounds_of_values(const double[:, ::1] values not None, const int64_t[::1] parents not None,
                     const int64_t[:, ::1] children not None, const int8_t[::1] monotonic_csts not None):
    """The bounds of nodes of a tree, given the values that they would have without: ndarray of shape (n_nodes, n_outputs, 2).

    Parameters
    ----------
    values : ndarray of shape (n_nodes, n_outputs), dtype float64
    parents : ndarray of shape (n_parents,), dtype int64
        The numbers of inner nodes, each after its parent.
    children : ndarray of shape (n_parents, 2), dtype int64
        The numbers of their children.
    monotonic_csts : ndarray of shape (n_parents,), dtype int8
        Of the features that they test.
    """
    cdef Py_ssize_t i, k, side
    cdef df_bounds own, of_child
    cdef double midpoint
    result = np.tile([-np.inf, np.inf], (values.shape[0], values.shape[1], 1))
    cdef double[:, :, ::1] out = result
    for i in range(parents.shape[0]):
        for k in range(values.shape[1]):
            own = df_bounds(out[parents[i], k, 0], out[parents[i], k, 1])
            midpoint = df_midpoint_prediction(df_clip(values[children[i, 0], k], own.lower, own.upper),
                                              df_clip(values[children[i, 1], k], own.lower, own.upper))
            for side in range(2):
                of_child = df_child_bounds(own, side, monotonic_csts[i], midpoint)
                out[children[i, side], k, 0], out[children[i, side], k, 1] = of_child.lower, of_child.upper
    return result


def smoothed_values(const double[:, ::1] values not None, const int64_t[::1] parents not None, const int64_t[::1] n_rows not None,
                    double strength, const double[:, :, ::1] bounds):
    """Values of nodes that are drawn towards those of their parents (smoothing.h): ndarray of shape (n_nodes, n_outputs).

    Parameters
    ----------
    values : ndarray of shape (n_nodes, n_outputs), dtype float64
        Within their bounds.
    parents : ndarray of shape (n_nodes,), dtype int64
        Each is before its children; -1: the root has none.
    n_rows : ndarray of shape (n_nodes,), dtype int64
    strength : float
        How many rows have half of the say.
    bounds : ndarray of shape (n_nodes, n_outputs, 2), dtype float64, or None
        Within which values stay.
    """
    cdef Py_ssize_t i, k
    cdef double share
    result = np.array(values)
    cdef double[:, ::1] out = result
    for i in range(values.shape[0]):
        if parents[i] < 0:
            continue
        share = df_share_of_draws(<double> n_rows[i], <double> n_rows[i], strength)
        for k in range(values.shape[1]):
            out[i, k] = df_smoothed(out[parents[i], k], values[i, k], share)
            if bounds is not None:
                out[i, k] = df_clip(out[i, k], bounds[i, k, 0], bounds[i, k, 1])
    return result


def bytes_of_quantile(const int64_t[:, ::1] weights not None, int64_t[::1] before not None, const int64_t[::1] totals not None,
                      double quantile):
    """The byte of the quantile of each node: see `dforest.core.boost.quantiles`.

    Parameters
    ----------
    weights : ndarray of shape (n_nodes, 256), dtype int64
        Of numbers by the value of this byte, among those whose bytes before it are the quantile's.
    before : ndarray of shape (n_nodes,), dtype int64
        Weight of numbers that are lower by the bytes before; changed to that of numbers that are lower by this byte, too.
    totals : ndarray of shape (n_nodes,), dtype int64
        Weight of all numbers.
    quantile : float

    Returns
    -------
    ndarray of shape (n_nodes,), dtype int64
    """
    cdef Py_ssize_t i, j = 0
    result = np.empty(weights.shape[0], np.int64)
    cdef int64_t[::1] out = result
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            if weights[i, j] > 0 and df_reaches_quantile(before[i] + weights[i, j], totals[i], quantile):
                break
            before[i] += weights[i, j]
        out[i] = j
    return result


def end_at_quantile(const int64_t[::1] upto not None, const int64_t[::1] totals not None, double quantile):
    """Whether weights up to some value are exactly the quantile's share of all: ndarray of bool."""
    return np.array([df_ends_at_quantile(upto[i], totals[i], quantile) for i in range(upto.shape[0])], bool)


def values_of_keys(const uint64_t[::1] keys not None):
    """The numbers that keys (ordered_keys.h) stand for: ndarray of float64."""
    return np.array([df_value64(keys[i]) for i in range(keys.shape[0])], np.float64)


def keys_of_values(const double[::1] values not None):
    """The keys of numbers, of which there may be one for each row: ndarray of uint64."""
    cdef Py_ssize_t i
    result = np.empty(values.shape[0], np.uint64)
    cdef uint64_t[::1] out = result
    for i in range(values.shape[0]):
        out[i] = df_ordered_key64(values[i])
    return result


def between_values(const double[::1] values not None, const double[::1] others not None):
    """What `df_between_values` says of pairs of numbers: ndarray of float64."""
    return np.array([df_between_values(values[i], others[i]) for i in range(values.shape[0])], np.float64)
