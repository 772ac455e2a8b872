"""The chooser: which cut of a list is the best one, and whether it is better than what a search has so far.

Criteria whose scores follow from statistics share one chooser. A criterion for which they do not (absolute error: medians
of two sets say nothing about that of their union) has a chooser of its own, registered beside it; criteria derived from it
have it too.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.loops cimport DF_SMALL_DRAWS, df_cut
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList
from dforest.core.search.scans cimport FastScans
from dforest.core.types cimport Column, LeafRules, Node, Split
from dforest.rules.cut cimport df_least_draws, df_missing_goes_left, df_only_missing_right

cdef struct Choice:
    Py_ssize_t entry          # its place in the list; -1: no cut is allowed
    double score              # -1: no cut is allowed
    int64_t imbalance         # of a cut that scores 0, else 0: see numerics.h
    double middle             # as Split.middle


cdef class Chooser:
    cdef Criterion criterion
    cdef FastScans scans             # None: there are none
    cdef bint is_foreign             # the criterion is not dforest's own: what its scans say is checked
    cdef readonly bint needs_order   # it asks for CutList.sorted, and for lists that are not packed
    cdef readonly bint is_bounded    # some feature has a direction
    cdef Py_ssize_t n_words
    cdef int64_t* valid              # [cuts, n_words] statistics of the valid cuts
    cdef uint32_t* valid_at          # [cuts] their places in the list
    cdef double* middles             # [cuts] what Split.middle would be

    # Get ready for a node.
    cdef void open_node(self, const Node* node) noexcept nogil

    # Replace `best` if a cut of the list has a higher score, with missing values on either side, and return its place in
    # the list; -1: `best` stays. `payload` and, of categories, `code` are left to the caller. The list is changed.
    cdef Py_ssize_t choose(self, const Node* node, const Column* column, CutList* cuts, const LeafRules* rules,
                           Split* best) noexcept nogil

    # The first of the best cuts that are valid; of cuts that score 0, the first of the evenest. missing_left: whether the
    # missing values are on the left, where `add_missing` has put them unless the list is packed.
    cdef Choice best_entry(self, const Node* node, const Column* column, const CutList* cuts, bint missing_left,
                           const LeafRules* rules) noexcept nogil
    cdef Choice best_packed(self, const Node* node, const CutList* cuts, bint missing_left,
                            const LeafRules* rules) noexcept nogil
    cdef Py_ssize_t keep_valid(self, const Node* node, const Column* column, const CutList* cuts,
                               const LeafRules* rules) noexcept nogil
    cdef bint is_allowed(self, const Node* node, const Column* column, double left, double right) noexcept nogil


# The class of the chooser of a criterion.
cdef chooser_class_of(Criterion criterion)

# The first of the best among cuts each of which has more on its left than the one before; of cuts that score 0, the first
# of the evenest. IN left : [n, n_words]
cdef Choice best_of_run(Criterion criterion, const int64_t* left, Py_ssize_t n, const int64_t* total,
                        const LeafRules* rules) noexcept nogil

# Let a cut that a scan of a criterion from elsewhere found be none, unless it is one of n.
cdef void check_cut(Criterion criterion, const char* scan, df_cut* cut, Py_ssize_t n) noexcept nogil


cdef inline double least_small_draws(const LeafRules* rules) noexcept nogil:
    """The fewest draws of weight 1 that a side needs; one too many for any small node if that is large."""
    return <double> min(<int64_t> (DF_SMALL_DRAWS + 1), df_least_draws(rules))


cdef inline void take_cut(Split* best, double score, int64_t n_left, uint64_t code, uint32_t above, bint missing_left,
                          int64_t n_missing, int64_t total) noexcept nogil:
    """Replace `best` by a cut of numbers if its score is higher. No branches: whether it is, nobody can foretell.

    n_left : draws on the left, without missing ones
    """
    cdef bint taken = score > best.score
    cdef bint alone = df_only_missing_right(n_left, n_missing, missing_left, total)
    cdef bint goes_left = df_missing_goes_left(n_left, n_missing, missing_left, total)
    best.score = score if taken else best.score
    best.code = code if taken else best.code
    best.above = above if taken else best.above
    best.only_missing_right = alone if taken else best.only_missing_right
    best.missing_left = goes_left if taken else best.missing_left
    best.payload = <const uint64_t*> (<size_t> best.payload & (<size_t> taken - 1))     # NULL if it is taken
