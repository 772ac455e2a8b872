"""What splitters and criteria from elsewhere answer is checked before it is used: errors name class and method.

The compiled ones crashed, or were believed, before; so they are asked in a process of their own.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from dforest import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier
from dforest.criterion import CriterionError, PythonCriterion
from dforest.splitter import Cut, PythonSplitter, SplitterError, Test

X, Y = load_iris(return_X_y=True)

COMPILED = """
from libc.math cimport NAN
from libc.stdint cimport int64_t

from dforest.core.component cimport CONTRACT
from dforest.core.component import declare_contract
from dforest.core.search.criterion cimport ClassCriterion, Criterion, Gini
from dforest.core.data cimport DataView
from dforest.core.search.regression cimport NumberCriterion
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport LeafRules, Node, Split

declare_contract(__name__, CONTRACT)


cdef class Search(Splitter):
    cdef int search(self, const Node* node, Split* out) noexcept nogil:
        cdef double before
        out.feature = -1
        out.score = -1.0
        for feature in range(self.data.n_features):
            before = out.score
            self.cuts.find(node, &node.columns[feature], &self.rules, out)
            if out.score > before:
                out.feature = feature
        return 0


cdef class Unopened(Search):
    \"\"\"Forgets `open_node`: that is made good for.\"\"\"
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        self.search(node, out)
        return self.store_split(node, out) if out.feature >= 0 else 0


cdef class Unstored(Search):
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        self.cuts.open_node(node)
        return self.search(node, out)


cdef class Unattached(Splitter):
    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        return 0


cdef class BeyondCodes(Splitter):
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        Splitter.find_split(self, node, out)
        out.code = 10**6
        return 0


cdef class BelowLeft(Splitter):
    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        return Splitter.threshold(self, node, split) - 100.0


cdef class AboveRight(Splitter):
    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        return Splitter.threshold(self, node, split) + 100.0


cdef class NoSet(Splitter):
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        Splitter.find_split(self, node, out)
        out.payload = NULL
        return 0


cdef class Beyond(Gini):
    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        score[0] = 1.0
        return n + 3


cdef class Unscored(Gini):
    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        score[0] = NAN
        return 0


cdef class NotANumber(ClassCriterion):
    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        return NAN


cdef class Negated(Gini):
    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        return -Gini.impurity(self, statistic)

    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        return Criterion.best_cut(self, left, n, total, score)


cdef class Valueless(NumberCriterion):
    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        return -self.mean(statistic)**2

    cdef double value(self, const Node* node, const int64_t* statistic) noexcept nogil:
        return NAN
"""

FIT = """
import importlib.util, os, sys
import numpy as np
from sklearn.datasets import load_iris
from dforest import RandomForestClassifier, RandomForestRegressor

