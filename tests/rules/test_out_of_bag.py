"""Worked examples of the rules of estimates out of bag (rules/out_of_bag.h), and each against plain Python."""

import numpy as np
import pytest
from probes import rules as probe

from dforest.testing import streams


def test_errors():
    target, predicted = np.array([2.0, 2.0, -1.0]), np.array([2.0, 0.0, 2.0])
    assert probe.errors(False, 1.0, target, predicted).tolist() == [0, 1, 1]
    assert probe.errors(True, 1.0, target, predicted).tolist() == [0, 4, 9]
    assert probe.errors(True, 0.5, target, predicted).tolist() == [0, 1, 2.25]
    assert probe.errors(True, 2.0**-600, np.array([1e300]), np.array([-1e300])).tolist() == [(2e300 * 2.0**-600) ** 2]


def test_leading_classes():
    """The last two votes are those of the header's example."""
    voted = np.array([2, 0, 1, 0, 2, 0, 1, 2, 1, 1], np.int32)
    assert probe.leading_classes(voted, 3).tolist() == [2, 0, 0, 0, 0, 0, 0, 0, 0, 1]


def test_leading_classes_of_random_votes():
    rng = np.random.default_rng(0)
    for n_classes in (1, 2, 5):
        voted = rng.integers(0, n_classes, 200, np.int32)
        counts = np.cumsum(voted[:, None] == np.arange(n_classes), axis=0)
        assert probe.leading_classes(voted, n_classes).tolist() == np.argmax(counts, axis=1).tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_permuted_rows(n):
    rows = np.arange(100, 100 + 3 * n, 3, np.uint32)
    for seed in range(20):
        stream, expected = streams.Stream(seed, seed + 5, 5), rows.tolist()
        for i in range(n - 1):
            j = i + stream.below(n - i)
            expected[i], expected[j] = expected[j], expected[i]
        for at_once in (1, 2, n):
            assert probe.permuted_rows(seed, seed + 5, rows, at_once).tolist() == expected
