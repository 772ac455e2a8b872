"""Parallel regions of OpenMP: where they are opened, and that it makes no difference to results where a task runs."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

import dforest
from dforest.core import threads
from dforest.core.threads import count_regions, each

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 6))
X[RNG.random(X.shape) < 0.05] = np.nan
NUMBERS = np.nan_to_num(X[:, 0]) + RNG.standard_normal(len(X))
CLASSES = np.digitize(NUMBERS, [-0.5, 0.5])


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    threads.use()


def regions_of(work):
    """How many regions some work opens."""
    before = count_regions()
    work()
    return count_regions() - before


def test_only_long_work_runs_in_regions():
    threads.use("auto")
    for n_threads in (2, 3):
        assert regions_of(lambda n=n_threads: each(4, lambda item, number: None, n, 1.9e9 * n)) == 0
        assert regions_of(lambda n=n_threads: each(4, lambda item, number: None, n, 2.1e9 * n)) == 1
    model = dforest.ExtraTreesRegressor(100, n_jobs=2, max_features=None, random_state=0, method="dense")
    rows = np.tile(X, (20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # all targets are equal, so that there is little to do after all
        assert regions_of(lambda: model.fit(rows, np.ones(len(rows)))) == 1
        assert regions_of(lambda: model.predict(rows)) == 0
        assert regions_of(lambda: model.fit(X, np.ones(len(X)))) == 0


def test_work_is_forced_into_regions_and_into_the_pool():
    model = dforest.RandomForestClassifier(8, n_jobs=2, random_state=0)
    boosted = dforest.HistGradientBoostingClassifier(max_iter=4, n_jobs=2)
    rows, y = np.tile(X, (20, 1)), np.tile(CLASSES, 20)
    threads.use("openmp")
    assert regions_of(lambda: model.fit(X, CLASSES)) > 0
    model.predict(X)  # which packs the trees
    assert regions_of(lambda: model.predict(rows)) > 0
    assert regions_of(lambda: boosted.fit(rows, y)) >= 4
    threads.use("pool")
    assert regions_of(lambda: (model.fit(X, CLASSES).predict(rows), boosted.fit(rows, y))) == 0


def test_where_regions_are_not_opened():
    """By other threads than the main one, within tasks, and for a single thread."""
    threads.use("openmp")
    other = threading.Thread(target=each, args=(10, lambda item, number: None, 2))
    assert regions_of(lambda: (other.start(), other.join())) == 0
    done = []
    idents = set()

    def inner(i, _):
        each(5, lambda j, _: (done.append((i, j)), idents.add(threading.get_ident()), time.sleep(1e-4)), 2)

    assert regions_of(lambda: each(6, inner, 2)) == 1
    assert sorted(done) == [(i, j) for i in range(6) for j in range(5)]
    assert len(idents) <= 2  # those of the region alone
    assert regions_of(lambda: each(10, lambda item, number: None, 1)) == 0


def test_regions_of_more_and_of_fewer_threads():
    threads.use("openmp")
    for n in (2, 7, 3, 1, 5, 64, 2):
        seen, together = set(), threading.Barrier(n, timeout=60)

        def work(item, number, seen=seen, together=together):
            together.wait()
            seen.add((item, number, threading.get_ident()))

        each(n, work, n)
        assert sorted(item for item, _, _ in seen) == list(range(n))
        assert len({number for _, number, _ in seen}) == len({ident for _, _, ident in seen}) == n


def fitted(kind):
    """What a fit on several threads leaves, as bytes."""
    if kind == "forest":
        settings = {"oob_score": True, "ccp_alpha": 1e-4, "keep_training_data": True}
        model = dforest.RandomForestClassifier(9, n_jobs=3, random_state=0, **settings).fit(X, CLASSES)
        found = [model.oob_decision_function_, model.oob_importance(X, CLASSES).importances]
        found += [model.predict_proba(X), model.shap_values(X[:200]).values, model.proximity(X[:200]).toarray()]
    elif kind == "one tree":
        model = dforest.RandomForestRegressor(1, n_jobs=3, random_state=0, method="dense")
        found = [model.fit(np.tile(X, (6, 1)), np.tile(NUMBERS, 6)).predict(X)]
    elif kind == "extra trees":
        model = dforest.ExtraTreesRegressor(9, n_jobs=3, random_state=0, bootstrap=True, keep_training_data=True)
        found = [model.fit(X, NUMBERS).predict(X), model.predict_quantiles(X[:200], [0.1, 0.9])]
    else:
        model = dforest.HistGradientBoostingClassifier(max_iter=9, n_jobs=3, random_state=0, early_stopping=True, subsample=0.7)
        rows, y = np.tile(X, (4, 1)), np.tile(CLASSES, 4)
        found = [model.fit(rows, y).predict_proba(X), model.shap_values(X[:200]).values]
    found += [array for array in model.forest_.as_dict().values() if array is not None]
    return b"".join(np.asarray(array).tobytes() for array in found)


@pytest.mark.parametrize("kind", ["forest", "one tree", "extra trees", "boosted"])
def test_results_have_the_same_bits_wherever_tasks_run(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        threads.use("pool")
        expected = fitted(kind)
        for where in ("auto", "openmp"):
            threads.use(where)
            assert fitted(kind) == expected


def test_the_first_error_ends_a_region():
    threads.use("openmp")
    begun = []

    def work(item, number):
        begun.append(item)
        time.sleep(0.001)
        if item == 7:
            raise KeyError("seven")

    for _ in range(5):
        begun.clear()
        with pytest.raises(KeyError, match="seven"):
            each(1000, work, 3)
        assert len(begun) < 20
    each(10, lambda item, number: None, 3)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("waits", [False, True])
def test_signals_are_handled_within_a_region(waits):
    """While the main thread works at items, and while it has none left and waits for the others."""
    threads.use("openmp")
    seconds = 30.0

    def work(item, number):
        end = time.perf_counter() + (0.1 if waits and number == 0 else seconds)
        while time.perf_counter() < end and not over:
            time.sleep(0.005)

    def interrupt(*_):
        over.append(True)
        raise InterruptedError

    over, before = [], signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.perf_counter()
        with pytest.raises(InterruptedError):
            each(2, work, 2)
        assert time.perf_counter() - start < seconds / 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(code, **environment):
    """What an interpreter of its own prints, which has dforest's core alone."""
    command = [sys.executable, "-c", "import helpers.core_alone\n" + textwrap.dedent(code)]
    environment = os.environ | {"DFOREST_THREADS": "auto"} | environment
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_the_environment_says_where():
    code = "from dforest.core.threads import count_regions, each; each(9, lambda *_: None, 2, 1e11); print(count_regions())"
    assert run(code, DFOREST_THREADS="pool").stdout == "0\n"
    assert run(code, DFOREST_THREADS="openmp").stdout == run(code, DFOREST_THREADS="auto").stdout == "1\n"
    wrong = run("import dforest.core.threads", DFOREST_THREADS="some")
    assert "ValueError: DFOREST_THREADS='some'; allowed are \"openmp\", \"pool\" and, the default, \"auto\"" in wrong.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_of_a_fork_opens_no_regions():
    """It would wait for threads that only its parent has; a child of a process that opened none does not, either."""
    done = run("""
        import os
        from dforest.core.threads import count_regions, each

        def in_child():
            child = os.fork()
            if child == 0:
                each(50, lambda *_: None, 3, 1e11)
                os._exit(count_regions())
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        print(in_child())
        each(50, lambda *_: None, 3, 1e11)
        print(count_regions(), in_child() - count_regions())
        each(50, lambda *_: None, 4, 1e11)
        print(count_regions())
    """)
    assert (done.stdout, done.returncode) == ("0\n1 0\n2\n", 0), done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory of a process")
