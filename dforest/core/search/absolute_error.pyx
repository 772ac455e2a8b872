"""Mean absolute deviation from the median: the criterion, and cuts by it.

Medians of two sets say nothing about that of their union, so the statistics that other criteria sum
up do not do here. Instead, the targets of a node are sorted once, and a Fenwick tree over their ranks
holds the weights and weighted sums of the draws on the left [1]_; what is not there is on the right.
A draw moves to the left in O(log n), and the tree tells a side's median, and its distance from all
targets, in O(log n): O(n log n) for all cuts of a feature in a node of n records. Sums are integers of
up to 128 bits, and scores differences of exact costs: `dforest/rules/medians.h` has these rules.

Categories are put in the order of their mean targets, which is a heuristic here.

Several outputs have such a tree each, and the score of a cut is the mean over them.

A `MedianEvaluator` belongs to one thread and owns its scratch.

References
----------
.. [1] P. M. Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and
   Experience 24(3), 1994.
"""
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, llabs, malloc, qsort
from libc.string cimport memset

import numpy as np

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.incremental_evaluator cimport IncrementalEvaluator, sort_by_key
from dforest.core.search.outputs cimport MultiOutput
from dforest.core.types cimport OUTPUTS, Node, Record
from dforest.rules.medians cimport (
    df_cost_decrease_of, df_deviation_impurity, df_has_half, df_lies_above, df_midpoint_of_medians, df_pass, df_spread,
    df_spread_cost, df_spread_of, df_target_sort_key,
)
from dforest.rules.node cimport df_quantiser, df_score_exponent, df_target_of
from dforest.rules.numerics cimport (
    df_add_product, df_big_difference, df_big_product, df_big_sum, df_exact_sum,
)
from dforest.rules.records cimport DF_ABSOLUTE_ERROR
from dforest.rules.weights cimport df_median_shift, df_shifted_exact, df_weight_quantiser_of

from dforest.core.search.split_evaluator import register_evaluator


cdef int compare_weighted(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const Weighted*> a).value, y = (<const Weighted*> b).value
    return (x > y) - (x < y)


cdef const uint64_t* sort_by_target(const Node* node, uint64_t* sort_keys, uint64_t* other) noexcept nogil:
    """The records of a node by their quantised targets: sort keys, of which the lower half is a record's number.

    OUT sort_keys, other : [n] scratch; one of them is returned
    """
    cdef Py_ssize_t i
    for i in range(node.n):
        sort_keys[i] = (<uint64_t> df_target_sort_key(node.records[i].target) << 32) | <uint64_t> i
    return sort_by_key(sort_keys, other, node.n)


