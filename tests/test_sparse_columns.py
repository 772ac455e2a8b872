"""Codes of columns of which zeros are not stored: those of the dense columns, to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from dforest.core.binning import code_columns
from dforest.core.sparse_rows import SparseRows

VALUES = {
    "all": [0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.0, 1e-300, 3.0],
    "below 0": [-1.0, -2.0, -np.inf],
    "above 0": [1.0, 2.0, 1e30],
    "missing": [np.nan],
    "zeros": [0.0, -0.0],
}


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(("max_codes", "takes_keys"), [(0, True), (0, False), (2, False), (5, False), (255, False)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", VALUES)
def test_codes(values, dtype, max_codes, is_weighted, takes_keys):
    rng = np.random.default_rng(0)
    n, p = 400, 12
    kept = rng.random((n, p)) < np.linspace(0, 1, p)  # from a column without values to one that stores all
    numbers = rng.choice(VALUES[values], (n, p))
    if values == "all":
        numbers[:, ::3] = rng.normal(size=(n, len(range(0, p, 3))))
    starts = np.append(0, np.cumsum(kept.sum(axis=1)))
    X = sp.csr_array((numbers[kept].astype(dtype), np.nonzero(kept)[1], starts), shape=(n, p))
    weight = rng.integers(1, 50, n).astype(np.uint32) if is_weighted else None
    kinds = [j % 2 for j in range(p)]  # continuous and ordinal
    for n_threads in (1, 3, 40):
        settings = max_codes, weight, n_threads, kinds, None, takes_keys
        found, expected = (code_columns(rows, *settings) for rows in (SparseRows.of(X), X.toarray()))
        for one, other in zip(found, expected, strict=True):
            for name in ("codes", "values", "lows", "highs"):
                a, b = getattr(one, name), getattr(other, name)
                assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), name
            assert one[4:] == other[4:]
