// The best cut of a feature of numbers in a node, from the statistics of its codes. What is valid, and what ties are decided by:
// see splitter.pxd; the scores are those of criteria.h.
#ifndef DFOREST_KERNELS_CUTS_HPP
#define DFOREST_KERNELS_CUTS_HPP

#include "histogram.hpp"
#include "rules/cut.h"
#include "rules/class_fractions.h"
#include "rules/edges.h"
#include "rules/random.h"

// The numbers of all columns, one after another.
typedef struct {
    const double *values;      // the upper edge of each bin
    const double *lows;        // smallest value
    const double *highs;       // largest value
    const uint32_t *label_ranks; // [n_trees, n_label_ranks] of labels (rules/categories.h); NULL: nodes order them
} df_numbers;

// What medians tell of a cut.
typedef struct {
    double score;
    int32_t left, right;       // the medians of its sides, of one output
} df_cost_decrease;

// Whether a cut keeps to the node's bounds and the feature's direction. IN cost_decrease : see df_compare
// OUT midpoint : between what its sides predict
DF_CALLED bool df_keeps_bounds(const df_problem *p, const df_node *node, int32_t monotonic_cst, const int64_t *left,
                               const int64_t *total, const df_cost_decrease *cost_decrease, double *midpoint)
{
    const df_open_node *at = &node->open_node;
    int64_t right[4]; // a feature has a direction with two classes at most
    for (int64_t k = 0; k < p->n_words && k < 4; k++)
        right[k] = total[k] - left[k];
    const double a = cost_decrease ? df_target_of(cost_decrease->left, at->scale.centre, at->scale.exponent) : df_prediction(p, node, left);
    const double b = cost_decrease ? df_target_of(cost_decrease->right, at->scale.centre, at->scale.exponent) : df_prediction(p, node, right);
    *midpoint = df_has_classes(p) ? df_midpoint_fraction(a, b) : df_midpoint_prediction(a, b);
    return df_is_allowed(node->open_node.lower, node->open_node.upper, monotonic_cst, a, b);
}

// A score as a fraction: most cuts need no division, see df_may_exceed.
typedef struct {
    double numerator, unit;
} df_fraction;

template <int n_words>
DF_INLINE df_fraction df_score_parts(const df_problem *p, const df_node *node, const int64_t *left, const int64_t *total,
                                     const df_cost_decrease *cost_decrease)
{
    df_fraction parts = {0.0, 1.0};
    if (cost_decrease)
        parts.numerator = cost_decrease->score;
    else if (!n_words && df_has_outputs(p))
        parts.numerator = df_plain_score(p, node, left, total);
    else if (p->criterion == DF_GINI) {
        parts.numerator = df_gini_crosses(left, total, 2, n_words ? n_words : p->n_words);
        parts.unit = df_ratio_unit(left[1], total[1]);
    } else if (p->criterion == DF_SQUARED_ERROR) {
        parts.numerator = df_square_cross(left, total, (int) p->is_wide, &node->measure);
        parts.unit = df_ratio_unit(left[1], total[1]);
    } else
        parts.numerator = df_plain_score(p, node, left, total);
    return parts;
}

// The best cut so far in one direction of the missing.
typedef struct {
    df_fraction parts;
    double score;              // -1: none yet
    uint32_t code, above;
    int64_t n_left;
    double midpoint;
    int64_t imbalance;         // see numerics.h
} df_leader;

DF_INLINE bool df_takes_left(const df_leader *left, const df_leader *right)
{
    return df_leads_left(left->score, left->imbalance, left->code, right->score, right->imbalance, right->code);
}

// IN cost_decrease : of the cut by absolute error; NULL: of other criteria
template <int n_words>
DF_INLINE void df_compare(const df_problem *p, const df_node *node, const df_column *column, const int64_t *left,
                          const int64_t *total, const df_cost_decrease *cost_decrease, uint32_t code, uint32_t above,
                          int64_t n_left, df_leader *leader)
{
    double midpoint = 0.0;
    if (!df_is_valid(&node->rules, left, total)
        || (column->monotonic_cst != 0 && !df_keeps_bounds(p, node, column->monotonic_cst, left, total, cost_decrease,
                                                           &midpoint)))
        return;
    const df_fraction parts = df_score_parts<n_words>(p, node, left, total, cost_decrease);
    if (!df_may_exceed(parts.numerator, parts.unit, leader->parts.numerator, leader->parts.unit))
        return;
    const double score = parts.numerator / parts.unit;
    const int64_t imbalance = df_imbalance(score, left[1], total[1]);
    if (df_is_better(score, imbalance, leader->score, leader->imbalance)) {
        leader->parts = parts;
        leader->score = score;
        leader->imbalance = imbalance;
        leader->code = code;
        leader->above = above;
        leader->n_left = n_left;
        leader->midpoint = midpoint;
    }
}

