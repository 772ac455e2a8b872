/* Histograms of gradients: filled, added up and subtracted (C99 and C++).
 *
 * A row's narrow gradients are packed into one or two words (rules/boost.h). Rows with integer weights, their *times*, have two
 * words: each integer is multiplied by the weight. A histogram has the entries of one column behind those of another: `first[f]`
 * is where those of column f begin. What is said of columns here holds of bundles of columns (bundles.pyx), too. Entries have one
 * of two forms:
 *
 *     words    [n_entries * words per entry]   sums of the rows' words, while no entry that is read stands for more than DF_SPILL
 *                                              rows; that of a bundle for rows with all defaults is never read
 *     sums     [3, n_entries]                  sums of gradients, Hessians and counts, for any number of rows
 *
 * Nothing here owns memory. */
#ifndef DFOREST_BOOST_HISTOGRAM_H
#define DFOREST_BOOST_HISTOGRAM_H

#include "core/row_codes.h"
#include "core/search/scan.h"
#include "rules/boost_cuts.h"

enum {
    DF_BOOST_AHEAD = 16,   /* rows whose codes are asked for ahead */
    DF_BOOST_TILE = 32     /* columns that are filled together, so that their entries stay in a cache */
};

DF_INLINE void df_boost_add_row(const int kind, const int has_times, const uint8_t *codes, const int32_t *quantised,
                                const uint32_t *times, size_t row, const uint32_t *first, int begin, int end, uint64_t *words) {
    uint64_t word, second = 0;
    int f = begin;
    df_row_words(kind, has_times, quantised, times, row, &word, &second);
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
DF_INLINE void df_boost_fill_loop(const int kind, const int has_times, const uint8_t *codes, int64_t stride, const int32_t *quantised,
                                  const uint32_t *times, const uint32_t *rows, int64_t from, int64_t n, const uint32_t *first,
                                  int begin, int end, uint64_t *words) {
    const int per = kind == DF_CONSTANT_WORDS ? 1 : 2;
    int64_t i = 0;
    if (rows == NULL) {
        for (; i < n; i++) {
            const size_t row = (size_t)(from + i);
            df_boost_add_row(kind, has_times, codes + row * (size_t)stride, quantised, times, row, first, begin, end, words);
        }
        return;
    }
    for (; i + DF_BOOST_AHEAD < n; i++) {
        const size_t row = rows[i], ahead = rows[i + DF_BOOST_AHEAD];
        DF_ASK_FOR(codes + ahead * (size_t)stride + begin);
        DF_ASK_FOR(quantised + ahead * per);
        if (has_times)
            DF_ASK_FOR(times + ahead);
        df_boost_add_row(kind, has_times, codes + row * (size_t)stride, quantised, times, row, first, begin, end, words);
    }
    for (; i < n; i++)
        df_boost_add_row(kind, has_times, codes + (size_t)rows[i] * stride, quantised, times, rows[i], first, begin, end, words);
}

/* Add rows to the entries that their lists name. from_row : [n_rows + 1] where the list of each row begins in `listed`; rows,
 * from : as above */
DF_INLINE void df_boost_fill_lists_loop(const int kind, const int has_times, const int64_t *from_row, const uint32_t *listed,
                                        const int32_t *quantised, const uint32_t *times, const uint32_t *rows, int64_t from,
                                        int64_t n, uint64_t *words) {
    for (int64_t i = 0; i < n; i++) {
        const size_t row = rows != NULL ? rows[i] : (size_t)(from + i);
        const int64_t end = from_row[row + 1];
        uint64_t word, second = 0;
        df_row_words(kind, has_times, quantised, times, row, &word, &second);
        if (kind == DF_WIDE_WORDS || has_times) {
            for (int64_t at = from_row[row]; at < end; at++) {
                words[2 * (size_t)listed[at]] += word;
                words[2 * (size_t)listed[at] + 1] += second;
            }
        } else {
            for (int64_t at = from_row[row]; at < end; at++)
                words[listed[at]] += word;
        }
    }
}

/* What rows add up to. */
DF_INLINE df_boost_sums df_boost_total_loop(const int kind, const int has_times, const int32_t *quantised, const uint32_t *times,
                                            const uint32_t *rows, int64_t from, int64_t n) {
    df_boost_sums total = {0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        uint64_t word, second = 0;
        df_boost_sums own;
        df_row_words(kind, has_times, quantised, times, rows != NULL ? rows[i] : (size_t)(from + i), &word, &second);
        own = df_sums_of(has_times ? DF_WIDE_WORDS : kind, word, second);
        total.gradient += own.gradient;
        total.hessian += own.hessian;
        total.count += own.count;
    }
    return total;
}

/* How many rows n entries stand for. OUT most : rows of the most frequent one */
DF_INLINE int64_t df_boost_count_loop(const df_boost_entries *entries, int n, int64_t *most) {
    int64_t count = 0, top = 0;
    for (int i = 0; i < n; i++) {
        const int64_t own = entries->words != NULL ? (int64_t)(entries->words[i] & DF_WORD_ROWS) : entries->n[i];
        count += own;
        top = own > top ? own : top;
    }
    *most = top;
    return count;
}

/* The entries of the digits of a byte (bundles.pyx), one digit after another, by sums of its own. SCRATCH entries : [the product of
 * radices] */
DF_INLINE void df_boost_add_digits_loop(int64_t *entries, const int32_t *radix, int n_digits, int64_t *digits) {
    int step = 1, end = 0;
    for (int d = 0; d < n_digits; d++) {
        step *= radix[d];
        end += radix[d];
    }
    for (int d = n_digits - 1; d >= 0; d--) { /* the last digit has the largest steps; what is left is summed over it */
        step /= radix[d];
        end -= radix[d];
        for (int k = 0; k < radix[d]; k++) {
            int64_t sum = 0;
            for (int i = 0; i < step; i++)
                sum += entries[k * step + i];
            digits[end + k] = sum;
        }
        for (int k = 1; k < radix[d]; k++)
            for (int i = 0; i < step; i++)
                entries[i] += entries[k * step + i];
    }
}

/* Unpack entries from one on to the codes from `code` to end - 1. INOUT rest : is less by these */
DF_INLINE void df_boost_unpack_some(const int kind, const df_boost_entries *entries, int from, int code, int end,
                                    const df_boost_arrays *unpacked, df_boost_sums *rest) {
    int64_t g = 0, h = 0, n = 0;
    for (int i = 0; i < end - code; i++) {
        const df_boost_sums own = df_boost_entry(kind, entries, from + i);
        g += unpacked->g[code + i] = own.gradient;
        h += unpacked->h[code + i] = own.hessian;
        n += unpacked->n[code + i] = own.count;
    }
    rest->gradient -= g;
    rest->hessian -= h;
    rest->count -= n;
}

/* The sums of all codes of a column, given its entries, which lack one for the default, and the node's total. */
DF_INLINE void df_boost_unpack_loop(const int kind, const df_boost_entries *entries, int n_codes, int default_code,
                                    df_boost_sums total, const df_boost_arrays *unpacked) {
    df_boost_unpack_some(kind, entries, 0, 0, default_code, unpacked, &total);
    df_boost_unpack_some(kind, entries, default_code, default_code + 1, n_codes, unpacked, &total);
    unpacked->g[default_code] = total.gradient;
    unpacked->h[default_code] = total.hessian;
    unpacked->n[default_code] = total.count;
}

/* The best cut of a column of numbers that has a default, which is no missing value, if its entries are words and stand for at most
 * DF_SPILL rows. Only cuts that may leave enough rows on the side without the default are looked at: they are after the codes from
 * some one below the default, or the default itself, to some one above.
 *
 * IN words : its entries, those of missing values last
 * IN n_others : rows of all of them
 * OUT cut : but for `most` */
DF_INLINE void df_boost_cut_beside_default_loop(const int kind, const uint64_t *words, int n_codes, int has_missing, int default_code,
                                                int64_t n_others, df_boost_sums total, const df_boost_limits *limits,
                                                const df_boost_constraint *constraint, df_boost_cut *cut) {
    DF_BOOST_ROOM(room);
    const df_boost_arrays first = room.first;
    df_boost_sums rest = {0, 0, 0}, others;
    uint64_t *prefixes = room.words, sum = 0, all = 0; /* without the default */
    int n = 0, from = 0, end;
    int64_t most_left; /* rows of the codes on the left but for the default */
    for (int code = 0; code < n_codes - 1 + has_missing; code++)
        all += words[code];
    others = df_sums_of(kind, all, 0);
    cut->n = total.count;
    cut->gradient = total.gradient;
    cut->hessian = total.hessian;
    if (has_missing)
        rest = df_sums_of(kind, words[n_codes - 1], 0);
    while (from < default_code && (int64_t)((sum + words[from]) & DF_WORD_ROWS) + rest.count < limits->min_samples)
        sum += words[from++];
    for (int code = from; code < default_code; code++)
        prefixes[n++] = sum += words[code];
    prefixes[n++] = sum;
    most_left = n_others - limits->min_samples;
    for (int code = default_code; code < n_codes - 1 && (int64_t)(sum & DF_WORD_ROWS) <= most_left; code++)
        prefixes[n++] = sum += words[code];
    end = df_whole_lanes(n);
    for (int i = n; i < end; i++)
        prefixes[i] = sum;
    df_boost_unpack_sums(kind, prefixes, end, &first);
    for (int i = default_code - from; i < end; i++) {
        first.g[i] += total.gradient - others.gradient;
        first.h[i] += total.hessian - others.hessian;
        first.n[i] += total.count - others.count;
    }
    df_boost_choose(&first, end, rest, limits, constraint, room.scores, cut);
    cut->code += (uint32_t)from;
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
