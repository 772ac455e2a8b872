"""What boosted trees predict whose raw predictions are parameters of a distribution."""

from dforest.config import in_kind, on_host
from dforest.estimators.boosting.intervals import check_conformalized, check_method, checked_level
from dforest.estimators.kinds import DistributionTrees
from dforest.estimators.other_names import with_hints
from dforest.estimators.results.conformal import between_tails


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

    def predict_interval(self, X, level=0.9, method=None, *, n_iter=None, offset=None):
        r"""Predict an interval for each row that is meant to hold its target: as many targets are below it as above.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        level : float, default=0.9
            The share of targets that the intervals are meant to cover, above 0 and below 1.
        method : {"conformal", "quantiles"}, optional
            How intervals are made:

            - "conformal": between two quantiles of each distribution, the same for all rows, that leave out as much on both sides
              as the rows ask for that `conformalize` was given. If these n rows were not fitted to, and a new row is exchangeable
              with them, as rows drawn at random from one population are, the interval holds the new row's target with a
              probability of `level` at least and, if no two scores are equal, of `level` + 1 / (n + 1) at most, whatever the
              model and the distribution [1]_. Those of counts hold more, as all of a count is held or nothing. With fewer than
              `level` / (1 - `level`) rows, intervals are infinite, and so they are if so many targets are impossible by the
              distributions predicted for them, or nearly so (with a probability below 1e-300, or 1e-16 by a distribution of your
              own), that `level` can't be reached without such ones.
            - "quantiles": the quantiles of each distribution that leave (1 - `level`) / 2 out on either side. They hold `level`
              of the targets as far as the distributions are right, and fewer where trees have been fitted too closely.

            None means "conformal" if `conformalize` has been called since the model was fitted, and otherwise "quantiles".
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`. None means all, which "conformal" intervals are made of.
        offset : array-like of shape (n_rows, n_parameters), optional
            What each row's raw predictions begin with, as in `fit`. None means zeros.

        Returns
        -------
        ndarray of shape (n_rows, 2), dtype float64
            The lower and the upper end of each interval.

        Raises
        ------
        ValueError
            If `method` is "conformal" and `conformalize` has not been called since the model was fitted, or `n_iter` is given
            with it, or if a parameter is not as described.

        References
        ----------
        .. [1] V. Chernozhukov, K. Wüthrich, Y. Zhu, "Distributional conformal prediction", PNAS 118(48), 2021.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from dforest import HistGradientBoostingDistribution
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = HistGradientBoostingDistribution(max_iter=50, random_state=0).fit(X[:200], y[:200])
        >>> quantiles = model.predict_interval(X[400:])
        >>> conformal = model.conformalize(X[200:400], y[200:400]).predict_interval(X[400:])
        >>> conformal.shape
        (42, 2)
        >>> bool((conformal[:, 0] < quantiles[:, 0]).all())  # quantiles by themselves held too few targets
        True
        """
        self._check_fitted()
        level, scores = checked_level(level), getattr(self, "conformal_scores_", None)
        method = ("quantiles" if scores is None else "conformal") if method is None else method
        check_method(method)
        if method == "quantiles":
            return in_kind(X, self.predict_distribution(X, n_iter=n_iter, offset=offset).interval(level))
        check_conformalized(scores, 'method="quantiles"')
        if n_iter is not None:
            raise ValueError(
                f'n_iter={n_iter!r} with method="conformal", whose scores are those of all iterations; allowed are n_iter=None, '
                'and method="quantiles"'
            )
        return in_kind(X, between_tails(self.predict_distribution(X, offset=offset), scores[0], level))

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

