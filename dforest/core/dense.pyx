"""Splits between any two values (method "dense"), best and random."""
from libc.stdint cimport uint32_t

from dforest.core.cuts cimport CodeRange, code_range, next_code
from dforest.core.random cimport DF_THRESHOLD, df_feature_path, df_stream, df_stream_open, df_uniform
from dforest.core.types cimport Column, LeafRules, Node, Split, number_at

cdef extern from "numerics.h" nogil:
    double df_middle(double lo, double hi, int is_float32)
    double df_between(double lo, double hi, double u, int is_float32)


cdef class DenseSplitter(Splitter):
    """Best exact split; a threshold is the middle of two neighbouring values present in the node."""

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        cdef uint32_t above = next_code(node, column, split.code)
        return df_middle(number_at(column, column.values, split.code), number_at(column, column.values, above), column.is_float32)


cdef class RandomDenseSplitter(DenseSplitter):
    """One cut per feature, at a threshold uniform between the node's smallest and largest value.

    A column of one value and missing values has one cut, between the two.
    """

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef const Column* column = &node.columns[feature]
        cdef CodeRange codes = code_range(node, column)
        cdef uint32_t lo = codes.lowest, hi = codes.highest, middle
        cdef double threshold = 0.0, before = best.score
        cdef df_stream stream
        if lo > hi or (lo == hi and not codes.has_missing):
            return True
        if lo < hi:
            df_stream_open(&stream, self.seed, self.tree, df_feature_path(node.path, feature), DF_THRESHOLD)
            threshold = df_between(number_at(column, column.values, lo),
                                   number_at(column, column.values, hi), df_uniform(&stream), column.is_float32)
            while hi - lo > 1:     # value[lo] <= threshold < value[hi]
                middle = lo + (hi - lo) // 2
                if number_at(column, column.values, middle) <= threshold:
                    lo = middle
                else:
                    hi = middle
        self.cuts.find_at(node, column, lo, rules, best)
        if best.score > before:
            best.threshold = threshold
        return False

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        return split.threshold
