"""Local linear predictions of regression forests: a line through the neighbours of a row, in place of their mean.

The neighbours are the training rows, with the weights that the forest gives them (`forest_weights`). Of them, the line needs
weighted means alone: of the features x that it rises with, of the target y, and of the products x x' and x y. As weights are
means over trees of shares in leaves, these are means over trees of the means in leaves, of which tables are made when they are
first asked for.
"""

from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.core.effects import solved
from dforest.core.sparse_rows import dense
from dforest.estimators.data.encoder import CATEGORICAL
from dforest.estimators.data.given import check_number
from dforest.estimators.data.validation import count_threads
from dforest.estimators.results.intervals import BLOCK_BYTES, bag_size, by_tree, mean_and_variance, mean_over_trees


def predict_local_linear(self, X=None, features=None, *, ridge=0.1, return_std=False):
    r"""Predict the target of each row by a line through its neighbours.

    A forest predicts the mean of a row's neighbours, which is too low where the target rises beyond them, and bends where it is
    smooth. Here the targets of the neighbours are regressed on how far their features are from those of the row, with the weights
    of `forest_weights`, and the prediction is the intercept [1]_.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
        Rows with the columns of the training data. None means the training rows, each as predicted by the trees that left it out.
    features : array-like of int or str, optional
        Numbers or names of the columns that the line rises with: columns of numbers without missing values. None means all.
    ridge : float, default=0.1
        How much slopes are held back, from 0 on: the penalty of the square of a slope is this times the weighted mean square of
        how far neighbours are from the row.
    return_std : bool, default=False
        Whether standard errors of the predictions are returned too, by little bags (`ci_group_size`).

    Returns
    -------
    prediction : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64
    std : ndarray of the same shape
        Returned if `return_std`.

    Raises
    ------
    ValueError
        If the forest was not fitted with ``keep_training_data=True``, or, for `return_std`, with `ci_group_size` above 1; if a
        column is not as described, or has a missing value.

    Notes
    -----
    With weights :math:`\alpha_i`, and :math:`\Delta_i = (1, x_i - x)`, the coefficients are

    .. math:: \hat\theta = \left(\sum_i \alpha_i \Delta_i \Delta_i' + \lambda J\right)^{-1} \sum_i \alpha_i \Delta_i y_i

    where J is diagonal, with 0 for the intercept and :math:`\sum_i \alpha_i (x_{ij} - x_j)^2` for the feature j.

    References
    ----------
    .. [1] R. Friedberg, J. Tibshirani, S. Athey, S. Wager, "Local linear forests", Journal of Computational and Graphical
       Statistics 30(2), 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestRegressor
    >>> X = np.linspace(0, 1, 400)[:, None]
    >>> y = 10 * X[:, 0]
    >>> forest = RandomForestRegressor(min_samples_leaf=20, keep_training_data=True, random_state=0).fit(X, y)
    >>> end = np.array([[1.0]])
    >>> bool(forest.predict(end)[0] < 9.8 < forest.predict_local_linear(end, ridge=0.01)[0])
    True
    """
    check_is_fitted(self)
    ridge = check_number("ridge", ridge, Real, "numbers from 0 on", lambda number: 0 <= number < np.inf)
    forest, data, n_threads = self.forest_, self._training_rows(), count_threads(self.n_jobs)
    size = bag_size(forest.plans[0])
    if return_std and (size == 1 or forest.n_trees < 2 * size):
        raise ValueError(
            f"return_std=True needs two bags of trees or more; this forest has {forest.n_trees} trees, and was fitted with "
            f"ci_group_size={self.ci_group_size}; allowed are numbers from 2"
        )
    chosen = _chosen(self, features)
    rows = data.X if X is None else self._checked_rows(X)
    training, own = (_columns("training rows", data.X, chosen), _columns("X", rows, chosen))
    centre, spread = training.mean(axis=0), training.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    moments = _Moments(len(chosen), forest.objective.n_outputs)
    key = "local linear", tuple(chosen)
    table = self._derived(key, lambda: _leaf_means(forest, data, moments.of((training - centre) / scale, data.y), n_threads))
    at = (own - centre) / scale
    left_out = by_tree(forest.left_out, forest.n_trees, n_threads) if X is None else None
    mean, variance = np.empty((2, len(at), forest.objective.n_outputs))
    at_a_time = max(1, BLOCK_BYTES // (8 * forest.n_trees * moments.n))
    for first in range(0, len(at), at_a_time):
        some = slice(first, first + at_a_time)
        leaves = table[forest.packed(n_threads=n_threads).apply(rows[some], n_threads) + forest.node_offsets[:-1]]
        counts = np.ones(leaves.shape[:2], bool) if left_out is None else left_out[:, some].T
        mean[some], apart = moments.lines(leaves, counts, at[some], ridge)
        if return_std:
            for output in range(mean.shape[1]):
                variance[some, output] = mean_and_variance(apart[:, :, output], size, None if left_out is None else counts)[1]
    found = (mean, np.sqrt(variance)) if return_std else (mean,)
    found = [part if forest.objective.n_outputs > 1 else part[:, 0] for part in found]
    if X is None:
        found = [self._of_given_rows(part) for part in found]
    return tuple(found) if return_std else found[0]


def _chosen(self, features):
    """The numbers of the columns that a line rises with: list of int."""
    names = getattr(self, "feature_names_in_", None)
    given = range(self.n_features_in_) if features is None else np.atleast_1d(np.asarray(features)).tolist()
    chosen = []
    for one in given:
        if isinstance(one, str) and names is not None and one in names:
            one = int(np.flatnonzero(names == one)[0])
        if type(one) is not int or not 0 <= one < self.n_features_in_:
            known = "" if names is None else " or names of columns"
            raise ValueError(f"features has {one!r}; allowed are numbers from 0 to {self.n_features_in_ - 1}{known}")
        if self._features.kinds[one] == CATEGORICAL:
            raise ValueError(f"features has {one!r}, a column of labels; allowed are columns of numbers")
        chosen.append(one)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"features={features!r}; allowed are one column or more, each once")
    return chosen


