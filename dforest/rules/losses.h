/* The losses of boosted trees, shared by the CPU and device code (C99 and C++): derivatives of a row's loss, the inverse of the
 * link, the loss itself.
 *
 * F is a row's raw prediction, y its target. A loss has a *constant Hessian* if its Hessian is 1. The *parameter* of a loss is
 * its quantile, Huber's delta, Tweedie's power, the c of "fair", the focal loss's gamma, or nothing. Losses are those of
 * scikit-learn, where it has them, without terms that do not depend on F. Each function is one sequence of IEEE operations; e^x is
 * df_exp, which is finite, so that derivatives are finite for finite F and y. Nothing cancels but where F is close to the optimum.
 *
 * Formulas: J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001;
 * exponential: J. Friedman, T. Hastie, R. Tibshirani, "Additive logistic regression", Annals of Statistics 28(2), 2000; focal:
 * T.-Y. Lin et al., "Focal loss for dense object detection", ICCV 2017; fair: R. C. Fair, "On the robust estimation of econometric
 * models", Annals of Economic and Social Measurement 3(4), 1974. */
#ifndef DFOREST_LOSSES_H
#define DFOREST_LOSSES_H

#include <float.h>

#include "numerics.h"

/* Which targets a loss allows: all that are finite; from 0 on, not all 0; above 0; from 0 to 1; the numbers of two classes, 0 and
 * 1; those of K classes, 0 to K - 1. */
enum { DF_FINITE_TARGETS, DF_TARGETS_FROM_0, DF_TARGETS_ABOVE_0, DF_TARGETS_TO_1, DF_TWO_CLASSES, DF_CLASS_NUMBERS };

/* How a leaf's value follows from its rows: one Newton step; or of y - F the median, the median by relative weights (below), the
 * quantile, or the robust mean, which is the median and the mean of what the loss says of the rows from there (boost.h). */
enum { DF_NEWTON_LEAF, DF_MEDIAN_LEAF, DF_RELATIVE_LEAF, DF_QUANTILE_LEAF, DF_ROBUST_LEAF };

/* All losses of one raw prediction a row: entry(number, name, whether the Hessian is constant, allowed targets, leaves). Whoever
 * adds one writes df_NAME_derivatives, df_NAME_prediction and df_NAME_loss. */
#define DF_ROW_LOSSES(entry)                                                              \
    entry(DF_SQUARED_LOSS, squared_error, 1, DF_FINITE_TARGETS, DF_NEWTON_LEAF)           \
    entry(DF_ABSOLUTE_LOSS, absolute_error, 1, DF_FINITE_TARGETS, DF_MEDIAN_LEAF)         \
    entry(DF_QUANTILE_LOSS, quantile, 1, DF_FINITE_TARGETS, DF_QUANTILE_LEAF)             \
    entry(DF_HUBER_LOSS, huber, 1, DF_FINITE_TARGETS, DF_ROBUST_LEAF)                     \
    entry(DF_FAIR_LOSS, fair, 1, DF_FINITE_TARGETS, DF_ROBUST_LEAF)                       \
    entry(DF_LOG_COSH_LOSS, log_cosh, 1, DF_FINITE_TARGETS, DF_ROBUST_LEAF)               \
    entry(DF_MAPE_LOSS, mape, 1, DF_FINITE_TARGETS, DF_RELATIVE_LEAF)                     \
    entry(DF_POISSON_LOSS, poisson, 0, DF_TARGETS_FROM_0, DF_NEWTON_LEAF)                 \
    entry(DF_GAMMA_LOSS, gamma, 0, DF_TARGETS_ABOVE_0, DF_NEWTON_LEAF)                    \
    entry(DF_TWEEDIE_LOSS, tweedie, 0, DF_TARGETS_FROM_0, DF_NEWTON_LEAF)                 \
    entry(DF_CROSS_ENTROPY_LOSS, cross_entropy, 0, DF_TARGETS_TO_1, DF_NEWTON_LEAF)       \
    entry(DF_LOG_LOSS, log_loss, 0, DF_TWO_CLASSES, DF_NEWTON_LEAF)                       \
    entry(DF_FOCAL_LOSS, focal, 0, DF_TWO_CLASSES, DF_NEWTON_LEAF)                        \
    entry(DF_EXPONENTIAL_LOSS, exponential, 0, DF_TWO_CLASSES, DF_NEWTON_LEAF)

