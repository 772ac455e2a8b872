// A group grows all that is below a node of few records, depth first, as grower.pyx does.
//
// The codes of a subtree's rows may be copied next to each other first, into a *subtree cache*, which stays in the processor's
// caches. Until the subtree is done, its draws then have the rows of this copy.
//
// Memory of the group: `df_shared`; then, for `n_together` features at a time, their numbers, cuts, histograms, flags and words
// to add up in: see `Training.workspace_bytes`. In global memory each group has a stack of open nodes, the order of the
// features, and a stack of those that were found constant in an ancestor of the node, or in the node.
#ifndef DFOREST_KERNELS_SUBTREE_HPP
#define DFOREST_KERNELS_SUBTREE_HPP

#include "medians.hpp"
#include "rules/feature_order.h"

// All that a fit lends to kernels.
typedef struct {
    const df_problem *problem;
    const df_column *columns;  // [n_features]
    df_numbers numbers;
    const char *codes;         // [n_rows, n_features]
    const double *y;           // [n_rows, n_outputs] exact targets, or class numbers; NULL for classes of one output
    const double *exact_weight; // [n_rows] of a subtree's tree (weights.h); else of all trees; NULL: weights are exact
    df_record *records;
    df_record *scratch;
    const df_output *outputs;  // [n_outputs] their words, if there are several
} df_fit;

typedef struct {
    df_node node;
    df_split best;
    df_stream stream;          // of the order of features
    int64_t n_drawn;           // features, at this node
    int64_t n_counted;         // of these, against max_features
    int64_t n_constant;
    int64_t n_pending;         // nodes
    int64_t n_grown;
    int64_t n_tried;           // features of this pass
    int64_t is_leaf;
    int64_t n_left;
} df_shared;

typedef struct {
    df_shared *shared;
    int64_t *total;            // [n_words] of the node
    int64_t *words;            // [n_together, 3, n_words]
    double *keys;              // [n_together, max_categories]
    uint64_t *subsets;         // [1 + n_together, subset_words] of the best cut, and of those in `cuts`
    df_split *cuts;              // [n_together]
    df_draft *drafts;          // [n_together]
    df_output *outputs;        // [n_outputs] of the node, if there are several
    int32_t *features;         // [n_together]
    uint32_t *ranked;          // [n_together, max_categories]
    uint32_t *entry;           // [n_planes]
    uint32_t *planes;          // [n_together, max_entries, n_planes]
    uint64_t *flags;           // [n_together, df_flag_words]
} df_workspace;

DF_INLINE df_workspace df_workspace_at(const df_problem *p, char *memory, int64_t n_together)
{
    df_workspace workspace;
    workspace.shared = (df_shared *) memory;
    workspace.total = (int64_t *) (memory + DF_SHARED_BYTES);
    workspace.words = workspace.total + p->n_words;
    workspace.keys = (double *) (workspace.words + n_together * 3 * p->n_words);
    workspace.subsets = (uint64_t *) (workspace.keys + n_together * p->max_categories);
    workspace.cuts = (df_split *) (workspace.subsets + (1 + n_together) * p->subset_words);
    workspace.drafts = (df_draft *) (workspace.cuts + n_together);
    workspace.outputs = (df_output *) (workspace.drafts + n_together);
    workspace.features = (int32_t *) (workspace.outputs + (df_has_outputs(p) ? p->n_outputs : 0));
    workspace.ranked = (uint32_t *) workspace.features + n_together;
    workspace.flags = (uint64_t *) (workspace.ranked + (n_together * (1 + p->max_categories) + 1) / 2 * 2 - n_together);
    workspace.entry = (uint32_t *) (workspace.flags + n_together * df_flag_words(p));
    workspace.planes = workspace.entry + p->n_planes;
    return workspace;
}

static_assert(sizeof(df_shared) <= DF_SHARED_BYTES && DF_SHARED_BYTES % 8 == 0, "memory of a group");

