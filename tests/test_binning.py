"""Columns that threads share are coded as one thread codes them; whatever the number of threads, as the twin does."""

import numpy as np
import pytest

from dforest.core.coding import code_columns
from dforest.core.coding import columns as coding
from dforest.testing import coding as twin


def made_column(rng, kind, n):
    x = rng.standard_normal(n)
    if kind == "whole":
        return np.rint(3 * x)
    if kind == "alike":
        return np.full(n, 0.25)
    if kind == "missing":
        x[rng.random(n) < 0.3] = np.nan
    elif kind == "all missing":
        x[:] = np.nan
    elif kind == "infinite":
        x[rng.random(n) < 0.1] = np.inf
        x[rng.random(n) < 0.1] = -np.inf
    return x


KINDS = ["distinct", "whole", "alike", "missing", "all missing", "infinite"]


def assert_equal(columns, others):
    for column, other in zip(columns, others, strict=True):
        for mine, its in zip(column, other, strict=True):
            assert getattr(mine, "dtype", None) == getattr(its, "dtype", None)
            np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [2, 5, 40])
@pytest.mark.parametrize("seed", range(8))
def test_shared_columns(seed, n_threads, dtype, monkeypatch):
    monkeypatch.setattr(coding, "ROWS_IN_CHUNK", 1 + seed)
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 500))
    kinds = rng.choice(KINDS, 1 + seed % 5)
    X = np.stack([made_column(rng, kind, n) for kind in kinds], axis=1).astype(dtype)
    X = np.asfortranarray(X) if seed % 2 else X
    weight = rng.integers(1, 50, n).astype(np.uint32) if seed % 3 else None
    for max_codes in (0, 2, 9, 300):
        columns = code_columns(X, max_codes, weight, n_threads)
        assert_equal(columns, code_columns(X, max_codes, weight, 1))
        for x, column in zip(X.T, columns, strict=True):
            codes, values, lows, highs, has_missing = twin.code_column(x, max_codes, weight)
            np.testing.assert_array_equal(column.codes, codes)
            for mine, its in ((column.values, values), (column.lows, lows), (column.highs, highs)):
                np.testing.assert_array_equal(mine, its)
            assert column.has_missing == has_missing


def test_large_columns_are_shared(monkeypatch):
    """As threads are many more than columns; some columns need no sorting."""
    shared = []

    def code_together(X, numbers, *more):
        shared.append(list(numbers))
        return together(X, numbers, *more)

    together = coding.code_together
    monkeypatch.setattr(coding, "code_together", code_together)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1 << 16, 4)).astype(np.float32)
    X[:, 1] = rng.integers(0, 9, len(X))
    given = {"kinds": [0, 2, 1, 0], "n_categories": [0, 9, 0, 0]}
    expected = code_columns(X, 256, **given)
    assert shared == []
    assert_equal(code_columns(X, 256, n_threads=8, **given), expected)
    assert shared == [[0, 2, 3]]
    assert_equal(code_columns(X, 0, n_threads=8, takes_keys=True, **given), code_columns(X, 0, takes_keys=True, **given))
    assert shared == [[0, 2, 3], [2]]
    assert_equal(code_columns(X[:1000], 256, n_threads=8, **given), code_columns(X[:1000], 256, **given))
    assert len(shared) == 2


def test_an_error_of_a_step_is_raised(monkeypatch):
    monkeypatch.setattr(coding, "ROWS_IN_CHUNK", 10)
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        code_columns(np.zeros((100, 2)), weight=np.ones(100), n_threads=8)


def test_the_code_for_missing_values_may_come_on_top():
    """Columns with missing values have as many bins as others then, and a code more."""
    rng = np.random.default_rng(0)
    X = np.stack([made_column(rng, kind, 400) for kind in KINDS], axis=1)
    for n_threads in (1, 5):
        for max_codes in (2, 9, 255):
            columns = code_columns(X, max_codes, None, n_threads, counts_missing=False)
            for x, column in zip(X.T, columns, strict=True):
                expected = code_columns(x[:, None], max_codes + bool(np.isnan(x).any()))
                assert_equal([column], expected)
            assert len(columns[0].values) == len(columns[3].values) == max_codes
