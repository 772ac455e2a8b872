"""Rows of X, opened for prediction: pointers, and what keeps them alive."""
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t

import numpy as np

from dforest.core.sparse_rows import SparseRows


cdef class Rows:
    """The memory of an array's rows, of one row, or of `SparseRows`, held while this object lives.

    Parameters
    ----------
    X : ndarray of shape (n, n_features) or (n_features,), dtype float32 or float64, or SparseRows
        C-contiguous.
    n_features : int
        Of the forest that the rows are for.
    splitter : Splitter or None
        That forest's, if the tests are its own.
    """

    def __cinit__(self, X, Py_ssize_t n_features, splitter):
        if isinstance(X, SparseRows):
            self.check(X.n_features, n_features)
            if splitter is not None:
                raise ValueError(f"X is sparse, but the forest's tests are those of {splitter!r}, which look at dense "
                                 "rows; allowed is X.toarray()")
            self.open_sparse(X)
            return
        if not isinstance(X, np.ndarray):
            raise TypeError(f"X is of the type {type(X).__name__}; allowed are arrays of rows, or one row, of float32 or float64")
        PyObject_GetBuffer(X, &self.buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        self.is_open = True
        cdef bytes kind = self.buffer.format
        cdef int n_axes = self.buffer.ndim
        if n_axes not in (1, 2) or kind not in (b"f", b"d"):
            raise ValueError(f"X has {n_axes} dimensions and the type {kind.decode()!r}; "
                             "allowed are arrays of rows, or one row, of float32 or float64")
        self.check(self.buffer.shape[n_axes - 1], n_features)
        self.is_single = n_axes == 1
        self.n = 1 if self.is_single else self.buffer.shape[0]
        self.rows.x = <const char*> self.buffer.buf
        self.rows.stride = n_features * self.buffer.itemsize
        self.rows.is_double = kind == b"d"

    cdef int check(self, Py_ssize_t n_features, Py_ssize_t n_known) except -1:
        if n_features != n_known:
            raise ValueError(f"X has {n_features} features, but the forest was grown on {n_known}")
        return 0

    cdef int open_sparse(self, X) except -1:
        cdef const int32_t[::1] columns = X.columns
        cdef const int64_t[::1] starts = X.starts
        cdef const char[::1] values = X.values.view("i1")
        self.held = columns, starts, values
        self.is_sparse = True
        self.n = starts.shape[0] - 1
        self.rows.is_double = self.sparse.is_double = X.dtype == np.float64
        self.rows.stride = max(1, X.n_features) * X.dtype.itemsize
        self.sparse.starts = &starts[0]
        if columns.shape[0] > 0:
            self.sparse.values, self.sparse.columns = &values[0], &columns[0]
        return 0

    def __dealloc__(self):
        if self.is_open:
            PyBuffer_Release(&self.buffer)
