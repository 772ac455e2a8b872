/* The rules of cuts between categories: how these are ordered, and which go left at random (C99 and C++).
 *
 * A best cut sends the first categories of an order left. They are ordered by their *mean response* in the node: with classes,
 * the share of the node's largest class; with numbers, the mean of the targets. With two classes, and for squared error, the
 * best of all subsets is among these (Fisher 1958; Breiman et al. 1984).
 *
 * A random cut sends a random subset left.
 *
 * The means of a column's many labels say more of the node's own rows than of the labels. So a tree may have an *order of labels*,
 * made by rows that it does not draw: the *key* of a label is its mean response in these rows, less that of all of them, and
 * shrunk to 0 where the label has little weight. Labels of equal keys have one *rank*, from 0 on, and stay together. A cut sends
 * the labels up to a rank left, those that the node does not have among them. Missing values have the key 0 if the node has
 * none, and so have labels that are unknown. */
#ifndef DFOREST_RULES_CATEGORIES_H
#define DFOREST_RULES_CATEGORIES_H

#include "criteria.h"
#include "random.h"

enum {
    DF_LABELS_ORDERED_ABOVE = 30, /* the labels of a column of more than these are ordered by rows that the tree does not draw */
    DF_LABEL_PRIOR = 3,           /* rows of the mean weight that the mean of all rows counts for, in the key of a label */
    DF_MAX_LABEL_ORDERS = 64      /* of classes, each of which has an order of labels */
};

/* How many orders of labels a tree has, given how many classes there are, 0 with numbers: by the share of each class; with two
 * classes, or very many, and with numbers one. */
static inline int64_t df_label_orders(int64_t n_classes) {
    return n_classes > 2 && n_classes <= DF_MAX_LABEL_ORDERS ? n_classes : 1;
}

/* How many ranks a tree has of a column's labels, in all orders, and of missing values; 0: the tree does not order them. */
static inline int64_t df_label_ranks(int is_categorical, int64_t n_labels, int64_t n_orders) {
    return is_categorical && n_labels > DF_LABELS_ORDERED_ABOVE ? n_orders * (n_labels + 1) : 0;
}

/* The word of a node's largest class, of equal ones the first. IN total : [n_words] the node's statistic: draws, weight, and the
 * weight of each class */
static inline int64_t df_largest_class(const int64_t *total, int64_t n_words) {
    int64_t k, largest = 2;
    for (k = 3; k < n_words; k++)
        largest = total[k] > total[largest] ? k : largest;
    return largest;
}

/* The mean response of a category, with classes. IN statistic : of its draws; largest : see df_largest_class */
static inline double df_class_response(const int64_t *statistic, int64_t largest) {
    return (double)statistic[largest] / (double)statistic[1];
}

/* The mean response of a category, with numbers: the mean of its integer targets above `mean`, the node's rounded down. */
static inline double df_target_response(const int64_t *statistic, int is_wide, int64_t mean) {
    return df_offset_sum(statistic[2], df_high_word(statistic, is_wide), statistic[1], mean) / (double)statistic[1];
}

/* The key of a label in a tree's order. response : the label's mean response; mean : that of all rows that order labels; weight :
 * the label's; row_weight : the mean weight of a row */
static inline double df_label_key(double response, double mean, double weight, double row_weight) {
    return (response - mean) * (weight / (weight + DF_LABEL_PRIOR * row_weight));
}

/* Whether some labels of a node are tied in all orders. IN ranks : [n_orders, n_ranks]; labels : [n] */
static inline int df_are_tied(const uint32_t *ranks, int64_t n_orders, int64_t n_ranks, const uint32_t *labels, int64_t n) {
    int64_t order, i;
    for (order = 0; order < n_orders; order++, ranks += n_ranks)
        for (i = 1; i < n; i++)
            if (ranks[labels[i]] != ranks[labels[0]])
                return 0;
    return 1;
}

/* Draw the highest rank on the left of a random cut, given a node's labels: from the lowest to below the highest of theirs, or the
 * one there is. IN ranks : of all labels; labels : [n], n >= 1 */
static inline uint32_t df_draw_rank(df_stream *stream, const uint32_t *ranks, const uint32_t *labels, int64_t n) {
    uint32_t lowest = ranks[labels[0]], highest = lowest;
    int64_t i;
    for (i = 1; i < n; i++) {
        const uint32_t rank = ranks[labels[i]];
        lowest = rank < lowest ? rank : lowest;
        highest = rank > highest ? rank : highest;
    }
    return lowest + (highest > lowest ? df_below(stream, highest - lowest) : 0);
}

/* The labels on the side opposite to missing values, of a cut that sends all labels up to a rank left.
 * INOUT subset : a bit for each label, all of them 0 */
static inline void df_take_up_to(const uint32_t *ranks, uint32_t n_labels, uint32_t last, int missing_left, uint64_t *subset) {
    uint32_t label;
    for (label = 0; label < n_labels; label++)
        if ((ranks[label] <= last) != missing_left)
            subset[label / 64] |= (uint64_t)1 << (label % 64);
}

/* Whether a category comes before another one: if its mean response is lower, or equal and the category itself is lower. */
static inline int df_category_is_before(double response, uint32_t category, double other_response, uint32_t other) {
    return response < other_response || (response == other_response && category < other);
}

/* Whether a category of some draws in a node is rarer than another one: it has fewer draws or, of equally many, comes before. */
static inline int df_is_rarer(int64_t draws, uint64_t category, int64_t other_draws, uint64_t other) {
    return draws < other_draws || (draws == other_draws && category < other);
}

/* Draw which of a node's n categories go left, n >= 1: neither none nor all of them, or the one there is. Each subset is as
 * likely as any other. With one_hot, it is a single category.
 *
 * Category i of the node, in ascending order, takes bit i % 32 of random word i / 32. If all bits are alike, words are drawn
 * again: with 3 categories and the words ...000 and ...101, categories 0 and 2 go left.
 *
 * OUT bits : [(n + 31) / 32] 1: goes left */
static inline void df_draw_categories(df_stream *stream, int one_hot, uint32_t n, uint32_t *bits) {
    const uint32_t n_words = (n + 31) / 32, last = 0xFFFFFFFFu >> (32 * n_words - n);
    uint32_t i, n_left = 0, chosen = 0, rest;
    if (n == 1 || one_hot) {
        chosen = n > 1 ? df_below(stream, n) : 0;
        for (i = 0; i < n_words; i++)
            bits[i] = 0;
        bits[chosen / 32] = (uint32_t)1 << (chosen % 32);
        return;
    }
    while (n_left == 0 || n_left == n) {
        n_left = 0;
        for (i = 0; i < n_words; i++) {
            bits[i] = df_next(stream) & (i + 1 < n_words ? 0xFFFFFFFFu : last);
            for (rest = bits[i]; rest; rest &= rest - 1)
                n_left++;
        }
    }
}

/* Whether category i of the node goes left. */
static inline int df_is_drawn(const uint32_t *bits, uint32_t i) { return (int)(bits[i / 32] >> (i % 32) & 1); }

#endif
