/* The rules of boosted trees, shared by the CPU and device code (C99 and C++): gradients and hessians as integers, the words of
 * histograms, cuts, leaves.
 *
 * An integer q stands for q * 2^-exponent, with exponents of gradients and of hessians. Histograms and nodes add up narrow
 * integers. A word of a histogram holds several sums over a few rows, which are spilled into whole integers before they overflow.
 *
 * A light node gets exponents of its own, and its rows get other quantised gradients: so weights of 1 and 1e-12, and targets of 1
 * beside one of 1e12, can be told from 0 wherever no heavier rows are with them. A node is light if its weights are, or if few rows
 * have most of what its tree's gradients or Hessians add up to (a heavy tail), and its own are far below these.
 *
 * Gain: Friedman, Annals of Statistics 29(5), 2001; Chen, Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016.
 * Histograms: Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017. */
#ifndef DFOREST_BOOST_H
#define DFOREST_BOOST_H

#include <float.h>
#include <stddef.h>

#include "bounds.h"
#include "numerics.h"
#include "records.h"

/* Kinds of words, chosen for each tree: gradient, hessian and count in one; where the hessian is constant, gradient and count in
 * one; gradient and count in the first, hessian in the second. */
typedef enum { DF_NARROW_WORDS, DF_CONSTANT_WORDS, DF_WIDE_WORDS } df_packing;

enum {
    DF_GRADIENT_BITS = 30,            /* of quantised gradients, beside the sign */
    DF_LARGEST_ROW_WEIGHT = 2048, /* of integer weights that integers are multiplied by */
    DF_GRADIENT_SHIFT = 17,       /* narrow words: bits that a narrow gradient ... */
    DF_HESSIAN_SHIFT = 16,        /* ... and a narrow hessian leave out */
    DF_SPILL = 4095,              /* the most rows whose sums a word holds ... */
    DF_WORD_ROWS = 0xFFF,         /* ... in these bits their number ... */
    DF_WEIGHTED_SPILL = 1023,     /* ... if their integers are multiplied by weights */
    DF_LIGHT_BITS = 8,            /* of how many bits the heaviest row of a node may fall short */
    DF_HEAVY_TAIL = 64,           /* how many times the mean the largest is where there is a heavy tail; then words are not narrow ... */
    DF_TAIL_BITS = 16,            /* ... and a node is light whose largest falls short of the scale by so many bits; ... */
    DF_LEAF_TAIL_BITS = 6,        /* ... by so many, when its value is found and it is a leaf, where a new scale costs little */
    DF_GREATEST_SCALE = 1000      /* exponents are at most this, so that 2^exponent is a number */
};

/* The exponent of quantised gradients, given the largest magnitude of what they stand for: rint(largest * 2^exponent) <= 2^bits. 0
 * where all are 0. The Hessians of log loss are up to 1/4: the largest one, which is that or a little less in each iteration, has
 * one exponent then. */
static inline int32_t df_gradient_exponent(double largest, int bits) {
    int32_t exponent;
    if (!(largest > 0.0))
        return 0;
    exponent = df_scale_exponent(largest, bits);
    exponent += df_nearest_integer(ldexp(largest, exponent + 1)) <= (int32_t)1 << bits;
    return exponent < DF_GREATEST_SCALE ? exponent : DF_GREATEST_SCALE;
}

/* The quantised gradient of a gradient or hessian. factor : 2^exponent */
static inline int32_t df_quantised_gradient(double x, double factor) { return df_nearest_integer(x * factor); }

/* That of a hessian that is multiplied by a weight: above 0 where the hessian is, so that no row is without weight. */
static inline int32_t df_quantised_hessian(double x, double factor) {
    const int32_t quantised = df_quantised_gradient(x, factor);
    return quantised + (quantised == 0 && x > 0.0);
}

/* Whether a node is light. heaviest : the weight of its heaviest row; reference : that of those that its exponents were chosen
 * for */
static inline int df_is_light(double max_weight, double reference) { return max_weight < ldexp(reference, -DF_LIGHT_BITS); }

