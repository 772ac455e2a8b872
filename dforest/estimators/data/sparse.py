"""Sparse matrices and arrays of SciPy as X: made CSR, in order, and checked. What the user passed is never changed.

SciPy is imported where there is such a matrix: who predicts arrays and frames alone needs none.
"""

import sys
from importlib import import_module

import numpy as np

from dforest.core.sparse_rows import MAX_COLUMNS


def is_sparse(X):
    """Whether X is a sparse matrix or array of SciPy: there is none as long as nobody has imported that."""
    return "scipy.sparse" in sys.modules and import_module("scipy.sparse").issparse(X)


def in_order(X):
    """A sparse matrix as CSR with ascending columns, each once, with the values that ``X.toarray()`` has.

    Parameters
    ----------
    X : sparse matrix or array of shape (n_rows, n_features)
        Of any format. Values of one place are added up; indices may be in any order.

    Returns
    -------
    csr_array
        It may borrow arrays of X.

    Raises
    ------
    ValueError
        If X has another number of axes, too many columns, or indices that are not among its rows and columns.
    """
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a sparse array of {X.ndim} dimensions instead; allowed are rows with columns")
    if X.shape[1] > MAX_COLUMNS:
        raise ValueError(f"X has {X.shape[1]} columns; allowed are up to {MAX_COLUMNS} columns of a sparse matrix")
    scipy = import_module("scipy.sparse")
    if X.format in ("csr", "csc"):
        kind = scipy.csr_array if X.format == "csr" else scipy.csc_array
        found = kind((X.data, X.indices, X.indptr), shape=X.shape)  # whose flags are its own
        found.check_format(full_check=True)
        found = found.tocsr()
    else:
        given = X.tocoo()
        found = scipy.csr_array(given)
        if found.nnz != given.nnz:  # SciPy adds up many values of a place in an order of its own
            return _added_up(given.row, given.col, given.data, X.shape)
    if not found.has_sorted_indices:
        found = found.sorted_indices()
    if not found.has_canonical_format:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(found.indptr))
        if X.format == "csr":  # in the order of X, not as sorted
            return _added_up(rows, X.indices[: len(rows)], X.data[: len(rows)], X.shape)
        return _added_up(rows, found.indices, found.data, X.shape)
    return found


def with_numbers(X, numbers):
    """A sparse matrix in whose columns other numbers stand for what was there.

    Parameters
    ----------
    X : csc_array of shape (n_rows, n_features)
        In order.
    numbers : dict of int to (ndarray of shape (n_stored,), float)
        Of some columns, what stands for the stored values, and for those that are not stored. Where the latter is not 0, the
        column of what is returned stores all rows.

    Returns
    -------
    csr_array
        Of X's dtype, in order.
    """
    scipy = import_module("scipy.sparse")
    values, filled = X.data.copy(), [j for j, (_, other) in numbers.items() if other != 0]
    for j, (own, _) in numbers.items():
        values[X.indptr[j] : X.indptr[j + 1]] = own
    changed = scipy.csc_array((values, X.indices, X.indptr), shape=X.shape)
    if not filled:
        return changed.tocsr()
    entries = changed.tocoo()
    rows, columns, values = [entries.row], [entries.col], [entries.data]
    for j in filled:
        others = np.ones(X.shape[0], bool)
        others[X.indices[X.indptr[j] : X.indptr[j + 1]]] = False
        rows.append(np.flatnonzero(others))
        columns.append(np.full(len(rows[-1]), j))
        values.append(np.full(len(rows[-1]), numbers[j][1], X.dtype))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return scipy.coo_array(entries, shape=X.shape).tocsr().sorted_indices()


def _added_up(rows, columns, values, shape):
    """The matrix of some entries, of which those of one place are added up in their order."""
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    sums = np.zeros(np.count_nonzero(is_first), values.dtype)
    np.add.at(sums, np.cumsum(is_first) - 1, values)
    starts = np.searchsorted(rows[is_first], np.arange(shape[0] + 1))
    return import_module("scipy.sparse").csr_array((sums, columns[is_first], starts), shape=shape)
