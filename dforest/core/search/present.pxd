"""The features that may vary in a node of few stored values: those that its rows store, and those that are not sparse.

All others have the implied code in all of the node's records. Where features are many, and their order is a permutation that
can be asked for places (rules/feature_order.h), the search need not draw features that it would find constant.
"""
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.search.feature_order cimport FeatureOrder
from dforest.core.types cimport Node


@cython.final
cdef class Present:
    cdef DataView data
    cdef double present_up_to      # features are looked for where that takes at most so many times the steps of drawing them
    cdef Py_ssize_t n              # how many were found
    cdef uint64_t* keys            # [n] their places and, below, their numbers, ascending
    cdef uint64_t* own_keys        # [n_features]
    cdef uint64_t* more_keys       # [n_features]
    cdef uint32_t* found_in        # [n_features] the turn in which a feature was found last
    cdef uint32_t turn

    # Find the features of a node, in the order that is open; False: it takes less time to draw them.
    cdef bint find(self, const Node* node, FeatureOrder order, Py_ssize_t max_features, bint skip_constant) noexcept nogil
    cdef void add(self, uint32_t feature, FeatureOrder order) noexcept nogil

    cdef inline Py_ssize_t feature(self, Py_ssize_t i) noexcept nogil:
        return <uint32_t> self.keys[i]

    cdef inline Py_ssize_t place(self, Py_ssize_t i) noexcept nogil:
        return <Py_ssize_t> (self.keys[i] >> 32)
