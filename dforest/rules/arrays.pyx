"""The rules of nodes, cuts and leaves as functions over arrays, for drivers that decide for many nodes at a time.

Most are functions of the headers beside this file, called for one node after another. Structs are those of records.h; a single
struct, such as the limits of a fit, is an array of one entry.

What leaves of numbers keep is found in steps, between which the sums of several shards are added up. A leaf's value is the mean
of its exact targets; its impurity is measured around the mean of its integer targets (`node.h`). Both need sums over all draws of
the leaf, of up to 128 bits. Each shard gives sums over its own draws; added up in any order, they give the leaf:

    extents of all ──► leaf_sums ──► added up ──► impurity_sums ──► added up ──► leaf_words

A *digit* is one of the four parts, of 32 bits each, that a sum of 128 bits is cut into, lowest first; the highest digit has the
sign. Digits are held in 64 bits, so that the digits of 2**31 sums can be added up without a carry.

Nodes are `df_grown` structs, whose draws are the records from `first` on; a shard may have none of them. Arrays are borrowed.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import numpy as np

from dforest.rules.bounds cimport df_clip
from dforest.rules.criteria cimport (
    df_add_draws, df_fixed_deviance, df_has_one_class, df_measure, df_measure_deviance, df_measure_squares,
)
from dforest.rules.cut cimport DF_AS_DRAWN, DF_AT_EDGES, DF_AT_MIDDLES, df_threshold_of
from dforest.rules.node cimport (
    DF_LEAF_BITS, df_absolute_exponent, df_child_of, df_choose_scale, df_decreases_enough, df_deviance_impurity,
    df_is_leaf_by_size, df_is_narrow, df_is_pure_enough, df_leaf_mean, df_leaf_offset, df_quantised, df_quantiser,
    df_quantiser_of, df_root_of, df_score_exponent, df_shifted_weight, df_square_impurity,
)
from dforest.rules.numerics cimport df_add_product, df_add_square, df_exact_sum, df_sum_digits, df_sum_of_digits
from dforest.rules.random cimport DF_BLOCK, DF_ROOT_KEY
from dforest.rules.records cimport (
    DF_POISSON, DF_TARGET_SUM, DF_TARGET_SUM_WIDE, df_column, df_grown, df_limits, df_open_node, df_record,
)
from dforest.rules.class_fractions cimport df_bound_fraction
from dforest.rules.weights cimport (
    df_finalize_weights, df_fine_shift, df_node_weight, df_offset_bits, df_parts_of, df_parts_value,
    df_shift_if_low_weight, df_shifted_exact, df_weight_parts, df_weight_quantiser_of,
)

from dforest.rules.records import record


BLOCK = DF_BLOCK               # rows of a block of a sampling plan
ROOT_KEY = DF_ROOT_KEY         # of a tree's root


def have_one_class(const int64_t[:, ::1] totals not None):
    """Whether all draws of nodes are of one class, given the nodes' statistics: ndarray of bool."""
    return np.array([df_has_one_class(&totals[i, 0], totals.shape[1]) for i in range(totals.shape[0])], bool)


def are_leaves(const df_limits[::1] limits not None, const df_open_node[::1] open_nodes not None,
               const int64_t[:, ::1] totals not None):
    """Which nodes are leaves, as far as their depth, draws and weight tell, given their statistics: ndarray of bool."""
    return np.array([
        df_is_leaf_by_size(&limits[0], open_nodes[i].depth, totals[i, 0],
                           df_shifted_weight(totals[i, 1], open_nodes[i].weight_shift), open_nodes[i].root_weight)
        for i in range(open_nodes.shape[0])
    ], bool)


def shifted_weights(const int64_t[:] weights not None, const int32_t[:] shifts not None):
    """Weights of nodes in the units of all rows, given the shifts of the nodes' weights: ndarray of float64."""
    return np.array([df_shifted_weight(weights[i], shifts[i]) for i in range(weights.shape[0])], np.float64)


def shifts_if_light(const int32_t[:] shifts not None, const double[::1] max_weight not None):
    """The shifts of nodes' weights, given their parents', or 0, and the heaviest exact weight of each node: ndarray of int32."""
    return np.array([df_shift_if_low_weight(shifts[i], max_weight[i]) for i in range(shifts.shape[0])], np.int32)


