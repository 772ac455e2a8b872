// All kernels, compiled for the host. One that is not listed here, the host has not.
#ifndef DF_ITEMS
#define DF_ON_HOST
#define DF_RUN(own, run) run
#endif
#include "entries.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "engines/device/kernels/kernels.cpp"

namespace {

template <class Parameter> Parameter given(uint64_t word, const df_group_range *own)
{
    if constexpr (std::is_same_v<Parameter, const df_group_range *>)
        return own;
    else if constexpr (std::is_pointer_v<Parameter>)
        return reinterpret_cast<Parameter>(static_cast<uintptr_t>(word));
    else
        return static_cast<Parameter>(word);
}

// The share of groups is a kernel's last parameter, and no word of `arguments`.
template <class... Parameters, size_t... at>
void call(void (*kernel)(Parameters...), const uint64_t *arguments, const df_group_range *own, std::index_sequence<at...>)
{
    kernel(given<Parameters>(at + 1 < sizeof...(Parameters) ? arguments[at] : 0, own)...);
}

template <class... Parameters>
void call(void (*kernel)(Parameters...), const uint64_t *arguments, const df_group_range *own)
{
    call(kernel, arguments, own, std::index_sequence_for<Parameters...>());
}

#define DF_ENTRY(kernel) \
    {#kernel, [](const uint64_t *arguments, const df_group_range *own) { DF_RUN(own, call(kernel, arguments, own)); }}

const struct {
    const char *name;
    df_entry entry;
} entries[] = {
    DF_ENTRY(df_add_chunks),         DF_ENTRY(df_add_histograms),     DF_ENTRY(df_apply),
    DF_ENTRY(df_boost_clear),        DF_ENTRY(df_boost_subtract),
    DF_ENTRY(df_boost_count),        DF_ENTRY(df_boost_derive),       DF_ENTRY(df_boost_find_cuts),
    DF_ENTRY(df_boost_find_max_weights), DF_ENTRY(df_boost_find_largest), DF_ENTRY(df_boost_find_next_key),
    DF_ENTRY(df_boost_move_on),      DF_ENTRY(df_boost_quantise),     DF_ENTRY(df_boost_quantise_again),
    DF_ENTRY(df_boost_sum_leaves),   DF_ENTRY(df_boost_sum_terms),    DF_ENTRY(df_boost_tell_sides),
    DF_ENTRY(df_boost_count_wide),   DF_ENTRY(df_boost_weigh_bytes),
    DF_ENTRY(df_copy_draws),         DF_ENTRY(df_copy_rows),          DF_ENTRY(df_count_left),
    DF_ENTRY(df_draw_cuts),          DF_ENTRY(df_draw_rows),          DF_ENTRY(df_find_cuts),
    DF_ENTRY(df_find_extents),       DF_ENTRY(df_find_column_extents),   DF_ENTRY(df_add_moments),
    DF_ENTRY(df_find_max_weights),   DF_ENTRY(df_find_key_ranges),
    DF_ENTRY(df_find_leaf_words),    DF_ENTRY(df_find_median_cuts),   DF_ENTRY(df_gather_nodes),
    DF_ENTRY(df_grow_subtrees),      DF_ENTRY(df_invert_link),        DF_ENTRY(df_order_node_targets),
    DF_ENTRY(df_mean),               DF_ENTRY(df_most),               DF_ENTRY(df_move_draws),
    DF_ENTRY(df_move_rows),          DF_ENTRY(df_number_rows),        DF_ENTRY(df_permute_rows),
    DF_ENTRY(df_permuted_error_increases),     DF_ENTRY(df_requantise),         DF_ENTRY(df_vote_out_of_bag),
    DF_ENTRY(df_weigh_draws),        DF_ENTRY(df_write_draws),         DF_ENTRY(df_make_keys),
    DF_ENTRY(df_count_digits),       DF_ENTRY(df_place_digits),       DF_ENTRY(df_move_keys),
    DF_ENTRY(df_make_bins),          DF_ENTRY(df_describe_nodes),     DF_ENTRY(df_write_codes),
};

} // namespace

df_entry df_find_entry(const char *name)
{
    for (const auto &known : entries)
        if (std::strcmp(known.name, name) == 0)
            return known.entry;
    return nullptr;
}

int64_t df_max_items(void)
{
#ifdef DF_ONE_ITEM
    return 1;
#else
    return 1 << 10;
#endif
}
