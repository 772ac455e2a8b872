"""Splits between any two values (method "dense"), best and random."""
from libc.stdint cimport uint32_t

from dforest.core.splitter cimport code_above
from dforest.core.types cimport Column, Node, Split, number_at

cdef extern from "numerics.h" nogil:
    double df_middle(double lo, double hi, int is_float32)
    double df_between(double lo, double hi, double u, int is_float32)


cdef class DenseSplitter(Splitter):
    """Best exact split; a threshold is the middle of two neighbouring values present in the node."""

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        cdef uint32_t above = code_above(node, column, split)
        return df_middle(number_at(column, column.values, split.code), number_at(column, column.values, above), column.is_float32)


cdef class RandomDenseSplitter(RandomSplitter):
    """Random exact split, at a threshold uniform between the node's smallest and largest value."""

    cdef uint32_t draw_cut(self, const Column* column, uint32_t lo, uint32_t hi, double u, double* threshold) noexcept nogil:
        cdef uint32_t middle
        threshold[0] = df_between(number_at(column, column.values, lo), number_at(column, column.values, hi), u,
                                  column.is_float32)
        while hi - lo > 1:     # value[lo] <= threshold < value[hi]
            middle = lo + (hi - lo) // 2
            if number_at(column, column.values, middle) <= threshold[0]:
                lo = middle
            else:
                hi = middle
        return lo