/* Whether the largest gradient or Hessian of a node, in magnitude, is so many bits below its scale. exponent : of the quantised ones */
static inline int df_is_far_below(double largest, int32_t exponent, int bits) {
    return largest > 0.0 && df_gradient_exponent(largest, DF_GRADIENT_BITS) >= exponent + bits;
}

/* A gradient or Hessian that is not so far below a scale, nor is a node that has it. */
static inline double df_near_scale(int32_t exponent, int bits) { return ldexp(1.0, DF_GRADIENT_BITS + 1 - bits - exponent); }

/* Sums of both children of a node, as integers of the lower exponents. */
static inline df_gradient_sums df_both_gradient_sums(df_gradient_sums a, df_gradient_sums b) {
    df_gradient_sums both;
    both.gradient_exponent = a.gradient_exponent < b.gradient_exponent ? a.gradient_exponent : b.gradient_exponent;
    both.hessian_exponent = a.hessian_exponent < b.hessian_exponent ? a.hessian_exponent : b.hessian_exponent;
    both.gradient = df_without_last_bits(a.gradient, a.gradient_exponent - both.gradient_exponent) +
                    df_without_last_bits(b.gradient, b.gradient_exponent - both.gradient_exponent);
    both.hessian = df_without_last_bits(a.hessian, a.hessian_exponent - both.hessian_exponent) +
                   df_without_last_bits(b.hessian, b.hessian_exponent - both.hessian_exponent);
    return both;
}

/* Whether integer weights of rows are multiplied by their integers: sums have 30 bits more. */
static inline int df_takes_times(int64_t largest_weight, int64_t sum_of_weights) {
    return largest_weight <= DF_LARGEST_ROW_WEIGHT && sum_of_weights < (int64_t)1 << 32;
}

/* Whether the largest of n quantised magnitudes is so far above their mean that narrow ones would leave out most of them. With integer
 * weights, n is the sum of these, and each magnitude is added as often as its weight says. */
static inline int df_has_heavy_tail(int64_t largest, int64_t sum, int64_t n) {
    return df_product_above(largest, n, DF_HEAVY_TAIL, sum);
}

/* The kind of a tree's words. is_weighted : whether derivatives were multiplied by weights; is_heavy : of quantised magnitudes of all
 * rows, where the hessian is not constant */
static inline df_packing df_choose_packing(int has_constant_hessian, int is_weighted, int is_heavy) {
    if (is_weighted)
        return DF_WIDE_WORDS;
    if (has_constant_hessian)
        return DF_CONSTANT_WORDS;
    return is_heavy ? DF_WIDE_WORDS : DF_NARROW_WORDS;
}

/* The bits that narrow gradients leave out, of quantised ones. */
static inline int32_t df_gradient_shift(df_packing kind) { return kind == DF_NARROW_WORDS ? DF_GRADIENT_SHIFT : 0; }

static inline int32_t df_hessian_shift(df_packing kind) { return kind == DF_NARROW_WORDS ? DF_HESSIAN_SHIFT : 0; }

/* A quantised gradient without its last bits, rounded to nearest, a half up: 3 and a shift of 1 give 2, -3 gives -1. */
static inline int32_t df_narrowed(int32_t quantised, int32_t shift) {
    return shift == 0 ? quantised : (quantised + ((int32_t)1 << (shift - 1))) >> shift;
}

/* A row's word. Narrow: [gradient 26 | hessian 26 | count 12], of narrow gradients of at most 2^13 and 2^14; constant, and the
 * first of wide words: [gradient 52 | count 12]. The second one of these is the hessian. Words are added up as they are; what
 * the fields below borrow or carry is put right as they are taken apart. */
static inline uint64_t df_pack_narrow_gradient(int32_t gradient, int32_t hessian) {
    return ((uint64_t)(int64_t)gradient << 38) + ((uint64_t)(int64_t)hessian << 12) + 1;
}

static inline uint64_t df_pack_gradient(int64_t gradient) { return ((uint64_t)gradient << 12) + 1; }

