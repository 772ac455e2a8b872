/* Whether slots of a packed tree (walk.h) can be followed (C99 and C++).

   A row goes where a slot leads, and nothing is checked on the way. So each slot, reached or not, must lead to a pair of slots
   behind it, or be a leaf that leads back to itself, whatever the value; it must test a feature that exists, and have words, or a
   row of values, that exist. In a tree that tests numbers alone, all of this is checked without a branch.

   Nothing here owns memory. */
#ifndef DFOREST_PACKED_CHECK_H
#define DFOREST_PACKED_CHECK_H

#include "walk.h"

typedef struct {
    uint64_t n_words;        /* of df_packed.words */
    uint32_t n_values;       /* rows of the values, from the first one of the tree on */
    uint32_t n_features;
    int has_own_tests;       /* all inner nodes have words */
} df_limits_of_slots;

/* All bits, or none. */
#define DF_ALL_IF(x) (0 - (uint32_t) (x))

/* Not 0 if a slot is wrong. IN is_wide, has_words: constants where it is called. */
DF_INLINE uint32_t df_is_wrong(const df_packed *forest, const char *slot, uint32_t at, uint32_t n_slots,
                               const df_limits_of_slots *limits, uint32_t bits, int is_wide, int has_words)
{
    uint32_t low, high = 0, word, child, feature, flags, row, is_nan, is_leaf, wrong_leaf, wrong;
    memcpy(&low, slot, sizeof low);
    memcpy(&word, slot + (is_wide ? offsetof(df_wide, word) : offsetof(df_narrow, word)), sizeof word);
    child = is_wide ? 0 : word >> (bits + 2); /* wide slots may have 30 bits for features */
    if (is_wide) {
        memcpy(&high, slot + sizeof low, sizeof high);
        memcpy(&child, slot + offsetof(df_wide, slot), sizeof child);
    }
    feature = word & ((1u << bits) - 1);
    flags = word >> bits & 3;
    row = is_wide ? low : low & (DF_VALUE_ROWS - 1);
    if (is_wide)
        is_nan = DF_ALL_IF((high & 0x7FFFFFFFu) + (low != 0) > 0x7FF00000u);
    else
        is_nan = DF_ALL_IF((low & 0x7FFFFFFFu) > 0x7F800000u);
    is_leaf = DF_ALL_IF(child < at);
    wrong_leaf = (child ^ (at - 1)) | flags | ~is_nan | DF_ALL_IF(row >= limits->n_values);
    wrong = DF_ALL_IF(child == at) | (child & 1) | DF_ALL_IF(child >= n_slots - 1);
    if (!has_words)
        wrong |= is_nan | (flags & DF_IS_SUBSET);
    else if (flags & DF_IS_SUBSET)
        wrong |= low >= limits->n_words || forest->words[low] >= limits->n_words - low;
    else
        wrong |= is_nan | (uint32_t) limits->has_own_tests;
    return DF_ALL_IF(feature >= limits->n_features) | (wrong_leaf & is_leaf) | (wrong & ~is_leaf);
}

/* Some slots at a time, numbered by an int: so compilers see that they can take several at once. */
#define DF_CHECK_SLOTS(is_wide, has_words)                                                                           \
    for (first = 1; first < n_slots; first += n) {                                                                   \
        const char *slots = tree + (size_t) first * (is_wide ? sizeof(df_wide) : sizeof(df_narrow));                 \
        n = n_slots - first < 4096 ? (int) (n_slots - first) : 4096;                                                 \
        for (i = 0; i < n; i++)                                                                                      \
            wrong |= df_is_wrong(forest, slots + i * (is_wide ? sizeof(df_wide) : sizeof(df_narrow)),                \
                                 first + (uint32_t) i, n_slots, &own, is_wide ? 30 : bits, is_wide, has_words);      \
    }

/* Whether any slot of tree t is wrong. */
DF_INLINE int df_wrong_slots_loop(const df_packed *forest, size_t t, const df_limits_of_slots *limits)
{
    const char *tree = df_tree(forest, t);
    const df_limits_of_slots own = *limits;
    const uint32_t n_slots = (uint32_t) (forest->starts[t + 1] - forest->starts[t]), bits = forest->bits;
    uint32_t first, wrong = 0;
    int i, n;
    if (forest->is_wide && forest->words != NULL)
        DF_CHECK_SLOTS(1, 1)
    else if (forest->is_wide)
        DF_CHECK_SLOTS(1, 0)
    else if (forest->words != NULL)
        DF_CHECK_SLOTS(0, 1)
    else
        DF_CHECK_SLOTS(0, 0)
    return wrong != 0;
}
#endif
