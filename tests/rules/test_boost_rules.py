"""Worked examples of the rules of boosted trees (rules/boost.h), and each against exact numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from probes import boosting as rules

from dforest.rules import boosting
from dforest.rules.losses import values
from dforest.rules.records import record


@pytest.mark.parametrize("bits", [rules.GRADIENT_BITS, 20])
def test_fine_integers(bits):
    rng = np.random.default_rng(0)
    for scale in (1e-290, 1e-12, 0.25, 1.0, 1e9, 1e300):
        x = rng.normal(size=200) * scale
        largest = np.abs(x).max()
        exponent = rules.fine_exponent(largest, bits)
        quantised = rules.quantised_integers(x, 2.0**exponent)
        assert 2 ** (bits - 1) <= np.abs(quantised).max() <= 2**bits
        assert quantised.tolist() == [round(Fraction(v) * Fraction(2) ** exponent) for v in x.tolist()]
    assert rules.quantised_integers(np.array([0.5, 1.5, 2.5, -0.5, -1.5]), 1.0).tolist() == [0, 2, 2, 0, -2]  # ties to even


def test_exponents_at_the_ends():
    assert rules.fine_exponent(0.0) == 0
    assert rules.fine_exponent(1.0) == 30 and rules.fine_exponent(1.0 - 2.0**-40) == 30  # the largest becomes 2^30
    assert rules.fine_exponent(1.0 + 2.0**-30) == 29
    assert rules.fine_exponent(5e-324) == 1000
    assert rules.fine_exponent(np.finfo(float).max) == -994


def test_coarse_integers():
    quantised = np.array([2**30 - 1, 2**16, 2**16 - 1, 0, -(2**16), -(2**16) - 1, 1 - 2**30], np.int32)
    narrow = rules.coarse_integers(quantised, "narrow", "gradient")
    assert narrow.tolist() == [2**13, 1, 0, 0, 0, -1, -(2**13)]
    assert rules.coarse_integers(quantised[:4], "narrow", "hessian").tolist() == [2**14, 1, 1, 0]
    random = np.random.default_rng(0).integers(-(2**30) + 1, 2**30, 500).astype(np.int32)
    assert rules.coarse_integers(random, "narrow", "gradient").tolist() == [math.floor(q / 2**17 + 0.5) for q in random.tolist()]
    for kind in ("constant", "wide"):
        assert rules.coarse_integers(random, kind, "gradient").tolist() == random.tolist()
        assert rules.coarse_integers(random, kind, "hessian").tolist() == random.tolist()


def test_kinds_of_words():
    assert [rules.choose_packing(False, False, heavy) for heavy in (False, True)] == ["narrow", "wide"]
    assert [rules.choose_packing(True, False, heavy) for heavy in (False, True)] == ["constant", "constant"]
    assert {rules.choose_packing(constant, True, heavy) for constant in (0, 1) for heavy in (0, 1)} == {"wide"}
    # 65 rows: the largest is 64 times the mean where the others make up a 64th of it.
    assert not rules.has_heavy_tail(64, 65, 65) and rules.has_heavy_tail(64, 64, 65)
    assert not rules.has_heavy_tail(0, 0, 10)
    n = 2**33  # nothing overflows
    assert rules.has_heavy_tail(2**30 - 1, 2**56, n) and not rules.has_heavy_tail(2**30 - 1, 2**57, n)


@pytest.mark.parametrize("kind", rules.KINDS)
@pytest.mark.parametrize("extreme", ["random", "lowest", "highest"])
def test_words_hold_sums_of_as_many_rows_as_may_be(kind, extreme):
    rng = np.random.default_rng(0)
    g, h = (2**13, 2**14) if kind == "narrow" else (2**30 - 1, 2**30 - 1)
    n = rules.SPILL
    gradient = {"random": rng.integers(-g, g + 1, n), "lowest": np.full(n, -g), "highest": np.full(n, g)}[extreme]
    hessian = rng.integers(0, h + 1, n) if extreme == "random" else np.full(n, h)
    for m in (1, 2, n):
        expected = int(gradient[:m].sum()), m if kind == "constant" else int(hessian[:m].sum()), m
        assert rules.sum_words(kind, gradient[:m].astype(np.int32), hessian[:m].astype(np.int32)) == expected


def test_sums_of_weighted_rows():
    """A weighted row counts once, with a gradient and a hessian of up to 31 bits."""
    gradient, hessian = np.array([2048 * (2**20 - 1), -5], np.int32), np.array([2048 * (2**20 - 1), 3], np.int32)
    assert rules.sum_words("wide", gradient, hessian) == (2048 * (2**20 - 1) - 5, 2048 * (2**20 - 1) + 3, 2)


def test_a_gain_by_hand():
    score, gain = rules.cut_gains(0.0, 0, np.array([3]), np.array([1]), (2, 2))
    assert score.tolist() == gain.tolist() == [8.0]
    # l2 = 1: 9/2 + 1/2 - 4/3, of which 16/(2 * 2 * 4) is 1 and the common part 1 * 4 / (3 * 4).
    # d = 2 * 3 + 2 * 1 = 8, 64 / 16 = 4; 4 - 1/3 = 11/3 = 5 - 4/3.
    score, gain = rules.cut_gains(1.0, 0, np.array([3]), np.array([1]), (2, 2))
    assert score.tolist() == [4.0] and gain.tolist() == [4.0 - 4.0 / 12.0]


@pytest.mark.parametrize("exponent", [-20, 0, 14])
@pytest.mark.parametrize("l2", [0.0, 1e-3, 1.0, 100.0])
def test_gains_are_those_of_the_textbook(l2, exponent):
    rng = np.random.default_rng(0)
    h = rng.integers(1, 2**40, 300)
    g = rng.integers(-(2**40), 2**40, 300)
    total = int(g.max()) + 5, int(h.max()) + 12345
    scores, gains = rules.cut_gains(l2, exponent, g, h, total)
    lam = Fraction(l2) * Fraction(2) ** exponent
    common = Fraction(total[0]) ** 2 / (total[1] + lam)
    for score, gain, a, b in zip(scores.tolist(), gains.tolist(), g.tolist(), h.tolist(), strict=True):
        exact = Fraction(a) ** 2 / (b + lam) + Fraction(total[0] - a) ** 2 / (total[1] - b + lam) - common
        assert abs(gain - float(exact)) <= 1e-12 * score + 1e-15 * abs(float(exact))
    assert rules.absolute_gain(3.0, 2, 1) == 3.0 * 2.0**-3


def test_a_useless_cut_gains_nothing():
    """Both sides have the same mean: no digit of a large gradient is left over."""
    g, h = 3 * np.arange(1, 50, dtype=np.int64) * 2**33, np.arange(1, 50, dtype=np.int64) * 2**33
    score, gain = rules.cut_gains(0.0, 0, g, h, (3 * 2**40, 2**40))
    assert (score == 0.0).all() and (gain == 0.0).all()
    assert (rules.cut_gains(1.0, 0, g, h, (3 * 2**40, 2**40))[1] <= 0.0).all()


def test_sides_have_rows_and_hessian_enough():
    count, hessian = np.array([1, 5, 5, 5, 5]), np.array([99, 0, 3, 4, 5])
    assert rules.are_enough(0.0, 0.0, 0, 0, count, hessian).tolist() == [True, False, True, True, True]
    assert rules.are_enough(1.0, 0.0, 2, 0, count, hessian).tolist() == [False, True, True, True, True]
    assert rules.are_enough(0.0, 1.0, 1, 2, count, hessian).tolist() == [True, False, False, True, True]  # 1.0 is 4
    assert rules.are_enough(0.0, 0.0, 1, 0, np.array([0]), np.array([9])).tolist() == [False]


def test_unseen_missing_values_go_to_the_larger_side():
    assert [rules.unseen_goes_left(*sides) for sides in ((3, 2), (2, 3), (2, 2))] == [True, False, False]


def test_leaves_by_newton():
    assert rules.newton_value(6, 4, 1, 2, 0.5, 2.0) == -(0.5 * 3.0) / 3.0
    assert rules.newton_value(6, 0, 1, 0, 0.5, 0.0) == 0.0
    assert rules.newton_value(-6, 4, 1, 0, 1.0, 0.0) == 0.75


def test_light_nodes():
    """A node is light below 2**-8 of the weight that its exponents were chosen for."""
    assert boosting.are_light(np.array([1.0, 0.99, 256.0]), np.array([256.0, 256.0, 256.0])).tolist() == [False, True, False]


def test_derivatives_far_below_their_scale():
    """Which other exponents would show with so many bits more, or Hessians, where there are integers of these."""
    exponents = np.tile(boosting.gradient_exponents(np.ones((1, 2))), (5, 1)).reshape(5, 1, 2)
    for bits, are_leaves in ((16, False), (6, True)):
        below = 2.0**-bits
        largest = np.array([[[1.0, 1.0]], [[2.0 * below, 1.0]], [[below, 1.0]], [[1.0, below]], [[0.0, 1.0]]])
        assert boosting.are_far_below(largest, exponents, True, are_leaves).tolist() == [False, False, True, True, False]
        assert boosting.are_far_below(largest, exponents, False, are_leaves).tolist() == [False, False, True, False, False]


def test_sums_of_children_have_the_lower_exponents():
    """The last bits of the other sum are rounded, a half up: 10 / 8 to 1, and -5 / 2 to -2."""
    sums = np.zeros(5, record("df_gradient_sums"))
    sums[1:] = [(3, 7, 0, 4), (10, -5, 3, 5), (1, 1, 4, 100), (1, 1, 4, 4)]
    boosting.add_up_children(sums, np.array([0, 1]), np.array([1, 3]))
    assert sums[1].tolist() == (2, 1, 4, 4)  # written last
    assert sums[0].tolist() == (3 + 1, 7 - 2, 0, 4)


def test_long_steps_are_shortened():
    for step, damped in ((0.5, 0.5), (1.0, 1.0), (1.5, 1.0), (99.0, np.log(100.0)), (1e300, np.log(1e300))):
        assert rules.newton_value(-1, 1, 0, 0, step, 0.0) == step
        for rate in (1.0, 0.1, 2.0):
            value = rules.damped_value(step, rate)
            assert rules.damped_value(-step, rate) == -value
            np.testing.assert_allclose(value, min(rate * step, max(rate, 1.0) * damped), rtol=1e-15)
    for rate, most in ((0.5, 0.4), (0.6, 0.4), (1.0, 0.4), (1.5, 0.6)):  # of several classes, half is safe
        np.testing.assert_allclose(rules.damped_value(0.8, rate, n_sums=3), most, rtol=1e-15)
    assert rules.damped_value(np.inf, 0.1) == np.inf  # a bound that is none
    assert rules.newton_value(-50, 1, 0, 0, 1.0, 0.0, max_step=7.0) == 7.0
    assert rules.newton_value(50, 1, 0, 0, 0.1, 0.0, max_step=7.0, is_damped=True) == -0.1 * 7.0


@given(st.floats(0, 1e6), st.floats(0, 1))
def test_a_damped_step_never_raises_what_bounds_the_loss(step, rate):
    value = rules.damped_value(step, rate)
    assert np.expm1(value) - value - step * value <= 1e-12 * (1 + step * value)


def test_quantiles():
    values, weight = np.array([1.0, 2.0, 5.0]), np.array([1, 2, 1])
    assert [rules.quantile_of_sorted(values, weight, q) for q in (0.0, 0.2, 0.25, 0.5, 0.75, 0.8, 1.0)] == [
        1.0, 1.0, 1.5, 2.0, 3.5, 5.0, 5.0
    ]  # fmt: skip
    assert rules.quantile_of_sorted(np.arange(10.0), np.ones(10, np.int64), 0.1) == 0.5
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 30):
        x = np.sort(rng.normal(size=n))
        for q in (0.0, 0.1, 1 / 3, 0.5, 0.9, 1.0):
            expected = np.quantile(x, q, method="averaged_inverted_cdf")
            assert rules.quantile_of_sorted(x, np.ones(n, np.int64), q) == pytest.approx(expected, rel=1e-15)
            weight = rng.integers(1, 2**31, n)
            found = rules.quantile_of_sorted(x, weight, q)
            assert found == rules.quantile_of_sorted(x, weight * 4, q)


def test_hubers_leaves():
    residual = np.array([-9.0, 1.0, 2.0, 4.0, 50.0])
    # Less the median 2: -11, -1, 0, 2, 48, kept within 3: -3, -1, 0, 2, 3, of mean 0.2.
    found = rules.robust_step("huber", residual, np.ones(5, np.int64), 2.0, 3.0)
    assert found == pytest.approx(2.2, rel=1e-8)
    heavy = np.array([1, 2**31, 1, 1, 1])  # -1 counts nearly alone
    assert rules.robust_step("huber", residual, heavy, 2.0, 3.0) == pytest.approx(1.0, rel=1e-8)
    assert rules.robust_step("huber", residual, heavy, 2.0, 0.0) == 2.0


@pytest.mark.parametrize("loss", ["huber", "fair", "log_cosh"])
def test_robust_means_lose_less_than_medians(loss):
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        y = scale * rng.exponential(size=200)
        found = rules.robust_step(loss, y, np.ones(200, np.int64), np.median(y), 0.7)
        at = [np.sum(values(loss, np.full(200, where), y, 0.7)) for where in (found, np.median(y))]
        assert at[0] <= at[1] * (1 + 1e-12)
        assert found == pytest.approx(np.mean(y), rel=1e-2) or scale > 1e-3  # all are close by
