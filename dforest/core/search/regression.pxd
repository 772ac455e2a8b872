from libc.stdint cimport int64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.types cimport Node, Scale
from dforest.rules.criteria cimport df_measure


# A criterion on the weight and the sum of the targets. Targets are integers, see types.pxd: word 2 of a statistic is
# the sum of weight times target; or, if it is wide, words 2 and 3 are its low 31 bits and the rest.
#
# A subclass brings `impurity`, in the units that scores are to have, and perhaps `value`. What is the same for all
# cuts of a node, such as the mean square, may be left out of `impurity`, but not of `node_impurity`.
cdef class NumberCriterion(Criterion):
    cdef Scale scale           # of the open node

    # The mean target, in the units of the targets, of some draws of the open node.
    cdef double mean(self, const int64_t* statistic) noexcept nogil

    cdef bint is_narrow(self, const Node* node) noexcept nogil
    cdef void requantise(self, Node* node) noexcept nogil
    cdef void add_up(self, const Node* node) noexcept nogil


cdef class SquaredError(NumberCriterion):
    cdef double fine_mean(self, const Node* node, double lo, double hi) noexcept nogil


cdef class Poisson(SquaredError):
    cdef df_measure measure    # of the open node
