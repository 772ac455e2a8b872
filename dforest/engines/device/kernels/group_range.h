/* What a thread of the host is given of a kernel's groups (C99 and C++): see group.hpp. */
#ifndef DFOREST_KERNELS_GROUP_RANGE_H
#define DFOREST_KERNELS_GROUP_RANGE_H

#include <stdint.h>

typedef struct {
    int64_t first, last;       /* which groups: from this one on, and before that one */
    int64_t n_groups;          /* there are in all */
    int64_t n_items;           /* of each */
    char *local;               /* memory of the thread's own, which its groups have one after another */
} df_group_range;

#endif
