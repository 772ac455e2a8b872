// From columns of numbers to bins, as `dforest.core.coding` makes them on the processor: keys are sorted, bins are made, and
// each row gets codes.
//
// Keys (rules/ordered_keys.h) have 32 bits, or 64. A column's are sorted by a radix sort, digit by digit from the lowest: a group
// sorts a chunk of keys by giving each item a range of these, and a counter of its own for each value of the digit. Keys of
// missing values come last.
#ifndef DFOREST_KERNELS_CODING_HPP
#define DFOREST_KERNELS_CODING_HPP

#include "group.hpp"
#include "rules/bins.h"
#include "rules/ordered_keys.h"

DF_INLINE uint32_t df_key_of(float x) { return x == x ? df_ordered_key32(x) : DF_MISSING_KEY32; }
DF_INLINE uint64_t df_key_of(double x) { return x == x ? df_ordered_key64(x) : DF_MISSING_KEY64; }
DF_INLINE uint32_t df_missing_key(const float *) { return DF_MISSING_KEY32; }
DF_INLINE uint64_t df_missing_key(const double *) { return DF_MISSING_KEY64; }

// use(x, keys), as values and keys of the type they have.
template <class Use> DF_INLINE void df_with_values(const char *x, int64_t is_double, char *keys, Use use)
{
    if (is_double)
        use((const double *) x, (uint64_t *) keys);
    else
        use((const float *) x, (uint32_t *) keys);
}

// IN x : [n_rows, n_features]; OUT keys : [n_columns, n_rows] of the columns from `first` on
DF_KERNEL df_make_keys(const char *x, int64_t is_double, int64_t n_rows, int64_t n_features, int64_t first, int64_t n_columns,
                       char *keys, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_with_values(x, is_double, keys, [&](const auto *values, auto *to) {
            df_for_all(group, n_rows, [&](int64_t i) {
                for (int64_t c = 0; c < n_columns; c++)
                    to[c * n_rows + i] = df_key_of(values[i * n_features + first + c]);
            });
        });
    }
}

// How many keys of a column come before some key.
template <class Key> DF_INLINE int64_t df_keys_below(const Key *keys, int64_t n, Key key)
{
    int64_t at = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        const bool is_below = keys[at + half] < key;
        at += is_below ? half + 1 : 0;
        n = is_below ? n - half - 1 : half;
    }
    return at;
}

// A chunk of a column's keys, and of these the range of an item.
struct df_key_range_of_item {
    int64_t first, last;
    df_key_range_of_item(int64_t n_rows, int64_t chunk, int64_t size, int64_t item, int64_t n_items)
    {
        const int64_t begin = chunk * size, n = n_rows - begin < size ? n_rows - begin : size;
        const int64_t per_item = (n + n_items - 1) / n_items;
        first = begin + (item * per_item < n ? item * per_item : n);
        last = begin + ((item + 1) * per_item < n ? (item + 1) * per_item : n);
    }
};

// A digit of keys: `bits` of them from `shift` on.
struct df_key_digit {
    int64_t shift, n_values;
    df_key_digit(int64_t given, int64_t bits) : shift(given), n_values((int64_t) 1 << bits) {}
    template <class Key> int64_t of(Key key) const { return (int64_t) (key >> shift) & (n_values - 1); }
};

// Count the values of a digit in the range of each item. OUT counts : [n_values, n_items]
template <class Key>
DF_INLINE void df_count_item_digits(const df_group &group, const Key *keys, int64_t n_rows, int64_t chunk, int64_t size,
                                    const df_key_digit &digit, uint32_t *counts)
{
    group.each([&](int64_t item) {
        const df_key_range_of_item own(n_rows, chunk, size, item, group.n_items);
        for (int64_t d = 0; d < digit.n_values; d++)
            counts[d * group.n_items + item] = 0;
        for (int64_t i = own.first; i < own.last; i++)
            counts[digit.of(keys[i]) * group.n_items + item]++;
    });
}

