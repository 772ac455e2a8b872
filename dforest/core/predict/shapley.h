/* Shapley values of one tree by the cover of its nodes, for a few rows at a time (C99 and C++).

   The *share* of a child is its part of the parent's cover. Whether a row takes an edge is decided by the row's value if the
   edge's feature is *known*, else by chance, with the share of the child as the probability.

   Each leaf of value v has a path of edges. The edges of one feature count as one edge, which the row takes if it takes all of
   them (o = 1, else 0), and whose share z is the product of their shares. If each feature is known with probability t, the row
   reaches the leaf with the probability

       product over features e of f_e, where f_e = t o_e + (1 - t) z_e,

   and the Shapley value of feature i is v (o_i - z_i) times the integral over t from 0 to 1 of the product over the other
   features (G. Owen, "Multilinear extensions of games", Management Science 18(5), 1972). That is a polynomial in t of a degree
   below the number of features on the path, so that K points of Gauss and Legendre give the integral exactly for up to 2 K
   features. No term is lost to cancellation: all factors are at least 0.

   At one point t, let p be the probability by which a row reaches a node, h that it goes left from there, and l and r what it is
   expected to find on the left and on the right. Then it is expected to find g = r + h (l - r), and the leaves below add

       (b - s) p (l - r)

   to the feature that the node tests, where s is the share of the left child and b says whether the row goes left by its value:
   that is what the edges to both children add, and no division is needed. If a node above tests the feature too, let o and z be
   those of the edges so far, and f = t o + (1 - t) z. Then nothing is added unless o = 1, and

       h = (t b + (1 - t) z s) / f, and what is added is (b - s) p (l - r) z / f^2.

   (If o = 0, h = s.) A row takes a node's p down, and l, r up; its work is in proportion to nodes times points.

   The *interaction* of features i and j is v (o_i - z_i) (o_j - z_j) times the integral over t of the product over all other
   features, for each leaf. With c_j = (o_j - z_j) / f_j, which is 0 if no edge of the path is of j, that is the integral of
   c_i c_j times v times the probability by which the row reaches the leaf. On the way to the leaf, c_i c_j changes at the edges
   of i and j alone; so a node that tests i adds to the interaction with each feature j above, point by point,

       what it adds to feature i, times c_j, where c_j = (1 - z_j) / (t + (1 - t) z_j) if o_j = 1, else -1 / (1 - t),

   and the work is in proportion to nodes times points times features on a path.

   The rows are DF_SHAPLEY_LANES lanes, and the bits b and o are 0.0 or 1.0, so that compilers make vectors of the loops over
   lanes. A lane's numbers depend on no other lane.

   Nothing here owns memory. */
#ifndef DFOREST_SHAPLEY_H
#define DFOREST_SHAPLEY_H

#include "walk.h"

enum {
    DF_SHAPLEY_LANES = 32,   /* rows */
    DF_SHAPLEY_POINTS = 4,   /* points at a time, at most: more of them are for several walks */
};

/* A node, in preorder: the left child is the next one. */
typedef struct {
    double left;             /* s; of a leaf: its value */
    double above;            /* z of the edges above that test the feature; 1: there are none */
    double threshold;
    uint32_t right;          /* the number of the right child */
    int32_t feature;         /* -1: a leaf */
    int32_t ancestor;        /* the level of the next node above that tests the feature; -1: there is none */
    uint32_t position;       /* of the feature among those of the path, from 0 */
    uint32_t flags, place;   /* DF_MISSING_LEFT and DF_IS_SUBSET, and where the words of the subset begin */
} df_shapley_node;

typedef struct {
    const df_shapley_node *nodes;
    const uint64_t *words;   /* see df_packed */
} df_shapley_tree;

/* What is needed besides if interactions are asked for. */
typedef struct {
    int32_t *last;           /* [features on a path + 1] all -1: by position, the level of the last node above that tests it */
    double *gain;            /* [levels, DF_SHAPLEY_POINTS] of the edge that is taken: c if o = 1 */
    double *added;           /* [DF_SHAPLEY_POINTS + 1, DF_SHAPLEY_LANES] what a node adds, by point; last: where o above is 0 */
    double *sums;            /* [n_features (n_features - 1) / 2, DF_SHAPLEY_LANES] by df_shapley_couple */
} df_shapley_interactions;

/* The number of two different features among all couples of features. */
DF_INLINE size_t df_shapley_couple(size_t one, size_t other)
{
    return one > other ? one * (one - 1) / 2 + other : other * (other - 1) / 2 + one;
}

