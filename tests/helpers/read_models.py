"""What tests of models that dforest reads from other libraries have in common."""

import numpy as np
import pytest


def data(n=500, seed=0, missing=True):
    """Rows whose last column has integers, and targets above 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = 3 * rng.integers(0, 12, n)
    y = X[:, 0] * X[:, 1] + X[:, 3] % 5 + 0.1 * rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y - y.min() + 0.1


def classes_of(y, n_classes):
    return np.array(["few", "many", "more"])[np.digitize(y, np.quantile(y, [0.4, 0.7] if n_classes == 3 else [0.5]))]


def assert_explained(estimator, X, raw, contributions, of_raw, of_values):
    """Raw predictions and Shapley values are those of another library, up to tolerances of `pytest.approx`."""
    sums = next(iter(estimator._raw_after(X, [estimator.n_iter_])))
    assert sums.reshape(np.shape(raw)) == pytest.approx(np.array(raw), **of_raw)
    shap = estimator.shap_values(X)
    values = shap.values if shap.values.ndim == 3 else shap.values[..., None]
    contributions = np.reshape(contributions, (len(values), values.shape[2], -1))
    assert values.transpose(0, 2, 1) == pytest.approx(contributions[..., :-1], **of_values)
    assert np.ravel(shap.base_values) == pytest.approx(contributions[0, :, -1], **of_values)
