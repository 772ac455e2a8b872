"""check_criterion: the built-in criteria pass, and each broken rule is named."""

import threading

import numpy as np
import pytest

from dforest.criterion import AbsoluteError, Entropy, Gini, Poisson, PythonCriterion, SquaredError
from dforest.testing import ConformanceError, check_criterion

CHANCE = np.random.default_rng(0)


class ClassOnly(PythonCriterion):
    def configure(self, n_classes=0, wide=False):
        if not n_classes:
            raise ValueError(f"criterion={self!r} is for classification")
        return super().configure(n_classes, wide)


class SlowGini(ClassOnly):
    def impurity(self, statistics):
        share = statistics.class_weight / statistics.weight[:, None]
        return (share * (1 - share)).sum(axis=1)


class Hellinger(SlowGini):
    """Scores by something else than its impurity: of two classes, the distance of their shares on the left."""

    def score(self, left, right, node):
        sides = (np.sqrt(part.class_weight / node.class_weight) for part in (left, right))
        return sum((side[:, 0] - side[:, 1]) ** 2 for side in sides)


class Diluting(SlowGini):
    """A cut is worth less the more there are."""

    def score(self, left, right, node):
        return super().score(left, right, node) / len(left.draws)


class Variance(PythonCriterion):
    def impurity(self, statistics):
        return -(statistics.mean**2)

    def configure(self, n_classes=0, wide=False):
        if n_classes:
            raise ValueError(f"criterion={self!r} is for regression")
        return super().configure(n_classes, wide)


@pytest.mark.parametrize("criterion", [Gini, Entropy(), SquaredError, Poisson()])
def test_built_in_criteria_keep_the_rules(criterion):
    check_criterion(criterion)


class Reweighted(SlowGini):
    """Gini impurity of shares in which the first class counts five times: good cuts may raise its mean."""

    def impurity(self, statistics):
        weight = statistics.class_weight * np.where(np.arange(statistics.class_weight.shape[1]) == 0, 5.0, 1.0)
        share = weight / weight.sum(axis=1, keepdims=True)
        return (share * (1 - share)).sum(axis=1)


class Costly(Reweighted):
    """The impurity of `Reweighted`, multiplied by the new weight of the set and divided by its weight: its mean never rises."""

    def impurity(self, statistics):
        weight = statistics.class_weight.sum(axis=1) + 4 * statistics.class_weight[:, 0]
        return super().impurity(statistics) * weight / statistics.weight


@pytest.mark.slow
def test_other_criteria_keep_the_rules():
    check_criterion(Costly)
    check_criterion(AbsoluteError, methods=["dense"])
    check_criterion(SlowGini)
    check_criterion(Variance(), complete=False)
    check_criterion(Hellinger, own_score=True, tasks=["two classes"])
    check_criterion(Diluting, own_score=True, alone=False, tasks=["two classes"])
    with pytest.raises(ConformanceError, match="Diluting .* with the score it has alone"):
        check_criterion(Diluting, own_score=True, tasks=["two classes"])


class Noisy(SlowGini):
    def impurity(self, statistics):
        return super().impurity(statistics) + CHANCE.random() / 100


class Drifting(SlowGini):
    """The more it is asked, the less a node is worth."""

    asked = 0

    def score(self, left, right, node):
        self.asked += 1
        return super().score(left, right, node) / self.asked


class LastFirst(SlowGini):
    """Prefers what comes late."""

    def score(self, left, right, node):
        return super().score(left, right, node) + np.arange(len(left.weight))


class Negative(SlowGini):
    def impurity(self, statistics):
        return super().impurity(statistics) - 1


class Impure(SlowGini):
    def impurity(self, statistics):
        return super().impurity(statistics) + 1


class Twice(SlowGini):
    def score(self, left, right, node):
        return 2 * super().score(left, right, node)


class NotANumber(SlowGini):
    def impurity(self, statistics):
        return np.full(len(statistics.weight), np.nan)


class SingleSets(SlowGini):
    def impurity(self, statistics):
        return float(super().impurity(statistics))


class Anything(PythonCriterion):
    impurity = SlowGini.impurity


class Rude(SlowGini):
    def configure(self, n_classes=0, wide=False):
        assert n_classes
        return super().configure(n_classes, wide)


class Idle(SlowGini):
    def configure(self, n_classes=0, wide=False):
        return self


class Choosy(SlowGini):
    def configure(self, n_classes=0, wide=False):
        raise ValueError("never")


