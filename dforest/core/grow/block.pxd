from libc.stdint cimport uint8_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.grow.ranker cimport Ranker
from dforest.core.types cimport Column, Draw


cdef class Block:
    cdef DataView data
    cdef Py_ssize_t most_records   # that it has room for; 0: there is to be no block
    cdef Column* columns           # [n_features] the data's, with the block's codes
    cdef const double* y           # targets of the block's records; NULL for classification
    cdef uint32_t* rows            # [most_records] their rows in the data
    cdef uint8_t* bytes            # y, then codes column by column
    cdef Ranker ranker             # None: codes stay the data's
    cdef uint32_t* origins         # [ranked columns, most_records + 1] see Column.origins

    cdef int reserve(self, size_t n_bytes, Py_ssize_t n_records) except -1
    cdef void fill(self, Draw* draws, Py_ssize_t n, uint32_t* rows) noexcept nogil
