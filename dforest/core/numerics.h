/* The arithmetic that decides a split, shared by the CPU and device code (C99 and C++).
 *
 * Inputs are integers; results are float64 formed by one fixed sequence of IEEE operations, so
 * that every compiler, thread and device gets the same bits. Compile with -ffp-contract=off.
 *
 * The score of a cut is w * (impurity decrease): the node's weight times the decrease. With
 * w = w_L + w_R and a statistic s = s_L + s_R, every formula here is built on the exact integer
 *     cross = w_R * s_L - w_L * s_R = w * s_L - w_L * s,
 * which is 0 for a useless cut. No score is a difference of nearly equal numbers.
 */
#ifndef DFOREST_NUMERICS_H
#define DFOREST_NUMERICS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef __int128 df_int128;

/* Products of two numbers below this bound are exact in float64, and so is their difference. */
#define DF_EXACT_WEIGHT ((int64_t)1 << 26)

/* The float64 nearest to a*b - c*d; all below 2^62 in magnitude. */
static inline double df_cross(int64_t a, int64_t b, int64_t c, int64_t d) {
    return (double)((df_int128)a * b - (df_int128)c * d);
}

/* The same number where all four are at most DF_EXACT_WEIGHT: nothing is rounded. */
static inline double df_cross_small(int64_t a, int64_t b, int64_t c, int64_t d) {
    return (double)a * (double)b - (double)c * (double)d;
}

/* log2(1 + t) for m = 1 + t in [sqrt(1/2), sqrt(2)], by the series of the inverse hyperbolic
 * tangent at s = t / (2 + t): returns the sum past the first term, sum of s^(2i) / (2i+1), i >= 1. */
static inline double df_atanh_tail(double s) {
    double z = s * s;
    double r = 1.0 / 25;
    r = r * z + 1.0 / 23;
    r = r * z + 1.0 / 21;
    r = r * z + 1.0 / 19;
    r = r * z + 1.0 / 17;
    r = r * z + 1.0 / 15;
    r = r * z + 1.0 / 13;
    r = r * z + 1.0 / 11;
    r = r * z + 1.0 / 9;
    r = r * z + 1.0 / 7;
    r = r * z + 1.0 / 5;
    r = r * z + 1.0 / 3;
    return r * z;
}

#define DF_LOG2_E 1.4426950408889634 /* 1 / ln 2 */
#define DF_LN_2 0.6931471805599453
#define DF_SQRT_2 1.4142135623730951

/* x = m * 2^exponent, m in (sqrt(1/2), sqrt(2)], x positive, finite and normal: ln m. */
static inline double df_log_of_fraction(double x, int *exponent) {
    uint64_t bits;
    double m, s;
    memcpy(&bits, &x, 8);
    *exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
    memcpy(&m, &bits, 8);
    if (m > DF_SQRT_2) {
        m = m * 0.5;
        *exponent += 1;
    }
    s = (m - 1.0) / (m + 1.0);
    return 2.0 * s + 2.0 * s * df_atanh_tail(s);
}

static inline double df_log(double x) {
    int exponent;
    double fraction = df_log_of_fraction(x, &exponent);
    return exponent * DF_LN_2 + fraction;
}

/* Exact for powers of two. */
static inline double df_log2(double x) {
    int exponent;
    double fraction = df_log_of_fraction(x, &exponent);
    return exponent + fraction * DF_LOG2_E;
}

/* h(x) = (1 + x) ln(1 + x) - x for x >= -1: never negative, 0 at 0, without cancellation near 0. */
static inline double df_entropy_term(double x) {
    double u = 1.0 + x;
    if (u <= 0.0)
        return 1.0;
    if (u > 0.71 && u < 1.41) {
        double s = x / (2.0 + x);
        return x * s + u * (2.0 * s * df_atanh_tail(s));
    }
    return u * df_log(u) - x;
}

/* One class's part of the entropy score, in nats, for both sides. The score is
 * sum over sides S and classes k of w_S * c_k / w * h(x_Sk), x_Sk = +-cross_k / (w_S * c_k):
 * the information gain with its first-order terms, which sum to 0, taken out. */
