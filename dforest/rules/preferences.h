/* Which columns the splits of boosted trees prefer, beside what they gain (C99 and C++).
 *
 * What a split *counts for* is its gain times a factor, less a cost. Of the splits of a node, and of the nodes of a tree, the one that
 * counts for most comes first; a split that counts for nothing is not made. Trees keep gains themselves.
 *
 * Factors: LightGBM's `monotone_penalty`; costs of columns that the model has not used so far: S. Peter, F. Diego, F. A. Hamprecht,
 * B. Nadler, "Cost efficient gradient boosting", NeurIPS 2017. */
#ifndef DFOREST_PREFERENCES_H
#define DFOREST_PREFERENCES_H

#include <math.h>
#include <stdint.h>

#include "numerics.h"

static inline double df_counted_gain(double gain, double factor, double cost) { return gain > 0.0 ? gain * factor - cost : gain; }

/* The factor of splits by a column with a monotonic constraint at some depth, 0 being that of the root: with a penalty of 2, splits
 * count for nothing at the first two depths, for a half at the next one, for 3/4 at that below; with 1/2, for 1/2, 3/4 and 7/8. */
static inline double df_monotone_factor(double penalty, int64_t depth) {
    if (penalty >= 1.0 + (double)depth)
        return 0.0;
    if (penalty <= 1.0)
        return 1.0 - ldexp(penalty, depth < 2000 ? -(int)depth : -2000);
    return 1.0 - df_exp(6.93147180559945286227e-01 * (penalty - 1.0 - (double)depth));
}

#endif
