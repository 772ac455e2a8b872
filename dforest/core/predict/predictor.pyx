"""A forest for serving: rows in, numbers out, with as little as possible in between.

A `Predictor` holds what it needs of the forest and nothing of its own that changes.
"""
from libc.stdint cimport int64_t

import numpy as np

from dforest.core.predict.opened_rows cimport Rows
from dforest.core.predict.packed cimport PackedForest


cdef class Predictor:
    """Predictions by a forest, bare: nothing is converted, copied or looked up by name.

    Made by `Forest.predictor`. Any number of threads may use one at a time; the GIL is released
    while rows go down the trees. A call costs little more than that, from a single row on.

    Attributes
    ----------
    n_features : int
    n_outputs : int
        The number of classes; 1 for regression; of boosted trees the number of raw predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestRegressor
    >>> X = np.random.default_rng(0).random((100, 3))
    >>> model = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    >>> predictor = model.forest_.predictor()
    >>> bool((predictor.predict(X) == model.predict(X)).all())
    True
    >>> predictor.predict(X[5]) == model.predict(X[5:6])[0]
    True
    """

    cdef PackedForest packed
    cdef int n_threads
    cdef bint is_regression, is_flat        # whether a row's prediction is a number

    def __cinit__(self, PackedForest packed not None, bint is_regression, int n_threads=1):
        if n_threads < 1:
            raise ValueError(f"n_threads={n_threads}; allowed are numbers from 1")
        self.packed = packed
        self.is_regression = is_regression
        self.is_flat = is_regression and packed.n_outputs == 1
        self.n_threads = n_threads

    def __reduce__(self):
        raise TypeError("a predictor can't be pickled; pickle the estimator or its forest_, and make another one from that")

    @property
    def n_features(self):
        return self.packed.n_features

    @property
    def n_outputs(self):
        return self.packed.n_outputs

    def predict(self, X not None):
        """Class shares or means, with the bits of the estimator's `predict_proba` or `predict`.

        Of boosted trees: raw predictions, with the bits of `decision_function`.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features) or (n_features,), dtype float32 or float64
            Rows, or one row; C-contiguous. NaN is missing; categories and levels are their numbers,
            the places of the labels in ``categories_`` of the estimator.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs) or (n_rows,), dtype float64
            Of one row: ndarray of shape (n_outputs,), or float.

        Raises
        ------
        ValueError, TypeError
            If X is something else.
        """
        cdef Rows rows = Rows(X, self.packed.n_features, self.packed.splitter)
        cdef double mean
        cdef double[::1] out
        if rows.is_single and self.is_flat:
            self.packed.predict_rows(rows, &mean, NULL, 1)
            return mean
        result = np.empty(rows.n * self.packed.n_outputs)
        out = result
        if rows.n > 0:
            self.packed.predict_rows(rows, &out[0], NULL, self.n_threads)
        return result if self.is_flat or rows.is_single else result.reshape(rows.n, self.packed.n_outputs)

    def predict_class(self, X not None):
        """The number of the most probable class, of equally probable ones the lowest; for classification.

        Parameters
        ----------
        X : ndarray
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64; of one row: int
            Places in ``classes_`` of the estimator.
        """
        cdef Rows rows = Rows(X, self.packed.n_features, self.packed.splitter)
        cdef int64_t most
        cdef int64_t[::1] out
        if self.is_regression:
            raise ValueError("a regression forest has no classes; use predict")
        if rows.is_single:
            self.packed.predict_rows(rows, NULL, &most, 1)
            return most
        result = np.empty(rows.n, np.int64)
        out = result
        if rows.n > 0:
            self.packed.predict_rows(rows, NULL, &out[0], self.n_threads)
        return result