// Set to 0 what is to be so at first: flags, entry and planes lie next to each other.
DF_INLINE void df_clear_workspace(const df_group &group, const df_problem *p, const df_workspace &workspace, int64_t n_together)
{
    uint32_t *end = workspace.planes + n_together * p->max_entries * p->n_planes;
    df_clear(group, (uint32_t *) workspace.flags, end - (uint32_t *) workspace.flags);
}

// The codes of a histogram, for df_find_cut.
struct df_local_codes {
    const df_problem *p;
    uint32_t *planes;          // [max_entries, n_planes]
    const uint64_t *flags;     // [df_flag_words]
    uint32_t after(uint32_t code) const
    {
        const uint32_t n = (uint32_t) df_flag_words(p) * 64;
        if (code >= n)
            return n;
        const uint64_t rest = flags[code / 64] >> (code % 64);
        if (rest)
            return code + (uint32_t) __builtin_ctzll(rest);
        for (code = code / 64 + 1; code < n / 64; code++)
            if (flags[code])
                return code * 64 + (uint32_t) __builtin_ctzll(flags[code]);
        return n;
    }
    template <int n_words> void take(uint32_t code, int64_t *words) const
    {
        df_read_entry<n_words>(p, planes + (int64_t) code * p->n_planes, words);
        df_clear_entry(p, planes + (int64_t) code * p->n_planes);
    }
    template <int n_words = 0> void read(uint32_t code, int64_t *words) const
    {
        df_read_entry<n_words>(p, planes + (int64_t) code * p->n_planes, words);
    }
};

// Of the features of a node.
typedef struct {
    uint32_t *order;           // [n_features] see rules/feature_order.h
    uint32_t *swapped;         // [n_features] see rules/feature_order.h
    uint32_t *constant_stack;  // [n_features] those found constant ...
    uint32_t *constant_at;     // [n_features] ... by feature: 1 and the depth of the node it was found in; 0: not constant
} df_features;

DF_INLINE df_features df_features_at(const df_problem *p, uint32_t *memory)
{
    df_features features = {memory, memory + p->n_features, memory + 2 * p->n_features, memory + 3 * p->n_features};
    return features;
}

// Forget what was found constant in nodes at this depth or below: only ancestors of a node count.
DF_INLINE void df_pop_constant_features(df_shared *shared, const df_features &features, uint32_t depth)
{
    while (shared->n_constant > 0 && features.constant_at[features.constant_stack[shared->n_constant - 1]] > depth)
        features.constant_at[features.constant_stack[--shared->n_constant]] = 0;
}

// The next feature of the node's order.
DF_INLINE int32_t df_next_feature(const df_problem *p, df_shared *shared, const df_features &features)
{
    const uint32_t n_drawn = (uint32_t) shared->n_drawn++;
    return (int32_t) df_draw_feature(&shared->stream, features.order, features.swapped, n_drawn, (uint32_t) p->n_features);
}

// Give draws other weights, if all are far lighter than the node's shift was made for.
DF_INLINE void df_requantise_weights(const df_group &group, const df_fit *fit, df_open_node *open_node, df_record *records)
{
    const int64_t n = open_node->n;
    const int32_t shift = df_shift_if_low_weight(open_node->weight_shift, df_max_weight(group, records, n, fit->exact_weight));
    if (shift == open_node->weight_shift)
        return;
    const df_quantiser weight_quantiser = df_weight_quantiser_of(shift);
    df_for(group, 0, n, [&](int64_t i) { records[i].weight = df_node_weight(&weight_quantiser, fit->exact_weight[records[i].row]); });
    df_once(group, [&] { open_node->weight_shift = shift; });
}

