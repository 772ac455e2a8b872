"""Rows of X, opened for prediction: see opened_rows.pyx."""
from dforest.core.predict.walk cimport df_mode, df_packed, df_sparse_mode, df_sparse_rows
from dforest.core.predict.zero_paths cimport ZeroPaths
from dforest.core.types cimport df_rows


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
