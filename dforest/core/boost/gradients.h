/* Gradients and Hessians of many rows, as fine integers (C99 and C++).
 *
 * Words: as in losses.h and boost.h. A row's raw prediction is a baseline and the sum of leaf values so far. Rows count by `times`,
 * integer weights, or by `weight`, which derivatives are multiplied by; both are NULL where all weights are 1. Fine integers of a
 * row stand together: its gradient, and its Hessian unless that is 1 for all rows.
 *
 * Rows are all, or those of a list; then the values of a block of them are brought together first.
 *
 * With more than two classes, a row has a sum of leaf values and fine integers for each class; those of a class stand together,
 * and `step` rows lie between two classes. Rows are done in blocks, class by class, so that compilers vectorise the loops. */
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
    double baseline, parameter;
} df_boost_rows;

/* What is known of some rows: the largest magnitudes of their derivatives; or of their fine integers, and the sums of these, each as
 * often as `times` says, of gradients and Hessians. */
typedef struct {
    double gradient, hessian;
    int64_t largest[2], sum[2];
} df_boost_extent;

enum { DF_GRADIENT_BLOCK = 256 };

/* Values of some rows side by side. */
typedef struct {
    double raw[DF_GRADIENT_BLOCK], y[DF_GRADIENT_BLOCK], weight[DF_GRADIENT_BLOCK];
    uint32_t times[DF_GRADIENT_BLOCK];
    int32_t fine[2 * DF_GRADIENT_BLOCK];
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

/* Put the fine integers of n rows of a list where they belong. OUT fine : [n_rows, `per`] */
DF_INLINE void df_spread(const int32_t *some, int per, const uint32_t *list, int64_t n, int32_t *fine) {
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < per; j++)
            fine[(int64_t)per * list[i] + j] = some[per * i + j];
}

DF_INLINE void df_join_extent(df_boost_extent *extent, const df_boost_extent *other) {
    extent->gradient = other->gradient > extent->gradient ? other->gradient : extent->gradient;
    extent->hessian = other->hessian > extent->hessian ? other->hessian : extent->hessian;
    for (int j = 0; j < 2; j++) {
        extent->largest[j] = other->largest[j] > extent->largest[j] ? other->largest[j] : extent->largest[j];
        extent->sum[j] += other->sum[j];
    }
}

/* One loss: the largest derivatives of rows begin to end - 1. */
#define DF_EXTENT_LOOP(number, name, is_constant, targets, leaf)                                                          \
    DF_INLINE void df_extent_of_##name(const df_boost_rows *rows, int64_t begin, int64_t end, df_boost_extent *extent) {  \
        const double *raw = rows->raw, *y = rows->y, *weight = rows->weight;                                              \
        const double baseline = rows->baseline, parameter = rows->parameter;                                              \
        double g = 0.0, h = 0.0;                                                                                          \
        for (int64_t i = begin; i < end; i++) {                                                                           \
            const df_derivatives d = df_##name##_derivatives(raw[i] + baseline, y[i], parameter);                         \
            const double w = weight != NULL ? weight[i] : 1.0, a = df_magnitude(d.gradient) * w, b = d.hessian * w;       \
            g = a > g ? a : g;                                                                                            \
            h = b > h ? b : h;                                                                                            \
        }                                                                                                                 \
        extent->gradient = g;                                                                                             \
        extent->hessian = h;                                                                                              \
    }
DF_ROW_LOSSES(DF_EXTENT_LOOP)
#undef DF_EXTENT_LOOP

/* A row's fine integers. factors : 2 to the power of their exponents */
DF_INLINE void df_add_fine(df_derivatives d, double weight, int32_t times, const double *factors, int has_hessian, int32_t *fine,
                           int64_t *largest, int64_t *sum) {
    const int32_t g = df_fine(d.gradient * weight, factors[0]), size = g < 0 ? -g : g;
    largest[0] = size > largest[0] ? size : largest[0];
    sum[0] += (int64_t)size * times;
    fine[0] = g;
    if (has_hessian) {
        const int32_t h = df_fine(d.hessian * weight, factors[1]);
        largest[1] = h > largest[1] ? h : largest[1];
        sum[1] += (int64_t)h * times;
        fine[1] = h;
    }
}

