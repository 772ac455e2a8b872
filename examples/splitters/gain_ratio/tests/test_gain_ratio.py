"""The gain ratio compared with textbook numbers, with brute force, and with the criterion in Python."""

import math
import pickle

import numpy as np
import pytest
from gain_ratio import GainRatio, PythonGainRatio
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from dforest import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor
from dforest.estimators.forest.base import TUNING
from dforest.testing import check_criterion

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])


def assert_equal_forests(a, b):
    a, b = a.forest_.as_dict(), b.forest_.as_dict()
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes(), name


def entropy(weights):
    """The entropy of some weights times their sum, in bits."""
    return sum(w * math.log2(sum(weights) / w) for w in weights if w > 0)


def expected_scores(left, total, correct):
    """The gains of cuts, and the score that each would have as the best cut."""
    gains, scores = [], []
    for cut in left:
        right = total - cut
        gain = entropy(total[2:]) - entropy(cut[2:]) - entropy(right[2:])
        cost = math.log2(len(left)) * total[1] / total[0] if correct else 0.0
        gains.append(gain)
        scores.append(total[1] * max(0.0, gain - cost) / entropy([cut[1], right[1]]))
    return np.array(gains), np.array(scores)


@pytest.mark.parametrize(
    ("left", "gain", "ratio"),
    [
        ([3, 4], 0.152, 0.152),  # humidity: 7 and 7 days
        ([6, 2], 0.048, 0.049),  # wind: 8 and 6 days
    ],
)
def test_playing_tennis(left, gain, ratio):
    """Fourteen days, nine of them good (T. Mitchell, "Machine Learning", 1997, section 3.4; Quinlan 1993, section 2.2)."""
    criterion = GainRatio().configure(2)
    total = np.array([14, 14, 9, 5])
    cut = np.array([[sum(left), sum(left), *left]])
    assert criterion.score_cuts(cut, total)[1] / 14 == pytest.approx(ratio, abs=6e-4)
    assert criterion.score_cuts(cut, total, base=True)[1] / 14 == pytest.approx(gain, abs=6e-4)


@pytest.mark.parametrize("correct", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("largest", [2, 20, 4000, 20_000, 2**40])
def test_scores_are_those_of_the_formula(correct, n_classes, largest):
    """With the table, and without it in heavy nodes."""
    rng = np.random.default_rng(n_classes)
    criterion = GainRatio(correct).configure(n_classes)
    for _ in range(30):
        total = rng.integers(1, largest, n_classes, endpoint=True)
        left = rng.integers(0, total, (40, n_classes), endpoint=True)
        left = left[(left.sum(axis=1) > 0) & (left.sum(axis=1) < total.sum())]
        if not len(left):
            continue
        draws = int(min(total.sum(), 1000))
        left = np.hstack([left.sum(axis=1, keepdims=True), left.sum(axis=1, keepdims=True), left])
        total = np.hstack([draws, total.sum(), total])
        best, score = criterion.score_cuts(left, total)
        gains, scores = expected_scores(left, total, correct)
        weight = float(total[1])
        assert gains[best] >= gains.max() - 1e-8 * weight
        assert score == pytest.approx(scores[best], rel=1e-6, abs=1e-7 * weight)


def test_the_first_of_equal_cuts_wins():
    """Cuts whose sides or classes are exchanged have the same score, to the bit."""
    criterion = GainRatio().configure(2)
    total = np.array([50, 50, 25, 25])
    cuts = np.array([[10, 10, 9, 1], [40, 40, 16, 24], [10, 10, 1, 9], [40, 40, 24, 16]])
    assert criterion.score_cuts(cuts, total)[0] == 0
    assert len({criterion.score_cuts(np.roll(cuts, i, axis=0).copy(), total) for i in range(4)}) == 1


@METHODS
@pytest.mark.parametrize("correct", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_wine])
def test_the_forest_is_that_of_the_criterion_in_python(load, weighted, method, correct):
    X, y = load(return_X_y=True)
    weight = np.arange(len(y)) % 3 + 1 if weighted else None
    parameters = {"n_estimators": 8, "random_state": 0, "method": method}
    compiled = RandomForestClassifier(criterion=GainRatio(correct), **parameters).fit(X, y, weight)
    assert_equal_forests(compiled, RandomForestClassifier(criterion=PythonGainRatio(correct), **parameters).fit(X, y, weight))


def noisy_rows(n, seed=0):
    """Two classes; columns of few and of many values, some missing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = rng.integers(0, 40, n)
    y = X[:, 0] + X[:, 1] + 2 * rng.standard_normal(n) > 0
    X[rng.random(X.shape) < 0.03] = np.nan
    return X, y


@METHODS
@pytest.mark.parametrize("min_samples_leaf", [1, 7])
def test_every_way_through_a_node_gives_the_same_forest(method, min_samples_leaf, monkeypatch):
    """Few records without order, packed words, whole statistics: 20,000 rows, more than the table has."""
    X, y = noisy_rows(20_000)
    parameters = {"random_state": 0, "method": method, "min_samples_leaf": min_samples_leaf, "criterion": GainRatio()}
    given = RandomForestClassifier(3, **parameters).fit(X, y)
    ways = [{"unordered_below": 0}, {"sort_below": 10**6}, {"cache_bytes": 0}]
    for tuning in ways:
        with monkeypatch.context() as patch:
            for name, value in tuning.items():
                patch.setitem(TUNING, name, value)
            assert_equal_forests(given, RandomForestClassifier(3, **parameters).fit(X, y))


def test_the_forest_is_the_same_on_any_number_of_threads(monkeypatch):
    X, y = noisy_rows(5000)
    monkeypatch.setitem(TUNING, "parallel_visits_from", 100)
    forests = [RandomForestClassifier(5, criterion=GainRatio, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2, 5)]
    assert_equal_forests(forests[0], forests[1])
    assert_equal_forests(forests[0], forests[2])


def test_the_cost_keeps_trees_from_chance_cuts():
    """One column matters by an even cut, the others are noise: by the ratio alone, uneven cuts of the noise would win."""
    n_roots, depths = {}, {}
    for correct in (True, False):
        trees = []
        for seed in range(24):
            rng = np.random.default_rng(seed)
            X = rng.random((1000, 8))
            y = (rng.random(1000) < np.where(X[:, 0] < 0.5, 0.45, 0.55)).astype(int)
            # Where no cut is worth its cost, the order of the features decides.
            trees.append(DecisionTreeClassifier(criterion=GainRatio(correct), max_features=None, random_state=seed).fit(X, y))
        n_roots[correct] = sum(tree.forest_.feature[0] == 0 for tree in trees)  # that test the column that matters
        depths[correct] = np.mean([tree.get_depth() for tree in trees])
    assert n_roots[True] > 2 * n_roots[False]
    assert depths[True] < depths[False]


def test_parameters_and_pickles():
    X, y = load_iris(return_X_y=True)
    criterion = GainRatio(correct=False)
    assert criterion.get_params() == {"correct": False} and repr(criterion) == "GainRatio(correct=False)"
    assert clone(criterion).correct is False and pickle.loads(pickle.dumps(criterion)) == criterion
    forest = RandomForestClassifier(3, criterion=criterion, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(forest))
    assert_equal_forests(forest, again)
    assert again.criterion == criterion
    with pytest.raises(ValueError, match="correct=2; allowed are True and False"):
        GainRatio(2)
    with pytest.raises(ValueError, match="for classification"):
        RandomForestRegressor(3, criterion=GainRatio()).fit(X, y)


def test_it_keeps_the_contract():
    check_criterion(GainRatio, own_score=True, alone=False)
