"""Sums of float64 numbers without rounding: see totals.h."""
from libc.stdint cimport int32_t, int64_t


cdef extern from "core/predict/totals.h" nogil:
    enum:
        DF_DIGITS
        DF_SQUARE_EXPONENT
        DF_MAX_EXPONENT
    ctypedef struct df_total:
        int64_t digit[DF_DIGITS]
        int32_t begin
        int32_t end
    void df_total_open(df_total* total)
    void df_total_add(df_total* total, double x, int64_t weight)
    void df_total_carry(df_total* total)
    double df_total_value(df_total* total, int power)