def test_regions_have_no_threads_that_the_system_does_not_grant():
    done = run("""
        import resource, threading
        from dforest.core.threads import each

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**24,) * 2)  # less than two stacks of threads
        seen = set()
        each(200, lambda item, number: seen.add(item), 16, 1e11)
        print(len(seen))
    """)
    assert (done.stdout, done.returncode) == ("200\n", 0), done.stderr


PROBE = "from dforest.core.threads import count_regions, each; each(40, lambda *_: None, 4, 1e11); print(count_regions())"


@pytest.mark.parametrize("environment", [{"OMP_THREAD_LIMIT": "2"}, {"OMP_DYNAMIC": "true"}], ids=str)
def test_regions_that_would_have_fewer_threads_are_not_opened(environment):
    assert run(PROBE, **environment).stdout == "0\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="loads GCC's runtime by its name on Linux")
def test_a_runtime_that_was_there_before_may_have_threads_from_before_a_fork():
    begin = "import dforest.built; " + PROBE  # as dforest begins
    first = "import ctypes; ctypes.CDLL('libgomp.so.1', ctypes.RTLD_GLOBAL); " + begin
    if "/libgomp.so.1" not in run("import dforest.core.threads; print(open('/proc/self/maps').read())").stdout:
        pytest.skip("dforest uses another runtime")
    assert run(begin).stdout == "1\n"
    assert run(first).stdout == "0\n"
    assert run(first, DFOREST_THREADS="openmp").stdout == "1\n"


@pytest.mark.skipif(not hasattr(sys, "_current_frames"), reason="counts Python's states of threads")
def test_threads_that_the_runtime_ends_leave_no_state_behind():
    done = run("""
        import ctypes
        from dforest.core.threads import each

        def n_states():
            head, n = ctypes.pythonapi.PyInterpreterState_ThreadHead, 0
            after = ctypes.pythonapi.PyThreadState_Next
            head.restype = after.restype = ctypes.c_void_p
            head.argtypes, after.argtypes = [ctypes.c_void_p], [ctypes.c_void_p]
            main = ctypes.pythonapi.PyInterpreterState_Main
            main.restype = ctypes.c_void_p
            state = head(main())
            while state:
                state, n = after(state), n + 1
            return n

        for n in (8, 2) * 100:
            each(50, lambda *_: None, n, 1e11)
        print(n_states())
    """)
    assert (done.returncode, done.stderr) == (0, "") and int(done.stdout) < 10
