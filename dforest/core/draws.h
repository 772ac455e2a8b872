/* What a tree draws, many random words at a time (C99 and C++): the results of rules/sampling.h, sooner.
 *
 * The words of a stream are numbered from 0, and any of them follow from their numbers alone. So words are computed some
 * thousand ahead, and looked at without a branch: each that is kept is a draw, and which one of the draws it is does not
 * matter to their counts. As a draw needs one word or more, n draws that are still to come may look at n words at once, and
 * none of these is beyond the last one that they need.
 */
#ifndef DFOREST_DRAWS_H
#define DFOREST_DRAWS_H

#include <string.h>

#include "core/search/scan.h"
#include "rules/random.h"
#include "rules/records.h"
#include "rules/sampling.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum {
    DF_WORDS = 2048,                     /* computed ahead */
    DF_PHILOX_LANES = 16,                       /* blocks of Philox at a time */
    DF_WORD_ROOM = DF_WORDS + 4 * DF_PHILOX_LANES
};

#if defined(__AVX2__)
/* The rounds of four blocks of Philox. Each lane of 64 bits has a word in its low half; its high half may have anything. */
static inline void df_philox_four(uint32_t k0, uint32_t k1, __m256i *a, __m256i *b, __m256i *c, __m256i *d) {
    const __m256i m0 = _mm256_set1_epi64x(0xD2511F53u), m1 = _mm256_set1_epi64x(0xCD9E8D57u);
    for (int round = 0; round < 10; round++) {
        const __m256i p = _mm256_mul_epu32(m0, *a), q = _mm256_mul_epu32(m1, *c);
        *a = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(q, 32), *b), _mm256_set1_epi64x(k0));
        *b = q;
        *c = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p, 32), *d), _mm256_set1_epi64x(k1));
        *d = p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}
#endif

/* Compute blocks of Philox from number `first` on, n of them and up to DF_PHILOX_LANES - 1 more. OUT words : [4 n, rounded up]
 *
 * Compilers don't find the multiplication of 32 bits by 32 in each lane of 64, nor put the words in order by few steps: of the
 * blocks in lanes 0 to 7, `unpack` brings together those of lanes 0, 2, 4 and 6, and of 1, 3, 5 and 7. */
