"""Rows that are drawn by chances of their own; see chances.h."""
from libc.stdint cimport int64_t, uint32_t

cdef extern from "rules/chances.h" nogil:
    enum:
        DF_IMPORTANCE_STEPS
    int df_step_of(uint32_t importance)
    double df_importance_of_certain(const int64_t* counts, const int64_t* sums, int64_t n_drawn)
    bint df_is_drawn(uint32_t word, uint32_t importance, double of_certain)
    double df_inverse_chance(uint32_t importance, double of_certain)
