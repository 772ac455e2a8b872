// The best cuts of boosted trees, given the histograms that boost.hpp makes; rules are those of boost_cuts.h.
#ifndef DFOREST_KERNELS_BOOST_CUTS_HPP
#define DFOREST_KERNELS_BOOST_CUTS_HPP

#include "boost.hpp"

// What cuts of a node have to keep to in an output, given the bounds of all outputs.
DF_INLINE df_boost_constraint df_boost_constraint_in(const double *bounds, int64_t output, int32_t monotonic_cst)
{
    const df_boost_constraint constraint = {{bounds[2 * output], bounds[2 * output + 1]}, monotonic_cst};
    return constraint;
}

// The best cut of a column by all outputs together. IN histograms : of the first output; `step` numbers on is the next one's;
// bounds : [n_outputs, 2] or NULL; OUT midpoints : [n_outputs] where the cut parts steps, if there are bounds and a direction
static inline void df_boost_find_of_outputs(const df_column *column, const int32_t *exponents, int64_t n_outputs,
                                            const int64_t *histograms, int64_t step, const df_boost_limits *rules,
                                            const double *bounds, int32_t monotonic_cst, const df_boost_room *room,
                                            df_boost_outputs *outputs, uint64_t *subset, df_boost_cut *cut, double *midpoints)
{
    const int n_codes = (int) column->n_codes, has_missing = (int) column->has_missing, n_all = n_codes + has_missing;
    const auto limits_of = [&](int64_t k) {
        return df_boost_limits_of(rules, exponents[2 * k], exponents[2 * k + 1]);
    };
    const auto entries_of = [&](int64_t k) {
        const df_boost_entries entries = {0, (const df_boost_sums *) (histograms + k * step), 0, 0, 0};
        return entries;
    };
    int32_t highest = df_unit_of_scores(exponents[0], exponents[1]);
    for (int64_t k = 1; k < n_outputs; k++) {
        const int32_t unit = df_unit_of_scores(exponents[2 * k], exponents[2 * k + 1]);
        highest = unit > highest ? unit : highest;
    }
    const auto unit_of = [&](int64_t k) {
        return ldexp(1.0, df_unit_of_scores(exponents[2 * k], exponents[2 * k + 1]) - highest);
    };
    const uint16_t *order = 0;
    int n = n_codes;
    if (column->kind == DF_CATEGORICAL) {
        double most = -1.0;
        int64_t widest = 0;
        for (int64_t k = 0; k < n_outputs; k++) {
            const df_boost_entries entries = entries_of(k);
            const df_boost_limits limit = limits_of(k);
            const double spread = unit_of(k) * df_boost_spread(DF_WIDE_WORDS, &entries, n_all, &limit);
            widest = spread > most ? k : widest;
            most = spread > most ? spread : most;
        }
        const df_boost_entries entries = entries_of(widest);
        const df_boost_limits limit = limits_of(widest);
        n = df_boost_order(DF_WIDE_WORDS, &entries, n_all, &limit, room);
        order = room->order;
    }
    for (int64_t k = 0; k < n_outputs; k++) {
        const df_boost_limits limit = limits_of(k);
        const df_boost_entries entries = entries_of(k);
        df_boost_constraint constraint = {df_no_bounds(), monotonic_cst};
        if (bounds)
            constraint = df_boost_constraint_in(bounds, k, monotonic_cst);
        df_boost_add_output_in(DF_WIDE_WORDS, &entries, n_codes, has_missing, order, n, &limit, bounds ? &constraint : 0, unit_of(k),
                               k == 0, room, outputs);
    }
    df_boost_choose_of_outputs(outputs, n, cut);
    for (int64_t k = 0; k < (bounds && monotonic_cst ? n_outputs : 0); k++) {
        const df_boost_limits limit = limits_of(k);
        const df_boost_entries entries = entries_of(k);
        df_boost_sums total;
        const df_boost_sums left = df_boost_sums_on_left(DF_WIDE_WORDS, &entries, n_codes, has_missing, cut, &total);
        midpoints[k] = df_cut_midpoint(&limit, left, total, df_boost_constraint_in(bounds, k, monotonic_cst).bounds,
                                       monotonic_cst);
    }
    if (order)
        df_boost_write_subset(order, n, n_codes, subset, (n_all + 63) / 64, cut);
}

