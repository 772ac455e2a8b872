/* Draws of three to eight classes, weights of 1, counted in 16 bits for each class (C99 and C++).
 *
 * A *class counter* is a class's 16 bits: class k has the (k mod 4)th ones of a word of 64 bits, the lowest first, of the first
 * word up to class 3, of the second one from class 4. Histograms have two words for each code. A draw adds to its own class
 * counter alone, so that neighbouring draws of one code seldom wait for each other; sums over codes add all class counters at
 * once. A list of cuts has the first words one behind the other, in `run`, and so the second ones, in `more`, if there are more
 * than four classes.
 */
#ifndef DFOREST_CLASS_COUNTERS_H
#define DFOREST_CLASS_COUNTERS_H

#include "core/search/scan.h"

#define DF_COUNTED_CLASSES 8                      /* of a code: most classes */
#define DF_CLASS_COUNTER_DRAWS (((int64_t)1 << 16) - 1) /* most draws of a node */

/* Where the class counter of a class is among the 16-bit halves of quarters of two words, in the order of this machine's memory.
   */
static inline uint32_t df_class_counter_of(int k) {
    const uint64_t word = (uint64_t)1 << 16 * (k % 4);
    uint16_t class_counters[4];
    uint32_t i = 0;
    memcpy(class_counters, &word, 8);
    while (class_counters[i] == 0)
        i++;
    return (uint32_t)(k - k % 4) + i;
}

/* The draws of a word's class counters, 65535 at most. */
DF_INLINE uint64_t df_class_counter_draws(uint64_t word) {
    word = (word & 0x0000FFFF0000FFFFull) + (word >> 16 & 0x0000FFFF0000FFFFull);
    return (word >> 32) + (word & 0xFFFFFFFFull);
}

/* Add eight counts of 8 bits, one of each class, to *halves*: 16 bits for each even class in one word, for each odd one in
 * another. */
DF_INLINE void df_add_bytes(uint64_t counts, uint64_t halves[2]) {
    halves[0] += counts & 0x00FF00FF00FF00FFull;
    halves[1] += counts >> 8 & 0x00FF00FF00FF00FFull;
}

/* Halves as class counters. */
static inline void df_class_counters_of_halves(const uint64_t halves[2], uint64_t class_counters[2]) {
    for (int k = 0; k < 2; k++) {
        const uint64_t a = halves[0] >> 32 * k, b = halves[1] >> 32 * k;
        class_counters[k] = (a & 0xFFFF) | (b & 0xFFFF) << 16 | (a >> 16 & 0xFFFF) << 32 | (b >> 16 & 0xFFFF) << 48;
    }
}

static inline void df_put_class_counters(uint16_t *class_counters, int64_t code, const uint64_t words[2]) {
    memcpy(class_counters + DF_COUNTED_CLASSES * code, words, 16);
}

/* What a histogram has of a code: its words are taken out, and 0 left. */
static inline void df_take_class_counters(uint16_t *class_counters, int64_t code, uint64_t taken[2]) {
    memcpy(taken, class_counters + DF_COUNTED_CLASSES * code, 16);
    memset(class_counters + DF_COUNTED_CLASSES * code, 0, 16);
}

/* Take out all codes of a histogram; return how many occur. Of these there are, in ascending order, in `codes`; in `run` and
 * `more`, the sums up to each. No branches: a code that does not occur is written over, so that there is room for one more. */
static inline int64_t df_walk_class_counters(uint16_t *class_counters, int64_t n_codes, uint64_t *run, uint64_t *more,
                                             uint32_t *codes) {
    uint64_t here[2], first = 0, second = 0;
    int64_t n = 0;
    for (int64_t code = 0; code < n_codes; code++) {
        memcpy(here, class_counters + DF_COUNTED_CLASSES * code, 16);
        first += here[0];
        second += here[1];
        run[n] = first;
        more[n] = second;
        codes[n] = (uint32_t)code;
        n += (here[0] | here[1]) != 0;
    }
    memset(class_counters, 0, (size_t)n_codes * 2 * DF_COUNTED_CLASSES);
    return n;
}

/* `df_walk_class_counters` for those codes alone whose bits are set in `occupancy`, which become 0. */
static inline int64_t df_walk_occupied_class_counters(uint16_t *class_counters, uint64_t *occupancy, int64_t n_codes,
                                                      uint64_t *run, uint64_t *more, uint32_t *codes) {
    uint64_t here[2], first = 0, second = 0, bits_left;
    int64_t n = 0;
    for (int64_t at = 0; at < (n_codes + 63) / 64; at++) {
        bits_left = occupancy[at];
        occupancy[at] = 0;
        for (; bits_left; bits_left &= bits_left - 1) {
            codes[n] = (uint32_t)(64 * at + df_lowest_bit(bits_left));
            df_take_class_counters(class_counters, codes[n], here);
            run[n] = first += here[0];
            more[n] = second += here[1];
            n++;
        }
    }
    return n;
}

/* The first of the best cuts by Gini impurity with three to eight classes, and its score; n >= 1. Left sides: class counters of
 * `run` + offset[0] and, from class 4, of `more` + offset[1], both with room for n up to the next multiple of 8; weight: of the
 * node;
 * draws : [n_classes] the node's. */
DF_INLINE int64_t df_gini_lanes_loop(const uint64_t *run, const uint64_t *more, int64_t n, const uint64_t *offset,
                                     double weight, const int64_t *draws, int n_classes, double *score) {
    double scores[DF_CHUNK], left[DF_CHUNK];
    uint64_t first[DF_CHUNK], second[DF_CHUNK];
    int64_t best = 0;
    *score = -1.0;
    for (int64_t begin = 0; begin < n; begin += DF_CHUNK) {
        int length = n - begin < DF_CHUNK ? (int)(n - begin) : DF_CHUNK;
        int room = (length + 7) & -8;
        for (int i = 0; i < room; i++) {
            first[i] = run[begin + i] + offset[0];
            second[i] = n_classes > 4 ? more[begin + i] + offset[1] : 0;
            left[i] = df_from_bits(df_class_counter_draws(first[i]) + df_class_counter_draws(second[i]));
            scores[i] = 0.0;
        }
        for (int k = 0; k < n_classes; k++) {
            const uint64_t *words = k < 4 ? first : second;
            const int shift = 16 * (k % 4);
            const double total = (double)draws[k];
            for (int i = 0; i < room; i++) {
                double d = weight * df_from_bits(words[i] >> shift & 0xFFFF) - left[i] * total;
                scores[i] += d * d;
            }
        }
        for (int i = 0; i < room; i++)
            scores[i] /= (left[i] * (weight - left[i])) * weight;
        double highest;
        const int i = df_first_highest(scores, length, &highest);
        if (highest > *score) {
            *score = highest;
            best = begin + i;
        }
    }
    return best;
}

#endif
