// The records that the processor, kernels and drivers share (C99 and C++); records.py reads their fields from here.
//
// The draws of all trees of a batch lie in one array, each tree's in a range of its own; a node has a range of them.
#ifndef DFOREST_RULES_RECORDS_H
#define DFOREST_RULES_RECORDS_H

#include <stdint.h>

enum { DF_GINI, DF_ENTROPY, DF_HELLINGER, DF_SQUARED_ERROR, DF_POISSON, DF_ABSOLUTE_ERROR };

// Of a feature: tested by x <= threshold; by x <= threshold, where the threshold is a value that occurs; by membership in a set.
typedef enum { DF_CONTINUOUS, DF_ORDINAL, DF_CATEGORICAL } df_kind;

// How a draw adds to words 2, 3, ... of a statistic: see df_add_draws; of several outputs, df_add_outputs.
typedef enum { DF_CLASS_WEIGHTS, DF_TARGET_SUM, DF_TARGET_SUM_WIDE, DF_OUTPUTS } df_draw_kind;

enum { DF_SHARED_BYTES = 384 }; // of df_shared, at most
enum { DF_FEATURE_ARRAYS = 4 }; // of df_features
enum { DF_MEDIAN_RECORD_BYTES = 56, DF_MEDIAN_CUT_BYTES = 112 }; // of a df_median_room, for a record, and a cut and a direction

// When a node is a leaf: the parameters of the estimators, of these names.
typedef struct {
    int64_t max_depth;
    int64_t min_samples_split;
    int64_t min_samples_leaf;  // 1 or more
    double min_weight_fraction_leaf;
    double impurity_threshold;
    double min_impurity_decrease;
} df_limits;

// What each side of a valid cut has at least.
typedef struct {
    int64_t min_draws;         // 1 or more
    double min_weight;
} df_leaf_rules;

// What trees that tell rows apart by effects of treatments ask for: see effects.h.
typedef struct {
    int64_t n_outcomes, n_treatments; // from 1; of other trees 0
    int64_t is_instrumental;
    int64_t stabilizes;        // cuts are bounded by what follows
    int64_t least;             // draws on each side of a cut with an instrument above the node's mean, and of others
    double alpha;              // least share of an instrument's sum of squares on each side
    double imbalance_penalty;
} df_effect_rules;

// What is the same for all nodes of a fit.
typedef struct {
    int64_t n_features;
    int64_t max_features;
    int64_t n_outputs;
    int64_t skip_constant;     // features that are constant in a node don't count among these
    int64_t code_bytes;        // 1, 2 or 4; or 8, where there are such keys
    int64_t max_entries;      // of a column: its codes, and the one for missing; of keys: see df_draft
    int64_t has_keys;          // some column has keys
    int64_t criterion;
    int64_t n_words;           // of a statistic
    int64_t is_unit;           // all weights are 1
    int64_t is_wide;           // sums of targets have two words
    int64_t is_random;
    int64_t one_hot;           // categories are divided from the rest one by one
    int64_t max_categories;   // of a column; 0: there are no categorical ones
    int64_t subset_words;      // of 64 bits, for a subset of max_categories
    int64_t limb_bits;        // see histogram.hpp
    int64_t weight_limbs;
    int64_t sum_limbs;
    int64_t n_planes;
    int64_t is_bounded;        // some feature has a direction
    int64_t n_missing_sides;   // 2: some column has missing values, which may go left or right
    int64_t n_label_orders;    // of a tree, see df_label_orders
    int64_t n_label_ranks;     // of a tree's labels, of all columns and orders; 0: nodes order them
    df_limits limits;
    df_effect_rules effects;
} df_problem;

typedef struct {
    int64_t first;             // where its numbers begin, in the tables of values, lows and highs
    uint32_t n_codes;          // of values; missing has the next one. Keys: entries of values, 2
    uint32_t has_missing;
    uint32_t kind;
    uint32_t is_float32;       // what the numbers were, which are kept as float64
    int32_t monotonic_cst;     // 1 or -1: predictions may only rise or only fall with the feature; 0: either
    uint32_t key_bits;         // 32 or 64: its codes are keys (ordered_keys.h); 0: they are not
    int64_t first_rank;        // where those of its labels begin among a tree's; -1: nodes order them
} df_column;

// Equal draws of a tree: a record with a count.
typedef struct {
    uint32_t row;              // of the data, or of a subtree's own copy of them
    uint32_t count;            // how often it was drawn
    int32_t target;            // class number, or quantised target; of several outputs: nothing on devices
    uint32_t weight;           // integer weight of one draw
} df_record;

// A scale of targets made ready to be used: 2^exponent as two factors, as it may be beyond float64. They round nothing that does
// not round to 0 anyway.
typedef struct {
    double centre, first, second;
} df_quantiser;

// What cuts of a node are scored against, by criteria of numbers (criteria.h).
typedef struct {
    int64_t mean;              // the node's mean target, rounded down
    double remainder;          // its sum of targets less weight * mean
    double base;               // Poisson: the integer target at which the true one is 0, with the sign changed; rounded
    double centre;             // Poisson: mean of the true targets, in the unit of the integers
    int64_t zero;              // Poisson: the integer target of 0; far below all others it doesn't matter where
} df_measure;

