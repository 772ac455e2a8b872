// What a target is to the kernels: classes, or numbers; of one output, or of several. What differs between these stands here, and
// in leaves.hpp: the entries of histograms, sums of records, scores, impurities, the extents of targets by which nodes choose
// scales, and which nodes are pure. criterion.pyx, regression.pyx and outputs.pyx are the same on the processor.
//
// The target of one output is in a draw's record. Those of several outputs, numbers or classes, follow from exact ones each time
// they are added up, by the scales of the node's outputs (rules/outputs.h).
//
// An entry of a histogram consists of *planes* of 32 bits, so that draws are added by atomics that every device has. A count
// takes a plane; a word of more bits is cut into limbs of `limb_bits`, the highest with its sign, each in a plane of its own. As
// a chunk has at most 2^(32 - limb_bits) records, no plane overflows.
//
//     classes, weights 1:   the count of each class
//     classes:              the count; the weight of each class, in weight_limbs
//     sums:                 the count; the weight, in weight_limbs (unless they are 1); the sum, in sum_limbs; if it is
//                           wide, its higher word, in as many limbs
//     several outputs:      the count; the weight, in weight_limbs (unless they are 1); the words of all outputs, each in
//                           weight_limbs, of classes, or sum_limbs
//
// Where groups have one item, which needs no atomics, a word of more bits and the count before it are limbs of 64 bits, of two
// planes each.
//
// Planes are 0 between uses: whoever takes an entry sets it to 0.
#ifndef DFOREST_KERNELS_TARGET_HPP
#define DFOREST_KERNELS_TARGET_HPP

#include "rules/categories.h"
#include "rules/criteria.h"
#include "rules/effects.h"
#include "rules/ordered_keys.h"
#include "rules/medians.h"
#include "rules/node.h"
#include "rules/outputs.h"
#include "rules/records.h"
#include "rules/weights.h"

DF_INLINE bool df_has_classes(const df_problem *p) { return p->criterion < DF_SQUARED_ERROR; }
DF_INLINE bool df_has_effects(const df_problem *p) { return p->effects.n_treatments > 0; }
DF_INLINE bool df_has_outputs(const df_problem *p) { return p->n_outputs > 1 || df_has_effects(p); }

// The numbers of a row of y: its exact targets, or the moments from which those of effects follow.
DF_INLINE int64_t df_numbers_of_row(const df_problem *p)
{
    return df_has_effects(p) ? df_effect_moments(&p->effects) : p->n_outputs;
}

// Whether cuts are scored by medians, which sums over draws do not tell: see medians.hpp.
DF_INLINE bool df_has_medians(const df_problem *p) { return p->criterion == DF_ABSOLUTE_ERROR; }

// The targets of a node's draws, of several outputs; of one output, nothing is read.
typedef struct {
    const double *y;           // [n_rows, df_numbers_of_row] exact targets, or class numbers; or moments
    const df_output *outputs;  // [n_outputs] of the node
    const double *effects;     // what is known of those in the node (rules/effects.h); NULL: there are none
} df_targets;

#ifdef DF_ONE_ITEM

enum { DF_COUNT_PLANES = 2 };

DF_INLINE int64_t df_word_at(const uint32_t *plane)
{
    int64_t x;
    memcpy(&x, plane, sizeof x);
    return x;
}

DF_INLINE void df_add_word(uint32_t *plane, int64_t x)
{
    x = (int64_t) ((uint64_t) df_word_at(plane) + (uint64_t) x);
    memcpy(plane, &x, sizeof x);
}

DF_INLINE void df_add_count(const df_group &, uint32_t *plane, uint32_t count) { df_add_word(plane, count); }
DF_INLINE int64_t df_count_at(const uint32_t *plane) { return df_word_at(plane); }
DF_INLINE void df_add_limbs(const df_group &, const df_problem *, uint32_t *plane, int64_t, int64_t x) { df_add_word(plane, x); }
DF_INLINE int64_t df_join_limbs(const df_problem *, const uint32_t *plane, int64_t) { return df_word_at(plane); }

#else

enum { DF_COUNT_PLANES = 1 };

