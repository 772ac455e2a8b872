"""The arithmetic of the naive twin of boosted trees has the bits of the compiled rules."""

import math
from itertools import product

import numpy as np
import pytest
from probes import boosting as boost_probe
from twins import boosted_cuts, boosting, gradients, losses

from dforest.core.boost import inverse_link
from dforest.rules import losses as compiled

ROW_LOSSES = [name for name in compiled.LOSSES if name != "multinomial"]
PARAMETER = {"quantile": 0.3, "huber": 0.7, "fair": 0.7, "focal": 1.5}
OF_CLASSES = ("log_loss", "focal", "exponential", "multinomial")


def targets(loss, score, n_classes=3):
    """Targets that a loss allows, which rise with a score."""
    if loss == "multinomial":
        return np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    if loss in OF_CLASSES:
        return (score > np.median(score)).astype(int)
    if loss in ("poisson", "gamma"):
        return np.exp(score / 4)
    return (score - score.min()) / np.ptp(score) if loss == "cross_entropy" else score


def test_functions_have_the_bits_of_the_compiled_ones():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-720, 720, 300), rng.normal(size=200), [0.0, -0.0, -1e300, 1e300]])
    assert [losses.exp(v) for v in x.tolist()] == boost_probe.elementary("exp", x).tolist()
    x = np.abs(x)
    assert [losses.log1p(v) for v in x.tolist()] == boost_probe.elementary("log1p", x).tolist()


@pytest.mark.parametrize("name", ROW_LOSSES)
def test_losses_have_the_bits_of_the_compiled_ones(name):
    rng = np.random.default_rng(0)
    raw = np.concatenate([rng.normal(size=300), rng.uniform(-40, 40, 300), [-1e4, 1e4, 0.0]])
    y, parameter = targets(name, rng.normal(size=len(raw))).astype(float), PARAMETER.get(name, 0.0)
    rows = list(zip(raw.tolist(), y.tolist(), strict=True))
    expected = [array.tolist() for array in compiled.derivatives(name, raw, y, parameter)]
    assert [list(d) for d in zip(*[losses.derivatives(name, f, v, parameter) for f, v in rows], strict=True)] == expected
    assert [losses.value(name, f, v, parameter) for f, v in rows] == compiled.values(name, raw, y, parameter).tolist()
    assert [losses.prediction(name, f) for f, _ in rows] == inverse_link.predictions(name, raw).tolist()
    assert (name in losses.CONSTANT_HESSIAN) == compiled.LOSSES[name].has_constant_hessian
    assert (name in losses.BY_QUANTILE) == (compiled.LOSSES[name].leaf != "newton")


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_multinomial_has_the_bits_of_the_compiled_one(n_classes):
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(300, n_classes)) * 10.0 ** rng.integers(-2, 3, (300, 1))
    raw[::5] = np.round(raw[::5])  # equal ones
    y = rng.integers(0, n_classes, 300)
    gradient, hessian = compiled.class_derivatives(raw, y)
    for i, f in enumerate(raw.tolist()):
        assert losses.class_derivatives(f, y[i]) == (gradient[i].tolist(), hessian[i].tolist())
    assert [losses.class_predictions(f) for f in raw.tolist()] == inverse_link.class_predictions(raw).tolist()
    assert [losses.class_value(f, v) for f, v in zip(raw.tolist(), y, strict=True)] == compiled.class_values(raw, y).tolist()


def compiled_baselines(loss, y, weight, n_classes):
    """By the quantile 0.25, where the loss has one."""
    if compiled.LOSSES[loss].leaf != "newton":
        return [compiled.weighted_quantile(y, 0.25 if loss == "quantile" else 0.5, weight)]
    return compiled.baselines(loss, y, weight, n_classes).tolist()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", compiled.LOSSES)
