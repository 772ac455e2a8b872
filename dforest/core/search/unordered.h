/* The best cut of one feature in a node of few records (C99 and C++).
 *
 * So few records need no order. Each stands for the cut after its own value; every record is added to
 * the left sides of the cuts that are not below it, for many cuts at once, and all cuts are scored.
 * Words as in scan.h, and others that such small nodes allow:
 *     binary    two classes: draws of class 0 in the low 8 bits of 16, of class 1 in the high ones
 *     classes   up to 8: draws of class k in the k-th 8 bits of 64
 *     sum       as in scan.h
 * Each score is formed by the operations of numerics.h, in their order, on numbers that are exact, and
 * so has the same bits as everywhere. The loops have no branches and fixed lengths: compilers vectorise them.
 */
#ifndef DFOREST_UNORDERED_H
#define DFOREST_UNORDERED_H

#include "core/search/scan.h"

#define DF_UNORDERED 64          /* most records */
#define DF_UP_TO_FOUR 4          /* nodes of no more records are sorted after all */
#define DF_UNORDERED_DRAWS 255   /* most draws */
#define DF_UNORDERED_CLASSES 8   /* most classes */
#define DF_UNORDERED_NO_CODE INT16_MAX /* above all codes */
#define DF_ROUGH 0x1p-20f        /* relative error of rough scores, and some more */

typedef struct {
    int n;                 /* records, at least 1 */
    int least;             /* fewest draws of a side, at least 1 */
    int n_missing;         /* draws whose value is missing */
    int16_t missing;       /* the code that means missing; DF_UNORDERED_NO_CODE: none does */
    int16_t code[DF_UNORDERED];  /* of each record; DF_UNORDERED_NO_CODE beyond the last */
    uint16_t binary_counts[DF_UNORDERED]; /* two classes: words of the records */
    uint64_t word[DF_UNORDERED]; /* else */
} df_unordered;

/* The best cut of a feature. */
typedef struct {
    int place;    /* the record or code it is after; of equal scores the lowest code */
    int left;     /* draws on its left */
    double score; /* below 0: there is no valid cut */
} df_cut;

#if defined(__SSE2__)
/* Which of n codes are equal to one. */
DF_INLINE uint64_t df_equal_codes(const int16_t *codes, int n, int16_t code) {
    __m128i wanted = _mm_set1_epi16(code);
    uint64_t mask = 0;
    for (int i = 0; i < n; i += 16) {
        __m128i a = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(codes + i)), wanted);
        __m128i b = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(codes + i + 8)), wanted);
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b)) << i;
    }
    return mask;
}
#else
DF_INLINE uint64_t df_equal_codes(const int16_t *codes, int n, int16_t code) {
    uint64_t mask = 0;
    for (int i = 0; i < n; i++)
        mask |= (uint64_t)(codes[i] == code) << i;
    return mask;
}
#endif

/* Codes of up to DF_UP_TO_FOUR records, ascending, each with its record in the lowest two bits. */
DF_INLINE void df_sort_up_to_four(const df_unordered *unordered, int32_t sort_key[DF_UP_TO_FOUR]) {
    for (int i = 0; i < DF_UP_TO_FOUR; i++)
        sort_key[i] = unordered->code[i] * DF_UP_TO_FOUR + i;
#define DF_ORDER(i, j)                            \
    {                                             \
        int32_t a = sort_key[i], b = sort_key[j]; \
        sort_key[i] = a < b ? a : b;              \
        sort_key[j] = a < b ? b : a;              \
    }
    DF_ORDER(0, 1) DF_ORDER(2, 3) DF_ORDER(0, 2) DF_ORDER(1, 3) DF_ORDER(1, 2)
#undef DF_ORDER
}

/* Keep the better one of two cuts, of equal ones the first. */
DF_INLINE void df_keep_better(df_cut *cut, double score, int place, int left) {
    int is_better = score > cut->score;
    cut->score = is_better ? score : cut->score;
    cut->place = is_better ? place : cut->place;
    cut->left = is_better ? left : cut->left;
}

/* The best cut of a few sorted records. `word` becomes that of the left side; n_left: its draws, which
 * `score` is formed of. */
