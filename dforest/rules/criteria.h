/* What the built-in criteria say of statistics, shared by the CPU and device code (C99 and C++).
 *
 * The words of a statistic are draws, weight, and the weights of classes or the sum of weight * target, in one word or two. A
 * *measure* holds what cuts of a node are scored against. Formulas: Breiman, Friedman, Olshen, Stone, "Classification and
 * Regression Trees", 1984, chapters 4 and 8; see numerics.h for their form. */
#ifndef DFOREST_CRITERIA_H
#define DFOREST_CRITERIA_H

#include "numerics.h"
#include "records.h"

/* A product of weight and target is low + high * 2^31, 0 <= low < 2^31: 5 is 5 + 0 * 2^31, -5 is (2^31 - 5) - 2^31. */
static inline int64_t df_low_part(int64_t product) { return product & 0x7FFFFFFF; }

static inline int64_t df_high_part(int64_t product) { return product >> 31; }

/* Add a record's draws to a statistic. 3 draws of weight 2 and target 5 add (3, 6, 30) where targets are summed up in
 * one word, and, of the class 1 of two, (3, 6, 0, 6). */
static inline void df_add_draws(df_draw_kind kind, int64_t *statistic, const df_record *record) {
    const int64_t weight = (int64_t)record->count * record->weight;
    int64_t product;
    statistic[0] += record->count;
    statistic[1] += weight;
    if (kind == DF_CLASS_WEIGHTS)
        statistic[2 + record->target] += weight;
    else if (kind == DF_TARGET_SUM)
        statistic[2] += weight * record->target;
    else {
        product = (int64_t)record->weight * record->target;
        statistic[2] += df_low_part(product) * record->count;
        statistic[3] += df_high_part(product) * record->count;
    }
}

/* What several outputs add to a statistic, whose words from the third on are those of one output after another. The targets of
 * a record are the n_outputs integers from record->target * n_outputs on. That of an output with classes is the word that counts
 * the class: of 3 and 2 classes, the classes 1 and 0 are the words 3 and 5. */
typedef struct {
    df_draw_kind kind;    /* of each output alone */
    int64_t n_outputs;
    const int32_t *targets;
} df_outputs;

/* Add targets times a weight to their sums; most weights have 32 bits, and their products are formed faster. */
static inline void df_add_weighted(int64_t *sums, const int32_t *targets, int64_t n, int64_t weight) {
    const int32_t small = (int32_t)weight;
    int64_t o;
    if (small == weight) {
        for (o = 0; o < n; o++)
            sums[o] += (int64_t)small * targets[o];
    } else {
        for (o = 0; o < n; o++)
            sums[o] += weight * targets[o];
    }
}

/* Add a record's draws to a statistic of several outputs. */
static inline void df_add_outputs(const df_outputs *outputs, int64_t *statistic, const df_record *record) {
    const int64_t n = outputs->n_outputs, weight = (int64_t)record->count * record->weight;
    const int32_t *target = outputs->targets + (int64_t)(uint32_t)record->target * n;
    int64_t o, product;
    statistic[0] += record->count;
    statistic[1] += weight;
    if (outputs->kind == DF_CLASS_WEIGHTS) {
        for (o = 0; o < n; o++)
            statistic[target[o]] += weight;
    } else if (outputs->kind == DF_TARGET_SUM) {
        df_add_weighted(statistic + 2, target, n, weight);
    } else {
        for (o = 0; o < n; o++) {
            product = (int64_t)record->weight * target[o];
            statistic[2 + 2 * o] += df_low_part(product) * record->count;
            statistic[3 + 2 * o] += df_high_part(product) * record->count;
        }
    }
}

/* Whether all draws are of one class. */
static inline int df_has_one_class(const int64_t *statistic, int64_t n_words) {
    int64_t k, present = 0;
    for (k = 2; k < n_words; k++)
        present += statistic[k] > 0;
    return present <= 1;
}

/* Of criteria of classes, the words of a statistic from `first` to `end` - 1 are the weights of the classes.
 *
 * Gini impurity: the score is this over df_ratio_unit. */
