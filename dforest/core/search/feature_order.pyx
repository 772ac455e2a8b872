"""The features of a node in random order, drawn one by one without replacement (rules/feature_order.h).

A `FeatureOrder` owns its arrays. One serves a thread for all its nodes, one after another.
"""
cimport cython
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from dforest.rules.feature_order cimport DF_MANY_FEATURES


MANY_FEATURES = DF_MANY_FEATURES     # from so many on, the order is a permutation


@cython.final
cdef class FeatureOrder:
    """The features of a node in random order, drawn one by one without replacement.

    Parameters
    ----------
    n_features : int
    """

    def __cinit__(self, Py_ssize_t n_features):
        cdef Py_ssize_t j
        self.n_features = n_features
        self.order = <uint32_t*> malloc(n_features * sizeof(uint32_t))
        self.swapped = <uint32_t*> malloc(n_features * sizeof(uint32_t))
        if self.order == NULL or self.swapped == NULL:
            raise MemoryError()
        for j in range(n_features):
            self.order[j] = <uint32_t> j

    def __dealloc__(self):
        free(self.order)
        free(self.swapped)

    def draw_each(self, const uint32_t[::1] seeds not None, const uint64_t[::1] paths not None, Py_ssize_t first,
                  Py_ssize_t n):
        """Some features of many nodes: those from the place `first` to `first` + n - 1 in the order of each node.

        Parameters
        ----------
        seeds, paths : ndarray of shape (n_nodes,)
            The seeds of the nodes' trees, and the nodes' paths.
        first, n : int

        Returns
        -------
        ndarray of shape (n_nodes, n), dtype int32
        """
        cdef Py_ssize_t i, j, feature
        if first < 0 or n < 0 or first + n > self.n_features or seeds.shape[0] != paths.shape[0]:
            raise ValueError(f"cannot draw {n} of {self.n_features} features from place {first} on")
        result = np.empty((seeds.shape[0], n), np.int32)
        cdef int32_t[:, ::1] out = result
        with nogil:
            for i in range(seeds.shape[0]):
                self.open(seeds[i], paths[i])
                for j in range(first + n):
                    feature = self.next()
                    if j >= first:
                        out[i, j - first] = <int32_t> feature
                self.close()
        return result

    def places(self, uint32_t seed, uint64_t path):
        """The place of each of many features in the order of a node: list of int."""
        if self.n_features < DF_MANY_FEATURES:
            raise ValueError(f"{self.n_features} features; allowed are {DF_MANY_FEATURES} or more")
        self.open(seed, path)
        places = [self.place_of(j) for j in range(self.n_features)]
        self.close()
        return places

    def draw(self, uint32_t seed, uint64_t path, Py_ssize_t n):
        """The first n features in the order of a node, as a list."""
        if not 0 <= n <= self.n_features:
            raise ValueError(f"cannot draw {n} of {self.n_features} features")
        self.open(seed, path)
        drawn = [self.next() for _ in range(n)]
        self.close()
        return drawn
