"""Rules by hand, for tests: those that no driver asks about, as functions over arrays.

Each is a function of the headers in dforest/rules. `dforest.rules.arrays` has the rules that drivers need.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

import numpy as np

from dforest.rules.bins cimport df_bin_ends_before, df_bin_ends_with, df_bin_limits, df_bin_limits_of
from dforest.rules.categories cimport (
    df_category_is_before,
    df_class_response,
    df_draw_categories,
    df_is_drawn,
    df_largest_class,
    df_target_response,
)
from dforest.rules.criteria cimport df_add_draws
from dforest.rules.cut cimport (
    df_is_allowed,
    df_is_valid,
    df_leads_left,
    df_missing_goes_left,
    df_only_missing_right,
    df_valid_run,
)
from dforest.rules.edges cimport df_nearest_edge_double, df_nearest_edge_float
from dforest.rules.medians cimport (
    df_has_half, df_lies_above, df_midpoint_of_medians, df_pass, df_spread, df_spread_cost, df_spread_of, df_target_of_sort_key,
    df_target_sort_key,
)
from dforest.rules.node cimport df_mean_target, df_quantised, df_quantiser, df_quantiser_of
from dforest.rules.numerics cimport df_add_product, df_big_product, df_exact_sum, df_floor_mean, df_sum_digits
from dforest.rules.out_of_bag cimport df_error, df_leading_class, df_open_permutation, df_permute
from dforest.rules.random cimport DF_THRESHOLD, df_feature_key, df_stream, df_stream_open
from dforest.rules.records cimport df_draw_kind, df_leaf_rules, df_record
from dforest.rules.sampling cimport df_draw_block, df_draws_to_left, df_subsample_block, df_write_records

from dforest.rules.records import record


def sum_draws(int kind, const df_record[::1] records not None, Py_ssize_t n_words):
    """The statistic of the draws of some records.

    Parameters
    ----------
    kind : int
        How they add to it: a `df_draw_kind` of records.h.
    records : ndarray of shape (n_records,), dtype df_record
    n_words : int
        Of the statistic.

    Returns
    -------
    ndarray of shape (n_words,), dtype int64
    """
    cdef Py_ssize_t i
    result = np.zeros(n_words, np.int64)
    cdef int64_t[::1] out = result
    for i in range(records.shape[0]):
        df_add_draws(<df_draw_kind> kind, &out[0], &records[i])
    return result


def quantise(const double[::1] y not None, double centre, int32_t exponent):
    """Targets as integers of a scale: ndarray of shape (n,), dtype int32."""
    cdef df_quantiser scale = df_quantiser_of(centre, exponent)
    return np.array([df_quantised(&scale, y[i]) for i in range(y.shape[0])], np.int32)


def mean_targets(const int64_t[:, ::1] totals not None, bint is_wide, double centre, int32_t exponent):
    """The mean targets of some sets of draws, given their statistics and their scale.

    Parameters
    ----------
    totals : ndarray of shape (n_sets, n_words), dtype int64
    is_wide : bool
        Whether sums of targets have two words.
    centre : float
    exponent : int

    Returns
    -------
    ndarray of shape (n_sets,), dtype float64
    """
    return np.array([df_mean_target(&totals[i, 0], is_wide, centre, exponent) for i in range(totals.shape[0])], np.float64)


def are_valid(const df_leaf_rules[::1] rules not None, const int64_t[:, ::1] left not None, const int64_t[::1] total not None):
    """Which cuts of a node leave draws and weight enough on both sides.

    Parameters
    ----------
    rules : ndarray of shape (1,), dtype df_leaf_rules
    left : ndarray of shape (n_cuts, n_words), dtype int64
        Statistics of the left sides.
    total : ndarray of shape (n_words,), dtype int64
        That of the node.

    Returns
    -------
    ndarray of shape (n_cuts,), dtype bool
    """
    return np.array([df_is_valid(&rules[0], &left[i, 0], &total[0]) for i in range(left.shape[0])], bool)


def valid_run(const df_leaf_rules[::1] rules not None, const int64_t[:, ::1] left not None, const int64_t[::1] total not None):
    """The slice of the cuts of `are_valid`, each of which has more on its left than the one before, that are valid."""
    cdef int64_t n, first
    n = df_valid_run(&rules[0], &left[0, 0], left.shape[0], left.shape[1], &total[0], &first)
    return slice(first, first + n)


def are_allowed(double lower, double upper, int32_t monotonic_cst, const double[::1] left not None,
                const double[::1] right not None):
    """Which cuts keep to a node's bounds and a feature's direction, given what their sides predict.

    Parameters
    ----------
    lower, upper : float
        The node's bounds.
    monotonic_cst : int
        1 or -1: predictions may only rise or only fall with the feature; 0: either.
    left, right : ndarray of shape (n_cuts,), dtype float64

    Returns
    -------
    ndarray of shape (n_cuts,), dtype bool
    """
    return np.array([df_is_allowed(lower, upper, monotonic_cst, left[i], right[i]) for i in range(left.shape[0])], bool)


def missing_side(left, right, int64_t n_missing, int64_t n):
    """Where the missing values of a node go, by the best cuts of a feature with them on either side.

    Parameters
    ----------
    left, right : tuple of (score, imbalance, place, n_left)
        Of the best cut with the missing values on this side: its score, -1 if there is none; its imbalance, by which cuts of
        score 0 are told apart; its place among the cuts; the draws on its left, without missing ones.
    n_missing, n : int
        Draws that are missing, and all draws of the node.

    Returns
    -------
    goes_left : bool
        Whether missing values go left.
    is_alone : bool
        Whether the cut taken divides the missing values from all the rest.
    """
    cdef bint taken_left = n_missing > 0 and df_leads_left(left[0], left[1], left[2], right[0], right[1], right[2])
    n_left = (left if taken_left else right)[3]
    return (bool(df_missing_goes_left(n_left, n_missing, taken_left, n)),
            bool(df_only_missing_right(n_left, n_missing, taken_left, n)))


def bin_ends(int64_t filled, const int64_t[::1] weight not None, int64_t bins, int64_t rest):
    """When a bin ends, asked before each value and after it.

    Parameters
    ----------
    filled : int
        What the bin weighs so far.
    weight : ndarray of shape (n,), dtype int64
        Of the values that are left, one after another.
    bins : int
        How many are left, this one included.
    rest : int
        The weight of what is left, that of the bin included.

    Returns
    -------
    before, after : ndarray of shape (n,), dtype bool
        Whether the bin ends before each value, or with it, if it has taken all values that come first.
    share : int
        The least weight that reaches the bin's share.
    """
    cdef Py_ssize_t i, n = weight.shape[0]
    cdef df_bin_limits limits = df_bin_limits_of(bins, rest)
    before, after = np.zeros((2, n), bool)
    for i in range(n):
        before[i] = df_bin_ends_before(&limits, filled, weight[i])
        filled += weight[i]
        after[i] = df_bin_ends_with(&limits, filled, n - 1 - i)
    return before, after, limits.least


def nearest_edges(edges, uint32_t first, uint32_t last, const double[::1] x not None):
    """The edges at which random cuts divide a node, given the numbers that were drawn.

    Parameters
    ----------
    edges : ndarray of shape (n_edges,), dtype float32 or float64
        Between the bins of a column, ascending.
    first, last : int
        The first and the last edge that divides the node.
    x : ndarray of shape (n_cuts,), dtype float64

    Returns
    -------
    ndarray of shape (n_cuts,), dtype uint32
    """
    cdef Py_ssize_t i
    cdef bint is_float32 = edges.dtype == np.float32
    cdef const float[::1] single = edges if is_float32 else None
    cdef const double[::1] double_ = None if is_float32 else edges
    cdef uint32_t n = len(edges)
    if not first <= last < n:
        raise ValueError(f"first={first}, last={last}; allowed are numbers in this order, below {n}")
    result = np.empty(x.shape[0], np.uint32)
    cdef uint32_t[::1] out = result
    for i in range(x.shape[0]):
        if is_float32:
            out[i] = df_nearest_edge_float(&single[0], n, first, last, x[i])
        else:
            out[i] = df_nearest_edge_double(&double_[0], n, first, last, x[i])
    return result


def mean_responses(const int64_t[:, ::1] statistics not None, const int64_t[::1] total not None, bint has_classes,
                   bint is_wide=False):
    """What the categories of a node are ordered by.

    Parameters
    ----------
    statistics : ndarray of shape (n_categories, n_words), dtype int64
        Of the draws of each category.
    total : ndarray of shape (n_words,), dtype int64
        The node's statistic.
    has_classes : bool
    is_wide : bool
        Whether sums of targets have two words.

    Returns
    -------
    ndarray of shape (n_categories,), dtype float64
    """
    cdef Py_ssize_t i
    cdef int64_t largest = df_largest_class(&total[0], total.shape[0]) if has_classes else 0
    cdef int64_t mean = 0 if has_classes else df_floor_mean(total[2], total[3] if is_wide else 0, total[1])
    result = np.empty(statistics.shape[0])
    cdef double[::1] out = result
    for i in range(statistics.shape[0]):
        out[i] = (df_class_response(&statistics[i, 0], largest) if has_classes
                  else df_target_response(&statistics[i, 0], is_wide, mean))
    return result


def order_categories(const double[::1] responses not None):
    """The categories 0, 1, 2, ... of a node in the order in which they are cut, given their mean responses, as a list."""
    cdef Py_ssize_t i, at
    ordered = []
    for i in range(responses.shape[0]):
        at = i
        while at > 0 and df_category_is_before(responses[i], i, responses[ordered[at - 1]], ordered[at - 1]):
            at -= 1
        ordered.insert(at, i)
    return ordered


def draw_categories(uint32_t seed, uint64_t node_key, uint64_t feature, bint one_hot, uint32_t n):
    """Which of a node's n categories of a feature go left by a random cut: ndarray of shape (n,), dtype bool.

    Parameters
    ----------
    seed : int
        The seed of the tree.
    node_key : int
        The node key of the node.
    feature : int
    one_hot : bool
        Whether a single category goes left.
    n : int
        From 1.
    """
    cdef df_stream stream
    cdef uint32_t i
    words = np.empty((n + 31) // 32, np.uint32)
    cdef uint32_t[::1] bits = words
    result = np.empty(n, np.bool_)
    cdef unsigned char[::1] out = result.view(np.uint8)
    df_stream_open(&stream, seed, df_feature_key(node_key, feature), DF_THRESHOLD)
    df_draw_categories(&stream, one_hot, n, &bits[0])
    for i in range(n):
        out[i] = df_is_drawn(&bits[0], i)
    return result


def errors(bint is_regression, double factor, const double[::1] target not None, const double[::1] predicted not None):
    """Errors of predictions: of classes, 0 or 1; of numbers, squares of deviations times `factor`.

    Parameters
    ----------
    is_regression : bool
    factor : float
        A power of two by which no square overflows.
    target, predicted : ndarray of shape (n,), dtype float64
        Class numbers, or numbers.

    Returns
    -------
    ndarray of shape (n,), dtype float64
    """
    return np.array([df_error(is_regression, factor, target[i], predicted[i]) for i in range(target.shape[0])], np.float64)


def leading_classes(const int32_t[::1] voted not None, Py_ssize_t n_classes):
    """The class with most votes, the lower one of equals, after each of some votes.

    Parameters
    ----------
    voted : ndarray of shape (n_votes,), dtype int32
        The class of each vote.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_votes,), dtype int32
    """
    cdef Py_ssize_t i
    cdef int32_t best = 0
    cdef int32_t[::1] votes = np.zeros(n_classes, np.int32)
    result = np.empty(voted.shape[0], np.int32)
    cdef int32_t[::1] out = result
    for i in range(voted.shape[0]):
        votes[voted[i]] += 1
        best = out[i] = df_leading_class(&votes[0], best, voted[i])
    return result


def permuted_rows(uint32_t seed, uint64_t feature, const uint32_t[::1] rows not None, int64_t at_once=1):
    """The rows that each row takes a feature's values from, where a feature is permuted among rows.

    Parameters
    ----------
    seed : int
        The seed of the tree.
    feature : int
    rows : ndarray of shape (n,), dtype uint32
        Those that the tree left out.
    at_once : int
        How many places are decided at once, which changes nothing.

    Returns
    -------
    ndarray of shape (n,), dtype uint32
    """
    cdef df_stream stream
    cdef int64_t i
    result = np.array(rows)
    cdef uint32_t[::1] out = result
    df_open_permutation(&stream, seed, feature)
    for i in range(0, out.shape[0], at_once):
        df_permute(&stream, &out[0], i, min(i + at_once, <int64_t> out.shape[0]), out.shape[0])
    return result


def draws_to_left(uint32_t seed, uint64_t node, int64_t n_draws, int64_t left, int64_t right):
    """How many draws of a node of the bootstrap's tree go to its left half, of `left` against `right` rows: int."""
    return df_draws_to_left(seed, node, n_draws, left, right)


