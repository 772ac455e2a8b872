/* The draws on one side of a single cut (C99 and C++).
 *
 * The codes of a node's records lie one behind the other, and so do their packed words. Of both there is a
 * multiple of DF_STRIDE: behind the last record come some more of codes that occur, and of words 0. So the
 * loops have no branches and no rest, and compilers vectorise them.
 */
#ifndef DFOREST_LEFT_SUMS_H
#define DFOREST_LEFT_SUMS_H

#include "core/search/scan.h"

#define DF_STRIDE 8 /* numbers of codes and words are multiples of this */

/* Of n codes. */
typedef struct {
    uint64_t lowest;
    uint64_t highest;
    uint64_t highest_value; /* below the one that means missing; that one if there is none */
} df_extent;

/* The loops for codes of 32 bits, and for those of 64, which are keys. */
#define DF_SIDE_LOOPS(bits)                                                                                              \
    DF_INLINE void df_extent##bits##_loop(const uint##bits##_t *code, int64_t n, uint64_t missing, df_extent *extent) { \
        uint##bits##_t lowest = code[0], highest = lowest, past = 0, none = (uint##bits##_t)missing;                    \
        n &= -DF_STRIDE;                                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                                \
            uint##bits##_t c = code[i], p = c - none; /* so values come after the missing ones, in their order */       \
            lowest = c < lowest ? c : lowest;                                                                            \
            highest = c > highest ? c : highest;                                                                         \
            past = p > past ? p : past;                                                                                  \
        }                                                                                                                \
        extent->lowest = lowest;                                                                                         \
        extent->highest = highest;                                                                                       \
        extent->highest_value = (uint##bits##_t)(past + none);                                                           \
    }                                                                                                                    \
                                                                                                                         \
    /* The sum of the words of all codes up to one. */                                                                   \
    DF_INLINE uint64_t df_side##bits##_loop(const uint##bits##_t *code, const uint64_t *word, int64_t n,                \
                                            uint##bits##_t last) {                                                      \
        uint64_t sum = 0;                                                                                                \
        n &= -DF_STRIDE;                                                                                                 \
        for (int64_t i = 0; i < n; i++)                                                                                  \
            sum += code[i] <= last ? word[i] : 0;                                                                        \
        return sum;                                                                                                      \
    }

DF_SIDE_LOOPS(32)
DF_SIDE_LOOPS(64)

/* Which of up to 32 ranks, below 2^31, are up to one: a bit for each. */
DF_INLINE uint32_t df_ranks_up_to(const uint32_t *ranks, int n, int32_t last) {
    uint32_t bits = 0;
    for (int i = 0; i < n; i++)
        bits |= (int32_t)ranks[i] <= last ? (uint32_t)1 << i : 0;
    return bits;
}

/* Which of n ranks are up to one. OUT bits : [(n + 63) / 64] a bit for each, and 0 behind the last */
DF_INLINE void df_up_to_loop(const uint32_t *ranks, int64_t n, uint32_t last, uint64_t *bits) {
    int64_t i = 0;
    for (; i + 64 <= n; i += 64)
        bits[i / 64] = df_ranks_up_to(ranks + i, 32, (int32_t)last)
                       | (uint64_t)df_ranks_up_to(ranks + i + 32, 32, (int32_t)last) << 32;
    if (i < n)
        bits[i / 64] = df_ranks_up_to(ranks + i, (int)(n - i < 32 ? n - i : 32), (int32_t)last)
                       | (n - i > 32 ? (uint64_t)df_ranks_up_to(ranks + i + 32, (int)(n - i - 32), (int32_t)last) << 32 : 0);
}

#endif
