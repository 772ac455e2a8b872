/* Ranks of codes among those that occur, by bits (C99 and C++).
 *
 * Each code that occurs has its bit set in `marks`. before[w] is the number of bits set in the words before w;
 * the rank of a code is that of its word, and the bits below its own. Nothing is sorted and no branch
 * depends on the data.
 */
#ifndef DFOREST_RANKS_H
#define DFOREST_RANKS_H

#include <stdint.h>

#if defined(__GNUC__)
#define DF_RANKS_INLINE static inline __attribute__((always_inline))
#define df_count_bits(x) ((uint32_t)__builtin_popcountll(x))
#else
#define DF_RANKS_INLINE static inline
static inline uint32_t df_count_bits(uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full;
    return (uint32_t)((x * 0x0101010101010101ull) >> 56);
}
#endif

/* Fill before[0, n); return the number of all bits. */
DF_RANKS_INLINE uint32_t df_before_loop(const uint64_t *marks, int64_t n, uint32_t *before) {
    uint32_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        before[i] = total;
        total += df_count_bits(marks[i]);
    }
    return total;
}

DF_RANKS_INLINE uint32_t df_rank_of(uint32_t code, const uint64_t *marks, const uint32_t *before) {
    return before[code >> 6] + df_count_bits(marks[code >> 6] & (((uint64_t)1 << (code & 63)) - 1));
}

/* The ranks of n codes. OUT ranks: [n]; code_of: by rank */
DF_RANKS_INLINE void df_ranks_loop(const uint32_t *codes, int64_t n, const uint64_t *marks, const uint32_t *before,
                                   uint16_t *ranks, uint32_t *code_of) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t rank = df_rank_of(codes[i], marks, before);
        ranks[i] = (uint16_t)rank;
        code_of[rank] = codes[i];
    }
}

/* Add the words of n codes up by rank. INOUT sums: by rank; OUT code_of: by rank */
DF_RANKS_INLINE void df_rank_sums_loop(const uint32_t *codes, const uint64_t *words, int64_t n, const uint64_t *marks,
                                       const uint32_t *before, uint64_t *sums, uint32_t *code_of) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t rank = df_rank_of(codes[i], marks, before);
        sums[rank] += words[i];
        code_of[rank] = codes[i];
    }
}

typedef struct {
    uint32_t (*before)(const uint64_t *marks, int64_t n, uint32_t *before);
    void (*ranks)(const uint32_t *codes, int64_t n, const uint64_t *marks, const uint32_t *before, uint16_t *ranks,
                  uint32_t *code_of);
    void (*sums)(const uint32_t *codes, const uint64_t *words, int64_t n, const uint64_t *marks, const uint32_t *before,
                 uint64_t *sums, uint32_t *code_of);
} df_ranking;

#define DF_RANKING_KERNELS(name, attribute)                                                                               \
    attribute static uint32_t df_before_##name(const uint64_t *marks, int64_t n, uint32_t *before) {                      \
        return df_before_loop(marks, n, before);                                                                          \
    }                                                                                                                     \
    attribute static void df_ranks_##name(const uint32_t *codes, int64_t n, const uint64_t *marks, const uint32_t *before, \
                                          uint16_t *ranks, uint32_t *code_of) {                                           \
        df_ranks_loop(codes, n, marks, before, ranks, code_of);                                                           \
    }                                                                                                                     \
    attribute static void df_rank_sums_##name(const uint32_t *codes, const uint64_t *words, int64_t n,                    \
                                              const uint64_t *marks, const uint32_t *before, uint64_t *sums,              \
                                              uint32_t *code_of) {                                                        \
        df_rank_sums_loop(codes, words, n, marks, before, sums, code_of);                                                 \
    }                                                                                                                     \
    static const df_ranking df_ranking_##name = {df_before_##name, df_ranks_##name, df_rank_sums_##name};

#define DF_RANKING_NO_ATTRIBUTE
DF_RANKING_KERNELS(portable, DF_RANKING_NO_ATTRIBUTE)

#if defined(__GNUC__) && defined(__x86_64__)
DF_RANKING_KERNELS(popcnt, __attribute__((target("popcnt,bmi2"))))
static inline const df_ranking *df_best_ranking(void) {
    return __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2") ? &df_ranking_popcnt : &df_ranking_portable;
}
#else
static inline const df_ranking *df_best_ranking(void) { return &df_ranking_portable; }
#endif

#endif
