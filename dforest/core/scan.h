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

#define DF_PAIR_DRAWS ((int64_t)1 << 26) /* most draws of a node whose words are pairs: crosses are exact */
#define DF_SUM_DRAWS ((int64_t)1 << 16)  /* fewer draws than this where words are sums */
#define DF_SUM_BITS 48
#define DF_SUM_BIAS ((int64_t)1 << 31)
#define DF_SUM_MASK (((uint64_t)1 << DF_SUM_BITS) - 1)

static inline uint64_t df_pair_word(uint32_t count, int32_t target) { return (uint64_t)count << (32 * target); }

static inline uint64_t df_sum_word(uint32_t count, int32_t target) {
    return ((uint64_t)count << DF_SUM_BITS) + (uint64_t)count * (uint64_t)(target + DF_SUM_BIAS);
}

/* An integer below 2^52 as float64, by its bits: SSE2 converts no 64-bit integers. */
static inline double df_from_bits(uint64_t x) {
    double y;
    x |= 0x4330000000000000ull; /* 2^52 + x */
    memcpy(&y, &x, 8);
    return y - 4503599627370496.0;
}

/* Gini, two classes: words run[i] + offset; weight of the node and of its class 0. */
static inline void df_gini_scores(const uint64_t *run, int n, uint64_t offset, double weight, double first, double *scores) {
    for (int i = 0; i < n; i++) {
        uint64_t word = run[i] + offset;
        double a = df_from_bits(word & 0xFFFFFFFFull);
        double left = a + df_from_bits(word >> 32);
        double d = weight * a - left * first;
        scores[i] = (d * d + d * d) / ((left * (weight - left)) * weight);
    }
}

/* Squared error: mean is the node's rounded down, remainder its sum less weight * mean. */
static inline void df_square_scores(const uint64_t *run, int n, uint64_t offset, double weight, double mean, double remainder,
                                    double *scores) {
    double shift = mean + (double)DF_SUM_BIAS;
    for (int i = 0; i < n; i++) {
        uint64_t word = run[i] + offset;
        double left = df_from_bits(word >> DF_SUM_BITS);
        double sum = df_from_bits(word & DF_SUM_MASK) - left * shift;
        double d = weight * sum - left * remainder;
        scores[i] = d * d / ((left * (weight - left)) * weight);
    }
}

#endif
