// The blocks of trees' rows: each is drawn, and its records are written, by one item.
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

#endif
