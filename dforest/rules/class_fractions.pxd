"""Shares of classes within bounds; see class_fractions.h."""
from libc.stdint cimport int64_t

cdef extern from "rules/class_fractions.h" nogil:
    double df_midpoint_fraction(double left, double right)
    void df_bound_fraction(int64_t* words, double lower, double upper)
