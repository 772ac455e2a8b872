/* Histograms of gradients: filled, added up and subtracted, and the best cut of one (C99 and C++).
 *
 * A row's coarse integers are packed into one or two words (rules/boost.h). Rows with integer weights, their *times*, have two
 * words: each integer is multiplied by the weight. A histogram has the entries of one column behind those of another: `first[f]`
 * is where those of column f begin. Entries have one of two forms:
 *
 *     words    [n_entries * words per entry]   sums of the rows' words, while no entry stands for more than DF_SPILL rows
 *     sums     [3, n_entries]                  sums of gradients, Hessians and counts, for any number of rows
 *
 * A cut sends the *first* rows of a node to the left, in an order of entries. The *rest* are rows that have no place in this
 * order: those whose value is missing, or those of rare categories; they go to either side together.
 *
 * Nothing here owns memory. */
#ifndef DFOREST_BOOST_HISTOGRAM_H
#define DFOREST_BOOST_HISTOGRAM_H

#include "core/row_codes.h"
#include "core/search/scan.h"
#include "rules/boost.h"

enum {
    DF_BOOST_AHEAD = 16,   /* rows whose codes are asked for ahead */
    DF_BOOST_TILE = 32,    /* columns that are filled together, so that their entries stay in a cache */
    DF_BOOST_CODES = 256   /* most codes of a column, with the one for missing */
};

DF_INLINE void df_boost_add_row(const int kind, const int has_times, const uint8_t *codes, const int32_t *fine,
                                const uint32_t *times, size_t row, const uint32_t *first, int begin, int end, uint64_t *words) {
    uint64_t word, second = 0;
    int f = begin;
    df_row_words(kind, has_times, fine, times, row, &word, &second);
    if (kind == DF_WIDE_WORDS || has_times) {
        for (; f < end; f++) {
            uint64_t *entry = words + 2 * (size_t)(first[f] + codes[f]);
            entry[0] += word;
            entry[1] += second;
        }
        return;
    }
    for (; f + 4 <= end; f += 4) {
        uint32_t four;
        memcpy(&four, codes + f, 4); /* in the order of the machine's bytes: see below */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        four = __builtin_bswap32(four);
#endif
        words[first[f] + (four & 255)] += word;
        words[first[f + 1] + (four >> 8 & 255)] += word;
        words[first[f + 2] + (four >> 16 & 255)] += word;
        words[first[f + 3] + (four >> 24)] += word;
    }
    for (; f < end; f++)
        words[first[f] + codes[f]] += word;
}

/* Add rows to the entries of columns begin to end - 1. codes : [., stride] by row; rows : their numbers, or NULL: they are
 * numbered from `from` */
DF_INLINE void df_boost_fill_loop(const int kind, const int has_times, const uint8_t *codes, int64_t stride, const int32_t *fine,
                                  const uint32_t *times, const uint32_t *rows, int64_t from, int64_t n, const uint32_t *first,
                                  int begin, int end, uint64_t *words) {
    const int per = kind == DF_CONSTANT_WORDS ? 1 : 2;
    int64_t i = 0;
    if (rows == NULL) {
        for (; i < n; i++) {
            const size_t row = (size_t)(from + i);
            df_boost_add_row(kind, has_times, codes + row * (size_t)stride, fine, times, row, first, begin, end, words);
        }
        return;
    }
    for (; i + DF_BOOST_AHEAD < n; i++) {
        const size_t row = rows[i], ahead = rows[i + DF_BOOST_AHEAD];
        DF_ASK_FOR(codes + ahead * (size_t)stride + begin);
        DF_ASK_FOR(fine + ahead * per);
        if (has_times)
            DF_ASK_FOR(times + ahead);
        df_boost_add_row(kind, has_times, codes + row * (size_t)stride, fine, times, row, first, begin, end, words);
    }
    for (; i < n; i++)
        df_boost_add_row(kind, has_times, codes + (size_t)rows[i] * stride, fine, times, rows[i], first, begin, end, words);
}

