/* Rows down packed trees.

   Of a tree's slots, slot 0 is empty, and the root has slot 1. The children of a node have two neighbouring slots, the left one
   even: 2 + 2 r, where r numbers the inner nodes.

   A slot holds a threshold and a word: the feature (the `bits` lowest bits), two flags, and the slot of the left child. A row
   goes to that slot, or, if the row's value is not <= threshold, to the next slot. A leaf has the threshold NaN and the slot
   before its own: a row that got to the leaf stays there, whatever its values. So no step asks whether it is the last one. The
   bits of a leaf's NaN hold its *value row*: which row of the values the leaf adds, counted from the first that its tree uses.

   Narrow slots have 8 bytes, wide ones 16. Which of these, whether x is double, and what tests have to look at (`mode`) are
   constants of each compiled loop.

   Nothing here owns memory. */
#ifndef DFOREST_WALK_H
#define DFOREST_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../rows.h"

/* What compilers may know of the loop that follows: no iteration waits for another one; it is worth unrolling. */
#if defined(__clang__)
#define DF_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define DF_UNROLLED _Pragma("clang loop unroll_count(16)")
#elif defined(__GNUC__)
#define DF_INDEPENDENT _Pragma("GCC ivdep")
#define DF_UNROLLED _Pragma("GCC unroll 16")
#else
#define DF_INDEPENDENT
#define DF_UNROLLED
#endif

#if defined(__GNUC__)
#define DF_INLINE static inline __attribute__((always_inline))
#define DF_FUNCTION static __attribute__((unused))
#else
#define DF_INLINE static inline
#define DF_FUNCTION static
#endif

typedef struct {
    float threshold;         /* where a subset is tested: the bits of its place in df_packed.words */
    uint32_t word;           /* slot << (bits + 2) | flags << bits | feature */
} df_narrow;

typedef struct {
    double threshold;
    uint32_t word;           /* flags << bits | feature; bits is 30 */
    uint32_t slot;
} df_wide;

enum {
    DF_MISSING_LEFT = 1,     /* flags: where a missing value goes, or a category that is not in the subset */
    DF_IS_SUBSET = 2,
    DF_LANES = 16,           /* rows, or trees, that go down together, for their memory accesses to overlap */
    DF_ROUND = 6,            /* steps between two looks at who has arrived */
};

enum {                       /* mode: what there may be besides tests of numbers that are there */
    DF_NUMBERS,
    DF_MISSING,              /* NaN */
    DF_SUBSETS,              /* NaN and tests of categories */
};

#define DF_VALUE_ROWS 0x400000u          /* the value row of a narrow leaf is below */

/* A forest's slots, borrowed. */
typedef struct {
    const char *slots;
    const int64_t *starts;   /* [n_trees + 1] where each tree's slots begin */
    const uint64_t *words;   /* of each subset, or test of a splitter's own: how many words, then the words; NULL: there are none */
    uint32_t bits;           /* of a feature's number */
    int is_wide;
} df_packed;

DF_INLINE const char *df_tree(const df_packed *forest, size_t tree)
{
    return forest->slots + forest->starts[tree] * (forest->is_wide ? sizeof(df_wide) : sizeof(df_narrow));
}

DF_INLINE const char *df_row(const df_rows *rows, size_t i)
{
    return rows->x + i * rows->stride;
}

DF_INLINE uint32_t df_low_bits(const void *threshold)
{
    uint32_t low;
    memcpy(&low, threshold, sizeof low);
    return low;
}

/* The lower half of a threshold's bits. */
DF_INLINE uint32_t df_wide_bits(const df_wide *node)
{
    uint64_t all;
    memcpy(&all, &node->threshold, sizeof all);
    return (uint32_t) all;
}

/* Whether a category is in a subset; a missing one is not. */
DF_INLINE int df_in_subset(const uint64_t *words, uint32_t place, double value)
{
    uint32_t code;
    if (!(value >= 0.0 && value < 65536.0)) /* no category has such a number */
        return 0;
    code = (uint32_t) value;
    return code / 64 < words[place] && (words[place + 1 + code / 64] >> (code % 64) & 1);
}

/* Whether a row goes left, given the value that a node tests. IN flags: DF_MISSING_LEFT or 0 */
DF_INLINE int df_left_by_number(double value, double threshold, uint32_t flags)
{
    return (value <= threshold) | ((value != value) & flags);
}

/* Whether a row goes left, given the value that a test of categories looks at; the words of the subset begin at `place`. */
DF_INLINE int df_left_by_subset(double value, const uint64_t *words, uint32_t place, uint32_t flags)
{
    return df_in_subset(words, place, value) ^ (flags & DF_MISSING_LEFT);
}

