/* Many rows down small trees (C99 and C++).

   Values become *keys*, integers in the order of the values (rules/ordered_keys.h), and lie in *tiles*: DF_LANES rows, feature by
   feature. So the feature and the lane, which is a constant, say where a row's value is, and no pointers to rows are held:

       | a0 b0 c0 ... | a1 b1 c1 ... | ...        rows a, b, c, ...; features 0, 1, ...

   Rows whose values are all numbers go down trees of narrow slots (walk.h) as follows. A tree's slots are copied for a block of
   rows, with keys for thresholds: see df_keyed. A leaf's key is 0, below the keys of all values, so that a row that got to the
   leaf stays there. A step compares integers, and shifts and masks nothing. For trees of few leaves there is quickscorer.h, which
   uses tiles too, also for wide slots and missing values.

   Nothing here owns memory. */
#ifndef DFOREST_TILES_H
#define DFOREST_TILES_H

#include "rules/ordered_keys.h"
#include "walk.h"

typedef struct {
    uint32_t key;
    uint16_t slot;           /* rows go there if their value's key is not above */
    uint16_t place;          /* of the feature's values in a tile, in units of DF_PLACE of them */
} df_keyed;

enum {
    DF_PLACE = 2,
    DF_MAX_KEYED = 1 << 16,                              /* slots of a tree */
    DF_MAX_PLACES = (1 << 16) * DF_PLACE / DF_LANES,     /* features */
};

/* The key of the smallest float32 number that is not below a value: float32 thresholds tell these two from no others. */
DF_INLINE uint32_t df_key_above(double value)
{
    const float x = (float) value;
    return df_ordered_key32(x) + (x < value);
}

/* Copy rows into tiles of keys of 32 bits, or of 64; missing values have the highest. OUT tiles : [n, rounded up to DF_LANES,
   n_features]; lanes that are left over repeat the last row */
#define DF_FILL_TILES(bits, key_of_float, key_of_double)                                                      \
    DF_FUNCTION void df_fill_tiles##bits(const df_rows *rows, size_t first, size_t n, size_t n_features,      \
                                         uint##bits##_t *tiles)                                               \
    {                                                                                                         \
        const uint##bits##_t missing = ~(uint##bits##_t) 0;                                                   \
        const char *x[DF_LANES];                                                                              \
        size_t i, j, k;                                                                                       \
        for (i = 0; i < n; i += DF_LANES) {                                                                   \
            for (j = 0; j < DF_LANES; j++)                                                                    \
                x[j] = df_row(rows, first + (i + j < n ? i + j : n - 1));                                     \
            for (k = 0; k < n_features; k++, tiles += DF_LANES) {                                             \
                if (rows->is_double)                                                                          \
                    for (j = 0; j < DF_LANES; j++) {                                                          \
                        const double value = ((const double *) x[j])[k];                                      \
                        tiles[j] = value == value ? key_of_double(value) : missing;                           \
                    }                                                                                         \
                else                                                                                          \
                    for (j = 0; j < DF_LANES; j++) {                                                          \
                        const float value = ((const float *) x[j])[k];                                        \
                        tiles[j] = value == value ? key_of_float(value) : missing;                            \
                    }                                                                                         \
            }                                                                                                 \
        }                                                                                                     \
    }
DF_FILL_TILES(32, df_ordered_key32, df_key_above)
DF_FILL_TILES(64, df_ordered_key64, df_ordered_key64)
#undef DF_FILL_TILES

/* Copy a tree's slots. OUT keyed : [n_slots] */
DF_FUNCTION void df_key_slots(const df_packed *forest, size_t t, size_t n_slots, df_keyed *keyed)
{
    const df_narrow *tree = (const df_narrow *) df_tree(forest, t);
    const uint32_t bits = forest->bits, mask = (1u << bits) - 1;
    size_t i;
    for (i = 0; i < n_slots; i++) {
        const float threshold = tree[i].threshold;
        const uint32_t key = df_ordered_key32(threshold), word = tree[i].word;
        keyed[i].key = threshold == threshold ? key : 0;
        keyed[i].slot = (uint16_t) (word >> (bits + 2));
        keyed[i].place = (uint16_t) ((word & mask) * (DF_LANES / DF_PLACE));
    }
}

/* The slot a row goes to. IN x: where the row's lane begins. The sign of a difference takes fewer steps than a comparison. */
DF_INLINE uint32_t df_keyed_step(const df_keyed *tree, uint32_t at, const uint32_t *x)
{
    const df_keyed *here = tree + at;
    return here->slot + (uint32_t) (((uint64_t) here->key - x[(size_t) here->place * DF_PLACE]) >> 63);
}

/* CALL(lane) for each of DF_LANES lanes. */
#define DF_EACH_LANE(CALL) \
    CALL(0) CALL(1) CALL(2) CALL(3) CALL(4) CALL(5) CALL(6) CALL(7) \
    CALL(8) CALL(9) CALL(10) CALL(11) CALL(12) CALL(13) CALL(14) CALL(15)

/* Rows in tiles down a tree, in rounds as those of df_rounds.

   IN n_first : steps of all rows before any is asked whether it has arrived
   OUT at : [n, rounded up to DF_LANES] the slots of the leaves
   OUT left : [n, rounded up to DF_LANES] scratch */
DF_FUNCTION void df_walk_tiles(const df_keyed *tree, int n_first, const uint32_t *tiles, size_t n_features, size_t n,
                               uint32_t *at, uint32_t *left)
{
    const size_t size = n_features * DF_LANES;
    const uint32_t *x = tiles, *lane[DF_LANES];
    uint32_t place[DF_LANES], lanes[DF_LANES];
    size_t i, j, n_lanes, n_left = 0, n_next;
    int step;
    for (i = 0; i < n; i += DF_LANES, x += size) {
        /* a variable for each lane: of an array, compilers would write each element back at each step */
#define DF_BEGIN(j) uint32_t at##j = 1;
#define DF_GO(j) at##j = df_keyed_step(tree, at##j, x + j);
#define DF_END(j) at[i + j] = at##j;
        DF_EACH_LANE(DF_BEGIN)
        for (step = 0; step < n_first; step++) {
            DF_EACH_LANE(DF_GO)
        }
        DF_EACH_LANE(DF_END)
#undef DF_BEGIN
#undef DF_GO
#undef DF_END
        n_lanes = n - i < DF_LANES ? n - i : DF_LANES;
        for (j = 0; j < n_lanes; j++) {
            left[n_left] = (uint32_t) (i + j);
            n_left += tree[at[i + j]].slot > at[i + j];
        }
    }
    for (; n_left > 0; n_left = n_next) {
        n_next = 0;
        for (i = 0; i < n_left; i += DF_LANES) {
            n_lanes = n_left - i < DF_LANES ? n_left - i : DF_LANES;
            for (j = 0; j < DF_LANES; j++) {             /* lanes that are left over repeat the last row */
                place[j] = left[i + (j < n_lanes ? j : n_lanes - 1)];
                lane[j] = tiles + place[j] / DF_LANES * size + place[j] % DF_LANES;
                lanes[j] = at[place[j]];
            }
            for (step = 0; step < DF_ROUND; step++)
                DF_UNROLLED
                for (j = 0; j < DF_LANES; j++)
                    lanes[j] = df_keyed_step(tree, lanes[j], lane[j]);
            for (j = 0; j < n_lanes; j++) {
                at[place[j]] = lanes[j];
                left[n_next] = place[j];                 /* n_next <= i + j: what is read later is not overwritten */
                n_next += tree[lanes[j]].slot > lanes[j];
            }
        }
    }
}

#endif
