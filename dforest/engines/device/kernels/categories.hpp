// The best subset of a categorical feature in a node, or a random one; the processor's twin is in dforest/core/search.
//
// Here *entries* are the candidates for the left side, in their order: by mean response, the categories up to each, or in the
// tree's order of labels (rules/categories.h), but for those whose rank the next one has too; one by one, each category alone, and
// after them, if values are missing, all categories together.
#ifndef DFOREST_KERNELS_CATEGORIES_HPP
#define DFOREST_KERNELS_CATEGORIES_HPP

#include "cuts.hpp"

// Where a feature's cuts are sought.
typedef struct {
    int64_t *words;            // [3, n_words]
    double *keys;              // [max_categories] mean responses, or random bits
    uint32_t *ranked;          // [max_categories]
    uint64_t *subset;          // [subset_words] of the cut that is found
    // By absolute error those of all cuts, each with missing values on the right and, if there are any, on the left; else NULL
    const df_cost_decrease *cost_decreases;
} df_cut_room;

// A tree's order of a column's labels.
typedef struct {
    const uint32_t *ranks;     // [n_codes + 1] in the node's own order, by its largest class; NULL: nodes order them
    const uint32_t *all;       // [n_label_orders, n_codes + 1]
    uint32_t last;             // the highest rank on the left of a random cut
} df_label_order;

DF_INLINE df_label_order df_label_order_of(const df_problem *p, const df_node *node, const df_column *column,
                                           const df_numbers *numbers, const int64_t *total)
{
    df_label_order order = {0, 0, 0};
    if (!numbers->label_ranks || column->first_rank < 0)
        return order;
    order.all = numbers->label_ranks + (int64_t) node->open_node.label_order * p->n_label_ranks + column->first_rank;
    order.ranks = order.all;
    if (p->n_label_orders > 1)
        order.ranks += (df_leading_response(p, total) - 2) * ((int64_t) column->n_codes + 1);
    return order;
}

// Sort categories by their mean responses, or ranks (Shell's sort).
DF_CALLED void df_sort_categories(double *keys, uint32_t *ranked, int64_t n)
{
    int64_t gap = 1;
    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int64_t i = gap; i < n; i++) { // the places i, i - gap, ... are in order, but for the last
            const double key = keys[i];
            const uint32_t category = ranked[i];
            int64_t at = i;
            for (; at >= gap && df_category_is_before(key, category, keys[at - gap], ranked[at - gap]); at -= gap) {
                keys[at] = keys[at - gap];
                ranked[at] = ranked[at - gap];
            }
            keys[at] = key;
            ranked[at] = category;
        }
}

DF_INLINE void df_put_in(uint64_t *subset, uint32_t category) { subset[category / 64] |= (uint64_t) 1 << (category % 64); }

// Put a random subset of n present categories into `subset`, which is empty. IN ranked : [n] ascending; bits : [(n + 31) / 32]
DF_INLINE void df_draw_subset(const df_problem *p, const df_node *node, int32_t feature, const uint32_t *ranked, uint32_t n,
                              uint32_t *bits, uint64_t *subset)
{
    df_stream stream;
    df_stream_open(&stream, node->open_node.seed, df_feature_key(node->open_node.key, (uint64_t) feature), DF_THRESHOLD);
    df_draw_categories(&stream, (int) p->one_hot, n, bits);
    for (uint32_t i = 0; i < n; i++)
        if (df_is_drawn(bits, i))
            df_put_in(subset, ranked[i]);
}

// Put the n present categories up to a random rank into `subset`, which is empty. IN ranked : [n]
DF_INLINE void df_draw_labels(const df_node *node, int32_t feature, const uint32_t *ranked, uint32_t n, df_label_order *order,
                              uint64_t *subset)
{
    df_stream stream;
    df_stream_open(&stream, node->open_node.seed, df_feature_key(node->open_node.key, (uint64_t) feature), DF_THRESHOLD);
    order->last = df_draw_rank(&stream, order->ranks, ranked, n);
    for (uint32_t i = 0; i < n; i++)
        if (order->ranks[ranked[i]] <= order->last)
            df_put_in(subset, ranked[i]);
}

// Set the mean responses of a node's categories.
//
// IN ranked : [n] the categories, ascending; OUT entry : [n_words] scratch; keys : [n]
template <class Codes>
DF_INLINE void df_find_responses(const df_problem *p, const df_node *node, const int64_t *total, const Codes &codes,
                                 const uint32_t *ranked, uint32_t n, int64_t *entry, double *keys)
{
    const int64_t largest = df_leading_response(p, total);
    for (uint32_t i = 0; i < n; i++) {
        codes.read(ranked[i], entry);
        keys[i] = df_mean_response(p, node, entry, largest);
    }
}

