/* The best cut of a column in a node of a boosted tree, shared by the CPU and device code (C99 and C++).
 *
 * A cut sends the *first* rows of a node to the left, in an order of the entries of its histogram: by code, or of categories by
 * their gradients. The *rest* are rows that have no place in this order: those whose value is missing, or those of rare
 * categories; they go to either side together. */
#ifndef DFOREST_BOOST_CUTS_H
#define DFOREST_BOOST_CUTS_H

#include <string.h>

#include "boost.h"

/* What cuts of a column have to keep to in an output, with monotonic constraints. */
typedef struct {
    df_bounds bounds;       /* of the node */
    int monotonic_cst;      /* of the column */
} df_boost_constraint;

/* The entries of a column: words; or sums together; or, if both are NULL, sums apart, where h is not read if Hessians are
 * constant. */
typedef struct {
    const uint64_t *words;
    const df_boost_sums *sums;
    const int64_t *g, *h, *n;
} df_boost_entries;

DF_ALWAYS_INLINE df_boost_sums df_boost_entry(const int kind, const df_boost_entries *entries, int code) {
    df_boost_sums sums;
    if (entries->words != NULL)
        return df_sums_of(kind, entries->words[code], 0);
    if (entries->sums != NULL)
        return entries->sums[code];
    sums.gradient = entries->g[code];
    sums.count = entries->n[code];
    sums.hessian = kind == DF_CONSTANT_WORDS ? sums.count : entries->h[code];
    return sums;
}

enum {
    DF_CUT_LANES = 8,  /* cuts are looked at so many at a time */
    DF_SORTED_RUN = 32 /* categories that are sorted by insertion, before others are merged with them */
};

/* n, or a little more, so that no cut is looked at alone. */
DF_ALWAYS_INLINE int df_whole_lanes(int n) { return (n + DF_CUT_LANES - 1) / DF_CUT_LANES * DF_CUT_LANES; }

/* Sums apart, in an array each: of single entries, or of the first ones of an order: of one, of two, and so on. */
typedef struct {
    int64_t *g, *h, *n;
} df_boost_arrays;

/* What a search for a cut writes to: arrays for as many entries as the column has codes, in whole lanes. */
typedef struct {
    df_boost_arrays first;
    double *scores, *keys;
    uint64_t *words;
    uint16_t *order, *spare;
} df_boost_room;

