/* The best cut of one feature in a node of few records (C99 and C++).
 *
 * So few records need no order. Each stands for the cut after its own value; every record is added to
 * the left sides of the cuts that are not below it, for many cuts at once, and all cuts are scored.
 * Part of scan.h. Words are those of scan.h, and others that such small nodes allow:
 *     pair      two classes: draws of class 0 in the low 8 bits of 16, of class 1 in the high ones
 *     classes   up to 8: draws of class k in the k-th 8 bits of 64
 *     sum       as in scan.h
 * Each score is formed by the operations of numerics.h, in their order, on numbers that are exact, and
 * so has the same bits as everywhere. The loops have no branches and fixed lengths: compilers vectorise them.
 */
#ifndef DFOREST_FEW_H
#define DFOREST_FEW_H

#define DF_FEW 64                /* most records */
#define DF_FEW_DRAWS 255         /* most draws */
#define DF_FEW_CLASSES 8         /* most classes */
#define DF_SMALL_DRAWS 4096      /* most draws of nodes whose cuts are scored roughly first */
#define DF_ROUGH 0x1p-20         /* relative error of rough scores, and some more */
#define DF_FEW_NO_CODE INT16_MAX /* above all codes */

typedef struct {
    int n;                 /* records, at least 1 */
    int least;             /* fewest draws of a side, at least 1 */
    int n_missing;         /* draws whose value is missing */
    int16_t missing;       /* the code that means missing; DF_FEW_NO_CODE: none does */
    int16_t code[DF_FEW];  /* of each record; DF_FEW_NO_CODE beyond the last */
    uint16_t pair[DF_FEW]; /* two classes: words of the records */
    uint64_t word[DF_FEW]; /* else */
} df_few;

/* The highest of n scores, and which are at least some number, a bit each; n: 16, 32 or 64. */
#if defined(__SSE2__)
DF_INLINE double df_highest(const double *scores, int n) {
    __m128d a = _mm_loadu_pd(scores), b = _mm_loadu_pd(scores + 2);
    __m128d c = _mm_loadu_pd(scores + 4), d = _mm_loadu_pd(scores + 6);
    for (int i = 8; i < n; i += 8) {
        a = _mm_max_pd(a, _mm_loadu_pd(scores + i));
        b = _mm_max_pd(b, _mm_loadu_pd(scores + i + 2));
        c = _mm_max_pd(c, _mm_loadu_pd(scores + i + 4));
        d = _mm_max_pd(d, _mm_loadu_pd(scores + i + 6));
    }
    a = _mm_max_pd(_mm_max_pd(a, b), _mm_max_pd(c, d));
    return _mm_cvtsd_f64(_mm_max_sd(a, _mm_unpackhi_pd(a, a)));
}

DF_INLINE uint64_t df_at_least(const double *scores, int n, double least) {
    __m128d limit = _mm_set1_pd(least);
    uint64_t mask = 0;
    for (int i = 0; i < n; i += 2)
        mask |= (uint64_t)_mm_movemask_pd(_mm_cmpge_pd(_mm_loadu_pd(scores + i), limit)) << i;
    return mask;
}

DF_INLINE float df_highest_rough(const float *scores, int n) {
    __m128 a = _mm_loadu_ps(scores), b = _mm_loadu_ps(scores + 4);
    for (int i = 8; i < n; i += 8) {
        a = _mm_max_ps(a, _mm_loadu_ps(scores + i));
        b = _mm_max_ps(b, _mm_loadu_ps(scores + i + 4));
    }
    a = _mm_max_ps(a, b);
    a = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(a, _mm_shuffle_ps(a, a, 1)));
}

DF_INLINE uint64_t df_at_least_rough(const float *scores, int n, float least) {
    __m128 limit = _mm_set1_ps(least);
    uint64_t mask = 0;
    for (int i = 0; i < n; i += 4)
        mask |= (uint64_t)_mm_movemask_ps(_mm_cmpge_ps(_mm_loadu_ps(scores + i), limit)) << i;
    return mask;
}
#else
#define DF_HIGHEST(name, name_at_least, number)                          \
    DF_INLINE number name(const number *scores, int n) {                 \
        number highest = scores[0];                                      \
        for (int i = 1; i < n; i++)                                      \
            highest = scores[i] > highest ? scores[i] : highest;         \
        return highest;                                                  \
    }                                                                    \
    DF_INLINE uint64_t name_at_least(const number *scores, int n, number least) { \
        uint64_t mask = 0;                                               \
        for (int i = 0; i < n; i++)                                      \
            mask |= (uint64_t)(scores[i] >= least) << i;                 \
        return mask;                                                     \
    }
