"""Codes of columns of which zeros are not stored: those of the dense columns, to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from dforest.core.coding import code_columns
from dforest.core.sparse_rows import SparseRows

VALUES = {
    "all": [0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.0, 1e-300, 3.0],
    "below 0": [-1.0, -2.0, -np.inf],
    "above 0": [1.0, 2.0, 1e30],
    "missing": [np.nan],
    "zeros": [0.0, -0.0],
}


def matrix(values, dtype, n=400, p=12):
    """A matrix that stores some of these values, and integer weights."""
    rng = np.random.default_rng(0)
    kept = rng.random((n, p)) < np.linspace(0, 1, p)  # from a column without values to one that stores all
    numbers = rng.choice(VALUES[values], (n, p))
    if values == "all":
        numbers[:, ::3] = rng.normal(size=(n, len(range(0, p, 3))))
    starts = np.append(0, np.cumsum(kept.sum(axis=1)))
    X = sp.csr_array((numbers[kept].astype(dtype), np.nonzero(kept)[1], starts), shape=(n, p))
    return X, rng.integers(1, 50, n).astype(np.uint32)


def unpacked(column, n_rows):
    """A column with the codes of all rows."""
    if column.rows is None:
        return column
    assert column.rows.dtype == np.uint32 and (np.diff(column.rows.astype(int)) > 0).all()
    assert (column.codes != column.implied).all()
    largest = len(column.values) - 1 + column.has_missing
    codes = np.full(n_rows, column.implied, column.codes.dtype if column.has_keys else np.min_scalar_type(largest))
    codes[column.rows] = column.codes
    return column._replace(codes=codes, rows=None, implied=0)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(("max_codes", "takes_keys"), [(0, True), (0, False), (2, False), (5, False), (255, False)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", VALUES)
def test_codes(values, dtype, max_codes, is_weighted, takes_keys):
    X, weight = matrix(values, dtype)
    weight = weight if is_weighted else None
    kinds = [j % 2 for j in range(X.shape[1])]  # continuous and ordinal
    for n_threads, max_stored in ((1, 0.0), (3, 0.5), (40, 0.0), (1, 0.25)):
        settings = max_codes, weight, n_threads, kinds, None, takes_keys
        found = code_columns(SparseRows.of(X), *settings, max_stored=max_stored)
        expected = code_columns(X.toarray(), *settings)
        for j, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert (one.rows is not None) == (max_stored > 0 and X[:, [j]].nnz <= max_stored * X.shape[0])
            one = unpacked(one, X.shape[0])
            if one.codes.dtype != other.codes.dtype:  # keys of columns that are coded together are of one width
                long = np.append(X[:, [j]].toarray(), 1e-300)[:, None]
                other = other._replace(codes=code_columns(long, takes_keys=True)[0].codes[:-1])
            for name in ("codes", "values", "lows", "highs"):
                a, b = getattr(one, name), getattr(other, name)
                assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), name
            assert one[4:] == other[4:]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [1, 100])
def test_categories(batch, dtype, monkeypatch):
    """Of few and of many categories, with missing values, and zeros that are stored."""
    monkeypatch.setattr("dforest.core.coding.columns.BATCH", batch)
    rng = np.random.default_rng(0)
    n_categories = [2, 3, 300, 70, 256]
    X = sp.random_array((500, 5), density=0.2, rng=rng, format="csc", dtype=dtype)
    for j, n in enumerate(n_categories):
        own = slice(*X.indptr[j : j + 2])
        X.data[own] = rng.integers(0, n, own.stop - own.start)
        X.data[own][::17] = np.nan
    settings = 0, None, 2, [2] * 5, n_categories
    found = code_columns(SparseRows.of(X.tocsr()), *settings, max_stored=0.9)
    for one, other in zip(found, code_columns(X.toarray(), *settings), strict=True):
        assert one.rows is not None
        codes = np.full(500, one.implied)
        codes[one.rows] = one.codes
        np.testing.assert_array_equal(codes, other.codes)
        for a, b in zip(one[1:4], other[1:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert one[4:7] == other[4:7]


@pytest.mark.parametrize("batch", [1, 100])
def test_batches(batch, monkeypatch):
    X, weight = matrix("all", np.float32)
    monkeypatch.setattr("dforest.core.coding.columns.BATCH", batch)
    for max_codes in (0, 7):
        found = code_columns(SparseRows.of(X), max_codes, weight, 2, max_stored=0.9)
        for one, other in zip(found, code_columns(X.toarray(), max_codes, weight), strict=True):
            for a, b in zip(unpacked(one, X.shape[0]), other, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("batch", [1, 20, 1 << 16])
@pytest.mark.parametrize("max_codes", [0, 4])
def test_columns_by_number(batch, max_codes, monkeypatch):
    """Sparse columns between others, with zeros and missing values stored: each is found, and has what it has in dense X."""
    monkeypatch.setattr("dforest.core.coding.columns.BATCH", batch)
    rng = np.random.default_rng(0)
    stored = rng.random((300, 30)) < np.where(np.arange(30) % 3 == 1, 0.9, 0.05)
    stored[:, 20:25] = False
    values = rng.choice([0.0, 1.0, 2.0, -3.0, np.nan], stored.sum())
    X = sp.csr_array((values, np.nonzero(stored)[1], np.append(0, np.cumsum(stored.sum(axis=1)))), shape=stored.shape)
    given = [array.copy() for array in (X.data, X.indices, X.indptr)]
    found, expected = code_columns(SparseRows.of(X), max_codes, max_stored=0.5), code_columns(X.toarray(), max_codes)
    assert len(found) == 30
    for j in (*rng.permutation(30).tolist(), -1, -30, np.int64(3)):
        assert (found[j].rows is None) == (j % 3 == 1 and j != 22)
        for a, b in zip(unpacked(found[j], 300), expected[j], strict=True):
            np.testing.assert_array_equal(a, b)
    for j in (30, -31):
        with pytest.raises(IndexError, match=f"column {j} of 30"):
            found[j]
    for array, before in zip((X.data, X.indices, X.indptr), given, strict=True):
        np.testing.assert_array_equal(array, before)
