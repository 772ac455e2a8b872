/* Ranking: the rows of a group in the order of their raw predictions, and derivatives by these over pairs of rows (C99 and C++).
 *
 * Rows of a *group*, also called query, are compared with each other alone. A row's *place* is its number in the order of
 * descending raw predictions, from 0; rows of equal raw predictions stand as they were given. A row's target is its *grade*: of
 * two rows, the one of higher grade should come first. A *pair* is two rows of different grades of which one has a place below
 * the truncation level at least.
 *
 * With x = sigmoid * (F_i - F_j) >= 0 of two rows in order, a pair loses w ln(1 + e^-x) if the first row has the higher grade,
 * and else w ln(1 + e^x). Its weight w is 1, or what NDCG changes by if the rows change places.
 *
 * Every sum is formed in one order, whatever the instruction set: what a row has with those after it, in DF_OUTPUT_LANES parts,
 * which are added up at the end.
 *
 * Formulas: C. J. C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82. Truncation and
 * normalisation are those of LightGBM. */
#ifndef DFOREST_BOOST_RANKING_H
#define DFOREST_BOOST_RANKING_H

#include <math.h>
#include <stdint.h>

#include "core/search/scan.h"
#include "rules/losses.h"
#include "rules/outputs.h"

enum {
    DF_RANK_LANES = 2 * DF_OUTPUT_LANES, /* pairs of a row that are looked at together; arrays have as many places more */
    DF_SORTED_AT_ONCE = 12 /* rows that are sorted by insertion */
};

#define DF_FARTHEST 1e300    /* that raw predictions of a pair count to be apart */
#define DF_NEAR_POWERS 600.0 /* sigmoid times the range of raw predictions up to which quotients of powers of e are exact */

/* How pairs count. */
typedef struct {
    double sigmoid;
    int64_t truncation; /* truncation level */
    int by_ndcg;        /* whether pairs have the weights of NDCG ... */
    int is_normalised;  /* ... which are then less, the farther apart raw predictions are, and the fewer are wrong */
} df_rank_rule;

/* The rows of a group in the order of their raw predictions: arrays of n + DF_RANK_LANES places. Past the end are rows without a
 * grade, which make no pair. */
typedef struct {
    double *raw, *grade, *gain, *discount;
    double *gradient, *hessian; /* sums */
    double *power;              /* of e, by sigmoid times the raw prediction less the highest one */
    uint32_t *row;
} df_ranked;

/* What rows of the grades 0, 1, ... add to DCG at the first place; by which factors places count, as far as they are listed. */
typedef struct {
    const double *gain, *discount;
    int64_t n_gains, n_discounts;
} df_rank_scale;

typedef struct {
    double raw;
    uint32_t row;
} df_rank_sort_key;

/* Bytes of a group of n rows, of which DF_RANK_LANES are past the end. */
static inline size_t df_ranked_bytes(int64_t n) {
    const size_t places = (size_t)n + DF_RANK_LANES;
    return places * (7 * sizeof(double) + 2 * sizeof(df_rank_sort_key) + sizeof(uint32_t));
}

static inline df_ranked df_ranked_in(void *memory, int64_t n) {
    const int64_t places = n + DF_RANK_LANES;
    double *from = (double *)memory;
    df_ranked ranked;
    ranked.raw = from;
    ranked.grade = from + places;
    ranked.gain = from + 2 * places;
    ranked.discount = from + 3 * places;
    ranked.gradient = from + 4 * places;
    ranked.hessian = from + 5 * places;
    ranked.power = from + 6 * places;
    ranked.row = (uint32_t *)((df_rank_sort_key *)(from + 7 * places) + 2 * places);
    return ranked;
}

/* Sort rows by descending raw predictions, those of equal ones in the order of their numbers. INOUT keys : [n]; SCRATCH room :
 * [n]. Returns either. */
