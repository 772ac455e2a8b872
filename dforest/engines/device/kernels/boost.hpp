// Boosted trees: derivatives of the loss, histograms of them, cuts, leaves. Formulas and rules are those of losses.h and boost.h;
// integers are in memory as `df_row_words` reads them.
//
// The rows of a tree lie in one array of row numbers, a run for each node. If rows have several raw predictions, which are called
// sums here, the first ones of all rows come first, then the second ones, and so on; derivatives and integers lie in the same order.
// A tree is for one sum, or, of several outputs, for all; each output has its targets, after those of the output before.
//
// The codes of a row are bytes: one of each narrow column, two of each wide one, the lower one first. A column's *place* is that
// of its first byte. Columns have as many entries in a histogram as they have codes. A node tries its *pairs*, which stand together.
#ifndef DFOREST_KERNELS_BOOST_HPP
#define DFOREST_KERNELS_BOOST_HPP

#include "train.hpp"
#include "rules/boost_cuts.h"
#include "rules/losses.h"

// Derivatives of all rows, times the weights, and the largest magnitudes of each group's rows.
//
// IN raw : [n_sums, n_rows] sums of leaf values; baseline : [n_sums]; weight : [n_rows] or NULL; parameter : [1] of the loss
// IN drawn : [n_rows] which rows trees are grown from, whose magnitudes count; NULL: all
// OUT gradient, hessian : [n_sums, n_rows]; hessian may be NULL if it is 1
// OUT largest : [n_groups, n_sums, 2]
DF_KERNEL df_boost_derive(int64_t loss, const double *raw, const double *y, const double *weight, const double *baseline,
                          const double *parameter, const uint8_t *drawn, int64_t n_rows, int64_t n_sums, double *gradient,
                          double *hessian, double *largest, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const int64_t begin = n_rows * group.number / group.n_groups, end = n_rows * (group.number + 1) / group.n_groups;
        group.each([&](int64_t item) {
            for (int64_t i = begin + item; i < end; i += group.n_items) {
                const double w = weight ? weight[i] : 1.0;
                for (int64_t k = 0; k < n_sums && loss != DF_MULTINOMIAL_LOSS; k++) {
                    const int64_t at = k * n_rows + i;
                    const df_derivatives d = df_derivatives_of_loss((int) loss, raw[at] + baseline[k], y[at], parameter[0]);
                    gradient[at] = d.gradient * w;
                    if (hessian)
                        hessian[at] = d.hessian * w;
                }
                if (loss != DF_MULTINOMIAL_LOSS)
                    continue;
                for (int64_t k = 0; k < n_sums; k++)
                    gradient[k * n_rows + i] = raw[k * n_rows + i] + baseline[k];
                df_multinomial_derivatives(gradient + i, (int64_t) y[i], gradient + i, hessian + i, n_rows, n_sums);
                for (int64_t k = 0; k < n_sums; k++) {
                    gradient[k * n_rows + i] *= w;
                    hessian[k * n_rows + i] *= w;
                }
            }
        });
        for (int64_t k = 0; k < n_sums; k++) {
            double found[2] = {0.0, 0.0};
            for (int j = 0; j < (hessian ? 2 : 1); j++) {
                const double *of = (j ? hessian : gradient) + k * n_rows;
                found[j] = -group.lowest<double>([&](int64_t item) {
                    double low = 0.0;
                    for (int64_t i = begin + item; i < end; i += group.n_items) {
                        const double x = drawn && !drawn[i] ? 0.0 : -df_magnitude(of[i]);
                        low = x < low ? x : low;
                    }
                    return low;
                });
            }
            group.each([&](int64_t item) {
                if (item == 0) {
                    largest[2 * (group.number * n_sums + k)] = found[0];
                    largest[2 * (group.number * n_sums + k) + 1] = found[1];
                }
            });
        }
    }
}

