"""A forest for serving: rows in, numbers out, with as little as possible in between.

A `Predictor` holds what it needs of the forest and nothing of its own that changes.
"""
from libc.stdint cimport int64_t

import numpy as np
from numpy import ndarray

from dforest.core.predict.packing cimport Rows
from dforest.core.predict.packed cimport PackedForest


cdef class Predictor:
    """An object for fast predictions in serving, even of single rows, which does not convert or check more than it must.

    The method `predictor` of estimators, and of a `Forest`, makes it. Any number of threads may use one predictor at the same
    time, as the GIL is released while rows go down the trees.

    Attributes
    ----------
    n_features : int
        Number of columns of X.
    n_outputs : int
        How many numbers are predicted for a row: the classes, of all columns if y has several; in regression the columns of y;
        for boosted trees, the raw predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomForestRegressor
    >>> X = np.random.default_rng(0).random((100, 3))
    >>> model = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    >>> predictor = model.predictor()
    >>> bool((predictor.predict(X) == model.predict(X)).all())
    True
    >>> bool(predictor.predict(X[5]) == model.predict(X[5:6])[0])  # a single row
    True
    """

    cdef PackedForest packed
    cdef int n_threads
    cdef bint is_regression, is_flat        # whether a row's prediction is a number
    cdef object encoder                     # makes arrays of other rows; None: there are no others
    cdef tuple columns                      # slices of what is predicted for each column of y; None: there is one column

    def __cinit__(self, PackedForest packed not None, bint is_regression, int n_threads=1, encoder=None, tuple columns=None):
        if n_threads < 1:
            raise ValueError(f"n_threads={n_threads}; allowed are numbers from 1")
        self.packed = packed
        self.is_regression = is_regression
        self.is_flat = is_regression and packed.n_outputs == 1
        self.n_threads = n_threads
        self.encoder = encoder
        self.columns = columns

    cdef object rows_of(self, X):
        """X as `Rows` takes it."""
        return X if self.encoder is None or isinstance(X, ndarray) else self.encoder.encode_rows(X)

    def __reduce__(self):
        raise TypeError("a predictor can't be pickled; pickle the estimator or its forest_, and make another one from that")

    @property
    def n_features(self):
        return self.packed.n_features

    @property
    def n_outputs(self):
        return self.packed.n_outputs

    def predict(self, X not None):
        """Predict probabilities of classes or, for regression, numbers, for one row or for several.

        The results equal those of the estimator's `predict_proba` or `predict` to the bit. For boosted trees they are raw
        predictions, equal to those of `decision_function`. The probabilities of several columns of y come one after another.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features) or (n_features,), dtype float32 or float64; mapping, list, Series or frame
            Several rows, or a single one, as a C-contiguous array. NaN means missing. In an array, categories and levels are
            given as their numbers, which are the places of labels in the attribute ``categories_`` of the estimator. Where the
            estimator was fitted with names of columns, a single row may also be a dict or another mapping, or a Series of
            pandas, from all names to values, and several rows a list of mappings, a mapping from all names to columns, or a
            frame: with labels, which are encoded. That takes longer. A row that lacks a name, or has one that training rows did
            not have, is an error that says which.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs) or (n_rows,), dtype float64
            Predictions; for a single row, an ndarray of shape (n_outputs,), or a float.

        Raises
        ------
        ValueError, TypeError
            If X is not as described.
        """
        cdef Rows rows = Rows(self.rows_of(X), self.packed.n_features)
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
        """Predict the number of the most probable class for each row, for classification.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features) or (n_features,), dtype float32 or float64; mapping, list, Series or frame
            Rows as in `predict`.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64, or int for a single row
            Numbers of classes, which are places in the attribute ``classes_`` of the estimator; of equally probable classes,
            the lowest. If y has several columns, an ndarray of shape (n_rows, n_columns), or (n_columns,) for a single row.
        """
        cdef Rows rows = Rows(self.rows_of(X), self.packed.n_features)
        cdef int64_t most
        cdef int64_t[::1] out
        if self.is_regression:
            raise ValueError("a regression forest has no classes; use predict")
        if self.columns is not None:
            probability = self.predict(X)
            return np.stack([probability[..., column].argmax(axis=-1) for column in self.columns], axis=-1)
        if rows.is_single:
            self.packed.predict_rows(rows, NULL, &most, 1)
            return most
        result = np.empty(rows.n, np.int64)
        out = result
        if rows.n > 0:
            self.packed.predict_rows(rows, NULL, &out[0], self.n_threads)
        return result
