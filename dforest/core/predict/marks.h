/* Many rows down trees of few leaves, by marks (C99 and C++).

   Rows lie in tiles (tiles.h). A row's *mark* has a bit for each leaf of a tree that the row may still reach, the lowest bit for
   the leftmost leaf. All tests of a tree are made for all rows, in any order: if a row goes right at a node, the leaves on the
   left of this node are taken from the row's mark. In the end the lowest bit of the mark is the row's leaf. No test waits for
   another one, and a test is a comparison and a bitwise operation on the keys of DF_LANES rows at once.

   Keys and marks have 32 bits for trees of narrow slots and 64 bits for trees of wide slots (walk.h); a tree has at most as many
   leaves as a mark has bits. The key of a missing value is the highest, which goes right in a comparison; where missing values
   go left, 1 is added to both sides of the comparison, which makes the highest key 0.

   A few rows at a time go down all trees, so that their keys stay in the fastest cache, and the trees' tests come from the next.

   C. Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees", SIGIR 2015.

   Nothing here owns memory. */
#ifndef DFOREST_MARKS_H
#define DFOREST_MARKS_H

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "core/search/scan.h"
#include "tiles.h"

enum { DF_MAX_MARKED = 64 }; /* leaves */

/* A test. */
typedef struct {
    uint64_t key;   /* a row goes left if its key is not above, after `more` is added to both where values may be missing */
    uint64_t keep;  /* what is left of the mark of a row that goes right */
    uint32_t place; /* of the feature's keys in a tile */
    uint32_t more;
} df_marked;

/* A tree. */
typedef struct {
    const df_marked *tests;
    const double *values; /* what leaves add, from left to right; or, of leaves of several values, a row for each ... */
    const uint32_t *rows; /* [n_tests + 1] ... of these rows, whose numbers are here */
    int n_tests;          /* -1: it has too many, or others than of numbers */
} df_marked_tree;

/* The tests of a tree, and the slots of its leaves from left to right. Returns how many tests there are; -1: the tree has more
   than `most` leaves, or tests of categories. OUT tests, leaves : [most] */
DF_FUNCTION int df_mark_tree(const df_packed *forest, size_t t, int most, df_marked *tests, uint32_t *leaves)
{
    const char *tree = df_tree(forest, t);
    const uint32_t flags = forest->bits;
    uint32_t right[DF_MAX_MARKED], at = 1; /* slots of right children to come, of the tests ... */
    int test[DF_MAX_MARKED], first[DF_MAX_MARKED], n_waiting = 0, n_tests = 0, n_leaves = 0; /* ... and the leaves before each */
    for (;;) {
        if (!df_is_leaf(tree, at, forest)) {
            const uint32_t word = forest->is_wide ? ((const df_wide *) tree)[at].word : ((const df_narrow *) tree)[at].word;
            df_marked *here = tests + n_tests;
            if (n_tests == most - 1 || (word >> flags & DF_IS_SUBSET))
                return -1;
            here->more = word >> flags & DF_MISSING_LEFT;
            here->place = df_feature(tree, at, forest) * DF_LANES;
            here->key = forest->is_wide ? df_key64(((const df_wide *) tree)[at].threshold)
                                        : df_key32(((const df_narrow *) tree)[at].threshold);
            test[n_waiting] = n_tests++;
            first[n_waiting] = n_leaves;
            at = df_child(tree, at, forest);
            right[n_waiting++] = at + 1;
            continue;
        }
        leaves[n_leaves++] = at;
        if (n_waiting == 0)
            return n_tests;
        at = right[--n_waiting];
        tests[test[n_waiting]].keep = ~(((uint64_t) 2 << (n_leaves - 1)) - ((uint64_t) 1 << first[n_waiting]));
    }
}

