// What is to be known of a node: its statistic, whether it is pure, a scale of its own for its targets, its impurity, and
// what it predicts. criterion.pyx and regression.pyx take these steps on the processor.
#ifndef DFOREST_KERNELS_NODE_HPP
#define DFOREST_KERNELS_NODE_HPP

#include "categories.hpp"
#include "rules/weights.h"

typedef struct {
    int32_t lowest, highest;
} df_extent;

// Of targets.
DF_INLINE df_extent df_target_extent(const df_group &group, const df_record *records, int64_t n)
{
    df_extent extent;
    extent.lowest = group.lowest<int32_t>([&](int64_t item) {
        int32_t low = INT32_MAX;
        for (int64_t i = item; i < n; i += group.n_items)
            low = records[i].target < low ? records[i].target : low;
        return low;
    });
    extent.highest = -1 - group.lowest<int32_t>([&](int64_t item) { // -1 - x of the lowest -1 - x: nothing overflows
        int32_t low = INT32_MAX;
        for (int64_t i = item; i < n; i += group.n_items)
            low = -1 - records[i].target < low ? -1 - records[i].target : low;
        return low;
    });
    return extent;
}

// The lowest y of some draws; with sign -1 the highest, negated.
template <class Group>
DF_CALLED double df_lowest_y(const Group &group, const df_record *records, int64_t n, const double *y, double sign)
{
    return group.template lowest<double>([&](int64_t item) {
        double low = sign * y[records[0].row];
        for (int64_t i = item; i < n; i += group.n_items) {
            const double x = sign * y[records[i].row];
            low = x < low ? x : low;
        }
        return low;
    });
}

// The heaviest exact weight of some draws, one or more.
template <class Group>
DF_CALLED double df_heaviest(const Group &group, const df_record *records, int64_t n, const double *exact_weight)
{
    return -group.template lowest<double>([&](int64_t item) {
        double low = -exact_weight[records[0].row];
        for (int64_t i = item; i < n; i += group.n_items) {
            const double x = -exact_weight[records[i].row];
            low = x < low ? x : low;
        }
        return low;
    });
}

// Impurity of a node that has its measure. `target(i)` and `weight(i)` of draw i, in the node's scale, and by its shift.
template <class Group, class Target, class Weight>
DF_INLINE double df_node_impurity(const Group &group, const df_problem *p, const df_node *node, const int64_t *total,
                                  int64_t n, Target target, Weight weight)
{
    if (df_has_classes(p))
        return df_class_impurity(p->criterion, total, p->n_words);
    const df_measure measure = node->measure;
    if (p->criterion == DF_POISSON && measure.centre <= 0.0)
        return 0.0;
    const df_big sum = group.exact_sum([&](int64_t item) {
        df_exact_sum own = {0, 0};
        for (int64_t i = item; i < n; i += group.n_items) {
            if (p->criterion == DF_POISSON)
                df_add_product(&own, weight(i), df_fixed_deviance(target(i), &measure));
            else
                df_add_square(&own, target(i) - measure.mean, weight(i));
        }
        return own;
    });
    const int exponent = df_score_exponent(p->criterion, node->open_node.exponent);
    return p->criterion == DF_POISSON ? df_deviance_impurity(&sum, total[1], exponent)
                                      : df_square_impurity(&sum, total[1], &measure, exponent);
}

// The mean of the exact targets of a leaf, from lo to hi: offsets from the middle, of so many bits, summed in 128 bits.
// `weight(i)` of a draw of record i; `total` of all
template <class Group, class Weight>
DF_CALLED double df_leaf_value(const Group &group, const df_record *records, int64_t n, const double *y, Weight weight, double total,
                               int bits, double lo, double hi)
{
    if (lo == hi)
        return y[records[0].row]; // 0 may have either sign
    double centre;
    const int32_t exponent = df_choose_scale(lo, hi, bits, &centre);
    const df_big sum = group.exact_sum([&](int64_t item) {
        df_exact_sum own = {0, 0};
        for (int64_t i = item; i < n; i += group.n_items) {
            const int64_t offset = df_leaf_offset(y[records[i].row], centre, exponent);
            if (bits == DF_LEAF_BITS) // weights have fewer bits than offsets, ...
                df_add_product(&own, records[i].count * weight(i), offset);
            else // ... or more
                df_add_product(&own, weight(i), records[i].count * offset);
        }
        return own;
    });
    return df_leaf_mean(&sum, total, centre, exponent, lo, hi);
}

#endif
