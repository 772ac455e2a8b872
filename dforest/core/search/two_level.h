/* What the cuts inside a bucket of neighbouring codes can reach (C99 and C++).
 *
 * A bucket's cuts have left sides between the words of its two edges (see scan.h). The score is convex in the
 * left side's statistics, and so is highest at a corner of a box that holds them all. A corner reaches a floor
 * if its score is above: numerators are compared with products, whose roundings the floor's margin covers.
 */
#ifndef DFOREST_TWO_LEVEL_H
#define DFOREST_TWO_LEVEL_H

#include "core/search/scan.h"

#define DF_LOW_WORD 0xFFFFFFFFull

DF_INLINE double df_gini_excess(uint64_t word, double weight, double first, double floor) {
    double a = df_from_bits(word & DF_LOW_WORD);
    double left = a + df_from_bits(word >> 32);
    double d = weight * a - left * first;
    return (d * d + d * d) - floor * ((left * (weight - left)) * weight);
}

/* Two classes: the box of the counts of both. Two of its corners are edges; the others have all of the bucket's
 * draws of one class and none of the other. A corner with an empty side scores 0.
 * edges: [n + 1]; the left sides' words are these + offset. skips_pure: whether buckets of one class, whose corners
 * are edges all four, count as not reaching the floor. more: whether to raise what `excess` has, or begin anew.
 * OUT excess: [n] above 0 where a corner reaches the floor. Returns whether some is. */
DF_INLINE int df_gini_reach_loop(const uint64_t *edges, int64_t n, uint64_t offset, double weight, double first,
                                 double floor, int skips_pure, int more, double *excess) {
    uint64_t keeps = skips_pure ? 0 : ~(uint64_t)0;
    int64_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t before = edges[i] + offset, after = edges[i + 1] + offset, change = before ^ after;
        double x = df_gini_excess((after & DF_LOW_WORD) | (before & ~DF_LOW_WORD), weight, first, floor);
        double y = df_gini_excess((before & DF_LOW_WORD) | (after & ~DF_LOW_WORD), weight, first, floor);
        double z = more ? excess[i] : 0.0;
        x = x > y ? x : y;
        x = ((change | keeps) & DF_LOW_WORD) && ((change | keeps) & ~DF_LOW_WORD) ? x : 0.0;
        z = x > z ? x : z;
        excess[i] = z;
        any |= z > 0.0;
    }
    return (int)any;
}

/* The highest score of those two corners, each with draws on both sides unless it scores 0. */
static inline double df_gini_bound(uint64_t before, uint64_t after, double weight, double first) {
    double highest = 0.0;
    for (int i = 0; i < 2; i++) {
        uint64_t word = i ? (after & DF_LOW_WORD) | (before & ~DF_LOW_WORD) : (before & DF_LOW_WORD) | (after & ~DF_LOW_WORD);
        double a = (double)(uint32_t)word;
        double left = a + (double)(word >> 32);
        double d = weight * a - left * first;
        double score = d * d * 2.0 / ((left * (weight - left)) * weight); /* NaN for an empty side */
        highest = score > highest ? score : highest;
    }
    return highest;
}

#endif
