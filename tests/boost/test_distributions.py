"""The formulas of distributions: derivatives by differences, informations by simulated targets, and what SciPy says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.integrate import quad
from scipy.optimize import minimize

from dforest.core.boost import distributions as formulas
from dforest.core.boost.distributions import DISTRIBUTIONS
from dforest.distribution import PredictedDistribution
from dforest.estimators.boosting.losses import OwnLoss
from dforest.estimators.boosting.starts import unit_of
from dforest.estimators.results.densities import DENSITIES
from dforest.spmd.communicator import ALONE

NAMES = pytest.mark.parametrize("name", DISTRIBUTIONS)
SEEDS = st.integers(0, 2**32 - 1)
# Parameters that targets are drawn by, ordinary and extreme.
PARAMETERS = {
    "normal": [(3, 2), (1e6, 1e-3), (0, 1e9)],
    "lognormal": [(1, 0.5), (-20, 3)],
    "gamma": [(5, 2), (1e-3, 0.05), (1e5, 300)],
    "negative_binomial": [(3, 2), (0.05, 0.5), (1000, 0.3), (0.3, 3)],
    "student": [(1, 2, 1.3), (0, 1, 5), (5, 1e-3, 3)],
    "zero_inflated_poisson": [(3, 0.2), (0.5, 0.5), (20, 0.9)],
}
IN_SCIPY = {
    "normal": lambda location, scale: stats.norm(location, scale),
    "lognormal": lambda location, scale: stats.lognorm(scale, scale=np.exp(location)),
    "gamma": lambda mean, shape: stats.gamma(shape, scale=mean / shape),
    "negative_binomial": lambda mean, size: stats.nbinom(size, size / (size + mean)),
    "student": lambda location, scale, freedom: stats.t(freedom, location, scale),
}
COUNTS = "negative_binomial", "zero_inflated_poisson"


def configured(name, unit=2.0):
    kind = DISTRIBUTIONS[name]
    return (kind(unit) if kind.parameters else kind()).configured(0)


def drawn(name, rng, n, parameters):
    return DENSITIES[name].sample(rng, (n,), *[np.full(n, parameter) for parameter in parameters])


def test_gamma_functions_are_those_of_scipy():
    x = 10.0 ** np.linspace(-8, 12, 2001)
    rest, log_gamma, less_digamma, digamma, less_inverse, trigamma = formulas.special_functions(x)
    for found, expected in ((log_gamma, special.gammaln(x)), (digamma, special.digamma(x)), (trigamma, special.polygamma(1, x))):
        np.testing.assert_allclose(found, expected, rtol=2e-13, atol=1e-13)
    small = x < 100
    np.testing.assert_allclose(rest[small], (special.gammaln(x) - (x - 0.5) * np.log(x) + x)[small], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(less_digamma[small], (np.log(x) - special.digamma(x))[small], rtol=1e-11)
    np.testing.assert_allclose(less_inverse[small], (special.polygamma(1, x) - 1 / x)[small], rtol=1e-10)
    large = x > 1e4  # where differences would lose all digits
    np.testing.assert_allclose(less_digamma[large], 1 / (2 * x[large]) + 1 / (12 * x[large] ** 2), rtol=1e-13)
    np.testing.assert_allclose(less_inverse[large], 1 / (2 * x[large] ** 2) + 1 / (6 * x[large] ** 3), rtol=1e-13)


@NAMES
@given(seed=SEEDS)
def test_derivatives_are_those_of_the_loss(name, seed):
    rng, loss, step = np.random.default_rng(seed), configured(name), 1e-5
    raw = rng.normal(scale=rng.choice([0.3, 1.0, 2.0]), size=(50, loss.n_outputs))
    y = DENSITIES[name].sample(rng, (50,), *loss.predictions(raw).T)
    y = np.maximum(y, 1e-290) if DISTRIBUTIONS[name].targets == "above_0" else y
    gradient, information = loss.derivatives(y, raw)
    assert (information >= 0).all()
    if name not in ("normal", "lognormal", "student"):
        assert (np.abs(gradient) <= 2 * information * (1 + 1e-12)).all()  # no step is longer than 2
    for k in range(loss.n_outputs):
        ahead, back = raw.copy(), raw.copy()
        ahead[:, k] += step
        back[:, k] -= step
        slope = (loss.values(y, ahead) - loss.values(y, back)) / (2 * step)
        np.testing.assert_allclose(gradient[:, k], slope, rtol=1e-5, atol=1e-5 * (1 + np.abs(gradient[:, k]).max()) + 1e-6)


@NAMES
def test_information_is_that_of_fisher_or_more(name):
    rng, loss, n = np.random.default_rng(1), configured(name), 200_000
    for raw in rng.normal(size=(4, loss.n_outputs)):
        rows = np.tile(raw, (n, 1))
        y = drawn(name, rng, n, loss.predictions(raw[None])[0])
        gradient, information = loss.derivatives(y, rows)
        assert (np.abs(gradient.mean(axis=0)) < 5 * gradient.std(axis=0) / n**0.5).all()
        fisher, found = (gradient**2).mean(axis=0), information.mean(axis=0)
        if name in ("normal", "lognormal", "gamma"):
            np.testing.assert_allclose(found, fisher, rtol=0.04)
        else:
            assert (found > 0.9 * fisher).all()


@pytest.mark.parametrize("size", [0.01, 0.3, 1.0, 7.0, 100.0])
@pytest.mark.parametrize("mean", [0.01, 0.3, 2.0, 30.0, 1000.0])
def test_information_of_sizes_is_near_fishers(mean, size):
    # The information by Stirling's sum: r^2 * sum of P(Y > j) / (r + j)^2, less r m / (r + m).
    j = np.arange(200_000)
    tail = stats.nbinom(size, size / (size + mean)).sf(j)
    fisher = size**2 * (tail / (size + j) ** 2).sum() - size * mean / (size + mean)
    assert 0.5 < formulas.size_information(mean, size) / fisher < 2.5


@NAMES
@given(seed=SEEDS)
def test_losses_are_minus_log_densities(name, seed):
    rng, loss = np.random.default_rng(seed), configured(name, unit=4.0)
    raw = rng.normal(scale=1.5, size=(40, loss.n_outputs))
    parameters = loss.predictions(raw)
    y = DENSITIES[name].sample(rng, (40,), *parameters.T)
    y = np.maximum(y, 1e-290) if DISTRIBUTIONS[name].targets == "above_0" else y
    found = PredictedDistribution(loss, parameters).log_density(y)
    np.testing.assert_allclose(-loss.values(y, raw), found, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", IN_SCIPY)
def test_densities_are_those_of_scipy(name):
    for parameters in PARAMETERS[name]:
        scipys, rows = IN_SCIPY[name](*parameters), PredictedDistribution(configured(name), np.array([parameters], float))
        y = scipys.ppf(np.linspace(0.01, 0.99, 37))
        logs = scipys.logpmf(y) if name in COUNTS else scipys.logpdf(y)
        np.testing.assert_allclose(rows.log_density(y[None])[0], logs, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(rows.cdf(y[None])[0], scipys.cdf(y), rtol=1e-8)
        np.testing.assert_allclose(rows.quantile(np.linspace(0.01, 0.99, 37))[0], y, rtol=1e-7)
        np.testing.assert_allclose(rows.mean()[0], scipys.mean(), rtol=1e-10)
        np.testing.assert_allclose(rows.variance()[0], scipys.var(), rtol=1e-8)


@NAMES
def test_crps_is_the_integral(name):
    for parameters in [*PARAMETERS[name][:1], *PARAMETERS[name][-1:]]:
        rows = PredictedDistribution(configured(name), np.array([parameters], float))
        low, high = rows.quantile([1e-9, 1 - 1e-9])[0]
        for y in rows.quantile([0.1, 0.5, 0.97])[0]:
            if name in COUNTS:
                counts = np.arange(0, 2 * high + 50)
                expected = ((rows.cdf(counts[None])[0] - (counts >= y)) ** 2).sum()
            elif name == "student":
                q = (np.arange(400_000) + 0.5) / 400_000  # the mean of pinball losses of quantiles, twice
                quantiles = rows.quantile(q)[0]
                expected = 2 * np.mean(np.where(y > quantiles, q, q - 1) * (y - quantiles))
            else:
                ends = np.unique([low, *rows.quantile(1 / (1 + np.exp(-np.arange(-15.0, 16.0))))[0], y, high])
                expected = sum(
                    quad(lambda t, y=y, rows=rows: (rows.cdf(t)[0] - (t >= y)) ** 2, a, b, limit=200)[0]
                    for a, b in zip(ends[:-1], ends[1:], strict=True)
                )
            np.testing.assert_allclose(rows.crps(y)[0], expected, rtol=2e-3 if name == "student" else 1e-5)


@NAMES
@pytest.mark.parametrize("is_weighted", [False, True])
def test_constants_have_the_greatest_likelihood(name, is_weighted):
    rng, kind, n = np.random.default_rng(3), DISTRIBUTIONS[name], 1500
    for parameters in PARAMETERS[name]:
        y = drawn(name, rng, n, parameters)
        weight = rng.integers(1, 5, n).astype(float) if is_weighted else None
        loss = kind(unit_of(kind(), y, weight, ALONE)) if kind.parameters else kind()
        own = OwnLoss(loss, one_tree=True)
        found = np.array(own.baseline(y, weight, ALONE))

        def mean_loss(raw, own=own, y=y, weight=weight):
            return np.average(own.values(np.tile(raw, (len(y), 1)), y), weights=weight)

        best = minimize(mean_loss, found, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-11, "maxiter": 3000})
        assert mean_loss(found) < best.fun + 1e-5 * max(1.0, abs(best.fun))
        if is_weighted:  # whole weights are rows that are there several times
            repeated = np.array(own.baseline(np.repeat(y, weight.astype(int)), None, ALONE))
            np.testing.assert_allclose(repeated, found, rtol=1e-9)


def test_steps_of_extreme_rows_are_finite():
    for name in DISTRIBUTIONS:
        loss = configured(name)
        raw = np.array([[a, b, c][: loss.n_outputs] for a in (-1e3, 0, 1e3) for b in (-1e3, 0, 1e3) for c in (-50, 50)], float)
        for y in (0.0, 1.0, 1e9, 1e150):
            if y > 2**53 and name in COUNTS or y == 0 and DISTRIBUTIONS[name].targets == "above_0":
                continue
            gradient, information = loss.derivatives(np.full(len(raw), y), raw)
            assert (information >= 0).all()
            assert np.isfinite(loss.values(np.full(len(raw), y), raw)).all()
            # Nothing leads farther out of the range.
            assert (gradient[raw[:, 1] < -500, 1] <= 0).all() and (gradient[raw[:, 1] > 500, 1] >= 0).all()
