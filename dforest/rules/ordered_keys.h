/* Keys: unsigned integers that order like the floats they are made from, shared by the CPU and device code (C99 and C++).
 *
 * A key of 32 bits stands for a float32, one of 64 bits for a float64. Zeros of both signs have one key; missing values have a
 * key above the keys of all values, infinities included. */
#ifndef DFOREST_ORDERED_KEYS_H
#define DFOREST_ORDERED_KEYS_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "numerics.h"

#define DF_MISSING_KEY32 0xFF800001u /* the next one after that of infinity */
#define DF_MISSING_KEY64 0xFFF0000000000001ull

/* The key of a value that is not missing. */
static inline uint32_t df_ordered_key32(float x) {
    uint32_t bits;
    x += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &x, 4);
    return bits ^ (bits >> 31 ? 0xFFFFFFFFu : 0x80000000u);
}

static inline uint64_t df_ordered_key64(double x) {
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, 8);
    return bits ^ (bits >> 63 ? 0xFFFFFFFFFFFFFFFFull : 0x8000000000000000ull);
}

/* The value of a key. */
static inline double df_value32(uint32_t key) {
    uint32_t bits = key ^ (key >> 31 ? 0x80000000u : 0xFFFFFFFFu);
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static inline double df_value64(uint64_t key) {
    uint64_t bits = key ^ (key >> 63 ? 0x8000000000000000ull : 0xFFFFFFFFFFFFFFFFull);
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

static inline double df_value_of(uint64_t key, int is_wide) { return is_wide ? df_value64(key) : df_value32((uint32_t)key); }

/* The key, of the width given, such that the values up to x have the keys up to it; x is not missing. */
static inline uint64_t df_last_key(double x, int is_wide) {
    float f;
    if (is_wide)
        return df_ordered_key64(x);
    if (x > FLT_MAX)
        return x > DBL_MAX ? DF_MISSING_KEY32 - 1 : df_ordered_key32(FLT_MAX);
    if (x < -FLT_MAX)
        return df_ordered_key32(-FLT_MAX) - 1;
    f = (float)x;
    return df_ordered_key32(f) - ((double)f > x);
}

/* A random cut between the keys of a node's lowest and highest value, lo < hi: keys up to the one returned go left. */
static inline uint64_t df_draw_key(uint64_t lo, uint64_t hi, double u, int is_wide, int is_float32, double *threshold) {
    *threshold = df_between(df_value_of(lo, is_wide), df_value_of(hi, is_wide), u, is_float32);
    return df_last_key(*threshold, is_wide);
}

#endif
