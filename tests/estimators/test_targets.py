"""Targets as trees are grown for: the numbers of classes, and numbers as float64."""

import numpy as np
import pytest

from dforest.estimators.data.validation import check_classes, check_targets


@pytest.mark.parametrize(
    "y",
    [
        np.random.default_rng(0).integers(-5, 9, 99),
        np.random.default_rng(0).integers(-5, 99_999, 200_000),  # looked at in parts
        np.array([-128, 127, 0] * 100, np.int8),
        np.arange(0, 250, 2, np.uint8).repeat(3),
        np.array([2**63, 2**63 + 5] * 10, np.uint64),
        np.array([-(2**63), -(2**63) + 1, -(2**63)]),
        np.array([2**63 - 1, 2**63 - 2, 2**63 - 1]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([7]),
        np.array([True, False]),
        np.array([True, True]),
        np.array([False]),
        np.array([2.0, 1.0, 2.0]),
        np.array(["b", "a", "b"]),
    ],
)
def test_classes(y):
    """Whether they are sorted or counted."""
    classes, numbers = check_classes(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert classes.dtype == expected.dtype and numbers.dtype == np.int32
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(numbers, inverse)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16, np.float32, np.float64])
def test_targets(dtype):
    y = np.array([1, 0, 1]).astype(dtype) * np.array(-1 if dtype in (np.float16, np.float32, np.float64) else 1, dtype)
    checked = check_targets(y)
    assert checked.dtype == np.float64 and not np.shares_memory(checked, y)
    np.testing.assert_array_equal(checked, y)
    assert not np.signbit(checked[1])