/* Add what leaves of a tree say, given by their numbers, to the sums of n rows. INOUT sums : [n, n_values] */
DF_INLINE void df_add_leaves(const uint32_t *leaf, size_t n, const df_marked_tree *tree, size_t n_values, double *sums) {
    const double *values = tree->values;
    size_t i, k;
    if (n_values == 1)
#if defined(__GNUC__)
#pragma GCC ivdep
#endif
        for (i = 0; i < n; i++)
            sums[i] += values[leaf[i]];
    else
        for (i = 0; i < n; i++)
            for (k = 0; k < n_values; k++)
                sums[n_values * i + k] += values[n_values * tree->rows[leaf[i]] + k];
}

/* The number of the lowest bit of a mark of 32 bits: the exponent of the power of two that it is, for compilers to find those of
   several marks at once. The highest bit alone is a negative number, which has the exponent, too. */
DF_INLINE uint32_t df_lowest_of_mark32(uint32_t mark) {
    const float power = (float) (int32_t) (mark & (0u - mark));
    uint32_t bits;
    memcpy(&bits, &power, sizeof bits);
    return (bits >> 23 & 255) - 127;
}

DF_INLINE uint32_t df_lowest_of_mark64(uint64_t mark) {
    return (uint32_t) df_lowest_bit(mark);
}

/* Rows in tiles down the trees from `first` to end - 1, all of which are marked, by vectors that are as long as registers: four of
   them stay in registers from test to test, and wait for no other.

   IN has_missing : whether values may be missing
   IN n_values : of a leaf. If it is 1, trees take turns at the n_outputs sums of a row: tree t adds to sum t % n_outputs
   IN tiles : [n, rounded up to DF_LANES, size / DF_LANES]
   INOUT sums : [n_outputs, n], or, of leaves of several values, [n, n_outputs] */
#if defined(__GNUC__)
#if defined(__AVX512F__)
#define DF_MARK_BYTES 64
#elif defined(__AVX2__)
#define DF_MARK_BYTES 32
#else
#define DF_MARK_BYTES 16
#endif
typedef uint32_t df_lanes32 __attribute__((vector_size(DF_MARK_BYTES)));
typedef uint64_t df_lanes64 __attribute__((vector_size(DF_MARK_BYTES)));

/* The marks of rows after a test. With AVX-512, compilers find no masks for what the other sets have in two steps. */
#if defined(__AVX512F__)
#define DF_MARKS_AFTER(bits, marks, keys, key, keep)                                                                 \
    (df_lanes##bits) _mm512_mask_and_epi##bits((__m512i) marks,                                                      \
                                               _mm512_cmpgt_epu##bits##_mask((__m512i) keys, (__m512i) key),         \
                                               (__m512i) marks, (__m512i) keep)
#else
#define DF_MARKS_AFTER(bits, marks, keys, key, keep) (marks & ((df_lanes##bits) (keys <= key) | keep))
#endif
#define DF_TAKE_LEAVES(bits, marks, of)                                                                              \
    do {                                                                                                             \
        df_lanes##bits keys;                                                                                         \
        memcpy(&keys, (of) + here->place, DF_MARK_BYTES);                                                            \
        if (has_missing)                                                                                             \
            keys += more;                                                                                            \
        marks = DF_MARKS_AFTER(bits, marks, keys, key, keep);                                                        \
    } while (0)
