"""Ctrl-C: the first one keeps what has been grown, the second one raises."""

import os
import pickle
import signal
import threading

import pytest
from helpers.callbacks import NUMBERS as Y
from helpers.callbacks import StopAfter, X, assert_equal_fits, interrupted

from dforest import HistGradientBoostingRegressor, RandomForestRegressor
from dforest.callback import KeepOnInterrupt
from dforest.callback.base import Callback, is_step
from dforest.core.threads import each, interrupt

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")

PROGRAM = """
import pickle, sys
import numpy as np
from dforest import RandomForestRegressor
from dforest.callback import KeepOnInterrupt

n_rows, n_trees, n_jobs, path = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rng = np.random.default_rng(0)
X, y = rng.normal(size=(n_rows, 5)), rng.normal(size=n_rows)
model = RandomForestRegressor(n_trees, n_jobs=n_jobs, random_state=0).set_callbacks(KeepOnInterrupt())
print("growing", flush=True)
model.fit(X, y)
short = RandomForestRegressor(model.n_estimators_, n_jobs=1, random_state=0).fit(X, y)
with open(path, "wb") as file:
    pickle.dump((model.set_callbacks(), short), file)
"""


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("n_rows", "n_trees"), [(100, 10**7), (30_000, 10**5)], ids=["small trees", "large trees"])
def test_ctrl_c_keeps_the_trees(n_rows, n_trees, n_jobs, tmp_path):
    arguments = [str(n_rows), str(n_trees), str(n_jobs), str(tmp_path / "models")]
    code, _, err = interrupted(PROGRAM, arguments, 1.0)
    assert code == 0, err
    model, short = pickle.loads((tmp_path / "models").read_bytes())
    assert 0 < model.n_estimators_ < n_trees
    assert_equal_fits(model, short)


@pytest.mark.slow
def test_before_the_first_tree_it_raises(tmp_path):
    """Such a tree takes much longer than the test waits."""
    _, _, err = interrupted(PROGRAM, ["5000000", "10", "1", str(tmp_path / "models")], 0.5)
    assert err.splitlines()[-1] == "KeyboardInterrupt" and not (tmp_path / "models").exists()


class CtrlC(Callback):
    """It sends Ctrl-C to this process when some trees or iterations have come."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def on_fit_task_end(self, estimator, context):
        if is_step(context) and context.task_id + 1 in self.numbers:
            signal.raise_signal(signal.SIGINT)


def test_the_handler_before_comes_back():
    before = signal.getsignal(signal.SIGINT)
    model = RandomForestRegressor(50, random_state=0).set_callbacks(CtrlC(4), KeepOnInterrupt()).fit(X, Y)
    assert signal.getsignal(signal.SIGINT) is before
    assert model.n_estimators_ == 4
    assert_equal_fits(model, RandomForestRegressor(4, random_state=0).fit(X, Y))
    with pytest.raises(RuntimeError, match="no more"):
        RandomForestRegressor(5).set_callbacks(KeepOnInterrupt(), Failing()).fit(X, Y)
    assert signal.getsignal(signal.SIGINT) is before


class Failing(Callback):
    def on_fit_task_end(self, estimator, context):
        raise RuntimeError("no more")


def test_boosted_trees_keep_their_rounds():
    model = HistGradientBoostingRegressor(max_iter=50, random_state=0).set_callbacks(CtrlC(4), KeepOnInterrupt()).fit(X, Y)
    short = HistGradientBoostingRegressor(max_iter=4, random_state=0).fit(X, Y)
    assert model.n_iter_ == 4
    assert model.predict(X).tobytes() == short.predict(X).tobytes()


def test_the_second_one_raises():
    class Twice(Callback):
        def on_fit_task_end(self, estimator, context):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    model = RandomForestRegressor(50).set_callbacks(KeepOnInterrupt(), Twice())
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert vars(model) == before


def test_after_the_trees_it_raises():
    """Estimates out of bag belong to no prefix."""

    def score(true, predicted):
        signal.raise_signal(signal.SIGINT)
        return 0.0

    model = RandomForestRegressor(50, oob_score=score).set_callbacks(KeepOnInterrupt())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "forest_")


def test_it_needs_the_main_thread():
    errors = []

    def fit():
        try:
            RandomForestRegressor(5).set_callbacks(KeepOnInterrupt()).fit(X, Y)
        except ValueError as error:
            errors.append(str(error))

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    assert len(errors) == 1 and "called by the main thread" in errors[0]


def test_interruptions_are_raised_once_and_can_be_taken_back():
    class Interruption(Exception):
        pass

    interrupt(Interruption())
    with pytest.raises(Interruption):
        each(3, lambda *_: None, 1)
    each(3, lambda *_: None, 1)
    interrupt(Interruption())
    interrupt(None)
    each(3, lambda *_: None, 1)


def test_it_stops_with_other_callbacks():
    model = RandomForestRegressor(20, random_state=0).set_callbacks(KeepOnInterrupt(), StopAfter(3)).fit(X, Y)
    assert model.n_estimators_ == 3
