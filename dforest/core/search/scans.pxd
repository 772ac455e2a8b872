"""Fast scans: quicker ways to find what a criterion's `best_cut` finds, registered beside the criterion.

Draws of weight 1 are packed into words, which are scored many at once. A scan must find the cut that `best_cut` finds, with
its score, to the bit; but where the best score is 0, any of the cuts that score 0 will do, as the forest then takes the
evenest. What the scans of a criterion from elsewhere answer is checked before it is used.

    cdef class MyScans(FastScans):
        ...

    register_scans(MyCriterion, MyScans)

Scans are found by the exact class of a criterion: one that derives from it and scores otherwise has none, unless it
registers its own. Each thread has its own `FastScans`, made for its criterion, which is configured by then.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.loops cimport df_cut, df_few
from dforest.core.search.criterion cimport Criterion
from dforest.core.types cimport Node
from dforest.rules.criteria cimport df_measure


cdef class FastScans:
    cdef Criterion criterion         # whose cuts are scored
    cdef readonly bint takes_words   # `best_word` takes the place of `best_cut`
    cdef readonly bint takes_lanes   # so does `best_lanes`
    cdef readonly int few            # most records of a node where `best_few` does; at most DF_FEW; 0: in none
    cdef readonly bint takes_small   # `best_small` does in small nodes of two classes
    cdef readonly int twig_words     # subtrees of few records are grown whole, by such words: see twig.h; 0: they are not
    cdef readonly bint has_bounds    # `CoarseSearch` knows bounds for its scores: two classes by Gini impurity

    # Take a node whose cuts are scored next.
    cdef void open_node(self, const Node* node) noexcept nogil

    # The first cut of highest score among n >= 1, and that score; -1 if none is allowed. All have draws on both sides. The
    # statistics of the left sides are run[i] + offset, in words of scan.h; total: [n_words], the node's.
    cdef Py_ssize_t best_word(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                              double* score) noexcept nogil

    # `best_word` for three to eight classes, in words of lanes.h: the left sides are run[i] + offset[0], and from class 4 on
    # more[i] + offset[1]. Both arrays may be read up to the next multiple of 8.
    cdef Py_ssize_t best_lanes(self, const uint64_t* run, const uint64_t* more, Py_ssize_t n, const uint64_t* offset,
                               const int64_t* total, double* score) noexcept nogil

    # The best cut among few records (few.h); all ways to part two records are worth the same. OUT cut : the first of the
    # best ones
    cdef void best_few(self, const df_few* few, uint64_t offset, const int64_t* total, df_cut* cut) noexcept nogil

    # The best cut in a node of at most DF_SMALL_DRAWS draws of two classes, by a column of at most 256 codes. run: [n] by
    # code, draws up to it of class 0 in the low 16 bits, of class 1 in the high ones; least: draws that a side needs
    cdef void best_small(self, const uint32_t* run, int n, uint32_t offset, const int64_t* total, double least,
                         df_cut* cut) noexcept nogil


cdef class GiniScans(FastScans):
    pass


cdef class SquareScans(FastScans):
    cdef df_measure measure          # of the open node


# The fast scans of a criterion, for the thread that has it; None if there are none.
cdef FastScans scans_of(Criterion criterion)
