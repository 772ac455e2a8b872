/* Gradients and Hessians of many rows, as quantised gradients (C99 and C++).
 *
 * A row's raw prediction is a baseline and the sum of leaf values so far. Rows count by `times`, integer weights, or by `weight`,
 * which derivatives are multiplied by; both are NULL where all weights are 1. The quantised gradients of a row stand together: its
 * gradient, and its Hessian unless that is 1 for all rows.
 *
 * Rows are done in blocks, in short loops that compilers vectorise: derivatives, then what becomes of them. They are all, or
 * those of a list; then the values of a block of them are brought together first.
 *
 * The exponents of quantised gradients follow from the largest derivatives of all rows, which are known when all have been looked
 * at. So rows are quantised by exponents that are likely, those of the iteration before, and once more if these were not right.
 *
 * Where nodes may be light (boost.h), derivatives are *kept*, times the weights: for each row its gradient and its Hessian.
 *
 * With more than two classes, a row has a sum of leaf values and quantised gradients for each class; those of a class stand together,
 * and `step` rows lie between two classes. */
#ifndef DFOREST_BOOST_GRADIENTS_H
#define DFOREST_BOOST_GRADIENTS_H

#include "core/search/scan.h"
#include "rules/boost.h"
#include "rules/losses.h"

typedef struct {
    const double *raw; /* sums of leaf values */
    const double *y;
    const uint32_t *times;
    const double *weight;
    const uint32_t *list; /* the rows' numbers; NULL: all rows. Where rows begin and end, places in it are meant */
    double *kept; /* [., n_rows, 2] derivatives, by raw predictions; NULL: nobody asks for them */
    double baseline, parameter;
} df_boost_rows;

/* What is known of some rows: the largest magnitudes of their derivatives and of their quantised gradients, and the sums of the
 * latter, each as often as `times` says, of gradients and Hessians. */
typedef struct {
    double gradient, hessian;
    int64_t largest[2], sum[2];
} df_boost_extent;

enum {
    DF_GRADIENT_BLOCK = 256, /* rows of a block; of many classes fewer, ... */
    DF_CLASS_BLOCK = 32,     /* ... but this many, ... */
    DF_CLASS_POWERS = 4096   /* ... as there is room for so many powers of e, of so many of the first classes */
};

/* Values of some rows side by side. */
typedef struct {
    double raw[DF_GRADIENT_BLOCK], y[DF_GRADIENT_BLOCK], weight[DF_GRADIENT_BLOCK];
    double gradient[DF_GRADIENT_BLOCK], hessian[DF_GRADIENT_BLOCK];
    uint32_t times[DF_GRADIENT_BLOCK];
    int32_t quantised[2 * DF_GRADIENT_BLOCK];
} df_gradient_block;

/* n rows from `begin` on, at most DF_GRADIENT_BLOCK: as rows 0 to n - 1 without a list. */
DF_INLINE df_boost_rows df_some_rows(const df_boost_rows *rows, int64_t begin, int64_t n, df_gradient_block *block) {
    const uint32_t *list = rows->list;
    df_boost_rows some = *rows;
    some.list = NULL;
    if (list == NULL) {
        some.raw += begin;
        some.y += begin;
        some.times += rows->times != NULL ? begin : 0;
        some.weight += rows->weight != NULL ? begin : 0;
        return some;
    }
    list += begin;
    some.raw = block->raw;
    some.y = block->y;
    some.times = rows->times != NULL ? block->times : NULL;
    some.weight = rows->weight != NULL ? block->weight : NULL;
    for (int64_t i = 0; i < n; i++) {
        block->raw[i] = rows->raw[list[i]];
        block->y[i] = rows->y[list[i]];
    }
    for (int64_t i = 0; rows->times != NULL && i < n; i++)
        block->times[i] = rows->times[list[i]];
    for (int64_t i = 0; rows->weight != NULL && i < n; i++)
        block->weight[i] = rows->weight[list[i]];
    return some;
}


