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


cdef inline Py_ssize_t find_leaf(const PackedNode* nodes, const real_t* x) noexcept nogil:
    """The number of the leaf that a row reaches."""
    cdef Py_ssize_t i = 0
    cdef uint32_t f = nodes[0].feature
    cdef double value
    while f != LEAF:
        value = x[f >> 1]
        if value <= nodes[i].threshold or (value != value and f & 1):
            i += 1
        else:
            i = nodes[i].right
        f = nodes[i].feature
    return i
