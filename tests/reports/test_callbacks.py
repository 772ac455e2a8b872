"""Faults of callbacks as users would report them, each with the right value."""

import numpy as np
import pytest

from dforest import RandomForestClassifier
from dforest.callback import OutOfBagPlateau


def test_a_plateau_of_values_that_are_no_numbers_is_an_error():
    """A scorer that returned NaN after each tree ended the fit as if the forest had stopped improving."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    plateau = OutOfBagPlateau(lambda y, predicted: np.nan, rounds=5)
    with pytest.raises(ValueError, match="the value of scorer=.* is NaN after each of 5 trees in a row"):
        RandomForestClassifier(20, random_state=0).set_callbacks(plateau).fit(X, X[:, 0] > 0)