DF_INLINE void df_take_cut(df_split *cut, const df_leader *leader, int64_t n_missing, bool missing_left, int64_t n)
{
    cut->score = leader->score;
    cut->code = leader->code;
    cut->above = leader->above;
    cut->midpoint = leader->midpoint;
    cut->missing_left = df_missing_goes_left(leader->n_left, n_missing, missing_left, n);
    cut->only_missing = df_only_missing_right(leader->n_left, n_missing, missing_left, n);
}

// Three statistics to work with: in registers, if it is known of how many words.
template <int n_words> struct df_three {
    int64_t run[n_words], entry[n_words], missing[n_words];
    df_three(const df_problem *, int64_t *) {}
    int64_t n() const { return n_words; }
};

template <> struct df_three<0> {
    int64_t *run, *entry, *missing;
    int64_t size;
    df_three(const df_problem *p, int64_t *words)
        : run(words), entry(words + p->n_words), missing(words + 2 * p->n_words), size(p->n_words)
    {
    }
    int64_t n() const { return size; }
};

// IN total : [n_words] the node's statistic
// IN cost_decreases : NULL, or by absolute error those of the cuts after each code that occurs, with missing values on the right;
// if there are any, each is followed by that with these on the left OUT words : [3, n_words] scratch OUT cut : but for its
// feature Codes are a class: `after(code)` is the lowest code that occurs from this one on, or at least max_entries if none does;
// `take(code, words)` its statistic, once, after which it need not be there any more; `read(code, words)` its statistic, any time
// before.
template <int n_words, class Codes>
DF_CALLED void df_find_best(const df_problem *p, const df_node *node, const df_column *column, const int64_t *total,
                            const Codes &codes, const df_cost_decrease *cost_decreases, int64_t *words, df_split *cut)
{
    df_three<n_words> w(p, words);
    int64_t *run = w.run, *entry = w.entry, *missing = w.missing;
    const uint32_t n_codes = column->n_codes;
    int64_t n_missing = 0;
    uint32_t code = codes.after(0);
    df_leader right = {{-1.0, 1.0}, -1.0, 0, 0, 0, 0.0, 0}, left = right; // where the missing go
    for (int64_t k = 0; k < w.n(); k++)
        run[k] = 0;
    if (column->has_missing && codes.after(n_codes) == n_codes) {
        codes.template take<n_words>(n_codes, missing);
        n_missing = missing[0];
    }
    while (code < n_codes) {
        uint32_t above = codes.after(code + 1);
        above = above < n_codes ? above : n_codes;
        codes.template take<n_words>(code, entry);
        for (int64_t k = 0; k < w.n(); k++)
            run[k] += entry[k];
        if (above < n_codes || n_missing > 0)
            df_compare<n_words>(p, node, column, run, total, cost_decreases, code, above, run[0], &right);
        if (above < n_codes && n_missing > 0) {
            for (int64_t k = 0; k < w.n(); k++)
                entry[k] = run[k] + missing[k];
            df_compare<n_words>(p, node, column, entry, total, cost_decreases ? cost_decreases + 1 : cost_decreases, code, above,
                                run[0], &left);
        }
        cost_decreases += cost_decreases ? 1 + (n_missing > 0) : 0;
        code = above;
    }
    const bool missing_left = df_takes_left(&left, &right);
    df_take_cut(cut, missing_left ? &left : &right, n_missing, missing_left, total[0]);
}

#ifndef DF_LARGE_GROUPS

#define DF_CUTS 64             // that are scored at a time

