// The best cut of a feature in a node, from the statistics of its codes. What is valid, and what ties are decided by:
// see splitter.pxd; the scores are those of criteria.h.
#ifndef DFOREST_KERNELS_CUTS_HPP
#define DFOREST_KERNELS_CUTS_HPP

#include "criteria.h"
#include "histogram.hpp"
#include "random.h"

// A node while its cuts are sought.
typedef struct {
    df_open_node place;
    df_measure measure;
    double min_weight;         // of a side
} df_node;

// The numbers of all columns, one after another.
typedef struct {
    const double *values;      // the upper edge of each bin
    const double *lows;        // smallest value
    const double *highs;       // largest value
} df_numbers;

DF_INLINE void df_measure_node(const df_problem *p, const int64_t *total, df_node *node)
{
    node->min_weight = p->min_weight_fraction * (double) node->place.root_weight;
    if (p->criterion == DF_SQUARED_ERROR)
        df_measure_squares(total, (int) p->is_wide, &node->measure);
    else if (p->criterion == DF_POISSON)
        df_measure_deviance(total, (int) p->is_wide, node->place.centre, node->place.exponent, &node->measure);
}

// -1: the cut is not valid.
DF_INLINE double df_score(const df_problem *p, const df_node *node, const int64_t *left, const int64_t *total)
{
    const int64_t draws = left[0], weight = left[1];
    if (draws < p->min_draws || total[0] - draws < p->min_draws || (double) weight < node->min_weight
        || (double) (total[1] - weight) < node->min_weight)
        return -1.0;
    if (p->criterion == DF_GINI)
        return df_gini_score(left, total, p->n_words);
    if (p->criterion == DF_ENTROPY)
        return df_entropy_score(left, total, p->n_words);
    if (p->criterion == DF_SQUARED_ERROR)
        return df_square_score(left, total, (int) p->is_wide, &node->measure);
    return df_deviance_score(left, total, (int) p->is_wide, &node->measure);
}

DF_INLINE void df_take_cut(df_cut *cut, double score, uint32_t code, uint32_t above, int64_t n_left, int64_t n_missing,
                           bool missing_left, int64_t n)
{
    cut->score = score;
    cut->code = code;
    cut->above = above;
    // Where none is missing, missing values will go with the larger side.
    cut->missing_left = n_missing > 0 ? missing_left : 2 * n_left > n;
    cut->only_missing = n_missing > 0 && !missing_left && n_left + n_missing == n;
}

DF_INLINE void df_add_words(const df_problem *p, int64_t *to, const int64_t *words)
{
    for (int64_t k = 0; k < p->n_words; k++)
        to[k] += words[k];
}

// IN total : [n_words] the node's statistic
// OUT words : [3, n_words] scratch
// OUT cut : but for its feature
// Codes are a class: `after(code)` is the lowest code that occurs from this one on, or at least most_entries if none does;
// `read(code, words)` its statistic.
template <class Codes>
DF_INLINE void df_find_best(const df_problem *p, const df_node *node, const df_column *column, const int64_t *total,
                            const Codes &codes, int64_t *words, df_cut *cut)
{
    int64_t *run = words, *entry = words + p->n_words, *missing = entry + p->n_words;
    const uint32_t n_codes = column->n_codes;
    int64_t n_missing = 0;
    uint32_t code = codes.after(0);
    df_cut left; // with the missing on the left
    cut->score = left.score = -1.0;
    for (int64_t k = 0; k < p->n_words; k++)
        run[k] = 0;
    if (column->has_missing && codes.after(n_codes) == n_codes) {
        codes.read(n_codes, missing);
        n_missing = missing[0];
    }
    while (code < n_codes) {
        uint32_t above = codes.after(code + 1);
        above = above < n_codes ? above : n_codes;
        codes.read(code, entry);
        df_add_words(p, run, entry);
        if (above < n_codes || n_missing > 0) {
            const double score = df_score(p, node, run, total);
            if (score > cut->score)
                df_take_cut(cut, score, code, above, run[0], n_missing, false, total[0]);
        }
        if (above < n_codes && n_missing > 0) {
            df_add_words(p, missing, run);
            const double score = df_score(p, node, missing, total);
            for (int64_t k = 0; k < p->n_words; k++)
                missing[k] -= run[k];
            if (score > left.score)
                df_take_cut(&left, score, code, above, run[0], n_missing, true, total[0]);
        }
        code = above;
    }
    if (left.score > cut->score || (left.score >= 0.0 && left.score == cut->score && left.code < cut->code))
        *cut = left;
}

// Which of the edges first, ..., last is nearest to x, the upper one of two as near; they ascend.
DF_INLINE uint32_t df_nearest_edge(const double *edges, uint32_t first, uint32_t last, double x)
{
    uint32_t low = first, high = last;
    while (low < high) { // edges before low are below x, those from high on are not, or high is the last
        const uint32_t middle = low + (high - low) / 2;
        if (edges[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    const uint32_t before = low - (low > first);
    return x - edges[before] < edges[low] - x ? before : low;
}

// The same of one random cut.
template <class Codes>
DF_INLINE void df_find_random(const df_problem *p, const df_node *node, const df_column *column, const df_numbers *numbers,
                              int32_t feature, const int64_t *total, const Codes &codes, int64_t *words, df_cut *cut)
{
    int64_t *run = words, *entry = words + p->n_words, *missing = entry + p->n_words;
    const uint32_t n_codes = column->n_codes, lowest = codes.after(0);
    uint32_t highest = lowest, cut_code = lowest, code;
    int64_t n_missing = 0;
    df_stream stream;
    cut->score = -1.0;
    if (lowest >= n_codes)
        return;
    for (code = lowest; code < n_codes; code = codes.after(code + 1))
        highest = code;
    if (column->has_missing && codes.after(n_codes) == n_codes) {
        codes.read(n_codes, missing);
        n_missing = missing[0];
    }
    if (lowest == highest && n_missing == 0)
        return;
    if (lowest < highest) {
        df_stream_open(&stream, p->seed, node->place.tree, df_feature_path(node->place.path, (uint64_t) feature), DF_THRESHOLD);
        if (column->kind == DF_ORDINAL)
            cut_code += df_below(&stream, highest - lowest);
        else {
            const double drawn = df_between(numbers->lows[column->first + lowest], numbers->highs[column->first + highest],
                                            df_uniform(&stream), (int) column->is_float32);
            cut_code = df_nearest_edge(numbers->values + column->first, lowest, highest - 1, drawn);
        }
    }
    for (int64_t k = 0; k < p->n_words; k++)
        run[k] = 0;
    for (code = lowest; code <= cut_code; code = codes.after(code + 1)) {
        codes.read(code, entry);
        df_add_words(p, run, entry);
    }
    const int64_t n_left = run[0];
    const double score = df_score(p, node, run, total);
    double other = -1.0;
    if (n_missing > 0) {
        df_add_words(p, run, missing);
        other = df_score(p, node, run, total);
    }
    if (other > score || score >= 0.0)
        df_take_cut(cut, other > score ? other : score, cut_code, 0, n_left, n_missing, other > score, total[0]);
}

#endif
