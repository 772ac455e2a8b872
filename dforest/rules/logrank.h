/* The rules of the log-rank test of two sides of a node (C99 and C++).
 *
 * At an event time there are n draws at risk in the node, and d events. The hazard rises by d / n there, and the number of events
 * among the draws at risk on the left, n_L, has the variance c * n_L * (n - n_L), with c = d (n - d) / (n^2 (n - 1)). The test's
 * numerator is the sum over the draws on the left of their *residuals*, event - hazard at their time. With u of these draws and V
 * the sum of the variances over all event times, the statistic is u^2 / V.
 *
 * A draw is at risk at the event times after its entry, up to its time: its residual is event - (hazard at its time - hazard at
 * its entry). By linearity, it is a draw that is there from the start less one that leaves at the entry.
 *
 * Residuals and steps of variance are rounded to integers once in a node, so that all sums are exact. If all draws are there from
 * the start, the sum of c over all times is below 1, as each c is at most the sum of 1 / m^2 over the numbers m of draws at risk
 * that its events leave behind. With entries it may be greater, and steps have fewer digits then. */
#ifndef DFOREST_RULES_LOGRANK_H
#define DFOREST_RULES_LOGRANK_H

#include <math.h>

#include "numerics.h"

/* A code of a row: 2 * the number of event times up to its time + (1 for an event) + 2^27 * that of event times up to its entry. */
#define DF_ENTRY_SHIFT 27
static inline int64_t df_entry_of(int64_t code) { return code >> DF_ENTRY_SHIFT; }
static inline int64_t df_exit_of(int64_t code) { return code & (((int64_t)1 << DF_ENTRY_SHIFT) - 1); }

/* How many binary digits a positive number has. */
static inline int df_digits(int64_t number) {
    int digits = 0;
    for (; number > 0; number >>= 1)
        digits++;
    return digits;
}

/* Weights in variances have 31 bits at most in all, and lose so many of their last ones for that. */
static inline int df_variance_shift(int64_t weight) { return df_digits(weight) > 31 ? df_digits(weight) - 31 : 0; }

/* c. A draw may have lost all of its weight. */
static inline double df_variance_fraction(int64_t events, int64_t at_risk) {
    const double d = (double)events, n = (double)at_risk;
    return 0 < events && events < at_risk ? d * (n - d) / (n * n * (n - 1.0)) : 0.0;
}

/* The digits that a step of variance has after the point: 20 more than the smallest steps need, if their sum has room.
 * weight : of the node, without the bits that it loses; sum : of c over its event times */
static inline int df_variance_digits(int64_t weight, double sum) {
    const int digits = 2 * df_digits(weight) + 20;
    int exponent, most;
    frexp(sum > 0.5 ? sum : 0.5, &exponent);
    most = 62 - exponent;
    return digits < most ? digits : most;
}

/* c as an integer. */
static inline int64_t df_variance_step(double share, int digits) { return (int64_t)rint(ldexp(share, digits)); }

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

/* Sums of exact weights (weights.h) --------------------------------------------------------------------------------------------
 *
 * The weight at risk is a sum that weights enter and leave. Where they differ by many orders of magnitude, a heavy one that is taken
 * off again takes the light ones along: (1e17 + 1) - 1e17 is 0. So sums are kept in a binary tree of n leaves, the weights that are
 * there: sums[1] is the sum of all, sums[i] that of sums[2 i] and sums[2 i + 1], and the leaves are sums[n] to sums[2 n - 1]. Nothing
 * is ever taken off, so that each sum has the precision of its own terms. */

/* An exact weight so scaled that the sum of 2^40 of them is a number. */
static inline double df_addable(double exact) {
    const double scaled = exact * ldexp(1.0, -40);
    return scaled > 0.0 ? scaled : ldexp(1.0, -1074);
}

/* Make the sums of a tree whose leaves are set. */
static inline void df_add_up_weights(double *sums, int64_t n) {
    int64_t i;
    for (i = n - 1; i > 0; i--)
        sums[i] = sums[2 * i] + sums[2 * i + 1];
}

/* Change a leaf. */
static inline void df_put_weight(double *sums, int64_t n, int64_t leaf, double weight) {
    int64_t i = n + leaf;
    sums[i] = weight;
    for (i /= 2; i > 0; i /= 2)
        sums[i] = sums[2 * i] + sums[2 * i + 1];
}

/* Some draws of one row. */
typedef struct {
    int64_t code;  /* twice the number of event times up to their time, and 1 more for an event */
    int64_t entry; /* the number of event times up to their entry */
    double weight; /* that can be added up */
} df_exposed;

/* The hazards of some draws, one event time after another: d / n, or 1 if all that are at risk have their event then. Draws of the
 * times 1 (censored), 2 and 3 (events), of which the last one enters after the time 2, have the hazards 1 at 2 and 1 at 3. */
typedef struct {
    const df_exposed *draws; /* [n] ascending by code */
    const int64_t *entering; /* [n_entering] which of them have an entry above 0, ascending by entry */
    int64_t n, n_entering, first, next;
    double *sums; /* [2 n + 2] of the weights at risk */
} df_hazards;

static inline void df_begin_hazards(df_hazards *of) {
    int64_t i;
    for (i = 0; i < of->n; i++)
        of->sums[of->n + i] = of->draws[i].entry == 0 ? of->draws[i].weight : 0.0;
    df_add_up_weights(of->sums, of->n);
    of->first = of->next = 0;
}

/* The hazard at the next event time, which is the number `time`, from 1; 0 behind the last one. */
static inline double df_next_hazard(df_hazards *of, int64_t *time) {
    const df_exposed *draws = of->draws;
    double events, hazard = 0.0;
    int64_t i, end;
    while (of->first < of->n && !(hazard > 0.0)) { /* as a float, it may be too small */
        *time = draws[of->first].code >> 1;
        for (; of->next < of->n_entering && draws[i = of->entering[of->next]].entry < *time; of->next++)
            if (draws[i].code >> 1 >= *time) /* else never at risk at an event time */
                df_put_weight(of->sums, of->n, i, draws[i].weight);
        events = 0.0;
        for (end = of->first; end < of->n && draws[end].code >> 1 == *time; end++)
            if (draws[end].code & 1) {
                events += of->sums[of->n + end];
                df_put_weight(of->sums, of->n, end, 0.0);
            }
        if (events > 0.0)
            hazard = events / (events + of->sums[1]);
        for (; of->first < end; of->first++)
            if (!(draws[of->first].code & 1))
                df_put_weight(of->sums, of->n, of->first, 0.0);
    }
    return hazard;
}

#endif
