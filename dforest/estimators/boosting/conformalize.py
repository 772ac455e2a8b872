"""Rows that say how wide the intervals of boosted trees must be."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.config import communicator, on_host
from dforest.estimators.boosting.intervals import before_intervals, conformal_scores
from dforest.estimators.data.outputs import by_output
from dforest.estimators.data.rows import checked_targets


class ConformalIntervals:
    """What makes the intervals of `BoostingEstimator` conformal."""

    def conformalize(self, X, y, *, offset=None):
        """Have rows that the model was not fitted to say how wide intervals must be: see `predict_interval`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features), or None
            Rows that neither trees were grown on nor early stopping was judged by, such as a random tenth of all rows that were
            left out of `fit`. None means the training rows, each as predicted by the trees of the fold that held it out, which
            a fit keeps if rows are held out in turn (`validation_folds`). Intervals then hold their level only about: trees of
            all rows are a little better than those of a fold, and the number of iterations was chosen by these rows.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Their targets. With X=None, those that `fit` was given; what rows of weight 0 have does not count. Weights of rows
            don't count either.
        offset : array-like of shape (n_rows,) or (n_rows, n_predictions), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros, or, with X=None, those of `fit`.

        Returns
        -------
        self
            The estimator, whose attribute `conformal_scores_` is set. Its predictions stay what they are.

        Raises
        ------
        ValueError
            If y is not as described, or not possible by the distribution that is predicted; if X is None but there are no
            predictions out of fold, or only those of the rows of one of several ranks; or if `quantile` is a list without two
            quantiles that leave equal shares of targets out.
        """
        check_is_fitted(self)
        outside = "oof_prediction_" if self._loss.distribution is None else "oof_parameters_"
        if X is not None:
            predicted = on_host(before_intervals(self, X, offset))
        elif communicator().size > 1:
            raise ValueError(
                "X=None by several ranks, each of which has predictions out of fold of its own rows; allowed are rows, as X and y"
            )
        elif not hasattr(self, outside):
            raise ValueError(
                "X=None, but fit has held no rows out in turn; allowed are rows that the model was not fitted to, and X=None "
                "after a fit with early_stopping=True and validation_folds=5, for example"
            )
        elif offset is not None:
            raise ValueError("offset is given with X=None; allowed with X=None is offset=None, as fit was given the offsets")
        else:
            predicted = getattr(self, outside)
        y = checked_targets(self, y, predicted)
        y = self._target.encode_known(self, by_output(y)).astype(np.float64)
        known = ~np.isnan(predicted.reshape(len(predicted), -1)[:, 0])
        self.conformal_scores_ = conformal_scores(self, predicted[known], y[known])
        return self
