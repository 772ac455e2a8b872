/* Random cuts of a node of a small subtree (C99 and C++): see small_subtree.h.
 *
 * All features of a node that are tried are taken step by step: their codes are gathered, the uniform numbers of all are drawn
 * at once (core/search/random_cut.h), each is cut, the records on the left are added up, and the cuts are scored together. So
 * what a step waits for in one feature does not hold up another, and there is hardly a branch on what records say. What a node
 * gets is what dforest.core.search.splitter.RandomSplitter says.
 *
 * Continuous columns have keys, or bins; ordinal ones have codes of 32 bits at most. */
#ifndef DFOREST_SMALL_RANDOM_H
#define DFOREST_SMALL_RANDOM_H

#include "core/grow/small_subtree.h"
#include "core/search/random_cut.h"
#include "core/search/left_sums.h"

/* The records of a node, and cuts of the features that it tries together, one of each. */
typedef struct {
    uint32_t row[DF_SMALL];
    uint64_t word[DF_SMALL]; /* as unordered.h has them for classes and sums; binary counts are of two classes */
    uint64_t total;          /* of the words */
    int n_missing;           /* features of which values are missing */
    uint64_t stream_key[DF_SMALL_TRIES];
    double u[DF_SMALL_TRIES];
    uint64_t codes[DF_SMALL_TRIES][DF_SMALL]; /* of the records: numbers of 32 bits, unless keys have 64 */
    df_extent extent[DF_SMALL_TRIES];
    uint64_t cut[DF_SMALL_TRIES]; /* the highest code on the left */
    double threshold[DF_SMALL_TRIES];
    uint64_t left[DF_SMALL_TRIES], missing[DF_SMALL_TRIES]; /* sums of words */
    double score[DF_SMALL_TRIES];
    uint8_t missing_left[DF_SMALL_TRIES];
} df_drafts;

/* The code above those of all values, or that of missing ones. */
DF_INLINE uint64_t df_draft_missing(const df_coded_column *column) {
    return column->has_missing ? column->n_codes : column->width == 8 ? UINT64_MAX : UINT32_MAX;
}

/* Copy the codes of a column. What copies them one by one looks at none: a vector that is read at once of what has just been
 * written in parts would wait. */
#define DF_DRAFT_GATHER(from, to_type)                          \
    for (int i = 0; i < room; i += DF_STRIDE)                   \
        for (int j = i; j < i + DF_STRIDE; j++)                 \
            ((to_type *)to)[j] = ((const from *)codes)[row[j]];

DF_INLINE void df_draft_gather(const df_coded_column *column, const uint32_t *row, int room, uint64_t *to) {
    const void *codes = column->codes;
    if (column->width == 4)
        DF_DRAFT_GATHER(uint32_t, uint32_t)
    else if (column->width == 8)
        DF_DRAFT_GATHER(uint64_t, uint64_t)
    else if (column->width == 1)
        DF_DRAFT_GATHER(uint8_t, uint32_t)
    else
        DF_DRAFT_GATHER(uint16_t, uint32_t)
}

/* Cut a feature between the codes lo < hi. */
DF_INLINE uint64_t df_draft_cut(const df_coded_column *column, uint32_t seed, uint64_t stream_key, double u, uint64_t lo,
                                uint64_t hi, double *threshold) {
    df_stream stream;
    uint64_t code;
    if (column->has_keys)
        return df_draw_key(lo, hi, u, column->width == 8, column->is_float32, threshold);
    if (column->kind == DF_CONTINUOUS)
        return df_draw_bin(column, lo, hi, u, threshold);
    df_stream_open(&stream, seed, stream_key, DF_THRESHOLD);
    code = lo + df_below(&stream, (uint32_t)(hi - lo));
    *threshold = df_number_of(column, column->highs, code);
    return code;
}

/* The threshold of a node of two records, whose codes in its feature are lo < hi. */
DF_INLINE double df_draft_threshold(const df_small_subtree *small, const df_small_node *node, uint64_t lo, uint64_t hi) {
    const uint64_t stream_key = df_feature_key(node->key, (uint32_t)node->feature);
    double threshold;
    df_stream stream;
    df_stream_open(&stream, small->seed, stream_key, DF_THRESHOLD);
    df_draft_cut(small->columns + node->feature, small->seed, stream_key, df_uniform(&stream), lo, hi, &threshold);
    return threshold;
}

