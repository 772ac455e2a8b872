/* Bounds of predictions, which monotonic constraints set for a node and all nodes below it (C99 and C++). */
#ifndef DFOREST_RULES_BOUNDS_H
#define DFOREST_RULES_BOUNDS_H

#include <math.h>
#include <stdint.h>

typedef struct {
    double lower, upper;
} df_bounds;

/* Those of a node without constraints. */
static inline df_bounds df_no_bounds(void) {
    const df_bounds bounds = {-HUGE_VAL, HUGE_VAL};
    return bounds;
}

static inline double df_clip(double x, double lower, double upper) { return x < lower ? lower : x > upper ? upper : x; }

/* Between what the sides of a cut predict: the bound of either. */
static inline double df_midpoint_prediction(double left, double right) { return 0.5 * left + 0.5 * right; }

/* The bounds of a child. direction : of the feature; midpoint : between what the sides predict. With the parent's bounds (0, 8),
 * the direction 1 and the middle 3, the children have the bounds (0, 3) and (3, 8). */
static inline df_bounds df_child_bounds(df_bounds bounds, int right, int32_t monotonic_cst, double midpoint) {
    if (monotonic_cst != 0 && (monotonic_cst > 0) == (right != 0))
        bounds.lower = midpoint;
    else if (monotonic_cst != 0)
        bounds.upper = midpoint;
    return bounds;
}

#endif
