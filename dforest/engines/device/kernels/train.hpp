// The kernels that train, as they are started. Large nodes are grown level by level, their draws in chunks; what is below
// them, by a group each.
//
// Some kernels need more memory for a group than devices may have: `memory` is then n_bytes of global memory for each group.
// Otherwise it is NULL, and the group's own memory is used.
#ifndef DFOREST_KERNELS_TRAIN_HPP
#define DFOREST_KERNELS_TRAIN_HPP

#include "bootstrap.hpp"
#include "leaves.hpp"
#include "subtree.hpp"

// How often each row of a tree's blocks is drawn by a bootstrap.
//
// The group's own memory holds the counts of a block.
//
// IN seeds : [n_trees]; n_draws : [n_trees, n_blocks]
// OUT counts : [n_trees, n_rows]; n_drawn, highest : [n_trees, n_blocks] rows drawn at all, and how often at most
DF_KERNEL df_draw_rows(const uint32_t *seeds, int64_t n_trees, int64_t n_rows, const int64_t *n_draws, uint32_t *counts,
                       int64_t *n_drawn, uint32_t *highest, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        uint32_t *drawn = (uint32_t *) group.local;
        for (int64_t at = group.number; at < n_trees * df_blocks_of(n_rows); at += group.n_groups) {
            const df_tree_block own = df_tree_block_at(at, n_rows);
            uint32_t *to = counts + own.tree * n_rows + own.first;
            df_draw_block_together(group, seeds[own.tree], own.block, own.n, n_draws[at], drawn);
            const int64_t n = df_sum_over(group, 0, own.n, [&](int64_t i) { return (to[i] = drawn[i]) > 0; });
            const int64_t most = df_highest_over(group, 0, own.n, (int64_t) 0, [&](int64_t i) { return (int64_t) drawn[i]; });
            df_once(group, [&] {
                n_drawn[at] = n;
                highest[at] = (uint32_t) most;
            });
        }
    }
}

// IN counts : [n_trees, n_rows], or NULL: every row once; firsts : [n_trees, n_blocks] where the records of each block go;
// target : [n_rows]; weight : NULL, or [n_rows] of all trees, or, with stride n_rows, [n_trees, n_rows]
DF_KERNEL df_write_draws(int64_t n_trees, int64_t n_rows, const uint32_t *counts, const int64_t *firsts, const int32_t *target,
                         const uint32_t *weight, int64_t weight_stride, df_record *records, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t at = group.number; at < n_trees * df_blocks_of(n_rows); at += group.n_groups) {
            const df_tree_block own = df_tree_block_at(at, n_rows);
            const uint32_t *of_block = counts ? counts + own.tree * n_rows + own.first : NULL;
            const uint32_t *of_tree = weight ? weight + own.tree * weight_stride : NULL;
            df_record *to = records + firsts[at];
            group.rank(
                own.n, [&](int64_t i) { return !of_block || of_block[i] > 0; },
                [&](int64_t i, bool is_drawn, int64_t before) {
                    if (is_drawn)
                        to[before] = df_record_of(own.first + i, of_block ? of_block[i] : 1, target, of_tree);
                });
        }
    }
}

// IN y : exact targets, or moments; outputs : [n_nodes, n_outputs], if there are several; effects : of the nodes, or NULL
// OUT statistics : [n_chunks, n_words]; extents : [n_chunks, 2] lowest and highest target of one output
DF_KERNEL df_add_chunks(const df_problem *problem, const double *y, const df_output *outputs, const double *effects,
                        const df_record *records, const df_chunk *chunks, int64_t n_chunks, int64_t *statistics,
                        int32_t *extents, char *memory, int64_t n_bytes, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const df_problem *p = problem;
        uint32_t *entry = (uint32_t *) df_memory(group, memory, n_bytes);
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            df_clear(group, entry, p->n_planes);
            const df_targets targets = df_targets_of(p, y, outputs, effects, chunk.node);
            df_add_up(group, p, records + chunk.first, chunk.n, &targets, entry);
            df_once(group, [&] { df_read_entry<0>(p, entry, statistics + c * p->n_words); });
            if (!df_scales_records(p))
                continue;
            const df_extent extent = df_target_extent(group, records + chunk.first, chunk.n);
            df_once(group, [&] {
                extents[2 * c] = extent.lowest;
                extents[2 * c + 1] = extent.highest;
            });
        }
    }
}