/* The slot a row goes to. IN x: the row; mode, is_wide, is_double: constants where it is called. */
DF_INLINE uint32_t df_step(const char *tree, uint32_t at, const char *x, const df_packed *forest, uint32_t bits,
                           int mode, int is_wide, int is_double)
{
    const df_narrow *narrow = (const df_narrow *) tree + at;
    const df_wide *wide = (const df_wide *) tree + at;
    const uint32_t word = is_wide ? wide->word : narrow->word;
    const uint32_t feature = word & ((1u << bits) - 1), flags = word >> bits;
    const uint32_t slot = is_wide ? wide->slot : word >> (bits + 2);
    int left, is_missing;
    if (!is_double && !is_wide) {
        const float value = ((const float *) x)[feature];
        left = value <= narrow->threshold;
        is_missing = value != value;
    } else {
        const double value = is_double ? ((const double *) x)[feature] : ((const float *) x)[feature];
        left = value <= (is_wide ? wide->threshold : narrow->threshold);
        is_missing = value != value;
    }
    if (mode != DF_NUMBERS)
        left |= is_missing & flags;              /* the lowest flag: DF_MISSING_LEFT */
    if (mode == DF_SUBSETS && (flags & DF_IS_SUBSET)) {
        const double value = is_double ? ((const double *) x)[feature] : ((const float *) x)[feature];
        const uint32_t place = is_wide ? df_wide_bits(wide) : df_low_bits(&narrow->threshold);
        left = df_left_by_subset(value, forest->words, place, flags);
    }
    return slot + !left;
}

/* The slot of an inner node's left child. */
DF_INLINE uint32_t df_child(const char *tree, uint32_t at, const df_packed *forest)
{
    return forest->is_wide ? ((const df_wide *) tree)[at].slot : ((const df_narrow *) tree)[at].word >> (forest->bits + 2);
}

/* A leaf's slot is the only one before itself. No branch: which rows have arrived is hard to foresee. */
DF_INLINE int df_is_leaf(const char *tree, uint32_t at, const df_packed *forest)
{
    return df_child(tree, at, forest) < at;
}

DF_INLINE uint32_t df_feature(const char *tree, uint32_t at, const df_packed *forest)
{
    const uint32_t word = forest->is_wide ? ((const df_wide *) tree)[at].word : ((const df_narrow *) tree)[at].word;
    return word & ((1u << forest->bits) - 1);
}

DF_INLINE uint32_t df_value_row(const char *tree, uint32_t at, const df_packed *forest)
{
    return forest->is_wide ? df_wide_bits((const df_wide *) tree + at)
                           : df_low_bits(&((const df_narrow *) tree)[at].threshold) & (DF_VALUE_ROWS - 1);
}

/* Where the words of a slot's subset begin in df_packed.words, their number first. */
DF_INLINE uint32_t df_place(const char *tree, uint32_t at, const df_packed *forest)
{
    return forest->is_wide ? df_wide_bits((const df_wide *) tree + at) : df_low_bits(&((const df_narrow *) tree)[at].threshold);
}

/* Write a slot. IN flags: DF_MISSING_LEFT or 0; slot: of the left child. */
DF_INLINE void df_write_number(char *tree, uint32_t at, uint32_t feature, uint32_t flags, double threshold, uint32_t slot,
                               const df_packed *forest)
{
    const uint32_t word = feature | flags << forest->bits;
    if (forest->is_wide) {
        const df_wide node = {threshold, word, slot};
        ((df_wide *) tree)[at] = node;
    } else {
        const df_narrow node = {(float) threshold, word | slot << (forest->bits + 2)};
        ((df_narrow *) tree)[at] = node;
    }
}

DF_INLINE void df_write_subset(char *tree, uint32_t at, uint32_t feature, uint32_t flags, uint32_t place, uint32_t slot,
                               const df_packed *forest)
{
    const uint64_t bits = place;
    df_write_number(tree, at, feature, flags | DF_IS_SUBSET, 0.0, slot, forest);
    if (forest->is_wide)
        memcpy(&((df_wide *) tree)[at].threshold, &bits, sizeof bits);
    else
        memcpy(&((df_narrow *) tree)[at].threshold, &place, sizeof place);
}

