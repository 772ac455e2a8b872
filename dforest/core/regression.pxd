from libc.stdint cimport int64_t

from dforest.core.criterion cimport Criterion
from dforest.core.types cimport Node, Scale


# A criterion on the weight and the sum of the targets. Targets are integers, see types.pxd: word 2 of a statistic is
# the sum of weight times target; or, if it is wide, words 2 and 3 are its low 31 bits and the rest.
#
# A subclass brings `impurity`, in the units that scores are to have, and perhaps `value`. What is the same for all
# cuts of a node, such as the mean square, may be left out of `impurity`, but not of `node_impurity`.
cdef class NumberCriterion(Criterion):
    cdef Scale scale           # of the open node

    # The mean target, in the units of the targets, of some draws of the open node.
    cdef double mean(self, const int64_t* statistic) noexcept nogil

    cdef void requantise(self, Node* node) noexcept nogil
    cdef void add_up(self, const Node* node) noexcept nogil


cdef class SquaredError(NumberCriterion):
    cdef double mean_below     # of the open node: mean of its targets, rounded down, if words are scanned ...
    cdef double remainder      # ... and their sum less the weight times that


cdef class Poisson(SquaredError):
    cdef double base           # of the open node: centre of the scale in quantised units ...
    cdef double centre         # ... mean target, likewise ...
    cdef int64_t zero          # ... and the quantised target of 0

    cdef inline double mean_of(self, const int64_t* statistic) noexcept nogil
