"""Bounds of predictions; see bounds.h."""
from libc.stdint cimport int32_t

cdef extern from "rules/bounds.h" nogil:
    ctypedef struct df_bounds:
        double lower
        double upper
    df_bounds df_no_bounds()
    double df_clip(double x, double lower, double upper)
    double df_midpoint_prediction(double left, double right)
    df_bounds df_child_bounds(df_bounds bounds, bint right, int32_t monotonic_cst, double midpoint)
