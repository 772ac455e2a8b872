"""A copy of what the records of one subtree need: see block.pyx."""
cimport cython
from libc.stdint cimport uint8_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.grow.ranker cimport Ranker
from dforest.core.types cimport Column, Node, Record


cdef enum:
    SMALLEST_BLOCK = 64            # records of a subtree that is worth copying


@cython.final
cdef class Block:
    cdef DataView data
    cdef Py_ssize_t most_records   # of a subtree that fits; 0: none does
    cdef bint is_open              # it holds the subtree of the node at hand
    cdef Py_ssize_t base           # its subtree is done when fewer nodes than this wait on the grower's stack
    cdef Column* columns           # [n_features] the data's, with the block's codes
    cdef const double* y           # targets of the block's records; NULL for classification
    cdef uint32_t* rows            # [most_records] their rows in the data
    cdef uint8_t* bytes            # y, then codes column by column
    cdef Ranker ranker             # None: codes stay the data's
    cdef uint32_t* origins         # [ranked columns, most_records + 1] see Column.origins

    cdef int reserve(self, size_t n_bytes, Py_ssize_t n_records) except -1

    cdef inline bint takes(self, Py_ssize_t n) noexcept nogil:
        """Whether a subtree of n records fits, and is worth copying."""
        return SMALLEST_BLOCK <= n <= self.most_records

    cdef inline void lend(self, Node* node) noexcept nogil:
        """Say where the codes and targets of a node's records are: here, or in the data."""
        node.columns = self.columns if self.is_open else self.data.columns
        node.rows = self.rows if self.is_open else NULL
        node.y = self.y if self.is_open else self.data.y

    cdef inline void leave(self, Py_ssize_t n_waiting) noexcept nogil:
        """Look at the next node, which the subtree does not have if fewer nodes wait behind it than when the block was filled."""
        self.is_open = self.is_open and n_waiting >= self.base

    cdef inline void close(self) noexcept nogil:
        self.is_open = False

    # Copy what the records of a subtree need, and number the records by their place in the block.
    # INOUT draws : [n] the subtree's
    # OUT scratch : [n]
    # IN n_waiting : nodes on the grower's stack, without the subtree's
    cdef void fill(self, Record* records, Py_ssize_t n, uint32_t* scratch, Py_ssize_t n_waiting) noexcept nogil