DF_INLINE df_boost_extent df_no_extent(void) {
    const df_boost_extent extent = {0.0, 0.0, {0, 0}, {0, 0}};
    return extent;
}

DF_INLINE void df_join_extent(df_boost_extent *extent, const df_boost_extent *other) {
    extent->gradient = other->gradient > extent->gradient ? other->gradient : extent->gradient;
    extent->hessian = other->hessian > extent->hessian ? other->hessian : extent->hessian;
    for (int j = 0; j < 2; j++) {
        extent->largest[j] = other->largest[j] > extent->largest[j] ? other->largest[j] : extent->largest[j];
        extent->sum[j] += other->sum[j];
    }
}

/* The largest magnitude of n finite numbers: their bits are in the order of magnitudes. */
DF_INLINE double df_largest_of(const double *x, int64_t n) {
    int64_t top = 0;
    double largest;
    for (int64_t i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, x + i, 8);
        bits &= INT64_MAX;
        top = bits > top ? bits : top;
    }
    memcpy(&largest, &top, 8);
    return largest;
}

/* Multiply the derivatives of a block by weights, if there are any. */
DF_INLINE void df_weigh_block(df_gradient_block *block, const double *weight, int64_t n) {
    if (weight == NULL)
        return;
    for (int64_t i = 0; i < n; i++) {
        block->gradient[i] *= weight[i];
        block->hessian[i] *= weight[i];
    }
}

/* The largest derivatives of a block. INOUT extent */
DF_INLINE void df_extend(const df_gradient_block *block, int64_t n, df_boost_extent *extent) {
    const double g = df_largest_of(block->gradient, n), h = df_largest_of(block->hessian, n);
    extent->gradient = g > extent->gradient ? g : extent->gradient;
    extent->hessian = h > extent->hessian ? h : extent->hessian;
}

/* Whether the quantised gradients of what is known so far are in range, by factors. They are rounded, as df_gradient_exponent
 * has it, so that half an integer more is still in range. */
DF_INLINE int df_fits_factors(const df_boost_extent *extent, const double *factors) {
    const double most = (double)((int64_t)1 << DF_GRADIENT_BITS) + 0.5;
    return extent->gradient * factors[0] <= most && extent->hessian * factors[1] <= most;
}

/* The quantised gradients of n derivatives. has_weight : of Hessians, whether they are times weights; OUT quantised;
 * INOUT largest, sum : of their magnitudes */
DF_INLINE void df_quantise_some(const double *x, int64_t n, double factor, int has_weight, const uint32_t *times, int32_t *quantised,
                                int64_t *largest, int64_t *sum) {
    int32_t top = 0;
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++)
        quantised[i] = df_quantised_gradient(x[i], factor);
    for (int64_t i = 0; has_weight && i < n; i++)
        quantised[i] = df_quantised_hessian(x[i], factor);
    for (int64_t i = 0; i < n; i++) {
        const int32_t size = quantised[i] < 0 ? -quantised[i] : quantised[i];
        top = size > top ? size : top;
        total += size;
    }
    if (times != NULL) {
        total = 0;
        for (int64_t i = 0; i < n; i++)
            total += (int64_t)(quantised[i] < 0 ? -quantised[i] : quantised[i]) * times[i];
    }
    *largest = top > *largest ? top : *largest;
    *sum += total;
}

/* The quantised gradients of a block, whose derivatives are known. times : of its rows, or NULL; is_weighted : derivatives have been
 * multiplied by weights; factors : 2 to the power of their exponents; OUT quantised : [n, 1 or 2] */
