/* The arithmetic that decides a split, shared by the CPU and device code (C99 and C++).
 *
 * Inputs are integers; results are float64 formed by one fixed sequence of IEEE operations, so that every compiler, thread and
 * device gets the same bits. Compile with -ffp-contract=off.
 *
 * With a node's weight w = w_L + w_R and a statistic s = s_L + s_R, every formula of a score is built on the exact integer
 *     cross = w_R * s_L - w_L * s_R = w * s_L - w_L * s,
 * which is 0 for a useless cut. No score is a difference of nearly equal numbers. */
#ifndef DFOREST_NUMERICS_H
#define DFOREST_NUMERICS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Integers of 128 bits, for sums and products that are exact. With DF_NO_INT128 they are made of two halves, for compilers that
 * have no such integers; the results of all functions are equal. */
#if defined(__SIZEOF_INT128__) && !defined(DF_NO_INT128)

typedef __int128 df_int128;

typedef struct {
    df_int128 value;
} df_big;

static inline df_big df_big_product(int64_t a, int64_t b) {
    df_big x = {(df_int128)a * b};
    return x;
}

static inline df_big df_big_unsigned_product(uint64_t a, uint64_t b) {
    df_big x = {(df_int128)((unsigned __int128)a * b)};
    return x;
}

static inline df_big df_big_sum(df_big a, df_big b) {
    a.value += b.value;
    return a;
}

static inline df_big df_big_difference(df_big a, df_big b) {
    a.value -= b.value;
    return a;
}

/* Where the product is in range. */
static inline df_big df_big_times(df_big a, int64_t b) {
    a.value *= b;
    return a;
}

static inline int df_big_above(df_big a, df_big b) { return a.value > b.value; }

static inline double df_big_value(df_big a) { return (double)a.value; }

/* The upper and the lower 64 bits. */
static inline int64_t df_big_high(df_big a) { return (int64_t)(a.value >> 64); }

static inline uint64_t df_big_low(df_big a) { return (uint64_t)a.value; }

static inline df_big df_big_of(int64_t high, uint64_t low) {
    df_big x = {(df_int128)((unsigned __int128)(uint64_t)high << 64 | low)};
    return x;
}

/* The quotient by a positive number, rounded down; below 2^63 in magnitude. */
static inline int64_t df_big_floor(df_big a, int64_t b) {
    df_int128 quotient = a.value / b;
    return (int64_t)(quotient - (a.value % b < 0));
}

#else

typedef struct {
    uint64_t low;
    int64_t high;
} df_big;

static inline int64_t df_big_high(df_big a) { return a.high; }

static inline uint64_t df_big_low(df_big a) { return a.low; }

static inline df_big df_big_of(int64_t high, uint64_t low) {
    df_big x = {low, high};
    return x;
}

static inline df_big df_big_unsigned_product(uint64_t a, uint64_t b) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t other = a0 * b1 + (uint32_t)middle;
    df_big x;
    x.low = a * b;
    x.high = (int64_t)(a1 * b1 + (middle >> 32) + (other >> 32));
    return x;
}

static inline df_big df_big_product(int64_t a, int64_t b) {
    df_big x = df_big_unsigned_product((uint64_t)a, (uint64_t)b);
    uint64_t high = (uint64_t)x.high;
    high -= a < 0 ? (uint64_t)b : 0; /* a + 2^64 was multiplied in its place */
    high -= b < 0 ? (uint64_t)a : 0;
    x.high = (int64_t)high;
    return x;
}

static inline df_big df_big_sum(df_big a, df_big b) {
    df_big x;
    x.low = a.low + b.low;
    x.high = (int64_t)((uint64_t)a.high + (uint64_t)b.high + (x.low < a.low));
    return x;
}

static inline df_big df_big_difference(df_big a, df_big b) {
    df_big x;
    x.low = a.low - b.low;
    x.high = (int64_t)((uint64_t)a.high - (uint64_t)b.high - (a.low < b.low));
    return x;
}

