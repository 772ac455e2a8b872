"""The rule of bins; see bins.h."""
from libc.stdint cimport int64_t

cdef extern from "rules/bins.h" nogil:
    int64_t df_bin_share(int64_t bins, int64_t rest)
    bint df_bin_ends_before(int64_t filled, int64_t w, int64_t bins, int64_t rest)
    bint df_bin_ends_with(int64_t filled, int64_t n_above, int64_t bins, int64_t rest)
