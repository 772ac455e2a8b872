/* Numbers of the records of a small node side by side, in lanes (C99 and C++): what small_best.h is made of.
 *
 * There are 32 lanes, in *groups* of 8, 16 or 32, the *room* of a node, so that a node of at most 8 records has four features side
 * by side, and one of at most 16 has two. A node of more than 32 records has a room of 64, and as many lanes, all for one feature.
 * In each group, lane i is for the node's i-th record. Of three records, whose codes of two features are 7, 5, 9 and 2, 2, 4, and
 * with a room of 4 instead,
 *
 *     codes            7 5 9 . | 2 2 4 .
 *     counts           1 3 1               of the records, in the order of the node
 *     left sides       4 3 5 . | 4 4 5 .   draws whose code is at most that of the lane
 *
 * The cut of a lane is the one after its code. Lanes without a record, and groups without a feature, have left sides of nothing.
 *
 * There is a way by vectors of 32 bytes, a way by loops for compilers without these, and, for words of 64 bits, one by masks.
 * Nothing here owns memory. */
#ifndef DFOREST_SMALL_LANES_H
#define DFOREST_SMALL_LANES_H

#include <stdint.h>
#include <string.h>

#include "core/row_codes.h"
#include "core/search/unordered.h"

enum {
    DF_SMALL_LANES = 64, /* most lanes */
    DF_VECTOR_LANES = 32 /* of a vector of 32 bytes */
};

/* How many lanes there are. */
DF_INLINE int df_lanes_of(int room) { return room > DF_VECTOR_LANES ? DF_SMALL_LANES : DF_VECTOR_LANES; }

/* A word with as many low bits set. n : 1 to 64 */
DF_INLINE uint64_t df_bits_of(int n) { return ~(uint64_t)0 >> (64 - n); }

/* Which lanes are those of n records and of the first groups: a bit each. */
DF_INLINE uint64_t df_lane_in_use(int n, int room, int n_groups) {
    const uint64_t of_group = df_bits_of(n);
    const uint64_t all = room == 8 ? of_group * 0x01010101u : room == 16 ? of_group * 0x00010001u : of_group;
    return all & df_bits_of(n_groups * room);
}

#if defined(__AVX2__)
/* The bytes of a row of 32 whose numbers are in `order`, 16 of them. */
DF_INLINE __m128i df_lane_take_low16(const uint8_t *row, __m128i order) {
    const __m128i low = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)row), order);
    const __m128i high = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(row + 16)), order);
    return _mm_blendv_epi8(low, high, _mm_slli_epi16(order, 3)); /* bit 4 of a number tells which half has it */
}

DF_INLINE __m256i df_lane_take_low32(const uint8_t *row, __m256i order) {
    const __m256i low = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)row)), order);
    const __m256i high = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(row + 16))), order);
    return _mm256_blendv_epi8(low, high, _mm256_slli_epi16(order, 3));
}

/* The bytes of a row whose numbers are in `order`. is_long : the row has 64 bytes, not 32 */
DF_INLINE __m128i df_lane_take16(const uint8_t *row, int is_long, __m128i order) {
    const __m128i low = df_lane_take_low16(row, order);
    return is_long ? _mm_blendv_epi8(low, df_lane_take_low16(row + 32, order), _mm_slli_epi16(order, 2)) : low;
}

DF_INLINE __m256i df_lane_take32(const uint8_t *row, int is_long, __m256i order) {
    const __m256i low = df_lane_take_low32(row, order);
    return is_long ? _mm256_blendv_epi8(low, df_lane_take_low32(row + 32, order), _mm256_slli_epi16(order, 2)) : low;
}

DF_INLINE __m256i df_lane_load(const uint8_t *lanes) { return _mm256_loadu_si256((const __m256i *)lanes); }

DF_INLINE void df_lane_store(uint8_t *lanes, __m256i x) { _mm256_storeu_si256((__m256i *)lanes, x); }