/* A room for a narrow column, of arrays that are variables each, so that sanitizers know where they end. */
#define DF_BOOST_ROOM(room)                                                                                        \
    int64_t room##_g[DF_BOOST_CODES], room##_h[DF_BOOST_CODES], room##_n[DF_BOOST_CODES];                          \
    double room##_scores[DF_BOOST_CODES], room##_keys[DF_BOOST_CODES];                                             \
    uint64_t room##_words[DF_BOOST_CODES];                                                                         \
    uint16_t room##_order[DF_BOOST_CODES], room##_spare[DF_BOOST_CODES];                                           \
    const df_boost_room room = {{room##_g, room##_h, room##_n}, room##_scores, room##_keys, room##_words,          \
                                room##_order, room##_spare}

/* The room in memory of DF_ROOM_NUMBERS numbers for each of n codes, whole lanes. */
static inline df_boost_room df_boost_room_at(double *memory, int n) {
    df_boost_room room;
    room.scores = memory;
    room.keys = memory + n;
    room.words = (uint64_t *)(memory + 2 * (size_t)n);
    room.first.g = (int64_t *)(memory + 3 * (size_t)n);
    room.first.h = room.first.g + n;
    room.first.n = room.first.h + n;
    room.order = (uint16_t *)(memory + 6 * (size_t)n);
    room.spare = room.order + n;
    return room;
}

/* (double)x in steps that AVX2 has for several numbers at once: both halves of x are exact as multiples of 1 and of 2^32, made with
 * the exponents of 2^52 and 2^84, and their sum is rounded once. */
DF_ALWAYS_INLINE double df_as_double(int64_t x) {
#if defined(__AVX2__) && !defined(__AVX512DQ__)
    const uint64_t low = ((uint64_t)x & 0xFFFFFFFF) | 0x4330000000000000, high = (uint64_t)x >> 32 ^ 0x4530000080000000;
    const uint64_t both = 0x4530000080100000; /* 2^84 + 2^63 + 2^52 */
    double a, b, c;
    memcpy(&a, &low, 8);
    memcpy(&b, &high, 8);
    memcpy(&c, &both, 8);
    return b - c + a;
#else
    return (double)x;
#endif
}

/* Bounded gains of the cuts after each of n entries: see below. It is apart, so that the loop over scores, which takes longest, is
 * compiled by itself. */
DF_NEVER_INLINE void df_boost_bounded_gains(const df_boost_arrays *first, int n, df_boost_sums rest, const df_boost_cut *node,
                                            const df_boost_limits *limits, df_bounds bounds, int monotonic_cst, double *scores) {
    for (int i = 0; i < n; i++) {
        const int64_t g = first->g[i] + rest.gradient, h = first->h[i] + rest.hessian, count = first->n[i] + rest.count;
        const double h_left = (double)h, h_right = (double)(node->hessian - h);
        scores[i] = -1.0;
        if (df_is_enough(limits, count, h_left) && df_is_enough(limits, node->n - count, h_right))
            scores[i] = df_bounded_gain(limits, (double)g, h_left, (double)(node->gradient - g), h_right, (double)node->gradient,
                                        (double)node->hessian, bounds, monotonic_cst);
    }
}

/* Scores of the cuts after each of n entries; the rest, of these sums, is on the left besides. constraint : or NULL */
DF_ALWAYS_INLINE void df_boost_scores(const df_boost_arrays *first, int n, df_boost_sums rest, const df_boost_cut *node,
                                      const df_boost_limits *limits, const df_boost_constraint *constraint, double *scores) {
    const int64_t tg = node->gradient, th = node->hessian, tn = node->n, mg = rest.gradient, mh = rest.hessian, mn = rest.count;
    const int64_t *pg = first->g, *ph = first->h, *pn = first->n;
    const df_boost_limits limit = *limits;
    if (df_is_bounded(limits, constraint != NULL)) {
        df_boost_bounded_gains(first, n, rest, node, limits, constraint != NULL ? constraint->bounds : df_no_bounds(),
                               constraint != NULL ? constraint->monotonic_cst : 0, scores);
        return;
    }
    for (int i = 0; i < n; i++) {
        const int64_t g = pg[i] + mg, h = ph[i] + mh, count = pn[i] + mn;
        const double h_left = df_as_double(h), h_right = df_as_double(th - h);
        const double score = df_cut_score(limit.l2, df_as_double(g), h_left, df_as_double(tg - g), h_right);
        /* An l2 beyond all numbers makes no score one. */
        const int is_valid = df_is_enough(&limit, count, h_left) & df_is_enough(&limit, tn - count, h_right);
        scores[i] = (is_valid & (score >= 0.0)) ? score : -1.0;
    }
}

/* The highest score, or one below 0 where there is none from 0 on, and the first place that has it: the bits of numbers from 0 are
 * in their order, and those of others are below. OUT first : only looked at where there is a score */
DF_ALWAYS_INLINE double df_top_score(const double *scores, int n, int *first) {
    double score = -1.0;
    int64_t top, at = n;
    memcpy(&top, &score, 8);
    for (int i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, scores + i, 8);
        top = bits > top ? bits : top;
    }
    memcpy(&score, &top, 8);
    for (int64_t i = n - 1; i >= 0; i--) {
        int64_t bits;
        memcpy(&bits, scores + i, 8);
        at = bits == top ? i : at;
    }
    *first = (int)at;
    return score;
}

/* Take the best of some cuts, which has the score `top` and is after entry i, if it is better than the one there is: of equal ones
 * that after fewer entries, or else the one with the rest on the right. The cuts with the rest there come first.
 * INOUT cut : score, code, missing_left */
DF_ALWAYS_INLINE void df_boost_take(double top, int i, int is_rest_left, df_boost_cut *cut) {
    if (top < 0.0 || top < cut->score || (is_rest_left && top == cut->score && i >= (int)cut->code))
        return;
    cut->score = top;
    cut->code = (uint32_t)i;
    cut->missing_left = (uint32_t)is_rest_left;
}

/* Take the best of some cuts by their scores, of equal ones that after the fewest entries. */
DF_ALWAYS_INLINE void df_boost_consider(const double *scores, int n, int is_rest_left, df_boost_cut *cut) {
    int i;
    const double top = df_top_score(scores, n, &i);
    df_boost_take(top, i, is_rest_left, cut);
}

/* Before a cut is taken. INOUT cut : the node's sums are known */
DF_ALWAYS_INLINE void df_boost_open_cut(df_boost_cut *cut) {
    cut->score = -1.0;
    cut->code = 0;
    cut->missing_left = 0;
    cut->n_left = cut->gradient_left = cut->hessian_left = 0;
}

/* After the best cut has been taken: what is on its left, and where missing values go if the node has none. */
DF_ALWAYS_INLINE void df_boost_close_cut(const df_boost_arrays *first, df_boost_sums rest, df_boost_cut *cut) {
    if (cut->score >= 0.0) {
        cut->n_left = first->n[cut->code];
        cut->gradient_left = first->g[cut->code];
        cut->hessian_left = first->h[cut->code];
    }
    if (cut->missing_left) {
        cut->n_left += rest.count;
        cut->gradient_left += rest.gradient;
        cut->hessian_left += rest.hessian;
    }
    if (rest.count == 0)
        cut->missing_left = (uint32_t)df_unseen_goes_left(cut->n_left, cut->n - cut->n_left);
}

/* The best cut after some of n entries, or more with the sums of the last: these have no rows on the right, or less than none, and
 * count for nothing. INOUT cut : the node's sums are known; missing_left is where the rest goes, if it has
 * rows */
DF_ALWAYS_INLINE void df_boost_choose(const df_boost_arrays *first, int n, df_boost_sums rest, const df_boost_limits *limits,
                                      const df_boost_constraint *constraint, double *scores, df_boost_cut *cut) {
    const df_boost_sums nothing = {0, 0, 0};
    df_boost_open_cut(cut);
    df_boost_scores(first, n, nothing, cut, limits, constraint, scores);
    df_boost_consider(scores, n, 0, cut);
    if (rest.count > 0) {
        df_boost_scores(first, n, rest, cut, limits, constraint, scores);
        df_boost_consider(scores, n, 1, cut);
    }
    df_boost_close_cut(first, rest, cut);
}

/* What the sums of words are, as integers. words, first : [n] */
DF_ALWAYS_INLINE void df_boost_unpack_sums(const int kind, const uint64_t *words, int n, const df_boost_arrays *first) {
    for (int i = 0; i < n; i++) {
        const df_boost_sums sums = df_sums_of(kind, words[i], 0);
        first->g[i] = sums.gradient;
        first->h[i] = sums.hessian;
        first->n[i] = sums.count;
    }
}

/* Sums over the entries of a column, given that the node's rows are counted. OUT first : [n], and the last sums again until n is a
 * multiple of DF_CUT_LANES; cut : the node's other sums. SCRATCH words : [n] */
DF_ALWAYS_INLINE void df_boost_add_entries(const int kind, const df_boost_entries *entries, int n, const df_boost_arrays *first,
                                           uint64_t *words, df_boost_cut *cut) {
    uint64_t sum = 0;
    df_boost_sums total = {0, 0, 0};
    const int end = df_whole_lanes(n);
    if (entries->words != NULL && cut->n <= DF_SPILL) { /* a word holds all sums: one chain of additions is faster than three */
        for (int i = 0; i < n; i++)
            words[i] = sum += entries->words[i];
        for (int i = n; i < end; i++)
            words[i] = sum;
        df_boost_unpack_sums(kind, words, end, first);
        total = df_sums_of(kind, sum, 0);
    } else {
        for (int i = 0; i < n; i++) {
            const df_boost_sums sums = df_boost_entry(kind, entries, i);
            first->g[i] = sums.gradient;
            first->h[i] = sums.hessian;
            first->n[i] = sums.count;
        }
        for (int i = 0; i < n; i++) {
            first->g[i] = total.gradient += first->g[i];
            first->h[i] = total.hessian += first->h[i];
            first->n[i] = total.count += first->n[i];
        }
        for (int i = n; i < end; i++) {
            first->g[i] = total.gradient;
            first->h[i] = total.hessian;
            first->n[i] = total.count;
        }
    }
    cut->gradient = total.gradient;
    cut->hessian = total.hessian;
}

/* `df_boost_add_entries` without the entries of no rows, after which a cut is what it was before; but with the first one. Returns how
 * many there are. With rows of the codes 2, 2 and 5, sums are those after the codes 0, 2 and 5. OUT room : `first`, and the codes of
 * the sums as `order` */
DF_ALWAYS_INLINE int df_boost_add_present(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                          const df_boost_room *room, df_boost_cut *cut) {
    uint64_t *words = room->words, sum = entries->words[0];
    uint16_t *codes = room->order;
    df_boost_sums total;
    int n = 1;
    words[0] = sum;
    codes[0] = 0;
    for (int i = 1; i < n_codes; i++) {
        words[n] = sum += entries->words[i];
        codes[n] = (uint16_t)i;
        n += (entries->words[i] & DF_WORD_ROWS) != 0;
    }
    for (int i = n; i < df_whole_lanes(n); i++)
        words[i] = sum;
    df_boost_unpack_sums(kind, words, df_whole_lanes(n), &room->first);
    total = df_sums_of(kind, has_missing ? sum + entries->words[n_codes] : sum, 0);
    cut->gradient = total.gradient;
    cut->hessian = total.hessian;
    return n;
}

/* Count the rows of a node. INOUT cut : `n` and `most` become known */
DF_ALWAYS_INLINE void df_boost_count_rows(const int kind, const df_boost_entries *entries, int n, df_boost_cut *cut) {
    int64_t count = 0, most = 0;
    for (int i = 0; i < n; i++) {
        const int64_t own = entries->words != NULL ? (int64_t)(entries->words[i] & DF_WORD_ROWS) : df_boost_entry(kind, entries, i).count;
        count += own;
        most = own > most ? own : most;
    }
    cut->n = count;
    cut->most = most;
}

/* The best cut of a column of numbers: in the order of codes; the rest is what is missing. */
DF_ALWAYS_INLINE void df_boost_cut_in(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                      const df_boost_limits *limits, const df_boost_constraint *constraint,
                                      const df_boost_room *room, df_boost_cut *cut) {
    df_boost_sums missing = {0, 0, 0};
    int n = n_codes, is_sparse;
    df_boost_count_rows(kind, entries, n_codes + has_missing, cut);
    is_sparse = entries->words != NULL && cut->n < n_codes;
    if (is_sparse)
        n = df_boost_add_present(kind, entries, n_codes, has_missing, room, cut);
    else
        df_boost_add_entries(kind, entries, n_codes + has_missing, &room->first, room->words, cut);
    if (has_missing)
        missing = df_boost_entry(kind, entries, n_codes);
    df_boost_choose(&room->first, df_whole_lanes(n), missing, limits, constraint, room->scores, cut);
    if (is_sparse)
        cut->code = room->order[cut->code];
}

/* That of a narrow column. */
DF_ALWAYS_INLINE void df_boost_cut_loop(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                        const df_boost_limits *limits, const df_boost_constraint *constraint, df_boost_cut *cut) {
    DF_BOOST_ROOM(room);
    df_boost_cut_in(kind, entries, n_codes, has_missing, limits, constraint, &room, cut);
}

/* Merge sorted runs of categories, of `width` each, until there is one. Keys are those of the categories in `order`. */
DF_ALWAYS_INLINE void df_boost_merge(double *keys, uint16_t *order, int n, int width, double *other_keys, uint16_t *other_order) {
    for (; width < n; width *= 2) {
        memcpy(other_keys, keys, n * sizeof(double));
        memcpy(other_order, order, n * sizeof(uint16_t));
        for (int begin = 0; begin < n; begin += 2 * width) {
            const int midpoint = begin + width < n ? begin + width : n, end = midpoint + width < n ? midpoint + width : n;
            int left = begin, right = midpoint;
            for (int to = begin; to < end; to++) { /* of equal keys the left one, whose number is lower */
                const int from = right == end || (left < midpoint && other_keys[left] <= other_keys[right]) ? left++ : right++;
                keys[to] = other_keys[from];
                order[to] = other_order[from];
            }
        }
    }
}

/* The order of categories with rows enough, the code for missing values among them. Returns how many there are. OUT room : `order` */
DF_ALWAYS_INLINE int df_boost_order(const int kind, const df_boost_entries *entries, int n, const df_boost_limits *limits,
                                    const df_boost_room *room) {
    double *keys = room->keys;
    uint16_t *order = room->order;
    int n_ordered = 0, first = 0, i, begin, end; /* from `first` on is a run that is not full */
    for (i = 0; i < n; i++) {
        const df_boost_sums entry = df_boost_entry(kind, entries, i);
        const double key = df_category_key((double)entry.gradient, (double)entry.hessian, limits->smoothing);
        if (entry.count < limits->min_category)
            continue;
        begin = first;
        end = n_ordered;
        while (begin < end) { /* after equal ones, whose codes are lower */
            const int midpoint = (begin + end) / 2;
            if (keys[midpoint] <= key)
                begin = midpoint + 1;
            else
                end = midpoint;
        }
        for (int j = n_ordered; j > begin; j--) {
            keys[j] = keys[j - 1];
            order[j] = order[j - 1];
        }
        keys[begin] = key;
        order[begin] = (uint16_t)i;
        n_ordered++;
        if (n_ordered - first == DF_SORTED_RUN)
            first = n_ordered;
    }
    df_boost_merge(keys, order, n_ordered, DF_SORTED_RUN, room->scores, room->spare);
    return n_ordered;
}

/* Sums over the first n categories of an order, given those of the node. OUT first : [n]. Returns the sums of the rest: of all
 * that are not in this order. */
DF_ALWAYS_INLINE df_boost_sums df_boost_add_ordered(const int kind, const df_boost_entries *entries, const uint16_t *order, int n,
                                                    const df_boost_arrays *first, const df_boost_cut *node) {
    df_boost_sums sums = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        const df_boost_sums entry = df_boost_entry(kind, entries, order[i]);
        first->g[i] = sums.gradient += entry.gradient;
        first->h[i] = sums.hessian += entry.hessian;
        first->n[i] = sums.count += entry.count;
    }
    sums.gradient = node->gradient - sums.gradient;
    sums.hessian = node->hessian - sums.hessian;
    sums.count = node->n - sums.count;
    return sums;
}

