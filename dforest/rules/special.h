/* The gamma function and its derivatives, for numbers above 0 (C99 and C++): sequences of IEEE operations, which give the same bits
 * wherever they run, without tables and without a math library.
 *
 * A number below DF_SERIES_FROM is moved there by the recurrence, and there the asymptotic series hold to the last bits:
 * F. W. J. Olver et al., "NIST Digital Library of Mathematical Functions", 5.5.1, 5.11.1, 5.11.2 and 5.15.8. What is written here
 * is what such a function has beside its leading terms, as the difference of the two is what likelihoods need, and would lose
 * digits for large numbers. */
#ifndef DFOREST_SPECIAL_H
#define DFOREST_SPECIAL_H

#include "numerics.h"

#define DF_SERIES_FROM 16.0
#define DF_HALF_LOG_2_PI 0.9189385332046727 /* ln(2 pi) / 2 */

/* ln Gamma(x) - (x - 1/2) ln x + x: near ln(2 pi) / 2 for large x. */
static inline double df_log_gamma_rest(double x) {
    double product = 1.0, at = x, z, series;
    while (at < DF_SERIES_FROM) {
        product *= at;
        at += 1.0;
    }
    z = 1.0 / (at * at);
    series = (1.0 / 12 + z * (-1.0 / 360 + z * (1.0 / 1260 + z * (-1.0 / 1680 + z * (1.0 / 1188 - z * (691.0 / 360360)))))) / at;
    if (at == x)
        return DF_HALF_LOG_2_PI + series;
    return DF_HALF_LOG_2_PI + series + (at - 0.5) * df_log(at) - at - df_log(product) - (x - 0.5) * df_log(x) + x;
}

/* ln Gamma(x). */
static inline double df_log_gamma(double x) {
    double product = 1.0, at = x;
    while (at < DF_SERIES_FROM) {
        product *= at;
        at += 1.0;
    }
    return df_log_gamma_rest(at) + (at - 0.5) * df_log(at) - at - (product == 1.0 ? 0.0 : df_log(product));
}

/* ln x - psi(x), where psi is the derivative of ln Gamma: above 0, and near 1 / (2 x) for large x. */
static inline double df_log_less_digamma(double x) {
    double sum = 0.0, at = x, z, series;
    while (at < DF_SERIES_FROM) {
        sum += 1.0 / at;
        at += 1.0;
    }
    z = 1.0 / (at * at);
    series = 0.5 / at +
             z * (1.0 / 12 + z * (-1.0 / 120 + z * (1.0 / 252 + z * (-1.0 / 240 + z * (1.0 / 132 - z * (691.0 / 32760))))));
    return at == x ? series : series + sum - df_log(at / x);
}

/* psi(x). */
static inline double df_digamma(double x) { return df_log(x) - df_log_less_digamma(x); }

/* psi'(x) - 1 / x: above 0, and near 1 / (2 x^2) for large x. */
static inline double df_trigamma_less_inverse(double x) {
    double sum = 0.0, at = x, z, series;
    while (at < DF_SERIES_FROM) {
        sum += 1.0 / (at * at);
        at += 1.0;
    }
    z = 1.0 / (at * at);
    series = z * (0.5 + (1.0 / 6 + z * (-1.0 / 30 + z * (1.0 / 42 + z * (-1.0 / 30 + z * (5.0 / 66 - z * (691.0 / 2730)))))) / at);
    return at == x ? series : series + sum + (1.0 / at - 1.0 / x);
}

/* psi'(x). */
static inline double df_trigamma(double x) { return df_trigamma_less_inverse(x) + 1.0 / x; }

#endif
