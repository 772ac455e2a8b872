"""Codes of a column, for some records: gathered, with a bitmap of those that occur, counted, or as sort keys."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from dforest.core.types cimport Column, Record, code_t

ctypedef fused record_t:
    Record
    uint32_t          # its row


cdef inline uint32_t row_of(record_t record) noexcept nogil:
    if record_t is Record:
        return record.row
    else:
        return record


cdef inline void gather_with_bitmap(const uint32_t* rows, Py_ssize_t n, const code_t* codes, uint32_t* to,
                                    uint64_t* occupancy) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(n):
        code = codes[rows[i]]
        to[i] = code
        occupancy[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef inline void gather_and_set_bits(const uint32_t* rows, Py_ssize_t n, const Column* column, uint32_t* to,
                                     uint64_t* occupancy) noexcept nogil:
    """The codes of n records, and the bitmap of those that occur.

    OUT to : [n]
    INOUT occupancy : [n_codes / 64 + 1] a bit for each code
    """
    if column.width == 1:
        gather_with_bitmap(rows, n, <const uint8_t*> column.codes, to, occupancy)
    elif column.width == 2:
        gather_with_bitmap(rows, n, <const uint16_t*> column.codes, to, occupancy)
    else:
        gather_with_bitmap(rows, n, <const uint32_t*> column.codes, to, occupancy)


cdef inline void fill_sort_keys(const record_t* records, Py_ssize_t n, const code_t* codes, uint64_t* sort_keys) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        sort_keys[i] = (<uint64_t> codes[row_of(records[i])] << 32) | <uint64_t> i


cdef inline void gather_sort_keys(const record_t* records, Py_ssize_t n, const Column* column,
                                  uint64_t* sort_keys) noexcept nogil:
    """Keys that sort n records: the code, and below it the record's number. OUT sort_keys : [n]"""
    if column.width == 1:
        fill_sort_keys(records, n, <const uint8_t*> column.codes, sort_keys)
    elif column.width == 2:
        fill_sort_keys(records, n, <const uint16_t*> column.codes, sort_keys)
    else:
        fill_sort_keys(records, n, <const uint32_t*> column.codes, sort_keys)

ctypedef fused word_t:
    uint32_t
    uint64_t


cdef inline void fill_packed_sums(const uint32_t* row, const word_t* word, Py_ssize_t n, const code_t* codes, word_t* histogram,
                                  Py_ssize_t n_codes, bint in_copies) noexcept nogil:
    """Add packed words of records to a histogram over their codes.

    n_codes : with the one for missing, if the column has it

    Two codes are not counted: the words of code 1 are added up, and all words. Else, perhaps in four copies of the
    histogram, one behind the other, that are summed up then: a counter that follows itself waits for itself, and where codes
    are few, or one is frequent, most do.
    """
    cdef Py_ssize_t i, end = n - n % 4 if in_copies else 0
    cdef word_t* second = histogram + n_codes
    cdef word_t* third = second + n_codes
    cdef word_t* fourth = third + n_codes
    cdef word_t ones = 0, total = 0
    if n_codes == 2:
        for i in range(n):
            ones += word[i] & -<word_t> codes[row[i]]
            total += word[i]
        histogram[0] += total - ones
        histogram[1] += ones
        return
    for i in range(0, end, 4):
        histogram[codes[row[i]]] += word[i]
        second[codes[row[i + 1]]] += word[i + 1]
        third[codes[row[i + 2]]] += word[i + 2]
        fourth[codes[row[i + 3]]] += word[i + 3]
    for i in range(end, n):
        histogram[codes[row[i]]] += word[i]
    if in_copies:
        for i in range(n_codes):
            histogram[i] += second[i] + third[i] + fourth[i]
            second[i] = third[i] = fourth[i] = 0