def fine_shifts(const double[::1] max_weight not None):
    """The shifts of nodes' fine weights (`weights.h`), given the heaviest exact weight of each: ndarray of int32."""
    return np.array([df_fine_shift(max_weight[i]) for i in range(max_weight.shape[0])], np.int32)


def count_draws(const df_grown[::1] nodes not None, const df_record[::1] records not None):
    """How many draws nodes have among the records: ndarray of shape (n_nodes,), dtype int64."""
    cdef Py_ssize_t i, k
    result = np.zeros(nodes.shape[0], np.int64)
    cdef int64_t[::1] out = result
    for i in range(nodes.shape[0]):
        for k in range(nodes[i].first, nodes[i].first + nodes[i].n):
            out[i] += records[k].count
    return result


def finalize_classes(int64_t[:, ::1] words not None, int64_t[:, ::1] high not None, const int32_t[::1] shifts not None, columns):
    """Make of fine integers, added up in two parts, what leaves of classes keep.

    Parameters
    ----------
    words : ndarray of shape (n_nodes, n_words), dtype int64
        The nodes' draws, and the lower parts; changed to what leaves keep.
    high : ndarray of shape (n_nodes, n_words), dtype int64
        The higher parts; the last word says nothing.
    shifts : ndarray of shape (n_nodes,), dtype int32
        `fine_shifts` of the nodes.
    columns : sequence of slice
        The classes of each output.
    """
    cdef Py_ssize_t i, first, n
    cdef int64_t n_draws
    for i in range(words.shape[0]):
        n_draws = words[i, 0]
        for own in columns:
            first, n = own.start, own.stop - own.start
            words[i, 0] = df_finalize_weights(n_draws, shifts[i], &words[i, 1 + first], &high[i, first], n, &words[i, 1 + first])


def bound_fractions(int64_t[:, ::1] words not None, const df_grown[::1] nodes not None):
    """Keep the shares of the second of two classes in leaves within the bounds of these.

    Parameters
    ----------
    words : ndarray of shape (n_nodes, 3), dtype int64
        What they keep; changed.
    nodes : ndarray of shape (n_nodes,), dtype df_grown
    """
    cdef Py_ssize_t i
    for i in range(words.shape[0]):
        df_bound_fraction(&words[i, 0], nodes[i].lower, nodes[i].upper)


def are_pure_enough(const df_limits[::1] limits not None, const double[::1] impurities not None):
    """Which nodes are leaves by `impurity_threshold`: ndarray of bool."""
    return np.array([df_is_pure_enough(&limits[0], impurities[i]) for i in range(impurities.shape[0])], bool)


def absolute_exponents(int64_t criterion, const int32_t[:] exponents not None, const int32_t[:] shifts not None):
    """The exponents of the units of nodes' scores: scores times 2 to these powers are in units of weight times impurity.

    Parameters
    ----------
    criterion : int
        As records.h numbers them.
    exponents, shifts : ndarray of shape (n_nodes,), dtype int32
        Of the scales of the nodes' targets, and of the nodes' weights.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype int32
    """
    return np.array([df_absolute_exponent(df_score_exponent(criterion, exponents[i]), shifts[i])
                     for i in range(exponents.shape[0])], np.int32)


def decrease_enough(const df_limits[::1] limits not None, const double[:] scores not None,
                    const int32_t[::1] exponents not None, const double[:] root_weights not None):
    """Whether the best splits of nodes decrease the impurity by `min_impurity_decrease` or more: ndarray of bool.

    Parameters
    ----------
    limits : ndarray of shape (1,), dtype df_limits
    scores, exponents : ndarray of shape (n_nodes,), dtype float64 and int32
        And the exponents of their units, which are `absolute_exponents`.
    root_weights : ndarray of shape (n_nodes,), dtype float64
        Of all draws of the nodes' trees.
    """
    return np.array([df_decreases_enough(&limits[0], scores[i], exponents[i], root_weights[i])
                     for i in range(scores.shape[0])], bool)


def roots(n_records, seeds):
    """The roots of trees whose records lie one tree after another.

    Parameters
    ----------
    n_records : ndarray of shape (n_trees,), dtype int64
        How many records each tree has.
    seeds : ndarray of shape (n_trees,), dtype uint32
        Of the trees.

    Returns
    -------
    ndarray of shape (n_trees,), dtype df_open_node
        `first_weight` is -1: there are no exact weights.
    """
    cdef Py_ssize_t i
    result = np.empty(len(seeds), record("df_open_node"))
    cdef df_open_node[::1] out = result
    for i in range(out.shape[0]):
        out[i] = df_root_of(n_records[i], seeds[i])
    result["first"] = np.cumsum(n_records) - n_records
    return result


