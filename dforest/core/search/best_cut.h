/* The first of the best of some cuts, by the scores of criteria.h, and its score (C99 and C++). Loops with one score each, so
 * that compilers see through them. n >= 1; IN left : [n, n_words] statistics of the left sides; total : [n_words] the node's */
#ifndef DFOREST_BEST_CUT_H
#define DFOREST_BEST_CUT_H

#include "rules/criteria.h"

/* value_of : the score of one cut, in terms of `left` */
#define DF_FIRST_BEST(first, value_of)         \
    int64_t best = first;                      \
    *score = -1.0;                             \
    for (int64_t i = 0; i < n; i++) {          \
        const double value = value_of;         \
        if (value > *score) {                  \
            *score = value;                    \
            best = i;                          \
        }                                      \
        left += n_words;                       \
    }                                          \
    return best;

#define DF_CLASS_LOOP(name, criterion)                                                                           \
    static inline int64_t name(const int64_t *left, int64_t n, const int64_t *total, int64_t n_words, double *score) { \
        DF_FIRST_BEST(0, df_class_score(criterion, left, total, n_words))                                        \
    }
DF_CLASS_LOOP(df_best_gini_cut, DF_GINI)
DF_CLASS_LOOP(df_best_entropy_cut, DF_ENTROPY)
DF_CLASS_LOOP(df_best_hellinger_cut, DF_HELLINGER)

/* By a criterion of classes. */
static inline int64_t df_best_class_cut(int64_t criterion, const int64_t *left, int64_t n, const int64_t *total, int64_t n_words,
                                        double *score) {
    return criterion == DF_GINI      ? df_best_gini_cut(left, n, total, n_words, score)
           : criterion == DF_ENTROPY ? df_best_entropy_cut(left, n, total, n_words, score)
                                     : df_best_hellinger_cut(left, n, total, n_words, score);
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
