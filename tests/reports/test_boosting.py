"""Faults of boosted trees as users would report them, each with the right value."""

import numpy as np

from dforest import HistGradientBoostingRegressor


def test_stopping_may_be_switched_on_when_a_fit_goes_on(capfd):
    """With early stopping only from the second fit on, a third one with verbose=1 failed with an IndexError."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    Y = X[:, 0] + rng.normal(size=300)
    model = HistGradientBoostingRegressor(max_iter=5, warm_start=True, early_stopping=False, random_state=0).fit(X, Y)
    model.set_params(early_stopping=True, max_iter=7, validation_fraction=None, verbose=1).fit(X, Y)
    model.set_params(max_iter=9).fit(X, Y)
    losses = [np.mean((Y - predicted) ** 2) / 2 for predicted in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_score_, [-Y.var() / 2, *np.negative(losses)])
    assert f"9 of 9 iterations, training score {-losses[-1]:.6g}" in capfd.readouterr().err
