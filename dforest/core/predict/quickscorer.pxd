"""Trees of few leaves, made ready for many rows: see quickscorer.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint32_t

from dforest.core.predict.walk cimport DF_LANES, DF_MAX_QUICKSCORER_LEAVES, df_leaf_test, df_packed, df_quickscorer_tree


cdef Py_ssize_t max_quickscorer_leaves(const df_packed* forest) noexcept nogil


@cython.final
cdef class QuickScorerTrees:
    cdef df_leaf_test* tests
    cdef double* values                # of leaves of one value
    cdef uint32_t* rows                # of the forest's values, of all leaves
    cdef df_quickscorer_tree* owned
    cdef df_quickscorer_tree* trees    # [end] of which those from `first` on are there
    cdef bint is_wide
    cdef Py_ssize_t n_values, n_outputs  # of a leaf, and of a row

    @staticmethod
    cdef QuickScorerTrees of_forest(const df_packed* forest, const double[:, ::1] values, const int64_t[::1] bases,
                                    Py_ssize_t n_outputs, Py_ssize_t first, Py_ssize_t end)

    cdef Py_ssize_t end_of_run(self, Py_ssize_t t, Py_ssize_t end) noexcept nogil
    cdef void add_predictions(self, Py_ssize_t first, Py_ssize_t end, bint has_missing, const void* tiles, Py_ssize_t n_features,
                              Py_ssize_t n, double* sums) noexcept nogil
