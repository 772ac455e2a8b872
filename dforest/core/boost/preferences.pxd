"""Which columns the splits of a model prefer: see preferences.pyx."""
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t


@cython.final
cdef class Preferences:
    cdef Py_ssize_t n_columns
    cdef double monotone_penalty
    cdef const double[::1] costs       # [n_columns] in units of the loss; None: there are none
    cdef const int8_t[::1] monotonic_csts  # [n_columns]; None: columns have no directions
    cdef const int32_t[::1] origins    # [n_columns] the column that stands for each
    cdef uint8_t[::1] is_used          # [n_columns] whether a split of the model tests a column that this one stands for

    cdef void note(self, int32_t column) noexcept nogil
    cdef void of_node(self, int64_t depth, double cost_factor, double* factors, double* costs) noexcept nogil
