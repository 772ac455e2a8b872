"""What becomes of a node: whether it is split and how, and what it predicts if it is a leaf.

The rules are those of `dforest/rules/node.h`; the search for splits is the splitter's, and what draws say is the criterion's. A
decision asks them in turn, and checks the answers of classes that are not dforest's own before anything is done with these. What
refuses an answer is a function of its own, as a function that may make Python's objects is slow even when it makes none.

A node is *opened* once its statistics, and the scale of its targets, are known. A `NodeDecision` opens one node at a time.
"""
cimport cython
from libc.math cimport INFINITY, NAN, ldexp
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from dforest.core.grow.tree cimport note_leaf
from dforest.core.search.outputs cimport single_criterion
from dforest.core.search.sums cimport BINARY_SUMS, CLASS_COUNTER_SUMS, NO_SUMS
from dforest.core.search.packed_sums cimport DF_CLASS_COUNTER_DRAWS, DF_COUNTED_CLASSES
from dforest.core.types cimport CLASS_WEIGHTS, OUTPUTS, Record, code_at
from dforest.rules.bounds cimport df_clip
from dforest.rules.cut cimport df_is_side_valid
from dforest.rules.node cimport (
    df_absolute_exponent, df_decreases_enough, df_is_leaf_by_size, df_is_pure_enough, df_leaf_rules_of, df_quantiser,
    df_shifted_weight,
)
from dforest.rules.class_fractions cimport df_bound_fraction
from dforest.rules.weights cimport (
    df_finalize_weights, df_fine_shift, df_low_weight_below, df_node_weight, df_parts_of, df_shifted_exact,
    df_weight_parts, df_weight_quantiser_of, df_weight_shift,
)

import numpy as np

from dforest.core.component import CriterionError, SplitterError


cdef enum:
    RECORDS_PER_CLASS = 8              # nodes of fewer have statistics of the classes that are present


cdef bint parts_codes(const Node* node, const Split* split) noexcept nogil:
    cdef const Column* column = &node.columns[split.feature]
    cdef uint32_t code
    cdef Py_ssize_t i
    for i in range(node.n):                # the code need not occur in the node
        code = code_at(column, node.records[i].row)
        if code <= split.code and not number_at(column, column.highs, data_code(column, code)) <= split.threshold:
            return False
        if split.code < code < column.n_codes and number_at(column, column.lows, data_code(column, code)) <= split.threshold:
            return False
    return True


cdef int refuse_split(Splitter splitter, DataView data, const Node* node, const Split* split) except -1 nogil:
    cdef Py_ssize_t feature = split.feature
    with gil:
        name = type(splitter).__name__
        if feature >= data.n_features:
            raise SplitterError(f"{name}.find_split: feature={feature}; the data have {data.n_features} features")
        if not 0.0 <= split.score < INFINITY:
            raise SplitterError(f"{name}.find_split: score={split.score}; a score is a finite number from 0")
        if splitter.has_own_tests:
            raise SplitterError(f"{name}: a test of its own needs a payload, set by store_split")
        n_codes = node.columns[feature].n_codes
        if node.columns[feature].kind == CATEGORICAL:
            raise SplitterError(f"{name}.find_split: a split of feature {feature}, which is categorical, needs the payload "
                                f"of {(n_codes + 63) // 64} words that `cuts` sets")
        if split.payload != NULL:
            raise SplitterError(f"{name}.find_split: a split of feature {feature}, which is not categorical, has a payload; "
                                "tests of a splitter's own set has_own_tests")
        if split.code >= n_codes:
            raise SplitterError(f"{name}.find_split: code={split.code} of feature {feature}; its codes are 0 to "
                                f"{n_codes - 1}")
        if split.threshold != split.threshold:
            raise SplitterError(f"{name}.find_split: the threshold of a split of feature {feature} is not a number; a search "
                                "ends with store_split, which sets it")
        raise SplitterError(f"{name}.threshold: {split.threshold} of feature {feature} does not separate the values in the node "
                            f"as its code {split.code} does")


