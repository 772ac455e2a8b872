"""Splits at the edges of bins (method "hist"), best and random."""
from libc.stdint cimport uint32_t, uint64_t

from dforest.core.search.splitter cimport code_above
from dforest.core.types cimport CONTINUOUS, Column, Node, Split, number_at
from dforest.rules.cut cimport df_threshold_code
from dforest.rules.numerics cimport df_between


ctypedef fused edge_t:
    float
    double

cdef enum:
    COUNTED = 64       # edges among which it is faster to compare all than to halve on


cdef inline uint32_t edges_below(const edge_t* edges, uint32_t n, edge_t x) noexcept nogil:
    """How many of n ascending edges are below x. No branches: where it falls, nobody can foretell."""
    cdef uint32_t i, half, start = 0, left = n, count = 0
    if n < COUNTED:
        for i in range(n):
            count += edges[i] < x
        return count
    while left > COUNTED:          # all edges before `start` are below x, none from `start + left` is
        half = left // 2
        start += half * (edges[start + half - 1] < x)
        left -= half
    start = min(start, n - COUNTED)
    for i in range(COUNTED):
        count += edges[start + i] < x
    return start + count


cdef inline uint32_t nearest_edge(const edge_t* edges, uint32_t n, uint32_t first, uint32_t last, double x) noexcept nogil:
    """Which of the edges first, ..., last, of n ascending ones, is nearest to x, the upper one of two as near."""
    cdef uint32_t found = min(max(edges_below(edges, n, <edge_t> x), first), last)
    cdef uint32_t before = found - (found > first)
    return before if x - <double> edges[before] < <double> edges[found] - x else found


cdef class HistSplitter(Splitter):
    """Best binned split.

    The threshold is the upper edge of a bin: of the last that goes left, or, if the node has none of
    the next ones, of the one in the middle of these.
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        cdef uint64_t code = df_threshold_code(CONTINUOUS, split.code, code_above(node, column, split))
        return number_at(column, column.values, <uint32_t> code)


cdef class RandomHistSplitter(RandomSplitter):
    """Random binned split: at the edge nearest to a threshold uniform between the smallest value of the
    node's lowest bin and the largest of its highest."""

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"

    cdef uint64_t draw_cut(self, const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold) noexcept nogil:
        cdef uint32_t first = <uint32_t> lo, last = <uint32_t> hi - 1, found
        cdef double drawn = df_between(number_at(column, column.lows, first), number_at(column, column.highs, last + 1), u,
                                       column.is_float32)
        if column.is_float32:
            found = nearest_edge[float](<const float*> column.values, column.n_codes - 1, first, last, drawn)
        else:
            found = nearest_edge[double](<const double*> column.values, column.n_codes - 1, first, last, drawn)
        threshold[0] = number_at(column, column.values, found)
        return found
