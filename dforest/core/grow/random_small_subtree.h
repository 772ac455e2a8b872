/* Random cuts in small subtrees (C99 and C++): see small_subtree.h.
 *
 * All features of a node that are tried are taken step by step: their codes are gathered, the uniform numbers of all are drawn
 * at once (core/search/random_cut.h), each is cut, the records on the left are added up, and the cuts are scored together. So
 * what a step waits for in one feature does not hold up another, and there is hardly a branch on what records say. What a node
 * gets is what dforest.core.search.splitter.RandomSplitter says.
 *
 * Continuous columns have keys, or bins; ordinal ones have codes of 32 bits at most. */
#ifndef DFOREST_RANDOM_SMALL_SUBTREE_H
#define DFOREST_RANDOM_SMALL_SUBTREE_H

#include "core/grow/small_subtree.h"
#include "core/search/random_cut.h"
#include "core/search/left_sums.h"

enum { DF_DRAFTS = 16 }; /* most features that are cut together */

/* Cuts of some features of a node, in the order in which these are tried. */
typedef struct {
    int n;
    int n_missing; /* features of which values are missing */
    const uint32_t *row;
    const uint64_t *word; /* as unordered.h has them for classes and sums; binary counts are of two classes */
    uint32_t feature[DF_DRAFTS];
    uint64_t stream_key[DF_DRAFTS];
    double u[DF_DRAFTS];
    uint64_t codes[DF_DRAFTS][DF_SMALL]; /* of the records: numbers of 32 bits, unless keys have 64 */
    df_extent extent[DF_DRAFTS];
    uint64_t cut[DF_DRAFTS]; /* the highest code on the left */
    double threshold[DF_DRAFTS];
    uint64_t left[DF_DRAFTS], missing[DF_DRAFTS]; /* sums of words */
    double score[DF_DRAFTS];
    uint8_t missing_left[DF_DRAFTS];
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

/* The sum of the words of all codes up to one. */
DF_INLINE uint64_t df_draft_side(const df_drafts *drafts, int k, int is_wide, int room, uint64_t last) {
    return is_wide ? df_side64_loop(drafts->codes[k], drafts->word, room, last)
                   : df_side32_loop((const uint32_t *)drafts->codes[k], drafts->word, room, (uint32_t)last);
}

/* Gather codes, draw cuts and add up sides. room : records, and up to a multiple of 8 */
DF_INLINE void df_draft_all(const df_small_subtree *small, const df_small_node *node, df_drafts *drafts, int room, uint64_t total) {
    const int n = drafts->n;
    for (int k = 0; k < n; k++) {
        drafts->stream_key[k] = df_feature_key(node->key, drafts->feature[k]);
        df_draft_gather(small->columns + drafts->feature[k], drafts->row, room, drafts->codes[k]);
    }
    df_uniforms(small->seed, drafts->stream_key, n, drafts->u);
    drafts->n_missing = 0;
    for (int k = 0; k < n; k++) {
        const df_coded_column *column = small->columns + drafts->feature[k];
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
            drafts->missing[k] = total - df_draft_side(drafts, k, column->width == 8, room, missing - 1);
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

/* Send missing values to the side where they score more. */
DF_INLINE void df_draft_turn(const df_small_subtree *small, const int kind, const df_small_open *open, df_drafts *drafts, int room) {
    uint64_t left[DF_DRAFTS];
    double score[DF_DRAFTS];
    for (int k = 0; k < room; k++)
        left[k] = drafts->left[k] + drafts->missing[k];
    df_draft_scores(small, kind, open, room, left, score);
    for (int k = 0; k < drafts->n; k++) {
        const int64_t with = df_imbalance(score[k], (int64_t)df_draft_draws(left[k], kind), open->draws);
        const int64_t without = df_imbalance(drafts->score[k], (int64_t)df_draft_draws(drafts->left[k], kind), open->draws);
        if (drafts->missing[k] && df_leads_left(score[k], with, 0, drafts->score[k], without, 0)) {
            drafts->score[k] = score[k];
            drafts->missing_left[k] = 1;
        }
    }
}

/* Say all that there is to say of a node's split by the k-th of the drafts. */
DF_INLINE void df_draft_take(const df_small_subtree *small, const int kind, const df_drafts *drafts, int k, df_small_node *node,
                             df_small_open *open) {
    const df_coded_column *column = small->columns + drafts->feature[k];
    const uint64_t cut = drafts->cut[k], also = drafts->missing_left[k] ? df_draft_missing(column) : cut;
    const int64_t n_left = (int64_t)df_draft_draws(drafts->left[k], kind);
    const int64_t n_missing = (int64_t)df_draft_draws(drafts->missing[k], kind);
    uint64_t left = 0;
    if (column->width == 8)
        for (int i = 0; i < node->n; i++)
            left |= (uint64_t)df_goes_left(drafts->codes[k][i], cut, also) << i;
    else
        for (int i = 0; i < node->n; i++)
            left |= (uint64_t)df_goes_left(((const uint32_t *)drafts->codes[k])[i], cut, also) << i;
    open->left = left;
    open->score = drafts->score[k];
    node->feature = (int32_t)drafts->feature[k];
    node->threshold = drafts->threshold[k];
    node->only_missing_right = (uint8_t)df_only_missing_right(n_left, n_missing, drafts->missing_left[k], open->draws);
    node->missing_left = (uint8_t)df_missing_goes_left(n_left, n_missing, drafts->missing_left[k], open->draws);
}

/* Draw the features of a node of three records or more in their order, some at a time, and keep the best cut. */
DF_INLINE void df_small_search_random(df_small_subtree *small, const int kind, df_stream *stream, df_small_node *node,
                                     df_small_open *open) {
    const uint8_t *run = open->run;
    const int room = (node->n + DF_STRIDE - 1) / DF_STRIDE * DF_STRIDE;
    uint32_t row[DF_SMALL], n_drawn = 0;
    uint64_t word[DF_SMALL], total = 0;
    int64_t n_counted = 0;
    df_drafts drafts;
    for (int i = 0; i < room; i++) { /* behind the last record: codes that occur, and words of nothing */
        row[i] = small->row[run[0]];
        word[i] = 0;
    }
    for (int i = 0; i < node->n; i++) {
        row[i] = small->row[run[i]];
        word[i] = kind == DF_SMALL_BINARY ? small->binary_counts[run[i]] : small->word[run[i]];
        total += word[i];
    }
    drafts.row = row;
    drafts.word = word;
    while (df_tries_more(n_drawn, small->n_features, n_counted, small->max_features, node->feature >= 0)) {
        int64_t most = df_round_size(n_counted, small->max_features);
        int best, n_room;
        most = most > DF_DRAFTS ? DF_DRAFTS : most;
        drafts.n = 0;
        while (n_drawn < small->n_features && drafts.n < most) {
            const uint32_t feature = df_draw_feature(stream, small->features, small->swapped, n_drawn, small->n_features);
            const int is_constant = small->is_constant[feature] || (feature < 64 && node->constants >> feature & 1);
            n_drawn++;
            drafts.feature[drafts.n] = feature;
            drafts.n += !is_constant;
            if (is_constant && !small->skip_constant) {
                n_counted++;
                most--;
            }
        }
        if (drafts.n == 0)
            continue;
        n_room = (drafts.n + DF_UNIFORMS - 1) / DF_UNIFORMS * DF_UNIFORMS;
        for (int k = drafts.n; k < n_room; k++) { /* no cuts */
            drafts.stream_key[k] = 0;
            drafts.left[k] = drafts.missing[k] = 0;
        }
        df_draft_all(small, node, &drafts, room, total);
        df_draft_scores(small, kind, open, n_room, drafts.left, drafts.score);
        if (drafts.n_missing > 0)
            df_draft_turn(small, kind, open, &drafts, n_room);
        for (int k = 0; k < drafts.n; k++) {
            const uint32_t feature = drafts.feature[k];
            const int is_constant = drafts.extent[k].lowest == drafts.extent[k].highest;
            node->constants |= (uint64_t)(is_constant & (feature < 64)) << (feature & 63);
            n_counted += !(is_constant & small->skip_constant);
        }
        best = df_lowest_bit(df_at_least(drafts.score, n_room, df_highest(drafts.score, n_room)));
        if (drafts.score[best] > open->score)
            df_draft_take(small, kind, &drafts, best, node, open);
    }
    df_undo_features(small->features, small->swapped, n_drawn);
}

/* The code of a record, which may be a key of 64 bits. */
DF_INLINE uint64_t df_draft_code(const df_coded_column *column, uint32_t row) {
    return column->width == 8 ? ((const uint64_t *)column->codes)[row] : df_small_code(column, NULL, row);
}

/* Split a node of two records: every feature that parts them does it by the same score. */
DF_INLINE void df_small_part_two_random(df_small_subtree *small, df_stream *stream, df_small_node *node, df_small_open *open) {
    const uint8_t *run = open->run;
    uint32_t n_drawn = 0;
    if (small->count[run[0]] < small->least || small->count[run[1]] < small->least)
        return;
    while (n_drawn < small->n_features && node->feature < 0) {
        const uint32_t feature = df_draw_feature(stream, small->features, small->swapped, n_drawn++, small->n_features);
        const df_coded_column *column = small->columns + feature;
        const uint64_t a = df_draft_code(column, small->row[run[0]]), b = df_draft_code(column, small->row[run[1]]);
        const int turned = a > b; /* a missing value has the highest code: it goes right, and alone */
        const uint64_t lo = turned ? b : a, hi = turned ? a : b, stream_key = df_feature_key(node->key, feature);
        df_stream own;
        if (a == b)
            continue;
        node->feature = (int32_t)feature;
        node->threshold = INFINITY;
        node->only_missing_right = column->has_missing && hi == column->n_codes;
        node->missing_left = !node->only_missing_right && 2 * (int64_t)small->count[run[turned]] > open->draws;
        open->left = turned ? 2 : 1;
        if (!node->only_missing_right) {
            df_stream_open(&own, small->seed, stream_key, DF_THRESHOLD);
            df_draft_cut(column, small->seed, stream_key, df_uniform(&own), lo, hi, &node->threshold);
        }
    }
    df_undo_features(small->features, small->swapped, n_drawn);
}

/* Split a node at a random cut, if it can be split. */
DF_INLINE void df_small_split_at_random(df_small_subtree *small, const int kind, df_small_node *node, df_small_open *open) {
    df_stream stream;
    df_stream_open(&stream, small->seed, node->key, DF_FEATURES);
    open->score = -1.0;
    if (node->n == 2)
        df_small_part_two_random(small, &stream, node, open);
    else
        df_small_search_random(small, kind, &stream, node, open);
}

#endif
