/* The rules by which trees tell rows apart by the effect of treatments. Shared by the CPU and device code (C99 and C++).
 *
 * A row has M outcomes, K treatments, and K instruments; without instruments, treatments stand for them. These are the first
 * numbers of its moments (`dforest.core.effects`), and what is read of them here. In a node they become integers q, at scales of
 * the node's own. Their means and their covariances with the instruments are exact, whatever the order of the draws; from these
 * follow the effects of the node, and by them, of each row, the *columns*: M K pseudo-outcomes,
 *
 *     (instrument - mean) (outcome - mean - (treatments - means) effects)
 *
 * in the units of the moments, for K = 1; for several treatments the instruments are multiplied by the inverse of their
 * covariance with the treatments, and by the range of the treatment. Then, if cuts are to be stable, DF_EFFECT_BOUNDS columns of
 * each instrument: its distance d from the mean, d * d, and whether d is above 0.
 *
 * Columns are floats that depend on the node and on the row. They are targets of several outputs, by squared error; those which
 * bound cuts take no part in scores. Formulas: S. Athey, J. Tibshirani, S. Wager, "Generalized random forests", Annals of
 * Statistics 47(2), 2019, sections 2.3, 6 and 7.
 *
 * What is known of a node is an array of doubles: df_effect_words says what its parts are. */
#ifndef DFOREST_RULES_EFFECTS_H
#define DFOREST_RULES_EFFECTS_H

#include "node.h"
#include "numerics.h"
#include "outputs.h"
#include "records.h"

enum {
    DF_EFFECT_BITS = 30,  /* integers are below 2 to this power in magnitude */
    DF_EFFECT_BOUNDS = 3, /* columns of an instrument that bound cuts */
    DF_EFFECT_PARTS = 6   /* doubles of a node for each moment that is read */
};

/* How many moments are read, and how many of them come before the instruments. */
static inline int64_t df_effect_read(const df_effect_rules *rules) {
    return rules->n_outcomes + rules->n_treatments * (1 + rules->is_instrumental);
}

static inline int64_t df_effect_first_instrument(const df_effect_rules *rules) {
    return rules->n_outcomes + rules->n_treatments * rules->is_instrumental;
}

static inline int64_t df_effect_moments(const df_effect_rules *rules) {
    return df_effect_read(rules) + rules->n_treatments * (rules->n_outcomes + rules->n_treatments);
}

static inline int64_t df_effect_scored(const df_effect_rules *rules) { return rules->n_outcomes * rules->n_treatments; }

static inline int64_t df_effect_columns(const df_effect_rules *rules) {
    return df_effect_scored(rules) + rules->n_treatments * DF_EFFECT_BOUNDS * rules->stabilizes;
}

/* The numbers of a row of the equations: covariances with treatments, and with outcomes, and a row of the unit matrix. */
static inline int64_t df_effect_width(const df_effect_rules *rules) { return 2 * rules->n_treatments + rules->n_outcomes; }

/* How many doubles are known of a node: of each moment that is read a df_quantiser, what its integers stand for, their mean, and
 * the range of the moment; then the equations, and whether they are solved. */
static inline int64_t df_effect_words(const df_effect_rules *rules) {
    return DF_EFFECT_PARTS * df_effect_read(rules) + rules->n_treatments * df_effect_width(rules) + 1;
}

static inline const double *df_effect_units(const df_effect_rules *rules, const double *node) {
    return node + 3 * df_effect_read(rules);
}

static inline const double *df_effect_means(const df_effect_rules *rules, const double *node) {
    return node + 4 * df_effect_read(rules);
}

static inline const double *df_effect_ranges(const df_effect_rules *rules, const double *node) {
    return node + 5 * df_effect_read(rules);
}

static inline const double *df_effect_system(const df_effect_rules *rules, const double *node) {
    return node + DF_EFFECT_PARTS * df_effect_read(rules);
}

static inline int df_effect_is_solved(const df_effect_rules *rules, const double *node) {
    return node[df_effect_words(rules) - 1] != 0.0;
}

