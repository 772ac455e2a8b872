"""Which features a user prefers: those that are tried more often than others, and those whose splits count for more."""

import math
from collections.abc import Mapping
from numbers import Real

import numpy as np

from dforest.estimators.data.features import numbers_of

SUM_BITS = 51  # of integer weights, whose sum must stay below 2**52 when each of them is rounded up to 1


def _numbers_by_feature(estimator, parameter, n_features, is_allowed, allowed):
    """The number of each feature, ndarray of shape (n_features,), from an array, or a dict of some, where others have 1.

    Parameters
    ----------
    estimator : estimator
        The names of its features are known, if they have any.
    parameter : str
    n_features : int
    is_allowed : callable
        Which entries of an array are allowed.
    allowed : str
        What is allowed, for messages.

    Raises
    ------
    ValueError
        If entries are no numbers or not allowed, if there are more or fewer than features, or if a feature is named that there
        is not.
    """
    given, names = getattr(estimator, parameter), getattr(estimator, "feature_names_in_", None)
    try:
        numbers = np.asarray(list(given.values()) if isinstance(given, Mapping) else given, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{parameter}={given!r} holds what is no number: {error}; allowed are {allowed}") from None
    if isinstance(given, Mapping):
        own, numbers = numbers, np.ones(n_features)
        numbers[numbers_of(parameter, list(given), n_features, names)] = own
    if numbers.shape != (n_features,):
        raise ValueError(
            f"{parameter} is an array of shape {numbers.shape}; allowed are one number for each of the {n_features} features "
            "of X, and a dict of the numbers of some"
        )
    wrong = np.flatnonzero(~is_allowed(numbers))
    if len(wrong):
        j = int(wrong[0])
        feature = j if names is None else str(names[j])
        raise ValueError(f"{parameter} holds {numbers[j]:g} for feature {feature!r}; allowed are {allowed}")
    return numbers


def gain_factors(estimator, n_features):
    """What the parameter `regularization_factor` of an estimator asks of a `Splitter`.

    Returns
    -------
    ndarray of shape (n_features,), dtype float64, or None
        None if all factors are 1.

    Raises
    ------
    ValueError
        As for `feature_weights`; factors are above 0 and at most 1.
    """
    given = estimator.regularization_factor
    if isinstance(given, Real):
        factors = np.full(n_features, given, np.float64)
    else:
        factors = _numbers_by_feature(
            estimator, "regularization_factor", n_features, lambda x: (x > 0) & (x <= 1), "numbers above 0 and up to 1"
        )
    return None if (factors == 1).all() else factors


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
    weights = _numbers_by_feature(
        estimator, "feature_weights", n_features, lambda x: (x >= 0) & np.isfinite(x), "finite numbers from 0 on"
    )
    if not weights.any() and not always:
        raise ValueError("feature_weights is 0 for all features; allowed are weights of which some are above 0")
    shares = weights / (weights.max() or 1.0)
    total = math.fsum(shares) or 1.0  # exact, and so the same everywhere
    integers = np.floor(np.ldexp(shares / total, SUM_BITS))
    return np.where(weights > 0, np.maximum(integers, 1.0), 0.0).astype(np.uint64), always