DF_INLINE void df_quantise_block(const df_gradient_block *block, const uint32_t *times, int is_weighted, int64_t n,
                                 const double *factors, int has_hessian, int32_t *quantised, df_boost_extent *extent) {
    int32_t g[DF_GRADIENT_BLOCK], h[DF_GRADIENT_BLOCK];
    df_extend(block, n, extent);
    if (!df_fits_factors(extent, factors))
        return; /* integers would be out of range; with the right factors they will not */
    df_quantise_some(block->gradient, n, factors[0], 0, times, has_hessian ? g : quantised, &extent->largest[0], &extent->sum[0]);
    if (!has_hessian)
        return;
    df_quantise_some(block->hessian, n, factors[1], is_weighted, times, h, &extent->largest[1], &extent->sum[1]);
    for (int64_t i = 0; i < n; i++) {
        quantised[2 * i] = g[i];
        quantised[2 * i + 1] = h[i];
    }
}

/* The quantised gradients of n rows from `begin` on, whose derivatives by the k-th raw prediction are in the block; and what is kept of
 * these. OUT quantised : [., step, 1 or 2] */
DF_INLINE void df_quantise_rows(df_gradient_block *block, const df_boost_rows *rows, const df_boost_rows *some, int64_t step, int64_t k,
                              int64_t begin, int64_t n, const double *factors, int has_hessian, int32_t *quantised,
                              df_boost_extent *extent) {
    const int per = has_hessian ? 2 : 1;
    const uint32_t *list = rows->list != NULL ? rows->list + begin : NULL;
    quantised += per * k * step;
    df_weigh_block(block, some->weight, n);
    df_quantise_block(block, some->times, some->weight != NULL, n, factors + 2 * k, has_hessian, list != NULL ? block->quantised : quantised + per * begin, extent);
    for (int64_t i = 0; list != NULL && i < n; i++)
        for (int j = 0; j < per; j++)
            quantised[(int64_t)per * list[i] + j] = block->quantised[per * i + j];
    for (int64_t i = 0; rows->kept != NULL && i < n; i++) {
        double *kept = rows->kept + 2 * (k * step + (list != NULL ? (int64_t)list[i] : begin + i));
        kept[0] = block->gradient[i];
        kept[1] = block->hessian[i];
    }
}

/* The largest weight of n rows, and their largest derivatives, in magnitude. */
typedef struct {
    double weight, gradient, hessian;
} df_boost_largest;

static inline int df_reaches(const df_boost_largest *largest, const df_boost_largest *enough) {
    return largest->gradient >= enough->gradient && largest->hessian >= enough->hessian && largest->weight >= enough->weight;
}

/* How many powers of two a weight is below the largest one of all rows: a byte, so that most nodes are seen not to be light
 * without a look at weights. Of weights w and v of lightnesses a and b, w < 2^(b - a + 1) v. */
enum { DF_MAX_BITS_BELOW = 255 };

static inline uint8_t df_bits_below_max(double weight, double max_weight) {
    int of_weight, of_max;
    (void)frexp(weight, &of_weight);
    (void)frexp(max_weight, &of_max);
    return (uint8_t)(of_max - of_weight < DF_MAX_BITS_BELOW ? of_max - of_weight : DF_MAX_BITS_BELOW);
}

/* The least lightness of n rows. rows : their numbers, or NULL: they are numbered from `from` */
static inline uint8_t df_min_bits_below_max(const uint32_t *rows, int64_t from, int64_t n, const uint8_t *bits_below_max) {
    uint8_t least = DF_MAX_BITS_BELOW;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t own = bits_below_max[rows != NULL ? (int64_t)rows[i] : from + i];
        least = own < least ? own : least;
    }
    return least;
}

/* The largest of some rows; or those of the first rows, if these reach what is enough, as they do in most nodes at once. rows : as
 * above; weight : NULL: nobody asks; kept : of a tree */
