/* Subtrees of few records, grown whole by one function (C99 and C++).
 *
 * A *small subtree* is such a subtree: a node of at most DF_SMALL records and all that is below it. Most nodes that a deep tree
 * splits have eight records or fewer, so what counts here is what a node costs whatever it has. What a small subtree's records
 * say is copied once: the i-th has word[i] or pair[i], target[i] and row[i]. `order` has their numbers, those of each node
 * together: a node is a *run* of `order`, and a split parts a run. No record moves. Of five records and two splits,
 *
 *     order            nodes
 *     0 1 2 3 4        a: 0 to 4
 *     1 4 | 0 2 3      b: 1 and 4, on the left; c: 0, 2 and 3
 *     4 | 1 | 0 2 3    d: 4; e: 1
 *
 * the nodes are written in preorder: a b d e c. Each cut is found and scored by the loops of few.h, and all rules are those of
 * rules/: a small subtree is what the long way, node by node, makes of its records. Branches on what a few records say are
 * avoided, as nobody can foretell them: they cost more than most of the arithmetic.
 *
 * Scores count draws: all weights are 1. There are no columns of categories, and keys for random cuts alone, of which
 * random_small_subtree.h tells. Whoever grows a small subtree owns it and whatever it points to. */
#ifndef DFOREST_SMALL_SUBTREE_H
#define DFOREST_SMALL_SUBTREE_H

#include "core/column.h"
#include "core/row_codes.h"
#include "core/search/few.h"
#include "core/search/random_cut.h"
#include "rules/cut.h"
#include "rules/feature_order.h"
#include "rules/node.h"
#include "rules/numerics.h"

enum { DF_SMALL = 32 }; /* most records of a small subtree */

/* What the words of records are: see few.h. */
enum { DF_SMALL_PAIRS = 1, DF_SMALL_CLASSES, DF_SMALL_SUMS };

typedef struct {
    double centre;
    int64_t range;
    int32_t exponent;
} df_small_scale;

