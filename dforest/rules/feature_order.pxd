"""The order in which features are tried; see feature_order.h."""
from libc.stdint cimport uint32_t

from dforest.rules.random cimport df_stream

cdef extern from "rules/feature_order.h" nogil:
    uint32_t df_draw_feature(df_stream* stream, uint32_t* order, uint32_t* swapped, uint32_t n_drawn, uint32_t n)
    void df_undo_features(uint32_t* order, const uint32_t* swapped, uint32_t n_drawn)
