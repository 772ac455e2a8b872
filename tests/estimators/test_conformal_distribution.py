"""Conformal intervals of predicted distributions: against the twin, how many targets they hold, what is kept, what is refused."""

from pickle import dumps, loads

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from twins import intervals as twin

from dforest import HistGradientBoostingDistribution, load, serving
from dforest.core.boost.distributions import DISTRIBUTIONS
from dforest.distribution import PredictedDistribution, PythonDistribution
from dforest.estimators.results.conformal import between_tails, covering_rank, tails_of

NAMES = pytest.mark.parametrize("name", DISTRIBUTIONS)
FEW = {"max_iter": 15, "max_leaf_nodes": 7, "early_stopping": False, "random_state": 0}


class ZeroInflated(stats.rv_discrete):
    """Of a rate and a share of zeros besides."""

    def _pmf(self, k, rate, share):
        return (1 - share) * stats.poisson.pmf(k, rate) + share * (k == 0)

    def _cdf(self, k, rate, share):
        return share + (1 - share) * stats.poisson.cdf(k, rate)

    def _sf(self, k, rate, share):
        return np.where(k < 0, 1.0, (1 - share) * stats.poisson.sf(k, rate))

    def _argcheck(self, rate, share):
        return True


ZERO_INFLATED = ZeroInflated(name="zero_inflated")
SCIPY = {
    "normal": stats.norm,
    "lognormal": lambda location, scale: stats.lognorm(scale, scale=np.exp(location)),
    "gamma": lambda mean, shape: stats.gamma(shape, scale=mean / shape),
    "negative_binomial": lambda mean, size: stats.nbinom(size, size / (size + mean)),
    "student": lambda location, scale, freedom: stats.t(freedom, location, scale),
    "zero_inflated_poisson": ZERO_INFLATED,
}


def some(name):
    """Parameters of a few kinds of rows: ndarray of shape (n_kinds, n_parameters)."""
    one, other = {
        "normal": ((0.1, 3.3), (0.7, 2.0)),
        "lognormal": ((0.1, -1.3), (0.7, 1.1)),
        "gamma": ((0.3, 4.7), (0.6, 5.0)),
        "negative_binomial": ((0.3, 4.7), (0.6, 5.0)),
        "student": ((0.1, 3.3), (0.7, 2.0)),
        "zero_inflated_poisson": ((0.3, 4.7), (0.1, 0.6)),
    }[name]
    third = ((1.5, 4.0),) if name == "student" else ()
    return np.array(np.meshgrid(one, other, *third)).reshape(2 + len(third), -1).T


def drawn(draw, name, n):
    """The distributions of n rows, and targets, many of which are equal."""
    kinds, distribution = some(name), DISTRIBUTIONS[name]()
    chosen = kinds[draw(st.lists(st.integers(0, len(kinds) - 1), min_size=n, max_size=n))]
    y = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), float)
    y = {"counts": y, "above_0": (y + 1) * 0.7, "finite": (y - 5) * 0.7}[distribution.targets]
    return PredictedDistribution(distribution, chosen), y


@NAMES
@settings(max_examples=30)
@given(st.data(), st.integers(1, 25), st.integers(1, 99))
def test_intervals_are_those_of_the_twin(name, data, n, percent):
    predicted, y = drawn(data.draw, name, n)
    new, others = drawn(data.draw, name, 8)
    least = twin.covering_tail([SCIPY[name](*own) for own in predicted.parameters], y, percent / 100)
    ends = between_tails(new, np.sort(-tails_of(predicted, y)), percent / 100)
    for own, (low, high), median in zip(new.parameters, ends, new.median(), strict=True):
        for target in [*others, median]:
            tail = twin.tail(SCIPY[name](*own), target)
            if abs(tail - least) > 1e-9:
                alone = low == high == median == target  # an interval that would be empty
                assert (low <= target <= high) == (tail > least) or alone
    if least == 0:
        assert np.isinf(ends).all()


@NAMES
@settings(max_examples=40)
@given(st.data(), st.integers(2, 30), st.integers(2, 98))
def test_of_exchangeable_rows_as_many_are_held_as_asked(name, data, n, percent):
    """If each row in turn is the new one, this is no matter of chance, and holds although targets and predictions are equal."""
    predicted, y = drawn(data.draw, name, n)
    scores, level, n_held = -tails_of(predicted, y), percent / 100, 0
    for i in range(n):
        low, high = between_tails(predicted[i], np.sort(np.delete(scores, i)), level)[0]
        n_held += low <= y[i] <= high
    assert n_held >= covering_rank(level, n - 1)


