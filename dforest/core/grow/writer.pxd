cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.types cimport Split

cdef struct NodeRecord:
    double threshold
    int32_t feature                # -1: a leaf
    uint32_t right                 # inner node: number of its right child; leaf: number of the leaf
    uint8_t missing_left

cdef struct Hole:                  # where another piece belongs, and how much of this one comes before
    int64_t piece
    int64_t node                   # which holds its place
    int64_t leaves, inner, payloads, payload_words

cdef struct Judgement:             # of a node, if it were a leaf; regression only
    double value
    double impurity

cdef struct Words:                 # a growing array
    uint64_t* words
    Py_ssize_t n, room


# Grow a buffer by doubling until it has room for `needed` items of `size` bytes.
cdef int ensure_room(void** buffer, Py_ssize_t* room, Py_ssize_t needed, size_t size) except -1 nogil
cdef int append_words(Words* to, const uint64_t* words, Py_ssize_t n) except -1 nogil

# A buffer as an array that does not own it.
cdef lend(const void* buffer, size_t n_bytes, dtype)


@cython.final
cdef class TreeWriter:
    cdef bint trims                # payloads are subsets, whose words of 0 at the end are left out
    cdef NodeRecord* nodes
    cdef Py_ssize_t n_nodes, node_room
    cdef int64_t* leaves           # [leaf_room, n_leaf_words]
    cdef Py_ssize_t n_leaves, leaf_room, n_leaf_words
    cdef Judgement* inner          # of the nodes that are no leaves, unless it follows from these
    cdef Py_ssize_t n_inner, inner_room
    cdef Words payloads            # of the nodes that have some, one after another
    cdef int64_t* payload_lengths  # [n_payloads] words of each
    cdef Py_ssize_t n_payloads, payload_room
    cdef Hole* holes               # the pieces given away
    cdef Py_ssize_t n_holes, hole_room

    cdef int reserve(self, Py_ssize_t most_leaves) except -1
    cdef void clear(self) noexcept nogil
    cdef Py_ssize_t add_node(self, Py_ssize_t parent, bint is_right, const Split* split) except -1 nogil
    cdef int64_t* add_leaf(self) except NULL nogil
    cdef int add_inner(self, const Judgement* judgement) except -1 nogil
    cdef int add_hole(self, Py_ssize_t parent, bint is_right, int piece) except -1 nogil