cdef int refuse_side(Splitter splitter, const LeafRules* rules, double min_fraction, double root_weight, const Node* node,
                     bint is_right) except -1 nogil:
    with gil:
        name = type(splitter).__name__
        side = "right" if is_right else "left"
        if node.statistics[0] < rules.min_draws:
            raise SplitterError(f"{name}: min_samples_leaf={rules.min_draws} is broken by a split with "
                                f"{node.statistics[0]} draws on the {side}")
        raise SplitterError(f"{name}: min_weight_fraction_leaf={min_fraction} is broken by a split "
                            f"with {df_shifted_weight(node.statistics[1], node.weight_shift):.17g} of a weight of "
                            f"{root_weight:.17g} on the {side}")


cdef int refuse_division(Splitter splitter, const Node* node, Py_ssize_t n_left) except -1 nogil:
    with gil:
        raise SplitterError(f"{type(splitter).__name__}: the cut is not inside the node: all {node.n} records go "
                            f"{'left' if n_left else 'right'}")


cdef int refuse_node_value(Criterion criterion, double found, bint is_impurity) except -1 nogil:
    criterion.check()
    with gil:
        name, method = type(single_criterion(criterion)).__name__, "impurity" if is_impurity else "value"
        raise CriterionError(f"{name}.{method} returned {found}; allowed are finite numbers")


