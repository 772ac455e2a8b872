// Cuts by absolute error (rules/medians.h): the medians of the sides of all cuts of a feature, by a group.
//
// The records of a node are sorted by their targets once, for each output: a record has a *rank*. For a feature they are put in
// the order of their codes, those without a value last, so that either side of a cut is one range of *positions* or two. Medians
// of all sides are then found together, a bit of their ranks at a time, from the highest one on. At each bit, records lie in
// blocks of ranks that agree in the bits before, in the order of codes within a block; so a block's positions follow from its
// ranks. Sums over all records before a position whose rank lacks the bit tell of each side whether its median has the bit. Then
// each block is divided by the bit, and the ranges of a side become those of the half that has its median. These are the levels
// of a wavelet tree, of which one at a time is kept.
//
// R. Grossi, A. Gupta, J. S. Vitter, "High-order entropy-compressed text indexes", SODA 2003.
//
// For n records and c cuts it takes O((n + c) log n) time, and O(n + c) memory, which the group has to itself.
#ifndef DFOREST_KERNELS_MEDIANS_HPP
#define DFOREST_KERNELS_MEDIANS_HPP

#include "categories.hpp"

enum { DF_MAX_COMPARED_KEYS = 32 };  // are sorted by comparing each with all

// The targets of an output in a node of n records, in order.
typedef struct {
    uint32_t *rank;            // [n] of each record
    int32_t *target;           // [n] by rank
    int64_t *weight;           // [n] by rank, of all draws of the record
} df_target_order;

// A set of records while its median is looked for.
typedef struct {
    df_spread spread;
    uint32_t first[2], last[2]; // the ranges of positions that it has in its block, which may be empty
    uint32_t start;            // of the block; at last the median's rank
} df_query;

// What a group knows of a node and a feature.
typedef struct {
    df_node node;
    int64_t n_values;          // that occur
    int64_t n_cuts;
    int64_t n_missing_sides;   // 2: there are missing values, ...
    int64_t first_missing;     // ... from this position on
    uint32_t cut_code;         // of a random cut
} df_median_state;

// Memory of a group, for nodes of up to n records: `Training.median_bytes` bytes.
typedef struct {
    df_median_state *state;
    df_sums *before;           // [n + 1] over the positions before each one
    df_query *queries;         // [1 + 2 * n_missing_sides * n_cuts] the node, and the sides of cuts
    df_cost_decrease *cost_decreases;  // [n_missing_sides * n_cuts]
    uint64_t *sort_keys;       // [n]
    uint64_t *other_sort_keys;  // [n]
    uint32_t *ranks;           // [n] by position
    uint32_t *other_ranks;     // [n]
    uint32_t *starts;          // [n_cuts + 3] the first position of each value that occurs, and the end
    uint32_t *place_of;        // [max_categories]
    uint32_t *counts;          // [n_items << df_digit_bits]
} df_median_room;

static_assert(sizeof(df_median_state) <= DF_SHARED_BYTES, "memory of a group");
static_assert(sizeof(df_sums) + 2 * sizeof(uint64_t) + 2 * sizeof(uint32_t) == DF_MEDIAN_RECORD_BYTES, "memory for a record");
static_assert(2 * sizeof(df_query) + sizeof(df_cost_decrease) == DF_MEDIAN_CUT_BYTES, "memory for a cut");

// The most cuts of a feature in a node of n records.
DF_INLINE int64_t df_most_cuts(const df_problem *p, int64_t n)
{
    return p->is_random ? 1 : 1 + (n < p->max_entries ? n : p->max_entries);
}

