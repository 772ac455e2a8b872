"""Scores against the naive twin to the bit, against textbook formulas, and against the base class's scan."""

import math

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import dforest
from dforest.core.search.criterion import Entropy, Gini
from dforest.core.search.regression import SquaredError
from dforest.core.search.split_evaluator import fast_scans
from dforest.testing.scores import entropy_score, gini_score, squared_error_score

SCORE = {Gini: gini_score, Entropy: entropy_score}


def class_cuts(rng, n_classes, n_cuts, largest):
    """Random left sides of a node, [draws, weight, classes]; both sides have weight."""
    total = rng.integers(1, largest, n_classes, endpoint=True)
    left = np.stack([rng.integers(0, total, endpoint=True) for _ in range(n_cuts)])
    left = left[(left.sum(axis=1) > 0) & (left.sum(axis=1) < total.sum())]
    record = lambda c: np.concatenate([[c.sum() % 1000 + 1], [c.sum()], c])  # noqa: E731
    return np.array([record(c) for c in left], np.int64).reshape(-1, 2 + n_classes), record(total)


@pytest.mark.parametrize("kind", [Gini, Entropy])
@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.sampled_from([3, 100, 2**24, 2**27, 2**32, 2**57]))
def test_class_scores_are_those_of_the_twin(kind, seed, n_classes, largest):
    left, total = class_cuts(np.random.default_rng(seed), n_classes, 20, largest)
    if not len(left):
        return
    best, score = kind().configure(n_classes).score_cuts(left, total)
    scores = [SCORE[kind](cut.tolist(), total.tolist()) for cut in left]
    assert score == max(scores)
    assert best == scores.index(max(scores))
    _, base = kind().configure(n_classes).score_cuts(left, total, base=True)
    assert base == pytest.approx(score, rel=1e-6, abs=1e-9 * float(total[1]))


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([1, 1000, 2**31]))
def test_squared_error_scores_are_those_of_the_twin(seed, wide, span):
    rng = np.random.default_rng(seed)
    n = 50
    weight = rng.integers(1, 2**31 if wide else 2**25, n).tolist()
    q = rng.integers(-span + 1, span, n).tolist()
    sums, cuts, total = [0, 0, 0], [], None
    for w, t in zip(weight, q, strict=True):
        sums = [sums[0] + 1, sums[1] + w, sums[2] + w * t]
        cuts.append(sums)
    *cuts, total = cuts
    record = (lambda s: [s[0], s[1], s[2] & 0x7FFFFFFF, s[2] >> 31]) if wide else (lambda s: s)  # noqa: E731
    best, score = SquaredError().configure(wide=wide).score_cuts(np.array([record(c) for c in cuts]), np.array(record(total)))
    scores = [squared_error_score(cut, total) for cut in cuts]
    assert score == max(scores) and best == scores.index(max(scores))


def test_wide_sums_whose_upper_word_is_zero():
    """Targets at the centre leave the upper word 0 while weights are large."""
    y = np.array([1.0] * 60 + [2.0] * 40 + [0.0])
    weight = np.random.default_rng(0).random(101)
    X = np.arange(101.0)[:, None]
    tree = dforest.DecisionTreeRegressor(method="dense", max_depth=1).fit(X, y, weight)
    assert tree.forest_.threshold[0] == 59.5


def test_impurities():
    assert Gini().configure(3).impurity_of(np.array([4, 8, 2, 2, 4])) == pytest.approx(1 - 2 / 16 - 1 / 4)
    assert Entropy().configure(3).impurity_of(np.array([4, 8, 2, 2, 4])) == pytest.approx(1.5)
    for kind in (Gini, Entropy):
        assert kind().configure(2).impurity_of(np.array([4, 8, 8, 0])) == 0.0
    rng = np.random.default_rng(0)
    for counts in rng.integers(1, 10**6, (50, 4)):
        p = counts / counts.sum()
        statistic = np.concatenate([[1], [counts.sum()], counts])
        assert Entropy().configure(4).impurity_of(statistic) == pytest.approx(-sum(x * math.log2(x) for x in p), rel=1e-13)
        assert Gini().configure(4).impurity_of(statistic) == pytest.approx(1 - sum(p**2), rel=1e-13)
    with pytest.raises(ValueError, match="5 words"):
        Gini().configure(3).impurity_of(np.array([1, 2, 3]))
    with pytest.raises(ValueError, match="5 words"):
        Gini().configure(3).score_cuts(np.ones((1, 4), np.int64), np.ones(5, np.int64))


@pytest.mark.parametrize("kind", [Gini, Entropy])
def test_a_useless_cut_scores_exactly_zero(kind):
    for scale in (1, 3, 10**6, 2**40 + 1):
        total = np.array([6, 9, 3, 6]) * scale
        _, score = kind().configure(2).score_cuts(total[None] // 3, total)
        assert score == 0.0


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_an_outlying_target_costs_no_leaves(method):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 4))
    y = rng.random(3000)
    kind = dforest.DecisionTreeRegressor(method=method, random_state=0)
    leaves = (kind.fit(X, y).forest_.feature < 0).sum()
    y[17] = 1e10
    assert abs((kind.fit(X, y).forest_.feature < 0).sum() - leaves) <= 0.01 * leaves
    # "dense" separates all rows, and a pure leaf returns its target exactly.
    if method == "dense":
        np.testing.assert_array_equal(kind.predict(X), y)


def test_a_subclass_scores_its_own_cuts():
    """Packed words would be scored by the built-in formulas, whatever a subclass overrides."""
    for criterion, arguments in ((Gini, (2,)), (SquaredError, ())):
        assert fast_scans(criterion().configure(*arguments)).takes_packed_sums
        assert fast_scans(type("Mine", (criterion,), {})().configure(*arguments)) is None
    assert [fast_scans(Gini().configure(n)).takes_class_counters for n in (2, 3, 8, 9)] == [False, True, True, False]