/* At once: what is written in halves and read as a whole would wait. */
DF_INLINE void df_lane_store_halves(uint8_t *lanes, __m128i low, __m128i high) {
    df_lane_store(lanes, _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
}

/* The code of the j-th record in all lanes of its group. `at` : codes, in memory */
DF_INLINE __m256i df_lane_of_record(__m256i codes, const uint8_t *at, int j, int room) {
    if (room >= DF_VECTOR_LANES)
        return _mm256_set1_epi8((char)at[j]);
    if (room == 16)
        return _mm256_shuffle_epi8(codes, _mm256_set1_epi8((char)j));
    return _mm256_shuffle_epi8(codes, _mm256_or_si256(_mm256_set1_epi8((char)j),
                                                      _mm256_setr_epi64x(0, 0x0808080808080808, 0, 0x0808080808080808)));
}

/* Which lanes have at least some code: all bits of a byte, or none. */
DF_INLINE __m256i df_lane_from(__m256i codes, __m256i least) { return _mm256_cmpeq_epi8(_mm256_max_epu8(codes, least), codes); }

/* Add a number to those lanes whose code is at least some code. */
DF_INLINE __m256i df_lane_add_from(__m256i sum, __m256i codes, __m256i least, uint8_t added) {
#if defined(__AVX512BW__)
    return _mm256_mask_add_epi8(sum, _mm256_cmpge_epu8_mask(codes, least), sum, _mm256_set1_epi8((char)added));
#else
    return _mm256_add_epi8(sum, _mm256_and_si256(df_lane_from(codes, least), _mm256_set1_epi8((char)added)));
#endif
}

/* The lanes that bits stand for: all bits of a byte, or none. */
DF_INLINE __m256i df_lane_of_bits(uint32_t bits) {
    const __m256i which = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i byte = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), which);
    const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201u);
    return _mm256_cmpeq_epi8(_mm256_and_si256(byte, bit), bit);
}
#endif

/* For each record of a node, in a room of 8 records or for n of them: rounds of equal number are foreseen. */
#define DF_EACH_RECORD(j, n, room) for (int j = 0; j < ((room) == 8 ? 8 : (n)); j++)

/* Bytes of a node's records, in its order, one behind the other. IN row : by record; is_long : there are more than 32 records in
 * the subtree; order : [DF_SMALL_LANES], of which n count; OUT lanes : as many as there are, 0 beyond n */
DF_INLINE void df_lane_of_run(const uint8_t *row, int is_long, const uint8_t *order, int n, int room, uint8_t *lanes) {
    for (int begin = 0; begin < df_lanes_of(room); begin += DF_VECTOR_LANES) {
#if defined(__AVX2__)
        const __m256i x = df_lane_take32(row, is_long, df_lane_load(order + begin));
        df_lane_store(lanes + begin, _mm256_and_si256(x, df_lane_of_bits((uint32_t)(df_bits_of(n) >> begin))));
#else
        for (int i = begin; i < begin + DF_VECTOR_LANES; i++)
            lanes[i] = i < n ? row[order[i]] : 0;
#endif
    }
}

/* Codes of a node's records in some features. IN rows : [groups] codes by record; is_long, order : as above. OUT codes : lanes
 * beyond n have any code */
DF_INLINE void df_lane_take(const uint8_t *const *rows, int is_long, const uint8_t *order, int room, uint8_t *codes) {
#if defined(__AVX2__)
    const __m256i all = df_lane_load(order);
    const __m128i half = _mm256_castsi256_si128(all);
    if (room >= DF_VECTOR_LANES) {
        df_lane_store(codes, df_lane_take32(rows[0], is_long, all));
        if (room > DF_VECTOR_LANES)
            df_lane_store(codes + DF_VECTOR_LANES, df_lane_take32(rows[0], is_long, df_lane_load(order + DF_VECTOR_LANES)));
    } else if (room == 16)
        df_lane_store_halves(codes, df_lane_take16(rows[0], is_long, half), df_lane_take16(rows[1], is_long, half));
    else {
        const __m128i a = df_lane_take16(rows[0], is_long, half), b = df_lane_take16(rows[1], is_long, half);
        const __m128i c = df_lane_take16(rows[2], is_long, half), d = df_lane_take16(rows[3], is_long, half);
        df_lane_store_halves(codes, _mm_unpacklo_epi64(a, b), _mm_unpacklo_epi64(c, d));
    }
#else
    for (int i = 0; i < df_lanes_of(room); i++)
        codes[i] = rows[i / room][order[i % room] % (is_long ? DF_SMALL_LANES : DF_VECTOR_LANES)];
#endif
}

