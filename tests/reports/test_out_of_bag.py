"""Faults of out-of-bag estimates, as they were reported."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from dforest import ImportanceDisplay, RandomForestRegressor
from dforest.callback import OutOfBagPlateau


def test_rows_in_another_order_are_not_taken_for_the_training_rows():
    """`oob_importance`, given the training rows in another order, took rows that trees had drawn for rows that they had left out,
    and returned importances 70 times too large.
    """
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    for name in ("oob_importance", "display"):
        with pytest.raises(ValueError, match="in another order.*Allowed are the rows that `fit` was given, in the same order"):
            if name == "display":
                ImportanceDisplay.from_estimator(forest, X[::-1], y[::-1], kind="oob")
            else:
                forest.oob_importance(X[::-1], y[::-1])


@pytest.mark.parametrize("power", [-900, 500, 509, 900])
def test_the_plateau_does_not_depend_on_the_unit_of_y(power):
    """With very large or small targets `OutOfBagPlateau` ended the fit after as many trees as it waits for, as all errors were
    infinite or 0; and `oob_curve_` was infinite already where the sum of errors, but not their mean, was out of range.
    """
    X, y = load_diabetes(return_X_y=True)
    y = y / 2**8
    found = []
    for k in (0, power):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            model = RandomForestRegressor(200, oob_score=True, random_state=0).set_callbacks(OutOfBagPlateau(rounds=10))
            found.append(model.fit(X, np.ldexp(y, k)))
    assert 11 < found[0].n_estimators_ == found[1].n_estimators_ < 200
    factor = 4.0**power if abs(power) < 510 else [0, np.inf][power > 0]
    assert found[1].oob_curve_.tolist() == (found[0].oob_curve_ * factor).tolist()
    assert np.isfinite(found[1].oob_curve_).all() == (power < 510)
