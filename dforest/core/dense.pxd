from dforest.core.splitter cimport RandomSplitter, Splitter


cdef class DenseSplitter(Splitter):
    pass


cdef class RandomDenseSplitter(RandomSplitter):
    pass
