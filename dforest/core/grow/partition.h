/* The loops of records.pyx: which of some records go left, and both sides' records brought together (C99 and C++).
 *
 * Records are divided 64 at a time, by a *mask* that has a bit for each: 1, if it goes left.
 */
#ifndef DFOREST_PARTITION_H
#define DFOREST_PARTITION_H

#include <stdint.h>
#include <string.h>

#include "core/search/scan.h"
#include "core/search/sums.h"
#include "rules/records.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define DF_MASKED 64 /* records at a time */

/* Which of DF_MASKED codes are at most `cut`, or are `also`. */
#if defined(__SSE2__)
DF_INLINE uint64_t df_mask_of_bytes(const uint8_t *codes, uint8_t cut, uint8_t also) {
    const __m128i highest = _mm_set1_epi8((char)cut), other = _mm_set1_epi8((char)also);
    uint64_t mask = 0;
    for (int i = 0; i < DF_MASKED; i += 16) {
        const __m128i code = _mm_loadu_si128((const __m128i *)(codes + i));
        const __m128i left = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(code, highest), code), _mm_cmpeq_epi8(code, other));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(left) << i;
    }
    return mask;
}
#else
DF_INLINE uint64_t df_mask_of_bytes(const uint8_t *codes, uint8_t cut, uint8_t also) {
    uint64_t mask = 0;
    for (int i = 0; i < DF_MASKED; i++)
        mask |= (uint64_t)((codes[i] <= cut) | (codes[i] == also)) << i;
    return mask;
}
#endif

/* Add up a record's draws of weight 1 if it goes left. Counts of several records are added by words of 64 bits that wrap. */
DF_INLINE void df_add_left(df_sums_kind kind, const df_record *record, uint64_t goes_left, uint64_t *left) {
    const uint64_t taken = 0 - goes_left, count = record->count & taken;
    if (kind == DF_BINARY_SUMS) {
        left[0] += count << (32 * record->target);
    } else if (kind == DF_CLASS_COUNTER_SUMS) {
        const uint64_t word = count << (16 * (record->target & 3)), is_above = 0 - (uint64_t)(record->target >> 2);
        left[0] += word & ~is_above;
        left[1] += word & is_above;
    } else if (kind == DF_NUMBER_SUMS) {
        left[0] += count;
        left[1] += count * (uint64_t)(int64_t)record->target;
    }
}

/* Move n <= DF_MASKED records to either side: those that go left to `to_left`, which may be where they are or before, the others
 * to `to_right`; return how many go left. There is room for n on both sides. INOUT left : [2] sums of the left side */
DF_INLINE int df_divide_loop(const df_record *records, int n, uint64_t mask, df_sums_kind kind, df_record *to_left,
                             df_record *to_right, uint64_t *left) {
    uint64_t sums[2] = {left[0], left[1]}; /* in registers */
    int n_left = 0, n_right = 0;
    for (int i = 0; i < n; i++) {
        const uint64_t goes_left = mask >> i & 1;
        df_add_left(kind, records + i, goes_left, sums);
        memcpy(to_right + n_right, records + i, sizeof(df_record));
        memmove(to_left + n_left, records + i, sizeof(df_record));
        n_left += (int)goes_left;
        n_right += 1 - (int)goes_left;
    }
    left[0] = sums[0];
    left[1] = sums[1];
    return n_left;
}

#if defined(__AVX512F__)
/* Four records at a time, of two halves each: those that go left come first in one vector, the others in another one, and both
 * are written whole, what is too much to be overwritten next. Of records a, b, c, d, of which b and d go left, halves 2, 3, 6
 * and 7 are the first ones on the left. */
