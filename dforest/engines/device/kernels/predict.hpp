// Rows down packed trees. See walk.h for slots, PackedForest for values and bases.
//
// A group takes a block of rows. In a group of one item, the block passes the trees one by one, so that a tree is fetched once
// per block; in larger groups each item takes rows of its own.
#ifndef DFOREST_KERNELS_PREDICT_HPP
#define DFOREST_KERNELS_PREDICT_HPP

#include "group.hpp"
#include "core/predict/walk.h"
#include "rules/bounds.h"
#include "rules/losses.h"

DF_INLINE df_packed df_packed_of(const char *slots, const int64_t *starts, const uint64_t *words, int64_t bits, int64_t is_wide)
{
    df_packed forest;
    forest.slots = slots;
    forest.starts = starts;
    forest.words = words;
    forest.bits = (uint32_t) bits;
    forest.is_wide = (int) is_wide;
    return forest;
}

DF_INLINE df_rows df_rows_of(const char *x, int64_t n_features, int64_t is_double)
{
    df_rows rows;
    rows.x = x;
    rows.stride = (size_t) n_features * (is_double ? sizeof(double) : sizeof(float));
    rows.is_double = (int) is_double;
    return rows;
}

// The slot of the leaf of a tree that a row reaches.
DF_INLINE uint32_t df_leaf_of(const df_packed *forest, const char *tree, const df_rows *rows, int64_t i)
{
    const char *x = df_row(rows, (size_t) i);
    uint32_t at = 1;
    while (!df_is_leaf(tree, at, forest))
        at = df_step(tree, at, x, forest, forest->bits, DF_SUBSETS, forest->is_wide, rows->is_double);
    return at;
}

// visit(t, i, at) for every tree, in their order, and every row from `first` on that the item takes: of n if it is the only
// one of its group. IN at : [2 n] scratch of the group
template <class Visit>
DF_INLINE void df_visit_leaves(const df_group &group, int64_t item, const df_packed *forest, const int32_t *n_first,
                               const df_rows *rows, int64_t n_features, int64_t n_trees, int64_t first, int64_t n, Visit visit)
{
    int64_t t, i;
#ifndef DF_LARGE_GROUPS // takes long to compile
    if (group.n_items == 1) {
        uint32_t *at = (uint32_t *) group.local;
        const int mode = df_mode(forest, rows, (size_t) first, (size_t) n, (size_t) n_features);
        for (t = 0; t < n_trees; t++) {
            df_walk_rows(forest, (size_t) t, n_first[t], rows, 0, (size_t) first, (size_t) n, at, at + n, mode);
            for (i = 0; i < n; i++)
                visit(t, first + i, at[i]);
        }
        return;
    }
#endif
    for (i = item; i < n; i += group.n_items)
        for (t = 0; t < n_trees; t++)
            visit(t, first + i, df_leaf_of(forest, df_tree(forest, (size_t) t), rows, first + i));
}

// The mean over trees of what they say, summed up in their order; or the baseline, and sums.
//
// IN slots to n_first, values, bases : see PackedForest.arrays
// IN baseline : [n_outputs], or NULL: predictions are means; takes_turns : whether trees do at the sums; bounds : [2, n_outputs] that means are kept between, or NULL
// IN x : [n_rows, n_features] float32 or float64
// OUT means : [n_rows, n_outputs]
// group.local: 8 n_block bytes in groups of one item
DF_KERNEL df_mean(const char *slots, const int64_t *starts, const uint64_t *words, int64_t bits, int64_t is_wide,
                  const int32_t *n_first, const double *values, const int64_t *bases, const double *baseline,
                  int64_t takes_turns, const double *bounds, int64_t n_trees, int64_t n_outputs, const char *x, int64_t n_features,
                  int64_t is_double, int64_t n_rows, int64_t n_block, double *means, DF_LOCAL)
{
    const df_packed forest = df_packed_of(slots, starts, words, bits, is_wide);
    const df_rows rows = df_rows_of(x, n_features, is_double);
    DF_EACH_GROUP(group)
    {
        const int64_t first = group.number * n_block, n = n_rows - first < n_block ? n_rows - first : n_block;
        group.each([&](int64_t item) {
            int64_t i, k;
            for (i = item; i < n; i += group.n_items)
                for (k = 0; k < n_outputs; k++)
                    means[(first + i) * n_outputs + k] = 0.0;
            df_visit_leaves(group, item, &forest, n_first, &rows, n_features, n_trees, first, n,
                            [&](int64_t t, int64_t row, uint32_t at) {
                const int64_t value_row = bases[t] + df_value_row(df_tree(&forest, (size_t) t), at, &forest);
                if (takes_turns) {
                    means[row * n_outputs + t % n_outputs] += values[value_row];
                    return;
                }
                const double *value = values + value_row * n_outputs;
                for (int64_t c = 0; c < n_outputs; c++)
                    means[row * n_outputs + c] += value[c];
            });
            for (i = item; i < n; i += group.n_items)
                for (k = 0; k < n_outputs; k++) {
                    double *mean = means + (first + i) * n_outputs + k;
                    *mean = baseline ? *mean + baseline[k] : *mean / (double) n_trees;
                    if (bounds)
                        *mean = df_clip(*mean, bounds[k], bounds[n_outputs + k]);
                }
        });
    }
}

