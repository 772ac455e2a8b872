/* The rules of several outputs, which the same trees predict. Shared by the CPU and device code (C99 and C++).
 *
 * Each output has targets, an integer scale and a measure of its own. A statistic has the words of one output after another:
 *
 *     word 0, 1                draws, weight
 *     words of output 0        class weights, or the sum of weight times target in one word or two
 *     words of output 1        ...
 *
 * An impurity is the mean over outputs, and so is the score of a cut; a cut that one of the outputs does not allow is none. An
 * output that is *pure* in a node, with one class or one target there, takes no part in its scores. Scores of numbers are in
 * units of the outputs' own scales, which differ by powers of two; the largest unit among outputs that are not pure is that of
 * the node.
 *
 * Sums of floats over many outputs, or classes, are formed in DF_OUTPUT_LANES lanes: term i is added to lane i % DF_OUTPUT_LANES,
 * and then lanes are added to each other, the upper half of them to the lower one until one is left. So compilers may keep the
 * lanes in vectors, and any instruction set gives the same bits. */
#ifndef DFOREST_RULES_OUTPUTS_H
#define DFOREST_RULES_OUTPUTS_H

#include "categories.h"
#include "criteria.h"
#include "node.h"
#include "records.h"

enum { DF_OUTPUT_LANES = 8, DF_OUTPUT_WORDS = 2 };

/* Integers of targets are below 2 to this power in magnitude; by squared error they fit 32 bits with their mean taken off. */
static inline int df_output_bits(int64_t criterion) { return criterion == DF_SQUARED_ERROR ? 30 : 31; }

/* The unit of an output's scores in that of the node, given the exponents of both. */
static inline double df_output_factor(int exponent, int of_node) { return ldexp(1.0, exponent - of_node); }

static inline double df_sum_of_lanes(const double *lanes) {
    double some[4];
    int j;
    for (j = 0; j < 4; j++)
        some[j] = lanes[j] + lanes[j + 4];
    return (some[0] + some[2]) + (some[1] + some[3]);
}

/* What an output adds to a score by squared error. w, w_left : weights of the node and of the left side; sum : of the left side's
 * targets less w_left times the node's mean, rounded down */
static inline double df_square_term(double w, double sum, double w_left, double remainder, double factor) {
    const double d = w * sum - w_left * remainder;
    return d * d * factor;
}

/* What a class adds to a score by Gini impurity; and where nothing is rounded, as weights are at most DF_EXACT_WEIGHT. */
static inline double df_gini_term(int64_t w, int64_t left, int64_t w_left, int64_t total) {
    const double d = df_cross(w, left, w_left, total);
    return d * d;
}

static inline double df_small_gini_term(double w, double left, double w_left, double total) {
    const double d = w * left - w_left * total;
    return d * d;
}

/* A score by squared error or Gini impurity, given the sums of such terms in lanes. */
static inline double df_score_of_lanes(const double *lanes, int64_t w_left, int64_t w, int64_t n_outputs) {
    return df_sum_of_lanes(lanes) / df_ratio_unit(w_left, w) / (double)n_outputs;
}

/* The statistic of an output of numbers alone. OUT part : [4] */
static inline void df_output_part(const df_output *output, const int64_t *statistic, int64_t *part) {
    part[0] = statistic[0];
    part[1] = statistic[1];
    part[2] = statistic[output->first];
    part[3] = output->n_words > 1 ? statistic[output->first + 1] : 0;
}

/* Choose the scale of an output of numbers in a node, given its least and greatest target. */
static inline void df_scale_output(df_output *output, int64_t criterion, double lo, double hi) {
    output->is_pure = lo == hi;
    output->scale.centre = output->scale.first = output->scale.second = 0.0;
    output->exponent = 0;
    if (output->is_pure)
        return;
    output->exponent = df_choose_scale(lo, hi, df_output_bits(criterion), &output->scale.centre);
    output->scale = df_quantiser_of(output->scale.centre, output->exponent);
}

/* Set what the scores of a node need of its outputs, which have scales, and whether those of classes are pure. Returns the
 * exponent of a scale whose scores have the node's unit; 0 if all outputs are pure.
 *
 * IN total : the node's statistic */
static inline int32_t df_measure_outputs(df_output *outputs, int64_t n_outputs, int64_t criterion, int is_wide,
                                         const int64_t *total) {
    const int has_classes = criterion < DF_SQUARED_ERROR;
    int64_t o, part[4];
    int32_t least = 0;
    int is_first = 1;
    for (o = 0; o < n_outputs; o++) {
        df_output *own = &outputs[o];
        if (has_classes)
            own->is_pure = df_has_one_class(total + own->first - DF_OUTPUT_WORDS, DF_OUTPUT_WORDS + own->n_words);
        else {
            df_output_part(own, total, part);
            if (criterion == DF_POISSON)
                df_measure_deviance(part, is_wide, own->scale.centre, own->exponent, &own->measure);
            else
                df_measure_squares(part, is_wide, &own->measure);
        }
        if (!own->is_pure) {
            least = is_first || own->exponent < least ? own->exponent : least;
            is_first = 0;
        }
    }
    for (o = 0; o < n_outputs; o++)
        outputs[o].factor = outputs[o].is_pure ? 0.0
                                               : df_output_factor(df_score_exponent(criterion, outputs[o].exponent),
                                                                  df_score_exponent(criterion, least));
    return least;
}

