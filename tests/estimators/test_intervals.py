"""Intervals around predictions: against the twin, and how many targets they cover."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from twins import intervals as twin

import dforest.estimators.results.intervals
from dforest import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

METHODS = ["oob", "conformal", "jackknife+ab", "infinitesimal"]
X, Y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(8),
        RandomForestRegressor(60, max_samples=0.3, min_samples_leaf=3),
        RandomForestRegressor(40, criterion="absolute_error", max_depth=3),
        ExtraTreesRegressor(30, bootstrap=True),
    ],
    ids=lambda model: repr(model).replace("\n", ""),
)
def test_intervals_are_those_of_the_twin(model, method, level, monkeypatch):
    rows, y, new = X[:60], Y[:60], X[60:90]
    model = clone(model).set_params(keep_training_data=True, random_state=1).fit(rows, y)
    expected = intervals_of_twin(model, method, level, rows, y, new)
    for n_bytes in (1 << 26, 1 << 12, 1):
        monkeypatch.setattr(dforest.estimators.results.intervals, "BLOCK_BYTES", n_bytes)
        found = model.predict_interval(new, level, method)
        assert found.shape == (30, 2)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def intervals_of_twin(model, method, level, rows, y, new, output=()):
    """The intervals of new rows by the twin, from what trees grown on some rows predict of an output."""
    counts = np.array([model.forest_.row_counts(t) for t in range(len(model))]).T
    there, trees = (
        np.array([tree.predict(part)[(slice(None), *output)] for tree in model.estimators_]).T for part in (new, rows)
    )
    if method == "conformal":
        there, leaves = model.apply(new), model.apply(rows)
        return [twin.by_quantiles(own, leaves, counts.astype(float), y, level) for own in there]
    if method == "infinitesimal":
        return [twin.by_infinitesimal_jackknife(own, counts, level) for own in there]
    rule = twin.by_errors if method == "oob" else twin.by_jackknife
    return [rule(own, trees, counts, y, level) for own in there]


@pytest.mark.parametrize("method", METHODS)
def test_each_of_several_outputs_has_intervals_of_its_own(method):
    rows, new, y = X[:60], X[60:90], np.stack([Y[:60], -100 * X[:60, 2], Y[1:61] ** 2], axis=1)
    model = RandomForestRegressor(40, keep_training_data=True, random_state=1).fit(rows, y)
    found = model.predict_interval(new, 0.8, method)
    assert found.shape == (30, 3, 2)
    for output in range(3):
        expected = intervals_of_twin(model, method, 0.8, rows, y[:, output], new, (output,))
        np.testing.assert_allclose(found[:, output], expected, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("power", [-900, 900])
def test_the_unit_of_targets_is_the_unit_of_intervals(method, power):
    model = RandomForestRegressor(60, keep_training_data=True, random_state=0)
    found, scaled = (model.fit(X, np.ldexp(Y, k)).predict_interval(X[:9], 0.9, method) for k in (0, power))
    np.testing.assert_array_equal(np.ldexp(found, power), scaled)
    assert (found[:, 0] < found[:, 1]).any()


def test_the_infinitesimal_jackknife_is_for_bootstraps():
    """Its formula is for draws with replacement; intervals of subsamples came out far too narrow."""
    model = RandomForestRegressor(20, bootstrap="subsample", keep_training_data=True, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="is for rows drawn with replacement and equal chances, all others being out of bag"):
        model.predict_interval(X[:5], 0.9, "infinitesimal")
    assert (np.diff(model.predict_interval(X[:5], 0.9, "jackknife+ab")) > 0).all()


@pytest.mark.parametrize(("method", "slack"), [("oob", 0.04), ("conformal", 0.03), ("jackknife+ab", 0.04)])
def test_as_many_targets_are_covered_as_asked(method, slack):
    rows, y = make_friedman1(3000, noise=2.0, random_state=0)
    model = RandomForestRegressor(keep_training_data=True, random_state=0).fit(rows[:1000], y[:1000])
    for level in (0.5, 0.8, 0.9):
        low, high = model.predict_interval(rows[1000:], level, method).T
        assert abs(((low <= y[1000:]) & (y[1000:] <= high)).mean() - level) < slack


@pytest.mark.slow
def test_the_infinitesimal_jackknife_knows_the_spread_of_predictions():
    """Over other training rows, predictions spread about as much as its standard error says."""
    rows, y = make_friedman1(4020, noise=1.0, random_state=1)
    new, rows, y = rows[:20], rows[20:], y[20:]
    predictions, errors = [], []
    for k in range(20):
        own = slice(200 * k, 200 * (k + 1))
        model = RandomForestRegressor(1000, keep_training_data=True, min_samples_leaf=3, random_state=k).fit(rows[own], y[own])
        predictions.append(model.predict(new))
        low, high = model.predict_interval(new, 0.9, "infinitesimal").T
        errors.append((high - low) / 2 / norm.ppf(0.95))
    assert 0.7 < np.mean(errors) / np.std(predictions, axis=0, ddof=1).mean() < 1.5


def test_intervals_without_width_are_told_of():
    """As variances of too few trees came out below 0, a share of the standard errors was 0, without a word."""
    X, y = make_friedman1(300, random_state=0)
    model = RandomForestRegressor(60, keep_training_data=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"the intervals of \d+ of 300 rows .* corrected for a forest of only 60 trees") as told:
        low, high = model.predict_interval(X, method="infinitesimal").T
    n = np.count_nonzero(low == high)
    assert len(told) == 1 and n > 10 and f"intervals of {n} of 300 rows ({n / 300:.1%}) by method" in str(told[0].message)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_interval(X)
        constant = clone(model).set_params(min_samples_leaf=300).fit(X, np.ones(300))
        assert np.ptp(constant.predict_interval(X, method="infinitesimal")) == 0  # trees agree


def test_ranks_of_decimal_levels():
    """With nine rows, the levels 0.1, 0.2, ... ask for whole numbers."""
    model = RandomForestRegressor(200, keep_training_data=True, random_state=0).fit(X[:9], Y[:9])
    counts = np.array([model.forest_.row_counts(t) for t in range(len(model))]).T
    there, trees = (np.array([tree.predict(part) for tree in model.estimators_]).T for part in (X[9:15], X[:9]))
    for level in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        expected = [twin.by_jackknife(own, trees, counts, Y[:9], level) for own in there]
        np.testing.assert_allclose(model.predict_interval(X[9:15], level, "jackknife+ab"), expected, rtol=1e-9)


def test_few_rows_have_infinite_ends():
    model = RandomForestRegressor(30, keep_training_data=True, random_state=0).fit(X[:5], Y[:5])
    assert np.isinf(model.predict_interval(X[:3], 0.9, "jackknife+ab")).all()


def test_bad_input():
    model = RandomForestRegressor(5, random_state=0)
    with pytest.raises(ValueError, match="keep_training_data=False"):
        model.fit(X, Y).predict_interval(X)
    model.set_params(keep_training_data=True).fit(X, Y)
    for level in (0, 1, -0.5, np.nan, "0.9", True):
        with pytest.raises(ValueError, match=f"level={level!r}; allowed are numbers above 0 and below 1"):
            model.predict_interval(X, level)
    with pytest.raises(ValueError, match="method='jackknife'; allowed are 'oob', 'jackknife\\+ab', 'infinitesimal'"):
        model.predict_interval(X, method="jackknife")
    with pytest.raises(ValueError, match="method=\\['oob'\\]; allowed are"):
        model.predict_interval(X, method=["oob"])
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict_interval(X[:, :2])
    for method in METHODS:
        with pytest.raises(ValueError, match="needs trees that leave rows out, by bootstrap=True"):
            ExtraTreesRegressor(3, keep_training_data=True).fit(X, Y).predict_interval(X, method=method)
    with pytest.raises(ValueError, match="each of the 1 trees drew every training row"):
        RandomForestRegressor(1, keep_training_data=True).fit(X[:1], Y[:1]).predict_interval(X)
    assert not hasattr(RandomForestClassifier(), "predict_interval")
