"""Sketches of derivatives; see sketch.h."""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "rules/sketch.h" nogil:
    enum:
        DF_DIRECTIONS, DF_SKETCHED_SUMS
    int df_directions_of(int n_sums)
    uint32_t df_signs_of(uint32_t seed, uint64_t sum)
    double df_direction_factor(int n_directions)
    double df_mean_factor(int n_sums)
    double df_most_of_classes(double largest, double factor)