static inline double df_entropy_part(double cross, double weight_left, double weight_right, double weight, double count) {
    double left = weight_left * count;
    double right = weight_right * count;
    if (count == 0.0)
        return 0.0;
    return (left * df_entropy_term(cross / left) + right * df_entropy_term(-cross / right)) / weight;
}

/* Gini and squared error share the form (sum of cross^2) / (w_L * w_R * w). */
static inline double df_ratio_score(double cross_squared, double weight_left, double weight_right, double weight) {
    return cross_squared / ((weight_left * weight_right) * weight);
}

#define DF_WORD ((df_int128)1 << 31)

/* A sum of w * q over draws is high * 2^31 + low; high is 0 where one word is enough. It is taken
 * relative to the node's mean rounded down, m = floor(sum / w):
 *     cross = w * (s_L - w_L m) - w_L * (s - w m),
 * whose second product is below w_L * w, so that nothing large cancels. */
static inline int64_t df_floor_mean(int64_t low, int64_t high, int64_t weight) {
    if (high == 0)
        return low / weight - (low % weight < 0);
    df_int128 sum = (df_int128)high * DF_WORD + low;
    df_int128 mean = sum / weight;
    return (int64_t)(mean - (sum % weight < 0));
}

static inline double df_offset_sum(int64_t low, int64_t high, int64_t weight, int64_t mean) {
    if (high == 0 && weight <= (int64_t)1 << 31)
        return (double)(low - weight * mean); /* below 2^63; always so where one word is enough */
    return (double)((df_int128)high * DF_WORD + low - (df_int128)weight * mean);
}

static inline double df_mean_cross(int64_t weight_left, double sum_left, int64_t weight, double sum) {
    return (double)weight * sum_left - (double)weight_left * sum;
}

/* An exact sum of weighted integers: products below 2^127 in magnitude, and so is their sum. */
typedef struct {
    df_int128 value;
} df_exact_sum;

static inline void df_add_product(df_exact_sum *sum, int64_t a, int64_t b) { sum->value += (df_int128)a * b; }

static inline void df_add_square(df_exact_sum *sum, int64_t a, int64_t w) { sum->value += (df_int128)a * a * w; }

static inline void df_add_sum(df_exact_sum *sum, const df_exact_sum *other) { sum->value += other->value; }

static inline int df_sum_above(const df_exact_sum *a, const df_exact_sum *b) { return a->value > b->value; }

static inline double df_sum_value(const df_exact_sum *sum) { return (double)sum->value; }

/* Whether a * b > c * d, exactly. */
static inline int df_product_above(int64_t a, int64_t b, int64_t c, int64_t d) {
    return (df_int128)a * b > (df_int128)c * d;
}

/* The largest e with rint(largest * 2^e) < 2^bits; largest is positive and finite. */
static inline int32_t df_scale_exponent(double largest, int bits) {
    int e;
    (void)frexp(largest, &e);
    e = bits - e;
    return rint(ldexp(largest, e)) < ldexp(1.0, bits) ? e : e - 1;
}

/* The middle of two neighbouring values lo < hi, in float64 or rounded to float32, moved down to
 * lo where rounding would reach hi: lo <= middle < hi always. Infinite ends are allowed. */
static inline double df_middle(double lo, double hi, int is_float32) {
    double m = 0.5 * lo + 0.5 * hi;
    if (is_float32)
        m = (double)(float)m;
    return m < hi && m >= lo ? m : lo;
}

/* A random threshold in [lo, hi), lo < hi, for u in [0, 1); infinite ends count as the largest
 * finite values. */
static inline double df_between(double lo, double hi, double u, int is_float32) {
    double largest = is_float32 ? (double)FLT_MAX : DBL_MAX;
    double a = lo < -largest ? -largest : lo;
    double b = hi > largest ? largest : hi;
    double t = a * (1.0 - u) + b * u;
    if (is_float32)
        t = (double)(float)t;
    return t < hi && t >= lo ? t : lo;
}

#endif
