"""What the built-in criteria say of statistics; see criteria.h."""
from libc.stdint cimport int32_t, int64_t

from dforest.rules.records cimport df_draw_kind, df_measure, df_record

cdef extern from "rules/criteria.h" nogil:
    int64_t df_low_part(int64_t product)
    int64_t df_high_part(int64_t product)
    void df_add_draws(df_draw_kind kind, int64_t* statistic, const df_record* record)
    ctypedef struct df_outputs:
        df_draw_kind kind
        int64_t n_outputs
        const int32_t* targets
    bint df_has_one_class(const int64_t* statistic, int64_t n_words)
    double df_class_impurity(int64_t criterion, const int64_t* statistic, int64_t first, int64_t end)
    void df_measure_squares(const int64_t* total, int is_wide, df_measure* measure)
    void df_measure_deviance(const int64_t* total, int is_wide, double centre, int32_t exponent, df_measure* measure)
    double df_square_score(const int64_t* left, const int64_t* total, int is_wide, const df_measure* measure)
    double df_deviance_score(const int64_t* left, const int64_t* total, int is_wide, const df_measure* measure)
    double df_true_mean(const int64_t* statistic, int is_wide, double base)
    int64_t df_fixed_deviance(int32_t target, const df_measure* measure)
