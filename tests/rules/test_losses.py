"""The losses of boosted trees (rules/losses.h) and the functions they are made of, against exact numbers and scikit-learn."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from probes import boosting
from sklearn._loss import loss as sk

from dforest.core.boost import inverse_link
from dforest.rules import losses

ROW_LOSSES = [name for name in losses.LOSSES if name != "multinomial"]
PARAMETER = {"quantile": 0.3, "huber": 0.7, "fair": 0.8, "tweedie": 1.6, "focal": 1.7}
OF_SKLEARN = {
    "squared_error": sk.HalfSquaredError(),
    "absolute_error": sk.AbsoluteError(),
    "quantile": sk.PinballLoss(quantile=0.3),
    "huber": sk.HuberLoss(delta=0.7),
    "poisson": sk.HalfPoissonLoss(),
    "gamma": sk.HalfGammaLoss(),
    "tweedie": sk.HalfTweedieLoss(power=1.6),
    "log_loss": sk.HalfBinomialLoss(),
    "cross_entropy": sk.HalfBinomialLoss(),
    "exponential": sk.ExponentialLoss(),
}


def targets(name, n, rng):
    """Random targets that a loss allows, 0 among them where it may be."""
    kind = losses.LOSSES[name].targets
    if kind in ("two_classes", "classes"):
        return rng.integers(0, 2, n).astype(float)
    if kind == "to_1":
        return np.append(rng.random(n - 2), [0.0, 1.0])
    y = rng.normal(size=n) if kind == "finite" else rng.exponential(size=n)
    if kind == "from_0":
        y[::3] = 0.0
    return y


def ulps(x, found, exact_of):
    """The largest error of a function's values, in units in the last place of the exact ones, with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        worst = 0.0
        for u, v in zip(x.tolist(), found.tolist(), strict=True):
            exact = exact_of(Decimal(u))
            worst = max(worst, float(abs(Decimal(v) - exact) / Decimal(math.ulp(float(exact)))))
    return worst


def test_exp_is_exact_to_a_unit():
    rng = np.random.default_rng(0)
    halves = np.log(2) * (np.arange(-1020, 1022) + 0.5)  # where the power of two changes, and the series ends
    x = np.concatenate([
        rng.uniform(-708, 709, 3000), rng.normal(size=2000), halves, np.nextafter(halves, 800), [-708.0, 709.0],
        rng.normal(size=1000) * 2.0 ** rng.integers(-80, 0, 1000),
    ])  # fmt: skip
    assert ulps(x, boosting.elementary("exp", x), Decimal.exp) < 1.0


def test_exp_keeps_within_bounds():
    x = np.array([0.0, -0.0, -708.0, -709.0, -1e300, -np.inf, 709.0, 710.0, 1e300, np.inf])
    found = boosting.elementary("exp", x)
    assert found[:2].tolist() == [1.0, 1.0]
    assert (found[2:6] == found[2]).all() and found[2] > np.finfo(float).tiny
    assert (found[6:] == found[6]).all() and found[6] < np.inf
    assert np.isnan(boosting.elementary("exp", np.array([np.nan]))).all()


@pytest.mark.parametrize("around", [-708.0, -37.0, 0.0, 1e-300, 37.0, 709.0])
def test_exp_rises_near_its_bounds(around):
    steps = np.sort(np.concatenate([around + np.arange(-2000, 2000) * 2.0**-45, [around]]))
    assert (np.diff(boosting.elementary("exp", steps)) >= 0.0).all()
    x = np.linspace(-720, 720, 200_001)
    assert (np.diff(boosting.elementary("exp", x)) >= 0.0).all()


def test_logarithms_are_exact_to_two_units():
    rng = np.random.default_rng(0)
    near_1 = 1.0 + rng.normal(size=1000) * 2.0 ** rng.integers(-50, -3, 1000)
    x = np.concatenate([rng.uniform(0.5, 2, 4000), 2.0 ** rng.uniform(-1000, 1000, 3000), near_1[near_1 != 1.0]])
    assert ulps(x, boosting.elementary("log", x), Decimal.ln) < 2.0
    x = np.concatenate([rng.uniform(0, 2, 4000), 2.0 ** rng.uniform(-60, 60, 2000), [0.41, np.nextafter(0.41, 1)]])
    assert ulps(x, boosting.elementary("log1p", x), lambda u: (1 + u).ln()) < 2.0
    assert boosting.elementary("log1p", np.array([0.0, 1e-300])).tolist() == [0.0, 1e-300]
    assert boosting.elementary("log", np.array([1.0])).tolist() == [0.0]


def test_what_is_known_of_losses():
    constant = {name for name, loss in losses.LOSSES.items() if loss.has_constant_hessian}
    assert constant == {"squared_error", "absolute_error", "quantile", "huber", "fair", "log_cosh", "mape"}
    assert [loss.number for loss in losses.LOSSES.values()] == list(range(15))
    assert {name: loss.leaf for name, loss in losses.LOSSES.items() if loss.leaf != "newton"} == {
        "absolute_error": "median", "quantile": "quantile", "huber": "robust", "fair": "robust", "log_cosh": "robust",
        "mape": "relative",
    }  # fmt: skip
    assert losses.LOSSES["poisson"].targets == losses.LOSSES["tweedie"].targets == "from_0"
    assert losses.LOSSES["gamma"].targets == "above_0" and losses.LOSSES["cross_entropy"].targets == "to_1"
    assert losses.LOSSES["exponential"].targets == "two_classes" and losses.LOSSES["multinomial"].targets == "classes"


@pytest.mark.parametrize("name", OF_SKLEARN)
def test_losses_are_those_of_scikit_learn(name):
    rng = np.random.default_rng(0)
    raw = np.concatenate([rng.normal(size=500), rng.uniform(-30, 30, 500)])
    y, parameter = targets(name, len(raw), rng), PARAMETER.get(name, 0.0)
    gradient, hessian = losses.derivatives(name, raw, y, parameter)
    theirs = OF_SKLEARN[name]
    their_gradient, their_hessian = theirs.gradient_hessian(y, raw)
    few_ulps = dict(rtol=3e-15, atol=0.0)
    scale = np.abs(their_hessian) + y if name in ("poisson", "gamma") else np.ones(len(y))  # terms that may cancel
    if name == "log_loss":
        np.testing.assert_allclose(gradient, their_gradient, **few_ulps)
    else:
        np.testing.assert_allclose(gradient / scale, their_gradient / scale, rtol=3e-15, atol=3e-16)
    if losses.LOSSES[name].has_constant_hessian:
        assert (hessian == 1.0).all()
    else:
        np.testing.assert_allclose(hessian, their_hessian, **few_ulps)
    np.testing.assert_allclose(inverse_link.predictions(name, raw), theirs.link.inverse(raw), **few_ulps)
    found, expected = losses.values(name, raw, y, parameter), theirs.loss(y, raw)
    np.testing.assert_allclose(found, expected, rtol=3e-15, atol=3e-15 * (np.abs(raw) * (1 + y)).max())


@pytest.mark.parametrize("name", ROW_LOSSES)
def test_derivatives_are_differences_of_losses(name):
    rng = np.random.default_rng(1)
    raw = rng.uniform(-3, 3, 300)
    y, parameter = targets(name, len(raw), rng), PARAMETER.get(name, 0.0)
    step = 2.0**-17
    smooth = np.ones(len(raw), bool)
    if name in ("absolute_error", "quantile", "mape"):
        smooth = np.abs(raw - y) > step
    below, at, above = (losses.values(name, raw + d, y, parameter) for d in (-step, 0.0, step))
    gradient, hessian = losses.derivatives(name, raw, y, parameter)
    np.testing.assert_allclose(gradient[smooth], ((above - below) / (2 * step))[smooth], rtol=1e-5, atol=1e-5)
    if name == "squared_error" or not losses.LOSSES[name].has_constant_hessian and name != "focal":
        np.testing.assert_allclose(hessian, (above - 2 * at + below) / step**2, rtol=1e-3, atol=1e-4)


def test_nothing_is_lost_far_from_0():
    """Of log loss: a probability close to 0, or to 1, keeps all of its digits, as a gradient and as a hessian."""
    raw = np.array([40.0, 100.0, 700.0])
    small = np.exp(-raw)
    zeros, ones = np.zeros(3), np.ones(3)
    for far, y, sign in ((-raw, zeros, 1), (raw, ones, -1)):
        gradient, hessian = losses.derivatives("log_loss", far, y)
        np.testing.assert_allclose(gradient, sign * small, rtol=1e-15)
        np.testing.assert_allclose(hessian, small, rtol=1e-15)
        np.testing.assert_allclose(losses.values("log_loss", far, y), small, rtol=1e-15)
    for far, y in ((raw, zeros), (-raw, ones)):  # the wrong side
        assert losses.derivatives("log_loss", far, y)[0].tolist() == [1.0 - 2.0 * y[0]] * 3
        np.testing.assert_array_equal(losses.values("log_loss", far, y), raw)


@pytest.mark.parametrize("name", ROW_LOSSES)
def test_derivatives_are_finite(name):
    raw = np.array([-1e300, -1e4, -710.0, 710.0, 1e4, 1e300])
    kind = losses.LOSSES[name].targets
    for target in {"two_classes": (0.0, 1.0), "to_1": (0.0, 1e-300, 0.5, 1.0)}.get(kind, (1e-300, 1.0, 1e300)):
        for found in losses.derivatives(name, raw, np.full(6, target), PARAMETER.get(name, 0.0)):
            assert np.isfinite(found).all()
        assert (losses.derivatives(name, raw, np.full(6, target), PARAMETER.get(name, 0.0))[1] >= 0.0).all()


