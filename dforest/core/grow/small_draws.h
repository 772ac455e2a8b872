/* The features of a node of a small subtree, in the order in which they are drawn (C99 and C++).
 *
 * It is the order of rules/feature_order.h, sooner: with vectors, the first words of the streams of both children of a node are
 * computed together while the node is searched, and up to 64 features need no undoing of swaps, as their numbers are copied anew. */
#ifndef DFOREST_SMALL_DRAWS_H
#define DFOREST_SMALL_DRAWS_H

#include <stdint.h>
#include <string.h>

#include "core/draws.h"
#include "rules/feature_order.h"

#if defined(__AVX2__)
enum { DF_STREAM_BLOCKS = 4, DF_WORDS_AHEAD = 1 }; /* blocks of Philox that are computed together; are those of both children? */
#else
enum { DF_STREAM_BLOCKS = 1, DF_WORDS_AHEAD = 0 };
#endif
enum {
    DF_FIRST_WORDS = 4 * DF_STREAM_BLOCKS / (1 + DF_WORDS_AHEAD), /* of a stream that a node has, for its children or itself */
    DF_WORD_ROOM_OF_NODE = 8,                                     /* for them, with any instructions */
    DF_MASKED_FEATURES = 64
};

/* Compute blocks of streams. IN stream_key, block : [DF_STREAM_BLOCKS]; OUT words : [DF_STREAM_BLOCKS][4] */
DF_INLINE void df_stream_blocks(uint32_t seed, const uint64_t *stream_key, const uint32_t *block, uint32_t (*words)[4]) {
#if defined(__AVX2__)
    const __m256i stream_keys = _mm256_loadu_si256((const __m256i *)stream_key);
    __m256i a = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)block)), b = _mm256_setzero_si256();
    __m256i c = stream_keys, d = _mm256_srli_epi64(stream_keys, 32), even, odd;
    df_philox_four(seed, DF_FEATURES, &a, &b, &c, &d);
    a = _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA);
    c = _mm256_blend_epi32(c, _mm256_slli_epi64(d, 32), 0xAA);
    even = _mm256_unpacklo_epi64(a, c);
    odd = _mm256_unpackhi_epi64(a, c);
    _mm_storeu_si128((__m128i *)words[0], _mm256_castsi256_si128(even));
    _mm_storeu_si128((__m128i *)words[1], _mm256_castsi256_si128(odd));
    _mm_storeu_si128((__m128i *)words[2], _mm256_extracti128_si256(even, 1));
    _mm_storeu_si128((__m128i *)words[3], _mm256_extracti128_si256(odd, 1));
#else
    for (int i = 0; i < DF_STREAM_BLOCKS; i++) {
        const uint32_t key[2] = {seed, DF_FEATURES};
        const uint32_t counter[4] = {block[i], 0, (uint32_t)stream_key[i], (uint32_t)(stream_key[i] >> 32)};
        df_philox(counter, key, words[i]);
    }
#endif
}

/* Words of a stream from a block on. OUT words : [DF_STREAM_BLOCKS][4] */
static inline void df_small_words_from(uint32_t seed, uint64_t key, uint32_t first, uint32_t (*words)[4]) {
    uint64_t stream_key[DF_STREAM_BLOCKS];
    uint32_t block[DF_STREAM_BLOCKS];
    for (uint32_t i = 0; i < DF_STREAM_BLOCKS; i++) {
        stream_key[i] = key;
        block[i] = first + i;
    }
    df_stream_blocks(seed, stream_key, block, words);
}

/* The first words of the stream of a node. OUT words : [DF_FIRST_WORDS] */
DF_INLINE void df_first_words(uint32_t seed, uint64_t key, uint32_t *words) {
    uint32_t all[DF_STREAM_BLOCKS][4];
    df_small_words_from(seed, key, 0, all);
    memcpy(words, all, DF_FIRST_WORDS * sizeof(uint32_t));
}

/* Those of the streams of two nodes, if DF_WORDS_AHEAD. OUT words : [2][DF_FIRST_WORDS] */
DF_INLINE void df_first_words_of_two(uint32_t seed, uint64_t left, uint64_t right, uint32_t (*words)[DF_FIRST_WORDS]) {
    uint64_t stream_key[DF_STREAM_BLOCKS];
    uint32_t block[DF_STREAM_BLOCKS];
    for (int i = 0; i < DF_STREAM_BLOCKS; i++) {
        stream_key[i] = i < DF_STREAM_BLOCKS / 2 ? left : right;
        block[i] = (uint32_t)(i & 1);
    }
    df_stream_blocks(seed, stream_key, block, (uint32_t(*)[4])words);
}

/* What a node draws its features by. */
typedef struct {
    df_stream stream;        /* of more than 64 features, whose order is the subtree's */
    uint32_t *features, *swapped;
    uint32_t n_features, n_drawn;
    uint32_t seed, n_used;   /* words */
    uint64_t key;
    const uint32_t *first_words;
    uint32_t words[DF_STREAM_BLOCKS][4]; /* behind the first ones */
    uint8_t order[DF_MASKED_FEATURES];   /* of at most 64 features */
} df_small_draws;

/* Begin. IN features, swapped : as df_draw_feature has them; first_words : of the node's stream */
DF_INLINE void df_small_draws_open(df_small_draws *draws, uint32_t seed, uint64_t stream_key, const uint32_t *first_words,
                                   uint32_t *features, uint32_t *swapped, uint32_t n_features) {
    static const uint8_t numbers[DF_MASKED_FEATURES] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    draws->features = features;
    draws->swapped = swapped;
    draws->n_features = n_features;
    draws->n_drawn = 0;
    draws->seed = seed;
    draws->key = stream_key;
    draws->n_used = 0;
    draws->first_words = first_words;
    if (n_features > DF_MASKED_FEATURES) {
        df_stream_open(&draws->stream, seed, stream_key, DF_FEATURES);
        return;
    }
    memcpy(draws->order, numbers, sizeof(numbers));
}

DF_INLINE uint32_t df_small_next_word(df_small_draws *draws) {
    const uint32_t at = draws->n_used++;
    uint32_t behind;
    if (at < DF_FIRST_WORDS)
        return draws->first_words[at];
    behind = (at - DF_FIRST_WORDS) % (4 * DF_STREAM_BLOCKS);
    if (behind == 0)
        df_small_words_from(draws->seed, draws->key, at / 4, draws->words);
    return draws->words[behind / 4][behind % 4];
}

/* The next feature. */
DF_INLINE uint32_t df_small_draw(df_small_draws *draws) {
    const uint32_t k = draws->n_drawn++, n_left = draws->n_features - k;
    uint64_t m;
    uint32_t place, feature;
    if (draws->n_features > DF_MASKED_FEATURES)
        return df_draw_feature(&draws->stream, draws->features, draws->swapped, k, draws->n_features);
    do
        m = (uint64_t)df_small_next_word(draws) * n_left;
    while (!df_is_kept(m, n_left));
    place = k + (uint32_t)(m >> 32);
    feature = draws->order[place];
    draws->order[place] = draws->order[k]; /* nothing looks at places before k again */
    return feature;
}

/* End: the order of the subtree is as it was. */
DF_INLINE void df_small_draws_close(df_small_draws *draws) {
    if (draws->n_features > DF_MASKED_FEATURES)
        df_undo_features(draws->features, draws->swapped, draws->n_drawn);
}

#endif
