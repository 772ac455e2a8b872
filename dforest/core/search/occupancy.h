/* Ranks of codes among those that occur, by bits (C99 and C++).
 *
 * Each code that occurs has its bit set in `occupancy`, words of 64 bits. before[w] is the number of bits set in the words
 * before w. The rank of a code is before[w] of the word that has its bit, plus the number of bits set below its own bit in
 * that word. Where the codes 3, 5 and 70 occur, before is 0, 2, and the rank of 70, bit 6 of word 1, is 2 + 0. Nothing is
 * sorted, and no branch depends on the data.
 */
#ifndef DFOREST_OCCUPANCY_H
#define DFOREST_OCCUPANCY_H

#include "core/search/scan.h"

#if defined(__GNUC__)
#define df_count_bits(x) ((uint32_t)__builtin_popcountll(x))
#else
static inline uint32_t df_count_bits(uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full;
    return (uint32_t)((x * 0x0101010101010101ull) >> 56);
}
#endif

/* Return the number of bits set in n words. OUT before : [n] */
DF_INLINE uint32_t df_before_loop(const uint64_t *occupancy, int64_t n, uint32_t *before) {
    uint32_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        before[i] = total;
        total += df_count_bits(occupancy[i]);
    }
    return total;
}

DF_INLINE uint32_t df_rank_of(uint32_t code, const uint64_t *occupancy, const uint32_t *before) {
    return before[code >> 6] + df_count_bits(occupancy[code >> 6] & (((uint64_t)1 << (code & 63)) - 1));
}

/* Rank n codes. OUT ranks : [n]; code_of : [number of ranks] the code of each rank */
DF_INLINE void df_ranks_loop(const uint32_t *codes, int64_t n, const uint64_t *occupancy, const uint32_t *before,
                                   uint16_t *ranks, uint32_t *code_of) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t rank = df_rank_of(codes[i], occupancy, before);
        ranks[i] = (uint16_t)rank;
        code_of[rank] = codes[i];
    }
}

/* Add the words of n codes up by the codes' ranks. INOUT sums : [number of ranks]; OUT code_of : [number of ranks] */
DF_INLINE void df_rank_sums_loop(const uint32_t *codes, const uint64_t *words, int64_t n, const uint64_t *occupancy,
                                       const uint32_t *before, uint64_t *sums, uint32_t *code_of) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t rank = df_rank_of(codes[i], occupancy, before);
        sums[rank] += words[i];
        code_of[rank] = codes[i];
    }
}

#endif
