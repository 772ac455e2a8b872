// What kernels know of where they run: SYCL's part is here and nowhere else.
//
// `each` runs a phase of a kernel for every item of a group, and no item goes on before all are done. Between phases all items
// take the same way: what decides it lies in memory or comes from `sum` and its like, never in an item alone. So a host can run a
// kernel too, every phase for one item after another. With DF_ON_HOST, a thread that calls a kernel does a *share* of the groups,
// one after another, while other threads do the others; what groups share is written to by df_add_anywhere alone. With
// DF_ONE_ITEM besides, groups have one item, which the compiler knows.
//
// A kernel is
//
//     DF_KERNEL df_name(const float *x, int64_t n, float *y, DF_LOCAL)
//     {
//         DF_EACH_GROUP(group)
//         {
//             group.each([&](int64_t item) { ... });
//         }
//     }
//
// with pointers and int64_t as parameters, and memory of the group's own, group.local, of as many bytes as whoever starts
// it says. A function that a kernel calls is DF_INLINE.
#ifndef DFOREST_KERNELS_GROUP_HPP
#define DFOREST_KERNELS_GROUP_HPP

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DF_NO_INT128 // devices have none
#include "rules/numerics.h"
#include "core/predict/totals.h"

// Sums over records.
typedef struct {
    df_big sum;                // of weight * target
    int64_t weight, n;
} df_sums;

#ifdef DF_ON_HOST

#include <vector>

#include "share.h"

#define DF_KERNEL static void
#define DF_LOCAL const df_share *df_own
#define DF_EACH_GROUP(group) for (df_group group(*df_own); group.number < df_own->last; group.number++)

struct df_group {
    int64_t number, n_groups;
#ifdef DF_ONE_ITEM
    static constexpr int64_t n_items = 1;
#else
    int64_t n_items;
#endif
    char *local;

    explicit df_group(const df_share &own)
        : number(own.first), n_groups(own.n_groups),
#ifndef DF_ONE_ITEM
          n_items(own.n_items),
#endif
          local(own.local)
    {
    }

    template <class Phase> void each(Phase phase) const
    {
        for (int64_t item = 0; item < n_items; item++)
            phase(item);
    }
    // What a phase returns, added up over all items.
    template <class Phase> int64_t sum(Phase phase) const
    {
        uint64_t total = 0;
        for (int64_t item = 0; item < n_items; item++)
            total += (uint64_t) phase(item);
        return (int64_t) total;
    }
    template <class Phase> df_big exact_sum(Phase phase) const
    {
        df_big total = {0, 0};
        for (int64_t item = 0; item < n_items; item++)
            total = df_big_sum(total, phase(item));
        return total;
    }
    // What a phase adds to a total, over all items, times 2^power, rounded once.
    template <class Phase> double total(int power, Phase phase) const
    {
        df_total all;
        df_total_open(&all);
        for (int64_t item = 0; item < n_items; item++)
            phase(item, &all);
        return df_total_value(&all, power);
    }
    template <class Number, class Phase> Number lowest(Phase phase) const
    {
        Number found = phase(0);
        for (int64_t item = 1; item < n_items; item++) {
            const Number other = phase(item);
            found = other < found ? other : found;
        }
        return found;
    }
    // `count` of every item; then `phase(item, of all items before it, of all items)`.
    template <class Count, class Phase> void after(Count count, Phase phase) const
    {
        int64_t before = 0, total = 0;
        if (n_items == 1) {
            total = count(0);
            phase(0, before, total);
            return;
        }
        std::vector<int64_t> counts((size_t) n_items);
        for (int64_t item = 0; item < n_items; item++)
            total += counts[(size_t) item] = count(item);
        for (int64_t item = 0; item < n_items; item++) {
            phase(item, before, total);
            before += counts[(size_t) item];
        }
    }
    // Add up sums over records, `count(item)` of each item, and call `phase(item, before)` with those of all items before it.
    template <class Count, class Phase> void after_sums(Count count, Phase phase) const
    {
        df_sums before = {{0, 0}, 0, 0};
        if (n_items == 1) {
            phase(0, before);
            return;
        }
        std::vector<df_sums> counts((size_t) n_items);
        for (int64_t item = 0; item < n_items; item++)
            counts[(size_t) item] = count(item);
        for (int64_t item = 0; item < n_items; item++) {
            phase(item, before);
            const df_sums own = counts[(size_t) item];
            before = {df_big_sum(before.sum, own.sum), before.weight + own.weight, before.n + own.n};
        }
    }
};

