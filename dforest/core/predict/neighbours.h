/* A sparse vector over many places: numbers are added at some of them, and then read in ascending order (C99 and C++).
 *
 * `occupied` has a bit for each place that has a number. On top there is a bit for each word of it that is not 0, so that few
 * bits are found quickly among many places. With words of 4 bits, and numbers at the places 1, 2 and 13 of 16:
 *
 *     occupied 0110 0000 0000 0100      (the first place of a word is its lowest bit; written here from the left)
 *     top       1001
 *
 * The memory belongs to the caller: n numbers, (n + 63) / 64 words of `occupied`, (n + 4095) / 4096 words on top, all 0 at first.
 * */
#ifndef DFOREST_NEIGHBOURS_H
#define DFOREST_NEIGHBOURS_H

#include <stdint.h>

typedef struct {
    double *number;
    uint64_t *occupied, *top;
    int64_t n_tops;
} df_sparse;

static inline void df_sparse_add(df_sparse *sparse, uint32_t place, double x) {
    sparse->number[place] += x;
    sparse->occupied[place >> 6] |= (uint64_t)1 << (place & 63);
    sparse->top[place >> 12] |= (uint64_t)1 << (place >> 6 & 63);
}

/* Read all numbers in the order of their places, and make them 0. OUT place, number : with room for them; returns how many. */
static inline int64_t df_sparse_take(df_sparse *sparse, uint32_t *place, double *number) {
    int64_t i, n = 0;
    for (i = 0; i < sparse->n_tops; i++) {
        uint64_t words = sparse->top[i];
        for (; words != 0; words &= words - 1) {
            const int64_t word = i << 6 | __builtin_ctzll(words);
            uint64_t bits = sparse->occupied[word];
            for (; bits != 0; bits &= bits - 1) {
                const int64_t at = word << 6 | __builtin_ctzll(bits);
                place[n] = (uint32_t)at;
                number[n++] = sparse->number[at];
                sparse->number[at] = 0.0;
            }
            sparse->occupied[word] = 0;
        }
        sparse->top[i] = 0;
    }
    return n;
}

#endif
