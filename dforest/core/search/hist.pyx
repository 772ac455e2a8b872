"""Splits at the edges of bins (method "hist"), best and random."""
from libc.stdint cimport uint32_t, uint64_t

from dforest.core.search.splitter cimport code_above
from dforest.core.types cimport CONTINUOUS, Column, Node, Split, number_at
from dforest.rules.cut cimport df_threshold_code

cdef extern from "core/search/random_cut.h" nogil:
    uint64_t df_draw_bin(const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold)


cdef class HistSplitter(Splitter):
    """Splitter that looks for the best cut between bins of values.

    The threshold is the upper edge of a bin: of the last that goes left, or, if the node has none of
    the next ones, of the one in the middle of these.
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"
        self.grows_twigs = self.takes_sparse = type(self) is HistSplitter

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        cdef uint64_t code = df_threshold_code(CONTINUOUS, split.code, code_above(node, column, split))
        return number_at(column, column.values, <uint32_t> code)


cdef class RandomHistSplitter(RandomSplitter):
    """Random binned split: at the edge nearest to a threshold uniform between the smallest value of the
    node's lowest bin and the largest of its highest."""

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"
        self.grows_twigs = type(self) is RandomHistSplitter

    cdef uint64_t draw_cut(self, const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold) noexcept nogil:
        return df_draw_bin(column, lo, hi, u, threshold)
