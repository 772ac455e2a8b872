"""The rules of estimates from rows that a tree left out; see out_of_bag.h."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.rules.random cimport df_stream

cdef extern from "rules/out_of_bag.h" nogil:
    double df_error(bint is_regression, double factor, double target, double predicted)
    int32_t df_leading_class(const int32_t* votes, int32_t best, int32_t voted)
    void df_open_permutation(df_stream* stream, uint32_t seed, uint64_t feature)
    void df_permute(df_stream* stream, uint32_t* rows, int64_t begin, int64_t end, int64_t n)