spec = importlib.util.spec_from_file_location("user_defined_answers", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
X, y = load_iris(return_X_y=True)
X[:, 0] = np.round(X[:, 0])

def fit(name, part, kind):
    kind = {"Classifier": RandomForestClassifier, "Regressor": RandomForestRegressor}[kind]
    categorical = [0] if name == "NoSet" else None
    for method in ("hist", "dense"):
        for n_jobs in (1, 3):
            forest = kind(10, method=method, n_jobs=n_jobs, random_state=0, max_features=None, categorical_features=categorical,
                          **{part: getattr(module, name)})
            try:
                forest.fit(X, y)
            except Exception as error:
                print(name, type(error).__name__, error)
            else:
                built_in = kind(10, method=method, random_state=0, max_features=None).fit(X, y)
                print(name, "fitted", forest.score(X, y) >= built_in.score(X, y) - 0.02)

for case in sys.argv[2:]:
    child = os.fork()
    if child == 0:
        fit(*case.split())
        sys.stdout.flush()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        sys.exit(f"{case}: exit status {status}")
"""


@pytest.fixture(scope="module")
def fit_apart(compile_module):
    """Fit with compiled classes, each in a process of its own that starts no threads before; return what each printed."""
    path = compile_module("user_defined_answers", COMPILED).__file__

    def fit(cases):
        command = [sys.executable, "-c", FIT, path, *map(" ".join, cases)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(path).parent)
        assert done.returncode == 0, done.stderr
        lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
        assert [name for name, _ in lines] == [name for name, *_ in cases for _ in range(4)]  # methods, numbers of threads
        return {name: [said for by, said in lines if by == name] for name, *_ in cases}

    return fit


@pytest.mark.slow
def test_compiled_splitters(fit_apart):
    expected = {
        "Unopened": "fitted True",
        "Unstored": "SplitterError Unstored.find_split: the threshold of a split of feature ",
        "Unattached": "SplitterError Unattached.attach must call the method of its base class",
        "BeyondCodes": "SplitterError BeyondCodes.find_split: code=1000000 of feature ",
        "BelowLeft": "SplitterError BelowLeft.threshold: ",
        "AboveRight": "SplitterError AboveRight.threshold: ",
        "NoSet": "SplitterError NoSet.find_split: a split of feature 0, which is categorical, needs the payload of 1 words",
    }
    for name, lines in fit_apart([(name, "splitter", "Classifier") for name in expected]).items():
        assert all(line.startswith(expected[name]) for line in lines), lines


@pytest.mark.slow
def test_compiled_criteria(fit_apart):
    expected = {
        ("Beyond", "Classifier"): "CriterionError Beyond.best_cut returned ",
        ("Unscored", "Classifier"): "CriterionError Unscored.best_cut gave cut 0 the score nan; a score is a finite ",
        ("NotANumber", "Classifier"): "CriterionError NotANumber.impurity returned nan; allowed are finite numbers from 0",
        ("Negated", "Classifier"): "CriterionError Negated.impurity returned -0.",
        ("Valueless", "Regressor"): "CriterionError Valueless.value returned nan; allowed are finite numbers",
    }
    found = fit_apart([(name, "criterion", kind) for name, kind in expected])
    for (name, _), said in expected.items():
        assert all(line.startswith(said) for line in found[name]), found[name]


class Told(PythonSplitter):
    """Answers what it is told to."""

    def __init__(self, cut=None, split=None):
        self.cut = cut
        self.split = split

    def best_cut(self, node, feature):
        return self.cut

    def find_split(self, node):
        return super().find_split(node) if self.split is None else self.split


class ToldTest(Told):
    def goes_left(self, payload, X):
        return X[:, 0] <= np.median(X[:, 0])


@pytest.mark.parametrize(
    ("splitter", "said"),
    [
        (Told(cut=1.5), r"Told: code=1\.5 of feature \d; allowed is an integer"),
        (Told(cut="middle"), r"Told: code='middle' of feature \d; allowed is an integer"),
        (Told(cut=(1, 2, 3)), r"Told: best_cut returned \(1, 2, 3\); allowed are a code, \(code, score\), and None"),
        (Told(cut=(5, np.nan)), "Told: score=nan; a score is a finite number from 0"),
        (Told(cut=(5, "high")), "Told: score='high'; a score is a finite number from 0"),
        (Told(split=3), "Told: find_split returned 3; allowed are a Cut, a Test, and None"),
        (Told(split=Cut(0, 2.0)), r"Told: code=2\.0 of feature 0; allowed is an integer"),
        (Told(split=Cut(0, 5, -1.0)), r"Told: score=-1\.0; a score is a finite number from 0"),
        (Told(split=Cut(0.0, 5)), r"Told: feature=0\.0; allowed are numbers from 0 to 3"),
        (ToldTest(split=Test("abc")), "ToldTest: the payload of a Test is 'abc'; allowed are numbers"),
    ],
)
def test_splitters_in_python(splitter, said):
    with pytest.raises(SplitterError, match=said):
        DecisionTreeClassifier(splitter=splitter).fit(X, Y)


class ToldImpurity(PythonCriterion):
    def __init__(self, answer=None):
        self.answer = answer

    def impurity(self, statistics):
        return self.answer(statistics)


def gini(statistics):
    return 1 - ((statistics.class_weight / statistics.weight[:, None]) ** 2).sum(axis=1)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda statistics: 0.5, r"ToldImpurity: impurity returned an array of shape \(\) for 1 statistics"),
        (lambda statistics: gini(statistics)[:, None], r"impurity returned an array of shape \(1, 1\) for 1 statistics"),
        (lambda statistics: -gini(statistics), r"ToldImpurity: impurity returned -0\.\d+; allowed are finite numbers from 0"),
        (lambda statistics: gini(statistics) * np.nan, "ToldImpurity: impurity returned nan; allowed are finite numbers"),
        (lambda statistics: "half", "ToldImpurity: impurity returned 'half'; allowed are 1 numbers"),
    ],
)
def test_criteria_in_python(answer, said):
    for kind in (DecisionTreeClassifier, RandomForestClassifier):
        with pytest.raises(CriterionError, match=said):
            kind(criterion=ToldImpurity(answer), random_state=0).fit(X, Y)


def test_impurities_of_numbers_may_leave_out_what_all_cuts_share():
    criterion = ToldImpurity(lambda statistics: -(statistics.mean**2))
    tree = DecisionTreeRegressor(criterion=criterion, max_depth=2).fit(X[:, :3], X[:, 3])
    assert tree.score(X[:, :3], X[:, 3]) > 0.8
