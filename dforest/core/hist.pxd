from dforest.core.splitter cimport Splitter


cdef class HistSplitter(Splitter):
    pass


cdef class RandomHistSplitter(HistSplitter):
    pass