// IN y : [n_rows, stride]; OUT extents : [n_chunks, n_numbers, 2] lowest and highest of the first numbers of rows
DF_KERNEL df_find_extents(const df_record *records, const df_chunk *chunks, int64_t n_chunks, const double *y, int64_t stride,
                          int64_t n_numbers, double *extents, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            for (int64_t o = 0; o < n_numbers; o++) {
                const double lo = df_lowest_y(group, records + chunk.first, chunk.n, y + o, stride, 1.0);
                const double hi = -df_lowest_y(group, records + chunk.first, chunk.n, y + o, stride, -1.0);
                df_once(group, [&] {
                    extents[2 * (c * n_numbers + o)] = lo;
                    extents[2 * (c * n_numbers + o) + 1] = hi;
                });
            }
        }
    }
}

// Give draws the targets of their nodes' scales.
DF_KERNEL df_requantise(df_record *records, const df_chunk *chunks, int64_t n_chunks, const df_open_node *open_nodes, const double *y,
                        DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const df_quantiser scale = df_quantiser_of(open_nodes[chunk.node].scale.centre, open_nodes[chunk.node].scale.exponent);
            df_record *own = records + chunk.first;
            df_for(group, 0, chunk.n, [&](int64_t i) { own[i].target = df_quantised(&scale, y[own[i].row]); });
        }
    }
}

// OUT max_weight : [n_chunks] exact weight; of trees without such weights infinite
DF_KERNEL df_find_max_weights(const df_record *records, const df_chunk *chunks, int64_t n_chunks, const df_open_node *open_nodes,
                              const double *exact_weight, double *max_weight, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const int64_t first = open_nodes[chunk.node].first_weight;
            double found = INFINITY;
            if (first >= 0)
                found = df_max_weight(group, records + chunk.first, chunk.n, exact_weight + first);
            df_once(group, [&] { max_weight[c] = found; });
        }
    }
}

// Give draws the weights of their nodes' shifts.
DF_KERNEL df_weigh_draws(df_record *records, const df_chunk *chunks, int64_t n_chunks, const df_open_node *open_nodes,
                         const double *exact_weight, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const df_open_node *open_node = open_nodes + chunk.node;
            const df_quantiser weight_quantiser = df_weight_quantiser_of(open_node->weight_shift);
            df_record *own = records + chunk.first;
            df_for(group, 0, chunk.n, [&](int64_t i) {
                own[i].weight = df_node_weight(&weight_quantiser, exact_weight[open_node->first_weight + own[i].row]);
            });
        }
    }
}

// The range of keys of each feature tried in each chunk. IN features : [n_nodes, n_tried]; OUT ranges : [n_chunks, n_tried, 2]
DF_KERNEL df_find_key_ranges(const df_problem *problem, const df_column *columns, const char *codes, const df_record *records,
                             const df_chunk *chunks, int64_t n_chunks, const int32_t *features, int64_t n_tried,
                             uint64_t *ranges, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t at = group.number; at < n_chunks * n_tried; at += group.n_groups) {
            const df_chunk chunk = chunks[at / n_tried];
            const int32_t feature = features[chunk.node * n_tried + at % n_tried];
            const df_column *column = columns + feature;
            uint64_t range[2] = {1, 0};
            if (column->key_bits)
                df_key_range(group, problem, codes, records + chunk.first, chunk.n, feature, df_missing_code(column), range);
            df_once(group, [&] {
                ranges[2 * at] = range[0];
                ranges[2 * at + 1] = range[1];
            });
        }
    }
}

