/* The rules of the log-rank test of two sides of a node (C99 and C++).
 *
 * At an event time there are n draws at risk in the node, and d events. The hazard rises by d / n there, and the number of events
 * among the draws at risk on the left, n_L, has the variance c * n_L * (n - n_L), with c = d (n - d) / (n^2 (n - 1)). The test's
 * numerator is the sum over the draws on the left of their *residuals*, event - hazard at their time. With u of these draws and V
 * the sum of the variances over all event times, the statistic is u^2 / V.
 *
 * Residuals and steps of variance are rounded to integers once in a node, so that all sums are exact. The sum of c over all times
 * is below 1, as each c is at most the sum of 1 / m^2 over the numbers m of draws at risk that its events leave behind. */
#ifndef DFOREST_RULES_LOGRANK_H
#define DFOREST_RULES_LOGRANK_H

#include <math.h>

#include "numerics.h"

/* How many binary digits a positive number has. */
static inline int df_digits(int64_t number) {
    int digits = 0;
    for (; number > 0; number >>= 1)
        digits++;
    return digits;
}

/* Weights in variances have 31 bits at most in all, and lose so many of their last ones for that. */
static inline int df_variance_shift(int64_t weight) { return df_digits(weight) > 31 ? df_digits(weight) - 31 : 0; }

/* The digits that a step of variance has after the point: 20 more than the smallest steps need.
 * weight, n_draws : of the node, the weight without the bits that it loses */
static inline int df_variance_digits(int64_t weight, int64_t n_draws) {
    const int digits = df_digits(weight) + df_digits(n_draws) + 20;
    return digits < 62 ? digits : 62;
}

/* c as an integer. A draw may have lost all of its weight. */
static inline int64_t df_variance_step(int64_t events, int64_t at_risk, int digits) {
    const double d = (double)events, n = (double)at_risk;
    return 0 < events && events < at_risk ? (int64_t)rint(ldexp(d * (n - d) / (n * n * (n - 1.0)), digits)) : 0;
}

/* The digits after the point of residuals that are above -hazard, so that they fit 32 bits. */
static inline int df_residual_digits(double hazard) {
    int exponent;
    frexp(hazard > 1.0 ? hazard : 1.0, &exponent);
    return 31 - exponent;
}

/* The statistic. sum : of the integer residuals on the left; variance : V as an integer; shift : of weights in it */
static inline double df_logrank_score(double sum, int residual_digits, df_big variance, int variance_digits, int shift) {
    const double u = ldexp(sum, -residual_digits), v = ldexp(df_big_value(variance), shift - variance_digits);
    return v > 0.0 ? u * u / v : 0.0;
}

/* What a draw changes the sum over all pairs of left draws by, where a pair counts C at the earlier of its times, by its weights.
 * weight : of the draw, below 0 if it leaves; own : C at its time; others : the sum over the left draws, before the change, of
 * their weight times C at the earlier of their time and the draw's */
static inline df_big df_pairs_change(int64_t weight, int64_t own, df_big others) {
    return df_big_sum(df_big_times(others, 2 * weight), df_big_times(df_big_product(weight, own), weight));
}

#endif
