"""Splits at the edges of bins (method "hist"), best and random."""
from libc.stdint cimport uint32_t

from dforest.core.cuts cimport CodeRange, code_range
from dforest.core.random cimport DF_THRESHOLD, df_below, df_feature_path, df_stream, df_stream_open
from dforest.core.types cimport Column, LeafRules, Node, Split


cdef class HistSplitter(Splitter):
    """Best binned split; a threshold is the upper edge of the last bin that goes left."""

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        if column.is_float32:
            return (<const float*> column.values)[split.code]
        return (<const double*> column.values)[split.code]


cdef class RandomHistSplitter(HistSplitter):
    """One cut per feature, uniform among the bins from the node's lowest to its last but one.

    A column of one bin and missing values has one cut, between the two.
    """

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef const Column* column = &node.columns[feature]
        cdef CodeRange codes = code_range(node, column)
        cdef uint32_t code = codes.lowest
        cdef df_stream stream
        if codes.lowest > codes.highest or (codes.lowest == codes.highest and not codes.has_missing):
            return True
        if codes.lowest < codes.highest:
            df_stream_open(&stream, self.seed, self.tree, df_feature_path(node.path, feature), DF_THRESHOLD)
            code += df_below(&stream, codes.highest - codes.lowest)
        self.cuts.find_at(node, column, code, rules, best)
        return False