#if !defined(__AVX2__)
/* For each record j of n, and each lane i: all bits of `side` if the code of j is at most that of the lane, else none. Compilers
 * have to see that nothing else is at the places of `own` and of sums: these are local. */
#define DF_EACH_SIDE(type, side, sum)                              \
    for (int j = 0; j < n; j++) {                                  \
        uint8_t least[DF_SMALL_LANES];                                   \
        for (int g = 0; g < df_lanes_of(room); g += room)                \
            memset(least + g, own[g + j], (size_t)room);           \
        for (int i = 0; i < df_lanes_of(room); i++) {                    \
            const type side = (type)(0 - (type)(own[i] >= least[i])); \
            sum;                                                   \
        }                                                          \
    }

/* Clear the lanes that are not in use. */
#define DF_CLEAR_OTHERS(lefts)         \
    for (int i = 0; i < df_lanes_of(room); i++) \
        lefts[i] = lanes >> i & 1 ? lefts[i] : 0;
#endif

/* Left sides of two classes. IN first, count : [DF_SMALL_LANES] in the order of the node, draws of class 0 and of both, 0 beyond n.
 * OUT firsts, lefts : the sums of these */
DF_INLINE void df_lane_add_binary(const uint8_t *codes, uint64_t lanes, int n, int room, const uint8_t *first,
                                  const uint8_t *count, uint8_t *firsts, uint8_t *lefts) {
#if defined(__AVX2__)
    for (int begin = 0; begin < df_lanes_of(room); begin += DF_VECTOR_LANES) {
        const __m256i own = df_lane_load(codes + begin), in_use = df_lane_of_bits((uint32_t)(lanes >> begin));
        __m256i a = _mm256_setzero_si256(), b = a;
        DF_EACH_RECORD(j, n, room) {
            const __m256i least = df_lane_of_record(own, codes, j, room);
            a = df_lane_add_from(a, own, least, first[j]);
            b = df_lane_add_from(b, own, least, count[j]);
        }
        df_lane_store(firsts + begin, a);
        df_lane_store(lefts + begin, _mm256_and_si256(b, in_use));
    }
#else
    uint8_t own[DF_SMALL_LANES], a[DF_SMALL_LANES] = {0}, b[DF_SMALL_LANES] = {0};
    memcpy(own, codes, (size_t)df_lanes_of(room));
    DF_EACH_SIDE(uint8_t, side, a[i] = (uint8_t)(a[i] + (first[j] & side)); b[i] = (uint8_t)(b[i] + (count[j] & side)))
    DF_CLEAR_OTHERS(b)
    memcpy(firsts, a, (size_t)df_lanes_of(room));
    memcpy(lefts, b, (size_t)df_lanes_of(room));
#endif
}

/* Left sides of some classes. IN class_of, count : [DF_SMALL_LANES] in the order of the node, count is 0 beyond n. OUT of_class :
 * [n_classes] sums of the counts; lefts : those of all classes */
DF_INLINE void df_lane_add_classes(const uint8_t *codes, uint64_t lanes, int n, int room, const uint8_t *class_of,
                                    const uint8_t *count, int n_classes, uint8_t (*of_class)[DF_SMALL_LANES], uint8_t *lefts) {
#if defined(__AVX2__)
    for (int begin = 0; begin < df_lanes_of(room); begin += DF_VECTOR_LANES) {
        const __m256i own = df_lane_load(codes + begin), in_use = df_lane_of_bits((uint32_t)(lanes >> begin));
        uint8_t sums[2][DF_UNORDERED_CLASSES][DF_VECTOR_LANES]; /* in turns: records of one class need not wait for each other */
        __m256i all = _mm256_setzero_si256();
        for (int k = 0; k < n_classes; k++) {
            df_lane_store(sums[0][k], all);
            df_lane_store(sums[1][k], all);
        }
        DF_EACH_RECORD(j, n, room) {
            uint8_t *to = sums[j & 1][class_of[j]];
            df_lane_store(to, df_lane_add_from(df_lane_load(to), own, df_lane_of_record(own, codes, j, room), count[j]));
        }
        for (int k = 0; k < n_classes; k++) {
            const __m256i sum = _mm256_add_epi8(df_lane_load(sums[0][k]), df_lane_load(sums[1][k]));
            df_lane_store(of_class[k] + begin, sum);
            all = _mm256_add_epi8(all, sum);
        }
        df_lane_store(lefts + begin, _mm256_and_si256(all, in_use));
    }
#else
    uint8_t own[DF_SMALL_LANES], sums[DF_UNORDERED_CLASSES][DF_SMALL_LANES], all[DF_SMALL_LANES] = {0};
    memcpy(own, codes, (size_t)df_lanes_of(room));
    memset(sums, 0, sizeof(sums));
    DF_EACH_SIDE(uint8_t, side, sums[class_of[j]][i] = (uint8_t)(sums[class_of[j]][i] + (count[j] & side));
                 all[i] = (uint8_t)(all[i] + (count[j] & side)))
    DF_CLEAR_OTHERS(all)
    memcpy(of_class, sums, (size_t)n_classes * DF_SMALL_LANES);
    memcpy(lefts, all, (size_t)df_lanes_of(room));
#endif
}