/* Which codes a cut after some of n categories sends to the left, given where the rest goes. OUT left : [n_words] a bit for each;
 * INOUT cut : missing_left becomes that of missing values */
DF_ALWAYS_INLINE void df_boost_write_subset(const uint16_t *order, int n, int n_codes, uint64_t *left, int n_words,
                                            df_boost_cut *cut) {
    for (int i = 0; i < n_words; i++)
        left[i] = cut->missing_left ? ~(uint64_t)0 : 0;
    for (int i = 0; i < n; i++) {
        const uint64_t bit = (uint64_t)1 << (order[i] % 64);
        if (i <= (int)cut->code)
            left[order[i] / 64] |= bit;
        else
            left[order[i] / 64] &= ~bit;
    }
    if (n_codes / 64 < n_words) /* else there is no code for missing values, and they go where the rest goes */
        cut->missing_left = (uint32_t)(left[n_codes / 64] >> (n_codes % 64) & 1);
}

/* The best cut of a column of categories: in the order of their gradients; the rest are all that are not in this order.
 * OUT left : [n_words] a bit for each code that goes left */
DF_ALWAYS_INLINE void df_boost_subset_in(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                         const df_boost_limits *limits, const df_boost_constraint *constraint,
                                         const df_boost_room *room, uint64_t *left, int n_words, df_boost_cut *cut) {
    df_boost_sums rest;
    int n;
    df_boost_count_rows(kind, entries, n_codes + has_missing, cut);
    df_boost_add_entries(kind, entries, n_codes + has_missing, &room->first, room->words, cut);
    n = df_boost_order(kind, entries, n_codes + has_missing, limits, room);
    rest = df_boost_add_ordered(kind, entries, room->order, n, &room->first, cut);
    df_boost_choose(&room->first, n, rest, limits, constraint, room->scores, cut);
    df_boost_write_subset(room->order, n, n_codes, left, n_words, cut);
}

