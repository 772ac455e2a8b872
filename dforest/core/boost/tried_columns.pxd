"""Which columns the nodes of a boosted tree try: see tried_columns.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.search.feature_order cimport FeatureOrder


@cython.final
cdef class TriedColumns:
    cdef Py_ssize_t n_columns
    cdef readonly bint tries_all       # each node tries all
    cdef bint samples                  # trees or levels have samples
    cdef Py_ssize_t n_can_split        # columns
    cdef Py_ssize_t n_of_tree, n_of_level  # columns of a sample
    cdef int64_t* n_tried              # [n_columns + 1] how many columns a node tries, by how many it may try
    cdef Py_ssize_t max_columns        # that may be tested on a path; 0: any number
    cdef const uint8_t[:, ::1] groups  # [n_groups, n_columns] which columns may be tested on one path; None: all may
    cdef FeatureOrder order
    cdef uint32_t seed                 # of the tree
    cdef const uint8_t[::1] can_split  # [n_columns]; None: all can
    cdef uint8_t* of_tree              # [n_columns] whether each is in the tree's sample

    cdef void begin_tree(self, uint32_t seed) noexcept nogil
    cdef void draw(self, uint64_t node_key, int64_t depth, const int32_t* tested, Py_ssize_t n_tested,
                   uint8_t* tried) noexcept nogil
    cdef void allow(self, const int32_t* tested, Py_ssize_t n_tested, uint8_t* allowed) noexcept nogil
    cdef bint holds(self, Py_ssize_t group, const int32_t* tested, Py_ssize_t n_tested) noexcept nogil
    cdef void include_all(self) noexcept nogil
    cdef void sample(self, int64_t depth, uint8_t* sampled) noexcept nogil
    cdef void keep_first(self, uint64_t node_key, Py_ssize_t n, uint8_t* kept) noexcept nogil
