"""Which columns splits prefer; see preferences.h."""
from libc.stdint cimport int64_t

cdef extern from "rules/preferences.h" nogil:
    double df_counted_gain(double gain, double factor, double cost)
    double df_monotone_factor(double penalty, int64_t depth)