def children(const df_open_node[::1] open_nodes not None, const int64_t[::1] n_left not None,
             const int32_t[::1] monotonic_csts not None, const double[::1] midpoints not None):
    """The children of nodes whose draws have been partitioned.

    Parameters
    ----------
    open_nodes : ndarray of shape (n_nodes,), dtype df_open_node
    n_left : ndarray of shape (n_nodes,), dtype int64
        Records that went left.
    monotonic_csts : ndarray of shape (n_nodes,), dtype int32
        Of the features: 1 or -1, predictions may only rise or only fall with it; 0, either.
    midpoints : ndarray of shape (n_nodes,), dtype float64
        Between the predictions of the two sides.

    Returns
    -------
    ndarray of shape (2 * n_nodes,), dtype df_open_node
        A left child, its sibling on the right, the next left child, and so on.
    """
    cdef Py_ssize_t i
    result = np.empty(2 * open_nodes.shape[0], record("df_open_node"))
    cdef df_open_node[::1] out = result
    for i in range(open_nodes.shape[0]):
        out[2 * i] = df_child_of(&open_nodes[i], False, n_left[i], monotonic_csts[i], midpoints[i])
        out[2 * i + 1] = df_child_of(&open_nodes[i], True, n_left[i], monotonic_csts[i], midpoints[i])
    return result


def are_narrow(const df_open_node[::1] open_nodes not None, const int64_t[:, ::1] extents not None):
    """Whether all targets of nodes may be equal, or lie so close that they need another scale: ndarray of bool.

    extents : the least and the greatest integer target of each node
    """
    return np.array([df_is_narrow(open_nodes[i].n, extents[i, 1] - extents[i, 0], open_nodes[i].scale.range)
                     for i in range(open_nodes.shape[0])], bool)


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
    centres, exponents = np.empty(extents.shape[0]), np.empty(extents.shape[0], np.int32)
    cdef double[::1] centre = centres
    cdef int32_t[::1] exponent = exponents
    for i in range(extents.shape[0]):
        exponent[i] = df_choose_scale(extents[i, 0], extents[i, 1], bits, &centre[i])
    return centres, exponents


def where_thresholds_are(bint is_random, bint has_middles):
    """One of `df_thresholds` (cut.h): whether cuts are drawn; if not, whether they lie in the middle of values, or at bins."""
    return DF_AS_DRAWN if is_random else DF_AT_MIDDLES if has_middles else DF_AT_EDGES


