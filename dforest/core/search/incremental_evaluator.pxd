from libc.stdint cimport int64_t, uint64_t

from dforest.core.search.split_evaluator cimport SplitEvaluator
from dforest.core.search.cut_list cimport CutList
from dforest.core.sorting cimport insertion_sort, radix_sort
from dforest.core.types cimport Column, Node


# A subclass keeps what it knows of the left side, and is told which records go there and which leave it.
cdef class IncrementalEvaluator(SplitEvaluator):
    cdef Py_ssize_t* start           # [n_records + 2] where the records of each value begin in CutList.sorted

    # Let nothing be on the left. is_single_cut : whether only one cut is scored before the next call
    cdef void clear(self, bint is_single_cut) noexcept nogil

    # Add a record to the left, or take it away, for a sign of -1.
    cdef void move(self, const Node* node, Py_ssize_t record, int sign) noexcept nogil

    # The score of the cut. IN left : its statistic. OUT at_left, at_right : what the sides predict, if `is_bounded`
    cdef double score_sides(self, const Node* node, const int64_t* left, double* at_left, double* at_right) noexcept nogil

    cdef void move_group(self, const Node* node, const uint64_t* sorted, Py_ssize_t place, int sign) noexcept nogil
    cdef void move_where(self, const Node* node, const Column* column, const CutList* cuts, bint missing_left) noexcept nogil


cdef enum:
    INSERTION_BELOW = 24


cdef inline const uint64_t* sort_by_key(uint64_t* sort_keys, uint64_t* other, Py_ssize_t n) noexcept nogil:
    """Sort keys, of which the lower half is a record's number. INOUT sort_keys, other : [n], of which one is returned"""
    if n < INSERTION_BELOW:
        insertion_sort(sort_keys, n)
        return sort_keys
    return radix_sort(sort_keys, other, n)
