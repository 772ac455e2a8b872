"""Trees of few leaves, made ready for many rows: see marks.h.

A `MarkedTrees` owns the tests of some trees while these predict some rows. What leaves add, it copies where that is one value;
where it is several, as of classes, the forest must stay.
"""
cimport cython
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc

from dforest.core.loops cimport loops
from dforest.core.predict.walk cimport df_mark_tree, df_tree, df_value_row

cdef enum:
    TOGETHER = 1 << 13         # tests of trees that rows go down before the next rows do, so that they stay in a cache


cdef Py_ssize_t max_marked(const df_packed* forest) noexcept nogil:
    """The most leaves of a marked tree, which are the bits of a key; 0 where a walk is faster."""
    if forest.is_wide:
        return DF_MAX_MARKED if loops.mark64 != NULL else 0
    return DF_MAX_MARKED // 2


@cython.final
cdef class MarkedTrees:
    """The tests of some trees of a forest, of those that have few leaves. See `PackedForest` for what `of` takes."""

    @staticmethod
    cdef MarkedTrees of(const df_packed* forest, const double[:, ::1] values, const int64_t[::1] bases, Py_ssize_t n_outputs,
                        Py_ssize_t first, Py_ssize_t end):
        cdef MarkedTrees own = MarkedTrees.__new__(MarkedTrees)
        cdef Py_ssize_t n_values = values.shape[1], most = max_marked(forest), room, t, i
        cdef uint32_t leaves[DF_MAX_MARKED]
        cdef df_marked* tests
        cdef const double* value
        cdef uint32_t* rows
        cdef int n_tests
        room = 0
        for t in range(first, end):                # half of a tree's slots are leaves: its nodes and an empty slot
            i = forest.starts[t + 1] - forest.starts[t]
            room += i // 2 if i <= 2 * most else 0
        own.is_wide, own.n_values, own.n_outputs = forest.is_wide, n_values, n_outputs
        own.tests = tests = <df_marked*> malloc((room + most) * sizeof(df_marked))
        own.values = <double*> malloc((room + most if n_values == 1 else 1) * sizeof(double))
        own.rows = rows = <uint32_t*> malloc((room + most) * sizeof(uint32_t))
        own.owned = <df_marked_tree*> calloc(end - first + 1, sizeof(df_marked_tree))
        if own.tests == NULL or own.values == NULL or own.rows == NULL or own.owned == NULL:
            raise MemoryError()
        own.trees = own.owned - first
        with nogil:
            for t in range(first, end):
                n_tests = -1
                if forest.starts[t + 1] - forest.starts[t] <= 2 * most:
                    n_tests = df_mark_tree(forest, t, <int> most, tests, leaves)
                value = own.values + (rows - own.rows) if n_values == 1 else &values[bases[t], 0]
                own.trees[t] = df_marked_tree(tests, value, rows, n_tests)
                for i in range(n_tests + 1):
                    rows[i] = df_value_row(df_tree(forest, t), leaves[i], forest)
                    if n_values == 1:
                        own.values[rows - own.rows + i] = values[bases[t] + rows[i], 0]
                rows += n_tests + 1
                tests += max(n_tests, 0)
        return own

    def __dealloc__(self):
        free(self.tests)
        free(self.values)
        free(self.rows)
        free(self.owned)

    cdef Py_ssize_t run(self, Py_ssize_t t, Py_ssize_t end) noexcept nogil:
        """Where a run of marked trees ends that begins with tree t; t if that isn't marked."""
        cdef Py_ssize_t n_tests = 0
        while t < end and self.trees[t].n_tests >= 0 and n_tests < TOGETHER:
            n_tests += self.trees[t].n_tests
            t += 1
        return t

    cdef void add(self, Py_ssize_t first, Py_ssize_t end, bint has_missing, const void* tiles, Py_ssize_t n_features,
                  Py_ssize_t n, double* sums) noexcept nogil:
        """Add what a run of trees says of n rows in tiles. INOUT sums : as of `PackedForest.add`"""
        if self.is_wide:
            loops.mark64(has_missing, self.trees, first, end, self.n_values, self.n_outputs, <const uint64_t*> tiles,
                         n_features * DF_LANES, n, sums)
        else:
            loops.mark32(has_missing, self.trees, first, end, self.n_values, self.n_outputs, <const uint32_t*> tiles,
                         n_features * DF_LANES, n, sums)
