"""The records and numbers that the processor, kernels and drivers share; see records.h."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from "rules/records.h" nogil:
    enum:
        DF_GINI
        DF_ENTROPY
        DF_HELLINGER
        DF_SQUARED_ERROR
        DF_POISSON
        DF_ABSOLUTE_ERROR
    ctypedef enum df_draw_kind:
        DF_CLASS_WEIGHTS
        DF_TARGET_SUM
        DF_TARGET_SUM_WIDE
    ctypedef struct df_record:   # equal draws of a tree
        uint32_t row           # row of the data view, or of the subtree's own copy: see Node.columns
        uint32_t count         # how often it was drawn
        int32_t target         # class number, or quantised target
        uint32_t weight        # integer weight of one draw
    ctypedef struct df_limits:
        int64_t max_depth
        int64_t min_samples_split
        int64_t min_samples_leaf
        double min_weight_fraction_leaf
        double impurity_threshold
        double min_impurity_decrease
    ctypedef struct df_leaf_rules:
        int64_t min_draws      # each side of a valid cut has at least this many draws, 1 or more
        double min_weight      # and at least this weight
    ctypedef struct df_scale:    # of a node's targets
        double centre          # quantised target = (y - centre) * 2**exponent, rounded
        int64_t range          # largest minus smallest quantised target it was made for
        int32_t exponent
        int32_t padding
    ctypedef struct df_open_node:
        int64_t first
        int64_t n
        uint64_t key
        int64_t first_weight
        double root_weight
        df_scale scale
        double lower
        double upper
        int32_t depth
        uint32_t seed
        uint32_t right
        int32_t weight_shift
        int32_t label_order
    ctypedef struct df_column:
        int64_t first
        uint32_t n_codes
        uint32_t has_missing
        uint32_t kind
        uint32_t is_float32
        int32_t monotonic_cst
        uint32_t key_bits
        int64_t first_rank
    ctypedef struct df_grown:
        int64_t first
        int64_t n
        df_scale scale
        double lower
        double upper
        double threshold
        uint64_t code
        int64_t first_weight
        int32_t feature
        uint32_t above
        uint32_t missing_left
        uint32_t only_missing
        uint32_t right
        int32_t weight_shift
    ctypedef struct df_quantiser:
        double centre, first, second
    ctypedef struct df_measure:
        int64_t mean
        double remainder
        double base
        double centre
        int64_t zero
    ctypedef struct df_output:
        df_quantiser scale
        df_measure measure
        double factor
        int32_t exponent
        int32_t first
        int32_t n_words
        int32_t is_pure
    ctypedef struct df_boost_limits:
        double l1, l2, min_hessian, smoothing, weight_unit
        int64_t min_samples, min_category
    ctypedef struct df_gradient_sums:
        int64_t gradient, hessian
        int32_t gradient_exponent, hessian_exponent