/* What histograms and nodes hold: sums of narrow gradients and hessians, and the number of rows. */
typedef struct {
    int64_t gradient, hessian, count;
} df_boost_sums;

static inline df_boost_sums df_sums_of_narrow(uint64_t word) {
    df_boost_sums sums;
    sums.count = (int64_t)(word & DF_WORD_ROWS);
    sums.hessian = (int64_t)(word >> 12 & 0x3FFFFFF);
    sums.gradient = (int64_t)(word >> 38 ^ (uint64_t)1 << 25) - ((int64_t)1 << 25); /* signed: AVX2 shifts no signed 64 bits */
    return sums;
}

/* A constant hessian of 1: its sum is the number of rows. */
static inline df_boost_sums df_sums_of_constant(uint64_t word) {
    df_boost_sums sums;
    sums.count = (int64_t)(word & DF_WORD_ROWS);
    sums.hessian = sums.count;
    sums.gradient = (int64_t)(word >> 12 ^ (uint64_t)1 << 51) - ((int64_t)1 << 51);
    return sums;
}

static inline df_boost_sums df_sums_of_wide(uint64_t word, uint64_t hessian) {
    df_boost_sums sums;
    sums.count = (int64_t)(word & DF_WORD_ROWS);
    sums.hessian = (int64_t)hessian;
    sums.gradient = (int64_t)(word >> 12 ^ (uint64_t)1 << 51) - ((int64_t)1 << 51);
    return sums;
}

/* The narrow or constant word that holds some sums, of at most DF_SPILL rows. */
static inline uint64_t df_packed_sums(int kind, int64_t gradient, int64_t hessian, int64_t count) {
    return ((uint64_t)gradient << (kind == DF_NARROW_WORDS ? 38 : 12)) +
           (kind == DF_NARROW_WORDS ? (uint64_t)hessian << 12 : 0) + (uint64_t)count;
}

/* What is in the inmost loops. */
#ifdef __GNUC__
#define DF_ALWAYS_INLINE static inline __attribute__((always_inline))
#define DF_NEVER_INLINE static __attribute__((noinline, unused))
#else
#define DF_ALWAYS_INLINE static inline
#define DF_NEVER_INLINE static inline
#endif

/* A row's words, of a kind that is known where this is compiled. Integers of a row stand together, its gradient and, unless
 * that is 1, its hessian; those of rows with `times`, weights that they are multiplied by, make two words of any kind. quantised,
 * times : of all rows */
DF_ALWAYS_INLINE void df_row_words(const int kind, const int has_times, const int32_t *quantised, const uint32_t *times, size_t row,
                                   uint64_t *word, uint64_t *second) {
    if (has_times) {
        const int64_t t = times[row];
        const int shift = kind == DF_NARROW_WORDS;
        const int32_t g = kind == DF_CONSTANT_WORDS ? quantised[row] : df_narrowed(quantised[2 * row], shift ? DF_GRADIENT_SHIFT : 0);
        const int32_t h = kind == DF_CONSTANT_WORDS ? 1 : df_narrowed(quantised[2 * row + 1], shift ? DF_HESSIAN_SHIFT : 0);
        *word = df_pack_gradient(g * t);
        *second = (uint64_t)(h * t);
    } else if (kind == DF_CONSTANT_WORDS)
        *word = df_pack_gradient(quantised[row]);
    else if (kind == DF_NARROW_WORDS)
        *word = df_pack_narrow_gradient(df_narrowed(quantised[2 * row], DF_GRADIENT_SHIFT), df_narrowed(quantised[2 * row + 1],
                                                                                                        DF_HESSIAN_SHIFT));
    else {
        *word = df_pack_gradient(quantised[2 * row]);
        *second = (uint64_t)(int64_t)quantised[2 * row + 1];
    }
}

