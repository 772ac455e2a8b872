"""Intervals around the predictions of boosted trees for regression, and rows that say how wide these must be."""

from numbers import Real

import numpy as np

from dforest.config import in_kind, on_host
from dforest.estimators.data.given import check_number
from dforest.estimators.results.conformal import moved, scores_of, tails_of

_SAME_LEVEL = 1e-9  # by how much numbers may differ that stand for one level


def bands_of(loss):
    """The columns of predictions that are the ends of each band: list of (lower, upper).

    There is one for each output; or, of several quantiles, for each pair of them that leave equal shares of targets out; or one
    for all of a distribution, which no columns are the ends of.
    """
    if loss.distribution is not None:
        return [None]
    if not loss.levels:
        return [(k, k) for k in range(loss.n_outputs)]
    n = len(loss.levels)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    return [(i, j) for i, j in pairs if abs(loss.levels[i] + loss.levels[j] - 1) < _SAME_LEVEL]


def check_bands(estimator, method):
    """The bands of a fitted estimator. Raises ValueError if its quantiles make none."""
    bands = bands_of(estimator._loss)
    if not bands:
        raise ValueError(
            f"{method} needs two quantiles that leave equal shares of targets out, as 0.05 and 0.95 do, and the model was fitted "
            f"with quantile={list(estimator._loss.levels)}; allowed are such quantiles, a single one, and other losses"
        )
    return bands


def before_intervals(estimator, X, offset):
    """What intervals are made of: the predictions of rows, or the parameters of their distributions, a column for each."""
    if estimator._loss.distribution is not None:
        return estimator.predict_distribution(X, offset=offset).parameters
    return estimator.predict(X, offset=offset)


def conformal_scores(estimator, predicted, y):
    """What rows score by each band, in ascending order: ndarray of shape (n_bands, n_rows), dtype float64.

    Parameters
    ----------
    estimator : HistGradientBoostingRegressor or HistGradientBoostingDistribution
        There is one band, all of the distribution, if distributions are predicted.
    predicted : ndarray of shape (n_rows,) or (n_rows, n_predictions), dtype float64
        As of `before_intervals`.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64
    """
    loss, predicted, y = estimator._loss, predicted.reshape(len(predicted), -1), y.reshape(len(y), -1)
    if loss.distribution is not None:
        loss.check_targets(y[:, 0], is_trained_on=False)
        from dforest.estimators.results.predicted import PredictedDistribution  # here, as models for serving start soon

        return np.sort(-tails_of(PredictedDistribution(loss.distribution, predicted), y[:, 0]))[None]
    found = [
        scores_of(y[:, 0 if loss.levels else lower], predicted[:, lower], predicted[:, upper])
        for lower, upper in check_bands(estimator, "conformalize")
    ]
    return np.sort(found, axis=1)


def check_conformal_scores(scores, n_bands):
    """Raise unless what is known of scores is what `conformal_scores` finds."""
    if not isinstance(scores, np.ndarray) or scores.dtype != np.float64 or scores.ndim != 2:
        raise TypeError("conformal_scores_ is no array of float64 of two axes, as a fitted model has")
    if len(scores) != n_bands or not (np.diff(scores, axis=1) >= 0).all() or not np.isfinite(scores).all():
        raise ValueError(f"conformal_scores_: {scores.shape}; for this model it must be {n_bands} rows of ascending numbers")


def checked_level(level):
    """The share of targets that intervals are to hold. Raises ValueError if it is no number between 0 and 1."""
    return check_number("level", level, Real, "numbers above 0 and below 1", lambda n: 0 < n < 1)


def check_method(method):
    """Raise ValueError unless it is a way in which intervals are made."""
    if method not in ("conformal", "quantiles"):
        raise ValueError(f'method={method!r}; allowed are "conformal" and "quantiles"')


