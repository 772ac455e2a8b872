/* Subtrees of few records, grown whole by one function (C99 and C++).
 *
 * A *small subtree* is such a subtree: a node of at most DF_SMALL records and all that is below it. Most nodes that a deep tree
 * splits have eight records or fewer, so what counts here is what a node costs whatever it has. What a small subtree's records
 * say is copied once: the i-th has word[i] or binary_counts[i], target[i] and row[i]. `order` has their numbers, those of each
 * node together: a node is a *run* of `order`, and a split parts a run. No record moves. Of five records and two splits,
 *
 *     order            nodes
 *     0 1 2 3 4        a: 0 to 4
 *     1 4 | 0 2 3      b: 1 and 4, on the left; c: 0, 2 and 3
 *     4 | 1 | 0 2 3    d: 4; e: 1
 *
 * the nodes are written in preorder: a b d e c. small_growth.h grows it; small_search.h tries a node's features, whose best cuts
 * small_best.h finds, and random ones small_random.h. All rules are those of rules/: a small subtree is what the long way, node by
 * node, makes of its records. Branches on what a few records say are avoided, as nobody can foretell them: they cost more than most of the
 * arithmetic.
 *
 * Scores count draws: all weights are 1. There are no columns of categories, and keys for random cuts alone. Whoever grows a small
 * subtree owns it and whatever it points to. */
#ifndef DFOREST_SMALL_SUBTREE_H
#define DFOREST_SMALL_SUBTREE_H

#include "core/column.h"
#include "core/grow/small_draws.h"
#include "core/row_codes.h"
#include "core/search/unordered.h"
#include "core/search/random_cut.h"
#include "rules/cut.h"
#include "rules/feature_order.h"
#include "rules/node.h"
#include "rules/numerics.h"

enum {
    DF_SMALL = 64,       /* most records of a small subtree */
    DF_SMALL_TRIES = 16, /* most features that are tried together */
    DF_SMALL_SLOTS = 64  /* most features whose codes are copied */
};

/* What the words of records are: see unordered.h. */
enum { DF_SMALL_BINARY = 1, DF_SMALL_CLASSES, DF_SMALL_SUMS };

/* A node. */
typedef struct {
    uint64_t key;
    uint64_t constants; /* which of the first 64 features are known to be constant */
    uint32_t words[DF_WORD_ROOM_OF_NODE]; /* the first ones of its stream of features, if it has two records or more */
    int64_t depth;
    int32_t feature;    /* -1: a leaf */
    uint32_t code, above; /* best cuts */
    double threshold;     /* random cuts */
    uint8_t first, n;     /* its run of `order` */
    uint8_t parent, is_right;
    uint8_t scale; /* among `scales` */
    uint8_t is_pure;
    uint8_t missing_left, only_missing_right;
} df_small_node;

/* Codes of the records, as bytes, by record and by slot. Up to 64 features, feature f has slot f. */
typedef struct {
    uint8_t by_slot[DF_SMALL_SLOTS][DF_SMALL];
    uint8_t by_record[DF_SMALL][DF_SMALL_SLOTS]; /* up to 64 features */
    uint32_t ranked[DF_SMALL_SLOTS][DF_SMALL];   /* the data's codes, if the bytes are their ranks among the records */
    uint8_t is_ranked[DF_SMALL_SLOTS];
    uint8_t missing[DF_SMALL_SLOTS];             /* the byte that means missing, if the column has such values */
    uint8_t *slot_of;                            /* [n_features] if there are more than 64: 1 more than a feature's slot, or 0 */
    uint32_t feature_of[DF_SMALL_SLOTS];
    int n_slots;                                 /* taken ones, of more than 64 features */
} df_small_codes;

/* Some features side by side, and their cuts: see small_lanes.h. */
typedef struct {
    int first;        /* which of the features that are tried together is the first of them */
    int missing_left; /* of all cuts */
    float rough[DF_SMALL];
    uint8_t codes[DF_SMALL];
    uint8_t lefts[DF_SMALL];                    /* draws on the left; not of sums */
    uint8_t firsts[DF_SMALL];                   /* two classes: of class 0 */
    uint8_t of_class[DF_UNORDERED_CLASSES][DF_SMALL]; /* classes: of each */
    uint64_t sums[DF_SMALL];                    /* sums: words */
} df_small_pass;

