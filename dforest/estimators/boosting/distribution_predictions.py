"""What boosted trees predict whose raw predictions are parameters of a distribution."""

from dforest.config import in_kind, on_host
from dforest.estimators.kinds import DistributionTrees
from dforest.estimators.other_names import with_hints


class BoostedDistributions(DistributionTrees):
    """What makes `RawPredictions` those of distributions."""

    @with_hints
    def predict(self, X, *, n_iter=None, offset=None):
        """Predict the mean of the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: the prediction is that of the first iterations. None means all.
        offset : array-like of shape (n_rows, n_parameters), optional
            What each row's raw predictions begin with, as in `fit`. None means zeros.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            Means of the distributions that `predict_distribution` returns.
        """
        return self._predicted(X, n_iter, offset)

    def predict_distribution(self, X, *, n_iter=None, offset=None):
        """Predict the distribution of the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: the prediction is that of the first iterations. None means all.
        offset : array-like of shape (n_rows, n_parameters), optional
            What each row's raw predictions begin with, as in `fit`. None means zeros.

        Returns
        -------
        dforest.distribution.PredictedDistribution
            Its `parameters` are those of the rows, and methods return means, variances, quantiles, densities, distribution
            functions, scores and samples, as arrays of NumPy.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from dforest import HistGradientBoostingDistribution
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = HistGradientBoostingDistribution(max_iter=50, random_state=0).fit(X[100:], y[100:])
        >>> predicted = model.predict_distribution(X[:100])
        >>> predicted.quantile([0.1, 0.9]).shape
        (100, 2)
        >>> bool(predicted.crps(y[:100]).mean() < 33)
        True
        """
        self._check_fitted()
        return self._loss.distribution_of(self._raw(X, n_iter, offset))

    def predict_interval(self, X, level=0.9, *, n_iter=None, offset=None):
        """Predict the central interval of the distribution of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        level : float, default=0.9
            The share of targets that the intervals are to hold, above 0 and below 1: as many are below as above. They do so as
            far as the distributions are right.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`. None means all.
        offset : array-like of shape (n_rows, n_parameters), optional
            What each row's raw predictions begin with, as in `fit`. None means zeros.

        Returns
        -------
        ndarray of shape (n_rows, 2), dtype float64
            The lower and the upper end of each interval.
        """
        return in_kind(X, self.predict_distribution(X, n_iter=n_iter, offset=offset).interval(level))

    def staged_predict(self, X, *, offset=None):
        """Predict the mean of the target of each row by the first iteration alone, by the first two iterations, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        offset : array-like of shape (n_rows, n_parameters), optional
            What each row's raw predictions begin with, as in `fit`. None means zeros.

        Yields
        ------
        ndarray of shape (n_rows,), dtype float64
            What `predict` would return if growing had stopped after this iteration.
        """
        for raw in self._staged_raw(X, on_host(offset)):
            yield self._loss.predict(raw)