DF_INLINE void df_write_leaf(char *tree, uint32_t at, uint32_t value_row, const df_packed *forest)
{
    const uint64_t wide = 0x7FF8000000000000u | value_row;
    const uint32_t narrow = 0x7FC00000u | value_row;
    df_write_number(tree, at, 0, 0, 0.0, at - 1, forest);
    if (forest->is_wide)
        memcpy(&((df_wide *) tree)[at].threshold, &wide, sizeof wide);
    else
        memcpy(&((df_narrow *) tree)[at].threshold, &narrow, sizeof narrow);
}

/* The slot a row goes to, given the value of the feature that the node tests. */
DF_INLINE uint32_t df_step_by(const char *tree, uint32_t at, double value, const df_packed *forest)
{
    const df_narrow *narrow = (const df_narrow *) tree + at;
    const df_wide *wide = (const df_wide *) tree + at;
    const uint32_t flags = (forest->is_wide ? wide->word : narrow->word) >> forest->bits;
    const uint32_t slot = forest->is_wide ? wide->slot : flags >> 2;
    int left;
    if (flags & DF_IS_SUBSET)
        left = df_left_by_subset(value, forest->words, df_place(tree, at, forest), flags);
    else
        left = df_left_by_number(value, forest->is_wide ? wide->threshold : narrow->threshold, flags);
    return slot + !left;
}

/* DF_LANES rows, some steps each. IN trees, x: of each lane; INOUT at. */
DF_INLINE void df_steps(const char *const *trees, const char *const *x, uint32_t *at, int n_steps, const df_packed *forest,
                        int mode, int is_wide, int is_double)
{
    const uint32_t bits = is_wide ? 30 : forest->bits;
    int step, j;
    for (step = 0; step < n_steps; step++)
        DF_UNROLLED
        for (j = 0; j < DF_LANES; j++)
            at[j] = df_step(trees[j], at[j], x[j], forest, bits, mode, is_wide, is_double);
}

/* Some rows down one tree, in rounds of a few steps, each with the rows that are not at a leaf yet.

   With two lanes in place of 16, rows 0 to 4 and leaves at the depths 3, 9, 3, 9 and 9, let n_first be 4 and a later round have
   6 steps. The first round takes the rows 0 1, 2 3 and 4 4 (a lane that is left over repeats the last row) four steps down;
   the rows 0 and 2 have arrived, `left` is 1, 3, 4. The second round takes 1 3 and 4 4 six steps further, and all are there:
   10 steps of pairs, in which the accesses of one row to memory do not wait for those of the other. */
DF_INLINE void df_rounds(const df_packed *forest, const char *tree, int n_first, const df_rows *rows,
                         const uint32_t *numbers, size_t first, size_t n, uint32_t *at, uint32_t *left, int mode,
                         int is_wide, int is_double)
{
    const char *x[DF_LANES], *trees[DF_LANES];
    uint32_t lanes[DF_LANES], place[DF_LANES];
    size_t i, n_left = n, n_next;
    int j, n_lanes, is_first;
    for (j = 0; j < DF_LANES; j++)
        trees[j] = tree;
    for (is_first = 1; n_left > 0; is_first = 0) {
        n_next = 0;
        for (i = 0; i < n_left; i += DF_LANES) {
            n_lanes = n_left - i < DF_LANES ? (int) (n_left - i) : DF_LANES;
            for (j = 0; j < DF_LANES; j++) {             /* lanes that are left over repeat the last row */
                place[j] = (uint32_t) (i + (j < n_lanes ? j : n_lanes - 1));
                if (!is_first)
                    place[j] = left[place[j]];
                lanes[j] = is_first ? 1 : at[place[j]];
                x[j] = df_row(rows, numbers ? numbers[place[j]] : first + place[j]);
            }
            df_steps(trees, x, lanes, is_first ? n_first : DF_ROUND, forest, mode, is_wide, is_double);
            for (j = 0; j < n_lanes; j++) {
                at[place[j]] = lanes[j];
                left[n_next] = place[j];                 /* n_next <= i + j: what is read later is not overwritten */
                n_next += !df_is_leaf(tree, lanes[j], forest);
            }
        }
        n_left = n_next;
    }
}

/* One row down some trees, DF_LANES at a time. OUT at : [n_trees] */
DF_INLINE void df_fan(const df_packed *forest, const char *row, size_t n_trees, uint32_t *at, int mode, int is_wide,
                      int is_double)
{
    const char *x[DF_LANES], *trees[DF_LANES];
    uint32_t lanes[DF_LANES];
    size_t t;
    int j, n_lanes, n_done;
    for (j = 0; j < DF_LANES; j++)
        x[j] = row;
    for (t = 0; t < n_trees; t += DF_LANES) {
        n_lanes = n_trees - t < DF_LANES ? (int) (n_trees - t) : DF_LANES;
        for (j = 0; j < DF_LANES; j++) {
            trees[j] = df_tree(forest, t + (j < n_lanes ? j : n_lanes - 1));
            lanes[j] = 1;
        }
        do {
            df_steps(trees, x, lanes, DF_ROUND, forest, mode, is_wide, is_double);
            n_done = 0;
            for (j = 0; j < n_lanes; j++)
                n_done += df_is_leaf(trees[j], lanes[j], forest);
        } while (n_done < n_lanes);
        memcpy(at + t, lanes, n_lanes * sizeof *at);
    }
}

