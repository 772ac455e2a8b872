"""Leaves of boosted trees: no step makes the training loss worse, and none is longer than `max_delta_step`."""

import numpy as np
import pytest
from helpers.rings import examples
from scipy.special import logsumexp

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor

LOSSES = ["poisson", "gamma", "tweedie", "log_loss", "multinomial", "exponential", "squared_error", "huber", "absolute_error"]
LOSSES.append("quantile")


def problem(seed):
    """A loss, and an unfitted model, targets and weights for it, with heavy tails and rare classes."""
    rng = np.random.default_rng(seed)
    loss, n = LOSSES[seed % len(LOSSES)], int(rng.integers(20, 200))
    X = rng.normal(size=(n, int(rng.integers(1, 4)))).round(int(rng.integers(0, 3)))
    weight = None if rng.random() < 0.5 else np.exp(rng.normal(size=n) * rng.choice([0.1, 2.0, 5.0]))
    parameters = dict(
        learning_rate=float(rng.choice([0.05, 0.1, 0.3, 1.0])),
        max_iter=int(rng.integers(1, 40)),
        min_samples_leaf=int(rng.choice([1, 2, 5, 20])),
        min_sum_hessian_in_leaf=float(rng.choice([0.0, 1e-3])),
        l2_regularization=float(rng.choice([0.0, 0.0, 1.0])),
        early_stopping=False,
        random_state=0,
    )
    if loss in ("log_loss", "multinomial", "exponential"):
        n_classes = int(rng.integers(3, 6)) if loss == "multinomial" else 2
        y = rng.choice(n_classes, size=n, p=rng.dirichlet(np.full(n_classes, rng.choice([0.1, 0.5, 2.0]))))
        y[:n_classes] = np.arange(n_classes)
        given = "exponential" if loss == "exponential" else "log_loss"
        return loss, HistGradientBoostingClassifier(given, **parameters), X, y, weight
    tail = rng.standard_t(1.5, size=n) * rng.choice([1.0, 5.0])
    y = tail
    if loss == "poisson":
        y = np.minimum(np.floor(np.exp(tail)), 1e12)
        y[0] += 1
    elif loss == "tweedie":
        y = np.exp(np.clip(tail, -200, 200)) * (tail > rng.choice([-1.0, 0.0]))
        y[0] += 1
    elif loss == "gamma":
        y = np.exp(np.clip(tail, -200, 200))
    quantile = float(rng.choice([0.1, 0.5, 0.8])) if loss == "quantile" else None
    parameters |= {"quantile": quantile, "power": float(rng.choice([1.1, 1.5, 1.9]))}
    return loss, HistGradientBoostingRegressor(loss, **parameters), X, y, weight


def mean_loss(loss, model, y, raw, weight):
    """The mean loss of raw predictions, of shape (n_rows, n_sums), by NumPy."""
    if loss == "multinomial":
        return np.average(logsumexp(raw, axis=1) - raw[np.arange(len(y)), y], weights=weight)
    raw = raw[:, 0]
    margin = np.where(y == 1, raw, -raw)
    error = y - raw
    each = {
        "poisson": lambda: np.exp(raw) - y * raw,
        "gamma": lambda: y * np.exp(-raw) + raw,
        "tweedie": lambda: (
            np.exp((2 - model.power) * raw) / (2 - model.power) + y * np.exp((1 - model.power) * raw) / (model.power - 1)
        ),
        "log_loss": lambda: np.logaddexp(0, -margin),
        "exponential": lambda: np.exp(-margin),
        "squared_error": lambda: error**2,
        "absolute_error": lambda: np.abs(error),
        "quantile": lambda: np.maximum(model.quantile * error, (model.quantile - 1) * error),
    }
    return np.average(each[loss](), weights=weight)


def test_the_training_loss_is_never_above_that_of_the_constant():
    """Huber's is left out, as its delta changes from round to round."""
    for seed in (*range(examples(2000)), 4704, 8931):  # the last two: classes, with rates of 0.1 and 1
        loss, model, X, y, weight = problem(seed)
        if loss == "huber":
            continue
        model.fit(X, y, weight)
        baseline = np.array(model.forest_.objective.baseline)
        raw = np.reshape(model.decision_function(X) if hasattr(model, "decision_function") else model._raw(X), (len(y), -1))
        constant = mean_loss(loss, model, y, np.tile(baseline, (len(y), 1)), weight)
        assert mean_loss(loss, model, y, raw, weight) <= constant + 1e-9 * max(1.0, abs(constant)), (seed, loss)


def values_of_leaves(model):
    forest = model.forest_
    return forest.leaf_value[forest.leaf_row[forest.feature < 0]]


@pytest.mark.parametrize("seed", range(2 * len(LOSSES)))
def test_no_leaf_is_beyond_max_delta_step(seed):
    loss, model, X, y, weight = problem(seed)
    model.fit(X, y, weight)
    most = 0.5 * np.abs(model.forest_.leaf_value).max() / model.learning_rate
    limited = type(model)(**{**model.get_params(), "max_delta_step": most, "max_iter": 1}).fit(X, y, weight)
    first = type(model)(**{**model.get_params(), "max_iter": 1}).fit(X, y, weight)
    ends = model.learning_rate * most * np.array([-1.0, 1.0])
    np.testing.assert_array_equal(values_of_leaves(limited), np.clip(values_of_leaves(first), *ends))
    endless = type(model)(**{**model.get_params(), "max_delta_step": 1e300}).fit(X, y, weight)
    assert np.array_equal(endless.forest_.leaf_value, model.forest_.leaf_value)


def test_limits_that_are_none():
    with pytest.raises(ValueError, match="max_delta_step"):
        HistGradientBoostingRegressor(max_delta_step=0.0).fit([[0.0], [1.0]], [0.0, 1.0])
