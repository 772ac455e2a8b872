"""The criterion of causal forests: see heterogeneity.pyx."""
from libc.stdint cimport int32_t, int64_t

from dforest.core.search.outputs cimport MultiOutput
from dforest.core.types cimport Node
from dforest.rules.effects cimport df_effect_rules
from dforest.rules.numerics cimport df_exact_sum


cdef class Heterogeneity(MultiOutput):
    cdef readonly Py_ssize_t n_outcomes, n_treatments
    cdef readonly bint is_instrumental, stabilizes
    cdef readonly double alpha, imbalance_penalty
    cdef readonly Py_ssize_t least        # draws on either side of a cut with an instrument above the node's mean, or below it
    cdef df_effect_rules rules            # all of these
    cdef Py_ssize_t n_read                # moments of a row that are read
    cdef Py_ssize_t n_moments             # columns of a row of `Node.y`
    cdef Py_ssize_t n_scored              # pseudo-outcomes
    cdef double* columns                  # [records, n_outputs] of the open node: pseudo-outcomes, then what bounds cuts
    cdef int32_t* integers                # [records, n_read] what is read of its records, as integers
    # Of the open node; in `room`, one behind the other
    cdef double* effects                  # what effects.h knows of it
    cdef double* lowest                   # [n_read]
    cdef double* highest
    cdef double* bound_unit               # [bounds] of columns that bound cuts: what sums are in units of, above `origin`
    cdef double* bound_origin
    cdef double* bound_total              # their sums over the node, and on the left of a cut
    cdef double* bound_left
    cdef double* room
    cdef int64_t* whole                   # [n_read] the mean integer, rounded down
    cdef df_exact_sum* sums               # [n_read]
    cdef df_exact_sum* products           # [n_treatments, n_read] sums of instrument times what is read

    cdef void read(self, const Node* node) noexcept nogil
    cdef void add_up(self, const Node* node) noexcept nogil
    cdef void measure_bounds(self) noexcept nogil
    # Whether a cut leaves enough of each treatment on both sides; if so, what it costs to be uneven. OUT penalty
    cdef bint is_stable(self, const int64_t* left, const int64_t* total, double* penalty) noexcept nogil
    cdef void sum_bounds(self, const int64_t* statistic, double* sums) noexcept nogil