static inline df_rank_sort_key *df_sort_ranks(df_rank_sort_key *keys, df_rank_sort_key *room, int64_t n) {
    for (int64_t begin = 0; begin < n; begin += DF_SORTED_AT_ONCE) {
        const int64_t end = begin + DF_SORTED_AT_ONCE < n ? begin + DF_SORTED_AT_ONCE : n;
        for (int64_t i = begin + 1; i < end; i++) {
            const df_rank_sort_key key = keys[i];
            int64_t j = i;
            for (; j > begin && keys[j - 1].raw < key.raw; j--)
                keys[j] = keys[j - 1];
            keys[j] = key;
        }
    }
    for (int64_t size = DF_SORTED_AT_ONCE; size < n; size *= 2) {
        df_rank_sort_key *other = keys;
        for (int64_t begin = 0; begin < n; begin += 2 * size) {
            const int64_t middle = begin + size < n ? begin + size : n, end = begin + 2 * size < n ? begin + 2 * size : n;
            int64_t i = begin, j = middle, at = begin;
            while (i < middle && j < end) {
                const int is_second = keys[j].raw > keys[i].raw;
                room[at++] = keys[is_second ? j : i];
                i += !is_second;
                j += is_second;
            }
            while (i < middle)
                room[at++] = keys[i++];
            while (j < end)
                room[at++] = keys[j++];
        }
        keys = room;
        room = other;
    }
    return keys;
}

/* A grade that is none adds nothing. */
static inline double df_gain_of(double grade, const df_rank_scale *scale) {
    return grade >= 0.0 && grade < (double)scale->n_gains ? scale->gain[(int64_t)grade] : 0.0;
}

static inline double df_discount_of(int64_t place, const df_rank_scale *scale) {
    return place < scale->n_discounts ? scale->discount[place] : 1.0 / df_log2(2.0 + (double)place);
}

/* Put the rows of a group in order, and their sums to 0. OUT ranked : in `memory` */
static inline df_ranked df_rank_rows(void *memory, const double *grade, const double *raw, int64_t n,
                                     const df_rank_scale *scale) {
    const df_ranked ranked = df_ranked_in(memory, n);
    df_rank_sort_key *keys = (df_rank_sort_key *)(ranked.power + n + DF_RANK_LANES), *sorted;
    for (int64_t i = 0; i < n; i++) {
        keys[i].raw = raw[i];
        keys[i].row = (uint32_t)i;
    }
    sorted = df_sort_ranks(keys, keys + n, n);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t row = sorted[i].row;
        ranked.row[i] = row;
        ranked.raw[i] = sorted[i].raw;
        ranked.grade[i] = grade[row];
        ranked.gain[i] = df_gain_of(grade[row], scale);
        ranked.discount[i] = df_discount_of(i, scale);
    }
    for (int64_t i = n; i < n + DF_RANK_LANES; i++) {
        ranked.raw[i] = ranked.raw[n - 1];
        ranked.gain[i] = ranked.discount[i] = 0.0;
        ranked.grade[i] = NAN;
    }
    for (int64_t i = 0; i < n + DF_RANK_LANES; i++)
        ranked.gradient[i] = ranked.hessian[i] = 0.0;
    return ranked;
}

/* The greatest DCG of the first places, of n rows. SCRATCH counts : [n_gains] */
static inline double df_ideal_dcg(const double *grade, int64_t n, int64_t n_places, const df_rank_scale *scale, int64_t *counts) {
    double dcg = 0.0;
    int64_t place = 0;
    n_places = n_places < n ? n_places : n;
    for (int64_t k = 0; k < scale->n_gains; k++)
        counts[k] = 0;
    for (int64_t i = 0; i < n; i++)
        if (grade[i] >= 0.0 && grade[i] < (double)scale->n_gains)
            counts[(int64_t)grade[i]]++;
    for (int64_t k = scale->n_gains - 1; k >= 0; k--)
        for (int64_t left = counts[k]; left > 0 && place < n_places; left--)
            dcg += scale->gain[k] * df_discount_of(place++, scale);
    return dcg;
}

/* Where rows end that have the raw prediction of the row at a place. */
static inline int64_t df_end_of_equal(const df_ranked *ranked, int64_t place, int64_t n) {
    int64_t end = place + 1;
    while (end < n && ranked->raw[end] == ranked->raw[place])
        end++;
    return end;
}