def thresholds(const df_grown[::1] nodes not None, const df_column[::1] columns not None, int where,
               const double[::1] values not None, const double[::1] highs not None):
    """Where nodes cut.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,), dtype df_grown
    columns : ndarray of shape (n_features,), dtype df_column
    where : int
        See `where_thresholds_are`.
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
        out[i] = df_threshold_of(&nodes[i], &columns[0], where, &values[0], &highs[0])
    return result


cdef enum:
    N_STATISTIC = 4            # words of a statistic: draws, weight, sum of integer targets, its high word
    N_DIGITS = 4               # of a sum
    WEIGHT_PARTS = 8           # where the parts of the sum of fine weights stand


def leaf_sums(const df_grown[::1] nodes not None, const df_record[::1] records not None, const double[::1] y not None,
              const double[:, ::1] extents not None, bint is_wide, const double[::1] exact_weight=None, shifts=None,
              n_draws=None):
    """The first sums over the draws of nodes.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,), dtype df_grown
    records : ndarray of shape (n_records,), dtype df_record
    y : ndarray of shape (n_rows,), dtype float64
        Exact targets.
    extents : ndarray of shape (n_nodes, 2), dtype float64
        The least and the greatest target among the draws of each node in all shards.
    is_wide : bool
        Whether sums of integer targets have two words.
    exact_weight, shifts : ndarray, optional
        Those of a tree's rows begin at `first_weight` of its nodes; `fine_shifts`. None: the records' weights are exact.
    n_draws : ndarray of shape (n_nodes,), dtype int64, optional
        Of each node in all shards.

    Returns
    -------
    ndarray of shape (n_nodes, 10), dtype int64
        The statistic by the node's scale, the digits of the sum that the value follows from, and the parts of the weight in it.
    """
    cdef Py_ssize_t i, k
    cdef int32_t exponent
    cdef int64_t weight, offset
    cdef df_weight_parts parts
    cdef double centre
    cdef df_quantiser scale, weight_quantiser, of_node
    cdef df_exact_sum total
    cdef df_record drawn
    cdef const int32_t[::1] shift = shifts
    cdef const int64_t[::1] draws = n_draws
    result = np.zeros((nodes.shape[0], WEIGHT_PARTS + 2), np.int64)
    cdef int64_t[:, ::1] out = result
    for i in range(nodes.shape[0]):
        weight_quantiser = df_weight_quantiser_of(shift[i] if exact_weight is not None else 0)
        of_node = df_weight_quantiser_of(nodes[i].weight_shift)
        scale = df_quantiser_of(nodes[i].scale.centre, nodes[i].scale.exponent)
        memset(&total, 0, sizeof(total))
        centre = 0.0
        exponent = 0
        if extents[i, 0] < extents[i, 1]:
            exponent = df_choose_scale(extents[i, 0], extents[i, 1], df_offset_bits(draws[i]) if exact_weight is not None
                                       else DF_LEAF_BITS, &centre)
        for k in range(nodes[i].first, nodes[i].first + nodes[i].n):
            drawn = records[k]
            drawn.target = 0
            if exact_weight is not None:
                weight = df_shifted_exact(&weight_quantiser, exact_weight[nodes[i].first_weight + drawn.row])
                drawn.weight = df_node_weight(&of_node, exact_weight[nodes[i].first_weight + drawn.row])
                parts = df_parts_of(weight, drawn.count)
                out[i, WEIGHT_PARTS] += parts.low
                out[i, WEIGHT_PARTS + 1] += parts.high
            if extents[i, 0] < extents[i, 1]:          # else there may be no scale
                drawn.target = df_quantised(&scale, y[drawn.row])
                offset = df_leaf_offset(y[drawn.row], centre, exponent)
                if exact_weight is not None:
                    df_add_product(&total, weight, drawn.count * offset)
                else:
                    df_add_product(&total, <int64_t> drawn.count * drawn.weight, offset)
            df_add_draws(DF_TARGET_SUM_WIDE if is_wide else DF_TARGET_SUM, &out[i, 0], &drawn)
        df_sum_digits(&total, &out[i, N_STATISTIC])
    return result


cdef df_measure measure_of(int64_t criterion, const df_grown* node, const int64_t* statistic, bint is_wide) noexcept nogil:
    cdef df_measure measure
    memset(&measure, 0, sizeof(measure))
    if criterion == DF_POISSON:
        df_measure_deviance(statistic, is_wide, node.scale.centre, node.scale.exponent, &measure)
    else:
        df_measure_squares(statistic, is_wide, &measure)
    return measure


def impurity_sums(int64_t criterion, const df_grown[::1] nodes not None, const df_record[::1] records not None,
                  const double[::1] y not None, const double[:, ::1] extents not None, const int64_t[:, ::1] sums not None,
                  bint is_wide, const double[::1] exact_weight=None):
    """The second sums over the draws of nodes.

    Parameters
    ----------
    criterion : int
        As records.h numbers them.
    sums : ndarray of shape (n_nodes, 10), dtype int64
        What `leaf_sums` gives, added up.
    nodes, records, y, extents, is_wide, exact_weight
        As for `leaf_sums`.

    Returns
    -------
    ndarray of shape (n_nodes, 4), dtype int64
        The digits of the sum that the impurity follows from.
    """
    cdef Py_ssize_t i, k
    cdef int64_t weight
    cdef int32_t target
    cdef df_quantiser scale, of_node
    cdef df_exact_sum total
    cdef df_measure measure
    result = np.zeros((nodes.shape[0], N_DIGITS), np.int64)
    cdef int64_t[:, ::1] out = result
    for i in range(nodes.shape[0]):
        if not extents[i, 0] < extents[i, 1]:
            continue
        of_node = df_weight_quantiser_of(nodes[i].weight_shift)
        measure = measure_of(criterion, &nodes[i], &sums[i, 0], is_wide)
        if criterion == DF_POISSON and measure.centre <= 0.0:
            continue
        scale = df_quantiser_of(nodes[i].scale.centre, nodes[i].scale.exponent)
        memset(&total, 0, sizeof(total))
        for k in range(nodes[i].first, nodes[i].first + nodes[i].n):
            weight = records[k].weight
            if exact_weight is not None:
                weight = df_node_weight(&of_node, exact_weight[nodes[i].first_weight + records[k].row])
            weight *= records[k].count
            target = df_quantised(&scale, y[records[k].row])
            if criterion == DF_POISSON:
                df_add_product(&total, weight, df_fixed_deviance(target, &measure))
            else:
                df_add_square(&total, target - measure.mean, weight)
        df_sum_digits(&total, &out[i, 0])
    return result


def leaf_words(int64_t criterion, const df_grown[::1] nodes not None, const double[:, ::1] extents not None,
               const int64_t[:, ::1] sums not None, const int64_t[:, ::1] squares not None, bint is_wide, shifts=None):
    """What nodes keep as leaves.

    Parameters
    ----------
    sums, squares : ndarray of shape (n_nodes, 10) and (n_nodes, 4), dtype int64
        What `leaf_sums` and `impurity_sums` give, added up.
    criterion, nodes, extents, is_wide
        As for `impurity_sums`.
    shifts : ndarray, optional
        As for `leaf_sums`.

    Returns
    -------
    ndarray of shape (n_nodes, 4), dtype int64
        Draws, weight, and the bits of value and impurity. Those of several outputs are put together by `join_outputs`.
    """
    cdef Py_ssize_t i
    cdef double value, impurity, centre
    cdef int32_t exponent
    cdef int score_exponent
    cdef df_exact_sum total
    cdef df_measure measure
    cdef const int32_t[::1] shift = shifts
    cdef df_weight_parts parts
    cdef double weight
    cdef bint is_exact = shifts is None
    result = np.empty((nodes.shape[0], 4), np.int64)
    cdef int64_t[:, ::1] out = result
    for i in range(nodes.shape[0]):
        value = extents[i, 0]
        impurity = 0.0
        if extents[i, 0] < extents[i, 1]:
            parts.low, parts.high = sums[i, WEIGHT_PARTS], sums[i, WEIGHT_PARTS + 1]
            weight = <double> sums[i, 1] if is_exact else df_parts_value(parts)
            exponent = df_choose_scale(extents[i, 0], extents[i, 1], DF_LEAF_BITS if is_exact else df_offset_bits(sums[i, 0]),
                                       &centre)
            total = df_sum_of_digits(&sums[i, N_STATISTIC])
            value = df_leaf_mean(&total, weight, centre, exponent, extents[i, 0], extents[i, 1])
            measure = measure_of(criterion, &nodes[i], &sums[i, 0], is_wide)
            total = df_sum_of_digits(&squares[i, 0])
            score_exponent = df_score_exponent(criterion, nodes[i].scale.exponent)
            if criterion != DF_POISSON:
                impurity = df_square_impurity(&total, sums[i, 1], &measure, score_exponent)
            elif measure.centre > 0.0:
                impurity = df_deviance_impurity(&total, sums[i, 1], score_exponent)
        value = df_clip(value, nodes[i].lower, nodes[i].upper)
        out[i, 0] = sums[i, 0]
        out[i, 1] = sums[i, 1]
        if not is_exact:
            out[i, 0] = df_finalize_weights(sums[i, 0], shift[i], &sums[i, WEIGHT_PARTS], &sums[i, WEIGHT_PARTS + 1], 1,
                                            &out[i, 1])
        memcpy(&out[i, 2], &value, sizeof(value))
        memcpy(&out[i, 3], &impurity, sizeof(impurity))
    return result


def join_outputs(words):
    """What nodes keep as leaves, given what each output says.

    Parameters
    ----------
    words : ndarray of shape (n_outputs, n_nodes, 4), dtype int64
        As of `leaf_words`.

    Returns
    -------
    ndarray of shape (n_nodes, 3 + n_outputs), dtype int64
        Draws, weight, and the bits of a value for each output and of the mean impurity.
    """
    n_outputs = len(words)
    impurity = np.zeros(words.shape[1])
    for of_output in words:            # in this order: floats are added up
        impurity += of_output[:, 3].copy().view(np.float64)
    impurity = (impurity / n_outputs).view(np.int64)
    return np.column_stack([words[0, :, :2], words[:, :, 2].T, impurity])
