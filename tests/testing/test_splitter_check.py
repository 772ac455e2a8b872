"""check_splitter: the built-in splitters pass, and each broken rule is named."""

import threading

import numpy as np
import pytest

from dforest.splitter import (
    Cut,
    DenseSplitter,
    HistSplitter,
    PythonSplitter,
    RandomDenseSplitter,
    RandomHistSplitter,
    Test,
)
from dforest.testing import ConformanceError, check_criterion, check_splitter


class Median(PythonSplitter):
    """Cuts at the median."""

    def best_cut(self, node, feature):
        codes = node.codes(feature)
        code = int(np.median(codes))
        if node.is_categorical(feature):
            code = [code]
        return code if node.score_cut(feature, code) >= 0 else None


class Numbers(PythonSplitter):
    """The best cut of some numbers of the records, as a test."""

    def numbers(self, X):
        return np.nan_to_num(X[:, 0].astype(float)) - X[:, 3 - 2]

    def find_split(self, node):
        score, threshold, _ = node.best_along(self.numbers(node.X))
        return Test([threshold], score=score) if score >= 0 else None

    def goes_left(self, payload, X):
        return self.numbers(X) <= payload[0]


class RandomNumbers(Numbers):
    """Along a random direction."""

    def __init__(self, n_tries=2):
        self.n_tries = n_tries

    def find_split(self, node):
        best = None
        for direction in node.random().standard_normal((self.n_tries, 2)):
            score, threshold, _ = node.best_along(np.nan_to_num(node.X[:, :2].astype(float)) @ direction)
            if score >= 0 and (best is None or score > best.score):
                best = Test([*direction, threshold], score=score)
        return best

    def goes_left(self, payload, X):
        return np.nan_to_num(X[:, :2].astype(float)) @ payload[:2] <= payload[2]

    def used_features(self, payload):
        size = np.abs(payload.view(float)[:2])
        return np.array([0, 1]), size / size.sum()


class Honest(RandomNumbers):
    def leaf_records(self, node):
        keeps = node.rows % 2 == 1
        return keeps if keeps.any() else ~keeps


class WorstFirst(Median):
    """Ranks cuts by a score of its own."""

    def best_cut(self, node, feature):
        code = super().best_cut(node, feature)
        return None if code is None else (code, 1 / (1 + node.score_cut(feature, code)))


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("splitter", [HistSplitter, RandomDenseSplitter(), DenseSplitter(), RandomHistSplitter])
def test_built_in_splitters_keep_the_rules(splitter):
    check_splitter(splitter)


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(
    "splitter, tasks",
    [(Median, ["two classes", "regression"]), (Numbers(), ["two classes"]), (RandomNumbers(n_tries=1), ["regression"]),
     (Honest, ["four classes"])],
)  # fmt: skip
def test_splitters_in_python_keep_the_rules(splitter, tasks):
    check_splitter(splitter, tasks=tasks)


def test_what_need_not_hold_can_be_said():
    check_splitter(WorstFirst, own_score=True)
    check_splitter(HistSplitter, tasks=["regression"], mixed=False)
    with pytest.raises(TypeError, match="splitter=3; allowed are objects and subclasses of"):
        check_splitter(3)
    with pytest.raises(TypeError, match="criterion='gini'; allowed are objects and subclasses of"):
        check_criterion("gini")


CHANCE = np.random.default_rng(0)


class Chance(Median):
    """Random numbers that come from elsewhere."""

    def find_split(self, node):
        return None if node.n_records < 40 and CHANCE.random() < 0.3 else super().find_split(node)


class Counting(Median):
    """Every third node is a leaf."""

    n_asked = 0

    def find_split(self, node):
        self.n_asked += 1
        return None if self.n_asked % 3 == 0 else super().find_split(node)


class CountingTrees(Median):
    """Its first tree is deeper."""

    first = None

    def find_split(self, node):
        self.first = node.seed if self.first is None else self.first
        return super().find_split(node) if node.seed == self.first or node.depth < 2 else None


class ByThread(Median):
    def find_split(self, node):
        return super().find_split(node) if threading.current_thread() is threading.main_thread() else None


class ByShare(Numbers):
    """Where a row goes depends on those it comes with."""

    def goes_left(self, payload, X):
        numbers = self.numbers(X)
        return numbers - numbers.mean() <= payload[0]

    def find_split(self, node):
        numbers = self.numbers(node.X)
        score, threshold, _ = node.best_along(numbers - numbers.mean())
        return Test([threshold], score=score) if score >= 0 else None


class Remembering(Numbers):
    """Its test needs what the search found."""

    def find_split(self, node):
        self.sign = 1.0
        return super().find_split(node)

    def goes_left(self, payload, X):
        return self.sign * self.numbers(X) <= payload[0]


