/* Scores of cuts by one of several outputs, added to those by the others (C99 and C++): see outputs.pyx.
 *
 * IN left : [n, n_words] statistics of the left sides; total : [n_words] the node's; first : of the output's words among these;
 * scores : [n] */
#ifndef DFOREST_OUTPUTS_H
#define DFOREST_OUTPUTS_H

#include "rules/criteria.h"

/* By a criterion of classes. IN n_own : classes of the output; part_total : [2 + n_own] the node's statistic of this output.
 * part_left : [2 + n_own] scratch */
static inline void df_add_class_scores(int64_t number, const int64_t *left, int64_t n, int64_t n_words, int64_t first,
                                       int64_t n_own, const int64_t *part_total, int64_t *part_left, double *scores) {
#define DF_CASE(number, name)                                                    \
    case number:                                                                 \
        for (int64_t i = 0; i < n; i++, left += n_words) {                       \
            part_left[0] = left[0];                                              \
            part_left[1] = left[1];                                              \
            for (int64_t k = 0; k < n_own; k++)                                  \
                part_left[2 + k] = left[first + k];                              \
            scores[i] += df_##name##_score(part_left, part_total, 2 + n_own);    \
        }                                                                        \
        return;
    switch (number) { DF_CLASS_CRITERIA(DF_CASE) }
#undef DF_CASE
}

/* What scores by squared error need of an output in a node. */
typedef struct {
    df_measure measure;
    double factor;
} df_square_output;

/* By squared error, all outputs together. OUT scores : [n] */
static inline void df_square_scores(const int64_t *left, int64_t n, const int64_t *total, int64_t n_words, int is_wide,
                                    const df_square_output *outputs, int64_t n_outputs, double *scores) {
    const int64_t width = is_wide ? 2 : 1;
    for (int64_t i = 0; i < n; i++, left += n_words) {
        double score = 0.0;
        for (int64_t o = 0; o < n_outputs; o++) {
            const int64_t *words = left + 2 + o * width;
            const double sum = df_offset_sum(words[0], is_wide ? words[1] : 0, left[1], outputs[o].measure.mean);
            const double cross = df_mean_cross(left[1], sum, total[1], outputs[o].measure.remainder);
            score += cross * cross * outputs[o].factor;
        }
        scores[i] = score / df_ratio_unit(left[1], total[1]) / (double)n_outputs;
    }
}

#endif
