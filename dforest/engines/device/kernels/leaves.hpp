// What leaves keep, as node_decision.pyx has it: draws and class weights; or draws, weight, a value for each output, impurity.
#ifndef DFOREST_KERNELS_LEAVES_HPP
#define DFOREST_KERNELS_LEAVES_HPP

#include "subtree.hpp"

enum { DF_FEW_CLASSES = 4 };   // a pass over the draws for each, as all items would wait to add to the same few words

// Draws need not have the node's targets and weights, only its rows. Exact weights are kept by a shift of the leaf's own. Of classes
// it may be given, as a leaf has draws of other shards too: their weights are then left in two parts, words[1 + k] and high[k].
//
// IN given_shift : of fine integers, or NULL
// OUT words : [n_words - 1] classes; [3 + df_numbers_of_row] otherwise, where the impurity of effects is 0
// OUT high : [n_words - 2] scratch, of classes with exact weights
template <class Group>
DF_INLINE void df_leaf_words_of(const Group &group, const df_fit *fit, const df_grown *grown, const int32_t *given_shift,
                                int64_t *words, int64_t *high)
{
    const df_problem *p = fit->problem;
    const df_record *records = fit->records + grown->first;
    const int64_t n = grown->n;
    const double *exact = n > 0 && fit->exact_weight && grown->first_weight >= 0 ? fit->exact_weight + grown->first_weight : 0;
    const auto sum_of = [&](auto of) { return df_sum_over(group, 0, n, of); };
    const int32_t shift = given_shift ? *given_shift : exact ? df_fine_shift(df_max_weight(group, records, n, exact)) : 0;
    const df_quantiser fine = df_weight_quantiser_of(shift), of_node = df_weight_quantiser_of(grown->weight_shift);
    const auto fine_weight = [&](int64_t i) { return df_shifted_exact(&fine, exact[records[i].row]); };
    const auto weight_in_node = [&](int64_t i) {
        return (int64_t) (exact ? df_node_weight(&of_node, exact[records[i].row]) : records[i].weight);
    };
    const df_output *outputs = fit->outputs;
    if (df_has_classes(p) && !df_has_outputs(p) && !high && p->n_words - 2 <= DF_FEW_CLASSES && group.n_items > 1) {
        for (int64_t k = 0; k < p->n_words - 1; k++) {
            const int64_t sum = sum_of([&](int64_t i) {
                if (k == 0)
                    return (int64_t) records[i].count;
                return records[i].target == k - 1 ? (int64_t) records[i].count * records[i].weight : 0;
            });
            df_once(group, [&] { words[k] = sum; });
        }
        return;
    }
    if (df_has_classes(p)) {
        // By the class of each output. use(class weight's place among all)
        const auto each_class = [&](int64_t i, auto use) {
            if (!df_has_outputs(p))
                return use((int64_t) records[i].target);
            for (int64_t o = 0; o < p->n_outputs; o++)
                use(outputs[o].first - DF_OUTPUT_WORDS + (int64_t) fit->y[records[i].row * p->n_outputs + o]);
        };
        df_for(group, 0, p->n_words - 1, [&](int64_t k) { words[k] = 0; });
        df_for(group, 0, high ? p->n_words - 2 : 0, [&](int64_t k) { high[k] = 0; });
        df_for(group, 0, n, [&](int64_t i) {
            df_add_shared(group, words, records[i].count);
            const df_weight_parts parts = exact ? df_parts_of(fine_weight(i), records[i].count)
                                                : df_weight_parts{(int64_t) records[i].count * records[i].weight, 0};
            each_class(i, [&](int64_t k) {
                df_add_shared(group, words + 1 + k, parts.low);
                if (exact)
                    df_add_shared(group, high + k, parts.high);
            });
        });
        if (!exact || given_shift)
            return;
        df_once(group, [&] {
            const int64_t n_draws = words[0];
            for (int64_t o = 0; o < p->n_outputs; o++) {
                const int64_t first = df_has_outputs(p) ? outputs[o].first - DF_OUTPUT_WORDS : 0;
                const int64_t n_classes = df_has_outputs(p) ? outputs[o].n_words : p->n_words - 2;
                words[0] = df_finalize_weights(n_draws, shift, words + 1 + first, high + first, n_classes, words + 1 + first);
            }
        });
        return;
    }
    const int64_t n_values = df_numbers_of_row(p);
    if (n == 0) // draws of other shards
        return df_for(group, 0, 3 + n_values, [&](int64_t k) { words[k] = 0; });
    int64_t total[4] = {0, 0, 0, 0};
    total[0] = sum_of([&](int64_t i) { return (int64_t) records[i].count; });
    total[1] = sum_of([&](int64_t i) { return records[i].count * weight_in_node(i); });
    df_weight_parts weight = {total[1], 0};
    if (exact) {
        weight.low = sum_of([&](int64_t i) { return df_parts_of(fine_weight(i), records[i].count).low; });
        weight.high = sum_of([&](int64_t i) { return df_parts_of(fine_weight(i), records[i].count).high; });
    }
    const df_quantiser of_median = df_weight_quantiser_of(df_median_shift(shift, total[0]));
    const auto median_weight = [&](int64_t i) {
        return records[i].count * (exact ? df_shifted_exact(&of_median, exact[records[i].row]) : (int64_t) records[i].weight);
    };
    double impurity = 0.0;
    for (int64_t o = 0; o < n_values; o++) {
        const double *y = fit->y + o;
        const int64_t stride = n_values;
        const double lo = df_lowest_y(group, records, n, y, stride, 1.0), hi = -df_lowest_y(group, records, n, y, stride, -1.0);
        double value;
        if (df_has_medians(p))
            value = df_leaf_median(group, n, lo, hi, [&](int64_t i) { return y[records[i].row * stride]; }, median_weight);
        else
            value = df_leaf_value(
                group, records, n, y, stride, [&](int64_t i) { return exact ? fine_weight(i) : (int64_t) records[i].weight; },
                exact ? df_parts_value(weight) : (double) total[1], exact ? df_offset_bits(total[0]) : DF_LEAF_BITS, lo, hi);
        value = df_clip(value, grown->lower, grown->upper);
        df_once(group, [&] { memcpy(words + 2 + o, &value, sizeof value); });
        if (lo == hi || df_has_effects(p)) // then there may be no scale
            continue;
        df_output own;
        df_scale_output(&own, p->criterion, lo, hi);
        if (!df_has_outputs(p)) {
            own.scale = df_quantiser_of(grown->scale.centre, grown->scale.exponent);
            own.exponent = grown->scale.exponent;
        }
        const auto target = [&](int64_t i) { return df_quantised(&own.scale, y[records[i].row * stride]); };
        if (p->is_wide) {
            total[2] = sum_of([&](int64_t i) { return df_low_part(weight_in_node(i) * target(i)) * records[i].count; });
            total[3] = sum_of([&](int64_t i) { return df_high_part(weight_in_node(i) * target(i)) * records[i].count; });
        } else
            total[2] = sum_of([&](int64_t i) { return records[i].count * weight_in_node(i) * target(i); });
        df_measure_numbers(p, total, own.scale.centre, own.exponent, &own.measure);
        impurity += df_number_impurity(group, p, own.measure, own.exponent, total[1], n, target,
                                       [&](int64_t i) { return records[i].count * weight_in_node(i); });
    }
    impurity = impurity / (double) n_values;
    df_once(group, [&] {
        words[0] = total[0];
        words[1] = total[1];
        if (exact)
            words[0] = df_finalize_weights(total[0], shift, &weight.low, &weight.high, 1, words + 1);
        memcpy(words + 2 + n_values, &impurity, sizeof impurity);
    });
}

#endif