// Draw the cut of each feature of keys tried in each node, an item each.
//
// IN ranges : [n_nodes, n_tried, 2] of keys, the lowest and the highest; the other way round: there are none
// OUT drafts : [n_nodes, n_tried]
DF_KERNEL df_draw_cuts(const df_problem *problem, const df_column *columns, const df_open_node *open_nodes, int64_t n_nodes,
                       const uint64_t *ranges, const int32_t *features, int64_t n_tried, df_draft *drafts, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        group.each([&](int64_t item) {
            const int64_t at = group.number * group.n_items + item, node = at / n_tried;
            if (node >= n_nodes)
                return;
            df_draft draft = {ranges[2 * at], ranges[2 * at + 1], 0, 0.0, columns[features[at]].key_bits != 0};
            df_draw_cut(problem, open_nodes + node, columns + features[at], features[at], &draft);
            drafts[at] = draft;
        });
    }
}

// Move what planes hold of a chunk to the histograms of its node. is_whole: the node has no other chunk
//
// IN words : [n_items, n_words] scratch
// INOUT planes : [n_entries, n_planes]; to : [n_entries, n_words]
template <int n_words>
DF_INLINE void df_hand_over(const df_group &group, const df_problem *p, uint32_t *planes, int64_t n_entries, bool is_whole,
                            int64_t *words, int64_t *to)
{
    const int64_t n = n_words ? n_words : p->n_words;
    group.each([&](int64_t item) {
        int64_t *own = words + item * n;
        for (int64_t i = item; i < n_entries; i += group.n_items) {
            if (!df_read_entry<n_words>(p, planes + i * p->n_planes, own))
                continue;
            df_clear_entry(p, planes + i * p->n_planes);
            for (int64_t k = 0; k < n; k++)
                if (is_whole)
                    to[i * n + k] += own[k];
                else if (own[k])
                    df_add_anywhere((uint64_t *) to + i * n + k, (uint64_t) own[k]);
        }
    });
}

// Add chunks to the histograms of their nodes, `n_together` features at a time: a group for each chunk and each pass.
//
// IN y, outputs, effects : as of df_add_chunks; features : [n_nodes, n_tried]; drafts : [n_nodes, n_tried] or NULL
// INOUT histograms : [n_nodes, n_tried, max_entries, n_words]
// Memory of the group: [n_together, max_entries, n_planes] of 32 bits, and n_items times n_words of 64
DF_KERNEL df_add_histograms(const df_problem *problem, const char *codes, const double *y, const df_output *outputs,
                            const double *effects, const df_record *records, const df_chunk *chunks, int64_t n_chunks,
                            const int32_t *features, const df_draft *drafts, int64_t n_tried, int64_t n_together,
                            int64_t *histograms, char *memory, int64_t n_bytes, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const df_problem *p = problem;
        const int64_t n_passes = (n_tried + n_together - 1) / n_together;
        int64_t *words = (int64_t *) df_memory(group, memory, n_bytes);
        uint32_t *planes = (uint32_t *) (words + group.n_items * p->n_words);
        df_clear(group, planes, n_together * p->max_entries * p->n_planes);
        for (int64_t at = group.number; at < n_chunks * n_passes; at += group.n_groups) {
            const df_chunk chunk = chunks[at / n_passes];
            const int64_t first = at % n_passes * n_together;
            const int64_t n = n_tried - first < n_together ? n_tried - first : n_together;
            const df_targets targets = df_targets_of(p, y, outputs, effects, chunk.node);
            int64_t *to = histograms + (chunk.node * n_tried + first) * p->max_entries * p->n_words;
            df_count(group, p, codes, records + chunk.first, chunk.n, features + chunk.node * n_tried + first, n,
                     drafts ? drafts + chunk.node * n_tried + first : drafts, &targets, planes, (uint64_t *) 0);
            const int64_t c = at / n_passes, n_entries = n * p->max_entries;
            const bool is_whole = (c == 0 || chunks[c - 1].node != chunk.node)
                                  && (c + 1 == n_chunks || chunks[c + 1].node != chunk.node);
            if (df_has_outputs(p))
                df_hand_over<0>(group, p, planes, n_entries, is_whole, words, to);
            else if (p->n_words == 3)
                df_hand_over<3>(group, p, planes, n_entries, is_whole, words, to);
            else if (p->n_words == 4)
                df_hand_over<4>(group, p, planes, n_entries, is_whole, words, to);
            else
                df_hand_over<0>(group, p, planes, n_entries, is_whole, words, to);
        }
    }
}

