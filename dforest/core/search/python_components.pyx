"""Splitters and criteria whose methods are written in Python: what stands between them and the forest.

The methods are called with the GIL, a splitter's for one node at a time, a criterion's for all cuts of a feature in a node at
once; threads take turns. What a splitter returns is checked before it is used, so that no answer can do more harm than to raise
`SplitterError`. What a draw adds to a criterion's statistic, and what categories are ordered by, another criterion says, the
*carrier*.

A `PythonSplitterBase` owns the payload and the draws that it lends until it is asked again. A `PythonCriterionBase` owns its
carrier and nothing else; arrays that methods get are copies.
"""
from numbers import Integral, Real

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

from dforest.core.data cimport DataView
from dforest.core.search.criterion cimport MIN_IMPURITY, Criterion, Gini
from dforest.core.search.division cimport Divisions
from dforest.core.search.node_view cimport NodeView, take_cut, view_of
from dforest.core.search.regression cimport NumberCriterion
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport Node, Record, Split, df_rows

from dforest.core.component import CriterionError, SplitterError
from dforest.core.search.split_evaluator import scores_statistics
from dforest.core.search.node_view import frozen


cdef class PythonSplitterBase(Splitter):
    """What `dforest.splitter.PythonSplitter` is made from."""

    methods_in_c = ()

    cdef object payload        # float64, lent to the split at hand
    cdef Record* kept            # [records] lent to the leaf at hand

    def __cinit__(self, *args, **kwargs):
        self.is_built_in = False           # what it says is never taken on trust
        self.needs_rows = True
        self.needs_path_features = True
        self.has_own_tests = hasattr(type(self), "goes_left")
        self.has_own_leaves = hasattr(type(self), "leaf_records")

    def __dealloc__(self):
        free(self.kept)

    def _check_flags(self):
        """They follow from the methods."""

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        Splitter.attach(self, data, criterion, n_records)
        if self.divisions is None and scores_statistics(criterion):
            self.divisions = Divisions(criterion, n_records)
        if self.has_own_leaves:
            self.kept = <Record*> malloc(n_records * sizeof(Record))
            if self.kept == NULL:
                raise MemoryError()
        return 0

    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        out.feature = -1
        out.score = -1.0
        out.payload = NULL
        out.missing_left = out.only_missing_right = False
        out.midpoint = out.threshold = 0.0
        if self.team is not None:
            self.team.check()              # these nodes take long: whether growing is to end
        self.cuts.open_node(node)
        with gil:
            self.ask(node, out)
        return 0

    cdef int ask(self, const Node* node, Split* out) except -1:
        cdef NodeView view = view_of(node, self)
        try:
            answer = (<object> self).find_split(view)
            if answer is None:
                return 0
            if hasattr(answer, "payload"):
                self.take_test(view, answer, out)
            elif hasattr(answer, "code"):
                self.take_code(view, answer, out)
            else:
                raise self.broken(f"find_split returned {answer!r}; allowed are a Cut, a Test, and None for no split")
            self.criterion.check()
            if answer.score is not None:
                out.score = self.score_of(answer.score)
        finally:
            view.close()
        return 0

    cdef int take_code(self, NodeView view, answer, Split* out) except -1:
        """Set a split by feature and code."""
        if self.has_own_tests:
            raise self.broken(f"find_split returned {answer!r}; with `goes_left`, every split is a Test")
        feature = self.feature_of(view, answer)
        take_cut(view, feature, answer.code, out)
        if out.score < 0.0:
            raise self.broken(self.reason(view, feature, answer.code))
        out.feature = feature
        return self.store_split(view.node, out)

    def reason(self, NodeView view, feature, code):
        """Why a cut could not be taken."""
        codes = view.codes(feature)
        present = codes < view.n_codes(feature)
        left = np.isin(codes, code) if view.is_categorical(feature) else present & (codes <= code)
        if not left.any() or (left.all() if present.all() else not (present & ~left).any() and left.sum() == len(codes)):
            inside = codes[present]
            where = f"codes there go from {inside.min()} to {inside.max()}" if len(inside) else "all are missing"
            return f"the cut after code {code} of feature {feature} is not inside the node: {where}"
        draws = int(view.counts[left].sum())
        return (f"the cut after code {code} of feature {feature} puts {draws} of {view.n_draws} draws on the left and breaks "
                f"min_samples_leaf={view.min_draws} or min_weight_fraction_leaf (a weight of {view.min_weight:g}), or the "
                "criterion does not allow it")

    cdef Py_ssize_t feature_of(self, NodeView view, answer) except -1:
        feature = answer.feature
        if not isinstance(feature, Integral) or not 0 <= feature < view.n_features:
            raise self.broken(f"feature={feature!r}; allowed are numbers from 0 to {view.n_features - 1}")
        return feature

    def score_of(self, score):
        """A score that a method returned, checked."""
        if not isinstance(score, Real) or not 0.0 <= score < np.inf:
            raise self.broken(f"score={score!r}; a score is a finite number from 0")
        return score

    def broken(self, rule):
        """The error of a broken rule."""
        return SplitterError(f"{type(self).__name__}: {rule}")

    cdef int take_test(self, NodeView view, answer, Split* out) except -1:
        """Set a split by a test of the splitter's own."""
        cdef const Node* node = view.opened()
        cdef uint8_t[::1] left
        cdef const uint64_t[::1] words
        if not self.has_own_tests:
            raise self.broken("find_split returned a Test, but there is no `goes_left`")
        if self.divisions is None:
            raise self.broken(f"criterion={self.criterion!r} scores cuts of columns only")
        try:
            payload = np.array(answer.payload, np.float64).ravel()
        except (TypeError, ValueError) as error:
            raise self.broken(f"the payload of a Test is {answer.payload!r}; allowed are numbers") from error
        if not len(payload):
            raise self.broken("a Test has an empty payload; give it one number at least")
        sides = self.sides_of(frozen(payload), view.X)
        left = sides
        if not self.divisions.find_sides(node, &left[0], &self.rules, out):
            n_left = int(view.counts[sides != 0].sum())
            if n_left in (0, view.n_draws):
                raise self.broken(f"all {view.n_draws} draws are on one side of a test: the cut is not inside the node")
            raise self.broken(f"a test puts {n_left} of {view.n_draws} draws on the left and breaks min_samples_leaf="
                              f"{view.min_draws} or min_weight_fraction_leaf (a weight of {view.min_weight:g})")
        self.payload = payload
        words = payload.view(np.uint64)
        out.payload = &words[0]
        out.n_payload_words = len(payload)
        out.feature = self.feature_of(view, answer)
        out.missing_left = False
        return 0

    def sides_of(self, payload, X):
        """What `goes_left` says, checked: ndarray of shape (n,), dtype uint8."""
        answer = np.asarray((<object> self).goes_left(payload, X))
        if answer.shape != (len(X),) or answer.dtype != np.bool_:
            raise self.broken(f"goes_left returned an array of shape {answer.shape} and dtype {answer.dtype} for {len(X)} rows; "
                              f"allowed is ({len(X)},) of bool")
        return np.array(answer, np.bool_).view(np.uint8)

    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil:
        with gil:
            self.test_rows(payload, n_words, X, rows, n, left)
        return 0

    cdef int test_rows(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1:
        cdef Py_ssize_t i
        cdef uint64_t[::1] words = np.empty(n_words, np.uint64)
        cdef const uint8_t[::1] sides
        cdef char[:, ::1] to
        dtype = np.float64 if X.is_double else np.float32
        values = np.empty((n, X.stride // dtype().itemsize), dtype)
        for i in range(n_words):
            words[i] = payload[i]
        to = values.view(np.int8)
        for i in range(n):
            memcpy(&to[i, 0], X.x + rows[i] * X.stride, X.stride)
        sides = self.sides_of(frozen(np.asarray(words).view(np.float64)), frozen(values))
        for i in range(n):
            left[i] = sides[i]
        return 0

    cdef int open_leaf(self, Node* node) except -1 nogil:
        with gil:
            self.keep_records(node)
        return self.criterion.open_node(node)

    cdef int keep_records(self, Node* node) except -1:
        """Point the node to copies of the records that its leaf keeps."""
        cdef NodeView view = view_of(node, self)
        cdef Py_ssize_t i, n = 0
        cdef const uint8_t[::1] keeps
        try:
            answer = np.asarray((<object> self).leaf_records(view))
        finally:
            view.close()
        if answer.shape != (node.n,) or answer.dtype != np.bool_ or not answer.any():
            raise self.broken(f"leaf_records returned an array of shape {answer.shape} and dtype {answer.dtype} for {node.n} "
                              f"records; allowed is ({node.n},) of bool, not all False")
        keeps = np.array(answer, np.bool_).view(np.uint8)
        for i in range(node.n):
            self.kept[n] = node.records[i]
            n += keeps[i]
        node.records = self.kept
        node.n = n
        return 0


cdef class PythonCriterionBase(Criterion):
    """What `dforest.criterion.PythonCriterion` is made from."""

    methods_in_c = ()

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

    cdef void mean_responses(self, const int64_t* statistics, Py_ssize_t n, const int64_t* total,
                             double* responses) noexcept nogil:
        self.carrier.mean_responses(statistics, n, total, responses)

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
        wrong = ~np.isfinite(found) | ((found < MIN_IMPURITY) if self.n_classes else False)
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
