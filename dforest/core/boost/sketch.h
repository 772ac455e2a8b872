/* Quantised gradients of rows along the directions of a sketch (rules/sketch.h), from those by all of their raw predictions. */
#ifndef DFOREST_BOOST_SKETCH_H
#define DFOREST_BOOST_SKETCH_H

#include "core/boost/gradients.h"
#include "rules/sketch.h"

enum { DF_SKETCH_BLOCK = 64 }; /* rows that are done together */

typedef struct {
    int n_sums, n_directions;
    const uint32_t *signs; /* [n_sums] */
    const double *units;   /* [n_sums, 2] what an integer of 1 stands for, of gradients and of Hessians */
    double factors[2];     /* what derivatives along directions and sums of Hessians are multiplied by to become integers */
} df_sketch;

/* The sketches of rows begin to end - 1.
 *
 * IN quantised : [n_sums, n_rows, 2] integers of all rows; rows : their `list` and `times`. OUT sketched : [n_directions, n_rows, 2];
 * extents : [n_directions] of these rows, but for what they stand for */
static inline void df_sketch_rows(const df_sketch *sketch, const df_boost_rows *rows, int64_t n_rows, int64_t begin, int64_t end,
                                  const int32_t *quantised, int32_t *sketched, df_boost_extent *extents) {
    double along[DF_DIRECTIONS][DF_SKETCH_BLOCK], hessian[DF_SKETCH_BLOCK], gradient[DF_SKETCH_BLOCK];
    int64_t row[DF_SKETCH_BLOCK];
    for (int d = 0; d < sketch->n_directions; d++)
        extents[d] = df_no_extent();
    for (int64_t at = begin; at < end; at += DF_SKETCH_BLOCK) {
        const int n = end - at < DF_SKETCH_BLOCK ? (int)(end - at) : DF_SKETCH_BLOCK;
        for (int i = 0; i < n; i++) {
            row[i] = rows->list != NULL ? (int64_t)rows->list[at + i] : at + i;
            hessian[i] = 0.0;
            for (int d = 0; d < sketch->n_directions; d++)
                along[d][i] = 0.0;
        }
        for (int k = 0; k < sketch->n_sums; k++) {
            const int32_t *of_sum = quantised + 2 * k * n_rows;
            const double unit = sketch->units[2 * k], unit_h = sketch->units[2 * k + 1];
            for (int i = 0; i < n; i++) { /* products by powers of 2 are exact */
                gradient[i] = of_sum[2 * row[i]] * unit;
                hessian[i] += of_sum[2 * row[i] + 1] * unit_h;
            }
            for (int d = 0; d < sketch->n_directions; d++) {
                const double sign = sketch->signs[k] >> d & 1 ? -1.0 : 1.0;
                for (int i = 0; i < n; i++)
                    along[d][i] += sign * gradient[i];
            }
        }
        for (int d = 0; d < sketch->n_directions; d++)
            for (int i = 0; i < n; i++) {
                int32_t *to = sketched + 2 * (d * n_rows + row[i]);
                const int64_t times = rows->times != NULL ? rows->times[row[i]] : 1;
                to[0] = df_quantised_gradient(along[d][i], sketch->factors[0]);
                to[1] = df_quantised_gradient(hessian[i], sketch->factors[1]);
                for (int j = 0; j < 2; j++) {
                    const int64_t size = to[j] < 0 ? -to[j] : to[j];
                    extents[d].largest[j] = size > extents[d].largest[j] ? size : extents[d].largest[j];
                    extents[d].sum[j] += size * times;
                }
            }
    }
}

#endif