def data_of(name, n, seed):
    """Rows, and targets that are not of the distribution: they vary more than it lets them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    noise = rng.standard_t(2, size=n) * np.exp(0.5 * X[:, 1])
    y = {"counts": np.floor(np.exp(0.4 * noise + 1 + 0.5 * X[:, 0])), "above_0": np.exp(X[:, 0] + 0.3 * noise)}
    return X, y.get(DISTRIBUTIONS[name].targets, X[:, 0] + noise)


@NAMES
def test_as_many_targets_are_held_as_asked(name):
    X, y = data_of(name, 5400, 0)
    model = HistGradientBoostingDistribution(name, **FEW).fit(X[:400], y[:400])
    is_count = DISTRIBUTIONS[name].targets == "counts"
    for level in (0.8, 0.9):
        shares, plain = [], model.predict_interval(X[3400:], level, "quantiles")
        for first in range(400, 3400, 200):
            rows = slice(first, first + 200)
            low, high = model.conformalize(X[rows], y[rows]).predict_interval(X[3400:], level).T
            shares.append(np.mean((low <= y[3400:]) & (y[3400:] <= high)))
        assert -0.02 < np.mean(shares) - level < (0.1 if is_count else 0.02)
        assert model.predict_interval(X[3400:], level, "quantiles").tobytes() == plain.tobytes()
        vars(model).pop("conformal_scores_")
        assert model.predict_interval(X[3400:], level).tobytes() == plain.tobytes()


def test_tails_are_exact_far_out():
    """The 60th standard deviation is not the 9th, although the probability of less is 1 at both; what has no tail is infinite."""
    predicted = PredictedDistribution(DISTRIBUTIONS["normal"](), np.array([[0.0, 1.0]] * 4))
    tails = tails_of(predicted, np.array([9.0, -9.0, 30.0, 60.0]))
    assert tails[0] == tails[1] > tails[2] > tails[3] == 0
    scores = np.sort(-tails)
    low, high = between_tails(predicted[0], scores, 0.6)[0]
    assert high == -low == pytest.approx(30.0, rel=1e-12)
    assert np.isinf(between_tails(predicted[0], scores, 0.8)).all()


class OwnPoisson(PythonDistribution):
    parameter_names = ("rate",)

    def gradient_hessian(self, y_true, raw_prediction):
        rate = np.exp(raw_prediction)
        return rate - y_true, (rate + y_true) / 2

    def loss(self, y_true, raw_prediction):
        return np.exp(raw_prediction) - y_true * raw_prediction

    def inverse_link(self, raw_prediction):
        return np.exp(raw_prediction)

    def mean(self, rate):
        return rate

    def cdf(self, y, rate):
        return np.where(y < 0, 0.0, special.pdtr(np.floor(np.maximum(y, 0)), rate))

    def quantile(self, q, rate):
        return stats.poisson.ppf(q, rate)


class WithoutQuantiles(OwnPoisson):
    quantile = None


class NotBelowZero(OwnPoisson):
    def cdf(self, y, rate):
        return special.pdtr(np.floor(y), rate)


def test_own_distributions():
    X, _ = data_of("negative_binomial", 2400, 0)
    y = np.random.default_rng(1).negative_binomial(3, 3 / (3 + np.exp(1 + 0.5 * X[:, 0]))).astype(float)
    model = HistGradientBoostingDistribution(OwnPoisson(), **FEW).fit(X[:400], y[:400]).conformalize(X[400:1400], y[400:1400])
    ends = model.predict_interval(X[1400:])
    assert ((ends[:, 0] <= y[1400:]) & (y[1400:] <= ends[:, 1])).mean() > 0.88
    rates = model.predict_distribution(X).rate
    least = twin.covering_tail([stats.poisson(rate) for rate in rates[400:1400]], y[400:1400], 0.9)
    for rate, (low, high) in zip(rates[1400:1600], ends, strict=False):
        held = [k for k in range(60) if twin.tail(stats.poisson(rate), k) >= least * (1 - 1e-9)]
        assert low <= held[0] < low + 1 and held[-1] <= high < held[-1] + 1
    wrong = HistGradientBoostingDistribution(NotBelowZero(), **FEW).fit(X[:400], y[:400])
    with pytest.raises(ValueError, match="NotBelowZero.cdf is no number from 0 to 1 at a target of .*, or just below"):
        wrong.conformalize(X[400:], y[400:])
    model = HistGradientBoostingDistribution(WithoutQuantiles(), **FEW).fit(X[:400], y[:400]).conformalize(X[400:], y[400:])
    with pytest.raises(NotImplementedError, match="WithoutQuantiles does not define quantile"):
        model.predict_interval(X)


def test_training_rows_out_of_fold():
    X, y = data_of("normal", 300, 1)
    y, weight = 5 * X[:, 0] + y, np.ones(300)
    weight[::10] = 0.0
    model = HistGradientBoostingDistribution(max_iter=20, early_stopping=True, validation_folds=5, random_state=0)
    model.fit(X, y, weight)
    known = weight > 0
    assert model.oof_parameters_.shape == (300, 2) and np.isnan(model.oof_parameters_[~known]).all()
    np.testing.assert_array_equal(model.oof_parameters_[:, 0], model.oof_prediction_)
    model.conformalize(None, y)
    predicted = PredictedDistribution(model._loss.loss, model.oof_parameters_[known])
    assert model.conformal_scores_[0].tobytes() == np.sort(-tails_of(predicted, y[known])).tobytes()
    assert not hasattr(model.fit(X, y), "conformal_scores_")
    model.set_params(early_stopping=False).fit(X, y)
    assert not hasattr(model, "oof_parameters_")
    with pytest.raises(ValueError, match="X=None, but fit has held no rows out in turn; allowed are"):
        model.conformalize(None, y)


def test_offsets():
    X, y = data_of("normal", 600, 2)
    loss, far = DISTRIBUTIONS["normal"](unit=1.0), np.tile([100.0, 0.0], (600, 1))
    model = HistGradientBoostingDistribution(loss, **FEW).fit(X[:300], y[:300] + 100, offset=far[:300])
    model.conformalize(X[300:], y[300:] + 100, offset=far[300:])
    low, high = model.predict_interval(X, offset=far).T
    assert np.mean((low <= y + 100) & (y + 100 <= high)) > 0.85


def test_files(tmp_path):
    X, y = data_of("gamma", 400, 3)
    model = HistGradientBoostingDistribution("gamma", **FEW).fit(X, y).conformalize(X, y)
    expected = model.predict_interval(X, 0.8).tobytes()
    assert expected != model.predict_interval(X, 0.8, "quantiles").tobytes()
    model.save(tmp_path / "model.safetensors")
    for found in (load(tmp_path / "model.safetensors"), serving.load(tmp_path / "model.safetensors"), loads(dumps(model))):
        assert found.predict_interval(X, 0.8).tobytes() == expected
    state = model.__getstate__()
    scores = state["conformal_scores_"]
    for damaged, error in ((scores[:0], ValueError), (-scores, ValueError), ([1.0], TypeError)):
        with pytest.raises(error, match="conformal_scores_"):
            HistGradientBoostingDistribution().__setstate__(state | {"conformal_scores_": damaged})


def test_refused():
    X, y = data_of("gamma", 60, 4)
    model = HistGradientBoostingDistribution("gamma", **FEW).fit(X, y)
    with pytest.raises(ValueError, match=r'method="conformal" needs rows .*; allowed without is method="quantiles"$'):
        model.predict_interval(X, method="conformal")
    with pytest.raises(ValueError, match="method='x'; allowed are \"conformal\" and \"quantiles\""):
        model.predict_interval(X, method="x")
    with pytest.raises(ValueError, match='y holds -.*; allowed with loss="gamma" are numbers above 0'):
        model.conformalize(X, -y)
    model.conformalize(X, y)
    with pytest.raises(ValueError, match='n_iter=3 with method="conformal", whose scores are those of all iterations; allowed'):
        model.predict_interval(X, n_iter=3)
    assert model.predict_interval(X, method="quantiles", n_iter=3).shape == (60, 2)
    with pytest.raises(ValueError, match="level=1; allowed are numbers above 0 and below 1"):
        model.predict_interval(X, level=1)
