"""Offsets of boosted trees: what is known of the raw predictions of rows, in fits and in predictions."""

import numpy as np
import pytest
import sklearn
from helpers.boosting import CLASSIFICATION, REGRESSION, assert_equal_models, moved, problem
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from twins import boosting as twin

from dforest import HistGradientBoostingRegressor
from dforest.rules.losses import LOSSES, class_derivatives, derivatives
from dforest.spmd.communicator import ALONE

ALL_LOSSES = pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)


def with_offset(loss, n=300, seed=0):
    """X, y, an estimator, and offsets, which y depends on."""
    X, y, model = problem(loss, n=n)
    rng = np.random.default_rng(seed)
    offset = rng.normal(size=(n, 3) if loss == "multinomial" else n)
    if loss in REGRESSION:
        y = moved(loss, y, offset)
    return X, y, model, offset


def derivatives_at(loss, model, y, raw):
    """The first derivatives of rows: ndarray of shape (n_rows, n_sums)."""
    y = y if loss in REGRESSION else np.searchsorted(model.classes_, y)
    if loss == "multinomial":
        return class_derivatives(raw, y)[0]
    return derivatives(loss, raw[:, 0].copy(), y.astype(float), model._loss.parameter)[0][:, None]


@ALL_LOSSES
def test_models_are_the_naive_twins(loss):
    X, y, model, offset = with_offset(loss, n=120)
    model.set_params(max_iter=3).fit(X, y, offset=offset)
    targets = y if loss in REGRESSION else np.searchsorted(model.classes_, y)
    grown = twin.grow_booster(
        X, targets, loss=loss, n_classes=3 if loss == "multinomial" else 2, max_iter=3, max_leaf_nodes=7, min_samples_leaf=3,
        max_bins=256, quantile=0.3 if loss == "quantile" else None, seed=model.forest_.seed, offset=offset.reshape(120, -1),
        start=list(model.forest_.objective.baseline),
    )  # fmt: skip
    assert model._raw(X, offset=offset).tobytes() == grown.raw.tobytes()


@ALL_LOSSES
@pytest.mark.parametrize("weighted", [False, True])
def test_the_constant_loses_least_beside_offsets(loss, weighted):
    X, y, model, offset = with_offset(loss)
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    model.set_params(max_iter=1).fit(X, y, weight, offset=offset)
    baseline = np.array(model.forest_.objective.baseline)
    if loss in ("huber", "fair", "log_cosh"):  # which begin with the median
        residual = np.sign(y - offset - baseline)
    else:
        residual = derivatives_at(loss, model, y, offset.reshape(len(y), -1) + baseline)
    weight = np.ones(len(y)) if weight is None else weight
    most = (2.0 if loss == "mape" else 1.0) * weight.max()  # of a row that the constant reaches
    most = most if LOSSES[loss].leaf != "newton" else 1e-9 * np.abs(residual).sum()
    assert (np.abs(weight @ residual) <= most).all()


@ALL_LOSSES
def test_predictions_begin_with_the_offset(loss):
    X, y, model, offset = with_offset(loss)
    model.fit(X, y, offset=offset)
    raw, without = model._raw(X, offset=offset), model._raw(X)
    np.testing.assert_allclose(raw, without + offset.reshape(raw.shape), rtol=1e-12, atol=1e-12)
    assert model._raw(X, offset=np.zeros_like(offset)).tobytes() == without.tobytes()
    methods = ["predict"] if loss in REGRESSION else ["predict", "predict_proba", "decision_function"]
    for method in methods:
        found = getattr(model, method)(X, offset=offset)
        *_, last = getattr(model, f"staged_{method}")(X, offset=offset)
        assert last.tobytes() == found.tobytes() != getattr(model, method)(X).tobytes()
        assert getattr(model, method)(X, n_iter=8, offset=offset).tobytes() == found.tobytes()


@ALL_LOSSES
def test_an_offset_of_zeros_is_none(loss):
    X, y, model = problem(loss)
    zeros = np.zeros((len(y), 3) if loss == "multinomial" else len(y))
    one, other = clone(model).fit(X, y), clone(model).fit(X, y, offset=zeros)
    np.testing.assert_allclose(one._raw(X), other._raw(X), rtol=1e-9, atol=1e-12)  # with a link, the constant is searched
    if loss in REGRESSION and LOSSES[loss].targets == "finite":
        assert_equal_models(one, other)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "huber"])