/* Add words to sums, and clear them. INOUT words : [n_entries, words of an entry]; g, h, n : [n_entries] */
DF_INLINE void df_boost_spill_loop(const int kind, uint64_t *words, int64_t n_entries, int64_t *g, int64_t *h, int64_t *n) {
    for (int64_t i = 0; i < n_entries; i++) {
        const int64_t at = kind == DF_WIDE_WORDS ? 2 * i : i;
        const df_boost_sums sums = df_sums_of(kind, words[at], kind == DF_WIDE_WORDS ? words[at + 1] : 0);
        g[i] += sums.gradient;
        if (kind != DF_CONSTANT_WORDS)
            h[i] += sums.hessian;
        n[i] += sums.count;
        words[at] = 0;
        if (kind == DF_WIDE_WORDS)
            words[at + 1] = 0;
    }
}

/* The best cut of a column. */
typedef struct {
    double score;          /* see df_cut_score, with constraints df_bounded_gain; below 0: there is no valid cut */
    int32_t code;          /* of numbers: the highest on the left; of categories: how many of the first are, less 1 */
    int32_t missing_left;  /* whether missing values go left */
    int64_t n_left;        /* rows on the left, the rest included if it goes there */
    int64_t g_left, h_left; /* their sums */
    int64_t g, h, n;       /* of the node */
    int64_t most;          /* of all entries, the most rows of one */
    uint64_t left[DF_BOOST_CODES / 64]; /* of categories: a bit for each code that goes left */
} df_boost_cut;

/* What cuts of a column have to keep to, with monotonic constraints. */
typedef struct {
    df_bounds bounds;       /* of the node */
    int direction;          /* of the column */
} df_boost_constraint;

/* The entries of a column: words, or, if these are NULL, sums. A constant Hessian: h is not read. */
typedef struct {
    const uint64_t *words;
    const int64_t *g, *h, *n;
} df_boost_entries;

DF_INLINE df_boost_sums df_boost_entry(const int kind, const df_boost_entries *entries, int code) {
    df_boost_sums sums;
    if (entries->words != NULL)
        return df_sums_of(kind, entries->words[code], 0);
    sums.gradient = entries->g[code];
    sums.count = entries->n[code];
    sums.hessian = kind == DF_CONSTANT_WORDS ? sums.count : entries->h[code];
    return sums;
}

/* Sums over the first entries of an order: of one, of two, and so on. */
typedef struct {
    int64_t g[DF_BOOST_CODES], h[DF_BOOST_CODES], n[DF_BOOST_CODES];
} df_boost_prefixes;

/* Scores of the cuts after each of n entries; the rest, of these sums, is on the left besides. constraint : or NULL */
DF_INLINE void df_boost_scores(const df_boost_prefixes *first, int n, df_boost_sums rest, const df_boost_cut *node,
                               const df_boost_limits *limits, const df_boost_constraint *constraint, double *scores) {
    const int64_t tg = node->g, th = node->h, tn = node->n, mg = rest.gradient, mh = rest.hessian, mn = rest.count;
    const int64_t *pg = first->g, *ph = first->h, *pn = first->n;
    const df_boost_limits limit = *limits;
    if (constraint != NULL) {
        for (int i = 0; i < n; i++) {
            const int64_t g = pg[i] + mg, h = ph[i] + mh, count = pn[i] + mn;
            const double h_left = (double)h, h_right = (double)(th - h);
            scores[i] = -1.0;
            if (df_is_enough(&limit, count, h_left) && df_is_enough(&limit, tn - count, h_right))
                scores[i] = df_bounded_gain(limit.l2, (double)g, h_left, (double)(tg - g), h_right, (double)tg, (double)th,
                                            constraint->bounds, constraint->direction);
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        const int64_t g = pg[i] + mg, h = ph[i] + mh, count = pn[i] + mn;
        const double h_left = (double)h, h_right = (double)(th - h);
        const double score = df_cut_score(limit.l2, (double)g, h_left, (double)(tg - g), h_right);
        /* An l2 beyond all numbers makes no score one. */
        scores[i] = df_is_enough(&limit, count, h_left) & df_is_enough(&limit, tn - count, h_right) & (score >= 0.0) ? score : -1.0;
    }
}

/* The highest score, or -1, of scores from 0 and -1: the bits of numbers from 0 are in their order, and those of -1 are below. */
DF_INLINE double df_top_score(const double *scores, int n) {
    double score = -1.0;
    int64_t top;
    memcpy(&top, &score, 8);
    for (int i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, scores + i, 8);
        top = bits > top ? bits : top;
    }
    memcpy(&score, &top, 8);
    return score;
}

