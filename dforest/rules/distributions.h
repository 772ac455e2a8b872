/* The distributions whose parameters boosted trees predict (C99 and C++): of a row, minus the logarithm of its density, the
 * derivatives by its raw predictions, and the parameters that these stand for.
 *
 * A distribution has a raw prediction for each parameter, on a scale without bounds: logarithms of what is above 0, log odds of
 * shares. Locations and scales are in a *unit*, a power of two near the standard deviation of all targets, so that a model of
 * targets in another unit is the same but for rounding, and regularisation means the same in any unit. Raw
 * predictions that are out of range count as the end of the range, where no gradient leads farther out.
 *
 * Steps are natural gradients: what stands for the second derivative has the Fisher information as its mean, where trees fit, or a
 * bound of it, and counts only for its own parameter. Of the pairs (location, log scale) of a normal, (log mean, log shape) of a
 * gamma and (log mean, log size) of a negative binomial distribution nothing is left out by that, as they are orthogonal. Of a
 * quantity that is to be multiplied by a, where a is the mean of what rows say of it, ln a is the best step; with 1 + a for the
 * information of 2 the step is (a - 1) / (a + 1) = tanh(ln(a) / 2), which has the sign of ln a, is the natural gradient for a near
 * 1, and never overshoots. That is how scales, means and shapes have it here. The location and scale of Student's t, and all of the
 * zero-inflated Poisson, take what rows would say if one knew which of them lie far out, or are zeros of the other kind: steps of
 * the EM algorithm, whose information is greater than what targets alone have, so that steps are shorter, but always go uphill.
 * For the size of a negative binomial and the degrees of freedom of t, the information is at least half a gradient in magnitude,
 * so that no step is longer than 2.
 *
 * Formulas: R. A. Rigby, D. M. Stasinopoulos, "Generalized additive models for location, scale and shape", Applied Statistics
 * 54(3), 2005; T. Duan et al., "NGBoost: natural gradient boosting for probabilistic prediction", ICML 2020; K. L. Lange,
 * R. J. A. Little, J. M. G. Taylor, "Robust statistical modeling using the t distribution", JASA 84(408), 1989; D. Lambert,
 * "Zero-inflated Poisson regression", Technometrics 34(1), 1992. */
#ifndef DFOREST_DISTRIBUTIONS_H
#define DFOREST_DISTRIBUTIONS_H

#include "special.h"

#define DF_MOST_DERIVATIVE 0x1p480
#define DF_MOST_DEVIATION 0x1p200 /* in scales */
#define DF_LOG_PI 1.1447298858494002
#define DF_SHORT_COUNT 32.0 /* counts up to here have sums term by term */

/* Ranges of raw predictions: of log scales, log means, log shapes and sizes, the logarithm of degrees of freedom above 1, and
 * log odds. The first begin at 20 ln(1/2): a scale is at least a millionth of the unit. */
#define DF_LEAST_LOG_SCALE (-13.862943611198906)
#define DF_GREATEST_LOG_SCALE 50.0
#define DF_GREATEST_LOG_MEAN 345.0 /* in magnitude */
#define DF_LEAST_LOG_SHAPE (-10.0)
#define DF_GREATEST_LOG_SHAPE 16.0
#define DF_LEAST_LOG_FREEDOM (-7.0)
#define DF_GREATEST_LOG_FREEDOM 8.0
#define DF_GREATEST_LOG_ODDS 30.0 /* in magnitude */

static inline double df_within(double x, double least, double greatest) {
    return x < least ? least : x > greatest ? greatest : x;
}

static inline double df_bounded_derivative(double x) { return df_within(x, -DF_MOST_DERIVATIVE, DF_MOST_DERIVATIVE); }

/* Write the gradient and the information of a parameter; a gradient that leads out of the range is none. */
static inline void df_write_derivatives(double raw, double least, double greatest, double gradient, double information, double *g,
                                        double *h) {
    const int leads_out = (raw <= least && gradient > 0.0) || (raw >= greatest && gradient < 0.0);
    *g = leads_out ? 0.0 : df_bounded_derivative(gradient);
    *h = df_bounded_derivative(information);
}