/* One loss: fine integers. */
#define DF_FINE_LOOP(number, name, is_constant, targets, leaf)                                                                \
    DF_INLINE void df_fine_of_##name(const df_boost_rows *rows, int64_t begin, int64_t end, const double *factors,            \
                                     int has_hessian, int32_t *fine, df_boost_extent *extent) {                               \
        const double *raw = rows->raw, *y = rows->y, *weight = rows->weight, both[2] = {factors[0], factors[1]};              \
        const uint32_t *times = rows->times;                                                                                  \
        const double baseline = rows->baseline, parameter = rows->parameter;                                                  \
        int64_t largest[2] = {0, 0}, sum[2] = {0, 0};                                                                         \
        if (is_constant && !has_hessian)                                                                                      \
            for (int64_t i = begin; i < end; i++)                                                                             \
                df_add_fine(df_##name##_derivatives(raw[i] + baseline, y[i], parameter), 1.0,                                 \
                            times != NULL ? (int32_t)times[i] : 1, both, 0, fine + i, largest, sum);                          \
        else                                                                                                                  \
            for (int64_t i = begin; i < end; i++)                                                                             \
                df_add_fine(df_##name##_derivatives(raw[i] + baseline, y[i], parameter), weight != NULL ? weight[i] : 1.0,    \
                            times != NULL ? (int32_t)times[i] : 1, both, 1, fine + 2 * i, largest, sum);                      \
        for (int j = 0; j < 2; j++) {                                                                                         \
            extent->largest[j] = largest[j];                                                                                  \
            extent->sum[j] = sum[j];                                                                                          \
        }                                                                                                                     \
    }
DF_ROW_LOSSES(DF_FINE_LOOP)
#undef DF_FINE_LOOP

DF_INLINE void df_extent_of_loss(int loss, const df_boost_rows *rows, int64_t begin, int64_t end, df_boost_extent *extent) {
#define DF_ENTRY(number, name, is_constant, targets, leaf)       \
    case number:                                                 \
        df_extent_of_##name(rows, begin, end, extent);           \
        return;
    switch (loss) { DF_ROW_LOSSES(DF_ENTRY) }
#undef DF_ENTRY
}

DF_INLINE void df_fine_of_loss(int loss, const df_boost_rows *rows, int64_t begin, int64_t end, const double *factors,
                               int has_hessian, int32_t *fine, df_boost_extent *extent) {
#define DF_ENTRY(number, name, is_constant, targets, leaf)                                             \
    case number:                                                                                       \
        df_fine_of_##name(rows, begin, end, factors, has_hessian, fine, extent); \
        return;
    switch (loss) { DF_ROW_LOSSES(DF_ENTRY) }
#undef DF_ENTRY
}

DF_INLINE void df_extent_loop(int loss, const df_boost_rows *rows, int64_t begin, int64_t end, df_boost_extent *extent) {
    df_gradient_block block;
    if (rows->list == NULL) {
        df_extent_of_loss(loss, rows, begin, end, extent);
        return;
    }
    memset(extent, 0, sizeof(*extent));
    for (int64_t at = begin; at < end; at += DF_GRADIENT_BLOCK) {
        const int64_t n = end - at < DF_GRADIENT_BLOCK ? end - at : DF_GRADIENT_BLOCK;
        const df_boost_rows some = df_some_rows(rows, at, n, &block);
        df_boost_extent of_some = {0};
        df_extent_of_loss(loss, &some, 0, n, &of_some);
        df_join_extent(extent, &of_some);
    }
}

