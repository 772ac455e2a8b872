"""Splits at the edges of bins (method "hist"), best and random."""
from libc.stdint cimport uint32_t

from dforest.core.cuts cimport CodeRange, code_range, next_code
from dforest.core.random cimport DF_THRESHOLD, df_feature_path, df_stream, df_stream_open, df_uniform
from dforest.core.types cimport Column, LeafRules, Node, Split, number_at

cdef extern from "numerics.h" nogil:
    double df_between(double lo, double hi, double u, int is_float32)


cdef class HistSplitter(Splitter):
    """Best binned split.

    The threshold is the upper edge of a bin: of the last that goes left, or, if the node has none of
    the next ones, of the one in the middle of these.
    """

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        cdef uint32_t above = next_code(node, column, split.code)
        return number_at(column, column.values, split.code + (above - 1 - split.code) // 2)


cdef class RandomHistSplitter(HistSplitter):
    """One cut per feature: the edge nearest to a threshold uniform between the smallest value of the
    node's lowest bin and the largest of its highest.

    A column of one bin and missing values has one cut, between the two.
    """

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef const Column* column = &node.columns[feature]
        cdef CodeRange codes = code_range(node, column)
        cdef uint32_t lo = codes.lowest, hi = codes.highest, middle
        cdef double drawn, edge
        cdef df_stream stream
        if lo > hi or (lo == hi and not codes.has_missing):
            return True
        if lo < hi:
            df_stream_open(&stream, self.seed, self.tree, df_feature_path(node.path, feature), DF_THRESHOLD)
            drawn = df_between(number_at(column, column.lows, lo), number_at(column, column.highs, hi),
                               df_uniform(&stream), column.is_float32)
            hi -= 1
            while lo < hi:         # the first of these edges that is not below, or the last one
                middle = lo + (hi - lo) // 2
                if number_at(column, column.values, middle) < drawn:
                    lo = middle + 1
                else:
                    hi = middle
            if lo > codes.lowest:
                edge = number_at(column, column.values, lo)
                if drawn - number_at(column, column.values, lo - 1) < edge - drawn:
                    lo -= 1
        self.cuts.find_at(node, column, lo, rules, best)
        return False

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        return number_at(column, column.values, split.code)