struct df_global_codes {
    const df_problem *p;
    const int64_t *words;      // [max_entries, n_words]
    uint32_t after(uint32_t code) const
    {
        while (code < (uint32_t) p->max_entries && words[(int64_t) code * p->n_words] == 0)
            code++;
        return code;
    }
    template <int n_words> void take(uint32_t code, int64_t *to) const
    {
        for (int64_t k = 0; k < (n_words ? n_words : p->n_words); k++)
            to[k] = words[(int64_t) code * p->n_words + k];
    }
    template <int n_words = 0> void read(uint32_t code, int64_t *to) const { take<n_words>(code, to); }
};

// The best cut of each feature tried in each node, an item each.
//
// IN label_ranks : of df_numbers; open_nodes : [n_nodes]; outputs : [n_nodes, n_outputs] measured, if there are several
// IN totals : [n_nodes, n_words]
// OUT cuts : [n_nodes, n_tried]; subsets : [n_nodes, n_tried, subset_words]
// OUT words : [n_nodes, n_tried, 3, n_words] scratch; keys, ranked : [n_nodes, n_tried, max_categories] scratch
DF_KERNEL df_find_cuts(const df_problem *problem, const df_column *columns, const double *values, const double *lows,
                       const double *highs, const uint32_t *label_ranks, const df_open_node *open_nodes, int64_t n_nodes,
                       const df_output *outputs, const int64_t *totals, const int32_t *features, const df_draft *drafts,
                       int64_t n_tried, const int64_t *histograms, int64_t *words, double *keys, uint32_t *ranked,
                       df_split *cuts, uint64_t *subsets, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const df_problem *p = problem;
        const df_numbers numbers = {values, lows, highs, label_ranks};
        group.each([&](int64_t item) {
            const int64_t at = group.number * group.n_items + item;
            if (at >= n_nodes * n_tried)
                return;
            const int64_t *total = totals + at / n_tried * p->n_words;
            const df_global_codes own = {p, histograms + at * p->max_entries * p->n_words};
            const df_cut_room room = {words + at * 3 * p->n_words, keys + at * p->max_categories,
                                      ranked + at * p->max_categories, subsets + at * p->subset_words, 0};
            df_node node;
            node.open_node = open_nodes[at / n_tried];
            df_measure_node(p, total, outputs + (outputs ? at / n_tried * p->n_outputs : 0), &node);
            df_find_cut(p, &node, columns, &numbers, features[at], total, drafts ? drafts + at : drafts, own, &room,
                        cuts + at);
        });
    }
}

// Put the targets of nodes in order, a group for each node and output.
//
// IN y, outputs : as of df_add_chunks; numbers : [n_numbers] which nodes, of up to max_records records
// OUT rank, target, weight : [n_outputs, n_records] as df_target_order has them; in the places of each node's records
// Memory of the group: that of a df_median_room
DF_KERNEL df_order_node_targets(const df_problem *problem, const df_record *records, int64_t n_records, const double *y,
                                const df_output *outputs, const df_open_node *open_nodes, const int64_t *numbers,
                                int64_t n_numbers, int64_t max_records, uint32_t *rank, int32_t *target, int64_t *weight,
                                char *memory, int64_t n_bytes, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const df_problem *p = problem;
        const df_median_room room = df_median_room_at(p, df_memory(group, memory, n_bytes), max_records);
        for (int64_t at = group.number; at < n_numbers * p->n_outputs; at += group.n_groups) {
            const int64_t number = numbers[at / p->n_outputs], output = at % p->n_outputs, first = open_nodes[number].first;
            const int64_t to = output * n_records + first;
            const df_targets targets = df_targets_of(p, y, outputs, (const double *) 0, number);
            const df_target_order order = {rank + to, target + to, weight + to};
            df_order_targets(group, p, records + first, open_nodes[number].n, &targets, output, room.sort_keys,
                             room.other_sort_keys, room.counts, order);
        }
    }
}

