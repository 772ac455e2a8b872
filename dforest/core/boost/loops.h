/* The loops of histogram.h as part of a set of loops: see core/loops.h (C99 and C++). */
#ifndef DFOREST_BOOST_LOOPS_H
#define DFOREST_BOOST_LOOPS_H

#include "core/boost/gradients.h"
#include "core/boost/histogram.h"

typedef void (*df_boost_fill)(const uint8_t *codes, int64_t stride, const int32_t *fine, const uint32_t *times,
                              const uint32_t *rows, int64_t from, int64_t n, const uint32_t *first, int begin, int end,
                              uint64_t *words);

typedef void (*df_boost_find)(const df_boost_entries *entries, int n_codes, int has_missing, const df_boost_limits *limits,
                              const df_boost_constraint *constraint, df_boost_cut *cut);

/* Lists are by the kind of words. */
typedef struct {
    df_boost_fill fill[3], fill_times[3]; /* of rows without times, and with them */
    void (*spill[3])(uint64_t *words, int64_t n_entries, int64_t *g, int64_t *h, int64_t *n);
    df_boost_find cut[3], subset[3]; /* of numbers, of categories */
    int64_t (*divide)(const uint32_t *rows, int64_t from, int64_t n, const uint8_t *codes, const uint8_t *goes_left,
                      uint32_t *left, uint32_t *end);
    void (*extent)(int loss, const df_boost_rows *rows, int64_t begin, int64_t end, df_boost_extent *extent);
    void (*fine)(int loss, const df_boost_rows *rows, int64_t begin, int64_t end, const double *factors, int has_hessian,
                 int32_t *fine, df_boost_extent *extent);
    void (*class_extent)(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t n_classes, int64_t begin,
                         int64_t end, df_boost_extent *extent);
    void (*class_fine)(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t n_classes, int64_t begin,
                       int64_t end, const double *factors, int32_t *fine, df_boost_extent *extent);
} df_boost_loops;

#define DF_COMPILE_KIND(name, attribute, label, kind)                                                                           \
    attribute static void df_boost_fill_##label##_##name(                                                                       \
        const uint8_t *codes, int64_t stride, const int32_t *fine, const uint32_t *times, const uint32_t *rows, int64_t from,   \
        int64_t n, const uint32_t *first, int begin, int end, uint64_t *words) {                                                \
        df_boost_fill_loop(kind, 0, codes, stride, fine, times, rows, from, n, first, begin, end, words);                       \
    }                                                                                                                           \
    attribute static void df_boost_fill_times_##label##_##name(                                                                 \
        const uint8_t *codes, int64_t stride, const int32_t *fine, const uint32_t *times, const uint32_t *rows, int64_t from,   \
        int64_t n, const uint32_t *first, int begin, int end, uint64_t *words) {                                                \
        df_boost_fill_loop(kind, 1, codes, stride, fine, times, rows, from, n, first, begin, end, words);                       \
    }                                                                                                                           \
    attribute static void df_boost_spill_##label##_##name(uint64_t *words, int64_t n_entries, int64_t *g, int64_t *h,           \
                                                          int64_t *n) {                                                         \
        df_boost_spill_loop(kind, words, n_entries, g, h, n);                                                                   \
    }                                                                                                                           \
    attribute static void df_boost_cut_##label##_##name(const df_boost_entries *entries, int n_codes, int has_missing,          \
                                                        const df_boost_limits *limits, const df_boost_constraint *constraint,   \
                                                        df_boost_cut *cut) {                                                    \
        df_boost_cut_loop(kind, entries, n_codes, has_missing, limits, constraint, cut);                                        \
    }                                                                                                                           \
    attribute static void df_boost_subset_##label##_##name(const df_boost_entries *entries, int n_codes, int has_missing,       \
                                                           const df_boost_limits *limits, const df_boost_constraint *constraint,\
                                                           df_boost_cut *cut) {                                                 \
        df_boost_subset_loop(kind, entries, n_codes, has_missing, limits, constraint, cut);                                     \
    }

#define DF_COMPILE_BOOST(name, attribute)                                                                                       \
    DF_COMPILE_KIND(name, attribute, constant, DF_CONSTANT_WORDS)                                                               \
    DF_COMPILE_KIND(name, attribute, narrow, DF_NARROW_WORDS)                                                                   \
    DF_COMPILE_KIND(name, attribute, wide, DF_WIDE_WORDS)                                                                       \
    attribute static int64_t df_boost_divide_##name(const uint32_t *rows, int64_t from, int64_t n, const uint8_t *codes,        \
                                              const uint8_t *goes_left, uint32_t *left, uint32_t *end) {                        \
        return df_boost_divide_loop(rows, from, n, codes, goes_left, left, end);                                                \
    }                                                                                                                           \
    attribute static void df_boost_extent_##name(int loss, const df_boost_rows *rows, int64_t begin, int64_t end,               \
                                           df_boost_extent *extent) {                                                           \
        df_extent_loop(loss, rows, begin, end, extent);                                                                         \
    }                                                                                                                           \
    attribute static void df_boost_fine_##name(int loss, const df_boost_rows *rows, int64_t begin, int64_t end,                 \
                                         const double *factors, int has_hessian, int32_t *fine, df_boost_extent *extent) {      \
        df_fine_loop(loss, rows, begin, end, factors, has_hessian, fine, extent);                                               \
    }                                                                                                                           \
    attribute static void df_class_extent_##name(const df_boost_rows *rows, const double *baseline, int64_t step,               \
                                                 int64_t n_classes, int64_t begin, int64_t end, df_boost_extent *extent) {      \
        df_class_extent_loop(rows, baseline, step, n_classes, begin, end, extent);                                              \
    }                                                                                                                           \
    attribute static void df_class_fine_##name(const df_boost_rows *rows, const double *baseline, int64_t step,                 \
                                               int64_t n_classes, int64_t begin, int64_t end, const double *factors,            \
                                               int32_t *fine, df_boost_extent *extent) {                                        \
        df_class_fine_loop(rows, baseline, step, n_classes, begin, end, factors, fine, extent);                                 \
    }                                                                                                                           \
    static const df_boost_loops df_boost_loops_##name = {                                                                       \
        {df_boost_fill_narrow_##name, df_boost_fill_constant_##name, df_boost_fill_wide_##name},                                \
        {df_boost_fill_times_narrow_##name, df_boost_fill_times_constant_##name, df_boost_fill_times_wide_##name},              \
        {df_boost_spill_narrow_##name, df_boost_spill_constant_##name, df_boost_spill_wide_##name},                             \
        {df_boost_cut_narrow_##name, df_boost_cut_constant_##name, df_boost_cut_wide_##name},                                   \
        {df_boost_subset_narrow_##name, df_boost_subset_constant_##name, df_boost_subset_wide_##name},                          \
        df_boost_divide_##name,                                                                                                 \
        df_boost_extent_##name,                                                                                                 \
        df_boost_fine_##name,                                                                                                   \
        df_class_extent_##name,                                                                                                 \
        df_class_fine_##name,                                                                                                   \
    };

#endif
