/* The integers that stand for weights where no unit makes all weights integers. Shared by the CPU and device code (C99 and C++).
 *
 * An exact weight is a row's share of the weight of the heaviest of all rows, as float64, times 2^DF_EXACT_MAX_EXPONENT. With a
 * shift s, the integer of an exact weight x is x * 2^(s - DF_ROOT_SHIFT), rounded. With the shift 0, that of the heaviest of all
 * rows is 2^30. A node whose rows are all much lighter gets a shift above 0, by which the node's own heaviest row has 31 bits.
 * What leaves keep follows from *fine* integers, by a shift that leaves the heaviest row 61 bits. Sums of fine integers are held
 * in two *parts*, of their lower 31 bits and of the rest.
 *
 * So weights of 1, 1e-12 and 3e-12 are 2^30, 1 and 1 with a shift of 0; in a node that has the other two rows alone, these have a
 * shift of 39, and are about 0.55 * 2^30 and 1.65 * 2^30. */
#ifndef DFOREST_RULES_WEIGHTS_H
#define DFOREST_RULES_WEIGHTS_H

#include "node.h"

enum {
    DF_EXACT_MAX_EXPONENT = 1022,  /* so that the lightest weights that float64 has beside it remain numbers */
    DF_WEIGHT_BITS = 31,  /* of the integers that trees add up ... */
    DF_ROOT_SHIFT = DF_EXACT_MAX_EXPONENT - (DF_WEIGHT_BITS - 1),
    DF_LOST_BITS = 8,     /* ... and how many of these a node's heaviest row may lack */
    DF_FINE_WEIGHT_BITS = 61,
    DF_LOW_BITS = 31,        /* of the lower part */
    DF_LEAF_WEIGHT_BITS = 62 /* of a leaf's weight, at most */
};

/* Below this the heaviest exact weight of a node is too light for the node's shift. */
static inline double df_low_weight_below(int32_t shift) {
    return ldexp(1.0, DF_ROOT_SHIFT + DF_WEIGHT_BITS - DF_LOST_BITS - 1 - shift);
}

/* The shift of a node, given its heaviest exact weight. */
static inline int32_t df_weight_shift(double max_weight) {
    return df_scale_exponent(max_weight, DF_WEIGHT_BITS) + DF_ROOT_SHIFT;
}

/* The shift of a node whose parent has some shift, or that is by itself, 0: the same, unless it is too high for the node's weights. */
static inline int32_t df_shift_if_low_weight(int32_t shift, double max_weight) {
    return max_weight < df_low_weight_below(shift) ? df_weight_shift(max_weight) : shift;
}

/* The shift of fine integers. */
static inline int32_t df_fine_shift(double max_weight) { return df_scale_exponent(max_weight,
                                                                                  DF_FINE_WEIGHT_BITS) + DF_ROOT_SHIFT; }

/* The least number of bits that n - 1 fits, n >= 1. */
static inline int df_bits_below(int64_t n) {
    int bits = 0;
    while (bits < 62 && n > (int64_t)1 << bits)
        bits++;
    return bits;
}

/* The bits of a leaf's offsets (node.h) that fine integers of n draws are multiplied by: the products' sum is below 2^124. */
static inline int df_offset_bits(int64_t n_draws) { return DF_LEAF_BITS - df_bits_below(n_draws); }

/* The shift of the integers by which a leaf of n draws weighs targets for their median: their sum is below 2^62. */
static inline int32_t df_median_shift(int32_t fine_shift, int64_t n_draws) { return fine_shift + 1 - df_bits_below(n_draws); }

/* A leaf keeps the number of its draws, and in the uppermost bits its shift, in one word: without a shift, it is the number. */
enum { DF_DRAWS_BITS = 48 };

static inline int64_t df_draws_word(int64_t n_draws, int32_t shift) {
    return n_draws + (int64_t)((uint64_t)(int64_t)shift << DF_DRAWS_BITS);
}

/* A shift made ready to be used. */
static inline df_quantiser df_weight_quantiser_of(int32_t shift) { return df_quantiser_of(0.0, shift - DF_ROOT_SHIFT); }

/* The integer of an exact weight, by any shift; and by a node's shift, where no row is without weight. */
static inline int64_t df_shifted_exact(const df_quantiser *weight_quantiser, double exact) {
    return (int64_t)rint(exact * weight_quantiser->first * weight_quantiser->second);
}

static inline uint32_t df_node_weight(const df_quantiser *weight_quantiser, double exact) {
    const int64_t weight = df_shifted_exact(weight_quantiser, exact);
    return weight > 1 ? (uint32_t)weight : 1;
}

/* A sum of fine integers, low + high * 2^DF_LOW_BITS, of up to 2^32 draws. */
typedef struct {
    int64_t low, high;
} df_weight_parts;