/* What a word holds; wide: the first word, and the second. */
DF_ALWAYS_INLINE df_boost_sums df_sums_of(const int kind, uint64_t word, uint64_t second) {
    return kind == DF_NARROW_WORDS ? df_sums_of_narrow(word)
           : kind == DF_CONSTANT_WORDS ? df_sums_of_constant(word) : df_sums_of_wide(word, second);
}

/* The limits of a node, given those in units of the loss. exponents : of the node's narrow gradients and hessians */
static inline df_boost_limits df_boost_limits_of(const df_boost_limits *rules, int32_t gradient_exponent,
                                                 int32_t hessian_exponent) {
    df_boost_limits limits = *rules;
    limits.l1 = ldexp(rules->l1 / rules->weight_unit, gradient_exponent);
    limits.l2 = ldexp(rules->l2 / rules->weight_unit, hessian_exponent);
    limits.min_hessian = ldexp(rules->min_hessian / rules->weight_unit, hessian_exponent);
    limits.smoothing = ldexp(rules->smoothing / rules->weight_unit, hessian_exponent);
    limits.min_samples = rules->min_samples > 1 ? rules->min_samples : 1;
    return limits;
}

/* Whether a side of a cut has rows and hessian enough. */
static inline int df_is_enough(const df_boost_limits *limits, int64_t count, double hessian) {
    return count >= limits->min_samples && hessian >= limits->min_hessian && hessian + limits->l2 > 0.0;
}

/* The gain of a cut is G_L^2 / (H_L + l) + G_R^2 / (H_R + l) - G^2 / (H + l), here as the difference of a square, which cuts are
 * compared by, and of what all cuts of a node have in common, 0 where l is. With l = 0, G_L = 3, H_L = 1, G_R = -1, H_R = 1:
 * d = 1 * 3 - 1 * -1 = 4, 16 / (1 * 1 * 2) = 8 = 9 + 1 - 4 / 2. */
static inline double df_cut_score(double l2, double gradient_left, double hessian_left, double gradient_right,
                                  double hessian_right) {
    const double a = hessian_left + l2, b = hessian_right + l2, d = b * gradient_left - a * gradient_right;
    return (d * d) / ((a * b) * (a + b));
}

static inline double df_common_score(double l2, double gradient, double hessian) {
    const double score = l2 == 0.0 ? 0.0 : (l2 * (gradient * gradient)) / ((hessian + l2) * (hessian + (l2 + l2)));
    return score >= 0.0 ? score : 0.0; /* an l2 beyond all numbers makes no score one, neither this nor those of cuts */
}

/* A sum of gradients brought closer to 0 by l1: with l1 = 2, 5 becomes 3, and -1 becomes 0. */
static inline double df_shrunk(double gradient, double l1) {
    if (!(l1 > 0.0))
        return gradient;
    return gradient > l1 ? gradient - l1 : gradient < -l1 ? gradient + l1 : 0.0;
}

/* L1 and monotonic constraints. The *step* of a node is what its prediction changes by, in units of its narrow gradients, and kept
 * within the node's bounds. With l1 it is the minimum of g s + (h + l2) s^2 / 2 + l1 |s|, which is convex in s. */
static inline double df_bounded_step(const df_boost_limits *limits, double gradient, double hessian, df_bounds bounds) {
    return df_clip(-df_shrunk(gradient, limits->l1) / (hessian + limits->l2), bounds.lower, bounds.upper);
}

/* Bounds of a node's steps in units of other exponents: where a hessian's exponent exceeds the gradient's by `unit`, not
 * `before`. */
static inline df_bounds df_bounds_in_units(df_bounds bounds, int32_t before, int32_t unit) {
    bounds.lower = ldexp(bounds.lower, before - unit);
    bounds.upper = ldexp(bounds.upper, before - unit);
    return bounds;
}

/* Twice what a step changes the loss by. */
static inline double df_step_loss(const df_boost_limits *limits, double gradient, double hessian, double step) {
    const double loss = (2.0 * gradient + (hessian + limits->l2) * step) * step;
    return limits->l1 > 0.0 ? loss + 2.0 * limits->l1 * (step < 0.0 ? -step : step) : loss;
}

