/* The rules of cuts: which are valid and allowed, which of two is taken, where missing values go, where the threshold is.
 * Shared by the CPU and device code (C99 and C++).
 *
 * A cut sends draws left or right; missing values are tried on the right of all cuts of a feature, then on the left. Which of
 * two cuts on the same side of the missing ones is better is df_is_better of numerics.h. */
#ifndef DFOREST_RULES_CUT_H
#define DFOREST_RULES_CUT_H

#include "bounds.h"
#include "numerics.h"
#include "records.h"

/* Whether a side has draws and weight enough. */
static inline int df_is_side_valid(const df_leaf_rules *rules, int64_t n_draws, int64_t weight) {
    return n_draws >= rules->min_draws && (rules->min_weight <= 0.0 || (double)weight >= rules->min_weight);
}

/* Whether both sides of a cut have draws and weight enough. left, total : statistics of its left side, and of the node */
static inline int df_is_valid(const df_leaf_rules *rules, const int64_t *left, const int64_t *total) {
    return df_is_side_valid(rules, left[0], left[1]) && df_is_side_valid(rules, total[0] - left[0], total[1] - left[1]);
}

/* Of cuts each of which has more on its left than the one before, the valid ones are a run: returns how many there are.
 * With at least 3 draws on each side, of 10, cuts with 1, 3, 7 and 8 draws on the left have a run of 2, from cut 1 on.
 *
 * IN left : [n, n_words] statistics of the left sides; OUT first : the first of the run */
static inline int64_t df_valid_run(const df_leaf_rules *rules, const int64_t *left, int64_t n, int64_t n_words,
                                   const int64_t *total, int64_t *first) {
    int64_t begin = 0, end = n;
    const int64_t *last = left + n * n_words;
    while (begin < end && !df_is_side_valid(rules, left[0], left[1])) {
        begin++;
        left += n_words;
    }
    while (end > begin && !df_is_side_valid(rules, total[0] - last[-n_words], total[1] - last[1 - n_words])) {
        end--;
        last -= n_words;
    }
    *first = begin;
    return end - begin;
}

/* The fewest draws that a side of a valid cut has, if all weights are 1. */
static inline int64_t df_min_draws(const df_leaf_rules *rules) {
    const int64_t by_weight = (int64_t)ceil(rules->min_weight);
    return by_weight > rules->min_draws ? by_weight : rules->min_draws;
}

/* Whether a cut whose sides predict `left` and `right` is allowed. With a feature that has a direction, it has to keep to this, and
 * to the node's bounds; with others it is always, as what leaves predict is kept within their bounds. */
static inline int df_is_allowed(double lower, double upper, int32_t monotonic_cst, double left, double right) {
    return monotonic_cst == 0
           || (lower <= left && left <= upper && lower <= right && right <= upper && (left - right) * monotonic_cst <= 0.0);
}

/* Whether, of the best cut with missing values on the left and the best one with missing values on the right, the former is
 * taken: if it is better; or as good, and the lower cut. Each of the two has a score, -1 if there is no such cut; an imbalance;
 * and its place among the cuts of the feature. */
static inline int df_leads_left(double score, int64_t imbalance, int64_t place, double right_score, int64_t right_imbalance,
                                int64_t right_place) {
    return df_is_better(score, imbalance, right_score, right_imbalance)
           || (score >= 0.0 && score == right_score && imbalance == right_imbalance && place < right_place);
}

/* Where missing values go: where the cut taken has them; if the node has none, where more draws go. n_left : draws on the left,
 * without missing values; taken_left : whether the cut taken has missing values on the left; n : draws of the node */
static inline int df_missing_goes_left(int64_t n_left, int64_t n_missing, int taken_left, int64_t n) {
    return n_missing > 0 ? taken_left != 0 : 2 * n_left > n;
}

/* Whether a cut divides missing values from all the rest. */
static inline int df_only_missing_right(int64_t n_left, int64_t n_missing, int taken_left, int64_t n) {
    return n_missing > 0 && !taken_left && n_left + n_missing == n;
}

/* The highest code on the left of a cut. */
static inline uint64_t df_last_left(uint64_t code, int only_missing_right, uint64_t n_codes) {
    return only_missing_right ? n_codes - 1 : code;
}

/* Whether a draw goes left by its code. also : one more code that goes left, that of missing values, or the cut's own */
static inline int df_goes_left(uint64_t code, uint64_t last, uint64_t also) { return (code <= last) | (code == also); }

/* Whether a draw goes left by its category. subset : a bit for each of n_codes categories, of those on the side opposite to
 * missing ones */
static inline int df_category_goes_left(uint64_t code, const uint64_t *subset, uint64_t n_codes, int missing_left) {
    return (code < n_codes && ((subset[code / 64] >> (code % 64)) & 1)) != (missing_left != 0);
}

/* Which code's number is the threshold of a cut between codes of bins or of ordinal values. above : the lowest code in the node
 * on the right. Of bins, the upper edge of the last one on the left; if the node has none of the next ones, of the one in the
 * middle of these: between 3 and 8, of 5. Of ordinal values, the one before the lowest on the right: 7. */
static inline uint64_t df_threshold_code(int64_t kind, uint64_t code, uint64_t above) {
    return kind == DF_ORDINAL ? above - 1 : code + (above - 1 - code) / 2;
}

/* Where thresholds of numbers lie: at an edge of bins that follows from the cut, at the one that was drawn, or in the middle of
 * the two values that the cut parts. */
typedef enum { DF_AT_EDGES, DF_AS_DRAWN, DF_AT_MIDDLES } df_thresholds;

/* The threshold of a node that has been grown; 0 of a leaf, NaN of categories. IN values, highs : the numbers of all columns */
static inline double df_threshold_of(const df_grown *node, const df_column *columns, int thresholds, const double *values,
                                     const double *highs) {
    const df_column *column;
    int64_t at;
    if (node->feature < 0)
        return 0.0;
    column = columns + node->feature;
    if (column->kind == DF_CATEGORICAL)
        return NAN;
    if (node->only_missing)
        return INFINITY;
    if (column->key_bits)
        return node->threshold;
    if (thresholds == DF_AT_MIDDLES && column->kind != DF_ORDINAL)
        return df_midpoint(values[column->first + (int64_t)node->code], values[column->first + node->above],
                           (int)column->is_float32);
    at = column->first
         + (int64_t)(thresholds == DF_AS_DRAWN ? node->code : df_threshold_code(column->kind, node->code, node->above));
    return column->kind == DF_ORDINAL ? highs[at] : values[at];
}

#endif