#define DF_MARK_LOOP(bits)                                                                                           \
    DF_INLINE void df_mark_loop##bits(const int has_missing, const df_marked_tree *trees, size_t first, size_t end,  \
                                      size_t n_values, size_t n_outputs, const uint##bits##_t *tiles, size_t size,   \
                                      size_t n, double *sums)                                                        \
    {                                                                                                                \
        enum { WIDTH = DF_MARK_BYTES * 8 / bits, STEP = 4 * WIDTH };                                                 \
        size_t i, j, t;                                                                                              \
        for (i = 0; i < n; i += STEP) {                                                                              \
            const uint##bits##_t *x[4];                                                                              \
            for (j = 0; j < 4; j++) { /* vectors beyond the last row repeat the first one's rows */                  \
                const size_t row = i + j * WIDTH < n ? i + j * WIDTH : i;                                            \
                x[j] = tiles + row / DF_LANES * size + row % DF_LANES;                                               \
            }                                                                                                        \
            for (t = first; t < end; t++) {                                                                          \
                df_lanes##bits a, b, c, d;                                                                           \
                uint##bits##_t left[STEP];                                                                           \
                uint32_t leaf[STEP];                                                                                 \
                double *to = sums + (n_values == 1 ? t % n_outputs * n + i : n_values * i);                          \
                memset(&a, 0xFF, DF_MARK_BYTES);                                                                     \
                b = c = d = a;                                                                                       \
                for (int k = 0; k < trees[t].n_tests; k++) {                                                         \
                    const df_marked *here = trees[t].tests + k;                                                      \
                    const uint##bits##_t more = has_missing ? (uint##bits##_t) here->more : 0;                       \
                    const df_lanes##bits key = (uint##bits##_t) (here->key + more) + (df_lanes##bits){0};            \
                    const df_lanes##bits keep = (uint##bits##_t) here->keep + (df_lanes##bits){0};                   \
                    DF_TAKE_LEAVES(bits, a, x[0]);                                                                   \
                    DF_TAKE_LEAVES(bits, b, x[1]);                                                                   \
                    DF_TAKE_LEAVES(bits, c, x[2]);                                                                   \
                    DF_TAKE_LEAVES(bits, d, x[3]);                                                                   \
                }                                                                                                    \
                memcpy(left, &a, DF_MARK_BYTES);                                                                     \
                memcpy(left + WIDTH, &b, DF_MARK_BYTES);                                                             \
                memcpy(left + 2 * WIDTH, &c, DF_MARK_BYTES);                                                         \
                memcpy(left + 3 * WIDTH, &d, DF_MARK_BYTES);                                                         \
                for (j = 0; j < STEP; j++)                                                                           \
                    leaf[j] = df_lowest_of_mark##bits(left[j]);                                                      \
                if (n - i >= STEP)                                                                                   \
                    df_add_leaves(leaf, STEP, &trees[t], n_values, to);                                              \
                else                                                                                                 \
                    df_add_leaves(leaf, n - i, &trees[t], n_values, to);                                             \
            }                                                                                                        \
        }                                                                                                            \
    }
#else
#define DF_MARK_LOOP(bits)                                                                                           \
    DF_INLINE void df_mark_loop##bits(const int has_missing, const df_marked_tree *trees, size_t first, size_t end,  \
                                      size_t n_values, size_t n_outputs, const uint##bits##_t *tiles, size_t size,   \
                                      size_t n, double *sums)                                                        \
    {                                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                             \
            const uint##bits##_t *x = tiles + i / DF_LANES * size + i % DF_LANES;                                    \
            for (size_t t = first; t < end; t++) {                                                                   \
                uint##bits##_t mark = ~(uint##bits##_t) 0;                                                           \
                uint32_t leaf;                                                                                       \
                for (int k = 0; k < trees[t].n_tests; k++) {                                                         \
                    const df_marked *here = trees[t].tests + k;                                                      \
                    const uint##bits##_t more = has_missing ? (uint##bits##_t) here->more : 0;                       \
                    if ((uint##bits##_t) (x[here->place] + more) > (uint##bits##_t) (here->key + more))              \
                        mark &= (uint##bits##_t) here->keep;                                                         \
                }                                                                                                    \
                leaf = df_lowest_of_mark##bits(mark);                                                                \
                df_add_leaves(&leaf, 1, &trees[t], n_values,                                                         \
                              sums + (n_values == 1 ? t % n_outputs * n + i : n_values * i));                        \
            }                                                                                                        \
        }                                                                                                            \
    }
#endif
DF_MARK_LOOP(32)
DF_MARK_LOOP(64)

#endif