#if defined(__AVX512F__)
static inline void df_compute_words(const df_stream *stream, uint32_t first, int n, uint32_t *words) {
    enum { GROUPS = DF_PHILOX_LANES / 8 }; /* whose steps are independent, so that none waits for another */
    const __m512i m0 = _mm512_set1_epi64(0xD2511F53u), m1 = _mm512_set1_epi64(0xCD9E8D57u);
    for (int done = 0; done < n; done += DF_PHILOX_LANES) {
        __m512i a[GROUPS], b[GROUPS], c[GROUPS], d[GROUPS];
        uint32_t k0 = stream->key[0], k1 = stream->key[1];
        for (int g = 0; g < GROUPS; g++) {
            a[g] = _mm512_add_epi32(_mm512_set1_epi64((uint32_t)(first + (uint32_t)(done + 8 * g))),
                                    _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
            b[g] = _mm512_set1_epi64(stream->counter[1]);
            c[g] = _mm512_set1_epi64(stream->counter[2]);
            d[g] = _mm512_set1_epi64(stream->counter[3]);
        }
        for (int round = 0; round < 10; round++) {
            for (int g = 0; g < GROUPS; g++) {
                const __m512i p = _mm512_mul_epu32(m0, a[g]), q = _mm512_mul_epu32(m1, c[g]);
                a[g] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(q, 32), b[g], _mm512_set1_epi64(k0), 0x96);
                b[g] = q;
                c[g] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p, 32), d[g], _mm512_set1_epi64(k1), 0x96);
                d[g] = p;
            }
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        for (int g = 0; g < GROUPS; g++, words += 32) {
            const __m512i ab = _mm512_mask_blend_epi32(0xAAAA, a[g], _mm512_slli_epi64(b[g], 32));
            const __m512i cd = _mm512_mask_blend_epi32(0xAAAA, c[g], _mm512_slli_epi64(d[g], 32));
            _mm512_storeu_si512(words, _mm512_unpacklo_epi64(ab, cd));
            _mm512_storeu_si512(words + 16, _mm512_unpackhi_epi64(ab, cd));
        }
    }
}
#elif defined(__AVX2__)
static inline void df_compute_words(const df_stream *stream, uint32_t first, int n, uint32_t *words) {
    enum { GROUPS = DF_PHILOX_LANES / 4 };
    __m256i a, b, c, d;
    for (int done = 0; done < GROUPS * ((n + DF_PHILOX_LANES - 1) / DF_PHILOX_LANES); done++, words += 16) {
        a = _mm256_add_epi32(_mm256_set1_epi64x((uint32_t)(first + 4 * (uint32_t)done)), _mm256_setr_epi64x(0, 2, 1, 3));
        b = _mm256_set1_epi64x(stream->counter[1]);
        c = _mm256_set1_epi64x(stream->counter[2]);
        d = _mm256_set1_epi64x(stream->counter[3]);
        df_philox_four(stream->key[0], stream->key[1], &a, &b, &c, &d);
        a = _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA);
        c = _mm256_blend_epi32(c, _mm256_slli_epi64(d, 32), 0xAA);
        _mm256_storeu_si256((__m256i *)words, _mm256_unpacklo_epi64(a, c));
        _mm256_storeu_si256((__m256i *)(words + 8), _mm256_unpackhi_epi64(a, c));
    }
}
#else
static inline void df_compute_words(const df_stream *stream, uint32_t first, int n, uint32_t *words) {
    for (int done = 0; done < n; done += DF_PHILOX_LANES, words += 4 * DF_PHILOX_LANES) {
        uint32_t a[DF_PHILOX_LANES], b[DF_PHILOX_LANES], c[DF_PHILOX_LANES], d[DF_PHILOX_LANES];
        uint32_t k0 = stream->key[0], k1 = stream->key[1];
        for (int i = 0; i < DF_PHILOX_LANES; i++) {
            a[i] = first + (uint32_t)(done + i);
            b[i] = stream->counter[1];
            c[i] = stream->counter[2];
            d[i] = stream->counter[3];
        }
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < DF_PHILOX_LANES; i++) {
                uint64_t p = (uint64_t)0xD2511F53u * a[i], q = (uint64_t)0xCD9E8D57u * c[i];
                a[i] = (uint32_t)(q >> 32) ^ b[i] ^ k0;
                b[i] = (uint32_t)q;
                c[i] = (uint32_t)(p >> 32) ^ d[i] ^ k1;
                d[i] = (uint32_t)p;
            }
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        for (int i = 0; i < DF_PHILOX_LANES; i++) {
            words[4 * i] = a[i];
            words[4 * i + 1] = b[i];
            words[4 * i + 2] = c[i];
            words[4 * i + 3] = d[i];
        }
    }
}
#endif

#if defined(__AVX512F__)
/* As `df_write_records`, sixteen rows at a time: the fields of those drawn are brought together, and four of each make four
 * records. */
static inline int64_t df_write_some_records(int64_t first, int64_t n, const uint32_t *counts, const int32_t *target,
                                            const uint32_t *weight, df_record *out) {
    /* Record 4 i + j of those drawn is the j-th in lane i of the fields, where `unpack` takes it from, and is written as
     * number 4 j + i would be: so that one gets there which should be number 4 i + j. */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    df_record *to = out;
    for (int64_t i = 0; i < n; i += 16) {
        const __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)0xFFFF;
        const __m512i count = counts ? _mm512_maskz_loadu_epi32(there, counts + i) : _mm512_maskz_set1_epi32(there, 1);
        const __mmask16 drawn = _mm512_test_epi32_mask(count, count);
        const __m512i from = _mm512_permutexvar_epi32(order, _mm512_maskz_compress_epi32(drawn, lane));
        const __m512i goal = _mm512_maskz_loadu_epi32(there, target + first + i);
        const __m512i w = weight ? _mm512_maskz_loadu_epi32(there, weight + first + i) : _mm512_set1_epi32(1);
        const __m512i row = _mm512_add_epi32(from, _mm512_set1_epi32((int)(uint32_t)(first + i)));
        const __m512i c = _mm512_permutexvar_epi32(from, count), t = _mm512_permutexvar_epi32(from, goal);
        const __m512i v = _mm512_permutexvar_epi32(from, w);
        const __m512i row_count[2] = {_mm512_unpacklo_epi32(row, c), _mm512_unpackhi_epi32(row, c)};
        const __m512i target_weight[2] = {_mm512_unpacklo_epi32(t, v), _mm512_unpackhi_epi32(t, v)};
        const uint32_t halves = (uint32_t)(((uint64_t)1 << (2 * __builtin_popcount(drawn))) - 1); /* of records */
        _mm512_mask_storeu_epi64(to, (__mmask8)halves, _mm512_unpacklo_epi64(row_count[0], target_weight[0]));
        _mm512_mask_storeu_epi64(to + 4, (__mmask8)(halves >> 8), _mm512_unpackhi_epi64(row_count[0], target_weight[0]));
        _mm512_mask_storeu_epi64(to + 8, (__mmask8)(halves >> 16), _mm512_unpacklo_epi64(row_count[1], target_weight[1]));
        _mm512_mask_storeu_epi64(to + 12, (__mmask8)(halves >> 24), _mm512_unpackhi_epi64(row_count[1], target_weight[1]));
        to += __builtin_popcount(drawn);
    }
    return to - out;
}
#else
#define df_write_some_records df_write_records
#endif

