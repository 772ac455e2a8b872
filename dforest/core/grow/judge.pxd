"""What becomes of a node: see judge.pyx."""
cimport cython
from libc.stdint cimport int64_t

from dforest.core.data cimport DataView
from dforest.core.grow.trunk cimport Trunk
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.splitter cimport Splitter
from dforest.core.search.sums cimport Sums, SumsKind
from dforest.core.types cimport Node, Split
from dforest.rules.records cimport df_limits


@cython.final
cdef class Judge:
    cdef DataView data
    cdef Criterion criterion
    cdef Splitter splitter
    cdef df_limits limits
    cdef Py_ssize_t first_weight, n_weights  # the words of a statistic that a leaf keeps: see Objective.weight_words
    cdef bint keeps_values         # a leaf keeps its judgement, too
    # A node's *judgement* is what it predicts if it is a leaf, a number for each output, and its impurity.
    cdef readonly Py_ssize_t n_judged    # numbers of a judgement
    cdef SumsKind sums_kind        # what a partition may add up for the sides to be opened
    cdef int64_t* statistics       # [words of the criterion] of the node opened last
    cdef const Trunk* trunk        # of the tree at hand, lent

    # Begin a tree, or a piece of one.
    cdef int enter(self, const Trunk* trunk) except -1 nogil

    # Look at a node's records, of which its fields records, n, columns, rows and y tell: set statistics and purity, perhaps a
    # new scale. sums: what is known of its draws, so that these need not be looked at
    cdef int open(self, Node* node, bint is_right, const Sums* sums) except -1 nogil

    # Open a node, and find the split of highest score that all limits allow. OUT split : its feature is -1 if the node is a leaf
    cdef int find_split(self, Node* node, bint is_right, const Sums* sums, Split* split) except -1 nogil

    # What the partition of a node is to add up; of one that is not open (statistics: NULL), nothing.
    cdef SumsKind sums_of_sides(self, const Node* node) noexcept nogil

    # The score of an open node's split in units of weight times impurity, comparable between nodes.
    cdef double absolute_score(self, const Node* node, const Split* split) noexcept nogil

    # Judge an open node. OUT judgement : [n_judged]
    cdef int judge(self, const Node* node, double* judgement) except -1 nogil

    # Let the splitter have its way with a leaf's draws, and say what the leaf keeps. OUT words : [Objective.n_leaf_words]
    cdef int store_leaf(self, Node* node, int64_t* words) except -1 nogil

    cdef int find_foreign_split(self, const Node* node, Split* split) except -1 nogil
    cdef bint breaks_rules(self, const Node* node) noexcept nogil
    cdef bint is_leaf(self, const Node* node) noexcept nogil