// The best cut by absolute error of each feature tried in some nodes, a group each.
//
// IN numbers to weight : as of df_order_node_targets; the others as of df_find_cuts
// Memory of the group: a df_median_room
DF_KERNEL df_find_median_cuts(const df_problem *problem, const df_column *columns, const double *values, const double *lows,
                              const double *highs, const char *codes, const df_record *records, int64_t n_records,
                              const df_open_node *open_nodes, const int64_t *numbers, int64_t n_numbers, int64_t max_records,
                              const df_output *outputs, const int64_t *totals, uint32_t *rank, int32_t *target,
                              int64_t *weight, const int32_t *features, const df_draft *drafts, int64_t n_tried,
                              const int64_t *histograms, int64_t *words, double *keys, uint32_t *ranked, df_split *cuts,
                              uint64_t *subsets, char *memory, int64_t n_bytes, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const df_problem *p = problem;
        const df_numbers of_columns = {values, lows, highs, 0};
        const df_median_room room = df_median_room_at(p, df_memory(group, memory, n_bytes), max_records);
        for (int64_t pair = group.number; pair < n_numbers * n_tried; pair += group.n_groups) {
            const int64_t number = numbers[pair / n_tried], at = number * n_tried + pair % n_tried;
            const int64_t *total = totals + number * p->n_words;
            const int64_t first = open_nodes[number].first;
            const df_global_codes own = {p, histograms + at * p->max_entries * p->n_words};
            const df_cut_room cut_room = {words + at * 3 * p->n_words, keys + at * p->max_categories,
                                          ranked + at * p->max_categories, subsets + at * p->subset_words, 0};
            const df_target_order order = {rank + first, target + first, weight + first};
            df_once(group, [&] {
                room.state->node.open_node = open_nodes[number];
                df_measure_node(p, total, outputs + (outputs ? number * p->n_outputs : 0), &room.state->node);
            });
            df_find_median_cut(group, p, &room.state->node, columns, &of_columns, codes, records + first, open_nodes[number].n,
                               order, n_records, features[at], total, drafts ? drafts + at : drafts, own, cut_room, room,
                               cuts + at);
        }
    }
}

// Which draws go left, and how many of each chunk. IN cuts : [n_nodes]; subsets : [n_nodes, subset_words]
// OUT sides : [n_draws] 1: left; n_left : [n_chunks]
DF_KERNEL df_count_left(const df_problem *problem, const df_column *columns, const char *codes, const df_record *records,
                        const df_chunk *chunks, int64_t n_chunks, const df_split *cuts, const uint64_t *subsets, uint8_t *sides,
                        int64_t *n_left, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const df_left_test test = df_test_of(problem, columns, codes, cuts + chunk.node,
                                                 subsets + chunk.node * problem->subset_words);
            const int64_t n = df_tell_sides(group, test, records + chunk.first, chunk.n, sides + chunk.first);
            df_once(group, [&] { n_left[c] = n; });
        }
    }
}

