/* What trees draw, in integers alone, shared by the CPU and device code (C99 and C++). See core/sampling.pyx, which says how
 * draws are sent down a binary tree over blocks of rows. */
#ifndef DFOREST_SAMPLING_H
#define DFOREST_SAMPLING_H

#include <stdint.h>

#include "random.h"
#include "records.h"

/* The number of ones among the bits of x. */
static inline int df_ones(uint32_t x) {
    x = x - ((x >> 1) & 0x55555555u);
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    return (int)((((x + (x >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24);
}

/* How many of a node's draws go to its left half, of `left` against `right` rows. Even halves take the ones among as many
 * random bits as there are draws: of 40 draws, a word of 32 bits and the lowest 8 of the next. */
static inline int64_t df_draws_to_left(uint32_t seed, uint64_t node, int64_t n_draws, int64_t left, int64_t right) {
    df_stream stream;
    int64_t i, n_left = 0;
    if (right == 0)
        return n_draws;
    df_stream_open(&stream, seed, node, DF_BOOTSTRAP_SPLIT);
    if (left == right) {
        for (i = 0; i < n_draws / 32; ++i)
            n_left += df_ones(df_next(&stream));
        if (n_draws % 32)
            n_left += df_ones(df_next(&stream) & (((uint32_t)1 << (n_draws % 32)) - 1));
    } else {
        for (i = 0; i < n_draws; ++i)
            n_left += df_below(&stream, (uint32_t)(left + right)) < (uint32_t)left;
    }
    return n_left;
}

/* Where halves count by mass and not by rows: `left` against `right`, whose sum is below 2^63. A draw is a number below that sum,
 * and goes left if it is below `left`: of masses 3 and 1, the numbers 0, 1 and 2 go left. */
static inline int64_t df_heavy_to_left(uint32_t seed, uint64_t node, int64_t n_draws, int64_t left, int64_t right) {
    df_stream stream;
    int64_t i, n_left = 0;
    df_stream_open(&stream, seed, node, DF_BOOTSTRAP_SPLIT);
    for (i = 0; i < n_draws; ++i)
        n_left += df_below_long(&stream, (uint64_t)left + (uint64_t)right) < (uint64_t)left;
    return n_left;
}

/* How often each of some rows is drawn, with chances that are proportional to their masses. A draw is a number below the sum of
 * all, and falls on the first row up to which the masses add up to more: of masses 3, 0 and 1, the number 3 falls on the last.
 * IN upto : [n] the sum of the masses of each row and those before it. IN OUT counts : [n] */
static inline void df_draw_by_mass(uint32_t seed, uint64_t block, int64_t n, int64_t n_draws, const int64_t *upto,
                                   uint32_t *counts) {
    df_stream stream;
    int64_t i, low, high, middle, number;
    df_stream_open(&stream, seed, block, DF_BOOTSTRAP_DRAW);
    for (i = 0; i < n_draws; ++i) {
        number = (int64_t)df_below_long(&stream, (uint64_t)upto[n - 1]);
        low = 0;
        high = n - 1;
        while (low < high) {
            middle = (low + high) / 2;
            if (upto[middle] > number)
                high = middle;
            else
                low = middle + 1;
        }
        counts[low] += 1;
    }
}

/* How often each of a block's n rows is drawn by the draws that fall into it. OUT counts : [n] */
static inline void df_draw_block(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *counts) {
    df_stream stream;
    int64_t i;
    for (i = 0; i < n; ++i)
        counts[i] = 0;
    df_stream_open(&stream, seed, (uint64_t)block, DF_BOOTSTRAP_DRAW);
    for (i = 0; i < n_draws; ++i)
        counts[df_below(&stream, (uint32_t)n)] += 1;
}

/* How many of the rows before `row`, which is 0, n_rows or the first of a block, are drawn of n_rows rows without replacement:
 * their share, rounded down, or up where a random number says so. A row's chance is n_draws / n_rows, whatever block it is in. Of
 * 8200 rows, 4100 draws: the last 8 rows have 4 of them. Of 4100 rows, 2047 draws: the last 4 have 1 or 2, on average 1.997.
 * Rows are counted in their stratum, a part of all rows that has draws of its own; 0 if there is but one. */
static inline int64_t df_subsampled_before(uint32_t seed, uint64_t stratum, int64_t n_rows, int64_t n_draws, int64_t row) {
    df_stream stream;
    df_stream_open(&stream, seed, stratum, DF_SUBSAMPLE_SHARE);
    return (int64_t)(((uint64_t)n_draws * (uint64_t)row + df_below(&stream, (uint32_t)n_rows)) / (uint64_t)n_rows);
}

/* Which of a block's n rows are drawn, n_draws of them without replacement. A row's chance is the draws to come divided by the
 * rows to come: of 3 rows and 2 draws, the first row is drawn with chance 2/3, and the second then with 1/2, or else for sure.
 * OUT counts : [n] 0 or 1 */
static inline void df_subsample_block(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *counts) {
    df_stream stream;
    uint32_t to_come = (uint32_t)n_draws;
    int64_t i;
    df_stream_open(&stream, seed, (uint64_t)block, DF_SUBSAMPLE_DRAW);
    for (i = 0; i < n; ++i) {
        counts[i] = df_below(&stream, (uint32_t)(n - i)) < to_come;
        to_come -= counts[i];
    }
}

/* IN target, weight : of all rows; NULL: all weights are 1 */
static inline df_record df_record_of(int64_t row, uint32_t count, const int32_t *target, const uint32_t *weight) {
    df_record found;
    found.row = (uint32_t)row;
    found.count = count;
    found.target = target[row];
    found.weight = weight ? weight[row] : 1;
    return found;
}

/* Write the records of those rows that are drawn, of n rows from `first` on; return their number.
 * IN counts : [n] of these rows, NULL: every row once; target : of all rows; weight : of all rows, NULL: all are 1 */
static inline int64_t df_write_records(int64_t first, int64_t n, const uint32_t *counts, const int32_t *target,
                                       const uint32_t *weight, df_record *records) {
    df_record some[64]; /* as no branch is to be guessed, a record is written in any case, but not where others write */
    int64_t begin, end, i, n_some, n_records = 0;
    for (begin = 0; begin < n; begin = end) {
        end = begin + 64 < n ? begin + 64 : n;
        n_some = 0;
        for (i = begin; i < end; ++i) {
            some[n_some] = df_record_of(first + i, counts ? counts[i] : 1, target, weight);
            n_some += some[n_some].count > 0;
        }
        for (i = 0; i < n_some; ++i)
            records[n_records++] = some[i];
    }
    return n_records;
}

/* Keep the draws of one half of what an honest tree draws: of the rows that choose its splits, or of those that fill its leaves. Of
 * the m rows of a block that are drawn, a share of m, rounded down, or up where a random number says so, chooses splits, but never
 * none or all of two rows or more. If all rows are one block, the share is rounded to the nearest number. Of 5 rows and a share of
 * .5, 2 or 3 choose splits: of a single block 3. Instead of rows, these may be groups of rows.
 * IN n : rows of the block. IN OUT counts : [n] how often each is drawn */
static inline void df_keep_half(uint32_t seed, int64_t block, int is_only, double share, int fills_leaves, int64_t n,
                                uint32_t *counts) {
    df_stream stream;
    int64_t i, m = 0, n_splits;
    uint32_t to_come, left;
    for (i = 0; i < n; ++i)
        m += counts[i] > 0;
    if (m == 0)
        return;
    df_stream_open(&stream, seed, (uint64_t)block, DF_HONEST_HALF);
    n_splits = (int64_t)(share * (double)m + (is_only ? 0.5 : df_uniform(&stream)));
    if (m > 1)
        n_splits = n_splits < 1 ? 1 : n_splits > m - 1 ? m - 1 : n_splits;
    to_come = (uint32_t)n_splits;
    left = (uint32_t)m;
    for (i = 0; i < n; ++i) {
        if (counts[i] == 0)
            continue;
        if (df_below(&stream, left--) < to_come) {
            to_come--;
            counts[i] = fills_leaves ? 0 : counts[i];
        } else
            counts[i] = fills_leaves ? counts[i] : 0;
    }
}

/* Whether a row that a tree has not drawn orders the tree's labels (categories.h): two of three such rows do, and the others are
 * out of bag. */
static inline int df_orders_labels(uint32_t seed, uint64_t row) {
    df_stream stream;
    df_stream_open(&stream, seed, row, DF_LABEL_ORDER);
    return df_below(&stream, 3) < 2;
}

#endif