def test_without_a_link_an_offset_is_taken_from_the_targets(loss):
    X, y, model = problem(loss)
    y, offset = np.round(y * 8) / 8, np.random.default_rng(0).integers(-50, 50, len(y)) / 8  # whose sums are exact
    one, other = clone(model).fit(X, y - offset), clone(model).fit(X, y, offset=offset)
    assert one.forest_.objective == other.forest_.objective
    assert one.forest_.feature.tobytes() == other.forest_.feature.tobytes()
    np.testing.assert_allclose(one.predict(X) + offset, other.predict(X, offset=offset), rtol=1e-12, atol=1e-12)


def test_exposures_are_weights_of_rates():
    """Counts with the logarithm of the exposure as offset lose what rates lose that have the exposure as weight."""
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (4000, 4)) / 2.0  # with few values, bins don't depend on weights
    exposure = rng.uniform(0.1, 2.0, 4000)
    y = rng.poisson(exposure * np.exp(X[:, 0] + 0.5 * np.abs(X[:, 1])))
    model = HistGradientBoostingRegressor("poisson", max_iter=10, max_leaf_nodes=4, random_state=0)
    counts = clone(model).fit(X, y, offset=np.log(exposure))
    rates = clone(model).fit(X, y / exposure, exposure)
    np.testing.assert_allclose(counts.predict(X), rates.predict(X), rtol=1e-3)
    given = counts.predict(X, offset=np.log(exposure))
    np.testing.assert_allclose(given, exposure * counts.predict(X), rtol=1e-12)


@ALL_LOSSES
def test_scores_count_offsets(loss):
    X, y, model, offset = with_offset(loss, n=600)
    half = slice(0, 300), slice(300, None)
    given = dict(X_val=X[half[1]], y_val=y[half[1]], offset_val=offset[half[1]])
    model.set_params(early_stopping=True, use_best_model=False).fit(X[half[0]], y[half[0]], offset=offset[half[0]], **given)
    y_val = y[half[1]] if loss in REGRESSION else np.searchsorted(model.classes_, y[half[1]])
    baseline = np.array(model.forest_.objective.baseline)
    scorer = model._loss.at_start(baseline, y[half[0]], None, ALONE, offset[half[0]].reshape(300, -1))
    found = -scorer.values(model._raw(X[half[1]], offset=offset[half[1]]), y_val.astype(float)).mean()
    assert model.validation_score_[-1] == pytest.approx(found, rel=1e-12)
    held_out = clone(model).fit(X, y, offset=offset)  # rows are held out with their offsets
    assert held_out.validation_score_[-1] > held_out.validation_score_[0]


def test_offsets_are_routed_through_searches():
    X, y, model, offset = with_offset("poisson")
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(clone(model).set_fit_request(offset=True), {"max_iter": [2, 4]}, cv=2)
        search.fit(X, y, offset=offset)
    best = clone(model).set_params(**search.best_params_).fit(X, y, offset=offset)
    assert_equal_models(search.best_estimator_, best)


def test_a_warm_start_needs_the_offset_again():
    X, y, model, offset = with_offset("poisson")
    model.set_params(warm_start=True, max_iter=2).fit(X, y, offset=offset)
    with pytest.raises(ValueError, match="offset is not given, but warm_start=True goes on with trees grown with one"):
        model.set_params(max_iter=3).fit(X, y)
    model = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="offset is given, but warm_start=True goes on with trees grown without one"):
        model.set_params(max_iter=4).fit(X, y, offset=offset)


@pytest.mark.parametrize("offset", [np.zeros(4), np.zeros((300, 2)), np.full(300, np.nan)])
def test_offsets_of_predictions_are_checked(offset):
    X, y, model = problem("log_loss")
    model.fit(X, y)
    with pytest.raises(ValueError, match="offset (has|contains NaN)"):
        model.predict_proba(X, offset=offset)
    with pytest.raises(ValueError, match="offset (has|contains NaN)"):
        next(model.staged_predict(X, offset=offset))
