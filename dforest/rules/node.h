/* The rules of a node: when it is a leaf, what its children are, which scale its targets have, what it predicts. Shared by
 * the CPU and device code (C99 and C++).
 *
 * By a node's scale, the integer of a target y is (y - centre) * 2^exponent, rounded. A score of integer targets is in units of a
 * power of two that follows from the scale; an *absolute* score is in units of weight times impurity. */
#ifndef DFOREST_RULES_NODE_H
#define DFOREST_RULES_NODE_H

#include <math.h>
#include <string.h>

#include "bounds.h"
#include "criteria.h"
#include "random.h"
#include "records.h"

/* A node's targets get another scale once their range is below 1 / DF_REQUANTISE of the range that their scale was made for. */
enum { DF_REQUANTISE = 256 };

/* A sum of a node's integer weights in the units of all rows' integer weights, given the node's shift (weights.h). */
static inline double df_shifted_weight(int64_t weight, int32_t shift) {
    return shift == 0 ? (double)weight : ldexp((double)weight, -shift);
}

/* Whether a node is a leaf, as far as its depth, draws and weight tell. weight, root_weight : of its draws, and of all draws of
 * its tree, in the units of all rows */
static inline int df_is_leaf_by_size(const df_limits *limits, int64_t depth, int64_t n_draws, double weight, double root_weight) {
    return depth >= limits->max_depth || n_draws < limits->min_samples_split || n_draws < 2 * limits->min_samples_leaf
           || weight < 2.0 * limits->min_weight_fraction_leaf * root_weight;
}

/* Where all weights are 1: the fewest draws of a node that is not a leaf by their number. */
static inline int64_t df_min_split_size(const df_limits *limits, double root_weight) {
    const double by_weight = ceil(2.0 * limits->min_weight_fraction_leaf * root_weight);
    int64_t least = limits->min_samples_split;
    if (least < 2 * limits->min_samples_leaf)
        least = 2 * limits->min_samples_leaf;
    return (double)least < by_weight ? (int64_t)by_weight : least;
}

/* Whether a node is a leaf as it is pure enough. Whoever has no threshold, 0, need not ask. */
static inline int df_is_pure_enough(const df_limits *limits, double impurity) {
    return limits->impurity_threshold > 0.0 && impurity < limits->impurity_threshold;
}

/* shift : of the node's weights */
static inline df_leaf_rules df_leaf_rules_of(const df_limits *limits, double root_weight, int32_t shift) {
    df_leaf_rules rules;
    rules.min_draws = limits->min_samples_leaf;
    rules.min_weight = limits->min_weight_fraction_leaf * root_weight;
    if (shift != 0)
        rules.min_weight = ldexp(rules.min_weight, shift);
    return rules;
}

/* The exponent of the unit of a criterion's impurities, given that of a node's targets. */
static inline int df_score_exponent(int64_t criterion, int32_t exponent) {
    if (criterion == DF_SQUARED_ERROR)
        return -2 * exponent;
    return criterion == DF_POISSON || criterion == DF_ABSOLUTE_ERROR ? -exponent : 0;
}

/* The exponent of the unit of a node's scores: score * 2^exponent is absolute, and with targets of extreme size beyond the range of
 * float64. impurity_exponent : that of the unit of impurities; shift : of the node's weights */
static inline int32_t df_absolute_exponent(int impurity_exponent, int32_t shift) { return impurity_exponent - shift; }

/* Whether the best split of a node decreases the impurity enough. exponent : of the unit of its score */
static inline int df_decreases_enough(const df_limits *limits, double score, int32_t exponent, double root_weight) {
    return !(limits->min_impurity_decrease > 0.0 && ldexp(score / root_weight, exponent) < limits->min_impurity_decrease);
}

/* The root of a tree that has n records, whose targets have no scale yet: whoever opens the node makes one. */
static inline df_open_node df_root_of(int64_t n, uint32_t seed) {
    df_open_node root;
    memset(&root, 0, sizeof root);
    root.n = n;
    root.key = DF_ROOT_KEY;
    root.first_weight = -1;
    root.lower = -INFINITY;
    root.upper = INFINITY;
    root.seed = seed;
    return root;
}