DF_INLINE void df_fine_loop(int loss, const df_boost_rows *rows, int64_t begin, int64_t end, const double *factors,
                            int has_hessian, int32_t *fine, df_boost_extent *extent) {
    df_gradient_block block;
    if (rows->list == NULL) {
        df_fine_of_loss(loss, rows, begin, end, factors, has_hessian, fine, extent);
        return;
    }
    memset(extent, 0, sizeof(*extent));
    for (int64_t at = begin; at < end; at += DF_GRADIENT_BLOCK) {
        const int64_t n = end - at < DF_GRADIENT_BLOCK ? end - at : DF_GRADIENT_BLOCK;
        const df_boost_rows some = df_some_rows(rows, at, n, &block);
        df_boost_extent of_some = {0};
        df_fine_of_loss(loss, &some, 0, n, factors, has_hessian, block.fine, &of_some);
        df_spread(block.fine, has_hessian ? 2 : 1, rows->list + at, n, fine);
        df_join_extent(extent, &of_some);
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

/* Several classes: of n rows from `begin` on, at most DF_GRADIENT_BLOCK, the highest raw prediction, its class, and the sum of the
 * other powers of e, as df_class_powers forms it. baseline : [n_classes]; room : [n] */
DF_INLINE void df_class_block(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t n_classes, int64_t begin,
                              int64_t n, double *room, double *top, double *highest, double *rest) {
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
        raw = df_class_raw(rows, step, k, begin, n, room);
        for (int64_t i = 0; i < n; i++) {
            const double power = df_exp(raw[i] + baseline[k] - top[i]);
            rest[i] += highest[i] == (double)k ? 0.0 : power;
        }
    }
}

/* Several classes: the largest derivatives. OUT extent : [n_classes] */
DF_INLINE void df_class_extent_loop(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t n_classes,
                                    int64_t begin, int64_t end, df_boost_extent *extent) {
    double top[DF_GRADIENT_BLOCK], highest[DF_GRADIENT_BLOCK], rest[DF_GRADIENT_BLOCK];
    df_gradient_block block;
    for (int64_t k = 0; k < n_classes; k++)
        extent[k].gradient = extent[k].hessian = 0.0;
    for (int64_t at = begin; at < end; at += DF_GRADIENT_BLOCK) {
        const int64_t n = end - at < DF_GRADIENT_BLOCK ? end - at : DF_GRADIENT_BLOCK;
        const df_boost_rows some = df_some_rows(rows, at, n, &block);
        df_class_block(rows, baseline, step, n_classes, at, n, block.raw, top, highest, rest);
        for (int64_t k = 0; k < n_classes; k++) {
            const double *raw = df_class_raw(rows, step, k, at, n, block.raw);
            double g = extent[k].gradient, h = extent[k].hessian;
            for (int64_t i = 0; i < n; i++) {
                const double power = df_exp(raw[i] + baseline[k] - top[i]);
                const df_derivatives d = df_class_derivatives(power, rest[i], highest[i] == (double)k, some.y[i] == (double)k);
                const double w = some.weight != NULL ? some.weight[i] : 1.0;
                const double a = df_magnitude(d.gradient) * w, b = d.hessian * w;
                g = a > g ? a : g;
                h = b > h ? b : h;
            }
            extent[k].gradient = g;
            extent[k].hessian = h;
        }
    }
}

/* Several classes: fine integers. factors : [n_classes, 2]; OUT fine : [n_classes, step, 2] */
DF_INLINE void df_class_fine_loop(const df_boost_rows *rows, const double *baseline, int64_t step, int64_t n_classes,
                                  int64_t begin, int64_t end, const double *factors, int32_t *fine, df_boost_extent *extent) {
    double top[DF_GRADIENT_BLOCK], highest[DF_GRADIENT_BLOCK], rest[DF_GRADIENT_BLOCK];
    df_gradient_block block;
    for (int64_t k = 0; k < n_classes; k++)
        extent[k].largest[0] = extent[k].largest[1] = extent[k].sum[0] = extent[k].sum[1] = 0;
    for (int64_t at = begin; at < end; at += DF_GRADIENT_BLOCK) {
        const int64_t n = end - at < DF_GRADIENT_BLOCK ? end - at : DF_GRADIENT_BLOCK;
        const df_boost_rows some = df_some_rows(rows, at, n, &block);
        df_class_block(rows, baseline, step, n_classes, at, n, block.raw, top, highest, rest);
        for (int64_t k = 0; k < n_classes; k++) {
            const double *raw = df_class_raw(rows, step, k, at, n, block.raw);
            const double both[2] = {factors[2 * k], factors[2 * k + 1]};
            int32_t *to = rows->list != NULL ? block.fine : fine + 2 * (k * step + at);
            int64_t largest[2] = {extent[k].largest[0], extent[k].largest[1]}, sum[2] = {extent[k].sum[0], extent[k].sum[1]};
            for (int64_t i = 0; i < n; i++) {
                const double power = df_exp(raw[i] + baseline[k] - top[i]);
                const df_derivatives d = df_class_derivatives(power, rest[i], highest[i] == (double)k, some.y[i] == (double)k);
                df_add_fine(d, some.weight != NULL ? some.weight[i] : 1.0, some.times != NULL ? (int32_t)some.times[i] : 1, both, 1,
                            to + 2 * i, largest, sum);
            }
            for (int j = 0; j < 2; j++) {
                extent[k].largest[j] = largest[j];
                extent[k].sum[j] = sum[j];
            }
            if (rows->list != NULL)
                df_spread(to, 2, rows->list + at, n, fine + 2 * k * step);
        }
    }
}

#endif