// Set the node's statistic, and whether it is a leaf.
DF_INLINE void df_open(const df_group &group, const df_fit *fit, const df_workspace &workspace)
{
    const df_problem *p = fit->problem;
    df_shared *shared = workspace.shared;
    df_open_node *open_node = &shared->node.open_node;
    df_record *records = fit->records + open_node->first;
    const int64_t n = open_node->n;
    bool is_pure = n == 1;
    if (fit->exact_weight)
        df_requantise_weights(group, fit, open_node, records);
    const auto range = [&] {
        const df_extent extent = df_target_extent(group, records, n);
        return (int64_t) extent.highest - extent.lowest;
    };
    if (df_scales_records(p) && n > 1 && df_is_narrow(n, range(), open_node->scale.range)) {
        const double lo = df_lowest_y(group, records, n, fit->y, 1, 1.0), hi = -df_lowest_y(group, records, n, fit->y, 1, -1.0);
        is_pure = lo == hi;
        if (!is_pure) {
            double centre;
            const int32_t exponent = df_choose_scale(lo, hi, 31, &centre);
            const df_quantiser scale = df_quantiser_of(centre, exponent);
            df_for(group, 0, n, [&](int64_t i) { records[i].target = df_quantised(&scale, fit->y[records[i].row]); });
            const int64_t own = range();
            df_once(group, [&] {
                open_node->scale.centre = centre;
                open_node->scale.exponent = exponent;
                open_node->scale.range = own;
            });
        }
    }
    const df_targets targets = {fit->y, workspace.outputs};
    if (df_has_outputs(p) && !df_has_classes(p))
        for (int64_t o = 0; o < p->n_outputs; o++) {
            const double lo = df_lowest_y(group, records, n, fit->y + o, p->n_outputs, 1.0);
            const double hi = -df_lowest_y(group, records, n, fit->y + o, p->n_outputs, -1.0);
            df_once(group, [&] { df_scale_output(workspace.outputs + o, p->criterion, lo, hi); });
        }
    df_add_up(group, p, records, n, &targets, workspace.entry);
    df_once(group, [&] {
        df_read_entry<0>(p, workspace.entry, workspace.total);
        df_clear_entry(p, workspace.entry);
        bool are_equal = is_pure;
        if (df_has_outputs(p)) {
            open_node->scale.exponent = df_measure_outputs(workspace.outputs, p->n_outputs, p->criterion, (int) p->is_wide,
                                                           workspace.total);
            are_equal = df_outputs_are_pure(workspace.outputs, p->n_outputs);
        } else
            are_equal = df_is_pure(p, workspace.total, is_pure);
        shared->is_leaf = are_equal
                          || df_is_leaf_by_size(&p->limits, open_node->depth, workspace.total[0],
                                                df_shifted_weight(workspace.total[1], open_node->weight_shift),
                                                open_node->root_weight);
        if (!shared->is_leaf)
            df_measure_node(p, workspace.total, workspace.outputs, &shared->node);
    });
    if (p->limits.impurity_threshold > 0.0 && !shared->is_leaf) {
        const double impurity = df_node_impurity(group, p, &shared->node, workspace.total, records, n, &targets);
        df_once(group, [&] { shared->is_leaf = df_is_pure_enough(&p->limits, impurity); });
    }
}

// Draw the cuts of those features of this pass that have keys.
DF_INLINE void df_draft_cuts(const df_group &group, const df_fit *fit, const df_workspace &workspace, const df_record *records,
                             int64_t n)
{
    const df_problem *p = fit->problem;
    for (int64_t f = 0; f < workspace.shared->n_tried; f++) {
        const int32_t feature = workspace.features[f];
        const df_column *column = fit->columns + feature;
        uint64_t range[2] = {1, 0};
        if (column->key_bits)
            df_key_range(group, p, fit->codes, records, n, feature, df_missing_code(column), range);
        df_once(group, [&] {
            df_draft *draft = workspace.drafts + f;
            draft->is_used = column->key_bits != 0;
            draft->lowest = range[0];
            draft->highest = range[1];
            df_draw_cut(p, &workspace.shared->node.open_node, column, feature, draft);
        });
    }
}

// Where cuts by absolute error are sought, in nodes of up to max_records records; without them nothing.
typedef struct {
    df_median_room room;
    df_target_order order;     // [n_outputs, max_records]
    int64_t max_records;
} df_median_search;

