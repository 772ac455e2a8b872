/* Loops over the outputs of a forest that predicts several (C99 and C++): see outputs.pyx.
 *
 * The rules are those of rules/outputs.h, which has the order in which floats are summed up: by lanes, which compilers
 * may keep in vectors. Statistics have n_words words; those of the outputs begin at DF_OUTPUT_WORDS. */
#ifndef DFOREST_OUTPUTS_H
#define DFOREST_OUTPUTS_H

#include <stddef.h>

#include "core/search/scan.h"
#include "rules/outputs.h"

enum { DF_OUTPUTS_AHEAD = 8 };

/* What scores by squared error need of the outputs in a node: of each a number. */
typedef struct {
    const int64_t *mean;     /* that targets are counted from, where sums have two words: df_measure.mean; else 0 */
    const double *remainder; /* df_measure.remainder */
    const double *factor;    /* that makes scores of the output those of the node; 0 if the output is pure */
} df_output_squares;

/* The targets of a node's records, and their scales. */
typedef struct {
    const double *y; /* exact targets, or class numbers, by record.row: [rows, n_outputs] */
    double *lowest, *highest; /* [n_outputs] of the node, as what follows */
    double *centre;
    int32_t *exponent;
    double *first, *second;   /* of df_quantiser */
    int64_t *mean;
    const int32_t *word;      /* classes: the word of class 0 */
    int32_t *targets;         /* [n, n_outputs]: see df_outputs */
} df_output_targets;

/* Have the targets of a row on their way while others are looked at. */
DF_INLINE void df_fetch_row(const double *y, int64_t k) {
#if defined(__GNUC__)
    for (int64_t o = 0; o < k; o += 64 / (int64_t)sizeof(double))
        __builtin_prefetch(y + o);
#endif
}

/* The targets of a node of several records as integers, by a scale of each output that has different ones, and what they add up
 * to. Where sums have one word, integers are counted from the mean, rounded down. OUT targets; total : [n_words] */
DF_INLINE void df_open_numbers_loop(const df_record *records, int64_t n, int64_t k, int is_wide, const df_output_targets *to,
                                        int64_t *total) {
    const double *y = to->y + (int64_t)records[0].row * k;
    int64_t *sums = total + DF_OUTPUT_WORDS;
    int64_t i, o, n_draws = 0, weight = 0;
    for (o = 0; o < k; o++)
        to->lowest[o] = to->highest[o] = y[o];
    for (i = 1; i < n; i++) {
        if (i + DF_OUTPUTS_AHEAD < n)
            df_fetch_row(to->y + (int64_t)records[i + DF_OUTPUTS_AHEAD].row * k, k);
        y = to->y + (int64_t)records[i].row * k;
        for (o = 0; o < k; o++) {
            to->lowest[o] = y[o] < to->lowest[o] ? y[o] : to->lowest[o];
            to->highest[o] = y[o] > to->highest[o] ? y[o] : to->highest[o];
        }
    }
    for (o = 0; o < k; o++) {
        df_quantiser scale = {to->lowest[o], 0.0, 0.0}; /* of equal targets, all of which are 0 */
        to->centre[o] = 0.0;
        to->exponent[o] = 0;
        if (to->lowest[o] != to->highest[o]) {
            to->exponent[o] = df_choose_scale(to->lowest[o], to->highest[o], df_output_bits(DF_SQUARED_ERROR), &to->centre[o]);
            scale = df_quantiser_of(to->centre[o], to->exponent[o]);
        }
        to->lowest[o] = scale.centre; /* nobody needs the lowest any more */
        to->first[o] = scale.first;
        to->second[o] = scale.second;
    }
    for (o = 0; o < k * (1 + is_wide); o++)
        sums[o] = 0;
    for (i = 0; i < n; i++) {
        const int64_t w = (int64_t)records[i].count * records[i].weight;
        int32_t *target = to->targets + i * k;
        y = to->y + (int64_t)records[i].row * k;
        n_draws += records[i].count;
        weight += w;
        for (o = 0; o < k; o++)
            target[o] = df_nearest_integer((y[o] - to->lowest[o]) * to->first[o] * to->second[o]);
        if (is_wide) {
            for (o = 0; o < k; o++) {
                const int64_t product = (int64_t)records[i].weight * target[o];
                sums[2 * o] += df_low_part(product) * records[i].count;
                sums[2 * o + 1] += df_high_part(product) * records[i].count;
            }
        } else {
            df_add_weighted(sums, target, k, w);
        }
    }
    total[0] = n_draws;
    total[1] = weight;
    if (is_wide)
        return;
    for (o = 0; o < k; o++) {
        to->mean[o] = df_floor_mean(sums[o], 0, weight);
        sums[o] -= weight * to->mean[o];
    }
    for (i = 0; i < n; i++)
        for (o = 0; o < k; o++)
            to->targets[i * k + o] -= (int32_t)to->mean[o];
}