/* Where the product is in range. */
static inline df_big df_big_times(df_big a, int64_t b) {
    df_big x = df_big_unsigned_product(a.low, (uint64_t)b);
    uint64_t high = (uint64_t)x.high + (uint64_t)a.high * (uint64_t)b;
    high -= b < 0 ? a.low : 0; /* b + 2^64 was multiplied in its place */
    x.high = (int64_t)high;
    return x;
}

static inline int df_big_above(df_big a, df_big b) {
    return a.high > b.high || (a.high == b.high && a.low > b.low);
}

static inline df_big df_big_negative(df_big a) {
    df_big zero = {0, 0};
    return df_big_difference(zero, a);
}

static inline double df_big_value(df_big a) {
    int negative = a.high < 0;
    df_big x = negative ? df_big_negative(a) : a;
    uint64_t high = (uint64_t)x.high, low = x.low;
    double value, unit = 1.0;
    if (high != 0) { /* the highest 64 bits, the last of them set if a later one is */
        int bits = 0;
        while (bits < 64 && high >> bits)
            bits++;
        high = (bits < 64 ? high << (64 - bits) : high) | (bits < 64 ? low >> bits : 0);
        low = bits < 64 ? low << (64 - bits) : low;
        high |= low != 0;
        low = high;
        for (; bits > 0; bits--)
            unit *= 2.0;
    }
    value = (double)low * unit;
    return negative ? -value : value;
}

static inline int64_t df_big_floor(df_big a, int64_t b) {
    int negative = a.high < 0, i;
    df_big x = negative ? df_big_negative(a) : a;
    uint64_t quotient = 0, rest = 0;
    for (i = 127; i >= 0; i--) {
        rest = rest << 1 | ((i < 64 ? x.low >> i : (uint64_t)x.high >> (i - 64)) & 1);
        quotient <<= 1;
        if (rest >= (uint64_t)b) {
            rest -= (uint64_t)b;
            quotient |= 1;
        }
    }
    return negative ? -(int64_t)quotient - (rest != 0) : (int64_t)quotient;
}

#endif

/* Products of two numbers below this bound are exact in float64, and so is their difference. */
#define DF_EXACT_WEIGHT ((int64_t)1 << 26)

/* The float64 nearest to a*b - c*d; all below 2^62 in magnitude. */
static inline double df_cross(int64_t a, int64_t b, int64_t c, int64_t d) {
    return df_big_value(df_big_difference(df_big_product(a, b), df_big_product(c, d)));
}

/* a*b - c*d where all four are at most DF_EXACT_WEIGHT: nothing is rounded. */
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

/* ln(1 + x) for x from 0 on, without cancellation near 0. */
static inline double df_log1p(double x) {
    double s;
    if (x > 0.41)
        return df_log(1.0 + x);
    s = x / (2.0 + x);
    return 2.0 * s + 2.0 * s * df_atanh_tail(s);
}

/* Exact for powers of two. */
static inline double df_log2(double x) {
    int exponent;
    double fraction = df_log_of_fraction(x, &exponent);
    return exponent + fraction * DF_LOG2_E;
}

/* Adding and subtracting it rounds a number below 2^51 in magnitude to the nearest integer, of two the even one; the sum's lowest
 * bits are that integer. */
#define DF_ROUNDER 6755399441055744.0 /* 1.5 * 2^52 */

/* rint of a number below 2^31 in magnitude, in a way that compilers vectorise for any processor. */
static inline int32_t df_nearest_integer(double x) {
    const double t = x + DF_ROUNDER;
    uint64_t bits;
    memcpy(&bits, &t, 8);
    return (int32_t)(uint32_t)bits;
}

/* Where df_exp stops to rise and to fall: what lies beyond counts as the bound, so that every result is positive, finite and
 * normal. */
#define DF_MIN_EXPONENT (-708.0)
#define DF_GREATEST_EXPONENT 709.0

