"""The rules of cuts; see cut.h."""
from libc.stdint cimport int32_t, int64_t, uint64_t

from dforest.rules.records cimport df_column, df_grown, df_leaf_rules

cdef extern from "rules/cut.h" nogil:
    bint df_is_side_valid(const df_leaf_rules* rules, int64_t n_draws, int64_t weight)
    bint df_is_valid(const df_leaf_rules* rules, const int64_t* left, const int64_t* total)
    int64_t df_valid_run(const df_leaf_rules* rules, const int64_t* left, int64_t n, int64_t n_words, const int64_t* total,
                         int64_t* first)
    int64_t df_min_draws(const df_leaf_rules* rules)
    bint df_is_allowed(double lower, double upper, int32_t monotonic_cst, double left, double right)
    bint df_leads_left(double score, int64_t imbalance, int64_t place, double right_score, int64_t right_imbalance,
                       int64_t right_place)
    bint df_missing_goes_left(int64_t n_left, int64_t n_missing, bint taken_left, int64_t n)
    bint df_only_missing_right(int64_t n_left, int64_t n_missing, bint taken_left, int64_t n)
    uint64_t df_last_left(uint64_t code, bint only_missing_right, uint64_t n_codes)
    bint df_goes_left(uint64_t code, uint64_t last, uint64_t also)
    bint df_category_goes_left(uint64_t code, const uint64_t* subset, uint64_t n_codes, bint missing_left)
    uint64_t df_threshold_code(int64_t kind, uint64_t code, uint64_t above)
    ctypedef enum df_thresholds:
        DF_AT_EDGES
        DF_AS_DRAWN
        DF_AT_MIDDLES
    double df_threshold_of(const df_grown* node, const df_column* columns, int thresholds, const double* values,
                           const double* highs)