// The best cut by Gini impurity of two classes, or by squared error, in a node that is exact: many cuts are scored in one
// loop, for an item alone. The words of the left side begin as in `run`; has_last: a cut may have all values on the left.
template <int n_words, bool is_last, class Codes>
DF_INLINE df_leader df_lead_exact(const df_problem *p, const df_node *node, uint32_t n_codes, const int64_t *total,
                                  const Codes &codes, int64_t *run, bool has_last)
{
    const bool is_gini = n_words == 4;
    const double weight = node->weight, factor = is_gini ? 2.0 : 1.0;
    const double rest = is_gini ? node->first : node->measure.remainder;
    const int64_t n_outside = run[0]; // missing ones
    df_leader leader = {{-1.0, 1.0}, -1.0, 0, 0, 0, 0.0, 0};
    double first[DF_CUTS], left[DF_CUTS], scores[DF_CUTS];
    int64_t n_left[DF_CUTS], entry[n_words] = {};
    uint32_t at[DF_CUTS], code = codes.after(0);
    while (code < n_codes) {
        int n = 0, best = 0;
        for (; n < DF_CUTS && code < n_codes; n++) {
            const uint32_t above = codes.after(code + 1);
            if (is_last)
                codes.template take<n_words>(code, entry);
            else
                codes.template read<n_words>(code, entry);
            for (int k = 0; k < n_words; k++)
                run[k] += entry[k];
            const bool is_valid = (above < n_codes || has_last) && df_is_valid(&node->rules, run, total);
            first[n] = is_gini ? (double) run[2] : (double) (run[2] - run[1] * node->measure.mean);
            left[n] = is_valid ? (double) run[1] : __builtin_nan(""); // then the score is none either
            n_left[n] = run[0] - n_outside;
            at[n] = code;
            code = above;
        }
        for (int i = 0; i < n; i++) {
            const double d = weight * first[i] - left[i] * rest;
            scores[i] = d * d * factor / ((left[i] * (weight - left[i])) * weight);
        }
        double highest = leader.score;
        for (int i = 0; i < n; i++) {
            best = scores[i] > highest ? i : best;
            highest = scores[i] > highest ? scores[i] : highest;
        }
        if (highest > leader.score) {
            leader.score = highest;
            leader.code = at[best];
            leader.n_left = n_left[best];
            leader.imbalance = df_imbalance(highest, (int64_t) left[best], total[1]);
        }
        if (leader.score == 0.0)
            for (int i = 0; i < n; i++) {
                const int64_t imbalance = scores[i] == 0.0 ? df_imbalance(0.0, (int64_t) left[i], total[1]) : INT64_MAX;
                if (imbalance < leader.imbalance) {
                    leader.code = at[i];
                    leader.n_left = n_left[i];
                    leader.imbalance = imbalance;
                }
            }
    }
    leader.above = codes.after(leader.code + 1);
    leader.above = leader.above < n_codes ? leader.above : n_codes;
    return leader;
}

template <int n_words, class Codes>
DF_CALLED void df_find_exact(const df_problem *p, const df_node *node, const df_column *column, const int64_t *total,
                             const Codes &codes, df_split *cut)
{
    const uint32_t n_codes = column->n_codes;
    int64_t run[n_words], missing[n_words];
    df_leader left = {{-1.0, 1.0}, -1.0, 0, 0, 0, 0.0, 0};
    for (int k = 0; k < n_words; k++)
        run[k] = missing[k] = 0;
    if (column->has_missing && codes.after(n_codes) == n_codes)
        codes.template take<n_words>(n_codes, missing);
    const int64_t n_missing = missing[0];
    if (n_missing > 0)
        left = df_lead_exact<n_words, false>(p, node, n_codes, total, codes, missing, false);
    const df_leader right = df_lead_exact<n_words, true>(p, node, n_codes, total, codes, run, n_missing > 0);
    const bool missing_left = df_takes_left(&left, &right);
    df_take_cut(cut, missing_left ? &left : &right, n_missing, missing_left, total[0]);
}

#endif

// The lowest and highest key of some draws. IN missing : the key of missing values; OUT range : [2]
template <class Group>
DF_INLINE void df_key_range(const Group &group, const df_problem *p, const char *codes, const df_record *records, int64_t n,
                            int32_t feature, uint64_t missing, uint64_t *range)
{
    const auto key = [&](int64_t i) -> uint64_t { return df_code_at(p, codes, records[i].row, feature); };
    const uint64_t none = ~(uint64_t) 0;
    range[0] = df_lowest_over(group, 0, n, missing, key);
    range[1] = ~df_lowest_over(group, 0, n, none, [&](int64_t i) { return key(i) < missing ? ~key(i) : none; });
}

