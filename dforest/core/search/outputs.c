/* The part of a set of loops that is for several outputs: see core/loops.h. */
#include "core/loops.h"

/* A call with a number of outputs, which is a constant where it is small: loops over a few outputs take no time then. */
#define DF_BY_OUTPUTS(k, call)     \
    {                              \
        if ((k) == 2) {            \
            const int64_t few = 2; \
            call;                  \
        } else if ((k) == 3) {     \
            const int64_t few = 3; \
            call;                  \
        } else if ((k) == 4) {     \
            const int64_t few = 4; \
            call;                  \
        } else {                   \
            const int64_t few = k; \
            call;                  \
        }                          \
    }

static void df_open_numbers(const df_record *records, int64_t n, int64_t k, int is_wide, const df_output_targets *to,
                            int64_t *total) {
    DF_BY_OUTPUTS(k, df_open_numbers_loop(records, n, few, is_wide, to, total))
}

static void df_add_output(const df_outputs *outputs, int64_t *statistic, const df_record *record) {
    DF_BY_OUTPUTS(outputs->n_outputs, df_add_output_loop(outputs, few, statistic, record))
}

static void df_count_outputs(const df_outputs *outputs, const df_record *records, int64_t n, const void *codes, int width,
                             int64_t n_words, int64_t *counters) {
    DF_BY_OUTPUTS(outputs->n_outputs, df_count_outputs_loop(outputs, few, records, n, codes, width, n_words, counters))
}

static int64_t df_sorted_outputs(const df_outputs *outputs, const uint64_t *sort_keys, int64_t n, const df_record *records,
                                 int64_t n_words, int64_t *sum, int64_t *left, uint32_t *code) {
    DF_BY_OUTPUTS(outputs->n_outputs, return df_sorted_outputs_loop(outputs, few, sort_keys, n, records, n_words, sum, left,
                                                                    code))
}

static void df_square_scores(const int64_t *left, int64_t n, const int64_t *total, int64_t k, int is_wide,
                             const df_output_squares *outputs, double *scores) {
    DF_BY_OUTPUTS(k, df_square_scores_loop(left, n, total, few, is_wide, outputs, scores))
}

const df_output_loops DF_OF_SET(df_output_loops) = {
    .open_numbers = df_open_numbers,
    .open_classes = df_open_classes_loop,
    .add = df_add_output,
    .count = df_count_outputs,
    .pass_statistics = df_pass_words_loop,
    .sorted = df_sorted_outputs,
    .square_scores = df_square_scores,
    .gini_scores = df_gini_scores_loop,
};
