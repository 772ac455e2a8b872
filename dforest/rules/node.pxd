"""The rules of a node; see node.h."""
from libc.stdint cimport int32_t, int64_t, uint32_t

from dforest.rules.numerics cimport df_exact_sum
from dforest.rules.records cimport df_leaf_rules, df_limits, df_measure, df_open_node, df_quantiser

cdef extern from "rules/node.h" nogil:
    enum:
        DF_LEAF_BITS
    int64_t df_min_split_size(const df_limits* limits, double root_weight)
    double df_shifted_weight(int64_t weight, int32_t shift)
    bint df_is_leaf_by_size(const df_limits* limits, int64_t depth, int64_t n_draws, double weight, double root_weight)
    bint df_is_pure_enough(const df_limits* limits, double impurity)
    df_leaf_rules df_leaf_rules_of(const df_limits* limits, double root_weight, int32_t shift)
    int df_score_exponent(int64_t criterion, int32_t exponent)
    int32_t df_absolute_exponent(int impurity_exponent, int32_t shift)
    bint df_decreases_enough(const df_limits* limits, double score, int32_t exponent, double root_weight)
    df_open_node df_root_of(int64_t n, uint32_t seed)
    df_open_node df_child_of(const df_open_node* parent, bint right, int64_t n_left, int32_t monotonic_cst, double midpoint)
    bint df_is_narrow(int64_t n, int64_t range, int64_t made_for)
    int32_t df_choose_scale(double lo, double hi, int bits, double* centre)
    df_quantiser df_quantiser_of(double centre, int32_t exponent)
    int32_t df_quantised(const df_quantiser* scale, double y)
    double df_target_of(double quantised, double centre, int32_t exponent)
    double df_mean_target(const int64_t* statistic, bint is_wide, double centre, int32_t exponent)
    double df_square_impurity(const df_exact_sum* squares, int64_t weight, const df_measure* measure, int score_exponent)
    double df_deviance_impurity(const df_exact_sum* deviances, int64_t weight, int score_exponent)
    int64_t df_leaf_offset(double y, double centre, int32_t exponent)
    double df_leaf_mean(const df_exact_sum* sum, double weight, double centre, int32_t exponent, double lo, double hi)
