"""The rules of boosted trees; see boost.h."""
from libc.stdint cimport int32_t, int64_t, uint64_t

from dforest.rules.bounds cimport df_bounds
from dforest.rules.numerics cimport df_exact_sum
from dforest.rules.records cimport df_boost_limits, df_gradient_sums

cdef extern from "rules/boost.h" nogil:
    ctypedef enum df_packing:
        DF_NARROW_WORDS, DF_CONSTANT_WORDS, DF_WIDE_WORDS
    enum:
        DF_GRADIENT_BITS, DF_LIGHT_BITS, DF_LARGEST_ROW_WEIGHT, DF_GRADIENT_SHIFT, DF_HESSIAN_SHIFT, DF_SPILL, DF_WEIGHTED_SPILL
        DF_HEAVY_TAIL, DF_TAIL_BITS, DF_LEAF_TAIL_BITS, DF_GREATEST_SCALE
    ctypedef struct df_boost_sums:
        int64_t gradient, hessian, count
    ctypedef struct df_value_limits:
        double learning_rate, max_step, damping
    df_value_limits df_value_limits_of(double learning_rate, double max_step, bint is_damped, int n_sums)
    int32_t df_gradient_exponent(double largest, int bits)
    int32_t df_quantised_gradient(double x, double factor)
    int32_t df_quantised_hessian(double x, double factor)
    bint df_is_light(double max_weight, double reference)
    bint df_is_far_below(double largest, int32_t exponent, int bits)
    double df_near_scale(int32_t exponent, int bits)
    df_gradient_sums df_both_gradient_sums(df_gradient_sums a, df_gradient_sums b)
    df_bounds df_bounds_in_units(df_bounds bounds, int32_t before, int32_t unit)
    bint df_takes_times(int64_t largest_weight, int64_t sum_of_weights)
    bint df_has_heavy_tail(int64_t largest, int64_t sum, int64_t n)
    df_packing df_choose_packing(bint has_constant_hessian, bint is_weighted, bint is_heavy)
    int32_t df_gradient_shift(df_packing kind)
    int32_t df_hessian_shift(df_packing kind)
    int32_t df_narrowed(int32_t quantised, int32_t shift)
    uint64_t df_pack_narrow_gradient(int32_t gradient, int32_t hessian)
    uint64_t df_pack_gradient(int64_t gradient)
    df_boost_sums df_sums_of_narrow(uint64_t word)
    df_boost_sums df_sums_of_constant(uint64_t word)
    df_boost_sums df_sums_of_wide(uint64_t word, uint64_t hessian)
    df_boost_sums df_sums_of(int kind, uint64_t word, uint64_t second)
    uint64_t df_packed_sums(int kind, int64_t gradient, int64_t hessian, int64_t count)
    df_boost_limits df_boost_limits_of(const df_boost_limits* rules, int32_t gradient_exponent, int32_t hessian_exponent)
    bint df_is_enough(const df_boost_limits* limits, int64_t count, double hessian)
    double df_cut_score(double l2, double gradient_left, double hessian_left, double gradient_right, double hessian_right)
    double df_common_score(double l2, double gradient, double hessian)
    double df_cut_midpoint(const df_boost_limits* limits, df_boost_sums left, df_boost_sums node, df_bounds bounds,
                           int monotonic_cst)
    double df_gain_of_score(const df_boost_limits* limits, bint is_constrained, double score, double gradient, double hessian)
    int32_t df_unit_of_scores(int32_t gradient_exponent, int32_t hessian_exponent)
    double df_category_key(double gradient, double hessian, double smoothing)
    double df_absolute_gain(double gain, int32_t unit, double weight_unit)
    bint df_gains_enough(double gain, int32_t unit, double weight_unit, double min_gain)
    bint df_unseen_goes_left(int64_t n_left, int64_t n_right)
    double df_limited_value(const df_value_limits* limits, double step, double value)
    double df_newton_value(const df_value_limits* limits, df_gradient_sums sums, double l1, double l2)
    bint df_reaches_quantile(int64_t upto, int64_t total, double quantile)
    bint df_ends_at_quantile(int64_t upto, int64_t total, double quantile)
    double df_between_values(double value, double next)
    double df_robust_step(double median, const df_exact_sum* sum, int64_t weight, int32_t exponent)