/* The losses that have a raw prediction for each class. */
#define DF_LOSSES(entry) DF_ROW_LOSSES(entry) entry(DF_MULTINOMIAL_LOSS, multinomial, 0, DF_CLASS_NUMBERS, DF_NEWTON_LEAF)

#define DF_ENTRY(number, name, is_constant, targets, leaf) number,
typedef enum { DF_LOSSES(DF_ENTRY) DF_N_LOSSES } df_loss_number;
#undef DF_ENTRY

typedef struct {
    const char *name;
    int has_constant_hessian;
    int targets; /* allowed */
    int leaf;
} df_loss_facts;

/* Whether targets are classes: gradients are probabilities then, of which small ones have next to no say. */
static inline int df_is_of_classes(int targets) { return targets == DF_TWO_CLASSES || targets == DF_CLASS_NUMBERS; }

static inline df_loss_facts df_facts_of_loss(int loss) {
#define DF_ENTRY(number, name, is_constant, targets, leaf) {#name, is_constant, targets, leaf},
    static const df_loss_facts facts[] = {DF_LOSSES(DF_ENTRY)};
#undef DF_ENTRY
    return facts[loss];
}

/* Derivatives of the loss of a row by its raw prediction. */
typedef struct {
    double gradient, hessian;
} df_derivatives;

static inline df_derivatives df_derivatives_of(double gradient, double hessian) {
    df_derivatives d;
    d.gradient = gradient;
    d.hessian = hessian;
    return d;
}

static inline double df_magnitude(double x) { return x < 0.0 ? -x : x; }

/* Infinity becomes the largest number. */
static inline double df_finite(double x) { return x > DBL_MAX ? DBL_MAX : x; }

/* 1 / (1 + e^-x), and 1 / (1 + e^x). Neither loses digits where it is close to 0. */
static inline double df_logistic(double x) {
    const double e = df_exp(-df_magnitude(x)), larger = 1.0 / (1.0 + e);
    return x < 0.0 ? e * larger : larger;
}

/* Half the squared error: (F - y)^2 / 2. */
static inline df_derivatives df_squared_error_derivatives(double raw, double y, double parameter) {
    (void)parameter;
    return df_derivatives_of(raw - y, 1.0);
}

static inline double df_squared_error_prediction(double raw) { return raw; }

static inline double df_squared_error_loss(double raw, double y, double parameter) {
    (void)parameter;
    return 0.5 * ((raw - y) * (raw - y));
}

/* |F - y|; -1 stands for the derivative at 0. */
static inline df_derivatives df_absolute_error_derivatives(double raw, double y, double parameter) {
    (void)parameter;
    return df_derivatives_of(raw > y ? 1.0 : -1.0, 1.0);
}

static inline double df_absolute_error_prediction(double raw) { return raw; }

static inline double df_absolute_error_loss(double raw, double y, double parameter) {
    (void)parameter;
    return df_magnitude(raw - y);
}

/* Pinball loss; parameter : the quantile q. q (y - F) where y is above F, else (1 - q) (F - y). */
static inline df_derivatives df_quantile_derivatives(double raw, double y, double parameter) {
    return df_derivatives_of(raw > y ? 1.0 - parameter : -parameter, 1.0);
}

static inline double df_quantile_prediction(double raw) { return raw; }

static inline double df_quantile_loss(double raw, double y, double parameter) {
    return raw > y ? (1.0 - parameter) * (raw - y) : parameter * (y - raw);
}

/* Half the squared error up to a distance of delta, the parameter, and beyond it delta (|F - y| - delta / 2). The second
 * derivative is 0 there; 1 is taken everywhere, as Friedman does, so that outliers count in every node. */
static inline df_derivatives df_huber_derivatives(double raw, double y, double parameter) {
    double d = raw - y;
    d = d > parameter ? parameter : d;
    d = d < -parameter ? -parameter : d;
    return df_derivatives_of(d, 1.0);
}

static inline double df_huber_prediction(double raw) { return raw; }

static inline double df_huber_loss(double raw, double y, double parameter) {
    const double d = df_magnitude(raw - y);
    return d > parameter ? parameter * (d - 0.5 * parameter) : 0.5 * (d * d);
}

/* Squares close by and distances far off, with d = |F - y| and the parameter c: c (d - c ln(1 + d / c)). The second derivative
 * vanishes far off; it is taken as 1, which it is at most, as Huber's is. */
