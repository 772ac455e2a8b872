"""The rules of several outputs as functions over arrays, for drivers that decide for many nodes at a time: see outputs.h.

Outputs of nodes are `df_output` structs, of shape (n_nodes, n_outputs). Arrays are borrowed.
"""
from libc.stdint cimport int32_t, int64_t

import numpy as np


def scale(int64_t criterion, const double[:, :, ::1] extents not None, df_output[:, ::1] outputs not None):
    """Choose the scales of outputs of numbers, and say which have one target only.

    Parameters
    ----------
    criterion : int
        As records.h numbers them.
    extents : ndarray of shape (n_nodes, n_outputs, 2), dtype float64
        The least and the greatest exact target of each.
    outputs : ndarray of shape (n_nodes, n_outputs), dtype df_output
        Their scales are set.
    """
    cdef Py_ssize_t i, o
    for i in range(outputs.shape[0]):
        for o in range(outputs.shape[1]):
            df_scale_output(&outputs[i, o], criterion, extents[i, o, 0], extents[i, o, 1])


def measure(int64_t criterion, bint is_wide, const int64_t[:, ::1] totals not None, df_output[:, ::1] outputs not None):
    """Find what the scores of nodes need of their outputs, which have scales.

    Parameters
    ----------
    criterion : int
        As records.h numbers them.
    is_wide : bool
        Whether sums of targets have two words.
    totals : ndarray of shape (n_nodes, n_words), dtype int64
        Statistics of the nodes.
    outputs : ndarray of shape (n_nodes, n_outputs), dtype df_output
        What scores need is set.

    Returns
    -------
    exponents : ndarray of shape (n_nodes,), dtype int32
        Of scales whose scores have the units of the nodes'.
    are_pure : ndarray of shape (n_nodes,), dtype bool
        Whether all outputs are pure.
    """
    cdef Py_ssize_t i, n_outputs = outputs.shape[1]
    exponents, are_pure = np.empty(outputs.shape[0], np.int32), np.empty(outputs.shape[0], np.bool_)
    cdef int32_t[::1] exponent = exponents
    cdef unsigned char[::1] is_pure = are_pure.view(np.uint8)
    for i in range(outputs.shape[0]):
        exponent[i] = df_measure_outputs(&outputs[i, 0], n_outputs, criterion, is_wide, &totals[i, 0])
        is_pure[i] = df_outputs_are_pure(&outputs[i, 0], n_outputs)
    return exponents, are_pure


def output_bits(int64_t criterion):
    """Of integer targets of one of several outputs, by the number of the criterion."""
    return df_output_bits(criterion)
