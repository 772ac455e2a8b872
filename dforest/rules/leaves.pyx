"""What leaves of numbers keep, in steps between which the sums of several holders of draws are added up.

A leaf's value is the mean of its exact targets; its impurity is measured around the mean of its quantised ones (`node.h`). Both
need sums over all draws of the leaf, of up to 128 bits. Whoever has some of the draws gives sums of its own; added up in any
order, those of all give the leaf:

    extents of all ──► leaf_sums ──► added up ──► impurity_sums ──► added up ──► leaf_words

Words: a *digit* is one of the four parts, of 32 bits each, that a sum of 128 bits is cut into, lowest first; the highest one has
the sign. Digits are held in 64 bits, so that those of 2**31 sums can be added up without a carry.

Nodes are `df_grown` records, whose draws are the records from `first` on; a node may have none here. Arrays are borrowed.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import numpy as np

from dforest.rules.bounds cimport df_clip
from dforest.rules.criteria cimport df_add_draws, df_fixed_deviance, df_measure, df_measure_deviance, df_measure_squares
from dforest.rules.node cimport (
    DF_LEAF_BITS,
    df_choose_scale,
    df_deviance_impurity,
    df_leaf_mean,
    df_leaf_offset,
    df_quantised,
    df_quantiser,
    df_quantiser_of,
    df_score_exponent,
    df_square_impurity,
)
from dforest.rules.numerics cimport df_add_product, df_add_square, df_exact_sum, df_sum_digits, df_sum_of_digits
from dforest.rules.records cimport DF_POISSON, DF_TARGET_SUM, DF_TARGET_SUM_WIDE, df_grown, df_record

N_STATISTIC = 4                # words of a statistic: draws, weight, sum of quantised targets, its high word
N_DIGITS = 4                   # of a sum


def leaf_sums(const df_grown[::1] nodes not None, const df_record[::1] records not None, const double[::1] y not None,
              const double[:, ::1] extents not None, bint is_wide):
    """The first sums over the draws of nodes.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,), dtype df_grown
    records : ndarray of shape (n_records,), dtype df_record
    y : ndarray of shape (n_rows,), dtype float64
        Exact targets.
    extents : ndarray of shape (n_nodes, 2), dtype float64
        The least and the greatest target among all draws of each node, whoever has them.
    is_wide : bool
        Whether sums of quantised targets have two words.

    Returns
    -------
    ndarray of shape (n_nodes, 8), dtype int64
        The statistic by the node's scale, and the digits of the sum that the value follows from.
    """
    cdef Py_ssize_t i, k
    cdef int32_t exponent
    cdef double centre
    cdef df_quantiser scale
    cdef df_exact_sum total
    cdef df_record record
    result = np.zeros((nodes.shape[0], N_STATISTIC + N_DIGITS), np.int64)
    cdef int64_t[:, ::1] out = result
    for i in range(nodes.shape[0]):
        scale = df_quantiser_of(nodes[i].centre, nodes[i].exponent)
        memset(&total, 0, sizeof(total))
        centre = 0.0
        exponent = 0
        if extents[i, 0] < extents[i, 1]:
            exponent = df_choose_scale(extents[i, 0], extents[i, 1], DF_LEAF_BITS, &centre)
        for k in range(nodes[i].first, nodes[i].first + nodes[i].n):
            record = records[k]
            record.target = 0
            if extents[i, 0] < extents[i, 1]:          # else there may be no scale
                record.target = df_quantised(&scale, y[record.row])
                df_add_product(&total, <int64_t> record.count * record.weight, df_leaf_offset(y[record.row], centre, exponent))
            df_add_draws(DF_TARGET_SUM_WIDE if is_wide else DF_TARGET_SUM, &out[i, 0], &record)
        df_sum_digits(&total, &out[i, 4])
    return result


cdef df_measure measure_of(int64_t criterion, const df_grown* node, const int64_t* statistic, bint is_wide) noexcept nogil:
    cdef df_measure measure
    memset(&measure, 0, sizeof(measure))
    if criterion == DF_POISSON:
        df_measure_deviance(statistic, is_wide, node.centre, node.exponent, &measure)
    else:
        df_measure_squares(statistic, is_wide, &measure)
    return measure


def impurity_sums(int64_t criterion, const df_grown[::1] nodes not None, const df_record[::1] records not None,
                  const double[::1] y not None, const double[:, ::1] extents not None, const int64_t[:, ::1] sums not None,
                  bint is_wide):
    """The second sums over the draws of nodes.

    Parameters
    ----------
    criterion : int
        As records.h numbers them.
    sums : ndarray of shape (n_nodes, 8), dtype int64
        What `leaf_sums` gives, added up.
    nodes, records, y, extents, is_wide
        As for `leaf_sums`.

    Returns
    -------
    ndarray of shape (n_nodes, 4), dtype int64
        The digits of the sum that the impurity follows from.
    """
    cdef Py_ssize_t i, k
    cdef int64_t weight
    cdef int32_t target
    cdef df_quantiser scale
    cdef df_exact_sum total
    cdef df_measure measure
    result = np.zeros((nodes.shape[0], N_DIGITS), np.int64)
    cdef int64_t[:, ::1] out = result
    for i in range(nodes.shape[0]):
        if not extents[i, 0] < extents[i, 1]:
            continue
        measure = measure_of(criterion, &nodes[i], &sums[i, 0], is_wide)
        if criterion == DF_POISSON and measure.centre <= 0.0:
            continue
        scale = df_quantiser_of(nodes[i].centre, nodes[i].exponent)
        memset(&total, 0, sizeof(total))
        for k in range(nodes[i].first, nodes[i].first + nodes[i].n):
            weight = <int64_t> records[k].count * records[k].weight
            target = df_quantised(&scale, y[records[k].row])
            if criterion == DF_POISSON:
                df_add_product(&total, weight, df_fixed_deviance(target, &measure))
            else:
                df_add_square(&total, target - measure.mean, weight)
        df_sum_digits(&total, &out[i, 0])
    return result


def leaf_words(int64_t criterion, const df_grown[::1] nodes not None, const double[:, ::1] extents not None,
               const int64_t[:, ::1] sums not None, const int64_t[:, ::1] squares not None, bint is_wide):
    """What nodes keep as leaves.

    Parameters
    ----------
    sums, squares : ndarray of shape (n_nodes, 8) and (n_nodes, 4), dtype int64
        What `leaf_sums` and `impurity_sums` give, added up.
    criterion, nodes, extents, is_wide
        As for `impurity_sums`.

    Returns
    -------
    ndarray of shape (n_nodes, 4), dtype int64
        Draws, weight, and the bits of value and impurity.
    """
    cdef Py_ssize_t i
    cdef double value, impurity, centre
    cdef int32_t exponent
    cdef int score_exponent
    cdef df_exact_sum total
    cdef df_measure measure
    result = np.empty((nodes.shape[0], 4), np.int64)
    cdef int64_t[:, ::1] out = result
    for i in range(nodes.shape[0]):
        value = extents[i, 0]
        impurity = 0.0
        if extents[i, 0] < extents[i, 1]:
            exponent = df_choose_scale(extents[i, 0], extents[i, 1], DF_LEAF_BITS, &centre)
            total = df_sum_of_digits(&sums[i, 4])
            value = df_leaf_mean(&total, sums[i, 1], centre, exponent, extents[i, 0], extents[i, 1])
            measure = measure_of(criterion, &nodes[i], &sums[i, 0], is_wide)
            total = df_sum_of_digits(&squares[i, 0])
            score_exponent = df_score_exponent(criterion, nodes[i].exponent)
            if criterion != DF_POISSON:
                impurity = df_square_impurity(&total, sums[i, 1], &measure, score_exponent)
            elif measure.centre > 0.0:
                impurity = df_deviance_impurity(&total, sums[i, 1], score_exponent)
        value = df_clip(value, nodes[i].lower, nodes[i].upper)
        out[i, 0] = sums[i, 0]
        out[i, 1] = sums[i, 1]
        memcpy(&out[i, 2], &value, sizeof(value))
        memcpy(&out[i, 3], &impurity, sizeof(impurity))
    return result