DF_INLINE df_median_room df_median_room_at(const df_problem *p, char *memory, int64_t n)
{
    const int64_t n_cuts = df_most_cuts(p, n);
    df_median_room room;
    room.state = (df_median_state *) memory;
    room.before = (df_sums *) (memory + DF_SHARED_BYTES);
    room.queries = (df_query *) (room.before + n + 1);
    room.cost_decreases = (df_cost_decrease *) (room.queries + 1 + 2 * p->n_missing_sides * n_cuts);
    room.sort_keys = (uint64_t *) (room.cost_decreases + p->n_missing_sides * n_cuts);
    room.other_sort_keys = room.sort_keys + n;
    room.ranks = (uint32_t *) (room.other_sort_keys + n);
    room.other_ranks = room.ranks + n;
    room.starts = room.other_ranks + n;
    room.place_of = room.starts + n_cuts + 3;
    room.counts = room.place_of + p->max_categories;
    return room;
}

// Bits by which sort keys are sorted at a time: an item alone has room for more.
DF_INLINE int df_digit_bits(const df_group &group) { return group.n_items == 1 ? 8 : 4; }

// Sort different sort keys by n_bits bits from `first` on; by the lower ones they are in order. Returns where they are then: in
// `sort_keys` or in `other`. OUT counts : [n_items << df_digit_bits] scratch
DF_CALLED uint64_t *df_sort_by_key(const df_group &group, uint64_t *sort_keys, uint64_t *other, int64_t n, int first, int n_bits,
                                   uint32_t *counts)
{
    const int bits = df_digit_bits(group);
    const int64_t n_digits = (int64_t) 1 << bits, per_item = (n + group.n_items - 1) / group.n_items;
    if (n <= DF_MAX_COMPARED_KEYS) {
        df_for(group, 0, n, [&](int64_t i) {
            int64_t at = 0;
            for (int64_t j = 0; j < n; j++)
                at += sort_keys[j] < sort_keys[i];
            other[at] = sort_keys[i];
        });
        return other;
    }
    for (int shift = first; shift < first + n_bits; shift += bits) {
        const auto count_of = [&](uint64_t sort_key, int64_t item) {
            return counts + (int64_t) (sort_key >> shift & (uint64_t) (n_digits - 1)) * group.n_items + item;
        };
        group.each([&](int64_t item) {
            for (int64_t digit = 0; digit < n_digits; digit++)
                counts[digit * group.n_items + item] = 0;
            for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                ++*count_of(sort_keys[i], item);
        });
        group.after(
            [&](int64_t item) {
                int64_t sum = 0;
                for (int64_t k = item * n_digits; k < (item + 1) * n_digits; k++)
                    sum += counts[k];
                return sum;
            },
            [&](int64_t item, int64_t before, int64_t) {
                for (int64_t k = item * n_digits; k < (item + 1) * n_digits; k++) {
                    const uint32_t own = counts[k];
                    counts[k] = (uint32_t) before;
                    before += own;
                }
            });
        group.each([&](int64_t item) {
            for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                other[(*count_of(sort_keys[i], item))++] = sort_keys[i];
        });
        uint64_t *sorted = other;
        other = sort_keys;
        sort_keys = sorted;
    }
    return sort_keys;
}

// The targets of some output in order.
DF_INLINE void df_order_targets(const df_group &group, const df_problem *p, const df_record *records, int64_t n,
                                const df_targets *targets, int64_t output, uint64_t *sort_keys, uint64_t *other, uint32_t *counts,
                                const df_target_order &order)
{
    df_for(group, 0, n, [&](int64_t i) {
        sort_keys[i] = (uint64_t) df_target_sort_key(df_target_at(p, records + i, targets, output)) << 32 | (uint64_t) i;
    });
    const uint64_t *sorted = df_sort_by_key(group, sort_keys, other, n, 32, 32, counts);
    df_for(group, 0, n, [&](int64_t i) {
        const uint32_t record = (uint32_t) sorted[i];
        order.rank[record] = (uint32_t) i;
        order.target[i] = df_target_of_sort_key((uint32_t) (sorted[i] >> 32));
        order.weight[i] = (int64_t) records[record].count * records[record].weight;
    });
}

