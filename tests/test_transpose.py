"""Rows of codes as columns."""

import numpy as np
import pytest

from dforest.core.transpose import columns_of

TYPES = [np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_columns_are_those_of_numpy(dtype, n_threads):
    rng = np.random.default_rng(0)
    for n_columns in (1, 3, 700):
        dtypes = rng.choice(TYPES, n_columns)
        for n_rows in (0, 1, 63, 64, 65, 1000, 70_000 // n_columns):
            rows = rng.integers(0, 256, (n_rows, n_columns)).astype(dtype)
            found = columns_of(rows, dtypes, n_threads)
            assert len(found) == n_columns
            for j, column in enumerate(found):
                assert column.dtype == dtypes[j] and column.flags.c_contiguous
                np.testing.assert_array_equal(column, rows[:, j])


def test_all_bits_are_kept():
    rows = np.random.default_rng(0).integers(0, 2**64, (500, 3), np.uint64)
    np.testing.assert_array_equal(np.stack(columns_of(rows, [np.uint64] * 3, 2), axis=1), rows)


def test_other_forms_are_refused():
    rows = np.zeros((4, 2), np.uint8)
    with pytest.raises(ValueError, match="for 1 columns"):
        columns_of(rows, [np.uint8], 1)
    with pytest.raises(ValueError, match="contiguous"):
        columns_of(np.asfortranarray(rows), [np.uint8] * 2, 1)
    with pytest.raises(ValueError, match="dtype int32"):
        columns_of(rows, [np.uint8, np.int32], 1)
    with pytest.raises(ValueError, match="dtype float64"):
        columns_of(rows.astype(float), [np.uint8] * 2, 1)