/* Left sides of words. IN word : [DF_SMALL_LANES] in the order of the node, 0 beyond n; OUT sums */
DF_INLINE void df_lane_add_words(const uint8_t *codes, uint64_t lanes, int n, int room, const uint64_t *word, uint64_t *sums) {
#if defined(__AVX512BW__)
    for (int begin = 0; begin < df_lanes_of(room); begin += DF_VECTOR_LANES) {
        const __m256i own = df_lane_load(codes + begin);
        const uint64_t in_use = lanes >> begin;
        __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
        DF_EACH_RECORD(j, n, room) {
            const __mmask32 is_left = _mm256_cmpge_epu8_mask(own, df_lane_of_record(own, codes, j, room));
            const __m512i added = _mm512_set1_epi64((int64_t)word[j]);
            a = _mm512_mask_add_epi64(a, (__mmask8)is_left, a, added);
            b = _mm512_mask_add_epi64(b, (__mmask8)(is_left >> 8), b, added);
            c = _mm512_mask_add_epi64(c, (__mmask8)(is_left >> 16), c, added);
            d = _mm512_mask_add_epi64(d, (__mmask8)(is_left >> 24), d, added);
        }
        _mm512_storeu_si512(sums + begin, _mm512_maskz_mov_epi64((__mmask8)in_use, a));
        _mm512_storeu_si512(sums + begin + 8, _mm512_maskz_mov_epi64((__mmask8)(in_use >> 8), b));
        _mm512_storeu_si512(sums + begin + 16, _mm512_maskz_mov_epi64((__mmask8)(in_use >> 16), c));
        _mm512_storeu_si512(sums + begin + 24, _mm512_maskz_mov_epi64((__mmask8)(in_use >> 24), d));
    }
#elif defined(__AVX2__)
    for (int begin = 0; begin < df_lanes_of(room); begin += 16) { /* as many sums as there are registers for */
        const int whole = begin & -DF_VECTOR_LANES;
        const __m256i own = df_lane_load(codes + whole), in_use = df_lane_of_bits((uint32_t)(lanes >> whole));
        __m256i sum[4];
        for (int q = 0; q < 4; q++)
            sum[q] = _mm256_setzero_si256();
        DF_EACH_RECORD(j, lanes >> begin ? n : 0, lanes >> begin ? room : DF_VECTOR_LANES) {
            uint8_t bytes[DF_VECTOR_LANES];
            const __m256i added = _mm256_set1_epi64x((int64_t)word[j]);
            df_lane_store(bytes, _mm256_and_si256(in_use, df_lane_from(own, df_lane_of_record(own, codes, j, room))));
            for (int q = 0; q < 4; q++) {
                int32_t four;
                memcpy(&four, bytes + (begin - whole) + 4 * q, 4);
                sum[q] = _mm256_add_epi64(sum[q], _mm256_and_si256(added, _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four))));
            }
        }
        for (int q = 0; q < 4; q++)
            _mm256_storeu_si256((__m256i *)(sums + begin + 4 * q), sum[q]);
    }
#else
    uint64_t all[DF_SMALL_LANES] = {0};
    uint8_t own[DF_SMALL_LANES];
    memcpy(own, codes, (size_t)df_lanes_of(room));
    DF_EACH_SIDE(uint64_t, side, all[i] += word[j] & side)
    DF_CLEAR_OTHERS(all)
    memcpy(sums, all, (size_t)df_lanes_of(room) * sizeof(uint64_t));
#endif
}

