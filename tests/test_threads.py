"""How many threads there are, by the conventions of joblib and threadpoolctl, and how they end."""

import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import dforest
from dforest import ensemble, estimator
from dforest.core import trainer
from dforest.core.team import Team
from dforest.validation import count_threads

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 5))
y = X[:, 0] + RNG.standard_normal(400) > 0


@pytest.fixture
def planned(monkeypatch):
    """How many threads each fit asks for."""
    seen = []

    def grow_trees(*args):
        seen.append(args[8])
        return grow(*args)

    grow = estimator.grow_trees
    monkeypatch.setattr(estimator, "grow_trees", grow_trees)
    return seen


def most():
    """Threads that -1 means in a process that nobody limits."""
    return min(joblib.cpu_count(), count_threads(-1))


def test_none_is_one_unless_joblib_is_told(planned):
    dforest.RandomForestClassifier(2).fit(X, y)
    with threadpool_limits(8, user_api="openmp"), joblib.parallel_config(n_jobs=3):
        dforest.RandomForestClassifier(2).fit(X, y)
        dforest.RandomForestClassifier(2, n_jobs=2).fit(X, y)
    with joblib.parallel_config(backend="threading", n_jobs=1):
        dforest.RandomForestClassifier(2).fit(X, y)
    assert planned == [1, 3, 2, 1]


def test_negative_numbers_count_the_usable_cores(planned, monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 6)
    with threadpool_limits(16, user_api="openmp"):
        for n_jobs in (-1, -2, -6, -9):
            dforest.RandomForestClassifier(2, n_jobs=n_jobs).fit(X, y)
    assert planned == [6, 5, 1, 1]


def test_openmp_limits_what_is_not_a_number(planned, monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 6)
    with threadpool_limits(2, user_api="openmp"):
        for n_jobs in (-1, -4, 3, None):
            dforest.RandomForestClassifier(2, n_jobs=n_jobs).fit(X, y)
        with joblib.parallel_config(n_jobs=5):
            dforest.RandomForestClassifier(2).fit(X, y)
    assert planned == [2, 2, 3, 1, 2]


@pytest.mark.parametrize("limit", [1, 3])
def test_prediction_keeps_to_the_limit(limit, monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 6)
    forest = dforest.RandomForestClassifier(5, n_jobs=-1, random_state=0).fit(X, y)
    rows = np.tile(X, (2000, 1))
    packed = forest.forest_.packed("soft")
    assert not packed.is_small(len(rows))
    with threadpool_limits(limit, user_api="openmp"):
        assert forest._n_threads(packed, len(rows)) == limit
        expected = forest.predict_proba(rows)
    assert np.array_equal(expected, forest.set_params(n_jobs=1).predict_proba(rows))


class Counting(dforest.RandomForestClassifier):
    """A forest that keeps how many threads it was to use."""

    def _plan(self):
        plan = super()._plan()
        self.planned_ = plan.n_threads
        return plan


def fit_counting(n_jobs):
    return Counting(3, n_jobs=n_jobs, random_state=0).fit(X, y).planned_


def test_workers_share_the_cores():
    """joblib's worker processes have cores / workers threads each."""
    n_workers = max(2, joblib.cpu_count())
    with joblib.parallel_config(backend="loky", n_jobs=n_workers):
        assert set(joblib.Parallel()(joblib.delayed(count_threads)(-1) for _ in range(4))) == {1}


def test_nested_twice_is_serial():
    def outer():
        with joblib.parallel_config(backend="threading", n_jobs=2):
            return joblib.Parallel()(joblib.delayed(fit_counting)(n_jobs) for n_jobs in (-1, 4))

    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(outer)() for _ in range(2)) == [[1, 1]] * 2


def test_grid_search_over_a_forest_on_all_cores():
    search = GridSearchCV(dforest.RandomForestClassifier(3, n_jobs=-1, random_state=0), {"max_depth": [2, 4]}, n_jobs=2, cv=2)
    alone = GridSearchCV(dforest.RandomForestClassifier(3, random_state=0), {"max_depth": [2, 4]}, cv=2)
    search.fit(X, y)
    assert search.cv_results_["mean_test_score"].tolist() == alone.fit(X, y).cv_results_["mean_test_score"].tolist()


@pytest.fixture
def started(monkeypatch):
    """How many threads each growth starts."""
    seen = []

    def pool(n_threads):
        seen.append(n_threads)
        return executor(n_threads)

    executor = trainer.ThreadPoolExecutor
    monkeypatch.setattr(trainer, "ThreadPoolExecutor", pool)
    return seen


@pytest.mark.parametrize("max_leaf_nodes", [None, 50])
def test_no_thread_is_started_that_can_have_no_work(started, max_leaf_nodes):
    parameters = {"max_leaf_nodes": max_leaf_nodes, "n_jobs": 8, "random_state": 0}
    dforest.RandomForestClassifier(1, **parameters).fit(X, y)
    assert started == []
    dforest.RandomForestClassifier(3, **parameters).fit(X, y)
    assert started == [3]


def test_one_large_tree_takes_all_threads(started):
    rows = np.random.default_rng(0).standard_normal((40_000, 5))
    dforest.RandomForestRegressor(1, n_jobs=8, random_state=0).fit(rows, rows[:, 0])
    assert started == [8]


@pytest.mark.parametrize("sharing", [{}, {"share_from": 1, "share_visits_from": 0}], ids=["default", "everything"])
@pytest.mark.parametrize("n_trees", [1, 6])
@pytest.mark.parametrize("failing", ["weights", "report"])
def test_the_first_error_ends_all_threads(failing, n_trees, sharing, monkeypatch):
    """Also those that sleep, or work at another's tree; and it is that error that is raised."""
    error = RuntimeError("no more")

    def raise_error(self, n_grown, *args):
        raise error

    monkeypatch.setattr(estimator, "TUNING", sharing)
    name = {"weights": "_balance", "report": "_report"}[failing]
    monkeypatch.setattr(ensemble.ForestEstimator, name, raise_error, raising=False)
    monkeypatch.setattr(dforest.RandomForestClassifier, name, raise_error)
    before = threading.active_count()
    for _ in range(20):
        model = dforest.RandomForestClassifier(n_trees, n_jobs=4, class_weight="balanced_subsample", verbose=2)
        with pytest.raises(RuntimeError) as caught:
            model.fit(X, y)
        assert caught.value is error
    assert threading.active_count() == before


def test_a_team_can_be_dropped_at_any_time():
    for n_members in (1, 2, 64):
        team = Team(n_members)
        team.stop()
        assert team.n_members == n_members


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize("max_leaf_nodes", [None, 10**6])
@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.slow
def test_ctrl_c_ends_one_tree(n_jobs, max_leaf_nodes):
    """At work on it, or asleep for lack of work."""
    script = f"""
import numpy as np
from dforest import RandomForestRegressor

X = np.random.default_rng(0).standard_normal((10**5, 4))
model = RandomForestRegressor(1, n_jobs={n_jobs}, max_leaf_nodes={max_leaf_nodes}, max_features=None, method="dense")
print("growing", flush=True)
while True:
    model.fit(X, X[:, 0] + X[:, 1])
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdout=pipe, stderr=pipe, text=True) as fit:
        try:
            assert fit.stdout.readline() == "growing\n"
            time.sleep(1)
            fit.send_signal(signal.SIGINT)
            _, err = fit.communicate(timeout=20)
        finally:
            fit.kill()
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert fit.returncode == -signal.SIGINT
