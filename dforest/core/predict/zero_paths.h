/* Rows that store few values, on their way down packed trees: a node is only looked at where the row stores what it tests.

   The *zero child* of an inner node is where a row goes that has 0 in the node's feature. Nodes are numbered anew, each zero
   child just behind its parent, so that a row of zeros goes from one number to the next until it is at a leaf. A *stop* is a node
   where a row has to be looked at: because the row stores the node's feature, or because the node is a leaf. Stops are found by a
   *table* of the row: a feature's *hash* is some bits of its number, and the table has an entry for each, which is 0 unless
   the row stores a feature with this hash. That may be another feature than the node's; then the stop was for nothing.

   Let a row store the features 3: 0.5 and 8: 2.0 alone, and a tree have the nodes

       number    0    1    2    3    4    5    6           hashes are features, as there are few
       feature   5    8    1    leaf 2    3    leaf        node 1 leads to 2 where x[8] <= 1, else to 4

   The row goes from 0 to 1, where the table has an entry: 2.0 > 1 leads to 4, and then to 5, which is a stop again.

   Nothing here owns memory. */
#ifndef DFOREST_ZERO_PATHS_H
#define DFOREST_ZERO_PATHS_H

#include <math.h>

#include "sparse_rows.h"

enum {
    DF_HASHES = 4096,        /* a power of two */
    DF_SEVERAL = 0xFFFF      /* in place of a stored value's number: there are several, or it is too far behind; look it up */
};

#define DF_LEAF_FEATURE 0x80000000u      /* in place of a leaf's feature; its hash is 0, of which each table has an entry */

/* A node, where it is a stop. */
typedef struct {
    double threshold;        /* NaN: a test of categories */
    uint32_t slot;           /* in the packed tree */
    uint32_t other;          /* the number of the child that is not the zero child; of a leaf, its value row */
} df_stop;

/* Of each hash, 0, or which of a row's stored values has it, from 1; or DF_SEVERAL. */
typedef struct {
    uint16_t entry[DF_HASHES];
} df_hash_table;

/* The threshold of a test of a number; NaN where there is none. */
DF_INLINE double df_threshold(const char *tree, uint32_t at, const df_packed *forest)
{
    const uint32_t word = forest->is_wide ? ((const df_wide *) tree)[at].word : ((const df_narrow *) tree)[at].word;
    if (word >> forest->bits & DF_IS_SUBSET)
        return NAN;
    return forest->is_wide ? ((const df_wide *) tree)[at].threshold : ((const df_narrow *) tree)[at].threshold;
}

/* A table of no features. */
DF_INLINE void df_clear_table(df_hash_table *table)
{
    memset(table, 0, sizeof *table);
    table->entry[0] = DF_SEVERAL;
}

/* Enter a row's stored features into a table of none, or take them out again. */
DF_INLINE void df_fill_table(df_hash_table *table, const df_sparse_rows *rows, size_t i, int clears)
{
    const int32_t *columns = rows->columns + rows->starts[i];
    const int64_t n = rows->starts[i + 1] - rows->starts[i];
    uint16_t *entry;
    int64_t k;
    for (k = 0; k < n; k++) {
        entry = &table->entry[(uint32_t) columns[k] % DF_HASHES];
        if (clears)
            *entry = 0;
        else
            *entry = *entry == 0 && k + 1 < DF_SEVERAL ? (uint16_t) (k + 1) : DF_SEVERAL;
    }
    table->entry[0] = DF_SEVERAL;
}

/* Number the nodes of tree t; return 0 if that takes more numbers than there are nodes, as some of them have two parents.

   OUT features : [n_slots] of the nodes by their numbers; three more are read, and not looked at
   OUT stops : [n_slots]
   OUT waiting : [2 n_slots] scratch */
DF_FUNCTION int df_number_nodes(const df_packed *forest, size_t t, uint32_t *features, df_stop *stops, uint32_t *waiting)
{
    const char *tree = df_tree(forest, t);
    const uint32_t n_slots = (uint32_t) (forest->starts[t + 1] - forest->starts[t]);
    uint32_t n = 0, slot = 1, zero;
    size_t n_waiting = 0;
    for (;;) {
        for (;; slot = zero) {                           /* down the zero children */
            if (n == n_slots - 1)
                return 0;
            stops[n].threshold = df_threshold(tree, slot, forest);
            stops[n].slot = slot;
            if (df_is_leaf(tree, slot, forest)) {
                stops[n].other = df_value_row(tree, slot, forest);
                break;
            }
            features[n] = df_feature(tree, slot, forest);
            zero = df_step_by(tree, slot, 0.0, forest);
            waiting[n_waiting++] = zero ^ 1;             /* the slots of two children differ in the lowest bit */
            waiting[n_waiting++] = n++;
        }
        features[n++] = DF_LEAF_FEATURE;
        if (n_waiting == 0)
            return 1;
        stops[waiting[--n_waiting]].other = n;
        slot = waiting[--n_waiting];
    }
}

/* The leaf that row i reaches in tree t, whose features and stops these are. IN table : with the row's features */
DF_INLINE const df_stop *df_skip(const df_packed *forest, size_t t, const uint32_t *features, const df_stop *stops,
                           const df_sparse_rows *rows, size_t i, const df_hash_table *table)
{
    const int64_t start = rows->starts[i];
    const df_stop *stop;
    uint32_t at = 0, feature, entry;
    double value;
    for (;; at++) {
        while (!(table->entry[features[at] % DF_HASHES] | table->entry[features[at + 1] % DF_HASHES]
                 | table->entry[features[at + 2] % DF_HASHES] | table->entry[features[at + 3] % DF_HASHES]))
            at += 4;
        while (!(entry = table->entry[features[at] % DF_HASHES]))
            at++;
        for (;;) {
            feature = features[at];
            if (feature == DF_LEAF_FEATURE)
                return &stops[at];
            if (entry == DF_SEVERAL)
                value = df_sparse_value(rows, i, feature);
            else if ((uint32_t) rows->columns[start + entry - 1] != feature)
                break;
            else
                value = df_stored_value(rows, start + entry - 1);
            stop = &stops[at];
            if (value == value && stop->threshold == stop->threshold) {
                if ((value <= stop->threshold) == (0.0 <= stop->threshold))
                    break;
            } else if (df_step_by(df_tree(forest, t), stop->slot, value, forest) == stops[at + 1].slot) {
                break;
            }
            at = stop->other;
            entry = table->entry[features[at] % DF_HASHES];
            if (!entry)
                break;
        }
    }
}

#endif