static inline void df_add(const df_group &, uint32_t *to, uint32_t x) { *to += x; }
static inline void df_set_bits(uint32_t *to, uint32_t bits) { *to |= bits; }
static inline void df_add_anywhere(uint64_t *to, uint64_t x) { __atomic_fetch_add(to, x, __ATOMIC_RELAXED); }
static inline void df_add_shared(const df_group &, int64_t *to, int64_t x) { *to += x; }

#else

#include <sycl/atomic_ref.hpp>
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/ext/oneapi/experimental/work_group_memory.hpp>
#include <sycl/group_algorithm.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/nd_item.hpp>

#define DF_KERNEL extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) void
#define DF_LOCAL sycl::ext::oneapi::experimental::work_group_memory<char[]> df_local
#define DF_EACH_GROUP(group) const df_group group(&df_local[0]);

struct df_group {
    int64_t number, n_groups, n_items;
    char *local;

    explicit df_group(char *memory) : local(memory)
    {
        const sycl::nd_item<1> at = sycl::ext::oneapi::this_work_item::get_nd_item<1>();
        number = (int64_t) at.get_group_linear_id();
        n_groups = (int64_t) at.get_group_range(0);
        n_items = (int64_t) at.get_local_range(0);
    }
    static sycl::group<1> all() { return sycl::ext::oneapi::this_work_item::get_work_group<1>(); }
    static int64_t item() { return (int64_t) all().get_local_linear_id(); }
    void wait() const
    {
        if (n_items > 1)
            sycl::group_barrier(all());
    }

    // It waits before, too: what decided the way here may be written to now.
    template <class Phase> void each(Phase phase) const
    {
        wait();
        phase(item());
        wait();
    }
    template <class Phase> int64_t sum(Phase phase) const
    {
        int64_t total = phase(item());
        if (n_items > 1)
            total = sycl::reduce_over_group(all(), total, sycl::plus<int64_t>());
        wait();
        return total;
    }
    template <class Phase> df_big exact_sum(Phase phase) const
    {
        df_big total = phase(item());
        if (n_items > 1) { // quarters of 32 bits, which do not overflow
            const df_big own = total;
            const int64_t a = sycl::reduce_over_group(all(), (int64_t) (uint32_t) own.low, sycl::plus<int64_t>());
            const int64_t b = sycl::reduce_over_group(all(), (int64_t) (own.low >> 32), sycl::plus<int64_t>());
            const int64_t c = sycl::reduce_over_group(all(), own.high, sycl::plus<int64_t>());
            total = of_quarters(a, b, c);
        }
        wait();
        return total;
    }
    static df_big of_quarters(int64_t a, int64_t b, int64_t high)
    {
        df_big total = df_big_sum(df_big_product(b, (int64_t) 1 << 32), df_big_product(a, 1));
        total.high = (int64_t) ((uint64_t) total.high + (uint64_t) high);
        return total;
    }
    template <class Phase> double total(int power, Phase phase) const
    {
        df_total own;
        df_total_open(&own);
        phase(item(), &own);
        if (n_items > 1) { // digits below 2^32, which do not overflow
            df_total_carry(&own);
            own.begin = sycl::reduce_over_group(all(), own.begin, sycl::minimum<int32_t>());
            own.end = sycl::reduce_over_group(all(), own.end, sycl::maximum<int32_t>());
            for (int32_t k = own.begin; k < own.end; k++)
                own.digit[k] = sycl::reduce_over_group(all(), own.digit[k], sycl::plus<int64_t>());
        }
        wait();
        return df_total_value(&own, power);
    }
    template <class Number, class Phase> Number lowest(Phase phase) const
    {
        Number found = phase(item());
        if (n_items > 1)
            found = sycl::reduce_over_group(all(), found, sycl::minimum<Number>());
        wait();
        return found;
    }
    template <class Count, class Phase> void after(Count count, Phase phase) const
    {
        const int64_t own = count(item());
        wait();
        if (n_items > 1) {
            const int64_t before = sycl::exclusive_scan_over_group(all(), own, sycl::plus<int64_t>());
            const int64_t total = sycl::reduce_over_group(all(), own, sycl::plus<int64_t>());
            phase(item(), before, total);
        } else
            phase(0, 0, own);
        wait();
    }
    template <class Count, class Phase> void after_sums(Count count, Phase phase) const
    {
        df_sums before = {{0, 0}, 0, 0};
        wait();
        if (n_items > 1) {
            const df_sums own = count(item());
            const auto sum_before = [](int64_t x) { return sycl::exclusive_scan_over_group(all(), x, sycl::plus<int64_t>()); };
            wait();
            before.weight = sum_before(own.weight);
            before.n = sum_before(own.n);
            const int64_t a = sum_before((int64_t) (uint32_t) own.sum.low), b = sum_before((int64_t) (own.sum.low >> 32));
            before.sum = of_quarters(a, b, sum_before(own.sum.high));
        }
        phase(item(), before);
        wait();
    }
};

