/* Many rows down trees of few leaves, by bitmasks (C99 and C++).

   Rows lie in tiles (tiles.h). A row's *bitmask* has a bit for each leaf of a tree that the row may still reach, the lowest bit
   for the leftmost leaf. All tests of a tree are made for all rows, in any order: if a row goes right at a node, the leaves on
   the left of this node are taken from the row's bitmask. In the end the lowest bit of the bitmask is the row's leaf. No test
   waits for another one, and a test is a comparison and a bitwise operation on the keys of DF_LANES rows at once.

   Keys and bitmasks have 32 bits for trees of narrow slots and 64 bits for trees of wide slots (walk.h); a tree has at most as
   many leaves as a bitmask has bits. The key of a missing value is the highest, which goes right in a comparison; where missing
   values go left, 1 is added to both sides of the comparison, which makes the highest key 0.

   A few rows at a time go down all trees, so that their keys stay in the fastest cache, and the trees' tests come from the next.

   C. Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees", SIGIR 2015.

   Nothing here owns memory. */
#ifndef DFOREST_QUICKSCORER_H
#define DFOREST_QUICKSCORER_H

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "core/search/scan.h"
#include "tiles.h"

enum { DF_MAX_QUICKSCORER_LEAVES = 64 };

/* A test. */
typedef struct {
    uint64_t key;   /* a row goes left if its key is not above, after `more` is added to both where values may be missing */
    uint64_t keep;  /* what is left of the bitmask of a row that goes right */
    uint32_t place; /* of the feature's keys in a tile */
    uint32_t more;
} df_leaf_test;

/* A tree. */
typedef struct {
    const df_leaf_test *tests;
    const double *values; /* what leaves add, from left to right; or, of leaves of several values, a row for each ... */
    const uint32_t *rows; /* [n_tests + 1] ... of these rows, whose numbers are here */
    int n_tests;          /* -1: it has too many, or others than of numbers */
} df_quickscorer_tree;

/* The tests of a tree, and the slots of its leaves from left to right. Returns how many tests there are; -1: the tree has more
   than `most` leaves, or tests of categories. OUT tests, leaves : [most] */
