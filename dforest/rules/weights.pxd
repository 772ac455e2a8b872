"""Integers that stand for weights where no unit makes all weights integers; see weights.h."""
from libc.stdint cimport int32_t, int64_t, uint32_t

from dforest.rules.node cimport df_quantiser

cdef extern from "rules/weights.h" nogil:
    enum:
        DF_ROOT_SHIFT
    double df_light_below(int32_t shift)
    int32_t df_weight_shift(double heaviest)
    int32_t df_leaf_shift(double heaviest, int64_t n_draws)
    enum:
        DF_DRAWS_BITS
    int64_t df_draws_word(int64_t n_draws, int32_t shift)
    df_quantiser df_weigher_of(int32_t shift)
    int64_t df_leaf_weight(const df_quantiser* weigher, double exact)
    uint32_t df_node_weight(const df_quantiser* weigher, double exact)
    ctypedef struct df_shifted_sum:
        int64_t weight
        int32_t shift
    df_shifted_sum df_both_weights(df_shifted_sum a, df_shifted_sum b)
    double df_weight_share(df_shifted_sum child, df_shifted_sum parent)
    int64_t df_coarser_weight(int64_t weight, int32_t by)
    void df_coarser_classes(const int64_t* weights, int64_t n, int32_t by, int64_t total, int64_t* to)