/* The best cut after some of n entries, of equal scores that after the fewest, of these the one with the rest on the right. INOUT
 * cut : the node's sums are known; missing_left is where the rest goes, if it has rows */
DF_INLINE void df_boost_choose(const df_boost_prefixes *first, int n, df_boost_sums rest, const df_boost_limits *limits,
                               const df_boost_constraint *constraint, df_boost_cut *cut) {
    const df_boost_sums nothing = {0, 0, 0};
    double scores[DF_BOOST_CODES], top;
    const int n_cuts = n - (rest.count == 0);
    int i;
    cut->score = -1.0;
    cut->code = 0;
    cut->missing_left = 0;
    cut->n_left = cut->g_left = cut->h_left = 0;
    if (n_cuts <= 0)
        return;
    df_boost_scores(first, n_cuts, nothing, cut, limits, constraint, scores);
    top = df_top_score(scores, n_cuts);
    if (top >= 0.0) {
        for (i = 0; scores[i] != top; i++)
            ;
        cut->score = top;
        cut->code = i;
        cut->n_left = first->n[i];
        cut->g_left = first->g[i];
        cut->h_left = first->h[i];
    }
    if (rest.count > 0) {
        df_boost_scores(first, n - 1, rest, cut, limits, constraint, scores);
        top = df_top_score(scores, n - 1);
        if (top < 0.0 || top < cut->score)
            return;
        for (i = 0; scores[i] != top; i++)
            ;
        if (top > cut->score || i < cut->code) {
            cut->score = top;
            cut->code = i;
            cut->missing_left = 1;
            cut->n_left = first->n[i] + rest.count;
            cut->g_left = first->g[i] + rest.gradient;
            cut->h_left = first->h[i] + rest.hessian;
        }
    } else
        cut->missing_left = df_unseen_goes_left(cut->n_left, cut->n - cut->n_left);
}

/* Sums over the entries of a column, into the node's sums. OUT first : [n_codes + has_missing] */
DF_INLINE void df_boost_add_entries(const int kind, const df_boost_entries *entries, int n, df_boost_prefixes *first,
                                    df_boost_cut *cut) {
    int64_t g = 0, h = 0, count = 0, most = 0;
    for (int i = 0; i < n; i++) {
        const df_boost_sums entry = df_boost_entry(kind, entries, i);
        g += entry.gradient;
        h += entry.hessian;
        count += entry.count;
        most = entry.count > most ? entry.count : most;
        first->g[i] = g;
        first->h[i] = h;
        first->n[i] = count;
    }
    cut->g = g;
    cut->h = h;
    cut->n = count;
    cut->most = most;
}

/* The best cut of a column of numbers: in the order of codes; the rest is what is missing. */
DF_INLINE void df_boost_cut_loop(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                 const df_boost_limits *limits, const df_boost_constraint *constraint, df_boost_cut *cut) {
    df_boost_prefixes first;
    df_boost_sums missing = {0, 0, 0};
    df_boost_add_entries(kind, entries, n_codes + has_missing, &first, cut);
    if (has_missing)
        missing = df_boost_entry(kind, entries, n_codes);
    df_boost_choose(&first, n_codes, missing, limits, constraint, cut);
}

