"""A producer of cut lists: draws counted by code.

Every draw is added to a histogram over the column's codes, then the histogram is walked through; through its marked codes
alone, where few occur. Of records with the codes 3, 0 and 3, and two, one and one draws, the histogram is 1, 0, 0, 3, and
the list has the codes 0 and 3 with 1 and 4 draws on their left.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList, Manner
from dforest.core.search.words cimport NodeWords
from dforest.core.types cimport CLASS_WEIGHTS, Column, Node


@cython.final
cdef class Histogram:
    cdef Criterion criterion
    cdef NodeWords words
    cdef Py_ssize_t n_words
    cdef int64_t* counters           # [codes, n_words or 4] or smaller ones; all 0 between calls
    cdef uint64_t* marks             # [codes / 64] a bit for each code that occurs; all 0 between calls
    cdef uint32_t* before            # [codes / 64] marks before
    cdef int64_t* sum                # [n_words] of the codes so far

    cdef void count(self, const Node* node, const Column* column, bint marked, CutList* cuts) noexcept nogil
    cdef void count_words(self, const Node* node, const Column* column, bint in_copies, CutList* cuts) noexcept nogil
    cdef void add_two(self, const Node* node, const uint8_t* codes) noexcept nogil
    cdef void count_lanes(self, const Node* node, const Column* column, bint marked, CutList* cuts) noexcept nogil
    cdef void mark_words(self, const Node* node, const Column* column, uint32_t* codes, CutList* cuts) noexcept nogil
    cdef void take(self, Manner manner, uint32_t code, int64_t* statistic) noexcept nogil
    cdef void take_classes(self, uint32_t code, int64_t* to, const int64_t* before) noexcept nogil
    cdef Py_ssize_t walk(self, uint32_t n_codes, CutList* cuts) noexcept nogil
    cdef void pass_records(self, uint32_t code, int64_t* left) noexcept nogil
    cdef Py_ssize_t walk_marked(self, uint32_t n_codes, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_sums(self, uint32_t n_codes, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_classes(self, uint32_t n_codes, bint marked, CutList* cuts) noexcept nogil


cdef inline void complete(Criterion criterion, int64_t* statistic) noexcept nogil:
    """Set the weight of a statistic of classes, of which draws and weights of classes are there."""
    cdef Py_ssize_t k
    cdef int64_t weight = 0
    if criterion.kind == CLASS_WEIGHTS:
        for k in range(2, criterion.n_words):
            weight += statistic[k]
        statistic[1] = weight