// The best cut of a column of numbers, `df_boost_cut_in`, by the items of a group.
DF_INLINE void df_boost_cut_together(const df_group &group, const df_boost_sums *entries, int n_codes, int has_missing,
                                     const df_boost_limits *limits, const df_boost_constraint *constraint,
                                     const df_boost_room *room, df_boost_cut *cut)
{
    const df_boost_arrays first = room->first;
    const int64_t n = n_codes + has_missing, per_item = (n + group.n_items - 1) / group.n_items;
    const auto add_up = [&](int64_t *sums, auto of) {
        group.after(
            [&](int64_t item) {
                int64_t sum = 0;
                for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                    sum += of(entries[i]);
                return sum;
            },
            [&](int64_t item, int64_t before, int64_t) {
                for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                    sums[i] = before += of(entries[i]);
            });
    };
    add_up(first.g, [](const df_boost_sums &sums) { return sums.gradient; });
    add_up(first.h, [](const df_boost_sums &sums) { return sums.hessian; });
    add_up(first.n, [](const df_boost_sums &sums) { return sums.count; });
    const int64_t most = df_highest_over(group, 0, n, (int64_t) 0, [&](int64_t i) { return entries[i].count; });
    df_once(group, [&] {
        cut->gradient = first.g[n - 1];
        cut->hessian = first.h[n - 1];
        cut->n = first.n[n - 1];
        cut->most = most;
        df_boost_open_cut(cut);
    });
    const df_boost_sums nothing = {0, 0, 0}, missing = has_missing ? entries[n_codes] : nothing;
    const int64_t *bits = (const int64_t *) room->scores; // those of numbers from 0 are in their order, and those of -1 are below
    const double no_score = -1.0;
    int64_t none;
    memcpy(&none, &no_score, sizeof none);
    for (int is_left = 0; is_left < (missing.count > 0 ? 2 : 1); is_left++) {
        df_for(group, 0, n_codes, [&](int64_t i) {
            const df_boost_arrays own = {first.g + i, first.h + i, first.n + i};
            df_boost_scores(&own, 1, is_left ? missing : nothing, cut, limits, constraint, room->scores + i);
        });
        const int64_t top = df_highest_over(group, 0, n_codes, none, [&](int64_t i) { return bits[i]; });
        const int64_t all = n_codes, at = df_lowest_over(group, 0, all, all, [&](int64_t i) { return bits[i] == top ? i : all; });
        df_once(group, [&] {
            double score;
            memcpy(&score, &top, sizeof score);
            df_boost_take(score, (int) at, is_left, cut);
        });
    }
    df_once(group, [&] { df_boost_close_cut(&first, missing, cut); });
}

// The best cut of each pair, a group each.
//
// IN columns : [n_features]; pairs : [n_pairs]; histograms : [n_outputs, n_entries, 3]
// IN rules : what cuts are judged by, in units of the loss
// IN exponents : [n_nodes, n_outputs, 2] of narrow gradients and hessians
// IN monotonic_csts : [n_features] or NULL, with monotonic constraints; bounds : [n_nodes, n_outputs, 2] of steps, in their units
// OUT cuts : [n_pairs]; subsets : a bit for each code that goes left, of columns of categories
// OUT midpoints : [n_pairs, n_outputs] where cuts part the steps of nodes; 0 where there is no direction; NULL without
// constraints SCRATCH rooms : of the pairs that have one; others have the group's own memory
DF_KERNEL df_boost_find_cuts(const df_column *columns, const df_boost_pair *pairs, int64_t n_pairs, int64_t n_outputs,
                             int64_t n_entries, const int64_t *histograms, const df_boost_limits *rules,
                             const int32_t *exponents, const int32_t *monotonic_csts, const double *bounds, double *rooms,
                             uint64_t *subsets, df_boost_cut *cuts, double *midpoints, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t at = group.number; at < n_pairs; at += group.n_groups) {
            const df_boost_pair *pair = pairs + at;
            const int32_t *own = exponents + 2 * n_outputs * pair->node;
            const df_boost_limits limit = df_boost_limits_of(rules, own[0], own[1]);
            const df_column *column = columns + pair->feature;
            const int n_codes = (int) column->n_codes, has_missing = (int) column->has_missing, n = n_codes + has_missing;
            const double *own_bounds = monotonic_csts ? bounds + 2 * n_outputs * pair->node : 0;
            const int32_t monotonic_cst = monotonic_csts ? monotonic_csts[pair->feature] : 0;
            double *own_midpoints = monotonic_csts ? midpoints + n_outputs * at : 0;
            df_boost_constraint constraint = {df_no_bounds(), 0};
            if (monotonic_csts)
                constraint = df_boost_constraint_in(own_bounds, 0, monotonic_cst);
            const df_boost_constraint *constrained = monotonic_csts ? &constraint : 0;
            const df_boost_entries entries = {0, (const df_boost_sums *) (histograms + 3 * pair->entry), 0, 0, 0};
            df_boost_cut *cut = cuts + at;
            const int lanes = df_whole_lanes(n);
            double *memory = pair->room < 0 ? (double *) group.local : rooms + pair->room;
            const df_boost_room room = df_boost_room_at(memory, lanes);
            const bool is_shared = n_outputs == 1 && column->kind != DF_CATEGORICAL && group.n_items > 1;
            if (is_shared)
                df_boost_cut_together(group, entries.sums, n_codes, has_missing, &limit, constrained, &room, cut);
            df_once(group, [&] {
                for (int64_t k = 0; k < (monotonic_csts ? n_outputs : 0); k++)
                    own_midpoints[k] = 0.0;
                if (n_outputs > 1) {
                    df_boost_outputs outputs = df_boost_outputs_at(memory + DF_ROOM_NUMBERS * (int64_t) lanes, lanes);
                    df_boost_find_of_outputs(column, own, n_outputs, histograms + 3 * pair->entry, 3 * n_entries, rules,
                                             own_bounds, monotonic_cst, &room, &outputs, subsets + pair->word, cut,
                                             own_midpoints);
                } else if (column->kind == DF_CATEGORICAL)
                    df_boost_subset_in(DF_WIDE_WORDS, &entries, n_codes, has_missing, &limit, constrained, &room,
                                       subsets + pair->word, (n + 63) / 64, cut);
                else if (!is_shared)
                    df_boost_cut_in(DF_WIDE_WORDS, &entries, n_codes, has_missing, &limit, constrained, &room, cut);
                if (n_outputs == 1 && monotonic_cst) {
                    const df_boost_sums left = {cut->gradient_left, cut->hessian_left, cut->n_left};
                    const df_boost_sums total = {cut->gradient, cut->hessian, cut->n};
                    own_midpoints[0] = df_cut_midpoint(&limit, left, total, constraint.bounds, monotonic_cst);
                }
                cut->feature = pair->feature;
            });
        }
    }
}

#endif
