/* The loops of draws.h, unordered.h and the other headers included here, compiled for several instruction sets (C99 and C++).
 *
 * A *set* of loops is a table of functions. loops.c defines the set that DF_SET names, for the instructions that the compiler is
 * told to use, and is compiled once for each; boost/loops.c and search/outputs.c define parts of it in the same way. A new loop
 * has a line in the table here, one in loops.pxd, and one in loops.c.
 */
#ifndef DFOREST_LOOPS_H
#define DFOREST_LOOPS_H

#include <stddef.h>

#include "core/boost/loops.h"
#include "core/draws.h"
#include "core/grow/partition.h"
#include "core/search/occupancy.h"
#include "core/grow/small_subtree.h"
#include "core/predict/quickscorer.h"
#include "core/predict/packed_check.h"
#include "core/predict/shapley_rows.h"
#include "core/search/two_level.h"
#include "core/search/unordered.h"
#include "core/search/class_counters.h"
#include "core/search/outputs.h"
#include "core/search/runs.h"
#include "core/search/scan.h"
#include "core/search/left_sums.h"

typedef struct {
    const char *name;
    int64_t (*gini)(const uint64_t *run, int64_t n, uint64_t offset, double weight, double first, double *score);
    int64_t (*gini_class_counters)(const uint64_t *run, const uint64_t *more, int64_t n, const uint64_t *offset, double weight,
                                   const int64_t *draws, int n_classes, double *score);
    int64_t (*square)(const uint64_t *run, int64_t n, uint64_t offset, double weight, double mean, double remainder,
                      double *score);
    void (*unordered_binary)(const df_unordered *unordered, uint64_t offset, double weight, double first, df_cut *cut);
    void (*unordered_sums)(const df_unordered *unordered, uint64_t offset, double weight, double mean, double remainder,
                           df_cut *cut);
    void (*unordered_classes)(const df_unordered *unordered, uint64_t offset, double weight, const int64_t *draws, int n_classes,
                              df_cut *cut);
    void (*unordered_ranks)(const uint32_t *code, int n, int32_t *rank);
    uint32_t (*unordered_sums_below)(const uint16_t *numbers, const uint16_t *binary_counts, uint16_t number);
    int (*gini_reach)(const uint64_t *edges, int64_t n, uint64_t offset, double weight, double first, double floor,
                      int skips_pure, int more, double *excess);
    uint32_t (*before)(const uint64_t *occupancy, int64_t n, uint32_t *before);
    void (*ranks)(const uint32_t *codes, int64_t n, const uint64_t *occupancy, const uint32_t *before, uint16_t *ranks,
                  uint32_t *code_of);
    void (*rank_packed_sums)(const uint32_t *codes, const uint64_t *words, int64_t n, const uint64_t *occupancy,
                             const uint32_t *before, uint64_t *sums, uint32_t *code_of);
    void (*extent32)(const uint32_t *code, int64_t n, uint64_t missing, df_extent *extent);
    void (*extent64)(const uint64_t *code, int64_t n, uint64_t missing, df_extent *extent);
    uint64_t (*side32)(const uint32_t *code, const uint64_t *word, int64_t n, uint32_t last);
    uint64_t (*side64)(const uint64_t *code, const uint64_t *word, int64_t n, uint64_t last);
    void (*up_to)(const uint32_t *ranks, int64_t n, uint32_t last, uint64_t *bits);
    int64_t (*ones)(uint32_t seed, uint64_t node, int64_t first, int64_t n);
    int64_t (*below)(uint32_t seed, uint64_t node, int64_t first, int64_t n, uint32_t left, uint32_t right, int64_t *n_draws);
    void (*draw_block)(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *counts);
    void (*subsample_block)(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *counts);
    void (*subsampled_rows)(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t *rows);
    int64_t (*records)(int64_t first, int64_t n, const uint32_t *counts, const int32_t *target, const uint32_t *weight,
                       df_record *out);
    uint32_t (*pack_classes)(const df_record *records, int64_t n, int bits, uint32_t flip, uint32_t *row, uint64_t *word,
                             uint32_t *slot);
    uint32_t (*pack_sums)(const df_record *records, int64_t n, uint32_t *row, uint64_t *word);
    int64_t (*running_sums)(uint64_t *counters, int64_t n, uint64_t *run, uint32_t *codes);
    int (*divide)(const df_record *records, int n, uint64_t mask, df_sums_kind kind, df_record *to_left, df_record *to_right,
                  uint64_t *left);
    void (*small_subtree[4])(df_small_subtree *small); /* by what the words of records are */
    int unordered_records[4];  /* most records of a node that is searched by unordered.h, by the same words */
    int small_records[4]; /* most records of a small subtree of best cuts that is faster than node by node */
    void (*random_small_subtree[4])(df_small_subtree *small);
    void (*uniforms)(uint32_t seed, const uint64_t *stream_keys, int n, double *u);
    void (*quickscorer32)(int has_missing, const df_quickscorer_tree *trees, size_t first, size_t end, size_t n_values,
                          size_t n_outputs, const uint32_t *tiles, size_t size, size_t n, double *sums);
    /* NULL: a walk is faster, as SSE2 does not compare 64 bits */
    void (*quickscorer64)(int has_missing, const df_quickscorer_tree *trees, size_t first, size_t end, size_t n_values,
                          size_t n_outputs, const uint64_t *tiles, size_t size, size_t n, double *sums);
    int (*wrong_slots)(const df_packed *forest, size_t t, const df_limits_of_slots *limits);
    void (*shapley)(int n_points, const df_shapley_tree *tree, const double *x, const double *t, const double *weight, double *room,
                    uint32_t *path, uint8_t *side, double *sums, const df_shapley_interactions *interactions);
    void (*shapley_tables)(const df_shapley_tree *tree, const double *factors, const double *x, size_t n, const double *z,
                           size_t n_background, size_t size, const df_shapley_tables *tables, double *sums, size_t step);
    const df_boost_loops *boost;
    const df_output_loops *outputs;
} df_loops;

/* A name of the set that is being compiled: df_loops_avx2. */
#define DF_JOINED(name, set) name##_##set
#define DF_JOIN(name, set) DF_JOINED(name, set)
#define DF_OF_SET(name) DF_JOIN(name, DF_SET)

#define DF_DECLARE_SET(set)                           \
    extern const df_boost_loops df_boost_loops_##set;   \
    extern const df_output_loops df_output_loops_##set; \
    extern const df_loops df_loops_##set;

DF_DECLARE_SET(portable)
#if defined(__GNUC__) && defined(__x86_64__)
DF_DECLARE_SET(avx2)
DF_DECLARE_SET(avx512)
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
