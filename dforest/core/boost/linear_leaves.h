/* What the rows of a leaf add up to, for its line (rules/linear_leaf.h), a range of rows at a time (C99 and C++).
 *
 * Values are read from X once, and kept side by side in the order of the tree's rows: `values` has `stride` numbers of each row of a
 * range. Features of terms are places among these. */
#ifndef DFOREST_BOOST_LINEAR_LEAVES_H
#define DFOREST_BOOST_LINEAR_LEAVES_H

#include "core/rows.h"
#include "rules/linear_leaf.h"

/* Read the values of some columns of X, and find the least and the greatest finite one of each.
 *
 * IN rows : numbers of the tree's rows; NULL: they are places. IN columns : [n] OUT terms : [n] */
static inline void df_read_values(const df_rows *X, const uint32_t *rows, int64_t first, int64_t n_rows, int n,
                                  const int32_t *columns, int stride, double *values, df_term *terms) {
    int64_t i;
    int j;
    for (j = 0; j < n; j++) {
        terms[j].feature = j;
        terms[j].low = HUGE_VAL;
        terms[j].high = -HUGE_VAL;
    }
    for (i = 0; i < n_rows; i++) {
        const char *row = X->x + (rows == NULL ? (size_t)(first + i) : rows[first + i]) * X->stride;
        for (j = 0; j < n; j++) {
            const double x = df_value_of_row(row, X->is_double, columns[j]);
            values[i * stride + j] = x;
            if (!(x - x == 0.0))
                continue;
            terms[j].low = x < terms[j].low ? x : terms[j].low;
            terms[j].high = x > terms[j].high ? x : terms[j].high;
        }
    }
}

/* The sums of the rows whose values of n terms are all finite. IN times : of all rows, or NULL; OUT sums : as df_n_line_sums says */
static inline void df_add_up_line(const double *values, int stride, const uint32_t *rows, int64_t first, int64_t n_rows,
                                  const int32_t *quantised, int has_hessian, const uint32_t *times, int n, const df_term *terms,
                                  df_exact_sum *sums) {
    df_exact_sum *hz = sums + 2, *gz = hz + n, *hzz = gz + n;
    int64_t places[DF_MAX_TERMS], i, g_sum = 0, h_sum = 0;
    int j, k;
    for (j = 0; j < df_n_line_sums(n); j++)
        sums[j] = df_big_product(0, 0);
    for (i = 0; i < n_rows && n > 0; i++) {
        const size_t at = rows == NULL ? (size_t)(first + i) : rows[first + i];
        const int64_t t = times == NULL ? 1 : times[at];
        const int64_t g = t * quantised[has_hessian ? 2 * at : at], h = has_hessian ? t * quantised[2 * at + 1] : t;
        for (j = 0; j < n; j++) {
            const double x = values[i * stride + terms[j].feature];
            if (!(x - x == 0.0))
                break;
            places[j] = df_place_in_range(&terms[j], x);
        }
        if (j < n)
            continue;
        g_sum += g; /* as sums of nodes, within 64 bits */
        h_sum += h;
        for (j = 0; j < n; j++) {
            const int64_t weighted = h * places[j]; /* below 2^62, as the product of a gradient is */
            hz[j] = df_big_sum(hz[j], df_big_product(weighted, 1));
            gz[j] = df_big_sum(gz[j], df_big_product(g * places[j], 1));
            for (k = 0; k <= j; k++)
                hzz[j * (j + 1) / 2 + k] = df_big_sum(hzz[j * (j + 1) / 2 + k], df_big_product(weighted, places[k]));
        }
    }
    sums[0] = df_big_product(g_sum, 1);
    sums[1] = df_big_product(h_sum, 1);
}

/* What rows add, without bounds, and the least and the greatest of it. OUT added : [n_rows]; extent : [2] */
static inline void df_add_terms(const double *values, int stride, int64_t n_rows, double constant, const double *line, int n_terms,
                                double *added, double *extent) {
    int64_t i;
    extent[0] = extent[1] = constant;
    for (i = 0; i < n_rows; i++) {
        added[i] = df_unbounded_value(constant, line, n_terms, (const char *)(values + i * stride), 1);
        extent[0] = added[i] < extent[0] ? added[i] : extent[0];
        extent[1] = added[i] > extent[1] ? added[i] : extent[1];
    }
}

#endif
