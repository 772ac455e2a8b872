"""A producer of cut lists: the records of a node sorted by code.

A *key* is a record's code and, below it, the record's number in 32 bits each; so sorted keys are in the order of codes, and
of equal codes in that of the records.
"""
cimport cython
from libc.stdint cimport int64_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList
from dforest.core.search.words cimport NodeWords
from dforest.core.types cimport Column, Node, Record


@cython.final
cdef class Sorter:
    cdef Criterion criterion
    cdef NodeWords words
    cdef Py_ssize_t n_words
    cdef int64_t insertion_below     # insertion sort of fewer keys, radix sort from here
    cdef uint64_t* keys              # [records] what `sort_keys` sorts, for whoever fills it
    cdef uint64_t* keys_to           # [records]
    cdef int64_t* sum                # [n_words] of the records so far

    cdef uint64_t* sort_keys(self, Py_ssize_t n) noexcept nogil
    cdef void sort(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk(self, const uint64_t* keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_words(self, const uint64_t* keys, Py_ssize_t n, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_lanes(self, const uint64_t* keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_sums(self, const uint64_t* keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_records(self, const uint64_t* keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil
