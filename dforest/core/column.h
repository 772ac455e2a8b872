/* A feature's codes, as splitters see them (C99 and C++): see types.pxd. Whoever has a column borrows what it points to. */
#ifndef DFOREST_COLUMN_H
#define DFOREST_COLUMN_H

#include "rules/records.h"

typedef struct {
    const void *codes;       /* by row; of a sparse column, those of its stored rows */
    const uint32_t *stored;  /* NULL; or the column is sparse, and these rows, ascending, have other codes than `implied` */
    uint32_t n_stored;
    uint64_t implied;        /* the code of all other rows */
    df_kind kind;
    int32_t monotonic_cst;   /* 1 or -1: predictions may only rise or only fall with the feature; 0: either */
    int32_t width;           /* bytes of a code: 1, 2 or 4; or 8, if these are keys */
    int has_keys;            /* these are keys: values, lows and highs are NULL */
    uint64_t n_codes;        /* codes of values are 0, ..., n_codes - 1 */
    int has_missing;         /* if so, code n_codes means missing */
    const uint32_t *origins; /* NULL; or these codes are ranks in a subtree, and this is the data's code of each */
    const void *values;      /* dense: its values; hist: the bins' upper edges; categorical: 0, 1, ... */
    const void *lows;        /* smallest value of each code */
    const void *highs;       /* largest value of each code */
    const uint8_t *buckets;  /* NULL; or the bucket of each row's code, 255 for missing: see types.pxd */
    uint64_t scale;          /* of buckets: see bucket_of in types.pxd */
    int is_float32;          /* dtype of these three: float32 or float64 */
} df_coded_column;

#endif
