"""Limits of fits."""

import time

import numpy as np
import pytest
from helpers.boosting import assert_equal_models
from helpers.callbacks import assert_equal_fits
from helpers.device_forests import differences, standing_in, tuned
from helpers.host_device import strict_device
from helpers.ranks import Cut, fit_by_ranks
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestRegressor, config_context
from dforest.callback import MemoryLimit, TimeLimit
from dforest.callback.base import Callback
from dforest.errors import LimitError
from dforest.estimators.boosting import memory as boosted_memory
from dforest.estimators.forest import memory
from dforest.spmd.threads import ThreadGroup

X, Y = load_diabetes(return_X_y=True)


def test_time_limit():
    model = RandomForestRegressor(10**6, random_state=0, n_jobs=2).set_callbacks(TimeLimit(0.1)).fit(X, Y)
    assert 0 < model.n_estimators_ < 10**6
    assert_equal_fits(model, RandomForestRegressor(model.n_estimators_, random_state=0).fit(X, Y))
    whole = HistGradientBoostingRegressor(max_iter=10**6, learning_rate=0.1, random_state=0)
    boosted = clone(whole).set_callbacks(TimeLimit(0.1)).fit(X, Y)
    short = clone(whole).set_params(max_iter=boosted.n_iter_).fit(X, Y)
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


# Memory


def test_a_fit_is_refused_that_would_take_too_much():
    model = RandomForestRegressor(100, random_state=0)
    total = model.estimate_memory(X, Y).total
    short = clone(model).set_callbacks(MemoryLimit(total - 1))
    with pytest.raises(MemoryError, match=r"(?s)a fit of 100 trees would take about .* MiB, more than .*the forest  +\d"):
        short.fit(X, Y)
    assert not hasattr(short, "forest_")
    assert_equal_fits(clone(model).set_callbacks(MemoryLimit(2 * total)).fit(X, Y), model.fit(X, Y))


def test_a_fit_ends_that_takes_more_than_expected(monkeypatch):
    """The estimate is made too small, as data that deceive it would."""
    model = RandomForestRegressor(300, random_state=0)
    limit = model.estimate_memory(X, Y).total
    monkeypatch.setattr(memory, "count_leaves", lambda *_: (20, 6000))
    assert model.estimate_memory(X, Y).total < limit
    stopped = clone(model).set_callbacks(MemoryLimit(limit)).fit(X, Y)
    assert 3 < stopped.n_estimators_ < 300
    assert_equal_fits(stopped, clone(model).set_params(n_estimators=stopped.n_estimators_).fit(X, Y))


@pytest.mark.parametrize("model", [RandomForestRegressor(5, random_state=0), HistGradientBoostingRegressor(max_iter=5)])
def test_limits_of_devices(model):
    """What the host's memory is to have, and what the device has."""
    if isinstance(model, HistGradientBoostingRegressor):
        model = clone(model).set_params(defaults="scikit-learn")
    device = strict_device(n_threads=2, is_cpu=False)
    with standing_in(device):
        model = clone(model).set_params(device="sycl")
        memory = model.estimate_memory(X, Y)
        assert memory.on_device > 0
        fitted = clone(model).set_callbacks(MemoryLimit(2 * memory.total)).fit(X, Y)
        with pytest.raises(MemoryError, match=rf"more than MemoryLimit\(max_bytes={memory.total - 1}\) allows"):
            clone(model).set_callbacks(MemoryLimit(memory.total - 1)).fit(X, Y)
        device.memory_bytes = 4 * memory.on_device
        few = clone(model).estimate_memory(X, Y).on_device  # fewer trees at a time
        device.memory_bytes = few - 1
        tuned_to = {"batch_bytes": 4 * memory.on_device}
        with tuned(tuned_to), pytest.raises(MemoryError, match="MiB of the memory of the device 'this processor', which has"):
            clone(model).set_callbacks(MemoryLimit(2 * memory.total)).fit(X, Y)
    assert fitted.forest_.n_trees == 5


@pytest.mark.parametrize("model", [RandomForestRegressor(5, random_state=0), HistGradientBoostingRegressor(max_iter=5)])
def test_limits_of_ranks(model, monkeypatch):
    """All ranks are refused by the limit of one, which is that of its own process, and all end together."""
    cut, model = Cut(np.array([0, 300, len(X)]), np.arange(2)), clone(model).set_params(random_state=0)

    def fit(*limits):
        return fit_by_ranks(model, X, Y, None, cut, 2, callbacks=[[MemoryLimit(n)] if n else [] for n in limits])

    def estimate(ranks):
        with config_context(communicator=ranks):
            return clone(model).estimate_memory(X[cut.rows(ranks.rank)], Y[cut.rows(ranks.rank)]).total

    totals = ThreadGroup(2).run(estimate)
    alone = clone(model).fit(X, Y)
    for own in fit(2 * totals[0], 2 * totals[1]):
        assert not differences(own, alone)
    for error in fit(None, totals[1] - 1):
        assert isinstance(error, MemoryError) and str(error).startswith("on rank 1: a fit of 5 trees would take about")
    model.set_params(**{"n_estimators" if "n_estimators" in model.get_params() else "max_iter": 60})
    monkeypatch.setattr(memory, "count_leaves", lambda *_: (20, 1200))
    monkeypatch.setattr(boosted_memory, "count_leaves", lambda *_: 2)
    totals = ThreadGroup(2).run(estimate)
    first, second = fit(totals[0] + 2**14, None)
    assert 1 <= first.forest_.n_trees < 60
    assert not differences(first, second)


def test_boosted_trees_are_refused_that_would_take_too_much():
    model = HistGradientBoostingRegressor(max_iter=30, random_state=0)
    total = model.estimate_memory(X, Y).total
    short = clone(model).set_callbacks(MemoryLimit(total - 1))
    with pytest.raises(MemoryError, match=r"(?s)a fit of 30 trees would take .* or max_bins make it smaller:.*the forest  +"):
        short.fit(X, Y)
    assert not hasattr(short, "forest_")
    assert_equal_models(clone(model).set_callbacks(MemoryLimit(2 * total)).fit(X, Y), model.fit(X, Y))


def test_boosted_trees_end_that_take_more_than_expected(monkeypatch):
    """The estimate is made too small."""
    model = HistGradientBoostingClassifier(max_iter=200, max_leaf_nodes=None, min_samples_leaf=1, random_state=0)
    model.set_params(defaults="scikit-learn")
    y = np.digitize(Y, [100, 200])
    monkeypatch.setattr(boosted_memory, "count_leaves", lambda *_: 10)
    limit = model.estimate_memory(X, y).total + 2**19
    stopped = clone(model).set_callbacks(MemoryLimit(limit)).fit(X, y)
    assert 3 < stopped.n_iter_ < 200
    assert_equal_models(stopped, clone(model).set_params(max_iter=stopped.n_iter_).fit(X, y))


def test_bad_bytes():
    for max_bytes in (0, -1, 1e9, "1 GiB", None, True):
        with pytest.raises(ValueError, match=f"max_bytes={max_bytes!r}; allowed are integers from 1"):
            MemoryLimit(max_bytes)
