"""Packed trees whose nodes are numbered anew, for rows that store few values: see zero_paths.h for the words."""
from libc.stdint cimport uint32_t

from dforest.core.predict.walk cimport df_key_table, df_packed, df_skip, df_sparse_rows, df_stop


cdef class ZeroPaths:
    cdef const df_packed* forest     # of the PackedForest, which owns what is made here
    cdef uint32_t* features          # [slots of all trees] where a tree's slots begin, so do its features, ...
    cdef df_stop* stops              # ... and its stops

    cdef inline const df_stop* walk(self, Py_ssize_t t, const df_sparse_rows* rows, Py_ssize_t i,
                                    const df_key_table* table) noexcept nogil:
        """The leaf that row i reaches in tree t. IN table : with the row's features"""
        return df_skip(self.forest, t, self.features + self.forest.starts[t], self.stops + self.forest.starts[t], rows, i, table)


cdef ZeroPaths zero_paths(const df_packed* forest, Py_ssize_t n_trees, int n_threads)
