"""Splits between any two values, and the search for them by buckets: see dense.pyx."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.search.split_evaluator cimport Choice, SplitEvaluator
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList
from dforest.core.search.cuts cimport Cuts
from dforest.core.search.histogram cimport PackedRecords
from dforest.core.search.splitter cimport RandomSplitter, Splitter
from dforest.core.search.histogram_builder cimport HistogramBuilder
from dforest.core.types cimport MAX_BUCKETS, Column, LeafRules, Node, Split

cdef struct Pending:              # a feature some of whose buckets may be better than the best edge
    Py_ssize_t feature
    int64_t time                  # when it was tried
    double bound                  # for the scores in them


cdef class TwoLevelSearch:
    cdef Cuts cuts
    cdef HistogramBuilder builder
    cdef PackedRecords packed
    cdef SplitEvaluator evaluator
    cdef CutList found                            # cuts of the feature at hand at the edges of all buckets that occur
    cdef uint64_t edges[MAX_BUCKETS + 1]         # 0, then its words: of all draws up to the end of each bucket that occurs
    cdef uint32_t number[MAX_BUCKETS + 1]         # [found.n] the buckets' numbers
    cdef uint8_t open[MAX_BUCKETS + 1]            # [n_open] places of open buckets among those that occur
    cdef Py_ssize_t n_open
    cdef uint8_t place[MAX_BUCKETS + 1]           # by number of an open bucket: its place
    cdef double excess[MAX_BUCKETS + 1]           # [found.n] above 0: what is inside has to be looked at
    cdef uint8_t is_open[MAX_BUCKETS + 1]         # by number: whether it is open; all 0 between calls
    cdef Pending* pending                         # [n_features] of the node
    cdef Py_ssize_t n_pending
    cdef int64_t time                             # features tried so far, in all nodes
    cdef int64_t best_time                        # when the best split's feature was
    cdef uint32_t* codes                          # [rows of the data] by Record.row, where buckets don't do

    cdef bint find(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) noexcept nogil
    cdef void note(self, bint is_best) noexcept nogil
    cdef bint find_unordered(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef void finish_search(self, const Node* node, const LeafRules* rules, Split* best) noexcept nogil
    cdef void keep_above(self, const Column* column, Split* split) noexcept nogil
    cdef bint count(self, const Node* node, const Column* column) noexcept nogil
    cdef Py_ssize_t gather_shared(self, const Node* node, const Column* column, double highest, const LeafRules* rules,
                                  uint64_t* sort_keys) noexcept nogil
    cdef uint32_t code_at(self, const Node* node, const Column* column, uint32_t row) noexcept nogil
    cdef bint find_by_code(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef double bound(self, const Node* node, const LeafRules* rules) noexcept nogil
    cdef void best_edges(self, const Node* node, const LeafRules* rules, Choice* right, Choice* left) noexcept nogil
    cdef void open_buckets(self, const Node* node, double highest, const LeafRules* rules) noexcept nogil
    cdef bint reach(self, const Node* node, uint64_t offset, double floor, const LeafRules* rules) noexcept nogil
    cdef Py_ssize_t gather_open(self, const Node* node, const Column* column) noexcept nogil
    cdef void choose(self, const Node* node, const Column* column, const uint64_t* sort_keys, Py_ssize_t n, Py_ssize_t right,
                     Py_ssize_t left, const LeafRules* rules, Split* best) noexcept nogil
    cdef Py_ssize_t merge(self, const Column* column, const uint64_t* sort_keys, Py_ssize_t n, Py_ssize_t first,
                          Py_ssize_t second, CutList* cuts) noexcept nogil
    cdef void find_neighbours(self, const Node* node, const Column* column, Split* split) noexcept nogil


cdef class DenseSplitter(Splitter):
    cdef TwoLevelSearch two_level  # None: no column has buckets

    cdef bint searches_two_levels(self, DataView data, Criterion criterion)
    cdef Split with_neighbours(self, const Node* node, const Split* split) noexcept nogil


cdef class RandomDenseSplitter(RandomSplitter):
    pass