class InRow(Numbers):
    """Its test is told which draws are on the left, and knows them again by their places only."""

    def goes_left(self, payload, X):
        return np.arange(len(X)) % 2 == 0

    def find_split(self, node):
        return Test([1.0]) if node.n_records > 20 and node.score_sides(np.arange(node.n_records) % 2 == 0) >= 0 else None


class Products(PythonSplitter):
    """A test by a product of matrices, whose last digits depend on how many rows there are, with a threshold that is a value."""

    def numbers(self, X, weights):
        return np.nan_to_num(X.astype(float)) @ weights

    def find_split(self, node):
        weights = node.random().standard_normal(5)
        numbers = self.numbers(node.X, weights)
        score, threshold, _ = node.best_along(numbers)
        return Test([*weights, numbers[np.abs(numbers - threshold).argmin()]], score=score) if score >= 0 else None

    def goes_left(self, payload, X):
        rounded = self.numbers(X, payload[:5]) + 1e-16 * len(X)  # whatever BLAS there is
        return rounded <= payload[5]


class HolesRight(Numbers):
    """Its test sends missing values to the right, whatever was best."""

    def numbers(self, X):
        return X[:, 0] - X[:, 1]


class NoHoles(Median):
    """Can't do without a value."""

    def best_cut(self, node, feature):
        values = node.X[:, feature]
        code = int(node.codes(feature)[values <= np.median(values)].max())
        return code if node.is_categorical(feature) or node.score_cut(feature, code) >= 0 else None


class Doubling(Median):
    def __init__(self, alpha=1.0):
        self.alpha = 2 * alpha


class Forgetful(Median):
    def __init__(self, alpha=1.0):
        self.beta = alpha


class Unknown(Median):
    """Takes whatever it is told to be."""

    def set_params(self, **parameters):
        return self


class Unpicklable(Median):
    def __init__(self, rule=None):
        self.rule = (lambda: 0) if rule is None else rule


class Noting(Median):
    def __init__(self, notes=None):
        self.notes = [] if notes is None else notes

    def find_split(self, node):
        self.notes.append(node.depth)
        return super().find_split(node)


class Boasting(Median):
    """Its splits of nodes at odd depths are worth more."""

    def best_cut(self, node, feature):
        code = super().best_cut(node, feature)
        return None if code is None else (code, node.score_cut(feature, code) * (1 + 99 * (node.depth % 2)))


class Outermost(Median):
    """Minds no limits of leaves."""

    def find_split(self, node):
        codes = node.codes(3)
        return Cut(3, int(codes.min())) if len(np.unique(codes)) > 1 else None


class Overcounting(RandomNumbers):
    def used_features(self, payload):
        return np.array([0, 1]), np.array([0.7, 0.7])


class Outside(RandomNumbers):
    def used_features(self, payload):
        return np.array([5]), np.array([1.0])


class Swallowing(Median):
    """Lets no exception through."""

    def __init_subclass__(cls):
        inner = cls.find_split

        def find_split(self, node):
            try:
                return inner(self, node)
            except Exception:
                return None

        cls.find_split = find_split


@pytest.mark.parametrize(
    "splitter, rule, shown",
    [
        (Chance, "the same fit gives the same forest", r"node_offsets\[1\]|entries"),
        (Counting, "a tree does not depend on the trees grown before|on the nodes divided before", "in one forest"),
        (CountingTrees, "a tree does not depend on the trees grown before", "in one forest"),
        (ByThread, "the forest does not depend on the number of threads", "in one forest"),
        (ByShare, "where a row goes depends on nothing but the row", r"leaf \d+ among others, \d+ (alone|backwards)"),
        (InRow, "where a row goes depends on nothing but the row", r"leaf \d+ among others"),
        (Remembering, "a test needs nothing but its payload, the row, and the parameters", "no attribute 'sign'"),
        (Products, "where a row goes depends on nothing but the row", r"goes_left sends the row .* alone, .* among \d+ rows"),
        (HolesRight, "the decrease of impurity|what it returns can be used", "Without missing values in the same data, all"),
        (NoHoles, "a fit ends without an exception", "it raised ValueError.*Without missing values in the same data, all rules"),
        (Doubling, "its parameters are its constructor's arguments", r"alpha=2.0\) became Doubling\(alpha=4.0\)"),
        (Forgetful, "its parameters are its constructor's arguments", "no attribute 'alpha'"),
        (Unknown, "set_params refuses parameters that there are not", "no_such_parameter=1"),
        (Unpicklable, "it can be pickled", "lambda"),
        (Noting, "fitting leaves its parameters alone|parameters are its constructor's", "became Noting"),
        (Boasting, "a split's score is the node's weight times the decrease of impurity", r"node \d+, .*min_impurity_decrease="),
        (WorstFirst, "a split's score is the node's weight times the decrease of impurity", r"node \d+, .* with own_score=True$"),
        (Outermost, "what it returns can be used", "Outermost: the cut after code .* breaks min_samples_leaf=9"),
        (Overcounting, "used_features gives features of the data, and shares above 0 whose sum is 1", "the sum 1.4"),
        (Outside, "used_features gives features of the data", r"features \[5\]"),
        (Swallowing, "an exception ends the fit", "find_split raised, and fit did not"),
    ],
)
def test_broken_rules_of_splitters_are_named(splitter, rule, shown):
    with pytest.raises(ConformanceError, match=shown) as caught:
        check_splitter(splitter, tasks=["two classes"])
    assert str(caught.value).startswith(f"{splitter.__name__} breaks the rule: ")
    assert any(part in caught.value.rule for part in rule.split("|"))


