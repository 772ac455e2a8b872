"""The best split among the edges of bins (method "hist")."""
from dforest.core.types cimport Column, Node, Split


cdef class HistSplitter(Splitter):
    """Best binned split; a threshold is the upper edge of the last bin that goes left."""

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &self.data.columns[split.feature]
        if column.is_float32:
            return (<const float*> column.values)[split.code]
        return (<const double*> column.values)[split.code]
