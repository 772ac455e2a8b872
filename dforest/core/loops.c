/* A set of loops: see loops.h. Some are written for any number of records, and made here for the numbers that are frequent. */
#include "core/loops.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Streams are opened before they are read, which takes GCC long to find out, or not to find out. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "core/grow/small_growth.h"

#define DF_NO_CUT(cut) \
    cut->place = 0;    \
    cut->left = 0;     \
    cut->score = -1.0;

/* A loop over few records, of the shortest length that is enough. */
#define DF_UNORDERED_LOOP(n, loop) \
    {                              \
        if ((n) <= 8) {            \
            const int room = 8;    \
            loop;                  \
        } else {                   \
            const int room = 32;   \
            loop;                  \
        }                          \
    }

static void df_unordered_binary(const df_unordered *few, uint64_t offset, double weight, double first, df_cut *cut) {
    DF_NO_CUT(cut)
    if (few->n <= DF_UP_TO_FOUR)
        df_up_to_four_binary(few, offset, weight, first, cut);
    else if (few->n <= 32)
        df_unordered_binary_loop(few, 32, offset, weight, first, cut);
    else
        df_unordered_binary_loop(few, DF_UNORDERED, offset, weight, first, cut);
}

static void df_unordered_sums(const df_unordered *few, uint64_t offset, double weight, double mean, double remainder,
                              df_cut *cut) {
    DF_NO_CUT(cut)
    if (few->n <= DF_UP_TO_FOUR)
        df_up_to_four_sums(few, offset, weight, mean, remainder, cut);
    else
        DF_UNORDERED_LOOP(few->n, df_unordered_sums_loop(few, room, offset, weight, mean, remainder, cut))
}

static void df_unordered_classes(const df_unordered *few, uint64_t offset, double weight, const int64_t *draws, int n_classes,
                                 df_cut *cut) {
    DF_NO_CUT(cut)
    DF_UNORDERED_LOOP(few->n, df_unordered_classes_loop(few, room, offset, weight, draws, n_classes, cut))
}

static void df_unordered_ranks(const uint32_t *code, int n, int32_t *rank) {
    df_unordered_ranks_loop(code, n, n <= 32 ? 32 : DF_UNORDERED, rank);
}

static void df_small_subtree_binary(df_small_subtree *small) { df_small_grow_loop(small, DF_SMALL_BINARY, 0); }
static void df_small_subtree_classes(df_small_subtree *small) { df_small_grow_loop(small, DF_SMALL_CLASSES, 0); }
static void df_small_subtree_sums(df_small_subtree *small) { df_small_grow_loop(small, DF_SMALL_SUMS, 0); }
static void df_random_binary(df_small_subtree *small) { df_small_grow_loop(small, DF_SMALL_BINARY, 1); }
static void df_random_classes(df_small_subtree *small) { df_small_grow_loop(small, DF_SMALL_CLASSES, 1); }
static void df_random_sums(df_small_subtree *small) { df_small_grow_loop(small, DF_SMALL_SUMS, 1); }

static void df_quickscorer32(int has_missing, const df_quickscorer_tree *trees, size_t first, size_t end, size_t n_values,
                             size_t n_outputs, const uint32_t *tiles, size_t size, size_t n, double *sums) {
    if (has_missing)
        df_quickscorer_loop32(1, trees, first, end, n_values, n_outputs, tiles, size, n, sums);
    else
        df_quickscorer_loop32(0, trees, first, end, n_values, n_outputs, tiles, size, n, sums);
}

#if defined(__AVX2__)
#define DF_QUICKSCORER64 df_quickscorer64
static void df_quickscorer64(int has_missing, const df_quickscorer_tree *trees, size_t first, size_t end, size_t n_values,
                             size_t n_outputs, const uint64_t *tiles, size_t size, size_t n, double *sums) {
    if (has_missing)
        df_quickscorer_loop64(1, trees, first, end, n_values, n_outputs, tiles, size, n, sums);
    else
        df_quickscorer_loop64(0, trees, first, end, n_values, n_outputs, tiles, size, n, sums);
}
#else
#define DF_QUICKSCORER64 NULL /* SSE2 does not compare 64 bits: a walk is faster */
#endif

/* As measured. */
#if defined(__AVX512BW__)
#define DF_SMALL_RECORDS {0, 64, 64, 64}
#define DF_UNORDERED_RECORDS {0, 64, 32, 32}
#elif defined(__AVX2__)
#define DF_SMALL_RECORDS {0, 64, 64, 32}
#define DF_UNORDERED_RECORDS {0, 64, 32, 32}
#else
#define DF_SMALL_RECORDS {0, 0, 32, 32}
#define DF_UNORDERED_RECORDS {0, 0, 0, 0} /* with SSE2 alone, sorting is faster, if nodes are not small subtrees */
#endif

#define DF_TEXT_OF(name) #name
#define DF_TEXT(name) DF_TEXT_OF(name)

const df_loops DF_OF_SET(df_loops) = {
    .name = DF_TEXT(DF_SET),
    .gini = df_gini_loop,
    .gini_class_counters = df_gini_lanes_loop,
    .square = df_square_loop,
    .unordered_binary = df_unordered_binary,
    .unordered_sums = df_unordered_sums,
    .unordered_classes = df_unordered_classes,
    .unordered_ranks = df_unordered_ranks,
    .unordered_sums_below = df_unordered_sums_below_loop,
    .gini_reach = df_gini_reach_loop,
    .before = df_before_loop,
    .ranks = df_ranks_loop,
    .rank_packed_sums = df_rank_sums_loop,
    .extent32 = df_extent32_loop,
    .extent64 = df_extent64_loop,
    .side32 = df_side32_loop,
    .side64 = df_side64_loop,
    .up_to = df_up_to_loop,
    .ones = df_ones_loop,
    .below = df_below_loop,
    .draw_block = df_draw_block_loop,
    .subsample_block = df_subsample_block_loop,
    .subsampled_rows = df_subsampled_rows_loop,
    .records = df_write_some_records,
    .pack_classes = df_pack_classes_loop,
    .pack_sums = df_pack_sums_loop,
    .running_sums = df_run_words_loop,
    .divide = df_divide_records,
    .small_subtree = {NULL, df_small_subtree_binary, df_small_subtree_classes, df_small_subtree_sums},
    .unordered_records = DF_UNORDERED_RECORDS,
    .small_records = DF_SMALL_RECORDS,
    .random_small_subtree = {NULL, df_random_binary, df_random_classes, df_random_sums},
    .uniforms = df_uniforms,
    .quickscorer32 = df_quickscorer32,
    .quickscorer64 = DF_QUICKSCORER64,
    .wrong_slots = df_wrong_slots_loop,
    .shapley = df_shapley_loop,
    .shapley_tables = df_shapley_tables_loop,
    .boost = &DF_OF_SET(df_boost_loops),
    .outputs = &DF_OF_SET(df_output_loops),
};
