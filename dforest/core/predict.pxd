from libc.stdint cimport int64_t, uint32_t

ctypedef fused real_t:
    float
    double

cdef struct PackedNode:
    double threshold
    uint32_t feature          # twice the feature, + 1 if missing values go left; LEAF: a leaf
    uint32_t right            # as Forest.right

cdef extern from *:
    """
    #define DF_LEAF 0xFFFFFFFFu
    """
    const uint32_t LEAF "DF_LEAF"


cdef class PackedForest:
    cdef readonly Py_ssize_t n_trees, n_features, n_outputs
    cdef PackedNode[::1] nodes
    cdef const int64_t[::1] offsets
    cdef const double[:, ::1] values

    cdef int check(self, Py_ssize_t n_features) except -1


cdef inline Py_ssize_t step(const PackedNode* node, Py_ssize_t at, double value) noexcept nogil:
    """The child that a row with this value goes to, without a branch: which way is hard to foresee."""
    cdef Py_ssize_t left = (value <= node.threshold) | ((value != value) & (node.feature & 1))
    cdef Py_ssize_t right = node.right
    return right + left * (at + 1 - right)


cdef inline Py_ssize_t find_leaf(const PackedNode* nodes, const real_t* x) noexcept nogil:
    """The number of the leaf that a row reaches."""
    cdef Py_ssize_t at = 0
    while nodes[at].feature != LEAF:
        at = step(&nodes[at], at, x[nodes[at].feature >> 1])
    return at


cdef enum:
    TOGETHER = 8              # rows that walk down a tree at a time


cdef inline void find_leaves(const PackedNode* nodes, const real_t[:, ::1] X, const Py_ssize_t* rows, Py_ssize_t n,
                             Py_ssize_t* at) noexcept nogil:
    """The leaves of up to TOGETHER rows, a step of each in turn, so that their memory accesses overlap.

    IN rows : [n]
    OUT at : [n] numbers of nodes
    """
    cdef Py_ssize_t j
    cdef bint done = False
    for j in range(n):
        at[j] = 0
    while not done:
        done = True
        for j in range(n):
            if nodes[at[j]].feature != LEAF:
                at[j] = step(&nodes[at[j]], at[j], X[rows[j], nodes[at[j]].feature >> 1])
                done = False
