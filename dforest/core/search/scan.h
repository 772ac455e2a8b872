/* Scores of many cuts at once, from packed words (C99 and C++).
 *
 * A packed word holds a statistic of draws of weight 1, so that one addition adds a draw:
 *     two classes   draws of class 0 in the low 32 bits, of class 1 in the high ones
 *     numbers       draws in the high 16 bits; below, the sum of target + 2^31
 * The loops have no branches and compilers vectorise them; each score is formed by the operations
 * of numerics.h, in their order, on numbers that are exact, and so has the same bits.
 */
#ifndef DFOREST_SCAN_H
#define DFOREST_SCAN_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define DF_PAIR_DRAWS ((int64_t)1 << 26) /* most draws of a node whose words are pairs: crosses are exact */
#define DF_SUM_DRAWS ((int64_t)1 << 16)  /* fewer draws than this where words are sums */
#define DF_SUM_BITS 48
#define DF_SUM_BIAS ((int64_t)1 << 31)
#define DF_SUM_MASK (((uint64_t)1 << DF_SUM_BITS) - 1)

static inline uint64_t df_sum_word(uint32_t count, int32_t target) {
    return ((uint64_t)count << DF_SUM_BITS) + (uint64_t)count * (uint64_t)(target + DF_SUM_BIAS);
}

#if defined(__GNUC__)
#define DF_INLINE static inline __attribute__((always_inline))
#else
#define DF_INLINE static inline
#endif

#if defined(__GNUC__)
#define df_lowest_bit(x) __builtin_ctzll(x)
#else
static inline int df_lowest_bit(uint64_t x) {
    int i = 0;
    while (!(x >> i & 1))
        i++;
    return i;
}
#endif

/* An integer below 2^52 as float64, by its bits: SSE2 converts no 64-bit integers. */
DF_INLINE double df_from_bits(uint64_t x) {
    double y;
    x |= 0x4330000000000000ull; /* 2^52 + x */
    memcpy(&y, &x, 8);
    return y - 4503599627370496.0;
}

/* The place of the first of the highest scores; n >= 1. Comparing in four lanes waits less. */
DF_INLINE int df_first_highest(const double *scores, int n) {
    double a = scores[0], b = a, c = a, d = a;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        a = scores[i] > a ? scores[i] : a;
        b = scores[i + 1] > b ? scores[i + 1] : b;
        c = scores[i + 2] > c ? scores[i + 2] : c;
        d = scores[i + 3] > d ? scores[i + 3] : d;
    }
    for (; i < n; i++)
        a = scores[i] > a ? scores[i] : a;
    a = a > b ? a : b;
    c = c > d ? c : d;
    a = a > c ? a : c;
    for (i = 0; scores[i] != a; i++)
        ;
    return i;
}

#define DF_CHUNK 64 /* cuts scored at a time */

/* The first of the best cuts by Gini impurity with two classes, and its score; n >= 1. The left sides'
 * words are run[i] + offset; weight: of the node; first: of its class 0. */
DF_INLINE int64_t df_gini_loop(const uint64_t *run, int64_t n, uint64_t offset, double weight, double first, double *score) {
    double scores[DF_CHUNK];
    int64_t best = 0;
    *score = -1.0;
    for (int64_t begin = 0; begin < n; begin += DF_CHUNK) {
        int length = n - begin < DF_CHUNK ? (int)(n - begin) : DF_CHUNK;
        for (int i = 0; i < length; i++) {
            uint64_t word = run[begin + i] + offset;
            double a = df_from_bits(word & 0xFFFFFFFFull);
            double left = a + df_from_bits(word >> 32);
            double d = weight * a - left * first;
            scores[i] = (d * d + d * d) / ((left * (weight - left)) * weight);
        }
        int i = df_first_highest(scores, length);
        if (scores[i] > *score) {
            *score = scores[i];
            best = begin + i;
        }
    }
    return best;
}

/* The first of the best cuts by squared error, and its score; n >= 1. The left sides' words are run[i] + offset; weight: of
 * the node; mean: its mean target rounded down; remainder: its sum of targets less weight * mean. */
DF_INLINE int64_t df_square_loop(const uint64_t *run, int64_t n, uint64_t offset, double weight, double mean, double remainder,
                                 double *score) {
    double scores[DF_CHUNK], shift = mean + (double)DF_SUM_BIAS;
    int64_t best = 0;
    *score = -1.0;
    for (int64_t begin = 0; begin < n; begin += DF_CHUNK) {
        int length = n - begin < DF_CHUNK ? (int)(n - begin) : DF_CHUNK;
        for (int i = 0; i < length; i++) {
            uint64_t word = run[begin + i] + offset;
            double left = df_from_bits(word >> DF_SUM_BITS);
            double sum = df_from_bits(word & DF_SUM_MASK) - left * shift;
            double d = weight * sum - left * remainder;
            scores[i] = d * d / ((left * (weight - left)) * weight);
        }
        int i = df_first_highest(scores, length);
        if (scores[i] > *score) {
            *score = scores[i];
            best = begin + i;
        }
    }
    return best;
}

#endif
