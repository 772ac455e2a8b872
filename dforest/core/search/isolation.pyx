"""The criterion of isolation trees, by which no split is better than another one: a leaf keeps the length of the path to it.

As in [1]_, the length of the path to a leaf of n draws is its depth, and c(n) more: as many steps as it would take, on average,
to find that a row is none of n others in a binary search tree of these,

    c(n) = 2 (ln(n - 1) + 0.5772...) - 2 (n - 1) / n,     c(2) = 1,     c(1) = 0.

Draws have no targets, and statistics hold the number of draws and their weight alone.

References
----------
.. [1] F. T. Liu, K. M. Ting, Z.-H. Zhou, "Isolation Forest", ICDM 2008.
"""
from libc.stdint cimport int64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.types cimport CLASS_WEIGHTS, Node, Record
from dforest.rules.numerics cimport df_log

cdef double EULER_GAMMA = 0.5772156649015329


cdef inline double length_below(int64_t n_draws) noexcept nogil:
    cdef double n = <double> n_draws
    if n_draws <= 2:
        return 1.0 if n_draws == 2 else 0.0
    return 2.0 * (df_log(n - 1.0) + EULER_GAMMA) - 2.0 * (n - 1.0) / n


def average_path_length(int64_t n_draws):
    """The average length of a path in a tree of so many draws that is grown to its end: float."""
    return length_below(n_draws)


cdef class PathLength(Criterion):
    """The criterion of isolation trees: all splits score 0, and a leaf keeps the length of the path to it."""

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        if n_classes:
            raise ValueError(f"criterion={self!r} is for isolation trees, which have no classes")
        Criterion.configure(self, n_classes, wide)
        self.kind = CLASS_WEIGHTS          # of one class, which all draws have
        self.reserve(3)
        return self

    cdef int open_node(self, Node* node) except -1 nogil:
        cdef Py_ssize_t i
        cdef int64_t n_draws = 0, weight = 0
        cdef const Record* record
        for i in range(node.n):
            record = &node.records[i]
            n_draws += record.count
            weight += <int64_t> record.count * record.weight
        node.statistics[0] = n_draws
        node.statistics[1] = node.statistics[2] = weight
        node.is_pure = node.n == 1
        return 0

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        return 0

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        score[0] = 0.0
        return 0

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        out[0] = <double> node.depth + length_below(node.statistics[0])
        return 0
