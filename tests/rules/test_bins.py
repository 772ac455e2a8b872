"""When a bin ends: the rule of bins.h."""

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from probes import rules


def test_a_worked_example():
    """Of weights 3, 4 and 2 for 2 bins, 3 is closer to 4.5 than 7 is; of two values as close, the higher is taken."""
    before, after, share = rules.bin_ends(0, np.array([3, 4, 2]), 2, 9)
    assert before[:2].tolist() == [False, True]
    assert not after[0]
    assert share == 5
    before, after, _ = rules.bin_ends(0, np.array([3, 3, 3]), 2, 9)
    assert not before[:2].any()
    assert after[:2].tolist() == [False, True]


def test_as_many_values_as_bins_have_a_bin_each():
    before, after, _ = rules.bin_ends(0, np.array([1, 1, 100]), 3, 102)
    assert not before[0]
    assert after.tolist() == [True, True, True]


def test_the_last_bin_takes_everything():
    before, after, _ = rules.bin_ends(0, np.array([5, 1, 100]), 1, 106)
    assert not before.any()
    assert not after.any()


@pytest.mark.parametrize("seed", range(30))
def test_a_bin_ends_closest_to_its_share(seed):
    rng = np.random.default_rng(seed)
    n, bins = int(rng.integers(3, 30)), int(rng.integers(2, 8))
    weight = rng.integers(1, rng.choice([3, 100, 2**55]), n)
    rest = int(weight.sum())
    upto = list(accumulate(weight.tolist()))
    before, after, share = rules.bin_ends(0, weight, bins, rest)
    assert share == -(-rest // bins)
    # The bin has at least a value, and leaves one for each other bin.
    possible = range(1, max(1, n - bins + 1) + 1)
    closest = min(abs(upto[k - 1] - Fraction(rest, bins)) for k in possible)
    expected = max(k for k in possible if abs(upto[k - 1] - Fraction(rest, bins)) == closest)
    size = next(k for k in range(1, n + 1) if after[k - 1] or (k < n and before[k]))
    assert size == expected