/* A child of a node whose draws have been partitioned. n_left : records on the left */
static inline df_open_node df_child_of(const df_open_node *parent, int right, int64_t n_left, int32_t monotonic_cst,
                                       double midpoint) {
    const df_bounds bounds = {parent->lower, parent->upper};
    const df_bounds own = df_child_bounds(bounds, right, monotonic_cst, midpoint);
    df_open_node child = *parent;
    child.first = right ? parent->first + n_left : parent->first;
    child.n = right ? parent->n - n_left : n_left;
    child.key = df_child_key(parent->key, right);
    child.depth = parent->depth + 1;
    child.lower = own.lower;
    child.upper = own.upper;
    return child;
}

/* Whether all targets of n records may be equal, or lie so close that they need another scale. range : of their integers;
 * made_for : the range that their scale was made for, 0 without one */
static inline int df_is_narrow(int64_t n, int64_t range, int64_t made_for) {
    return n > 1 && (range == 0 || DF_REQUANTISE * range < made_for);
}

/* The scale of targets from lo to hi, lo < hi: returns the largest exponent that leaves their integers below 2^bits in
 * magnitude. OUT centre : the middle, which stands for 0 */
static inline int32_t df_choose_scale(double lo, double hi, int bits, double *centre) {
    double above, below;
    *centre = 0.5 * lo + 0.5 * hi;
    above = hi - *centre;
    below = *centre - lo;
    return df_scale_exponent(above > below ? above : below, bits);
}

/* A scale made ready to be used. */
static inline df_quantiser df_quantiser_of(double centre, int32_t exponent) {
    df_quantiser scale;
    scale.centre = centre;
    scale.first = df_power_of_two(exponent / 2);
    scale.second = df_power_of_two(exponent - exponent / 2);
    return scale;
}

/* The integer of a target. */
static inline int32_t df_quantised(const df_quantiser *scale, double y) {
    return (int32_t)rint((y - scale->centre) * scale->first * scale->second);
}

/* What an integer, or a mean of integers, stands for. */
static inline double df_target_of(double quantised, double centre, int32_t exponent) {
    return centre + ldexp(quantised, -exponent);
}

/* The mean target of some draws, given their statistic. */
static inline double df_mean_target(const int64_t *statistic, int is_wide, double centre, int32_t exponent) {
    const double sum = df_offset_sum(statistic[2], df_high_word(statistic, is_wide), statistic[1], 0);
    return df_target_of(sum / (double)statistic[1], centre, exponent);
}

/* The variance of a node's targets. IN squares : the sum of weight * (integer - measure->mean)^2 over its draws */
static inline double df_square_impurity(const df_exact_sum *squares, int64_t weight, const df_measure *measure, int score_exponent) {
    const double remainder = measure->remainder / (double)weight;
    return ldexp(df_sum_value(squares) / (double)weight - remainder * remainder, score_exponent);
}

/* Half the mean Poisson deviance. IN deviances : the sum of weight * df_fixed_deviance over a node's draws */
static inline double df_deviance_impurity(const df_exact_sum *deviances, int64_t weight, int score_exponent) {
    return ldexp(df_sum_value(deviances) / (double)weight / DF_DEVIANCE_UNIT, score_exponent);
}

/* A leaf predicts the mean of its exact targets: their integers of 62 bits are summed up in 128, by the scale of its own that
 * df_choose_scale makes for lo, ..., hi. */
enum { DF_LEAF_BITS = 62 };

static inline int64_t df_leaf_offset(double y, double centre, int32_t exponent) {
    return (int64_t)rint(ldexp(y - centre, exponent));
}

/* IN sum : of df_leaf_offset times weight, over the leaf's draws */
static inline double df_leaf_mean(const df_exact_sum *sum, double weight, double centre, int32_t exponent, double lo, double hi) {
    return df_clip(centre + ldexp(df_sum_value(sum) / weight, -exponent), lo, hi);
}

#endif
