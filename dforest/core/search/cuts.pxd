"""The cuts of one feature in one node, and the best of them: what splitters ask.

    producers      list                      chooser
    tally          codes, left sides,   ->   the best cut, and whether it is
    side      ->   missing                   better than what there was
    coarse
    stored
    categories

A feature of numbers (continuous or ordinal) has a cut after each value that occurs; one of categories those of
categories.pxd. Small nodes are looked at without a list (few.pxd).
"""
from libc.stdint cimport int64_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.search.categories cimport Categories
from dforest.core.search.chooser cimport Chooser
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.few cimport FewRecords, SmallNodes
from dforest.core.search.side cimport Side
from dforest.core.search.stored cimport Stored
from dforest.core.search.tally cimport Tally
from dforest.core.search.words cimport NodeWords
from dforest.core.types cimport Column, LeafRules, Node, Split
from dforest.rules.random cimport df_stream


cdef class Cuts:
    cdef Criterion criterion
    cdef NodeWords words             # of the node at hand
    cdef FewRecords few
    cdef SmallNodes small
    cdef Tally tally
    cdef Side side                   # for single cuts
    cdef Stored stored               # for sparse columns; None: there are none
    cdef Categories categories
    cdef Chooser chooser
    cdef bint scans_words            # packed words are scored as they are,
    cdef bint scans_lanes            # and lanes are
    cdef bint is_bounded             # some feature has a direction
    cdef bint is_open                # `open_node` was called since `close_node`
    cdef double score_of_two         # of a node of two records, once it is known; -1: not yet

    cdef void open_node(self, const Node* node) noexcept nogil
    cdef void close_node(self) noexcept nogil
    cdef void lend_node(self, const Node* node) noexcept nogil
    cdef void join_node(self, const Node* node, Cuts other) noexcept nogil

    # Replace `best` if a cut of this column has a higher score; return whether it is constant.
    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef bint find_stored(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
    cdef bint find_few(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil

    # Replace `best` if the cut after this code has a higher score; some value is not above it. Of a column of categories:
    # the cut of the categories up to this number.
    cdef void find_at(self, const Node* node, const Column* column, uint64_t code, const LeafRules* rules,
                      Split* best) noexcept nogil

    # `find_at` for a column of numbers whose codes the side has, some of which are missing or none.
    cdef void find_gathered(self, const Node* node, const Column* column, uint64_t code, bint has_missing,
                            const LeafRules* rules, Split* best) noexcept nogil

    # Replace `best` if the cut that sends `categories.left_ones` left, some of `categories.present`, has a higher score;
    # return whether values are missing.
    cdef bint find_subset(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil

    # Replace `best` if a random cut of a column of categories has a higher score; return whether it is constant.
    cdef bint find_random_subset(self, const Node* node, const Column* column, df_stream* stream, const LeafRules* rules,
                                 Split* best) noexcept nogil
    cdef double score_lone(self, const Node* node, const int64_t* left, const LeafRules* rules) noexcept nogil
