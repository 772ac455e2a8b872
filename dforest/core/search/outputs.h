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

/* By squared error, but for the division by what is the same for all outputs. */
static inline void df_add_square_crosses(const int64_t *left, int64_t n, const int64_t *total, int64_t n_words, int64_t first,
                                         int is_wide, const df_measure *measure, double factor, double *scores) {
    for (int64_t i = 0; i < n; i++, left += n_words) {
        const double sum = df_offset_sum(left[first], is_wide ? left[first + 1] : 0, left[1], measure->mean);
        const double cross = df_mean_cross(left[1], sum, total[1], measure->remainder);
        scores[i] += cross * cross * factor;
    }
}

/* That division, and the one by the number of outputs. */
static inline void df_divide_crosses(const int64_t *left, int64_t n, const int64_t *total, int64_t n_words, int64_t n_outputs,
                                     double *scores) {
    for (int64_t i = 0; i < n; i++, left += n_words)
        scores[i] = scores[i] / df_ratio_unit(left[1], total[1]) / (double)n_outputs;
}

#endif