/* e^x, within 1 unit in the last place; 1 for 0, and NaN for NaN. One sequence of operations without branches or tables:
 * x = k ln 2 + r with |r| <= ln 2 / 2, the Taylor series of e^r to r^13, whose rest is below 2^-57, and 2^k by its bits. ln 2 is
 * the sum of two numbers, the first of which has 33 bits, so that its product with k is exact. */
static inline double df_exp(double x) {
    double t, k, r, p, power;
    uint64_t bits;
    x = x < DF_MIN_EXPONENT ? DF_MIN_EXPONENT : x;
    x = x > DF_GREATEST_EXPONENT ? DF_GREATEST_EXPONENT : x;
    t = x * DF_LOG2_E + DF_ROUNDER;
    k = t - DF_ROUNDER;
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = 1.0 + (r + (r * r) * p);
    memcpy(&bits, &t, 8);
    bits = (bits + 1023) << 52; /* of k, the lowest bits of t, all but the exponent's are shifted out */
    memcpy(&power, &bits, 8);
    return p * power;
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

/* Gini and squared error share the form (sum of cross^2) / (w_L * w_R * w): its denominator. */
static inline double df_ratio_unit(int64_t weight_left, int64_t weight) {
    return ((double)weight_left * (double)(weight - weight_left)) * (double)weight;
}

/* Whether the fraction a / b may be above c / d, all from 0, b and d above: may be false only if it is not, for the
 * quotients as they are rounded. */
static inline int df_may_exceed(double a, double b, double c, double d) { return a * d >= c * b * (1.0 - 0x1p-50); }

/* x to the power of n, from 0 on, by squaring. */
static inline double df_power(double x, int64_t n) {
    double power = 1.0;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            power *= x;
        x *= x;
    }
    return power;
}

/* What decides between cuts of a feature whose scores are equal, before their order does: of cuts that score 0, how much
 * the weights of the sides differ; the most balanced is taken. If a node's cuts are all useless, the first one would send as good
 * as all draws to one side, and so would the next: the tree would be as deep as the node has values. */
static inline int64_t df_imbalance(double score, int64_t w_left, int64_t w) {
    const int64_t w_right = w - w_left;
    return score != 0.0 ? 0 : w_left > w_right ? w_left - w_right : w_right - w_left;
}

/* Whether a cut is taken in place of another one of the feature that comes before it; no cut scores -1. */
static inline int df_is_better(double score, int64_t imbalance, double other_score, int64_t other_imbalance) {
    return score > other_score || (score == other_score && imbalance < other_imbalance);
}

/* A sum of w * q over draws is high * 2^31 + low; high is 0 where one word is enough. It is taken
 * relative to the node's mean rounded down, m = floor(sum / w):
 *     cross = w * (s_L - w_L m) - w_L * (s - w m),
 * whose second product is below w_L * w, so that nothing large cancels. */
static inline df_big df_join_words(int64_t low, int64_t high) {
    return df_big_sum(df_big_product(high, (int64_t)1 << 31), df_big_product(low, 1));
}

static inline int64_t df_floor_mean(int64_t low, int64_t high, int64_t weight) {
    if (high == 0)
        return low / weight - (low % weight < 0);
    return df_big_floor(df_join_words(low, high), weight);
}

static inline double df_offset_sum(int64_t low, int64_t high, int64_t weight, int64_t mean) {
    if (high == 0 && weight <= (int64_t)1 << 31)
        return (double)(low - weight * mean); /* below 2^63; always so where one word is enough */
    return df_big_value(df_big_difference(df_join_words(low, high), df_big_product(weight, mean)));
}

static inline double df_mean_cross(int64_t weight_left, double sum_left, int64_t weight, double sum) {
    return (double)weight * sum_left - (double)weight_left * sum;
}

/* Integer targets are below this in magnitude. */
#define DF_LARGEST_TARGET 2147483648.0

/* The fixed point of deviances of integer targets. */
#define DF_DEVIANCE_UNIT 1048576.0

/* An exact sum of weighted integers: products below 2^127 in magnitude, and so is their sum. */
typedef df_big df_exact_sum;

