/* Leaves of boosted trees that add a linear function of some features to a raw prediction (C99 and C++).
 *
 * Such a leaf has a *line*: terms, each of which is a feature, a centre and a slope, and the least and the greatest of what the leaf
 * adds. A row adds
 *
 *     constant + sum over terms of slope * (x - centre),    kept between the least and the greatest,
 *
 * or the constant alone if the value of one of the features is not finite, as missing values are. The constant is what the leaf adds
 * without a line. The bounds are those of the leaf's training rows, so that no row far from these adds what no training row does.
 *
 * Slopes are found by one Newton step with a ridge. With the gradients g and the Hessians h of the rows whose values are finite, and
 * z their features less the means (weighted by h), the slopes b minimise
 *
 *     sum of (g b'z + h (b'z)^2 / 2) + l2 / 2 * sum over terms of (b_j s_j)^2,
 *
 * where s_j^2 is the variance of feature j in the leaf: the penalty does not depend on units of features, and a single slope becomes
 * H / (H + l2) of what it would be, with H the sum of the Hessians, as a constant is shrunk by its own l2. As h z adds up to 0, the
 * constant and the slopes do not depend on each other.
 *
 * Sums are of integers, so that they do not depend on the order of rows: of quantised gradients (boost.h), and of places, which are
 * values as integers, counted from the middle of a feature's range in the leaf.
 *
 * Y. Shi, J. Li, Z. Li, "Gradient boosting with piece-wise linear regression trees", IJCAI 2019; there, rows with a missing value
 * are not treated. LightGBM's `linear_tree` has neither bounds nor a ridge that is free of units. */
#ifndef DFOREST_LINEAR_LEAF_H
#define DFOREST_LINEAR_LEAF_H

#include "boost.h"

enum {
    DF_MAX_TERMS = 16,       /* of a line */
    DF_PLACE_BITS = 20,      /* of a place, beside the sign */
    DF_LINE_HEAD = 2,        /* numbers of a line before its terms: least, greatest; ... */
    DF_TERM_NUMBERS = 3      /* ... and of a term: feature, centre, slope. The feature -1 ends the terms. */
};

/* A term while it is found: its feature's least and greatest finite value in the leaf, and what makes places of values. */
typedef struct {
    int32_t feature, exponent;
    double low, high, middle, factor;
} df_term;

static inline double df_value_of_row(const char *row, int is_double, int32_t feature) {
    return is_double ? ((const double *)row)[feature] : (double)((const float *)row)[feature];
}

/* The numbers of a line of up to so many terms. */
static inline int df_line_size(int n_terms) { return DF_LINE_HEAD + DF_TERM_NUMBERS * n_terms; }

/* What a row adds, without bounds. */
static inline double df_unbounded_value(double constant, const double *line, int n_terms, const char *row, int is_double) {
    double value = constant;
    const double *term = line + DF_LINE_HEAD;
    int j;
    for (j = 0; j < n_terms && term[0] >= 0.0; j++, term += DF_TERM_NUMBERS) {
        const double x = df_value_of_row(row, is_double, (int32_t)term[0]);
        if (!(x - x == 0.0))
            return constant;
        value += term[2] * (x - term[1]);
    }
    return value;
}

/* Between the bounds of a line. Opposite infinities make NaN, which becomes the least. */
static inline double df_bounded_value(const double *line, double value) {
    return !(value >= line[0]) ? line[0] : value > line[1] ? line[1] : value;
}

/* What a row adds. */
static inline double df_linear_value(double constant, const double *line, int n_terms, const char *row, int is_double) {
    if (!(line[DF_LINE_HEAD] >= 0.0))
        return constant;
    return df_bounded_value(line, df_unbounded_value(constant, line, n_terms, row, is_double));
}

/* Have a term make places of values, given their range. Returns whether it has one. */
static inline int df_open_term(df_term *term) {
    const double half = 0.5 * term->high - 0.5 * term->low;
    if (!(term->low < term->high) || !(half > 0.0))
        return 0;
    term->middle = 0.5 * term->low + 0.5 * term->high;
    term->exponent = df_scale_exponent(half, DF_PLACE_BITS);
    if (term->exponent > DF_GREATEST_SCALE || term->exponent < -DF_GREATEST_SCALE)
        return 0;
    term->factor = df_power_of_two(term->exponent);
    return 1;
}

