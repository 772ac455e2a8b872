"""Counter-based random streams; see random.h."""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "rules/random.h" nogil:
    ctypedef struct df_stream:
        pass
    enum:
        DF_FEATURES
        DF_BOOTSTRAP_SPLIT
        DF_BOOTSTRAP_DRAW
        DF_THRESHOLD
        DF_PERMUTATION
        DF_SUBSAMPLE_SHARE
        DF_SUBSAMPLE_DRAW
        DF_PROJECTION
        DF_SKETCH
        DF_CHANCE
        DF_CUSTOM
        DF_BLOCK
    const uint64_t DF_ROOT_KEY
    void df_stream_open(df_stream* s, uint32_t seed, uint64_t stream_key, uint32_t purpose)
    uint32_t df_next(df_stream* s)
    uint32_t df_below(df_stream* s, uint32_t n)
    double df_uniform(df_stream* s)
    uint32_t df_tree_seed(uint64_t seed, uint32_t tree)
    uint32_t df_tree_number(uint64_t seed, uint32_t tree_seed)
    uint64_t df_feature_key(uint64_t node_key, uint64_t feature)
    uint64_t df_child_key(uint64_t node_key, int right)
