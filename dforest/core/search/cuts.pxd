"""The cuts of one feature in one node, and the best of them: what splitters ask.

    producers      list                      evaluator
    builder        codes, left sides,   ->   the best cut, and whether it is
    left sums ->   missing                   better than what there was
    two-level
    stored
    categories

A feature of numbers (continuous or ordinal) has a cut after each value that occurs. Small nodes are looked at without a list
(split_evaluator.pxd).

A `LeftSums` is a producer of one cut, whose left side is added up. The codes of a node's records are *gathered* first, one behind
the other. Their range says where a random cut may be; then the records up to its code are added up, and those that are missing.
Of the codes 4, 9, 4 and 6, with a cut after 5, the first and the third record are on the left. Of a sparse column only stored
records are gathered; if the others are on the left, that side has what is left of the node.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.search.categories cimport Categories
from dforest.core.search.split_evaluator cimport SplitEvaluator, UnorderedRecords
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList
from dforest.core.search.histogram cimport PackedRecords
from dforest.core.search.histogram_builder cimport Stored, HistogramBuilder
from dforest.core.types cimport Column, LeafRules, Node, Split
from dforest.rules.random cimport df_stream

cdef struct CodeRange:       # what occurs in a node
    uint64_t lowest          # of the codes that are values
    uint64_t highest         # below lowest: none are
    bint has_missing


@cython.final
cdef class LeftSums:
    cdef Criterion criterion
    cdef PackedRecords packed
    cdef void* code                # [words.room] codes of the column to be added up, in room for all records and DF_STRIDE more:
    cdef bint is_wide              # of 64 bits, else 32
    cdef int64_t* left             # [n_words] for CutList.left
    cdef int64_t* missing          # [n_words] for CutList.missing
    cdef Stored stored             # None: no column is sparse. It has the codes of a sparse column's records ...
    cdef Py_ssize_t n_stored       # ... that are stored, so many; -1: the column is not sparse
    cdef uint64_t implied          # the code of the others
    cdef bint has_missing          # of the column's records in the node, some are

    cdef CodeRange gather(self, const Node* node, const Column* column) noexcept nogil
    cdef CodeRange gather_stored(self, const Node* node, const Column* column) noexcept nogil
    cdef void add_stored(self, const Node* node, uint64_t last, uint64_t missing) noexcept nogil
    cdef uint32_t find_categories(self, const Node* node, uint32_t n_codes, uint64_t* present) noexcept nogil
    cdef int64_t find_rarest(self, const Node* node, uint32_t n_codes, int64_t* draws) noexcept nogil
    cdef void divide(self, const uint64_t* subset, uint32_t missing) noexcept nogil
    cdef void add_up(self, const Node* node, uint64_t last, uint64_t missing, bint has_missing, CutList* cuts) noexcept nogil
    cdef void add_packed_sums(self, uint64_t last, int64_t* statistic) noexcept nogil


cdef class Cuts:
    cdef Criterion criterion
    cdef PackedRecords packed        # of the node at hand
    cdef UnorderedRecords unordered
    cdef HistogramBuilder builder
    cdef LeftSums left_sums                   # for single cuts
    cdef Stored stored               # for sparse columns; None: there are none
    cdef Categories categories
    cdef SplitEvaluator evaluator
    cdef bint scans_packed_sums      # packed words are scored as they are,
    cdef bint scans_class_counters   # and class counters are
    cdef bint is_bounded             # some feature has a direction
    cdef bint is_open                # `open_node` was called since `close_node`
    cdef double score_of_two         # of a node of two records, once it is known; -1: not yet
    cdef int64_t rarest              # category of the column at hand, with which those go that the node lacks; -1: they do not

    cdef void open_node(self, const Node* node) noexcept nogil
    cdef void close_node(self) noexcept nogil
    cdef void lend_node(self, const Node* node) noexcept nogil
    cdef void join_node(self, const Node* node, Cuts other) noexcept nogil

    # Replace `best` if a cut of this column has a higher score; return whether it is constant.
    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef bint find_listed(self, const Node* node, const Column* column, CutList* cuts, const LeafRules* rules,
                          Split* best) noexcept nogil
    cdef bint find_unordered(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil

    # Replace `best` if the cut after this code has a higher score; some value is not above it. Of a column of categories:
    # the cut of the categories up to this number.
    cdef void find_at(self, const Node* node, const Column* column, uint64_t code, const LeafRules* rules,
                      Split* best) noexcept nogil

    # `find_at` for a column of numbers whose codes the side has, some of which are missing or none.
    cdef void find_gathered(self, const Node* node, const Column* column, uint64_t code, bint has_missing,
                            const LeafRules* rules, Split* best) noexcept nogil

    # Whether a column has to be unpacked before it is looked at, as it is sparse and records are needed in order.
    cdef bint unpacks(self, const Column* column) noexcept nogil

    # Put the categories of a column in the node into `categories.present`; return how many there are.
    cdef uint32_t find_present(self, const Node* node, const Column* column) noexcept nogil

    # After `find_present`: replace `best` if the cut that sends `categories.left_ones` left, some of `categories.present`, has
    # a higher score; return whether values are missing.
    cdef bint find_subset(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil

    # Replace `best` if a random cut of a column of categories has a higher score; return whether it is constant.
    cdef bint find_random_subset(self, const Node* node, const Column* column, df_stream* stream, const LeafRules* rules,
                                 Split* best) noexcept nogil
    cdef double score_single_cut(self, const Node* node, const int64_t* left, const LeafRules* rules) noexcept nogil