static inline df_derivatives df_fair_derivatives(double raw, double y, double parameter) {
    return df_derivatives_of((raw - y) * (parameter / (df_magnitude(raw - y) + parameter)), 1.0);
}

static inline double df_fair_prediction(double raw) { return raw; }

static inline double df_fair_loss(double raw, double y, double parameter) {
    const double d = df_magnitude(raw - y);
    return df_finite(parameter * (d - parameter * df_log1p(df_finite(d / parameter))));
}

/* ln cosh(F - y), of which F - y has the derivative tanh(F - y), and the second derivative is taken as 1, as that above. */
static inline df_derivatives df_log_cosh_derivatives(double raw, double y, double parameter) {
    const double e = df_exp(-2.0 * df_magnitude(raw - y)), size = (1.0 - e) / (1.0 + e);
    (void)parameter;
    return df_derivatives_of(raw < y ? -size : size, 1.0);
}

static inline double df_log_cosh_prediction(double raw) { return raw; }

static inline double df_log_cosh_loss(double raw, double y, double parameter) {
    const double d = df_magnitude(raw - y), ln_2 = 6.93147180559945286227e-01;
    (void)parameter;
    return d + (df_log1p(df_exp(-2.0 * d)) - ln_2);
}

/* The weight of a row whose error counts relative to its target, or to 1 where the target is smaller. */
static inline double df_relative_weight(double y) {
    const double size = df_magnitude(y);
    return 1.0 / (size > 1.0 ? size : 1.0);
}

/* The absolute error by this weight. */
static inline df_derivatives df_mape_derivatives(double raw, double y, double parameter) {
    const double weight = df_relative_weight(y);
    (void)parameter;
    return df_derivatives_of(raw > y ? weight : -weight, 1.0);
}

static inline double df_mape_prediction(double raw) { return raw; }

static inline double df_mape_loss(double raw, double y, double parameter) {
    (void)parameter;
    return df_relative_weight(y) * df_magnitude(raw - y);
}

/* Half the Poisson deviance, y >= 0: e^F - y F. */
static inline df_derivatives df_poisson_derivatives(double raw, double y, double parameter) {
    const double e = df_exp(raw);
    (void)parameter;
    return df_derivatives_of(e - y, e);
}

static inline double df_poisson_prediction(double raw) { return df_exp(raw); }

static inline double df_poisson_loss(double raw, double y, double parameter) {
    (void)parameter;
    return df_exp(raw) - y * raw;
}

/* Half the gamma deviance, y > 0: F + y e^-F. */
static inline df_derivatives df_gamma_derivatives(double raw, double y, double parameter) {
    const double ratio = df_finite(y * df_exp(-raw));
    (void)parameter;
    return df_derivatives_of(1.0 - ratio, ratio);
}

static inline double df_gamma_prediction(double raw) { return df_exp(raw); }

static inline double df_gamma_loss(double raw, double y, double parameter) {
    (void)parameter;
    return raw + df_finite(y * df_exp(-raw));
}

/* Half the Tweedie deviance of a power p between 1 and 2, the parameter, y >= 0: e^((2 - p) F) / (2 - p) + y e^((1 - p) F) / (p - 1).
 * The Hessian is a mean of two finite numbers. */
static inline df_derivatives df_tweedie_derivatives(double raw, double y, double parameter) {
    const double of_mean = df_exp((2.0 - parameter) * raw), of_target = df_finite(y * df_exp((1.0 - parameter) * raw));
    return df_derivatives_of(of_mean - of_target, (2.0 - parameter) * of_mean + (parameter - 1.0) * of_target);
}

static inline double df_tweedie_prediction(double raw) { return df_exp(raw); }

static inline double df_tweedie_loss(double raw, double y, double parameter) {
    const double of_mean = df_exp((2.0 - parameter) * raw), of_target = df_finite(y * df_exp((1.0 - parameter) * raw));
    return df_finite(of_mean / (2.0 - parameter) + of_target / (parameter - 1.0));
}

/* Minus the logarithm of the probability of class y, that of class 1 being p = 1 / (1 + e^-F): ln(1 + e^F) - y F. The gradient is
 * p - y, of which p is kept where y = 0 and p - 1 is formed as -1 / (1 + e^F) where y = 1. */
static inline df_derivatives df_log_loss_derivatives(double raw, double y, double parameter) {
    const double e = df_exp(-df_magnitude(raw)), larger = 1.0 / (1.0 + e), smaller = e * larger;
    const double p = raw < 0.0 ? smaller : larger, other = raw < 0.0 ? larger : smaller;
    (void)parameter;
    return df_derivatives_of((1.0 - y) * p - y * other, larger * smaller);
}