/* Of a level there are, for each lane: p and l by point, b, and o of the edge that is taken. */
#define DF_SHAPLEY_LEVEL(n_points) ((2 * (n_points) + 2) * DF_SHAPLEY_LANES)

/* OUT bit : [DF_SHAPLEY_LANES] 1.0 for rows that go left. IN x : [., DF_SHAPLEY_LANES] the values of each feature */
DF_INLINE void df_shapley_test(const df_shapley_node *node, const uint64_t *words, const double *x, double *bit)
{
    const double threshold = node->threshold;
    int j;
    x += (size_t) node->feature * DF_SHAPLEY_LANES;
    if (node->flags & DF_IS_SUBSET)
        for (j = 0; j < DF_SHAPLEY_LANES; j++)
            bit[j] = df_left_by_subset(x[j], words, node->place, node->flags);
    else if (node->flags)
        for (j = 0; j < DF_SHAPLEY_LANES; j++)
            bit[j] = df_left_by_number(x[j], threshold, DF_MISSING_LEFT) ? 1.0 : 0.0;
    else
        for (j = 0; j < DF_SHAPLEY_LANES; j++)
            bit[j] = df_left_by_number(x[j], threshold, 0) ? 1.0 : 0.0;
}

/* What h is made of, point by point: base + slope b; where the feature is tested above, s + o (base + slope b), and z / f^2. */
typedef struct {
    double base[DF_SHAPLEY_POINTS], slope[DF_SHAPLEY_POINTS], factor[DF_SHAPLEY_POINTS];
} df_shapley_chances;

DF_INLINE void df_shapley_open(const int n_points, const int is_repeated, const df_shapley_node *node, const double *t,
                               df_shapley_chances *chances)
{
    int k;
    for (k = 0; k < n_points; k++)
        if (is_repeated) {
            const double above = (1.0 - t[k]) * node->above, inverse = 1.0 / (t[k] + above);
            chances->base[k] = above * inverse * node->left - node->left;
            chances->slope[k] = t[k] * inverse;
            chances->factor[k] = node->above * inverse * inverse;
        } else {
            chances->base[k] = (1.0 - t[k]) * node->left;
            chances->slope[k] = t[k];
        }
}

DF_INLINE double df_shapley_chance(const int is_repeated, const df_shapley_chances *chances, int k, double left, double bit,
                                   double own)
{
    const double chance = chances->base[k] + bit * chances->slope[k];
    return is_repeated ? left + own * chance : chance;
}

/* Go down an edge. IN p, bit: of the node; own: o of the edges above that test the feature. OUT to: p of the child; taken: o. */
DF_INLINE void df_shapley_down(const int n_points, const int is_repeated, const int is_right, const df_shapley_node *node,
                               const double *t, const double *p, const double *bit, const double *own, double *to, double *taken)
{
    const double left = node->left;
    df_shapley_chances chances;
    int j, k;
    df_shapley_open(n_points, is_repeated, node, t, &chances);
    DF_INDEPENDENT
    for (j = 0; j < DF_SHAPLEY_LANES; j++) {
        const double b = bit[j], o = is_repeated ? own[j] : 1.0, takes = is_right ? 1.0 - b : b;
        for (k = 0; k < n_points; k++) {
            const double before = p[k * DF_SHAPLEY_LANES + j];
            const double going = before * df_shapley_chance(is_repeated, &chances, k, left, b, o);
            to[k * DF_SHAPLEY_LANES + j] = is_right ? before - going : going;
        }
        taken[j] = is_repeated ? o * takes : takes;
    }
}

/* How much more is expected on the left side of a node than on the right one. */
DF_INLINE double df_shapley_difference(const int has_left, const int has_right, const double *l, const double *r,
                                       double left_value, double right_value, int i)
{
    return (has_left ? l[i] : left_value) - (has_right ? r[i] : right_value);
}

/* Put both sides of a node together. IN l, r: what is expected there; NULL: the leaf that is there. INOUT sum: of the feature.
   OUT to: what is expected at the node; it may be l or r. */
