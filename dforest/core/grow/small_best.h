/* The best cut of a node of a small subtree (C99 and C++): see small_subtree.h.
 *
 * The codes of a subtree's records are copied once, as bytes: if there are at most 64 features, those of all features, so that the
 * features that are constant in a node are told by looking at each record once; else those of a feature when it is first tried.
 * Codes that are no bytes are replaced by their *ranks* among the subtree's records.
 *
 * A node draws its features, and some of them are tried together, in *passes* of up to four features side by side (small_lanes.h).
 * All cuts of a pass are scored at once in float32, with an error that is known. What can't be the best cut is thrown out, and the
 * exact scores of those that are left, mostly of one, decide. Where values are missing, there is another pass, with the missing ones
 * on the left. */
#ifndef DFOREST_SMALL_BEST_H
#define DFOREST_SMALL_BEST_H

#include "core/grow/small_lanes.h"
#include "core/grow/small_subtree.h"

/* Rounding errors of a score in float32, of which there are at most nine, and one more for good measure; of two scores. */
#define DF_SMALL_ROUGH 0x1p-19f

/* In a node's order; 0 beyond its records. */
typedef struct {
    uint64_t word[DF_SMALL_LANES];     /* sums */
    uint8_t count[DF_SMALL_LANES];     /* else */
    uint8_t class_of[DF_SMALL_LANES];  /* classes */
    uint8_t first[DF_SMALL_LANES];     /* two classes: draws of class 0 */
} df_small_values;

/* Copy the codes of a feature to a slot. */
DF_RARELY void df_small_copy_codes(df_small_subtree *small, uint32_t feature, int slot) {
    const df_coded_column *column = small->columns + feature;
    df_small_codes *codes = &small->codes;
    const int n = small->nodes[0].n;
    uint8_t *to = codes->by_slot[slot];
    if (column->width == 1 && column->buckets == NULL) {
        for (int i = 0; i < n; i++)
            to[i] = ((const uint8_t *)column->codes)[small->row[i]];
        codes->is_ranked[slot] = 0;
        codes->missing[slot] = (uint8_t)column->n_codes;
    } else {
        uint32_t code[DF_SMALL];
        int32_t rank[DF_SMALL];
        for (int i = 0; i < n; i++) {
            const uint32_t own = df_small_code(column, small->data_rows, small->row[i]);
            codes->ranked[slot][i] = own;
            code[i] = column->has_missing && own == (uint32_t)column->n_codes ? UINT32_MAX : own;
        }
        for (int i = n; i < DF_SMALL; i++)
            code[i] = 0;
        df_unordered_ranks_loop(code, n, DF_SMALL, rank);
        codes->is_ranked[slot] = 1;
        codes->missing[slot] = UINT8_MAX; /* above all ranks: no value is missing */
        for (int i = 0; i < n; i++) {
            to[i] = (uint8_t)rank[i];
            if (code[i] == UINT32_MAX)
                codes->missing[slot] = (uint8_t)rank[i];
        }
    }
}

/* Copy the codes of all features, of which there are at most 64. */
DF_RARELY void df_small_copy_all(df_small_subtree *small) {
    df_small_codes *codes = &small->codes;
    const int n = small->nodes[0].n, p = (int)small->n_features;
    const uint8_t *from[DF_TILE];
    df_tile_row tile[DF_TILE];
    if (small->byte_rows != NULL) {
        for (int first = 0; first < n; first += DF_TILE)
            for (int at = 0; at < p; at += DF_TILE) {
                for (int i = 0; i < DF_TILE; i++) {
                    const uint32_t row = small->row[first + i < n ? first + i : 0];
                    from[i] = small->byte_rows + (small->data_rows != NULL ? small->data_rows[row] : row) * small->byte_stride + at;
                    memcpy(codes->by_record[first + i] + at, from[i], DF_TILE);
                }
                df_transpose(from, tile);
                for (int k = 0; k < DF_TILE; k++)
                    memcpy(codes->by_slot[at + k] + first, &tile[k], DF_TILE);
            }
        return;
    }
    for (int f = 0; f < p; f++)
        df_small_copy_codes(small, (uint32_t)f, f);
    for (int first = 0; first < n; first += DF_TILE)
        for (int at = 0; at < p; at += DF_TILE) {
            for (int k = 0; k < DF_TILE; k++)
                from[k] = codes->by_slot[at + k] + first;
            df_transpose(from, tile);
            for (int i = 0; i < DF_TILE; i++)
                memcpy(codes->by_record[first + i] + at, &tile[i], DF_TILE);
        }
}

