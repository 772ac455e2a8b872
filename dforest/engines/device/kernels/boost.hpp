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
// IN raw : [n_sums, n_rows] sums of leaf values; baseline : [n_sums]; weight : [n_rows] or NULL; parameter : [n_sums] of the loss
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
        df_for(group, begin, end, [&](int64_t i) {
            const double w = weight ? weight[i] : 1.0;
            for (int64_t k = 0; k < n_sums && loss != DF_MULTINOMIAL_LOSS; k++) {
                const int64_t at = k * n_rows + i;
                const df_derivatives d = df_derivatives_of_loss((int) loss, raw[at] + baseline[k], y[at], parameter[k]);
                gradient[at] = d.gradient * w;
                if (hessian)
                    hessian[at] = d.hessian * w;
            }
            if (loss != DF_MULTINOMIAL_LOSS)
                return;
            for (int64_t k = 0; k < n_sums; k++)
                gradient[k * n_rows + i] = raw[k * n_rows + i] + baseline[k];
            df_multinomial_derivatives(gradient + i, (int64_t) y[i], gradient + i, hessian + i, n_rows, n_sums);
            for (int64_t k = 0; k < n_sums; k++) {
                gradient[k * n_rows + i] *= w;
                hessian[k * n_rows + i] *= w;
            }
        });
        for (int64_t k = 0; k < n_sums; k++) {
            double found[2] = {0.0, 0.0};
            for (int j = 0; j < (hessian ? 2 : 1); j++) {
                const double *of = (j ? hessian : gradient) + k * n_rows;
                found[j] = df_highest_over(group, begin, end, 0.0,
                                           [&](int64_t i) { return drawn && !drawn[i] ? 0.0 : df_magnitude(of[i]); });
            }
            df_once(group, [&] {
                largest[2 * (group.number * n_sums + k)] = found[0];
                largest[2 * (group.number * n_sums + k) + 1] = found[1];
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
                const auto magnitude = [&](int64_t i) { return (int64_t) (to[i * per] < 0 ? -to[i * per] : to[i * per]); };
                df_for(group, begin, end, [&](int64_t i) {
                    to[i * per] = drawn && !drawn[i] ? 0
                                  : j && is_weighted ? df_quantised_hessian(of[i], factor)
                                                     : df_quantised_gradient(of[i], factor);
                });
                found[j] = df_highest_over(group, begin, end, (int64_t) 0, magnitude);
                found[2 + j] = df_sum_over(group, begin, end, [&](int64_t i) { return magnitude(i) * (times ? times[i] : 1); });
            }
            df_once(group, [&] {
                for (int j = 0; j < 4; j++)
                    extents[4 * (group.number * n_sums + k) + j] = found[j];
            });
        }
    }
}

// The heaviest of the rows of each chunk, and their largest derivatives, in magnitude; 0 of what is NULL. IN gradient, hessian : of a
// tree, from `first` on; weight, hessian : may be NULL; OUT largest : [n_chunks, 3] weight, gradient, hessian
DF_KERNEL df_boost_find_largest(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const double *weight,
                                const double *gradient, const double *hessian, int64_t first, double *largest, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const double *all[3] = {weight, gradient + first, hessian ? hessian + first : 0};
            double found[3];
            for (int64_t j = 0; j < 3; j++)
                found[j] = df_highest_over(group, chunk.first, chunk.first + chunk.n, 0.0,
                                           [&](int64_t i) { return all[j] ? df_magnitude(all[j][rows[i]]) : 0.0; });
            df_once(group, [&] {
                for (int64_t j = 0; j < 3; j++)
                    largest[3 * c + j] = found[j];
            });
        }
    }
}

// Make the integers of the rows of chunks anew, by the factors of their nodes. IN hessian : NULL: rows have none; factors : [n_nodes, 2]; INOUT quantised : those of
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
            df_for(group, chunk.first, chunk.first + chunk.n, [&](int64_t i) {
                const int64_t row = rows[i];
                int32_t *to = quantised + first_quantised + (hessian ? 2 : 1) * row;
                to[0] = df_quantised_gradient(gradient[first + row], factor[0]);
                if (hessian)
                    to[1] = df_quantised_hessian(hessian[first + row], factor[1]);
            });
        }
    }
}

// The order of rows in which a tree begins. OUT rows : [n_rows]
DF_KERNEL df_number_rows(int64_t n_rows, uint32_t *rows, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        df_for_all(group, n_rows, [&](int64_t i) { rows[i] = (uint32_t) i; });
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
    df_for(group, 0, n, [&](int64_t i) {
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
            df_for(group, chunk.first, chunk.first + chunk.n, [&](int64_t i) {
                const int64_t row = rows[i];
                uint64_t word, second = 0;
                df_row_words((int) kind, times != 0, quantised + first_quantised, times, (size_t) row, &word, &second);
                const df_boost_sums own = df_sums_of(form, word, second);
                for (int64_t at = from_node[chunk.node]; at < from_node[chunk.node + 1]; at++) {
                    const int code = df_boost_code(codes + row * row_codes + places[at], true);
                    df_boost_add_anywhere(histograms + 3 * (first_entry + entries[at] + code), own);
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
    const int64_t of_node = n_outputs * n_numbers;
    df_for_all(group, n_nodes * of_node, [&](int64_t at) {
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
            const int64_t n = df_sum_over(group, chunk.first, chunk.first + chunk.n, [&](int64_t i) {
                const int code = df_boost_code(own + (int64_t) rows[i] * row_codes, is_wide);
                return sides[i] = (uint8_t) df_boost_goes_left(cut, subset, code, missing);
            });
            df_once(group, [&] { n_left[c] = n; });
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
                found[j] = df_sum_over(group, chunk.first, chunk.first + chunk.n, [&](int64_t i) {
                    const int64_t row = rows[i];
                    return (int64_t) (j < per ? quantised[first_quantised + row * per + j] : 1) * (times ? times[row] : 1);
                });
            df_once(group, [&] {
                sums[2 * c] = found[0];
                sums[2 * c + 1] = found[1];
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
            df_for(group, chunk.first, chunk.first + chunk.n, [&](int64_t i) { raw[first_raw + rows[i]] += values[chunk.node]; });
        }
    }
}

#endif
