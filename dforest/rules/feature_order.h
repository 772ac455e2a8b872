/* The order in which the features of a node are tried: drawn without replacement, one by one (C99 and C++).
 *
 * An order is an array of the numbers 0, 1, ..., n - 1, of which the first n_drawn places hold the features drawn so far. To
 * draw one more, the entry at a random place from n_drawn on is swapped with the one at n_drawn. The swaps are noted, and undone
 * when the node is done: so neither a draw nor the beginning of a node takes time that depends on n. With 4 features, of which
 * places 2 and 3 are drawn:
 *
 *     order                  swapped
 *     0 1 2 3
 *     2 | 1 0 3              2            place 2 of 0, ..., 3
 *     2 3 | 0 1              2 3          place 3 of 1, ..., 3
 *     2 | 1 0 3              2            undone, the last swap first
 *     0 1 2 3
 *
 * Of DF_MANY_FEATURES features or more, the order is a permutation that is computed place by place: it answers which feature
 * stands at a place, and at which place a feature stands. So the order of some features is known without that of the rest. It is
 * a Feistel network of two halves of as many bits as n - 1 has, whose four round functions are keyed by the first words of the
 * stream; a number that is no feature goes through again, until it is one. Of 5000 features, whose numbers have 13 bits, say:
 *
 *     place 0 -> 7000 -> 33       7000 is no feature, so feature 33 stands at place 0, and no other place leads there
 *
 * Features may have weights, which are integers. Each draw then takes a feature with a chance of its weight over the sum of the
 * weights of all that have not been drawn. Sums of weights lie in a Fenwick tree: its entry i, from 1 to n, is the sum of the
 * i & -i weights that end with that of feature i - 1. A weight that is drawn is taken off, and put back when the node is done: so
 * a draw takes time in proportion to log n.
 *
 * Random numbers are those of the stream (seed of the tree, node key of the node, DF_FEATURES): see random.h.
 *
 * A node tries its features in *rounds*: max_features features; as many more as turned out to be constant, if constant features
 * don't count; and then one by one, until one has a valid cut. */
#ifndef DFOREST_RULES_FEATURE_ORDER_H
#define DFOREST_RULES_FEATURE_ORDER_H

#include "random.h"

enum { DF_MANY_FEATURES = 4096, DF_ORDER_ROUNDS = 4 };

/* How many bits the lower half of the numbers below n has; the upper half has as many, or one less. */
static inline int df_lower_bits(uint32_t n) {
#if defined(__GNUC__)
    return (33 - __builtin_clz(n - 1)) / 2;
#else
    int bits = 1;
    while ((n - 1) >> bits)
        ++bits;
    return (bits + 1) / 2;
#endif
}

/* What a round adds to a half, given the other one. */
static inline uint32_t df_order_round(const df_stream *stream, int round, uint32_t half, int bits) {
    const uint64_t key = (uint64_t)stream->words[round] << 32 | (uint32_t)round << 16 | half;
    return (uint32_t)(df_mix(key) >> (64 - bits));
}

/* Have the words that key the rounds. */
static inline void df_key_order(df_stream *stream) {
    if (stream->used == 4)
        df_next(stream);
}

/* The feature at a place in the order of n. */
static inline uint32_t df_feature_at(df_stream *stream, uint32_t place, uint32_t n) {
    const int lower = df_lower_bits(n), upper = lower - !((n - 1) >> (2 * lower - 1));
    uint32_t high, low;
    int round;
    df_key_order(stream);
    do {
        high = place >> lower;
        low = place & ((1u << lower) - 1);
        for (round = 0; round < DF_ORDER_ROUNDS; round += 2) {
            high ^= df_order_round(stream, round, low, upper);
            low ^= df_order_round(stream, round + 1, high, lower);
        }
        place = high << lower | low;
    } while (place >= n);
    return place;
}

/* The place of a feature in the order of n: the rounds backwards. */
static inline uint32_t df_place_of(df_stream *stream, uint32_t feature, uint32_t n) {
    const int lower = df_lower_bits(n), upper = lower - !((n - 1) >> (2 * lower - 1));
    uint32_t high, low;
    int round;
    df_key_order(stream);
    do {
        high = feature >> lower;
        low = feature & ((1u << lower) - 1);
        for (round = DF_ORDER_ROUNDS; round > 0; round -= 2) {
            low ^= df_order_round(stream, round - 1, high, lower);
            high ^= df_order_round(stream, round - 2, low, upper);
        }
        feature = high << lower | low;
    } while (feature >= n);
    return feature;
}

/* Draw one more of n features, n_drawn < n; the caller adds 1 to n_drawn. INOUT order : [n]; OUT swapped : [n] */
static inline uint32_t df_draw_feature(df_stream *stream, uint32_t *order, uint32_t *swapped, uint32_t n_drawn, uint32_t n) {
    uint32_t place, feature;
    if (n >= DF_MANY_FEATURES) {
        swapped[n_drawn] = n_drawn; /* nothing to undo */
        return df_feature_at(stream, n_drawn, n);
    }
    place = n_drawn + df_below(stream, n - n_drawn);
    feature = order[place];
    order[place] = order[n_drawn];
    order[n_drawn] = feature;
    swapped[n_drawn] = place;
    return feature;
}

/* Whether a node tries another round, after it has drawn n_drawn of n features, of which n_counted count among max_features. */
static inline int df_tries_more(int64_t n_drawn, int64_t n, int64_t n_counted, int64_t max_features, int has_cut) {
    return n_drawn < n && (n_counted < max_features || !has_cut);
}

/* How many features that count the next round has at most. */
static inline int64_t df_round_size(int64_t n_counted, int64_t max_features) {
    return n_counted < max_features ? max_features - n_counted : 1;
}

/* Undo the swaps of all n_drawn draws: the order is 0, 1, 2, ... again. */
static inline void df_undo_features(uint32_t *order, const uint32_t *swapped, uint32_t n_drawn) {
    while (n_drawn > 0) {
        const uint32_t place = swapped[--n_drawn], feature = order[place];
        order[place] = order[n_drawn];
        order[n_drawn] = feature;
    }
}

/* Add a weight to the sums of n features, or take it off as 0 - weight. INOUT sums : [n + 1] */
static inline void df_add_feature_weight(uint64_t *sums, uint32_t n, uint32_t feature, uint64_t weight) {
    uint32_t i;
    for (i = feature + 1; i <= n; i += i & (0u - i))
        sums[i] += weight;
}

/* Draw one more of n features by weight. IN weight : [n]; INOUT sums : [n + 1], left : the sum of the weights of features that
 * have not been drawn, from 1 to 2^52 */
static inline uint32_t df_draw_weighted_feature(df_stream *stream, uint64_t *sums, const uint64_t *weight, uint32_t n,
                                                uint64_t *left) {
    uint64_t rest = (uint64_t)(df_uniform(stream) * (double)*left);
    uint32_t feature = 0, step = 1;
    while (step <= n / 2)
        step *= 2;
    for (; step > 0; step /= 2)
        if (feature + step <= n && sums[feature + step] <= rest) {
            feature += step;
            rest -= sums[feature];
        }
    df_add_feature_weight(sums, n, feature, 0 - weight[feature]);
    *left -= weight[feature];
    return feature;
}

#endif
