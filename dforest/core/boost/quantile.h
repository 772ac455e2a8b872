/* Weighted quantiles, for leaves that are no Newton steps (C99 and C++): the rule is boost.h's.
 *
 * Which value it is follows from values and weights alone, not from their order. */
#ifndef DFOREST_BOOST_QUANTILE_H
#define DFOREST_BOOST_QUANTILE_H

#include "rules/boost.h"
#include "rules/losses.h"

typedef struct {
    double value;
    int64_t weight;
} df_weighed;

static inline void df_swap_weighed(df_weighed *a, df_weighed *b) {
    const df_weighed c = *a;
    *a = *b;
    *b = c;
}

/* The quantile of n values, at least 1; their order changes. By parts around one of them, of which only that part is gone on with
 * in which the quantile lies. */
static inline double df_weighted_quantile(df_weighed *values, int64_t n, double quantile) {
    int64_t low = 0, high = n, total = 0, before = 0, i;
    double found, next;
    int has_next = 0;
    for (i = 0; i < n; i++)
        total += values[i].weight;
    for (;;) {
        const double a = values[low].value, b = values[low + (high - low) / 2].value, c = values[high - 1].value;
        const double pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        int64_t less = low, more = high, w_less = 0, w_equal = 0;
        i = low;
        while (i < more) { /* low to less - 1 are below the pivot, less to i - 1 equal, more to high - 1 above */
            if (values[i].value < pivot) {
                w_less += values[i].weight;
                df_swap_weighed(&values[i++], &values[less++]);
            } else if (values[i].value > pivot) {
                df_swap_weighed(&values[i], &values[--more]);
            } else {
                w_equal += values[i++].weight;
            }
        }
        if (less > low && df_reaches_quantile(before + w_less, total, quantile)) {
            high = less;
            continue;
        }
        before += w_less + w_equal;
        if (more == high || df_reaches_quantile(before, total, quantile)) {
            found = pivot;
            break;
        }
        low = more;
    }
    if (!df_ends_at_quantile(before, total, quantile))
        return found;
    next = found;
    for (i = 0; i < n; i++)
        if (values[i].value > found && (!has_next || values[i].value < next)) {
            next = values[i].value;
            has_next = 1;
        }
    return has_next ? df_between_values(found, next) : found;
}

/* The robust mean of a leaf: see boost.h. */
static inline double df_robust_mean(int loss, df_weighed *residuals, int64_t n, double parameter) {
    const double median = df_weighted_quantile(residuals, n, 0.5);
    const int32_t exponent = df_gradient_exponent(df_most_robust_term(loss, parameter), DF_GRADIENT_BITS);
    const double factor = ldexp(1.0, exponent);
    df_exact_sum sum = df_big_product(0, 0);
    int64_t i, weight = 0;
    for (i = 0; i < n; i++) {
        const double term = df_robust_term(loss, residuals[i].value, median, parameter);
        df_add_product(&sum, residuals[i].weight, df_quantised_gradient(term, factor));
        weight += residuals[i].weight;
    }
    return df_robust_step(median, &sum, weight, exponent);
}

#endif