def test_baselines_have_the_bits_of_the_compiled_ones(loss, weighted):
    rng = np.random.default_rng(0)
    for n in (12, 200):
        y = targets(loss, np.round(rng.normal(size=n), 1))
        n_classes = 3 if loss == "multinomial" else 2
        weight = rng.integers(1, 2**31, n).astype(np.uint32) if weighted else None
        w = weight.tolist() if weighted else [1] * n
        found = compiled_baselines(loss, y.astype(float), weight, n_classes)
        assert found == losses.baselines(loss, y.tolist(), w, n_classes, 0.25)
        if not weighted:  # a weight of 1 is none
            assert found == compiled_baselines(loss, y.astype(float), np.ones(n, np.uint32), n_classes)


@pytest.mark.parametrize("seed", range(5))
def test_rules_have_the_bits_of_the_compiled_ones(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=200) * 10.0 ** rng.integers(-320, 300)
    for bits in (gradients.GRADIENT_BITS, 20):
        quantised, exponent = gradients.quantised_integers(x.tolist(), bits)
        assert exponent == boost_probe.fine_exponent(np.abs(x).max(), bits)
        assert quantised == boost_probe.quantised_integers(x, 2.0**exponent).tolist()
    magnitudes = np.abs(np.array(quantised, np.int32))
    for part, values in (("gradient", np.array(quantised, np.int32)), ("hessian", magnitudes)):
        shift = gradients.GRADIENT_SHIFT if part == "gradient" else gradients.HESSIAN_SHIFT
        assert gradients.narrow(values.tolist(), shift) == boost_probe.coarse_integers(values, "narrow", part).tolist()
    tail = np.floor(np.exp(rng.normal(size=300) * 2.5) * 100).astype(np.int64).tolist()
    expected = boost_probe.has_heavy_tail(max(tail), sum(tail), len(tail))
    assert gradients.has_heavy_tail(tail, [1] * len(tail)) == expected

    g, h = rng.integers(-(2**50), 2**50, 100), rng.integers(1, 2**55, 100)
    total = int(g.sum()), int(h.sum())
    for l2, exponent in ((0.0, 0), (1.0, 20), (0.3, -7)):
        scores, gains = boost_probe.cut_gains(l2, exponent, g, h, total)
        scaled = gradients.scaled(l2, exponent)
        for i in range(len(g)):
            left = int(g[i]), int(h[i])
            score = boosted_cuts.cut_score(scaled, left, (total[0] - left[0], total[1] - left[1]))
            assert (score, score - boosted_cuts.common_score(scaled, total)) == (scores[i], gains[i])

    integers = gradients.Integers("wide", g.tolist(), h.tolist(), g.tolist(), h.tolist(), (40, 33), (40, 33), 1.0, (), [])
    sums = int(g[:50].sum()), int(h[:50].sum())
    for l2, rate, most, is_damped, exponent in product((0.0, 0.7), (0.1, 1.0, 2.0), (0.01, math.inf), (True, False), (40, 20, 7)):
        for n_sums, l1 in ((1, 0.0), (3, 0.0), (1, 0.4), (1, 1e30)):
            limits = boosting.ValueLimits(rate, most, is_damped, n_sums)
            node = boosting.Node(list(range(50)), [integers._replace(exponents=(exponent, 33))])
            found = boosting.newton_value(node, 0, limits, l1, l2)
            assert found == boost_probe.newton_value(*sums, exponent, 33, rate, l2, most, is_damped, n_sums, l1)

    residual, weight = np.unique(rng.normal(size=60)), rng.integers(1, 2**31, 60)
    for q in (0.0, 0.1, 0.5, 0.77, 1.0):
        for w in (weight, np.ones(60, np.int64), np.full(60, 4)):
            expected = boost_probe.quantile_of_sorted(residual, w, q)
            assert losses.weighted_quantile(residual.tolist(), w.tolist(), q) == expected
    median = losses.weighted_quantile(residual.tolist(), weight.tolist(), 0.5)
    for loss, parameter in product(losses.ROBUST, (0.0, 0.3, 1e9)):
        if loss == "huber" or parameter:
            expected = boost_probe.robust_step(loss, residual, weight, median, parameter)
            assert boosting.refit(loss, residual.tolist(), weight.tolist(), parameter) == expected