DF_INLINE df_median_search df_median_search_at(const df_problem *p, char *memory, int64_t max_records)
{
    df_median_search search = {};
    if (!df_has_medians(p))
        return search;
    search.order.weight = (int64_t *) memory;
    search.order.rank = (uint32_t *) (search.order.weight + p->n_outputs * max_records);
    search.order.target = (int32_t *) (search.order.rank + p->n_outputs * max_records);
    search.room = df_median_room_at(p, (char *) (search.order.target + p->n_outputs * max_records), max_records);
    search.max_records = max_records;
    return search;
}

// Put the targets of all outputs of the node in order.
DF_INLINE void df_order_all_targets(const df_group &group, const df_problem *p, const df_record *records, int64_t n,
                                    const df_targets *targets, const df_median_search &search)
{
    for (int64_t o = 0; o < p->n_outputs; o++) {
        const int64_t first = o * search.max_records;
        const df_target_order order = {search.order.rank + first, search.order.target + first, search.order.weight + first};
        df_order_targets(group, p, records, n, targets, o, search.room.sort_keys, search.room.other_sort_keys, search.room.counts,
                         order);
    }
}

// Set the best cut of the node; its feature is -1 if there is none.
DF_INLINE void df_search(const df_group &group, const df_fit *fit, const df_workspace &workspace, const df_features &features,
                         const df_median_search &medians, int64_t n_together)
{
    const df_problem *p = fit->problem;
    df_shared *shared = workspace.shared;
    const df_record *records = fit->records + shared->node.open_node.first;
    const df_targets targets = {fit->y, workspace.outputs};
    const int64_t n = shared->node.open_node.n;
    if (df_has_medians(p))
        df_order_all_targets(group, p, records, n, &targets, medians);
    df_once(group, [&] {
        shared->best.feature = -1;
        shared->best.score = -1.0;
        shared->n_drawn = shared->n_counted = 0;
        df_pop_constant_features(shared, features, (uint32_t) shared->node.open_node.depth);
        df_stream_open(&shared->stream, shared->node.open_node.seed, shared->node.open_node.key, DF_FEATURES);
    });
    while (df_tries_more(shared->n_drawn, p->n_features, shared->n_counted, p->max_features, shared->best.feature >= 0)) {
        const bool is_extra = shared->n_counted >= p->max_features; // then the first that has a cut is taken
        df_once(group, [&] {
            int64_t n_tried = 0, n_counted = shared->n_counted; // as if no other features were constant
            while (n_tried < n_together && shared->n_drawn < p->n_features && (is_extra || n_counted < p->max_features)) {
                const int32_t feature = df_next_feature(p, shared, features);
                const bool is_constant = features.constant_at[feature] > 0;
                n_counted += !(is_constant && p->skip_constant);
                if (!is_constant)
                    workspace.features[n_tried++] = feature;
            }
            shared->n_tried = n_tried;
            shared->n_counted = n_counted;
        });
        const int64_t n_tried = shared->n_tried;
        if (p->has_keys)
            df_draft_cuts(group, fit, workspace, records, n);
        df_count(group, p, fit->codes, records, n, workspace.features, n_tried,
                 p->has_keys ? workspace.drafts : (const df_draft *) 0, &targets, workspace.planes, workspace.flags);
        const auto codes_of = [&](int64_t f) {
            return df_local_codes{p, workspace.planes + f * p->max_entries * p->n_planes, workspace.flags + f * df_flag_words(p)};
        };
        const auto room_of = [&](int64_t f) {
            return df_cut_room{workspace.words + f * 3 * p->n_words, workspace.keys + f * p->max_categories,
                               workspace.ranked + f * p->max_categories, workspace.subsets + (1 + f) * p->subset_words, 0};
        };
        for (int64_t f = 0; df_has_medians(p) && f < n_tried; f++)
            df_find_median_cut(group, p, &shared->node, fit->columns, &fit->numbers, fit->codes, records, n, medians.order,
                               medians.max_records, workspace.features[f], workspace.total, workspace.drafts + f, codes_of(f),
                               room_of(f), medians.room, workspace.cuts + f);
        df_for(group, 0, n_tried, [&](int64_t f) {
            uint64_t *flags = workspace.flags + f * df_flag_words(p);
            const df_local_codes codes = codes_of(f);
            const df_cut_room room = room_of(f);
            const int32_t feature = workspace.features[f];
            if (!df_has_medians(p))
                df_find_cut(p, &shared->node, fit->columns, &fit->numbers, feature, workspace.total, workspace.drafts + f,
                            codes, &room, workspace.cuts + f);
            if (p->is_random || fit->columns[feature].kind == DF_CATEGORICAL) // not all have been taken
                for (uint32_t code = codes.after(0); code < p->max_entries; code = codes.after(code + 1))
                    df_clear_entry(p, codes.planes + (int64_t) code * p->n_planes);
            for (int64_t i = 0; i < df_flag_words(p); i++)
                flags[i] = 0;
        });
        df_once(group, [&] {
            for (int64_t f = 0; f < n_tried; f++) {
                if (workspace.cuts[f].is_constant) {
                    features.constant_stack[shared->n_constant++] = (uint32_t) workspace.features[f];
                    features.constant_at[workspace.features[f]] = 1 + (uint32_t) shared->node.open_node.depth;
                    shared->n_counted -= p->skip_constant;
                }
                if (workspace.cuts[f].score > shared->best.score && !(is_extra && shared->best.feature >= 0)) {
                    shared->best = workspace.cuts[f];
                    for (int64_t i = 0; i < p->subset_words; i++)
                        workspace.subsets[i] = workspace.subsets[(1 + f) * p->subset_words + i];
                }
            }
        });
    }
    df_once(group, [&] {
        df_undo_features(features.order, features.swapped, (uint32_t) shared->n_drawn);
        df_split *best = &shared->best;
        const df_open_node *open_node = &shared->node.open_node;
        const int exponent = df_score_exponent(p->criterion, open_node->scale.exponent);
        if (best->feature >= 0
            && !df_decreases_enough(&p->limits, best->score, df_absolute_exponent(exponent, open_node->weight_shift),
                                    open_node->root_weight))
            best->feature = -1;
    });
}