#define DF_UP_TO_FOUR_LOOP(type, words, n_left, score)                                                                     \
    int32_t sort_key[DF_UP_TO_FOUR];                                                                                       \
    type word = (type)offset;                                                                                              \
    df_sort_up_to_four(unordered, sort_key);                                                                               \
    for (int j = 0; j + 1 < DF_UP_TO_FOUR; j++) {                                                                          \
        int i = sort_key[j] & (DF_UP_TO_FOUR - 1), code = sort_key[j] >> 2;                                                \
        word = (type)(word + words[i]);                                                                                    \
        int left = n_left;                                                                                                 \
        int is_valid = (left >= unordered->least) & (left <= (int)weight - unordered->least) & (code < unordered->missing) \
                       & (code != sort_key[j + 1] >> 2);                                                                   \
        df_keep_better(cut, is_valid ? score : -1.0, i, left);                                                             \
    }

/* Two classes and at most DF_UNORDERED_DRAWS draws: scores in float32 tell which cuts may be the best. The
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

DF_INLINE double df_binary_score(double first_left, double left, double weight, double first) {
    double d = weight * first_left - left * first;
    return (d * d + d * d) / ((left * (weight - left)) * weight);
}

DF_INLINE void df_up_to_four_binary(const df_unordered *unordered, uint64_t offset, double weight, double first, df_cut *cut) {
    DF_UP_TO_FOUR_LOOP(uint16_t, unordered->binary_counts, (word & 255) + (word >> 8), df_binary_score(word & 255, left, weight,
                                                                                                       first))
}

/* Gini impurity, two classes. offset: words of the missing draws, if they go left; weight: draws of the
 * node; first: of its class 0. */
DF_INLINE void df_unordered_binary_loop(const df_unordered *unordered, int room, uint64_t offset, double weight, double first,
                                        df_cut *cut) {
    uint16_t word[DF_UNORDERED];
    float firsts[DF_UNORDERED], lefts[DF_UNORDERED], rough[DF_UNORDERED], highest;
    uint64_t mask;
    for (int i = 0; i < room; i++)
        word[i] = (uint16_t)offset;
    for (int j = 0; j < unordered->n; j++) {
        int16_t code = unordered->code[j];
        uint16_t binary_counts = unordered->binary_counts[j];
        for (int i = 0; i < room; i++)
            word[i] = (uint16_t)(word[i] + (unordered->code[i] >= code ? binary_counts : 0));
    }
    for (int i = 0; i < room; i++) {
        int n_first = word[i] & 255, n_left = unordered->code[i] < unordered->missing ? n_first + (word[i] >> 8) : 0;
        firsts[i] = (float)n_first;
        lefts[i] = (float)n_left;
    }
    df_rough_pairs(firsts, lefts, room, (float)weight, (float)first, (float)unordered->least, rough);
    highest = df_highest_rough(rough, room);
    if (highest < 0.0f)
        return;
    mask = df_at_least_rough(rough, room, highest * (1.0f - DF_ROUGH));
    while (mask) { /* cuts of different codes are rarely so close */
        int i = df_lowest_bit(mask);
        double score = df_binary_score(firsts[i], lefts[i], weight, first);
        if (score > cut->score || (score == cut->score && unordered->code[i] < unordered->code[cut->place])) {
            cut->score = score;
            cut->place = i;
        }
        mask &= ~df_equal_codes(unordered->code, room, unordered->code[i]);
    }
    cut->left = (int)lefts[cut->place];
}

/* Words of the left sides. */
DF_INLINE void df_unordered_add(const df_unordered *unordered, int room, uint64_t offset, int64_t *codes, uint64_t *words) {
    for (int i = 0; i < room; i++) {
        codes[i] = unordered->code[i];
        words[i] = offset;
    }
    for (int j = 0; j < unordered->n; j++) {
        int64_t code = unordered->code[j];
        uint64_t word = unordered->word[j];
        for (int i = 0; i < room; i++)
            words[i] += codes[i] >= code ? word : 0;
    }
}

DF_INLINE void df_unordered_best(const df_unordered *unordered, const double *scores, int room, df_cut *cut) {
    double highest = df_highest(scores, room);
    if (highest < 0.0)
        return;
    cut->score = highest;
    uint64_t mask = df_at_least(scores, room, highest);
    cut->place = df_lowest_bit(mask);
    while ((mask &= ~df_equal_codes(unordered->code, room, unordered->code[df_lowest_bit(mask)])))
        if (unordered->code[df_lowest_bit(mask)] < unordered->code[cut->place])
            cut->place = df_lowest_bit(mask);
}