// Quantised gradients of all rows that are drawn, 0 for others; and the largest magnitudes of each group's, and their sums.
//
// IN factors : [n_sums, 2] 2 to the power of exponents; times : [n_rows] or NULL
// IN is_weighted : whether derivatives were multiplied by weights; drawn : as of df_boost_derive
// OUT quantised : [n_sums, n_rows, 2], or, where hessian is NULL, [n_sums, n_rows]
// OUT extents : [n_groups, n_sums, 4] the largest gradient and hessian, and the sums of both, as often as `times` says
DF_KERNEL df_boost_quantise(const double *gradient, const double *hessian, const uint32_t *times, int64_t is_weighted,
                          const double *factors, const uint8_t *drawn, int64_t n_rows, int64_t n_sums, int32_t *quantised,
                          int64_t *extents, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const int64_t begin = n_rows * group.number / group.n_groups, end = n_rows * (group.number + 1) / group.n_groups;
        const int64_t per = hessian ? 2 : 1;
        for (int64_t k = 0; k < n_sums; k++) {
            int64_t found[4] = {0, 0, 0, 0};
            for (int64_t j = 0; j < per; j++) {
                const double *of = (j ? hessian : gradient) + k * n_rows;
                int32_t *to = quantised + k * n_rows * per + j;
                const double factor = factors[2 * k + j];
                found[j] = -group.lowest<int64_t>([&](int64_t item) {
                    int64_t low = 0;
                    for (int64_t i = begin + item; i < end; i += group.n_items) {
                        const int32_t q = drawn && !drawn[i] ? 0
                                          : j && is_weighted ? df_quantised_hessian(of[i], factor)
                                                             : df_quantised_gradient(of[i], factor);
                        to[i * per] = q;
                        low = (q < 0 ? q : -q) < low ? (q < 0 ? q : -q) : low;
                    }
                    return low;
                });
                found[2 + j] = group.sum([&](int64_t item) {
                    int64_t sum = 0;
                    for (int64_t i = begin + item; i < end; i += group.n_items) {
                        const int64_t q = to[i * per];
                        sum += (q < 0 ? -q : q) * (times ? times[i] : 1);
                    }
                    return sum;
                });
            }
            group.each([&](int64_t item) {
                if (item == 0)
                    for (int j = 0; j < 4; j++)
                        extents[4 * (group.number * n_sums + k) + j] = found[j];
            });
        }
    }
}

// The heaviest of the rows of each chunk, and their largest derivatives, in magnitude. IN gradient, hessian : of a tree, from
// `first` on; OUT largest : [n_chunks, 3] weight, gradient, hessian
DF_KERNEL df_boost_find_largest(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const double *weight,
                                const double *gradient, const double *hessian, int64_t first, double *largest, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const double *all[3] = {weight, gradient + first, hessian + first};
            double found[3];
            for (int64_t j = 0; j < 3; j++)
                found[j] = -group.lowest<double>([&](int64_t item) {
                    double low = 0.0;
                    for (int64_t i = chunk.first + item; i < chunk.first + chunk.n; i += group.n_items) {
                        const double x = -df_magnitude(all[j][rows[i]]);
                        low = x < low ? x : low;
                    }
                    return low;
                });
            group.each([&](int64_t item) {
                if (item == 0)
                    for (int64_t j = 0; j < 3; j++)
                        largest[3 * c + j] = found[j];
            });
        }
    }
}

// Make the integers of the rows of chunks anew, by the factors of their nodes. IN factors : [n_nodes, 2]; INOUT quantised : those of
// the tree begin at first_quantised
DF_KERNEL df_boost_quantise_again(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const double *gradient,
                                const double *hessian, int64_t first, const double *factors, int32_t *quantised, int64_t first_quantised,
                                DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const double *factor = factors + 2 * chunk.node;
            group.each([&](int64_t item) {
                for (int64_t i = chunk.first + item; i < chunk.first + chunk.n; i += group.n_items) {
                    const int64_t row = rows[i];
                    int32_t *to = quantised + first_quantised + 2 * row;
                    to[0] = df_quantised_gradient(gradient[first + row], factor[0]);
                    to[1] = df_quantised_hessian(hessian[first + row], factor[1]);
                }
            });
        }
    }
}

// The order of rows in which a tree begins. OUT rows : [n_rows]
DF_KERNEL df_number_rows(int64_t n_rows, uint32_t *rows, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        group.each([&](int64_t item) {
            for (int64_t i = group.number * group.n_items + item; i < n_rows; i += group.n_groups * group.n_items)
                rows[i] = (uint32_t) i;
        });
    }
}

// The kind of the words of a histogram, and how many an entry has: with `times`, two of any kind of integers.
DF_INLINE int df_boost_form(int kind, bool has_times) { return has_times ? DF_WIDE_WORDS : kind; }
DF_INLINE int64_t df_boost_width(int form) { return form == DF_WIDE_WORDS ? 2 : 1; }