static inline void df_add_product(df_exact_sum *sum, int64_t a, int64_t b) { *sum = df_big_sum(*sum, df_big_product(a, b)); }

/* Add a * a * w to a sum; a is below 2^32 in magnitude. */
static inline void df_add_square(df_exact_sum *sum, int64_t a, int64_t w) {
    uint64_t size = a < 0 ? (uint64_t)-a : (uint64_t)a;
    *sum = df_big_sum(*sum, df_big_unsigned_product(size * size, (uint64_t)w));
}

static inline double df_sum_value(const df_exact_sum *sum) { return df_big_value(*sum); }

/* A sum cut into digits of 32 bits, lowest first, the highest digit with the sign; and the sum that digits stand for; each digit
 * may be a sum of up to 2^31 digits. Adding up digits adds up the sums, without a carry. OUT, IN digits : [4] */
static inline void df_sum_digits(const df_exact_sum *sum, int64_t *digits) {
    const uint64_t low = df_big_low(*sum);
    digits[0] = (int64_t)(low & 0xFFFFFFFFu);
    digits[1] = (int64_t)(low >> 32);
    digits[2] = (int64_t)((uint64_t)df_big_high(*sum) & 0xFFFFFFFFu);
    digits[3] = df_big_high(*sum) >> 32;
}

static inline df_exact_sum df_sum_of_digits(const int64_t *digits) {
    const int64_t unit = (int64_t)1 << 32;
    const uint64_t top = ((uint64_t)digits[3] << 32) + (uint64_t)digits[2];
    const df_big lower = df_big_sum(df_big_product(digits[1], unit), df_big_product(digits[0], 1));
    return df_big_of((int64_t)(top + (uint64_t)df_big_high(lower)), df_big_low(lower));
}

/* Whether a * b > c * d, exactly. */
static inline int df_product_above(int64_t a, int64_t b, int64_t c, int64_t d) {
    return df_big_above(df_big_product(a, b), df_big_product(c, d));
}

/* x * 2^-by, rounded to nearest, a half up, for x below 2^62 in magnitude. */
static inline int64_t df_without_last_bits(int64_t x, int32_t by) {
    return by == 0 ? x : by > 62 ? 0 : (x + ((int64_t)1 << (by - 1))) >> by;
}

/* 2^e for e from -1022 to 1023. */
static inline double df_power_of_two(int e) {
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return power;
}

/* The largest e with rint(largest * 2^e) < 2^bits, for a positive number; of an infinite one bits - 1. The bits of a normal
 * number tell its exponent, and whether it is rounded up to the next power of two: the last 52 are the digits behind 1. */
static inline int32_t df_scale_exponent(double largest, int bits) {
    const uint64_t one = (uint64_t)1 << 52, infinite = (uint64_t)0x7FF << 52;
    uint64_t digits;
    int e;
    memcpy(&digits, &largest, 8);
    if (digits >= infinite)
        return bits - 1;
    if (digits >= one) {
        e = bits - ((int)(digits >> 52) - 1022);
        return bits <= 52 && one - (digits & (one - 1)) <= (uint64_t)1 << (52 - bits) ? e - 1 : e;
    }
    (void)frexp(largest, &e);
    e = bits - e;
    return rint(ldexp(largest, e)) < ldexp(1.0, bits) ? e : e - 1;
}

/* The middle of two neighbouring values lo < hi, in float64 or rounded to float32, moved down to lo where rounding would reach
 * hi: lo <= middle < hi always. Infinite ends are allowed. */
static inline double df_midpoint(double lo, double hi, int is_float32) {
    double m = 0.5 * lo + 0.5 * hi;
    if (is_float32)
        m = (double)(float)m;
    return (m < hi && m >= lo ? m : lo) + 0.0; /* 0.0 for -0.0, which may stand for it */
}

/* A random threshold in [lo, hi), lo < hi, for u in [0, 1); infinite ends count as the largest finite values. */
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