static inline df_boost_largest df_largest_of_rows(const uint32_t *rows, int64_t from, int64_t n, const double *weight,
                                                  const double *kept, const df_boost_largest *enough) {
    df_boost_largest largest = {0.0, 0.0, 0.0};
    for (int64_t i = 0; i < n && !df_reaches(&largest, enough); i++) {
        const int64_t row = rows != NULL ? (int64_t)rows[i] : from + i;
        const double g = fabs(kept[2 * row]), h = fabs(kept[2 * row + 1]), w = weight != NULL ? weight[row] : 0.0;
        largest.weight = w > largest.weight ? w : largest.weight;
        largest.gradient = g > largest.gradient ? g : largest.gradient;
        largest.hessian = h > largest.hessian ? h : largest.hessian;
    }
    return largest;
}

/* Make the integers of n rows anew, by other factors. */
static inline void df_quantise_again(const uint32_t *rows, int64_t from, int64_t n, const double *kept, const double *factors,
                                     int has_hessian, int32_t *quantised) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = rows != NULL ? (int64_t)rows[i] : from + i;
        quantised[(1 + has_hessian) * row] = df_quantised_gradient(kept[2 * row], factors[0]);
        if (has_hessian)
            quantised[2 * row + 1] = df_quantised_hessian(kept[2 * row + 1], factors[1]);
    }
}

/* One loss: derivatives of n rows. OUT gradient, hessian : [n] */
#define DF_DERIVE(number, name, is_constant, targets, leaf)                                                    \
    DF_INLINE void df_derive_##name(const df_boost_rows *rows, int64_t n, double *gradient, double *hessian) { \
        const double *raw = rows->raw, *y = rows->y, baseline = rows->baseline, parameter = rows->parameter;   \
        for (int64_t i = 0; i < n; i++) {                                                                      \
            const df_derivatives d = df_##name##_derivatives(raw[i] + baseline, y[i], parameter);              \
            gradient[i] = d.gradient;                                                                          \
            hessian[i] = d.hessian;                                                                            \
        }                                                                                                      \
    }
DF_ROW_LOSSES(DF_DERIVE)
#undef DF_DERIVE

DF_INLINE void df_derive(int loss, const df_boost_rows *rows, int64_t n, df_gradient_block *block) {
#define DF_ENTRY(number, name, is_constant, targets, leaf)              \
    case number:                                                        \
        df_derive_##name(rows, n, block->gradient, block->hessian);     \
        return;
    switch (loss) { DF_ROW_LOSSES(DF_ENTRY) }
#undef DF_ENTRY
}

/* Quantised gradients of rows begin to end - 1. OUT quantised : [n_rows, 1 or 2] */
DF_INLINE void df_quantise_loop(int loss, const df_boost_rows *rows, int64_t begin, int64_t end, const double *factors,
                            int has_hessian, int32_t *quantised, df_boost_extent *extent) {
    df_gradient_block block;
    *extent = df_no_extent();
    for (int64_t at = begin; at < end; at += DF_GRADIENT_BLOCK) {
        const int64_t n = end - at < DF_GRADIENT_BLOCK ? end - at : DF_GRADIENT_BLOCK;
        const df_boost_rows some = df_some_rows(rows, at, n, &block);
        df_derive(loss, &some, n, &block);
        df_quantise_rows(&block, rows, &some, 0, 0, at, n, factors, has_hessian, quantised, extent);
    }
}

/* Derivatives that somebody has found. gradient, hessian : [n_rows, n_sums]; hessian NULL: 1 for all rows */
typedef struct {
    const double *gradient, *hessian;
    int64_t n_sums;
} df_known_derivatives;

/* The known derivatives of n rows from `begin` on by their k-th raw predictions. */
DF_INLINE void df_take_known(const df_known_derivatives *known, const uint32_t *list, int64_t k, int64_t begin, int64_t n,
                             df_gradient_block *block) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = (list != NULL ? (int64_t)list[begin + i] : begin + i) * known->n_sums + k;
        block->gradient[i] = known->gradient[at];
        block->hessian[i] = known->hessian != NULL ? known->hessian[at] : 1.0;
    }
}

