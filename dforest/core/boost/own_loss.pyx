"""What a booster asks a loss of one's own: derivatives of all rows, and values of leaves.

Words: those of loss.pxd. A *chunk* is the rows that one thread asks about at a time; a loss in Python is asked about all at once.

An `OwnLoss` owns its arrays and its loss; targets and weights are borrowed, and kept alive.
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t

import numpy as np

from dforest.core.boost.loss cimport Loss, is_allowed

cdef void form_raw(void* own, int64_t item) noexcept nogil:
    (<OwnLoss> own).form_raw(item)


cdef void ask(void* own, int64_t item) noexcept nogil:
    (<OwnLoss> own).ask(item)


cdef void look(void* own, int64_t item) noexcept nogil:
    (<OwnLoss> own).look(item)


@cython.final
cdef class OwnLoss:
    """A loss of one's own, and what it says of the rows of a booster.

    Parameters
    ----------
    loss : Loss
        Configured.
    y : ndarray of shape (n_rows,), dtype float64
    weight : ndarray of shape (n_rows,), dtype float64, or None
    crew : Crew
    chunk : int
        Rows of a chunk, at most.
    """

    def __init__(self, Loss loss not None, const double[::1] y not None, const double[::1] weight, Crew crew not None,
                 int64_t chunk):
        self.loss = loss.configured(loss.n_classes)
        self.crew = crew
        self.n_rows = y.shape[0]
        self.chunk = chunk
        self.y = &y[0]
        if weight is not None:
            self.weight = &weight[0]
        self.owners = y, weight
        self.raw = np.empty((self.n_rows, loss.n_outputs))
        self.gradient = np.empty((self.n_rows, loss.n_outputs))
        self.known.gradient = &self.gradient[0, 0]
        self.known.n_sums = loss.n_outputs
        if not loss.constant_hessian:
            self.hessian = np.empty((self.n_rows, loss.n_outputs))
            self.known.hessian = &self.hessian[0, 0]
        if loss.need_update_leaves_values:
            self.of_leaves = np.empty((3, self.n_rows))

    cdef int find(self, const double* sums, const double* baseline) except -1 nogil:
        """Find the derivatives of all rows. sums : [n_outputs, n_rows] of leaf values; baseline : [n_outputs]"""
        cdef int64_t n_chunks = (self.n_rows + self.chunk - 1) // self.chunk
        self.sums = sums
        self.baseline = baseline
        self.crew.call(form_raw, <void*> self, n_chunks)
        if self.loss.is_asked_at_once:
            self.loss.gradient_hessian(self.y, &self.raw[0, 0], self.n_rows, &self.gradient[0, 0],
                                       <double*> self.known.hessian)
        else:
            self.crew.call(ask, <void*> self, n_chunks)
        self.loss.check()
        self.is_wrong = False
        self.crew.call(look, <void*> self, n_chunks)
        if self.is_wrong:
            with gil:
                self.loss.check_derivatives(self.gradient, self.hessian)
        return 0

    cdef void form_raw(self, int64_t item) noexcept nogil:
        """Form the raw predictions of a chunk."""
        cdef int64_t i
        cdef Py_ssize_t k
        for i in range(item * self.chunk, min(self.n_rows, (item + 1) * self.chunk)):
            for k in range(self.known.n_sums):
                self.raw[i, k] = self.sums[k * self.n_rows + i] + self.baseline[k]

    cdef void ask(self, int64_t item) noexcept nogil:
        """Ask about a chunk."""
        cdef int64_t begin = item * self.chunk, n = min(self.chunk, self.n_rows - begin), at = begin * self.known.n_sums
        self.loss.gradient_hessian(self.y + begin, &self.raw[begin, 0], n, &self.gradient[begin, 0],
                                   NULL if self.known.hessian == NULL else <double*> self.known.hessian + at)

    cdef void look(self, int64_t item) noexcept nogil:
        """See whether the derivatives of a chunk are allowed."""
        cdef int64_t i
        cdef Py_ssize_t k
        for i in range(item * self.chunk, min(self.n_rows, (item + 1) * self.chunk)):
            for k in range(self.known.n_sums):
                if not (is_allowed(self.gradient[i, k]) and (self.known.hessian == NULL or (self.hessian[i, k] >= 0.0
                        and is_allowed(self.hessian[i, k])))):
                    self.is_wrong = True

    cdef double leaf_value(self, const uint32_t* rows, int64_t first, int64_t n) noexcept nogil:
        """The value of a leaf. rows : [n]; NULL: they are numbered from `first`, which is in any case the place of the leaf's"""
        cdef double* y = &self.of_leaves[0, first]
        cdef double* raw = &self.of_leaves[1, first]
        cdef double* weight = &self.of_leaves[2, first]
        cdef int64_t i, row
        cdef double value
        for i in range(n):
            row = first + i if rows == NULL else <int64_t> rows[i]
            y[i] = self.y[row]
            raw[i] = self.raw[row, 0]
            weight[i] = 1.0 if self.weight == NULL else self.weight[row]
        value = self.loss.leaf_value(y, raw, weight, n)
        if not is_allowed(value) and not self.loss.has_failed:
            with gil:
                self.loss.fail(self.loss.broken("leaf_value", "value", value, first if rows == NULL else <int64_t> rows[0]))
        return value
