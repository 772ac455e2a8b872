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

#define DF_BINARY_DRAWS ((int64_t)1 << 26) /* most draws of a node of two classes: crosses are exact */
#define DF_SUM_DRAWS ((int64_t)1 << 16)  /* fewer draws than this where words are sums */
#define DF_SUM_BITS 48
#define DF_SUM_BIAS ((int64_t)1 << 31)
#define DF_SUM_MASK (((uint64_t)1 << DF_SUM_BITS) - 1)

static inline uint64_t df_pack_sum(uint32_t count, int32_t target) {
    return ((uint64_t)count << DF_SUM_BITS) + (uint64_t)count * (uint64_t)(target + DF_SUM_BIAS);
}

/* DF_RARELY : of functions that few nodes need, which take the compiler long where each loop has its own */
#if defined(__GNUC__)
#define DF_INLINE static inline __attribute__((always_inline))
#define DF_RARELY static __attribute__((noinline, unused))
#else
#define DF_INLINE static inline
#define DF_RARELY static
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

/* The highest of n scores, and which are at least some number, a bit each; n: a multiple of 8, up to 64. */
#if defined(__SSE2__)
typedef __m128d df_vector_pd;
typedef __m128 df_vector_ps;

DF_INLINE double df_top_pd(__m128d a) { return _mm_cvtsd_f64(_mm_max_sd(a, _mm_unpackhi_pd(a, a))); }

DF_INLINE float df_top_ps(__m128 a) {
    a = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(a, _mm_shuffle_ps(a, a, 1)));
}

#define DF_SEARCH(highest, at_least, number, kind)                                                                  \
    DF_INLINE number highest(const number *scores, int n) {                                                         \
        enum { CLASS_COUNTERS = 16 / sizeof(number) };                                                              \
        df_vector_##kind a = _mm_loadu_##kind(scores), b = _mm_loadu_##kind(scores + CLASS_COUNTERS);               \
        for (int i = 2 * CLASS_COUNTERS; i < n; i += 2 * CLASS_COUNTERS) {                                          \
            a = _mm_max_##kind(a, _mm_loadu_##kind(scores + i));                                                    \
            b = _mm_max_##kind(b, _mm_loadu_##kind(scores + i + CLASS_COUNTERS));                                   \
        }                                                                                                           \
        return df_top_##kind(_mm_max_##kind(a, b));                                                                 \
    }                                                                                                               \
    DF_INLINE uint64_t at_least(const number *scores, int n, number least) {                                        \
        enum { CLASS_COUNTERS = 16 / sizeof(number) };                                                              \
        df_vector_##kind limit = _mm_set1_##kind(least);                                                            \
        uint64_t mask = 0;                                                                                          \
        for (int i = 0; i < n; i += CLASS_COUNTERS)                                                                 \
            mask |= (uint64_t)_mm_movemask_##kind(_mm_cmpge_##kind(_mm_loadu_##kind(scores + i), limit)) << i;      \
        return mask;                                                                                                \
    }

#else
#define DF_SEARCH(highest, at_least, number, kind)                           \
    DF_INLINE number highest(const number *scores, int n) {                  \
        number top = scores[0];                                              \
        for (int i = 1; i < n; i++)                                          \
            top = scores[i] > top ? scores[i] : top;                         \
        return top;                                                          \
    }                                                                        \
    DF_INLINE uint64_t at_least(const number *scores, int n, number least) { \
        uint64_t mask = 0;                                                   \
        for (int i = 0; i < n; i++)                                          \
            mask |= (uint64_t)(scores[i] >= least) << i;                     \
        return mask;                                                         \
    }
#endif
DF_SEARCH(df_highest, df_at_least, double, pd)
DF_SEARCH(df_highest_rough, df_at_least_rough, float, ps)

#define DF_CHUNK 64 /* cuts scored at a time */

/* The place of the first of the highest of n scores, at least 1 and at most DF_CHUNK; there is room for a multiple of 8. */
DF_INLINE int df_first_highest(double *scores, int n, double *highest) {
    const int room = (n + 7) & -8;
    for (int i = n; i < room; i++)
        scores[i] = -1.0;
    *highest = df_highest(scores, room);
    return df_lowest_bit(df_at_least(scores, room, *highest));
}

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
        double highest;
        const int i = df_first_highest(scores, length, &highest);
        if (highest > *score) {
            *score = highest;
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
        double highest;
        const int i = df_first_highest(scores, length, &highest);
        if (highest > *score) {
            *score = highest;
            best = begin + i;
        }
    }
    return best;
}

#endif