/* Which scores of lanes are at least some number: a bit each. */
DF_INLINE uint64_t df_lane_at_least(const float *scores, int room, float least) {
#if defined(__AVX512F__)
    const __m512 limit = _mm512_set1_ps(least);
    uint64_t bits = 0;
    for (int i = 0; i < df_lanes_of(room); i += 16)
        bits |= (uint64_t)_mm512_cmp_ps_mask(_mm512_loadu_ps(scores + i), limit, _CMP_GE_OQ) << i;
    return bits;
#else
    return df_at_least_rough(scores, df_lanes_of(room), least);
#endif
}

/* Which lanes have a code of at most some number: a bit each. */
DF_INLINE uint64_t df_lane_up_to(const uint8_t *codes, int room, uint8_t most) {
    uint64_t bits = 0;
#if defined(__AVX2__)
    for (int i = 0; i < df_lanes_of(room); i += DF_VECTOR_LANES)
        bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(df_lane_from(_mm256_set1_epi8((char)most), df_lane_load(codes + i))) << i;
#else
    for (int i = 0; i < df_lanes_of(room); i++)
        bits |= (uint64_t)(codes[i] <= most) << i;
#endif
    return bits;
}

/* Which lanes have a code: a bit each. */
DF_INLINE uint64_t df_lane_equal(const uint8_t *codes, int room, uint8_t code) {
    uint64_t bits = 0;
#if defined(__AVX2__)
    for (int i = 0; i < df_lanes_of(room); i += DF_VECTOR_LANES)
        bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(df_lane_load(codes + i), _mm256_set1_epi8((char)code)))
                << i;
#else
    for (int i = 0; i < df_lanes_of(room); i++)
        bits |= (uint64_t)(codes[i] == code) << i;
#endif
    return bits;
}

/* The least code of some lanes, which are bits; 255 if there are none. */
DF_INLINE uint8_t df_lane_least(const uint8_t *codes, int room, uint64_t lanes) {
#if defined(__AVX2__)
    __m256i all = _mm256_set1_epi8(-1);
    __m128i x;
    for (int i = 0; i < df_lanes_of(room); i += DF_VECTOR_LANES) {
        const __m256i left_out = _mm256_cmpeq_epi8(df_lane_of_bits((uint32_t)(lanes >> i)), _mm256_setzero_si256());
        all = _mm256_min_epu8(all, _mm256_or_si256(df_lane_load(codes + i), left_out));
    }
    x = _mm_min_epu8(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    x = _mm_min_epu8(x, _mm_srli_epi16(x, 8));
    return (uint8_t)_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_and_si128(x, _mm_set1_epi16(255))));
#else
    uint8_t least = 255;
    for (int i = 0; i < df_lanes_of(room); i++)
        least = lanes >> i & 1 && codes[i] < least ? codes[i] : least;
    return least;
#endif
}

/* In which of 64 bytes some of n records, of two or more, differ: a bit each. IN records : [., 64]; run : [n] their numbers */
DF_INLINE uint64_t df_differing_bytes(const uint8_t (*records)[64], const uint8_t *run, int n) {
#if defined(__AVX2__)
    const __m256i first_low = df_lane_load(records[run[0]]), first_high = df_lane_load(records[run[0]] + DF_VECTOR_LANES);
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = zero, high = zero;
    for (int i = 1; i < n; i++) {
        const uint8_t *other = records[run[i]];
        low = _mm256_or_si256(low, _mm256_xor_si256(first_low, df_lane_load(other)));
        high = _mm256_or_si256(high, _mm256_xor_si256(first_high, df_lane_load(other + DF_VECTOR_LANES)));
    }
    return ~((uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, zero)) << 32 |
             (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, zero)));
#else
    uint64_t first[8], all[8] = {0}, other[8], bits = 0;
    memcpy(first, records[run[0]], sizeof(first));
    for (int i = 1; i < n; i++) {
        memcpy(other, records[run[i]], sizeof(other));
        for (int k = 0; k < 8; k++)
            all[k] |= first[k] ^ other[k];
    }
    for (int k = 0; k < 8; k++) {
        uint8_t bytes[8];
        memcpy(bytes, &all[k], 8);
        for (int i = 0; i < 8; i++)
            bits |= (uint64_t)(bytes[i] != 0) << (8 * k + i);
    }
    return bits;
#endif
}

#endif
