"""How trees predict: rows are checked, a place to work is chosen, and rows go down the trees there.

What predicts is an estimator (`dforest.estimators.tree_model`), or what is loaded for serving (`dforest.serving`), without
scikit-learn. So nothing that this module and the `predictions` of each family import needs more than NumPy.
"""

from abc import abstractmethod
from importlib import import_module

from dforest.backends import find_device, functions_for, is_on_device
from dforest.config import queue_of
from dforest.estimators.results.calibration import check_leaves_predict


class TreePredictions:
    """What predicts by the trees of its attribute `forest_`."""

    def predictor(self, n_threads=1):
        """Make an object that predicts fast, for serving: even single rows, which it neither checks nor converts.

        Parameters
        ----------
        n_threads : int, default=1
            Largest number of threads; few rows get fewer.

        Returns
        -------
        dforest.core.predict.predictor.Predictor
            An object whose `predict` takes C-contiguous arrays of float32 or float64, and returns what the estimator's
            `predict_proba` does or, for regression, `predict`; for boosted trees, raw predictions. If the estimator was fitted
            with names of columns, it also takes a dict of one row's values, a list of such dicts, or a frame. It stays as it is
            if the estimator is fitted again.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
        >>> predictor = forest.predictor()
        >>> bool((predictor.predict(X[0]) == forest.predict_proba(X[:1])[0]).all())
        True
        """
        self._check_fitted()
        check_leaves_predict(self, "predictor")
        encoder = self._row_encoder() if self._features.names is not None else None
        return self.forest_.predictor(getattr(self, "voting", "soft"), n_threads, encoder)

    def _row_encoder(self):
        """What makes arrays of rows by the names of columns."""
        return self._features

    def _check_fitted(self):
        """Raise NotFittedError unless there are trees."""

    @abstractmethod
    def _count_threads(self, is_small=False):
        """How many threads may predict. is_small : whether rows are so few that one of them predicts soonest"""

    @abstractmethod
    def _checked_rows(self, X):
        """X, checked and encoded as the training rows were: ndarray of float32 or float64, or `SparseRows`, on the host."""

    def _n_threads(self, packed, n):
        """How many threads n rows may use."""
        return self._count_threads(packed.is_small(n))

    def _packed(self, voting):
        """The forest made ready to predict; counting threads takes longer than predicting a single row."""
        is_packed = self.forest_.is_packed(voting)
        return self.forest_.packed(voting, 1 if is_packed else self._count_threads())

    def _device(self, *arrays):
        """Where to work, given the data: a `Device`, or None for the processor."""
        queue = queue_of(*arrays)
        if queue is None and self.device in (None, "cpu"):
            return None
        return find_device(self.device, queue)

    def _ready(self, X, voting="soft"):
        """What predicts the rows of X, and its arguments, of which the checked rows are the first."""
        device = self._device(X)
        if device is None:
            X = self._checked_rows(X)
            packed = self._packed(voting)
            return packed, X, self._n_threads(packed, len(X))
        self._check_fitted()
        predictor = import_module("dforest.engines.device.predictor").DevicePredictor(device, self._packed(voting))
        if is_on_device(X) and "feature_names_in_" not in self.__dict__ and not self._features.encodes:
            rows = functions_for(X).rows_of(X, device)
            if rows is not None and rows.shape[1] == self.n_features_in_:
                return predictor, rows
        return predictor, self._checked_rows(X)

    def _mean(self, X, voting="soft"):
        packed, *rows = self._ready(X, voting)
        return packed.mean(*rows)

    def _leaves(self, X):
        packed, *rows = self._ready(X)
        return packed.apply(*rows)
