"""The features of a node in random order; see feature_order.pyx."""
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from dforest.rules.feature_order cimport df_draw_feature, df_place_of, df_undo_features
from dforest.rules.random cimport DF_FEATURES, df_stream, df_stream_open


# Use: open with the seed of the tree and the path of the node; next, as often as there are features at most; close, before
# another node is opened. Which features come first follows from the seed and the path alone, and open, next and close take
# time that does not depend on how many features there are, but on how many are drawn.
@cython.final
cdef class FeatureOrder:
    cdef Py_ssize_t n_features
    cdef Py_ssize_t n_drawn        # since open
    cdef uint32_t* order           # [n_features] see rules/feature_order.h
    cdef uint32_t* swapped         # [n_features] see rules/feature_order.h
    cdef df_stream stream

    cdef inline void open(self, uint32_t seed, uint64_t path) noexcept nogil:
        """Begin a node."""
        self.n_drawn = 0
        df_stream_open(&self.stream, seed, path, DF_FEATURES)

    cdef inline Py_ssize_t next(self) noexcept nogil:
        """Draw the next feature, while there is one."""
        cdef Py_ssize_t feature = df_draw_feature(&self.stream, self.order, self.swapped, <uint32_t> self.n_drawn,
                                                  <uint32_t> self.n_features)
        self.n_drawn += 1
        return feature

    cdef inline uint32_t place_of(self, uint32_t feature) noexcept nogil:
        """The place of one of DF_MANY_FEATURES features or more in the order of the node."""
        return df_place_of(&self.stream, feature, <uint32_t> self.n_features)

    cdef inline void close(self) noexcept nogil:
        """End the node."""
        df_undo_features(self.order, self.swapped, <uint32_t> self.n_drawn)
