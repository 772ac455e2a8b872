"""What a booster asks a loss of one's own: see own_loss.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint32_t

from dforest.core.boost.loss cimport Loss
from dforest.core.threads cimport Crew

cdef extern from "core/boost/gradients.h" nogil:
    ctypedef struct df_known_derivatives:
        const double* gradient
        const double* hessian
        int64_t n_sums


@cython.final
cdef class OwnLoss:
    cdef Loss loss
    cdef Crew crew
    cdef readonly Py_ssize_t n_rows
    cdef int64_t chunk                     # rows of a call, at most
    cdef const double* y                   # [n_rows]
    cdef const double* weight              # [n_rows]; NULL: all are 1
    cdef const double* sums                # [n_outputs, n_rows] of leaf values
    cdef const double* baseline            # [n_outputs]
    cdef double[:, ::1] raw                # [n_rows, n_outputs] raw predictions, as the next
    cdef double[:, ::1] gradient
    cdef double[:, ::1] hessian            # None: it is 1
    cdef double[:, ::1] of_leaves          # [3, n_rows] y, raw predictions and weights, leaf by leaf; None: nobody wants them
    cdef df_known_derivatives known
    cdef bint is_wrong                     # derivatives are not all allowed
    cdef object owners

    cdef int find(self, const double* sums, const double* baseline) except -1 nogil
    cdef void form_raw(self, int64_t item) noexcept nogil
    cdef void ask(self, int64_t item) noexcept nogil
    cdef void look(self, int64_t item) noexcept nogil
    cdef double leaf_value(self, const uint32_t* rows, int64_t first, int64_t n) noexcept nogil
