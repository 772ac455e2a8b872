"""What the user's constraints on boosted trees say of the columns of X."""

from collections.abc import Iterable, Mapping
from numbers import Integral, Real

import numpy as np

from dforest.core.boost.constraints import Constraints
from dforest.engines.problem import ForcedSplit
from dforest.estimators.data.validation import check_directions

_FORCED = "left", "right"  # the children of a forced split
_MOST_FORCED = 64  # below each other


def constraints_of(estimator, n_features):
    """The `Constraints` that an estimator's parameters state.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        What its columns are is known.
    n_features : int

    Raises
    ------
    ValueError
        If a constraint is none, or is about features that X does not have.
    """
    directions = check_directions(estimator, estimator.monotonic_cst)
    most, groups = 0, None
    if estimator.interaction_cst is not None:
        most = {"no_interactions": 1, "pairwise": 2}.get(str(estimator.interaction_cst), 0)
        if most == 0:
            groups = _groups(estimator.interaction_cst, n_features, estimator._features.names or [])
    return Constraints(
        directions if directions.any() else None, most, groups, _costs(estimator, n_features), float(estimator.monotone_penalty)
    )


def _costs(estimator, n_features):
    """`feature_costs` by column; None: none costs anything. Raises ValueError if they are not as described."""
    given, names = estimator.feature_costs, estimator._features.names or []
    if given is None:
        return None
    allowed = f"allowed are {n_features} numbers from 0 on, a dict of such numbers by column, and None"
    try:
        if isinstance(given, Mapping):
            costs = np.zeros(n_features)
            for feature, cost in given.items():
                costs[number_of_column(feature, n_features, names)] = cost
        else:
            costs = np.array(given, np.float64)
    except (TypeError, ValueError, IndexError):
        costs = np.zeros(0)
    if costs.shape != (n_features,) or not ((costs >= 0) & (costs < np.inf)).all():
        raise ValueError(f"feature_costs={given!r:.200}; {allowed}")
    return costs if costs.any() else None


def forced_splits_of(estimator, n_features):
    """The `ForcedSplit`s that an estimator's `forced_splits` states, that of the root first: tuple.

    Raises
    ------
    ValueError
        If they are not as described.
    """
    names, n_categories = estimator._features.names or [], estimator._features.n_categories
    allowed = (
        'allowed are None and dicts of "feature", a column of numbers by number or name, "threshold", a finite number, and, if '
        'there are any, "left" and "right", which are such dicts too'
    )
    found, constraints = [], estimator._constraints

    def add(split, path, above):
        """Add a split and those below it, given the sides that lead to it and the features tested above it: its number."""
        where = "forced_splits" + "".join(f"[{side!r}]" for side in path)
        if len(path) >= _MOST_FORCED:
            raise ValueError(f"forced_splits has more than {_MOST_FORCED} splits below each other; allowed are so many")
        if not isinstance(split, Mapping) or not {"feature", "threshold"} <= split.keys() <= {*_FORCED, "feature", "threshold"}:
            raise ValueError(f"{where}={split!r:.200}; {allowed}")
        threshold = split["threshold"]
        try:
            feature = number_of_column(split["feature"], n_features, names)
        except ValueError:
            raise ValueError(f"{where} tests the column {split['feature']!r}, which X has not; {allowed}") from None
        tested = above | {feature}
        if not constraints.allows(tested):
            raise ValueError(
                f"{where} has the columns {sorted(tested)} tested on one path, which "
                f"interaction_cst={estimator.interaction_cst!r:.100} does not allow; allowed are columns that it has in one group"
            )
        if len(n_categories) and n_categories[feature]:
            raise ValueError(f"{where} tests the column {split['feature']!r}, which has categories; {allowed}")
        if isinstance(threshold, bool) or not isinstance(threshold, Real) or not np.isfinite(threshold):
            raise ValueError(f"{where}={split!r:.200}; {allowed}")
        number = len(found)
        found.append(None)
        below = [add(split[side], (*path, side), tested) if split.get(side) is not None else -1 for side in _FORCED]
        found[number] = ForcedSplit(feature, float(threshold), *below)
        return number

    if estimator.forced_splits is not None:
        add(estimator.forced_splits, (), frozenset())
    return tuple(found)


def number_of_column(feature, n_features, names):
    """The number of a column that is given by number or by name: int. Raises ValueError if there is no such column."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, Integral) or not 0 <= feature < n_features:
        raise ValueError(feature)
    return int(feature)


def _groups(interaction_cst, n_features, names):
    """Which features are in each group; those that are in none have one together."""
    allowed = f"allowed are lists, tuples or sets of numbers of features, from 0 to {n_features - 1}"
    if names:
        allowed += f", or of their names, {names!r:.200}"
    for group in interaction_cst:
        if isinstance(group, str | bytes | Mapping) or not isinstance(group, Iterable):  # a text's letters are no names
            raise ValueError(
                f"interaction_cst={interaction_cst!r} holds the group {group!r}; {allowed}: Interaction constraints must be a "
                f"sequence of tuples or lists, got: {interaction_cst!r}"
            )
    groups = np.zeros((len(interaction_cst) + 1, n_features), np.uint8)
    for row, group in zip(groups, interaction_cst, strict=False):
        for feature in group:
            if isinstance(feature, str) and feature in names:
                feature = names.index(feature)
            if isinstance(feature, bool) or not isinstance(feature, Integral) or not 0 <= feature < n_features:
                raise ValueError(
                    f"interaction_cst holds {feature!r}; {allowed}: Interaction constraints must consist of integer indices in "
                    f"[0, n_features - 1] = [0, {n_features - 1}], specifying the position of features, got invalid indices: "
                    f"{feature!r}"
                )
            row[feature] = 1
    groups[-1] = ~groups.any(axis=0)
    return groups if groups[-1].any() else groups[:-1]
