// The items of a group as threads, which run at the same time as those of a GPU do: see engines/device/kernels/group.hpp. What
// items write without waiting for each other is then found by ThreadSanitizer, and may lead to other results.
//
// Groups run one after another, also those of several threads of the host.
#ifndef DFOREST_TESTS_THREAD_ITEMS_HPP
#define DFOREST_TESTS_THREAD_ITEMS_HPP

#include <pthread.h>
#include <stdint.h>

#include <mutex>
#include <thread>
#include <vector>

#include "engines/device/kernels/group_range.h"

#define DF_KERNEL static void
#define DF_LOCAL const df_group_range *df_own
#define DF_EACH_GROUP(group)                                                 \
    for (df_items::begin(); df_items::group() < df_own->last; df_items::end()) \
        for (df_group group(df_own->local), *once = &group; once; once = nullptr)
#define DF_RUN(own, run) df_items::launch(own, [&] { run; })

struct df_items {
    enum { MAX_ITEMS = 64 };
    static inline std::mutex one_launch;
    static inline const df_group_range *own;
    static inline pthread_barrier_t all;
    static inline thread_local int64_t of_thread, number;

    template <class Run> static void launch(const df_group_range *share, Run run)
    {
        const std::lock_guard<std::mutex> alone(one_launch);
        own = share;
        pthread_barrier_init(&all, NULL, (unsigned) own->n_items);
        std::vector<std::thread> threads;
        for (int64_t i = 0; i < own->n_items; i++)
            threads.emplace_back([i, &run] {
                of_thread = i;
                run();
            });
        for (std::thread &thread : threads)
            thread.join();
        pthread_barrier_destroy(&all);
    }
    static void begin() { number = own->first; }
    static void end()
    {
        wait(); // as groups have the same memory, one after another
        number++;
    }

    static int64_t item() { return of_thread; }
    static int64_t count() { return own->n_items; }
    static int64_t group() { return number; }
    static int64_t n_groups() { return own->n_groups; }
    static void wait() { pthread_barrier_wait(&all); }

    // What all items hold. use(what each of them holds)
    template <class Number, class Use> static auto together(Number x, Use use)
    {
        static Number of_items[MAX_ITEMS];
        wait(); // until the last ones have been read
        of_items[item()] = x;
        wait();
        return use(of_items);
    }
    static int64_t sum(int64_t x)
    {
        int64_t total;
        sum_before(x, &total);
        return total;
    }
    template <class Number> static Number lowest(Number x)
    {
        return together(x, [](const Number *of_items) {
            Number least = of_items[0];
            for (int64_t i = 1; i < count(); i++)
                least = of_items[i] < least ? of_items[i] : least;
            return least;
        });
    }
    static int64_t sum_before(int64_t x, int64_t *total)
    {
        return together((uint64_t) x, [&](const uint64_t *of_items) {
            uint64_t before = 0, sum = 0;
            for (int64_t i = 0; i < count(); i++) {
                before += i < item() ? of_items[i] : 0;
                sum += of_items[i];
            }
            *total = (int64_t) sum;
            return (int64_t) before;
        });
    }
    template <class Test, class Use> static void rank(int64_t n, Test test, Use use) { df_rank_in_ranges<df_items>(n, test, use); }
};

static inline void df_atomic_add_in_group(uint32_t *to, uint32_t x) { __atomic_fetch_add(to, x, __ATOMIC_RELAXED); }
static inline void df_atomic_add_in_group(uint64_t *to, uint64_t x) { __atomic_fetch_add(to, x, __ATOMIC_RELAXED); }
static inline void df_set_bits(uint32_t *to, uint32_t bits) { __atomic_fetch_or(to, bits, __ATOMIC_RELAXED); }
static inline void df_add_anywhere(uint64_t *to, uint64_t x) { __atomic_fetch_add(to, x, __ATOMIC_RELAXED); }

#endif
