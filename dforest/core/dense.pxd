from dforest.core.coarse cimport CoarseSearch
from dforest.core.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.splitter cimport RandomSplitter, Splitter


cdef class DenseSplitter(Splitter):
    cdef CoarseSearch coarse       # None: no column has buckets

    cdef bint searches_coarsely(self, DataView data, Criterion criterion)


cdef class RandomDenseSplitter(RandomSplitter):
    pass