def check_conformalized(scores, allowed):
    """Raise ValueError unless there are scores of rows."""
    if scores is None:
        raise ValueError(
            'method="conformal" needs rows that the model was not fitted to: call conformalize(X, y) first; allowed without is '
            f"{allowed}"
        )


def predict_interval(self, X, level=0.9, method="conformal", *, offset=None):
    r"""Predict an interval for each row that is meant to hold its target.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows with the columns of the training data.
    level : float, default=0.9
        The share of targets that the intervals are meant to cover, above 0 and below 1.
    method : {"conformal", "quantiles"}, default="conformal"
        How intervals are made:

        - "conformal": a band around the predictions, moved outwards on both sides by as much as the rows ask for that
          `conformalize` was given. If these n rows were not fitted to, and a new row is exchangeable with them, as rows drawn
          at random from one population are, the interval holds the new row's target with a probability of `level` at least
          and, if no two scores are equal, of `level` + 1 / (n + 1) at most, whatever the model and the distribution [1]_. The
          band is that between the two quantiles whose own level is closest to `level`, if `quantile` was a list [2]_; all
          intervals have one width otherwise, about the prediction. A band that is too wide is narrowed; ends that would cross
          are both in its middle. With fewer than `level` / (1 - `level`) rows, intervals are infinite.
        - "quantiles": the two quantiles that leave (1 - `level`) / 2 of the targets out on either side, as predicted. They must
          be in the list `quantile`. As trees are fitted to their training rows, they tend to cover too few of the targets.

    offset : array-like of shape (n_rows,) or (n_rows, n_predictions), optional
        What each row's raw prediction begins with, as in `fit`. None means zeros.

    Returns
    -------
    ndarray of shape (n_rows, 2) or (n_rows, n_outputs, 2), dtype float64
        The lower and the upper end of each interval. The second shape is that for a y of several columns, each of which has an
        interval of its own: `level` is the share of its targets.

    Raises
    ------
    ValueError
        If `conformalize` has not been called since the model was fitted, with "conformal", if there are no such quantiles, or
        if a parameter is not as described.

    References
    ----------
    .. [1] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, "Distribution-free predictive inference for
       regression", Journal of the American Statistical Association 113(523), 2018.
    .. [2] Y. Romano, E. Patterson, E. J. Candès, "Conformalized quantile regression", NeurIPS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor("quantile", quantile=[0.1, 0.9], max_iter=20, random_state=0)
    >>> model = model.fit(X[:200], y[:200]).conformalize(X[200:400], y[200:400])
    >>> model.predict_interval(X[400:], level=0.8).shape
    (42, 2)
    """
    self._check_fitted()
    levels, scores = self._loss.levels, getattr(self, "conformal_scores_", None)
    level = checked_level(level)
    check_method(method)
    if method == "quantiles" and not levels:
        raise ValueError(
            'method="quantiles" needs a model of several quantiles, by loss="quantile" and a list as quantile; allowed for '
            'others is method="conformal"'
        )
    bands = check_bands(self, f'method="{method}"')
    if method == "conformal":
        check_conformalized(scores, 'method="quantiles", of a model of several quantiles')
    chosen = range(len(bands))
    if levels:
        apart = [abs(levels[j] - levels[i] - level) for i, j in bands]
        chosen = [int(np.argmin(apart))]
        if method == "quantiles" and apart[chosen[0]] > _SAME_LEVEL:
            allowed = ", ".join(f"{levels[j] - levels[i]:.6g}" for i, j in bands)
            raise ValueError(f'level={level} with method="quantiles" and quantile={list(levels)}; allowed are {allowed}')
    predicted = on_host(self.predict(X, offset=offset))
    predicted = predicted.reshape(len(predicted), -1)
    ends = []
    for k in chosen:
        lower, upper = (predicted[:, end] for end in bands[k])
        ends.append(np.column_stack([lower, upper]) if method == "quantiles" else moved(lower, upper, scores[k], level))
    return in_kind(X, np.stack(ends, axis=1) if len(ends) > 1 else ends[0])
