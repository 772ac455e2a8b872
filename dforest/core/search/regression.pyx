"""Criteria on sums of quantised targets: their base, squared error and Poisson deviance.

Formulas: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, chapter 8.
Targets become integers in the root, and anew in a node whose targets lie close together (`requantise`);
leaf values come from the targets as they were given.

A criterion owns its scratch; targets, draws and statistics are a node's.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from cython cimport view

import numpy as np

from dforest.core.search.sums cimport NO_SUMS, NUMBER_SUMS, Sums, SumsKind
from dforest.core.search.packed_sums cimport unpack_sums
from dforest.core.types cimport TARGET_SUM, TARGET_SUM_WIDE, Record
from dforest.rules.categories cimport df_target_response
from dforest.rules.criteria cimport (
    df_fixed_deviance,
    df_high_part,
    df_low_part,
    df_measure,
    df_measure_deviance,
    df_measure_squares,
    df_true_mean,
)
from dforest.rules.node cimport (
    DF_LEAF_BITS,
    df_choose_scale,
    df_deviance_impurity,
    df_is_narrow,
    df_leaf_mean,
    df_leaf_offset,
    df_mean_target,
    df_quantised,
    df_quantiser,
    df_quantiser_of,
    df_score_exponent,
    df_square_impurity,
)
from dforest.rules.numerics cimport (
    df_add_product,
    df_add_square,
    df_exact_sum,
    df_floor_mean,
    df_log,
    df_offset_sum,
)
from dforest.rules.records cimport DF_POISSON, DF_SQUARED_ERROR
from dforest.rules.weights cimport (
    df_both_parts, df_offset_bits, df_parts_of, df_parts_value, df_shifted_exact, df_weight_parts, df_weight_quantiser_of,
)

cdef extern from "core/search/best_cut.h" nogil:
    int64_t df_best_square_cut(const int64_t* left, int64_t n, const int64_t* total, int64_t n_words, bint is_wide,
                               const df_measure* measure, double* score)
    int64_t df_best_deviance_cut(const int64_t* left, int64_t n, const int64_t* total, int64_t n_words, bint is_wide,
                                 const df_measure* measure, double* score)


cdef class NumberCriterion(Criterion):
    """Base class of criteria for regression, whose statistics hold the weighted sum of targets as an integer.

    Targets are quantised for this sum: see ``dforest/core/search/regression.pxd``. Subclasses are written in Cython.
    """

    def __cinit__(self, *args, **kwargs):
        self.is_additive = False

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        if n_classes:
            raise ValueError(f"criterion={self!r} is for regression")
        Criterion.configure(self, n_classes, wide)
        self.kind = TARGET_SUM_WIDE if wide else TARGET_SUM
        self.reserve(4 if wide else 3)
        return self

    cdef int open_node(self, Node* node) except -1 nogil:
        node.is_pure = node.n == 1
        if self.is_narrow(node):
            self.requantise(node)
        self.add_up(node)
        self.scale = node.scale
        return 0

    cdef bint is_narrow(self, const Node* node) noexcept nogil:
        """Whether targets lie close together: seldom, and so it is known after a few of them that they don't."""
        cdef Py_ssize_t i
        cdef int32_t target, lo = node.records[0].target, hi = lo
        for i in range(node.n):
            target = node.records[i].target
            lo = min(lo, target)
            hi = max(hi, target)
            if not df_is_narrow(node.n, <int64_t> hi - lo, node.scale.range):
                return False
        return True

    cdef void add_up(self, const Node* node) noexcept nogil:
        """Set a node's statistics."""
        cdef Py_ssize_t i
        cdef int64_t* s = node.statistics
        cdef int64_t w, product, n_draws = 0, weight = 0, low = 0, high = 0
        cdef const Record* record
        if self.kind == TARGET_SUM:
            for i in range(node.n):
                record = &node.records[i]
                w = <int64_t> record.count * record.weight
                n_draws += record.count
                weight += w
                low += w * record.target
        else:
            for i in range(node.n):
                record = &node.records[i]
                n_draws += record.count
                weight += <int64_t> record.count * record.weight
                product = <int64_t> record.weight * record.target
                low += df_low_part(product) * record.count
                high += df_high_part(product) * record.count
            s[3] = high
        s[0] = n_draws
        s[1] = weight
        s[2] = low

    cdef void requantise(self, Node* node) noexcept nogil:
        """Give a root, or a node of narrow range, a scale of its own, or find that all its targets are equal."""
        cdef Py_ssize_t i
        cdef double lo = node.y[node.records[0].row], hi = lo, y, centre
        cdef df_quantiser scale
        cdef int32_t exponent, q, smallest = 0x7FFFFFFF, largest = -0x7FFFFFFF
        for i in range(node.n):
            y = node.y[node.records[i].row]
            lo = min(lo, y)
            hi = max(hi, y)
        if lo == hi:
            node.is_pure = True
            return
        exponent = df_choose_scale(lo, hi, 31, &centre)
        scale = df_quantiser_of(centre, exponent)
        for i in range(node.n):
            q = df_quantised(&scale, node.y[node.records[i].row])
            node.records[i].target = q
            smallest = min(smallest, q)
            largest = max(largest, q)
        node.scale.centre = centre
        node.scale.exponent = exponent
        node.scale.range = <int64_t> largest - smallest

    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                             double* responses) noexcept nogil:
        """Means of the quantised targets, relative to the node's rounded down."""
        cdef Py_ssize_t i
        cdef bint wide = self.kind == TARGET_SUM_WIDE
        cdef int64_t mean = df_floor_mean(total[2], total[3] if wide else 0, total[1])
        for i in range(n):
            responses[i] = df_target_response(statistics, wide, mean)
            statistics += self.n_words

    cdef double mean(self, const int64_t* statistic) noexcept nogil:
        return df_mean_target(statistic, self.kind == TARGET_SUM_WIDE, self.scale.centre, self.scale.exponent)

    cdef double value(self, const Node* node, const int64_t* statistic) noexcept nogil:
        return self.mean(statistic)

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        """A pure leaf predicts its target exactly."""
        cdef Py_ssize_t i
        cdef double y = node.y[node.records[0].row]
        for i in range(node.n):
            if node.y[node.records[i].row] != y:
                return Criterion.leaf_value(self, node, out)
        out[0] = y
        return 0


