/* Shapley values of one tree against the rows of a background (C99 and C++).

   For a row and a row of the background, features that are known have the row's values, and other features have those of the
   background's row. A leaf is reached if each feature of its path passes: by the row's value if the feature is known, else by the
   background's. A feature is *hot* if the row passes all edges of the feature on the path, else *cold*; the feature is *lacking*
   if the background's row does not pass all these edges. So the leaf is reached if no cold feature and all lacking ones are
   known; it counts for nothing if a feature is both. With a lacking features and c cold ones, a leaf of value v adds

       v (a - 1)! c! / (a + c)!     to each feature that is hot and lacking, and
       - v a! (c - 1)! / (a + c)!   to each that is cold

   (S. M. Lundberg et al., "From local explanations to global understanding with explainable AI for trees", Nature Machine
   Intelligence 2, 2020, supplement). With W(a, c) = (a - 1)! c! / (a + c)! these are v W(a, c) and - v W(c, a).

   There are two ways to the sums over all rows of the background: pair by pair (shapley_pairs.h), and, where paths have few
   features, by *tables*. For tables, cold and lacking features are bits of a pattern, and how many rows of the background have a
   pattern is counted once, leaf by leaf. For all sets s of cold features, let

       B[s] be the sum over patterns q without a bit of s, of their number times W(|q|, |s|), and
       E[s] the sum of their number times W(|q|, |s| - 1), where W(0, c) = - (1 + 1/2 + ... + 1/c).

   Then v (B[s] - E[s and i]) is what all rows of the background together add to feature i, hot or cold: for a hot feature,
   the patterns that don't have i cancel, as W(a, |s|) = W(a, |s and i| - 1); for a cold one, W(a, c) - W(a, c - 1) is - W(c, a).

   The leaf adds to the *interaction* of two features, whichever way (see shapley.h for what that is):

       v W(a - 1, c)     if both are hot and lacking,
       v W(c - 1, a)     if both are cold, and
       - v W(a, c - 1)   if one is hot and lacking, and the other is cold.

   In tables let P0[s], P1[s] and P2[s] be the sums over patterns q without a bit of s, of their number times W(|q| - 1, |s|),
   W(|q| - 1, |s| - 1) and W(|q| - 1, |s| - 2), where W(-1, c) = c (1 + 1/2 + ... + 1/c - 1). Then all rows of the background
   together add v (P0[s] - P1[s and i] - P1[s and j] + P2[s and i and j]), for the same reasons.

   Nothing here owns memory. */
#ifndef DFOREST_SHAPLEY_ROWS_H
#define DFOREST_SHAPLEY_ROWS_H

#include <math.h>

#include "core/search/occupancy.h"
#include "shapley.h"

enum {
    DF_SHAPLEY_TABLED = 10,    /* features of a path, at most, for tables */
    DF_SHAPLEY_FACTORS = 256,  /* numbers of features whose W is looked up */
};

/* W(a, c); a from 1. IN factors : [DF_SHAPLEY_FACTORS, DF_SHAPLEY_FACTORS], before which there is the row of W(-1, c) */
DF_INLINE double df_shapley_factor(const double *factors, size_t a, size_t c)
{
    if (a < DF_SHAPLEY_FACTORS && c < DF_SHAPLEY_FACTORS)
        return factors[a * DF_SHAPLEY_FACTORS + c];
    return exp(lgamma((double) a) + lgamma((double) c + 1.0) - lgamma((double) (a + c) + 1.0));
}

/* What tables are made in and looked up with. */
typedef struct {
    uint32_t *node;          /* [levels] */
    uint8_t *side;           /* [levels] 1: to the right */
    uint32_t *first;         /* [positions] the first node that tests a feature */
    uint16_t *cold;          /* [levels + 1, n rows] patterns of the rows, at each level */
    uint16_t *lacking;       /* [levels + 1, n_background] of the background */
    uint8_t *left;           /* [levels, n rows + n_background] which rows go left */
    uint32_t *counts;        /* [1 << DF_SHAPLEY_TABLED] all 0: rows of the background with a pattern */
    uint16_t *patterns;      /* [1 << DF_SHAPLEY_TABLED] those that there are */
    double *b, *e;           /* [1 << DF_SHAPLEY_TABLED] see above */
    double *couples[3];      /* [1 << DF_SHAPLEY_TABLED] P0, P1 and P2; NULL: interactions are not asked for */
} df_shapley_tables;

/* Add rows of the background with one pattern to the tables for interactions. IN factors : those of the pattern; free: the
   features that are not lacking */
DF_INLINE void df_shapley_fill_couples(const df_shapley_tables *tables, const double *factors, uint32_t free, double times)
{
    uint32_t s = free;
    for (;; s = (s - 1) & free) {
        const int c = df_count_bits(s);
        tables->couples[0][s] += times * factors[c];
        if (c > 0)
            tables->couples[1][s] += times * factors[c - 1];
        if (c > 1)
            tables->couples[2][s] += times * factors[c - 2];
        if (s == 0)
            return;
    }
}