/* Whether all outputs are pure. */
static inline int df_outputs_are_pure(const df_output *outputs, int64_t n_outputs) {
    int64_t o;
    for (o = 0; o < n_outputs; o++)
        if (!outputs[o].is_pure)
            return 0;
    return 1;
}

/* The score of a cut; -1 if an output does not allow it. IN left, total : [n_words] */
static inline double df_outputs_score(const df_output *outputs, int64_t n_outputs, int64_t criterion, int is_wide,
                                      const int64_t *left, const int64_t *total, int64_t n_words) {
    const double w = (double)total[1], w_left = (double)left[1];
    double lanes[DF_OUTPUT_LANES] = {0.0}, sum = 0.0, score;
    int64_t o, k, left_part[4], total_part[4];
    if (criterion == DF_GINI) {
        for (k = DF_OUTPUT_WORDS; k < n_words; k++)
            lanes[(k - DF_OUTPUT_WORDS) % DF_OUTPUT_LANES] +=
                total[1] > DF_EXACT_WEIGHT ? df_gini_term(total[1], left[k], left[1], total[k])
                                           : df_small_gini_term(w, (double)left[k], w_left, (double)total[k]);
        return df_score_of_lanes(lanes, left[1], total[1], n_outputs);
    }
    for (o = 0; o < n_outputs; o++) {
        const df_output *own = &outputs[o];
        if (own->is_pure)
            continue;
        if (criterion < DF_SQUARED_ERROR) {
            sum += df_class_score(criterion, left, total, own->first, own->first + own->n_words);
            continue;
        }
        df_output_part(own, left, left_part);
        if (criterion == DF_SQUARED_ERROR) {
            lanes[o % DF_OUTPUT_LANES] +=
                df_square_term(w, df_offset_sum(left_part[2], left_part[3], left[1], own->measure.mean), w_left,
                               own->measure.remainder, own->factor);
            continue;
        }
        df_output_part(own, total, total_part);
        score = df_deviance_score(left_part, total_part, is_wide, &own->measure);
        if (score < 0.0)
            return -1.0;
        sum += score * own->factor;
    }
    return criterion == DF_SQUARED_ERROR ? df_score_of_lanes(lanes, left[1], total[1], n_outputs) : sum / (double)n_outputs;
}

/* The impurity of a node by a criterion of classes. */
static inline double df_outputs_class_impurity(const df_output *outputs, int64_t n_outputs, int64_t criterion,
                                               const int64_t *statistic) {
    double sum = 0.0;
    int64_t o;
    for (o = 0; o < n_outputs; o++)
        sum += df_class_impurity(criterion, statistic, outputs[o].first, outputs[o].first + outputs[o].n_words);
    return sum / (double)n_outputs;
}

/* Categories are ordered by the mean responses of one output (categories.h), that which they tell most about: its responses have
 * the largest *spread*, their weighted variance between the categories, in units of output 0's scale; of equal ones the first.
 *
 * The share of a category in the node's weight; what it adds to the mean response; and to the spread. */
static inline double df_category_fraction(int64_t weight, int64_t total) { return (double)weight / (double)total; }

static inline double df_response_term(double share, double response) { return share * response; }

static inline double df_spread_term(double share, double response, double mean) {
    return share * (response - mean) * (response - mean);
}

/* Given the sum of these terms, and the exponents of the output's scale and of output 0's. */
static inline double df_response_spread(double sum, int32_t exponent, int32_t of_first) {
    return ldexp(sum, 2 * (of_first - exponent));
}

/* The mean response of a category by one output. IN statistic : of its draws; largest : of the output, see df_output_largest */
static inline double df_output_response(const df_output *output, int64_t criterion, int is_wide, const int64_t *statistic,
                                        int64_t largest) {
    int64_t part[4];
    if (criterion < DF_SQUARED_ERROR)
        return df_class_response(statistic, largest);
    df_output_part(output, statistic, part);
    return df_target_response(part, is_wide, output->measure.mean);
}

/* The word of an output's largest class in a node. IN total : the node's statistic */
static inline int64_t df_output_largest(const df_output *output, const int64_t *total) {
    const int64_t before = output->first - DF_OUTPUT_WORDS;
    return before + df_largest_class(total + before, DF_OUTPUT_WORDS + output->n_words);
}

#endif