BROKEN = """
from libc.math cimport nextafter, INFINITY
from libc.stdint cimport uint64_t, uint32_t, uint8_t

from dforest.core.component cimport CONTRACT
from dforest.core.component import declare_contract
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport LeafRules, Node, Split, df_rows, data_row

declare_contract(__name__, CONTRACT)

cdef class Plain(Splitter):
    \"\"\"Breaks nothing.\"\"\"

cdef class Shifted(Splitter):
    \"\"\"Its thresholds are below all values on the left.\"\"\"
    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        return Splitter.threshold(self, node, split) - 1.0

cdef class Writing(Splitter):
    def __cinit__(self, *args, **kwargs):
        self.needs_rows = True
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        (<char*> self.data.x.x)[5] = 7
        return Splitter.find_split(self, node, out)

cdef class Overreaching(Splitter):
    \"\"\"Looks at what is before the first row.\"\"\"
    def __cinit__(self, *args, **kwargs):
        self.needs_rows = True
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        if node.depth == 1 and (<const double*> self.data.x.x)[-1] == -1e30:
            out.feature = -1
            return 0
        return Splitter.find_split(self, node, out)

cdef class Lawless(Splitter):
    \"\"\"Minds no limits of leaves.\"\"\"
    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef LeafRules none
        none.min_draws = 1
        none.min_weight = 0.0
        return self.cuts.find(node, &node.columns[feature], &none, best)

cdef class Hasty(Splitter):
    \"\"\"What it finds depends on how many nodes it has seen.\"\"\"
    cdef int n_seen
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        self.n_seen += 1
        if self.n_seen % 3 == 0:
            out.feature = -1
            return 0
        return Splitter.find_split(self, node, out)

cdef class Beyond(Splitter):
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        Splitter.find_split(self, node, out)
        out.feature += 1000 * (out.feature >= 0)
        return 0

cdef class Unworthy(Splitter):
    \"\"\"Its scores are not what the cuts are worth.\"\"\"
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        Splitter.find_split(self, node, out)
        if node.depth == 2:
            out.score = out.score * 1000.0
        return 0

cdef class Neighbourly(Splitter):
    \"\"\"Its test looks at the row before.\"\"\"
    cdef uint64_t word
    def __cinit__(self, *args, **kwargs):
        self.has_own_tests = True
    cdef int store_split(self, const Node* node, Split* split) except -1 nogil:
        self.word = 1
        split.payload = &self.word
        split.n_payload_words = 1
        return 0
    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(n):
            left[i] = i % 2
        return 0
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        out.payload = NULL
        out.missing_left = False
        out.feature = -1
        if node.n < 20:
            return 0
        out.feature = 0
        out.score = 1.0
        return self.store_split(node, out)
"""


def test_broken_rules_of_compiled_splitters_are_named(compile_module):
    broken = compile_module("broken_splitters", BROKEN)
    check_splitter(broken.Plain)
    for name, rule, shown in [
        ("Shifted", "what it returns can be used", "Shifted.threshold: .* does not separate the values in the node"),
        ("Writing", "no data are written to", r"X\[0, 0\] was"),
        ("Overreaching", "nothing but the data is read", "in one forest"),
        ("Lawless", "what it returns can be used", "Lawless: min_samples_leaf=9 is broken by a split with"),
        ("Hasty", "a tree does not depend on the trees grown before", "in one forest"),
        ("Beyond", "what it returns can be used", r"Beyond.find_split: feature=100\d; the data have 5 features"),
        ("Unworthy", "a split's score is the node's weight times the decrease of impurity", "node"),
        ("Neighbourly", "where a row goes depends on nothing but the row", "among others"),
    ]:
        with pytest.raises(ConformanceError, match=shown) as caught:
            check_splitter(getattr(broken, name), mixed=False)
        assert str(caught.value).startswith(f"{name} breaks the rule: ")
        assert any(part in caught.value.rule for part in rule.split("|")), (name, caught.value)