// Whether a column is wide, and the code that a row has of it, by the bytes from the column's place on.
DF_INLINE bool df_is_wide(const df_column *column) { return column->n_codes + column->has_missing > DF_BOOST_CODES; }
DF_INLINE int df_boost_code(const uint8_t *own, bool is_wide) { return is_wide ? own[0] | own[1] << 8 : own[0]; }

// Add some rows to words. IN places : [n_features] of narrow ones; INOUT words : [n_features, max_entries, width]
template <int kind, int has_times>
DF_CALLED void df_boost_add_rows(const df_group &group, const uint8_t *codes, int64_t row_codes, const uint32_t *rows, int64_t n,
                                 const int32_t *__restrict places, int64_t n_features, int64_t max_entries,
                                 const int32_t *quantised, const uint32_t *times, uint64_t *__restrict words)
{
    const int64_t width = df_boost_width(df_boost_form(kind, has_times));
    group.each([&](int64_t item) {
        for (int64_t i = item; i < n; i += group.n_items) {
            const int64_t row = rows[i];
            const uint8_t *own = codes + row * row_codes;
            uint64_t word, second = 0;
            if (i + DF_AHEAD < n)
                df_fetch_row(codes + (int64_t) rows[i + DF_AHEAD] * row_codes, row_codes, places, n_features);
            df_row_words(kind, has_times, quantised, times, (size_t) row, &word, &second);
            for (int64_t f = 0; f < n_features; f++) {
                int64_t *entry = (int64_t *) words + (f * max_entries + own[places[f]]) * width;
                df_add_shared(group, entry, (int64_t) word);
                if (width == 2)
                    df_add_shared(group, entry + 1, (int64_t) second);
            }
        }
    });
}

// Add to the sums of an entry that others add to.
DF_INLINE void df_boost_add_anywhere(int64_t *to, df_boost_sums own)
{
    df_add_anywhere((uint64_t *) to, (uint64_t) own.gradient);
    df_add_anywhere((uint64_t *) to + 1, (uint64_t) own.hessian);
    df_add_anywhere((uint64_t *) to + 2, (uint64_t) own.count);
}

// Move what words hold to sums of the group, or, if these are NULL, to histograms. is_own: nobody else adds to these.
// INOUT words : [n_features, max_entries, width]; sums : [n_features, max_entries, 3]
// IN entries : [n_features] where those of each begin in histograms
DF_INLINE void df_boost_spill(const df_group &group, int form, uint64_t *words, int64_t n_features, int64_t max_entries,
                              int64_t *sums, bool is_own, const int64_t *entries, int64_t *histograms)
{
    const int64_t width = df_boost_width(form);
    group.each([&](int64_t item) {
        for (int64_t f = 0; f < n_features; f++) {
            uint64_t *own = words + f * max_entries * width;
            int64_t *to = sums ? sums + 3 * f * max_entries : histograms + 3 * entries[f];
            for (int64_t i = item; i < max_entries; i += group.n_items) {
                const df_boost_sums found = df_sums_of(form, own[i * width], own[i * width + width - 1]);
                if (found.count == 0) // as long as no more rows are added than a word has room for
                    continue;
                own[i * width] = own[i * width + width - 1] = 0;
                if (sums || is_own) {
                    to[3 * i] += found.gradient;
                    to[3 * i + 1] += found.hessian;
                    to[3 * i + 2] += found.count;
                } else
                    df_boost_add_anywhere(to + 3 * i, found);
            }
        }
    });
}