// Sums over the records before each position whose rank lacks a bit; and the ranks with each block divided by that bit. If sums
// of targets have one word, the upper half of theirs here is whatever.
DF_INLINE void df_divide_blocks(const df_group &group, bool is_wide, const df_target_order &order, int64_t n, int bit,
                                const uint32_t *ranks, uint32_t *divided, df_sums *before)
{
    const int64_t half = (int64_t) 1 << bit, per_item = (n + group.n_items - 1) / group.n_items;
    const auto add = [&](df_sums *sums, uint32_t rank) {
        if ((int64_t) rank & half)
            return;
        sums->n++;
        sums->weight += order.weight[rank];
        if (is_wide)
            df_add_product(&sums->sum, order.weight[rank], order.target[rank]);
        else
            sums->sum.low += (uint64_t) (order.weight[rank] * order.target[rank]);
    };
    group.after_sums(
        [&](int64_t item) {
            df_sums own = {{0, 0}, 0, 0};
            for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                add(&own, ranks[i]);
            return own;
        },
        [&](int64_t item, df_sums sums) {
            for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++) {
                const int64_t start = i & ~(2 * half - 1), lacking = sums.n - start / 2; // in the block so far
                const uint32_t rank = ranks[i];
                divided[(int64_t) rank & half ? i + half - lacking : start + lacking] = rank;
                before[i] = sums;
                add(&sums, rank);
                if (i + 1 == n)
                    before[n] = sums;
            }
        });
}

// The sums over a set's records that lack the bit.
DF_INLINE df_sums df_sums_of(bool is_wide, const df_query *query, const df_sums *before)
{
    df_sums all = {{0, 0}, 0, 0};
    for (int k = 0; k < 2; k++)
        if (query->first[k] < query->last[k]) {
            const df_sums *from = before + query->first[k], *to = before + query->last[k];
            all.weight += to->weight - from->weight;
            all.sum = df_big_sum(all.sum, df_big_difference(to->sum, from->sum));
        }
    if (!is_wide)
        all.sum.high = (int64_t) all.sum.low >> 63;
    return all;
}

// Have a set go on in the half of its block that has its median. A range that is empty stays what it is.
DF_INLINE void df_enter_half(bool is_wide, df_query *query, const df_sums *before, int bit)
{
    const int64_t half = (int64_t) 1 << bit, start = query->start;
    const df_sums lacking = df_sums_of(is_wide, query, before);
    const bool has_bit = df_lies_above(&query->spread, lacking.weight);
    const auto position_in_half = [&](uint32_t at) {
        const int64_t n = before[at].n - start / 2;
        return (uint32_t) (has_bit ? (int64_t) at + half - n : start + n);
    };
    if (has_bit) {
        df_pass(&query->spread, lacking.weight, lacking.sum);
        query->start = (uint32_t) (start + half);
    }
    for (int k = 0; k < 2; k++)
        if (query->first[k] < query->last[k]) {
            query->first[k] = position_in_half(query->first[k]);
            query->last[k] = position_in_half(query->last[k]);
        }
}

// Find the medians of some sets of a node's records. INOUT ranks, other : [n] by position, in the order of codes; scratch
DF_CALLED void df_find_medians(const df_group &group, bool is_wide, const df_target_order &order, int64_t n, uint32_t *ranks,
                               uint32_t *other, df_sums *before, df_query *queries, int64_t n_queries)
{
    const int bits = df_bits_below(n);
    df_divide_blocks(group, is_wide, order, n, bits, ranks, other, before); // no rank has this bit
    df_for(group, 0, n_queries, [&](int64_t i) {
        const df_sums all = df_sums_of(is_wide, queries + i, before);
        queries[i].spread = df_spread_of(all.weight, all.sum);
    });
    for (int bit = bits - 1; bit >= 0; bit--) {
        df_divide_blocks(group, is_wide, order, n, bit, ranks, other, before);
        df_for(group, 0, n_queries, [&](int64_t i) { df_enter_half(is_wide, queries + i, before, bit); });
        uint32_t *divided = other;
        other = ranks;
        ranks = divided;
    }
}