DF_INLINE void df_add_count(const df_group &group, uint32_t *plane, uint32_t count) { df_add(group, plane, count); }
DF_INLINE int64_t df_count_at(const uint32_t *plane) { return *plane; }

DF_INLINE void df_add_limbs(const df_group &group, const df_problem *p, uint32_t *plane, int64_t limbs, int64_t x)
{
    const int64_t bits = p->limb_bits, mask = ((int64_t) 1 << bits) - 1;
    for (int64_t j = 1; j < limbs; j++) {
        df_add(group, plane++, (uint32_t) (x & mask));
        x >>= bits;
    }
    df_add(group, plane, (uint32_t) x);
}

DF_INLINE int64_t df_join_limbs(const df_problem *p, const uint32_t *plane, int64_t limbs)
{
    const int64_t bits = p->limb_bits;
    uint64_t x = 0;
    for (int64_t j = 0; j < limbs; j++)
        x += (uint64_t) (j + 1 < limbs ? (int64_t) plane[j] : (int64_t) (int32_t) plane[j]) << (bits * j);
    return (int64_t) x;
}

#endif

// The targets of the draws of one of some nodes. IN outputs : [n_nodes, n_outputs], or NULL; effects : of each node, or NULL
DF_INLINE df_targets df_targets_of(const df_problem *p, const double *y, const df_output *outputs, const double *effects,
                                   int64_t node)
{
    const df_targets targets = {y, outputs + (outputs ? node * p->n_outputs : 0),
                                effects + (effects ? node * df_effect_words(&p->effects) : 0)};
    return targets;
}

// An exact target of a row, or its class number, of one of several outputs.
DF_INLINE double df_exact_target(const df_problem *p, const df_targets *targets, int64_t row, int64_t output)
{
    const double *y = targets->y + row * df_numbers_of_row(p);
    if (!df_has_effects(p))
        return y[output];
    return targets->effects ? df_effect_column(&p->effects, targets->effects, y, output) : 0.0; // where weights alone are of use
}

// The integer target of a record, of an output of numbers.
DF_INLINE int32_t df_target_at(const df_problem *p, const df_record *record, const df_targets *targets, int64_t output)
{
    if (!df_has_outputs(p))
        return record->target;
    return df_quantised(&targets->outputs[output].scale, df_exact_target(p, targets, record->row, output));
}

// A number that the compiler knows.
template <int number> struct df_number {
    static constexpr int value = number;
};

enum df_planes_kind { DF_UNIT_CLASSES, DF_WEIGHTED_CLASSES, DF_SUMS, DF_UNIT_SUMS }; // the last one: weights 1, not wide

template <int kind> DF_INLINE void df_add_draw(const df_group &group, const df_problem *p, uint32_t *entry, const df_record *record)
{
    if (kind == DF_UNIT_CLASSES) {
        df_add(group, entry + record->target, record->count);
        return;
    }
    df_add_count(group, entry, record->count);
    entry += DF_COUNT_PLANES;
    if (kind == DF_WEIGHTED_CLASSES) {
        df_add_limbs(group, p, entry + record->target * p->weight_limbs, p->weight_limbs,
                      (int64_t) record->count * record->weight);
        return;
    }
    if (kind != DF_UNIT_SUMS && !p->is_unit) {
        df_add_limbs(group, p, entry, p->weight_limbs, (int64_t) record->count * record->weight);
        entry += p->weight_limbs;
    }
    const int64_t product = (kind == DF_UNIT_SUMS ? (int64_t) 1 : (int64_t) record->weight) * record->target;
    if (kind == DF_UNIT_SUMS || !p->is_wide) {
        df_add_limbs(group, p, entry, p->sum_limbs, product * record->count);
        return;
    }
    df_add_limbs(group, p, entry, p->sum_limbs, df_low_part(product) * record->count);
    df_add_limbs(group, p, entry + p->sum_limbs, p->sum_limbs, df_high_part(product) * record->count);
}

