"""The features that the splits on the path to a node use: see path_features.pyx."""
cimport cython
from libc.stdint cimport int32_t, uint64_t


@cython.final
cdef class PathFeatures:
    cdef Py_ssize_t n
    cdef int32_t* features         # [n], room for all; features in use, each once, in order of first use; NULL: no splitter asks
    cdef Py_ssize_t* depths        # [n] depth of the node whose split was the first to use the feature
    cdef uint64_t* bits            # a bit for each feature: whether it is in use

    # Go to a node of this depth: forget the features that no node above it used first.
    cdef void leave(self, Py_ssize_t depth) noexcept nogil

    # Note the feature that the split of a node uses, given the node's depth, or -1 if it is above all that will be left; return
    # whether no split above uses it.
    cdef bint add(self, Py_ssize_t feature, Py_ssize_t depth) noexcept nogil

    # How many features the splits of nodes above this depth use.
    cdef Py_ssize_t count_above(self, Py_ssize_t depth) noexcept nogil

    # Turn the order around, where features were noted from the node up.
    cdef void reverse(self) noexcept nogil