// The place of a record among the codes of a feature.
struct df_placer {
    const df_problem *p;
    const df_column *column;
    const char *codes;
    int32_t feature;
    const df_draft *draft;
    uint32_t cut_code;         // of a random cut of numbers
    const uint64_t *subset;    // of a random cut of categories
    const uint32_t *place_of;  // of categories that are in an order of their own; NULL: others
    uint32_t missing() const { return column->n_codes + 1; }
    uint32_t operator()(uint32_t row) const
    {
        uint64_t code = df_code_at(p, codes, row, feature);
        if (column->key_bits)
            code = (uint64_t) df_entry_of(draft, code);
        if (code >= column->n_codes)
            return missing();
        if (place_of)
            return place_of[code];
        if (!p->is_random || column->key_bits)
            return (uint32_t) code;
        return column->kind == DF_CATEGORICAL ? !(subset[code / 64] >> (code % 64) & 1) : code > cut_code;
    }
};

// The positions [first, last) of the values on the left of a cut, missing ones not among them. is_single : cuts are those of
// single categories, and of all of them
DF_INLINE void df_left_positions(const df_problem *p, const df_median_room &room, bool is_single, int64_t cut, uint32_t *first,
                                 uint32_t *last)
{
    const df_median_state *state = room.state;
    *first = 0;
    if (p->is_random) // the other side may have all values
        *last = room.sort_keys[0] >> 32 == 0 ? room.starts[1] : 0;
    else if (cut == state->n_values)
        *last = (uint32_t) state->first_missing;
    else {
        *first = is_single ? room.starts[cut] : 0;
        *last = room.starts[cut + 1];
    }
}

// Put a node's records in the order of a feature's codes, and set what the state knows of them.
DF_INLINE void df_order_records(const df_group &group, const df_placer &placer, const df_record *records, int64_t n,
                                bool is_single, df_median_room &room)
{
    const int64_t per_item = (n + group.n_items - 1) / group.n_items;
    df_for(group, 0, n, [&](int64_t i) { room.sort_keys[i] = (uint64_t) placer(records[i].row) << 32 | (uint64_t) i; });
    uint64_t *sorted = df_sort_by_key(group, room.sort_keys, room.other_sort_keys, n, 32,
                                      df_bits_below((int64_t) placer.missing() + 1), room.counts);
    room.other_sort_keys = sorted == room.sort_keys ? room.other_sort_keys : room.sort_keys;
    room.sort_keys = sorted;
    const auto is_start = [&](int64_t i) { return i == 0 || sorted[i] >> 32 != sorted[i - 1] >> 32; };
    group.after(
        [&](int64_t item) {
            int64_t n_starts = 0;
            for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                n_starts += is_start(i);
            return n_starts;
        },
        [&](int64_t item, int64_t before, int64_t n_starts) {
            for (int64_t i = item * per_item; i < (item + 1) * per_item && i < n; i++)
                if (is_start(i))
                    room.starts[before++] = (uint32_t) i;
            if (item > 0)
                return;
            room.starts[n_starts] = (uint32_t) n;
            room.state->n_values = n_starts;
        });
    df_once(group, [&] {
        df_median_state *state = room.state;
        const bool has_missing = sorted[n - 1] >> 32 == placer.missing();
        state->n_values -= has_missing;
        state->n_missing_sides = 1 + has_missing;
        state->first_missing = room.starts[state->n_values];
        state->n_cuts = placer.p->is_random ? 1 : state->n_values + (is_single && has_missing);
        if (state->n_values == 0 || state->n_values + has_missing < 2)
            state->n_cuts = 0;
    });
}

