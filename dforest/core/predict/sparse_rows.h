/* Rows of which zeros are not stored, on their way down packed trees.

   Rows that go down many trees are *unpacked* first: a block of them is written into memory that is 0 everywhere, goes down the
   trees as dense rows do, and is cleared again, so that the memory serves the next block. That takes a step for each stored
   value, and none for zeros. Where few values are needed, they are looked up.

   Nothing here owns memory. */
#ifndef DFOREST_SPARSE_ROWS_H
#define DFOREST_SPARSE_ROWS_H

#include "walk.h"

typedef struct {
    const char *values;      /* [n_stored] float32 or float64, row after row */
    const int32_t *columns;  /* [n_stored] ascending in each row */
    const int64_t *starts;   /* [n_rows + 1] */
    int is_double;
} df_sparse_rows;

/* Write the stored values of a row into memory that is 0, or zeros in their place. INOUT to : [n_features] */
DF_INLINE void df_write_row(const df_sparse_rows *rows, size_t i, char *to, int clears)
{
    int64_t k;
    for (k = rows->starts[i]; k < rows->starts[i + 1]; k++) {
        if (rows->is_double)
            ((double *) to)[rows->columns[k]] = clears ? 0.0 : ((const double *) rows->values)[k];
        else
            ((float *) to)[rows->columns[k]] = clears ? 0.0f : ((const float *) rows->values)[k];
    }
}

/* Unpack n rows, or clear what that has written.

   IN numbers : [n] which rows; NULL: first, first + 1, ...
   INOUT to : where they go one after another */
DF_FUNCTION void df_unpack_rows(const df_sparse_rows *rows, const uint32_t *numbers, size_t first, size_t n, const df_rows *to,
                                int clears)
{
    size_t i;
    for (i = 0; i < n; i++)
        df_write_row(rows, numbers ? numbers[i] : first + i, (char *) df_row(to, i), clears);
}

/* The stored value at a place. */
DF_INLINE double df_stored_value(const df_sparse_rows *rows, int64_t place)
{
    return rows->is_double ? ((const double *) rows->values)[place] : ((const float *) rows->values)[place];
}

/* A value of a row. */
DF_INLINE double df_sparse_value(const df_sparse_rows *rows, size_t i, int64_t column)
{
    int64_t low = rows->starts[i], high = rows->starts[i + 1], middle;
    const int64_t end = high;
    while (low < high) {     /* columns before low are lower, those from high on are not */
        middle = low + (high - low) / 2;
        if (rows->columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == end || rows->columns[low] != column)
        return 0.0;
    return df_stored_value(rows, low);
}

/* The mode that some rows need: see df_mode. */
DF_FUNCTION int df_sparse_mode(const df_packed *forest, const df_sparse_rows *rows, size_t first, size_t n)
{
    int64_t k;
    const int64_t end = rows->starts[first + n];
    int missing = 0;
    if (forest->words != NULL)
        return DF_SUBSETS;
    if (rows->is_double) {
        for (k = rows->starts[first]; k < end; k++)
            missing |= ((const double *) rows->values)[k] != ((const double *) rows->values)[k];
    } else {
        for (k = rows->starts[first]; k < end; k++)
            missing |= ((const float *) rows->values)[k] != ((const float *) rows->values)[k];
    }
    return missing ? DF_MISSING : DF_NUMBERS;
}

#endif
