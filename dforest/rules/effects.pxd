"""The rules by which trees tell rows apart by effects; see effects.h."""
from libc.stdint cimport int32_t, int64_t

from dforest.rules.numerics cimport df_exact_sum

cdef extern from "rules/effects.h" nogil:
    enum:
        DF_EFFECT_BOUNDS

    ctypedef struct df_effect_rules:
        int64_t n_outcomes, n_treatments
        int64_t is_instrumental
        int64_t stabilizes
        int64_t least
        double alpha
        double imbalance_penalty

    int64_t df_effect_read(const df_effect_rules* rules)
    int64_t df_effect_first_instrument(const df_effect_rules* rules)
    int64_t df_effect_moments(const df_effect_rules* rules)
    int64_t df_effect_scored(const df_effect_rules* rules)
    int64_t df_effect_columns(const df_effect_rules* rules)
    int64_t df_effect_words(const df_effect_rules* rules)
    int32_t df_effect_integer(const double* node, int64_t c, double moment)
    void df_effect_scale(const df_effect_rules* rules, double* node, int64_t c, double lo, double hi)
    void df_effect_solve(const df_effect_rules* rules, double* node, int64_t weight, const int64_t* whole,
                         const df_exact_sum* sums, const df_exact_sum* products)
    double df_effect_column(const df_effect_rules* rules, const double* node, const double* y, int64_t column)
    double df_effect_sum(double weight, double around, double origin, double unit)
    bint df_effect_is_stable(const df_effect_rules* rules, double w, double n_draws, double w_left, const double* total,
                             const double* left, double* penalty)
    double df_effect_penalty(const df_effect_rules* rules, double penalty, double mean_weight, int exponent)
