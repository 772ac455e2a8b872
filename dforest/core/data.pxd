from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from dforest.core.row_codes cimport RowCodes
from dforest.core.types cimport Column, df_rows


cdef class DataView:
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_features
    cdef Column* columns            # [n_features]
    cdef const int32_t* target      # [n_rows] class numbers or quantised targets
    cdef const double* y            # [n_rows] exact targets; NULL for classification
    cdef const uint32_t* weight     # [n_rows] integer weights; NULL: all 1
    cdef df_rows x                  # the rows of X, if the splitter asked for them; else .x is NULL
    cdef uint8_t* coarse            # [coarse columns, n_rows] see Column.coarse; NULL: none
    cdef readonly RowCodes rows     # the codes by row; None: there are none yet
    cdef readonly bint has_sparse   # some columns are
    cdef object owners, target_owners  # the NumPy arrays behind the other pointers

    cdef int widest(self) noexcept
    cdef bint has_buckets(self, Py_ssize_t j, uint64_t n_buckets) noexcept
    cpdef int add_coarse(self, uint64_t n_buckets) except -1
    cpdef int add_rows(self, int n_threads) except -1
