"""The rules of absolute error; see medians.h."""
from libc.stdint cimport int32_t, int64_t, uint32_t

from dforest.rules.numerics cimport df_exact_sum

cdef extern from "rules/medians.h" nogil:
    uint32_t df_target_sort_key(int32_t target)
    int32_t df_target_of_sort_key(uint32_t key)
    ctypedef struct df_spread:
        pass
    df_spread df_spread_of(int64_t weight, df_exact_sum sum)
    bint df_lies_above(const df_spread* spread, int64_t weight)
    void df_pass(df_spread* spread, int64_t weight, df_exact_sum sum)
    df_exact_sum df_spread_cost(const df_spread* spread, int64_t median)
    double df_cost_decrease_of(df_exact_sum node, df_exact_sum left, df_exact_sum right, double factor)
    double df_deviation_impurity(const df_exact_sum* cost, int64_t weight, int score_exponent)
    bint df_has_half(int64_t weight, int64_t total)
    double df_midpoint_of_medians(double median, double next, int64_t weight, int64_t total)
