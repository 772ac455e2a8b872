"""What becomes of a node: whether it is split and how, and what it predicts if it is a leaf.

The rules are those of `dforest/rules/node.h`; the search for splits is the splitter's, and what draws say is the criterion's. A
judge asks them in turn, and checks the answers of classes that are not dforest's own before anything is done with these.

Words: a node is *open* while its statistics, and the scale of its targets, are known. A judge opens one node at a time.
"""
cimport cython
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from dforest.core.grow.split_check cimport has_test, refuse_judgement, refuse_side, refuse_split
from dforest.core.search.sums cimport LANE_SUMS, NO_SUMS, PAIR_SUMS
from dforest.core.search.words cimport DF_LANE_DRAWS
from dforest.rules.cut cimport df_is_side_valid
from dforest.rules.bounds cimport df_clip
from dforest.rules.node cimport df_absolute_score, df_decreases_enough, df_is_leaf_by_size, df_is_pure_enough

from dforest.core.component import CriterionError, SplitterError


@cython.final
cdef class Judge:
    """Judges nodes of one problem. Belongs to one grower, and owns the statistics of the node opened last.

    Parameters
    ----------
    data : DataView
    objective : Objective
        Which says what leaves keep.
    criterion, splitter : Criterion, Splitter
        Of the grower's thread; both get attached.
    limits : ndarray of shape (1,), dtype df_limits
        When a node becomes a leaf: see `dforest.problem.GrowthRules.limits`.
    most_records : int
        Of a node.
    """

    def __cinit__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                  const df_limits[::1] limits not None, Py_ssize_t most_records):
        self.limits = limits[0]
        self.data = data
        self.criterion = criterion
        self.splitter = splitter
        if criterion.n_words < 2:
            raise CriterionError(f"{type(criterion).__name__}.configure must call the method of its base class")
        self.first_weight = objective.weight_words.start
        self.n_weights = objective.n_weights
        self.keeps_values = objective.keeps_values
        self.n_judged = criterion.n_outputs + 1
        self.sums_kind = criterion.sums_kind() if criterion.is_built_in and data.weight == NULL else NO_SUMS
        criterion.attach(most_records)
        splitter.attach(data, criterion, most_records)
        if splitter.cuts is None:
            raise SplitterError(f"{type(splitter).__name__}.attach must call the method of its base class")
        self.statistics = <int64_t*> malloc(criterion.n_words * sizeof(int64_t))
        if self.statistics == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.statistics)

    cdef int enter(self, const Trunk* trunk) except -1 nogil:
        self.trunk = trunk
        return self.splitter.open_tree(trunk.seed, &trunk.rules)

    cdef int open(self, Node* node, bint is_right, const Sums* sums) except -1 nogil:
        node.statistics = self.statistics
        if sums.kind == NO_SUMS:
            self.criterion.open_node(node)
        else:
            self.criterion.open_summed(node, sums)
        if not self.splitter.is_built_in and self.breaks_rules(node):
            refuse_side(self.splitter, &self.trunk.rules, self.limits.min_weight_fraction_leaf, self.trunk.root_weight, node,
                        is_right)
        return 0

    cdef inline bint breaks_rules(self, const Node* node) noexcept nogil:
        """Whether a node that is a side of a split has fewer draws, or less weight, than a leaf needs."""
        return node.depth > 0 and not df_is_side_valid(&self.trunk.rules, node.statistics[0], node.statistics[1])

    cdef inline SumsKind sums_of_sides(self, const Node* node) noexcept nogil:
        cdef int64_t n_draws = node.statistics[0] if node.statistics != NULL else 0
        if n_draws == 0 or (self.sums_kind == LANE_SUMS and n_draws > DF_LANE_DRAWS) or (
                self.sums_kind == PAIR_SUMS and n_draws >> 32):
            return NO_SUMS
        return self.sums_kind

    cdef int find_split(self, Node* node, bint is_right, const Sums* sums, Split* split) except -1 nogil:
        self.open(node, is_right, sums)
        split.feature = -1
        if self.is_leaf(node):
            return 0
        if self.splitter.is_built_in:
            self.splitter.find_split(node, split)
            self.criterion.check()
        else:
            self.find_foreign_split(node, split)
        if (split.feature >= 0 and self.limits.min_impurity_decrease > 0.0
                and not df_decreases_enough(&self.limits, self.absolute_score(node, split), self.trunk.root_weight)):
            split.feature = -1
        return 0

    cdef int find_foreign_split(self, const Node* node, Split* split) except -1 nogil:
        """The split that a splitter from elsewhere finds, checked before anything is done with it.

        What refuses it is a function of its own: see `dforest.core.grow.split_check`.
        """
        split.threshold = NAN
        split.payload = NULL
        split.code = split.above = 0
        split.missing_left = split.only_missing_right = split.is_deferred = False
        split.middle = 0.0
        self.splitter.cuts.close_node()        # so that a search that opens no node does not meet the one before
        self.splitter.find_split(node, split)
        self.criterion.check()
        if split.feature < 0 or (split.feature < self.data.n_features and 0.0 <= split.score < INFINITY
                                 and has_test(self.splitter, node, split)):
            return 0
        return refuse_split(self.splitter, self.data, node, split)

    cdef inline bint is_leaf(self, const Node* node) noexcept nogil:
        """Whether an open node is a leaf, whatever splits there are."""
        return (node.is_pure
                or df_is_leaf_by_size(&self.limits, node.depth, node.statistics[0], node.statistics[1], self.trunk.root_weight)
                or (self.limits.impurity_threshold > 0.0
                    and df_is_pure_enough(&self.limits, self.criterion.node_impurity(node))))

    cdef double absolute_score(self, const Node* node, const Split* split) noexcept nogil:
        return df_absolute_score(split.score, self.criterion.score_exponent(node))

    cdef int judge(self, const Node* node, double* judgement) except -1 nogil:
        cdef Py_ssize_t o, n_values = self.n_judged - 1
        self.criterion.leaf_value(node, judgement)
        for o in range(n_values):
            judgement[o] = df_clip(judgement[o], node.lower, node.upper)
        judgement[n_values] = 0.0 if node.is_pure else self.criterion.node_impurity(node)
        if not self.criterion.is_built_in:
            for o in range(self.n_judged):
                if not -INFINITY < judgement[o] < INFINITY:
                    refuse_judgement(self.criterion, judgement[o], o == n_values)
        return self.criterion.check()

    cdef int store_leaf(self, Node* node, int64_t* words) except -1 nogil:
        cdef Py_ssize_t k
        if self.splitter.has_own_leaves:
            self.splitter.open_leaf(node)
        words[0] = node.statistics[0]
        for k in range(self.n_weights):
            words[1 + k] = node.statistics[self.first_weight + k]
        return self.judge(node, <double*> &words[1 + self.n_weights]) if self.keeps_values else 0
