"""The rule of bins; see bins.h."""
from libc.stdint cimport int64_t, uint32_t

cdef extern from "rules/bins.h" nogil:
    ctypedef struct df_bin_limits:
        int64_t least

    ctypedef struct df_bin_filler:
        pass

    df_bin_limits df_bin_limits_of(int64_t bins, int64_t rest)
    bint df_bin_ends_before(const df_bin_limits* limits, int64_t filled, int64_t w)
    bint df_bin_ends_with(const df_bin_limits* limits, int64_t filled, int64_t n_above)
    df_bin_filler df_bin_filler_of(int64_t bins, int64_t rest)
    uint32_t df_add_to_bin(df_bin_filler* filler, int64_t w, int64_t n_above)
    uint32_t df_n_filled_bins(const df_bin_filler* filler)