cdef class AbsoluteError(SquaredError):
    """The absolute error as a criterion: the mean absolute deviation of a node's targets from their median.

    It is for regression, and ``criterion="absolute_error"`` stands for it. Leaves predict the median of their targets.

    Examples
    --------
    >>> from dforest import DecisionTreeRegressor
    >>> from dforest.criterion import AbsoluteError
    >>> tree = DecisionTreeRegressor(criterion=AbsoluteError(), max_leaf_nodes=2, min_samples_leaf=3)
    >>> tree.fit([[0], [1], [2], [3], [4], [5]], [0.0, 0.0, 0.0, 4.0, 5.0, 90.0]).predict([[0], [5]]).tolist()
    [0.0, 5.0]
    """

    def __cinit__(self, *args, **kwargs):
        self.is_additive = False

    def __dealloc__(self):
        free(self.sort_keys)
        free(self.sort_keys_to)
        free(self.sorted)

    cdef int attach(self, Py_ssize_t n_records) except -1:
        self.sort_keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.sort_keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.sorted = <Weighted*> malloc(n_records * sizeof(Weighted))
        if self.sort_keys == NULL or self.sort_keys_to == NULL or self.sorted == NULL:
            raise MemoryError()
        return 0

    cdef void sort_targets(self, const Node* node) noexcept nogil:
        """Exact targets, ascending: by the quantised ones first, then, where these are equal, by themselves."""
        cdef const uint64_t* sort_keys = sort_by_target(node, self.sort_keys, self.sort_keys_to)
        cdef Py_ssize_t i, begin = 0
        cdef const Record* record
        cdef df_quantiser weight_quantiser
        cdef bint is_sorted = True
        if node.exact_weight != NULL:
            weight_quantiser = df_weight_quantiser_of(df_median_shift(node.fine_shift, node.statistics[0]))
        for i in range(node.n):
            record = &node.records[<uint32_t> sort_keys[i]]
            self.sorted[i].value = node.y[record.row]
            self.sorted[i].weight = record.weight
            if node.exact_weight != NULL:
                self.sorted[i].weight = df_shifted_exact(&weight_quantiser, node.exact_weight[record.row])
            self.sorted[i].weight *= record.count
            if i > begin and sort_keys[i] >> 32 == sort_keys[begin] >> 32:
                is_sorted = is_sorted and self.sorted[i - 1].value <= self.sorted[i].value
                continue
            if not is_sorted:
                qsort(self.sorted + begin, i - begin, sizeof(Weighted), compare_weighted)
            begin = i
            is_sorted = True
        if not is_sorted:
            qsort(self.sorted + begin, node.n - begin, sizeof(Weighted), compare_weighted)

    cdef double node_impurity(self, const Node* node) noexcept nogil:
        cdef const uint64_t* sort_keys = sort_by_target(node, self.sort_keys, self.sort_keys_to)
        cdef Py_ssize_t i
        cdef int64_t weight = 0, here
        cdef int32_t median = 0
        cdef df_exact_sum cost = df_big_product(0, 0)
        cdef const Record* record
        for i in range(node.n):
            record = &node.records[<uint32_t> sort_keys[i]]
            weight += <int64_t> record.count * record.weight
            if df_has_half(weight, node.statistics[1]):
                median = record.target
                break
        for i in range(node.n):
            record = &node.records[i]
            here = <int64_t> record.count * record.weight
            df_add_product(&cost, here, llabs(<int64_t> record.target - median))
        return df_deviation_impurity(&cost, node.statistics[1], self.score_exponent(node))

    cdef int score_exponent(self, const Node* node) noexcept nogil:
        return df_score_exponent(DF_ABSOLUTE_ERROR, node.scale.exponent)

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        """Weighted median of the exact targets; where two of them are, the middle between."""
        cdef Py_ssize_t i = 0
        cdef int64_t weight = 0, total = 0
        self.sort_targets(node)
        for i in range(node.n):
            total += self.sorted[i].weight
        for i in range(node.n):
            weight += self.sorted[i].weight
            if i + 1 == node.n or (self.sorted[i + 1].value > self.sorted[i].value and df_has_half(weight, total)):
                out[0] = df_midpoint_of_medians(self.sorted[i].value, self.sorted[min(i + 1, node.n - 1)].value, weight, total)
                return 0

    def leaf_of(self, const double[::1] y not None, const int32_t[::1] target not None,
                const uint32_t[::1] count not None, const uint32_t[::1] weight not None):
        """What a leaf with some draws holds, for tests.

        Parameters
        ----------
        y : ndarray of shape (n,), dtype float64
        target : ndarray of shape (n,), dtype int32
            The targets as integers, at a scale of 1.
        count, weight : ndarray of shape (n,), dtype uint32
            How often each was drawn, and the weight of each time.

        Returns
        -------
        value, impurity : float
        """
        cdef Py_ssize_t i, n = y.shape[0]
        cdef int64_t[::1] statistics = np.zeros(3, np.int64)
        cdef double value
        cdef Node node
        cdef Record* records = <Record*> malloc(n * sizeof(Record))
        if records == NULL:
            raise MemoryError()
        for i in range(n):
            records[i].row = <uint32_t> i
            records[i].count = count[i]
            records[i].target = target[i]
            records[i].weight = weight[i]
            statistics[0] += count[i]
            statistics[1] += <int64_t> count[i] * weight[i]
        node.records = records
        node.n = n
        node.y = &y[0]
        node.exact_weight = NULL
        node.statistics = &statistics[0]
        node.scale.exponent = 0
        try:
            free(self.sort_keys)
            free(self.sort_keys_to)
            free(self.sorted)
            self.sort_keys = self.sort_keys_to = NULL
            self.sorted = NULL
            self.attach(n)
            self.leaf_value(&node, &value)
            return value, self.node_impurity(&node)
        finally:
            free(records)


