from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.types cimport LeafRules, Node, Record, Split


cdef class Divisions:
    cdef Criterion criterion
    cdef Py_ssize_t n_words        # of a statistic of the node at hand; when it is made, of the largest
    cdef uint64_t* sort_keys       # [records + 1] see `sort`
    cdef uint64_t* sort_keys_to    # [records + 1]
    cdef int64_t* left             # [CUTS, n_words] statistics of the left sides of some cuts
    cdef Py_ssize_t* end           # [CUTS] how many records each has on the left
    cdef int64_t* sum              # [n_words] of the left sides so far
    cdef int64_t* missing          # [n_words]
    cdef int64_t* shifted          # [CUTS, n_words] `left` with the missing ones
    cdef int64_t imbalance         # of the best cut so far, see numerics.h

    # Replace `best` if a cut of numbers has a higher score: set its score, threshold, missing_left and
    # only_missing_right. A cut is between two different numbers, or the missing ones (NaN) against the rest.
    # IN values : [node.n] of each record
    # Returns whether there is no cut: all numbers are equal.
    cdef bint find_along(self, const Node* node, const double* values, const LeafRules* rules, Split* best) noexcept nogil

    # Replace `best` if the cut at a threshold, between two of the numbers or INFINITY, has a higher score; as `find_along`.
    cdef bint find_at(self, const Node* node, const double* values, double threshold, const LeafRules* rules,
                      Split* best) noexcept nogil

    # Replace `best` if this division has a higher score: set its score.
    # IN left : [node.n] 1 or 0, of each record
    # Returns whether it is valid: both sides satisfy the rules, and the criterion allows it.
    cdef bint find_sides(self, const Node* node, const uint8_t* left, const LeafRules* rules, Split* best) noexcept nogil

    cdef void clear_sums(self) noexcept nogil
    cdef const uint64_t* sort(self, const double* values, Py_ssize_t n, Py_ssize_t* n_values) noexcept nogil
    cdef Py_ssize_t sum_up(self, const Record* records, const double* values, const uint64_t* sort_keys, Py_ssize_t* at,
                           Py_ssize_t m) noexcept nogil
    cdef void score(self, const Node* node, Py_ssize_t n, const LeafRules* rules, Split* best, Py_ssize_t* at) noexcept nogil
