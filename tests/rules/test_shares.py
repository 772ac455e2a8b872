"""Shares of two classes in leaves, kept within bounds that have 26 bits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dforest.rules import arrays
from dforest.rules.records import record

WEIGHTS = st.integers(0, 40) | st.integers(1, 2**61)
BOUNDS = st.integers(0, 2**26) | st.sampled_from([-np.inf, np.inf])


@given(WEIGHTS, WEIGHTS, BOUNDS, BOUNDS, st.integers(1, 2**40), st.integers(-20, 2000))
def test_a_share_is_what_it_was_or_the_bound(first, second, lower, upper, n_draws, shift):
    first += first + second == 0
    lower, upper = sorted((lower / 2**26, upper / 2**26))
    words, nodes = np.array([[n_draws + (shift << 48), first, second]]), np.zeros(1, record("df_grown"))
    nodes["lower"], nodes["upper"] = lower, upper
    expected = min(max(second / np.float64(first + second), lower), upper)
    if not 0.0 <= expected <= 1.0:  # bounds of a node are shares, or infinite
        return
    arrays.bound_fractions(words, nodes)
    total = int(words[0, 1:].sum())
    assert words[0, 1:].min() >= 0 and 0 < total < 2**62
    assert float(words[0, 2]) / float(total) == expected
    assert words[0, 0] & (2**48 - 1) == n_draws
    by = int(words[0, 0] >> 48) - shift
    np.testing.assert_allclose(np.ldexp(float(total), -by), float(first + second), rtol=2.0**-27)