/* The integer of the moment c that is read. */
static inline int32_t df_effect_integer(const double *node, int64_t c, double moment) {
    const df_quantiser scale = {node[3 * c], node[3 * c + 1], node[3 * c + 2]};
    return df_quantised(&scale, moment);
}

/* Make the scale of a moment that is read, given its least and greatest value in the node. Equal ones become 0. */
static inline void df_effect_scale(const df_effect_rules *rules, double *node, int64_t c, double lo, double hi) {
    const int64_t n_read = df_effect_read(rules);
    df_quantiser scale = {lo, 0.0, 0.0};
    node[3 * n_read + c] = 0.0;
    if (lo != hi) {
        double centre;
        const int32_t exponent = df_choose_scale(lo, hi, DF_EFFECT_BITS, &centre);
        scale = df_quantiser_of(centre, exponent);
        node[3 * n_read + c] = ldexp(1.0, -exponent);
    }
    node[3 * c] = scale.centre;
    node[3 * c + 1] = scale.first;
    node[3 * c + 2] = scale.second;
    node[5 * n_read + c] = hi - lo;
}

/* Find the effects, and the inverse of the covariances, in units of the integers; without any, the node is not solved.
 *
 * Of the equations 2 a + b = 4 and 2 a - b = 0, which are the rows [2, 1, 4, 1, 0] and [2, -1, 0, 0, 1] of the system,
 * [1, 0, 1, .25, .25] and [0, 1, 2, .5, -.5] are left: a = 1, b = 2. A pivot below grf's share of the range is none.
 *
 * IN weight : of the node's draws; whole : [n_read] means of the integers, rounded down; sums : [n_read] of the integers less
 * these, times weight; products : [n_treatments, n_read] of instruments with all that is read, both less whole means */
static inline void df_effect_solve(const df_effect_rules *rules, double *node, int64_t weight, const int64_t *whole,
                                   const df_exact_sum *sums, const df_exact_sum *products) {
    const int64_t n_read = df_effect_read(rules), M = rules->n_outcomes, K = rules->n_treatments;
    const int64_t width = df_effect_width(rules), first = df_effect_first_instrument(rules);
    const double singular = ldexp(1e-10, 2 * DF_EFFECT_BITS - 2), w = (double)weight;
    double *mean = node + 4 * n_read, *system = node + DF_EFFECT_PARTS * n_read, *is_solved = node + df_effect_words(rules) - 1;
    int64_t c, j, k, t, p;
    for (c = 0; c < n_read; c++)
        mean[c] = (double)whole[c] + df_sum_value(&sums[c]) / w;
    for (k = 0; k < K; k++) {
        double *row = system + k * width;
        const double rest = df_sum_value(&sums[first + k]) / w;
        for (c = 0; c < M + K; c++)
            row[c < M ? K + c : c - M] = df_sum_value(&products[k * n_read + c]) / w - rest * (df_sum_value(&sums[c]) / w);
        for (t = 0; t < K; t++)
            row[K + M + t] = k == t ? 1.0 : 0.0;
    }
    *is_solved = 0.0;
    for (t = 0; t < K; t++) {
        double *row = system + t * width, *other;
        double factor;
        p = t;
        for (k = t + 1; k < K; k++)
            if (fabs(system[k * width + t]) > fabs(system[p * width + t]))
                p = k;
        other = system + p * width;
        if (!(fabs(other[t]) >= singular))
            return;
        for (j = 0; j < width; j++) {
            const double swapped = row[j];
            row[j] = other[j];
            other[j] = swapped;
        }
        factor = row[t];
        for (j = 0; j < width; j++)
            row[j] /= factor;
        for (k = 0; k < K; k++) {
            if (k == t)
                continue;
            other = system + k * width;
            factor = other[t];
            for (j = 0; j < width; j++)
                other[j] -= factor * row[j];
        }
    }
    *is_solved = 1.0;
}

