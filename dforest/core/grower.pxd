from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.splitter cimport Splitter
from dforest.core.types cimport Draw, Node, Scale

cdef struct Limits:
    Py_ssize_t max_depth           # a node at this depth is a leaf
    int64_t min_samples_split      # a node of fewer draws is a leaf
    int64_t min_samples_leaf
    double min_weight_fraction_leaf
    double min_impurity_decrease

cdef struct NodeRecord:
    double threshold
    int32_t feature                # -1: a leaf
    uint32_t right                 # inner node: number of its right child; leaf: number of the leaf
    uint8_t missing_left

cdef struct Pending:               # a node that waits to be grown
    Py_ssize_t first, n            # its records in Grower.draws
    uint64_t path
    Py_ssize_t depth
    Py_ssize_t parent              # of a right child; else -1
    Scale scale


cdef class Grower:
    cdef DataView data
    cdef Criterion criterion
    cdef Splitter splitter
    cdef Limits limits
    cdef int64_t n_draws           # 0: every row once
    cdef Draw* draws               # [capacity] of the tree at hand
    cdef Draw* scratch             # [capacity]
    cdef int64_t* statistics       # [n_words] of the node at hand
    cdef Pending* stack
    cdef Py_ssize_t n_stack, stack_room
    cdef NodeRecord* nodes
    cdef Py_ssize_t n_nodes, node_room
    cdef int64_t* leaves           # [leaf_room, n_leaf_words]
    cdef Py_ssize_t n_leaves, leaf_room, n_leaf_words
    cdef bint polls_signals        # whether this thread is to look for Ctrl-C
    cdef const int* stop           # becomes nonzero when growing is to end

    cdef int grow(self, uint64_t seed, uint32_t tree, const Scale* scale) except -1 nogil
    cdef bint is_leaf(self, const Node* node, int64_t* root_weight) noexcept nogil
    cdef int add_leaf(self, const Node* node) except -1 nogil