/* How far a target is from the location, in scales. raw : [location, log scale] */
static inline double df_deviation(double y, const double *raw, double unit, double scale) {
    return df_within((y / unit - raw[0]) / scale, -DF_MOST_DEVIATION, DF_MOST_DEVIATION);
}

static inline double df_scale_of(const double *raw) {
    return df_exp(df_within(raw[1], DF_LEAST_LOG_SCALE, DF_GREATEST_LOG_SCALE));
}

static inline double df_log_scale_of(const double *raw) { return df_within(raw[1], DF_LEAST_LOG_SCALE, DF_GREATEST_LOG_SCALE); }

/* Normal: location, log scale. */
static inline void df_normal_derivatives(double y, const double *raw, double unit, double *g, double *h) {
    const double scale = df_scale_of(raw), z = df_deviation(y, raw, unit, scale);
    g[0] = df_bounded_derivative(-z / scale);
    h[0] = 1.0 / (scale * scale);
    df_write_derivatives(raw[1], DF_LEAST_LOG_SCALE, DF_GREATEST_LOG_SCALE, 1.0 - z * z, 1.0 + z * z, g + 1, h + 1);
}

static inline double df_normal_loss(double y, const double *raw, double unit) {
    const double z = df_deviation(y, raw, unit, df_scale_of(raw));
    return DF_HALF_LOG_2_PI + df_log(unit) + df_log_scale_of(raw) + 0.5 * (z * z);
}

static inline void df_normal_parameters(const double *raw, double unit, double *parameters) {
    parameters[0] = unit * raw[0];
    parameters[1] = unit * df_scale_of(raw);
}

/* Log-normal: location and log scale of ln y, which is above DBL_MIN. */
static inline double df_log_of_target(double y) { return df_log(y < 0x1p-1022 ? 0x1p-1022 : y); }

static inline void df_lognormal_derivatives(double y, const double *raw, double unit, double *g, double *h) {
    df_normal_derivatives(df_log_of_target(y), raw, unit, g, h);
}

static inline double df_lognormal_loss(double y, const double *raw, double unit) {
    const double of_log = df_log_of_target(y);
    return of_log + df_normal_loss(of_log, raw, unit);
}

static inline void df_lognormal_parameters(const double *raw, double unit, double *parameters) {
    df_normal_parameters(raw, unit, parameters);
}

/* Gamma: log mean, log shape k. A target's half unit deviance d = y / mean - 1 - ln(y / mean) has the mean ln k - psi(k). */
static inline double df_log_ratio(double log_y, double raw) {
    return df_within(log_y - df_within(raw, -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN), -708.0, 300.0);
}

static inline void df_gamma_distribution_derivatives(double y, const double *raw, double unit, double *g, double *h) {
    const double k = df_exp(df_within(raw[1], DF_LEAST_LOG_SHAPE, DF_GREATEST_LOG_SHAPE));
    const double log_ratio = df_log_ratio(df_log_of_target(y), raw[0]), ratio = df_exp(log_ratio);
    const double gradient = k * ((ratio - 1.0 - log_ratio) - df_log_less_digamma(k));
    (void)unit;
    df_write_derivatives(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN, k * (1.0 - ratio), 0.5 * k * (1.0 + ratio), g, h);
    df_write_derivatives(raw[1], DF_LEAST_LOG_SHAPE, DF_GREATEST_LOG_SHAPE, gradient,
                         k * k * df_trigamma_less_inverse(k) + 0.5 * gradient, g + 1, h + 1);
}

static inline double df_gamma_distribution_loss(double y, const double *raw, double unit) {
    const double log_k = df_within(raw[1], DF_LEAST_LOG_SHAPE, DF_GREATEST_LOG_SHAPE), k = df_exp(log_k);
    const double log_y = df_log_of_target(y), log_ratio = df_log_ratio(log_y, raw[0]);
    (void)unit;
    return df_bounded_derivative(k * (df_exp(log_ratio) - 1.0 - log_ratio) + log_y - 0.5 * log_k + df_log_gamma_rest(k));
}

