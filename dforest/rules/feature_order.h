/* The order in which the features of a node are tried: drawn without replacement, one by one (C99 and C++).
 *
 * An order is an array of the numbers 0, 1, ..., n - 1, of which the first n_drawn places hold the features drawn so far. To
 * draw one more, the entry at a random place from n_drawn on is swapped with the one at n_drawn. The swaps are noted, and undone
 * when the node is done: so neither a draw nor the beginning of a node takes time that depends on n. With 4 features, of which
 * places 2 and 3 are drawn:
 *
 *     order                  swapped
 *     0 1 2 3
 *     2 | 1 0 3              2            place 2 of 0, ..., 3
 *     2 3 | 0 1              2 3          place 3 of 1, ..., 3
 *     2 | 1 0 3              2            undone, the last swap first
 *     0 1 2 3
 *
 * Random numbers are those of the stream (seed of the tree, path of the node, DF_FEATURES): see random.h. */
#ifndef DFOREST_RULES_FEATURE_ORDER_H
#define DFOREST_RULES_FEATURE_ORDER_H

#include "random.h"

/* Draw one more of n features, n_drawn < n; the caller adds 1 to n_drawn. INOUT order : [n]; OUT swapped : [n] */
static inline uint32_t df_draw_feature(df_stream *stream, uint32_t *order, uint32_t *swapped, uint32_t n_drawn, uint32_t n) {
    const uint32_t place = n_drawn + df_below(stream, n - n_drawn), feature = order[place];
    order[place] = order[n_drawn];
    order[n_drawn] = feature;
    swapped[n_drawn] = place;
    return feature;
}

/* Undo the swaps of all n_drawn draws: the order is 0, 1, 2, ... again. */
static inline void df_undo_features(uint32_t *order, const uint32_t *swapped, uint32_t n_drawn) {
    while (n_drawn > 0) {
        const uint32_t place = swapped[--n_drawn], feature = order[place];
        order[place] = order[n_drawn];
        order[n_drawn] = feature;
    }
}

#endif