/* Make the tables of a leaf. IN n: features on the path; lacking : [n_background] */
DF_INLINE void df_shapley_fill(const df_shapley_tables *tables, const double *factors, size_t n, const uint16_t *lacking,
                               size_t n_background, double value)
{
    const uint32_t all = (1u << n) - 1;
    size_t i, n_patterns = 0;
    int j;
    for (i = 0; i < n_background; i++)
        if (tables->counts[lacking[i]]++ == 0)
            tables->patterns[n_patterns++] = lacking[i];
    memset(tables->b, 0, sizeof(double) << n);
    memset(tables->e, 0, sizeof(double) << n);
    for (j = 0; j < 3 && tables->couples[0]; j++)
        memset(tables->couples[j], 0, sizeof(double) << n);
    for (i = 0; i < n_patterns; i++) {
        const uint32_t q = tables->patterns[i], free = all & ~q;
        const double *of_q = factors + df_count_bits(q) * DF_SHAPLEY_FACTORS, times = value * tables->counts[q];
        uint32_t s = free;
        if (tables->couples[0])
            df_shapley_fill_couples(tables, of_q - DF_SHAPLEY_FACTORS, free, times);
        tables->counts[q] = 0;
        for (; s; s = (s - 1) & free) {                  /* all sets of features that are not lacking */
            const int c = df_count_bits(s);
            tables->b[s] += times * of_q[c];
            tables->e[s] += times * of_q[c - 1];
        }
        tables->b[0] += times * of_q[0];
    }
}

/* Patterns of cold or of lacking features, one level further. IN from, left : [n]; bit: of the feature. OUT to : [n] */
DF_INLINE void df_shapley_patterns(const uint16_t *from, const uint8_t *left, size_t n, int bit, int side, uint16_t *to)
{
    size_t i;
    for (i = 0; i < n; i++)
        to[i] = (uint16_t) (from[i] | (left[i] == side) << bit);
}

/* Add the interactions of the features of a leaf's path for the rows of a group. IN n: features on the path; features : [n];
   cold : [DF_SHAPLEY_LANES]. INOUT sums : by df_shapley_couple */
DF_INLINE void df_shapley_add_couples(const df_shapley_tables *tables, size_t n, const uint32_t *features, const uint16_t *cold,
                                      double *sums)
{
    enum { N = DF_SHAPLEY_LANES };
    double first[N];
    size_t p, q;
    int j;
    for (p = 1; p < n; p++) {
        for (j = 0; j < N; j++)
            first[j] = tables->couples[0][cold[j]] - tables->couples[1][cold[j] | 1u << p];
        for (q = 0; q < p; q++) {
            const uint32_t bit = 1u << q, both = bit | 1u << p;
            double *sum = sums + df_shapley_couple(features[p], features[q]) * N;
            for (j = 0; j < N; j++)
                sum[j] += first[j] - (tables->couples[1][cold[j] | bit] - tables->couples[2][cold[j] | both]);
        }
    }
}

/* Add the values of a tree for rows, by tables, and the interactions if there are tables for them.

   IN x, z : [., n_features, DF_SHAPLEY_LANES] n rows and n_background rows, as whole groups; size: n_features * DF_SHAPLEY_LANES
   INOUT sums : as x, but the sums of the next group lie `step` further; those of interactions follow a group's values */
DF_INLINE void df_shapley_tables_loop(const df_shapley_tree *tree, const double *factors, const double *x, size_t n,
                                      const double *z, size_t n_background, size_t size, const df_shapley_tables *tables,
                                      double *sums, size_t step)
{
    enum { N = DF_SHAPLEY_LANES };
    const df_shapley_node *nodes = tree->nodes;
    const size_t n_rows = (n + N - 1) / N * N, n_others = (n_background + N - 1) / N * N;
    size_t level = 0, i, p;
    uint32_t at = 0;
    double bit[N];
    int j, side;
    memset(tables->cold, 0, n_rows * sizeof(uint16_t));
    memset(tables->lacking, 0, n_others * sizeof(uint16_t));
    for (;;) {
        const df_shapley_node *node = nodes + at;
        uint8_t *left = tables->left + level * (n_rows + n_others);
        tables->node[level] = at;
        if (node->ancestor < 0)
            tables->first[node->position] = at;
        for (i = 0; i < n_rows + n_others; i += N) {
            df_shapley_test(node, tree->words, i < n_rows ? x + i / N * size : z + (i - n_rows) / N * size, bit);
            for (j = 0; j < N; j++)
                left[i + j] = bit[j] != 0.0;
        }
        for (side = 0;;) {
            const uint32_t child = side ? node->right : at + 1;
            uint16_t *cold = tables->cold + (level + 1) * n_rows, *lacking = tables->lacking + (level + 1) * n_others;
            left = tables->left + level * (n_rows + n_others);
            tables->side[level] = (uint8_t) side;
            df_shapley_patterns(tables->cold + level * n_rows, left, n_rows, node->position, side, cold);
            df_shapley_patterns(tables->lacking + level * n_others, left + n_rows, n_others, node->position, side, lacking);
            if (nodes[child].feature >= 0) {
                at = child;
                break;
            }
            if (nodes[child].left != 0.0) {
                size_t known = node->position + 1;
                for (i = 0; i < level; i++)
                    if (nodes[tables->node[i]].position >= known)
                        known = nodes[tables->node[i]].position + 1;
                df_shapley_fill(tables, factors, known, lacking, n_background, nodes[child].left);
                for (i = 0; i < n_rows; i += N)
                    for (p = 0; p < known; p++) {
                        double *sum = sums + i / N * step + (size_t) nodes[tables->first[p]].feature * N;
                        for (j = 0; j < N; j++)
                            sum[j] += tables->b[cold[i + j]] - tables->e[cold[i + j] | 1u << p];
                    }
                if (tables->couples[0]) {
                    uint32_t features[DF_SHAPLEY_TABLED];
                    for (p = 0; p < known; p++)
                        features[p] = (uint32_t) nodes[tables->first[p]].feature;
                    for (i = 0; i < n_rows; i += N)
                        df_shapley_add_couples(tables, known, features, cold + i, sums + i / N * step + size);
                }
            }
            while (side) {
                if (level == 0)
                    return;
                level--;
                at = tables->node[level];
                node = nodes + at;
                side = tables->side[level];
            }
            side = 1;
        }
        level++;
    }
}
#endif