def draw_block(uint32_t seed, int64_t block, int64_t n, int64_t n_draws):
    """How often each of a block's n rows is drawn by the bootstrap: ndarray of shape (n,), dtype uint32."""
    result = np.empty(n, np.uint32)
    cdef uint32_t[::1] out = result
    df_draw_block(seed, block, n, n_draws, &out[0])
    return result


def subsample_block(uint32_t seed, int64_t block, int64_t n, int64_t n_draws):
    """Which of a block's n rows are drawn without replacement: ndarray of shape (n,), dtype uint32."""
    result = np.empty(n, np.uint32)
    cdef uint32_t[::1] out = result
    df_subsample_block(seed, block, n, n_draws, &out[0])
    return result


def records(int64_t first, const uint32_t[::1] counts, const int32_t[::1] target not None, const uint32_t[::1] weight, int64_t n):
    """The records of n rows from `first` on that are drawn: ndarray, dtype df_record.

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
    """
    result = np.zeros(n, record("df_record"))
    cdef df_record[::1] out = result
    return result[: df_write_records(first, n, NULL if counts is None else &counts[0], &target[0],
                                     NULL if weight is None else &weight[0], &out[0])]


def spread(const int32_t[::1] target not None, const int64_t[::1] weight not None):
    """The lower median of draws, given in ascending order, and the sum of weight times distance from it."""
    cdef Py_ssize_t i = 0, n = target.shape[0]
    cdef int64_t total = 0
    cdef int64_t digits[4]
    cdef df_exact_sum sum = df_big_product(0, 0), cost
    cdef df_spread known
    for k in range(n):
        total += weight[k]
        df_add_product(&sum, weight[k], target[k])
    known = df_spread_of(total, sum)
    while df_lies_above(&known, weight[i]):
        df_pass(&known, weight[i], df_big_product(weight[i], target[i]))
        i += 1
    cost = df_spread_cost(&known, target[i])
    df_sum_digits(&cost, digits)
    return target[i], sum_of_digits(digits)


cdef sum_of_digits(const int64_t* digits):
    """The number that `df_sum_digits` cut up."""
    return sum([int(digits[k]) << (32 * k) for k in range(4)])


def middle_of_medians(const double[::1] y not None, const int64_t[::1] weight not None):
    """What a leaf predicts by absolute error, given its targets, which are all different, in ascending order."""
    cdef Py_ssize_t i = 0
    cdef int64_t total = np.sum(weight), below = weight[0]
    while not df_has_half(below, total):
        i += 1
        below += weight[i]
    return df_midpoint_of_medians(y[i], y[min(i + 1, y.shape[0] - 1)], below, total)


def target_keys(const int32_t[::1] target not None):
    """The keys of integer targets, and the targets of these keys: lists of int."""
    keys = [df_target_sort_key(q) for q in target]
    return keys, [df_target_of_sort_key(key) for key in keys]
