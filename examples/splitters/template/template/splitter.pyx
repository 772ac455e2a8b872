"""A splitter to start from: the best binned split, by the rules of dforest's own.

What there is to override, what is given and what has to hold is said at the head of dforest/core/search/splitter.pxd.
"""
from dforest.core.component cimport CONTRACT
from dforest.core.search.splitter cimport Splitter, code_above
from dforest.core.types cimport Column, LeafRules, Node, Split, number_at

from dforest.core.component import declare_contract

declare_contract(__name__, CONTRACT)


cdef class TemplateSplitter(Splitter):
    """The best of all cuts between bins.

    The threshold is the upper edge of a bin: of the last that goes left, or, if the node has none of the next ones, of
    the one in the middle of these.
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        return self.cuts.find(node, &node.columns[feature], rules, best)

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        return number_at(column, column.values, split.code + (code_above(node, column, split) - 1 - split.code) // 2)
