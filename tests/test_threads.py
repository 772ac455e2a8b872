"""How many threads there are, by the conventions of joblib and threadpoolctl, and how errors end them."""

import threading
import time
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import dforest
from dforest.core.coding import columns as coding
from dforest.core.grow import trainer
from dforest.core.team import Team
from dforest.core.threads import Stopped, each
from dforest.engines import cpu, fitting
from dforest.engines.weights import ClassBalance
from dforest.estimators.data.validation import count_threads
from dforest.estimators.forest import base as estimator
from dforest.estimators.progress import ProgressLine

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 5))
y = X[:, 0] + RNG.standard_normal(400) > 0


@pytest.fixture
def planned(monkeypatch):
    """How many threads each fit asks for."""
    seen = []

    class Counted(cpu.CpuEngine):
        def __init__(self, n_threads):
            seen.append(n_threads)
            super().__init__(n_threads)

    monkeypatch.setattr(fitting, "CpuEngine", Counted)
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
def wanted(monkeypatch):
    """How many threads each growth is to take."""
    seen = []

    def each(n_items, do_item, n_threads, work):
        assert n_items == n_threads
        seen.append(n_threads)
        return share(n_items, do_item, n_threads, work)

    share = trainer.each
    monkeypatch.setattr(trainer, "each", each)
    return seen


@pytest.mark.parametrize("max_leaf_nodes", [None, 50])
def test_no_thread_is_wanted_that_can_have_no_work(wanted, max_leaf_nodes):
    parameters = {"max_leaf_nodes": max_leaf_nodes, "n_jobs": 8, "random_state": 0}
    dforest.RandomForestClassifier(1, **parameters).fit(X, y)
    dforest.RandomForestClassifier(3, **parameters).fit(X, y)
    assert wanted == [1, 3]


def test_one_large_tree_takes_all_threads(wanted):
    rows = np.random.default_rng(0).standard_normal((40_000, 5))
    dforest.RandomForestRegressor(1, n_jobs=8, random_state=0).fit(rows, rows[:, 0])
    assert wanted == [8]


@pytest.mark.parametrize("sharing", [{}, {"parallel_from": 1, "parallel_visits_from": 0}], ids=["default", "everything"])
@pytest.mark.parametrize("n_trees", [1, 6])
@pytest.mark.parametrize("failing", ["weights", "report"])
def test_the_first_error_ends_all_threads(failing, n_trees, sharing, monkeypatch):
    """Also those that sleep, or work at another's tree; and it is that error that is raised."""
    error = RuntimeError("no more")

    def raise_error(self, *args):
        raise error

    monkeypatch.setattr(estimator, "TUNING", sharing)
    if failing == "weights":
        monkeypatch.setattr(ClassBalance, "integer_weights", raise_error)
    else:
        monkeypatch.setattr(ProgressLine, "tell", raise_error)
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


def note(seen, *call):
    seen.append(call)


def test_each_item_is_done_once_and_threads_are_numbered():
    for n_items, n_threads in [(0, 3), (1, 3), (2, 8), (500, 5), (7, 1)]:
        seen = []
        each(n_items, partial(note, seen), n_threads)
        assert sorted(item for item, _ in seen) == list(range(n_items))
        assert {number for _, number in seen} <= set(range(n_threads))


def test_the_first_error_is_raised_when_all_calls_have_ended():
    at_work, begun = [], []

    def work(item, number):
        begun.append(item)
        at_work.append(item)
        time.sleep(0.001)
        at_work.remove(item)
        if item >= 5:
            raise ValueError(item)

    for _ in range(20):
        begun.clear()
        with pytest.raises(ValueError, match=r"^\d+$"):
            each(1000, work, 6)
        assert at_work == []
        assert len(begun) < 20


def test_what_made_others_stop_is_raised_even_if_they_say_so_first():
    together, told = threading.Barrier(2), threading.Event()

    def work(item, _):
        together.wait(60)
        if item == 0:
            told.set()
            raise Stopped
        told.wait(60)
        time.sleep(0.1)  # for the other error to be kept first
        raise KeyError("the cause")

    with pytest.raises(KeyError, match="the cause"):
        each(2, work, 2)


def test_jobs_within_jobs():
    """Whoever is at an item may share work too, and needs no other thread for it."""
    done = []

    def outer(i, _):
        each(5, lambda j, _: done.append((i, j)), 4)

    each(8, outer, 4)
    assert sorted(done) == [(i, j) for i in range(8) for j in range(5)]


def test_binning_ends_by_the_first_error_of_any_thread(monkeypatch):
    begun = []

    def facts_of(x, *_):
        begun.append(x)
        raise RuntimeError("no more")

    monkeypatch.setattr(coding, "facts_of", facts_of)
    monkeypatch.setattr(coding, "ROWS_IN_CHUNK", 1)
    with pytest.raises(RuntimeError, match="no more"):
        coding.code_columns(np.zeros((2000, 3)), n_threads=4, kinds=[2] * 3, n_categories=[1] * 3)
    assert len(begun) <= 4
