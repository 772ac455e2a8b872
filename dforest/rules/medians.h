/* The rules of absolute error: which target is the median of some draws, and what these cost by their distances from it. Shared
 * by the CPU and device code (C99 and C++).
 *
 * The cost of a set of draws is the sum of weight * |target - median|, and the score of a cut is the cost of the node less those
 * of its sides: integers of up to 128 bits. Of two medians the lower one is taken; the value of a leaf is between the two.
 *
 * The median is looked for from the least target up: draws that lie below it are *passed*. */
#ifndef DFOREST_RULES_MEDIANS_H
#define DFOREST_RULES_MEDIANS_H

#include <math.h>

#include "numerics.h"

/* Integer targets as unsigned numbers of the same order, and back. */
static inline uint32_t df_target_sort_key(int32_t target) { return (uint32_t)target ^ 0x80000000u; }

static inline int32_t df_target_of_sort_key(uint32_t key) { return (int32_t)(key ^ 0x80000000u); }

/* What is known of a set of draws while its median is looked for. Of weights 1, 1, 1 and targets 2, 5, 9, it is (3, 16) at first,
 * and (1, 12) once 2 is passed, which are 2 draws less 1, and 5 + 9 less 2. The median is 5, and the cost 12 - 5 * 1 = 7. */
typedef struct {
    df_big sum;     /* of weight * target over the draws that are not passed, less that over those that are */
    int64_t excess; /* their weights, likewise */
} df_spread;

static inline df_spread df_spread_of(int64_t weight, df_big sum) {
    const df_spread spread = {sum, weight};
    return spread;
}

/* Whether the median lies above the next draws, given their weight. */
static inline int df_lies_above(const df_spread *spread, int64_t weight) { return weight < spread->excess - weight; }

/* Pass the next draws. */
static inline void df_pass(df_spread *spread, int64_t weight, df_big sum) {
    spread->excess -= 2 * weight;
    spread->sum = df_big_difference(spread->sum, df_big_sum(sum, sum));
}

/* The cost, once all draws below the median are passed. */
static inline df_big df_spread_cost(const df_spread *spread, int64_t median) {
    return df_big_difference(spread->sum, df_big_product(median, spread->excess));
}

/* The score of a cut by one output, given the costs of the node and of the sides. factor : see df_output_factor */
static inline double df_cost_decrease_of(df_big node, df_big left, df_big right, double factor) {
    return df_big_value(df_big_difference(df_big_difference(node, left), right)) * factor;
}

/* The mean deviation from the median. */
static inline double df_deviation_impurity(const df_exact_sum *cost, int64_t weight, int score_exponent) {
    return ldexp(df_sum_value(cost) / (double)weight, score_exponent);
}

/* Whether draws of a set, from the least target up, have half of its weight: the target of the last one is the median then. */
static inline int df_has_half(int64_t weight, int64_t total) { return weight >= total - weight; }

/* What a leaf predicts. weight : of the draws with targets up to the median; next : the next target above it */
static inline double df_midpoint_of_medians(double median, double next, int64_t weight, int64_t total) {
    return weight == total - weight ? 0.5 * median + 0.5 * next : median;
}

#endif
