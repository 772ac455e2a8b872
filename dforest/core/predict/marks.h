/* Many rows down trees of few leaves, by marks (C99 and C++).

   Words: as in walk.h and tiles.h. A row's *mark* has a bit for each leaf of a tree that it may still reach, the lowest for the
   leftmost leaf. All tests of a tree are made for all rows, in any order: if a row goes right, the leaves on the left of that node
   are taken from its mark. In the end the lowest bit is its leaf. So there is nothing to wait for, and a test is a comparison and
   a bitwise operation on the keys of DF_LANES rows at once.

   Keys and marks have 32 bits for trees of narrow slots, and 64 for those of wide ones; so a tree has as many leaves at most.
   The key of a missing value is the highest. It goes right in a comparison; where missing values go left, 1 is added to both
   sides of it, which makes the highest key 0.

   C. Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees", SIGIR 2015.

   Nothing here owns memory. */
#ifndef DFOREST_MARKS_H
#define DFOREST_MARKS_H

#include "core/search/scan.h"
#include "tiles.h"

enum { DF_MOST_MARKED = 64 }; /* leaves */

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
    uint32_t right[DF_MOST_MARKED], at = 1; /* slots of right children to come, of the tests ... */
    int test[DF_MOST_MARKED], first[DF_MOST_MARKED], n_waiting = 0, n_tests = 0, n_leaves = 0; /* ... and the leaves before each */
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

#if defined(__GNUC__)
/* Lanes as a vector, which stays in registers from test to test. */
#define DF_LANES_OF(type, name)                                                                                  \
    typedef type name __attribute__((vector_size(DF_LANES * sizeof(type))));
#define DF_TAKE_LEAVES(type, vector, marks, values, here)                                                        \
    do {                                                                                                         \
        const type more = has_missing ? (type) (here)->more : 0;                                                 \
        vector keys;                                                                                             \
        memcpy(&keys, values, sizeof keys);                                                                      \
        if (has_missing)                                                                                         \
            keys += more;                                                                                        \
        marks &= (vector) (keys <= (type) ((here)->key + more)) | (type) (here)->keep;                           \
    } while (0)
#else
#define DF_LANES_OF(type, name)                                                                                  \
    typedef struct {                                                                                             \
        type lane[DF_LANES];                                                                                     \
    } name;
#define DF_TAKE_LEAVES(type, vector, marks, values, here)                                                        \
    for (int lane = 0; lane < DF_LANES; lane++)                                                                  \
        marks.lane[lane] &= (type) (0 - (type) ((type) ((values)[lane] + (has_missing ? (here)->more : 0))       \
                                                <= (type) ((here)->key + (has_missing ? (here)->more : 0))))     \
                            | (type) (here)->keep
#endif
DF_LANES_OF(uint32_t, df_lanes32)
DF_LANES_OF(uint64_t, df_lanes64)

/* Rows in tiles to their leaves.

   IN tests, leaves : of a tree; has_missing : whether values may be missing
   IN tiles : [n, rounded up to DF_LANES, size / DF_LANES]
   OUT at : [n, rounded up to DF_LANES] the slots of the leaves */
#define DF_MARK_LOOP(bits)                                                                                       \
    DF_INLINE void df_mark_loop##bits(const int has_missing, const df_marked *tests, int n_tests,                \
                                      const uint32_t *leaves, const uint##bits##_t *tiles, size_t size,          \
                                      size_t n, uint32_t *at)                                                    \
    {                                                                                                            \
        uint##bits##_t left[2 * DF_LANES];                                                                       \
        size_t i = 0, j;                                                                                         \
        for (; i + DF_LANES < n; i += 2 * DF_LANES, tiles += 2 * size) { /* two tiles: neither waits for itself */ \
            df_lanes##bits marks, others;                                                                        \
            memset(&marks, 0xFF, sizeof marks);                                                                  \
            memset(&others, 0xFF, sizeof others);                                                                \
            for (int k = 0; k < n_tests; k++) {                                                                  \
                DF_TAKE_LEAVES(uint##bits##_t, df_lanes##bits, marks, tiles + tests[k].place, &tests[k]);        \
                DF_TAKE_LEAVES(uint##bits##_t, df_lanes##bits, others, tiles + size + tests[k].place, &tests[k]); \
            }                                                                                                    \
            memcpy(left, &marks, sizeof marks);                                                                  \
            memcpy(left + DF_LANES, &others, sizeof others);                                                     \
            for (j = 0; j < 2 * DF_LANES; j++)                                                                   \
                at[i + j] = leaves[df_lowest_bit(left[j])];                                                      \
        }                                                                                                        \
        if (i < n) {                                                                                             \
            df_lanes##bits marks;                                                                                \
            memset(&marks, 0xFF, sizeof marks);                                                                  \
            for (int k = 0; k < n_tests; k++)                                                                    \
                DF_TAKE_LEAVES(uint##bits##_t, df_lanes##bits, marks, tiles + tests[k].place, &tests[k]);        \
            memcpy(left, &marks, sizeof marks);                                                                  \
            for (j = 0; j < DF_LANES; j++)                                                                       \
                at[i + j] = leaves[df_lowest_bit(left[j])];                                                      \
        }                                                                                                        \
    }
DF_MARK_LOOP(32)
DF_MARK_LOOP(64)

#endif
