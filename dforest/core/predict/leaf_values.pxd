"""What leaves add to predictions, row by row, as a table or as lists of classes: see leaf_values.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class LeafValues:
    cdef readonly Py_ssize_t n, n_columns    # rows, and numbers of a row
    cdef readonly bint is_listed
    cdef const double[:, ::1] table          # [n, n_columns] or, if they are listed, None
    cdef const int64_t[::1] starts           # [n + 1] and so on, as in `ClassLists`; or None
    cdef const int32_t[::1] classes
    cdef const double[::1] numbers

    cdef inline void add(self, Py_ssize_t row, double* sums) noexcept nogil:
        """Add a row. INOUT sums : [n_columns]"""
        cdef Py_ssize_t k
        if self.is_listed:
            for k in range(self.starts[row], self.starts[row + 1]):
                sums[self.classes[k]] += self.numbers[k]
        else:
            for k in range(self.n_columns):
                sums[k] += self.table[row, k]
