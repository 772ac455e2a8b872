/* What a partition knows of a node's draws of weight 1: see sums.pxd (C99 and C++). */
#ifndef DFOREST_SUMS_H
#define DFOREST_SUMS_H

#include <stdint.h>
#include <string.h>

typedef enum {
    DF_NO_SUMS,     /* nothing */
    DF_BINARY_SUMS,  /* two classes: a word of scan.h */
    DF_CLASS_COUNTER_SUMS,  /* three to eight classes, of at most DF_CLASS_COUNTER_DRAWS draws: two words of class_counters.h */
    DF_NUMBER_SUMS, /* numbers: how many draws there are, and their sum of targets */
} df_sums_kind;

/* Copy n words; few of them without a call. */
static inline void df_copy_words(int64_t *to, const int64_t *from, int64_t n) {
    if (n > 8) {
        memcpy(to, from, (size_t)n * sizeof(int64_t));
        return;
    }
    switch (n) {
    case 8: to[7] = from[7]; /* fall through */
    case 7: to[6] = from[6]; /* fall through */
    case 6: to[5] = from[5]; /* fall through */
    case 5: to[4] = from[4]; /* fall through */
    case 4: to[3] = from[3]; /* fall through */
    case 3: to[2] = from[2]; /* fall through */
    case 2: to[1] = from[1]; /* fall through */
    case 1: to[0] = from[0];
    }
}

#endif
