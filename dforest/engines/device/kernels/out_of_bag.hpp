// What the rows that a tree's bootstrap left out say about it; see dforest/core/predict/out_of_bag.pyx, which gives the same
// numbers on the processor.
//
// An *error* is 0 or 1 for classes; for numbers, the squared deviation times 4^exponent. Errors are added without rounding
// (totals.h): their sums depend on no order.
#ifndef DFOREST_KERNELS_OUT_OF_BAG_HPP
#define DFOREST_KERNELS_OUT_OF_BAG_HPP

#include "bootstrap.hpp"
#include "predict.hpp"
#include "rules/out_of_bag.h"

DF_INLINE double df_value_of(const df_rows *rows, int64_t i, uint32_t feature)
{
    const char *x = df_row(rows, (size_t) i);
    return rows->is_double ? ((const double *) x)[feature] : ((const float *) x)[feature];
}

// Let trees from `first_tree` on vote for the rows they never drew, a row by one item.
//
// IN slots to n_first, values, bases : see PackedForest.arrays, of all trees
// IN x : [n_rows, n_features] float32 or float64; target : [n_rows]
// IN counts : [n_trees, n_rows] how often these trees drew each row
// IN classes : [n_leaves] what each votes for; NULL: regression
// IN n_all_trees : of the forest
// INOUT sums : [n_rows, n_outputs]; votes : [n_rows, n_outputs], of classes only; n_votes, best : [n_rows] best: the class of
// most votes; error : [n_rows] so far
// INOUT totals : [DF_DIGITS, n_all_trees] digits of what each tree adds to the sum of errors; n_new : [n_all_trees] rows with
// the first vote by it
DF_KERNEL df_vote_out_of_bag(const char *slots, const int64_t *starts, const uint64_t *words, int64_t bits, int64_t is_wide,
                             const double *values, const int64_t *bases, int64_t first_tree, int64_t n_trees, int64_t n_outputs,
                             const char *x, int64_t n_features, int64_t is_double, int64_t n_rows, int64_t n_block,
                             const double *target, const uint32_t *counts, const int32_t *classes, int64_t exponent,
                             double *sums, int32_t *votes, int32_t *n_votes, int32_t *best, double *error, int64_t *totals, int64_t *n_new,
                             int64_t n_all_trees, DF_LOCAL)
{
    const df_packed forest = df_packed_of(slots, starts, words, bits, is_wide);
    const df_rows rows = df_rows_of(x, n_features, is_double);
    const double factor = ldexp(1.0, (int) exponent);
    DF_EACH_GROUP(group)
    {
        const int64_t first = group.number * n_block, end = first + n_block < n_rows ? first + n_block : n_rows;
        group.each([&](int64_t item) {
            for (int64_t t = 0; t < n_trees; t++) {
                const char *tree = df_tree(&forest, (size_t) (first_tree + t));
                df_total total;
                int64_t seen = 0;
                df_total_open(&total);
                for (int64_t i = first + item; i < end; i += group.n_items) {
                    if (counts[t * n_rows + i])
                        continue;
                    const int64_t leaf = bases[first_tree + t] + df_value_row(tree, df_leaf_of(&forest, tree, &rows, i), &forest);
                    double now;
                    for (int64_t k = 0; k < n_outputs; k++)
                        sums[i * n_outputs + k] += values[leaf * n_outputs + k];
                    seen += n_votes[i]++ == 0;
                    if (classes) {
                        int32_t *own = votes + i * n_outputs;
                        const int32_t c = classes[leaf];
                        own[c]++;
                        best[i] = df_leading_class(own, best[i], c);
                        now = df_error(0, factor, target[i], best[i]);
                    } else
                        now = df_error(1, factor, target[i], sums[i * n_outputs] / (double) n_votes[i]);
                    if (now != error[i]) {
                        df_total_add(&total, now, 1);
                        df_total_add(&total, error[i], -1);
                        error[i] = now;
                    }
                }
                df_total_carry(&total);
                for (int32_t k = total.begin; k < total.end; k++)
                    if (total.digit[k] != 0)
                        df_add_anywhere((uint64_t *) totals + k * n_all_trees + first_tree + t, (uint64_t) total.digit[k]);
                if (seen)
                    df_add_anywhere((uint64_t *) n_new + first_tree + t, (uint64_t) seen);
            }
        });
    }
}

