"""How estimators predict: rows are checked, a place to work is chosen, and rows go down the trees there."""

from importlib import import_module

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from dforest.backends import find_device, functions_for, is_on_device
from dforest.config import on_host, queue_of
from dforest.core.readable import is_readable
from dforest.estimators import conversion
from dforest.estimators.data.rows import checked_rows
from dforest.estimators.data.tables import read_table
from dforest.estimators.data.validation import count_threads
from dforest.estimators.model import Model
from dforest.estimators.results.calibration import check_uncalibrated

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def path_matrix(forest, leaf):
    """The nodes of a forest that rows pass, given the leaves they reach: sparse matrix of shape (n_rows, n_nodes)."""
    indices, indptr = forest.packed().paths(leaf)
    kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
    return kind((np.ones(len(indices), np.int64), indices, indptr), shape=(len(leaf), len(forest.feature)))


class TreeModel(Model):
    """An estimator that predicts by trees: a forest, a single tree, or boosted trees."""

    to_c = conversion.to_c
    to_onnx = conversion.to_onnx
    to_shap = conversion.to_shap
    to_treelite = conversion.to_treelite
    onnx_converter = conversion.onnx_converter
    onnx_shape_calculator = conversion.onnx_shape_calculator

    def __sklearn_is_fitted__(self):
        return "forest_" in self.__dict__

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
        check_is_fitted(self)
        check_uncalibrated(self, "predictor")
        features = self._features if self._features.names is not None else None
        return self.forest_.predictor(getattr(self, "voting", "soft"), n_threads, features)

    def _checked_rows(self, X):
        """X, checked and encoded as the training rows were: ndarray of float32 or float64, or `SparseRows`, on the host."""
        if self._is_plain(X):
            return X
        check_is_fitted(self)
        return checked_rows(self, read_table(X, self), self._features)

    def _is_plain(self, X):
        """Whether X is an array that all checks would let through unchanged. Checks take longer than predicting a single row."""
        known = self.__dict__
        return (
            type(X) is np.ndarray
            and X.dtype in _FLOATS
            and X.ndim == 2
            and len(X) > 0
            and X.flags.c_contiguous
            and is_readable(X)
            and "forest_" in known
            and X.shape[1] == known["n_features_in_"]
            and "feature_names_in_" not in known
            and not known["_features"].encodes
        )

    def _n_threads(self, packed, n):
        """How many threads n rows may use."""
        n_jobs = getattr(self, "n_jobs", None)
        if packed.is_small(n) and (n_jobs is None or (type(n_jobs) is int and n_jobs)):
            return 1
        return count_threads(n_jobs)

    def _packed(self, voting):
        """The forest made ready to predict; counting threads takes longer than predicting a single row."""
        is_packed = self.forest_.is_packed(voting)
        return self.forest_.packed(voting, 1 if is_packed else count_threads(getattr(self, "n_jobs", None)))

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
        check_is_fitted(self)
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

    def _paths(self, X):
        """The nodes that each row passes, as a sparse matrix over the nodes of all trees."""
        leaves = on_host(self._leaves(X))
        return path_matrix(self.forest_, leaves)