// One of several outputs in a node (outputs.h).
typedef struct {
    df_quantiser scale;        // of its targets; of equal ones, all of which are 0, the factors are 0. Classes: nothing
    df_measure measure;        // classes: nothing
    double factor;             // that makes its scores those of the node; 0: it is pure
    int32_t exponent;          // of the scale
    int32_t first;             // of its words in a statistic, ...
    int32_t n_words;           // ... and how many these are
    int32_t is_pure;           // all draws have one target
} df_output;

// The scale of a node's targets: the integer of a target y is (y - centre) * 2^exponent, rounded.
typedef struct {
    double centre;
    int64_t range;             // the largest integer less the smallest one, of the node that it was made for; 0: there is no scale
    int32_t exponent;          // of several outputs: the least of theirs
    int32_t padding;
} df_scale;

// An open node.
typedef struct {
    int64_t first;             // of its draws
    int64_t n;
    uint64_t key;
    int64_t first_weight;      // where the exact weights of its tree's rows begin (weights.h), if there are any
    double root_weight;        // of all draws of its tree, in the units of all rows' integers
    df_scale scale;            // of its targets
    double lower;              // bounds of its predictions
    double upper;
    int32_t depth;
    uint32_t seed;             // of its tree
    uint32_t right;            // in a subtree: the node whose right child it is, counted from 1; 0: a left child
    int32_t weight_shift;      // of the weights of its draws (weights.h)
    int32_t label_order;       // which of several trees' orders of labels is its own, if there are any
} df_open_node;

// The random cut of a column of keys in a node. It is drawn before anything is counted: a histogram then has the entries 0 of
// the draws on its left, 1 on its right, and 2 of missing ones.
typedef struct {
    uint64_t lowest;           // key of a value in the node
    uint64_t highest;          // below lowest: there is none
    uint64_t cut;              // the highest key on the left
    double threshold;
    int64_t is_used;           // 0: the column has no keys
} df_draft;

// The best cut of a feature.
typedef struct {
    double score;              // -1: there is none
    double midpoint;           // between the predictions of the two sides, where features have directions
    double threshold;          // of keys
    uint64_t code;             // the highest on the left
    int32_t feature;
    uint32_t above;            // the lowest on the right in the node
    uint32_t missing_left;
    uint32_t only_missing;     // on the right
    uint32_t is_constant;      // the feature is, in the node
} df_split;

// A node that has been grown.
typedef struct {
    int64_t first;             // of its draws
    int64_t n;
    df_scale scale;
    double lower;
    double upper;
    double threshold;          // these from the cut
    uint64_t code;
    int64_t first_weight;      // as of df_open_node
    int32_t feature;           // -1: a leaf
    uint32_t above;
    uint32_t missing_left;
    uint32_t only_missing;
    uint32_t right;            // the right child, counted from the subtree's first node
    int32_t weight_shift;
} df_grown;

// A range of a node's draws, or rows.
typedef struct {
    int64_t first;
    int64_t n;
    int64_t node;              // its place in a table of nodes
} df_chunk;

enum {
    DF_BOOST_CODES = 256,      // of a narrow column, with the one for missing, at most; ...
    DF_SUBSET_WORDS = 4,       // ... and a bit for each
    DF_ROOM_NUMBERS = 7,       // of 8 bytes that the search for a cut writes for each code of a column (boost_cuts.h), ...
    DF_OUTPUT_NUMBERS = 3      // ... and more if leaves have several values
};

// The best cut of a column in a node of a boosted tree, in units of narrow gradients (boost_cuts.h).
typedef struct {
    double score;              // see df_cut_score, with constraints df_bounded_gain; -1: there is no valid cut
    int32_t feature;
    uint32_t code;             // of numbers: the highest on the left; of categories: how many of the first are, less 1
    uint32_t missing_left;     // whether missing values go left
    uint32_t padding;
    int64_t n_left;            // rows on the left, the rest included if it goes there
    int64_t gradient_left;     // their sums
    int64_t hessian_left;
    int64_t gradient;          // of the node
    int64_t hessian;
    int64_t n;
    int64_t most;              // of all entries, the most rows of one
    uint64_t left[4];          // [DF_SUBSET_WORDS] of a narrow column of categories: a bit for each code that goes left
} df_boost_cut;

// What cuts of boosted trees are judged by: in units of the loss, or, as the limits of a node, l1 in units of its narrow gradients,
// and the next three in units of its narrow hessians.
typedef struct {
    double l1;
    double l2;
    double min_hessian;        // of a side
    double smoothing;          // what is added to a category's sum of hessians, as its place in the order of categories is found
    double weight_unit;        // the weight that an integer weight of 1 stands for
    int64_t min_samples;       // rows of a side
    int64_t min_category;      // rows of a node, for a category to have a place of its own in that order
} df_boost_limits;

// A node of a boosted tree and a feature that it tries, to a kernel that looks for cuts.
typedef struct {
    int64_t entry;             // the first one, in histograms
    int64_t word;              // of categories: the first one of their bits, in subsets
    int64_t room;              // the first number in memory for the search; -1: that is the group's own memory
    int32_t node;              // its place in a table of nodes
    int32_t feature;
} df_boost_pair;

// Sums of quantised gradients of a node of a boosted tree, and what they stand for (boost.h).
typedef struct {
    int64_t gradient;
    int64_t hessian;
    int32_t gradient_exponent;
    int32_t hessian_exponent;
} df_gradient_sums;

#endif