cdef class Medians:
    """The targets of one output in a node, sorted, and those on the left of a cut.

    Parameters
    ----------
    n_records : int
        Of the largest node.
    """

    def __cinit__(self, Py_ssize_t n_records):
        self.sort_keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.sort_keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.rank = <uint32_t*> malloc(n_records * sizeof(uint32_t))
        self.value = <double*> malloc(n_records * sizeof(double))
        self.all = <Level*> malloc((n_records + 1) * sizeof(Level))
        self.left = <Level*> malloc((n_records + 1) * sizeof(Level))
        if (self.sort_keys == NULL or self.sort_keys_to == NULL or self.rank == NULL or self.value == NULL or self.all == NULL
                or self.left == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.sort_keys)
        free(self.sort_keys_to)
        free(self.rank)
        free(self.value)
        free(self.all)
        free(self.left)

    cdef void open(self, const Node* node) noexcept nogil:
        """Rank the targets."""
        cdef Py_ssize_t i, j, n = node.n
        cdef const uint64_t* sort_keys = sort_by_target(node, self.sort_keys, self.sort_keys_to)
        cdef int64_t weight
        self.n = n
        memset(self.all, 0, (n + 1) * sizeof(Level))
        self.total_weight = 0
        self.total_sum = df_big_product(0, 0)
        for i in range(n):
            j = <Py_ssize_t> <uint32_t> sort_keys[i]
            self.rank[j] = <uint32_t> i
            self.value[i] = <double> node.records[j].target
            weight = <int64_t> node.records[j].count * node.records[j].weight
            self.all[i + 1].weight += weight
            df_add_product(&self.all[i + 1].sum, weight, node.records[j].target)
            self.total_weight += weight
            df_add_product(&self.total_sum, weight, node.records[j].target)
            j = (i + 1) + ((i + 1) & -(i + 1))
            if j <= n:
                self.all[j].weight += self.all[i + 1].weight
                self.all[j].sum = df_big_sum(self.all[j].sum, self.all[i + 1].sum)
        self.cost = self.spread_of(self.all, NULL, self.total_weight, self.total_sum).cost

    cdef void move(self, Py_ssize_t record, int64_t weight) noexcept nogil:
        cdef Py_ssize_t at = self.rank[record]
        cdef df_exact_sum sum = df_big_product(weight, <int64_t> self.value[at])
        at += 1
        self.left[0].weight += weight
        self.left[0].sum = df_big_sum(self.left[0].sum, sum)
        while at <= self.n:
            self.left[at].weight += weight
            self.left[at].sum = df_big_sum(self.left[at].sum, sum)
            at += at & -at

    cdef Spread spread_of(self, const Level* levels, const Level* minus, int64_t weight, df_exact_sum sum) noexcept nogil:
        """Median and cost of the draws in one Fenwick tree but not in another (or NULL), given their sums."""
        cdef Py_ssize_t at = 0, step = 1, to
        cdef Level here
        cdef df_spread known = df_spread_of(weight, sum)
        cdef Spread spread
        while 2 * step <= self.n:
            step *= 2
        while step > 0:                    # the last place that the median lies above
            to = at + step
            if to <= self.n:
                here = levels[to]
                if minus != NULL:
                    here.weight -= minus[to].weight
                    here.sum = df_big_difference(here.sum, minus[to].sum)
                if df_lies_above(&known, here.weight):
                    at = to
                    df_pass(&known, here.weight, here.sum)
            step //= 2
        spread.median = self.value[at]
        spread.cost = df_spread_cost(&known, <int64_t> spread.median)
        return spread

    cdef double cost_decrease(self, double* at_left, double* at_right) noexcept nogil:
        cdef Spread left = self.spread_of(self.left, NULL, self.left[0].weight, self.left[0].sum)
        cdef Spread right = self.spread_of(self.all, self.left, self.total_weight - self.left[0].weight,
                                           df_big_difference(self.total_sum, self.left[0].sum))
        at_left[0] = left.median
        at_right[0] = right.median
        return df_cost_decrease_of(self.cost, left.cost, right.cost, self.factor)


cdef class MedianEvaluator(IncrementalEvaluator):
    """Finds the best cut of a list by medians; parameters as for `SplitEvaluator`."""

    def __cinit__(self, Criterion criterion not None, Py_ssize_t n_records, Py_ssize_t n_entries, bint is_bounded):
        cdef Py_ssize_t o
        self.outputs = tuple(Medians(n_records) for _ in range(criterion.n_outputs))
        self.medians = <PyObject**> malloc(criterion.n_outputs * sizeof(PyObject*))
        if self.medians == NULL:
            raise MemoryError()
        for o in range(criterion.n_outputs):
            self.medians[o] = <PyObject*> self.outputs[o]

    def __dealloc__(self):
        free(self.medians)

    cdef void open_node(self, const Node* node) noexcept nogil:
        cdef Py_ssize_t o
        cdef Node part
        if self.criterion.kind != OUTPUTS:
            (<Medians> self.medians[0]).factor = 1.0
            (<Medians> self.medians[0]).open(node)
            return
        for o in range(self.criterion.n_outputs):
            (<MultiOutput> self.criterion).enter(node, o, True, &part)
            (<Medians> self.medians[o]).factor = (<MultiOutput> self.criterion).factor[o]
            (<Medians> self.medians[o]).open(&part)

    cdef void clear(self, bint is_single_cut) noexcept nogil:
        cdef Py_ssize_t o
        for o in range(self.criterion.n_outputs):
            memset((<Medians> self.medians[o]).left, 0, ((<Medians> self.medians[o]).n + 1) * sizeof(Level))

    cdef void move(self, const Node* node, Py_ssize_t record, int sign) noexcept nogil:
        cdef int64_t weight = sign * <int64_t> node.records[record].count * node.records[record].weight
        cdef Py_ssize_t o
        for o in range(self.criterion.n_outputs):
            (<Medians> self.medians[o]).move(record, weight)

    cdef double score_sides(self, const Node* node, const int64_t* left, double* at_left, double* at_right) noexcept nogil:
        cdef Py_ssize_t o, n_outputs = self.criterion.n_outputs
        cdef double score = 0.0, left_median = 0.0, right_median = 0.0
        for o in range(n_outputs):
            score += (<Medians> self.medians[o]).cost_decrease(&left_median, &right_median)
        if self.is_bounded:
            at_left[0] = df_target_of(left_median, node.scale.centre, node.scale.exponent)
            at_right[0] = df_target_of(right_median, node.scale.centre, node.scale.exponent)
        return score / <double> n_outputs


register_evaluator(AbsoluteError, MedianEvaluator)
