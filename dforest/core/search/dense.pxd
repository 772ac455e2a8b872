from dforest.core.search.coarse cimport CoarseSearch
from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.search.splitter cimport RandomSplitter, Splitter
from dforest.core.types cimport Node, Split


cdef class DenseSplitter(Splitter):
    cdef CoarseSearch coarse       # None: no column has buckets

    cdef bint searches_coarsely(self, DataView data, Criterion criterion)
    cdef Split with_neighbours(self, const Node* node, const Split* split) noexcept nogil


cdef class RandomDenseSplitter(RandomSplitter):
    pass
