/* Histograms of gradients: filled, added up and subtracted, and the best cut of one (C99 and C++).
 *
 * Words: a row has *fine* integers, its gradient and, unless the loss has a constant one, its Hessian. Their coarse forms are
 * packed into one or two *words* (rules/boost.h). Rows with integer weights, their *times*, have two: each integer is multiplied
 * by the weight. A *histogram* has an entry for each code of each column, one column behind the other: `first[f]` is where those
 * of column f begin. Entries have one of two forms:
 *
 *     words    [n_entries * words per entry]   sums of the rows' words, while no entry stands for more than DF_SPILL rows
 *     sums     [3, n_entries]                  sums of gradients, Hessians and counts, for any number of rows
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

/* A row's words. fine, times : of all rows */
DF_INLINE void df_row_words(const int kind, const int has_times, const int32_t *fine, const uint32_t *times, size_t row,
                            uint64_t *word, uint64_t *second) {
    if (has_times) {
        const int64_t t = times[row];
        const int shift = kind == DF_NARROW_WORDS;
        const int32_t g = kind == DF_CONSTANT_WORDS ? fine[row] : df_coarse(fine[2 * row], shift ? DF_GRADIENT_SHIFT : 0);
        const int32_t h = kind == DF_CONSTANT_WORDS ? 1 : df_coarse(fine[2 * row + 1], shift ? DF_HESSIAN_SHIFT : 0);
        *word = df_gradient_word(g * t);
        *second = (uint64_t)(h * t);
    } else if (kind == DF_CONSTANT_WORDS)
        *word = df_gradient_word(fine[row]);
    else if (kind == DF_NARROW_WORDS)
        *word = df_narrow_word(df_coarse(fine[2 * row], DF_GRADIENT_SHIFT), df_coarse(fine[2 * row + 1], DF_HESSIAN_SHIFT));
    else {
        *word = df_gradient_word(fine[2 * row]);
        *second = (uint64_t)(int64_t)fine[2 * row + 1];
    }
}

/* What a word holds; wide: the first word, and the second. */
DF_INLINE df_boost_sums df_sums_of(const int kind, uint64_t word, uint64_t second) {
    return kind == DF_NARROW_WORDS ? df_sums_of_narrow(word)
           : kind == DF_CONSTANT_WORDS ? df_sums_of_constant(word) : df_sums_of_wide(word, second);
}

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
    double score;          /* see df_cut_score; below 0: there is no valid cut */
    int32_t code;          /* the highest on the left */
    int32_t missing_left;
    int64_t n_left;        /* rows on the left, missing ones included if they go there */
    int64_t g_left, h_left; /* their sums */
    int64_t n_missing;
    int64_t g, h, n;       /* of the node */
    int64_t most;          /* of all entries, the most rows of one */
} df_boost_cut;

/* Scores of the cuts after each of n codes; missing rows, of these sums, are on the left besides. */
DF_INLINE void df_boost_scores(const int64_t *pg, const int64_t *ph, const int64_t *pn, int n, int64_t mg, int64_t mh, int64_t mn,
                               const df_boost_cut *node, const df_boost_limits *limits, double *scores) {
    const int64_t tg = node->g, th = node->h, tn = node->n;
    const df_boost_limits limit = *limits;
    for (int i = 0; i < n; i++) {
        const int64_t g = pg[i] + mg, h = ph[i] + mh, count = pn[i] + mn;
        const double h_left = (double)h, h_right = (double)(th - h);
        const double score = df_cut_score(limit.l2, (double)g, h_left, (double)(tg - g), h_right);
        scores[i] = df_is_enough(&limit, count, h_left) & df_is_enough(&limit, tn - count, h_right) ? score : -1.0;
    }
}

/* The best cut of a column, of equal scores that after the lowest code, of these the one with missing on the right.
 *
 * Words: `words` are the column's entries; or, if that is NULL, g, h and n. A constant Hessian: h is not read. */
DF_INLINE void df_boost_cut_loop(const int kind, const uint64_t *words, const int64_t *g, const int64_t *h, const int64_t *n,
                                 int n_codes, int has_missing, const df_boost_limits *limits, df_boost_cut *cut) {
    int64_t pg[DF_BOOST_CODES], ph[DF_BOOST_CODES], pn[DF_BOOST_CODES], sg = 0, sh = 0, sn = 0, most = 0;
    int64_t before_g = 0, before_h = 0, before_n = 0;
    double scores[DF_BOOST_CODES];
    int i, n_cuts;
    for (i = 0; i < n_codes + has_missing; i++) {
        df_boost_sums entry;
        before_g = sg, before_h = sh, before_n = sn;
        if (words != NULL)
            entry = df_sums_of(kind, words[i], 0);
        else {
            entry.gradient = g[i];
            entry.count = n[i];
            entry.hessian = kind == DF_CONSTANT_WORDS ? n[i] : h[i];
        }
        sg += entry.gradient;
        sh += entry.hessian;
        sn += entry.count;
        most = entry.count > most ? entry.count : most;
        pg[i] = sg;
        ph[i] = sh;
        pn[i] = sn;
    }
    cut->g = sg;
    cut->h = sh;
    cut->n = sn;
    cut->most = most;
    cut->score = -1.0;
    cut->code = 0;
    cut->missing_left = 0;
    cut->n_left = cut->g_left = cut->h_left = 0;
    cut->n_missing = has_missing ? sn - before_n : 0;
    n_cuts = n_codes - (cut->n_missing == 0);
    if (n_cuts <= 0)
        return;
    df_boost_scores(pg, ph, pn, n_cuts, 0, 0, 0, cut, limits, scores);
    for (i = 0; i < n_cuts; i++)
        cut->score = scores[i] > cut->score ? scores[i] : cut->score;
    if (cut->score >= 0.0) {
        for (i = 0; scores[i] != cut->score; i++)
            ;
        cut->code = i;
        cut->n_left = pn[i];
        cut->g_left = pg[i];
        cut->h_left = ph[i];
    }
    if (cut->n_missing > 0) {
        double top = -1.0;
        df_boost_scores(pg, ph, pn, n_codes - 1, sg - before_g, sh - before_h, sn - before_n, cut, limits, scores);
        for (i = 0; i < n_codes - 1; i++)
            top = scores[i] > top ? scores[i] : top;
        if (top >= 0.0 && top >= cut->score) {
            for (i = 0; scores[i] != top; i++)
                ;
            if (top > cut->score || i < cut->code) {
                cut->score = top;
                cut->code = i;
                cut->missing_left = 1;
                cut->n_left = pn[i] + cut->n_missing;
                cut->g_left = pg[i] + (sg - before_g);
                cut->h_left = ph[i] + (sh - before_h);
            }
        }
    }
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
