"""Estimators that predict by trees: what they check, and what they can be converted to."""

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from dforest.config import on_host
from dforest.core.readable import is_readable
from dforest.estimators import conversion
from dforest.estimators.data.rows import checked_rows
from dforest.estimators.data.tables import read_table
from dforest.estimators.data.validation import count_threads
from dforest.estimators.model import Model
from dforest.estimators.prediction import TreePredictions

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def path_matrix(forest, leaf):
    """The nodes of a forest that rows pass, given the leaves they reach: sparse matrix of shape (n_rows, n_nodes)."""
    indices, indptr = forest.packed().paths(leaf)
    kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
    return kind((np.ones(len(indices), np.int64), indices, indptr), shape=(len(leaf), len(forest.feature)))


class TreeModel(TreePredictions, Model):
    """An estimator that predicts by trees: a forest, a single tree, or boosted trees."""

    to_c = conversion.to_c
    to_onnx = conversion.to_onnx
    to_shap = conversion.to_shap
    to_treelite = conversion.to_treelite
    onnx_converter = conversion.onnx_converter
    onnx_shape_calculator = conversion.onnx_shape_calculator

    def __sklearn_is_fitted__(self):
        return "forest_" in self.__dict__

    def _check_fitted(self):
        check_is_fitted(self)

    def _count_threads(self, is_small=False):
        n_jobs = getattr(self, "n_jobs", None)
        if is_small and (n_jobs is None or (type(n_jobs) is int and n_jobs)):
            return 1
        return count_threads(n_jobs)

    def _checked_rows(self, X):
        """X, checked and encoded as the training rows were: ndarray of float32 or float64, or `SparseRows`, on the host."""
        if self._is_plain(X):
            return X
        check_is_fitted(self)
        return checked_rows(self, read_table(X), self._features)

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

    def _paths(self, X):
        """The nodes that each row passes, as a sparse matrix over the nodes of all trees."""
        leaves = on_host(self._leaves(X))
        return path_matrix(self.forest_, leaves)
