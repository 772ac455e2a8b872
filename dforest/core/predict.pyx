"""Prediction: rows through packed nodes, on many threads.

A block of rows passes all trees before the next block starts; a row's sum over trees is formed by
one thread in the order of the trees, so it has the same bits on any number of threads.

A `PackedForest` owns its nodes and borrows the leaf values and offsets, read only; any number of
threads may use one.
"""
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

cdef enum:
    ROWS = 128                # of a block


cdef class PackedForest:
    """A forest made ready to predict.

    Parameters
    ----------
    forest : Forest
    values : ndarray of shape (n_leaves, n_outputs), dtype float64
        What each leaf adds to the prediction.
    """

    def __cinit__(self, forest not None, const double[:, ::1] values not None):
        if forest.n_features >= LEAF // FEATURE:
            raise ValueError(f"prediction by {forest.n_features} features; allowed are fewer than {LEAF // FEATURE}")
        packed = np.empty(len(forest.feature), [("threshold", np.float64), ("feature", np.uint32), ("right", np.uint32)])
        packed["threshold"] = forest.threshold
        packed["feature"] = np.where(forest.feature < 0, LEAF, FEATURE * forest.feature.astype(np.int64) + forest.missing_left)
        packed["right"] = forest.right
        if len(forest.subset_offsets) > 1:
            self.pack_subsets(packed, forest)
        self.nodes = packed
        self.offsets = forest.node_offsets
        self.values = values
        self.n_trees = forest.n_trees
        self.n_features = forest.n_features
        self.n_outputs = values.shape[1]

    cdef int pack_subsets(self, packed, forest) except -1:
        """Tests of categories: a word where their number allows it."""
        # Not empty, even if all subsets are: that there are some shows in the pointer.
        self.owner = np.append(forest.subset_words, np.uint64(0))
        cdef const uint64_t[::1] words = self.owner
        has_subset = (forest.feature >= 0) & (forest.n_categories[forest.feature] > 0)
        n_words = np.diff(forest.subset_offsets)
        first = forest.subset_offsets[: len(n_words)]
        is_wide = n_words > 1
        flags = IS_SUBSET + IS_WIDE * is_wide
        test = np.zeros(len(n_words), np.uint64)
        test[n_words == 1] = forest.subset_words[first[n_words == 1]]
        test[is_wide] = (first << 16 | n_words)[is_wide]
        packed["threshold"][has_subset] = test.view(np.float64)
        packed["feature"][has_subset] += flags.astype(np.uint32)
        self.words = &words[0]
        return 0

    def mean(self, const real_t[:, ::1] X not None, int n_threads):
        """The mean over trees of the values of the leaves that each row reaches.

        Parameters
        ----------
        X : ndarray of shape (n, n_features), dtype float32 or float64
        n_threads : int

        Returns
        -------
        ndarray of shape (n, n_outputs), dtype float64
        """
        cdef Py_ssize_t n = X.shape[0], n_blocks = (n + ROWS - 1) // ROWS, b
        self.check(X.shape[1])
        result = np.zeros((n, self.n_outputs))
        cdef double[:, ::1] out = result
        for b in prange(n_blocks, nogil=True, num_threads=max(1, min(n_threads, n_blocks)), schedule="static"):
            add_block(self, X, b * ROWS, min(n, (b + 1) * ROWS), out)
        return result

    def apply(self, const real_t[:, ::1] X not None, int n_threads):
        """The number of the leaf's node, by row and tree: ndarray of shape (n, n_trees), dtype int64."""
        cdef Py_ssize_t n = X.shape[0], i, t
        self.check(X.shape[1])
        result = np.empty((n, self.n_trees), np.int64)
        cdef int64_t[:, ::1] out = result
        for i in prange(n, nogil=True, num_threads=max(1, min(n_threads, n // ROWS + 1)), schedule="static"):
            for t in range(self.n_trees):
                out[i, t] = find_leaf(&self.nodes[self.offsets[t]], &X[i, 0], self.words)
        return result

    def paths(self, const real_t[:, ::1] X not None):
        """The nodes that each row passes, over all trees.

        Returns
        -------
        indices : ndarray, dtype int64
            Places in the node arrays, row after row, ascending in each.
        indptr : ndarray of shape (n + 1,), dtype int64
            Where each row's begin.
        """
        cdef Py_ssize_t n = X.shape[0], i, t, at, length = 0
        cdef const PackedNode* nodes
        self.check(X.shape[1])
        starts = np.zeros(n + 1, np.int64)
        cdef int64_t[::1] indptr = starts, to
        result = None
        for counting in (True, False):
            if not counting:
                result = np.empty(length, np.int64)
                to = result
                length = 0
            for i in range(n):
                for t in range(self.n_trees):
                    nodes = &self.nodes[self.offsets[t]]
                    at = 0
                    while True:
                        if not counting:
                            to[length] = self.offsets[t] + at
                        length += 1
                        if nodes[at].feature == LEAF:
                            break
                        at = step(&nodes[at], at, X[i, feature_of(&nodes[at])], self.words)
                indptr[i + 1] = length
        return result, starts

    cdef int check(self, Py_ssize_t n_features) except -1:
        if n_features != self.n_features:
            raise ValueError(f"X has {n_features} features, but the forest was grown on {self.n_features}")
        return 0


cdef void add_block(PackedForest forest, const real_t[:, ::1] X, Py_ssize_t first, Py_ssize_t last,
                    double[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t i, j, t, k, n
    cdef uint32_t leaf
    cdef Py_ssize_t rows[TOGETHER]
    cdef Py_ssize_t at[TOGETHER]
    cdef const PackedNode* nodes
    for t in range(forest.n_trees):
        nodes = &forest.nodes[forest.offsets[t]]
        i = first
        while i < last:
            n = min(<Py_ssize_t> TOGETHER, last - i)
            for j in range(n):
                rows[j] = i + j
            find_leaves(nodes, X, rows, n, forest.words, at)
            for j in range(n):
                leaf = nodes[at[j]].right
                for k in range(forest.n_outputs):
                    out[i + j, k] += forest.values[leaf, k]
            i += n
    for i in range(first, last):
        for k in range(forest.n_outputs):
            out[i, k] /= <double> forest.n_trees