/* Begin a subtree: copy what the records say. */
static inline void df_small_copy(df_small_subtree *small, const int kind) {
    for (int i = 0; i < small->nodes[0].n; i++) {
        small->bytes.count[i] = (uint8_t)small->count[i];
        small->bytes.first[i] = (uint8_t)(kind == DF_SMALL_BINARY ? small->binary_counts[i] : 0);
        small->bytes.class_of[i] = (uint8_t)small->target[i];
    }
    if (df_small_is_masked(small) && small->nodes[0].n > 1)
        df_small_copy_all(small);
}

/* Slots are free again, as when a subtree ends. */
static inline void df_small_free_slots(df_small_subtree *small) {
    for (int slot = 0; slot < small->codes.n_slots; slot++)
        small->codes.slot_of[small->codes.feature_of[slot]] = 0;
    small->codes.n_slots = 0;
}

/* The slot of a feature, which is copied to a free one if it has none. */
DF_INLINE int df_small_slot(df_small_subtree *small, uint32_t feature) {
    df_small_codes *codes = &small->codes;
    if (df_small_is_masked(small))
        return (int)feature;
    if (codes->slot_of[feature] == 0) {
        codes->feature_of[codes->n_slots++] = feature;
        codes->slot_of[feature] = (uint8_t)codes->n_slots; /* one more than the slot */
        df_small_copy_codes(small, feature, codes->n_slots - 1);
    }
    return codes->slot_of[feature] - 1;
}

/* The data's code of a record. */
DF_INLINE uint32_t df_small_code_in(const df_small_subtree *small, int slot, int record) {
    return small->codes.is_ranked[slot] ? small->codes.ranked[slot][record] : small->codes.by_slot[slot][record];
}

/* Whether rows of bytes by record are longer than a vector. */
DF_INLINE int df_small_is_long(const df_small_subtree *small) { return small->nodes[0].n > DF_VECTOR_LANES; }

/* Have the records' values in the node's order. */
DF_INLINE void df_best_order(const df_small_subtree *small, const int kind, const uint8_t *run, int n, int room,
                                     df_small_values *values) {
    const int is_long = df_small_is_long(small);
    if (kind == DF_SMALL_SUMS) {
        DF_EACH_RECORD(i, n, room) values->word[i] = i < n ? small->word[run[i] % DF_SMALL] : 0;
        return;
    }
    df_lane_of_run(small->bytes.count, is_long, run, n, room, values->count);
    if (kind == DF_SMALL_BINARY)
        df_lane_of_run(small->bytes.first, is_long, run, n, room, values->first);
    else
        df_lane_of_run(small->bytes.class_of, is_long, run, n, room, values->class_of);
}

/* Score all cuts of a pass in float32; -1: it is not valid. INOUT top : the highest score of each lane so far */
DF_INLINE void df_best_score(const df_small_subtree *small, const int kind, const df_small_open *open, const int room,
                              df_small_pass *pass, float *top) {
    const int lanes = df_lanes_of(room);
    const float weight = (float)open->draws;
    const float least = small->least > DF_UNORDERED_DRAWS ? DF_UNORDERED_DRAWS + 1 : (float)small->least;
    float lefts[DF_SMALL_LANES], squares[DF_SMALL_LANES];
    if (kind == DF_SMALL_SUMS) {
        const double w = (double)open->draws, shift = (double)open->measure.mean + (double)DF_SUM_BIAS;
        for (int i = 0; i < lanes; i++) {
            const double left = df_from_bits(pass->sums[i] >> DF_SUM_BITS);
            const double sum = df_from_bits(pass->sums[i] & DF_SUM_MASK) - left * shift;
            const float d = (float)(w * sum - left * open->measure.remainder);
            lefts[i] = (float)left;
            squares[i] = d * d;
        }
    } else {
        for (int i = 0; i < lanes; i++)
            lefts[i] = (float)pass->lefts[i];
        for (int i = 0; i < lanes && kind == DF_SMALL_BINARY; i++) {
            const float d = weight * (float)pass->firsts[i] - lefts[i] * (float)open->of_class[0];
            squares[i] = d * d;
        }
        for (int k = 0; k < small->n_classes && kind == DF_SMALL_CLASSES; k++) {
            const float total = (float)open->of_class[k];
            for (int i = 0; i < lanes; i++) {
                const float d = weight * (float)pass->of_class[k][i] - lefts[i] * total;
                squares[i] = k == 0 ? d * d : squares[i] + d * d;
            }
        }
    }
    for (int i = 0; i < lanes; i++) {
        const float right = weight - lefts[i];
        const int is_valid = (lefts[i] >= least) & (right >= least);
        const float above = is_valid ? squares[i] : -1.0f, below = is_valid ? lefts[i] * right : 1.0f;
        const float score = above / below;
        pass->rough[i] = score;
        top[i] = score > top[i] ? score : top[i];
    }
}