/* Known derivatives: quantised gradients. factors : [n_sums, 2]; OUT quantised : [n_sums, step, 1 or 2] */
static inline void df_quantise_known(const df_known_derivatives *known, const df_boost_rows *rows, int64_t step, int64_t begin,
                                 int64_t end, const double *factors, int has_hessian, int32_t *quantised, df_boost_extent *extent) {
    df_gradient_block block;
    for (int64_t k = 0; k < known->n_sums; k++)
        extent[k] = df_no_extent();
    for (int64_t at = begin; at < end; at += DF_GRADIENT_BLOCK) {
        const int64_t n = end - at < DF_GRADIENT_BLOCK ? end - at : DF_GRADIENT_BLOCK;
        const df_boost_rows some = df_some_rows(rows, at, n, &block);
        for (int64_t k = 0; k < known->n_sums; k++) {
            df_take_known(known, rows->list, k, at, n, &block);
            df_quantise_rows(&block, rows, &some, step, k, at, n, factors, has_hessian, quantised, &extent[k]);
        }
    }
}

/* Kept derivatives of the rows of a list, from place `begin` to `end` - 1: quantised gradients. factors : [n_sums, 2]; OUT
 * quantised : [n_sums, step, 2] */
static inline void df_quantise_kept(const df_boost_rows *rows, int64_t step, int64_t n_sums, int64_t begin, int64_t end,
                                    const double *factors, int32_t *quantised, df_boost_extent *extent) {
    df_gradient_block block;
    memset(block.quantised, 0, sizeof(block.quantised)); /* of a block that does not fit, nobody looks at them */
    for (int64_t k = 0; k < n_sums; k++) {
        const double *kept = rows->kept + 2 * k * step;
        int32_t *of_sum = quantised + 2 * k * step;
        extent[k] = df_no_extent();
        for (int64_t at = begin; at < end; at += DF_GRADIENT_BLOCK) {
            const int64_t n = end - at < DF_GRADIENT_BLOCK ? end - at : DF_GRADIENT_BLOCK;
            const uint32_t *list = rows->list + at;
            for (int64_t i = 0; i < n; i++) {
                block.gradient[i] = kept[2 * (int64_t)list[i]];
                block.hessian[i] = kept[2 * (int64_t)list[i] + 1];
                block.times[i] = rows->times != NULL ? rows->times[list[i]] : 1;
            }
            df_quantise_block(&block, rows->times != NULL ? block.times : NULL, 1, n, factors + 2 * k, 1, block.quantised,
                              &extent[k]);
            for (int64_t i = 0; i < n; i++) {
                of_sum[2 * (int64_t)list[i]] = block.quantised[2 * i];
                of_sum[2 * (int64_t)list[i] + 1] = block.quantised[2 * i + 1];
            }
        }
    }
}

/* The sums of leaf values of a class, of n rows from `begin` on: where they stand, or copied to `room` if there is a list. */
DF_INLINE const double *df_class_raw(const df_boost_rows *rows, int64_t step, int64_t k, int64_t begin, int64_t n, double *room) {
    const double *raw = rows->raw + k * step;
    if (rows->list == NULL)
        return raw + begin;
    for (int64_t i = 0; i < n; i++)
        room[i] = raw[rows->list[begin + i]];
    return room;
}

/* Several classes: powers of e of n rows from `begin` on, by the k-th raw predictions less the highest ones. OUT power : [n] */
DF_INLINE void df_powers_of_class(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t k, int64_t begin, int64_t n,
                                  double *room, const double *top, double *power) {
    const double *raw = df_class_raw(rows, step, k, begin, n, room), of_class = baseline[k];
    for (int64_t i = 0; i < n; i++)
        power[i] = df_exp(raw[i] + of_class - top[i]);
}

/* Softmax of n rows from `begin` on, at most DF_GRADIENT_BLOCK, where the raw predictions of a class lie `step` after those of the class
 * before. IN baseline : [n_classes]; room : [n]. OUT [n] top, the highest raw prediction; highest, its class; rest, the sum over the
 * other classes of e to the power of their raw predictions less the highest; scale, 1 / (1 + rest); powers : [n_kept, n] these
 * powers of e of the first classes */
