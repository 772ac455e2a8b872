"""The order in which features are tried; see feature_order.h."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.rules.random cimport df_stream

cdef extern from "rules/feature_order.h" nogil:
    enum:
        DF_MANY_FEATURES
    uint32_t df_place_of(df_stream* stream, uint32_t feature, uint32_t n)
    uint32_t df_draw_feature(df_stream* stream, uint32_t* order, uint32_t* swapped, uint32_t n_drawn, uint32_t n)
    void df_add_feature_weight(uint64_t* sums, uint32_t n, uint32_t feature, uint64_t weight)
    uint32_t df_draw_weighted_feature(df_stream* stream, uint64_t* sums, const uint64_t* weight, uint32_t n, uint64_t* left)
    int df_tries_more(int64_t n_drawn, int64_t n, int64_t n_counted, int64_t max_features, int has_cut)
    int64_t df_round_size(int64_t n_counted, int64_t max_features)
    void df_undo_features(uint32_t* order, const uint32_t* swapped, uint32_t n_drawn)