def quantise(const double[::1] y not None):
    """Targets as integers, at the scale of a root that they all are in: for tests.

    Parameters
    ----------
    y : ndarray of shape (n,), dtype float64
        Finite targets.

    Returns
    -------
    target : ndarray of shape (n,), dtype int32
        ``rint((y - centre) * 2**exponent)``; 0 if all targets are equal.
    centre : float
        ``(max + min) / 2``; 0 if all targets are equal.
    exponent : int
        The largest that keeps ``abs(target) < 2**31``.
    """
    cdef Py_ssize_t i, n = y.shape[0]
    cdef Record[::1] records = view.array((n,), sizeof(Record), "IIiI")
    cdef Node node
    for i in range(n):
        records[i].row = <uint32_t> i
        records[i].target = 0
    node.records = &records[0]
    node.n = n
    node.y = &y[0]
    node.scale.centre = 0.0
    node.scale.exponent = 0
    SquaredError().requantise(&node)
    return np.array([records[i].target for i in range(n)], np.int32), node.scale.centre, node.scale.exponent


cdef class SquaredError(NumberCriterion):
    """The squared error as a criterion: the mean squared deviation of a node's targets from their mean.

    It is for regression, and ``criterion="squared_error"`` stands for it. Sums are of targets that are quantised to integers.

    Examples
    --------
    >>> from dforest import DecisionTreeRegressor
    >>> from dforest.criterion import SquaredError
    >>> tree = DecisionTreeRegressor(criterion=SquaredError(), max_depth=1).fit([[0], [1], [2], [3]], [0.0, 0.0, 2.0, 4.0])
    >>> tree.predict([[0], [3]]).tolist()
    [0.0, 3.0]
    """

    def __cinit__(self, *args, **kwargs):
        self.is_additive = True

    cdef SumsKind sums_kind(self) noexcept nogil:
        return NO_SUMS if self.is_wide else NUMBER_SUMS

    cdef int open_summed(self, Node* node, const Sums* sums) except -1 nogil:
        if self.is_narrow(node):
            return self.open_node(node)
        node.is_pure = node.n == 1
        unpack_sums(sums, node.statistics, self.n_words)
        self.scale = node.scale
        return 0

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        if not self.is_built_in:
            return Criterion.join_node(self, node, other)
        self.scale = (<NumberCriterion> other).scale
        return 0

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        # Up to the mean square, whose sum over a node is the same for every cut.
        cdef int64_t high = statistic[3] if self.kind == TARGET_SUM_WIDE else 0
        cdef double mean = df_offset_sum(statistic[2], high, statistic[1], 0) / <double> statistic[1]
        return -mean * mean

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef bint wide = self.kind == TARGET_SUM_WIDE
        cdef df_measure measure
        df_measure_squares(total, wide, &measure)
        return df_best_square_cut(left, n, total, self.n_words, wide, &measure, score)

    cdef double node_impurity(self, const Node* node) noexcept nogil:
        """Variance of the quantised targets, from an exact sum of squares around the rounded mean."""
        cdef Py_ssize_t i
        cdef const Record* record
        cdef df_measure measure
        cdef df_exact_sum squares
        df_measure_squares(node.statistics, self.kind == TARGET_SUM_WIDE, &measure)
        memset(&squares, 0, sizeof(squares))
        for i in range(node.n):
            record = &node.records[i]
            df_add_square(&squares, record.target - measure.mean, <int64_t> record.count * record.weight)
        return df_square_impurity(&squares, node.statistics[1], &measure, self.score_exponent(node))

    cdef int score_exponent(self, const Node* node) noexcept nogil:
        return df_score_exponent(DF_SQUARED_ERROR, node.scale.exponent)

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        """Mean of the exact targets: 62-bit offsets from the middle, summed in 128 bits."""
        cdef Py_ssize_t i
        cdef double lo = node.y[node.records[0].row], hi = lo, y, centre
        cdef df_exact_sum total
        cdef int64_t w, weight = 0
        cdef int32_t exponent
        cdef const Record* record
        for i in range(1, node.n):
            y = node.y[node.records[i].row]
            lo = min(lo, y)
            hi = max(hi, y)
        if lo == hi:
            out[0] = lo
            return 0
        if node.exact_weight != NULL:
            out[0] = self.fine_mean(node, lo, hi)
            return 0
        exponent = df_choose_scale(lo, hi, DF_LEAF_BITS, &centre)
        memset(&total, 0, sizeof(total))
        for i in range(node.n):
            record = &node.records[i]
            w = <int64_t> record.count * record.weight
            weight += w
            df_add_product(&total, w, df_leaf_offset(node.y[record.row], centre, exponent))
        out[0] = df_leaf_mean(&total, <double> weight, centre, exponent, lo, hi)
        return 0

    cdef double fine_mean(self, const Node* node, double lo, double hi) noexcept nogil:
        """Mean of the exact targets, from lo to hi, by the exact weights."""
        cdef Py_ssize_t i
        cdef double centre
        cdef int64_t w
        cdef int32_t exponent = df_choose_scale(lo, hi, df_offset_bits(node.statistics[0]), &centre)
        cdef df_quantiser weight_quantiser = df_weight_quantiser_of(node.fine_shift)
        cdef df_weight_parts weight = df_parts_of(0, 0)
        cdef df_exact_sum total
        cdef const Record* record
        memset(&total, 0, sizeof(total))
        for i in range(node.n):
            record = &node.records[i]
            w = df_shifted_exact(&weight_quantiser, node.exact_weight[record.row])
            weight = df_both_parts(weight, df_parts_of(w, record.count))
            df_add_product(&total, w, record.count * df_leaf_offset(node.y[record.row], centre, exponent))
        return df_leaf_mean(&total, df_parts_value(weight), centre, exponent, lo, hi)