/* Draws on the left of a lane's cut. */
DF_INLINE int df_small_left_draws(const int kind, const df_small_pass *pass, int lane) {
    return kind == DF_SMALL_SUMS ? (int)(pass->sums[lane] >> DF_SUM_BITS) : pass->lefts[lane];
}

/* The exact score of a lane's cut. */
DF_INLINE double df_best_exact_score(const df_small_subtree *small, const int kind, const df_small_open *open,
                                      const df_small_pass *pass, int lane) {
    const double weight = (double)open->draws, left = pass->lefts[lane];
    double squares = 0.0;
    if (kind == DF_SMALL_BINARY)
        return df_binary_score(pass->firsts[lane], left, weight, (double)open->of_class[0]);
    if (kind == DF_SMALL_SUMS)
        return df_sum_score(pass->sums[lane], weight, (double)open->measure.mean + (double)DF_SUM_BIAS, open->measure.remainder);
    for (int k = 0; k < small->n_classes; k++) {
        const double d = weight * (double)pass->of_class[k][lane] - left * (double)open->of_class[k];
        squares += d * d;
    }
    return squares / ((left * (weight - left)) * weight);
}

/* The pass with the missing values of features on the left, given the one that has them on the right. Returns whether there are any
 * missing values. */
DF_RARELY int df_best_turn(const df_small_subtree *small, const int kind, const df_small_tries *tries,
                                const df_small_values *values, int n, int room, const df_small_pass *from, df_small_pass *to) {
    int has_missing = 0;
    *to = *from;
    to->missing_left = 1;
    for (int g = 0; g < df_lanes_of(room) / room && from->first + g < tries->n; g++) {
        const int tried = from->first + g, slot = tries->slot[tried], lane = g * room;
        uint64_t missing = 0;
        if (small->columns[tries->feature[tried]].has_missing)
            missing = df_lane_equal(from->codes, room, small->codes.missing[slot]) >> lane & df_bits_of(n);
        for (int i = lane; i < lane + n; i++) /* cuts of features without missing values are those of the other pass */
            if (missing == 0 || missing >> (i - lane) & 1)
                to->lefts[i] = 0, to->sums[i] = 0;
        for (int j = 0; j < n; j++) {
            if (!(missing >> j & 1))
                continue;
            has_missing = 1;
            for (int i = lane; i < lane + n; i++) {
                if (missing >> (i - lane) & 1)
                    continue;
                if (kind == DF_SMALL_SUMS) {
                    to->sums[i] += values->word[j];
                    continue;
                }
                to->lefts[i] = (uint8_t)(to->lefts[i] + values->count[j]);
                if (kind == DF_SMALL_BINARY)
                    to->firsts[i] = (uint8_t)(to->firsts[i] + values->first[j]);
                else
                    to->of_class[values->class_of[j]][i] = (uint8_t)(to->of_class[values->class_of[j]][i] + values->count[j]);
            }
        }
    }
    return has_missing;
}

/* Where no cut scores above 0: of the first feature that has a valid cut, the most balanced one, of several the lowest. OUT pass,
   lane */