DF_FUNCTION int df_quickscorer_tree_of(const df_packed *forest, size_t t, int most, df_leaf_test *tests, uint32_t *leaves)
{
    const char *tree = df_tree(forest, t);
    const uint32_t flags = forest->bits;
    uint32_t right[DF_MAX_QUICKSCORER_LEAVES], at = 1; /* slots of right children to come, of the tests ... */
    int test[DF_MAX_QUICKSCORER_LEAVES], first[DF_MAX_QUICKSCORER_LEAVES]; /* ... and the leaves before each */
    int n_waiting = 0, n_tests = 0, n_leaves = 0;
    for (;;) {
        if (!df_is_leaf(tree, at, forest)) {
            const uint32_t word = forest->is_wide ? ((const df_wide *) tree)[at].word : ((const df_narrow *) tree)[at].word;
            df_leaf_test *here = tests + n_tests;
            if (n_tests == most - 1 || (word >> flags & DF_IS_SUBSET))
                return -1;
            here->more = word >> flags & DF_MISSING_LEFT;
            here->place = df_feature(tree, at, forest) * DF_LANES;
            here->key = forest->is_wide ? df_ordered_key64(((const df_wide *) tree)[at].threshold)
                                        : df_ordered_key32(((const df_narrow *) tree)[at].threshold);
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
DF_INLINE void df_add_leaves(const uint32_t *leaf, size_t n, const df_quickscorer_tree *tree, size_t n_values, double *sums) {
    const double *values = tree->values;
    size_t i, k;
    if (n_values == 1)
        DF_INDEPENDENT
        for (i = 0; i < n; i++)
            sums[i] += values[leaf[i]];
    else
        for (i = 0; i < n; i++)
            for (k = 0; k < n_values; k++)
                sums[n_values * i + k] += values[n_values * tree->rows[leaf[i]] + k];
}

/* The number of the lowest bit of a bitmask of 32 bits: the exponent of the power of two that it is, for compilers to find those
   of several bitmasks at once. The highest bit alone is a negative number, which has the exponent, too. */
DF_INLINE uint32_t df_lowest_of_bitmask32(uint32_t bitmask) {
    const float power = (float) (int32_t) (bitmask & (0u - bitmask));
    uint32_t bits;
    memcpy(&bits, &power, sizeof bits);
    return (bits >> 23 & 255) - 127;
}

DF_INLINE uint32_t df_lowest_of_bitmask64(uint64_t bitmask) {
    return (uint32_t) df_lowest_bit(bitmask);
}

/* Rows in tiles down the trees from `first` to end - 1, all of which have few leaves, by vectors that are as long as registers:
   four of them stay in registers from test to test, and wait for no other.

   IN has_missing : whether values may be missing
   IN n_values : of a leaf. If it is 1, trees take turns at the n_outputs sums of a row: tree t adds to sum t % n_outputs
   IN tiles : [n, rounded up to DF_LANES, size / DF_LANES]
   INOUT sums : [n_outputs, n], or, of leaves of several values, [n, n_outputs] */
#if defined(__GNUC__)
#if defined(__AVX512F__)
#define DF_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define DF_VECTOR_BYTES 32
#else
#define DF_VECTOR_BYTES 16
#endif
typedef uint32_t df_lanes32 __attribute__((vector_size(DF_VECTOR_BYTES)));
typedef uint64_t df_lanes64 __attribute__((vector_size(DF_VECTOR_BYTES)));

/* The bitmasks of rows after a test. With AVX-512, compilers find no masks for what the other sets have in two steps. */
#if defined(__AVX512F__)
#define DF_LEAVES_AFTER(bits, bitmasks, keys, key, keep)                                                                 \
    (df_lanes##bits) _mm512_mask_and_epi##bits((__m512i) bitmasks,                                                       \
                                               _mm512_cmpgt_epu##bits##_mask((__m512i) keys, (__m512i) key),             \
                                               (__m512i) bitmasks, (__m512i) keep)
#else
#define DF_LEAVES_AFTER(bits, bitmasks, keys, key, keep) (bitmasks & ((df_lanes##bits) (keys <= key) | keep))
#endif
#define DF_APPLY_TEST(bits, bitmasks, of)                                                                            \
    do {                                                                                                             \
        df_lanes##bits keys;                                                                                         \
        memcpy(&keys, (of) + here->place, DF_VECTOR_BYTES);                                                          \
        if (has_missing)                                                                                             \
            keys += more;                                                                                            \
        bitmasks = DF_LEAVES_AFTER(bits, bitmasks, keys, key, keep);                                                 \
    } while (0)
#define DF_QUICKSCORER_LOOP(bits)                                                                                               \
    DF_INLINE void df_quickscorer_loop##bits(const int has_missing, const df_quickscorer_tree *trees, size_t first, size_t end, \
                                             size_t n_values, size_t n_outputs, const uint##bits##_t *tiles, size_t size,       \
                                             size_t n, double *sums)                                                            \
    {                                                                                                                           \
        enum { WIDTH = DF_VECTOR_BYTES * 8 / bits, STEP = 4 * WIDTH };                                                          \
        size_t i, j, t;                                                                                                         \
        for (i = 0; i < n; i += STEP) {                                                                                         \
            const uint##bits##_t *x[4];                                                                                         \
            for (j = 0; j < 4; j++) { /* vectors beyond the last row repeat the first one's rows */                             \
                const size_t row = i + j * WIDTH < n ? i + j * WIDTH : i;                                                       \
                x[j] = tiles + row / DF_LANES * size + row % DF_LANES;                                                          \
            }                                                                                                                   \
            for (t = first; t < end; t++) {                                                                                     \
                df_lanes##bits a, b, c, d;                                                                                      \
                uint##bits##_t left[STEP];                                                                                      \
                uint32_t leaf[STEP];                                                                                            \
                double *to = sums + (n_values == 1 ? t % n_outputs * n + i : n_values * i);                                     \
                memset(&a, 0xFF, DF_VECTOR_BYTES);                                                                              \
                b = c = d = a;                                                                                                  \
                for (int k = 0; k < trees[t].n_tests; k++) {                                                                    \
                    const df_leaf_test *here = trees[t].tests + k;                                                              \
                    const uint##bits##_t more = has_missing ? (uint##bits##_t) here->more : 0;                                  \
                    const df_lanes##bits key = (uint##bits##_t) (here->key + more) + (df_lanes##bits){0};                       \
                    const df_lanes##bits keep = (uint##bits##_t) here->keep + (df_lanes##bits){0};                              \
                    DF_APPLY_TEST(bits, a, x[0]);                                                                               \
                    DF_APPLY_TEST(bits, b, x[1]);                                                                               \
                    DF_APPLY_TEST(bits, c, x[2]);                                                                               \
                    DF_APPLY_TEST(bits, d, x[3]);                                                                               \
                }                                                                                                               \
                memcpy(left, &a, DF_VECTOR_BYTES);                                                                              \
                memcpy(left + WIDTH, &b, DF_VECTOR_BYTES);                                                                      \
                memcpy(left + 2 * WIDTH, &c, DF_VECTOR_BYTES);                                                                  \
                memcpy(left + 3 * WIDTH, &d, DF_VECTOR_BYTES);                                                                  \
                for (j = 0; j < STEP; j++)                                                                                      \
                    leaf[j] = df_lowest_of_bitmask##bits(left[j]);                                                              \
                if (n - i >= STEP)                                                                                              \
                    df_add_leaves(leaf, STEP, &trees[t], n_values, to);                                                         \
                else                                                                                                            \
                    df_add_leaves(leaf, n - i, &trees[t], n_values, to);                                                        \
            }                                                                                                                   \
        }                                                                                                                       \
    }
#else
#define DF_QUICKSCORER_LOOP(bits)                                                                                               \
    DF_INLINE void df_quickscorer_loop##bits(const int has_missing, const df_quickscorer_tree *trees, size_t first, size_t end, \
                                             size_t n_values, size_t n_outputs, const uint##bits##_t *tiles, size_t size,       \
                                             size_t n, double *sums)                                                            \
    {                                                                                                                           \
        for (size_t i = 0; i < n; i++) {                                                                                        \
            const uint##bits##_t *x = tiles + i / DF_LANES * size + i % DF_LANES;                                               \
            for (size_t t = first; t < end; t++) {                                                                              \
                uint##bits##_t bitmask = ~(uint##bits##_t) 0;                                                                   \
                uint32_t leaf;                                                                                                  \
                for (int k = 0; k < trees[t].n_tests; k++) {                                                                    \
                    const df_leaf_test *here = trees[t].tests + k;                                                              \
                    const uint##bits##_t more = has_missing ? (uint##bits##_t) here->more : 0;                                  \
                    if ((uint##bits##_t) (x[here->place] + more) > (uint##bits##_t) (here->key + more))                         \
                        bitmask &= (uint##bits##_t) here->keep;                                                                 \
                }                                                                                                               \
                leaf = df_lowest_of_bitmask##bits(bitmask);                                                                     \
                df_add_leaves(&leaf, 1, &trees[t], n_values,                                                                    \
                              sums + (n_values == 1 ? t % n_outputs * n + i : n_values * i));                                   \
            }                                                                                                                   \
        }                                                                                                                       \
    }
#endif
DF_QUICKSCORER_LOOP(32)
DF_QUICKSCORER_LOOP(64)

#endif