/* That of a narrow column. */
DF_ALWAYS_INLINE void df_boost_subset_loop(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                           const df_boost_limits *limits, const df_boost_constraint *constraint,
                                           df_boost_cut *cut) {
    DF_BOOST_ROOM(room);
    df_boost_subset_in(kind, entries, n_codes, has_missing, limits, constraint, &room, cut->left, DF_SUBSET_WORDS, cut);
}

/* Cuts of a column whose leaves have several values, one for each output: scores are added up over outputs.
 *
 * Categories are ordered by one of the outputs, the one that they tell most about: see df_boost_spread. */
typedef struct {
    double *right, *left;      /* of the cut after each entry, with the rest on either side; below 0: it is not valid */
    int64_t *count;            /* rows of the first entries */
    double common;             /* what scores have in common that is no gain */
    int64_t rest, n, most;     /* rows of the rest, and of all */
} df_boost_outputs;

/* In memory of DF_OUTPUT_NUMBERS numbers for each of n codes. */
static inline df_boost_outputs df_boost_outputs_at(double *memory, int n) {
    df_boost_outputs outputs;
    outputs.right = memory;
    outputs.left = memory + n;
    outputs.count = (int64_t *)(memory + 2 * (size_t)n);
    return outputs;
}

/* How much an output differs between the categories with rows enough: the weighted variance of what they are ordered by. With the
 * keys 1 and 3, and Hessians of 1 with smoothing: the mean is 2, the spread (1 - 2)^2 + (3 - 2)^2 = 2. */
