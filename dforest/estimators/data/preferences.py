"""Which features a user wants to be tried more often than others."""

import math
from collections.abc import Mapping

import numpy as np

from dforest.estimators.data.features import numbers_of

SUM_BITS = 51  # of integer weights, whose sum must stay below 2**52 when each of them is rounded up to 1


def feature_preferences(estimator, n_features):
    """What the parameters `feature_weights` and `always_split_features` of an estimator ask of a `Splitter`.

    Parameters
    ----------
    estimator : estimator
        The names of its features are known, if they have any.
    n_features : int

    Returns
    -------
    weights : ndarray of shape (n_features,), dtype uint64, or None
        Integers in proportion to the weights, whose sum is 2**52 at most; None if there are no preferences.
    always_tried : list of int

    Raises
    ------
    ValueError
        If weights are no numbers, negative or not finite, if there are more or fewer than features, if all are 0, or if a feature
        is named that there is not.
    """
    names = getattr(estimator, "feature_names_in_", None)
    given, chosen = estimator.feature_weights, estimator.always_split_features
    always = [] if chosen is None else numbers_of("always_split_features", chosen, n_features, names)
    if given is None:
        return (np.ones(n_features, np.uint64) if always else None), always
    try:
        weights = np.asarray(list(given.values()) if isinstance(given, Mapping) else given, np.float64)
    except (TypeError, ValueError) as error:
        told = f"feature_weights={given!r} holds what is no number: {error}"
        raise ValueError(f"{told}; allowed are finite numbers from 0 on") from None
    if isinstance(given, Mapping):
        own, weights = weights, np.ones(n_features)
        weights[numbers_of("feature_weights", list(given), n_features, names)] = own
    if weights.shape != (n_features,):
        raise ValueError(
            f"feature_weights is an array of shape {weights.shape}; allowed are one weight for each of the {n_features} features "
            "of X, and a dict of the weights of some"
        )
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(wrong):
        j = int(wrong[0])
        feature = j if names is None else str(names[j])
        given = f"{weights[j]:g} for feature {feature!r}"
        raise ValueError(f"feature_weights holds {given}; allowed are finite numbers from 0 on")
    if not weights.any() and not always:
        raise ValueError("feature_weights is 0 for all features; allowed are weights of which some are above 0")
    shares = weights / (weights.max() or 1.0)
    total = math.fsum(shares) or 1.0  # exact, and so the same everywhere
    integers = np.floor(np.ldexp(shares / total, SUM_BITS))
    return np.where(weights > 0, np.maximum(integers, 1.0), 0.0).astype(np.uint64), always
