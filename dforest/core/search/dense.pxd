from dforest.core.search.coarse cimport CoarseSearch
from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.search.splitter cimport RandomSplitter, Splitter


cdef class DenseSplitter(Splitter):
    cdef CoarseSearch coarse       # None: no column has buckets

    cdef bint searches_coarsely(self, DataView data, Criterion criterion)


cdef class RandomDenseSplitter(RandomSplitter):
    pass
