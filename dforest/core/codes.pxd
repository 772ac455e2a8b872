"""Codes of a column, gathered for some records: marked, or as keys to sort."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from dforest.core.types cimport Column, Draw, code_t

ctypedef fused record_t:
    Draw
    uint32_t          # its row


cdef inline uint32_t row_of(record_t record) noexcept nogil:
    if record_t is Draw:
        return record.row
    else:
        return record


cdef inline void mark_codes(const uint32_t* rows, Py_ssize_t n, const code_t* codes, uint32_t* to,
                            uint64_t* marks) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(n):
        code = codes[rows[i]]
        to[i] = code
        marks[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef inline void gather_and_mark(const uint32_t* rows, Py_ssize_t n, const Column* column, uint32_t* to,
                                 uint64_t* marks) noexcept nogil:
    """The codes of n records, and a mark for each that occurs.

    OUT to : [n]
    INOUT marks : [n_codes / 64 + 1] a bit for each code
    """
    if column.width == 1:
        mark_codes(rows, n, <const uint8_t*> column.codes, to, marks)
    elif column.width == 2:
        mark_codes(rows, n, <const uint16_t*> column.codes, to, marks)
    else:
        mark_codes(rows, n, <const uint32_t*> column.codes, to, marks)


cdef inline void fill_keys(const record_t* records, Py_ssize_t n, const code_t* codes, uint64_t* keys) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        keys[i] = (<uint64_t> codes[row_of(records[i])] << 32) | <uint64_t> i


cdef inline void gather_keys(const record_t* records, Py_ssize_t n, const Column* column, uint64_t* keys) noexcept nogil:
    """Keys that sort n records: the code, and below it the record's number. OUT keys : [n]"""
    if column.width == 1:
        fill_keys(records, n, <const uint8_t*> column.codes, keys)
    elif column.width == 2:
        fill_keys(records, n, <const uint16_t*> column.codes, keys)
    else:
        fill_keys(records, n, <const uint32_t*> column.codes, keys)
