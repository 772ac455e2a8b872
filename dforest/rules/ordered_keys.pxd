"""Unsigned integers that order like numbers; see ordered_keys.h."""
from libc.stdint cimport uint64_t

cdef extern from "rules/ordered_keys.h" nogil:
    uint64_t df_ordered_key64(double x)
    double df_value64(uint64_t key)