// What a record's draws add to the words of one of several outputs: `low` to the planes from `at` on, and if sums have two words,
// `high` to as many behind these.
struct df_addend {
    int64_t at, limbs, low, high;
    bool is_wide;
    void add(const df_group &group, const df_problem *p, uint32_t *entry) const
    {
        df_add_limbs(group, p, entry + at, limbs, low);
        if (is_wide)
            df_add_limbs(group, p, entry + at + limbs, limbs, high);
    }
};

// The planes of an entry before those of several outputs.
DF_INLINE int64_t df_size_planes(const df_problem *p) { return DF_COUNT_PLANES + (p->is_unit ? 0 : p->weight_limbs); }

DF_INLINE void df_add_size(const df_group &group, const df_problem *p, uint32_t *entry, const df_record *record)
{
    df_add_count(group, entry, record->count);
    if (!p->is_unit)
        df_add_limbs(group, p, entry + DF_COUNT_PLANES, p->weight_limbs, (int64_t) record->count * record->weight);
}

// IN y : the exact target, or the class number
DF_INLINE df_addend df_addend_of(const df_problem *p, const df_output *output, double y, const df_record *record)
{
    const int64_t first = output->first - DF_OUTPUT_WORDS, before = df_size_planes(p);
    if (df_has_classes(p)) {
        const int64_t at = before + (first + (int64_t) y) * p->weight_limbs;
        return {at, p->weight_limbs, (int64_t) record->count * record->weight, 0, false};
    }
    const int64_t product = (int64_t) record->weight * df_quantised(&output->scale, y), at = before + first * p->sum_limbs;
    if (!p->is_wide)
        return {at, p->sum_limbs, product * record->count, 0, false};
    return {at, p->sum_limbs, df_low_part(product) * record->count, df_high_part(product) * record->count, true};
}

DF_INLINE bool df_read_outputs(const df_problem *p, const uint32_t *entry, int64_t *words)
{
    const int64_t limbs = df_has_classes(p) ? p->weight_limbs : p->sum_limbs;
    words[0] = df_count_at(entry);
    if (words[0] == 0)
        return false;
    words[1] = p->is_unit ? words[0] : df_join_limbs(p, entry + DF_COUNT_PLANES, p->weight_limbs);
    entry += df_size_planes(p);
    for (int64_t k = DF_OUTPUT_WORDS; k < p->n_words; k++, entry += limbs)
        words[k] = df_join_limbs(p, entry, limbs);
    return true;
}

// The words of an entry's statistic; whether it has draws. n_words: 0 if not known, or if there are several outputs.
template <int n_words> DF_INLINE bool df_read_entry(const df_problem *p, const uint32_t *entry, int64_t *words)
{
    const int64_t last = n_words ? n_words : p->n_words;
    if (!n_words && df_has_outputs(p))
        return df_read_outputs(p, entry, words);
    if (df_has_classes(p) && p->is_unit) {
        int64_t n = 0;
        for (int64_t k = 2; k < last; k++) {
            words[k] = entry[k - 2];
            n += words[k];
        }
        words[0] = words[1] = n;
        return n > 0;
    }
    words[0] = df_count_at(entry);
    if (words[0] == 0)
        return false;
    entry += DF_COUNT_PLANES;
    if (df_has_classes(p)) {
        words[1] = 0;
        for (int64_t k = 2; k < last; k++) {
            words[k] = df_join_limbs(p, entry, p->weight_limbs);
            words[1] += words[k];
            entry += p->weight_limbs;
        }
        return true;
    }
    words[1] = words[0];
    if (!p->is_unit) {
        words[1] = df_join_limbs(p, entry, p->weight_limbs);
        entry += p->weight_limbs;
    }
    words[2] = df_join_limbs(p, entry, p->sum_limbs);
    if (p->is_wide && last > 3)
        words[3] = df_join_limbs(p, entry + p->sum_limbs, p->sum_limbs);
    return true;
}

DF_INLINE void df_clear_entry(const df_problem *p, uint32_t *entry)
{
    for (int64_t k = 0; k < p->n_planes; k++)
        entry[k] = 0;
}

