// What kernels know of where they run: that of SYCL is in sycl_items.hpp, that of CUDA in cuda_items.hpp, and nowhere else; tests
// name another file by DF_ITEMS.
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

#include "group_range.h"

#define DF_KERNEL static void
#define DF_LOCAL const df_group_range *df_own
#define DF_EACH_GROUP(group) for (df_group group(*df_own); group.number < df_own->last; group.number++)

struct df_group {
    int64_t number, n_groups;
#ifdef DF_ONE_ITEM
    static constexpr int64_t n_items = 1;
#else
    int64_t n_items;
#endif
    char *local;

    explicit df_group(const df_group_range &own)
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
    // For the numbers i below n, in any order: `use(i, test(i), how many of those before it the test is true of)`.
    template <class Test, class Use> void rank(int64_t n, Test test, Use use) const
    {
        int64_t before = 0;
        for (int64_t i = 0; i < n; i++) {
            const bool is = test(i);
            use(i, is, before);
            before += is;
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

// See df_group.rank: each item has numbers that follow each other.
template <class Items, class Test, class Use> static inline void df_rank_in_ranges(int64_t n, Test test, Use use)
{
    const int64_t per_item = (n + Items::count() - 1) / Items::count(), first = Items::item() * per_item;
    const int64_t last = first + per_item < n ? first + per_item : n;
    int64_t own = 0, total;
    for (int64_t i = first; i < last; i++)
        own += test(i);
    int64_t before = Items::sum_before(own, &total);
    for (int64_t i = first; i < last; i++) {
        const bool is = test(i);
        use(i, is, before);
        before += is;
    }
}

// What a language of devices says of the items of a group: `df_items` numbers them, lets them wait for each other, and adds up,
// compares and scans what they hold; then there are atomic operations, and how a kernel is declared.
#ifdef DF_ITEMS // a file that whoever compiles the kernels has
#include DF_ITEMS
#elif defined(DF_ON_CUDA)
#include "cuda_items.hpp"
#else
#include "sycl_items.hpp"
#endif

struct df_group {
    int64_t number, n_groups, n_items;
    char *local;

    explicit df_group(char *memory)
        : number(df_items::group()), n_groups(df_items::n_groups()), n_items(df_items::count()), local(memory)
    {
    }
    void wait() const
    {
        if (n_items > 1)
            df_items::wait();
    }

    // It waits before, too: what decided the way here may be written to now.
    template <class Phase> void each(Phase phase) const
    {
        wait();
        phase(df_items::item());
        wait();
    }
    template <class Phase> int64_t sum(Phase phase) const
    {
        int64_t total = phase(df_items::item());
        if (n_items > 1)
            total = df_items::sum(total);
        wait();
        return total;
    }
    template <class Phase> df_big exact_sum(Phase phase) const
    {
        df_big total = phase(df_items::item());
        if (n_items > 1) { // quarters of 32 bits, which do not overflow
            const df_big own = total;
            const int64_t a = df_items::sum((int64_t) (uint32_t) own.low);
            const int64_t b = df_items::sum((int64_t) (own.low >> 32));
            total = of_quarters(a, b, df_items::sum(own.high));
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
        phase(df_items::item(), &own);
        if (n_items > 1) { // digits below 2^32, which do not overflow
            df_total_carry(&own);
            own.begin = df_items::lowest(own.begin);
            own.end = -df_items::lowest(-own.end);
            for (int32_t k = own.begin; k < own.end; k++)
                own.digit[k] = df_items::sum(own.digit[k]);
        }
        wait();
        return df_total_value(&own, power);
    }
    template <class Number, class Phase> Number lowest(Phase phase) const
    {
        Number found = phase(df_items::item());
        if (n_items > 1)
            found = df_items::lowest(found);
        wait();
        return found;
    }
    template <class Count, class Phase> void after(Count count, Phase phase) const
    {
        const int64_t own = count(df_items::item());
        wait();
        if (n_items > 1) {
            int64_t total;
            const int64_t before = df_items::sum_before(own, &total);
            phase(df_items::item(), before, total);
        } else
            phase(0, 0, own);
        wait();
    }
    template <class Test, class Use> void rank(int64_t n, Test test, Use use) const
    {
        wait();
        df_items::rank(n, test, use);
        wait();
    }
    template <class Count, class Phase> void after_sums(Count count, Phase phase) const
    {
        df_sums before = {{0, 0}, 0, 0};
        wait();
        if (n_items > 1) {
            const df_sums own = count(df_items::item());
            const auto sum_before = [](int64_t x) {
                int64_t total;
                return df_items::sum_before(x, &total);
            };
            wait();
            before.weight = sum_before(own.weight);
            before.n = sum_before(own.n);
            const int64_t a = sum_before((int64_t) (uint32_t) own.sum.low), b = sum_before((int64_t) (own.sum.low >> 32));
            before.sum = of_quarters(a, b, sum_before(own.sum.high));
        }
        phase(df_items::item(), before);
        wait();
    }
};

// To what the items of a group share.
static inline void df_add(const df_group &group, uint32_t *to, uint32_t x)
{
    if (group.n_items == 1)
        *to += x;
    else
        df_atomic_add_in_group(to, x);
}

static inline void df_add_shared(const df_group &group, int64_t *to, int64_t x)
{
    if (group.n_items == 1)
        *to += x;
    else
        df_atomic_add_in_group((uint64_t *) to, (uint64_t) x);
}

#endif

#ifndef DF_INLINE
#define DF_INLINE static inline __attribute__((always_inline))
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

// A phase of one item.
template <class Group, class Phase> DF_INLINE void df_once(const Group &group, Phase phase)
{
    group.each([&](int64_t item) {
        if (item == 0)
            phase();
    });
}

// A phase in which items take turns at the numbers from `first` on and below `end`: `use(i)`, or `of(i)`, which are added up, or the
// lowest or highest of which is found, `bound` among them.
template <class Group, class Use> DF_INLINE void df_for(const Group &group, int64_t first, int64_t end, Use use)
{
    group.each([&](int64_t item) {
        for (int64_t i = first + item; i < end; i += group.n_items)
            use(i);
    });
}

// Use the numbers from 0 on and below n, one each in turn, by the items of all groups.
template <class Use> DF_INLINE void df_for_all(const df_group &group, int64_t n, Use use)
{
    group.each([&](int64_t item) {
        for (int64_t i = group.number * group.n_items + item; i < n; i += group.n_groups * group.n_items)
            use(i);
    });
}

template <class Group, class Of> DF_INLINE int64_t df_sum_over(const Group &group, int64_t first, int64_t end, Of of)
{
    return group.sum([&](int64_t item) {
        uint64_t sum = 0;
        for (int64_t i = first + item; i < end; i += group.n_items)
            sum += (uint64_t) of(i);
        return (int64_t) sum;
    });
}

template <class Group, class Number, class Of>
DF_INLINE Number df_lowest_over(const Group &group, int64_t first, int64_t end, Number bound, Of of)
{
    return group.template lowest<Number>([&](int64_t item) {
        Number lowest = bound;
        for (int64_t i = first + item; i < end; i += group.n_items) {
            const Number x = of(i);
            lowest = x < lowest ? x : lowest;
        }
        return lowest;
    });
}

template <class Group, class Number, class Of>
DF_INLINE Number df_highest_over(const Group &group, int64_t first, int64_t end, Number bound, Of of)
{
    return -df_lowest_over(group, first, end, -bound, [&](int64_t i) { return -of(i); });
}

// A large function that is called from several places: inlined, it would be compiled for each.
#define DF_CALLED static __attribute__((noinline))

// Where a group works: its own memory, or, if that is too small, its part of what is given.
static inline char *df_memory(const df_group &group, char *given, int64_t n_bytes)
{
    return given ? given + group.number * n_bytes : group.local;
}

DF_INLINE void df_clear(const df_group &group, uint32_t *words, int64_t n)
{
    df_for(group, 0, n, [&](int64_t i) { words[i] = 0; });
}

#endif