DF_INLINE double df_sum_score(uint64_t word, double weight, double shift, double remainder) {
    double n_left = df_from_bits(word >> DF_SUM_BITS);
    double sum = df_from_bits(word & DF_SUM_MASK) - n_left * shift;
    double d = weight * sum - n_left * remainder;
    return d * d / ((n_left * (weight - n_left)) * weight);
}

DF_INLINE void df_up_to_four_sums(const df_unordered *unordered, uint64_t offset, double weight, double mean, double remainder,
                                  df_cut *cut) {
    double shift = mean + (double)DF_SUM_BIAS;
    DF_UP_TO_FOUR_LOOP(uint64_t, unordered->word, (int)(word >> DF_SUM_BITS), df_sum_score(word, weight, shift, remainder))
}

/* Squared error. mean: the node's rounded down; remainder: its sum less weight * mean. */
DF_INLINE void df_unordered_sums_loop(const df_unordered *unordered, int room, uint64_t offset, double weight, double mean,
                                      double remainder, df_cut *cut) {
    int64_t codes[DF_UNORDERED];
    uint64_t words[DF_UNORDERED];
    double scores[DF_UNORDERED], shift = mean + (double)DF_SUM_BIAS, least = unordered->least, most = weight - least;
    df_unordered_add(unordered, room, offset, codes, words);
    for (int i = 0; i < room; i++) {
        double n_left = df_from_bits(words[i] >> DF_SUM_BITS);
        double sum = df_from_bits(words[i] & DF_SUM_MASK) - n_left * shift;
        double d = weight * sum - n_left * remainder;
        int is_valid = (n_left >= least) & (n_left <= most) & (codes[i] < unordered->missing);
        double above = is_valid ? d * d : -1.0;
        double below = is_valid ? (n_left * (weight - n_left)) * weight : 1.0;
        scores[i] = above / below;
    }
    df_unordered_best(unordered, scores, room, cut);
    cut->left = (int)(words[cut->place] >> DF_SUM_BITS);
}

/* Gini impurity, up to 8 classes. draws : [n_classes] of the node. */
DF_INLINE void df_unordered_classes_loop(const df_unordered *unordered, int room, uint64_t offset, double weight,
                                         const int64_t *draws, int n_classes, df_cut *cut) {
    int64_t codes[DF_UNORDERED];
    uint64_t words[DF_UNORDERED];
    double scores[DF_UNORDERED], n_left[DF_UNORDERED], least = unordered->least, most = weight - least;
    df_unordered_add(unordered, room, offset, codes, words);
    for (int i = 0; i < room; i++) {
        uint64_t binary_counts = (words[i] & 0x00FF00FF00FF00FFull) + (words[i] >> 8 & 0x00FF00FF00FF00FFull);
        binary_counts += binary_counts >> 32;
        n_left[i] = df_from_bits((binary_counts + (binary_counts >> 16)) & 0xFFFF);
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
        int is_valid = (n_left[i] >= least) & (n_left[i] <= most) & (codes[i] < unordered->missing);
        double above = is_valid ? scores[i] : -1.0;
        double below = is_valid ? (n_left[i] * (weight - n_left[i])) * weight : 1.0;
        scores[i] = above / below;
    }
    df_unordered_best(unordered, scores, room, cut);
    cut->left = (int)n_left[cut->place];
}

/* Two classes: the word of the draws whose number is below some number in the low 16 bits, of those of that number in the high
 * ones. IN numbers, binary_counts : [DF_UNORDERED] */
DF_INLINE uint32_t df_unordered_sums_below_loop(const uint16_t *numbers, const uint16_t *binary_counts, uint16_t number) {
    uint16_t below = 0, equal = 0;
    for (int i = 0; i < DF_UNORDERED; i++) {
        below = (uint16_t)(below + (numbers[i] < number ? binary_counts[i] : 0));
        equal = (uint16_t)(equal + (numbers[i] == number ? binary_counts[i] : 0));
    }
    return below | (uint32_t)equal << 16;
}

/* How many of n codes are below each: codes of 32 bits made shorter. Both have room for `room`. */
DF_INLINE void df_unordered_ranks_loop(const uint32_t *code, int n, int room, int32_t *rank) {
    for (int i = 0; i < room; i++)
        rank[i] = 0;
    for (int j = 0; j < n; j++) {
        uint32_t c = code[j];
        for (int i = 0; i < room; i++)
            rank[i] += code[i] > c;
    }
}

#endif