DF_HIGHEST(df_highest, df_at_least, double)
DF_HIGHEST(df_highest_rough, df_at_least_rough, float)
#endif

/* The record of the first of the cuts with the highest score, if that is above `above`; else -1. */
DF_INLINE int df_few_choice(const df_few *few, const double *scores, int room, double above, double *score) {
    double highest = df_highest(scores, room);
    int choice = -1;
    if (!(highest > above))
        return -1;
    *score = highest;
    for (uint64_t mask = df_at_least(scores, room, highest); mask; mask &= mask - 1) {
        int i = df_lowest_bit(mask);
        if (choice < 0 || few->code[i] < few->code[choice])
            choice = i;
    }
    return choice;
}

/* Two classes and at most DF_SMALL_DRAWS draws: scores in float32 tell which cuts may be the best. The
 * crosses are exact then, and so are all factors but their squares; the error is below 2^-21 of the score.
 * Times 2 / weight they are the scores. -1: not a valid cut. */
DF_INLINE void df_rough_pairs(const float *firsts, const float *lefts, int n, float weight, float first, float least,
                              float *rough) {
    for (int i = 0; i < n; i++) {
        float left = lefts[i], d = weight * firsts[i] - left * first;
        int is_valid = (left >= least) & (left <= weight - least);
        float above = is_valid ? d * d : -1.0f;
        float below = is_valid ? left * (weight - left) : 1.0f;
        rough[i] = above / below;
    }
}

DF_INLINE double df_pair_score(double first_left, double left, double weight, double first) {
    double d = weight * first_left - left * first;
    return (d * d + d * d) / ((left * (weight - left)) * weight);
}

/* Gini impurity, two classes. offset: words of the missing draws, if they go left; weight: draws of the
 * node; first: of its class 0. OUT left : draws on the left of the cut. */
DF_INLINE int df_few_pairs_loop(const df_few *few, int room, uint64_t offset, double weight, double first, double above,
                                double *score, int *left) {
    uint16_t word[DF_FEW];
    float firsts[DF_FEW], lefts[DF_FEW], rough[DF_FEW], highest;
    int choice = -1;
    uint64_t mask;
    for (int i = 0; i < room; i++)
        word[i] = (uint16_t)offset;
    for (int j = 0; j < few->n; j++) {
        int16_t code = few->code[j];
        uint16_t pair = few->pair[j];
        for (int i = 0; i < room; i++)
            word[i] = (uint16_t)(word[i] + (few->code[i] >= code ? pair : 0));
    }
    for (int i = 0; i < room; i++) {
        int n_first = word[i] & 255, n_left = few->code[i] < few->missing ? n_first + (word[i] >> 8) : 0;
        firsts[i] = (float)n_first;
        lefts[i] = (float)n_left;
    }
    df_rough_pairs(firsts, lefts, room, (float)weight, (float)first, (float)few->least, rough);
    highest = df_highest_rough(rough, room);
    if (highest < 0.0f || highest * (1.0 + DF_ROUGH) * (2.0 / weight) <= above)
        return -1;
    mask = df_at_least_rough(rough, room, highest * (float)(1.0 - DF_ROUGH));
    for (*score = above; mask; mask &= mask - 1) {
        int i = df_lowest_bit(mask);
        double s = df_pair_score(firsts[i], lefts[i], weight, first);
        if (s > *score || (choice >= 0 && s == *score && few->code[i] < few->code[choice])) {
            *score = s;
            choice = i;
        }
    }
    if (choice >= 0)
        *left = (int)lefts[choice];
    return choice;
}

/* The same for a node of at most DF_SMALL_DRAWS draws and a column of at most 256 codes, from the draws up to
 * each code: of class 0 in the low 16 bits of 32, of class 1 in the high ones. A code that doesn't occur cuts as the
 * one before, and so never comes first. */
DF_INLINE int df_small_pairs_loop(const uint32_t *run, int n, uint32_t offset, double weight, double first, double least,
                                  double above, double *score, int *left) {
    float firsts[64], lefts[64], rough[256], highest[4], top = -1.0f;
    int choice = -1;
    for (int begin = 0; begin < n; begin += 64) {
        int chunk = begin / 64, length = n - begin < 64 ? n - begin : 64;
        if (length < 64)
            for (int i = 0; i < 64; i++)
                firsts[i] = lefts[i] = 0.0f;
        for (int i = 0; i < length; i++) {
            uint32_t word = run[begin + i] + offset, n_first = word & 0xFFFF;
            firsts[i] = (float)(int)n_first;
            lefts[i] = (float)(int)(n_first + (word >> 16));
        }
        df_rough_pairs(firsts, lefts, 64, (float)weight, (float)first, (float)least, rough + begin);
        highest[chunk] = df_highest_rough(rough + begin, 64);
        top = highest[chunk] > top ? highest[chunk] : top;
    }
    if (top < 0.0f || top * (1.0 + DF_ROUGH) * (2.0 / weight) <= above)
        return -1;
    *score = above;
    for (int begin = 0; begin < n; begin += 64) {
        float enough = top * (float)(1.0 - DF_ROUGH);
        if (highest[begin / 64] < enough)
            continue;
        for (uint64_t mask = df_at_least_rough(rough + begin, 64, enough); mask; mask &= mask - 1) {
            int i = begin + df_lowest_bit(mask);
            uint32_t word = run[i] + offset;
            double n_first = word & 0xFFFF, n_left = n_first + (double)(word >> 16);
            double s = df_pair_score(n_first, n_left, weight, first);
            if (s > *score) {
                *score = s;
                *left = (int)n_left;
                choice = i;
            }
        }
    }
    return choice;
}