/* CALL(mode, is_wide, is_double) with constants. */
#define DF_BY_MODE(CALL, is_wide, is_double) \
    do { \
        if (mode == DF_NUMBERS) \
            CALL(DF_NUMBERS, is_wide, is_double); \
        else if (mode == DF_MISSING) \
            CALL(DF_MISSING, is_wide, is_double); \
        else \
            CALL(DF_SUBSETS, is_wide, is_double); \
    } while (0)

#define DF_BY_KIND(CALL) \
    do { \
        if (forest->is_wide && rows->is_double) \
            DF_BY_MODE(CALL, 1, 1); \
        else if (forest->is_wide) \
            DF_BY_MODE(CALL, 1, 0); \
        else if (rows->is_double) \
            DF_BY_MODE(CALL, 0, 1); \
        else \
            DF_BY_MODE(CALL, 0, 0); \
    } while (0)

/* Some rows down a tree.

   IN n_first : steps of all rows before any is asked whether it has arrived
   IN numbers : [n] of the rows; NULL: first, first + 1, ...
   OUT at : [n] the slots of the leaves
   OUT left : [n] scratch */
DF_FUNCTION void df_walk_rows(const df_packed *forest, size_t t, int n_first, const df_rows *rows, const uint32_t *numbers,
                         size_t first, size_t n, uint32_t *at, uint32_t *left, int mode)
{
#define DF_CALL(...) df_rounds(forest, df_tree(forest, t), n_first, rows, numbers, first, n, at, left, __VA_ARGS__)
    DF_BY_KIND(DF_CALL);
#undef DF_CALL
}

/* A row down all trees. OUT at : [n_trees] the slots of the leaves */
DF_FUNCTION void df_walk_trees(const df_packed *forest, size_t n_trees, const df_rows *rows, size_t i, uint32_t *at, int mode)
{
#define DF_CALL(...) df_fan(forest, df_row(rows, i), n_trees, at, __VA_ARGS__)
    DF_BY_KIND(DF_CALL);
#undef DF_CALL
}

/* The mode that some rows need: whether a value is missing. */
DF_FUNCTION int df_mode(const df_packed *forest, const df_rows *rows, size_t first, size_t n, size_t n_features)
{
    size_t i, k;
    int missing = 0;
    if (forest->words != NULL)
        return DF_SUBSETS;
    for (i = first; i < first + n && !missing; i++) {
        if (rows->is_double) {
            const double *x = (const double *) df_row(rows, i);
            for (k = 0; k < n_features; k++)
                missing |= x[k] != x[k];
        } else {
            const float *x = (const float *) df_row(rows, i);
            for (k = 0; k < n_features; k++)
                missing |= x[k] != x[k];
        }
    }
    return missing ? DF_MISSING : DF_NUMBERS;
}

/* Add what a tree says of some rows.

   IN at : [n] slots of leaves
   IN values : [., n_outputs] the forest's, from the tree's first
   INOUT sums : [n, n_outputs] */
DF_FUNCTION void df_add_values(const df_packed *forest, size_t t, const uint32_t *at, size_t n, const double *values,
                          size_t n_outputs, double *sums)
{
    const char *tree = df_tree(forest, t);
    const double *value;
    size_t i, k;
    if (n_outputs == 1)
        for (i = 0; i < n; i++)
            sums[i] += values[df_value_row(tree, at[i], forest)];
    else if (n_outputs == 2)
        for (i = 0; i < n; i++) {
            double first, second;                        /* both are read before either sum is written: one addition of two */
            value = values + 2 * (size_t) df_value_row(tree, at[i], forest);
            first = sums[2 * i] + value[0];
            second = sums[2 * i + 1] + value[1];
            sums[2 * i] = first;
            sums[2 * i + 1] = second;
        }
    else
        for (i = 0; i < n; i++) {
            value = values + n_outputs * df_value_row(tree, at[i], forest);
            for (k = 0; k < n_outputs; k++)
                sums[n_outputs * i + k] += value[k];
        }
}

#endif
