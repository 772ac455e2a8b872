"""Conformal intervals of boosted trees: against the twin, how many targets they cover, what is kept, and what is refused."""

from pickle import dumps, loads

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_linnerud
from twins import intervals as twin

from dforest import HistGradientBoostingRegressor, load, serving
from dforest.estimators.results.conformal import covering_rank, moved, scores_of

FEW = {"max_iter": 10, "early_stopping": False, "random_state": 0}
SEVERAL = HistGradientBoostingRegressor("quantile", quantile=[0.05, 0.25, 0.5, 0.75, 0.95], **FEW)
ONE = HistGradientBoostingRegressor(**FEW)


def data(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=n)


NUMBERS = st.floats(-1e6, 1e6)
BANDS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS).map(lambda of: (of[0], *sorted(of[1:]))), min_size=1, max_size=30)


@given(BANDS, st.tuples(NUMBERS, NUMBERS).map(sorted), st.integers(1, 99))
def test_bands_are_moved_as_the_twin_moves_them(rows, here, percent):
    y, lower, upper = np.array(rows).T
    scores = np.sort(scores_of(y, lower, upper))
    expected = twin.conformal(*here, y, list(zip(lower, upper, strict=True)), percent / 100)
    found = moved(np.array(here[:1]), np.array(here[1:]), scores, percent / 100)[0]
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_rounding_leaves_out_no_target():
    """Of exchangeable rows as many are held as asked, where each in turn is the new one: here ties count."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        lower = np.array([0.1, 0.7, -1.3, 1e3])[rng.integers(0, 4, 30)]
        upper = lower + np.array([0.3, 0.0, 0.9])[rng.integers(0, 3, 30)]
        y, level, n_held = 0.7 * rng.integers(-20, 20, 30), rng.integers(2, 98) / 100, 0
        scores = scores_of(y, lower, upper)
        for i in range(30):
            low, high = moved(lower[i : i + 1], upper[i : i + 1], np.sort(np.delete(scores, i)), level)[0]
            n_held += low <= y[i] <= high
        assert n_held >= covering_rank(level, 29)


def test_ranks_are_whole_numbers():
    assert covering_rank(0.9, 9) == 9 and covering_rank(0.9, 8) == 9 and covering_rank(0.9, 10) == 10
    assert covering_rank(1e-9, 5) == 1


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_intervals_are_those_of_the_twin(level):
    X, y = data()
    model = clone(SEVERAL).fit(X[:300], y[:300])
    assert model.conformalize(X[300:500], y[300:500]) is model
    held, there = model.predict(X[300:500]), model.predict(X[500:])
    band = [1, 3] if level == 0.5 else [0, 4]
    expected = [twin.conformal(*own, y[300:500], held[:, band], level) for own in there[:, band]]
    np.testing.assert_allclose(model.predict_interval(X[500:], level), expected, rtol=1e-12, atol=1e-12)
    one = clone(ONE).fit(X[:300], y[:300]).conformalize(X[300:500], y[300:500])
    held, there = one.predict(X[300:500]), one.predict(X[500:])
    expected = [twin.conformal(own, own, y[300:500], np.column_stack([held, held]), level) for own in there]
    np.testing.assert_allclose(one.predict_interval(X[500:], level), expected, rtol=1e-12, atol=1e-12)


def test_quantiles_as_predicted():
    X, y = data()
    model = clone(SEVERAL).fit(X, y)
    assert model.predict_interval(X, method="quantiles").tobytes() == model.predict(X)[:, [0, 4]].tobytes()
    assert model.predict_interval(X, 0.5, method="quantiles").tobytes() == model.predict(X)[:, [1, 3]].tobytes()


@pytest.mark.parametrize("model", [SEVERAL, ONE], ids=["quantiles", "means"])
def test_as_many_targets_are_covered_as_asked(model):
    """The share is that asked for, on average over choices of the rows that say how wide intervals must be."""
    X, y = data(9000)
    model = clone(model).fit(X[:400], y[:400])
    for level in (0.8, 0.9):
        shares = []
        for first in range(400, 4400, 200):
            rows = slice(first, first + 200)
            low, high = model.conformalize(X[rows], y[rows]).predict_interval(X[5000:], level).T
            shares.append(np.mean((low <= y[5000:]) & (y[5000:] <= high)))
        assert abs(np.mean(shares) - level) < 0.015


def test_training_rows_out_of_fold():
    X, y = data(300)
    weight = np.ones(300)
    weight[::10] = 0.0
    model = clone(SEVERAL).set_params(max_iter=30, early_stopping=True, validation_folds=5).fit(X, y, weight)
    model.conformalize(None, y)
    known = weight > 0
    assert model.conformal_scores_.shape == (2, 270)
    expected = np.sort(scores_of(y[known], *model.oof_prediction_[known][:, [0, 4]].T))
    assert model.conformal_scores_[0].tobytes() == expected.tobytes()
    assert not hasattr(model.fit(X, y), "conformal_scores_")


def test_offsets():
    X, y = data()
    far = np.full(600, 100.0)
    model = clone(ONE).fit(X[:300], y[:300] + 100, offset=far[:300])
    model.conformalize(X[300:], y[300:] + 100, offset=far[300:])
    low, high = model.predict_interval(X, offset=far).T
    assert np.mean((low <= y + 100) & (y + 100 <= high)) > 0.8


def test_several_outputs():
    X, y = load_linnerud(return_X_y=True)
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=3, early_stopping=False).fit(X, y).conformalize(X, y)
    assert model.conformal_scores_.shape == (3, 20)
    ends = model.predict_interval(X, level=0.5)
    assert ends.shape == (20, 3, 2)
    for k in range(3):
        expected = twin.conformal(*[model.predict(X[:1])[0, k]] * 2, y[:, k], np.column_stack([model.predict(X)[:, k]] * 2), 0.5)
        assert ends[0, k] == pytest.approx(expected, rel=1e-13)


def test_few_rows():
    """Seven rows can't tell what covers nine of ten."""
    X, y = data(100)
    model = clone(ONE).fit(X, y).conformalize(X[:7], y[:7])
    assert np.isinf(model.predict_interval(X)).all() and np.isfinite(model.predict_interval(X, 0.5)).all()


