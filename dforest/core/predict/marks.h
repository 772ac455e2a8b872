/* Many rows down trees of few leaves, by marks (C99 and C++).

   Rows lie in tiles (tiles.h). A row's *mark* has a bit for each leaf of a tree that the row may still reach, the lowest bit for
   the leftmost leaf. All tests of a tree are made for all rows, in any order: if a row goes right at a node, the leaves on the
   left of this node are taken from the row's mark. In the end the lowest bit of the mark is the row's leaf. No test waits for
   another one, and a test is a comparison and a bitwise operation on the keys of DF_LANES rows at once.

   Keys and marks have 32 bits for trees of narrow slots and 64 bits for trees of wide slots (walk.h); a tree has at most as many
   leaves as a mark has bits. The key of a missing value is the highest, which goes right in a comparison; where missing values
   go left, 1 is added to both sides of the comparison, which makes the highest key 0.

   C. Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees", SIGIR 2015.

   Nothing here owns memory. */
#ifndef DFOREST_MARKS_H
#define DFOREST_MARKS_H

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

/* Rows in tiles to their leaves, by vectors of `bytes`, those of the registers: four of them stay in registers from test to test,
   and wait for no other.

   IN tests, leaves : of a tree; has_missing : whether values may be missing
   IN tiles : [n, rounded up to DF_LANES, size / DF_LANES]
   OUT at : [n] the slots of the leaves */
#if defined(__GNUC__)
#define DF_TAKE_LEAVES(bits, bytes, marks, of)                                                                       \
    do {                                                                                                             \
        df_lanes##bits##x##bytes keys;                                                                               \
        memcpy(&keys, (of) + here->place, bytes);                                                                    \
        if (has_missing)                                                                                             \
            keys += more;                                                                                            \
        marks &= (df_lanes##bits##x##bytes) (keys <= key) | keep;                                                    \
    } while (0)
#define DF_MARK_LOOP(bits, bytes)                                                                                    \
    typedef uint##bits##_t df_lanes##bits##x##bytes __attribute__((vector_size(bytes)));                             \
    DF_INLINE void df_mark_loop##bits##x##bytes(const int has_missing, const df_marked *tests, int n_tests,          \
                                                const uint32_t *leaves, const uint##bits##_t *tiles, size_t size,    \
                                                size_t n, uint32_t *at)                                              \
    {                                                                                                                \
        enum { WIDTH = bytes * 8 / bits, STEP = 4 * WIDTH };                                                         \
        size_t i, j;                                                                                                 \
        for (i = 0; i < n; i += STEP) {                                                                              \
            df_lanes##bits##x##bytes a, b, c, d;                                                                     \
            uint##bits##_t left[STEP];                                                                               \
            const uint##bits##_t *x[4];                                                                              \
            for (j = 0; j < 4; j++) { /* vectors beyond the last row repeat the first one's rows */                  \
                const size_t row = i + j * WIDTH < n ? i + j * WIDTH : i;                                            \
                x[j] = tiles + row / DF_LANES * size + row % DF_LANES;                                               \
            }                                                                                                        \
            memset(&a, 0xFF, bytes);                                                                                 \
            b = c = d = a;                                                                                           \
            for (int k = 0; k < n_tests; k++) {                                                                      \
                const df_marked *here = tests + k;                                                                   \
                const uint##bits##_t more = has_missing ? (uint##bits##_t) here->more : 0;                           \
                const uint##bits##_t key = (uint##bits##_t) (here->key + more), keep = (uint##bits##_t) here->keep;  \
                DF_TAKE_LEAVES(bits, bytes, a, x[0]);                                                                \
                DF_TAKE_LEAVES(bits, bytes, b, x[1]);                                                                \
                DF_TAKE_LEAVES(bits, bytes, c, x[2]);                                                                \
                DF_TAKE_LEAVES(bits, bytes, d, x[3]);                                                                \
            }                                                                                                        \
            memcpy(left, &a, bytes);                                                                                 \
            memcpy(left + WIDTH, &b, bytes);                                                                         \
            memcpy(left + 2 * WIDTH, &c, bytes);                                                                     \
            memcpy(left + 3 * WIDTH, &d, bytes);                                                                     \
            for (j = 0; j < STEP && i + j < n; j++)                                                                  \
                at[i + j] = leaves[df_lowest_bit(left[j])];                                                          \
        }                                                                                                            \
    }
#else
#define DF_MARK_LOOP(bits, bytes)                                                                                    \
    DF_INLINE void df_mark_loop##bits##x##bytes(const int has_missing, const df_marked *tests, int n_tests,          \
                                                const uint32_t *leaves, const uint##bits##_t *tiles, size_t size,    \
                                                size_t n, uint32_t *at)                                              \
    {                                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                             \
            const uint##bits##_t *x = tiles + i / DF_LANES * size + i % DF_LANES;                                    \
            uint##bits##_t mark = ~(uint##bits##_t) 0;                                                               \
            for (int k = 0; k < n_tests; k++) {                                                                      \
                const uint##bits##_t more = has_missing ? (uint##bits##_t) tests[k].more : 0;                        \
                if ((uint##bits##_t) (x[tests[k].place] + more) > (uint##bits##_t) (tests[k].key + more))            \
                    mark &= (uint##bits##_t) tests[k].keep;                                                          \
            }                                                                                                        \
            at[i] = leaves[df_lowest_bit(mark)];                                                                     \
        }                                                                                                            \
    }
#endif
DF_MARK_LOOP(32, 16)
DF_MARK_LOOP(32, 32)
DF_MARK_LOOP(32, 64)
DF_MARK_LOOP(64, 16)
DF_MARK_LOOP(64, 32)
DF_MARK_LOOP(64, 64)

#endif
