"""What splitters are told of the features above a node, against the ancestors in the grown tree."""

import re

import numpy as np
import pytest

from dforest import DecisionTreeClassifier, DecisionTreeRegressor
from dforest.splitter import HistSplitter, PythonSplitter, Test
from dforest.testing import check_splitter
from dforest.testing.conformance import SHARE_ALL, Trial, make_problem, tuned
from dforest.testing.grown_trees import GrownTree
from dforest.testing.streams import ROOT_KEY, child_key

# How trees are grown: parameters, and size thresholds.
WAYS = {
    "depth first": ({"n_jobs": 1}, {}),
    "best first": ({"n_jobs": 1, "max_leaf_nodes": 10**6}, {}),
    "few leaves": ({"n_jobs": 1, "max_leaf_nodes": 40}, {}),
    "parts": ({"n_jobs": 8}, SHARE_ALL),
    "best first, shared": ({"n_jobs": 8, "max_leaf_nodes": 60}, SHARE_ALL),
}
BY_WAY = pytest.mark.parametrize("way", WAYS)


def trees_of(splitter, way, task="two classes", is_mixed=True, n_rows=1500, **changes):
    """A forest grown in one of these ways: (fitted estimator, its trees)."""
    parameters, thresholds = WAYS[way]
    problem = make_problem(task, is_mixed, n_rows=n_rows)
    trial = Trial("splitter", splitter, problem, max_depth=None, max_features=2)
    with tuned(**thresholds):
        fitted = trial.fit(**{**parameters, **changes})
    return fitted, [GrownTree(fitted, problem, t) for t in range(fitted.forest_.n_trees)]


