/* How much of what a node predicts is taken from the nodes above it, which have more draws. Shared by the CPU and device code (C99
 * and C++).
 *
 * Predictions are *smoothed* from the root down: at each step, n / (n + strength) of what is predicted is what a node says by
 * itself, where n counts draws, and the rest is what holds above it. With a strength of 10, 10 draws have half of the say. */
#ifndef DFOREST_RULES_SMOOTHING_H
#define DFOREST_RULES_SMOOTHING_H

#include "bounds.h"

/* The share of what n > 0 of n_all draws say. strength >= 0, or infinite */
static inline double df_share_of_draws(double n, double n_all, double strength) { return n / (n_all + strength); }

/* What is predicted where a node says `own`, and `above` holds above it: between the two. */
static inline double df_smoothed(double above, double own, double share) {
    const double between = (1.0 - share) * above + share * own;
    return above < own ? df_clip(between, above, own) : df_clip(between, own, above);
}

#endif
