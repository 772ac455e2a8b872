"""Faults of boosted trees as users would report them, each with the right value."""

import numpy as np

from dforest import HistGradientBoostingRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] + RNG.normal(size=300)
TRAIN, VAL = slice(0, 200), slice(200, 300)


def test_validation_rows_that_fit_is_given_are_used():
    """With early_stopping="auto" and few training rows, X_val and y_val were ignored, and all 100 rounds were grown."""
    model = HistGradientBoostingRegressor(learning_rate=0.5, random_state=0)
    model.fit(X[TRAIN], Y[TRAIN], X_val=X[VAL], y_val=Y[VAL])
    assert model.do_early_stopping_ and len(model.validation_score_) < 101
