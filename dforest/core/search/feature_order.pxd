"""The features of a node in random order, and those that may vary in it; see feature_order.pyx.

In a node of few stored values, the features that its rows store may vary, and those that are not sparse. All others have the
implied code in all of the node's records. Where features are many, and their order is a permutation that can be asked for places
(rules/feature_order.h), the search need not draw features that it would find constant.
"""
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.types cimport Node
from dforest.rules.feature_order cimport (
    df_add_feature_weight, df_draw_feature, df_draw_weighted_feature, df_place_of, df_undo_features,
)
from dforest.rules.random cimport DF_FEATURES, df_stream, df_stream_open


# Use: open with the seed of the tree and the key of the node; next, as often as there are features at most; close, before
# another node is opened. Which features come first follows from the seed and the key alone, and open, next and close take
# time that does not depend on how many features there are, but on how many are drawn.
@cython.final
cdef class FeatureOrder:
    cdef Py_ssize_t n_features
    cdef Py_ssize_t n_drawn        # since open
    cdef uint32_t* order           # [n_features] see rules/feature_order.h
    cdef uint32_t* swapped         # [n_features] see rules/feature_order.h; with weights, the features drawn
    cdef df_stream stream
    # With weights, and with features that come first in every node, whose weights are 0:
    cdef Py_ssize_t n_drawable     # how many features there are to draw; n_features without weights
    cdef Py_ssize_t n_first        # how many of these come first; they have the first places in `order`
    cdef uint64_t* weight          # [n_features] NULL: all have equal chances
    cdef uint64_t* sums            # [n_features + 1] see rules/feature_order.h
    cdef uint64_t left             # the sum of the weights of features that have not been drawn

    cdef int set_weights(self, weight, first) except -1

    cdef inline void open(self, uint32_t seed, uint64_t node_key) noexcept nogil:
        """Begin a node."""
        self.n_drawn = 0
        df_stream_open(&self.stream, seed, node_key, DF_FEATURES)

    cdef inline Py_ssize_t next(self) noexcept nogil:
        """Draw the next feature, while there is one."""
        cdef uint32_t feature
        if self.weight == NULL:
            feature = df_draw_feature(&self.stream, self.order, self.swapped, <uint32_t> self.n_drawn, <uint32_t> self.n_features)
        else:
            if self.n_drawn < self.n_first:
                feature = self.order[self.n_drawn]
            else:
                feature = df_draw_weighted_feature(&self.stream, self.sums, self.weight, <uint32_t> self.n_features, &self.left)
            self.swapped[self.n_drawn] = feature
        self.n_drawn += 1
        return feature

    cdef inline uint32_t place_of(self, uint32_t feature) noexcept nogil:
        """The place of one of DF_MANY_FEATURES features or more in the order of the node."""
        return df_place_of(&self.stream, feature, <uint32_t> self.n_features)

    cdef inline void close(self) noexcept nogil:
        """End the node."""
        cdef Py_ssize_t i
        if self.weight == NULL:
            df_undo_features(self.order, self.swapped, <uint32_t> self.n_drawn)
            return
        for i in range(self.n_first, self.n_drawn):
            df_add_feature_weight(self.sums, <uint32_t> self.n_features, self.swapped[i], self.weight[self.swapped[i]])
            self.left += self.weight[self.swapped[i]]


@cython.final
cdef class Present:
    cdef DataView data
    cdef double present_up_to      # features are looked for where that takes at most so many times the steps of drawing them
    cdef Py_ssize_t n              # how many were found
    cdef uint64_t* sort_keys       # [n] their places and, below, their numbers, ascending
    cdef uint64_t* own_sort_keys   # [n_features]
    cdef uint64_t* other_sort_keys  # [n_features]
    cdef uint32_t* found_in        # [n_features] the search in which a feature was found last
    cdef uint32_t search

    # Find the features of a node, in the order that is open; False: it takes less time to draw them.
    cdef bint find(self, const Node* node, FeatureOrder order, Py_ssize_t max_features, bint skip_constant) noexcept nogil
    cdef void add(self, uint32_t feature, FeatureOrder order) noexcept nogil

    cdef inline Py_ssize_t feature(self, Py_ssize_t i) noexcept nogil:
        return <uint32_t> self.sort_keys[i]

    cdef inline Py_ssize_t place(self, Py_ssize_t i) noexcept nogil:
        return <Py_ssize_t> (self.sort_keys[i] >> 32)