DF_INLINE void df_softmax_block(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t n_classes, int64_t begin,
                              int64_t n, double *room, double *top, double *highest, double *rest, double *scale,
                              double *powers, int64_t n_kept) {
    const double *raw = df_class_raw(rows, step, 0, begin, n, room);
    for (int64_t i = 0; i < n; i++) {
        top[i] = raw[i] + baseline[0];
        highest[i] = rest[i] = 0.0;
    }
    for (int64_t k = 1; k < n_classes; k++) {
        raw = df_class_raw(rows, step, k, begin, n, room);
        for (int64_t i = 0; i < n; i++) {
            const double x = raw[i] + baseline[k];
            const int is_higher = x > top[i];
            top[i] = is_higher ? x : top[i];
            highest[i] = is_higher ? (double)k : highest[i];
        }
    }
    for (int64_t k = 0; k < n_classes; k++) {
        double own[DF_GRADIENT_BLOCK], *power = k < n_kept ? powers + k * n : own;
        df_powers_of_class(rows, baseline, step, k, begin, n, room, top, power);
        for (int64_t i = 0; i < n; i++)
            rest[i] += highest[i] == (double)k ? 0.0 : power[i];
    }
    for (int64_t i = 0; i < n; i++)
        scale[i] = 1.0 / (1.0 + rest[i]);
}

/* Several classes: derivatives by the k-th raw prediction, for the rows of df_softmax_block. IN power : [n] of the class */
DF_INLINE void df_class_derive(const df_boost_rows *some, int64_t k, int64_t n, const double *power, const double *highest,
                               const double *rest, const double *scale, df_gradient_block *block) {
    const double *y = some->y;
    for (int64_t i = 0; i < n; i++) {
        const df_derivatives d =
            df_class_derivatives(power[i], rest[i], 1.0 + rest[i], scale[i], highest[i] == (double)k, y[i] == (double)k);
        block->gradient[i] = d.gradient;
        block->hessian[i] = d.hessian;
    }
}

/* Several classes: quantised gradients. factors : [n_classes, 2]; OUT quantised : [n_classes, step, 2] */
DF_INLINE void df_quantise_classes_loop(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t n_classes,
                                  int64_t begin, int64_t end, const double *factors, int32_t *quantised, df_boost_extent *extent) {
    double top[DF_GRADIENT_BLOCK], highest[DF_GRADIENT_BLOCK], rest[DF_GRADIENT_BLOCK], own[DF_GRADIENT_BLOCK];
    double scale[DF_GRADIENT_BLOCK], powers[DF_CLASS_POWERS];
    const int64_t room = DF_CLASS_POWERS / n_classes;
    const int64_t most = room > DF_GRADIENT_BLOCK ? DF_GRADIENT_BLOCK : room < DF_CLASS_BLOCK ? DF_CLASS_BLOCK : room;
    const int64_t n_kept = DF_CLASS_POWERS / most; /* what is not kept is found once more */
    df_gradient_block block;
    for (int64_t k = 0; k < n_classes; k++)
        extent[k] = df_no_extent();
    for (int64_t at = begin; at < end; at += most) {
        const int64_t n = end - at < most ? end - at : most;
        const df_boost_rows some = df_some_rows(rows, at, n, &block);
        df_softmax_block(rows, baseline, step, n_classes, at, n, block.raw, top, highest, rest, scale, powers, n_kept);
        for (int64_t k = 0; k < n_classes; k++) {
            if (k >= n_kept)
                df_powers_of_class(rows, baseline, step, k, at, n, block.raw, top, own);
            df_class_derive(&some, k, n, k < n_kept ? powers + k * n : own, highest, rest, scale, &block);
            df_quantise_rows(&block, rows, &some, step, k, at, n, factors, 1, quantised, &extent[k]);
        }
    }
}

#endif
