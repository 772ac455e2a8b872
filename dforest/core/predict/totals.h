/* Sums of float64 numbers without rounding, the same in any order.
 *
 * A *total* is an integer in units of 2^-1074, the least float64 above 0, in digits of 32 bits, the lowest first. Each digit
 * lies in a word of 64 bits with a sign, so that carries are passed on only now and then. Shared by the CPU and device code
 * (C99 and C++).
 *
 * With decimal digits in place of those of 32 bits: 97 is added to 8, and 130 is taken away, which leaves the digits
 *
 *     7 + 8 - 0, 9 - 3, -1   =   15, 6, -1    carried: 5, 7, -1    that is 5 + 70 - 100 = -25
 *
 * The order in which numbers are added changes no digit before carries are passed on, and no total afterwards.
 *
 * Nothing here owns memory. */
#ifndef DFOREST_TOTALS_H
#define DFOREST_TOTALS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    DF_DIGITS = 68,               /* room for 2^1003 * 2^32 * 2^31: squares, their weights, and how many are added */
    DF_ADDED = 1 << 28,           /* numbers of less than 2^34 in a digit, until carries are passed on */
    DF_SQUARE_EXPONENT = 500,     /* numbers are scaled to less than 2^500 before their differences are squared */
    DF_MAX_EXPONENT = 1000,      /* 2 to this power, and to minus it, are float64 numbers, and products with them exact */
};

typedef struct {
    int64_t digit[DF_DIGITS];
    int32_t begin, end;           /* the first digit that may not be 0, and the one after the last */
    int32_t n_added;
} df_total;

static inline void df_total_open(df_total *total) {
    memset(total->digit, 0, sizeof total->digit);
    total->begin = DF_DIGITS;
    total->end = 0;
    total->n_added = 0;
}

/* Leave less than 2^32, and nothing negative, in all digits but the last one. */
static inline void df_total_carry(df_total *total) {
    int32_t k;
    for (k = total->begin; k + 1 < total->end; k++) {
        const int64_t low = (int64_t)((uint64_t)total->digit[k] & 0xFFFFFFFFu);
        total->digit[k + 1] += (total->digit[k] - low) / ((int64_t)1 << 32);
        total->digit[k] = low;
    }
    total->n_added = 0;
}

/* Add x * weight. IN x : from 0, below 2^1003; weight : below 2^32 in magnitude */
static inline void df_total_add(df_total *total, double x, int64_t weight) {
    const uint64_t w = (uint64_t)(weight < 0 ? -weight : weight);
    uint64_t bits, part[3];
    int32_t exponent, shift, k, j;
    if (x == 0.0)
        return;
    memcpy(&bits, &x, sizeof bits);
    exponent = (int32_t)(bits >> 52);
    bits &= 0x000FFFFFFFFFFFFFu;
    if (exponent > 0) {
        bits |= 0x0010000000000000u;
        exponent--;
    }
    k = exponent / 32; /* x is bits << exponent */
    shift = exponent % 32;
    part[0] = (bits << shift) & 0xFFFFFFFFu;
    part[1] = (bits >> (32 - shift)) & 0xFFFFFFFFu;
    part[2] = shift == 0 ? 0 : bits >> (64 - shift);
    for (j = 0; j < 3; j++) {
        const uint64_t product = part[j] * w;
        const int64_t low = (int64_t)(product & 0xFFFFFFFFu), high = (int64_t)(product >> 32);
        total->digit[k + j] += weight < 0 ? -low : low;
        total->digit[k + j + 1] += weight < 0 ? -high : high;
    }
    total->begin = k < total->begin ? k : total->begin;
    total->end = k + 5 > total->end ? k + 5 : total->end;
    if (++total->n_added == DF_ADDED)
        df_total_carry(total);
}

/* The float64 nearest to a total times 2^power; its digits change. */
static inline double df_total_value(df_total *total, int power) {
    int32_t k, j, exponent;
    uint64_t high, rest;
    int negative;
    df_total_carry(total);
    negative = total->end > 0 && total->digit[total->end - 1] < 0;
    if (negative) {
        for (k = total->begin; k < total->end; k++)
            total->digit[k] = -total->digit[k];
        df_total_carry(total);
    }
    for (k = total->end - 1; k >= total->begin && total->digit[k] == 0; k--)
        ;
    if (k < total->begin)
        return 0.0;
    /* The 64 highest bits, the last of them set if any later one is. */
    high = (uint64_t)total->digit[k] << 32 | (k > 0 ? (uint64_t)total->digit[k - 1] : 0);
    rest = k > 1 ? (uint64_t)total->digit[k - 2] << 32 : 0;
    exponent = 32 * (k - 1) - 1074;
    for (; high >> 63 == 0; exponent--) {
        high = high << 1 | rest >> 63;
        rest <<= 1;
    }
    for (j = total->begin; j < k - 2; j++)
        rest |= (uint64_t)total->digit[j];
    high |= rest != 0;
    return (negative ? -1.0 : 1.0) * ldexp((double)high, exponent + power);
}

#endif