/* The gain of a cut within bounds, of which cuts are compared by; -1 if it gains nothing, and less if the steps of its sides have
 * not the direction of a constraint. direction : 1: the right side's must not be below the left side's; -1: not above; 0:
 * either. With l2 = 0, no bounds, and the sums above: steps -3 and 1, losses -9 and -1, of the node -2: 8 is gained. */
static inline double df_bounded_gain(const df_boost_limits *limits, double gradient_left, double hessian_left,
                                     double gradient_right, double hessian_right, double gradient, double hessian,
                                     df_bounds bounds, int monotonic_cst) {
    const double left = df_bounded_step(limits, gradient_left, hessian_left, bounds);
    const double right = df_bounded_step(limits, gradient_right, hessian_right, bounds);
    const double loss = df_step_loss(limits, gradient, hessian, df_bounded_step(limits, gradient, hessian, bounds));
    const double gain = loss - (df_step_loss(limits, gradient_left, hessian_left, left) +
                                df_step_loss(limits, gradient_right, hessian_right, right));
    return !(monotonic_cst * (right - left) >= 0.0) ? -HUGE_VAL : gain > 0.0 ? gain : -1.0;
}

/* Between the steps of both sides of a cut, by the sums of an output on its left and in the node. Where a side has too little, or
 * the steps have not the direction, both have the step of the node, 0 where there is nothing to divide by: then the cut does not
 * divide this one of several outputs. */
static inline double df_cut_midpoint(const df_boost_limits *limits, df_boost_sums left, df_boost_sums node, df_bounds bounds,
                                     int monotonic_cst) {
    const double h_left = (double)left.hessian, h_right = (double)(node.hessian - left.hessian), h = (double)node.hessian;
    double of_left, of_right;
    if (df_is_enough(limits, left.count, h_left) && df_is_enough(limits, node.count - left.count, h_right)) {
        of_left = df_bounded_step(limits, (double)left.gradient, h_left, bounds);
        of_right = df_bounded_step(limits, (double)(node.gradient - left.gradient), h_right, bounds);
        if (!(monotonic_cst * (of_right - of_left) >= 0.0))
            of_left = of_right = df_bounded_step(limits, (double)node.gradient, h, bounds);
    } else if (h + limits->l2 > 0.0)
        of_left = of_right = df_bounded_step(limits, (double)node.gradient, h, bounds);
    else
        of_left = of_right = df_clip(0.0, bounds.lower, bounds.upper);
    return df_midpoint_prediction(of_left, of_right);
}

/* Whether cuts are compared by their bounded gains. is_constrained : by directions of columns */
static inline int df_is_bounded(const df_boost_limits *limits, int is_constrained) { return is_constrained || limits->l1 > 0.0; }

/* What a cut gains by its score, given the sums of the node; 0 or less: nothing. */
static inline double df_gain_of_score(const df_boost_limits *limits, int is_constrained, double score, double gradient,
                                      double hessian) {
    return df_is_bounded(limits, is_constrained) ? score : score - df_common_score(limits->l2, gradient, hessian);
}

/* Where a category of a node has its place: categories are ordered by this, of equal ones by number. */
static inline double df_category_key(double gradient, double hessian, double smoothing) {
    return gradient / (hessian + smoothing);
}

/* The unit of scores of cuts, 2 to this power, by the exponents of narrow gradients and hessians. */
static inline int32_t df_unit_of_scores(int32_t gradient_exponent, int32_t hessian_exponent) {
    return hessian_exponent - 2 * gradient_exponent;
}

/* A gain in units of the loss; unit : the exponent of the unit of scores */
static inline double df_absolute_gain(double gain, int32_t unit, double weight_unit) { return ldexp(weight_unit * gain, unit); }

/* Whether a gain is enough for a split. min_gain : in units of the loss */
static inline int df_gains_enough(double gain, int32_t unit, double weight_unit, double min_gain) {
    return gain > 0.0 && !(df_absolute_gain(gain, unit, weight_unit) < min_gain);
}

