// The blocks of trees' rows: each is drawn, and its records are written, by a group.
#ifndef DFOREST_KERNELS_BOOTSTRAP_HPP
#define DFOREST_KERNELS_BOOTSTRAP_HPP

#include "group.hpp"

#include "rules/records.h"
#include "rules/sampling.h"

// A block of a tree's rows.
typedef struct {
    int64_t tree, block;
    int64_t first, n;          // its rows
} df_tree_block;

DF_INLINE int64_t df_blocks_of(int64_t n_rows) { return (n_rows + DF_BLOCK - 1) / DF_BLOCK; }

// Of trees of n_rows rows each, one tree after another.
DF_INLINE df_tree_block df_tree_block_at(int64_t at, int64_t n_rows)
{
    const int64_t n_blocks = df_blocks_of(n_rows), first = at % n_blocks * DF_BLOCK;
    const df_tree_block found = {at / n_blocks, at % n_blocks, first, n_rows - first < DF_BLOCK ? n_rows - first : DF_BLOCK};
    return found;
}

// `df_draw_block` by the items of a group, each of which takes four numbers of the block's stream at a time. As soon as the numbers
// at hand have been looked at, as many of the next ones are as were passed over.
DF_INLINE void df_draw_block_together(const df_group &group, uint32_t seed, int64_t block, int64_t n, int64_t n_draws,
                                      uint32_t *counts)
{
    df_clear(group, counts, n);
    int64_t first = 0;
    while (n_draws > 0) {
        const int64_t end = first + n_draws;
        n_draws = group.sum([&](int64_t item) {
            int64_t n_passed = 0;
            for (int64_t quad = first / 4 + item; 4 * quad < end; quad += group.n_items) {
                df_stream stream;
                df_stream_open(&stream, seed, (uint64_t) block, DF_BOOTSTRAP_DRAW);
                stream.counter[0] = (uint32_t) quad;
                for (int64_t at = 4 * quad; at < 4 * quad + 4; at++) {
                    const uint64_t product = (uint64_t) df_next(&stream) * (uint64_t) n;
                    if (at < first || at >= end)
                        continue;
                    if (df_is_kept(product, (uint32_t) n))
                        df_add(group, counts + (product >> 32), 1);
                    else
                        n_passed++;
                }
            }
            return n_passed;
        });
        first = end;
    }
}

#endif
