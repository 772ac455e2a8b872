// The items of a group as CUDA has them: see group.hpp. A group is a block, and an item a thread.
#ifndef DFOREST_KERNELS_CUDA_ITEMS_HPP
#define DFOREST_KERNELS_CUDA_ITEMS_HPP

#include <stdint.h>

// Few enough that each may have all the registers it asks for.
#define DF_MAX_ITEMS 256

// Whatever has no other mark is compiled for the device, as NVRTC is told; kernels are marked here.
#define DF_KERNEL extern "C" __global__ void __launch_bounds__(DF_MAX_ITEMS)
#define DF_LOCAL int64_t /* bytes of it, which nobody needs */
#define DF_EACH_GROUP(group)                                \
    extern __shared__ __align__(16) char df_group_memory[]; \
    const df_group group(df_group_memory);

struct df_items {
    enum { WARP = 32, MAX_WARPS = DF_MAX_ITEMS / WARP };

    static int64_t item() { return threadIdx.x; }
    static int64_t count() { return blockDim.x; }
    static int64_t group() { return blockIdx.x; }
    static int64_t n_groups() { return gridDim.x; }
    static void wait() { __syncthreads(); }

    static uint32_t warp() { return threadIdx.x / WARP; }
    static uint32_t lane() { return threadIdx.x % WARP; }
    static uint32_t n_warps() { return (blockDim.x + WARP - 1) / WARP; }
    // The last warp of a group may have fewer.
    static uint32_t n_lanes() { return warp() + 1 < n_warps() ? WARP : blockDim.x - warp() * WARP; }
    static uint32_t lanes() { return 0xFFFFFFFFu >> (WARP - n_lanes()); }

    // What the items hold, put together two by two: by a warp first, then over warps. All items get the result.
    template <class Number, class Together> static Number reduce(Number x, Together together)
    {
        __shared__ Number of_warps[MAX_WARPS];
        for (uint32_t step = 1; step < WARP; step *= 2) {
            const Number other = __shfl_down_sync(lanes(), x, step);
            if (lane() + step < n_lanes())
                x = together(x, other);
        }
        wait(); // until the last result has been read
        if (lane() == 0)
            of_warps[warp()] = x;
        wait();
        x = of_warps[0];
        for (uint32_t w = 1; w < n_warps(); w++)
            x = together(x, of_warps[w]);
        return x;
    }
    static int64_t sum(int64_t x)
    {
        return reduce((long long) x, [](long long a, long long b) { return (long long) ((uint64_t) a + (uint64_t) b); });
    }
    template <class Number> static Number lowest(Number x)
    {
        return reduce(x, [](Number a, Number b) { return b < a ? b : a; });
    }
    // The sum of all items before this one, and that of all of them.
    static int64_t sum_before(int64_t x, int64_t *total)
    {
        __shared__ uint64_t of_warps[MAX_WARPS];
        unsigned long long up_to = (unsigned long long) x;
        for (uint32_t step = 1; step < WARP; step *= 2) {
            const unsigned long long other = __shfl_up_sync(lanes(), up_to, step);
            if (lane() >= step)
                up_to += other;
        }
        wait();
        if (lane() + 1 == n_lanes())
            of_warps[warp()] = up_to;
        wait();
        uint64_t before = 0, all = 0;
        for (uint32_t w = 0; w < n_warps(); w++) {
            before += w < warp() ? of_warps[w] : 0;
            all += of_warps[w];
        }
        *total = (int64_t) all;
        return (int64_t) (before + up_to - (uint64_t) x);
    }
    // See df_group.rank: each warp has numbers that follow each other, and its items take neighbours, which share memory's lines.
    template <class Test, class Use> static void rank(int64_t n, Test test, Use use)
    {
        const int64_t per_warp = (n + n_warps() - 1) / n_warps(), first = warp() * per_warp;
        const int64_t last = first + per_warp < n ? first + per_warp : n;
        int64_t own = 0, total;
        for (int64_t i = first + lane(); i < last; i += n_lanes())
            own += test(i);
        int64_t before = __shfl_sync(lanes(), (long long) sum_before(own, &total), 0);
        for (int64_t at = first; at < last; at += n_lanes()) {
            const int64_t i = at + lane();
            const bool is = i < last && test(i);
            const uint32_t all = __ballot_sync(lanes(), is);
            if (i < last)
                use(i, is, before + __popc(all & ((1u << lane()) - 1)));
            before += __popc(all);
        }
    }
};

// To what the items of a group share.
static inline void df_atomic_add_in_group(uint32_t *to, uint32_t x) { atomicAdd_block(to, x); }
// In a group's own memory 64 bits are added in two halves, the lower one first, whose carry goes into the other: there the
// hardware adds 32 bits alone, and would repeat an exchange of 64 until nobody comes between.
static inline void df_atomic_add_in_group(uint64_t *to, uint64_t x)
{
    if (!__isShared(to)) {
        atomicAdd((unsigned long long *) to, (unsigned long long) x);
        return;
    }
    uint32_t *half = (uint32_t *) to;
    const uint32_t low = (uint32_t) x, high = (uint32_t) (x >> 32);
    const uint32_t carry = low && atomicAdd_block(half, low) + low < low;
    if (high + carry)
        atomicAdd_block(half + 1, high + carry);
}
static inline void df_set_bits(uint32_t *to, uint32_t bits) { atomicOr_block(to, bits); }
// To what all groups share.
static inline void df_add_anywhere(uint64_t *to, uint64_t x) { atomicAdd((unsigned long long *) to, (unsigned long long) x); }

#endif
