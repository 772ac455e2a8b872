// The draws of trees, and their records: each block of rows by one item.
#ifndef DFOREST_KERNELS_BOOTSTRAP_HPP
#define DFOREST_KERNELS_BOOTSTRAP_HPP

#include "rules/records.h"
#include "rules/sampling.h"

// A block of a tree's rows.
typedef struct {
    int64_t tree, block;
    int64_t first, n;          // its rows
} df_tree_block;

// Of trees of n_rows rows each, one tree after another.
DF_INLINE df_tree_block df_tree_block_at(int64_t at, int64_t n_rows)
{
    const int64_t n_blocks = (n_rows + DF_BLOCK - 1) / DF_BLOCK, first = at % n_blocks * DF_BLOCK;
    const df_tree_block found = {at / n_blocks, at % n_blocks, first, n_rows - first < DF_BLOCK ? n_rows - first : DF_BLOCK};
    return found;
}

// IN counts : NULL, every row once. IN weight : NULL, all are 1
DF_INLINE void df_write_block(int64_t first_row, int64_t n, const uint32_t *counts, const int32_t *target, const uint32_t *weight,
                              df_record *records)
{
    df_record some[64]; // as no branch is to be guessed, a record is written in any case, but not where others write
    for (int64_t begin = 0; begin < n; begin += 64) {
        const int64_t end = begin + 64 < n ? begin + 64 : n;
        int64_t n_some = 0;
        for (int64_t i = begin; i < end; i++) {
            df_record *to = some + n_some;
            to->row = (uint32_t) (first_row + i);
            to->count = counts ? counts[i] : 1;
            to->target = target[first_row + i];
            to->weight = weight ? weight[first_row + i] : 1;
            n_some += to->count > 0;
        }
        for (int64_t i = 0; i < n_some; i++)
            *records++ = some[i];
    }
}

#endif
