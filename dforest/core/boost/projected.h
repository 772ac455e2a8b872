/* The codes of sums of columns (C99 and C++): see projected_columns.pyx. */
#ifndef DFOREST_BOOST_PROJECTED_H
#define DFOREST_BOOST_PROJECTED_H

#include <stdint.h>

#include "core/search/scan.h"

enum {
    DF_PROJECTED_EDGES = 255, /* room for those of a projection, of which the last ones are infinite */
    DF_PROJECTED_ROWS = 256   /* whose codes are found together, at most */
};

/* How many edges are below each of n sums; `missing` of those that have no value. All sums halve the edges in step, without
 * branches. edges : [DF_PROJECTED_EDGES] ascending */
DF_INLINE void df_code_sums_loop(const double *edges, const double *sums, int n, int missing, uint8_t *codes) {
    int32_t at[DF_PROJECTED_ROWS] = {0};
    for (int32_t step = (DF_PROJECTED_EDGES + 1) / 2; step > 0; step /= 2)
        for (int i = 0; i < n; i++)
            at[i] += edges[at[i] + step - 1] < sums[i] ? step : 0;
    for (int i = 0; i < n; i++)
        codes[i] = (uint8_t)(sums[i] == sums[i] ? at[i] : missing);
}

#endif