template <class Word, sycl::memory_scope scope>
using df_atomic = sycl::atomic_ref<Word, sycl::memory_order::relaxed, scope, sycl::access::address_space::generic_space>;

// To what the items of a group share.
static inline void df_add(const df_group &group, uint32_t *to, uint32_t x)
{
    if (group.n_items == 1)
        *to += x;
    else
        df_atomic<uint32_t, sycl::memory_scope::work_group>(*to).fetch_add(x);
}
static inline void df_set_bits(uint32_t *to, uint32_t bits)
{
    df_atomic<uint32_t, sycl::memory_scope::work_group>(*to).fetch_or(bits);
}
// To what all groups share. DF_NO_ATOMIC64: the two halves one by one, with a carry; the sum is the same.
static inline void df_add_anywhere(uint64_t *to, uint64_t x)
{
#ifdef DF_NO_ATOMIC64
    uint32_t *half = (uint32_t *) to;
    const uint32_t low = (uint32_t) x, high = (uint32_t) (x >> 32);
    const uint32_t before = df_atomic<uint32_t, sycl::memory_scope::device>(half[0]).fetch_add(low);
    df_atomic<uint32_t, sycl::memory_scope::device>(half[1]).fetch_add(high + (before + low < before));
#else
    df_atomic<uint64_t, sycl::memory_scope::device>(*to).fetch_add(x);
#endif
}

static inline void df_add_shared(const df_group &group, int64_t *to, int64_t x)
{
    if (group.n_items == 1)
        *to += x;
    else
        df_add_anywhere((uint64_t *) to, (uint64_t) x);
}

#endif

// An item that works on something of its own, as if it were a group.
struct df_alone {
    int64_t n_items = 1;
    template <class Phase> void each(Phase phase) const { phase(0); }
    template <class Phase> int64_t sum(Phase phase) const { return phase(0); }
    template <class Phase> df_big exact_sum(Phase phase) const { return phase(0); }
    template <class Number, class Phase> Number lowest(Phase phase) const { return phase(0); }
};

static inline void df_add_shared(const df_alone &, int64_t *to, int64_t x) { *to += x; }

// A large function that is called from several places: inlined, it would be compiled for each.
#define DF_CALLED static __attribute__((noinline))

// Where a group works: its own memory, or, if that is too small, its part of what is given.
static inline char *df_memory(const df_group &group, char *given, int64_t n_bytes)
{
    return given ? given + group.number * n_bytes : group.local;
}

#ifndef DF_INLINE
#define DF_INLINE static inline __attribute__((always_inline))
#endif

#endif
