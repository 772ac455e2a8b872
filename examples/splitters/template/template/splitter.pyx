"""A splitter to start from: the best split between bins, by the rules of dforest's own splitter.

The beginning of dforest/core/search/splitter.pxd describes what can be overridden, what methods are given, and what they must
guarantee.
"""
from dforest.core.component cimport CONTRACT
from dforest.core.search.splitter cimport Splitter, code_above
from dforest.core.types cimport Column, LeafRules, Node, Split, number_at

from dforest.core.component import declare_contract

declare_contract(__name__, CONTRACT)


cdef class TemplateSplitter(Splitter):
    """The best of all cuts between bins.

    The threshold is the upper edge of the last bin that goes left. If the bins that follow are empty in the node, it is the
    upper edge of the bin in the middle of these.
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        return self.cuts.find(node, &node.columns[feature], rules, best)

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        return number_at(column, column.values, split.code + (code_above(node, column, split) - 1 - split.code) // 2)