// The number of the leaf's node in each tree.
//
// IN numbers : of the node in each slot
// OUT nodes : [n_rows, n_trees]
DF_KERNEL df_apply(const char *slots, const int64_t *starts, const uint64_t *words, int64_t bits, int64_t is_wide,
                   const int32_t *n_first, const uint32_t *numbers, int64_t n_trees, const char *x, int64_t n_features,
                   int64_t is_double, int64_t n_rows, int64_t n_block, int64_t *nodes, DF_LOCAL)
{
    const df_packed forest = df_packed_of(slots, starts, words, bits, is_wide);
    const df_rows rows = df_rows_of(x, n_features, is_double);
    DF_EACH_GROUP(group)
    {
        const int64_t first = group.number * n_block, n = n_rows - first < n_block ? n_rows - first : n_block;
        group.each([&](int64_t item) {
            df_visit_leaves(group, item, &forest, n_first, &rows, n_features, n_trees, first, n,
                            [&](int64_t t, int64_t row, uint32_t at) {
                nodes[row * n_trees + t] = numbers[starts[t] + at];
            });
        });
    }
}

// The output of the largest mean of each row, of equal ones the first. IN means : [n_rows, n_outputs]; OUT most : [n_rows]
DF_KERNEL df_most(const double *means, int64_t n_outputs, int64_t n_rows, int64_t n_block, int64_t *most, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const int64_t first = group.number * n_block, n = n_rows - first < n_block ? n_rows - first : n_block;
        df_for(group, 0, n, [&](int64_t i) {
            const double *mean = means + (first + i) * n_outputs;
            int64_t best = 0;
            for (int64_t k = 1; k < n_outputs; k++)
                best = mean[k] > mean[best] ? k : best;
            most[first + i] = best;
        });
    }
}

// What raw predictions of boosted trees say of y, by the number of a loss. has_classes : a row has one raw prediction, from which
// the probabilities of two classes follow; neither is 1 less the other, which would lose digits.
//
// IN raw : [n_rows, n_sums]; OUT predictions : [n_rows, has_classes ? 2 : n_sums]
DF_KERNEL df_invert_link(const double *raw, int64_t n_sums, int64_t loss, int64_t has_classes, int64_t n_rows, int64_t n_block,
                         double *predictions, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const int64_t first = group.number * n_block, n = n_rows - first < n_block ? n_rows - first : n_block;
        df_for(group, first, first + n, [&](int64_t i) {
            if (has_classes) {
                const double both[2] = {-raw[i], raw[i]};
                df_predictions_of_loss((int) loss, both, 2, predictions + 2 * i);
            } else if (loss == DF_MULTINOMIAL_LOSS)
                df_multinomial_predictions(raw + i * n_sums, 1, n_sums, predictions + i * n_sums);
            else
                df_predictions_of_loss((int) loss, raw + i * n_sums, n_sums, predictions + i * n_sums);
        });
    }
}

#endif