// Set the mean responses of a node's categories by the one of several outputs that the categories tell most about. The
// arguments are those of df_find_responses.
template <class Codes>
DF_CALLED void df_find_output_responses(const df_problem *p, const df_node *node, const int64_t *total, const Codes &codes,
                                        const uint32_t *ranked, uint32_t n, int64_t *entry, double *keys)
{
    double highest = -1.0;
    int64_t best = 0, in_keys = -1;
    const auto respond = [&](int64_t o) { // returns the mean
        const df_output *own = node->outputs + o;
        const int64_t largest = df_has_classes(p) ? df_output_largest(own, total) : 0;
        double mean = 0.0;
        for (uint32_t i = 0; i < n; i++) {
            codes.read(ranked[i], entry);
            keys[i] = df_output_response(own, p->criterion, (int) p->is_wide, entry, largest);
            mean += df_response_term(df_category_fraction(entry[1], total[1]), keys[i]);
        }
        in_keys = o;
        return mean;
    };
    for (int64_t o = 0; o < p->n_outputs; o++) {
        if (node->outputs[o].is_pure)
            continue;
        const double mean = respond(o);
        double spread = 0.0;
        for (uint32_t i = 0; i < n; i++) {
            codes.read(ranked[i], entry);
            spread += df_spread_term(df_category_fraction(entry[1], total[1]), keys[i], mean);
        }
        spread = df_response_spread(spread, node->outputs[o].exponent, node->outputs[0].exponent);
        if (spread > highest) {
            highest = spread;
            best = o;
        }
    }
    if (in_keys != best)
        respond(best);
}

// Put a node's categories in the order in which cuts take them in, or draw a subset; returns how many there are.
// OUT room->ranked, room->subset : none, or those drawn; order->last
template <class Codes>
DF_INLINE uint32_t df_order_categories(const df_problem *p, const df_node *node, const df_column *column, int32_t feature,
                                       const int64_t *total, const Codes &codes, const df_cut_room *room,
                                       df_label_order *order)
{
    uint32_t n = 0;
    for (uint32_t code = codes.after(0); code < column->n_codes; code = codes.after(code + 1))
        room->ranked[n++] = code;
    for (int64_t i = 0; i < p->subset_words; i++)
        room->subset[i] = 0;
    if (n == 0 || (p->one_hot && !p->is_random))
        return n;
    if (p->is_random && order->ranks)
        df_draw_labels(node, feature, room->ranked, n, order, room->subset);
    else if (p->is_random)
        df_draw_subset(p, node, feature, room->ranked, n, (uint32_t *) room->keys, room->subset);
    else if (order->ranks) {
        for (uint32_t i = 0; i < n; i++)
            room->keys[i] = order->ranks[room->ranked[i]];
        df_sort_categories(room->keys, room->ranked, n);
    } else {
        int64_t *entry = room->words + p->n_words;
        if (df_has_outputs(p))
            df_find_output_responses(p, node, total, codes, room->ranked, n, entry, room->keys);
        else
            df_find_responses(p, node, total, codes, room->ranked, n, entry, room->keys);
        df_sort_categories(room->keys, room->ranked, n);
    }
    return n;
}