def test_files(tmp_path):
    X, y = data()
    model = clone(SEVERAL).fit(X, y).conformalize(X, y)
    expected = model.predict_interval(X).tobytes()
    model.save(tmp_path / "model.safetensors")
    for found in (load(tmp_path / "model.safetensors"), serving.load(tmp_path / "model.safetensors"), loads(dumps(model))):
        assert found.predict_interval(X).tobytes() == expected
    state = model.__getstate__()
    scores = state["conformal_scores_"]
    for damaged, error in ((scores[:1], ValueError), (-scores, ValueError), ([1.0], TypeError)):
        with pytest.raises(error, match="conformal_scores_"):
            clone(SEVERAL).__setstate__(state | {"conformal_scores_": damaged})


def test_refused():
    X, y = data(60)
    model = clone(SEVERAL).fit(X, y)
    with pytest.raises(ValueError, match=r'method="conformal" needs rows .*: call conformalize\(X, y\) first; allowed without'):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="level=0.8 with .*; allowed are 0.9, 0.5"):
        model.predict_interval(X, 0.8, method="quantiles")
    with pytest.raises(ValueError, match="method='x'; allowed are \"conformal\" and \"quantiles\""):
        model.predict_interval(X, method="x")
    with pytest.raises(ValueError, match="level=1; allowed are numbers above 0 and below 1"):
        model.predict_interval(X, level=1)
    with pytest.raises(ValueError, match="X=None, but fit has held no rows out in turn; allowed are"):
        model.conformalize(None, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.conformalize(X, y[1:])
    with pytest.raises(ValueError, match='method="quantiles" needs a model of several quantiles'):
        clone(ONE).fit(X, y).predict_interval(X, method="quantiles")
    lopsided = clone(SEVERAL).set_params(quantile=[0.1, 0.8]).fit(X, y)
    with pytest.raises(ValueError, match=r"conformalize needs two quantiles .* with quantile=\[0.1, 0.8\]"):
        lopsided.conformalize(X, y)
    with pytest.raises(ValueError, match=r'method="conformal" needs two quantiles .* with quantile=\[0.1, 0.8\]'):
        lopsided.predict_interval(X)
