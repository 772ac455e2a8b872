"""Splits at the edges of bins (method "hist"), best and random."""
from libc.stdint cimport uint32_t, uint64_t

from dforest.core.search.splitter cimport code_above
from dforest.core.types cimport CONTINUOUS, Column, Node, Split, number_at
from dforest.rules.cut cimport df_threshold_code
from dforest.rules.edges cimport df_nearest_edge_double, df_nearest_edge_float
from dforest.rules.numerics cimport df_between


cdef class HistSplitter(Splitter):
    """Best binned split.

    The threshold is the upper edge of a bin: of the last that goes left, or, if the node has none of
    the next ones, of the one in the middle of these.
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"
        self.grows_twigs = type(self) is HistSplitter

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
            found = df_nearest_edge_float(<const float*> column.values, column.n_codes - 1, first, last, drawn)
        else:
            found = df_nearest_edge_double(<const double*> column.values, column.n_codes - 1, first, last, drawn)
        threshold[0] = number_at(column, column.values, found)
        return found
