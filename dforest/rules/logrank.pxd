"""The rules of the log-rank test; see logrank.h."""
from libc.stdint cimport int64_t

from dforest.rules.numerics cimport df_exact_sum

cdef extern from "rules/logrank.h" nogil:
    int df_variance_shift(int64_t weight)
    const int DF_ENTRY_SHIFT
    int64_t df_entry_of(int64_t code)
    int64_t df_exit_of(int64_t code)
    double df_variance_fraction(int64_t events, int64_t at_risk)
    int df_variance_digits(int64_t weight, double sum)
    int64_t df_variance_step(double share, int digits)
    int df_residual_digits(double hazard)
    double df_logrank_score(double sum, int residual_digits, df_exact_sum variance, int variance_digits, int shift)
    df_exact_sum df_pairs_change(int64_t weight, int64_t own, df_exact_sum others)
    double df_addable(double exact)

    ctypedef struct df_exposed:
        int64_t code
        int64_t entry
        double weight

    ctypedef struct df_hazards:
        const df_exposed* draws
        const int64_t* entering
        int64_t n
        int64_t n_entering
        double* sums

    void df_begin_hazards(df_hazards* of)
    double df_next_hazard(df_hazards* of, int64_t* time)