static inline void df_gamma_distribution_parameters(const double *raw, double unit, double *parameters) {
    (void)unit;
    parameters[0] = df_exp(df_within(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN));
    parameters[1] = df_exp(df_within(raw[1], DF_LEAST_LOG_SHAPE, DF_GREATEST_LOG_SHAPE));
}

/* Negative binomial: log mean, log size r; the variance is mean + mean^2 / r. */

/* psi(y + r) - psi(r), for a count y. */
static inline double df_digamma_rise(double y, double r) {
    double sum = 0.0, j;
    if (y > DF_SHORT_COUNT)
        return df_digamma(y + r) - df_digamma(r);
    for (j = 0.0; j < y; j += 1.0)
        sum += 1.0 / (r + j);
    return sum;
}

/* ln Gamma(y + r) - ln Gamma(r), for a count y and r up to e^16. */
static inline double df_log_gamma_rise(double y, double r) {
    double product = 1.0, j;
    if (y > DF_SHORT_COUNT)
        return df_log_gamma(y + r) - df_log_gamma(r);
    for (j = 0.0; j < y; j += 1.0)
        product *= r + j;
    return y > 0.0 ? df_log(product) : 0.0;
}

/* The Fisher information of ln r, where the variance of ln y is of use: r^2 psi'(r) - r for large means m, and
 * m^2 / (2 r (r + 1)) for small ones. In between, it is that of large means times (m / (m + c))^2, where c makes it right at
 * both ends. It is from half to 2.5 times the exact one, which is a long sum, for r from 0.1 on or so, and up to six times for
 * r = 0.05; then steps are shorter. */
static inline double df_size_information(double mean, double r) {
    const double most = r * r * df_trigamma_less_inverse(r), c2 = 2.0 * r * (r + 1.0) * most;
    const double share = mean / (mean + sqrt(c2));
    return most * (share * share);
}

static inline void df_negative_binomial_derivatives(double y, const double *raw, double unit, double *g, double *h) {
    const double mean = df_exp(df_within(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN));
    const double r = df_exp(df_within(raw[1], DF_LEAST_LOG_SHAPE, DF_GREATEST_LOG_SHAPE)), share = r / (r + mean);
    const double gradient = r * ((y - mean) / (r + mean) - df_digamma_rise(y, r) + df_log1p(mean / r));
    const double least = 0.5 * fabs(gradient), information = df_size_information(mean, r);
    (void)unit;
    df_write_derivatives(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN, (mean - y) * share, 0.5 * (mean + y) * share, g, h);
    df_write_derivatives(raw[1], DF_LEAST_LOG_SHAPE, DF_GREATEST_LOG_SHAPE, gradient, information > least ? information : least,
                         g + 1, h + 1);
}

static inline double df_negative_binomial_loss(double y, const double *raw, double unit) {
    const double log_mean = df_within(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN), mean = df_exp(log_mean);
    const double r = df_exp(df_within(raw[1], DF_LEAST_LOG_SHAPE, DF_GREATEST_LOG_SHAPE));
    (void)unit;
    return df_bounded_derivative(df_log_gamma(y + 1.0) - df_log_gamma_rise(y, r) + r * df_log1p(mean / r) -
                                 y * (log_mean - df_log(r + mean)));
}

static inline void df_negative_binomial_parameters(const double *raw, double unit, double *parameters) {
    df_gamma_distribution_parameters(raw, unit, parameters);
}

/* Student's t: location, log scale, and ln(f - 1) of the degrees of freedom f, so that there is a mean. */
static inline double df_freedom_of(const double *raw) {
    return 1.0 + df_exp(df_within(raw[2], DF_LEAST_LOG_FREEDOM, DF_GREATEST_LOG_FREEDOM));
}

