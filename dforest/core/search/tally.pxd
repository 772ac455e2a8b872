"""The producer of cut lists for whole columns: it counts or sorts, whichever takes less, and owns what lists borrow.

Both ways give the same integers. Counting visits every draw once and every code once; sorting never looks at a code that
does not occur. So nodes of few records, and those of far fewer records than the column has codes, are sorted.
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList, Manner
from dforest.core.search.histogram cimport Histogram
from dforest.core.search.sorter cimport Sorter
from dforest.core.search.words cimport NodeWords
from dforest.core.types cimport Column, Node

cdef struct Tuning:           # when to count and when to sort
    int64_t sort_below        # nodes of fewer records are sorted, larger ones counted ...
    int64_t codes_per_record  # ... unless the column has more codes than this times the records
    int64_t copy_from         # counting: in copies if there are this many times more records than codes
    int64_t mark_from         # codes that occur are marked if the column has at least this many codes for each record
    int64_t codes_per_mark    # packed words are added up by marked codes if the column has at most this many for each record


@cython.final
cdef class Tally:
    cdef Criterion criterion
    cdef Tuning tuning
    cdef NodeWords words
    cdef Histogram histogram
    cdef Sorter sorter
    cdef bint packs                  # words may be used
    cdef Manner manner               # of the open node
    cdef Py_ssize_t n_words
    cdef bint packs_lanes            # or lanes
    cdef uint64_t* run               # [records] for CutList.run; NULL: no list is packed
    cdef uint64_t* more              # [records] for CutList.more; NULL: no list has lanes
    cdef int64_t* left               # [records, n_words] for CutList.left
    cdef uint32_t* code              # [records] for CutList.code
    cdef int64_t* missing            # [n_words] for CutList.missing

    cdef void open_node(self, const Node* node) noexcept nogil
    cdef void blank(self, CutList* cuts) noexcept nogil
    cdef void cumulate(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil
    cdef Manner manner_of(self, const int64_t* total) noexcept nogil