DF_RARELY void df_best_most_balanced(const df_small_subtree *small, const int kind, const df_small_open *open,
                                          const df_small_tries *tries, int n, int room, int *pass, int *lane) {
    for (int tried = 0; tried < tries->n; tried++) {
        double score[2] = {-1.0, -1.0};
        int64_t imbalance[2] = {0, 0};
        int at[2] = {0, 0}, in[2] = {0, 0};
        for (int p = 0; p < tries->n_passes; p++) {
            const df_small_pass *own = &small->passes[p];
            const int side = own->missing_left, begin = (tried - own->first) * room;
            if (tried < own->first || begin >= df_lanes_of(room))
                continue;
            for (int i = begin; i < begin + n; i++) {
                const int64_t here = df_imbalance(0.0, df_small_left_draws(kind, own, i), open->draws);
                if (own->rough[i] < 0.0f)
                    continue;
                const int is_lower = own->codes[i] < own->codes[at[side]];
                if (score[side] < 0.0 || here < imbalance[side] || (here == imbalance[side] && is_lower)) {
                    score[side] = 0.0;
                    imbalance[side] = here;
                    at[side] = i;
                    in[side] = p;
                }
            }
        }
        if (score[0] >= 0.0 || score[1] >= 0.0) {
            const int side = df_leads_left(score[1], imbalance[1], small->passes[in[1]].codes[at[1]], score[0], imbalance[0],
                                           small->passes[in[0]].codes[at[0]]);
            *pass = in[side];
            *lane = at[side];
            return;
        }
    }
}

/* Split a node by the cut of a lane. */
DF_INLINE void df_best_take(const df_small_subtree *small, const int kind, const df_small_tries *tries,
                             const df_small_values *values, const df_small_pass *pass, int lane, int room, df_small_node *node,
                             df_small_open *open) {
    const int begin = lane / room * room, tried = pass->first + lane / room, slot = tries->slot[tried];
    const df_coded_column *column = small->columns + tries->feature[tried];
    const uint64_t own = df_bits_of(node->n) << begin;
    const uint64_t missing = column->has_missing ? df_lane_equal(pass->codes, room, small->codes.missing[slot]) & own : 0;
    const uint64_t left = df_lane_up_to(pass->codes, room, pass->codes[lane]) & own, right = own & ~left & ~missing;
    int n_left = df_small_left_draws(kind, pass, lane), n_missing = 0;
    for (uint64_t bits = missing >> begin; bits; bits &= bits - 1) {
        const int i = df_lowest_bit(bits);
        n_missing += kind == DF_SMALL_SUMS ? (int)(values->word[i] >> DF_SUM_BITS) : values->count[i];
    }
    n_left -= pass->missing_left ? n_missing : 0;
    node->code = df_small_code_in(small, slot, open->run[lane - begin]);
    node->above = UINT32_MAX;
    if (right != 0) {
        const uint8_t above = df_lane_least(pass->codes, room, right);
        const int other = df_lowest_bit(df_lane_equal(pass->codes, room, above) & right);
        node->above = df_small_code_in(small, slot, open->run[other - begin]);
    }
    df_small_take(node, open, tries->feature[tried], (left | (pass->missing_left ? missing : 0)) >> begin, n_left, n_missing,
                  pass->missing_left);
}

