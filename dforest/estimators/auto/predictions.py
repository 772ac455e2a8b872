"""What blends predict: the mean of what their members predict, by weight. It needs NumPy alone, as members' predictions do."""

import numpy as np

from dforest.config import in_kind, on_host
from dforest.estimators.kinds import Blend, Classifier


class BlendPredictions(Blend):
    """What predicts by the members in its attribute `estimators_`."""

    def _check_fitted(self):
        """Raise NotFittedError unless there are members."""

    def _classes(self):
        """The classes, or None."""
        return getattr(self, "classes_", None)

    def _predicted(self, X):
        """What the blend predicts of rows: ndarray of shape (n_rows,) or (n_rows, n_classes)."""
        self._check_fitted()
        return mixed_by([predicted(estimator, X, self._classes()) for estimator in self.estimators_], self.weights_)


class BlendedClasses(Classifier):
    """What makes `BlendPredictions` those of classes."""

    def predict(self, X):
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,)
            The most probable class of each row; of equally probable classes, the first in `classes_`.
        """
        most = self._predicted(X).argmax(axis=1)
        return in_kind(X, self.classes_.take(most))

    def predict_proba(self, X):
        """Predict the probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), dtype float64
            Probabilities, with columns in the order of `classes_`: the mean of those of the members by weight.
        """
        return in_kind(X, self._predicted(X))

    def predict_log_proba(self, X):
        """Predict the natural logarithm of the probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), dtype float64
            Logarithms of what `predict_proba` returns; the logarithm of 0 is -inf.
        """
        with np.errstate(divide="ignore"):
            return in_kind(X, np.log(self._predicted(X)))


class BlendedNumbers:
    """What makes `BlendPredictions` those of numbers."""

    def predict(self, X):
        """Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            The mean of what the members predict, by weight.
        """
        return in_kind(X, self._predicted(X))


def check_blend(state):
    """Raise unless the attributes of a fitted blend, as a pickle or a file has them, fit together."""
    estimators, weights, n_features = state["estimators_"], state["weights_"], state.get("n_features_in_")
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float64 or weights.shape != (len(estimators),):
        raise TypeError(f"weights_ is {weights!r}; in a blend it is an array of a weight for each of {len(estimators)} members")
    if not (len(weights) and (weights > 0).all() and abs(weights.sum() - 1) < 1e-9):
        raise ValueError(f"weights_: {weights.tolist()!r}; in a blend they are above 0 and sum to 1")
    if not isinstance(state["_names"], list) or len(set(state["_names"])) != len(estimators):
        raise ValueError(f"_names: {state['_names']!r}; in this blend there is a name of each of {len(estimators)} members")
    for estimator in estimators:
        if getattr(estimator, "n_features_in_", n_features) != n_features:
            raise ValueError(f"a member has {estimator.n_features_in_} features; in this blend it must be {n_features}")
        if "classes_" in state and not set(estimator.classes_.tolist()) <= set(state["classes_"].tolist()):
            raise ValueError(f"a member has the classes {estimator.classes_!r}, which this blend does not have")


def mixed_by(predictions, weights):
    """The sum of predictions by weight, in the order of the members."""
    mixed = weights[0] * predictions[0]
    for prediction, weight in zip(predictions[1:], weights[1:], strict=True):
        mixed = mixed + weight * prediction
    return mixed


def predicted(estimator, X, classes):
    """What a member predicts: ndarray of shape (n_rows,), or (n_rows, n_classes) if there are classes."""
    if classes is None:
        return np.asarray(on_host(estimator.predict(X)), np.float64).ravel()
    return _by_class(np.asarray(on_host(estimator.predict_proba(X)), np.float64), estimator.classes_, classes)


def _by_class(probability, own, classes):
    """Probabilities with a column for each of all classes, given those of the classes that an estimator has seen."""
    if len(own) == len(classes):
        return probability
    found = np.zeros((len(probability), len(classes)))
    found[:, np.searchsorted(classes, own)] = probability
    return found
