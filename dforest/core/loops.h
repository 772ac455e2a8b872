/* The loops of draws.h, few.h and the other headers included here, for several instruction sets (C99 and C++). */
#ifndef DFOREST_LOOPS_H
#define DFOREST_LOOPS_H

#include <stddef.h>

#include "core/boost/loops.h"
#include "core/draws.h"
#include "core/search/coarse.h"
#include "core/search/few.h"
#include "core/grow/partition.h"
#include "core/grow/ranks.h"
#include "core/predict/marks.h"
#include "core/predict/packed_check.h"
#include "core/predict/shapley_rows.h"
#include "core/search/lanes.h"
#include "core/search/outputs.h"
#include "core/grow/twig.h"
#include "core/search/runs.h"
#include "core/search/scan.h"
#include "core/search/side.h"

typedef struct {
    const char *name;
    int64_t (*gini)(const uint64_t *run, int64_t n, uint64_t offset, double weight, double first, double *score);
    int64_t (*gini_lanes)(const uint64_t *run, const uint64_t *more, int64_t n, const uint64_t *offset, double weight,
                          const int64_t *draws, int n_classes, double *score);
    int64_t (*square)(const uint64_t *run, int64_t n, uint64_t offset, double weight, double mean, double remainder,
                      double *score);
    void (*few_pairs)(const df_few *few, uint64_t offset, double weight, double first, df_cut *cut);
    void (*small_pairs)(const uint32_t *run, int n, uint32_t offset, double weight, double first, double least, df_cut *cut);
    void (*few_sums)(const df_few *few, uint64_t offset, double weight, double mean, double remainder, df_cut *cut);
    void (*few_classes)(const df_few *few, uint64_t offset, double weight, const int64_t *draws, int n_classes, df_cut *cut);
    void (*few_ranks)(const uint32_t *code, int n, int32_t *rank);
    uint32_t (*few_shares)(const uint16_t *numbers, const uint16_t *pairs, uint16_t number);
    int (*gini_reach)(const uint64_t *edges, int64_t n, uint64_t offset, double weight, double first, double floor,
                      int skips_pure, int more, double *excess);
    uint32_t (*before)(const uint64_t *marks, int64_t n, uint32_t *before);
    void (*ranks)(const uint32_t *codes, int64_t n, const uint64_t *marks, const uint32_t *before, uint16_t *ranks,
                  uint32_t *code_of);
    void (*rank_sums)(const uint32_t *codes, const uint64_t *words, int64_t n, const uint64_t *marks, const uint32_t *before,
                      uint64_t *sums, uint32_t *code_of);
    void (*extent32)(const uint32_t *code, int64_t n, uint64_t missing, df_extent *extent);
    void (*extent64)(const uint64_t *code, int64_t n, uint64_t missing, df_extent *extent);
    uint64_t (*side32)(const uint32_t *code, const uint64_t *word, int64_t n, uint32_t last);
    uint64_t (*side64)(const uint64_t *code, const uint64_t *word, int64_t n, uint64_t last);
    int64_t (*ones)(uint32_t seed, uint64_t node, int64_t first, int64_t n);
    int64_t (*below)(uint32_t seed, uint64_t node, int64_t first, int64_t n, uint32_t left, uint32_t right, int64_t *n_draws);
    void (*draw_block)(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *counts);
    void (*subsample_block)(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *counts);
    df_records records;
    uint32_t (*pack_classes)(const df_record *records, int64_t n, int bits, uint32_t flip, uint32_t *row, uint64_t *word,
                             uint32_t *slot);
    uint32_t (*pack_sums)(const df_record *records, int64_t n, uint32_t *row, uint64_t *word);
    void (*pack_small)(const df_record *records, int64_t n, uint32_t *row, uint32_t *word);
    uint32_t (*run_small)(uint32_t *counters, int n, uint32_t *run);
    int64_t (*run_words)(uint64_t *counters, int64_t n, uint64_t *run, uint32_t *codes);
    int (*divide)(const df_record *records, int n, uint64_t mask, df_sums_kind kind, df_record *to_left, df_record *to_right,
                  uint64_t *left);
    void (*twig[4])(df_twig *twig); /* by what the words of records are */
    void (*random_twig[4])(df_twig *twig);
    df_uniforms uniforms;
    void (*mark32)(int has_missing, const df_marked *tests, int n_tests, const uint32_t *leaves, const uint32_t *tiles, size_t size,
                   size_t n, uint32_t *at);
    void (*mark64)(int has_missing, const df_marked *tests, int n_tests, const uint32_t *leaves, const uint64_t *tiles, size_t size,
                   size_t n, uint32_t *at); /* NULL: a walk is faster, as SSE2 does not compare 64 bits */
    int (*wrong_slots)(const df_packed *forest, size_t t, const df_limits_of_slots *limits);
    void (*shapley)(int n_points, const df_shapley_tree *tree, const double *x, const double *t, const double *weight, double *room,
                    uint32_t *path, uint8_t *side, double *sums);
    void (*shapley_tables)(const df_shapley_tree *tree, const double *factors, const double *x, size_t n, const double *z,
                           size_t n_background, size_t size, const df_shapley_tables *tables, double *sums, size_t step);
    const df_boost_loops *boost;
    const df_output_loops *outputs;
} df_loops;