/* Where missing values and categories go that a node has none of: to the side of more rows, right of equal ones. */
static inline int df_unseen_goes_left(int64_t n_left, int64_t n_right) { return n_left > n_right; }

/* How large the value of a leaf may be. The *step* of a leaf is what would be added to its rows' raw predictions with a learning
 * rate of 1, and its value is that times the rate. */
typedef struct {
    double learning_rate;
    double max_step;          /* in magnitude */
    double damping;           /* in magnitude, as a multiple of the damped step (below); 0: no step overshoots the optimum by far */
} df_value_limits;

/* is_damped : whether the loss has a link; n_sums : trees of an iteration. Those of several classes take their steps
 * together. With p the probabilities of the classes, the second derivative of the loss along steps v is the variance of v
 * by p, which is at most the sum of 2 p (1 - p) v^2: twice what each class knows of. So half a damped step of each is safe. */
static inline df_value_limits df_value_limits_of(double learning_rate, double max_step, int is_damped, int n_sums) {
    df_value_limits limits;
    limits.learning_rate = learning_rate;
    limits.max_step = max_step;
    limits.damping = !is_damped ? 0.0 : learning_rate > 1.0 ? learning_rate : 1.0;
    if (n_sums > 1)
        limits.damping *= 0.5;
    return limits;
}

/* The magnitude of a damped step. Of the losses that have a link, the third derivative is at most the
 * second one, h, in magnitude, so that a step v changes the loss of a leaf by at most -|g| |v| + h (e^|v| - |v| - 1). This is
 * below 0 at |v| = ln(1 + |g| / h), where it is least, and also at a Newton step |g| / h up to 1, and at 1 in between. So a step
 * of 0.5 is taken as it is, 1.5 becomes 1, and 99 becomes ln(100) = 4.6.
 *
 * F. Bach, "Self-concordant analysis for logistic regression", Electronic Journal of Statistics 4, 2010. */
static inline double df_damped(double size) {
    double damped;
    if (!(size > 1.0) || size > DBL_MAX)
        return size;
    damped = df_log(1.0 + size);
    return damped > 1.0 ? damped : 1.0;
}

/* The value of a leaf, given its step and this times the learning rate. */
static inline double df_limited_value(const df_value_limits *limits, double step, double value) {
    double most = limits->learning_rate * limits->max_step;
    if (limits->damping > 0.0) {
        const double damped = limits->damping * df_damped(fabs(step));
        most = damped < most ? damped : most;
    }
    return df_clip(value, -most, most);
}

/* The value of a leaf by a Newton step; 0 where there is nothing to divide by. l1, l2 : in units of weight */
static inline double df_newton_value(const df_value_limits *limits, df_gradient_sums sums, double l1, double l2) {
    const double above = df_shrunk(ldexp((double)sums.gradient, -sums.gradient_exponent), l1);
    const double below = ldexp((double)sums.hessian, -sums.hessian_exponent) + l2;
    return below > 0.0 ? df_limited_value(limits, above / below, -(limits->learning_rate * above) / below) : 0.0;
}

/* Whether values of weight `upto`, of `total`, reach a quantile. The quantile is the least value up to which they do; if the
 * weight up to there is exactly its share, the middle between this value and the next one. */
static inline int df_reaches_quantile(int64_t upto, int64_t total, double quantile) {
    return (double)upto >= quantile * (double)total;
}

static inline int df_ends_at_quantile(int64_t upto, int64_t total, double quantile) {
    return (double)upto == quantile * (double)total;
}

static inline double df_between_values(double value, double next) { return 0.5 * value + 0.5 * next; }

/* The robust mean of a leaf: the median of y - F and the mean of the rows' terms beyond it (losses.h), which are quantised by an
 * exponent for the largest that there may be. As second derivatives are at most 1, the step from the median loses nothing. */
static inline double df_robust_step(double median, const df_exact_sum *sum, int64_t weight, int32_t exponent) {
    return median + ldexp(df_sum_value(sum) / (double)weight, -exponent);
}

#endif