/* DCG of the first places, as a mean over all orders of rows that have equal raw predictions. */
static inline double df_dcg(const df_ranked *ranked, int64_t n, int64_t n_places) {
    double dcg = 0.0;
    for (int64_t begin = 0, end; begin < n && begin < n_places; begin = end) {
        double gains = 0.0, discounts = 0.0;
        end = df_end_of_equal(ranked, begin, n);
        for (int64_t i = begin; i < end; i++) {
            gains += ranked->gain[i];
            discounts += i < n_places ? ranked->discount[i] : 0.0;
        }
        dcg += gains / (double)(end - begin) * discounts;
    }
    return dcg;
}

/* The precisions at those of the first places whose rows have a grade above 0, summed up and divided by the number of such rows,
 * or by that of the places if that is less; as a mean over all orders of rows that have equal raw predictions. 1 if there is no
 * such row. */
static inline double df_average_precision(const df_ranked *ranked, int64_t n, int64_t n_places) {
    double sum = 0.0;
    int64_t before = 0, most;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int64_t good = 0;
        end = df_end_of_equal(ranked, begin, n);
        for (int64_t i = begin; i < end; i++)
            good += ranked->grade[i] > 0.0;
        for (int64_t i = begin; i < end && i < n_places && good > 0; i++) {
            const double size = (double)(end - begin), precision = (double)good / size;
            const double others = end - begin > 1 ? (double)(i - begin) * (double)(good - 1) / (size - 1.0) : 0.0;
            sum += precision * ((double)before + 1.0 + others) / (double)(i + 1);
        }
        before += good;
    }
    most = before < n_places ? before : n_places;
    return before > 0 ? sum / (double)most : 1.0;
}

/* What each row of a group has of the losses of pairs: half of those that it is in. unit : 1 over the greatest DCG; OUT loss :
 * [n] */
static inline void df_rank_losses(const df_ranked *ranked, int64_t n, const df_rank_rule *rule, double unit, double *loss) {
    const int64_t n_first = rule->truncation < n - 1 ? rule->truncation : n - 1;
    for (int64_t i = 0; i < n; i++)
        loss[i] = 0.0;
    for (int64_t i = 0; i < n_first; i++)
        for (int64_t j = i + 1; j < n; j++) {
            const double x = rule->sigmoid * (ranked->raw[i] - ranked->raw[j]);
            double half = 0.5 * (df_log1p(df_exp(-x)) + (ranked->grade[i] < ranked->grade[j] ? x : 0.0));
            if (ranked->grade[i] == ranked->grade[j])
                continue;
            if (rule->by_ndcg)
                half *= df_magnitude(ranked->gain[i] - ranked->gain[j]) * (ranked->discount[i] - ranked->discount[j]) * unit;
            loss[ranked->row[i]] += half;
            loss[ranked->row[j]] += half;
        }
}

/* The pairs of the row at a place with the rows after it; without the factors of the sigmoid, and of the greatest DCG. Returns
 * the sum of the magnitudes of what gradients change by. are_near : whether powers of e are in range */