/* Words of the left sides. */
DF_INLINE void df_few_add(const df_few *few, int room, uint64_t offset, int64_t *codes, uint64_t *words) {
    for (int i = 0; i < room; i++) {
        codes[i] = few->code[i];
        words[i] = offset;
    }
    for (int j = 0; j < few->n; j++) {
        int64_t code = few->code[j];
        uint64_t word = few->word[j];
        for (int i = 0; i < room; i++)
            words[i] += codes[i] >= code ? word : 0;
    }
}

/* Squared error. mean: the node's rounded down; remainder: its sum less weight * mean. */
DF_INLINE int df_few_sums_loop(const df_few *few, int room, uint64_t offset, double weight, double mean, double remainder,
                               double above, double *score, int *left) {
    int64_t codes[DF_FEW];
    uint64_t words[DF_FEW];
    double scores[DF_FEW], shift = mean + (double)DF_SUM_BIAS, least = few->least, most = weight - least;
    int choice;
    df_few_add(few, room, offset, codes, words);
    for (int i = 0; i < room; i++) {
        double n_left = df_from_bits(words[i] >> DF_SUM_BITS);
        double sum = df_from_bits(words[i] & DF_SUM_MASK) - n_left * shift;
        double d = weight * sum - n_left * remainder;
        int is_valid = (n_left >= least) & (n_left <= most) & (codes[i] < few->missing);
        double above = is_valid ? d * d : -1.0;
        double below = is_valid ? (n_left * (weight - n_left)) * weight : 1.0;
        scores[i] = above / below;
    }
    choice = df_few_choice(few, scores, room, above, score);
    if (choice >= 0)
        *left = (int)(words[choice] >> DF_SUM_BITS);
    return choice;
}

/* Gini impurity, up to 8 classes. draws : [n_classes] of the node. */
DF_INLINE int df_few_classes_loop(const df_few *few, int room, uint64_t offset, double weight, const int64_t *draws,
                                  int n_classes, double above, double *score, int *left) {
    int64_t codes[DF_FEW];
    uint64_t words[DF_FEW];
    double scores[DF_FEW], n_left[DF_FEW], least = few->least, most = weight - least;
    int choice;
    df_few_add(few, room, offset, codes, words);
    for (int i = 0; i < room; i++) {
        uint64_t pairs = (words[i] & 0x00FF00FF00FF00FFull) + (words[i] >> 8 & 0x00FF00FF00FF00FFull);
        pairs += pairs >> 32;
        n_left[i] = df_from_bits((pairs + (pairs >> 16)) & 0xFFFF);
        scores[i] = 0.0;
    }
    for (int k = 0; k < n_classes; k++) {
        double total = (double)draws[k];
        for (int i = 0; i < room; i++) {
            double d = weight * df_from_bits(words[i] >> 8 * k & 255) - n_left[i] * total;
            scores[i] += d * d;
        }
    }
    for (int i = 0; i < room; i++) {
        int is_valid = (n_left[i] >= least) & (n_left[i] <= most) & (codes[i] < few->missing);
        double above = is_valid ? scores[i] : -1.0;
        double below = is_valid ? (n_left[i] * (weight - n_left[i])) * weight : 1.0;
        scores[i] = above / below;
    }
    choice = df_few_choice(few, scores, room, above, score);
    if (choice >= 0)
        *left = (int)n_left[choice];
    return choice;
}

/* How many of n codes are below each: codes of 32 bits made shorter. Both have room for `room`. */
DF_INLINE void df_few_ranks_loop(const uint32_t *code, int n, int room, int32_t *rank) {
    for (int i = 0; i < room; i++)
        rank[i] = 0;
    for (int j = 0; j < n; j++) {
        uint32_t c = code[j];
        for (int i = 0; i < room; i++)
            rank[i] += code[i] > c;
    }
}

#endif