DF_ALWAYS_INLINE double df_boost_spread(const int kind, const df_boost_entries *entries, int n, const df_boost_limits *limits) {
    const double smoothing = limits->smoothing;
    int64_t gradient = 0;
    double weight = 0.0, mean, spread = 0.0;
    for (int i = 0; i < n; i++) {
        const df_boost_sums entry = df_boost_entry(kind, entries, i);
        if (entry.count >= limits->min_category) {
            gradient += entry.gradient;
            weight += (double)entry.hessian + smoothing;
        }
    }
    mean = (double)gradient / weight;
    for (int i = 0; i < n; i++) {
        const df_boost_sums entry = df_boost_entry(kind, entries, i);
        if (entry.count >= limits->min_category) {
            const double d = df_category_key((double)entry.gradient, (double)entry.hessian, smoothing) - mean;
            spread += ((double)entry.hessian + smoothing) * (d * d);
        }
    }
    return spread;
}

/* Add the scores of an output under constraints, which have no common part: see below. INOUT sums : -1: no output has been divided so
 * far */
DF_NEVER_INLINE void df_boost_add_bounded(const df_boost_arrays *first, int n, df_boost_sums rest, const df_boost_cut *node,
                                          const df_boost_limits *limits, const double *scores, double unit, double *sums) {
    for (int i = 0; i < n; i++) {
        const int64_t count = first->n[i] + rest.count, h = first->h[i] + rest.hessian;
        if (df_is_enough(limits, count, (double)h) && df_is_enough(limits, node->n - count, (double)(node->hessian - h)) &&
            scores[i] >= -1.0) /* below: it has not the direction */
            sums[i] = (sums[i] > 0.0 ? sums[i] : 0.0) + (scores[i] > 0.0 ? scores[i] * unit : 0.0);
    }
}