// use(kind, n_planes), numbers that the compiler knows; n_planes 0: of the problem
template <class Use> DF_INLINE void df_with_kind(const df_problem *p, Use use)
{
    const df_number<0> any;
    const bool has_classes = df_has_classes(p);
#ifdef DF_ONE_ITEM // the commonest cases; elsewhere they would take their time to compile
    if (!has_classes && p->n_planes == 4)
        return use(df_number<DF_UNIT_SUMS>(), df_number<4>());
    if (has_classes && !p->is_unit && p->n_planes == 6)
        return use(df_number<DF_WEIGHTED_CLASSES>(), df_number<6>());
    if (has_classes && p->is_unit && p->n_planes == 2)
        return use(df_number<DF_UNIT_CLASSES>(), df_number<2>());
#endif
    if (!has_classes)
        use(df_number<DF_SUMS>(), any);
    else if (p->is_unit)
        use(df_number<DF_UNIT_CLASSES>(), any);
    else
        use(df_number<DF_WEIGHTED_CLASSES>(), any);
}

DF_CALLED void df_add_up_outputs(const df_group &group, const df_problem *p, const df_record *records, int64_t n,
                                 const df_targets *targets, uint32_t *entry)
{
    df_for(group, 0, n, [&](int64_t i) {
        df_add_size(group, p, entry, records + i);
        for (int64_t o = 0; o < p->n_outputs; o++) {
            const double y = df_exact_target(p, targets, records[i].row, o);
            df_addend_of(p, targets->outputs + o, y, records + i).add(group, p, entry);
        }
    });
}

// Add up some draws in an entry.
DF_INLINE void df_add_up(const df_group &group, const df_problem *p, const df_record *records, int64_t n,
                         const df_targets *targets, uint32_t *entry)
{
    if (df_has_outputs(p))
        return df_add_up_outputs(group, p, records, n, targets, entry);
#ifdef DF_ONE_ITEM
    if (!df_has_classes(p)) { // in registers
        int64_t sum[4] = {0, 0, 0, 0};
        if (p->is_wide)
            for (int64_t i = 0; i < n; i++)
                df_add_draws(DF_TARGET_SUM_WIDE, sum, records + i);
        else
            for (int64_t i = 0; i < n; i++)
                df_add_draws(DF_TARGET_SUM, sum, records + i);
        const int64_t skipped = p->is_unit ? 1 : -1; // its weights are its counts
        for (int64_t k = 0; k < p->n_words; k++)
            if (k != skipped) {
                df_add_word(entry, sum[k]);
                entry += 2;
            }
        return;
    }
#endif
    if (!df_has_classes(p))
        df_for(group, 0, n, [&](int64_t i) { df_add_draw<DF_SUMS>(group, p, entry, records + i); });
    else if (!p->is_unit)
        df_for(group, 0, n, [&](int64_t i) { df_add_draw<DF_WEIGHTED_CLASSES>(group, p, entry, records + i); });
    else if (p->n_planes > 2)
        df_for(group, 0, n, [&](int64_t i) { df_add_draw<DF_UNIT_CLASSES>(group, p, entry, records + i); });
    else // without waiting for memory
        group.each([&](int64_t item) {
            uint32_t all = 0, second = 0;
            for (int64_t i = item; i < n; i += group.n_items) {
                all += records[i].count;
                second += records[i].count & (0u - (uint32_t) records[i].target);
            }
            df_add(group, entry, all - second);
            df_add(group, entry + 1, second);
        });
}

// A node while its cuts are sought.
typedef struct {
    df_open_node open_node;
    df_measure measure;
    const df_output *outputs;  // [n_outputs], measured, if there are several
    df_leaf_rules rules;
    double weight, first;      // words 1 and 2 of its statistic
    int64_t is_exact;          // products of weights are exact, as they are small; and no bounds are to be kept
} df_node;

// What cuts are scored against, with numbers of one output.
DF_INLINE void df_measure_numbers(const df_problem *p, const int64_t *total, double centre, int32_t exponent, df_measure *measure)
{
    if (p->criterion == DF_POISSON)
        df_measure_deviance(total, (int) p->is_wide, centre, exponent, measure);
    else if (!df_has_classes(p))
        df_measure_squares(total, (int) p->is_wide, measure);
}