static inline double df_gini_crosses(const int64_t *left, const int64_t *total, int64_t first, int64_t end) {
    const int64_t w = total[1];
    double s = 0.0, d;
    int64_t k;
    if (w > DF_EXACT_WEIGHT) {
        for (k = first; k < end; k++) {
            d = df_cross(w, left[k], left[1], total[k]);
            s += d * d;
        }
    } else if (end - first == 2) { /* the two crosses differ in sign only */
        d = df_cross_small(w, left[first], left[1], total[first]);
        s = d * d + d * d;
    } else {
        for (k = first; k < end; k++) {
            d = df_cross_small(w, left[k], left[1], total[k]);
            s += d * d;
        }
    }
    return s;
}

static inline double df_gini_score(const int64_t *left, const int64_t *total, int64_t first, int64_t end) {
    return df_gini_crosses(left, total, first, end) / df_ratio_unit(left[1], total[1]);
}

static inline double df_gini_impurity(const int64_t *statistic, int64_t first, int64_t end) {
    const double w = (double)statistic[1];
    double total = 0.0, p;
    int64_t k;
    for (k = first; k < end; k++) {
        p = (double)statistic[k] / w;
        total += p * (1.0 - p);
    }
    return total;
}

/* Hellinger distance of two classes, of weights P and N in the node. A side with P_s and N_s of these has the shares
 * a = sqrt(P_s / P) and b = sqrt(N_s / N); the distance of the sides' distributions is sqrt(sum of (a - b)^2), which does
 * not depend on how rare a class is (Cieslak, Hoens, Chawla, Kegelmeyer, Data Mining and Knowledge Discovery 24, 2012).
 * Half its square, times sqrt(P N), is w times the decrease of the impurity sqrt(p (1 - p)). a - b is formed from the
 * exact P_L N - N_L P, which is 0 for a useless cut, over P N (a + b): of P = 4, N = 1 a cut that leaves (4, 0) on the left
 * has 4 over 4 * 1 * (1 + 0) there and -4 over 4 * 1 * (0 + 1) on the right, squares of sum 2, and the score 2 / 2 * 2. */
static inline double df_hellinger_score(const int64_t *left, const int64_t *total, int64_t first, int64_t end) {
    const int64_t second = first + 1;
    double p, n, cross, left_sum, right_sum, d;
    if (end - first < 2 || total[first] == 0 || total[second] == 0)
        return 0.0;
    p = (double)total[first];
    n = (double)total[second];
    cross = df_cross(left[first], total[second], left[second], total[first]);
    left_sum = sqrt((double)left[first] / p) + sqrt((double)left[second] / n);
    right_sum = sqrt((double)(total[first] - left[first]) / p) + sqrt((double)(total[second] - left[second]) / n);
    d = cross / p / n;
    return 0.5 * sqrt(p * n) * (d / left_sum * (d / left_sum) + d / right_sum * (d / right_sum));
}

static inline double df_hellinger_impurity(const int64_t *statistic, int64_t first, int64_t end) {
    return end - first < 2 ? 0.0 : sqrt((double)statistic[first] * (double)statistic[first + 1]) / (double)statistic[1];
}

/* Shannon entropy, in bits. */
static inline double df_entropy_score(const int64_t *left, const int64_t *total, int64_t first, int64_t end) {
    const int64_t w = total[1];
    double s = 0.0;
    int64_t k;
    for (k = first; k < end; k++)
        s += df_entropy_part(df_cross(w, left[k], left[1], total[k]), (double)left[1], (double)(w - left[1]), (double)w,
                             (double)total[k]);
    return s * DF_LOG2_E;
}

static inline double df_entropy_impurity(const int64_t *statistic, int64_t first, int64_t end) {
    const double w = (double)statistic[1];
    double total = 0.0, p;
    int64_t k;
    for (k = first; k < end; k++) {
        if (statistic[k] > 0) {
            p = (double)statistic[k] / w;
            total -= p * df_log2(p);
        }
    }
    return total;
}

/* The criteria of classes, for code that is not compiled for one criterion: entry(number in records.h, name). Whoever adds one
 * writes df_NAME_score and df_NAME_impurity. */
#define DF_CLASS_CRITERIA(entry) entry(DF_GINI, gini) entry(DF_ENTROPY, entropy) entry(DF_HELLINGER, hellinger)

