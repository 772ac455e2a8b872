/* Boosting's part of a set of loops: see core/loops.h. Loops over words are made for each kind of words. */
#include "core/loops.h"

#define DF_LOOPS_OF_KIND(label, kind)                                                                                          \
    static void df_boost_fill_##label(const uint8_t *codes, int64_t stride, const int32_t *quantised, const uint32_t *times,        \
                                      const uint32_t *rows, int64_t from, int64_t n, const uint32_t *first, int begin,         \
                                      int end, uint64_t *words) {                                                              \
        df_boost_fill_loop(kind, 0, codes, stride, quantised, times, rows, from, n, first, begin, end, words);                      \
    }                                                                                                                          \
    static void df_boost_fill_times_##label(const uint8_t *codes, int64_t stride, const int32_t *quantised, const uint32_t *times,  \
                                            const uint32_t *rows, int64_t from, int64_t n, const uint32_t *first, int begin,   \
                                            int end, uint64_t *words) {                                                        \
        df_boost_fill_loop(kind, 1, codes, stride, quantised, times, rows, from, n, first, begin, end, words);                      \
    }                                                                                                                          \
    static void df_boost_fill_lists_##label(const int64_t *from_row, const uint32_t *listed, const int32_t *quantised,         \
                                            const uint32_t *times, const uint32_t *rows, int64_t from, int64_t n,              \
                                            uint64_t *words) {                                                                 \
        df_boost_fill_lists_loop(kind, 0, from_row, listed, quantised, times, rows, from, n, words);                           \
    }                                                                                                                          \
    static void df_boost_fill_lists_times_##label(const int64_t *from_row, const uint32_t *listed, const int32_t *quantised,   \
                                                  const uint32_t *times, const uint32_t *rows, int64_t from, int64_t n,        \
                                                  uint64_t *words) {                                                           \
        df_boost_fill_lists_loop(kind, 1, from_row, listed, quantised, times, rows, from, n, words);                           \
    }                                                                                                                          \
    static df_boost_sums df_boost_total_##label(const int32_t *quantised, const uint32_t *times, const uint32_t *rows,         \
                                                int64_t from, int64_t n) {                                                     \
        return df_boost_total_loop(kind, 0, quantised, times, rows, from, n);                                                  \
    }                                                                                                                          \
    static df_boost_sums df_boost_total_times_##label(const int32_t *quantised, const uint32_t *times, const uint32_t *rows,   \
                                                      int64_t from, int64_t n) {                                               \
        return df_boost_total_loop(kind, 1, quantised, times, rows, from, n);                                                  \
    }                                                                                                                          \
    static void df_boost_unpack_##label(const df_boost_entries *entries, int n_codes, int default_code, df_boost_sums total,   \
                                        const df_boost_arrays *unpacked) {                                                         \
        df_boost_unpack_loop(kind, entries, n_codes, default_code, total, unpacked);                                           \
    }                                                                                                                          \
    static void df_boost_spill_##label(uint64_t *words, int64_t n_entries, int64_t *g, int64_t *h, int64_t *n) {               \
        df_boost_spill_loop(kind, words, n_entries, g, h, n);                                                                  \
    }                                                                                                                          \
    static void df_boost_cut_##label(const df_boost_entries *entries, int n_codes, int has_missing,                            \
                                     const df_boost_limits *limits, const df_boost_constraint *constraint,                     \
                                     df_boost_cut *cut) {                                                                      \
        df_boost_cut_loop(kind, entries, n_codes, has_missing, limits, constraint, cut);                                       \
    }                                                                                                                          \
    static void df_boost_cut_beside_default_##label(const uint64_t *words, int n_codes, int has_missing, int default_code,     \
                                                    int64_t n_others, df_boost_sums total, const df_boost_limits *limits,      \
                                                    const df_boost_constraint *constraint, df_boost_cut *cut) {                \
        df_boost_cut_beside_default_loop(kind, words, n_codes, has_missing, default_code, n_others, total, limits, constraint, \
                                         cut);                                                                                 \
    }                                                                                                                          \
    static void df_boost_subset_##label(const df_boost_entries *entries, int n_codes, int has_missing,                         \
                                        const df_boost_limits *limits, const df_boost_constraint *constraint,                  \
                                        df_boost_cut *cut) {                                                                   \
        df_boost_subset_loop(kind, entries, n_codes, has_missing, limits, constraint, cut);                                    \
    }                                                                                                                          \
    static double df_boost_spread_##label(const df_boost_entries *entries, int n, const df_boost_limits *limits) {             \
        return df_boost_spread(kind, entries, n, limits);                                                                      \
    }                                                                                                                          \
    static int df_boost_order_##label(const df_boost_entries *entries, int n, const df_boost_limits *limits,                   \
                                      const df_boost_room *room) {                                                             \
        return df_boost_order(kind, entries, n, limits, room);                                                                 \
    }                                                                                                                          \
    static void df_boost_add_output_##label(const df_boost_entries *entries, int n_codes, int has_missing,                     \
                                            const uint16_t *order, int n, const df_boost_limits *limits,                       \
                                            const df_boost_constraint *constraint, double unit, int is_first,                  \
                                            const df_boost_room *room, df_boost_outputs *outputs) {                            \
        df_boost_add_output_in(kind, entries, n_codes, has_missing, order, n, limits, constraint, unit, is_first, room,        \
                               outputs);                                                                                       \
    }