// IN outputs : [n_outputs] of the node, measured, if there are several
DF_INLINE void df_measure_node(const df_problem *p, const int64_t *total, const df_output *outputs, df_node *node)
{
    node->outputs = outputs;
    node->rules = df_leaf_rules_of(&p->limits, node->open_node.root_weight, node->open_node.weight_shift);
    node->is_exact = total[1] <= DF_EXACT_WEIGHT && !p->is_bounded && !df_has_outputs(p);
    node->weight = (double) total[1];
    node->first = (double) total[2];
    if (!df_has_outputs(p))
        df_measure_numbers(p, total, node->open_node.scale.centre, node->open_node.scale.exponent, &node->measure);
}

// What some draws of a node predict: the probability of the second of two classes, or the mean of the targets.
DF_INLINE double df_prediction(const df_problem *p, const df_node *node, const int64_t *statistic)
{
    if (df_has_classes(p))
        return (double) statistic[3] / (double) statistic[1];
    return df_mean_target(statistic, (int) p->is_wide, node->open_node.scale.centre, node->open_node.scale.exponent);
}

// The score of a cut that may leave too few of a treatment on a side, or be penalised: -1 if it is not allowed.
DF_INLINE double df_stable_score(const df_problem *p, const df_node *node, const int64_t *left, const int64_t *total,
                                 double score)
{
    const df_effect_rules *rules = &p->effects;
    const int64_t n_scored = df_effect_scored(rules);
    const double w = (double) total[1];
    double penalty = 0.0, sums[2][DF_EFFECT_BOUNDS];
    for (int64_t k = 0; k < rules->n_treatments; k++) {
        for (int64_t i = 0; i < DF_EFFECT_BOUNDS; i++) {
            const df_output *own = node->outputs + n_scored + DF_EFFECT_BOUNDS * k + i;
            const double origin = own->scale.centre + ldexp((double) own->measure.mean, -own->exponent);
            for (int64_t side = 0; side < 2; side++) {
                int64_t part[4];
                df_output_part(own, side ? left : total, part);
                sums[side][i] = df_effect_sum((double) part[1], df_offset_sum(part[2], part[3], part[1], own->measure.mean),
                                              origin, ldexp(1.0, -own->exponent));
            }
        }
        if (!df_effect_is_stable(rules, w, (double) total[0], (double) left[1], sums[0], sums[1], &penalty))
            return -1.0;
    }
    if (penalty > 0.0) {
        score -= df_effect_penalty(rules, penalty, w / (double) total[0],
                                   df_score_exponent(p->criterion, node->open_node.scale.exponent));
        return score > 0.0 ? score : -1.0;
    }
    return score;
}

// A score that is formed as a whole, and not as a fraction: by logarithms or roots, or of several outputs.
DF_CALLED double df_plain_score(const df_problem *p, const df_node *node, const int64_t *left, const int64_t *total)
{
    if (df_has_outputs(p)) {
        const double score = df_outputs_score(node->outputs, p->n_outputs, p->criterion, (int) p->is_wide, left, total,
                                              p->n_words);
        return df_has_effects(p) && p->effects.stabilizes ? df_stable_score(p, node, left, total, score) : score;
    }
    if (df_has_classes(p))
        return df_class_score(p->criterion, left, total, 2, p->n_words);
    return df_deviance_score(left, total, (int) p->is_wide, &node->measure);
}

// The mean response of a category. IN statistic : of its draws; largest : see df_largest_class
DF_INLINE double df_mean_response(const df_problem *p, const df_node *node, const int64_t *statistic, int64_t largest)
{
    return df_has_classes(p) ? df_class_response(statistic, largest)
                             : df_target_response(statistic, (int) p->is_wide, node->measure.mean);
}

// The largest class of a node, by which responses are ordered; 0 for numbers.
DF_INLINE int64_t df_leading_response(const df_problem *p, const int64_t *total)
{
    return df_has_classes(p) ? df_largest_class(total, p->n_words) : 0;
}

// Whether the targets in records have a scale, which nodes choose.
DF_INLINE bool df_scales_records(const df_problem *p) { return !df_has_classes(p) && !df_has_outputs(p); }