def test_classes_that_change_places_change_signs():
    raw = np.random.default_rng(0).normal(size=200) * 20
    for name in ("log_loss", "focal", "exponential"):
        g0, h0 = losses.derivatives(name, raw, np.zeros(200), PARAMETER.get(name, 0.0))
        g1, h1 = losses.derivatives(name, -raw, np.ones(200), PARAMETER.get(name, 0.0))
        np.testing.assert_array_equal(g0, -g1)
        np.testing.assert_array_equal(h0, h1)


def test_focal_loss_without_a_power_is_log_loss():
    rng = np.random.default_rng(0)
    raw, y = rng.normal(size=300) * 20, rng.integers(0, 2, 300).astype(float)
    assert np.array_equal(losses.derivatives("focal", raw, y, 0.0), losses.derivatives("log_loss", raw, y))
    assert np.array_equal(losses.values("focal", raw, y, 0.0), losses.values("log_loss", raw, y))


def test_focal_loss_is_the_formula():
    raw = np.linspace(-30, 30, 101)
    expected = np.logaddexp(0, -raw) / (1 + np.exp(raw)) ** 2
    np.testing.assert_allclose(losses.values("focal", raw, np.ones(101), 2.0), expected, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.5, 2.0, 5.0])
def test_the_second_derivative_of_focal_loss_is_at_most_what_stands_for_it(gamma):
    raw = np.linspace(-8, 8, 1601)
    gradient, hessian = losses.derivatives("focal", raw, np.ones(1601), gamma)
    exact = np.gradient(gradient, raw)
    assert (exact[1:-1] <= hessian[1:-1] * (1 + 1e-4) + 1e-7).all() and (hessian > 0).all() and (exact < 0).any()
    np.testing.assert_allclose(exact[1500:-1], hessian[1500:-1], rtol=0.02)  # well told


@pytest.mark.parametrize("name", ["fair", "log_cosh"])
def test_second_derivatives_are_at_most_the_1_that_stands_for_them(name):
    raw = np.linspace(-10, 10, 2001)
    gradient = losses.derivatives(name, raw, np.zeros(2001), 0.5)[0]
    slope = np.diff(gradient) / np.diff(raw)
    assert (slope > 0).all() and 0.95 < slope.max() < 1 + 1e-9
    assert np.abs(gradient).max() <= losses.most_robust_term(name, 0.5)


def test_losses_near_and_far_from_targets():
    """Squares close by, distances far off, and percentages of targets beyond 1."""
    near, far, zero = np.array([1e-4]), np.array([1e8]), np.zeros(1)
    for name, slope in (("fair", 2.0), ("log_cosh", 1.0)):
        assert losses.values(name, near, zero, 2.0)[0] == pytest.approx(0.5 * near[0] ** 2, rel=1e-3)
        assert losses.values(name, far, zero, 2.0)[0] == pytest.approx(slope * far[0], rel=1e-5)
    assert losses.values("mape", np.array([0.2, 3.0]), np.array([-0.3, -4.0])).tolist() == [0.5, 7.0 / 4.0]
    assert losses.relative_weights(np.array([0.2, -4.0]), np.array([3.0, 2.0])).tolist() == [3.0, 0.5]


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_multinomial_is_that_of_scikit_learn(n_classes, spread):
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(300, n_classes)) * spread
    raw[::7] = np.round(raw[::7])  # equal ones
    y = rng.integers(0, n_classes, 300)
    theirs = sk.HalfMultinomialLoss(n_classes=n_classes)
    gradient, hessian = losses.class_derivatives(raw, y)
    their_gradient, their_hessian = theirs.gradient_hessian(y.astype(float), raw)
    np.testing.assert_allclose(gradient, their_gradient, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(hessian, their_hessian, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(inverse_link.class_predictions(raw), theirs.link.inverse(raw), rtol=1e-13, atol=0)
    np.testing.assert_allclose(losses.class_values(raw, y), theirs.loss(y.astype(float), raw), rtol=1e-13, atol=1e-13)
    # Of two classes it is log loss, to the last digits even where a probability is close to 1.
    if n_classes == 2:
        difference = np.ascontiguousarray(raw[:, 1] - raw[:, 0])
        g, h = losses.derivatives("log_loss", difference, y.astype(float))
        np.testing.assert_allclose(gradient[:, 1], g, rtol=2e-15)
        np.testing.assert_allclose(hessian[:, 0], h, rtol=2e-15)
        expected = losses.values("log_loss", difference, y.astype(float))
        np.testing.assert_allclose(losses.class_values(raw, y), expected, rtol=2e-15)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="loss='multinomial'; allowed are"):
        losses.derivatives("multinomial", np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="raw has 2 rows, y has 3"):
        losses.values("poisson", np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="y has classes from 0 to 3; allowed are 0 to 2"):
        losses.class_derivatives(np.zeros((2, 3)), np.array([0, 3]))
