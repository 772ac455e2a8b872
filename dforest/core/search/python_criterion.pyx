"""A criterion whose methods are written in Python: what stands between it and the forest.

The methods are called with the GIL, for all cuts of a feature in a node at once; threads take turns. What a draw adds
to a statistic, and what categories are ordered by, another criterion says, the *carrier*.

A `PythonCriterionBase` owns its carrier and nothing else; arrays that methods get are copies.
"""
from libc.math cimport NAN
from libc.stdint cimport int64_t
from libc.string cimport memcpy

import numpy as np

from dforest.core.search.criterion cimport LEAST_IMPURITY, Criterion, Gini
from dforest.core.search.regression cimport NumberCriterion
from dforest.core.types cimport Node

from dforest.core.component import CriterionError


cdef class PythonCriterionBase(Criterion):
    """What `dforest.criterion.PythonCriterion` is made from."""

    cdef Criterion carrier

    def __cinit__(self, *args, **kwargs):
        self.is_built_in = False

    def configure(self, Py_ssize_t n_classes=0, bint wide=False):
        Criterion.configure(self, n_classes, wide)
        self.carrier = (Gini() if n_classes else NumberCriterion()).configure(n_classes, wide)
        self.kind = self.carrier.kind
        self.is_additive = n_classes > 0
        self.reserve(self.carrier.n_words)
        return self

    cdef int open_node(self, Node* node) except -1 nogil:
        return self.carrier.open_node(node)

    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total, double* keys) noexcept nogil:
        self.carrier.mean_responses(statistics, n, total, keys)

    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        with gil:
            return self.ask_one("impurity", statistic)

    cdef double value(self, const Node* node, const int64_t* statistic) noexcept nogil:
        if self.n_classes:
            return self.carrier.value(node, statistic)
        with gil:
            return self.ask_one("value", statistic)

    cdef int leaf_value(self, const Node* node, double* out) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(node.n):            # a pure leaf predicts its target exactly
            if node.y[node.records[i].row] != node.y[node.records[0].row]:
                out[0] = self.value(node, node.statistics)
                return 0
        out[0] = node.y[node.records[0].row]
        return 0

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t best = -1
        score[0] = -1.0
        with gil:
            try:
                best = self.choose(left, n, total, score)
            except BaseException as error:
                self.fail(error)
                best = -1
        return best

    cdef Py_ssize_t choose(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) except -2:
        lefts = self.records(left, n)
        node = self.records(total, 1)
        scores = self.numbers((<object> self).score(self.statistics(lefts), self.statistics(node - lefts), self.statistics(node)),
                              "score", n)
        if np.isnan(scores).any() or np.isposinf(scores).any():
            raise self.broken(f"score returned {scores[np.isnan(scores) | np.isposinf(scores)][0]}; allowed are finite numbers, "
                              "and -inf for a cut that is not allowed")
        allowed = np.isfinite(scores)
        if not allowed.any():
            return -1
        scores = np.where(allowed, np.maximum(scores, 0.0), -1.0)
        best = int(scores.argmax())
        score[0] = scores[best]
        return best

    cdef records(self, const int64_t* statistics, Py_ssize_t n):
        result = np.empty((n, self.n_words), np.int64)
        cdef int64_t[:, ::1] to = result
        memcpy(&to[0, 0], statistics, n * self.n_words * sizeof(int64_t))
        return result

    cdef statistics(self, records):
        """Statistics as Python sees them."""
        cdef const int64_t[:, ::1] given = records
        cdef Py_ssize_t i
        cdef double[::1] means
        class_weight = mean = None
        if self.n_classes:
            class_weight = records[:, 2:].astype(np.float64)
        else:
            mean = np.full(len(records), np.nan)
            means = mean
            for i in range(len(records)):
                if given[i, 1] > 0:
                    means[i] = (<NumberCriterion> self.carrier).mean(&given[i, 0])
        parts = [records[:, 0].copy(), records[:, 1].astype(np.float64), class_weight, mean]
        for part in parts:
            if part is not None:
                part.setflags(write=False)
        return (<object> self).statistics_type(*parts)

    def numbers(self, answer, method, n):
        """What a method returned, checked: ndarray of shape (n,), dtype float64."""
        try:
            array = np.asarray(answer, np.float64)
        except (TypeError, ValueError) as error:
            raise self.broken(f"{method} returned {answer!r}; allowed are {n} numbers") from error
        if array.shape != (n,):
            raise self.broken(f"{method} returned an array of shape {array.shape} for {n} statistics; allowed is ({n},)")
        return array

    def checked_impurity(self, statistics):
        """Impurities of some sets of draws, checked: ndarray of shape (n,), dtype float64."""
        found = self.numbers((<object> self).impurity(statistics), "impurity", len(statistics.weight))
        wrong = ~np.isfinite(found) | ((found < LEAST_IMPURITY) if self.n_classes else False)
        if wrong.any():
            least = " from 0" if self.n_classes else ""
            raise self.broken(f"impurity returned {found[wrong][0]}; allowed are finite numbers{least}")
        return found

    def broken(self, rule):
        """The error of a broken rule."""
        return CriterionError(f"{type(self).__name__}: {rule}")

    cdef double ask_one(self, str method, const int64_t* statistic):
        """What a method says of one statistic; NaN once it has failed."""
        cdef double result = NAN
        try:
            result = self.numbers(getattr(self, method)(self.statistics(self.records(statistic, 1))), method, 1)[0]
            if not np.isfinite(result):
                raise self.broken(f"{method} returned {result}; allowed are finite numbers")
        except BaseException as error:
            self.fail(error)
        return result