DF_INLINE int df_divide_some(const df_record *records, int n, uint64_t mask, df_sums_kind kind, df_record *to_left,
                             df_record *to_right, uint64_t *left) {
    /* By four bits of the mask: the halves of their records, a byte for each, the first ones lowest. */
    static const uint64_t halves[16] = {0x0,        0x0100,     0x0302,         0x03020100, 0x0504,         0x05040100,
                                        0x05040302, 0x050403020100, 0x0706,     0x07060100, 0x07060302,     0x070603020100,
                                        0x07060504, 0x070605040100, 0x070605040302, 0x0706050403020100};
    __m512i first = _mm512_setzero_si512(), second = first;
    int n_left = 0, n_right = 0, i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint32_t goes_left = (uint32_t)(mask >> i) & 15;
        const __m512i four = _mm512_loadu_si512(records + i);
        const __m512i l = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)&halves[goes_left]));
        const __m512i r = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)&halves[goes_left ^ 15]));
        if (kind != DF_NO_SUMS) { /* in the lower halves, where a record's row is */
            const __mmask8 taken = (__mmask8)_pdep_u32(goes_left, 0x55);
            const __m512i count = _mm512_srli_epi64(four, 32), target = _mm512_shuffle_epi32(four, (_MM_PERM_ENUM)0x32);
            if (kind == DF_BINARY_SUMS) {
                const __m512i shift = _mm512_and_si512(_mm512_slli_epi64(target, 5), _mm512_set1_epi64(32));
                first = _mm512_mask_add_epi64(first, taken, first, _mm512_sllv_epi64(count, shift));
            } else if (kind == DF_CLASS_COUNTER_SUMS) {
                const __m512i shift = _mm512_and_si512(_mm512_slli_epi64(target, 4), _mm512_set1_epi64(48));
                const __mmask8 above = _mm512_test_epi64_mask(target, _mm512_set1_epi64(4));
                const __m512i word = _mm512_sllv_epi64(count, shift);
                first = _mm512_mask_add_epi64(first, taken & (__mmask8)~above, first, word);
                second = _mm512_mask_add_epi64(second, taken & above, second, word);
            } else { /* target + 2^31 has no sign */
                const __m512i raised = _mm512_xor_si512(target, _mm512_set1_epi64((int64_t)1 << 31));
                first = _mm512_mask_add_epi64(first, taken, first, count);
                second = _mm512_mask_add_epi64(second, taken, second, _mm512_mul_epu32(count, raised));
            }
        }
        _mm512_storeu_si512(to_right + n_right, _mm512_permutexvar_epi64(r, four));
        _mm512_storeu_si512(to_left + n_left, _mm512_permutexvar_epi64(l, four));
        const int here = __builtin_popcount(goes_left);
        n_left += here;
        n_right += 4 - here;
    }
    if (kind != DF_NO_SUMS) {
        const uint64_t added = (uint64_t)_mm512_reduce_add_epi64(first);
        left[0] += added;
        left[1] += (uint64_t)_mm512_reduce_add_epi64(second) - (kind == DF_NUMBER_SUMS ? added << 31 : 0);
    }
    return n_left + df_divide_loop(records + i, n - i, mask >> (i & 63), kind, to_left + n_left, to_right + n_right, left);
}
#else
#define df_divide_some df_divide_loop
#endif

/* Move records to either side, as `df_divide_loop` does, for each kind by itself. */
static inline int df_divide_records(const df_record *records, int n, uint64_t mask, df_sums_kind kind, df_record *to_left,
                                    df_record *to_right, uint64_t *left) {
    switch (kind) {
    case DF_BINARY_SUMS:
        return df_divide_some(records, n, mask, DF_BINARY_SUMS, to_left, to_right, left);
    case DF_CLASS_COUNTER_SUMS:
        return df_divide_some(records, n, mask, DF_CLASS_COUNTER_SUMS, to_left, to_right, left);
    case DF_NUMBER_SUMS:
        return df_divide_some(records, n, mask, DF_NUMBER_SUMS, to_left, to_right, left);
    default:
        return df_divide_some(records, n, mask, DF_NO_SUMS, to_left, to_right, left);
    }
}

#endif
