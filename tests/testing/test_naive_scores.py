"""The naive twin's Poisson, absolute error and Friedman criteria against their definitions, in exact or 50-digit arithmetic."""

import functools
import math
import statistics
from decimal import Context
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import naive

from dforest.testing import coding, scores

PRECISE = Context(prec=50)

# Rows of a node: (target, count, weight). No target is so small that an impurity in its units would be subnormal.
targets = st.integers(0, 9).map(float) | st.floats(1e-250, 1e6) | st.sampled_from([0.1, 1e-12, 1e9])
rows = st.tuples(targets, st.integers(1, 3), st.integers(1, 5) | st.integers(1, 2**31 - 1))
nodes = st.lists(rows, min_size=1, max_size=12)


@functools.lru_cache(None)
def ln(x):
    """The logarithm of a fraction, to about 50 digits."""
    return Fraction(PRECISE.ln(PRECISE.divide(x.numerator, x.denominator)))


def draws_of(*sides):
    """The rows of some sides as draws, quantised together; and the scale."""
    quantised, scale = coding.quantise([y for side in sides for y, _, _ in side])
    quantised = iter(quantised)
    return [[scores.Record(0, count, next(quantised), weight) for _, count, weight in side] for side in sides], scale


def statistic(draws):
    return scores.statistic(draws, 0)


def from_zero(draws, scale):
    """(target, weight) of each draw, the target in quantised units and counted from that of 0."""
    zero = round(math.ldexp(-scale.centre, scale.exponent))
    return [(Fraction(d.target - zero), d.count * d.weight) for d in draws]


def mean(pairs):
    return sum(w * y for y, w in pairs) / Fraction(sum(w for _, w in pairs))


def deviance(pairs):
    """Sum of w * y * ln(y / mean of y)."""
    return sum((w * y * ln(y / mean(pairs)) for y, w in pairs if y > 0), Fraction(0))


@settings(deadline=None)
@given(nodes, nodes)
def test_poisson_score(left, right):
    (left, right), scale = draws_of(left, right)
    if scale.range == 0:
        return  # all equal: never split
    node = left + right
    zeros = [not any(y for y, _ in from_zero(side, scale)) for side in (left, right)]
    assert [scores.is_zero(statistic(side), scale) for side in (left, right)] == zeros
    if not any(zeros):
        exact = deviance(from_zero(node, scale)) - deviance(from_zero(left, scale)) - deviance(from_zero(right, scale))
        score = scores.score_of("poisson", statistic(left), statistic(node), left, right, scale)
        assert score >= 0 and score == pytest.approx(float(exact), rel=1e-9, abs=1e-10 * float(deviance(from_zero(node, scale))))


def test_poisson_score_of_a_useless_cut_is_zero():
    scale = coding.Scale(6.0, 1, 10)
    assert scores.poisson_score([0, 30, -33], [0, 100, -110], scale) == 0.0
    assert scores.poisson_score([0, 30, -34], [0, 100, -110], scale) > 0.0


@given(nodes)
def test_poisson_mean(node):
    (draws,), scale = draws_of(node)
    if scale.range:
        assert scores.poisson_mean(statistic(draws), scale) == pytest.approx(float(mean(from_zero(draws, scale))), rel=1e-15)


def test_heavy_zeros_leave_a_poisson_mean_above_zero():
    # Half of the highest target is no whole number of units, and the mean is but a small part of a unit.
    below = 0
    for y in np.random.default_rng(0).random(50).tolist():
        (draws,), scale = draws_of([(0.0, 1, 2**31 - 1)] * 40 + [(y, 1, 1)])
        exact = math.ldexp(y, scale.exponent) / (40 * (2**31 - 1) + 1)
        assert scores.poisson_mean(statistic(draws), scale) == pytest.approx(exact, rel=1e-8)
        centre = math.ldexp(scale.centre, scale.exponent)
        below += centre - round(centre) < -exact  # counted from the centre itself, the mean would be negative
    assert below > 10


