"""Probabilities of a forest calibrated by its out-of-bag predictions: one temperature, which sharpens or softens them.

With shares s of the classes, as the trees' votes come to, and a temperature T, the probability of a class is in proportion to
(s + floor)^(1 / T). T is where the log loss of the training rows is least, each predicted by the trees that left it out: below 1
it brings out what the trees agree on, above 1 it makes them less sure. The order of classes stays what it is.

C. Guo et al., "On calibration of modern neural networks", ICML 2017, of which temperature scaling is the simplest method.
"""

from importlib import import_module

import numpy as np

from dforest.estimators.kinds import CausalTrees, UpliftTrees

MOST_FLOOR, MOST_ADDED = 1e-3, 0.05  # what is added to the share of a class, and to all of them together: at most
LEAST_POWER, MOST_POWER = 0.1, 10.0  # of 1 / T
VALUES_AT_ONCE = 1 << 20  # of the shares of some rows


def calibrated(shares, calibration):
    """Probabilities, given shares and what is known of their calibration; rows of NaN stay so.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes), dtype float64
        IN
    calibration : dict
        "temperature" and "floor".

    Returns
    -------
    ndarray of shape (n_rows, n_classes), dtype float64
    """
    return _softmax(np.log(shares + calibration["floor"]), 1 / calibration["temperature"])


def fit_temperature(shares, y, weight=None):
    """Find the temperature with which the log loss of some rows is least.

    Parameters
    ----------
    shares : ndarray of shape (n_rows, n_classes), dtype float64
        IN; of rows that did not count in them.
    y : ndarray of shape (n_rows,), dtype int
        IN; class numbers.
    weight : ndarray of shape (n_rows,), dtype float64, optional
        IN

    Returns
    -------
    dict
        "temperature", of four digits, and "floor".
    """
    n_classes, n_rows = shares.shape[1], max(1, VALUES_AT_ONCE // shares.shape[1])
    floor = min(MOST_FLOOR, MOST_ADDED / n_classes)
    weight = np.ones(len(y)) if weight is None else weight / weight.max()

    def slope(power):
        """The derivative of the summed log loss, which rises with the power: it is convex."""
        total = 0.0
        for first in range(0, len(y), n_rows):
            part = slice(first, first + n_rows)
            logs = np.log(shares[part] + floor)
            excess = (_softmax(logs, power) * logs).sum(axis=1) - logs[np.arange(len(logs)), y[part]]
            total += float((weight[part] * excess).sum())
        return total

    if slope(LEAST_POWER) >= 0:
        power = LEAST_POWER
    elif slope(MOST_POWER) <= 0:
        power = MOST_POWER
    else:
        power = import_module("scipy.optimize").brentq(slope, LEAST_POWER, MOST_POWER, xtol=1e-6)
    return {"temperature": float(f"{1 / power:.4g}"), "floor": floor}


def _softmax(logs, power):
    scaled = logs * power
    scaled -= scaled.max(axis=1, keepdims=True)
    np.exp(scaled, out=scaled)
    return scaled / scaled.sum(axis=1, keepdims=True)


def check_leaves_predict(estimator, method):
    """Raise ValueError if a forest predicts something else than means over trees, and a method is about these alone."""
    if isinstance(estimator, CausalTrees | UpliftTrees) and "forest_" in vars(estimator):
        raise ValueError(
            f"{method} is about means over trees, but a {type(estimator).__name__} predicts effects, which follow from several "
            "of these; allowed are predict, and save with serving.load"
        )
    if "calibration_" in vars(estimator):
        raise ValueError(
            f'{method} is about means over trees, which calibration="oob" changes to other probabilities; allowed are forests '
            "fitted with calibration=None, and predict_proba"
        )


def check_calibration(calibration):
    """Raise unless what is known of a calibration is what `fit_temperature` finds."""
    if not isinstance(calibration, dict) or set(calibration) != {"temperature", "floor"}:
        raise TypeError(f"calibration_ is {calibration!r}; in a calibrated forest it is a dict of temperature and floor")
    temperature, floor = calibration["temperature"], calibration["floor"]
    if not (0 < temperature < np.inf and 0 < floor <= MOST_FLOOR):
        raise ValueError(f"calibration_: {calibration!r}; a temperature is above 0, and a floor above 0 and up to {MOST_FLOOR}")