class Recorder(PythonSplitter):
    """Notes what it is told at each node that it divides, and at each leaf."""

    def find_split(self, node):
        TOLD[node.seed, node.key] = node.path_features
        return super().find_split(node)

    def best_cut(self, node, feature):
        if node.is_categorical(feature):
            return [node.codes(feature).min()]
        codes = np.unique(node.codes(feature))
        return int(codes[(len(codes) - 1) // 2])

    def leaf_records(self, node):
        TOLD[node.seed, node.key] = node.path_features
        return np.ones(node.n_records, bool)


TOLD = {}


@BY_WAY
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_a_splitter_in_python_is_told_the_features_above(way, method):
    TOLD.clear()
    fitted, trees = trees_of(Recorder(), way, n_rows=300, method=method)
    n_used = 0
    for t, tree in enumerate(trees):
        path = {0: ROOT_KEY}
        for node in range(len(tree.feature)):
            told = TOLD[int(fitted.forest_.seeds[t]), path[node]]
            assert told.tolist() == tree.path_features(node), (t, node)
            assert told.dtype == np.int64 and not told.flags.writeable
            n_used = max(n_used, len(told))
            if tree.feature[node] >= 0:
                path[node + 1] = child_key(path[node], 0)
                path[int(tree.right_child[node])] = child_key(path[node], 1)
    assert n_used >= 3


N_COLUMNS = 130


class Chain(PythonSplitter):
    """The smallest value against the rest, by another column at each depth; its tests know what it was told."""

    def find_split(self, node):
        feature = node.depth * 7 % N_COLUMNS
        return Test([feature, node.values(0).min(), *node.path_features], feature)

    def goes_left(self, payload, X):
        return X[:, 0] <= payload[1]


@pytest.mark.parametrize("max_leaf_nodes", [None, 300])
def test_deep_trees_of_many_features(max_leaf_nodes):
    X = np.repeat(np.arange(300.0)[:, None], N_COLUMNS, axis=1)
    tree = DecisionTreeRegressor(splitter=Chain(), max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, X[:, 0])
    assert tree.get_depth() == 299
    for depth in range(299):  # each left child is a leaf
        told = tree.forest_.payload_of(2 * depth)[2:].view(float).tolist()
        assert told == [above * 7 % N_COLUMNS for above in range(min(depth, N_COLUMNS))]


COMPILED = """
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from dforest.core.component cimport CONTRACT
from dforest.core.component import declare_contract
from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport LeafRules, Node, Split, data_row, df_rows, value_at
declare_contract(__name__, CONTRACT)

cdef class Telling(Splitter):
    \"\"\"Tests of single features, whose payload is feature, threshold, missing_left, and the features it was told of.\"\"\"
    cdef double* values
    cdef uint64_t[64] payload
    cdef Py_ssize_t n_words

    def __cinit__(self, *args, **kwargs):
        self.has_own_tests = self.needs_path_features = True

    def __dealloc__(self):
        free(self.values)

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        Splitter.attach(self, data, criterion, n_records)
        self.values = <double*> malloc(n_records * sizeof(double))
        if self.values == NULL:
            raise MemoryError()
        return 0

    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        cdef Py_ssize_t k, i, feature
        cdef bint is_listed
        cdef double before
        out.feature = -1
        out.score = -1.0
        out.payload = NULL
        for feature in range(self.data.n_features):
            is_listed = False
            for k in range(node.n_path_features):
                is_listed |= node.path_features[k] == feature
            if self.is_on_path(node, feature) != is_listed:
                with gil:
                    raise ValueError("is_on_path and path_features say different things")
        self.order.open(self.seed, node.key)
        while self.order.n_drawn < self.max_features or (out.feature < 0 and self.order.n_drawn < self.data.n_features):
            feature = self.order.next()
            for i in range(node.n):
                self.values[i] = value_at(&self.data.x, data_row(node.rows, node.records[i].row), feature)
            before = out.score
            self.divisions.find_along(node, self.values, &self.rules, out)
            if out.score > before:
                out.feature = feature
        self.order.close()
        if out.feature < 0:
            return 0
        self.payload[0] = out.feature
        memcpy(&self.payload[1], &out.threshold, sizeof(double))
        self.payload[2] = out.missing_left
        for k in range(node.n_path_features):
            self.payload[3 + k] = node.path_features[k]
        out.payload = self.payload
        out.n_payload_words = 3 + node.n_path_features
        return 0

    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil:
        cdef Py_ssize_t i
        cdef double x, threshold
        memcpy(&threshold, &payload[1], sizeof(double))
        for i in range(n):
            x = value_at(X, rows[i], payload[0])
            left[i] = payload[2] if x != x else x <= threshold
        return 0

cdef class Thrifty(Splitter):
    \"\"\"A feature that was not used above is worth half.\"\"\"
    def __cinit__(self, *args, **kwargs):
        self.needs_path_features = True

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef Split own = best[0]
        cdef bint is_constant
        own.score = -1.0
        is_constant = self.cuts.find(node, &node.columns[feature], rules, &own)
        if own.score >= 0.0 and not self.is_on_path(node, feature):
            own.score *= 0.5
        if own.score > best.score:
            best[0] = own
        return is_constant

cdef class Unasked(Splitter):
    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        return self.is_on_path(node, feature)
"""


class SlowThrifty(PythonSplitter):
    """What Thrifty is, in Python."""

    def best_cut(self, node, feature):
        codes = np.unique(node.codes(feature)).tolist()
        scores = [node.score_cut(feature, code) for code in codes]
        best = int(np.argmax(scores))
        if scores[best] < 0:
            return None
        return codes[best], scores[best] * (1.0 if feature in node.path_features else 0.5)


@pytest.fixture(scope="module")
def compiled(compile_module):
    return compile_module("path_features_told", COMPILED)


@BY_WAY
@pytest.mark.parametrize("task", ["four classes", "regression"])
def test_a_compiled_splitter_is_told_the_features_above(way, task, compiled):
    fitted, trees = trees_of(compiled.Telling(), way, task)
    n_used = 0
    for t, tree in enumerate(trees):
        for node in tree.inner:
            told = fitted.forest_.payload_of(int(fitted.forest_.node_offsets[t] + node))[3:].tolist()
            assert told == tree.path_features(node), (t, node)
            n_used = max(n_used, len(told))
    assert n_used == 5 or way == "few leaves"


@BY_WAY
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_scores_that_depend_on_the_features_above(way, method, compiled):
    fast, trees = trees_of(compiled.Thrifty(), way, is_mixed=False, n_rows=400, method=method)
    slow, _ = trees_of(SlowThrifty(), way, is_mixed=False, n_rows=400, method=method)
    plain, _ = trees_of(HistSplitter() if method == "hist" else "best", way, is_mixed=False, n_rows=400, method=method)
    for name in ("node_offsets", "feature", "link", "leaf_draws", "leaf_weight"):
        assert fast.forest_.as_dict()[name].tobytes() == slow.forest_.as_dict()[name].tobytes(), name
    assert fast.forest_.feature.tobytes() != plain.forest_.feature.tobytes()
    assert max(len(tree.path_features(node)) for tree in trees for node in tree.inner) >= 3


def test_who_is_told_keeps_the_rules(compiled):
    check_splitter(compiled.Telling, mixed=False, tasks=["two classes"])
    check_splitter(compiled.Thrifty, mixed=False, own_score=True)
    check_splitter(SlowThrifty, mixed=False, own_score=True, tasks=["two classes"])


def test_who_has_not_asked_is_not_told(compiled):
    X, y = make_problem("two classes", False).X, make_problem("two classes", False).y
    shown = re.escape("Unasked: is_on_path needs needs_path_features=True, set in __cinit__")
    with pytest.raises(RuntimeError, match=shown):
        DecisionTreeClassifier(splitter=compiled.Unasked()).fit(X, y)
    assert not HistSplitter().needs_path_features
