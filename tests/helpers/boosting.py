"""Small problems for boosted trees of each loss, and when two models are equal."""

import numpy as np
from scipy.special import expit, logit

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.rules.losses import LOSSES
from helpers.device_forests import assert_same

REGRESSION = ["squared_error", "absolute_error", "gamma", "poisson", "tweedie", "quantile", "huber", "fair", "log_cosh", "mape"]
REGRESSION.append("cross_entropy")
CLASSIFICATION = ["log_loss", "focal", "exponential", "multinomial"]
SMALL = {"defaults": "scikit-learn", "max_iter": 8, "max_leaf_nodes": 7, "min_samples_leaf": 3, "random_state": 0}


def problem(loss, n=300, missing=True, seed=0):
    """X, y and an estimator for a loss."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 2)
    signal = 2 * X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    if loss in CLASSIFICATION:
        edges = [0.0, 1.5] if loss == "multinomial" else [0.5]
        model = HistGradientBoostingClassifier("log_loss" if loss == "multinomial" else loss, **SMALL)
        return X, np.array(["c", "a", "b"])[np.searchsorted(edges, signal)], model
    model = HistGradientBoostingRegressor(loss, quantile=0.3 if loss == "quantile" else None, **SMALL)
    if loss == "cross_entropy":
        return X, (signal - signal.min()) / np.ptp(signal), model
    return X, np.exp(signal) if loss in ("gamma", "poisson", "tweedie") else signal, model


def moved(loss, y, offset):
    """Targets that depend on an offset of raw predictions, as those of a loss do."""
    targets = LOSSES[loss].targets
    if targets == "to_1":
        return expit(logit(y) + offset)
    return y + offset if targets == "finite" else y * np.exp(offset)


def assert_equal_models(model, other):
    """All that a fit leaves has the same bytes."""
    assert_same(model, other)
    assert model.forest_.objective == other.forest_.objective
    assert (model.forest_.seeds == other.forest_.seeds).all()
    assert model.n_iter_ == other.n_iter_
    for name in ("train_score_", "validation_score_"):
        assert getattr(model, name).tobytes() == getattr(other, name).tobytes(), name
