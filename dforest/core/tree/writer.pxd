"""The nodes of a tree, or of a part of one, as they are written: see writer.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.tree.buffers cimport ensure_room
from dforest.core.types cimport Column, Split

cdef struct Words:                 # a buffer of 64-bit words
    uint64_t* words                # [n], in memory for `room` of them
    Py_ssize_t n, room


# Append n words.
cdef int append_words(Words* to, const uint64_t* words, Py_ssize_t n) except -1 nogil

# A buffer of n_bytes bytes as an array that does not own it: lent until the buffer grows or is freed.
cdef view_of(const void* buffer, size_t n_bytes, dtype)


cdef struct NodeRecord:
    double threshold               # or, if it is deferred, the words of Split.between
    int32_t feature                # -1: a leaf
    uint32_t right_child           # its number; 0 of a leaf
    uint8_t missing_left
    uint8_t is_deferred            # see Split.is_deferred

cdef struct Placeholder:           # a node in whose place another part belongs
    int64_t part                   # number of the other part
    int64_t node                   # number of the node that keeps its place
    # How much this part has written before it
    int64_t leaves, inner, payloads, payload_words, entries


@cython.final
cdef class TreeWriter:
    cdef bint trims                # payloads are subsets, whose words of 0 at the end are left out
    cdef NodeRecord* nodes         # [n_nodes] in preorder
    cdef Py_ssize_t n_nodes, node_room
    cdef int64_t* leaves           # [n_leaves, n_leaf_words] in preorder
    cdef Py_ssize_t n_leaves, leaf_room, n_leaf_words
    cdef readonly bint lists_classes   # leaves keep lists of classes: see Objective.lists_classes
    cdef int64_t* entries          # [n_entries, 2] of these lists, in preorder: a class, and its weight
    cdef Py_ssize_t n_entries, entry_room
    # [n_inner, n_node_values] values of the nodes that are not leaves, in preorder; none if they follow from the leaves
    cdef double* inner
    cdef Py_ssize_t n_node_values
    cdef Py_ssize_t n_inner, inner_room
    cdef Words payloads            # of the nodes that have some, one after another
    cdef int64_t* payload_lengths  # [n_payloads] words of each
    cdef Py_ssize_t n_payloads, payload_room
    cdef Placeholder* placeholders  # [n_placeholders] in preorder
    cdef Py_ssize_t n_placeholders, placeholder_room

    cdef int reserve(self, Py_ssize_t max_leaves) except -1
    cdef void clear(self) noexcept nogil

    # Append a node of each kind, given its parent's number, -1 of the part's first node, and whether it is a right child.
    cdef Py_ssize_t add_inner(self, Py_ssize_t parent, bint is_right, const Split* split) except -1 nogil
    cdef int64_t* add_leaf(self, Py_ssize_t parent, bint is_right) except NULL nogil
    # Append the list of the leaf appended last, given weights of classes; return how many entries it has.
    # IN weight : [n]; classes : [n] their numbers; NULL: 0, 1, ...
    cdef Py_ssize_t list_classes(self, const int64_t* weight, const int32_t* classes, Py_ssize_t n) except -1 nogil
    cdef int add_placeholder(self, Py_ssize_t parent, bint is_right, int part) except -1 nogil

    # Look up the deferred thresholds of the nodes from the one of a number on. IN columns : the data's
    cdef void look_up_thresholds(self, Py_ssize_t first, const Column* columns) noexcept nogil

    # Append the values of an inner node, after `add_inner`. OUT of the caller : [n_node_values] where the pointer returned leads
    cdef double* add_node_values(self) except NULL nogil

    cdef NodeRecord* add_node(self, Py_ssize_t parent, bint is_right) except NULL nogil
