"""The contract of a criterion: what a node is worth, and which of many cuts is best.

A criterion says what a draw adds to a statistic (`kind`, types.pxd), what impurity and value follow from one,
and which of the cuts of a node scores most. From the least to the most that a subclass brings:

(a) Classification, `ClassCriterion`: `impurity` alone. Words 2, 3, ... of a statistic are class weights.
    Regression, `NumberCriterion` (regression.pxd): `impurity`, and `value` where a leaf does not predict the mean.
    Its `mean` turns a statistic into the mean target, in the units of the targets.
(b) A scan of its own: `best_cut`. It is handed the statistics of the left sides of n cuts and the node's, and says
    which is the first of the best; if that scores 0, the forest takes the most balanced of those that are allowed, and may ask
    about single ones whether they are. By default a cut scores w i(t) - w_L i(t_L) - w_R i(t_R), below 0 taken as 0,
    with w the weight of a node. What another scan scores by decides between cuts, also in `min_impurity_decrease`
    and in the order of best-first growth; importances and pruning keep to the decrease of `impurity`.
    Of a column's cuts, all that the rules allow come at once, so that what one scores may depend on how many there are;
    numbers of a splitter's own come in ranges (division.pxd).
(c) Fast scans: an object beside the criterion that scores packed draws of weight 1 (split_evaluator.pxd), as `Gini` has one.

Given: statistics, sums over draws of [draws, weight, the criterion's own words ...], integers of 64 bits; word 1 is
above 0. `open_node` alone sees the draws. n_classes and n_words are known from `configure` on, which a forest calls
once; a subclass that keeps something by class overrides it (a `def` method) and calls its base's.

Kept: scratch, made in `configure` or in `attach`. Each thread has a criterion of its own, made from the class and
its parameters (component.pxd), and nothing is shared.

Always: the same question has the same answer, in any thread, so there are no random numbers here. Impurities are
finite, and of classes not below 0; scores are finite and not below 0. One that a compiler or a math library may
round in another way (libm's log does) gives
another forest on another machine: numerics.h has its own logarithms. All methods run without the GIL. Where one that
may not raise has to, it calls `fail` with the exception, which the forest raises as soon as it looks.

The share of the draws that the largest class does not have, as level (a):

    from libc.stdint cimport int64_t

    from dforest.core.component cimport CONTRACT
    from dforest.core.component import declare_contract
    from dforest.core.search.criterion cimport ClassCriterion

    declare_contract(__name__, CONTRACT)

    cdef class Misclassification(ClassCriterion):
        cdef double impurity(self, const int64_t* statistic) noexcept nogil:
            cdef int64_t most = 0
            for k in range(2, self.n_words):
                most = max(most, statistic[k])
            return 1.0 - <double> most / <double> statistic[1]
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

from dforest.core.component cimport Component
from dforest.core.search.sums cimport Sums, SumsKind
from dforest.core.types cimport OUTPUTS, DrawKind, Node, Record, add_draws
from dforest.rules.criteria cimport df_outputs


cdef double MIN_IMPURITY                 # of classes: what rounding may make of 0


cdef class Criterion(Component):
    cdef readonly Py_ssize_t n_words     # int64 words of a statistic; while `is_compact`, of those of the node at hand
    cdef readonly Py_ssize_t n_classes   # 0 for regression
    cdef readonly bint is_additive       # value and impurity of a node follow from its children's
    cdef readonly bint is_wide           # regression: see NumberCriterion
    # Of several outputs, each has a criterion of its own, which is told how many there are, and which of them is its own.
    cdef readonly Py_ssize_t n_outputs   # 1 unless a forest has more
    cdef readonly Py_ssize_t output      # from 0
    cdef DrawKind kind
    cdef df_outputs outputs              # where the targets are, if `kind` is OUTPUTS
    cdef bint has_failed                 # `error` holds
    cdef object error                    # what `fail` was told first
    cdef int64_t* scratch                # [n_words], owned
    # Of dforest's own criteria of many classes, nodes of fewer draws than this have statistics of the classes that are present
    # alone; 0: none has.
    cdef Py_ssize_t compact_below
    cdef bint is_compact                  # the node at hand is such a node ...
    cdef int32_t* present                # ... with these classes, ascending: [n_words - 2]; owned by the thread that opened it

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

    # The base class's own: whether all cuts of an open node of two records have one score, so that the first one is the best.
    cdef bint has_one_score(self, const Node* node) noexcept nogil

    # A score times 2 to this power is in units of weight times impurity.
    cdef int score_exponent(self, const Node* node) noexcept nogil

    # What the categories of a feature are ordered by. statistics: [n, n_words], of single categories;
    # total: [n_words], the node's. OUT responses : [n]
    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                             double* responses) noexcept nogil

    # What some of an open node's draws predict: a number, or the probability of the second of two classes.
    cdef double value(self, const Node* node, const int64_t* statistic) noexcept nogil

    # The number a leaf predicts, by default its value. Regression only: a class forest keeps the statistics.
    # OUT out : [n_outputs] of a criterion of several outputs, else one number
    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil

    # Keep an exception for the forest to raise; in any thread, with the GIL.
    cdef int fail(self, error) except -1

    # Raise it.
    cdef int check(self) except -1 nogil

    # The base class's own: which sums of a node's draws of weight 1 tell what `open_node` tells, and `open_node` for a node
    # of which they are known. Of dforest's own criteria alone; by default none do.
    cdef SumsKind sums_kind(self) noexcept nogil
    cdef int open_summed(self, Node* node, const Sums* sums) except -1 nogil

    # The base class's own: have the targets of an open node's records be numbers of classes present, and be classes again.
    cdef void number_targets(self, const Node* node) noexcept nogil
    cdef void restore_targets(self, const Node* node) noexcept nogil

    # The base class's own: `best_cut`, and if that scores 0 the most balanced of all n cuts (df_imbalance, numerics.h); of
    # criteria that are not dforest's own, what it says is checked, and -1 with an error for the forest to raise is
    # returned in place of what cannot be used.
    cdef Py_ssize_t ask_best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil
    cdef bint can_be_used(self, const char* method, Py_ssize_t place, Py_ssize_t n, double score) noexcept nogil
    cdef void refuse_cut(self, const char* method, Py_ssize_t place, Py_ssize_t n, double score) noexcept nogil
    cdef void refuse_impurity(self, double found) noexcept nogil


# `add_record` of a criterion of several outputs.
cdef void add_outputs(Criterion criterion, int64_t* statistic, const Record* record) noexcept nogil

# Add a record's draws to a statistic.
cdef inline void add_record(Criterion criterion, int64_t* statistic, const Record* record) noexcept nogil:
    if criterion.kind == OUTPUTS:
        add_outputs(criterion, statistic, record)
    else:
        add_draws(criterion.kind, statistic, record)


cdef class ClassCriterion(Criterion):
    pass


cdef class RuleCriterion(ClassCriterion):
    cdef int number                  # of the criterion in records.h
    cdef int32_t* places             # [n_classes] of the classes present in the node at hand, the number of each among them
    cdef uint64_t* occupancy         # [n_classes / 64 + 1] a bit for each class; 0 between calls

    cdef int open_compact(self, Node* node) noexcept nogil


cdef class Gini(RuleCriterion):
    pass


cdef class Entropy(RuleCriterion):
    pass


cdef class Hellinger(RuleCriterion):
    pass