// Move the draws that go left to the front, keeping the order on either side; sets n_left.
DF_INLINE void df_partition(const df_group &group, const df_fit *fit, const df_workspace &workspace)
{
    df_shared *shared = workspace.shared;
    df_record *records = fit->records + shared->node.open_node.first, *scratch = fit->scratch + shared->node.open_node.first;
    const int64_t n = shared->node.open_node.n, per_item = (n + group.n_items - 1) / group.n_items;
    const df_left_test goes_left = df_test_of(fit->problem, fit->columns, fit->codes, &shared->best, workspace.subsets);
    if (group.n_items == 1) {
        int64_t left = 0, right = 0;
        for (int64_t i = 0; i < n; i++) { // written to both, and kept in one
            const df_record record = records[i];
            const bool is_left = goes_left(record.row);
            records[left] = record;
            scratch[right] = record;
            left += is_left;
            right += !is_left;
        }
        for (int64_t i = 0; i < right; i++)
            records[left + i] = scratch[i];
        shared->n_left = left;
        return;
    }
    // Each item moves a range of its own.
    group.after(
        [&](int64_t item) {
            int64_t n_left = 0;
            for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                n_left += goes_left(records[i].row);
            return n_left;
        },
        [&](int64_t item, int64_t before, int64_t all) {
            int64_t left = before, right = all + item * per_item - before;
            for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                scratch[goes_left(records[i].row) ? left++ : right++] = records[i];
            if (item == 0)
                shared->n_left = all;
        });
    df_for(group, 0, n, [&](int64_t i) { records[i] = scratch[i]; });
}

// Where a group works, in global memory.
typedef struct {
    df_open_node *pending;     // [most records of a subtree + 1] nodes to come
    df_features features;
    char *codes;               // of the subtree cache, or NULL
    uint32_t *rows;            // [most records] the row of the data that each of its rows is a copy of
    double *y;                 // [most records, n_outputs] the exact targets of each of its rows
    double *exact_weight;      // [most records] its exact weight
} df_room;

