"""The codes of all columns, row by row: what a few rows have of many columns lies close together.

Columns serve those who read many rows of one column. Who copies all columns of a few rows (`dforest.core.grow.block`) would wait
for memory once for each of them; here a row takes a cache line or two:

    columns    a b c d     1 2 3 4     A B C D           rows    a 1 A . | b 2 B . | c 3 C . | d 4 D .

A row has of each column its bucket, where the column has buckets, and else its code: the widest codes first, so that all are
aligned; those of one byte last, in the order of their columns. Rows of up to 64 bytes are padded to a power of two, so that none
lies in two cache lines, and longer ones to whole lines where that takes little memory.

The codes of a fit are made once, by several threads, and shared by all. They are read only then.
"""
cimport cython
from libc.stdint cimport int32_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.threads cimport Turn, poll, share
from dforest.core.types cimport column_t

from dforest.core.scratch import scratch

cdef enum:
    CHUNK = 1 << 14            # rows that a thread takes at a time
    WRITTEN = 256              # rows that are written column by column
    WIDEST = 8                 # bytes of a code


cdef Py_ssize_t padded(Py_ssize_t n_bytes) noexcept nogil:
    """Bytes from row to row, for rows of n_bytes."""
    cdef Py_ssize_t stride = WIDEST
    if n_bytes <= DF_LINE:
        while stride < n_bytes:
            stride *= 2
        return stride
    stride = (n_bytes + DF_LINE - 1) // DF_LINE * DF_LINE
    if stride - n_bytes > n_bytes // 8:
        stride = (n_bytes + DF_TILE - 1) // DF_TILE * DF_TILE
    return stride


def row_bytes(widths):
    """Bytes from row to row of `RowCodes`, given the bytes that a row has of each column."""
    return padded(sum(widths))


cdef void spread(RowCodes rows, Py_ssize_t first, Py_ssize_t n, const column_t* codes, Py_ssize_t place) noexcept nogil:
    """Write the codes of a column into n rows from `first` on."""
    cdef Py_ssize_t i, stride = rows.stride
    cdef uint8_t* to = rows.codes + first * stride + place
    for i in range(first, first + n):
        (<column_t*> to)[0] = codes[i]
        to += stride


cdef int make_chunk(void* context, Py_ssize_t item, Turn* turn) except -1 nogil:
    """Write a chunk of rows."""
    cdef Py_ssize_t n_rows = (<RowCodes> context).n_rows, first = item * CHUNK, n = min(n_rows - first, <Py_ssize_t> CHUNK)
    (<RowCodes> context).make(first, n)
    return poll(turn, n * (<RowCodes> context).stride)


@cython.final
cdef class RowCodes:
    """The codes of a `DataView` by row. See `DataView.add_rows`."""

    @staticmethod
    cdef Py_ssize_t stride_of(const Column* columns, Py_ssize_t n_features) noexcept:
        """Bytes that a row of these columns takes."""
        cdef Py_ssize_t j, n_bytes = 0
        for j in range(n_features):
            n_bytes += held_width(&columns[j])
        return padded(n_bytes)

    @staticmethod
    cdef RowCodes of(const Column* columns, Py_ssize_t n_features, Py_ssize_t n_rows, int n_threads):
        """The codes of some columns, made by n_threads threads at most."""
        cdef RowCodes rows = RowCodes.__new__(RowCodes)
        cdef Py_ssize_t j, at = 0
        cdef int32_t width = WIDEST
        cdef uint8_t[::1] memory
        rows.columns = columns
        rows.n_rows = n_rows
        rows.n_features = n_features
        rows.stride = RowCodes.stride_of(columns, n_features)
        rows.place = <Py_ssize_t*> malloc(n_features * sizeof(Py_ssize_t))
        rows.of_bytes = <const uint8_t**> malloc(n_features * sizeof(uint8_t*))
        if rows.place == NULL or rows.of_bytes == NULL:
            raise MemoryError()
        while width > 0:
            rows.first_byte = at
            for j in range(n_features):
                if held_width(&columns[j]) != width:
                    continue
                rows.place[j] = at
                at += width
                if width == 1:
                    rows.of_bytes[rows.n_bytes] = (columns[j].coarse if columns[j].coarse != NULL
                                                   else <const uint8_t*> columns[j].codes)
                    rows.n_bytes += 1
            width //= 2
        # A tile is read as a whole, even where the last row has but one column of it.
        memory = rows.owner = scratch((n_rows * rows.stride + DF_TILE,), "u1", huge=True)
        rows.codes = &memory[0]
        share(make_chunk, <void*> rows, (n_rows + CHUNK - 1) // CHUNK, n_threads)
        rows.columns = NULL
        return rows

    def __dealloc__(self):
        free(self.place)
        free(self.of_bytes)

    cdef void make(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Write n rows from `first` on."""
        cdef Py_ssize_t i = first, j, m, place, end = first + n
        cdef const Column* column
        while i < end:
            m = min(<Py_ssize_t> WRITTEN, end - i)     # rows that stay in a cache until all columns are there
            for j in range(self.n_features):
                column = &self.columns[j]
                place = self.place[j]
                if column.coarse != NULL or column.width == 1:
                    continue
                if column.width == 2:
                    spread[uint16_t](self, i, m, <const uint16_t*> column.codes, place)
                elif column.width == 4:
                    spread[uint32_t](self, i, m, <const uint32_t*> column.codes, place)
                else:
                    spread[uint64_t](self, i, m, <const uint64_t*> column.codes, place)
            df_interleave(self.of_bytes, self.n_bytes, i, m, self.codes + i * self.stride + self.first_byte, self.stride)
            i += m

    def column(self, Py_ssize_t j, int width):
        """What the rows have of column j, in `width` bytes each, as a view: ndarray of shape (n_rows,)."""
        return np.ndarray((self.n_rows,), f"u{width}", self.owner, self.place[j], (self.stride,))