#define DF_NO_CUT(cut) \
    cut->place = 0;    \
    cut->left = 0;     \
    cut->score = -1.0;

/* A loop over few records, of the shortest length that is enough. */
#define DF_FEW_LOOP(n, loop)     \
    {                            \
        if ((n) <= 8) {          \
            const int room = 8;  \
            loop;                \
        } else {                 \
            const int room = 32; \
            loop;                \
        }                        \
    }

/* The loops compiled with some instruction set; no fused multiplications in any. */
/* Bytes of a register, by set of loops. */
#define DF_REGISTER_BYTES_portable 16
#define DF_REGISTER_BYTES_avx2 32
#define DF_REGISTER_BYTES_avx512 64
#define DF_MARKS_OF(bits, bytes) df_mark_loop##bits##x##bytes
#define DF_MARKS(bits, bytes) DF_MARKS_OF(bits, bytes)

#define DF_COMPILE_LOOPS(name, attribute)                                                                                  \
    attribute static int64_t df_gini_##name(const uint64_t *run, int64_t n, uint64_t offset, double weight, double first, \
                                            double *score) {                                                              \
        return df_gini_loop(run, n, offset, weight, first, score);                                                        \
    }                                                                                                                     \
    attribute static int64_t df_gini_lanes_##name(const uint64_t *run, const uint64_t *more, int64_t n,                   \
                                                  const uint64_t *offset, double weight, const int64_t *draws,            \
                                                  int n_classes, double *score) {                                         \
        return df_gini_lanes_loop(run, more, n, offset, weight, draws, n_classes, score);                                 \
    }                                                                                                                     \
    attribute static int64_t df_square_##name(const uint64_t *run, int64_t n, uint64_t offset, double weight,             \
                                              double mean, double remainder, double *score) {                             \
        return df_square_loop(run, n, offset, weight, mean, remainder, score);                                            \
    }                                                                                                                     \
    attribute static void df_few_pairs_##name(const df_few *few, uint64_t offset, double weight, double first,            \
                                              df_cut *cut) {                                                              \
        DF_NO_CUT(cut)                                                                                                    \
        if (few->n <= DF_TINY)                                                                                            \
            df_tiny_pairs(few, offset, weight, first, cut);                                                               \
        else if (few->n <= 32)                                                                                            \
            df_few_pairs_loop(few, 32, offset, weight, first, cut);                                                       \
        else                                                                                                              \
            df_few_pairs_loop(few, DF_FEW, offset, weight, first, cut);                                                   \
    }                                                                                                                     \
    attribute static void df_small_pairs_##name(const uint32_t *run, int n, uint32_t offset, double weight, double first, \
                                                double least, df_cut *cut) {                                              \
        DF_NO_CUT(cut)                                                                                                    \
        df_small_pairs_loop(run, n, offset, weight, first, least, cut);                                                   \
    }                                                                                                                     \
    attribute static void df_few_sums_##name(const df_few *few, uint64_t offset, double weight, double mean,              \
                                             double remainder, df_cut *cut) {                                             \
        DF_NO_CUT(cut)                                                                                                    \
        if (few->n <= DF_TINY)                                                                                            \
            df_tiny_sums(few, offset, weight, mean, remainder, cut);                                                      \
        else                                                                                                              \
            DF_FEW_LOOP(few->n, df_few_sums_loop(few, room, offset, weight, mean, remainder, cut))                        \
    }                                                                                                                     \
    attribute static void df_few_classes_##name(const df_few *few, uint64_t offset, double weight, const int64_t *draws,  \
                                                int n_classes, df_cut *cut) {                                             \
        DF_NO_CUT(cut)                                                                                                    \
        DF_FEW_LOOP(few->n, df_few_classes_loop(few, room, offset, weight, draws, n_classes, cut))                        \
    }                                                                                                                     \
    attribute static void df_few_ranks_##name(const uint32_t *code, int n, int32_t *rank) {                               \
        df_few_ranks_loop(code, n, n <= 32 ? 32 : DF_FEW, rank);                                                          \
    }                                                                                                                     \
    attribute static uint32_t df_few_shares_##name(const uint16_t *numbers, const uint16_t *pairs, uint16_t number) {     \
        return df_few_shares_loop(numbers, pairs, number);                                                                \
    }                                                                                                                     \
    attribute static int df_gini_reach_##name(const uint64_t *edges, int64_t n, uint64_t offset, double weight,           \
                                              double first, double floor, int skips_pure, int more, double *excess) {     \
        return df_gini_reach_loop(edges, n, offset, weight, first, floor, skips_pure, more, excess);                      \
    }                                                                                                                     \
    attribute static uint32_t df_before_##name(const uint64_t *marks, int64_t n, uint32_t *before) {                      \
        return df_before_loop(marks, n, before);                                                                          \
    }                                                                                                                     \
    attribute static void df_ranks_##name(const uint32_t *codes, int64_t n, const uint64_t *marks,                        \
                                          const uint32_t *before, uint16_t *ranks, uint32_t *code_of) {                   \
        df_ranks_loop(codes, n, marks, before, ranks, code_of);                                                           \
    }                                                                                                                     \
    attribute static void df_rank_sums_##name(const uint32_t *codes, const uint64_t *words, int64_t n,                    \
                                              const uint64_t *marks, const uint32_t *before, uint64_t *sums,              \
                                              uint32_t *code_of) {                                                        \
        df_rank_sums_loop(codes, words, n, marks, before, sums, code_of);                                                 \
    }                                                                                                                     \
    attribute static void df_extent32_##name(const uint32_t *code, int64_t n, uint64_t missing,                           \
                                              df_extent *extent) {                                                        \
        df_extent32_loop(code, n, missing, extent);                                                                       \
    }                                                                                                                     \
    attribute static void df_extent64_##name(const uint64_t *code, int64_t n, uint64_t missing,                           \
                                              df_extent *extent) {                                                        \
        df_extent64_loop(code, n, missing, extent);                                                                       \
    }                                                                                                                     \
    attribute static uint64_t df_side32_##name(const uint32_t *code, const uint64_t *word, int64_t n,                     \
                                                uint32_t last) {                                                          \
        return df_side32_loop(code, word, n, last);                                                                       \
    }                                                                                                                     \
    attribute static uint64_t df_side64_##name(const uint64_t *code, const uint64_t *word, int64_t n,                     \
                                                uint64_t last) {                                                          \
        return df_side64_loop(code, word, n, last);                                                                       \
    }                                                                                                                     \
    attribute static int64_t df_ones_##name(uint32_t seed, uint64_t node, int64_t first, int64_t n) {                     \
        return df_ones_loop(df_words_##name, seed, node, first, n);                                                       \
    }                                                                                                                     \
    attribute static int64_t df_below_##name(uint32_t seed, uint64_t node, int64_t first, int64_t n, uint32_t left,       \
                                             uint32_t right, int64_t *n_draws) {                                          \
        return df_below_loop(df_words_##name, seed, node, first, n, left, right, n_draws);                                \
    }                                                                                                                     \
    attribute static void df_draw_block_##name(uint32_t seed, int64_t block, int64_t n, int64_t n_draws,                  \
                                               uint32_t *counts) {                                                        \
        df_draw_block_loop(df_words_##name, seed, block, n, n_draws, counts);                                             \
    }                                                                                                                     \
    attribute static void df_subsample_block_##name(uint32_t seed, int64_t block, int64_t n, int64_t n_draws,             \
                                                    uint32_t *counts) {                                                   \
        df_subsample_block_loop(df_words_##name, seed, block, n, n_draws, counts);                                        \
    }                                                                                                                     \
    attribute static uint32_t df_pack_classes_##name(const df_record *records, int64_t n, int bits, uint32_t flip,        \
                                                     uint32_t *row, uint64_t *word, uint32_t *slot) {                     \
        return df_pack_classes_loop(records, n, bits, flip, row, word, slot);                                             \
    }                                                                                                                     \
    attribute static uint32_t df_pack_sums_##name(const df_record *records, int64_t n, uint32_t *row, uint64_t *word) {   \
        return df_pack_sums_loop(records, n, row, word);                                                                  \
    }                                                                                                                     \
    attribute static void df_pack_small_##name(const df_record *records, int64_t n, uint32_t *row, uint32_t *word) {      \
        df_pack_small_loop(records, n, row, word);                                                                        \
    }                                                                                                                     \
    attribute static void df_twig_pairs_##name(df_twig *twig) { df_twig_grow_loop(twig, DF_TWIG_PAIRS, NULL); }           \
    attribute static void df_random_pairs_##name(df_twig *twig) {                                                         \
        df_twig_grow_loop(twig, DF_TWIG_PAIRS, df_uniforms_##name);                                                       \
    }                                                                                                                     \
    attribute static void df_twig_classes_##name(df_twig *twig) { df_twig_grow_loop(twig, DF_TWIG_CLASSES, NULL); }       \
    attribute static void df_random_classes_##name(df_twig *twig) {                                                       \
        df_twig_grow_loop(twig, DF_TWIG_CLASSES, df_uniforms_##name);                                                     \
    }                                                                                                                     \
    attribute static void df_twig_sums_##name(df_twig *twig) { df_twig_grow_loop(twig, DF_TWIG_SUMS, NULL); }             \
    attribute static void df_random_sums_##name(df_twig *twig) {                                                          \
        df_twig_grow_loop(twig, DF_TWIG_SUMS, df_uniforms_##name);                                                        \
    }                                                                                                                     \
    attribute static void df_mark32_##name(int has_missing, const df_marked *tests, int n_tests, const uint32_t *leaves,  \
                                           const uint32_t *tiles, size_t size, size_t n, uint32_t *at) {                  \
        if (has_missing)                                                                                                  \
            DF_MARKS(32, DF_REGISTER_BYTES_##name)(1, tests, n_tests, leaves, tiles, size, n, at);                        \
        else                                                                                                              \
            DF_MARKS(32, DF_REGISTER_BYTES_##name)(0, tests, n_tests, leaves, tiles, size, n, at);                        \
    }                                                                                                                     \
    attribute static void df_mark64_##name(int has_missing, const df_marked *tests, int n_tests, const uint32_t *leaves,  \
                                           const uint64_t *tiles, size_t size, size_t n, uint32_t *at) {                  \
        if (has_missing)                                                                                                  \
            DF_MARKS(64, DF_REGISTER_BYTES_##name)(1, tests, n_tests, leaves, tiles, size, n, at);                        \
        else                                                                                                              \
            DF_MARKS(64, DF_REGISTER_BYTES_##name)(0, tests, n_tests, leaves, tiles, size, n, at);                        \
    }                                                                                                                     \
    attribute static int df_wrong_slots_##name(const df_packed *forest, size_t t, const df_limits_of_slots *limits) {     \
        return df_wrong_slots_loop(forest, t, limits);                                                                    \
    }                                                                                                                     \
    attribute static void df_shapley_##name(int n_points, const df_shapley_tree *tree, const double *x, const double *t,  \
                                            const double *weight, double *room, uint32_t *path, uint8_t *side,            \
                                            double *sums) {                                                               \
        df_shapley_loop(n_points, tree, x, t, weight, room, path, side, sums);                                            \
    }                                                                                                                     \
    attribute static void df_shapley_tables_##name(const df_shapley_tree *tree, const double *factors, const double *x,   \
                                                   size_t n, const double *z, size_t n_background, size_t size,           \
                                                   const df_shapley_tables *tables, double *sums, size_t step) {          \
        df_shapley_tables_loop(tree, factors, x, n, z, n_background, size, tables, sums, step);                           \
    }                                                                                                                     \
    DF_COMPILE_BOOST(name, attribute)                                                                                     \
    DF_COMPILE_OUTPUTS(name, attribute)                                                                                   \
    static const df_loops df_loops_##name = {#name,                                                                       \
                                             df_gini_##name,                                                              \
                                             df_gini_lanes_##name,                                                        \
                                             df_square_##name,                                                            \
                                             df_few_pairs_##name,                                                         \
                                             df_small_pairs_##name,                                                       \
                                             df_few_sums_##name,                                                          \
                                             df_few_classes_##name,                                                       \
                                             df_few_ranks_##name,                                                         \
                                             df_few_shares_##name,                                                        \
                                             df_gini_reach_##name,                                                        \
                                             df_before_##name,                                                            \
                                             df_ranks_##name,                                                             \
                                             df_rank_sums_##name,                                                         \
                                             df_extent32_##name,                                                          \
                                             df_extent64_##name,                                                          \
                                             df_side32_##name,                                                            \
                                             df_side64_##name,                                                            \
                                             df_ones_##name,                                                              \
                                             df_below_##name,                                                             \
                                             df_draw_block_##name,                                                        \
                                             df_subsample_block_##name,                                                   \
                                             df_records_##name,                                                           \
                                             df_pack_classes_##name,                                                      \
                                             df_pack_sums_##name,                                                         \
                                             df_pack_small_##name,                                                        \
                                             df_run_small_##name,                                                         \
                                             df_run_words_##name,                                                         \
                                             df_divide_##name,                                                            \
                                             {NULL, df_twig_pairs_##name, df_twig_classes_##name, df_twig_sums_##name},      \
                                             {NULL, df_random_pairs_##name, df_random_classes_##name, df_random_sums_##name}, \
                                             df_uniforms_##name,                                                          \
                                             df_mark32_##name,                                                            \
                                             DF_REGISTER_BYTES_##name > 16 ? df_mark64_##name : NULL,                     \
                                             df_wrong_slots_##name,                                                       \
                                             df_shapley_##name,                                                           \
                                             df_shapley_tables_##name,                                                    \
                                             &df_boost_loops_##name,                                                      \
                                             &df_output_loops_##name};

#define DF_NO_ATTRIBUTE
DF_COMPILE_LOOPS(portable, DF_NO_ATTRIBUTE)

#if defined(__GNUC__) && defined(__x86_64__)
DF_COMPILE_LOOPS(avx2, __attribute__((target("avx2,bmi2,popcnt"))))
DF_COMPILE_LOOPS(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt"))))
#define DF_N_LOOPS 3
/* The i-th set of loops, from the one that runs everywhere to the fastest; NULL if this processor has it not. */
static inline const df_loops *df_loops_at(int i) {
    int has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    int has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (i == 2)
        return has_avx512 ? &df_loops_avx512 : NULL;
    if (i == 1)
        return has_avx2 ? &df_loops_avx2 : NULL;
    return &df_loops_portable;
}
#else
#define DF_N_LOOPS 1
static inline const df_loops *df_loops_at(int i) { return &df_loops_portable; }
#endif

#endif