// Add chunks to the histograms of their nodes, `n_together` narrow columns at a time: a group for each chunk and each pass. Words
// are spilled after at most `spill` rows: into sums of the group, where chunks have more rows, and from there to the node's.
//
// IN from_node : [n_nodes + 1] where the pairs of each node begin; places, entries : [n_pairs] of the column, of its histogram
// IN quantised : those of the tree begin at first_quantised
// INOUT histograms : [n_entries, 3] gradients, hessians, rows; those of the output begin at first_entry
// Memory of the group: [n_together, max_entries, width] words; if chunks have more than `spill` rows, also as many times 3 sums
DF_KERNEL df_boost_count(const uint8_t *codes, int64_t row_codes, const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks,
                         const int64_t *from_node, const int32_t *places, const int64_t *entries, int64_t n_passes,
                         int64_t n_together, int64_t max_entries, int64_t kind, int64_t spill, int64_t has_sums,
                         const int32_t *quantised, int64_t first_quantised, const uint32_t *times, int64_t *histograms,
                         int64_t first_entry, char *memory, int64_t n_bytes, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const int form = df_boost_form((int) kind, times != 0);
        const int64_t room = n_together * max_entries;
        uint64_t *words = (uint64_t *) df_memory(group, memory, n_bytes);
        int64_t *sums = (int64_t *) words + room * df_boost_width(form), *to = histograms + 3 * first_entry;
        df_clear(group, (uint32_t *) words, 2 * room * (df_boost_width(form) + (has_sums ? 3 : 0)));
        for (int64_t at = group.number; at < n_chunks * n_passes; at += group.n_groups) {
            const int64_t c = at / n_passes;
            const df_chunk chunk = chunks[c];
            const int64_t first = from_node[chunk.node] + at % n_passes * n_together, rest = from_node[chunk.node + 1] - first;
            if (rest <= 0) // other nodes have more pairs
                continue;
            const int64_t n = rest < n_together ? rest : n_together;
            const bool is_whole = (c == 0 || chunks[c - 1].node != chunk.node)
                                  && (c + 1 == n_chunks || chunks[c + 1].node != chunk.node);
            const bool through_sums = has_sums && chunk.n > spill && !is_whole;
            for (int64_t done = 0; done < chunk.n; done += spill) {
                const int64_t m = chunk.n - done < spill ? chunk.n - done : spill;
                const uint32_t *own = rows + chunk.first + done;
                const auto add = [&](auto known, auto timed) {
                    df_boost_add_rows<known.value, timed.value>(group, codes, row_codes, own, m, places + first, n, max_entries,
                                                                quantised + first_quantised, times, words);
                };
                const df_number<DF_NARROW_WORDS> narrow;
                const df_number<DF_CONSTANT_WORDS> constant;
                const df_number<DF_WIDE_WORDS> wide;
                const df_number<0> plain;
                const df_number<1> timed;
                if (times)
                    kind == DF_NARROW_WORDS ? add(narrow, timed) : kind == DF_CONSTANT_WORDS ? add(constant, timed) : add(wide, timed);
                else
                    kind == DF_NARROW_WORDS ? add(narrow, plain) : kind == DF_CONSTANT_WORDS ? add(constant, plain) : add(wide, plain);
                df_boost_spill(group, form, words, n, max_entries, through_sums ? sums : 0, is_whole, entries + first, to);
            }
            if (through_sums)
                group.each([&](int64_t item) {
                    for (int64_t f = 0; f < n; f++)
                        for (int64_t i = f * max_entries + item; i < (f + 1) * max_entries; i += group.n_items)
                            if (sums[3 * i + 2]) {
                                const df_boost_sums found = {sums[3 * i], sums[3 * i + 1], sums[3 * i + 2]};
                                df_boost_add_anywhere(to + 3 * (entries[first + f] + i - f * max_entries), found);
                                sums[3 * i] = sums[3 * i + 1] = sums[3 * i + 2] = 0;
                            }
                });
        }
    }
}

// Add chunks to the histograms of wide columns, row by row: no group has memory for their entries, most of which have few rows.
//
// Parameters: as of df_boost_count
DF_KERNEL df_boost_count_wide(const uint8_t *codes, int64_t row_codes, const uint32_t *rows, const df_chunk *chunks,
                              int64_t n_chunks, const int64_t *from_node, const int32_t *places, const int64_t *entries, int64_t kind,
                              const int32_t *quantised, int64_t first_quantised, const uint32_t *times, int64_t *histograms,
                              int64_t first_entry, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const int form = df_boost_form((int) kind, times != 0);
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            group.each([&](int64_t item) {
                for (int64_t i = chunk.first + item; i < chunk.first + chunk.n; i += group.n_items) {
                    const int64_t row = rows[i];
                    uint64_t word, second = 0;
                    df_row_words((int) kind, times != 0, quantised + first_quantised, times, (size_t) row, &word, &second);
                    const df_boost_sums own = df_sums_of(form, word, second);
                    for (int64_t at = from_node[chunk.node]; at < from_node[chunk.node + 1]; at++) {
                        const int code = df_boost_code(codes + row * row_codes + places[at], true);
                        df_boost_add_anywhere(histograms + 3 * (first_entry + entries[at] + code), own);
                    }
                }
            });
        }
    }
}