/* The classes of a node's records as words of a statistic, and what they add up to. OUT targets; total : [n_words] */
DF_INLINE void df_open_classes_loop(const df_record *records, int64_t n, int64_t k, int64_t n_words, const df_output_targets *to,
                                        int64_t *total) {
    int64_t i, o;
    for (o = 0; o < n_words; o++)
        total[o] = 0;
    for (i = 0; i < n; i++) {
        if (i + DF_OUTPUTS_AHEAD < n)
            df_fetch_row(to->y + (int64_t)records[i + DF_OUTPUTS_AHEAD].row * k, k);
        const int64_t w = (int64_t)records[i].count * records[i].weight;
        const double *y = to->y + (int64_t)records[i].row * k;
        int32_t *target = to->targets + i * k;
        total[0] += records[i].count;
        total[1] += w;
        for (o = 0; o < k; o++)
            target[o] = to->word[o] + (int32_t)y[o];
        for (o = 0; o < k; o++)
            total[target[o]] += w;
    }
}

/* Add a record's draws to a statistic. */
DF_INLINE void df_add_output_loop(const df_outputs *outputs, int64_t k, int64_t *statistic, const df_record *record) {
    const df_outputs some = {outputs->kind, k, outputs->targets};
    df_add_outputs(&some, statistic, record);
}

/* Add the draws of some records to statistics: that of a record is the codes[record.row]-th. INOUT counters : [codes, n_words] */
#define DF_COUNT_OUTPUTS(code_type)                                                                                  \
    for (int64_t i = 0; i < n; i++)                                                                                  \
        df_add_outputs(&some, counters + (int64_t)((const code_type *)codes)[records[i].row] * n_words, &records[i]);

DF_INLINE void df_count_outputs_loop(const df_outputs *outputs, int64_t k, const df_record *records, int64_t n, const void *codes,
                                     int width, int64_t n_words, int64_t *counters) {
    const df_outputs some = {outputs->kind, k, outputs->targets};
    if (outputs->kind == DF_TARGET_SUM)
        n_words = DF_OUTPUT_WORDS + k;
    if (width == 1) {
        DF_COUNT_OUTPUTS(uint8_t)
    } else if (width == 2) {
        DF_COUNT_OUTPUTS(uint16_t)
    } else {
        DF_COUNT_OUTPUTS(uint32_t)
    }
}

/* Add the statistic of a code to a sum, and clear it. INOUT sum : [n_words]; OUT left : [n_words] the sum then */
DF_INLINE void df_pass_words_loop(int64_t *counters, int64_t n_words, int64_t *sum, int64_t *left) {
    for (int64_t k = 0; k < n_words; k++) {
        sum[k] += counters[k];
        left[k] = sum[k];
        counters[k] = 0;
    }
}

/* The left sides of sorted records: a code, and which of the records it is, in the upper and the lower half of a sort key.
 * Returns how many codes there are. INOUT sum : [n_words] 0 at first; OUT left : [codes, n_words]; code : [codes] */
DF_INLINE int64_t df_sorted_outputs_loop(const df_outputs *outputs, int64_t k, const uint64_t *sort_keys, int64_t n,
                                         const df_record *records, int64_t n_words, int64_t *sum, int64_t *left, uint32_t *code) {
    const df_outputs some = {outputs->kind, k, outputs->targets};
    int64_t i, j, n_values = 0;
    if (outputs->kind == DF_TARGET_SUM)
        n_words = DF_OUTPUT_WORDS + k;
    for (i = 0; i < n; i++) {
        df_add_outputs(&some, sum, &records[(uint32_t)sort_keys[i]]);
        if (i + 1 == n || sort_keys[i + 1] >> 32 != sort_keys[i] >> 32) {
            for (j = 0; j < n_words; j++)
                left[n_values * n_words + j] = sum[j];
            code[n_values++] = (uint32_t)(sort_keys[i] >> 32);
        }
    }
    return n_values;
}