/* The order of categories with rows enough, the code for missing values among them. Returns how many there are. OUT order */
DF_INLINE int df_boost_order(const int kind, const df_boost_entries *entries, int n, double smoothing, uint8_t *order) {
    double keys[DF_BOOST_CODES];
    int n_ordered = 0, i, begin, end;
    for (i = 0; i < n; i++) {
        const df_boost_sums entry = df_boost_entry(kind, entries, i);
        const double key = df_category_key((double)entry.gradient, (double)entry.hessian, smoothing);
        if (entry.count < DF_CATEGORY_ROWS)
            continue;
        begin = 0;
        end = n_ordered;
        while (begin < end) { /* after equal ones, whose codes are lower */
            const int middle = (begin + end) / 2;
            if (keys[middle] <= key)
                begin = middle + 1;
            else
                end = middle;
        }
        memmove(keys + begin + 1, keys + begin, (size_t)(n_ordered - begin) * sizeof *keys);
        memmove(order + begin + 1, order + begin, (size_t)(n_ordered - begin));
        keys[begin] = key;
        order[begin] = (uint8_t)i;
        n_ordered++;
    }
    return n_ordered;
}

/* The best cut of a column of categories: in the order of their gradients; the rest are all that are not in this order. */
DF_INLINE void df_boost_subset_loop(const int kind, const df_boost_entries *entries, int n_codes, int has_missing,
                                    const df_boost_limits *limits, const df_boost_constraint *constraint, df_boost_cut *cut) {
    df_boost_prefixes first;
    df_boost_sums sums = {0, 0, 0};
    uint8_t order[DF_BOOST_CODES];
    int i, n;
    df_boost_add_entries(kind, entries, n_codes + has_missing, &first, cut);
    n = df_boost_order(kind, entries, n_codes + has_missing, limits->smoothing, order);
    for (i = 0; i < n; i++) {
        const df_boost_sums entry = df_boost_entry(kind, entries, order[i]);
        first.g[i] = sums.gradient += entry.gradient;
        first.h[i] = sums.hessian += entry.hessian;
        first.n[i] = sums.count += entry.count;
    }
    sums.gradient = cut->g - sums.gradient;
    sums.hessian = cut->h - sums.hessian;
    sums.count = cut->n - sums.count;
    df_boost_choose(&first, n, sums, limits, constraint, cut);
    for (i = 0; i < DF_BOOST_CODES / 64; i++)
        cut->left[i] = cut->missing_left ? ~(uint64_t)0 : 0;
    for (i = 0; i < n; i++) {
        const uint64_t bit = (uint64_t)1 << (order[i] % 64);
        if (i <= cut->code)
            cut->left[order[i] / 64] |= bit;
        else
            cut->left[order[i] / 64] &= ~bit;
    }
    cut->missing_left = (int32_t)(cut->left[n_codes / 64] >> (n_codes % 64) & 1);
}

/* Whether a cut sends a code to the left. missing : the code for missing values */
static inline int df_boost_goes_left(const df_boost_cut *cut, int is_category, int code, int missing) {
    if (is_category)
        return (int)(cut->left[code / 64] >> (code % 64) & 1);
    return code == missing ? cut->missing_left : code <= cut->code;
}

/* Divide n rows: those that go left to `left`, the others, from the last place on, to before `end`. Returns how many go left.
 * goes_left : by code; rows : NULL: numbered from `from` */
DF_INLINE int64_t df_boost_divide_loop(const uint32_t *rows, int64_t from, int64_t n, const uint8_t *codes,
                                       const uint8_t *goes_left, uint32_t *left, uint32_t *end) {
    int64_t i, n_left = 0;
    for (i = 0; i < n; i++) {
        const uint32_t row = rows != NULL ? rows[i] : (uint32_t)(from + i);
        const int is_left = goes_left[codes[row]];
        left[n_left] = row;        /* both places are free: they meet in the end */
        *(end - 1 - (i - n_left)) = row;
        n_left += is_left;
    }
    return n_left;
}

#endif