// Call `use(node, place)` for the numbers of the histograms of nodes, n_numbers of each output: its place among the first node's.
template <class Use>
DF_INLINE void df_boost_each_number(const df_group &group, int64_t n_nodes, int64_t n_outputs, int64_t n_numbers,
                                    int64_t n_entries, Use use)
{
    group.each([&](int64_t item) {
        const int64_t n_items = group.n_groups * group.n_items, of_node = n_outputs * n_numbers;
        for (int64_t at = group.number * group.n_items + item; at < n_nodes * of_node; at += n_items)
            use(at / of_node, 3 * n_entries * (at % of_node / n_numbers) + at % n_numbers);
    });
}

// Set the histograms of nodes to 0.
//
// IN firsts : [n_nodes] the first entry of each; n_numbers : 3 for each entry of a node
// OUT histograms : [n_outputs, n_entries, 3]
DF_KERNEL df_boost_clear(const int64_t *firsts, int64_t n_nodes, int64_t n_outputs, int64_t n_numbers, int64_t n_entries,
                         int64_t *histograms, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_boost_each_number(group, n_nodes, n_outputs, n_numbers, n_entries,
                             [&](int64_t node, int64_t place) { histograms[3 * firsts[node] + place] = 0; });
    }
}

// Subtract the histograms of a node from those of its parent, which become its sibling's.
//
// IN firsts : [n_nodes, 2] the first entries of the parent and of the node; n_numbers : 3 for each entry of a node
// INOUT histograms : [n_outputs, n_entries, 3]
DF_KERNEL df_boost_subtract(const int64_t *firsts, int64_t n_nodes, int64_t n_outputs, int64_t n_numbers, int64_t n_entries,
                            int64_t *histograms, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_boost_each_number(group, n_nodes, n_outputs, n_numbers, n_entries, [&](int64_t node, int64_t place) {
            histograms[3 * firsts[2 * node] + place] -= histograms[3 * firsts[2 * node + 1] + place];
        });
    }
}

// The best cut of a column by all outputs together. IN histograms : of the first output; `step` numbers on is the next one's
static inline void df_boost_find_of_outputs(const df_column *column, const int32_t *exponents, int64_t n_outputs,
                                            const int64_t *histograms, int64_t step, const double *limits, int64_t min_samples,
                                            const df_boost_room *room, df_boost_outputs *outputs, uint64_t *subset,
                                            df_boost_cut *cut)
{
    const int n_codes = (int) column->n_codes, has_missing = (int) column->has_missing, n_all = n_codes + has_missing;
    const auto limits_of = [&](int64_t k) {
        return df_boost_limits_of(limits[0], limits[1], limits[2], min_samples, exponents[2 * k], exponents[2 * k + 1],
                                  limits[3]);
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
            const double spread = unit_of(k) * df_boost_spread(DF_WIDE_WORDS, &entries, n_all, limits_of(k).smoothing);
            widest = spread > most ? k : widest;
            most = spread > most ? spread : most;
        }
        const df_boost_entries entries = entries_of(widest);
        n = df_boost_order(DF_WIDE_WORDS, &entries, n_all, limits_of(widest).smoothing, room);
        order = room->order;
    }
    for (int64_t k = 0; k < n_outputs; k++) {
        const df_boost_limits limit = limits_of(k);
        const df_boost_entries entries = entries_of(k);
        df_boost_add_output_in(DF_WIDE_WORDS, &entries, n_codes, has_missing, order, n, &limit, unit_of(k), k == 0, room,
                               outputs);
    }
    df_boost_choose_of_outputs(outputs, n, cut);
    if (order)
        df_boost_write_subset(order, n, n_codes, subset, (n_all + 63) / 64, cut);
}

