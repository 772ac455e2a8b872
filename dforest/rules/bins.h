/* The rule of bins: when one ends, as values are allocated to bins greedily, from the lowest value on (C99 and C++).
 *
 * A bin ends at the value that brings its weight closest to rest / bins, where `rest` is the weight that is still to be
 * allocated, including that in the bin, and `bins` is the number of bins left for this weight, including this bin; of two values
 * as close, at the higher one. But as soon as no more distinct values are left than bins, each value has its own bin. With 2 bins
 * left for values of weights 3, 4 and 2, in this order, the first bin ends after the first value: 3 is closer to 4.5 than 7. */
#ifndef DFOREST_RULES_BINS_H
#define DFOREST_RULES_BINS_H

#include <stdint.h>

/* The least weight with which a bin ends that has at least its share of the rest: rest / bins, rounded up. */
static inline int64_t df_bin_weight(int64_t bins, int64_t rest) { return rest / bins + (rest % bins > 0); }

/* When the bin at hand ends, as far as that depends on `bins` and `rest`; the last bin never does. */
typedef struct {
    int64_t least;         /* it ends with the value that brings it up to so much, */
    uint64_t twice;        /* or before a value if twice its weight, and that of the value, are above so much, */
    int64_t bins;          /* or if fewer distinct values are above */
} df_bin_limits;

static inline df_bin_limits df_bin_limits_of(int64_t bins, int64_t rest) {
    df_bin_limits limits = {INT64_MAX, UINT64_MAX, 0};
    if (bins > 1) {
        limits.least = df_bin_weight(bins, rest);
        limits.twice = 2 * (uint64_t)rest / (uint64_t)bins;
        limits.bins = bins;
    }
    return limits;
}

/* Whether a bin that weighs `filled` so far ends before the next value, of weight w. */
static inline int df_bin_ends_before(const df_bin_limits *limits, int64_t filled, int64_t w) {
    return filled > 0 && 2 * (uint64_t)filled + (uint64_t)w > limits->twice;
}

/* Whether a bin ends with the value that was put into it last; `filled` includes it, and n_above distinct values are above it. */
static inline int df_bin_ends_with(const df_bin_limits *limits, int64_t filled, int64_t n_above) {
    return n_above < limits->bins || filled >= limits->least;
}

/* Values that are allocated to bins: `filled` is what the bin at hand weighs so far, and `code` its number. */
typedef struct {
    df_bin_limits limits;
    int64_t bins, rest, filled;
    uint32_t code;
} df_bin_filler;

static inline df_bin_filler df_bin_filler_of(int64_t bins, int64_t rest) {
    df_bin_filler filler;
    filler.limits = df_bin_limits_of(bins, rest);
    filler.bins = bins;
    filler.rest = rest;
    filler.filled = 0;
    filler.code = 0;
    return filler;
}

static inline void df_end_bin(df_bin_filler *filler) {
    filler->rest -= filler->filled;
    filler->bins--;
    filler->filled = 0;
    filler->code++;
    filler->limits = df_bin_limits_of(filler->bins, filler->rest);
}

/* The code of the next value, of weight w, above which are n_above distinct values. */
static inline uint32_t df_add_to_bin(df_bin_filler *filler, int64_t w, int64_t n_above) {
    uint32_t code;
    if (df_bin_ends_before(&filler->limits, filler->filled, w))
        df_end_bin(filler);
    filler->filled += w;
    code = filler->code;
    if (df_bin_ends_with(&filler->limits, filler->filled, n_above))
        df_end_bin(filler);
    return code;
}

/* How many bins there are when all values have been allocated. */
static inline uint32_t df_n_filled_bins(const df_bin_filler *filler) { return filler->code + (filler->filled > 0); }

#endif
