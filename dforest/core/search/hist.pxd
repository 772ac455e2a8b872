from dforest.core.search.splitter cimport RandomSplitter, Splitter


cdef class HistSplitter(Splitter):
    pass


cdef class RandomHistSplitter(RandomSplitter):
    pass
