from libc.stdint cimport int64_t, uint32_t, uint64_t

from cpython.ref cimport PyObject

from dforest.core.search.regression cimport SquaredError
from dforest.core.search.incremental_evaluator cimport IncrementalEvaluator
from dforest.core.types cimport Node
from dforest.rules.numerics cimport df_exact_sum

cdef struct Weighted:
    double value
    int64_t weight

cdef struct Level:            # an entry of a Fenwick tree
    int64_t weight
    df_exact_sum sum          # of weight * target

cdef struct Spread:           # of a set of draws
    double median             # the lower weighted median of their quantised targets
    df_exact_sum cost         # sum of weight * distance from it


cdef class AbsoluteError(SquaredError):
    cdef uint64_t* sort_keys       # [n_records]
    cdef uint64_t* sort_keys_to    # [n_records]
    cdef Weighted* sorted          # [n_records]

    cdef void sort_targets(self, const Node* node) noexcept nogil


cdef class Medians:                  # of one output, in the open node
    cdef Py_ssize_t n                # its records
    cdef int64_t total_weight
    cdef df_exact_sum total_sum, cost   # of all draws
    cdef double factor               # what makes its costs those of all outputs; 1 of one output
    cdef uint64_t* sort_keys         # [n_records] scratch for sorting
    cdef uint64_t* sort_keys_to      # [n_records]
    cdef uint32_t* rank              # [n_records] place of each record among the sorted targets
    cdef double* value               # [n_records] targets by rank
    cdef Level* all                  # [n_records + 1] Fenwick tree over ranks, of all draws
    cdef Level* left                 # [n_records + 1] of those on the left

    cdef void open(self, const Node* node) noexcept nogil
    # Add a record of some weight to the left, or take one away, of a weight below 0. left[0] holds the sums of all.
    cdef void move(self, Py_ssize_t record, int64_t weight) noexcept nogil
    cdef Spread spread_of(self, const Level* levels, const Level* minus, int64_t weight, df_exact_sum sum) noexcept nogil
    # What the sides cost less than the node. OUT at_left, at_right : their medians
    cdef double cost_decrease(self, double* at_left, double* at_right) noexcept nogil


cdef class MedianEvaluator(IncrementalEvaluator):
    cdef tuple outputs               # Medians of each
    cdef PyObject** medians          # [n_outputs] the same
