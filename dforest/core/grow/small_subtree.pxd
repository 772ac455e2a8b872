"""Subtrees of few records, which are grown whole: see small_subtree.pyx."""
cimport cython

from dforest.core.data cimport DataView
from dforest.core.grow.node_decision cimport NodeDecision
from dforest.core.grow.open_node cimport OpenNode
from dforest.core.grow.tree cimport TreeRecords
from dforest.core.loops cimport df_small_node, df_small_subtree
from dforest.core.search.splitter cimport Splitter
from dforest.core.tree.writer cimport TreeWriter
from dforest.core.types cimport Node


@cython.final
cdef class SmallSubtree:
    cdef DataView data
    cdef NodeDecision decision
    cdef Splitter splitter
    cdef readonly Py_ssize_t max_records  # of a small subtree; 0: there are none
    cdef bint is_random            # cuts are random, else the best ones
    cdef int words                 # what the words of records are: see unordered.h
    cdef df_small_subtree* small
    cdef void* memory              # of `small`

    cdef inline bint takes(self, Py_ssize_t n) noexcept nogil:
        """Whether a subtree of n records may be grown here."""
        return n <= self.max_records

    # Begin a tree, or a part of one.
    cdef void enter(self, const TreeRecords* tree_records) noexcept nogil

    # Write the subtree of a node, of which all is known but its statistics. False: it has too many draws, and nothing is written.
    cdef bint grow(self, const OpenNode* open_node, const Node* node, TreeWriter writer) except -1 nogil

    cdef bint load(self, const Node* node) noexcept nogil
    cdef int write(self, const Node* node, const OpenNode* open_node, TreeWriter writer) except -1 nogil
    cdef int open_leaf(self, const Node* node, const df_small_node* found, Node* leaf) except -1 nogil
