"""The arithmetic that decides a split; see numerics.h."""
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from "rules/numerics.h" nogil:
    ctypedef struct df_exact_sum:
        pass
    const double DF_DEVIANCE_UNIT
    df_exact_sum df_big_product(int64_t a, int64_t b)
    df_exact_sum df_big_sum(df_exact_sum a, df_exact_sum b)
    df_exact_sum df_big_difference(df_exact_sum a, df_exact_sum b)
    df_exact_sum df_big_of(int64_t high, uint64_t low)
    df_exact_sum df_big_times(df_exact_sum a, int64_t b)
    int64_t df_big_floor(df_exact_sum a, int64_t b)
    void df_add_product(df_exact_sum* sum, int64_t a, int64_t b)
    void df_add_square(df_exact_sum* sum, int64_t a, int64_t w)
    double df_sum_value(const df_exact_sum* sum)
    void df_sum_digits(const df_exact_sum* sum, int64_t* digits)
    df_exact_sum df_sum_of_digits(const int64_t* digits)
    bint df_product_above(int64_t a, int64_t b, int64_t c, int64_t d)
    double df_log(double x)
    double df_log2(double x)
    double df_log1p(double x)
    double df_exp(double x)
    int32_t df_nearest_integer(double x)
    double df_entropy_term(double x)
    int64_t df_floor_mean(int64_t low, int64_t high, int64_t weight)
    double df_offset_sum(int64_t low, int64_t high, int64_t weight, int64_t mean)
    double df_ratio_unit(int64_t weight_left, int64_t weight)
    int64_t df_without_last_bits(int64_t x, int32_t by)
    int32_t df_scale_exponent(double largest, int bits)
    double df_midpoint(double lo, double hi, int is_float32)
    double df_between(double lo, double hi, double u, int is_float32)
    double df_power(double x, int64_t n)
    int64_t df_imbalance(double score, int64_t w_left, int64_t w)
    bint df_is_better(double score, int64_t imbalance, double other_score, int64_t other_imbalance)