/* A node. */
typedef struct {
    uint64_t path;
    uint64_t constants; /* which of the first 64 features are known to be constant */
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

typedef struct {
    /* Of all small subtrees of a part of a tree */
    int64_t max_depth;
    int64_t min_split; /* draws of a node that is split */
    int64_t least;       /* draws of a side */
    uint32_t seed;
    uint32_t n_features;
    int64_t max_features;
    int skip_constant; /* constant features don't count among max_features */
    int n_ahead;       /* features whose codes are asked for ahead; 0: codes are near */
    int n_classes;
    uint32_t *features, *swapped; /* [n_features] see rules/feature_order.h */
    const uint8_t *is_constant;   /* [n_features] at the uppermost node */
    /* Of this one; nodes[0] is its uppermost node */
    const df_coded_column *columns;
    const uint32_t *data_rows; /* see Node.rows */
    uint32_t row[DF_SMALL], count[DF_SMALL];
    int32_t target[DF_SMALL];
    double y[DF_SMALL];      /* sums */
    uint64_t word[DF_SMALL]; /* classes, sums */
    uint16_t pair[DF_SMALL]; /* pairs */
    uint8_t order[DF_SMALL];
    df_small_scale scales[2 * DF_SMALL]; /* the first is the uppermost node's, as it was made above */
    int n_scales;
    df_small_node nodes[2 * DF_SMALL];
    int n_nodes;
} df_small_subtree;

/* A node that is open. */
typedef struct {
    const uint8_t *run; /* its records' numbers */
    int64_t of_class[DF_FEW_CLASSES];
    df_measure measure; /* sums */
    int64_t draws;
    uint32_t row[DF_SMALL];  /* of its records */
    uint32_t code[DF_SMALL]; /* of the feature at hand */
    df_few few;             /* its records, in the order of the run, and these codes or ranks of them */
    double score;           /* of the best cut so far; -1: there is none */
    int missing_left;       /* by that cut */
    uint32_t best_cut;      /* the highest code on its left */
    uint32_t best_code[DF_SMALL];
    uint64_t left;          /* a bit for each record of the run that goes left */
} df_small_open;

/* The data's code of a record. */
DF_INLINE uint32_t df_small_code(const df_coded_column *column, const uint32_t *data_rows, uint32_t row) {
    if (column->coarse != NULL && data_rows != NULL) /* a block has copies of its buckets alone */
        row = data_rows[row];
    if (column->width == 1)
        return ((const uint8_t *)column->codes)[row];
    if (column->width == 2)
        return ((const uint16_t *)column->codes)[row];
    return ((const uint32_t *)column->codes)[row];
}

/* Draw the first features of a node, ask for those of their codes that are not in a block, and undo the draws. */
static inline void df_small_ask(df_small_subtree *small, df_stream stream, const uint8_t *run, int n) {
    uint32_t n_drawn = 0;
    while (n_drawn < (uint32_t)small->n_ahead) {
        const uint32_t feature = df_draw_feature(&stream, small->features, small->swapped, n_drawn++, small->n_features);
        const df_coded_column *column = small->columns + feature;
        const uint32_t *rows = column->coarse != NULL ? small->data_rows : NULL;
        if (column->coarse == NULL && small->data_rows != NULL)
            continue;
        for (int i = 0; i < n; i++) {
            const size_t row = rows != NULL ? rows[small->row[run[i]]] : small->row[run[i]];
            DF_ASK_FOR((const char *)column->codes + row * (size_t)column->width);
        }
    }
    df_undo_features(small->features, small->swapped, n_drawn);
}

/* Give the targets of a node a scale of their own, as NumberCriterion.requantise does; or find them equal: returns whether. */
static inline int df_small_requantise(df_small_subtree *small, df_small_node *node) {
    const uint8_t *run = small->order + node->first;
    double lo = small->y[run[0]], hi = lo, centre;
    int32_t exponent, smallest = INT32_MAX, largest = -INT32_MAX;
    df_quantiser quantiser;
    df_small_scale *scale;
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
        small->word[k] = df_sum_word(small->count[k], q);
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
    if (kind == DF_SMALL_PAIRS) {
        for (int i = 0; i < n; i++)
            sum += small->pair[run[i]];
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

/* Copy what cuts are scored by. */
DF_INLINE void df_small_fill(const df_small_subtree *small, const int kind, const df_small_node *node, df_small_open *open) {
    df_few *few = &open->few;
    few->n = node->n;
    few->least = (int)(small->least > DF_FEW_DRAWS ? DF_FEW_DRAWS + 1 : small->least);
    for (int i = 0; i < DF_SMALL; i++)
        few->code[i] = DF_FEW_NO_CODE;
    for (int i = 0; i < DF_TINY; i++) { /* the loops for so few look at as many words */
        few->pair[i] = 0;
        few->word[i] = 0;
    }
    for (int i = 0; i < node->n; i++) {
        open->row[i] = small->row[open->run[i]];
        if (kind == DF_SMALL_PAIRS)
            few->pair[i] = small->pair[open->run[i]];
        else
            few->word[i] = small->word[open->run[i]];
    }
}

/* Gather the codes of a column in a node; returns whether all are equal. OUT missing : word of the missing draws */
DF_INLINE int df_small_gather(const df_small_subtree *small, const int kind, const df_coded_column *column, df_small_open *open,
                             uint64_t *missing) {
    df_few *few = &open->few;
    const int n = few->n;
    uint32_t differing = 0;
    *missing = 0;
    few->n_missing = 0;
    few->missing = DF_FEW_NO_CODE;
    if (column->width == 1 && column->coarse == NULL) {
        const uint8_t *codes = (const uint8_t *)column->codes;
        const uint32_t head = codes[open->row[0]];
        for (int i = 0; i < n; i++) {
            const uint32_t code = codes[open->row[i]];
            open->code[i] = code;
            few->code[i] = (int16_t)code;
            differing |= code ^ head;
        }
    } else {
        const uint32_t head = df_small_code(column, small->data_rows, open->row[0]);
        for (int i = 0; i < n; i++) {
            const uint32_t code = df_small_code(column, small->data_rows, open->row[i]);
            open->code[i] = code;
            few->code[i] = (int16_t)(code ^ 0x8000); /* the sign's bit turned: 16 bits order like unsigned numbers */
            differing |= code ^ head;
        }
    }
    if (differing == 0)
        return 1;
    if (column->width > 2 || column->has_missing) {
        int32_t rank[DF_SMALL];
        uint32_t code[DF_SMALL];
        for (int i = 0; i < n; i++) {
            const int is_missing = column->has_missing && open->code[i] == (uint32_t)column->n_codes;
            code[i] = is_missing ? UINT32_MAX : open->code[i];
            *missing += is_missing ? (kind == DF_SMALL_PAIRS ? few->pair[i] : few->word[i]) : 0;
            few->n_missing += is_missing ? (int)small->count[open->run[i]] : 0;
        }
        df_few_ranks_loop(code, n, DF_SMALL, rank);
        for (int i = 0; i < n; i++) {
            few->code[i] = (int16_t)rank[i];
            if (few->n_missing > 0 && code[i] == UINT32_MAX)
                few->missing = (int16_t)rank[i];
        }
    }
    return 0;
}

/* The best cut of a feature whose codes have been gathered. offset : word of the missing draws, if they go left */
DF_INLINE void df_small_cut(const df_small_subtree *small, const int kind, const df_small_open *open, uint64_t offset, df_cut *cut) {
    const df_few *few = &open->few;
    const double weight = (double)open->draws;
    cut->place = cut->left = 0;
    cut->score = -1.0;
    if (kind == DF_SMALL_PAIRS) {
        if (few->n <= DF_TINY)
            df_tiny_pairs(few, offset, weight, (double)open->of_class[0], cut);
        else
            df_few_pairs_loop(few, DF_SMALL, offset, weight, (double)open->of_class[0], cut);
    } else if (kind == DF_SMALL_CLASSES) {
        if (few->n <= 8)
            df_few_classes_loop(few, 8, offset, weight, open->of_class, small->n_classes, cut);
        else
            df_few_classes_loop(few, DF_SMALL, offset, weight, open->of_class, small->n_classes, cut);
    } else {
        const double mean = (double)open->measure.mean, remainder = open->measure.remainder;
        if (few->n <= DF_TINY)
            df_tiny_sums(few, offset, weight, mean, remainder, cut);
        else if (few->n <= 8)
            df_few_sums_loop(few, 8, offset, weight, mean, remainder, cut);
        else if (few->n <= 16)
            df_few_sums_loop(few, 16, offset, weight, mean, remainder, cut);
        else
            df_few_sums_loop(few, DF_SMALL, offset, weight, mean, remainder, cut);
    }
}

/* Of a feature's valid cuts, the evenest one, of several the lowest: where none scores above 0. n_offset : draws that go left
 * besides. OUT imbalance : the cut's */
static inline void df_small_evenest(const df_small_subtree *small, const df_small_open *open, int n_offset, df_cut *cut,
                                    int64_t *imbalance) {
    const df_few *few = &open->few;
    *imbalance = INT64_MAX;
    for (int i = 0; i < few->n; i++) {
        int64_t left = n_offset, here;
        if (few->code[i] >= few->missing)
            continue;
        for (int j = 0; j < few->n; j++)
            left += few->code[j] <= few->code[i] ? small->count[open->run[j]] : 0;
        if (left < few->least || open->draws - left < few->least)
            continue;
        here = df_imbalance(0.0, left, open->draws);
        if (here < *imbalance || (here == *imbalance && few->code[i] < few->code[cut->place])) {
            *imbalance = here;
            cut->place = i;
            cut->left = (int)left;
        }
    }
}

/* Try a feature: keep its best cut if that is better than the best so far. Returns whether the feature is constant. */
DF_INLINE int df_small_try(const df_small_subtree *small, const int kind, uint32_t feature, df_small_node *node, df_small_open *open) {
    const df_few *few = &open->few;
    uint64_t missing;
    int64_t imbalance = 0, other_imbalance = 0;
    int missing_left = 0;
    df_cut cut, other;
    if (df_small_gather(small, kind, small->columns + feature, open, &missing))
        return 1;
    df_small_cut(small, kind, open, 0, &cut);
    if (few->n_missing > 0) {
        df_small_cut(small, kind, open, missing, &other);
        if (open->score < 0.0 && cut.score <= 0.0 && other.score <= 0.0) {
            if (cut.score == 0.0)
                df_small_evenest(small, open, 0, &cut, &imbalance);
            if (other.score == 0.0)
                df_small_evenest(small, open, few->n_missing, &other, &other_imbalance);
        }
        if (df_leads_left(other.score, other_imbalance, few->code[other.place], cut.score, imbalance, few->code[cut.place])) {
            cut = other;
            missing_left = 1;
        }
    } else if (cut.score == 0.0 && open->score < 0.0)
        df_small_evenest(small, open, 0, &cut, &imbalance);
    if (cut.score <= open->score)
        return 0;
    open->score = cut.score;
    open->missing_left = missing_left;
    open->best_cut = open->code[cut.place];
    for (int i = 0; i < few->n; i++)
        open->best_code[i] = open->code[i];
    node->feature = (int32_t)feature;
    return 0;
}

/* Say all that there is to say of a node's split, once its feature and its cut are known. No branches: which records go left,
 * nobody can foretell. */
DF_INLINE void df_small_finish(const df_small_subtree *small, df_small_node *node, df_small_open *open) {
    const df_coded_column *column = small->columns + node->feature;
    const uint32_t missing = column->has_missing ? (uint32_t)column->n_codes : UINT32_MAX;
    int n_left = 0, n_missing = 0; /* draws */
    node->code = open->best_cut;
    node->above = UINT32_MAX;
    open->left = 0;
    for (int i = 0; i < node->n; i++) {
        const uint32_t code = open->best_code[i];
        const int count = (int)small->count[open->run[i]], is_missing = code == missing, is_left = code <= node->code;
        const uint32_t on_right = code | (0u - (uint32_t)(is_missing | is_left));
        n_left += count & -is_left;
        n_missing += count & -is_missing;
        node->above = on_right < node->above ? on_right : node->above;
        open->left |= (uint64_t)(is_left | (is_missing & open->missing_left)) << i;
    }
    node->only_missing_right = (uint8_t)df_only_missing_right(n_left, n_missing, open->missing_left, open->draws);
    node->missing_left = (uint8_t)df_missing_goes_left(n_left, n_missing, open->missing_left, open->draws);
}

/* Draw the features of a node of three records or more in their order, and keep the best cut. */
DF_INLINE void df_small_search(df_small_subtree *small, const int kind, df_stream *stream, df_small_node *node, df_small_open *open) {
    uint32_t n_drawn = 0;
    int64_t n_counted = 0;
    if (small->n_ahead > 0)
        df_small_ask(small, *stream, open->run, node->n);
    df_small_fill(small, kind, node, open);
    while (n_drawn < small->n_features && (n_counted < small->max_features || node->feature < 0)) {
        const uint32_t feature = df_draw_feature(stream, small->features, small->swapped, n_drawn, small->n_features);
        int is_constant = small->is_constant[feature] || (feature < 64 && node->constants >> feature & 1);
        n_drawn++;
        if (!is_constant) {
            is_constant = df_small_try(small, kind, feature, node, open);
            node->constants |= (uint64_t)(is_constant && feature < 64) << (feature & 63);
        }
        n_counted += !(is_constant && small->skip_constant);
    }
    df_undo_features(small->features, small->swapped, n_drawn);
    if (node->feature >= 0)
        df_small_finish(small, node, open);
}

/* Split a node of two records: every feature that parts them does it by the same score. */
DF_INLINE void df_small_part_two(df_small_subtree *small, df_stream *stream, df_small_node *node, df_small_open *open) {
    const uint8_t *run = open->run;
    uint32_t n_drawn = 0;
    if (small->count[run[0]] < small->least || small->count[run[1]] < small->least)
        return;
    while (n_drawn < small->n_features && node->feature < 0) {
        const uint32_t feature = df_draw_feature(stream, small->features, small->swapped, n_drawn++, small->n_features);
        const df_coded_column *column = small->columns + feature;
        const uint32_t a = df_small_code(column, small->data_rows, small->row[run[0]]);
        const uint32_t b = df_small_code(column, small->data_rows, small->row[run[1]]);
        const int turned = a > b; /* a missing value has the highest code: it goes right, and alone */
        if (a == b)
            continue;
        node->feature = (int32_t)feature;
        node->code = turned ? b : a;
        node->above = turned ? a : b;
        node->only_missing_right = column->has_missing && node->above == (uint32_t)column->n_codes;
        node->missing_left = !node->only_missing_right && 2 * (int64_t)small->count[run[turned]] > open->draws;
        open->left = turned ? 2 : 1;
    }
    df_undo_features(small->features, small->swapped, n_drawn);
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

/* Splits at random cuts: see random_small_subtree.h. */
DF_INLINE void df_small_search_random(df_small_subtree *small, const int kind, df_stream *stream, df_small_node *node,
                                     df_small_open *open);
DF_INLINE void df_small_part_two_random(df_small_subtree *small, df_stream *stream, df_small_node *node, df_small_open *open);

/* Grow a small subtree from its uppermost node. is_random : cuts are drawn; else they are the best ones */
DF_INLINE void df_small_grow_loop(df_small_subtree *small, const int kind, const int is_random) {
    df_small_node stack[DF_SMALL + 1]; /* right children still to come */
    df_small_node *node = &small->nodes[0];
    df_small_open open;
    open.left = 0; /* which a compiler can't see is always set before it is read */
    int n_stack = 0;
    small->n_nodes = 1;
    for (;;) {
        node->is_pure = node->n == 1;
        if (node->n > 1) {
            node->is_pure = (uint8_t)df_small_open_node(small, kind, node, &open);
            if (!node->is_pure && node->depth < small->max_depth && open.draws >= small->min_split) {
                df_stream stream;
                df_stream_open(&stream, small->seed, node->path, DF_FEATURES);
                open.score = -1.0;
                open.best_cut = 0;
                open.missing_left = 0;
                open.left = 0;
                if (node->n == 2 && is_random)
                    df_small_part_two_random(small, &stream, node, &open);
                else if (node->n == 2)
                    df_small_part_two(small, &stream, node, &open);
                else if (is_random)
                    df_small_search_random(small, kind, &stream, node, &open);
                else
                    df_small_search(small, kind, &stream, node, &open);
            }
        }
        if (node->feature >= 0) {
            const int n_left = df_small_part(small->order + node->first, node->n, open.left);
            df_small_node *left = &small->nodes[small->n_nodes], *right = &stack[n_stack++];
            left->path = df_child_path(node->path, 0);
            right->path = df_child_path(node->path, 1);
            left->constants = right->constants = node->constants;
            left->depth = right->depth = node->depth + 1;
            left->feature = right->feature = -1;
            left->first = node->first;
            left->n = (uint8_t)n_left;
            right->first = (uint8_t)(node->first + n_left);
            right->n = (uint8_t)(node->n - n_left);
            left->parent = right->parent = (uint8_t)(small->n_nodes - 1);
            left->is_right = 0;
            right->is_right = 1;
            left->scale = right->scale = node->scale;
            small->n_nodes++;
            node = left;
            continue;
        }
        if (n_stack == 0)
            return;
        node = &small->nodes[small->n_nodes++];
        *node = stack[--n_stack];
    }
}

#include "core/grow/random_small_subtree.h"

#endif
