"""Producers of cut lists for whole columns: records counted or sorted by code, and what a node has of sparse columns.

A `HistogramBuilder` counts or sorts, whichever takes less, and owns what lists borrow. Both ways give the same integers. Counting
visits every draw once and every code once; sorting never looks at a code that does not occur. So nodes of few records, and those
of far fewer records than the column has codes, are sorted.

A `Sorter` sorts *sort keys*: a sort key is a record's code and, below it, the record's number in 32 bits each; so sorted sort
keys are in the order of codes, and of equal codes in that of the records.

A `Stored` has, of a sparse column, the node's records whose rows are stored; all others have the implied code. Either the
column's stored rows are gone through, and it is asked which record of the node each is (Node.record_of); or, where the node has
far fewer records, their rows are looked up among the stored ones. Sums over what is found make a list of cuts: the implied code
has what the node has besides. So neither takes time for records that have the implied code.

    node's rows          2  3  5  8  9          totals of the node   7 draws
    stored: code         1: 4   3: 0   8: 4     code 0: 1 draw, code 4: 2 draws; so the implied code 2 has 4 draws
    cuts                 0 | 2 | 4              1, 5 and 7 draws on the left

What needs the code of each record has the column *unpacked*, for the records of one node.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList, Accumulator
from dforest.core.search.histogram cimport Histogram, PackedRecords
from dforest.core.types cimport Column, Node, Record


@cython.final
cdef class Sorter:
    cdef Criterion criterion
    cdef PackedRecords packed
    cdef int64_t insertion_below     # insertion sort of fewer sort keys, radix sort from here
    cdef uint64_t* sort_keys         # [records] what `sort_first` sorts, for whoever fills it
    cdef uint64_t* sort_keys_to      # [records]
    cdef int64_t* sum                # [n_words] of the records so far

    cdef uint64_t* sort_first(self, Py_ssize_t n) noexcept nogil
    cdef void sort(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil
    cdef Py_ssize_t list_cuts(self, const uint64_t* sort_keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_packed_sums(self, const uint64_t* sort_keys, Py_ssize_t n, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_class_counters(self, const uint64_t* sort_keys, Py_ssize_t n, const Record* records,
                                        CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_sums(self, const uint64_t* sort_keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_records(self, const uint64_t* sort_keys, Py_ssize_t n, const Record* records,
                                 CutList* cuts) noexcept nogil


cdef struct Tuning:           # when to count and when to sort
    int64_t sort_below        # nodes of fewer records are sorted, larger ones counted ...
    int64_t codes_per_record  # ... unless the column has more codes than this times the records
    int64_t copy_from         # counting: in copies if there are this many times more records than codes
    int64_t bitmap_from       # a bitmap says which codes occur if the column has at least this many codes for each record
    int64_t bitmap_codes_per_record  # packed words are added up by a bitmap up to this many codes


@cython.final
cdef class HistogramBuilder:
    cdef Criterion criterion
    cdef Tuning tuning
    cdef PackedRecords packed
    cdef Histogram histogram
    cdef Sorter sorter
    cdef bint packs                  # words may be used
    cdef Accumulator accumulator     # of the open node
    cdef bint packs_class_counters   # or class counters
    cdef uint64_t* run               # [records] for CutList.run; NULL: no list is packed
    cdef uint64_t* more              # [records] for CutList.more; NULL: no list has class counters
    cdef int64_t* left               # [records, n_words] for CutList.left
    cdef uint32_t* code              # [records] for CutList.code
    cdef int64_t* missing            # [n_words] for CutList.missing

    cdef void open_node(self, const Node* node) noexcept nogil
    cdef void blank(self, CutList* cuts) noexcept nogil
    cdef void cumulate(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil
    cdef Accumulator accumulator_of(self, const int64_t* total) noexcept nogil


@cython.final
cdef class Stored:
    cdef Criterion criterion
    cdef Py_ssize_t stored_per_record  # rows are looked up where the column stores so many times more than the node has records
    cdef uint32_t* place             # [n] the node's records that were found, by their number in the node, ascending; ...
    cdef uint64_t* code              # [n] ... and their codes; n = the most that a column stores
    cdef uint64_t* sort_keys         # [n] each, to sort by code
    cdef uint64_t* other_sort_keys
    cdef int64_t* rest               # [n_words] what has the implied code
    cdef uint8_t* unpacked           # [rows] codes of the widest sparse column

    # Fill `place` and `code`; return how many records were found.
    cdef Py_ssize_t gather(self, const Node* node, const Column* column) noexcept nogil

    # Make the list of the cuts of a column of numbers, given one that has no cuts yet: see HistogramBuilder.blank.
    cdef void cumulate(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil

    # A column that has the codes of all records of the node, and borrows `unpacked` until the next call.
    cdef Column unpack(self, const Node* node, const Column* column) noexcept nogil