// Whether all draws of a node have one target. is_equal : whether numbers are known to be equal
DF_INLINE bool df_is_pure(const df_problem *p, const int64_t *total, bool is_equal)
{
    return df_has_classes(p) ? df_has_one_class(total, p->n_words) : is_equal;
}

typedef struct {
    int32_t lowest, highest;
} df_extent;

// Of targets.
DF_INLINE df_extent df_target_extent(const df_group &group, const df_record *records, int64_t n)
{
    df_extent extent;
    const int32_t bound = INT32_MAX;
    extent.lowest = df_lowest_over(group, 0, n, bound, [&](int64_t i) { return records[i].target; });
    // -1 - x of the lowest -1 - x: nothing overflows.
    extent.highest = -1 - df_lowest_over(group, 0, n, bound, [&](int64_t i) { return -1 - records[i].target; });
    return extent;
}

// The lowest target of some draws; with sign -1 the highest, negated. IN y : exact targets, `stride` from row to row
template <class Group>
DF_CALLED double df_lowest_y(const Group &group, const df_record *records, int64_t n, const double *y, int64_t stride,
                             double sign)
{
    const auto signed_y = [&](int64_t i) { return sign * y[records[i].row * stride]; };
    return df_lowest_over(group, 0, n, signed_y(0), signed_y);
}

// The largest exact weight of some draws, one or more.
template <class Group>
DF_CALLED double df_max_weight(const Group &group, const df_record *records, int64_t n, const double *exact_weight)
{
    const auto weight = [&](int64_t i) { return exact_weight[records[i].row]; };
    return df_highest_over(group, 0, n, weight(0), weight);
}

// The median of some draws, as a key, and what is needed for the middle between two medians.
typedef struct {
    uint64_t key;
    uint64_t next;             // the least key above it, if the weight is half
    int64_t weight;            // of the draws with keys up to it
} df_median;

// The median of n draws, of some weight in total, between whose least and greatest key it is looked for: each step halves what
// lies between. `key(i)`, by which records are in order, and `weight(i)` of record i
template <class Group, class Key, class Weight>
DF_CALLED df_median df_find_median(const Group &group, int64_t n, int64_t total, Key key, Weight weight)
{
    const uint64_t all = ~(uint64_t) 0;
    const auto least_above = [&](uint64_t bound) { // or `all`
        return df_lowest_over(group, 0, n, all, [&](int64_t i) { return key(i) > bound ? key(i) : all; });
    };
    const auto greatest_up_to = [&](uint64_t bound) {
        return ~df_lowest_over(group, 0, n, all, [&](int64_t i) { return key(i) <= bound ? ~key(i) : all; });
    };
    df_median median = {greatest_up_to(all), all, total};
    for (uint64_t lowest = least_above(0); lowest < median.key;) {
        const uint64_t middle = lowest + (median.key - lowest) / 2;
        const int64_t weight_up_to = df_sum_over(group, 0, n, [&](int64_t i) { return key(i) <= middle ? weight(i) : 0; });
        const uint64_t next = least_above(middle);
        if (df_has_half(weight_up_to, total))
            median = {greatest_up_to(middle), next, weight_up_to};
        else
            lowest = next;
    }
    return median;
}

