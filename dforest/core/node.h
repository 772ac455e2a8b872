/* A node whose split is searched, as splitters and criteria see it (C99 and C++): see Node in types.pxd. Whoever has a node borrows
 * what it points to. */
#ifndef DFOREST_NODE_H
#define DFOREST_NODE_H

#include "core/column.h"
#include "rules/records.h"

typedef struct {
    df_open_node at; /* where it stands: its range of the tree's records, its key, its scale, its bounds */
    df_record *records;
    df_record *scratch;
    const df_coded_column *columns;
    const uint32_t *record_of;
    const uint32_t *rows;
    const double *y;
    const double *exact_weight;
    const uint32_t *const *label_ranks;
    int64_t *statistics;
    int32_t fine_shift;
    int is_pure;
    const int32_t *path_features;
    int64_t n_path_features;
    const uint64_t *on_path;
} df_node;

#endif