@settings(deadline=None)
@given(nodes)
def test_poisson_impurity(node):
    (draws,), scale = draws_of(node)
    impurity = scores.impurity(draws, statistic(draws), "poisson", scale)
    if scale.range == 0:
        assert impurity == 0.0
        return
    exact = deviance(from_zero(draws, scale)) / statistic(draws)[1]  # in units; a row's part is rounded to 2**-20
    assert math.ldexp(impurity, scale.exponent) == pytest.approx(float(exact), rel=1e-12, abs=2.0**-20)


def test_poisson_impurity_of_known_targets():
    # As much weight at 0 as at 2: half of 2 ln 2.
    (draws,), scale = draws_of([(0.0, 3, 2), (2.0, 1, 6)])
    assert scores.impurity(draws, statistic(draws), "poisson", scale) == pytest.approx(math.log(2), rel=1e-12)
    for y in (0.0, 7.5):
        (draws,), scale = draws_of([(y, 2, 3)])
        assert scores.impurity(draws, statistic(draws), "poisson", scale) == 0.0


def min_distance(draws):
    return min(sum(d.count * d.weight * abs(d.target - m) for d in draws) for m in {d.target for d in draws})


@given(nodes, nodes)
def test_absolute_error(left, right):
    (left, right), scale = draws_of(left, right)
    node = left + right
    exact = min_distance(node) - min_distance(left) - min_distance(right)
    assert scores.score_of("absolute_error", statistic(left), statistic(node), left, right, scale) == float(exact) >= 0
    exact = Fraction(min_distance(node), statistic(node)[1]) / Fraction(2) ** scale.exponent
    assert scores.impurity(node, statistic(node), "absolute_error", scale) == pytest.approx(float(exact), rel=1e-15)


@given(nodes, nodes)
def test_friedman_s_improvement(left, right):
    (left, right), scale = draws_of(left, right)
    words = statistic(left), statistic(left + right)
    w_left, w_right = words[0][1], words[1][1] - words[0][1]
    between = mean(from_zero(left, scale)) - mean(from_zero(right, scale))
    exact = Fraction(w_left * w_right, w_left + w_right) * between**2
    score = scores.score_of("friedman_mse", *words, left, right, scale)
    of_node = sum(w * (y - mean(from_zero(left + right, scale))) ** 2 for y, w in from_zero(left + right, scale))
    assert score == pytest.approx(float(exact), rel=1e-9, abs=1e-10 * float(of_node))


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 4)), min_size=1, max_size=12))
def test_medians(pairs):
    y, weight = zip(*pairs, strict=True)
    repeated = [v for v, w in pairs for _ in range(w)]
    assert coding.median_target([float(v) for v in y], weight) == statistics.median(repeated)
    assert scores.lower_median([scores.Record(0, 1, v, w) for v, w in pairs]) == statistics.median_low(repeated)


def test_median_of_huge_and_of_equal_targets():
    assert coding.median_target([1.7e308, 1.6e308], [3, 3]) == 0.5 * 1.7e308 + 0.5 * 1.6e308
    assert coding.median_target([0.1, 0.1, 0.1], [1, 1, 2]) == 0.1


# Whole trees


def problem(seed, n=60):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.integers(0, 6, n), rng.standard_normal((n, 2)).round(1)].astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.gamma(1.0, size=n) * (rng.random(n) < 0.8) + np.nan_to_num(X[:, 0])
    return X, y, rng.integers(1, 5, n)


def leaves_of(node, X, rows):
    """(node, rows) of each leaf in preorder."""
    if node.feature < 0:
        return [(node, rows)]
    left = np.array([naive.goes_left(node, X[row]) for row in rows])
    return leaves_of(node.left, X, rows[left]) + leaves_of(node.right, X, rows[~left])


DEFINITION = {
    "squared_error": (np.average, lambda y: np.average((y - y.mean()) ** 2)),
    "poisson": (np.average, lambda y: np.average([v * math.log(v / y.mean()) if v > 0 else 0.0 for v in y])),
    "absolute_error": (np.median, lambda y: np.average(np.abs(y - np.median(y)))),
}


