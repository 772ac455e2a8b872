"""Trees of few leaves, made ready for many rows: see quickscorer.h.

A `QuickScorerTrees` owns the tests of some trees while these predict some rows. What leaves add, it copies where that is one
value; where it is several, as of classes, the forest must stay.
"""
cimport cython
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc

from dforest.core.loops cimport loops
from dforest.core.predict.walk cimport df_quickscorer_tree_of, df_tree, df_value_row

cdef enum:
    TESTS_TOGETHER = 1 << 13   # tests of trees that rows go down before the next rows do, so that they stay in a cache


cdef Py_ssize_t max_quickscorer_leaves(const df_packed* forest) noexcept nogil:
    """The most leaves of a tree that is predicted so, which are the bits of a key; 0 where a walk is faster."""
    if forest.is_wide:
        return DF_MAX_QUICKSCORER_LEAVES if loops.quickscorer64 != NULL else 0
    return DF_MAX_QUICKSCORER_LEAVES // 2


@cython.final
cdef class QuickScorerTrees:
    """The tests of some trees of a forest, of those that have few leaves. See `PackedForest` for what `of` takes."""

    @staticmethod
    cdef QuickScorerTrees of_forest(const df_packed* forest, const double[:, ::1] values, const int64_t[::1] bases,
                                    Py_ssize_t n_outputs, Py_ssize_t first, Py_ssize_t end):
        cdef QuickScorerTrees scorer = QuickScorerTrees.__new__(QuickScorerTrees)
        cdef Py_ssize_t n_values = values.shape[1], most = max_quickscorer_leaves(forest), room, t, i
        cdef uint32_t leaves[DF_MAX_QUICKSCORER_LEAVES]
        cdef df_leaf_test* tests
        cdef const double* value
        cdef uint32_t* rows
        cdef int n_tests
        room = 0
        for t in range(first, end):                # half of a tree's slots are leaves: its nodes and an empty slot
            i = forest.starts[t + 1] - forest.starts[t]
            room += i // 2 if i <= 2 * most else 0
        scorer.is_wide, scorer.n_values, scorer.n_outputs = forest.is_wide, n_values, n_outputs
        scorer.tests = tests = <df_leaf_test*> malloc((room + most) * sizeof(df_leaf_test))
        scorer.values = <double*> malloc((room + most if n_values == 1 else 1) * sizeof(double))
        scorer.rows = rows = <uint32_t*> malloc((room + most) * sizeof(uint32_t))
        scorer.owned = <df_quickscorer_tree*> calloc(end - first + 1, sizeof(df_quickscorer_tree))
        if scorer.tests == NULL or scorer.values == NULL or scorer.rows == NULL or scorer.owned == NULL:
            raise MemoryError()
        scorer.trees = scorer.owned - first
        with nogil:
            for t in range(first, end):
                n_tests = -1
                if forest.starts[t + 1] - forest.starts[t] <= 2 * most:
                    n_tests = df_quickscorer_tree_of(forest, t, <int> most, tests, leaves)
                value = &values[bases[t], 0] if n_values != 1 else scorer.values + (rows - scorer.rows)
                scorer.trees[t] = df_quickscorer_tree(tests, value, rows, n_tests)
                for i in range(n_tests + 1):
                    rows[i] = df_value_row(df_tree(forest, t), leaves[i], forest)
                    if n_values == 1:
                        scorer.values[rows - scorer.rows + i] = values[bases[t] + rows[i], 0]
                rows += n_tests + 1
                tests += max(n_tests, 0)
        return scorer

    def __dealloc__(self):
        free(self.tests)
        free(self.values)
        free(self.rows)
        free(self.owned)

    cdef Py_ssize_t end_of_run(self, Py_ssize_t t, Py_ssize_t end) noexcept nogil:
        """Where a run of trees of few leaves ends that begins with tree t; t if that one has more."""
        cdef Py_ssize_t n_tests = 0
        while t < end and self.trees[t].n_tests >= 0 and n_tests < TESTS_TOGETHER:
            n_tests += self.trees[t].n_tests
            t += 1
        return t

    cdef void add_predictions(self, Py_ssize_t first, Py_ssize_t end, bint has_missing, const void* tiles, Py_ssize_t n_features,
                              Py_ssize_t n, double* sums) noexcept nogil:
        """Add what a run of trees says of n rows in tiles. INOUT sums : as of `PackedForest.add`"""
        if self.is_wide:
            loops.quickscorer64(has_missing, self.trees, first, end, self.n_values, self.n_outputs, <const uint64_t*> tiles,
                                n_features * DF_LANES, n, sums)
        else:
            loops.quickscorer32(has_missing, self.trees, first, end, self.n_values, self.n_outputs, <const uint32_t*> tiles,
                                n_features * DF_LANES, n, sums)