typedef struct {
    /* Of all small subtrees of a part of a tree */
    int64_t max_depth;
    int64_t min_split; /* draws of a node that is split */
    int64_t least;       /* draws of a side */
    uint32_t seed;
    uint32_t n_features;
    int64_t max_features;
    int skip_constant; /* constant features don't count among max_features */
    int n_classes;
    int has_missing;          /* some column does */
    uint64_t all_features;    /* a bit for each, up to 64 */
    const uint8_t *byte_rows; /* the data's codes by row, if there are at most 64 columns and all are of bytes; else NULL */
    size_t byte_stride;
    uint32_t *features, *swapped; /* [n_features] see rules/feature_order.h */
    const uint8_t *is_constant;   /* [n_features] at the uppermost node */
    /* Of this one; nodes[0] is its uppermost node */
    const df_coded_column *columns;
    const uint32_t *data_rows; /* see Node.rows */
    uint32_t row[DF_SMALL], count[DF_SMALL];
    int32_t target[DF_SMALL];
    double y[DF_SMALL];      /* sums */
    uint64_t word[DF_SMALL]; /* classes, sums */
    uint16_t binary_counts[DF_SMALL]; /* two classes */
    uint8_t order[2 * DF_SMALL]; /* the second half is looked at, but does not matter */
    struct {
        uint8_t count[DF_SMALL], first[DF_SMALL], class_of[DF_SMALL];
    } bytes; /* what cuts of classes are scored by: two have a first one */
    df_small_codes codes;
    df_small_pass passes[2 * DF_SMALL_TRIES];
    df_scale scales[2 * DF_SMALL]; /* the first is the uppermost node's, as it was made above */
    int n_scales;
    df_small_node nodes[2 * DF_SMALL];
    int n_nodes;
} df_small_subtree;

/* A node that is open. */
typedef struct {
    const uint8_t *run; /* its records' numbers */
    int64_t of_class[DF_UNORDERED_CLASSES];
    df_measure measure; /* sums */
    int64_t draws;
    double score;  /* of the best cut so far; -1: there is none */
    uint64_t left; /* a bit for each record of the run that goes left */
} df_small_open;

/* Features that a node tries together, in the order in which they are drawn. */
typedef struct {
    int n;
    uint32_t feature[DF_SMALL_TRIES];
    /* Best cuts: */
    int n_passes;
    uint8_t slot[DF_SMALL_TRIES + 4]; /* of the features' codes */
    float highest;                    /* of the scores in float32; -1: no cut is valid */
} df_small_tries;

/* Whether there are so few features that a bit for each fits into a word: the codes of all are copied when a subtree of best cuts
 * begins. */
DF_INLINE int df_small_is_masked(const df_small_subtree *small) { return small->n_features <= DF_MASKED_FEATURES; }

/* Remember whether a feature is constant in a node; returns that. */
DF_INLINE int df_small_note_constant(df_small_node *node, uint32_t feature, int is_constant) {
    node->constants |= (uint64_t)(is_constant & (feature < 64)) << (feature & 63);
    return is_constant;
}

/* Split a node. left : a bit for each record of the run that goes left; n_left : draws of values that do */
DF_INLINE void df_small_take(df_small_node *node, df_small_open *open, uint32_t feature, uint64_t left, int64_t n_left,
                             int64_t n_missing, int missing_left) {
    node->feature = (int32_t)feature;
    node->only_missing_right = (uint8_t)df_only_missing_right(n_left, n_missing, missing_left, open->draws);
    node->missing_left = (uint8_t)df_missing_goes_left(n_left, n_missing, missing_left, open->draws);
    open->left = left;
}

/* The data's code of a record, of 32 bits at most. */
DF_INLINE uint32_t df_small_code(const df_coded_column *column, const uint32_t *data_rows, uint32_t row) {
    if (column->buckets != NULL && data_rows != NULL) /* a subtree cache has copies of its buckets alone */
        row = data_rows[row];
    if (column->width == 1)
        return ((const uint8_t *)column->codes)[row];
    if (column->width == 2)
        return ((const uint16_t *)column->codes)[row];
    return ((const uint32_t *)column->codes)[row];
}

