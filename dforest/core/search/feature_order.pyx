"""The features of a node: drawn one by one in random order, without replacement (rules/feature_order.h), and those that may vary.

A `FeatureOrder` owns its arrays. One serves a thread for all its nodes, one after another. A `Present` belongs to one thread and
owns its scratch; which features rows store is the data's.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from dforest.core.sorting cimport insertion_sort, radix_sort
from dforest.core.types cimport data_row
from dforest.rules.feature_order cimport DF_MANY_FEATURES


MANY_FEATURES = DF_MANY_FEATURES     # from so many on, the order is a permutation


@cython.final
cdef class FeatureOrder:
    """The features of a node in random order, drawn one by one without replacement.

    Parameters
    ----------
    n_features : int
    weight : ndarray of shape (n_features,), dtype uint64, optional
        With which chances features are drawn: see rules/feature_order.h. Their sum is 2**52 at most. Features of weight 0 are
        never drawn. None means equal chances, by other random numbers than equal weights.
    first : sequence of int, default=()
        Features that come first in every node, in this order; `weight` must be given with them.
    """

    def __cinit__(self, Py_ssize_t n_features, weight=None, first=()):
        cdef Py_ssize_t j
        self.n_features = self.n_drawable = n_features
        self.order = <uint32_t*> malloc(n_features * sizeof(uint32_t))
        self.swapped = <uint32_t*> malloc(n_features * sizeof(uint32_t))
        if self.order == NULL or self.swapped == NULL:
            raise MemoryError()
        for j in range(n_features):
            self.order[j] = <uint32_t> j
        if weight is not None:
            self.set_weights(weight, first)

    cdef int set_weights(self, weight, first) except -1:
        cdef Py_ssize_t j
        if len(weight) != self.n_features:
            raise ValueError(f"{len(weight)} weights of {self.n_features} features")
        self.weight = <uint64_t*> malloc(self.n_features * sizeof(uint64_t))
        self.sums = <uint64_t*> calloc(self.n_features + 1, sizeof(uint64_t))
        if self.weight == NULL or self.sums == NULL:
            raise MemoryError()
        for j in range(self.n_features):
            self.weight[j] = weight[j]
        for j, feature in enumerate(first):
            self.order[j] = feature
            self.weight[<Py_ssize_t> feature] = 0
        self.n_first = self.n_drawable = len(first)
        for j in range(self.n_features):
            self.n_drawable += self.weight[j] > 0
            self.left += self.weight[j]
            df_add_feature_weight(self.sums, <uint32_t> self.n_features, <uint32_t> j, self.weight[j])
        return 0

    def __dealloc__(self):
        free(self.order)
        free(self.swapped)
        free(self.weight)
        free(self.sums)

    def draw_each(self, const uint32_t[::1] seeds not None, const uint64_t[::1] node_keys not None, Py_ssize_t first,
                  Py_ssize_t n):
        """Some features of many nodes: those from the place `first` to `first` + n - 1 in the order of each node.

        Parameters
        ----------
        seeds, node_keys : ndarray of shape (n_nodes,)
            The seeds of the nodes' trees, and the nodes' keys.
        first, n : int

        Returns
        -------
        ndarray of shape (n_nodes, n), dtype int32
        """
        cdef Py_ssize_t i, j, feature
        if first < 0 or n < 0 or first + n > self.n_drawable or seeds.shape[0] != node_keys.shape[0]:
            raise ValueError(f"cannot draw {n} of {self.n_drawable} features from place {first} on")
        result = np.empty((seeds.shape[0], n), np.int32)
        cdef int32_t[:, ::1] out = result
        with nogil:
            for i in range(seeds.shape[0]):
                self.open(seeds[i], node_keys[i])
                for j in range(first + n):
                    feature = self.next()
                    if j >= first:
                        out[i, j - first] = <int32_t> feature
                self.close()
        return result

    def places(self, uint32_t seed, uint64_t node_key):
        """The place of each of many features in the order of a node: list of int."""
        if self.n_features < DF_MANY_FEATURES:
            raise ValueError(f"{self.n_features} features; allowed are {DF_MANY_FEATURES} or more")
        self.open(seed, node_key)
        places = [self.place_of(j) for j in range(self.n_features)]
        self.close()
        return places

    def draw(self, uint32_t seed, uint64_t node_key, Py_ssize_t n):
        """The first n features in the order of a node, as a list."""
        if not 0 <= n <= self.n_drawable:
            raise ValueError(f"cannot draw {n} of {self.n_drawable} features")
        self.open(seed, node_key)
        drawn = [self.next() for _ in range(n)]
        self.close()
        return drawn


cdef enum:
    INSERTION_BELOW = 24


@cython.final
cdef class Present:
    """Finds the features that may vary in nodes of few stored values.

    Parameters
    ----------
    data : DataView
        After `add_present`.
    tuning : dict
        ``present_up_to``: the field, if it is not to have its default.
    """

    def __cinit__(self, DataView data not None, dict tuning not None):
        self.data = data
        self.present_up_to = tuning.get("present_up_to", 4.0)
        self.own_sort_keys = <uint64_t*> malloc(data.n_features * sizeof(uint64_t))
        self.other_sort_keys = <uint64_t*> malloc(data.n_features * sizeof(uint64_t))
        self.found_in = <uint32_t*> calloc(data.n_features, sizeof(uint32_t))
        if self.own_sort_keys == NULL or self.other_sort_keys == NULL or self.found_in == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.own_sort_keys)
        free(self.other_sort_keys)
        free(self.found_in)

    cdef bint find(self, const Node* node, FeatureOrder order, Py_ssize_t max_features, bint skip_constant) noexcept nogil:
        cdef const int64_t* begin = self.data.present_from
        cdef Py_ssize_t i, k, row
        cdef int64_t n_stored = self.data.n_dense
        cdef double most, n_features = <double> self.data.n_features
        # Of n features that vary, among all, every (all / n)-th that is drawn does.
        most = self.present_up_to * n_features * (max_features if skip_constant else 1)
        for i in range(node.n):
            row = data_row(node.rows, node.records[i].row)
            n_stored += begin[row + 1] - begin[row]
            if (n_stored if skip_constant else n_stored - max_features) * min(<double> n_stored, n_features) > most:
                return False
        self.n = 0
        self.sort_keys = self.own_sort_keys
        self.search += 1
        if self.search == 0:             # all numbers of searches have been used
            memset(self.found_in, 0, self.data.n_features * sizeof(uint32_t))
            self.search = 1
        for i in range(self.data.n_dense):
            self.add(self.data.dense[i], order)
        for i in range(node.n):
            row = data_row(node.rows, node.records[i].row)
            for k in range(begin[row], begin[row + 1]):
                if self.found_in[self.data.present[k]] != self.search:
                    self.found_in[self.data.present[k]] = self.search
                    self.add(self.data.present[k], order)
        if self.n < INSERTION_BELOW:
            insertion_sort(self.sort_keys, self.n)
        else:
            self.sort_keys = radix_sort(self.sort_keys, self.other_sort_keys, self.n)
        return True

    cdef inline void add(self, uint32_t feature, FeatureOrder order) noexcept nogil:
        self.sort_keys[self.n] = <uint64_t> order.place_of(feature) << 32 | feature
        self.n += 1