/* Add the scores of an output without constraints. own : what an output adds that a cut does not divide; common : what all outputs
 * so far have added so. Limits are handed over by value, as no store to the sums can change them then, and loops are of vectors. */
DF_ALWAYS_INLINE void df_boost_add_scores(const df_boost_arrays *first, int n, df_boost_sums rest, const df_boost_cut *node,
                                          df_boost_limits limits, const double *scores, double unit, double own, double common,
                                          double *sums) {
    const int64_t *counts = first->n, *hessians = first->h, n_all = node->n, h_all = node->hessian;
    for (int i = 0; i < n; i++) {
        const int64_t count = counts[i] + rest.count, h = hessians[i] + rest.hessian;
        const int is_valid = df_is_enough(&limits, count, (double)h) & df_is_enough(&limits, n_all - count, (double)(h_all - h));
        const double before = is_valid & (sums[i] < 0.0) ? common : sums[i];
        const double added = scores[i] > 0.0 ? scores[i] * unit : 0.0;
        sums[i] = before + (is_valid ? added : own);
    }
}

/* Add the scores of an output, of the cuts after each of n entries. A cut is valid if both its sides have rows enough, and Hessian
 * enough in one output at least; an output that has less adds what it adds to the node, as if the cut did not divide it. So does
 * one in which the sides have not the direction of a constraint.
 * order : [n] of categories; NULL: by code; constraint : in this output, or NULL; unit : what scores are multiplied by;
 * is_first : of the outputs */