/* Try features: score all of their cuts. Returns how many features turned out to be constant. */
DF_INLINE int df_best_try(df_small_subtree *small, const int kind, const df_small_values *values, df_small_tries *tries,
                          df_small_node *node, const df_small_open *open, const int room) {
    const int n = node->n, groups = df_lanes_of(room) / room, is_masked = df_small_is_masked(small);
    float top[DF_SMALL_LANES]; /* of each lane, in any pass */
    for (int i = 0; i < df_lanes_of(room); i++)
        top[i] = -1.0f;
    int n_constant = 0;
    tries->n_passes = 0;
    if (!is_masked && small->codes.n_slots + tries->n > DF_SMALL_SLOTS) {
        df_small_free_slots(small);
    }
    for (int t = 0; t < tries->n; t++)
        tries->slot[t] = (uint8_t)df_small_slot(small, tries->feature[t]);
    for (int t = tries->n; t < tries->n + 3; t++)
        tries->slot[t] = tries->slot[0];
    for (int first = 0; first < tries->n; first += groups) {
        const int n_groups = tries->n - first < groups ? tries->n - first : groups;
        const uint64_t lanes = df_lane_in_use(n, room, n_groups);
        df_small_pass *pass = &small->passes[tries->n_passes++];
        const uint8_t *codes[4];
        for (int g = 0; g < groups; g++)
            codes[g] = small->codes.by_slot[tries->slot[first + g]];
        df_lane_take(codes, df_small_is_long(small), open->run, room, pass->codes);
        pass->first = first;
        pass->missing_left = 0;
        if (kind == DF_SMALL_BINARY)
            df_lane_add_binary(pass->codes, lanes, n, room, values->first, values->count, pass->firsts, pass->lefts);
        else if (kind == DF_SMALL_CLASSES)
            df_lane_add_classes(pass->codes, lanes, n, room, values->class_of, values->count, small->n_classes, pass->of_class,
                                 pass->lefts);
        else
            df_lane_add_words(pass->codes, lanes, n, room, values->word, pass->sums);
        df_best_score(small, kind, open, room, pass, top);
        if (small->has_missing) {
            df_small_pass *turned = &small->passes[tries->n_passes];
            if (df_best_turn(small, kind, tries, values, n, room, pass, turned)) {
                df_best_score(small, kind, open, room, turned, top);
                tries->n_passes++;
            }
        }
        for (int g = 0; g < n_groups && !is_masked; g++) {
            const uint64_t all = df_bits_of(n), equal = df_lane_equal(pass->codes, room, pass->codes[g * room]);
            n_constant += df_small_note_constant(node, tries->feature[first + g], (equal >> g * room & all) == all);
        }
    }
    tries->highest = df_highest_rough(top, df_lanes_of(room));
    return n_constant;
}

/* Find the best of all cuts that have been tried together, given those of positive scores. is_last : there will be no others.
 * Returns its exact score, if it is better than that of the node's best one so far; -1 if it is not; or 0 if the score does not
 * matter any more. OUT in, at : its pass and its lane */
DF_INLINE double df_best_choose(const df_small_subtree *small, const int kind, const df_small_tries *tries,
                                const df_small_open *open, const int room, int is_last, int *in, int *at) {
    const float enough = tries->highest * (1.0f - DF_SMALL_ROUGH);
    double score = open->score;
    uint64_t masks[2 * DF_SMALL_TRIES];
    int n_found = 0, found = 0, try_of = -1;
    for (int p = 0; p < tries->n_passes; p++) {
        const uint64_t mask = df_lane_at_least(small->passes[p].rough, room, enough);
        masks[p] = mask;
        n_found += (mask != 0) + ((mask & (mask - 1)) != 0);
        *in = mask ? p : *in;
    }
    if (n_found == 1 && is_last && score < 0.0) { /* one cut alone needs no score */
        *at = df_lowest_bit(masks[*in]);
        return 0.0;
    }
    for (int p = 0; p < tries->n_passes; p++) {
        const df_small_pass *pass = &small->passes[p];
        for (uint64_t mask = masks[p]; mask; mask &= mask - 1) {
            const int lane = df_lowest_bit(mask), tried = pass->first + lane / room;
            const double own = df_best_exact_score(small, kind, open, pass, lane);
            const int is_lower = tried == try_of && pass->codes[lane] < small->passes[*in].codes[*at];
            if (own > score || (own == score && (tried < try_of || is_lower))) { /* of equal features, the one drawn first */
                score = own;
                try_of = tried;
                found = 1;
                *in = p;
                *at = lane;
            }
        }
    }
    return found ? score : -1.0;
}

/* Have the best of the cuts that have been tried together split the node, if it is better than the best one so far. is_last : there
 * will be no others */
DF_INLINE void df_best_keep(const df_small_subtree *small, const int kind, const df_small_tries *tries,
                            const df_small_values *values, df_small_node *node, df_small_open *open, const int room, int is_last) {
    int in = 0, at = 0;
    double score = 0.0;
    if (tries->highest > 0.0f)
        score = df_best_choose(small, kind, tries, open, room, is_last, &in, &at);
    else if (tries->highest == 0.0f && open->score < 0.0)
        df_best_most_balanced(small, kind, open, tries, node->n, room, &in, &at);
    else
        return;
    if (score < 0.0)
        return;
    open->score = score;
    df_best_take(small, kind, tries, values, &small->passes[in], at, room, node, open);
}

#endif
