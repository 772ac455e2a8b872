/* The kernels as the host starts them (C99 and C++). */
#ifndef DFOREST_HOST_ENTRIES_H
#define DFOREST_HOST_ENTRIES_H

#include <stdint.h>

#include "engines/device/kernels/group_range.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel. IN arguments : its pointers and integers, a word each, as the kernel declares them */
typedef void (*df_entry)(const uint64_t *arguments, const df_group_range *own);

/* The kernel of a name; NULL: there is none. */
df_entry df_find_entry(const char *name);

/* Of a group. */
int64_t df_max_items(void);

#ifdef __cplusplus
}
#endif

#endif
