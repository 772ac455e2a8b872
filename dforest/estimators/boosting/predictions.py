"""What boosted trees predict: raw predictions, and what a loss makes of these."""

from numbers import Integral

import numpy as np

from dforest.config import in_kind, on_host
from dforest.estimators.boosting.intervals import predict_interval
from dforest.estimators.boosting.offsets import check_offset
from dforest.estimators.data.given import check_number
from dforest.estimators.data.labels import labels_of
from dforest.estimators.kinds import BoostedTrees, Classifier, RankingTrees
from dforest.estimators.other_names import with_hints


class RawPredictions(BoostedTrees):
    """What makes `TreePredictions` sums over trees."""

    @property
    def n_iter_(self):
        """Number of iterations that the model has: int, below `max_iter` if growing stopped early, or an earlier one was best."""
        self._check_fitted()
        return self.forest_.n_trees // self.n_trees_per_iteration_

    def _count_iterations(self, n_iter):
        """How many iterations are to count. Raises ValueError if there are not so many."""
        if n_iter is None:
            return self.n_iter_
        allowed = f"integers from 1 to n_iter_={self.n_iter_}, and None"
        return check_number("n_iter", n_iter, Integral, allowed, lambda n: 1 <= n <= self.n_iter_)

    def _raw(self, X, n_iter=None, offset=None):
        """Raw predictions by the first iterations, or by all: float64, of shape (n_rows, n_sums)."""
        if n_iter is None and offset is None:
            return on_host(self._mean(X))
        return next(self._raw_after(X, [self._count_iterations(n_iter)], offset))

    def _predicted(self, X, n_iter=None, offset=None, has_classes=False):
        """What raw predictions say of y, or the probabilities of all classes: X's kind of array; see `_raw`."""
        if n_iter is None and offset is None:
            packed, *rows = self._ready(X)
            number = self._loss.facts.number  # below 0 of a loss of the user's own
            is_plain = number >= 0 and not self._loss.levels and not self._loss.one_vs_rest
            if is_plain and hasattr(packed, "inverse_link"):  # on a device
                return in_kind(X, packed.inverse_link(*rows, number, has_classes))
            raw = on_host(packed.mean(*rows))
        else:
            raw = self._raw(X, n_iter, offset)
        loss = self._loss
        n_threads = self._n_threads(self.forest_.packed(), len(raw))
        return in_kind(X, (loss.probabilities if has_classes else loss.predict)(raw, n_threads))

    def _staged_raw(self, X, offset=None):
        """Yield raw predictions after each iteration, in new arrays."""
        return self._raw_after(X, range(1, self.n_iter_ + 1), offset)

    def _raw_after(self, X, numbers, offset=None):
        """Yield raw predictions after some numbers of iterations, which ascend, in new arrays."""
        X = self._checked_rows(X)
        packed, n_trees, n_sums = self.forest_.packed(), self.n_trees_per_iteration_, self.forest_.objective.n_sums
        n_threads = self._n_threads(packed, len(X))
        sums = check_offset([on_host(offset)], [len(X)], n_sums)
        sums = np.zeros((len(X), n_sums)) if sums is None else sums
        baseline, done = np.array(self.forest_.objective.baseline), 0
        for n in numbers:
            packed.add_up(X, sums, done * n_trees, (n - done) * n_trees, n_threads)
            done = n
            yield sums + baseline


