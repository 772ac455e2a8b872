// The items of a group as SYCL has them: see group.hpp.
#ifndef DFOREST_KERNELS_SYCL_ITEMS_HPP
#define DFOREST_KERNELS_SYCL_ITEMS_HPP

#include <stdint.h>

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

struct df_items {
    static sycl::group<1> all() { return sycl::ext::oneapi::this_work_item::get_work_group<1>(); }
    static sycl::nd_item<1> own() { return sycl::ext::oneapi::this_work_item::get_nd_item<1>(); }

    static int64_t item() { return (int64_t) all().get_local_linear_id(); }
    static int64_t count() { return (int64_t) own().get_local_range(0); }
    static int64_t group() { return (int64_t) own().get_group_linear_id(); }
    static int64_t n_groups() { return (int64_t) own().get_group_range(0); }
    static void wait() { sycl::group_barrier(all()); }

    static int64_t sum(int64_t x) { return sycl::reduce_over_group(all(), x, sycl::plus<int64_t>()); }
    template <class Number> static Number lowest(Number x) { return sycl::reduce_over_group(all(), x, sycl::minimum<Number>()); }
    // The sum of all items before this one, and that of all of them.
    static int64_t sum_before(int64_t x, int64_t *total)
    {
        *total = sum(x);
        return sycl::exclusive_scan_over_group(all(), x, sycl::plus<int64_t>());
    }
    template <class Test, class Use> static void rank(int64_t n, Test test, Use use) { df_rank_in_ranges<df_items>(n, test, use); }
};

template <class Word, sycl::memory_scope scope>
using df_atomic = sycl::atomic_ref<Word, sycl::memory_order::relaxed, scope, sycl::access::address_space::generic_space>;

// To what the items of a group share.
static inline void df_atomic_add_in_group(uint32_t *to, uint32_t x)
{
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

static inline void df_atomic_add_in_group(uint64_t *to, uint64_t x) { df_add_anywhere(to, x); }

#endif
