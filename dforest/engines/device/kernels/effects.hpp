// The kernels by which large nodes find the effects of treatments (rules/effects.h), as they are started.
#ifndef DFOREST_KERNELS_EFFECTS_HPP
#define DFOREST_KERNELS_EFFECTS_HPP

#include "target.hpp"

// The columns of effects (rules/effects.h) as targets. OUT extents : [n_chunks, n_outputs, 2] lowest and highest
DF_KERNEL df_find_column_extents(const df_record *records, const df_chunk *chunks, int64_t n_chunks, const df_problem *problem,
                                 const double *y, const double *effects, double *extents, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const df_problem *p = problem;
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const df_record *own = records + chunk.first;
            const df_targets targets = df_targets_of(p, y, 0, effects, chunk.node);
            for (int64_t o = 0; o < p->n_outputs; o++) {
                const auto column = [&](int64_t i) { return df_exact_target(p, &targets, own[i].row, o); };
                const auto opposite = [&](int64_t i) { return -column(i); };
                const double lo = df_lowest_over(group, 0, chunk.n, column(0), column);
                const double hi = -df_lowest_over(group, 0, chunk.n, opposite(0), opposite);
                df_once(group, [&] {
                    extents[2 * (c * p->n_outputs + o)] = lo;
                    extents[2 * (c * p->n_outputs + o) + 1] = hi;
                });
            }
        }
    }
}

// What effects follow from, given the scales of what is read of the nodes' draws: exact sums in two words, the upper one first.
//
// OUT sums : [n_chunks, 1 + n_read + n_treatments * n_read, 2] of the draws' weight; of weight times integer; and of weight times
// instrument times integer
DF_KERNEL df_add_moments(const df_record *records, const df_chunk *chunks, int64_t n_chunks, const df_problem *problem,
                         const double *y, const double *effects, int64_t *sums, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        const df_effect_rules *rules = &problem->effects;
        const int64_t n_read = df_effect_read(rules), stride = df_effect_moments(rules);
        const int64_t first = df_effect_first_instrument(rules), n = 1 + n_read * (1 + rules->n_treatments);
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const df_record *own = records + chunk.first;
            const double *node = effects + chunk.node * df_effect_words(rules);
            const auto integer = [&](int64_t i, int64_t of) {
                return (int64_t) df_effect_integer(node, of, y[(int64_t) own[i].row * stride + of]);
            };
            for (int64_t at = 0; at < n; at++) {
                const int64_t k = (at - 1) / n_read - 1, of = (at - 1) % n_read;
                const df_big sum = group.exact_sum([&](int64_t item) {
                    df_exact_sum all = {0, 0};
                    for (int64_t i = item; i < chunk.n; i += group.n_items) {
                        const int64_t weight = (int64_t) own[i].count * own[i].weight;
                        const int64_t by = at == 0 ? 1 : k < 0 ? integer(i, of) : integer(i, first + k) * integer(i, of);
                        df_add_product(&all, weight, by);
                    }
                    return all;
                });
                df_once(group, [&] {
                    sums[2 * (c * n + at)] = df_big_high(sum);
                    sums[2 * (c * n + at) + 1] = (int64_t) df_big_low(sum);
                });
            }
        }
    }
}

#endif
