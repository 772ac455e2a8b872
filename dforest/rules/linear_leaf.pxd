"""Leaves that add linear functions; see linear_leaf.h."""
from libc.stdint cimport int32_t, int64_t

from dforest.rules.numerics cimport df_exact_sum

cdef extern from "rules/linear_leaf.h" nogil:
    enum:
        DF_MAX_TERMS, DF_LINE_HEAD, DF_TERM_NUMBERS
    ctypedef struct df_term:
        int32_t feature, exponent
        double low, high, middle, factor
    int df_line_size(int n_terms)
    double df_unbounded_value(double constant, const double* line, int n_terms, const char* row, bint is_double)
    double df_bounded_value(const double* line, double value)
    double df_linear_value(double constant, const double* line, int n_terms, const char* row, bint is_double)
    bint df_open_term(df_term* term)
    int df_n_line_sums(int n_terms)
    int df_fit_line(int n, const df_term* terms, const df_exact_sum* sums, double l2, double learning_rate, int32_t exponent_g,
                    int32_t exponent_h, double* line)