// Set the decreases of cost of a feature's cuts. IN order : the first output's, n_all records apart from the next one's
DF_INLINE void df_find_cost_decreases(const df_group &group, const df_problem *p, const df_output *outputs,
                                      const df_target_order &order, int64_t n_all, int64_t n, bool is_single,
                                      const df_median_room &room)
{
    const df_median_state *state = room.state;
    const int64_t n_missing_sides = state->n_missing_sides, n_cost_decreases = state->n_cuts * n_missing_sides;
    if (n_cost_decreases == 0)
        return;
    df_for(group, 0, n_cost_decreases, [&](int64_t i) { room.cost_decreases[i].score = 0.0; });
    for (int64_t o = 0; o < p->n_outputs; o++) {
        if (df_has_outputs(p) && outputs[o].is_pure)
            continue;
        const df_target_order own = {order.rank + o * n_all, order.target + o * n_all, order.weight + o * n_all};
        const double factor = df_has_outputs(p) ? outputs[o].factor : 1.0;
        group.each([&](int64_t item) {
            for (int64_t i = item; i < n; i += group.n_items)
                room.ranks[i] = own.rank[(uint32_t) room.sort_keys[i]];
            if (item == 0)
                room.queries[0] = {{{0, 0}, 0}, {0, 0}, {(uint32_t) n, 0}, 0};
            for (int64_t i = item; i < n_cost_decreases; i += group.n_items) {
                const uint32_t middle = (uint32_t) state->first_missing, end = (uint32_t) n;
                const bool missing_left = i % n_missing_sides;
                uint32_t first, last;
                df_left_positions(p, room, is_single, i / n_missing_sides, &first, &last);
                room.queries[1 + 2 * i] = {{{0, 0}, 0}, {first, middle}, {last, missing_left ? end : middle}, 0};
                room.queries[2 + 2 * i] = {{{0, 0}, 0}, {0, last}, {first, missing_left ? middle : end}, 0};
            }
        });
        df_find_medians(group, p->is_wide, own, n, room.ranks, room.other_ranks, room.before, room.queries,
                        1 + 2 * n_cost_decreases);
        const auto cost = [&](const df_query &query) { return df_spread_cost(&query.spread, own.target[query.start]); };
        df_for(group, 0, n_cost_decreases, [&](int64_t i) {
            const df_query &left = room.queries[1 + 2 * i], &right = room.queries[2 + 2 * i];
            room.cost_decreases[i].left = own.target[left.start];
            room.cost_decreases[i].right = own.target[right.start];
            room.cost_decreases[i].score += df_cost_decrease_of(cost(room.queries[0]), cost(left), cost(right), factor);
        });
    }
    df_for(group, 0, n_cost_decreases, [&](int64_t i) { room.cost_decreases[i].score /= (double) p->n_outputs; });
}

// The best cut of a feature in a node, as df_find_cut finds it once the falls of all cuts are known.
//
// IN records : [n] the node's; order, n_all : as of df_find_cost_decreases
template <class Codes>
DF_CALLED void df_find_median_cut(const df_group &group, const df_problem *p, const df_node *node, const df_column *columns,
                                  const df_numbers *numbers, const char *all_codes, const df_record *records, int64_t n,
                                  const df_target_order &order, int64_t n_all, int32_t feature, const int64_t *total,
                                  const df_draft *draft, const Codes &codes, df_cut_room cut_room, df_median_room room,
                                  df_split *cut)
{
    const df_column *column = columns + feature;
    const bool is_categorical = column->kind == DF_CATEGORICAL, is_single = is_categorical && p->one_hot && !p->is_random;
    const bool has_order = is_categorical && !p->is_random && !is_single;
    df_once(group, [&] {
        if (is_categorical) {
            df_label_order none = {0, 0, 0};
            const uint32_t n_ranked = df_order_categories(p, node, column, feature, total, codes, &cut_room, &none);
            for (uint32_t i = 0; has_order && i < n_ranked; i++)
                room.place_of[cut_room.ranked[i]] = i;
        } else if (p->is_random && !column->key_bits)
            room.state->cut_code = df_draw_code(node, column, numbers, feature, codes);
    });
    const df_placer placer = {p, column, all_codes, feature, draft, room.state->cut_code, cut_room.subset,
                              has_order ? room.place_of : (const uint32_t *) 0};
    df_order_records(group, placer, records, n, is_single, room);
    df_find_cost_decreases(group, p, node->outputs, order, n_all, n, is_single, room);
    cut_room.cost_decreases = room.cost_decreases;
    df_once(group, [&] { df_find_cut(p, node, columns, numbers, feature, total, draft, codes, &cut_room, cut); });
}

#endif