// Count the values of a digit in chunks of `size` keys. OUT counts : [n_columns, 2^bits, n_chunks]
// Memory of the group: [2^bits, n_items] of 32 bits
DF_KERNEL df_count_digits(const char *keys, int64_t is_double, int64_t n_rows, int64_t n_columns, int64_t size, int64_t n_chunks,
                          int64_t shift, int64_t bits, int64_t *counts, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        uint32_t *own = (uint32_t *) group.local;
        const df_key_digit digit(shift, bits);
        for (int64_t at = group.number; at < n_columns * n_chunks; at += group.n_groups) {
            const int64_t column = at / n_chunks, chunk = at % n_chunks;
            df_with_values((const char *) 0, is_double, (char *) keys, [&](const auto *, const auto *all) {
                df_count_item_digits(group, all + column * n_rows, n_rows, chunk, size, digit, own);
            });
            df_for(group, 0, digit.n_values, [&](int64_t d) {
                int64_t total = 0;
                for (int64_t i = 0; i < group.n_items; i++)
                    total += own[d * group.n_items + i];
                counts[(column * digit.n_values + d) * n_chunks + chunk] = total;
            });
        }
    }
}

// From counts to the places where the keys of each digit and chunk go, a group for each column.
// INOUT counts : [n_columns, 2^bits, n_chunks]
DF_KERNEL df_place_digits(int64_t n_columns, int64_t n_chunks, int64_t bits, int64_t *counts, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const int64_t n = n_chunks << bits, per_item = (n + group.n_items - 1) / group.n_items;
        for (int64_t column = group.number; column < n_columns; column += group.n_groups) {
            int64_t *own = counts + column * n;
            group.after(
                [&](int64_t item) {
                    int64_t total = 0;
                    for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                        total += own[i];
                    return total;
                },
                [&](int64_t item, int64_t before, int64_t) {
                    for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++) {
                        const int64_t count = own[i];
                        own[i] = before;
                        before += count;
                    }
                });
        }
    }
}

// Move keys to where a stable sort by a digit puts them. IN places : of df_place_digits; OUT to : [n_columns, n_rows]
// Memory of the group: [2^bits, n_items] of 32 bits
DF_KERNEL df_move_keys(const char *keys, int64_t is_double, int64_t n_rows, int64_t n_columns, int64_t size, int64_t n_chunks,
                       int64_t shift, int64_t bits, const int64_t *places, char *to, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        uint32_t *own = (uint32_t *) group.local;
        const df_key_digit digit(shift, bits);
        for (int64_t at = group.number; at < n_columns * n_chunks; at += group.n_groups) {
            const int64_t column = at / n_chunks, chunk = at % n_chunks;
            const int64_t *first = places + column * digit.n_values * n_chunks + chunk;
            df_with_values((const char *) 0, is_double, to, [&](const auto *, auto *sorted) {
                const auto *from = (decltype(sorted)) keys + column * n_rows;
                df_count_item_digits(group, from, n_rows, chunk, size, digit, own);
                // Of each digit: how many keys are in the ranges of items before.
                df_for(group, 0, digit.n_values, [&](int64_t d) {
                    uint32_t before = 0;
                    for (int64_t i = 0; i < group.n_items; i++) {
                        const uint32_t count = own[d * group.n_items + i];
                        own[d * group.n_items + i] = before;
                        before += count;
                    }
                });
                group.each([&](int64_t item) {
                    const df_key_range_of_item range(n_rows, chunk, size, item, group.n_items);
                    for (int64_t i = range.first; i < range.last; i++) {
                        const int64_t d = digit.of(from[i]);
                        sorted[column * n_rows + first[d * n_chunks] + own[d * group.n_items + item]++] = from[i];
                    }
                });
            });
        }
    }
}