DF_INLINE double df_rank_pairs_of(const df_ranked *ranked, int64_t place, int64_t n, double sigmoid, int by_ndcg, int by_distance,
                                  int are_near) {
    const double *raw = ranked->raw, *grade = ranked->grade, *gain = ranked->gain, *discount = ranked->discount;
    const double own_raw = raw[place], own_grade = grade[place], own_gain = gain[place], own_discount = discount[place];
    const double inverse = are_near ? 1.0 / ranked->power[place] : 1.0;
    double of_gradient[DF_OUTPUT_LANES] = {0.0}, of_hessian[DF_OUTPUT_LANES] = {0.0}, of_size[DF_OUTPUT_LANES] = {0.0};
    for (int64_t at = place + 1; at < n; at += DF_RANK_LANES) {
        double slope[DF_RANK_LANES], curve[DF_RANK_LANES], size[DF_RANK_LANES];
        double *gradient = ranked->gradient + at, *hessian = ranked->hessian + at;
        for (int lane = 0; lane < DF_RANK_LANES; lane++) {
            const int64_t j = at + lane;
            const double difference = own_raw - raw[j], away = difference < DF_FARTHEST ? difference : DF_FARTHEST;
            const double e = are_near ? ranked->power[j] * inverse : df_exp(-(sigmoid * away));
            const double distance = by_distance ? 0.01 + away : 1.0;
            const double both = 1.0 / ((1.0 + e) * distance); /* one division for two */
            const double ahead = both * distance;
            const double full = by_ndcg ? df_magnitude(own_gain - gain[j]) * (own_discount - discount[j]) : 1.0;
            const double weight = by_distance ? full * (both * (1.0 + e)) : full;
            const double right = own_grade > grade[j] ? weight : 0.0, wrong = own_grade < grade[j] ? weight : 0.0;
            const double up = wrong * ahead, down = right * (e * ahead);
            slope[lane] = up - down;
            size[lane] = up + down;
            curve[lane] = (right + wrong) * ((e * ahead) * ahead);
        }
        for (int lane = 0; lane < DF_RANK_LANES; lane++)
            gradient[lane] -= slope[lane];
        for (int lane = 0; lane < DF_RANK_LANES; lane++)
            hessian[lane] += curve[lane];
        for (int lane = 0; lane < DF_OUTPUT_LANES; lane++)
            of_gradient[lane] += slope[lane] + slope[lane + DF_OUTPUT_LANES];
        for (int lane = 0; lane < DF_OUTPUT_LANES; lane++)
            of_hessian[lane] += curve[lane] + curve[lane + DF_OUTPUT_LANES];
        for (int lane = 0; lane < DF_OUTPUT_LANES; lane++)
            of_size[lane] += size[lane] + size[lane + DF_OUTPUT_LANES];
    }
    ranked->gradient[place] += df_sum_of_lanes(of_gradient);
    ranked->hessian[place] += df_sum_of_lanes(of_hessian);
    return df_sum_of_lanes(of_size);
}

/* The pairs of the rows at the first places, as df_rank_pairs_of has them. */
DF_INLINE double df_rank_first(const df_ranked *ranked, int64_t n_first, int64_t n, double sigmoid, int by_ndcg, int by_distance,
                               int are_near) {
    double size = 0.0;
    for (int64_t i = 0; i < n_first; i++)
        size += df_rank_pairs_of(ranked, i, n, sigmoid, by_ndcg, by_distance, are_near);
    return size;
}

/* All pairs of a group. INOUT the sums of `ranked` : zeros. Returns the sum of what df_rank_pairs_of returns. */
DF_INLINE double df_rank_pairs_loop(const df_ranked *ranked, int64_t n, const df_rank_rule *rule) {
    const int64_t n_first = rule->truncation < n - 1 ? rule->truncation : n - 1;
    const double sigmoid = rule->sigmoid, top = ranked->raw[0], range = top - ranked->raw[n - 1];
    const int by_ndcg = rule->by_ndcg, by_distance = rule->is_normalised && range != 0.0;
    if (!(sigmoid * range <= DF_NEAR_POWERS))
        return df_rank_first(ranked, n_first, n, sigmoid, by_ndcg, by_distance, 0);
    for (int64_t i = 0; i < n + DF_RANK_LANES; i++)
        ranked->power[i] = df_exp(-(sigmoid * (top - ranked->raw[i])));
    if (by_ndcg && by_distance)
        return df_rank_first(ranked, n_first, n, sigmoid, 1, 1, 1);
    return by_ndcg ? df_rank_first(ranked, n_first, n, sigmoid, 1, 0, 1) : df_rank_first(ranked, n_first, n, sigmoid, 0, 0, 1);
}

/* The factors of sums: what derivatives are over these. size : of df_rank_pairs_loop; OUT gradient, hessian : of a row */
static inline void df_rank_factors(const df_rank_rule *rule, double unit, double size, double *gradient, double *hessian) {
    double factor = rule->by_ndcg ? unit : 1.0;
    const double total = 2.0 * rule->sigmoid * factor * size;
    if (rule->is_normalised && total > 0.0)
        factor *= df_log2(1.0 + total) / total;
    *gradient = rule->sigmoid * factor;
    *hessian = rule->sigmoid * rule->sigmoid * factor;
}

#endif
