/* Random cuts of features of numbers (C99 and C++): the uniform numbers of many features of a node at once, and what is cut
 * by them.
 *
 * Each feature of a node has a stream of its own (rules/random.h), of which a cut needs the first two words: so those of
 * several features are computed together. The numbers are those of df_uniform. */
#ifndef DFOREST_RANDOM_CUT_H
#define DFOREST_RANDOM_CUT_H

#include "core/column.h"
#include "core/draws.h"
#include "rules/edges.h"
#include "rules/ordered_keys.h"

enum { DF_UNIFORMS = 8 }; /* computed at a time */

/* The first uniform number of each of n streams, DF_THRESHOLD of these keys. IN stream_keys, OUT u : [n, rounded up to a multiple
 * of DF_UNIFORMS]. In vectors, each lane of 64 bits has a word in its low half; its high half may have anything. */
#if defined(__AVX512F__)
static inline void df_uniforms(uint32_t seed, const uint64_t *stream_keys, int n, double *u) {
    const __m512i m0 = _mm512_set1_epi64(0xD2511F53u), m1 = _mm512_set1_epi64(0xCD9E8D57u);
    for (int i = 0; i < n; i += 8) {
        uint32_t k0 = seed, k1 = DF_THRESHOLD;
        __m512i a = _mm512_setzero_si512(), b = a, c = _mm512_loadu_si512(stream_keys + i), d = _mm512_srli_epi64(c, 32);
        for (int round = 0; round < 10; round++) {
            const __m512i p = _mm512_mul_epu32(m0, a), q = _mm512_mul_epu32(m1, c);
            a = _mm512_ternarylogic_epi64(_mm512_srli_epi64(q, 32), b, _mm512_set1_epi64(k0), 0x96);
            b = q;
            c = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p, 32), d, _mm512_set1_epi64(k1), 0x96);
            d = p;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        a = _mm512_slli_epi64(_mm512_srli_epi64(_mm512_slli_epi64(a, 32), 37), 26);
        b = _mm512_srli_epi64(_mm512_slli_epi64(b, 32), 38);
        _mm512_storeu_pd(u + i, _mm512_mul_pd(_mm512_cvtepu64_pd(_mm512_or_si512(a, b)),
                                              _mm512_set1_pd(1.0 / 9007199254740992.0)));
    }
}
#elif defined(__AVX2__)
static inline void df_uniforms(uint32_t seed, const uint64_t *stream_keys, int n, double *u) {
    for (int i = 0; i < n; i += 4) {
        uint64_t bits[4];
        __m256i a = _mm256_setzero_si256(), b = a, c = _mm256_loadu_si256((const __m256i *)(stream_keys + i));
        __m256i d = _mm256_srli_epi64(c, 32);
        df_philox_four(seed, DF_THRESHOLD, &a, &b, &c, &d);
        a = _mm256_slli_epi64(_mm256_srli_epi64(_mm256_slli_epi64(a, 32), 37), 26);
        b = _mm256_srli_epi64(_mm256_slli_epi64(b, 32), 38);
        _mm256_storeu_si256((__m256i *)bits, _mm256_or_si256(a, b));
        for (int j = 0; j < 4; j++)
            u[i + j] = (double)(int64_t)bits[j] * (1.0 / 9007199254740992.0);
    }
}
#else
static inline void df_uniforms(uint32_t seed, const uint64_t *stream_keys, int n, double *u) {
    for (int i = 0; i < n; i++) {
        df_stream stream;
        df_stream_open(&stream, seed, stream_keys[i], DF_THRESHOLD);
        u[i] = df_uniform(&stream);
    }
}
#endif

/* An entry of a column's values, lows or highs. */
static inline double df_number_of(const df_coded_column *column, const void *numbers, uint64_t code) {
    return column->is_float32 ? (double)((const float *)numbers)[code] : ((const double *)numbers)[code];
}

/* A random cut between the bins lo < hi of a node: at the edge nearest to a number uniform between the smallest value of the
 * lowest bin and the largest of the highest. */
static inline uint64_t df_draw_bin(const df_coded_column *column, uint64_t lo, uint64_t hi, double u, double *threshold) {
    const double drawn = df_between(df_number_of(column, column->lows, lo), df_number_of(column, column->highs, hi), u,
                                    column->is_float32);
    const uint32_t n = (uint32_t)column->n_codes - 1, first = (uint32_t)lo, last = (uint32_t)hi - 1;
    const uint32_t code = column->is_float32 ? df_nearest_edge_float((const float *)column->values, n, first, last, drawn)
                                             : df_nearest_edge_double((const double *)column->values, n, first, last, drawn);
    *threshold = df_number_of(column, column->values, code);
    return code;
}

#endif