/* A column of a row, by the node's effects. IN y : the moments of the row */
static inline double df_effect_column(const df_effect_rules *rules, const double *node, const double *y, int64_t column) {
    const int64_t M = rules->n_outcomes, K = rules->n_treatments, n_scored = M * K, width = df_effect_width(rules);
    const int64_t first = df_effect_first_instrument(rules);
    const double *unit = df_effect_units(rules, node), *mean = df_effect_means(rules, node);
    const double *system = df_effect_system(rules, node);
    int64_t t, k;
    if (!df_effect_is_solved(rules, node))
        return 0.0;
#define DF_DISTANCE(c) ((double)df_effect_integer(node, c, y[c]) - mean[c])
    if (column < n_scored) {
        const int64_t of = column / M, m = column % M;
        double residual = DF_DISTANCE(m), gradient = 0.0;
        for (t = 0; t < K; t++)
            residual -= DF_DISTANCE(M + t) * system[t * width + K + m];
        if (K == 1)
            return DF_DISTANCE(first) * residual * (unit[first] * unit[m]);
        for (k = 0; k < K; k++)
            gradient += system[of * width + K + M + k] * DF_DISTANCE(first + k);
        return gradient * residual * (unit[m] / unit[M + of]) * df_effect_ranges(rules, node)[M + of];
    }
    k = (column - n_scored) / DF_EFFECT_BOUNDS;
    {
        const double d = DF_DISTANCE(first + k) * unit[first + k];
        const int64_t which = (column - n_scored) % DF_EFFECT_BOUNDS;
        return which == 0 ? d : which == 1 ? d * d : d > 0.0 ? 1.0 : 0.0;
    }
#undef DF_DISTANCE
}

/* The sum of weight times a column over some draws, given their weight and the sum of the column's integers less their mean in
 * the node, rounded down. IN origin, unit : what that mean, and an integer, stand for */
static inline double df_effect_sum(double weight, double around, double origin, double unit) {
    return weight * origin + around * unit;
}

/* Whether a cut leaves enough of a treatment on both sides; if so, what it costs to be uneven, in units of weight times those
 * of scores, is added to a penalty.
 *
 * IN w, n_draws : weight and draws of the node; w_left : weight of the left side; total, left : [DF_EFFECT_BOUNDS] sums of weight
 * times the columns of the treatment that bound cuts, over the node and over the left side. INOUT penalty */
static inline int df_effect_is_stable(const df_effect_rules *rules, double w, double n_draws, double w_left, const double *total,
                                      const double *left, double *penalty) {
    const double nearly = 1.0 - ldexp(1.0, -20); /* of a count: what rounding may take from it */
    const double mean_weight = w / n_draws, least = (double)rules->least * mean_weight * nearly, w_right = w - w_left;
    const double above = total[2], above_left = left[2];
    double size, size_left, size_right;
    if (above_left < least || above - above_left < least || w_left - above_left < least
        || w_right - (above - above_left) < least)
        return 0;
    if (rules->alpha == 0.0 && rules->imbalance_penalty == 0.0)
        return 1;
    size = total[1] - total[0] * total[0] / w;
    size_left = left[1] - left[0] * left[0] / w_left;
    size_right = (total[1] - left[1]) - (total[0] - left[0]) * (total[0] - left[0]) / w_right;
    if (size_left < rules->alpha * size || size_right < rules->alpha * size)
        return 0;
    if (rules->imbalance_penalty > 0.0) {
        if (size_left <= 0.0 || size_right <= 0.0)
            return 0;
        *penalty += rules->imbalance_penalty * (mean_weight / size_left + mean_weight / size_right);
    }
    return 1;
}

/* A penalty in units of a node's scores, which are means over columns. IN exponent : of scores, see df_score_exponent */
static inline double df_effect_penalty(const df_effect_rules *rules, double penalty, double mean_weight, int exponent) {
    return ldexp(penalty * mean_weight / (double)df_effect_columns(rules), -exponent);
}

#endif