@pytest.mark.parametrize("criterion", DEFINITION)
@pytest.mark.parametrize("seed", range(3))
def test_leaves_hold_value_and_impurity(criterion, seed):
    """By the definitions, from the targets of the rows that come to a leaf, each as often as it weighs."""
    X, y, weight = problem(seed)
    y[:30] *= 1000.0  # scales of different nodes differ
    tree = naive.grow_tree(X, y, criterion=criterion, method="dense", sample_weight=weight, n_categories=[6, 0, 0],
                           min_samples_leaf=5)  # fmt: skip
    arrays = naive.flatten(tree)
    value, impurity = DEFINITION[criterion]
    leaves = leaves_of(tree, X, np.arange(len(X)))
    assert len(leaves) > 4 and sum(node.impurity > 0 for node, _ in leaves) > 2
    for node, rows in leaves:
        of_leaf = np.repeat(y[rows], weight[rows])
        assert node.draws == len(rows) and node.value == pytest.approx(value(of_leaf), rel=1e-14)
        assert node.impurity == pytest.approx(impurity(of_leaf), rel=1e-6, abs=1e-9)
    is_leaf = arrays["feature"] < 0
    assert arrays["impurity"][is_leaf].tolist() == [node.impurity for node, _ in leaves]
    assert np.isnan(arrays["impurity"][~is_leaf]).all()


@pytest.mark.parametrize("method", ["dense", "hist"])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_friedman_s_tree_is_the_squared_error_s(method, splitter):
    X, y, weight = problem(3)
    one, other = (
        naive.flatten(naive.grow_tree(X, y, criterion=criterion, method=method, splitter=splitter, sample_weight=weight,
                                      n_categories=[6, 0, 0], max_features=2, min_impurity_decrease=0.01))
        for criterion in ("squared_error", "friedman_mse")
    )  # fmt: skip
    assert len(one["feature"]) > 5
    for name in one:
        np.testing.assert_equal(one[name], other[name])


@pytest.mark.parametrize(("criterion", "power"), [("squared_error", 2), ("poisson", 1), ("absolute_error", 1)])
def test_limits_are_in_units_of_the_target(criterion, power):
    X = np.array([[0.0], [1.0]])
    for unit in (1e-9, 1.0, 3e7):  # targets 1 and 3 units apart from 0
        y = [1.0 * unit, 3.0 * unit]
        impurity = {"squared_error": 1.0, "poisson": 1.5 * math.log(1.5) + 0.5 * math.log(0.5), "absolute_error": 1.0}[criterion]
        for limit in ("min_impurity_decrease", "impurity_threshold"):
            for factor, feature in ((0.999, 0), (1.001, -1)):
                tree = naive.grow_tree(X, y, criterion=criterion, method="dense",
                                       **{limit: factor * impurity * unit**power})  # fmt: skip
                assert tree.feature == feature


def test_no_poisson_side_is_all_zero():
    """Cuts that part nothing but zeros are not valid: neither here nor where the search goes on to another feature."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    y = [0.0, 0.0, 1.0, 5.0]  # the first feature would leave the zeros alone
    settings = dict(method="dense", max_features=1)
    for seed in range(5):
        assert naive.grow_tree(X, y, criterion="poisson", seed=seed, **settings).feature == 1
    assert naive.grow_tree(X[:, :1], y, criterion="poisson", **settings).feature == -1
    assert naive.grow_tree(X[:, :1], y, criterion="squared_error", **settings).feature == 0
    for seed in range(10):
        X, y, weight = problem(seed)
        tree = naive.grow_tree(X, y * (y > 2), criterion="poisson", method="hist", sample_weight=weight, seed=seed)
        leaves = leaves_of(tree, X, np.arange(len(X)))
        assert len(leaves) > 3 and all(node.value > 0 for node, _ in leaves)