class BoostedClasses(Classifier):
    """What makes `RawPredictions` those of classes."""

    @with_hints
    def predict(self, X, *, n_iter=None, offset=None):
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: the prediction is that of the first iterations. None means all.
        offset : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The most probable class of each row; of equally probable classes, the first in `classes_`.
        """
        raw = self._raw(X, n_iter, offset)
        return in_kind(X, predicted_labels(raw, self.classes_))

    @with_hints
    def predict_proba(self, X, *, n_iter=None, offset=None):
        """Predict the probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: the prediction is that of the first iterations. None means all.
        offset : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), dtype float64
            Probabilities, with columns in the order of `classes_`; for a y of several columns a list of such, one for each.
        """
        self._check_fitted()
        if isinstance(self.classes_, list):
            shares = predicted_shares(self._loss, self._raw(X, n_iter, offset), self.classes_, self._count_threads())
            return [in_kind(X, of_output) for of_output in shares]
        return self._predicted(X, n_iter, offset, has_classes=True)

    def decision_function(self, X, *, n_iter=None, offset=None):
        """Return the raw prediction of each row, which is the sum of the values of the leaves that it reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: the prediction is that of the first iterations. None means all.
        offset : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes), dtype float64
            For two classes, one number for each row: with ``loss="log_loss"`` the logarithm of the odds of the second
            class, and with "exponential" half of it. For more classes, a number for each class, and for a y of several columns
            one for each column.
        """
        return in_kind(X, decisions(self._raw(X, n_iter, offset)))

    def staged_predict(self, X, *, offset=None):
        """Predict the class of each row by the first iteration alone, by the first two iterations, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        offset : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Yields
        ------
        ndarray of shape (n_rows,)
            What `predict` would return if growing had stopped after this iteration.
        """
        for raw in self._staged_raw(X, offset):
            yield predicted_labels(raw, self.classes_)

    def staged_predict_proba(self, X, *, offset=None):
        """Predict the probability of each class by the first iteration alone, by the first two iterations, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        offset : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Yields
        ------
        ndarray of shape (n_rows, n_classes), dtype float64
            What `predict_proba` would return if growing had stopped after this iteration.
        """
        for raw in self._staged_raw(X, offset):
            yield predicted_shares(self._loss, raw, self.classes_)

    def staged_decision_function(self, X, *, offset=None):
        """Return the raw prediction of each row by the first iteration alone, by the first two iterations, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        offset : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_classes), dtype float64
            What `decision_function` would return if growing had stopped after this iteration.
        """
        for raw in self._staged_raw(X, offset):
            yield decisions(raw)


class BoostedNumbers:
    """What makes `RawPredictions` those of numbers."""

    predict_interval = predict_interval

    @with_hints
    def predict(self, X, *, n_iter=None, offset=None):
        """Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: the prediction is that of the first iterations. None means all.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Returns
        -------
        ndarray of shape (n_rows,), (n_rows, n_outputs) or (n_rows, n_quantiles), dtype float64
            Estimates of the mean of the target, or of its median or a quantile, depending on `loss`; of several outputs, a column
            for each. If `quantile` is a list, there is a column for each quantile, and each row is in ascending order: the sum
            of the pinball losses of a row is never greater for that.
        """
        return self._predicted(X, n_iter, offset)

    def staged_predict(self, X, *, offset=None):
        """Predict the target of each row by the first iteration alone, by the first two iterations, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64
            What `predict` would return if growing had stopped after this iteration.
        """
        for raw in self._staged_raw(X, offset):
            yield self._loss.predict(raw)


class BoostedRanks(RankingTrees):
    """What makes `RawPredictions` those by which rows are ranked."""

    @with_hints
    def predict(self, X, *, n_iter=None, offset=None):
        """Predict a number for each row, by which the rows of a query are ranked, the highest first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: the prediction is that of the first iterations. None means all.
        offset : array-like of shape (n_rows,), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            Raw predictions. They are comparable within a query alone, and have no unit.
        """
        return self._predicted(X, n_iter, offset)

    def staged_predict(self, X, *, offset=None):
        """Predict by the first iteration alone, by the first two iterations, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        offset : array-like of shape (n_rows,), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.

        Yields
        ------
        ndarray of shape (n_rows,), dtype float64
            What `predict` would return if growing had stopped after this iteration.
        """
        for raw in self._staged_raw(X, offset):
            yield self._loss.predict(raw)


def decisions(raw):
    """Raw predictions as `decision_function` has them: of two classes one number a row, and of one class too."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def predicted_labels(raw, classes):
    """The labels of the most probable classes: ndarray of shape (n_rows,), or (n_rows, n_outputs) if classes are a list."""
    if isinstance(classes, list):
        return labels_of(classes, [class_numbers(raw[:, o : o + 1], len(own)) for o, own in enumerate(classes)])
    return classes.take(class_numbers(raw, len(classes)))


def predicted_shares(loss, raw, classes, n_threads=1):
    """The probabilities of classes: ndarray of shape (n_rows, n_classes), or a list of these if classes are one."""
    if not isinstance(classes, list):
        return loss.probabilities(raw, n_threads)
    one = loss.of_outputs(1)
    of_outputs = [one.probabilities(np.ascontiguousarray(raw[:, o : o + 1]), n_threads) for o in range(len(classes))]
    return [np.ones((len(raw), 1)) if len(own) == 1 else p for p, own in zip(of_outputs, classes, strict=True)]


def class_numbers(raw, n_classes):
    """The number of the most probable class of each row, of equally probable ones the lowest."""
    return (raw[:, 0] > 0).astype(np.intp) if n_classes == 2 else raw.argmax(axis=1)