/* n words of a stream from number `first` on, at most DF_WORDS. OUT room : [DF_WORD_ROOM] where they are */
DF_INLINE const uint32_t *df_words_from(const df_stream *stream, int64_t first, int n, uint32_t *room) {
    const int skipped = (int)(first % 4);
    df_compute_words(stream, (uint32_t)(first / 4), (skipped + n + 3) / 4, room);
    return room + skipped;
}

/* The ones among n bits of a node's stream from the word number `first` on: see df_draws_to_left, even halves. */
DF_INLINE int64_t df_ones_loop(uint32_t seed, uint64_t node, int64_t first, int64_t n) {
    uint32_t room[DF_WORD_ROOM];
    df_stream stream;
    int64_t n_ones = 0;
    df_stream_open(&stream, seed, node, DF_BOOTSTRAP_SPLIT);
    for (; n > 0; n -= 32 * DF_WORDS, first += DF_WORDS) {
        const int n_whole = n < 32 * DF_WORDS ? (int)(n / 32) : DF_WORDS;
        const int n_bits = n < 32 * DF_WORDS ? (int)(n % 32) : 0; /* of one word more */
        const uint32_t *word = df_words_from(&stream, first, n_whole + (n_bits > 0), room);
        int ones = 0;
        for (int i = 0; i < n_whole; i++)
            ones += df_ones(word[i]);
        if (n_bits > 0)
            ones += df_ones(word[n_whole] & (((uint32_t)1 << n_bits) - 1));
        n_ones += ones;
    }
    return n_ones;
}

/* How many draws n words of a node's stream make, from the word number `first` on, and how many of them go left: see
 * df_draws_to_left, uneven halves. OUT n_draws */
DF_INLINE int64_t df_below_loop(uint32_t seed, uint64_t node, int64_t first, int64_t n, uint32_t left, uint32_t right,
                                int64_t *n_draws) {
    const uint32_t range = left + right, least = (0u - range) % range;
    /* word * range >> 32 is below `left` where word * range is below left * 2^32 */
    const uint32_t end = (uint32_t)((((uint64_t)left << 32) + range - 1) / range);
    uint32_t room[DF_WORD_ROOM];
    df_stream stream;
    int64_t n_left = 0, n_kept = 0;
    df_stream_open(&stream, seed, node, DF_BOOTSTRAP_SPLIT);
    for (; n > 0; n -= DF_WORDS, first += DF_WORDS) {
        const int n_here = n < DF_WORDS ? (int)n : DF_WORDS;
        const uint32_t *word = df_words_from(&stream, first, n_here, room);
        uint32_t kept = 0, gone = 0;
        for (int i = 0; i < n_here; i++) {
            const uint32_t is_kept = word[i] * range >= least;
            kept += is_kept;
            gone += is_kept & (uint32_t)(word[i] < end);
        }
        n_kept += kept;
        n_left += gone;
    }
    *n_draws = n_kept;
    return n_left;
}

