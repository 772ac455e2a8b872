cimport cython
from libc.stdint cimport int32_t, uint64_t


@cython.final
cdef class PathFeatures:
    cdef Py_ssize_t n
    cdef int32_t* features         # [n_features] used, each once, in order of first use; NULL: nobody asks
    cdef Py_ssize_t* depths        # [n_features] of the nodes whose splits used them first
    cdef uint64_t* bits            # a bit for each feature

    # Keep what nodes of a lower depth used.
    cdef void leave(self, Py_ssize_t depth) noexcept nogil

    # Note what the split of a node uses; whether no node above it did. A depth of -1 stands for any above.
    cdef bint add(self, Py_ssize_t feature, Py_ssize_t depth) noexcept nogil

    # How many features nodes of a lower depth used.
    cdef Py_ssize_t count_above(self, Py_ssize_t depth) noexcept nogil

    cdef void reverse(self) noexcept nogil