/* The sum of the words of all codes up to one. */
DF_INLINE uint64_t df_draft_side(const df_drafts *drafts, int k, int is_wide, int room, uint64_t last) {
    return is_wide ? df_side64_loop(drafts->codes[k], drafts->word, room, last)
                   : df_side32_loop((const uint32_t *)drafts->codes[k], drafts->word, room, (uint32_t)last);
}

/* Have the records of a node. room : records, and up to a multiple of 8 */
DF_INLINE void df_draft_order(const df_small_subtree *small, const int kind, const uint8_t *run, int n, int room,
                              df_drafts *drafts) {
    for (int i = 0; i < room; i++) { /* behind the last record: codes that occur, and words of nothing */
        drafts->row[i] = small->row[run[0]];
        drafts->word[i] = 0;
    }
    drafts->total = 0;
    for (int i = 0; i < n; i++) {
        drafts->row[i] = small->row[run[i]];
        drafts->word[i] = kind == DF_SMALL_BINARY ? small->binary_counts[run[i]] : small->word[run[i]];
        drafts->total += drafts->word[i];
    }
}

/* Gather codes, draw cuts and add up sides. */
DF_INLINE void df_draft_all(const df_small_subtree *small, const df_small_tries *tries, const df_small_node *node,
                            df_drafts *drafts, int room) {
    const int n = tries->n;
    for (int k = 0; k < n; k++) {
        drafts->stream_key[k] = df_feature_key(node->key, tries->feature[k]);
        df_draft_gather(small->columns + tries->feature[k], drafts->row, room, drafts->codes[k]);
    }
    df_uniforms(small->seed, drafts->stream_key, n, drafts->u);
    drafts->n_missing = 0;
    for (int k = 0; k < n; k++) {
        const df_coded_column *column = small->columns + tries->feature[k];
        df_extent *extent = &drafts->extent[k];
        const uint64_t missing = df_draft_missing(column);
        int has_missing;
        if (column->width == 8)
            df_extent64_loop(drafts->codes[k], room, missing, extent);
        else
            df_extent32_loop((const uint32_t *)drafts->codes[k], room, missing, extent);
        has_missing = column->has_missing && extent->highest == missing;
        drafts->cut[k] = extent->lowest;
        drafts->threshold[k] = INFINITY;
        if (extent->lowest < extent->highest_value)
            drafts->cut[k] = df_draft_cut(column, small->seed, drafts->stream_key[k], drafts->u[k], extent->lowest,
                                          extent->highest_value, &drafts->threshold[k]);
        drafts->left[k] = df_draft_side(drafts, k, column->width == 8, room, drafts->cut[k]);
        drafts->missing[k] = 0;
        drafts->missing_left[k] = 0;
        if (has_missing) {
            drafts->missing[k] = drafts->total - df_draft_side(drafts, k, column->width == 8, room, missing - 1);
            drafts->n_missing++;
        }
    }
}

/* Draws that a word stands for. */
DF_INLINE uint64_t df_draft_draws(uint64_t word, const int kind) {
    uint64_t pairs;
    if (kind == DF_SMALL_SUMS)
        return word >> DF_SUM_BITS;
    if (kind == DF_SMALL_BINARY)
        return (word & 255) + (word >> 8);
    pairs = (word & 0x00FF00FF00FF00FFull) + (word >> 8 & 0x00FF00FF00FF00FFull);
    pairs += pairs >> 32;
    return (pairs + (pairs >> 16)) & 0xFFFF;
}

/* Score the cuts whose left sides these are; -1: one that is not valid, or no cut at all. IN left, OUT score : [n], a multiple of
 * DF_UNIFORMS */
DF_INLINE void df_draft_scores(const df_small_subtree *small, const int kind, const df_small_open *open, int n, const uint64_t *left,
                               double *score) {
    const double weight = (double)open->draws, least = (double)small->least, most = weight - least;
    const double shift = kind == DF_SMALL_SUMS ? (double)open->measure.mean + (double)DF_SUM_BIAS : 0.0;
    for (int first = 0; first < n; first += DF_UNIFORMS) {
        double n_left[DF_UNIFORMS], squares[DF_UNIFORMS];
        for (int k = 0; k < DF_UNIFORMS; k++)
            n_left[k] = df_from_bits(df_draft_draws(left[first + k], kind));
        if (kind == DF_SMALL_SUMS)
            for (int k = 0; k < DF_UNIFORMS; k++) {
                const double sum = df_from_bits(left[first + k] & DF_SUM_MASK) - n_left[k] * shift;
                const double d = weight * sum - n_left[k] * open->measure.remainder;
                squares[k] = d * d;
            }
        else if (kind == DF_SMALL_BINARY)
            for (int k = 0; k < DF_UNIFORMS; k++) {
                const double d = weight * df_from_bits(left[first + k] & 255) - n_left[k] * (double)open->of_class[0];
                squares[k] = d * d + d * d;
            }
        else {
            for (int k = 0; k < DF_UNIFORMS; k++)
                squares[k] = 0.0;
            for (int c = 0; c < small->n_classes; c++)
                for (int k = 0; k < DF_UNIFORMS; k++) {
                    const double d = weight * df_from_bits(left[first + k] >> 8 * c & 255) - n_left[k] * (double)open->of_class[c];
                    squares[k] += d * d;
                }
        }
        for (int k = 0; k < DF_UNIFORMS; k++) {
            const int is_valid = (n_left[k] >= least) & (n_left[k] <= most);
            const double above = is_valid ? squares[k] : -1.0;
            const double below = is_valid ? (n_left[k] * (weight - n_left[k])) * weight : 1.0;
            score[first + k] = above / below;
        }
    }
}

