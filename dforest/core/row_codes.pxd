"""The codes of all columns, row by row: see row_codes.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from dforest.core.types cimport Column

cdef extern from "core/row_codes.h" nogil:
    enum:
        DF_TILE
        DF_LINE
    void df_interleave(const uint8_t** columns, int64_t n_columns, int64_t first, int64_t n, uint8_t* rows, int64_t stride)
    void df_gather_bytes(const uint32_t* number, int64_t n, const uint8_t* rows, int64_t stride, int64_t n_columns,
                         uint8_t* to)


cdef inline int32_t held_width(const Column* column) noexcept nogil:
    """Bytes that a row has of a column: a bucket, or else a code."""
    return 1 if column.coarse != NULL else column.width


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
