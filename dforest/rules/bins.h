/* The rule of bins: when one ends, as values are dealt out to bins greedily, from the lowest value on (C99 and C++).
 *
 * A bin ends at the value that brings its weight closest to rest / bins, where `rest` is the weight that is still to be dealt
 * out, including that in the bin, and `bins` is the number of bins left for this weight, including this bin; of two values as
 * close, at the higher one. But as soon as no more distinct values are left than bins, each value has its own bin. With 2 bins
 * left for values of weights 3, 4 and 2, in this order, the first bin ends after the first value: 3 is closer to 4.5 than 7. */
#ifndef DFOREST_RULES_BINS_H
#define DFOREST_RULES_BINS_H

#include <stdint.h>

#include "numerics.h"

/* Whether a bin that weighs `filled` so far ends before the next value, of weight w. */
static inline int df_bin_ends_before(int64_t filled, int64_t w, int64_t bins, int64_t rest) {
    return filled > 0 && bins > 1 && df_product_above(2 * filled + w, bins, 2, rest);
}

/* Whether a bin ends with the value that was put into it last; `filled` includes it, and n_above distinct values are above it. */
static inline int df_bin_ends_with(int64_t filled, int64_t n_above, int64_t bins, int64_t rest) {
    return bins > 1 && (n_above < bins || !df_product_above(rest, 1, filled, bins));
}

/* The least weight with which a bin ends for that second reason: its share of the rest, rounded up. */
static inline int64_t df_bin_share(int64_t bins, int64_t rest) { return rest / bins + (rest % bins > 0); }

#endif
