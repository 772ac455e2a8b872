"""The evaluator: which cut of a list is the best one, and whether it is better than what a search has so far.

Criteria whose scores follow from statistics share one evaluator. A criterion for which they do not (absolute error: medians
of two sets say nothing about that of their union) has an evaluator of its own, registered beside it; criteria derived from it
have it too.

*Fast scans* are quicker ways to find what a criterion's `best_cut` finds, registered beside the criterion as well. Draws of
weight 1 are packed into words, which are scored many at once. A scan must find the cut that `best_cut` finds, with its score, to
the bit; but where the best score is 0, any of the cuts that score 0 will do, as the forest then takes the most balanced. What the
scans of a criterion from elsewhere answer is checked before it is used.

    cdef class MyScans(FastScans):
        ...

    register_scans(MyCriterion, MyScans)

Scans are found by the exact class of a criterion: one that derives from it and scores otherwise has none, unless it
registers its own. Each thread has its own `FastScans`, made for its criterion, which is configured by then.

In nodes of few records, the cuts of a feature of numbers are found and scored at once (unordered.h): no list is made.
`UnorderedRecords` finds what a search through a list finds, but for one thing: where the best cut scores 0, it need not be the
most balanced.
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.loops cimport df_cut, df_unordered
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList
from dforest.core.types cimport Column, LeafRules, Node, Split
from dforest.rules.criteria cimport df_measure
from dforest.rules.cut cimport df_min_draws, df_missing_goes_left, df_only_missing_right


cdef class FastScans:
    cdef Criterion criterion         # whose cuts are scored
    cdef readonly bint takes_packed_sums  # `best_packed_sum` takes the place of `best_cut`
    cdef readonly bint takes_class_counters  # so does `best_class_counters`
    cdef readonly int unordered      # most records of a node where `best_unordered` does; at most DF_UNORDERED; 0: in none
    cdef readonly int small_packing  # small subtrees are grown whole, by such words: see small_subtree.h; 0: they are not
    cdef readonly bint has_bounds    # `TwoLevelSearch` knows bounds for its scores: two classes by Gini impurity

    # Take a node whose cuts are scored next.
    cdef void open_node(self, const Node* node) noexcept nogil

    # The first cut of highest score among n >= 1, and that score; -1 if none is allowed. All have draws on both sides. The
    # statistics of the left sides are run[i] + offset, in words of scan.h; total: [n_words], the node's.
    cdef Py_ssize_t best_packed_sum(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                                    double* score) noexcept nogil

    # `best_packed_sum` for three to eight classes, in words of class_counters.h: the left sides are run[i] + offset[0], and from
    # class 4 on more[i] + offset[1]. Both arrays may be read up to the next multiple of 8.
    cdef Py_ssize_t best_class_counters(self, const uint64_t* run, const uint64_t* more, Py_ssize_t n, const uint64_t* offset,
                                        const int64_t* total, double* score) noexcept nogil

    # The best cut among few records (unordered.h); all ways to part two records are worth the same. OUT cut : the first of the
    # best ones
    cdef void best_unordered(self, const df_unordered* unordered, uint64_t offset, const int64_t* total,
                             df_cut* cut) noexcept nogil


cdef class GiniScans(FastScans):
    pass


cdef class SquareScans(FastScans):
    cdef df_measure measure          # of the open node


# The fast scans of a criterion, for the thread that has it; None if there are none.
cdef FastScans scans_of(Criterion criterion)


cdef struct Choice:
    Py_ssize_t entry          # its place in the list; -1: no cut is allowed
    double score              # -1: no cut is allowed
    int64_t imbalance         # of a cut that scores 0, else 0: see numerics.h
    double midpoint           # as Split.midpoint


cdef class SplitEvaluator:
    cdef Criterion criterion
    cdef FastScans scans             # None: there are none
    cdef bint is_user_defined        # the criterion is not dforest's own: what its scans say is checked
    cdef readonly bint needs_order   # it asks for CutList.sorted, and for lists that are not packed
    cdef readonly bint is_bounded    # some feature has a direction
    cdef int64_t* valid              # [cuts, n_words] statistics of the valid cuts
    cdef uint32_t* valid_at          # [cuts] their places in the list
    cdef double* midpoints           # [cuts] what Split.midpoint would be

    # Get ready for a node.
    cdef void open_node(self, const Node* node) noexcept nogil

    # Replace `best` if a cut of the list has a higher score, with missing values on either side, and return its place in
    # the list; -1: `best` stays. `payload` and, of categories, `code` are left to the caller. The list is changed.
    cdef Py_ssize_t choose(self, const Node* node, const Column* column, CutList* cuts, const LeafRules* rules,
                           Split* best) noexcept nogil

    # The first of the best cuts that are valid; of cuts that score 0, the first of the most balanced. missing_left: whether the
    # missing values are on the left, where `add_missing` has put them unless the list is packed.
    cdef Choice best_entry(self, const Node* node, const Column* column, const CutList* cuts, bint missing_left,
                           const LeafRules* rules) noexcept nogil
    cdef Choice best_packed(self, const Node* node, const CutList* cuts, bint missing_left,
                            const LeafRules* rules) noexcept nogil
    cdef Py_ssize_t keep_valid(self, const Node* node, const Column* column, const CutList* cuts,
                               const LeafRules* rules) noexcept nogil


# The class of the evaluator of a criterion.
cdef evaluator_class_of(Criterion criterion)

# The first of the best among cuts each of which has more on its left than the one before; of cuts that score 0, the first
# of the most balanced. IN left : [n, n_words]
cdef Choice best_of_run(Criterion criterion, const int64_t* left, Py_ssize_t n, const int64_t* total,
                        const LeafRules* rules) noexcept nogil

# Let a cut that a scan of a criterion from elsewhere found be none, unless it is one of n.
cdef void check_cut(Criterion criterion, const char* scan, df_cut* cut, Py_ssize_t n) noexcept nogil


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


@cython.final
cdef class UnorderedRecords:
    cdef Criterion criterion
    cdef FastScans scans           # None: there are none
    cdef bint is_user_defined      # what they say is checked
    cdef bint is_binary            # words of two classes, in 16 bits
    cdef int64_t below             # nodes of fewer records are scanned here; 0: none are
    cdef bint is_open              # the node at hand is one of these:
    cdef df_unordered unordered    # its records
    cdef double score              # of the last feature that was looked at

    cdef void open_node(self, const Node* node) noexcept nogil
    cdef bint gather(self, const Node* node, const Column* column, uint64_t* missing) noexcept nogil
    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
