from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

ctypedef fused real_t:
    float
    double

cdef struct PackedNode:
    double threshold          # or, with IS_SUBSET, the bits of a subset: of categories 0 to 63, or, with
                              # IS_WIDE, 2**16 times the first of its words in PackedForest.words, + their number
    uint32_t feature          # the feature times FEATURE, and flags; LEAF: a leaf
    uint32_t right            # as Forest.right

cdef enum:                    # flags of PackedNode.feature
    MISSING_LEFT = 1
    IS_SUBSET = 2             # a category is tested, and so is one by
    IS_WIDE = 4
    FEATURE = 8

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
    cdef const uint64_t* words      # of subsets; NULL: there are none
    cdef object owner               # of these

    cdef int pack_subsets(self, packed, forest) except -1
    cdef int check(self, Py_ssize_t n_features) except -1


cdef inline uint32_t feature_of(const PackedNode* node) noexcept nogil:
    return node.feature // FEATURE


cdef inline Py_ssize_t is_in_subset(const PackedNode* node, double value, const uint64_t* words) noexcept nogil:
    """Whether a category is in the subset of a node; a missing one is not."""
    cdef uint32_t code
    cdef uint64_t subset
    if not value >= 0.0:
        return 0
    code = <uint32_t> value
    memcpy(&subset, &node.threshold, sizeof(subset))
    if not node.feature & IS_WIDE:
        return code < 64 and (subset >> code) & 1
    return code // 64 < (subset & 0xFFFF) and (words[(subset >> 16) + code // 64] >> (code % 64)) & 1


cdef inline Py_ssize_t step_by_number(const PackedNode* node, Py_ssize_t at, double value) noexcept nogil:
    """The child that a row with this value goes to, without a branch: which way is hard to foresee."""
    cdef Py_ssize_t left = (value <= node.threshold) | ((value != value) & (node.feature & MISSING_LEFT))
    cdef Py_ssize_t right = node.right
    return right + left * (at + 1 - right)


cdef inline Py_ssize_t step(const PackedNode* node, Py_ssize_t at, double value, const uint64_t* words) noexcept nogil:
    """The same where the feature may be categorical."""
    if not node.feature & IS_SUBSET:
        return step_by_number(node, at, value)
    return at + 1 if is_in_subset(node, value, words) ^ (node.feature & MISSING_LEFT) else node.right


cdef inline Py_ssize_t find_leaf(const PackedNode* nodes, const real_t* x, const uint64_t* words) noexcept nogil:
    """The number of the leaf that a row reaches."""
    cdef Py_ssize_t at = 0
    while nodes[at].feature != LEAF:
        at = step(&nodes[at], at, x[feature_of(&nodes[at])], words)
    return at


cdef enum:
    TOGETHER = 8              # rows that walk down a tree at a time


cdef inline void walk_together(const PackedNode* nodes, const real_t[:, ::1] X, const Py_ssize_t* rows, Py_ssize_t n,
                               const uint64_t* words, bint has_subsets, Py_ssize_t* at) noexcept nogil:
    cdef Py_ssize_t j
    cdef bint done = False
    cdef double value
    for j in range(n):
        at[j] = 0
    while not done:
        done = True
        for j in range(n):
            if nodes[at[j]].feature != LEAF:
                value = X[rows[j], feature_of(&nodes[at[j]])]
                if has_subsets:
                    at[j] = step(&nodes[at[j]], at[j], value, words)
                else:
                    at[j] = step_by_number(&nodes[at[j]], at[j], value)
                done = False


cdef inline void find_leaves(const PackedNode* nodes, const real_t[:, ::1] X, const Py_ssize_t* rows, Py_ssize_t n,
                             const uint64_t* words, Py_ssize_t* at) noexcept nogil:
    """The leaves of up to TOGETHER rows, a step of each in turn, so that their memory accesses overlap.

    IN rows : [n]
    OUT at : [n] numbers of nodes
    """
    if words != NULL:          # the branch that tells tests of categories from others costs a tenth of the time
        walk_together(nodes, X, rows, n, words, True, at)
    else:
        walk_together(nodes, X, rows, n, words, False, at)
