"""What trees and forests predict: classes, numbers, and scores of outliers, given what leaves say on average."""

import numpy as np

from dforest.config import in_kind, on_host
from dforest.core.sampling import AllRows
from dforest.core.search.isolation import average_path_length
from dforest.estimators.data.labels import labels_of
from dforest.estimators.kinds import Classifier, OutlierForest
from dforest.estimators.other_names import with_hints
from dforest.estimators.results.calibration import calibrated


def last_draws(forest):
    """How many draws the last tree of a forest has, on average if its rows come in groups; None if it took every row once."""
    plan, n_rows = forest.plans[-1], int(forest.n_rows[-1])
    return None if isinstance(plan, AllRows) else plan.drawn().count_draws(n_rows)


class ClassPredictions(Classifier):
    """What makes `TreePredictions` those of classes."""

    @with_hints
    def predict_proba(self, X):
        """Predict the probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), dtype float64
            Probabilities, with columns in the order of `classes_`: the mean over trees of the shares of the
            classes in the leaves that a row reaches; with ``voting="hard"``, the share of the trees that vote
            for each class; with ``calibration="oob"``, these calibrated. For several outputs, a list of such arrays.
        """
        probability = self._mean(X, getattr(self, "voting", "soft"))
        if "calibration_" in self.__dict__:
            probability = calibrated(on_host(probability), self.calibration_)
        if self.forest_.objective.n_outputs == 1:
            return in_kind(X, probability)
        return [in_kind(X, part) for part in self._split(probability)]

    def _split(self, probability):
        """The probabilities by output: list of ndarray."""
        return [np.ascontiguousarray(on_host(probability)[:, own]) for own in self.forest_.objective.outputs]

    def predict_log_proba(self, X):
        """Predict the natural logarithm of the probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), dtype float64
            Logarithms of what `predict_proba` returns; the logarithm of 0 is -inf. For several outputs, a list
            of such arrays.
        """
        probability, has_several = self.predict_proba(X), self.forest_.objective.n_outputs > 1
        with np.errstate(divide="ignore"):
            logs = [in_kind(X, np.log(on_host(part))) for part in (probability if has_several else [probability])]
        return logs if has_several else logs[0]

    @with_hints
    def predict(self, X):
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The most probable class of each row, by `predict_proba`, whether calibrated or not; of equally probable classes, the
            first in `classes_`.
        """
        packed, *rows = self._ready(X, getattr(self, "voting", "soft"))
        if self.forest_.objective.n_outputs == 1:
            return in_kind(X, self.classes_.take(on_host(packed.most(*rows))))
        best = [part.argmax(axis=1) for part in self._split(packed.mean(*rows))]
        return in_kind(X, labels_of(self.classes_, best))


class NumberPredictions:
    """What makes `TreePredictions` those of numbers."""

    @with_hints
    def predict(self, X):
        """Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64
            The mean over trees of the value of the leaf that the row reaches. This value is the mean of the
            leaf's training targets, or their median with ``criterion="absolute_error"``.
        """
        mean = self._mean(X)
        return in_kind(X, mean.ravel() if self.forest_.objective.n_outputs == 1 else mean)


class OutlierPredictions(OutlierForest):
    """What makes `TreePredictions` scores of outliers."""

    def _average_path_length(self):
        """The average length of a path in a tree of as many draws that is grown to its end."""
        return average_path_length(last_draws(self.forest_))

    def _scores(self, lengths):
        """The scores of rows, given the mean lengths of their paths in an array of shape (n_rows, 1)."""
        longest = self._average_path_length()
        return -np.exp2(-lengths[:, 0] / longest if longest > 0.0 else np.full(len(lengths), -1.0))

    @with_hints
    def score_samples(self, X):
        """Return the score of each row: the lower it is, the more of an outlier is the row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            From -1 to 0: the opposite of the anomaly score of the original paper. It is -0.5 for a row whose paths are as long as
            paths are on average.
        """
        return in_kind(X, self._scores(on_host(self._mean(X))))

    def decision_function(self, X):
        """Return by how much the score of each row is above `offset_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            What `score_samples` returns, less `offset_`; negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    @with_hints
    def predict(self, X):
        """Tell outliers from the other rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            -1 for an outlier, for which `decision_function` is negative, and 1 for any other row.
        """
        self._check_fitted()
        return in_kind(X, np.where(on_host(self.decision_function(X)) < 0, -1, 1))