// Put the draws of each chunk in their places in `scratch`. IN to_left, to_right : [n_chunks] where its first ones go
template <class Draw>
DF_INLINE void df_move(const df_group &group, const Draw *draws, const uint8_t *sides, const df_chunk *chunks, int64_t n_chunks,
                       const int64_t *to_left, const int64_t *to_right, Draw *scratch)
{
    for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
        const df_chunk chunk = chunks[c];
        const Draw *own = draws + chunk.first;
        const uint8_t *is_left = sides + chunk.first;
        Draw *left = scratch + to_left[c], *right = scratch + to_right[c];
        group.rank(
            chunk.n, [&](int64_t i) { return is_left[i] != 0; },
            [&](int64_t i, bool goes_left, int64_t before) {
                Draw *to = goes_left ? left + before : right + (i - before); // no branch to be guessed
                *to = own[i];
            });
    }
}

template <class Draw>
DF_INLINE void df_copy(const df_group &group, const Draw *scratch, const df_chunk *chunks, int64_t n_chunks, Draw *draws)
{
    for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
        const df_chunk chunk = chunks[c];
        df_for(group, 0, chunk.n, [&](int64_t i) { draws[chunk.first + i] = scratch[chunk.first + i]; });
    }
}

DF_KERNEL df_move_draws(const df_record *records, const uint8_t *sides, const df_chunk *chunks, int64_t n_chunks,
                        const int64_t *to_left, const int64_t *to_right, df_record *scratch, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_move(group, records, sides, chunks, n_chunks, to_left, to_right, scratch);
    }
}

DF_KERNEL df_copy_draws(const df_record *scratch, const df_chunk *chunks, int64_t n_chunks, df_record *records, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_copy(group, scratch, chunks, n_chunks, records);
    }
}

// Grow subtrees, a group each. Its nodes begin at twice the place of its first draw.
//
// IN label_ranks : of df_numbers; outputs : [n_outputs] their words, if there are several
// IN open_nodes : [n_nodes], of up to max_records records
// OUT grown; subsets : [., subset_words] of the nodes in `grown`; n_grown : [n_nodes]
// INOUT pending, features, block, rows, block_y, block_weight : [n_groups], a `df_room` of max_records each; block may be NULL
// INOUT medians : [n_groups, n_median_bytes], a `df_median_search` of max_records each; NULL but for absolute error
// Memory of the group: see Training.workspace_bytes
DF_KERNEL df_grow_subtrees(const df_problem *problem, const df_column *columns, const double *values, const double *lows,
                           const double *highs, const uint32_t *label_ranks, const char *codes, const double *y,
                           const double *exact_weight, df_record *records, df_record *scratch, const df_output *outputs,
                           const df_open_node *open_nodes, int64_t n_nodes, int64_t max_records, df_open_node *pending,
                           uint32_t *features, char *block, uint32_t *rows, double *block_y, double *block_weight,
                           char *medians, int64_t n_median_bytes, int64_t n_together, df_grown *grown, uint64_t *subsets,
                           int64_t *n_grown, char *memory, int64_t n_bytes, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_fit fit = {problem, columns, {values, lows, highs, label_ranks}, codes, y, exact_weight, records, scratch, outputs};
        const df_workspace workspace = df_workspace_at(problem, df_memory(group, memory, n_bytes), n_together);
        df_room room = {pending + group.number * (max_records + 1),
                        df_features_at(problem, features + group.number * DF_FEATURE_ARRAYS * problem->n_features), 0, 0, 0, 0};
        if (block) {
            room.codes = block + group.number * max_records * problem->n_features * problem->code_bytes;
            room.rows = rows + group.number * max_records;
            room.y = block_y + group.number * max_records * problem->n_outputs;
            room.exact_weight = block_weight + group.number * max_records;
        }
        const df_median_search search = df_median_search_at(problem, medians ? medians + group.number * n_median_bytes : medians,
                                                            max_records);
        df_clear_workspace(group, problem, workspace, n_together);
        group.each([&](int64_t item) {
            if (item == 0)
                workspace.shared->n_constant = 0;
            for (int64_t o = 0; outputs && item == 0 && o < problem->n_outputs; o++)
                workspace.outputs[o] = outputs[o];
            for (int64_t i = item; i < problem->n_features; i += group.n_items) {
                room.features.order[i] = (uint32_t) i;
                room.features.constant_at[i] = 0;
            }
        });
        for (int64_t i = group.number; i < n_nodes; i += group.n_groups) {
            const df_open_node *open_node = open_nodes + i;
            fit.exact_weight = exact_weight && open_node->first_weight >= 0 ? exact_weight + open_node->first_weight : 0;
            const df_fit inside = block ? df_fill_subtree_cache(group, &fit, open_node, room) : fit;
            const int64_t n = df_grow(group, &inside, workspace, open_node, grown + 2 * open_node->first,
                                      subsets + 2 * open_node->first * problem->subset_words, room, search, n_together);
            if (block)
                df_leave_subtree_cache(group, &fit, open_node, room);
            df_once(group, [&] { n_grown[i] = n; });
        }
    }
}

