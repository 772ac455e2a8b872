"""The rules of cuts between categories; see categories.h."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.rules.random cimport df_stream

cdef extern from "rules/categories.h" nogil:
    enum:
        DF_LABELS_ORDERED_ABOVE
    int64_t df_label_orders(int64_t n_classes)
    int64_t df_label_ranks(bint is_categorical, int64_t n_labels, int64_t n_orders)
    bint df_are_tied(const uint32_t* ranks, int64_t n_orders, int64_t n_ranks, const uint32_t* labels, int64_t n)
    uint32_t df_draw_rank(df_stream* stream, const uint32_t* ranks, const uint32_t* labels, int64_t n)
    double df_label_key(double response, double mean, double weight, double row_weight)
    int64_t df_largest_class(const int64_t* total, int64_t n_words)
    double df_class_response(const int64_t* statistic, int64_t largest)
    double df_target_response(const int64_t* statistic, bint is_wide, int64_t mean)
    bint df_category_is_before(double response, uint32_t category, double other_response, uint32_t other)
    bint df_is_rarer(int64_t draws, uint64_t category, int64_t other_draws, uint64_t other)
    void df_draw_categories(df_stream* stream, bint one_hot, uint32_t n, uint32_t* bits)
    bint df_is_drawn(const uint32_t* bits, uint32_t i)