@cython.final
cdef class NodeDecision:
    """Decides what becomes of the nodes of one problem. Belongs to one grower, and owns the statistics of the node opened last.

    Parameters
    ----------
    data : DataView
    objective : Objective
        Which says what leaves keep.
    criterion, splitter : Criterion, Splitter
        Of the grower's thread; both get attached.
    limits : ndarray of shape (1,), dtype df_limits
        When a node becomes a leaf: see `dforest.engines.problem.GrowthRules.limits`.
    max_records : int
        Of a node.
    """

    def __cinit__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                  const df_limits[::1] limits not None, Py_ssize_t max_records):
        cdef Py_ssize_t j
        self.limits = limits[0]
        self.data = data
        self.criterion = criterion
        self.splitter = splitter
        if criterion.n_words < 2:
            raise CriterionError(f"{type(criterion).__name__}.configure must call the method of its base class")
        self.first_weight = objective.weight_words.start
        self.n_weights = objective.n_weights
        self.keeps_values = objective.keeps_values
        self.keeps_gains = objective.keeps_gains
        for j in range(data.n_features):
            self.bounds_fractions |= objective.predicts_shares and self.n_weights == 2 and data.columns[j].monotonic_cst != 0
        self.n_node_values = objective.n_node_values
        if (criterion.is_built_in and splitter.is_built_in and criterion.kind == CLASS_WEIGHTS
                and criterion.n_classes > DF_COUNTED_CLASSES):
            criterion.compact_below = splitter.tuning.get("records_per_class", RECORDS_PER_CLASS) * criterion.n_classes
        self.sums_kind = criterion.sums_kind() if criterion.is_built_in and data.weight == NULL else NO_SUMS
        criterion.attach(max_records)
        splitter.attach(data, criterion, max_records)
        if splitter.cuts is None:
            raise SplitterError(f"{type(splitter).__name__}.attach must call the method of its base class")
        self.sets = np.array([(own.start, own.stop) for own in objective.weight_columns], np.int64)
        self.statistics = <int64_t*> malloc(criterion.n_words * sizeof(int64_t))
        self.low = <int64_t*> malloc(self.n_weights * sizeof(int64_t))
        self.high = <int64_t*> malloc(self.n_weights * sizeof(int64_t))
        self.inner_values = <double*> malloc(self.n_node_values * sizeof(double))
        if self.statistics == NULL or self.low == NULL or self.high == NULL or self.inner_values == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.statistics)
        free(self.low)
        free(self.high)
        free(self.inner_values)

    cdef int enter(self, const TreeRecords* tree_records) except -1 nogil:
        self.tree_records = tree_records
        return self.splitter.open_tree(tree_records.seed, &tree_records.rules)

    cdef int open(self, Node* node, bint is_right, const Sums* sums) except -1 nogil:
        node.statistics = self.statistics
        if node.exact_weight != NULL:
            self.requantise_weights(node)
        if sums.kind == NO_SUMS:
            self.criterion.open_node(node)
        else:
            self.criterion.open_summed(node, sums)
        if not self.splitter.is_built_in and self.breaks_rules(node):
            refuse_side(self.splitter, &self.tree_records.rules, self.limits.min_weight_fraction_leaf,
                        self.tree_records.root_weight, node, is_right)
        return 0

    cdef void requantise_weights(self, Node* node) noexcept nogil:
        """Give a node's records other integer weights, if all are far lighter than its shift was made for."""
        cdef Py_ssize_t i
        cdef double max_weight = 0.0, enough = df_low_weight_below(node.weight_shift)
        cdef df_quantiser weight_quantiser
        for i in range(node.n):            # mostly the first one is heavy enough
            max_weight = max(max_weight, node.exact_weight[node.records[i].row])
            if max_weight >= enough:
                return
        node.weight_shift = df_weight_shift(max_weight)
        weight_quantiser = df_weight_quantiser_of(node.weight_shift)
        for i in range(node.n):
            node.records[i].weight = df_node_weight(&weight_quantiser, node.exact_weight[node.records[i].row])

    cdef inline bint breaks_rules(self, const Node* node) noexcept nogil:
        """Whether a node that is a side of a split has fewer draws, or less weight, than a leaf needs."""
        cdef LeafRules rules
        if node.depth == 0:                # the tree's weight is not known yet
            return False
        rules = df_leaf_rules_of(&self.limits, self.tree_records.root_weight, node.weight_shift)
        return not df_is_side_valid(&rules, node.statistics[0], node.statistics[1])

    cdef inline SumsKind sums_of_sides(self, const Node* node) noexcept nogil:
        cdef int64_t n_draws = node.statistics[0] if node.statistics != NULL else 0
        if n_draws == 0 or (self.sums_kind == CLASS_COUNTER_SUMS and n_draws > DF_CLASS_COUNTER_DRAWS) or (
                self.sums_kind == BINARY_SUMS and n_draws >> 32):
            return NO_SUMS
        return self.sums_kind

    cdef int find_split(self, Node* node, bint is_right, const Sums* sums, Split* split) except -1 nogil:
        self.open(node, is_right, sums)
        split.feature = -1
        if self.is_leaf(node):
            return 0
        if node.exact_weight != NULL:
            self.splitter.rules = df_leaf_rules_of(&self.limits, self.tree_records.root_weight, node.weight_shift)
        if self.splitter.is_built_in:
            if self.criterion.is_compact:
                self.criterion.number_targets(node)
            self.splitter.find_split(node, split)
            if self.criterion.is_compact:
                self.criterion.restore_targets(node)
            self.criterion.check()
        else:
            self.find_user_defined_split(node, split)
        if (split.feature >= 0 and self.limits.min_impurity_decrease > 0.0
                and not df_decreases_enough(&self.limits, split.score, self.absolute_exponent(node),
                                            self.tree_records.root_weight)):
            split.feature = -1
        if split.feature >= 0 and not self.criterion.is_additive:
            self.find_node_values(node, self.inner_values)
            if self.keeps_gains:
                self.inner_values[self.n_node_values - 1] = ldexp(split.score, self.absolute_exponent(node))
        return 0

    cdef int find_user_defined_split(self, const Node* node, Split* split) except -1 nogil:
        """The split that a splitter from elsewhere finds, checked before anything is done with it.

        What refuses it is a function of its own: see the head of this module.
        """
        split.threshold = NAN
        split.payload = NULL
        split.code = split.above = 0
        split.missing_left = split.only_missing_right = split.is_deferred = False
        split.midpoint = 0.0
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
                or df_is_leaf_by_size(&self.limits, node.depth, node.statistics[0],
                                      df_shifted_weight(node.statistics[1], node.weight_shift), self.tree_records.root_weight)
                or (self.limits.impurity_threshold > 0.0
                    and df_is_pure_enough(&self.limits, self.criterion.node_impurity(node))))

    cdef int32_t absolute_exponent(self, const Node* node) noexcept nogil:
        return df_absolute_exponent(self.criterion.score_exponent(node), node.weight_shift)

    cdef void set_fine_shift(self, Node* node) noexcept nogil:
        """Find the shift of the fine integers of a node's exact weights."""
        cdef Py_ssize_t i
        cdef double max_weight = 0.0
        for i in range(node.n):
            max_weight = max(max_weight, node.exact_weight[node.records[i].row])
        node.fine_shift = df_fine_shift(max_weight)

    cdef int find_node_values(self, Node* node, double* node_values) except -1 nogil:
        cdef Py_ssize_t o, n_values = self.n_node_values - 1
        if node.exact_weight != NULL:
            self.set_fine_shift(node)
        self.criterion.leaf_value(node, node_values)
        for o in range(n_values):
            node_values[o] = df_clip(node_values[o], node.lower, node.upper)
        node_values[n_values] = 0.0 if node.is_pure else self.criterion.node_impurity(node)
        if self.criterion.is_built_in:
            return 0
        for o in range(self.n_node_values):
            if not -INFINITY < node_values[o] < INFINITY:
                refuse_node_value(self.criterion, node_values[o], o == n_values)
        return self.criterion.check()

    cdef int write_leaf(self, Node* node, Py_ssize_t parent, bint is_right, TreeWriter writer) except -1 nogil:
        cdef int64_t* words = writer.add_leaf(parent, is_right)
        cdef const int64_t* weight
        cdef const int32_t* classes = NULL     # of these weights, if they are not those of all
        cdef Py_ssize_t k, n = self.n_weights
        note_leaf(self.tree_records, node)
        if self.splitter.has_own_leaves:
            self.splitter.open_leaf(node)
        words[0] = node.statistics[0]
        weight = node.statistics + self.first_weight
        if node.exact_weight != NULL:
            words[0] = self.add_weights(node)
            weight = self.low
        elif self.criterion.is_compact:
            classes, n = self.criterion.present, self.criterion.n_words - 2
        if writer.lists_classes:
            words[1] = writer.list_classes(weight, classes, n)
            return 0
        if classes != NULL:
            memset(words + 1, 0, self.n_weights * sizeof(int64_t))
        for k in range(n):
            words[1 + (classes[k] if classes != NULL else k)] = weight[k]
        if self.bounds_fractions:
            df_bound_fraction(words, node.lower, node.upper)
        return self.find_node_values(node, <double*> &words[1 + self.n_weights]) if self.keeps_values else 0

    cdef int64_t add_weights(self, Node* node) noexcept nogil:
        """Add up a leaf's exact weights by a shift of its own; return its draws, with this shift."""
        cdef Py_ssize_t i, o, n_outputs = self.criterion.n_outputs
        cdef const Record* record
        cdef const int32_t* targets
        cdef df_quantiser weight_quantiser
        cdef df_weight_parts weight
        cdef int64_t* low = self.low
        cdef int64_t* high = self.high
        cdef int64_t draws_word = 0
        self.set_fine_shift(node)
        weight_quantiser = df_weight_quantiser_of(node.fine_shift)
        for i in range(self.n_weights):
            low[i] = high[i] = 0
        for i in range(node.n):
            record = &node.records[i]
            weight = df_parts_of(df_shifted_exact(&weight_quantiser, node.exact_weight[record.row]), record.count)
            if self.n_weights > 1 and self.criterion.kind == OUTPUTS:
                targets = self.criterion.outputs.targets + record.target * n_outputs
                for o in range(n_outputs):
                    low[targets[o] - self.first_weight] += weight.low
                    high[targets[o] - self.first_weight] += weight.high
            else:
                low[record.target if self.n_weights > 1 else 0] += weight.low
                high[record.target if self.n_weights > 1 else 0] += weight.high
        for o in range(self.sets.shape[0]):
            i = self.sets[o, 0]
            draws_word = df_finalize_weights(node.statistics[0], node.fine_shift, low + i, high + i, self.sets[o, 1] - i, low + i)
        return draws_word