// Put the nodes of subtrees behind each other. IN firsts : [n_nodes] where those of each begin
DF_KERNEL df_gather_nodes(const df_grown *grown, const uint64_t *subsets, int64_t subset_words, const df_open_node *open_nodes,
                          const int64_t *n_grown, const int64_t *firsts, int64_t n_nodes, df_grown *gathered,
                          uint64_t *gathered_subsets, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t s = group.number; s < n_nodes; s += group.n_groups)
            df_for(group, 0, n_grown[s], [&](int64_t i) {
                const int64_t from = 2 * open_nodes[s].first + i, to = firsts[s] + i;
                gathered[to] = grown[from];
                for (int64_t k = 0; k < subset_words; k++)
                    gathered_subsets[to * subset_words + k] = subsets[from * subset_words + k];
            });
    }
}

// What trees keep of nodes, and where the draws of these begin. IN where : see df_threshold_of
// OUT feature, threshold, missing_left, first : [n]
DF_KERNEL df_describe_nodes(const df_column *columns, const double *values, const double *highs, int64_t where,
                            const df_grown *nodes, int64_t n, int32_t *feature, double *threshold, uint8_t *missing_left,
                            int64_t *first, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_for_all(group, n, [&](int64_t i) {
            feature[i] = nodes[i].feature;
            threshold[i] = df_threshold_of(nodes + i, columns, (int) where, values, highs);
            missing_left[i] = nodes[i].feature >= 0 && nodes[i].missing_left;
            first[i] = nodes[i].first;
        });
    }
}

// What nodes keep as leaves. Those of up to `alone_up_to` records are done by an item each, the others by a group.
//
// IN outputs : [n_outputs] their words, if there are several; numbers : [n] which of `nodes`; shifts : [n] given ones, or NULL
// OUT words : [n, n_leaf_words]; high : [n, n_leaf_words] see df_leaf_words_of; NULL without exact weights
DF_KERNEL df_find_leaf_words(const df_problem *problem, const double *y, const double *exact_weight, const df_output *outputs,
                             df_record *records, const df_grown *nodes, const int64_t *numbers, const int32_t *shifts, int64_t n,
                             int64_t alone_up_to, int64_t n_leaf_words, int64_t *words, int64_t *high, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const df_fit fit = {problem, (const df_column *) 0, {0, 0, 0, 0}, (const char *) 0, y, exact_weight, records,
                            (df_record *) 0, outputs};
        const auto find = [&](const auto &items, int64_t i) {
            df_leaf_words_of(items, &fit, nodes + numbers[i], shifts ? shifts + i : shifts, words + i * n_leaf_words,
                             high ? high + i * n_leaf_words : high);
        };
        df_for_all(group, n, [&](int64_t i) {
            if (nodes[numbers[i]].n <= alone_up_to)
                find(df_alone(), i);
        });
        for (int64_t i = group.number; i < n; i += group.n_groups)
            if (nodes[numbers[i]].n > alone_up_to)
                find(group, i);
    }
}

#endif
