"""Unsigned integers that order like numbers; see keys.h."""
from libc.stdint cimport uint64_t

cdef extern from "rules/keys.h" nogil:
    uint64_t df_key64(double x)
    double df_value64(uint64_t key)