static void df_boost_choose_of_outputs_loop(const df_boost_outputs *outputs, int n, df_boost_cut *cut) {
    df_boost_choose_of_outputs(outputs, n, cut);
}

static void df_boost_predictions(int loss, const double *raw, int64_t n, double *prediction) {
    df_predictions_of_loss(loss, raw, n, prediction);
}

static void df_boost_class_predictions(const double *raw, int64_t n, int64_t n_classes, double *p) {
    df_multinomial_predictions(raw, n, n_classes, p);
}

static double df_boost_rank_pairs(const df_ranked *ranked, int64_t n, const df_rank_rule *rule) {
    return df_rank_pairs_loop(ranked, n, rule);
}

static void df_boost_code_sums(const double *edges, const double *sums, int n, int missing, uint8_t *codes) {
    df_code_sums_loop(edges, sums, n, missing, codes);
}

DF_LOOPS_OF_KIND(narrow, DF_NARROW_WORDS)
DF_LOOPS_OF_KIND(constant, DF_CONSTANT_WORDS)
DF_LOOPS_OF_KIND(wide, DF_WIDE_WORDS)

#define DF_EACH_KIND(loop) \
    {[DF_NARROW_WORDS] = loop##_narrow, [DF_CONSTANT_WORDS] = loop##_constant, [DF_WIDE_WORDS] = loop##_wide}

const df_boost_loops DF_OF_SET(df_boost_loops) = {
    .predictions = df_boost_predictions,
    .class_predictions = df_boost_class_predictions,
    .rank_pairs = df_boost_rank_pairs,
    .code_sums = df_boost_code_sums,
    .fill = DF_EACH_KIND(df_boost_fill),
    .fill_times = DF_EACH_KIND(df_boost_fill_times),
    .fill_lists = DF_EACH_KIND(df_boost_fill_lists),
    .fill_lists_times = DF_EACH_KIND(df_boost_fill_lists_times),
    .total = DF_EACH_KIND(df_boost_total),
    .total_times = DF_EACH_KIND(df_boost_total_times),
    .add_digits = df_boost_add_digits_loop,
    .count = df_boost_count_loop,
    .unpack = DF_EACH_KIND(df_boost_unpack),
    .spill = DF_EACH_KIND(df_boost_spill),
    .cut = DF_EACH_KIND(df_boost_cut),
    .cut_beside_default = DF_EACH_KIND(df_boost_cut_beside_default),
    .subset = DF_EACH_KIND(df_boost_subset),
    .spread = DF_EACH_KIND(df_boost_spread),
    .order = DF_EACH_KIND(df_boost_order),
    .add_output = DF_EACH_KIND(df_boost_add_output),
    .choose_of_outputs = df_boost_choose_of_outputs_loop,
    .divide = df_boost_divide_loop,
    .quantise = df_quantise_loop,
    .quantise_classes = df_quantise_classes_loop,
};