static inline double df_log_loss_prediction(double raw) { return df_logistic(raw); }

static inline double df_log_loss_loss(double raw, double y, double parameter) {
    const double away = raw < 0.0 ? y * -raw : (1.0 - y) * raw; /* how far F lies on the wrong side of 0 */
    (void)parameter;
    return away + df_log1p(df_exp(-df_magnitude(raw)));
}

/* The same of a target from 0 to 1, the share of class 1. */
static inline df_derivatives df_cross_entropy_derivatives(double raw, double y, double parameter) {
    return df_log_loss_derivatives(raw, y, parameter);
}

static inline double df_cross_entropy_prediction(double raw) { return df_log_loss_prediction(raw); }

static inline double df_cross_entropy_loss(double raw, double y, double parameter) { return df_log_loss_loss(raw, y, parameter); }

/* -ln p of the probability p = 1 / (1 + e^-x). */
static inline double df_surprise(double x) { return (x < 0.0 ? -x : 0.0) + df_log1p(df_exp(-df_magnitude(x))); }

/* Log loss times (1 - p)^gamma, with p the probability of the row's own class and gamma the parameter: rows that are well told
 * count less. With u = -p ln p / (1 - p), the gradient is that of log loss times (1 - p)^gamma (1 + gamma u), and the second
 * derivative that times (1 - p)^gamma (1 + gamma (2 + ln p) + gamma^2 u). It may be below 0; without ln p, as it is taken here, it is
 * an upper bound, which is close where a row is well told. */
static inline df_derivatives df_focal_derivatives(double raw, double y, double parameter) {
    const df_derivatives plain = df_log_loss_derivatives(raw, y, parameter);
    const double own = (y + y - 1.0) * raw, surprise = df_surprise(own);
    const double share = df_logistic(own) * surprise / df_logistic(-own), power = df_exp(-parameter * df_surprise(-own));
    return df_derivatives_of(power * (1.0 + parameter * share) * plain.gradient,
                             power * (1.0 + parameter * (2.0 + parameter * share)) * plain.hessian);
}

static inline double df_focal_prediction(double raw) { return df_logistic(raw); }

static inline double df_focal_loss(double raw, double y, double parameter) {
    const double own = (y + y - 1.0) * raw;
    return df_exp(-parameter * df_surprise(-own)) * df_surprise(own);
}

/* AdaBoost's loss: e^-F of class 1, e^F of class 0. The probability of class 1 at the optimum is 1 / (1 + e^-2F). */
static inline df_derivatives df_exponential_derivatives(double raw, double y, double parameter) {
    const double wrong = (1.0 - y) * df_exp(raw), right = y * df_exp(-raw);
    (void)parameter;
    return df_derivatives_of(wrong - right, wrong + right);
}

static inline double df_exponential_prediction(double raw) { return df_logistic(2.0 * raw); }

static inline double df_exponential_loss(double raw, double y, double parameter) {
    (void)parameter;
    return (1.0 - y) * df_exp(raw) + y * df_exp(-raw);
}

/* By number, for code that is not compiled for one loss. */
static inline df_derivatives df_derivatives_of_loss(int loss, double raw, double y, double parameter) {
#define DF_ENTRY(number, name, is_constant, targets, leaf) \
    case number:                                           \
        return df_##name##_derivatives(raw, y, parameter);
    switch (loss) { DF_ROW_LOSSES(DF_ENTRY) }
#undef DF_ENTRY
    return df_derivatives_of(0.0, 0.0);
}

/* What a robust mean of y - F takes of a row beyond the median, and the most it takes: where the median is added to F, minus the
 * gradient. */
static inline double df_robust_term(int loss, double residual, double median, double parameter) {
    return -df_derivatives_of_loss(loss, median, residual, parameter).gradient;
}

static inline double df_most_robust_term(int loss, double parameter) { return loss == DF_LOG_COSH_LOSS ? 1.0 : parameter; }

/* What n raw predictions say of y: its mean, median or quantile, or the probability of class 1. */
static inline void df_predictions_of_loss(int loss, const double *raw, int64_t n, double *prediction) {
#define DF_ENTRY(number, name, is_constant, targets, leaf) \
    case number:                                           \
        for (int64_t i = 0; i < n; i++)                    \
            prediction[i] = df_##name##_prediction(raw[i]); \
        return;
    switch (loss) { DF_ROW_LOSSES(DF_ENTRY) }
#undef DF_ENTRY
}

