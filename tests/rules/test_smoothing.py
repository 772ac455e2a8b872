"""Values that are drawn towards those of the nodes above them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dforest.rules.boosting import smoothed_values

NUMBERS = st.floats(-1.7e308, 1.7e308)


def below(above, own, n_rows, strength, bounds=None):
    """What a child of a root predicts."""
    bounds = None if bounds is None else np.array([[[-np.inf, np.inf]], [list(bounds)]])
    found = smoothed_values(np.array([[above], [own]]), np.array([-1, 0]), np.array([2 * n_rows, n_rows]), strength, bounds)
    assert found[0, 0] == above
    return found[1, 0]


def test_ten_rows_have_half_of_the_say_by_a_strength_of_ten():
    assert below(0.0, 8.0, 10, 10.0) == 4.0
    assert below(0.0, 8.0, 30, 10.0) == 6.0
    assert below(0.0, 8.0, 30, 10.0, (-1.0, 5.0)) == 5.0
    chain = smoothed_values(np.array([[0.0], [8.0], [16.0]]), np.array([-1, 0, 1]), np.array([40, 30, 10]), 10.0, None)
    assert chain.tolist() == [[0.0], [6.0], [11.0]]  # of the value above as it is smoothed


@given(NUMBERS, NUMBERS, st.integers(1, 2**40), st.floats(1e-300, 1e300))
def test_it_lies_between_the_two(above, own, n_rows, strength):
    found = below(above, own, n_rows, strength)
    assert min(above, own) <= found <= max(above, own)
    share = n_rows / (n_rows + strength)
    assert np.isclose(found, (1 - share) * above + share * own, rtol=1e-12, atol=1e-12 * max(abs(above), abs(own)))
