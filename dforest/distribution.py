"""Distributions whose parameters boosted trees predict: objects or classes for the parameter `loss` of
`HistGradientBoostingDistribution`, what it predicts, and scorers of predicted distributions.

The built-in distributions have names, such as ``loss="normal"``, and are also classes. To write one of your own in Python, over
NumPy arrays, subclass `PythonDistribution`; in Cython, subclass `dforest.loss.Loss`, and set `parameter_names`.
"""

import dforest.built  # noqa: F401
from dforest.core.boost.distributions import Gamma, LogNormal, NegativeBinomial, Normal, StudentT, ZeroInflatedPoisson
from dforest.estimators.results.predicted import PredictedDistribution
from dforest.loss import PythonLoss

__all__ = [
    "Gamma", "LogNormal", "NegativeBinomial", "Normal", "PredictedDistribution", "PythonDistribution", "StudentT",
    "ZeroInflatedPoisson", "log_score_scorer", "neg_crps_scorer",
]  # fmt: skip


class PythonDistribution(PythonLoss):
    """Base class of distributions that are written in Python, over NumPy arrays.

    A row has a raw prediction for each parameter of its distribution, and each tree has a value for each of them in its leaves.
    Arrays of raw predictions, and of parameters, have the shape (n_rows, n_parameters), or (n_rows,) for a single parameter. A
    raw prediction may become any number, so that a parameter that is above 0 should be the exponential of one, for example.

    A subclass must set or override

    - ``parameter_names``, a tuple of the names of the parameters.
    - ``loss(y_true, raw_prediction)``, which returns minus the logarithm of the density of each row.
    - ``gradient_hessian(y_true, raw_prediction)``, which returns its derivatives by each raw prediction, and what stands for the
      second ones, above 0. The steps of leaves are the former divided by the latter. With the diagonal of the Fisher
      information these are natural gradients; where the second derivative itself, or a bound of it, is greater, steps with it
      are safer.
    - ``inverse_link(raw_prediction)``, which returns the parameters.
    - ``mean(*parameters)``, which returns the mean of each row, given an array of shape (n_rows,) for each parameter. It is what
      `predict` returns.

    `PredictedDistribution` asks the methods ``variance(*parameters)``, ``log_density(y, *parameters)``,
    ``cdf(y, *parameters)``, ``quantile(q, *parameters)``, ``crps(y, *parameters)`` and ``sample(rng, shape, *parameters)``, all
    over arrays that broadcast; those that a subclass does not define raise NotImplementedError when they are asked for. The score
    of the estimator needs ``log_density``, and conformal intervals need ``quantile`` and a ``cdf`` that takes any number. What
    else a subclass may override is described for `dforest.loss.PythonLoss`: ``fit_intercept_only`` and ``in_y_true_range``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import HistGradientBoostingDistribution
    >>> from dforest.distribution import PythonDistribution
    >>> class Laplace(PythonDistribution):
    ...     parameter_names = "location", "scale"
    ...     def loss(self, y_true, raw_prediction):
    ...         location, log_scale = raw_prediction.T
    ...         return np.abs(y_true - location) * np.exp(-log_scale) + log_scale + np.log(2)
    ...     def gradient_hessian(self, y_true, raw_prediction):
    ...         location, log_scale = raw_prediction.T
    ...         z = (y_true - location) * np.exp(-log_scale)
    ...         gradient = np.column_stack([-np.sign(z) * np.exp(-log_scale), 1 - np.abs(z)])
    ...         information = np.column_stack([np.exp(-2 * log_scale), (1 + np.abs(z)) / 2])
    ...         return gradient, information
    ...     def inverse_link(self, raw_prediction):
    ...         return np.column_stack([raw_prediction[:, 0], np.exp(raw_prediction[:, 1])])
    ...     def fit_intercept_only(self, y_true, sample_weight):
    ...         center = np.median(y_true)
    ...         return [center, np.log(np.abs(y_true - center).mean())]
    ...     def mean(self, location, scale):
    ...         return location
    ...     def variance(self, location, scale):
    ...         return 2 * scale**2
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingDistribution(Laplace(), max_iter=50, random_state=0).fit(X, y / 100)
    >>> model.predict_distribution(X).std().shape
    (442,)
    """

    parameter_names = ()

    def mean(self, *parameters):
        """Return the mean of each row, given an array for each parameter; a subclass must override it.

        Parameters
        ----------
        *parameters : ndarray of shape (n_rows,), dtype float64
            In the order of `parameter_names`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        raise NotImplementedError(f"{type(self).__name__} does not define mean, which predict returns")


def log_score_scorer(estimator, X, y, sample_weight=None):
    """Score an estimator by the mean logarithm of the density of targets: the higher, the better.

    It is a scorer as those of scikit-learn, for ``cross_val_score`` and for the parameter `scoring` of searches and of boosted
    trees, and is what ``HistGradientBoostingDistribution.score`` returns.

    Parameters
    ----------
    estimator : estimator
        With a method `predict_distribution`.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows with the columns of the training data.
    y : array-like of shape (n_rows,)
        Targets of the rows.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None means that all weights are 1.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from dforest import HistGradientBoostingDistribution
    >>> from dforest.distribution import log_score_scorer
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingDistribution(max_iter=20, random_state=0)
    >>> cross_val_score(model, X, y, cv=3, scoring=log_score_scorer).mean() > -6
    np.True_
    """
    return estimator.predict_distribution(X).mean_log_density(y, sample_weight)


def neg_crps_scorer(estimator, X, y, sample_weight=None):
    """Score an estimator by minus the mean continuous ranked probability score: the higher, the better.

    It is in the unit of targets, and is a scorer as `log_score_scorer` is one.

    Parameters
    ----------
    estimator : estimator
        With a method `predict_distribution`.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows with the columns of the training data.
    y : array-like of shape (n_rows,)
        Targets of the rows.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None means that all weights are 1.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from dforest import HistGradientBoostingDistribution
    >>> from dforest.distribution import neg_crps_scorer
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingDistribution(max_iter=20, random_state=0)
    >>> cross_val_score(model, X, y, cv=3, scoring=neg_crps_scorer).mean() > -40
    np.True_
    """
    return -estimator.predict_distribution(X).mean_crps(y, sample_weight)
