"""From what users pass to what the core takes: X, y, weights and numbers of things.

Everything here either returns arrays that say exactly what the input said, or raises an error that
names the parameter or column, the value and what is allowed.
"""

import math
from numbers import Integral

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

LARGEST_EXACT = 2**53  # integers up to this are exact in float64
MOST_ROWS = 2**32 - 1  # row numbers of the core have 32 bits


def check_X(estimator, X, **kwargs):
    """X as a C-contiguous float32 or float64 array; float32 stays, all else becomes float64.

    Parameters
    ----------
    estimator : estimator
        Whose feature names are set (with ``reset=True``) or compared.
    X : array-like of shape (n_rows, n_features)
        NaN and infinities are allowed.
    **kwargs
        For `sklearn.utils.validation.validate_data`; with `y`, a pair is returned.

    Raises
    ------
    ValueError
        If a column holds something other than numbers, or integers that float64 cannot hold.
    """
    _check_exact(X)
    try:
        return validate_data(estimator, X, dtype=[np.float64, np.float32], order="C", ensure_all_finite=False, **kwargs)
    except ValueError:
        _name_bad_column(X)
        raise


def _columns_of(X):
    """(name, column) of each column of a frame or two-dimensional array; nothing for anything else."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return [(repr(name), X[name].to_numpy()) for name in X.columns] if len(set(X.columns)) == len(X.columns) else []
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return [(str(j), X[:, j]) for j in range(X.shape[1])]
    return []


def _check_exact(X):
    # A frame's columns are looked at one by one: together they may have been cast already.
    if isinstance(X, np.ndarray) and not (X.dtype.kind in "iu" and X.dtype.itemsize == 8 or X.dtype == np.longdouble):
        return
    for name, column in _columns_of(X):
        if column.dtype.kind in "iu" and column.dtype.itemsize == 8:
            large = (column > LARGEST_EXACT) | (column < -LARGEST_EXACT if column.dtype.kind == "i" else False)
            if large.any():
                raise ValueError(
                    f"X column {name} holds the integer {column[large][0]}; integers beyond 2**53 would be rounded: "
                    "rescale the column, or use its rank"
                )
        elif column.dtype.kind == "f" and column.dtype.itemsize > 8:
            with np.errstate(over="ignore"):
                narrowed = column.astype(np.float64)
            lost = (narrowed != column) & ~np.isnan(column)
            if lost.any():
                raise ValueError(f"X column {name} holds {column[lost][0]!r}, which float64 would round")


def _name_bad_column(X):
    for name, column in _columns_of(X):
        if column.dtype.kind in "biuf":
            continue
        for value in column:
            try:
                float(value)
            except (TypeError, ValueError):
                if value is None or type(value).__name__ in ("NAType", "NaTType"):
                    continue
                if not isinstance(value, str):
                    return  # scikit-learn's own message says more
                raise ValueError(
                    f"X column {name} holds {value!r}; allowed are numbers, booleans and missing values. "
                    "Encode text as numbers, for example with sklearn.preprocessing.OrdinalEncoder"
                ) from None


def check_weights(sample_weight, X):
    """Sample weights as float64; None stays.

    Raises
    ------
    ValueError
        If one is negative, NaN or infinite, if all are 0, or if there are not as many as rows.
    """
    if sample_weight is None:
        return None
    sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if sample_weight.min() < 0:
        raise ValueError(
            "Negative values in data passed to `sample_weight`: "
            f"got {sample_weight.min()}; allowed are finite numbers from 0"
        )
    if not sample_weight.any():
        raise ValueError("`sample_weight` is zero for all rows; at least one weight must be above 0")
    return sample_weight


def count_features(max_features, n_features):
    """How many of `n_features` a value of `max_features` means."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return math.isqrt(n_features)
    if max_features == "log2":
        return max(1, n_features.bit_length() - 1)
    if not isinstance(max_features, Integral):
        return max(1, int(max_features * n_features))
    if max_features > n_features:
        raise ValueError(f"max_features={max_features} is more than the {n_features} features of X")
    return int(max_features)


def count_draws(max_samples, n_rows):
    """How many draws from `n_rows` rows of positive weight a value of `max_samples` means."""
    if max_samples is None:
        return n_rows
    if not isinstance(max_samples, Integral):
        return max(1, round(max_samples * n_rows))
    if max_samples > n_rows:
        raise ValueError(f"max_samples={max_samples} is more than the {n_rows} rows of positive weight")
    return int(max_samples)


def count_samples(limit, n_draws, least):
    """How many of a tree's draws a value of `min_samples_split` or `min_samples_leaf` means."""
    return int(limit) if isinstance(limit, Integral) else max(least, math.ceil(limit * n_draws))
