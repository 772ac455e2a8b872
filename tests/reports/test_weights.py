"""Faults of weights as users would report them, each with the right value."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from dforest import DecisionTreeRegressor, HistGradientBoostingRegressor, RandomForestRegressor


def without_penalty(**parameters):
    """Boosted trees whose leaves are not shrunk, which is in units of weights."""
    return HistGradientBoostingRegressor(l2_regularization=0.0, max_iter=20, early_stopping=True, **parameters)


@pytest.mark.parametrize("Model", [RandomForestRegressor, DecisionTreeRegressor, without_penalty])
def test_equal_weights_are_no_weights(Model):
    """Weights of 1/n each grew other trees than no weights: about half of the predictions changed."""
    X, y = load_diabetes(return_X_y=True)
    model, other = Model(random_state=0).fit(X, y), Model(random_state=0).fit(X, y, np.full(len(y), 1 / len(y)))
    assert np.array_equal(model.predict(X), other.predict(X))


def test_weights_that_are_counts_times_a_factor_are_these_counts():
    """Weights scaled to a sum of 1 grew other trees than the counts that they were made of."""
    X, y = load_diabetes(return_X_y=True)
    counts = 1 + np.arange(len(y)) % 3
    forest = RandomForestRegressor(10, random_state=0)
    found = forest.fit(X, y, counts / counts.sum()).predict(X)
    assert np.array_equal(found, forest.fit(X, y, counts).predict(X))