/* The score of a cut, and the impurity of a set of draws, by the number of the criterion. */
static inline double df_class_score(int64_t criterion, const int64_t *left, const int64_t *total, int64_t first, int64_t end) {
#define DF_CASE(number, name) \
    case number:              \
        return df_##name##_score(left, total, first, end);
    switch (criterion) { DF_CLASS_CRITERIA(DF_CASE) }
#undef DF_CASE
    return -1.0;
}

static inline double df_class_impurity(int64_t criterion, const int64_t *statistic, int64_t first, int64_t end) {
#define DF_CASE(number, name) \
    case number:              \
        return df_##name##_impurity(statistic, first, end);
    switch (criterion) { DF_CLASS_CRITERIA(DF_CASE) }
#undef DF_CASE
    return 0.0;
}

/* The high word of a sum of targets; 0 where there is one word only. */
static inline int64_t df_high_word(const int64_t *statistic, int is_wide) { return is_wide ? statistic[3] : 0; }

static inline void df_measure_squares(const int64_t *total, int is_wide, df_measure *measure) {
    const int64_t high = df_high_word(total, is_wide);
    measure->mean = df_floor_mean(total[2], high, total[1]);
    measure->remainder = df_offset_sum(total[2], high, total[1], measure->mean);
}

/* Squared error: the score is this over df_ratio_unit. */
static inline double df_square_cross(const int64_t *left, const int64_t *total, int is_wide, const df_measure *measure) {
    const double d = df_mean_cross(left[1], df_offset_sum(left[2], df_high_word(left, is_wide), left[1], measure->mean), total[1],
                                   measure->remainder);
    return d * d;
}

static inline double df_square_score(const int64_t *left, const int64_t *total, int is_wide, const df_measure *measure) {
    return df_square_cross(left, total, is_wide, measure) / df_ratio_unit(left[1], total[1]);
}

/* The mean of the true targets of some draws, in the unit of integer targets. */
static inline double df_true_mean(const int64_t *statistic, int is_wide, double base) {
    const int64_t high = df_high_word(statistic, is_wide);
    const int64_t mean = df_floor_mean(statistic[2], high, statistic[1]);
    return ((double)mean + base) + df_offset_sum(statistic[2], high, statistic[1], mean) / (double)statistic[1];
}

/* Poisson deviance, for integer targets of the scale `centre`, `exponent`. */
static inline void df_measure_deviance(const int64_t *total, int is_wide, double centre, int32_t exponent,
                                       df_measure *measure) {
    const double zero = rint(ldexp(0.0 - centre, exponent));
    df_measure_squares(total, is_wide, measure);
    /* Rounded, so that a target of 0 is an integer, and no side but one of zeros has a mean of 0. */
    measure->base = rint(ldexp(centre, exponent));
    measure->zero = (int64_t)(zero > -DF_LARGEST_TARGET ? zero : -DF_LARGEST_TARGET);
    measure->centre = df_true_mean(total, is_wide, measure->base);
}

/* The score by Poisson deviance; -1 if a side has targets of 0 only, which none may have. */
static inline double df_deviance_score(const int64_t *left, const int64_t *total, int is_wide, const df_measure *measure) {
    const int64_t w = total[1], high = df_high_word(left, is_wide), rest = df_high_word(total, is_wide) - high;
    const double w_left = (double)left[1], w_right = (double)(w - left[1]), centre = measure->centre;
    double d;
    if (df_offset_sum(left[2], high, left[1], measure->zero) <= 0.0
        || df_offset_sum(total[2] - left[2], rest, w - left[1], measure->zero) <= 0.0)
        return -1.0;
    d = df_mean_cross(left[1], df_offset_sum(left[2], high, left[1], measure->mean), w, measure->remainder);
    return centre * (w_left * df_entropy_term(d / (((double)w * w_left) * centre))
                     + w_right * df_entropy_term(-d / (((double)w * w_right) * centre)));
}

/* One draw's share of a node's sum of deviances, in fixed point: centre * h(y / centre - 1), whose mean is that of
 * y * ln(y / centre). */
static inline int64_t df_fixed_deviance(int32_t target, const df_measure *measure) {
    const double offset = ((double)target + measure->base) - measure->centre;
    return (int64_t)rint(measure->centre * df_entropy_term(offset / measure->centre) * DF_DEVIANCE_UNIT);
}

#endif
