"""The criterion of causal forests: see heterogeneity.pyx."""
from libc.stdint cimport int32_t, int64_t

from dforest.core.search.outputs cimport MultiOutput
from dforest.core.types cimport Node
from dforest.rules.node cimport df_quantiser
from dforest.rules.numerics cimport df_exact_sum


cdef class Heterogeneity(MultiOutput):
    cdef readonly Py_ssize_t n_outcomes, n_treatments
    cdef readonly bint is_instrumental, stabilizes
    cdef readonly double alpha, imbalance_penalty
    cdef readonly Py_ssize_t least        # draws on either side of a cut with an instrument above the node's mean, or below it
    cdef Py_ssize_t n_read                # columns that are read of a row: outcomes, treatments, instruments if there are any
    cdef Py_ssize_t first_instrument      # the number of the first of these that is an instrument, or else a treatment
    cdef Py_ssize_t n_moments             # columns of a row of `Node.y`
    cdef Py_ssize_t n_scored              # pseudo-outcomes
    cdef double* columns                  # [records, n_outputs] of the open node: pseudo-outcomes, then what bounds cuts
    cdef int32_t* integers                # [records, n_read] what is read of its records, as integers
    # Of the open node, [n_read] each; in `room`, one behind the other
    cdef double* lowest
    cdef double* highest
    cdef double* mean_read                # of the integers, and what it is above the mean rounded down
    cdef double* rest
    cdef double* unit                     # what an integer stands for: a power of two
    cdef double* covariance               # [n_treatments, n_read] of instruments with what is read, in units of the integers
    cdef double* column_unit              # [n_outputs] of columns that bound cuts: what sums are in units of, above `origin`
    cdef double* column_origin
    cdef double* column_total             # their sums over the node
    cdef double* room
    cdef df_quantiser* quantisers         # [n_read]
    cdef int64_t* whole                   # [n_read] the mean, rounded down
    cdef df_exact_sum* sums               # [n_read]
    cdef df_exact_sum* products           # [n_treatments, n_read] sums of instrument times what is read
    cdef double* system                   # [n_treatments, 2 n_treatments + n_outcomes] equations for effects, and for the inverse

    cdef void read(self, const Node* node) noexcept nogil
    cdef void add_up(self, const Node* node) noexcept nogil
    cdef bint solve(self) noexcept nogil
    cdef void measure_bounds(self) noexcept nogil
    cdef void relabel(self, const Node* node) noexcept nogil
    # Whether a cut leaves enough of each treatment on both sides; if so, what it costs to be uneven. OUT penalty
    cdef bint is_stable(self, const int64_t* left, const int64_t* total, double* penalty) noexcept nogil
    cdef double sum_of(self, Py_ssize_t o, const int64_t* statistic) noexcept nogil