static inline int64_t df_place_in_range(const df_term *term, double x) {
    return df_nearest_integer((x - term->middle) * term->factor);
}

/* How many sums the line of so many terms needs: of g, of h, of h times the place and of g times the place for each term, and of h
 * times two places for each pair of terms, row by row: (0, 0), (0, 1), (1, 1), ... as (j, i) with j <= i. */
static inline int df_n_line_sums(int n_terms) { return 2 + 2 * n_terms + n_terms * (n_terms + 1) / 2; }

/* The slopes of n terms. Returns how many terms the line has: 0 where there is nothing to be found.
 *
 * IN l2 : in units of weight; exponent_g, exponent_h : of the quantised gradients and Hessians
 * OUT line : its terms; bounds are for the caller to find
 *
 * In units of standard deviations the matrix is the correlations, with l2 / H added to the diagonal. A term that is as good as a
 * linear function of those before it has no slope. */
static inline int df_fit_line(int n, const df_term *terms, const df_exact_sum *sums, double l2, double learning_rate,
                              int32_t exponent_g, int32_t exponent_h, double *line) {
    const double G = df_sum_value(&sums[0]), H = df_sum_value(&sums[1]), unit_h = ldexp(1.0, -exponent_h);
    double factor[DF_MAX_TERMS][DF_MAX_TERMS], right[DF_MAX_TERMS], mean[DF_MAX_TERMS], sd[DF_MAX_TERMS];
    const df_exact_sum *hz = sums + 2, *gz = hz + n, *hzz = gz + n;
    double *term = line + DF_LINE_HEAD;
    int i, j, k, is_free[DF_MAX_TERMS], n_found = 0;
    if (!(H > 0.0))
        return 0;
    for (j = 0; j < n; j++) {
        mean[j] = df_sum_value(&hz[j]) / H;
        sd[j] = df_sum_value(&hzz[j * (j + 1) / 2 + j]) / H - mean[j] * mean[j];
        is_free[j] = sd[j] > 0.0;
        sd[j] = is_free[j] ? sqrt(sd[j]) : 1.0;
        right[j] = -((df_sum_value(&gz[j]) - mean[j] * G) / sd[j]) / H;
    }
    for (i = 0; i < n; i++)              /* Cholesky: rows of the lower factor */
        for (j = 0; j <= i; j++) {
            double r = i == j ? 1.0 + l2 / (H * unit_h)
                              : (df_sum_value(&hzz[i * (i + 1) / 2 + j]) / H - mean[i] * mean[j]) / (sd[i] * sd[j]);
            for (k = 0; k < j; k++)
                r -= factor[i][k] * factor[j][k];
            if (i == j) {
                is_free[i] = is_free[i] && r > 1e-9;
                factor[i][i] = is_free[i] ? sqrt(r) : 1.0;
            } else
                factor[i][j] = is_free[i] && is_free[j] ? r / factor[j][j] : 0.0;
        }
    for (i = 0; i < n; i++) {
        right[i] = is_free[i] ? right[i] : 0.0;
        for (k = 0; k < i; k++)
            right[i] -= factor[i][k] * right[k];
        right[i] = is_free[i] ? right[i] / factor[i][i] : 0.0;
    }
    for (i = n - 1; i >= 0; i--) {
        for (k = i + 1; k < n; k++)
            right[i] -= factor[k][i] * right[k];
        right[i] = is_free[i] ? right[i] / factor[i][i] : 0.0;
    }
    for (j = 0; j < n; j++) {
        const double slope = learning_rate * ldexp(right[j] / sd[j], exponent_h - exponent_g) * terms[j].factor;
        const double centre = terms[j].middle + mean[j] / terms[j].factor;
        if (slope == 0.0 || !(slope - slope == 0.0) || !(centre - centre == 0.0))
            continue;
        term[0] = (double)terms[j].feature;
        term[1] = centre;
        term[2] = slope;
        term += DF_TERM_NUMBERS;
        n_found++;
    }
    return n_found;
}

#endif