def _columns(what, X, chosen):
    """Some columns of encoded rows: ndarray of float64. Raises ValueError if a value is missing, or infinite."""
    found = np.ascontiguousarray(dense(X)[:, chosen], np.float64)
    wrong = np.argwhere(~np.isfinite(found))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(
            f"{what}: row {row} has {found[row, column]} in column {chosen[column]}; a line needs finite numbers: leave the "
            "column out of `features`, or fill it"
        )
    return found


def _leaf_means(forest, data, moments, n_threads):
    """The means of the moments over the rows that fill each leaf, by node: ndarray of shape (n_nodes, n_moments)."""
    table = np.zeros((len(forest.feature), moments.shape[1]))
    for t in range(forest.n_trees):
        leaf = forest.tree(t).packed().apply(data.X, n_threads)[:, 0]
        mass = data.masses(forest.row_counts(t))
        there = np.flatnonzero(mass)
        first, end = forest.node_offsets[t : t + 2]
        total = np.bincount(leaf[there], mass[there], end - first)
        for j in range(moments.shape[1]):
            sums = np.bincount(leaf[there], mass[there] * moments[there, j], end - first)
            np.divide(sums, total, out=table[first:end, j], where=total > 0)
    return table


class _Moments:
    """What a line needs of rows: x, the products of x by pairs, y, and the products x y."""

    def __init__(self, n_features, n_outputs):
        self.n_features, self.n_outputs = n_features, n_outputs
        self.pairs = np.triu_indices(n_features)
        self.n = n_features + len(self.pairs[0]) + n_outputs * (1 + n_features)

    def of(self, x, y):
        y = y.reshape(len(y), -1)
        products = (x[:, :, None] * y[:, None, :]).reshape(len(x), -1)
        return np.hstack([x, x[:, self.pairs[0]] * x[:, self.pairs[1]], y, products])

    def around(self, means, at):
        """The weighted sums of Delta Delta' and of Delta y, given means in the last axis, and the rows that they are around."""
        k, ends = self.n_features, np.cumsum([self.n_features, len(self.pairs[0]), self.n_outputs])
        x, pairs, y, xy = np.split(means, ends, axis=-1)
        xx = np.empty((*means.shape[:-1], k, k))
        xx[..., self.pairs[0], self.pairs[1]] = xx[..., self.pairs[1], self.pairs[0]] = pairs
        square = np.ones((*means.shape[:-1], k + 1, k + 1))
        square[..., 0, 1:] = square[..., 1:, 0] = x - at
        product = x[..., :, None] * at[..., None, :]
        square[..., 1:, 1:] = xx - product - np.swapaxes(product, -1, -2) + at[..., :, None] * at[..., None, :]
        right = np.empty((*means.shape[:-1], k + 1, self.n_outputs))
        right[..., 0, :] = y
        right[..., 1:, :] = xy.reshape(*means.shape[:-1], k, self.n_outputs) - at[..., :, None] * y[..., None, :]
        return square, right

    def lines(self, leaves, counts, at, ridge):
        """Predictions, (n_rows, n_outputs), and by how much trees move them, to first order, (n_rows, n_trees, n_outputs)."""
        square, right = self.around(mean_over_trees(leaves, counts), at)
        penalty = np.zeros_like(square)
        inner = np.arange(1, self.n_features + 1)
        penalty[:, inner, inner] = np.maximum(ridge, _LEAST_RIDGE) * square[:, inner, inner] + _LEAST_RIDGE
        none = np.zeros(len(at))
        line = solved(square + penalty, right, none)
        first = np.zeros((len(at), self.n_features + 1, 1))
        first[:, 0] = 1.0
        to_intercept = solved(square + penalty, first, none)[:, :, 0]
        of_trees, right_of_trees = self.around(leaves, at[:, None])
        score = right_of_trees - np.einsum("rtjk,rko->rtjo", of_trees, line) - np.einsum("rjk,rko->rjo", penalty, line)[:, None]
        return line[:, 0], np.einsum("rj,rtjo->rto", to_intercept, score)


_LEAST_RIDGE = 1e-9  # so that features which are constant among neighbours have no slope
