from libc.stdint cimport int64_t

from dforest.core.criterion cimport Criterion
from dforest.core.types cimport Node


cdef class SquaredError(Criterion):
    cdef double mean_below     # of the open node: mean of its targets, rounded down, if words are scanned ...
    cdef double remainder      # ... and their sum less the weight times that

    cdef void requantise(self, Node* node) noexcept nogil
    cdef void add_up(self, const Node* node) noexcept nogil


cdef class Poisson(SquaredError):
    cdef double base           # of the open node: centre of the scale in quantised units ...
    cdef double mean           # ... mean target, likewise ...
    cdef int64_t zero          # ... and the quantised target of 0

    cdef inline double mean_of(self, const int64_t* statistic) noexcept nogil