static inline void df_student_derivatives(double y, const double *raw, double unit, double *g, double *h) {
    const double scale = df_scale_of(raw), z = df_deviation(y, raw, unit, scale), f = df_freedom_of(raw), z2 = z * z;
    const double w = (f + 1.0) / (f + z2);
    const double rise = df_digamma(0.5 * (f + 1.0)) - df_digamma(0.5 * f); /* twice the derivative of the constant */
    const double gradient = 0.5 * (f - 1.0) * (df_log1p(z2 / f) - rise + (1.0 - w * z2) / f);
    const double information =
        (f - 1.0) * (f - 1.0) *
        (0.25 * (df_trigamma(0.5 * f) - df_trigamma(0.5 * (f + 1.0))) - (f + 5.0) / (2.0 * f * (f + 1.0) * (f + 3.0)));
    const double least = 0.5 * fabs(gradient);
    g[0] = df_bounded_derivative(-w * z / scale);
    h[0] = df_bounded_derivative(w / (scale * scale));
    df_write_derivatives(raw[1], DF_LEAST_LOG_SCALE, DF_GREATEST_LOG_SCALE, 1.0 - w * z2, 1.0 + w * z2, g + 1, h + 1);
    df_write_derivatives(raw[2], DF_LEAST_LOG_FREEDOM, DF_GREATEST_LOG_FREEDOM, gradient,
                         information > least ? information : least, g + 2, h + 2);
}

static inline double df_student_loss(double y, const double *raw, double unit) {
    const double z = df_deviation(y, raw, unit, df_scale_of(raw)), f = df_freedom_of(raw);
    return df_log_gamma(0.5 * f) - df_log_gamma(0.5 * (f + 1.0)) + 0.5 * (df_log(f) + DF_LOG_PI) + df_log(unit) +
           df_log_scale_of(raw) + 0.5 * (f + 1.0) * df_log1p(z * z / f);
}

static inline void df_student_parameters(const double *raw, double unit, double *parameters) {
    df_normal_parameters(raw, unit, parameters);
    parameters[2] = df_freedom_of(raw);
}

/* Zero-inflated Poisson: log rate, and the log odds of a zero that is no count. */
static inline void df_zero_inflated_poisson_derivatives(double y, const double *raw, double unit, double *g, double *h) {
    const double rate = df_exp(df_within(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN));
    const double odds = df_exp(df_within(raw[1], -DF_GREATEST_LOG_ODDS, DF_GREATEST_LOG_ODDS)), p = odds / (1.0 + odds);
    const double no_count = df_exp(-rate), u = y > 0.0 ? 0.0 : odds / (odds + no_count); /* how likely the row is no count */
    const double count = 1.0 - u;
    (void)unit;
    df_write_derivatives(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN, count * (rate - y), 0.5 * count * (rate + y), g, h);
    df_write_derivatives(raw[1], -DF_GREATEST_LOG_ODDS, DF_GREATEST_LOG_ODDS, p - u, 0.5 * (p * count + u * (1.0 - p)), g + 1,
                         h + 1);
}

static inline double df_zero_inflated_poisson_loss(double y, const double *raw, double unit) {
    const double log_rate = df_within(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN), rate = df_exp(log_rate);
    const double odds = df_exp(df_within(raw[1], -DF_GREATEST_LOG_ODDS, DF_GREATEST_LOG_ODDS));
    (void)unit;
    if (y > 0.0)
        return df_bounded_derivative(df_log1p(odds) + rate - y * log_rate + df_log_gamma(y + 1.0));
    return df_log1p(odds) - df_log(odds + df_exp(-rate));
}

static inline void df_zero_inflated_poisson_parameters(const double *raw, double unit, double *parameters) {
    const double odds = df_exp(df_within(raw[1], -DF_GREATEST_LOG_ODDS, DF_GREATEST_LOG_ODDS));
    (void)unit;
    parameters[0] = df_exp(df_within(raw[0], -DF_GREATEST_LOG_MEAN, DF_GREATEST_LOG_MEAN));
    parameters[1] = odds / (1.0 + odds);
}

#endif
