"""Shares of classes within bounds; see shares.h."""
from libc.stdint cimport int64_t

cdef extern from "rules/shares.h" nogil:
    double df_middle_share(double left, double right)
    void df_bound_share(int64_t* words, double lower, double upper)
