"""Partial dependence of what estimators predict: `dforest.core.predict.dependence` with a grid, names and checks around it."""

from itertools import product
from numbers import Integral, Real

import numpy as np
from scipy.stats.mstats import mquantiles
from sklearn.base import is_classifier
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from dforest.core.predict.dependence import mean_predictions
from dforest.core.sparse_rows import dense
from dforest.core.threads import each
from dforest.estimators.data.given import check_number
from dforest.estimators.data.outputs import prediction_columns
from dforest.estimators.data.validation import count_threads
from dforest.estimators.results.calibration import check_leaves_predict
from dforest.estimators.results.shapley import check_tests


def partial_dependence(self, X, features, *, grid_resolution=100, percentiles=(0.05, 0.95), custom_values=None):
    r"""Compute the partial dependence of predictions on some features, by recursion [1]_.

    The partial dependence at a point is the mean prediction if these features have the point's values, and the others vary as
    they do in the training rows. A node that tests another feature sends the point to both sides, with the shares that these
    have in the training weight of the node. So X is needed for the grid alone, no row is predicted, and sample weights of the
    fit count, except for boosted trees, whose training rows count alike. If features depend on each other, this mean is not
    quite the one that scikit-learn's "brute" method finds by predicting altered rows.

    The values are those of class probabilities for classification by forests and single trees (by the forest's `voting`),
    of predictions for regression, and of raw predictions for boosted trees. They are computed by the processor, by all
    threads, and have the same bits on any number of these.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows whose values make the grid, as `predict` takes them.
    features : int, str, or list of int or str
        Numbers or names of the features; the grid has an axis for each.
    grid_resolution : int, default=100
        Number of equally spaced values on an axis. A feature with fewer different values in X, or with labels, has these.
    percentiles : tuple of float, default=(0.05, 0.95)
        Quantiles of a feature's values in X between which its axis lies, from 0 to 1.
    custom_values : dict, default=None
        Values of an axis, by the number or the name of the feature, in place of those above.

    Returns
    -------
    sklearn.utils.Bunch
        `grid_values` is a list of arrays, the values on each axis, and `average` is an ndarray of shape (n_outputs,
        len(grid_values[0]), ...), dtype float64: the partial dependence. There is an output for each class if there are more
        than two, and one for two classes, that of the second one; for regression, there is one for each column of y. If y
        has several columns of classes, `average` is a list with such an array for each.

    Raises
    ------
    ValueError
        If a parameter is not as described, or if the splitter makes tests of its own.

    References
    ----------
    .. [1] J. H. Friedman, "Greedy function approximation: a gradient boosting machine", The Annals of Statistics 29(5), 2001,
       section 8.2.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> result = forest.partial_dependence(X, "bmi", grid_resolution=5)
    >>> result.average.round()
    array([[120., 125., 171., 185., 220.]])
    """
    check_is_fitted(self)
    check_leaves_predict(self, "partial_dependence")
    forest = self.forest_
    check_tests(forest, "partial_dependence")
    grid_resolution = check_number("grid_resolution", grid_resolution, Integral, "integers from 2", lambda n: n >= 2)
    numbers = [number_of(self, feature) for feature in (features if isinstance(features, list | tuple) else [features])]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"features={features!r}; allowed are one or more different features")
    custom = {number_of(self, feature): values for feature, values in (custom_values or {}).items()}
    encoded = dense(self._checked_rows(X))
    axes = []
    for j in numbers:
        x = encoded[:, j]
        axes.append(_axis_of(self, j, custom[j]) if j in custom else _axis(x, self._features, j, grid_resolution, percentiles))
    points = np.array(list(product(*axes)), forest.threshold.dtype).astype(np.float64)
    means = _means(forest, numbers, points, getattr(self, "voting", "soft"), count_threads(getattr(self, "n_jobs", None)))
    parts = [means]
    if is_classifier(self):
        if isinstance(self.classes_, list):
            parts = [means[:, own] for own in prediction_columns(forest.objective)]
        parts = [part[:, 1:] if part.shape[1] == 2 else part for part in parts]
    averages = [part.T.reshape(-1, *map(len, axes)).copy() for part in parts]
    labels = (self._features.categories[j] for j in numbers)
    values = [axis if own is None else own[axis.astype(np.intp)] for axis, own in zip(axes, labels, strict=True)]
    return Bunch(grid_values=values, average=averages if len(averages) > 1 else averages[0])


def number_of(self, feature):
    """The number of a feature that is given by its number or its name."""
    names = self._features.names
    if isinstance(feature, str) and names is not None and feature in names:
        return names.index(feature)
    if isinstance(feature, Integral) and not isinstance(feature, bool) and 0 <= feature < self.n_features_in_:
        return int(feature)
    allowed = f"numbers from 0 to {self.n_features_in_ - 1}" + (" and names of columns" if names is not None else "")
    raise ValueError(f"features holds {feature!r}; allowed are {allowed}")


def _axis_of(self, j, values):
    """The values that a user gives for an axis, as numbers."""
    labels, what = self._features.categories[j], f"custom_values of {self._features.title(j)}"
    try:
        if labels is not None:
            known = labels.tolist()
            return np.array([known.index(value) for value in np.asarray(values).tolist()], np.float64)
        axis = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{what} are {values!r}; allowed are {'numbers' if labels is None else f'the labels {labels.tolist()!r}'}"
        ) from None
    if axis.ndim != 1 or len(axis) == 0:
        raise ValueError(f"{what} have the shape {axis.shape}; allowed are lists of one value or more")
    return axis


def _axis(x, features, j, resolution, percentiles):
    """The values of a feature on the axis of a grid, by what it is in some rows."""
    try:
        low, high = percentiles
        is_valid = isinstance(low, Real) and isinstance(high, Real) and 0 <= low < high <= 1
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise ValueError(f"percentiles={percentiles!r}; allowed are two ascending numbers from 0 to 1")
    values = np.unique(x[~np.isnan(x)]).astype(np.float64)
    if len(values) == 0:
        raise ValueError(f"{features.title(j)} is missing in all rows of X; allowed are columns with values, or custom_values")
    if features.categories[j] is not None or len(values) < resolution:
        return values
    low, high = mquantiles(x[~np.isnan(x)], prob=percentiles).data
    if low == high:
        raise ValueError(
            f"{features.title(j)} has equal quantiles by percentiles={percentiles!r}; allowed are others, a grid_resolution "
            f"above its {len(values)} values, or custom_values"
        )
    return np.linspace(low, high, resolution)


def _means(forest, features, points, voting, n_threads):
    """Mean predictions at points: ndarray of shape (n_points, n_outputs)."""
    votes, baseline = forest.leaf_votes(voting), forest.objective.baseline
    n_outputs = votes.shape[1] if baseline is None else len(baseline)
    place = np.full(forest.n_features, -1, np.int32)
    place[features] = np.arange(len(features))
    weight = forest.objective.total_weight(forest.weights).astype(np.float64)
    if len(forest.leaf_shift):
        weight = np.ldexp(weight, -forest.leaf_shift)
    of_trees = [None] * forest.n_trees

    def work(t, _):
        of_trees[t] = mean_predictions(forest.tree(t), weight, votes, place, points)

    each(forest.n_trees, work, n_threads)
    total = np.zeros((len(points), n_outputs))
    for t, own in enumerate(of_trees):
        if own.shape[1] == n_outputs:
            total += own
        else:  # boosted trees of several classes take turns
            total[:, t % n_outputs] += own[:, 0]
    return total / forest.n_trees if baseline is None else total + baseline