// The best cut of a column of numbers, `df_boost_cut_in`, by the items of a group.
DF_INLINE void df_boost_cut_together(const df_group &group, const df_boost_sums *entries, int n_codes, int has_missing,
                                     const df_boost_limits *limits, const df_boost_constraint *constraint,
                                     const df_boost_room *room, df_boost_cut *cut)
{
    const df_boost_arrays first = room->first;
    const int64_t n = n_codes + has_missing, share = (n + group.n_items - 1) / group.n_items;
    const auto add_up = [&](int64_t *sums, auto of) {
        group.after(
            [&](int64_t item) {
                int64_t sum = 0;
                for (int64_t i = item * share; i < (item + 1) * share && i < n; i++)
                    sum += of(entries[i]);
                return sum;
            },
            [&](int64_t item, int64_t before, int64_t) {
                for (int64_t i = item * share; i < (item + 1) * share && i < n; i++)
                    sums[i] = before += of(entries[i]);
            });
    };
    add_up(first.g, [](const df_boost_sums &sums) { return sums.gradient; });
    add_up(first.h, [](const df_boost_sums &sums) { return sums.hessian; });
    add_up(first.n, [](const df_boost_sums &sums) { return sums.count; });
    const int64_t most = -group.lowest<int64_t>([&](int64_t item) {
        int64_t low = 0;
        for (int64_t i = item; i < n; i += group.n_items)
            low = -entries[i].count < low ? -entries[i].count : low;
        return low;
    });
    group.each([&](int64_t item) {
        if (item > 0)
            return;
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
        group.each([&](int64_t item) {
            for (int64_t i = item; i < n_codes; i += group.n_items) {
                const df_boost_arrays own = {first.g + i, first.h + i, first.n + i};
                df_boost_scores(&own, 1, is_left ? missing : nothing, cut, limits, constraint, room->scores + i);
            }
        });
        const int64_t top = -group.lowest<int64_t>([&](int64_t item) {
            int64_t low = -none;
            for (int64_t i = item; i < n_codes; i += group.n_items)
                low = -bits[i] < low ? -bits[i] : low;
            return low;
        });
        const int64_t at = group.lowest<int64_t>([&](int64_t item) {
            for (int64_t i = item; i < n_codes; i += group.n_items)
                if (bits[i] == top)
                    return i;
            return (int64_t) n_codes;
        });
        group.each([&](int64_t item) {
            double score;
            memcpy(&score, &top, sizeof score);
            if (item == 0)
                df_boost_take(score, (int) at, is_left, cut);
        });
    }
    group.each([&](int64_t item) {
        if (item == 0)
            df_boost_close_cut(&first, missing, cut);
    });
}

// The best cut of each pair, a group each.
//
// IN columns : [n_features]; pairs : [n_pairs]; histograms : [n_outputs, n_entries, 3]
// IN limits : l1, l2, least hessian, unit of weights; min_samples : of a side
// IN exponents : [n_nodes, n_outputs, 2] of narrow gradients and hessians
// IN directions : [n_features] or NULL, with monotonic constraints; bounds : [n_nodes, 2] of steps, in their units
// OUT cuts : [n_pairs]; subsets : a bit for each code that goes left, of columns of categories
// SCRATCH rooms : of the pairs that have one; others have the group's own memory
DF_KERNEL df_boost_find_cuts(const df_column *columns, const df_boost_pair *pairs, int64_t n_pairs, int64_t n_outputs,
                             int64_t n_entries, const int64_t *histograms, const double *limits, int64_t min_samples,
                             const int32_t *exponents, const int32_t *directions, const double *bounds, double *rooms,
                             uint64_t *subsets, df_boost_cut *cuts, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t at = group.number; at < n_pairs; at += group.n_groups) {
            const df_boost_pair *pair = pairs + at;
            const int32_t *own = exponents + 2 * n_outputs * pair->node;
            const df_boost_limits limit = df_boost_limits_of(limits[0], limits[1], limits[2], min_samples, own[0], own[1], limits[3]);
            const df_column *column = columns + pair->feature;
            const int n_codes = (int) column->n_codes, has_missing = (int) column->has_missing, n = n_codes + has_missing;
            const df_boost_constraint constraint = {
                {directions ? bounds[2 * pair->node] : 0.0, directions ? bounds[2 * pair->node + 1] : 0.0},
                directions ? directions[pair->feature] : 0};
            const df_boost_constraint *constrained = directions ? &constraint : 0;
            const df_boost_entries entries = {0, (const df_boost_sums *) (histograms + 3 * pair->entry), 0, 0, 0};
            df_boost_cut *cut = cuts + at;
            const int lanes = df_whole_lanes(n);
            double *memory = pair->room < 0 ? (double *) group.local : rooms + pair->room;
            const df_boost_room room = df_boost_room_at(memory, lanes);
            const bool is_shared = n_outputs == 1 && column->kind != DF_CATEGORICAL && group.n_items > 1;
            if (is_shared)
                df_boost_cut_together(group, entries.sums, n_codes, has_missing, &limit, constrained, &room, cut);
            group.each([&](int64_t item) {
                if (item > 0)
                    return;
                if (n_outputs > 1) {
                    df_boost_outputs outputs = df_boost_outputs_at(memory + DF_ROOM_NUMBERS * (int64_t) lanes, lanes);
                    df_boost_find_of_outputs(column, own, n_outputs, histograms + 3 * pair->entry, 3 * n_entries, limits,
                                             min_samples, &room, &outputs, subsets + pair->word, cut);
                } else if (column->kind == DF_CATEGORICAL)
                    df_boost_subset_in(DF_WIDE_WORDS, &entries, n_codes, has_missing, &limit, constrained, &room,
                                       subsets + pair->word, (n + 63) / 64, cut);
                else if (!is_shared)
                    df_boost_cut_in(DF_WIDE_WORDS, &entries, n_codes, has_missing, &limit, constrained, &room, cut);
                cut->feature = pair->feature;
            });
        }
    }
}