/* Send missing values to the side where they score more. n : cuts, and up to a multiple of DF_UNIFORMS */
DF_INLINE void df_draft_turn(const df_small_subtree *small, const int kind, const df_small_open *open, df_drafts *drafts, int n) {
    uint64_t left[DF_SMALL_TRIES];
    double score[DF_SMALL_TRIES];
    for (int k = 0; k < n; k++)
        left[k] = drafts->left[k] + drafts->missing[k];
    df_draft_scores(small, kind, open, n, left, score);
    for (int k = 0; k < n; k++) {
        const int64_t with = df_imbalance(score[k], (int64_t)df_draft_draws(left[k], kind), open->draws);
        const int64_t without = df_imbalance(drafts->score[k], (int64_t)df_draft_draws(drafts->left[k], kind), open->draws);
        if (drafts->missing[k] && df_leads_left(score[k], with, 0, drafts->score[k], without, 0)) {
            drafts->score[k] = score[k];
            drafts->missing_left[k] = 1;
        }
    }
}

/* Split a node by the k-th of the cuts. */
DF_INLINE void df_draft_take(const df_small_subtree *small, const int kind, const df_small_tries *tries, const df_drafts *drafts,
                             int k, df_small_node *node, df_small_open *open) {
    const df_coded_column *column = small->columns + tries->feature[k];
    const uint64_t cut = drafts->cut[k], also = drafts->missing_left[k] ? df_draft_missing(column) : cut;
    uint64_t left = 0;
    if (column->width == 8)
        for (int i = 0; i < node->n; i++)
            left |= (uint64_t)df_goes_left(drafts->codes[k][i], cut, also) << i;
    else
        for (int i = 0; i < node->n; i++)
            left |= (uint64_t)df_goes_left(((const uint32_t *)drafts->codes[k])[i], cut, also) << i;
    node->threshold = drafts->threshold[k];
    df_small_take(node, open, tries->feature[k], left, (int64_t)df_draft_draws(drafts->left[k], kind),
                  (int64_t)df_draft_draws(drafts->missing[k], kind), drafts->missing_left[k]);
}

/* Try features: cut each of them, and have the best of the cuts split the node, if it is better than the best one so far. Returns
 * how many features turned out to be constant. */
DF_INLINE int df_draft_try(const df_small_subtree *small, const int kind, const df_small_tries *tries, df_drafts *drafts,
                           df_small_node *node, df_small_open *open, int room) {
    const int n_room = (tries->n + DF_UNIFORMS - 1) / DF_UNIFORMS * DF_UNIFORMS;
    int best, n_constant = 0;
    for (int k = tries->n; k < n_room; k++) { /* no cuts */
        drafts->stream_key[k] = 0;
        drafts->left[k] = drafts->missing[k] = 0;
    }
    df_draft_all(small, tries, node, drafts, room);
    df_draft_scores(small, kind, open, n_room, drafts->left, drafts->score);
    if (drafts->n_missing > 0)
        df_draft_turn(small, kind, open, drafts, n_room);
    for (int k = 0; k < tries->n; k++)
        n_constant += df_small_note_constant(node, tries->feature[k], drafts->extent[k].lowest == drafts->extent[k].highest);
    best = df_lowest_bit(df_at_least(drafts->score, n_room, df_highest(drafts->score, n_room)));
    if (drafts->score[best] > open->score) {
        open->score = drafts->score[best];
        df_draft_take(small, kind, tries, drafts, best, node, open);
    }
    return n_constant;
}

#endif
