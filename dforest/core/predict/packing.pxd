"""What prediction by packed trees needs beside them: rows of X, opened; trees whose nodes are numbered anew, for rows that store
few values (zero_paths.h); and rows down trees whose tests are a splitter's own. See packing.pyx.
"""
from libc.stdint cimport uint32_t

from dforest.core.predict.walk cimport (
    Descent, df_hash_table, df_mode, df_packed, df_skip, df_sparse_mode, df_sparse_rows, df_stop,
)
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport df_rows


cdef class ZeroPaths:
    cdef const df_packed* forest     # of the PackedForest, which owns what is made here
    cdef uint32_t* features          # [slots of all trees] where a tree's slots begin, so do its features, ...
    cdef df_stop* stops              # ... and its stops

    cdef inline const df_stop* walk(self, Py_ssize_t t, const df_sparse_rows* rows, Py_ssize_t i,
                                    const df_hash_table* table) noexcept nogil:
        """The leaf that row i reaches in tree t. IN table : with the row's features"""
        return df_skip(self.forest, t, self.features + self.forest.starts[t], self.stops + self.forest.starts[t], rows, i, table)


cpdef Py_ssize_t slot_size(bint is_wide) noexcept nogil


cdef node_numbers(const df_packed* forest, Py_ssize_t n_trees, int n_threads)


cdef ZeroPaths zero_paths(const df_packed* forest, Py_ssize_t n_trees, int n_threads)


cdef int walk_tests(const df_packed* forest, Py_ssize_t t, Splitter splitter, const Descent* down) except -1 nogil


cdef class Rows:
    cdef df_rows rows                   # of sparse rows: .x is NULL, the rest as if they were unpacked
    cdef df_sparse_rows sparse
    cdef ZeroPaths paths                # that the rows go down; None: they are unpacked
    cdef Py_ssize_t n
    cdef Py_buffer buffer
    cdef object held
    cdef bint is_open, is_single, is_sparse

    cdef int check(self, Py_ssize_t n_features, Py_ssize_t n_known) except -1
    cdef int open_sparse(self, X) except -1
    cdef inline int mode(self, const df_packed* forest, Py_ssize_t first, Py_ssize_t n, Py_ssize_t n_features) noexcept nogil:
        """What n rows from the first one on need: see df_mode of walk.h."""
        if self.is_sparse:
            return df_sparse_mode(forest, &self.sparse, first, n)
        return df_mode(forest, &self.rows, first, n, n_features)