// Impurity of n draws by a criterion of numbers, for one output. `target(i)` and `weight(i)` of draw i, in the scale that the
// measure has, and by the node's shift; total : of the weights
template <class Group, class Target, class Weight>
DF_INLINE double df_number_impurity(const Group &group, const df_problem *p, const df_measure measure, int32_t target_exponent,
                                    int64_t total, int64_t n, Target target, Weight weight)
{
    const int exponent = df_score_exponent(p->criterion, target_exponent);
    if (p->criterion == DF_POISSON && measure.centre <= 0.0)
        return 0.0;
    if (df_has_medians(p)) {
        const auto key = [&](int64_t i) { return (uint64_t) df_target_sort_key(target(i)); };
        const int64_t median = df_target_of_sort_key((uint32_t) df_find_median(group, n, total, key, weight).key);
        const df_big cost = group.exact_sum([&](int64_t item) {
            df_exact_sum own = {0, 0};
            for (int64_t i = item; i < n; i += group.n_items) {
                const int64_t distance = target(i) - median;
                df_add_product(&own, weight(i), distance < 0 ? -distance : distance);
            }
            return own;
        });
        return df_deviation_impurity(&cost, total, exponent);
    }
    const df_big sum = group.exact_sum([&](int64_t item) {
        df_exact_sum own = {0, 0};
        for (int64_t i = item; i < n; i += group.n_items) {
            if (p->criterion == DF_POISSON)
                df_add_product(&own, weight(i), df_fixed_deviance(target(i), &measure));
            else
                df_add_square(&own, target(i) - measure.mean, weight(i));
        }
        return own;
    });
    return p->criterion == DF_POISSON ? df_deviance_impurity(&sum, total, exponent)
                                      : df_square_impurity(&sum, total, &measure, exponent);
}

// Impurity of a node that has its measure. IN records : [n] its draws
template <class Group>
DF_INLINE double df_node_impurity(const Group &group, const df_problem *p, const df_node *node, const int64_t *total,
                                  const df_record *records, int64_t n, const df_targets *targets)
{
    const auto weight = [&](int64_t i) { return (int64_t) records[i].count * records[i].weight; };
    if (!df_has_outputs(p) && df_has_classes(p))
        return df_class_impurity(p->criterion, total, 2, p->n_words);
    if (!df_has_outputs(p))
        return df_number_impurity(group, p, node->measure, node->open_node.scale.exponent, total[1], n,
                                  [&](int64_t i) { return records[i].target; }, weight);
    if (df_has_classes(p))
        return df_outputs_class_impurity(node->outputs, p->n_outputs, p->criterion, total);
    double sum = 0.0;
    for (int64_t o = 0; o < p->n_outputs; o++) {
        const df_output own = node->outputs[o];
        const auto target = [&](int64_t i) {
            return df_quantised(&own.scale, targets->y[records[i].row * p->n_outputs + o]);
        };
        if (!own.is_pure)
            sum += df_number_impurity(group, p, own.measure, own.exponent, total[1], n, target, weight);
    }
    return sum / (double) p->n_outputs;
}

// The mean of the exact targets of a leaf, from lo to hi: offsets from the middle, of so many bits, summed in 128 bits.
//
// IN y : as of df_lowest_y; `weight(i)` of a draw of record i; `total` of all
template <class Group, class Weight>
DF_CALLED double df_leaf_value(const Group &group, const df_record *records, int64_t n, const double *y, int64_t stride,
                               Weight weight, double total, int bits, double lo, double hi)
{
    if (lo == hi)
        return y[records[0].row * stride]; // 0 may have either sign
    double centre;
    const int32_t exponent = df_choose_scale(lo, hi, bits, &centre);
    const df_big sum = group.exact_sum([&](int64_t item) {
        df_exact_sum own = {0, 0};
        for (int64_t i = item; i < n; i += group.n_items) {
            const int64_t offset = df_leaf_offset(y[records[i].row * stride], centre, exponent);
            if (bits == DF_LEAF_BITS) // weights have fewer bits than offsets, ...
                df_add_product(&own, records[i].count * weight(i), offset);
            else // ... or more
                df_add_product(&own, weight(i), records[i].count * offset);
        }
        return own;
    });
    return df_leaf_mean(&sum, total, centre, exponent, lo, hi);
}

// The weighted median of the exact targets of a leaf, from lo to hi. `y(i)` and `weight(i)` of record i
template <class Group, class Target, class Weight>
DF_CALLED double df_leaf_median(const Group &group, int64_t n, double lo, double hi, Target y, Weight weight)
{
    if (lo == hi)
        return lo;
    const int64_t total = df_sum_over(group, 0, n, weight);
    const df_median median = df_find_median(group, n, total, [&](int64_t i) { return df_ordered_key64(y(i)); }, weight);
    return df_midpoint_of_medians(df_value64(median.key), df_value64(median.next), median.weight, total);
}

#endif
