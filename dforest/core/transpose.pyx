"""Codes that lie row by row turned into columns.

Whoever sends records elsewhere, or reads them on a device, wants the codes of a row next to each other; growers want those of a
column. A block of rows that stays in a cache is turned at a time, so memory is read and written once. Arrays are the caller's.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.core.threads cimport Turn, poll, share
from dforest.core.types cimport column_t

ctypedef fused row_t:          # codes of a row
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef enum:
    BLOCK_BYTES = 1 << 15      # of rows that are turned at once
    FEWEST_ROWS = 64           # that are: what is written to a column then is a cache line, at least

cdef struct Turning:
    const char* rows           # [n_rows, n_columns] codes of `width` bytes
    int width
    Py_ssize_t n_rows, n_columns
    Py_ssize_t n_together      # rows of a block
    char** columns             # [n_columns] where the codes of each go, [n_rows]
    int* widths                # [n_columns] bytes of theirs


cdef void take_column(const row_t* codes, Py_ssize_t stride, Py_ssize_t n, column_t* to) noexcept nogil:
    """Copy every `stride`-th code."""
    cdef Py_ssize_t i
    for i in range(n):
        to[i] = <column_t> codes[i * stride]


cdef void take_columns(const Turning* turning, const row_t* codes, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
    """Copy the codes of n rows. IN codes : of these rows. IN first : number of the first one"""
    cdef Py_ssize_t j, p = turning.n_columns
    cdef char* to
    for j in range(p):
        to = turning.columns[j] + first * turning.widths[j]
        if turning.widths[j] == 1:
            take_column(codes + j, p, n, <uint8_t*> to)
        elif turning.widths[j] == 2:
            take_column(codes + j, p, n, <uint16_t*> to)
        elif turning.widths[j] == 4:
            take_column(codes + j, p, n, <uint32_t*> to)
        else:
            take_column(codes + j, p, n, <uint64_t*> to)


cdef int turn_block(void* context, Py_ssize_t item, Turn* turn) except -1 nogil:
    cdef const Turning* turning = <const Turning*> context
    cdef Py_ssize_t first = item * turning.n_together, n = min(turning.n_together, turning.n_rows - first)
    cdef const char* codes = turning.rows + first * turning.n_columns * turning.width
    if turning.width == 1:
        take_columns(turning, <const uint8_t*> codes, first, n)
    elif turning.width == 2:
        take_columns(turning, <const uint16_t*> codes, first, n)
    elif turning.width == 4:
        take_columns(turning, <const uint32_t*> codes, first, n)
    else:
        take_columns(turning, <const uint64_t*> codes, first, n)
    return poll(turn, n * turning.n_columns)


def columns_of(rows, dtypes, int n_threads):
    """Columns of codes.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns), dtype uint8, uint16, uint32 or uint64
        C-contiguous.
    dtypes : sequence of dtype
        Of each column: uint8, uint16, uint32 or uint64. Its codes must fit.
    n_threads : int

    Returns
    -------
    list of ndarray of shape (n_rows,)

    Raises
    ------
    ValueError
        If rows or dtypes are of another form.
    """
    cdef Turning turning
    cdef size_t address = rows.ctypes.data
    cdef Py_ssize_t j
    dtypes = [np.dtype(dtype) for dtype in dtypes]
    if rows.ndim != 2 or not rows.flags.c_contiguous or len(dtypes) != rows.shape[1]:
        raise ValueError(f"rows of shape {rows.shape} for {len(dtypes)} columns; allowed are contiguous rows of as many codes")
    for dtype in (rows.dtype, *dtypes):
        if dtype.kind != "u" or not dtype.isnative:
            raise ValueError(f"codes of dtype {dtype}; allowed are uint8, uint16, uint32 and uint64")
    found = [np.empty(len(rows), dtype) for dtype in dtypes]
    turning.rows = <const char*> address
    turning.width = rows.dtype.itemsize
    turning.n_rows, turning.n_columns = rows.shape
    turning.n_together = max(<Py_ssize_t> FEWEST_ROWS, BLOCK_BYTES // max(1, turning.n_columns * turning.width))
    turning.columns = <char**> malloc(len(found) * sizeof(char*) + 1)
    turning.widths = <int*> malloc(len(found) * sizeof(int) + 1)
    try:
        if turning.columns == NULL or turning.widths == NULL:
            raise MemoryError()
        for j, column in enumerate(found):
            address = column.ctypes.data
            turning.columns[j] = <char*> address
            turning.widths[j] = column.itemsize
        share(turn_block, &turning, (turning.n_rows + turning.n_together - 1) // turning.n_together, n_threads)
    finally:
        free(turning.columns)
        free(turning.widths)
    return found
