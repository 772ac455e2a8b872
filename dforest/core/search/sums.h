/* What a partition knows of a node's draws of weight 1: see sums.pxd (C99 and C++). */
#ifndef DFOREST_SUMS_H
#define DFOREST_SUMS_H

typedef enum {
    DF_NO_SUMS,     /* nothing */
    DF_PAIR_SUMS,   /* two classes: a word of scan.h */
    DF_LANE_SUMS,   /* three to eight classes, of at most DF_LANE_DRAWS draws: two words of lanes.h */
    DF_NUMBER_SUMS, /* numbers: how many draws there are, and their sum of targets */
} df_sums_kind;

#endif
