// Leaves of boosted trees that are no Newton steps: weighted quantiles of residuals, byte by byte, and robust means.
//
// A residual is a row's target less its raw prediction, or, where `is_absolute` says so, the magnitude of that. It is looked at
// as its key (ordered_keys.h), of eight bytes, the most significant one first. Weights are integers, as weights.h has them: a
// node of light rows has a shift.
#ifndef DFOREST_KERNELS_BOOST_LEAVES_HPP
#define DFOREST_KERNELS_BOOST_LEAVES_HPP

#include "group.hpp"
#include "rules/boost.h"
#include "rules/losses.h"
#include "rules/ordered_keys.h"
#include "rules/weights.h"

enum { DF_BYTE_VALUES = 256 };

// first : where targets and raw predictions of the output begin, whose baseline is given
DF_INLINE double df_residual(const double *y, const double *raw, double baseline, int64_t first, int64_t is_absolute, int64_t row)
{
    const double residual = y[first + row] - (raw[first + row] + baseline);
    return is_absolute ? fabs(residual) : residual;
}

// IN integer_weight, exact_weight : [n_rows] or NULL; the former: all weights are 1; shift : of the node
DF_INLINE int64_t df_weight_in_node(const uint32_t *integer_weight, const double *exact_weight, int32_t shift, int64_t row)
{
    if (shift != 0) {
        const df_quantiser weight_quantiser = df_weight_quantiser_of(shift);
        return df_node_weight(&weight_quantiser, exact_weight[row]);
    }
    return integer_weight ? integer_weight[row] : 1;
}

// The max_weight exact weight of each chunk. OUT max_weight : [n_chunks]
DF_KERNEL df_boost_find_max_weights(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const double *exact_weight,
                                    double *max_weight, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const double found = df_highest_over(group, chunk.first, chunk.first + chunk.n, 0.0,
                                                 [&](int64_t i) { return exact_weight[rows[i]]; });
            df_once(group, [&] { max_weight[c] = found; });
        }
    }
}

// The weight of each value of a byte in nodes, among rows whose bytes before it are those of the node's key.
//
// IN first : of the output, as of df_residual; which : the byte, from 0; keys, shifts : [n_nodes]
// INOUT totals : [n_nodes, DF_BYTE_VALUES]
// Memory of the group: DF_BYTE_VALUES sums
DF_KERNEL df_boost_weigh_bytes(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const double *y, const double *raw,
                                const double *baseline, int64_t output, int64_t first, int64_t is_absolute, int64_t which, const uint64_t *keys,
                                const uint32_t *integer_weight, const double *exact_weight, const int32_t *shifts, int64_t *totals,
                                char *memory, int64_t n_bytes, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        int64_t *sums = (int64_t *) df_memory(group, memory, n_bytes);
        const int64_t shift = 64 - 8 * which;
        df_clear(group, (uint32_t *) sums, 2 * DF_BYTE_VALUES);
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            df_for(group, chunk.first, chunk.first + chunk.n, [&](int64_t i) {
                const int64_t row = rows[i];
                const uint64_t key = df_ordered_key64(df_residual(y, raw, baseline[output], first, is_absolute, row));
                if (which == 0 || key >> shift == keys[chunk.node] >> shift)
                    df_add_shared(group, sums + (key >> (shift - 8) & (DF_BYTE_VALUES - 1)),
                                  df_weight_in_node(integer_weight, exact_weight, shifts[chunk.node], row));
            });
            group.each([&](int64_t item) {
                for (int64_t i = item; i < DF_BYTE_VALUES; i += group.n_items)
                    if (sums[i]) {
                        df_add_anywhere((uint64_t *) totals + chunk.node * DF_BYTE_VALUES + i, (uint64_t) sums[i]);
                        sums[i] = 0;
                    }
            });
        }
    }
}

// The least key above the key of its node that a row of each chunk has. OUT next : [n_chunks]; the greatest number: there is none
DF_KERNEL df_boost_find_next_key(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const double *y, const double *raw,
                                 const double *baseline, int64_t output, int64_t first, int64_t is_absolute, const uint64_t *keys, uint64_t *next, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            const uint64_t none = ~(uint64_t) 0;
            const uint64_t found = df_lowest_over(group, chunk.first, chunk.first + chunk.n, none, [&](int64_t i) {
                const uint64_t key = df_ordered_key64(df_residual(y, raw, baseline[output], first, is_absolute, rows[i]));
                return key > keys[chunk.node] ? key : none;
            });
            df_once(group, [&] { next[c] = found; });
        }
    }
}

// Sums for robust means (boost.h), of quantised terms times weights: their lower 31 bits, the rest, and the weights.
//
// IN first : of the output, as of df_residual; medians, shifts : [n_nodes]; parameters : [2] of the loss, and 2 to the power of the
// exponent of terms; OUT sums : [n_chunks, 3]
DF_KERNEL df_boost_sum_terms(const uint32_t *rows, const df_chunk *chunks, int64_t n_chunks, const double *y, const double *raw,
                             const double *baseline, int64_t output, int64_t first, int64_t is_absolute, int64_t loss,
                             const double *medians, const double *parameters, const uint32_t *integer_weight,
                             const double *exact_weight, const int32_t *shifts, int64_t *sums, DF_LOCAL)
{
    DF_EACH_GROUP(group)
    {
        for (int64_t c = group.number; c < n_chunks; c += group.n_groups) {
            const df_chunk chunk = chunks[c];
            int64_t found[3];
            for (int64_t j = 0; j < 3; j++)
                found[j] = df_sum_over(group, chunk.first, chunk.first + chunk.n, [&](int64_t i) {
                    const int64_t row = rows[i], weight = df_weight_in_node(integer_weight, exact_weight, shifts[chunk.node], row);
                    const double residual = df_residual(y, raw, baseline[output], first, is_absolute, row);
                    const double term = df_robust_term((int) loss, residual, medians[chunk.node], parameters[0]);
                    const int64_t product = weight * df_quantised_gradient(term, parameters[1]);
                    return j == 2 ? weight : j == 1 ? product >> 31 : product & 0x7FFFFFFF;
                });
            df_once(group, [&] {
                for (int64_t j = 0; j < 3; j++)
                    sums[3 * c + j] = found[j];
            });
        }
    }
}

#endif
