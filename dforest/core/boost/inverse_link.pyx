"""What raw predictions of boosted trees say: the inverse of a loss's link function, for all rows.

Arrays that are handed over are borrowed, and those that are returned are new.
"""
from libc.stdint cimport int64_t

import numpy as np

from dforest.core.loops cimport loops

from dforest.core.threads import each
from dforest.rules.losses import number_of_row_loss

cdef enum:
    TOGETHER = 4096            # numbers that stay in a cache
    OF_THREAD = 1 << 16        # numbers that a thread does at a time


def predictions(loss, const double[::1] raw not None, int n_threads=1):
    """What raw predictions say: a mean, a median, a quantile, or the probability of class 1.

    Parameters
    ----------
    loss : str
        Of `dforest.rules.losses.LOSSES`, other than "multinomial".
    raw : ndarray of shape (n_rows,), dtype float64
    n_threads : int, default=1

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
    """
    cdef int64_t n = raw.shape[0]
    cdef int number = number_of_row_loss(loss)
    result = np.empty(n)
    cdef double[::1] out = result

    def work(int64_t part, _):
        cdef int64_t first = part * OF_THREAD, some = min(<int64_t> OF_THREAD, n - first)
        with nogil:
            loops.boost.predictions(number, &raw[first], some, &out[first])

    each((n + OF_THREAD - 1) // OF_THREAD, work, n_threads)
    return result


def class_predictions(const double[:, ::1] raw not None, int n_threads=1):
    """The probabilities of classes, given raw predictions: ndarray of shape (n_rows, n_classes), dtype float64."""
    cdef int64_t n = raw.shape[0], n_classes = raw.shape[1], step, rows
    result = np.empty((n, n_classes))
    cdef double[:, ::1] out = result
    if n_classes == 0:
        return result
    step = max(<int64_t> 1, TOGETHER // n_classes)
    rows = step * (OF_THREAD // TOGETHER)

    def work(int64_t part, _):
        cdef int64_t i = part * rows, end = min(n, i + rows)
        with nogil:
            while i < end:
                loops.boost.class_predictions(&raw[i, 0], min(step, end - i), n_classes, &out[i, 0])
                i += step

    each((n + rows - 1) // rows, work, n_threads)
    return result
