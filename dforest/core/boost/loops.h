/* The loops of histogram.h as part of a set of loops: see core/loops.h (C99 and C++). */
#ifndef DFOREST_BOOST_LOOPS_H
#define DFOREST_BOOST_LOOPS_H

#include "core/boost/gradients.h"
#include "core/boost/histogram.h"
#include "core/boost/projected.h"
#include "core/boost/ranking.h"

typedef void (*df_boost_fill)(const uint8_t *codes, int64_t stride, const int32_t *quantised, const uint32_t *times,
                              const uint32_t *rows, int64_t from, int64_t n, const uint32_t *first, int begin, int end,
                              uint64_t *words);

typedef void (*df_boost_fill_lists)(const int64_t *from_row, const uint32_t *listed, const int32_t *quantised,
                                    const uint32_t *times, const uint32_t *rows, int64_t from, int64_t n, uint64_t *words);

typedef df_boost_sums (*df_boost_total)(const int32_t *quantised, const uint32_t *times, const uint32_t *rows, int64_t from, int64_t n);

typedef void (*df_boost_find)(const df_boost_entries *entries, int n_codes, int has_missing, const df_boost_limits *limits,
                              const df_boost_constraint *constraint, df_boost_cut *cut);

typedef void (*df_boost_cut_beside_default)(const uint64_t *words, int n_codes, int has_missing, int default_code, int64_t n_others,
                                            df_boost_sums total, const df_boost_limits *limits,
                                            const df_boost_constraint *constraint, df_boost_cut *cut);

typedef double (*df_boost_spread_of)(const df_boost_entries *entries, int n, const df_boost_limits *limits);

typedef int (*df_boost_order_of)(const df_boost_entries *entries, int n, const df_boost_limits *limits, const df_boost_room *room);

typedef void (*df_boost_add_output)(const df_boost_entries *entries, int n_codes, int has_missing, const uint16_t *order, int n,
                                    const df_boost_limits *limits, const df_boost_constraint *constraint, double unit, int is_first,
                                    const df_boost_room *room, df_boost_outputs *outputs);

/* Lists are by the kind of words. */
typedef struct {
    df_boost_fill fill[3], fill_times[3]; /* of rows without times, and with them */
    df_boost_fill_lists fill_lists[3], fill_lists_times[3];
    df_boost_total total[3], total_times[3];
    void (*add_digits)(int64_t *entries, const int32_t *radix, int n_digits, int64_t *digits);
    int64_t (*count)(const df_boost_entries *entries, int n, int64_t *most);
    void (*unpack[3])(const df_boost_entries *entries, int n_codes, int default_code, df_boost_sums total,
                      const df_boost_arrays *unpacked);
    void (*spill[3])(uint64_t *words, int64_t n_entries, int64_t *g, int64_t *h, int64_t *n);
    df_boost_find cut[3], subset[3]; /* of numbers, of categories */
    df_boost_cut_beside_default cut_beside_default[3];
    df_boost_spread_of spread[3];
    df_boost_order_of order[3];
    df_boost_add_output add_output[3];
    void (*choose_of_outputs)(const df_boost_outputs *outputs, int n, df_boost_cut *cut);
    int64_t (*divide)(const uint32_t *rows, int64_t from, int64_t n, const uint8_t *codes, const uint8_t *goes_left,
                      uint32_t *left, uint32_t *end);
    void (*quantise)(int loss, const df_boost_rows *rows, int64_t begin, int64_t end, const double *factors, int has_hessian,
                 int32_t *quantised, df_boost_extent *extent);
    void (*quantise_classes)(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t n_classes, int64_t begin,
                       int64_t end, const double *factors, int32_t *quantised, df_boost_extent *extent);
    void (*predictions)(int loss, const double *raw, int64_t n, double *prediction);
    void (*class_predictions)(const double *raw, int64_t n, int64_t n_classes, double *p);
    double (*rank_pairs)(const df_ranked *ranked, int64_t n, const df_rank_rule *rule);
    void (*code_sums)(const double *edges, const double *sums, int n, int missing, uint8_t *codes);
} df_boost_loops;

#endif
