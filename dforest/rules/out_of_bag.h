/* The rules of estimates from rows that a tree left out: errors, votes, permutations (C99 and C++). */
#ifndef DFOREST_RULES_OUT_OF_BAG_H
#define DFOREST_RULES_OUT_OF_BAG_H

#include "random.h"

/* The error of a prediction: of classes, 0 or 1; of numbers, the square of the deviation times `factor`, a power of two by which
 * neither overflows. */
static inline double df_error(int is_regression, double factor, double target, double predicted) {
    const double deviation = target * factor - predicted * factor;
    return is_regression ? deviation * deviation : (double)(predicted != target);
}

/* The class with most votes, the lower one of equals, after one more vote. With 3, 2 and 3 votes class 0 leads; a vote for class
 * 1 leaves it there, and the next vote for class 1 makes that the leader.
 *
 * IN votes : [n_classes] with the new vote; best : the class that had most before; voted : the class of the new vote */
static inline int32_t df_leading_class(const int32_t *votes, int32_t best, int32_t voted) {
    return votes[voted] > votes[best] || (votes[voted] == votes[best] && voted < best) ? voted : best;
}

/* Open the stream that permutes a feature among the rows that a tree left out. */
static inline void df_open_permutation(df_stream *stream, uint32_t seed, uint64_t feature) {
    df_stream_open(stream, seed, feature, DF_PERMUTATION);
}

/* Permute n rows in place, a part at a time: a call decides the places from `begin` to `end` - 1; the first part begins at 0, and
 * the last one ends at n. Each place takes a row at random from this place and later ones. Of the rows 3, 5, 8, with the random
 * places 2 and 1: 8 5 3, then 8 5 3 again, and the last row stays. */
static inline void df_permute(df_stream *stream, uint32_t *rows, int64_t begin, int64_t end, int64_t n) {
    int64_t i;
    for (i = begin; i < end && i + 1 < n; i++) {
        const int64_t place = i + df_below(stream, (uint32_t)(n - i));
        const uint32_t held = rows[place];
        rows[place] = rows[i];
        rows[i] = held;
    }
}

#endif
