/* Fractions that are of the second of two classes within the bounds of nodes (bounds.h), in C99 and C++. A leaf keeps integer
 * weights: bounds have few bits, so that there are weights with just this share. */
#ifndef DFOREST_RULES_CLASS_FRACTIONS_H
#define DFOREST_RULES_CLASS_FRACTIONS_H

#include "bounds.h"
#include "weights.h"

enum {
    DF_FRACTION_BITS = 26,                /* of bounds */
    DF_BOUNDED_BITS = 53 - DF_FRACTION_BITS  /* of the weight of a leaf whose share is a bound: float64 holds the products */
};

/* Between what the sides of a cut predict: the bound of either. */
static inline double df_midpoint_fraction(double left, double right) {
    const double one = (double)((int64_t)1 << DF_FRACTION_BITS);
    return rint(df_midpoint_prediction(left, right) * one) / one;
}

/* Keep the share of a leaf within its bounds. Its weights get more bits, so that sums over leaves are exact; where the share has
 * to change, they get as few as it takes. With bounds of two bits, the weights 1 and 2 are 4 and 8 in units of 1/4 between 0 and
 * 1, and 9 and 3 between 0 and 1/4.
 *
 * INOUT words : what the leaf keeps, its draws and the two weights */
static inline void df_bound_fraction(int64_t *words, double lower, double upper) {
    const int32_t shift = (int32_t)(words[0] >> DF_DRAWS_BITS);
    const int64_t n_draws = words[0] & (((int64_t)1 << DF_DRAWS_BITS) - 1), one = (int64_t)1 << DF_FRACTION_BITS;
    int64_t total = words[1] + words[2];
    const double fraction = (double)words[2] / (double)total, kept = df_clip(fraction, lower, upper);
    int by = 0;
    if (kept == fraction) {
        while (by < DF_FRACTION_BITS && total < (int64_t)1 << (DF_LEAF_WEIGHT_BITS - 1 - by))
            by++;
        words[1] <<= by;
        words[2] <<= by;
    } else {
        while (total >> (by + DF_BOUNDED_BITS))
            by++;
        total = df_without_last_bits(total, by);
        words[2] = (int64_t)(kept * (double)one) * total;
        words[1] = one * total - words[2];
        by = DF_FRACTION_BITS - by;
    }
    words[0] = df_draws_word(n_draws, shift + by);
}

#endif
