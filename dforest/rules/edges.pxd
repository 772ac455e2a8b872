"""The rule of random cuts between bins; see edges.h."""
from libc.stdint cimport uint32_t

cdef extern from "rules/edges.h" nogil:
    uint32_t df_nearest_edge_float(const float* edges, uint32_t n, uint32_t first, uint32_t last, double x)
    uint32_t df_nearest_edge_double(const double* edges, uint32_t n, uint32_t first, uint32_t last, double x)
