"""What raw predictions of boosted trees say: the inverse of a loss's link function, for all rows.

Arrays that are handed over are borrowed, and those that are returned are new.
"""
from libc.stdint cimport int64_t

import numpy as np

from dforest.core.loops cimport loops

from dforest.rules.losses import number_of_row_loss

cdef enum:
    TOGETHER = 4096            # numbers that stay in a cache


def predictions(loss, const double[::1] raw not None):
    """What raw predictions say: a mean, a median, a quantile, or the probability of class 1.

    Parameters
    ----------
    loss : str
        Of `dforest.rules.losses.LOSSES`, other than "multinomial".
    raw : ndarray of shape (n_rows,), dtype float64

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    cdef int64_t n = raw.shape[0]
    cdef int number = number_of_row_loss(loss)
    result = np.empty(n)
    cdef double[::1] out = result
    if n > 0:
        with nogil:
            loops.boost.predictions(number, &raw[0], n, &out[0])
    return result


def class_predictions(const double[:, ::1] raw not None):
    """The probabilities of classes, given raw predictions: ndarray of shape (n_rows, n_classes), dtype float64."""
    cdef int64_t n = raw.shape[0], n_classes = raw.shape[1], i = 0, step
    result = np.empty((n, n_classes))
    cdef double[:, ::1] out = result
    if n_classes > 0:
        step = max(<int64_t> 1, TOGETHER // n_classes)
        with nogil:
            while i < n:
                loops.boost.class_predictions(&raw[i, 0], min(step, n - i), n_classes, &out[i, 0])
                i += step
    return result
