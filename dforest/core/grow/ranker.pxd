"""Ranks of a column's codes among those that occur in a few records: see ranker.pyx."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.types cimport Column

cdef enum:
    MOST_RANKED = 65535            # records whose codes may be ranked: a rank and "missing" fit 16 bits


cdef class Ranker:
    cdef double ranked_above       # columns of more codes than this for each record are ranked
    cdef int64_t codes_per_mark    # columns of up to this many codes for each record are ranked by marks, others by sorting
    cdef Py_ssize_t n_marks        # words of marks
    cdef uint64_t* marks           # [n_marks] a bit for each code that occurs, all 0 between calls
    cdef uint32_t* before          # [n_marks] see ranks.h
    cdef uint64_t* keys            # [n_records] what is sorted; by marks, the codes of the records as uint32
    cdef uint64_t* keys_to         # [n_records] where it is sorted to

    cdef int reserve(self, DataView data, Py_ssize_t n_records) except -1
    cdef bint is_worth_it(self, const Column* column, Py_ssize_t n) noexcept nogil
    cdef uint32_t rank(self, const uint32_t* rows, Py_ssize_t n, const Column* column, const uint8_t* codes, Py_ssize_t stride,
                       uint16_t* ranks, uint32_t* origins) noexcept nogil