// Allocate the sorted keys of a column to at most `bins` bins, by the rule of rules/bins.h, each key weighing 1. Only those
// values are looked at that may end a bin: the one that brings the bin up to its share, and the first one that has too few values
// above.
//
// IN keys : [n]
// OUT tops : [bins] where the keys of the highest value begin, of the next one, ...; lows, highs : [bins] keys of each bin
// Returns how many bins there are.
template <class Key>
DF_INLINE int64_t df_fill_bins(const Key *keys, int64_t n, int64_t bins, int64_t *tops, Key *lows, Key *highs)
{
    int64_t n_tops = 0, begin = 0, n_bins = 0;
    for (int64_t end = n; end > 0 && n_tops < bins; n_tops++)
        tops[n_tops] = end = df_keys_below(keys, end, keys[end - 1]);
    while (begin < n) {
        const df_bin_limits limits = df_bin_limits_of(bins, n - begin);
        int64_t end = n;
        if (bins > 1) {
            const Key key = keys[begin + limits.least - 1];
            const int64_t first = begin + df_keys_below(keys + begin, n - begin, key);
            // The first value in the bin above which there are fewer distinct ones than bins.
            const int64_t top = bins - 1 < n_tops ? tops[bins - 1] : 0, early = top > begin ? top : begin;
            if (early < first)
                end = early + df_keys_below(keys + early, n - early, (Key) (keys[early] + 1));
            else {
                const int64_t last = first + df_keys_below(keys + first, n - first, (Key) (key + 1));
                end = df_bin_ends_before(&limits, first - begin, last - first) ? first : last;
            }
        }
        lows[n_bins] = keys[begin];
        highs[n_bins++] = keys[end - 1];
        bins--;
        begin = end;
    }
    return n_bins;
}

// Allocate the sorted keys of columns, a column by an item.
//
// IN keys : [n_columns, n_rows]; counts_missing : whether missing values take one of max_codes codes
// OUT tops : [n_columns, max_codes] scratch; lows, highs : [n_columns, max_codes] keys; n_bins, n_missing : [n_columns]
DF_KERNEL df_make_bins(const char *keys, int64_t is_double, int64_t n_rows, int64_t n_columns, int64_t max_codes,
                       int64_t counts_missing, int64_t *tops, char *lows, char *highs, int64_t *n_bins, int64_t *n_missing,
                       DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_for_all(group, n_columns, [&](int64_t c) {
            df_with_values((const char *) 0, is_double, (char *) keys, [&](const auto *type, const auto *all) {
                const auto *own = all + c * n_rows;
                const int64_t n = df_keys_below(own, n_rows, df_missing_key(type)), at = c * max_codes;
                n_missing[c] = n_rows - n;
                n_bins[c] = df_fill_bins(own, n, max_codes - (counts_missing && n < n_rows), tops + at,
                                         (decltype(df_key_of(*type)) *) lows + at, (decltype(df_key_of(*type)) *) highs + at);
            });
        });
    }
}

// The codes of rows, given the keys of the highest values of bins; a missing value has the number of bins.
//
// IN x : [n_rows, n_features]; highs : [n_features, max_codes]; n_bins : [n_features]; OUT codes : [n_rows, n_features]
DF_KERNEL df_write_codes(const char *x, int64_t is_double, int64_t n_rows, int64_t n_features, int64_t max_codes, const char *highs,
                         const int64_t *n_bins, uint8_t *codes, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_with_values(x, is_double, (char *) highs, [&](const auto *values, const auto *of_bins) {
            df_for_all(group, n_rows, [&](int64_t i) {
                for (int64_t j = 0; j < n_features; j++) {
                    const auto value = values[i * n_features + j];
                    const int64_t n = n_bins[j];
                    codes[i * n_features + j] =
                        (uint8_t) (value == value ? df_keys_below(of_bins + j * max_codes, n - 1, df_key_of(value)) : n);
                }
            });
        });
    }
}

#endif