static inline double df_value_of_loss(int loss, double raw, double y, double parameter) {
#define DF_ENTRY(number, name, is_constant, targets, leaf) \
    case number:                                           \
        return df_##name##_loss(raw, y, parameter);
    switch (loss) { DF_ROW_LOSSES(DF_ENTRY) }
#undef DF_ENTRY
    return 0.0;
}

/* Several classes: the class of the highest raw prediction, of equal ones the first. raw : [n_classes], `step` apart */
static inline int64_t df_highest_class(const double *raw, int64_t step, int64_t n_classes) {
    int64_t k, highest = 0;
    for (k = 1; k < n_classes; k++)
        highest = raw[k * step] > raw[highest * step] ? k : highest;
    return highest;
}

/* e to the power of F_k less the highest F, for each class. Returns the sum of all but that of the highest class, which is 1.
 * OUT powers : [n_classes], `step` apart, as raw is; may be raw itself */
static inline double df_class_powers(const double *raw, double *powers, int64_t step, int64_t n_classes, int64_t highest) {
    const double top = raw[highest * step];
    double rest = 0.0;
    int64_t k;
    for (k = 0; k < n_classes; k++) {
        powers[k * step] = df_exp(raw[k * step] - top);
        rest += k == highest ? 0.0 : powers[k * step];
    }
    return rest;
}

/* The probabilities of the classes of n rows, e^F_k over the sum of these. The powers of all rows and classes are found in one
 * loop, which vectors may do. raw : [n, n_classes]. OUT p : [n, n_classes] */
static inline void df_multinomial_predictions(const double *raw, int64_t n, int64_t n_classes, double *p) {
    int64_t i, k;
    for (i = 0; i < n; i++) {
        const double top = raw[i * n_classes + df_highest_class(raw + i * n_classes, 1, n_classes)];
        for (k = 0; k < n_classes; k++)
            p[i * n_classes + k] = raw[i * n_classes + k] - top;
    }
    for (i = 0; i < n * n_classes; i++)
        p[i] = df_exp(p[i]);
    for (i = 0; i < n; i++) {
        const int64_t highest = df_highest_class(raw + i * n_classes, 1, n_classes);
        double *own = p + i * n_classes, rest = 0.0, scale;
        for (k = 0; k < n_classes; k++)
            rest += k == highest ? 0.0 : own[k];
        scale = 1.0 / (1.0 + rest);
        for (k = 0; k < n_classes; k++)
            own[k] *= scale;
    }
}

/* Derivatives by the raw prediction of one class, given its power, the sum of those of all but the highest, that of all, and 1 over
 * the latter: see below. */
static inline df_derivatives df_class_derivatives(double power, double rest, double sum, double scale, int is_highest, int is_target) {
    const double p = power * scale;
    const double other = (is_highest ? rest : sum - power) * scale;
    return df_derivatives_of(is_target ? -other : p, p * other);
}

/* Minus the logarithm of the probability p of class y. Derivatives by the raw prediction of class k: p_k, less 1 for y; and
 * p_k (1 - p_k). 1 - p_k is not formed by a difference for the highest class, the only one whose p_k may be close to 1.
 * OUT gradient, hessian : [n_classes], `step` apart, as raw is; either may be raw itself */
static inline void df_multinomial_derivatives(const double *raw, int64_t y, double *gradient, double *hessian, int64_t step,
                                              int64_t n_classes) {
    const int64_t highest = df_highest_class(raw, step, n_classes);
    const double rest = df_class_powers(raw, gradient, step, n_classes, highest), sum = 1.0 + rest, scale = 1.0 / sum;
    int64_t k;
    for (k = 0; k < n_classes; k++) {
        const df_derivatives d = df_class_derivatives(gradient[k * step], rest, sum, scale, k == highest, k == y);
        gradient[k * step] = d.gradient;
        hessian[k * step] = d.hessian;
    }
}

/* SCRATCH : as raw; may be raw itself */
static inline double df_multinomial_loss(const double *raw, int64_t y, double *scratch, int64_t step, int64_t n_classes) {
    const int64_t highest = df_highest_class(raw, step, n_classes);
    const double below = raw[highest * step] - raw[y * step];
    return below + df_log1p(df_class_powers(raw, scratch, step, n_classes, highest));
}

#endif
