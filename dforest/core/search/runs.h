/* Records as packed words (packed_sums.pxd), and words counted by code as sums up to each code (C99 and C++). */
#ifndef DFOREST_RUNS_H
#define DFOREST_RUNS_H

#include "core/search/scan.h"
#include "rules/records.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define DF_PACKED 64 /* records at a time, so that they are in a cache for all loops over them */

/* Rows of n records, their words of two to eight classes, with `bits` for each class, and, if slot is not NULL, how often they
 * were drawn in the high half of 32 bits and their class exclusive-or `flip` in the low one. Returns the largest count. */
DF_INLINE uint32_t df_pack_classes_loop(const df_record *records, int64_t n, int bits, uint32_t flip, uint32_t *row,
                                        uint64_t *word, uint32_t *slot) {
    uint32_t most = 0;
    for (int64_t begin = 0; begin < n; begin += DF_PACKED) {
        const int64_t end = n - begin < DF_PACKED ? n : begin + DF_PACKED;
        for (int64_t i = begin; i < end; i++)
            row[i] = records[i].row;
        for (int64_t i = begin; i < end; i++)
            most = records[i].count > most ? records[i].count : most;
        for (int64_t i = begin; i < end; i++)
            word[i] = (uint64_t)records[i].count << (bits * records[i].target);
        if (slot)
            for (int64_t i = begin; i < end; i++)
                slot[i] = records[i].count << 16 | ((uint32_t)records[i].target ^ flip);
    }
    return most;
}

/* Rows of n records, and their words of sums. Returns the largest count. */
DF_INLINE uint32_t df_pack_sums_loop(const df_record *records, int64_t n, uint32_t *row, uint64_t *word) {
    uint32_t most = 0;
    for (int64_t begin = 0; begin < n; begin += DF_PACKED) {
        const int64_t end = n - begin < DF_PACKED ? n : begin + DF_PACKED;
        for (int64_t i = begin; i < end; i++)
            row[i] = records[i].row;
        for (int64_t i = begin; i < end; i++)
            most = records[i].count > most ? records[i].count : most;
        for (int64_t i = begin; i < end; i++) /* as df_pack_sum; the target's sign turned is target + 2^31 */
            word[i] = ((uint64_t)records[i].count << DF_SUM_BITS)
                      + (uint64_t)records[i].count * ((uint32_t)records[i].target ^ 0x80000000u);
    }
    return most;
}

/* The sums up to each code that occurs, whose counter is not 0, and these codes, which are `first` and those that follow. The
 * counters become 0. Returns how many codes occur; there is room for one more. No branches: a code that does not occur is
 * written over. */
DF_INLINE int64_t df_run_words_from(uint64_t sum, uint32_t first, uint64_t *counters, int64_t n, uint64_t *run,
                                    uint32_t *codes) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t word = counters[i];
        counters[i] = 0;
        sum += word;
        run[kept] = sum;
        codes[kept] = first + (uint32_t)i;
        kept += word != 0;
    }
    return kept;
}

#if defined(__AVX512F__)
/* Eight counters at a time; the sums of those that occur are brought together, and written. */
static inline int64_t df_run_words_loop(uint64_t *counters, int64_t n, uint64_t *run, uint32_t *codes) {
    const __m512i zero = _mm512_setzero_si512();
    __m512i before = zero;
    __m256i code = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int64_t i = 0, kept = 0;
    for (; i + 8 <= n; i += 8) {
        __m512i sum = _mm512_loadu_si512(counters + i);
        const __mmask8 occurs = _mm512_test_epi64_mask(sum, sum);
        _mm512_storeu_si512(counters + i, zero);
        sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 7));
        sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 6));
        sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 4));
        sum = _mm512_add_epi64(sum, before);
        before = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), sum);
        const int here = __builtin_popcount(occurs);
        const __mmask8 kept_here = (__mmask8)((1u << here) - 1);
        _mm512_mask_storeu_epi64(run + kept, kept_here, _mm512_maskz_compress_epi64(occurs, sum));
        _mm256_mask_storeu_epi32(codes + kept, kept_here, _mm256_maskz_compress_epi32(occurs, code));
        code = _mm256_add_epi32(code, _mm256_set1_epi32(8));
        kept += here;
    }
    return kept + df_run_words_from((uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(before)), (uint32_t)i, counters + i, n - i,
                                    run + kept, codes + kept);
}
#else
static inline int64_t df_run_words_loop(uint64_t *counters, int64_t n, uint64_t *run, uint32_t *codes) {
    return df_run_words_from(0, 0, counters, n, run, codes);
}
#endif

#endif