class ByThreadCriterion(SlowGini):
    def impurity(self, statistics):
        share = 1.0 if threading.current_thread() is threading.main_thread() else statistics.class_weight[:, 0]
        return super().impurity(statistics) * share


class Doubled(SlowGini):
    def __init__(self, power=1):
        self.power = power + 1


@pytest.mark.parametrize(
    "criterion, rule, shown",
    [
        (Noisy, "the same question has the same answer", "later, "),
        (Drifting, "the same question has the same answer", "later, "),
        (LastFirst, "of many cuts the first of the best ones is found, with the score it has alone", "alone, cut"),
        (Negative, "what it returns can be used", r"Negative: impurity returned -0\.\d+; allowed are finite numbers from 0"),
        (Impure, "impurities are finite, not below 0, and 0 for a pure node", r"impurity 1\.0 of \[.* complete=False"),
        (Reweighted, "dividing a node does not raise the mean impurity", "must be concave in the class weights"),
        (Twice, "scores are the weight times the decrease of impurity", "by impurities.* own_score=True"),
        (NotANumber, "what it returns can be used", "NotANumber: impurity returned nan"),
        (SingleSets, "a fit ends without an exception", r"are asked about n sets of draws at once, and return arrays"),
        (Anything, "configure refuses tasks that the criterion is not for by ValueError", "it took regression; a fit then"),
        (Rude, "configure refuses tasks that the criterion is not for by ValueError", "regression: it raised AssertionError"),
        (Idle, "configure calls its base's", "n_classes=0, n_words=0"),
        (Choosy, "configure takes some task", "it refuses each of two classes"),
        (ByThreadCriterion, "the forest does not depend on the number of threads", "in one forest"),
        (Doubled, "its parameters are its constructor's arguments", r"power=2\) became Doubled\(power=3\)"),
    ],
)
def test_broken_rules_of_criteria_are_named(criterion, rule, shown):
    with pytest.raises(ConformanceError, match=shown) as caught:
        check_criterion(criterion)
    assert str(caught.value).startswith(f"{criterion.__name__} breaks the rule: ")
    assert rule in caught.value.rule


BROKEN_CRITERIA = """
from libc.stdint cimport int64_t

from dforest.core.component cimport CONTRACT
from dforest.core.component import declare_contract
from dforest.core.search.criterion cimport ClassCriterion, Gini
from dforest.core.search.regression cimport SquaredError

declare_contract(__name__, CONTRACT)

cdef class Misclassification(ClassCriterion):
    \"\"\"Breaks nothing.\"\"\"
    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        cdef int64_t most = 0
        for k in range(2, self.n_words):
            most = max(most, statistic[k])
        return 1.0 - <double> most / <double> statistic[1]

cdef class LastOfEqual(Gini):
    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        cdef Py_ssize_t i, best = 0
        cdef double s, highest = -1.0
        for i in range(n):
            Gini.best_cut(self, left + i * self.n_words, 1, total, &s)
            if s >= highest:
                highest = s
                best = i
        score[0] = highest
        return best

cdef class Lasting(Gini):
    \"\"\"What it has seen weighs on what it sees.\"\"\"
    cdef double last
    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        self.last = self.last * 0.5 + Gini.impurity(self, statistic)
        return self.last

cdef class Infinite(ClassCriterion):
    cdef double impurity(self, const int64_t* statistic) noexcept nogil:
        return 1e308 * 10 * <double> statistic[0]

cdef class LastNumber(SquaredError):
    \"\"\"Takes the last of its cuts.\"\"\"
    cdef Py_ssize_t best_cut(self, const int64_t* left, Py_ssize_t n, const int64_t* total, double* score) noexcept nogil:
        SquaredError.best_cut(self, left + (n - 1) * self.n_words, 1, total, score)
        return n - 1
"""


def test_broken_rules_of_compiled_criteria_are_named(compile_module):
    broken = compile_module("broken_criteria", BROKEN_CRITERIA)
    check_criterion(broken.Misclassification)
    for name, rule in [
        ("LastOfEqual", "of many cuts the first of the best ones is found"),
        ("Lasting", "the same question has the same answer"),
        ("Infinite", "what it returns can be used"),
        ("LastNumber", "of many cuts the first of the best ones is found"),
    ]:
        with pytest.raises(ConformanceError) as caught:
            check_criterion(getattr(broken, name))
        assert str(caught.value).startswith(f"{name} breaks the rule: ")
        assert any(part in caught.value.rule for part in rule.split("|")), (name, caught.value)