// Set the cut and its subset: the categories on the side opposite to missing ones. Also whether the feature is constant, as far as
// the tree's order of its labels tells.
template <class Codes>
DF_CALLED void df_find_subset(const df_problem *p, const df_node *node, const df_column *column, const df_numbers *numbers,
                              int32_t feature, const int64_t *total, const Codes &codes, const df_cut_room *room,
                              df_split *cut)
{
    df_three<0> w(p, room->words);
    const uint32_t n_codes = column->n_codes;
    const bool is_random = p->is_random != 0, is_single = p->one_hot && !is_random;
    df_leader right = {{-1.0, 1.0}, -1.0, 0, 0, 0, 0.0, 0}, left = right; // where the missing go
    df_label_order order = df_label_order_of(p, node, column, numbers, total);
    const uint32_t n = df_order_categories(p, node, column, feature, total, codes, room, &order);
    const df_cost_decrease *cost_decreases = room->cost_decreases;
    int64_t n_missing = 0;
    cut->score = -1.0;
    if (column->has_missing && codes.after(n_codes) == n_codes) {
        codes.read(n_codes, w.missing);
        n_missing = w.missing[0];
    }
    if (n + (n_missing > 0) < 2 || n == 0)
        return;
    if (order.ranks && n_missing == 0)
        cut->is_constant = (uint32_t) df_are_tied(order.all, p->n_label_orders, (int64_t) n_codes + 1, room->ranked, n);
    const uint32_t n_entries = is_random ? 1 : n + (is_single && n_missing > 0);
    for (int64_t k = 0; k < w.n(); k++)
        w.run[k] = 0;
    for (uint32_t i = 0; i < n_entries; i++) {
        const bool is_all = is_single && i == n;
        if (is_random || is_all) {
            for (int64_t k = 0; k < w.n(); k++)
                w.run[k] = 0;
            for (uint32_t j = 0; j < n; j++) {
                const uint32_t code = room->ranked[j];
                if (!is_all && !(room->subset[code / 64] >> (code % 64) & 1))
                    continue;
                codes.read(code, w.entry);
                for (int64_t k = 0; k < w.n(); k++)
                    w.run[k] += w.entry[k];
            }
        } else {
            codes.read(room->ranked[i], w.entry);
            for (int64_t k = 0; k < w.n(); k++)
                w.run[k] = w.entry[k] + (is_single ? 0 : w.run[k]);
        }
        if (order.ranks && !is_random && i + 1 < n && order.ranks[room->ranked[i]] == order.ranks[room->ranked[i + 1]])
            continue;
        const int64_t n_left = w.run[0];
        df_compare<0>(p, node, column, w.run, total, cost_decreases, i, 0, n_left, &right);
        if (n_missing > 0) {
            for (int64_t k = 0; k < w.n(); k++)
                w.entry[k] = w.run[k] + w.missing[k];
            df_compare<0>(p, node, column, w.entry, total, cost_decreases ? cost_decreases + 1 : cost_decreases, i, 0, n_left,
                          &left);
        }
        cost_decreases += cost_decreases ? 1 + (n_missing > 0) : 0;
    }
    const bool missing_left = df_takes_left(&left, &right);
    df_take_cut(cut, missing_left ? &left : &right, n_missing, missing_left, total[0]);
    const uint32_t entry = (uint32_t) cut->code;
    if (order.ranks) { // of labels that the node does not have too
        const uint32_t last = is_random ? order.last : order.ranks[room->ranked[entry]];
        if (n_missing == 0)
            cut->missing_left = order.ranks[n_codes] <= last;
        for (int64_t i = 0; i < p->subset_words; i++)
            room->subset[i] = 0;
        df_take_up_to(order.ranks, n_codes, last, (int) cut->missing_left, room->subset);
    } else if (!is_random)
        for (uint32_t i = 0; i < n; i++)
            if (i == entry || (is_single ? entry == n : i < entry))
                df_put_in(room->subset, room->ranked[i]);
    if (cut->missing_left && !order.ranks)
        for (uint32_t i = 0; i < n; i++) // those present that are not in it
            room->subset[room->ranked[i] / 64] ^= (uint64_t) 1 << (room->ranked[i] % 64);
    cut->code = cut->above = 0;
    cut->only_missing = 0;
}

// Whether all of a node's draws have the same code, that of missing values included.
template <class Codes> DF_INLINE bool df_is_constant(const df_problem *p, const Codes &codes)
{
    const uint32_t code = codes.after(0);
    return code < p->max_entries && codes.after(code + 1) >= p->max_entries;
}

// The cut of any feature, by the splitter's strategy. IN draft : of a column of keys
template <class Codes>
DF_INLINE void df_find_cut(const df_problem *p, const df_node *node, const df_column *columns, const df_numbers *numbers,
                           int32_t feature, const int64_t *total, const df_draft *draft, const Codes &codes,
                           const df_cut_room *room, df_split *cut)
{
    const df_column *column = columns + feature;
    int64_t *words = room->words;
    cut->is_constant = df_is_constant(p, codes); // now: codes may be taken below
    if (column->kind == DF_CATEGORICAL)
        df_find_subset(p, node, column, numbers, feature, total, codes, room, cut);
    else if (p->is_random)
        df_find_random<0>(p, node, column, numbers, feature, total, codes, room->cost_decreases, words, cut);
#ifndef DF_LARGE_GROUPS
    else if (node->is_exact && p->criterion == DF_GINI && p->n_words == 4)
        df_find_exact<4>(p, node, column, total, codes, cut);
    else if (node->is_exact && p->criterion == DF_SQUARED_ERROR && p->n_words == 3)
        df_find_exact<3>(p, node, column, total, codes, cut);
#endif
    else if (df_has_outputs(p))
        df_find_best<0>(p, node, column, total, codes, room->cost_decreases, words, cut);
    else if (p->n_words == 3)
        df_find_best<3>(p, node, column, total, codes, room->cost_decreases, words, cut);
    else if (p->n_words == 4)
        df_find_best<4>(p, node, column, total, codes, room->cost_decreases, words, cut);
    else
        df_find_best<0>(p, node, column, total, codes, room->cost_decreases, words, cut);
    cut->feature = feature;
    cut->threshold = 0.0;
    if (column->key_bits) {
        cut->code = draft->cut;
        cut->threshold = draft->threshold;
    }
}

#endif