// Copy the rows of some draws into the subtree cache, and have the draws lead there; return what to work with.
DF_INLINE df_fit df_fill_subtree_cache(const df_group &group, const df_fit *fit, const df_open_node *open_node,
                                       const df_room &room)
{
    const int64_t row_bytes = fit->problem->n_features * fit->problem->code_bytes;
    df_record *records = fit->records + open_node->first;
    df_fit inside = *fit;
    inside.codes = room.codes;
    inside.y = fit->y ? room.y : fit->y;
    inside.exact_weight = fit->exact_weight ? room.exact_weight : fit->exact_weight;
    df_for(group, 0, open_node->n, [&](int64_t i) {
        const uint32_t row = records[i].row;
        const char *from = fit->codes + row * row_bytes;
        char *to = room.codes + i * row_bytes;
        memcpy(to, from, (size_t) row_bytes);
        room.rows[i] = row;
        for (int64_t o = 0; fit->y && o < fit->problem->n_outputs; o++)
            room.y[i * fit->problem->n_outputs + o] = fit->y[row * fit->problem->n_outputs + o];
        if (fit->exact_weight)
            room.exact_weight[i] = fit->exact_weight[row];
        records[i].row = (uint32_t) i;
    });
    return inside;
}

DF_INLINE void df_leave_subtree_cache(const df_group &group, const df_fit *fit, const df_open_node *open_node,
                                      const df_room &room)
{
    df_record *records = fit->records + open_node->first;
    df_for(group, 0, open_node->n, [&](int64_t i) { records[i].row = room.rows[records[i].row]; });
}

// IN open_node : the subtree's root
// OUT grown : [2 * open_node->n - 1]; subsets : [2 * open_node->n - 1, subset_words] of nodes that test categories
// Returns how many nodes there are.
DF_INLINE int64_t df_grow(const df_group &group, const df_fit *fit, const df_workspace &workspace, const df_open_node *open_node,
                          df_grown *grown, uint64_t *subsets, const df_room &room, const df_median_search &medians,
                          int64_t n_together)
{
    df_shared *shared = workspace.shared;
    df_open_node *pending = room.pending;
    df_once(group, [&] {
        pending[0] = *open_node;
        pending[0].right = 0;
        shared->n_pending = 1;
        shared->n_grown = 0;
        df_pop_constant_features(shared, room.features, 0);
    });
    while (shared->n_pending > 0) {
        df_once(group, [&] { shared->node.open_node = pending[--shared->n_pending]; });
        df_open(group, fit, workspace);
        if (!shared->is_leaf)
            df_search(group, fit, workspace, room.features, medians, n_together);
        df_once(group, [&] {
            const df_open_node *at = &shared->node.open_node;
            df_grown *node = grown + shared->n_grown;
            if (at->right)
                grown[at->right - 1].right = (uint32_t) shared->n_grown;
            node->first = at->first;
            node->n = at->n;
            node->first_weight = at->first_weight;
            node->weight_shift = at->weight_shift;
            node->scale = at->scale;
            node->lower = at->lower;
            node->upper = at->upper;
            node->feature = shared->is_leaf ? -1 : shared->best.feature;
            node->threshold = shared->best.threshold;
            node->code = shared->best.code;
            node->above = shared->best.above;
            node->missing_left = shared->best.missing_left;
            node->only_missing = shared->best.only_missing;
            node->right = 0;
            for (int64_t i = 0; i < fit->problem->subset_words; i++)
                subsets[shared->n_grown * fit->problem->subset_words + i] = workspace.subsets[i];
            shared->is_leaf = node->feature < 0;
        });
        if (!shared->is_leaf) {
            df_partition(group, fit, workspace);
            df_once(group, [&] {
                const int32_t monotonic_cst = fit->columns[shared->best.feature].monotonic_cst;
                for (int right = 1; right >= 0; right--) { // the left one comes next
                    df_open_node *child = pending + shared->n_pending++;
                    *child = df_child_of(&shared->node.open_node, right, shared->n_left, monotonic_cst, shared->best.midpoint);
                    child->right = right ? (uint32_t) shared->n_grown + 1 : 0;
                }
            });
        }
        df_once(group, [&] { shared->n_grown++; });
    }
    return shared->n_grown;
}

#endif
