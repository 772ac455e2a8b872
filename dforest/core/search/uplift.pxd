"""The criteria of uplift trees: see uplift.pyx."""
from libc.stdint cimport int64_t

from dforest.core.search.criterion cimport ClassCriterion


cdef class UpliftCriterion(ClassCriterion):
    cdef readonly bint normalize
    cdef readonly Py_ssize_t least        # draws of each arm on either side of a cut
    cdef readonly double smoothing        # draws that have the node's share of outcomes, in each share
    cdef Py_ssize_t n_arms                # the control included

    # How far outcomes of shares p and 1 - p are from those of q and 1 - q.
    cdef double divergence(self, double p, double q) noexcept nogil
    # How uneven two shares are that add up to 1.
    cdef double spread(self, double share) noexcept nogil
    # The mean divergence of the arms from the control, given a statistic, and what smooths shares.
    cdef double mean_divergence(self, const int64_t* statistic, double share, double mass) noexcept nogil
    cdef double side_divergence(self, const int64_t* left, const int64_t* total, double share, double mass) noexcept nogil
    cdef double normalizer(self, const int64_t* left, const int64_t* total) noexcept nogil
    cdef bint has_all_arms(self, const int64_t* left, const int64_t* total, double least) noexcept nogil


cdef class KullbackLeiblerUplift(UpliftCriterion):
    pass


cdef class EuclideanUplift(UpliftCriterion):
    pass


cdef class ChiSquaredUplift(UpliftCriterion):
    pass
