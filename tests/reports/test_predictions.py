"""Faults of predictions as users would report them, each with the right value."""

import numpy as np

from dforest import RandomForestRegressor


def test_the_mean_of_equal_leaves_is_their_value():
    """1,000 trees that all say 0.7 predicted 0.7000000000000064, above the greatest target."""
    X, y = np.arange(8.0)[:, None], np.full(8, 0.7)
    forest = RandomForestRegressor(1000, random_state=0).fit(X, y)
    assert (forest.predict(X) == 0.7).all() and forest.predictor().predict(X[0]) == 0.7
    two = RandomForestRegressor(1000, random_state=0, bootstrap=False).fit(X, np.column_stack([y, -y]))
    assert np.array_equal(two.predict(X), np.column_stack([y, -y]))
