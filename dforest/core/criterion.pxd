"""The contract of a criterion.

A criterion says what a draw adds to a statistic (`kind`), what impurity and leaf value follow from
one, and which of many cuts of a node is best. Each thread has a clone of its own, so a criterion
may keep scratch, but it must give the same answer to the same question always.

A subclass of `ClassCriterion` needs `impurity` only; one of `Criterion` also sets `kind`, and brings
`open_node` and, where it predicts a number, `leaf_value`. The base class then scores a cut by
w * i(t) - w_L * i(t_L) - w_R * i(t_R); the built-in criteria override `best_cut` with formulas of
numerics.h that cancel nothing. It is called once per node and feature, or twice where the node has
missing values, never per row or per cut.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.loops cimport df_cut, df_few
from dforest.core.types cimport DrawKind, Node


cdef class Criterion:
    cdef readonly Py_ssize_t n_words     # int64 words of a statistic
    cdef readonly Py_ssize_t n_classes   # 0 for regression
    cdef readonly bint is_additive       # value and impurity of a node follow from its children's
    cdef readonly object cuts_class      # of `Cuts` in its place, for what statistics don't tell; or None
    cdef readonly bint scans_words       # `best_word` takes the place of `best_cut`, where draws weigh 1
    cdef readonly int few                # so does `best_few`, in nodes of at most so many records, and `best_small`
    cdef bint is_built_in                # no subclass from elsewhere
    cdef DrawKind kind
    cdef int64_t* scratch                # [n_words], owned

    cdef int reserve(self, Py_ssize_t n_words) except -1

    # Make room for nodes of n_records records; called once.
    cdef int attach(self, Py_ssize_t n_records) except -1

    # Set statistics and is_pure of a node from its draws, before anything else; may rewrite the
    # draws' targets and the node's scale, which no other node sees. A node may be opened again, with
    # the scale it was left with: that must change nothing.
    cdef int open_node(self, Node* node) except -1 nogil

    # Keep what open_node keeps in the criterion itself, of a node that another thread has open by
    # `other`. The default opens the node again; the built-in criteria copy numbers.
    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil

    # Impurity of a set of draws; word 1 of its statistic is above 0.
    cdef double impurity(self, const int64_t* statistic) noexcept nogil

    # Impurity of an open node, in units of the targets.
    cdef double node_impurity(self, const Node* node) noexcept nogil

    # The first cut of highest score among n >= 1, and that score; -1 if it allows none. left:
    # [n, n_words], the statistics of the left sides; total: [n_words], the node's.
    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil

    # The same from packed words (scan.h), for a criterion that says so in `scans_words`; all n cuts
    # have draws on both sides. The statistics of the left sides are run[i] + offset.
    cdef Py_ssize_t best_word(self, const uint64_t* run, Py_ssize_t n, uint64_t offset, const int64_t* total,
                              double* score) noexcept nogil

    # The same among few records (few.h), for a criterion that says so in `few`. OUT cut : the first of
    # the best ones
    cdef void best_few(self, const df_few* few, uint64_t offset, const int64_t* total, df_cut* cut) noexcept nogil

    # The same for two classes in nodes of at most DF_SMALL_DRAWS draws, by columns of at most 256 codes. run: [n] by
    # code, draws up to it of class 0 in the low 16 bits, of class 1 in the high ones; least: draws of a side
    cdef void best_small(self, const uint32_t* run, int n, uint32_t offset, const int64_t* total, double least,
                         df_cut* cut) noexcept nogil

    # A score times 2 to this power is in units of weight times impurity.
    cdef int score_exponent(self, const Node* node) noexcept nogil

    # What the categories of a feature are ordered by. statistics: [n, n_words], of single categories;
    # total: [n_words], the node's. OUT keys : [n]
    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total, double* keys) noexcept nogil

    # What some of an open node's draws predict, where features have directions: a number, or the
    # probability of the second class.
    cdef double prediction(self, const Node* node, const int64_t* statistic) noexcept nogil

    # The number a leaf predicts. Regression only: a class forest keeps the statistics of its leaves.
    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil


cdef class ClassCriterion(Criterion):
    pass


cdef class Gini(ClassCriterion):
    pass


cdef class Entropy(ClassCriterion):
    pass
