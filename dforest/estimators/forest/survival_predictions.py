"""What trees and forests predict for survival times: risks, and functions of time, from the curves of the leaves."""

from numbers import Real

import numpy as np

from dforest.config import in_kind, on_host
from dforest.estimators.data.given import check_number
from dforest.estimators.data.survival import step_functions
from dforest.estimators.kinds import SurvivalTrees
from dforest.estimators.other_names import with_hints
from dforest.estimators.results.survival import BLOCK_ROWS


class SurvivalPredictions(SurvivalTrees):
    """What makes `TreePredictions` those of survival times."""

    @with_hints
    def predict(self, X):
        """Predict the risk of each row.

        The risk is the sum of the cumulative hazard over `event_times_`: the number of events that would be expected by these
        times, all added up [1]_. The higher it is, the sooner an event is to be expected.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            The mean over trees of the risk of the leaf that the row reaches.

        References
        ----------
        .. [1] H. Ishwaran, U. B. Kogalur, E. H. Blackstone, M. S. Lauer, "Random survival forests", The Annals of Applied
           Statistics 2(3), 2008.
        """
        return in_kind(X, self._mean(X).ravel())

    def _curves_at(self, X, times, is_survival):
        """The means of curves of rows at some times."""
        self._check_fitted()
        places = np.searchsorted(self.event_times_, times, side="right")
        n_threads = self._count_threads()
        return self._curves.means(self.forest_, on_host(self._leaves(X)), places, is_survival, n_threads)

    def _functions(self, X, times, return_array, is_survival):
        self._check_fitted()
        before = None
        if times is None:
            times, before = self.unique_times_, float(is_survival)
        else:
            times = np.asarray(times, np.float64)
            if times.ndim != 1 or not len(times) or not ((times >= 0) & np.isfinite(times)).all() or (np.diff(times) <= 0).any():
                raise ValueError(f"times={times!r}; allowed are finite times from 0 on, ascending, in an array of one axis")
        values = self._curves_at(X, times, is_survival)
        return in_kind(X, values) if return_array else step_functions(times, values, before)

    def predict_survival_function(self, X, return_array=False, *, times=None):
        """Predict the survival function of each row: the probability that its event comes after a time.

        In a leaf it is the Kaplan-Meier estimate [1]_, the product of 1 - d / n over the event times so far, with n the weight of
        the draws at risk and d that of those with an event. That of a forest is the mean over trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        return_array : bool, default=False
            Whether to return an array in place of functions.
        times : array-like of shape (n_times,), default=None
            The times at which functions are evaluated, ascending. None means `unique_times_`. Before the first time of an event
            the probability is 1, and after the last one it stays as it is.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_times)
            Step functions, with the times as `x`, the probabilities as `y`, and a call that takes any times from 0 on, or, if
            `times` are given, those between the first and the last of them; or, with ``return_array=True``, probabilities as
            float64.

        References
        ----------
        .. [1] E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", Journal of the American
           Statistical Association 53(282), 1958.
        """
        return self._functions(X, times, return_array, True)

    def predict_cumulative_hazard_function(self, X, return_array=False, *, times=None):
        """Predict the cumulative hazard of each row.

        In a leaf it is the Nelson-Aalen estimate [1]_, the sum of d / n over the event times so far, with n the weight of the
        draws at risk and d that of those with an event. That of a forest is the mean over trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        return_array : bool, default=False
            Whether to return an array in place of functions.
        times : array-like of shape (n_times,), default=None
            The times at which functions are evaluated, ascending. None means `unique_times_`. Before the first time of an event
            the hazard is 0, and after the last one it stays as it is.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_times)
            Step functions, as of `predict_survival_function`; or, with ``return_array=True``, hazards as float64.

        References
        ----------
        .. [1] O. Aalen, "Nonparametric inference for a family of counting processes", The Annals of Statistics 6(4), 1978.
        """
        return self._functions(X, times, return_array, False)

    def _of_blocks(self, X, n_columns, summary):
        """What `summary` makes of the survival functions of rows at 0 and at all event times, block by block."""
        self._check_fitted()
        leaves, places = on_host(self._leaves(X)), np.arange(len(self.event_times_) + 1)
        n_threads = self._count_threads()
        found = np.empty((len(leaves), n_columns))
        for begin in range(0, len(leaves), BLOCK_ROWS):
            own = slice(begin, begin + BLOCK_ROWS)
            found[own] = summary(self._curves.means(self.forest_, leaves[own], places, True, n_threads))
        return found

    def predict_quantiles(self, X, quantiles=(0.25, 0.5, 0.75)):
        """Predict quantiles of the survival time of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        quantiles : float or array-like of shape (n_quantiles,), default=(0.25, 0.5, 0.75)
            Probabilities above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_quantiles), dtype float64
            For a probability q, the first event time at which the survival function is at most 1 - q; infinity if it stays above
            that. The shape is the first one for a single number.
        """
        chosen = np.atleast_1d(np.asarray(quantiles, np.float64))
        if chosen.ndim != 1 or not len(chosen) or not ((chosen > 0) & (chosen < 1)).all():
            raise ValueError(f"quantiles={quantiles!r}; allowed are numbers above 0 and below 1")

        def summary(survival):
            times = np.append(self.event_times_, np.inf)
            found = [(survival[:, 1:] > 1.0 - q + 1e-12).sum(axis=1) for q in chosen]  # survival functions only fall
            return times[np.stack(found, axis=1)]

        found = self._of_blocks(X, len(chosen), summary)
        return in_kind(X, found if np.ndim(quantiles) else found[:, 0])

    def predict_restricted_mean(self, X, horizon=None):
        """Predict the restricted mean survival time of each row: the mean of the survival time up to a horizon.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        horizon : float, default=None
            Later times count as this one. None means the last of `unique_times_`.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            The integral of the survival function from 0 to the horizon.
        """
        self._check_fitted()
        last = float(self.unique_times_[-1])
        if horizon is None:
            horizon = last
        horizon = check_number("horizon", horizon, Real, f"numbers above 0 and up to {last}", lambda h: 0 < h <= last)
        ends = np.minimum(np.append(self.event_times_, horizon), horizon)
        lengths = np.diff(np.concatenate([[0.0], ends]))
        return in_kind(X, self._of_blocks(X, 1, lambda survival: (survival * lengths).sum(axis=1, keepdims=True))[:, 0])
