"""Splits at the edges of bins (method "hist"), best and random."""
from libc.stdint cimport uint32_t

from dforest.core.splitter cimport code_above
from dforest.core.types cimport Column, Node, Split, number_at

cdef extern from "numerics.h" nogil:
    double df_between(double lo, double hi, double u, int is_float32)


cdef class HistSplitter(Splitter):
    """Best binned split.

    The threshold is the upper edge of a bin: of the last that goes left, or, if the node has none of
    the next ones, of the one in the middle of these.
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        cdef uint32_t above = code_above(node, column, split)
        return number_at(column, column.values, split.code + (above - 1 - split.code) // 2)


cdef class RandomHistSplitter(RandomSplitter):
    """Random binned split: at the edge nearest to a threshold uniform between the smallest value of the
    node's lowest bin and the largest of its highest."""

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"

    cdef uint32_t draw_cut(self, const Column* column, uint32_t lo, uint32_t hi, double u, double* threshold) noexcept nogil:
        cdef uint32_t lowest = lo, half, n = hi - 1 - lo
        cdef double edge, drawn = df_between(number_at(column, column.lows, lo), number_at(column, column.highs, hi), u,
                                             column.is_float32)
        # The first of the edges lo, ..., hi - 1 that is not below, or the last: it is one of lo, ..., lo + n.
        while n > 0:
            half = (n + 1) // 2
            lo += half * (number_at(column, column.values, lo + half - 1) < drawn)       # no branch
            n -= half
        if lo > lowest:
            edge = number_at(column, column.values, lo)
            if drawn - number_at(column, column.values, lo - 1) < edge - drawn:
                lo -= 1
        threshold[0] = number_at(column, column.values, lo)
        return lo
