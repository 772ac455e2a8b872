"""Limits of fits."""

import time

import numpy as np
import pytest
from helpers.callbacks import assert_equal_fits
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from dforest import HistGradientBoostingRegressor, RandomForestRegressor
from dforest.callback import TimeLimit
from dforest.callback.base import Callback
from dforest.errors import LimitError

X, Y = load_diabetes(return_X_y=True)


def test_time_limit():
    model = RandomForestRegressor(10**6, random_state=0, n_jobs=2).set_callbacks(TimeLimit(0.1)).fit(X, Y)
    assert 0 < model.n_estimators_ < 10**6
    assert_equal_fits(model, RandomForestRegressor(model.n_estimators_, random_state=0).fit(X, Y))
    boosted = HistGradientBoostingRegressor(max_iter=10**6, random_state=0).set_callbacks(TimeLimit(0.1)).fit(X, Y)
    short = HistGradientBoostingRegressor(max_iter=boosted.n_iter_, random_state=0).fit(X, Y)
    assert boosted.predict(X).tobytes() == short.predict(X).tobytes()


def test_each_fit_has_its_time():
    limit = TimeLimit(10.0)
    model = RandomForestRegressor(20, random_state=0).set_callbacks(limit)
    assert model.fit(X, Y).n_estimators_ == clone(model).fit(X, Y).n_estimators_ == 20
    assert not limit._records


@pytest.mark.parametrize("kind", [RandomForestRegressor, HistGradientBoostingRegressor])
def test_no_time_for_a_tree(kind):
    class Sleeper(Callback):
        def on_fit_task_begin(self, estimator, context):
            time.sleep(0.01)

    model = kind().set_callbacks(Sleeper(), TimeLimit(0.001))
    with pytest.raises(LimitError, match=r"TimeLimit\(seconds=0.001\) was reached before the first tree"):
        model.fit(X, Y)
    assert not hasattr(model, "forest_")


@pytest.mark.parametrize("seconds", [0, -1.0, np.inf, np.nan, "1", None, True])
def test_bad_limits(seconds):
    with pytest.raises(ValueError, match=f"seconds={seconds!r}; allowed are positive finite numbers"):
        TimeLimit(seconds)
