from dforest.core.search.division cimport Divisions
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport Node, Split


cdef class NodeView:
    cdef const Node* node          # NULL once it is closed
    cdef Splitter splitter
    cdef dict kept                 # arrays made so far

    cdef void close(self) noexcept
    cdef const Node* opened(self) except NULL
    cdef Py_ssize_t feature_number(self, feature) except -1
    cdef Divisions divisions(self)


cdef int take_cut(NodeView view, Py_ssize_t feature, given, Split* best) except -1
cdef NodeView view_of(const Node* node, Splitter splitter)
