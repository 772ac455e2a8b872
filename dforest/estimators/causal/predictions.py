"""What causal forests predict: effects of treatments, and how sure they are, by NumPy alone."""

import numpy as np

from dforest.config import in_kind, on_host
from dforest.estimators.kinds import CausalTrees
from dforest.estimators.other_names import with_hints


class EffectPredictions(CausalTrees):
    """What makes `TreePredictions` those of effects."""

    def _shaped(self, effects):
        """Effects, an array of shape (n_rows, n_treatments, n_outcomes, ...), without axes of one treatment or outcome."""
        n_outcomes, n_treatments, _ = self.forest_.objective.moments
        found = np.moveaxis(effects, 2, 1)
        found = found[:, :, 0] if n_treatments == 1 else found
        return found[:, 0] if n_outcomes == 1 else found

    @with_hints
    def predict(self, X=None):
        """Predict the effect of the treatment for each row.

        It is what a treatment of 1 adds to the expected outcome in place of 0, or one unit more of it; of labels, what an arm
        adds in place of the control.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            Rows with the columns of the training data. None means the training rows, each as predicted by the trees that left
            it out.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            Effects, in units of the outcome by units of the treatment. If y had several columns, the shape is
            (n_rows, n_outcomes), and if the treatment had, or more than two labels, there is another axis behind, of length
            n_treatments. NaN where the treatment does not vary among the rows that trees compare with, or, of training rows,
            where all trees drew the row.

        Raises
        ------
        ValueError
            If X is None, and the training rows were not kept.
        """
        if X is None:
            return self._shaped(self._effects_out_of_bag())
        return in_kind(X, self._shaped(self.forest_.objective.moments.effects(on_host(self._mean(X)))))

    def _effects_out_of_bag(self):
        """Effects for the training rows: ndarray of shape (n_rows, n_treatments, n_outcomes)."""
        raise ValueError("X=None means the training rows, which this model does not have; allowed are rows")