DF_INLINE void df_shapley_join(const int n_points, const int is_repeated, const int has_left, const int has_right,
                               const df_shapley_node *node, const df_shapley_node *nodes, const double *t, const double *p,
                               const double *l, const double *r, const double *bit, const double *own, double *sum, double *to)
{
    const double left = node->left, left_value = has_left ? 0.0 : node[1].left;
    const double right_value = has_right ? 0.0 : nodes[node->right].left;
    df_shapley_chances chances;
    int j, k;
    df_shapley_open(n_points, is_repeated, node, t, &chances);
    DF_INDEPENDENT
    for (j = 0; j < DF_SHAPLEY_LANES; j++) {
        const double b = bit[j], o = is_repeated ? own[j] : 1.0;
        double total = 0.0;
        for (k = 0; k < n_points; k++) {
            const int i = k * DF_SHAPLEY_LANES + j;
            const double on_right = has_right ? r[i] : right_value;
            const double difference = df_shapley_difference(has_left, has_right, l, r, left_value, right_value, i);
            const double weight = is_repeated ? p[i] * chances.factor[k] : p[i];
            total += has_left || has_right ? weight * difference : weight;
            to[i] = on_right + df_shapley_chance(is_repeated, &chances, k, left, b, o) * difference;
        }
        if (!has_left && !has_right)
            total *= left_value - right_value;
        sum[j] += (is_repeated ? o * (b - left) : b - left) * total;
    }
}

/* Keep what nodes below need to know of the edge that is taken from a node. */
DF_INLINE void df_shapley_pass(const int n_points, const df_shapley_node *node, size_t level, int is_right, const double *t,
                               const df_shapley_interactions *interactions)
{
    const double fraction = node->above * (is_right ? 1.0 - node->left : node->left);
    int k;
    interactions->last[node->position] = (int32_t) level;
    for (k = 0; k < n_points; k++)
        interactions->gain[level * DF_SHAPLEY_POINTS + k] = (1.0 - fraction) / (t[k] + (1.0 - t[k]) * fraction);
}

/* Add to the interactions of the feature that a node tests with those tested above. Parameters: as of df_shapley_join, but for
   IN levels, path : of the walk. It goes before df_shapley_join, which writes over l or r. */
DF_INLINE void df_shapley_interact(const int n_points, const df_shapley_node *node, const df_shapley_node *nodes, const double *t,
                                   const double *p, const double *l, const double *r, const double *bit, const double *own,
                                   const double *levels, const uint32_t *path, const df_shapley_interactions *interactions)
{
    enum { N = DF_SHAPLEY_LANES };
    const int has_left = node[1].feature >= 0, has_right = nodes[node->right].feature >= 0, is_repeated = own != NULL;
    double *const added = interactions->added, *const if_not = added + DF_SHAPLEY_POINTS * N;
    df_shapley_chances chances;
    int32_t level;
    int j, k, other;
    if (is_repeated)
        df_shapley_open(n_points, 1, node, t, &chances);
    for (j = 0; j < N; j++)
        if_not[j] = 0.0;
    for (k = 0; k < n_points; k++) {
        const double factor = is_repeated ? chances.factor[k] : 1.0, inverse = 1.0 / (1.0 - t[k]);
        DF_INDEPENDENT
        for (j = 0; j < N; j++) {
            const double weight = (is_repeated ? own[j] : 1.0) * (bit[j] - node->left) * (p[k * N + j] * factor);
            added[k * N + j] = weight * df_shapley_difference(has_left, has_right, l, r, node[1].left, nodes[node->right].left,
                                                              k * N + j);
            if_not[j] -= added[k * N + j] * inverse;
        }
    }
    for (other = 0; (level = interactions->last[other]) >= 0; other++) {
        const double *gain = interactions->gain + (size_t) level * DF_SHAPLEY_POINTS;
        const double *takes = levels + (size_t) level * DF_SHAPLEY_LEVEL(n_points) + (2 * n_points + 1) * N;
        double *sum = interactions->sums + df_shapley_couple(node->feature, nodes[path[level]].feature) * N;
        if (other == (int) node->position)
            continue;
        DF_INDEPENDENT
        for (j = 0; j < N; j++) {
            double total = 0.0;
            for (k = 0; k < n_points; k++)
                total += added[k * N + j] * gain[k];
            sum[j] += takes[j] != 0.0 ? total : if_not[j];
        }
    }
}

/* Call with a constant for each of two or three conditions. */
#define DF_SHAPLEY_BY2(CALL, a, b) \
    do { \
        if (a) { \
            if (b) CALL(1, 1); else CALL(1, 0); \
        } else { \
            if (b) CALL(0, 1); else CALL(0, 0); \
        } \
    } while (0)

