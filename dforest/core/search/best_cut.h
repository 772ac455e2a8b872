/* The first of the best of some cuts, by the scores of criteria.h, and its score (C99 and C++). Loops with one score each, so
 * that compilers see through them. n >= 1; IN left : [n, n_words] statistics of the left sides; total : [n_words] the node's */
#ifndef DFOREST_BEST_CUT_H
#define DFOREST_BEST_CUT_H

#include "rules/criteria.h"

/* value_of : the score of one cut, in terms of `left` */
#define DF_FIRST_BEST(first, value_of)             \
    double highest = -1.0;                         \
    int64_t best = first;                          \
    for (int64_t i = 0; i < n; i++) {              \
        const double value = value_of;             \
        if (value > highest) {                     \
            highest = value;                       \
            best = i;                              \
        }                                          \
        left += n_words;                           \
    }                                              \
    *score = highest;                              \
    return best;

/* By a criterion of classes. */
static inline int64_t df_best_class_cut(int64_t criterion, const int64_t *left, int64_t n, const int64_t *total, int64_t n_words,
                                        double *score) {
#define DF_CASE(number, name)                                       \
    case number: {                                                  \
        DF_FIRST_BEST(0, df_##name##_score(left, total, 2, n_words)) \
    }
    switch (criterion) { DF_CLASS_CRITERIA(DF_CASE) }
#undef DF_CASE
    return -1;
}

static inline int64_t df_best_square_cut(const int64_t *left, int64_t n, const int64_t *total, int64_t n_words, int is_wide,
                                         const df_measure *measure, double *score) {
    DF_FIRST_BEST(0, df_square_score(left, total, is_wide, measure))
}

/* -1 if none is allowed. */
static inline int64_t df_best_deviance_cut(const int64_t *left, int64_t n, const int64_t *total, int64_t n_words, int is_wide,
                                           const df_measure *measure, double *score) {
    DF_FIRST_BEST(-1, df_deviance_score(left, total, is_wide, measure))
}

#endif
