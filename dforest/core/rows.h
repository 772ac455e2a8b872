/* Rows of X, borrowed. */
#ifndef DFOREST_ROWS_H
#define DFOREST_ROWS_H

#include <stddef.h>

typedef struct {
    const char *x;
    size_t stride;           /* bytes of a row */
    int is_double;           /* dtype: float64 or float32 */
} df_rows;

#endif
