"""The rules of several outputs; see outputs.h."""
from libc.stdint cimport int32_t, int64_t

from dforest.rules.records cimport df_output

cdef extern from "rules/outputs.h" nogil:
    int df_output_bits(int64_t criterion)
    double df_output_factor(int exponent, int of_node)
    void df_scale_output(df_output* output, int64_t criterion, double lo, double hi)
    int32_t df_measure_outputs(df_output* outputs, int64_t n_outputs, int64_t criterion, bint is_wide, const int64_t* total)
    bint df_outputs_are_pure(const df_output* outputs, int64_t n_outputs)
    double df_square_term(double w, double sum, double w_left, double remainder, double factor)
    double df_category_fraction(int64_t weight, int64_t total)
    double df_response_term(double share, double response)
    double df_spread_term(double share, double response, double mean)
    double df_response_spread(double sum, int32_t exponent, int32_t of_first)
