"""The weights of members in a blend: from 0 on, with a sum of 1, with which the loss of out-of-sample predictions is least.

Both losses are convex in the weights. Sums are NumPy's over one axis, in one thread, and weights are rounded, so that they depend
on no number of threads.

L. Breiman, "Stacked regressions", Machine Learning 24, 1996.
"""

import numpy as np
from scipy.optimize import minimize, nnls

FLOOR = 1e-3  # added to probabilities, over the number of classes, before their logarithms are taken
LEAST_WEIGHT, DIGITS = 0.02, 3


def squared_weights(predictions, y, weight=None):
    """Weights of least squared error.

    Parameters
    ----------
    predictions : list of ndarray of shape (n_rows,), dtype float64
        Of each member, of rows that it was not fitted on.
    y : ndarray of shape (n_rows,), dtype float64
    weight : ndarray of shape (n_rows,), dtype float64, optional

    Returns
    -------
    ndarray of shape (n_members,), dtype float64
    """
    errors = [prediction - y for prediction in predictions]
    scale = max(float(np.abs(error).max()) for error in errors)
    if scale == 0:
        return _rounded(np.ones(len(errors)))
    errors = [error / scale for error in errors]
    weighted = errors if weight is None else [error * (weight / weight.max()) for error in errors]
    moments = np.array([[(one * other).sum() for other in errors] for one in weighted])
    moments /= moments.trace()
    # For weights w of sum 1, w'Mw is least where u = w / (1 + w'Mw) makes u'Mu + (sum(u) - 1)^2 least.
    values, vectors = np.linalg.eigh((moments + moments.T) / 2)
    root = np.sqrt(np.clip(values, 0, None))[:, None] * vectors.T
    found, _ = nnls(np.vstack([root, np.ones(len(errors))]), np.append(np.zeros(len(errors)), 1.0))
    return _rounded(found)


def log_weights(predictions, y, weight=None):
    """Weights of least log loss.

    Parameters
    ----------
    predictions : list of ndarray of shape (n_rows, n_classes), dtype float64
        Probabilities by each member, of rows that it was not fitted on.
    y : ndarray of shape (n_rows,), dtype int
        Class numbers.
    weight : ndarray of shape (n_rows,), dtype float64, optional

    Returns
    -------
    ndarray of shape (n_members,), dtype float64
    """
    n, n_members = len(y), len(predictions)
    right = [floored(prediction)[np.arange(n), y] for prediction in predictions]
    share = np.full(n, 1 / n) if weight is None else weight / weight.sum()

    def loss(weights):
        mixed = np.zeros(n)
        for part, own in zip(right, weights, strict=True):
            mixed += own * part
        mixed = np.maximum(mixed, 1e-300)
        return -(share * np.log(mixed)).sum(), np.array([-(share * (part / mixed)).sum() for part in right])

    found = minimize(
        loss,
        np.full(n_members, 1 / n_members),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n_members,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-10, "maxiter": 1000},
    )
    return _rounded(np.clip(found.x, 0, None))


def floored(probability):
    """Probabilities, none of which is 0."""
    n_classes = probability.shape[1]
    return (probability + FLOOR / n_classes) / (1 + FLOOR)


def _rounded(weights):
    """Weights of sum 1, of few digits, without small ones."""
    weights = weights / weights.sum()
    weights[weights < min(LEAST_WEIGHT, weights.max())] = 0
    weights = np.round(weights / weights.sum(), DIGITS)
    return weights / weights.sum()
