"""The features that the splits on the path to a node use, for splitters that ask for them.

Nodes that come in preorder need no search: of the features noted so far, those first used at a lower depth than
the node's are its path's. So they are a stack, and each node costs a push at most, whatever its depth. What a
`PathFeatures` lends to nodes is valid until it changes.
"""
cimport cython
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc


@cython.final
cdef class PathFeatures:
    """The features on the path to the node at hand.

    Parameters
    ----------
    n_features : int
        0: nobody asks.
    """

    def __cinit__(self, Py_ssize_t n_features):
        if n_features == 0:
            return
        self.features = <int32_t*> malloc(n_features * sizeof(int32_t))
        self.depths = <Py_ssize_t*> malloc(n_features * sizeof(Py_ssize_t))
        self.bits = <uint64_t*> calloc((n_features + 63) // 64, sizeof(uint64_t))
        if self.features == NULL or self.depths == NULL or self.bits == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.features)
        free(self.depths)
        free(self.bits)

    cdef void leave(self, Py_ssize_t depth) noexcept nogil:
        cdef int32_t feature
        while self.n > 0 and self.depths[self.n - 1] >= depth:
            self.n -= 1
            feature = self.features[self.n]
            self.bits[feature >> 6] &= ~(<uint64_t> 1 << (feature & 63))

    cdef bint add(self, Py_ssize_t feature, Py_ssize_t depth) noexcept nogil:
        cdef uint64_t bit = <uint64_t> 1 << (feature & 63)
        if self.bits[feature >> 6] & bit:
            return False
        self.bits[feature >> 6] |= bit
        self.features[self.n] = <int32_t> feature
        self.depths[self.n] = depth
        self.n += 1
        return True

    cdef Py_ssize_t count_above(self, Py_ssize_t depth) noexcept nogil:
        cdef Py_ssize_t n = self.n
        while n > 0 and self.depths[n - 1] >= depth:
            n -= 1
        return n

    cdef void reverse(self) noexcept nogil:
        """Turn the order around, of features noted from the node up."""
        cdef Py_ssize_t i
        for i in range(self.n // 2):
            self.features[i], self.features[self.n - 1 - i] = self.features[self.n - 1 - i], self.features[i]
