from dforest.core.splitter cimport Splitter


cdef class DenseSplitter(Splitter):
    pass


cdef class RandomDenseSplitter(DenseSplitter):
    pass
