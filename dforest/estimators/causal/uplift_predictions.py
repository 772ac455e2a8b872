"""What uplift forests predict: probabilities of the outcome in each arm, and their differences, by NumPy alone."""

import numpy as np

from dforest.config import in_kind, on_host
from dforest.estimators.kinds import UpliftTrees
from dforest.estimators.other_names import with_hints


class UpliftPredictions(UpliftTrees):
    """What makes `TreePredictions` those of uplift."""

    def _outcomes(self, X):
        """Probabilities of the second outcome: ndarray of shape (n_rows, n_arms)."""
        shares = on_host(self._mean(X))
        shares = shares.reshape(len(shares), -1, 2)
        with np.errstate(invalid="ignore"):
            return shares[:, :, 1] / shares.sum(axis=2)

    @with_hints
    def predict(self, X):
        """Predict the uplift of each arm for each row: what it adds to the probability of the outcome in place of the control.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_arms - 1), dtype float64
            A column for each arm but the control, in the order of `arms_`; one axis if there are two arms.
        """
        found = self._outcomes(X)
        uplift = found[:, 1:] - found[:, :1]
        return in_kind(X, uplift[:, 0] if uplift.shape[1] == 1 else uplift)

    def predict_outcome(self, X):
        """Predict the probability of the second outcome for each row, in each arm.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows, n_arms), dtype float64
            With columns in the order of `arms_`: the mean share, over the leaves that a row reaches, of rows of the arm that have
            the outcome, divided by that of all rows of the arm. NaN where no leaf has any, as may be in honest trees.
        """
        return in_kind(X, self._outcomes(X))