/* Give the targets of a node a scale of their own, as NumberCriterion.requantise does; or find them equal: returns whether. */
static inline int df_small_requantise(df_small_subtree *small, df_small_node *node) {
    const uint8_t *run = small->order + node->first;
    double lo = small->y[run[0]], hi = lo, centre;
    int32_t exponent, smallest = INT32_MAX, largest = -INT32_MAX;
    df_quantiser quantiser;
    df_scale *scale;
    for (int i = 1; i < node->n; i++) {
        const double y = small->y[run[i]];
        lo = y < lo ? y : lo;
        hi = y > hi ? y : hi;
    }
    if (lo == hi)
        return 1;
    exponent = df_choose_scale(lo, hi, 31, &centre);
    quantiser = df_quantiser_of(centre, exponent);
    for (int i = 0; i < node->n; i++) {
        const int k = run[i];
        const int32_t q = df_quantised(&quantiser, small->y[k]);
        small->target[k] = q;
        small->word[k] = df_pack_sum(small->count[k], q);
        smallest = q < smallest ? q : smallest;
        largest = q > largest ? q : largest;
    }
    node->scale = (uint8_t)small->n_scales++;
    scale = &small->scales[node->scale];
    scale->centre = centre;
    scale->exponent = exponent;
    scale->range = (int64_t)largest - smallest;
    return 0;
}

/* Add up the draws of a node of two records or more; returns whether it is pure. */
DF_INLINE int df_small_open_node(df_small_subtree *small, const int kind, df_small_node *node, df_small_open *open) {
    const uint8_t *run = small->order + node->first;
    const int n = node->n;
    uint64_t sum = 0;
    int is_pure = 0;
    open->run = run;
    if (kind == DF_SMALL_BINARY) {
        for (int i = 0; i < n; i++)
            sum += small->binary_counts[run[i]];
        open->of_class[0] = (int64_t)(sum & 255); /* at most 255 draws: nothing runs over */
        open->of_class[1] = (int64_t)(sum >> 8);
        open->draws = open->of_class[0] + open->of_class[1];
        return open->of_class[0] == 0 || open->of_class[1] == 0;
    }
    if (kind == DF_SMALL_CLASSES) {
        for (int i = 0; i < n; i++)
            sum += small->word[run[i]];
        open->draws = 0;
        for (int k = 0; k < small->n_classes; k++) {
            open->of_class[k] = (int64_t)(sum >> 8 * k & 255);
            open->draws += open->of_class[k];
            is_pure |= sum == (sum & (uint64_t)255 << 8 * k);
        }
    } else {
        int32_t lo = small->target[run[0]], hi = lo;
        int64_t total[3];
        for (int i = 1; i < n; i++) {
            const int32_t target = small->target[run[i]];
            lo = target < lo ? target : lo;
            hi = target > hi ? target : hi;
        }
        if (df_is_narrow(n, (int64_t)hi - lo, small->scales[node->scale].range))
            is_pure = df_small_requantise(small, node);
        for (int i = 0; i < n; i++)
            sum += small->word[run[i]];
        open->draws = total[0] = total[1] = (int64_t)(sum >> DF_SUM_BITS);
        total[2] = (int64_t)(sum & DF_SUM_MASK) - open->draws * DF_SUM_BIAS;
        df_measure_squares(total, 0, &open->measure);
    }
    return is_pure;
}

/* Part a run, stably; returns how many go left. left : a bit for each that does */
DF_INLINE int df_small_part(uint8_t *run, int n, uint64_t left) {
    uint8_t right[DF_SMALL];
    int n_left = 0, n_right = 0;
    for (int i = 0; i < n; i++) {
        const uint8_t number = run[i];
        const int goes_left = (int)(left >> i & 1);
        run[n_left] = number;
        right[n_right] = number;
        n_left += goes_left;
        n_right += !goes_left;
    }
    for (int i = 0; i < n_right; i++)
        run[n_left + i] = right[i];
    return n_left;
}

#endif
