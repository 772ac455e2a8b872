/* Red zones: in builds with AddressSanitizer (tools/sanitize), bytes that nobody may touch lie between arrays that share a piece of
 * memory, and memory that grows or is used again has room for no more than is asked for. So what is written past the end of an array
 * is reported there, though the memory behind is the program's own. In other builds there are none (C99 and C++). */
#ifndef DFOREST_RED_ZONES_H
#define DFOREST_RED_ZONES_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
enum { DF_RED_ZONE = 32 }; /* numbers: behind each array there is room for so many more of its kind */
#define DF_FORBID(begin, n_bytes) __asan_poison_memory_region(begin, n_bytes)
#else
enum { DF_RED_ZONE = 0 };
#define DF_FORBID(begin, n_bytes) ((void)(begin))
#endif

/* Forbid the red zone that begins at the end of an array, on a multiple of 8 bytes, of numbers of `size` bytes. */
static inline void df_close_array(void *end, int size) { DF_FORBID(end, (size_t)size * DF_RED_ZONE); }

#endif
