"""What trees draw; see sampling.h."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.rules.records cimport df_record

cdef extern from "rules/sampling.h" nogil:
    int64_t df_draws_to_left(uint32_t seed, uint64_t node, int64_t n_draws, int64_t left, int64_t right)
    void df_draw_block(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t* counts)
    int64_t df_heavy_to_left(uint32_t seed, uint64_t node, int64_t n_draws, int64_t left, int64_t right)
    void df_draw_by_mass(uint32_t seed, uint64_t block, int64_t n, int64_t n_draws, const int64_t* upto, uint32_t* counts)
    void df_keep_half(uint32_t seed, int64_t block, bint is_only, double share, bint fills_leaves, int64_t n, uint32_t* counts)
    bint df_orders_labels(uint32_t seed, uint64_t row)
    int64_t df_subsampled_before(uint32_t seed, uint64_t stratum, int64_t n_rows, int64_t n_draws, int64_t row)
    void df_subsample_block(uint32_t seed, int64_t block, int64_t n, int64_t n_draws, uint32_t* counts)
    int64_t df_write_records(int64_t first, int64_t n, const uint32_t* counts, const int32_t* target, const uint32_t* weight,
                             df_record* records)