/* Add the Shapley values of a tree, as far as some points give them, for DF_SHAPLEY_LANES rows.

   IN tree : whose root is no leaf
   IN x : [n_features, DF_SHAPLEY_LANES]
   IN t, weight : [n_points] points between 0 and 1, and their weights
   SCRATCH room : [n_points * DF_SHAPLEY_LANES + levels of nodes that are no leaves * DF_SHAPLEY_LEVEL(n_points)]
   SCRATCH path, side : [levels] the nodes passed, and to which side (1: right)
   INOUT sums : [n_features, DF_SHAPLEY_LANES]
   INOUT interactions : if has_interactions */
DF_INLINE void df_shapley_walk(const int n_points, const int has_interactions, const df_shapley_tree *tree, const double *x,
                               const double *t, const double *weight, double *room, uint32_t *path, uint8_t *side, double *sums,
                               const df_shapley_interactions *interactions)
{
    enum { N = DF_SHAPLEY_LANES };
    const int row = n_points * N;                        /* numbers of all points */
    const size_t stride = DF_SHAPLEY_LEVEL(n_points);
    const df_shapley_node *nodes = tree->nodes, *node;
    double *last = room, *level = room + row, *const levels = level;
    const double *own;
    size_t depth = 0;
    uint32_t at = 0;
    int j, k;
    for (k = 0; k < n_points; k++)
        for (j = 0; j < N; j++)
            level[k * N + j] = weight[k];
    for (;;) {
        int goes;                                        /* right, or else left */
        node = nodes + at;
        path[depth] = at;
        df_shapley_test(node, tree->words, x, level + 2 * row);
        goes = node[1].feature < 0;
        while (goes && nodes[node->right].feature < 0) { /* nothing but leaves below on that side: up */
            double *to;
            for (;;) {
                double *sum = sums + (size_t) node->feature * N;
                own = node->ancestor < 0 ? NULL : levels + node->ancestor * stride + 2 * row + N;
                to = depth > 0 && !side[depth - 1] ? level - stride + row : last;
                if (has_interactions)
                    df_shapley_interact(n_points, node, nodes, t, level, level + row, last, level + 2 * row, own, levels, path,
                                        interactions);
#define DF_JOIN(has_left, has_right) \
    df_shapley_join(n_points, 0, has_left, has_right, node, nodes, t, level, level + row, last, level + 2 * row, own, sum, to)
#define DF_JOIN_AGAIN(has_left, has_right) \
    df_shapley_join(n_points, 1, has_left, has_right, node, nodes, t, level, level + row, last, level + 2 * row, own, sum, to)
                if (own == NULL)
                    DF_SHAPLEY_BY2(DF_JOIN, node[1].feature >= 0, nodes[node->right].feature >= 0);
                else
                    DF_SHAPLEY_BY2(DF_JOIN_AGAIN, node[1].feature >= 0, nodes[node->right].feature >= 0);
#undef DF_JOIN
#undef DF_JOIN_AGAIN
                if (depth == 0)
                    return;
                depth--;
                level -= stride;
                node = nodes + path[depth];
                if (has_interactions)
                    interactions->last[node->position] = node->ancestor;
                if (!side[depth])
                    break;
            }
        }
        own = node->ancestor < 0 ? NULL : levels + node->ancestor * stride + 2 * row + N;
#define DF_DOWN(is_repeated, is_right) \
    df_shapley_down(n_points, is_repeated, is_right, node, t, level, level + 2 * row, own, level + stride, level + 2 * row + N)
        DF_SHAPLEY_BY2(DF_DOWN, own != NULL, goes);
#undef DF_DOWN
        if (has_interactions)
            df_shapley_pass(n_points, node, depth, goes, t, interactions);
        side[depth++] = (uint8_t) goes;
        level += stride;
        at = goes ? node->right : at + 1;
    }
}

DF_INLINE void df_shapley_loop(int n_points, const df_shapley_tree *tree, const double *x, const double *t, const double *weight,
                               double *room, uint32_t *path, uint8_t *side, double *sums,
                               const df_shapley_interactions *interactions)
{
#define DF_WALK(n_points, has_interactions) \
    df_shapley_walk(n_points, has_interactions, tree, x, t, weight, room, path, side, sums, interactions)
    if (n_points == 1) {
        if (interactions) DF_WALK(1, 1); else DF_WALK(1, 0);
    } else if (n_points == 2) {
        if (interactions) DF_WALK(2, 1); else DF_WALK(2, 0);
    } else if (n_points == 3) {
        if (interactions) DF_WALK(3, 1); else DF_WALK(3, 0);
    } else {
        if (interactions) DF_WALK(4, 1); else DF_WALK(4, 0);
    }
#undef DF_WALK
}
#endif