/* Scores of n cuts by squared error, the mean over k outputs. IN left : [n, n_words]; total : [n_words]; OUT scores : [n] */
DF_INLINE void df_square_scores_loop(const int64_t *left, int64_t n, const int64_t *total, int64_t k, int is_wide,
                                         const df_output_squares *outputs, double *scores) {
    const int64_t n_words = DF_OUTPUT_WORDS + k * (1 + is_wide);
    const double w = (double)total[1];
    for (int64_t i = 0; i < n; i++, left += n_words) {
        const int64_t *sums = left + DF_OUTPUT_WORDS;
        const double w_left = (double)left[1];
        double lanes[DF_OUTPUT_LANES] = {0.0};
        int64_t o = 0, j;
        if (is_wide) {
            for (o = 0; o < k; o++) {
                const double sum = df_offset_sum(sums[2 * o], sums[2 * o + 1], left[1], outputs->mean[o]);
                lanes[o % DF_OUTPUT_LANES] += df_square_term(w, sum, w_left, outputs->remainder[o], outputs->factor[o]);
            }
        } else {
            for (; o + DF_OUTPUT_LANES <= k; o += DF_OUTPUT_LANES)
                for (j = 0; j < DF_OUTPUT_LANES; j++)
                    lanes[j] += df_square_term(w, (double)sums[o + j], w_left, outputs->remainder[o + j], outputs->factor[o + j]);
            for (j = 0; o < k; o++, j++)
                lanes[j] += df_square_term(w, (double)sums[o], w_left, outputs->remainder[o], outputs->factor[o]);
        }
        scores[i] = df_score_of_lanes(lanes, left[1], total[1], k);
    }
}

/* Scores of n cuts by Gini impurity, the mean over n_outputs outputs, which have n_words - 2 classes together: those of an output
 * that is pure add 0. whole : [n_words] scratch. Other parameters are as above. */
DF_INLINE void df_gini_scores_loop(const int64_t *left, int64_t n, const int64_t *total, int64_t n_words, int64_t n_outputs,
                                   double *whole, double *scores) {
    const int64_t k = n_words - DF_OUTPUT_WORDS;
    const double w = (double)total[1];
    for (int64_t o = 0; o < k; o++)
        whole[o] = (double)total[DF_OUTPUT_WORDS + o];
    for (int64_t i = 0; i < n; i++, left += n_words) {
        const int64_t *here = left + DF_OUTPUT_WORDS;
        const double w_left = (double)left[1];
        double lanes[DF_OUTPUT_LANES] = {0.0};
        int64_t o = 0, j;
        if (total[1] > DF_EXACT_WEIGHT) {
            for (; o < k; o++)
                lanes[o % DF_OUTPUT_LANES] += df_gini_term(total[1], here[o], left[1], total[DF_OUTPUT_WORDS + o]);
        } else { /* all of these have 32 bits */
            for (; o + DF_OUTPUT_LANES <= k; o += DF_OUTPUT_LANES)
                for (j = 0; j < DF_OUTPUT_LANES; j++)
                    lanes[j] += df_small_gini_term(w, (double)(int32_t)here[o + j], w_left, whole[o + j]);
            for (j = 0; o < k; o++, j++)
                lanes[j] += df_small_gini_term(w, (double)(int32_t)here[o], w_left, whole[o]);
        }
        scores[i] = df_score_of_lanes(lanes, left[1], total[1], n_outputs);
    }
}

/* Scores of cuts by another criterion of classes for one of the outputs, added to those of the others. IN first, end : of the
 * output's words in a statistic; INOUT scores : [n] */
static inline void df_add_class_scores(int64_t number, const int64_t *left, int64_t n, const int64_t *total, int64_t n_words,
                                       int64_t first, int64_t end, double *scores) {
#define DF_CASE(number, name)                                         \
    case number:                                                      \
        for (int64_t i = 0; i < n; i++, left += n_words)              \
            scores[i] += df_##name##_score(left, total, first, end);  \
        return;
    switch (number) { DF_CLASS_CRITERIA(DF_CASE) }
#undef DF_CASE
}

typedef struct {
    void (*open_numbers)(const df_record *records, int64_t n, int64_t k, int is_wide, const df_output_targets *to, int64_t *total);
    void (*open_classes)(const df_record *records, int64_t n, int64_t k, int64_t n_words, const df_output_targets *to,
                         int64_t *total);
    void (*add)(const df_outputs *outputs, int64_t *statistic, const df_record *record);
    void (*count)(const df_outputs *outputs, const df_record *records, int64_t n, const void *codes, int width, int64_t n_words,
                  int64_t *counters);
    void (*pass_statistics)(int64_t *counters, int64_t n_words, int64_t *sum, int64_t *left);
    int64_t (*sorted)(const df_outputs *outputs, const uint64_t *sort_keys, int64_t n, const df_record *records, int64_t n_words,
                      int64_t *sum, int64_t *left, uint32_t *code);
    void (*square_scores)(const int64_t *left, int64_t n, const int64_t *total, int64_t k, int is_wide,
                          const df_output_squares *outputs, double *scores);
    void (*gini_scores)(const int64_t *left, int64_t n, const int64_t *total, int64_t n_words, int64_t n_outputs, double *whole,
                        double *scores);
} df_output_loops;

#endif
