/* Shapley values of one tree for pairs of a row and a row of the background (C99 and C++). See shapley_rows.h for the formulas.

   A pair goes down all nodes where a leaf that counts may be: to one side if both rows go there; if they part, and the feature
   has been given to one of them before, to the side of that row; else first to the row's side and then to the side of the
   background's row. Each leaf tells v W(a, c) and - v W(c, a); what leaves have told is added up on the way back. At each node
   where the rows parted, the feature gets the first sum from the row's side, and the second one from the other side. Interactions
   are told in three sums, of which the features of two such nodes get the one that their sides ask for.

   Nothing here owns memory. */
#ifndef DFOREST_SHAPLEY_PAIRS_H
#define DFOREST_SHAPLEY_PAIRS_H

#include "shapley_rows.h"

enum { DF_SHAPLEY_OTHERS = 64 }; /* rows of a background that nodes know about */

/* A node, in preorder; small, so that a tree has room in a cache. */
typedef struct {
    uint64_t others_left;    /* bits of the rows of the background that go left; of a leaf: those of its value */
    uint32_t right;          /* the number of the right child; 0: a leaf */
    int32_t feature;
} df_shapley_pair_node;

/* What leaves have told: to a feature that is hot, or cold, and to two that are both hot, one of each kind, or both cold. */
typedef struct {
    double hot, cold, couple[3];
} df_shapley_told;

/* A node where the rows of a pair part, and what the leaves on the row's side have told. */
typedef struct {
    uint32_t node;
    df_shapley_told told;
} df_shapley_parting;

/* Rows of a group, or of the background, that go left. IN x : [n_groups, n_features, DF_SHAPLEY_LANES]; size: of a group */
DF_FUNCTION uint64_t df_shapley_left(const df_shapley_node *node, const uint64_t *words, const double *x, size_t size,
                                     size_t n_groups)
{
    double bit[DF_SHAPLEY_LANES];
    uint64_t left = 0;
    size_t i;
    int j;
    for (i = 0; i < n_groups; i++) {
        df_shapley_test(node, words, x + i * size, bit);
        for (j = 0; j < DF_SHAPLEY_LANES; j++)
            left |= (uint64_t) (bit[j] != 0.0) << (i * DF_SHAPLEY_LANES + j);
    }
    return left;
}

/* Add to the interactions of the feature of the last of n partings with those of the others. IN given: see below */
DF_INLINE void df_shapley_tell_couples(const df_shapley_pair_node *nodes, const df_shapley_parting *partings, size_t n,
                                       const uint8_t *given, const df_shapley_told *told, double *interactions)
{
    const uint32_t feature = (uint32_t) nodes[partings[n - 1].node].feature;
    size_t i;
    for (i = 0; i + 1 < n; i++) {
        const uint32_t other = (uint32_t) nodes[partings[i].node].feature;
        interactions[df_shapley_couple(feature, other) * DF_SHAPLEY_LANES] += told->couple[given[feature] + given[other] - 2];
    }
}

/* Add the values of a pair.

   IN nodes : of a tree
   IN rows_left : [n_nodes] bits of the DF_SHAPLEY_LANES rows that go left
   IN row, other : which of the bits are those of the pair
   SCRATCH given : [n_features] all 0: which of the two each feature has been given to, 1 or 2
   SCRATCH partings : [features on a path]
   INOUT sums : [n_features, DF_SHAPLEY_LANES], of which one lane
   INOUT interactions : [n_features (n_features - 1) / 2, DF_SHAPLEY_LANES], of which one lane, if has_interactions */
DF_INLINE void df_shapley_pair_loop(const int has_interactions, const df_shapley_pair_node *nodes, const uint32_t *rows_left,
                                    int row, int other, const double *factors, uint8_t *given, df_shapley_parting *partings,
                                    double *sums, double *interactions)
{
    const int n_couples = has_interactions ? 3 : 0;
    size_t n = 0, n_hot = 0, n_cold = 0;
    uint32_t at = 0;
    for (;;) {
        double value;
        df_shapley_told told;
        int i;
        while (nodes[at].right) {
            const df_shapley_pair_node *node = nodes + at;
            const uint32_t row_left = rows_left[at] >> row & 1, other_left = (uint32_t) (node->others_left >> other) & 1;
            const uint32_t to = given[node->feature], left = to == 2 ? other_left : row_left;
            if (to == 0 && row_left != other_left) {
                partings[n++].node = at;
                given[node->feature] = 1;
                n_hot++;
            }
            at = left * (at + 1) + (1 - left) * node->right; /* no branch, which would be hard to foresee */
        }
        memcpy(&value, &nodes[at].others_left, sizeof value);
        told.hot = n_hot ? value * df_shapley_factor(factors, n_hot, n_cold) : 0.0;
        told.cold = n_cold ? value * df_shapley_factor(factors, n_cold, n_hot) : 0.0;
        if (has_interactions) {
            told.couple[0] = n_hot > 1 ? value * df_shapley_factor(factors, n_hot - 1, n_cold) : 0.0;
            told.couple[1] = n_hot && n_cold ? -value * df_shapley_factor(factors, n_hot, n_cold - 1) : 0.0;
            told.couple[2] = n_cold > 1 ? value * df_shapley_factor(factors, n_cold - 1, n_hot) : 0.0;
        }
        for (;;) {
            df_shapley_parting *parting = partings + n - 1;
            const df_shapley_pair_node *node;
            if (n == 0)
                return;
            node = nodes + parting->node;
            if (has_interactions)
                df_shapley_tell_couples(nodes, partings, n, given, &told, interactions);
            if (given[node->feature] == 1) {             /* the row's side is done */
                sums[(size_t) node->feature * DF_SHAPLEY_LANES] += told.hot;
                parting->told = told;
                given[node->feature] = 2;
                n_hot--;
                n_cold++;
                at = node->others_left >> other & 1 ? parting->node + 1 : node->right;
                break;
            }
            sums[(size_t) node->feature * DF_SHAPLEY_LANES] -= told.cold;
            told.hot += parting->told.hot;
            told.cold += parting->told.cold;
            for (i = 0; i < n_couples; i++)
                told.couple[i] += parting->told.couple[i];
            given[node->feature] = 0;
            n_cold--;
            n--;
        }
    }
}

/* Add the values of a pair, and the interactions if they are not NULL. */
DF_FUNCTION void df_shapley_pair(const df_shapley_pair_node *nodes, const uint32_t *rows_left, int row, int other,
                                 const double *factors, uint8_t *given, df_shapley_parting *partings, double *sums,
                                 double *interactions)
{
    if (interactions)
        df_shapley_pair_loop(1, nodes, rows_left, row, other, factors, given, partings, sums, interactions);
    else
        df_shapley_pair_loop(0, nodes, rows_left, row, other, factors, given, partings, sums, NULL);
}
#endif