cdef class Poisson(SquaredError):
    """The Poisson deviance as a criterion: half its mean, which is the mean of y * ln(y / mean y), for targets y from 0 on.

    It is for regression, and ``criterion="poisson"`` stands for it. No side of a split may have targets of 0 only, whose deviance
    from any later target is infinite. The decrease by a split is the sum over its sides S of w_S * ybar * h(x_S) / w, where
    x_S = (ybar_S - ybar) / ybar is the relative deviation of a side and h a function of ``numerics.h``; the terms of first
    order sum to 0.

    References
    ----------
    P. McCullagh, J. Nelder, "Generalized Linear Models", 1989, section 2.3.

    Examples
    --------
    >>> from dforest import DecisionTreeRegressor
    >>> from dforest.criterion import Poisson
    >>> tree = DecisionTreeRegressor(criterion=Poisson(), max_depth=1).fit([[0], [1], [2], [3]], [1, 1, 4, 6])
    >>> tree.predict([[0], [3]]).tolist()
    [1.0, 5.0]
    """

    cdef int open_node(self, Node* node) except -1 nogil:
        SquaredError.open_node(self, node)
        df_measure_deviance(node.statistics, self.kind == TARGET_SUM_WIDE, node.scale.centre, node.scale.exponent,
                            &self.measure)
        return 0

    cdef SumsKind sums_kind(self) noexcept nogil:
        return NO_SUMS                     # cuts are scored against more of the node

    cdef int join_node(self, const Node* node, Criterion other) except -1 nogil:
        if not self.is_built_in:
            return Criterion.join_node(self, node, other)
        self.scale = (<Poisson> other).scale
        self.measure = (<Poisson> other).measure
        return 0

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        # Up to the mean of y * ln y, whose sum over a node is the same for every cut.
        cdef double mean = df_true_mean(statistic, self.kind == TARGET_SUM_WIDE, self.measure.base)
        return -mean * df_log(mean) if mean > 0.0 else 0.0

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        return df_best_deviance_cut(left, n, total, self.n_words, self.kind == TARGET_SUM_WIDE, &self.measure, score)

    cdef double node_impurity(self, const Node* node) noexcept nogil:
        """From an exact sum of deviances in fixed point."""
        cdef Py_ssize_t i
        cdef df_exact_sum total
        memset(&total, 0, sizeof(total))
        if self.measure.centre <= 0.0:
            return 0.0
        for i in range(node.n):
            df_add_product(&total, <int64_t> node.records[i].count * node.records[i].weight,
                           df_fixed_deviance(node.records[i].target, &self.measure))
        return df_deviance_impurity(&total, node.statistics[1], self.score_exponent(node))

    cdef int score_exponent(self, const Node* node) noexcept nogil:
        return df_score_exponent(DF_POISSON, node.scale.exponent)