// Draw the cut between the lowest and the highest key of a draft; of a single value, the one after it.
DF_INLINE void df_draw_cut(const df_problem *p, const df_open_node *open_node, const df_column *column, int32_t feature,
                           df_draft *draft)
{
    df_stream stream;
    draft->cut = draft->highest;
    draft->threshold = 0.0;
    if (draft->lowest >= draft->highest)
        return;
    df_stream_open(&stream, open_node->seed, df_feature_key(open_node->key, (uint64_t) feature), DF_THRESHOLD);
    draft->cut = df_draw_key(draft->lowest, draft->highest, df_uniform(&stream), column->key_bits == 64,
                             (int) column->is_float32, &draft->threshold);
}

// The lowest and the highest code of values in a node, which has values.
template <class Codes>
DF_INLINE void df_code_range(const Codes &codes, uint32_t n_codes, uint32_t *lowest, uint32_t *highest)
{
    *lowest = *highest = codes.after(0);
    for (uint32_t code = *lowest; code < n_codes; code = codes.after(code + 1))
        *highest = code;
}

// Draw the highest code on the left of a random cut; of a single value, or of keys, whose cut is drawn already, the lowest code.
template <class Codes>
DF_INLINE uint32_t df_draw_code(const df_node *node, const df_column *column, const df_numbers *numbers, int32_t feature,
                                const Codes &codes)
{
    uint32_t lowest, highest;
    df_stream stream;
    df_code_range(codes, column->n_codes, &lowest, &highest);
    if (lowest >= highest || column->key_bits)
        return lowest;
    df_stream_open(&stream, node->open_node.seed, df_feature_key(node->open_node.key, (uint64_t) feature), DF_THRESHOLD);
    if (column->kind == DF_ORDINAL)
        return lowest + df_below(&stream, highest - lowest);
    const double drawn = df_between(numbers->lows[column->first + lowest], numbers->highs[column->first + highest],
                                    df_uniform(&stream), (int) column->is_float32);
    return df_nearest_edge_double(numbers->values + column->first, column->n_codes - 1, lowest, highest - 1, drawn);
}

// The cut of a feature at one random place, if it is valid; the arguments are those of df_find_best.
template <int n_words, class Codes>
DF_CALLED void df_find_random(const df_problem *p, const df_node *node, const df_column *column, const df_numbers *numbers,
                              int32_t feature, const int64_t *total, const Codes &codes, const df_cost_decrease *cost_decreases,
                              int64_t *words, df_split *cut)
{
    df_three<n_words> w(p, words);
    int64_t *run = w.run, *entry = w.entry, *missing = w.missing;
    const uint32_t n_codes = column->n_codes;
    uint32_t lowest, highest;
    int64_t n_missing = 0;
    cut->score = -1.0;
    df_code_range(codes, n_codes, &lowest, &highest);
    if (lowest >= n_codes)
        return;
    if (column->has_missing && codes.after(n_codes) == n_codes) {
        codes.template take<n_words>(n_codes, missing);
        n_missing = missing[0];
    }
    if (lowest == highest && n_missing == 0)
        return;
    const uint32_t cut_code = df_draw_code(node, column, numbers, feature, codes);
    for (int64_t k = 0; k < w.n(); k++)
        run[k] = 0;
    for (uint32_t code = lowest; code <= cut_code; code = codes.after(code + 1)) {
        codes.template take<n_words>(code, entry);
        for (int64_t k = 0; k < w.n(); k++)
            run[k] += entry[k];
    }
    df_leader right = {{-1.0, 1.0}, -1.0, 0, 0, 0, 0.0, 0}, left = right;
    const int64_t n_left = run[0];
    df_compare<n_words>(p, node, column, run, total, cost_decreases, cut_code, 0, n_left, &right);
    if (n_missing > 0) {
        for (int64_t k = 0; k < w.n(); k++)
            run[k] += missing[k];
        df_compare<n_words>(p, node, column, run, total, cost_decreases ? cost_decreases + 1 : cost_decreases, cut_code, 0,
                            n_left, &left);
    }
    const bool missing_left = df_takes_left(&left, &right);
    df_take_cut(cut, missing_left ? &left : &right, n_missing, missing_left, total[0]);
}

#endif
