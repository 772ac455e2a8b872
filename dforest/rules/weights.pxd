"""Integers that stand for weights where no unit makes all weights integers; see weights.h."""
from libc.stdint cimport int32_t, int64_t, uint32_t

from dforest.rules.records cimport df_quantiser

cdef extern from "rules/weights.h" nogil:
    enum:
        DF_ROOT_SHIFT
        DF_LEAF_WEIGHT_BITS
    double df_low_weight_below(int32_t shift)
    int32_t df_weight_shift(double max_weight)
    int32_t df_shift_if_low_weight(int32_t shift, double max_weight)
    int32_t df_fine_shift(double max_weight)
    int32_t df_median_shift(int32_t fine_shift, int64_t n_draws)
    int df_offset_bits(int64_t n_draws)
    enum:
        DF_DRAWS_BITS
    df_quantiser df_weight_quantiser_of(int32_t shift)
    int64_t df_shifted_exact(const df_quantiser* weight_quantiser, double exact)
    ctypedef struct df_weight_parts:
        int64_t low, high
    df_weight_parts df_parts_of(int64_t weight, uint32_t count)
    df_weight_parts df_both_parts(df_weight_parts a, df_weight_parts b)
    double df_parts_value(df_weight_parts sum)
    int64_t df_finalize_weights(int64_t n_draws, int32_t shift, const int64_t* low, const int64_t* high, int64_t n, int64_t* kept)
    uint32_t df_node_weight(const df_quantiser* weight_quantiser, double exact)
    ctypedef struct df_shifted_sum:
        int64_t weight
        int32_t shift
    df_shifted_sum df_both_weights(df_shifted_sum a, df_shifted_sum b)
    double df_weight_fraction(df_shifted_sum child, df_shifted_sum parent)
    void df_coarser_classes(const int64_t* weights, int64_t n, int32_t by, int64_t total, int64_t* to)