// A tree and a feature it tests, whose values are permuted.
//
// IN rows, ends : the rows that each tree never drew, one tree after another, and where those of each tree end
// IN pairs : [n_pairs, 2] tree, of those in `ends`, and feature; firsts : [n_pairs] where its rows begin in `others`
// OUT others : the rows that others take the feature's values from
DF_KERNEL df_permute_rows(const uint32_t *seeds, const uint32_t *rows, const int64_t *ends, int64_t first_tree, const int64_t *pairs,
                          const int64_t *firsts, int64_t n_pairs, uint32_t *others, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        group.each([&](int64_t item) {
            const int64_t pair = group.number * group.n_items + item;
            if (pair >= n_pairs)
                return;
            const int64_t tree = pairs[2 * pair], begin = tree ? ends[tree - 1] : 0, n = ends[tree] - begin;
            uint32_t *to = others + firsts[pair];
            df_stream stream;
            df_open_permutation(&stream, seeds[first_tree + tree], (uint64_t) pairs[2 * pair + 1]);
            for (int64_t i = 0; i < n; i++)
                to[i] = rows[begin + i];
            df_permute(&stream, to, 0, n, n);
        });
    }
}

// By how much permuting raises the sum of weighted errors, a group for each pair. IN weight : [n_rows], or NULL, all are 1
// OUT error_increases : [n_pairs]
DF_KERNEL df_permuted_error_increases(const char *slots, const int64_t *starts, const uint64_t *words, int64_t bits,
                                      int64_t is_wide, const double *leaf_value, const int64_t *bases, int64_t is_regression,
                                      const char *x, int64_t n_features, int64_t is_double, const double *target,
                                      const uint32_t *weight, const uint32_t *rows, const int64_t *ends, int64_t first_tree,
                                      const int64_t *pairs, const int64_t *firsts, int64_t n_pairs, const uint32_t *others,
                                      double *error_increases, DF_LOCAL)
{
    const df_packed forest = df_packed_of(slots, starts, words, bits, is_wide);
    const df_rows all = df_rows_of(x, n_features, is_double);
    DF_EACH_GROUP(group)
    {
        for (int64_t pair = group.number; pair < n_pairs; pair += group.n_groups) {
            const int64_t own = pairs[2 * pair], begin = own ? ends[own - 1] : 0, n = ends[own] - begin;
            const uint32_t permuted = (uint32_t) pairs[2 * pair + 1];
            const char *tree = df_tree(&forest, (size_t) (first_tree + own));
            const double *value = leaf_value + bases[first_tree + own];
            const double sum = group.total(0, [&](int64_t item, df_total *total) {
                for (int64_t i = item; i < n; i += group.n_items) {
                    const int64_t row = rows[begin + i];
                    const double other = df_value_of(&all, others[firsts[pair] + i], permuted);
                    uint32_t at = 1, turned = 0; // the row's leaf; with the other value: 0, it went the same way so far
                    while (!df_is_leaf(tree, at, &forest)) {
                        const uint32_t feature = df_feature(tree, at, &forest);
                        if (feature == permuted && !turned)
                            turned = at;
                        at = df_step_by(tree, at, df_value_of(&all, row, feature), &forest);
                    }
                    if (!turned)
                        continue; // no test of the feature on its way
                    while (!df_is_leaf(tree, turned, &forest)) {
                        const uint32_t feature = df_feature(tree, turned, &forest);
                        const double x_there = feature == permuted ? other : df_value_of(&all, row, feature);
                        turned = df_step_by(tree, turned, x_there, &forest);
                    }
                    const double before = df_error((int) is_regression, 1.0, target[row],
                                                   value[df_value_row(tree, at, &forest)]);
                    const double after = df_error((int) is_regression, 1.0, target[row],
                                                  value[df_value_row(tree, turned, &forest)]);
                    const int64_t w = weight ? weight[row] : 1;
                    if (before != after) {
                        df_total_add(total, after, w);
                        df_total_add(total, before, -w);
                    }
                }
            });
            df_once(group, [&] { error_increases[pair] = sum; });
        }
    }
}

#endif