static inline df_weight_parts df_parts_of(int64_t weight, uint32_t count) {
    df_weight_parts parts;
    parts.low = (weight & (((int64_t)1 << DF_LOW_BITS) - 1)) * count;
    parts.high = (weight >> DF_LOW_BITS) * count;
    return parts;
}

static inline df_weight_parts df_both_parts(df_weight_parts a, df_weight_parts b) {
    a.low += b.low;
    a.high += b.high;
    return a;
}

/* A sum with its carry passed on: the lower part has DF_LOW_BITS bits. */
static inline df_weight_parts df_carried(df_weight_parts sum) {
    sum.high += sum.low >> DF_LOW_BITS;
    sum.low &= ((int64_t)1 << DF_LOW_BITS) - 1;
    return sum;
}

static inline double df_parts_value(df_weight_parts sum) {
    sum = df_carried(sum);
    return ldexp((double)sum.high, DF_LOW_BITS) + (double)sum.low;
}

/* How many of a carried sum's last bits a leaf cannot keep. */
static inline int df_excess_bits(df_weight_parts sum) {
    int bits = 0;
    while (sum.high >> (DF_LEAF_WEIGHT_BITS - DF_LOW_BITS + bits))
        bits++;
    return bits;
}

static inline int64_t df_without_bits(df_weight_parts sum, int bits) {
    return bits <= DF_LOW_BITS ? (sum.high << (DF_LOW_BITS - bits)) | (sum.low >> bits) : sum.high >> (bits - DF_LOW_BITS);
}

/* What a leaf keeps of the fine weights of its n classes, or of all of its weight: n = 1. So many of their last bits are left out
 * that the sum is below 2^DF_LEAF_WEIGHT_BITS: rounded down, and what that takes off goes to the heaviest one. Returns the word of
 * the leaf's draws, which has the shift of what is kept; each output of several has the same weight, and so the same shift.
 *
 * IN shift : of the fine integers; low, high : [n] parts of their sums; OUT kept : [n], which may be `low` */
static inline int64_t df_finalize_weights(int64_t n_draws, int32_t shift, const int64_t *low, const int64_t *high, int64_t n,
                                          int64_t *kept) {
    df_weight_parts total = {0, 0}, own;
    int64_t k, max_weight = 0, rest;
    int bits;
    for (k = 0; k < n; k++) {
        own.low = low[k];
        own.high = high[k];
        total = df_carried(df_both_parts(total, df_carried(own)));
    }
    bits = df_excess_bits(total);
    rest = df_without_bits(total, bits);
    for (k = 0; k < n; k++) {
        own.low = low[k];
        own.high = high[k];
        kept[k] = df_without_bits(df_carried(own), bits);
        rest -= kept[k];
        max_weight = kept[k] > kept[max_weight] ? k : max_weight;
    }
    kept[max_weight] += rest;
    return df_draws_word(n_draws, shift - bits);
}

/* The weight of a node whose leaves have shifts of their own is weight * 2^-shift. Sums are below 2^DF_LEAF_WEIGHT_BITS: what is
 * beyond them is rounded. */
typedef struct {
    int64_t weight;
    int32_t shift;
} df_shifted_sum;

static inline df_shifted_sum df_both_weights(df_shifted_sum a, df_shifted_sum b) {
    df_shifted_sum sum;
    sum.shift = a.shift < b.shift ? a.shift : b.shift;
    sum.weight = df_without_last_bits(a.weight, a.shift - sum.shift) + df_without_last_bits(b.weight, b.shift - sum.shift);
    if (sum.weight >> DF_LEAF_WEIGHT_BITS) {
        sum.shift--;
        sum.weight = df_without_last_bits(a.weight, a.shift - sum.shift) + df_without_last_bits(b.weight, b.shift - sum.shift);
    }
    return sum;
}

/* The share of a child in its parent's weight. */
static inline double df_weight_fraction(df_shifted_sum child, df_shifted_sum parent) {
    const int32_t by = parent.shift - child.shift;
    return (by == 0 ? (double)child.weight : ldexp((double)child.weight, by)) / (double)parent.weight;
}

/* The weights of n classes by a shift that is lower by `by`, whose sum is `total`: rounded down, but for the
 * heaviest one. `to` may be `weights`. */
static inline void df_coarser_classes(const int64_t *weights, int64_t n, int32_t by, int64_t total, int64_t *to) {
    int64_t k, max_weight = 0;
    for (k = 1; k < n; k++)
        max_weight = weights[k] > weights[max_weight] ? k : max_weight;
    for (k = 0; k < n; k++) {
        to[k] = by > DF_LEAF_WEIGHT_BITS ? 0 : weights[k] >> by;
        total -= to[k];
    }
    to[max_weight] += total;
}

#endif