DF_ALWAYS_INLINE void df_boost_add_output_in(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                             const uint16_t *order, int n, const df_boost_limits *limits,
                                             const df_boost_constraint *constraint, double unit, int is_first,
                                             const df_boost_room *room, df_boost_outputs *outputs) {
    const df_boost_arrays first = room->first;
    df_boost_cut node;
    df_boost_sums rests[2] = {{0, 0, 0}, {0, 0, 0}};
    double *scores = room->scores;
    df_boost_count_rows(kind, entries, n_codes + has_missing, &node);
    df_boost_add_entries(kind, entries, n_codes + has_missing, &first, room->words, &node);
    if (order != NULL)
        rests[1] = df_boost_add_ordered(kind, entries, order, n, &first, &node);
    else if (has_missing)
        rests[1] = df_boost_entry(kind, entries, n_codes);
    const double own =
        df_is_bounded(limits, constraint != NULL) ? 0.0
                                                  : df_common_score(limits->l2, (double)node.gradient, (double)node.hessian) * unit;
    if (is_first) {
        for (int i = 0; i < n; i++)
            outputs->right[i] = outputs->left[i] = constraint != NULL ? -1.0 : -HUGE_VAL; /* no output has been enough so far */
        memcpy(outputs->count, first.n, n * sizeof(int64_t));
        outputs->common = 0.0;
        outputs->rest = rests[1].count;
        outputs->n = node.n;
        outputs->most = node.most;
    }
    for (int side = 0; side < (rests[1].count > 0 ? 2 : 1); side++) { /* without a rest both sides would be equal */
        double *sums = side ? outputs->left : outputs->right;
        df_boost_scores(&first, n, rests[side], &node, limits, constraint, scores);
        if (constraint != NULL)
            df_boost_add_bounded(&first, n, rests[side], &node, limits, scores, unit, sums);
        else
            df_boost_add_scores(&first, n, rests[side], &node, *limits, scores, unit, own, outputs->common, sums);
    }
    outputs->common += own;
}

/* The best cut after some of n entries, whose score is its gain, when all outputs have been added. */
DF_ALWAYS_INLINE void df_boost_choose_of_outputs(const df_boost_outputs *outputs, int n, df_boost_cut *cut) {
    memset(cut, 0, sizeof(*cut));
    cut->score = -1.0;
    df_boost_consider(outputs->right, n, 0, cut);
    if (outputs->rest > 0)
        df_boost_consider(outputs->left, n, 1, cut);
    cut->n = outputs->n;
    cut->most = outputs->most;
    if (cut->score < 0.0)
        return;
    cut->score -= outputs->common;
    cut->n_left = outputs->count[cut->code] + (cut->missing_left ? outputs->rest : 0);
    if (outputs->rest == 0)
        cut->missing_left = (uint32_t)df_unseen_goes_left(cut->n_left, cut->n - cut->n_left);
}

/* Whether a cut sends a code to the left. left : of categories: a bit for each code that goes there; NULL: the column has none;
 * missing : the code for missing values */
static inline int df_boost_goes_left(const df_boost_cut *cut, const uint64_t *left, int code, int missing) {
    if (left != NULL)
        return (int)(left[code / 64] >> (code % 64) & 1);
    return code == missing ? (int)cut->missing_left : code <= (int)cut->code;
}

/* What a cut of numbers sends to the left, of an output. OUT node : what all entries have */
static inline df_boost_sums df_boost_sums_on_left(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                                  const df_boost_cut *cut, df_boost_sums *node) {
    df_boost_sums left = {0, 0, 0};
    *node = left;
    for (int i = 0; i < n_codes + has_missing; i++) {
        const df_boost_sums entry = df_boost_entry(kind, entries, i);
        const int goes_left = df_boost_goes_left(cut, NULL, i, n_codes);
        node->gradient += entry.gradient;
        node->hessian += entry.hessian;
        node->count += entry.count;
        left.gradient += goes_left ? entry.gradient : 0;
        left.hessian += goes_left ? entry.hessian : 0;
        left.count += goes_left ? entry.count : 0;
    }
    return left;
}

#endif
