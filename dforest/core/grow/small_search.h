/* The search of a node of a small subtree (C99 and C++): which features it tries, and which of their cuts splits it. Best cuts and
 * random ones differ in how the features of a round are tried: see small_best.h and small_random.h. */
#ifndef DFOREST_SMALL_SEARCH_H
#define DFOREST_SMALL_SEARCH_H

#include "core/grow/small_best.h"
#include "core/grow/small_random.h"
#include "core/grow/small_subtree.h"

/* Which features a node's records differ in, of at most 64: a bit for each. All, where the records have no bytes by which to tell. */
DF_INLINE uint64_t df_small_differing(const df_small_subtree *small, const int is_random, const uint8_t *run, int n) {
    if (is_random || !df_small_is_masked(small))
        return ~(uint64_t)0;
    return df_differing_bytes(small->codes.by_record, run, n) & small->all_features;
}

/* Draw features until enough of them are not known to be constant. Returns how many of those drawn count among max_features. */
DF_INLINE int64_t df_small_draw_tries(const df_small_subtree *small, const int is_random, const df_small_node *node,
                                      uint64_t differing, int64_t wanted, df_small_draws *draws, df_small_tries *tries) {
    const int is_masked = !is_random && df_small_is_masked(small);
    int64_t n_counted = 0;
    tries->n = 0;
    while (draws->n_drawn < small->n_features && n_counted < wanted && tries->n < DF_SMALL_TRIES) {
        const uint32_t feature = df_small_draw(draws);
        const int differs = is_masked ? (int)(differing >> feature & 1)
                                      : !(small->is_constant[feature] || (feature < 64 && node->constants >> feature & 1));
        tries->feature[tries->n] = feature;
        tries->n += differs;
        n_counted += differs | !small->skip_constant;
    }
    return n_counted;
}

/* Search a node of three records or more. room : of best cuts 8, 16, 32 or 64; of random ones the records, and up to a multiple of
 * 8 */
DF_INLINE void df_small_search_in(df_small_subtree *small, const int kind, const int is_random, df_small_node *node,
                                  df_small_open *open, const int room) {
    const uint64_t differing = df_small_differing(small, is_random, open->run, node->n);
    int64_t n_counted = 0;
    df_small_values values; /* best cuts */
    df_drafts drafts;       /* random ones */
    df_small_tries tries;
    df_small_draws draws;
    if (differing == 0)
        return;
    if (is_random)
        df_draft_order(small, kind, open->run, node->n, room, &drafts);
    else
        df_best_order(small, kind, open->run, node->n, room, &values);
    open->score = -1.0;
    df_small_draws_open(&draws, small->seed, node->key, node->words, small->features, small->swapped, small->n_features);
    while (df_tries_more(draws.n_drawn, small->n_features, n_counted, small->max_features, node->feature >= 0)) {
        const int64_t wanted = df_round_size(n_counted, small->max_features);
        int n_constant;
        n_counted += df_small_draw_tries(small, is_random, node, differing, wanted, &draws, &tries);
        if (tries.n == 0)
            continue;
        n_constant = is_random ? df_draft_try(small, kind, &tries, &drafts, node, open, room)
                               : df_best_try(small, kind, &values, &tries, node, open, room);
        n_counted -= small->skip_constant ? n_constant : 0;
        if (!is_random)
            df_best_keep(small, kind, &tries, &values, node, open, room,
                         !df_tries_more(draws.n_drawn, small->n_features, n_counted, small->max_features, 1));
    }
    df_small_draws_close(&draws);
}

DF_INLINE void df_small_search(df_small_subtree *small, const int kind, const int is_random, df_small_node *node,
                               df_small_open *open) {
    if (is_random)
        df_small_search_in(small, kind, 1, node, open, (node->n + DF_STRIDE - 1) / DF_STRIDE * DF_STRIDE);
    else if (node->n <= 8)
        df_small_search_in(small, kind, 0, node, open, 8);
    else if (node->n <= 16)
        df_small_search_in(small, kind, 0, node, open, 16);
    else if (node->n <= 32)
        df_small_search_in(small, kind, 0, node, open, 32);
    else
        df_small_search_in(small, kind, 0, node, open, 64);
}

/* The data's code of a record, which is a key of 64 bits in some columns of random cuts. */
DF_INLINE uint64_t df_small_key(const df_small_subtree *small, const int is_random, uint32_t feature, int record) {
    const df_coded_column *column = small->columns + feature;
    if (is_random && column->width == 8)
        return ((const uint64_t *)column->codes)[small->row[record]];
    if (!is_random && df_small_is_masked(small))
        return df_small_code_in(small, (int)feature, record);
    return df_small_code(column, small->data_rows, small->row[record]);
}

/* Split a node of two records: every feature that parts them does it by the same score. */
DF_INLINE void df_small_part_two(df_small_subtree *small, const int is_random, df_small_node *node, df_small_open *open) {
    const int one = open->run[0], two = open->run[1];
    const uint64_t differing = df_small_differing(small, is_random, open->run, 2);
    df_small_draws draws;
    if (small->count[one] < small->least || small->count[two] < small->least || differing == 0)
        return;
    df_small_draws_open(&draws, small->seed, node->key, node->words, small->features, small->swapped, small->n_features);
    while (draws.n_drawn < small->n_features && node->feature < 0) {
        const uint32_t feature = df_small_draw(&draws);
        const df_coded_column *column = small->columns + feature;
        uint64_t a, b, low, high;
        int turned, is_missing;
        if (!(differing >> (feature & 63) & 1))
            continue;
        a = df_small_key(small, is_random, feature, one);
        b = df_small_key(small, is_random, feature, two);
        if (a == b)
            continue;
        turned = a > b; /* a missing value has the highest code: it goes right, and alone */
        low = turned ? b : a;
        high = turned ? a : b;
        is_missing = column->has_missing && high == column->n_codes;
        node->feature = (int32_t)feature;
        node->only_missing_right = (uint8_t)is_missing;
        node->missing_left = !is_missing && 2 * (int64_t)small->count[turned ? two : one] > open->draws;
        open->left = turned ? 2 : 1;
        if (is_random)
            node->threshold = is_missing ? INFINITY : df_draft_threshold(small, node, low, high);
        else {
            node->code = (uint32_t)low;
            node->above = (uint32_t)high;
        }
    }
    df_small_draws_close(&draws);
}

#endif