// Which rows go left, and how many of each chunk.
//
// IN places : [n_features]; cuts : [n_nodes]; first_words : [n_nodes] where their subsets begin, if they test categories
// OUT sides : [n_rows] 1: left; n_left : [n_chunks]
DF_KERNEL df_boost_tell_sides(const df_column *columns, const int32_t *places, const uint8_t *codes, int64_t row_codes,
                              const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const df_boost_cut *cuts,
                              const uint64_t *subsets, const int64_t *first_words, uint8_t *sides, int64_t *n_left, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const df_boost_cut *cut = cuts + chunk.node;
            const df_column *column = columns + cut->feature;
            const uint8_t *own = codes + places[cut->feature];
            const uint64_t *subset = column->kind == DF_CATEGORICAL ? subsets + first_words[chunk.node] : 0;
            const bool is_wide = df_is_wide(column);
            const int missing = (int) column->n_codes;
            const int64_t n = group.sum([&](int64_t item) {
                int64_t left = 0;
                for (int64_t i = chunk.first + item; i < chunk.first + chunk.n; i += group.n_items) {
                    const int code = df_boost_code(own + (int64_t) rows[i] * row_codes, is_wide);
                    sides[i] = (uint8_t) df_boost_goes_left(cut, subset, code, missing);
                    left += sides[i];
                }
                return left;
            });
            group.each([&](int64_t item) {
                if (item == 0)
                    n_left[c] = n;
            });
        }
    }
}

DF_KERNEL df_move_rows(const uint32_t *rows, const uint8_t *sides, const df_chunk *chunks, int64_t n_chunks,
                       const int64_t *to_left, const int64_t *to_right, uint32_t *scratch, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_move(group, rows, sides, chunks, n_chunks, to_left, to_right, scratch);
    }
}

DF_KERNEL df_copy_rows(const uint32_t *scratch, const df_chunk *chunks, int64_t n_chunks, uint32_t *rows, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_copy(group, scratch, chunks, n_chunks, rows);
    }
}

// Sums of the quantised gradients of chunks. A hessian of 1 counts as often as `times` says. OUT sums : [n_chunks, 2]
DF_KERNEL df_boost_sum_leaves(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const int32_t *quantised,
                              int64_t first_quantised, int64_t per, const uint32_t *times, int64_t *sums, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            int64_t found[2];
            for (int64_t j = 0; j < 2; j++)
                found[j] = group.sum([&](int64_t item) {
                    int64_t sum = 0;
                    for (int64_t i = chunk.first + item; i < chunk.first + chunk.n; i += group.n_items) {
                        const int64_t row = rows[i];
                        sum += (int64_t) (j < per ? quantised[first_quantised + row * per + j] : 1) * (times ? times[row] : 1);
                    }
                    return sum;
                });
            group.each([&](int64_t item) {
                if (item == 0) {
                    sums[2 * c] = found[0];
                    sums[2 * c + 1] = found[1];
                }
            });
        }
    }
}

// Add the values of leaves to the raw predictions of their rows. IN values : [n_nodes]; INOUT raw : those of the tree begin at
// first_raw
DF_KERNEL df_boost_move_on(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const double *values, double *raw,
                           int64_t first_raw, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            group.each([&](int64_t item) {
                for (int64_t i = chunk.first + item; i < chunk.first + chunk.n; i += group.n_items)
                    raw[first_raw + rows[i]] += values[chunk.node];
            });
        }
    }
}

#endif
