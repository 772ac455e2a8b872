/* What the threads of a spinning team say to each other (C11 with GCC's atomic operations, and C++): see spin_team.pyx.
 *
 * One word has how many items a call has, and how many of them have been taken:
 *
 *     items 20 bits | taken 20 bits
 *
 * so that who takes an item, by adding 1, learns whether there was one left, whatever call there is by then. */
#ifndef DFOREST_SPIN_TEAM_H
#define DFOREST_SPIN_TEAM_H

#include <stdint.h>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define DF_PAUSE() _mm_pause()
#elif defined(__aarch64__) && defined(__GNUC__)
#define DF_PAUSE() __asm__ __volatile__("yield")
#else
#define DF_PAUSE() ((void)0)
#endif

#if defined(_WIN32)
#include <windows.h>
#define DF_YIELD() SwitchToThread()
#else
#include <sched.h>
#define DF_YIELD() sched_yield()
#endif

enum {
    DF_TEAM_BITS = 20,
    DF_TEAM_ITEMS = 1 << (DF_TEAM_BITS - 1), /* most of a call; as many members may each take one too many */
    DF_SPINS = 4000,                         /* looks for work before a member sleeps: some 50 to 200 microseconds */
    DF_SPINS_PER_YIELD = 500                 /* looks for the end of a call before its leader lets others run */
};

/* The word of a call of which no item has been taken. */
static inline uint64_t df_team_word(uint32_t n_items) { return (uint64_t)n_items << DF_TEAM_BITS; }

/* The item that who found this word has taken; -1: none was left. */
static inline int64_t df_team_item(uint64_t word) {
    const uint64_t mask = ((uint64_t)1 << DF_TEAM_BITS) - 1, taken = word & mask, n_items = word >> DF_TEAM_BITS;
    return taken < n_items ? (int64_t)taken : -1;
}

#define df_load(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define df_store(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELEASE)
#define df_take(x) __atomic_fetch_add(&(x), 1, __ATOMIC_ACQ_REL)

#endif
