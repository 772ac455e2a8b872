"""What a tree is grown on, and its codes row by row: see data.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.types cimport Column, df_rows

cdef extern from "core/row_codes.h" nogil:
    enum:
        DF_TILE
        DF_LINE
    void df_interleave(const uint8_t** columns, int64_t n_columns, int64_t first, int64_t n, uint8_t* rows, int64_t stride)
    void df_gather_bytes(const uint32_t* number, int64_t n, const uint8_t* rows, int64_t stride, int64_t n_columns,
                         uint8_t* to)


cdef inline int32_t held_width(const Column* column) noexcept nogil:
    """Bytes that a row has of a column: a bucket, or else a code."""
    return 1 if column.buckets != NULL else column.width


@cython.final
cdef class RowCodes:
    cdef readonly Py_ssize_t n_rows, n_features
    cdef readonly Py_ssize_t stride    # bytes from row to row
    cdef uint8_t* codes                # [n_rows, stride] what rows have of each column
    cdef Py_ssize_t* place             # [n_features] of a column in a row
    cdef Py_ssize_t first_byte         # where the columns of one byte begin, in a row, in the order of their numbers
    cdef Py_ssize_t n_bytes            # how many these are
    cdef object owner                  # of the memory
    cdef const Column* columns         # [n_features] what they are made of, while they are
    cdef const uint8_t** of_bytes      # [n_bytes] columns of one byte

    @staticmethod
    cdef Py_ssize_t stride_of(const Column* columns, Py_ssize_t n_features) noexcept

    @staticmethod
    cdef RowCodes of(const Column* columns, Py_ssize_t n_features, Py_ssize_t n_rows, int n_threads)

    cdef void make(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil
    cdef void write_bytes(self, Py_ssize_t column, Py_ssize_t first, Py_ssize_t n) noexcept nogil


cdef class DataView:
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_features
    cdef Column* columns            # [n_features]
    cdef const int32_t* target      # [n_rows] class numbers; zeros where these are in `y`, or there are none
    cdef readonly Py_ssize_t n_targets  # 0 for classification of one output
    cdef const double* y            # [n_rows, n_targets] exact targets; of several outputs, class numbers too; NULL: none
    cdef const uint32_t* weight     # [n_rows] integer weights; NULL: all 1
    # [n_rows] exact weights (weights.h); NULL: the integers are exact. Trees that have weights of their own may have exact ones
    # if there are some here.
    cdef const double* exact_weight
    # [n_rows] what the labels of columns that have many are ordered by (dforest.core.grow.label_order); NULL: by the targets
    cdef const double* response
    cdef df_rows x                  # the rows of X, if the splitter asked for them; else .x is NULL
    cdef uint8_t* buckets           # [buckets columns, n_rows] see Column.buckets; NULL: none
    cdef readonly RowCodes rows     # the codes by row; None: there are none yet
    cdef readonly bint has_sparse   # some columns are
    cdef int64_t* present_from      # [n_rows + 1] where the features begin in `present` that a row stores; NULL: not asked for
    cdef uint32_t* present          # features of sparse columns, row by row
    cdef uint8_t* present_codes     # their codes, ...
    cdef int32_t present_width      # ... in as many bytes as the widest have
    cdef Py_ssize_t n_dense         # other columns, ...
    cdef uint32_t* dense            # [n_dense] ... and which these are
    cdef object owners, target_owners  # the NumPy arrays behind the other pointers

    cdef int widest(self) noexcept
    cdef bint has_buckets(self, Py_ssize_t j, uint64_t n_buckets) noexcept
    cpdef int add_buckets(self, uint64_t n_buckets) except -1
    cpdef int add_present(self) except -1
    cpdef int add_rows(self, int n_threads) except -1
