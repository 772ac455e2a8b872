/* The rule of random cuts between bins: at the edge nearest to a number that was drawn (C99 and C++).
 *
 * The number lies between the lowest value of the node's lowest bin and the highest value of its highest bin, so that the edges
 * that divide the node are those of its lowest bin to that of the last but one. Of the edges 1, 2, 4, 8, of which the first to
 * the third divide the node, the one nearest to 2.5 is 2; to 3, which is as near to 2 as to 4, it is 4; to 7, it is 4. */
#ifndef DFOREST_RULES_EDGES_H
#define DFOREST_RULES_EDGES_H

#include <stdint.h>

#define DF_EDGES_COUNTED 64 /* edges among which it is faster to compare all than to halve on */

/* Edges have type float or double, as the column's values; so the functions come twice.
 *
 * df_edges_below: how many of n ascending edges are below x. There are no branches, as nobody can foretell where x falls. While
 * more than 64 edges are left, all those before `start` are below x, and none from `start + left` on.
 *
 * df_nearest_edge: which of the edges first, ..., last, of n ascending ones, is nearest to x, the upper one of two as near. */
#define DF_DEFINE_EDGES(type, name)                                                                                              \
    static inline uint32_t df_edges_below_##name(const type *edges, uint32_t n, type x) {                                        \
        uint32_t i, start = 0, left = n, count = 0;                                                                              \
        if (n < DF_EDGES_COUNTED) {                                                                                              \
            for (i = 0; i < n; i++)                                                                                              \
                count += edges[i] < x;                                                                                           \
            return count;                                                                                                        \
        }                                                                                                                        \
        while (left > DF_EDGES_COUNTED) {                                                                                        \
            const uint32_t half = left / 2;                                                                                      \
            start += half * (uint32_t)(edges[start + half - 1] < x);                                                             \
            left -= half;                                                                                                        \
        }                                                                                                                        \
        start = start < n - DF_EDGES_COUNTED ? start : n - DF_EDGES_COUNTED;                                                     \
        for (i = 0; i < DF_EDGES_COUNTED; i++)                                                                                   \
            count += edges[start + i] < x;                                                                                       \
        return start + count;                                                                                                    \
    }                                                                                                                            \
    static inline uint32_t df_nearest_edge_##name(const type *edges, uint32_t n, uint32_t first, uint32_t last, double x) {      \
        const uint32_t below = df_edges_below_##name(edges, n, (type)x);                                                         \
        const uint32_t at = below < first ? first : below > last ? last : below, before = at - (at > first);                     \
        return x - (double)edges[before] < (double)edges[at] - x ? before : at;                                                  \
    }

DF_DEFINE_EDGES(float, float)
DF_DEFINE_EDGES(double, double)

#endif