/* See df_draw_block. */
DF_INLINE void df_draw_block_loop(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *counts) {
    const uint32_t range = (uint32_t)n, least = (0u - range) % range;
    uint32_t room[DF_WORD_ROOM], row[DF_WORDS];
    df_stream stream;
    int64_t first = 0;
    memset(counts, 0, n * sizeof(uint32_t));
    df_stream_open(&stream, seed, (uint64_t)block, DF_BOOTSTRAP_DRAW);
    while (n_draws > 0) {
        const int n_here = n_draws < DF_WORDS ? (int)n_draws : DF_WORDS;
        const uint32_t *word = df_words_from(&stream, first, n_here, room);
        uint32_t passed_over = 0;
        int n_rows = n_here;
        for (int i = 0; i < n_here; i++) {
            row[i] = (uint32_t)((uint64_t)word[i] * range >> 32);
            passed_over |= (uint32_t)(word[i] * range < least);
        }
        if (passed_over) { /* one in a million */
            n_rows = 0;
            for (int i = 0; i < n_here; i++) {
                row[n_rows] = row[i];
                n_rows += word[i] * range >= least;
            }
        }
        for (int i = 0; i < n_rows; i++)
            counts[row[i]] += 1;
        first += n_here;
        n_draws -= n_rows;
    }
}

/* See df_subsample_block. Row i has word i, unless a word is passed over. */
DF_INLINE void df_subsample_block_loop(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *counts) {
    uint32_t room[DF_WORD_ROOM], to_come = (uint32_t)n_draws, passed_over = 0;
    df_stream stream;
    df_stream_open(&stream, seed, (uint64_t)block, DF_SUBSAMPLE_DRAW);
    for (int64_t first = 0; first < n; first += DF_WORDS) {
        const int n_here = n - first < DF_WORDS ? (int)(n - first) : DF_WORDS;
        const uint32_t *word = df_words_from(&stream, first, n_here, room);
        for (int i = 0; i < n_here; i++) {
            const uint32_t range = (uint32_t)(n - first - i);
            const uint64_t product = (uint64_t)word[i] * range;
            const uint32_t is_drawn = (uint32_t)(product >> 32) < to_come;
            passed_over |= (uint32_t)product < range; /* perhaps: the rule decides */
            counts[first + i] = is_drawn;
            to_come -= is_drawn;
        }
    }
    if (passed_over) /* one block in five hundred */
        df_subsample_block(seed, block, n, n_draws, counts);
}

/* The rows that df_subsample_block draws, ascending, where these are few: whether one of DF_WORDS_AHEAD rows is drawn, and whether
 * a word may be passed over, is asked of all of them at once. OUT rows : [n_draws] */
DF_INLINE void df_subsampled_rows_loop(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *rows) {
    enum { DF_WORDS_AHEAD = 64 };
    uint32_t room[DF_WORD_ROOM], to_come = (uint32_t)n_draws;
    int64_t n_found = 0;
    df_stream stream;
    df_stream_open(&stream, seed, (uint64_t)block, DF_SUBSAMPLE_DRAW);
    for (int64_t first = 0; to_come > 0; first += DF_WORDS_AHEAD) {
        const int n_here = n - first < DF_WORDS_AHEAD ? (int)(n - first) : DF_WORDS_AHEAD;
        const uint32_t *word = df_words_from(&stream, first, n_here, room);
        const uint32_t most = (uint32_t)(n - first);
        uint32_t some = 0, passed_over = 0;
        for (int i = 0; i < n_here; i++) {
            const uint32_t range = most - (uint32_t)i;
            const uint64_t product = (uint64_t)word[i] * range;
            some |= (uint32_t)((uint32_t)(product >> 32) < to_come);
            passed_over |= (uint32_t)((uint32_t)product < range); /* perhaps: the rule decides */
        }
        if (passed_over) {
            uint32_t counts[DF_BLOCK];
            df_subsample_block(seed, block, n, n_draws, counts);
            n_found = 0;
            for (int64_t i = 0; i < n; i++)
                if (counts[i])
                    rows[n_found++] = (uint32_t)i;
            return;
        }
        if (!some)
            continue;
        for (int i = 0; i < n_here && to_come > 0; i++)
            if ((uint32_t)((uint64_t)word[i] * (most - (uint32_t)i) >> 32) < to_come) {
                rows[n_found++] = (uint32_t)(first + i);
                to_come--;
            }
    }
}

#endif
