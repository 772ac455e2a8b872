/* Sketches of the derivatives by many raw predictions (C99 and C++).
 *
 * A tree whose leaves have a value for each of K classes would be searched for splits by K histograms. Instead, splits are chosen by
 * a few *directions*: along each of them, every raw prediction of a row moves up or down, by signs that are drawn for the tree. The
 * derivative of the row's loss along a direction is the sum of its gradients by these signs. Over the draws of signs, the mean of its
 * square is the sum of the squares of all gradients, as signs are independent; so the gains of cuts along d directions, each divided
 * by d, are in the mean those of all classes. The second derivative is the sum of the row's Hessians along any direction, of
 * which each class has a K-th here, as if all classes had the same.
 *
 * L. Iosipoi, A. Vakhrushev, "SketchBoost: fast gradient boosted decision tree for multioutput problems", NeurIPS 2022; signs: D.
 * Achlioptas, "Database-friendly random projections", Journal of Computer and System Sciences 66(4), 2003. */
#ifndef DFOREST_SKETCH_H
#define DFOREST_SKETCH_H

#include <math.h>

#include "boost.h"
#include "random.h"

enum {
    DF_DIRECTIONS = 10,     /* of a sketch, ... */
    DF_SKETCHED_SUMS = 20   /* ... which trees of more sums than these have */
};

/* How many directions splits of a tree for so many sums are chosen by; 0: by all sums. */
static inline int df_directions_of(int n_sums) { return n_sums > DF_SKETCHED_SUMS ? DF_DIRECTIONS : 0; }

/* The signs of a sum, a bit for each direction: 1: down. */
static inline uint32_t df_signs_of(uint32_t seed, uint64_t sum) {
    df_stream stream;
    df_stream_open(&stream, seed, sum, DF_SKETCH);
    return df_next(&stream);
}

/* What derivatives along directions are multiplied by, and mean Hessians. */
static inline double df_direction_factor(int n_directions) { return 1.0 / sqrt((double)n_directions); }
static inline double df_mean_factor(int n_sums) { return 1.0 / (double)n_sums; }

/* The most that both are of several classes, in magnitude, given the largest gradient. Of a row of class y, the gradients are p - 1
 * of y and p of the others, which add up to 1 - p of y, so that the magnitudes of all are twice the largest one; and the
 * Hessians p (1 - p) are at most 1 - p of y, and p of the others. */
static inline double df_most_of_classes(double largest, double factor) { return 2.0 * largest * factor; }

#endif
