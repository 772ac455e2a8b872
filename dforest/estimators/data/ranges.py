"""The ranges of the columns of training rows, and how many values of other rows are outside of them."""

import numpy as np

from dforest.core.sparse_rows import SparseRows

_SIDE_BY_SIDE = 64  # rows that are compared at once


def ranges_of(parts, ranks):
    """The least and the greatest value of each column, over the rows of all ranks. A collective.

    Parameters
    ----------
    parts : list of (ndarray of shape (n_rows of the part, n_features), or SparseRows)
        This rank's rows.
    ranks : Communicator

    Returns
    -------
    ndarray of shape (2, n_features), dtype float64
        Infinity and -infinity for a column without values.
    """
    least, greatest = np.array([_extremes(X) for X in parts], np.float64).transpose(1, 0, 2)  # of a type that all ranks have
    least, minus_greatest = ranks.least(np.stack([least.min(axis=0), -greatest.max(axis=0)]))  # in one round
    return np.stack([least, 0.0 - minus_greatest])


def _extremes(X):
    """The least and the greatest value of each column of some rows, of which NaN is none."""
    if not isinstance(X, SparseRows):
        return _reduced(np.fmin, X, np.inf), _reduced(np.fmax, X, -np.inf)
    values, columns, _ = X.matrix_arrays()
    has_zeros = np.bincount(columns, minlength=X.n_features) < len(X)
    least, greatest = np.where(has_zeros, 0.0, np.inf), np.where(has_zeros, 0.0, -np.inf)
    np.fmin.at(least, columns, values)
    np.fmax.at(greatest, columns, values)
    return least, greatest


def _reduced(ufunc, X, start):
    """`ufunc.reduce` over rows, many times as fast for rows of few columns."""
    n, n_columns = len(X) // _SIDE_BY_SIDE, X.shape[1]
    wide = X[: n * _SIDE_BY_SIDE].reshape(n, _SIDE_BY_SIDE * n_columns)
    found = ufunc.reduce(wide, axis=0, initial=start).reshape(_SIDE_BY_SIDE, n_columns)
    return ufunc.reduce(np.concatenate([found, X[n * _SIDE_BY_SIDE :]]), axis=0)


def count_outside(X, ranges):
    """How many values of each column are outside of its range; NaN is not, and nothing is outside of a range that is NaN.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features) or (n_features,), or SparseRows
    ranges : ndarray of shape (2, n_features)

    Returns
    -------
    ndarray of shape (n_features,), dtype int64; or None if there are none, as mostly
    """
    least, greatest = ranges
    if not isinstance(X, SparseRows):
        outside = (X < least) | (X > greatest)
        return outside.reshape(-1, len(least)).sum(axis=0) if np.count_nonzero(outside) else None
    values, columns, _ = X.matrix_arrays()
    outside = (values < least[columns]) | (values > greatest[columns])
    n_zeros = len(X) - np.bincount(columns, minlength=X.n_features)
    return np.bincount(columns[outside], minlength=X.n_features) + n_zeros * ((least > 0) | (greatest < 0))
