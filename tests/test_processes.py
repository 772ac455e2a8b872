"""Processes that fork, run out of threads, or are interrupted; each case in an interpreter of its own."""

import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc, forks, sends signals"),
]

# A problem, and a forest that several threads grow, predict with, and estimate.
COMMON = """
import os, resource, signal, sys, threading, time
import numpy as np
from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.core.forest.arrays import Forest
from dforest.core.sampling import Bootstrap

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 8))
y = X[:, 0] + X[:, 1] * X[:, 2]

def forest(n_estimators=20, **parameters):
    return RandomForestRegressor(n_estimators, **{"n_jobs": 4, "random_state": 0, "max_depth": 12} | parameters)

def everything():
    # Whatever threads share: growing, pruning, estimates out of bag, permutations, predictions, leaves.
    model = forest(oob_score=True, ccp_alpha=1e-4).fit(X, y)
    found = [model.oob_prediction_, model.oob_curve_, model.oob_importance(X, y).importances, model.predict(X), model.apply(X)]
    return b"".join([part.tobytes() for part in found + list(model.forest_.as_dict().values())])

def n_threads():
    return len(os.listdir("/proc/self/task"))

def chain(n_trees, depth):
    # Trees whose left children are leaves; rows of large values pass all nodes.
    fitted = RandomForestRegressor(1, random_state=0).fit([[0.0], [1.0]] * 5, [0.0, 1.0] * 5).forest_
    n_nodes = 2 * depth + 1
    inner = np.arange(n_nodes - 1) % 2 == 0
    feature = np.where(np.append(inner, False), 0, -1).astype(np.int32)
    link = np.where(feature >= 0, np.arange(n_nodes) + 2, np.arange(n_nodes) // 2).astype(np.uint32)
    link[-1] = depth
    threshold = np.where(feature >= 0, np.arange(n_nodes), 0).astype(np.float32)
    arrays = fitted.as_dict() | {
        "node_offsets": np.arange(n_trees + 1) * n_nodes,
        "feature": np.tile(feature, n_trees),
        "threshold": np.tile(threshold, n_trees),
        "link": np.tile(link, n_trees),
        "missing_left": np.zeros(n_nodes * n_trees, bool),
        "leaf_draws": np.ones(depth + 1, np.int64),
        "leaf_weight": np.ones((depth + 1, 1), np.int64),
        "leaf_value": np.linspace(0, 1, depth + 1) ** 2,
        "leaf_impurity": np.zeros(depth + 1),
    }
    return Forest(arrays, **fitted.settings() | {
        "n_rows": np.full(n_trees, 10**6), "plans": (Bootstrap(10**6),) * n_trees, "weight_unit": np.ones(n_trees),
        "seeds": np.arange(n_trees, dtype=np.uint32),
    })

def limit_memory(more):
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more, resource.RLIM_INFINITY))
"""


def run(script, timeout=120):
    """What a script prints."""
    command = [sys.executable, "-c", COMMON + textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_forked_child_goes_on():
    """Its parent's threads are not there."""
    run("""
        expected = everything()
        for _ in range(3):
            child = os.fork()
            if child == 0:
                signal.alarm(100)
                same = everything() == expected
                grandchild = os.fork()
                if grandchild == 0:
                    signal.alarm(50)
                    os._exit(0 if same and everything() == expected and n_threads() > 1 else 1)
                os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert everything() == expected
    """)


def test_a_child_forked_while_others_predict():
    run("""
        model = forest().fit(X, y)
        expected = model.predict(X)
        stop = False
        def predict():
            while not stop:
                assert np.array_equal(model.predict(X), expected)
        threads = [threading.Thread(target=predict) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    signal.alarm(50)
                    os._exit(0 if np.array_equal(model.predict(X), expected) else 1)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        finally:
            stop = True
    """)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("limit", ["address space", "no thread", "three threads"])
def test_fewer_threads_where_the_system_grants_no_more(limit):
    """With the same results. The child has no threads yet."""
    run(f"""
        from dforest.core import threads

        expected = everything()
        child = os.fork()
        if child:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        signal.alarm(100)
        limit, start, granted = {limit!r}, threads.start_new_thread, []

        def start_new_thread(*args):
            if len(granted) == (3 if limit == "three threads" else 0):
                raise RuntimeError("can't start new thread")
            granted.append(args)
            return start(*args)

        if limit == "address space":
            threading.stack_size(1 << 28)
            limit_memory(7 << 27)
        else:
            threads.start_new_thread = start_new_thread
        plain = forest

        def forest(*args, **parameters):
            return plain(*args, **parameters, n_jobs=64)

        assert everything() == expected
        assert n_threads() == {{"no thread": 1, "three threads": 4, "address space": 4}}[limit], n_threads()
        os._exit(0)
    """)


def test_threads_of_a_program_share_the_workers():
    """As many as the largest number of threads one call may use, or as cores: not that many for each."""
    run("""
        before = n_threads()      # some of other libraries
        model = forest().fit(X, y)
        expected = model.predict(X)
        most = []
        def predict():
            for _ in range(5):
                assert np.array_equal(model.predict(X), expected)
                most.append(n_threads())
        threads = [threading.Thread(target=predict) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cores = len(os.sched_getaffinity(0))
        assert max(most) <= before + 20 + max(cores, 4) - 1, (before, most)
    """)


# Calls that would take minutes: a function, and its arguments.
LONG = {
    "fit": ("RandomForestRegressor(3000, n_jobs=N).fit", "X, y"),
    "fit one tree": ("repeat", "forest(1, n_jobs=N, max_depth=None, method='dense').fit, big, big[:, 0]"),
    "fit best first": ("repeat", "forest(1, n_jobs=N, max_depth=None, max_leaf_nodes=10**6, method='dense').fit, big, big[:, 0]"),
    "boosted trees": ("HistGradientBoostingClassifier(**long).fit", "big, big[:, 0] > 0"),
    "boosted medians": ("HistGradientBoostingRegressor('absolute_error', **long).fit", "big, big[:, 0]"),
    "one boosted tree": (
        "HistGradientBoostingRegressor(max_leaf_nodes=None, min_samples_leaf=1, **long).fit",
        "rng.standard_normal((10**6, 8)), rng.standard_normal(10**6)",
    ),
    "predict many rows": ("grown.predict", "np.zeros((10**8, 8), np.float32)"),
    "predict": ("chained().predict", "np.full((10**6, 1), 1e9, np.float32)"),
    "apply": ("chained().apply", "np.full((10**6, 1), 1e9, np.float32)"),
    "out of bag": ("oob.estimate", "chain(20, 10**5), rows_of(np.full((10**6, 1), 1e9), y_long), 'soft', N"),
    "permutations": ("importance.accuracy_decrease", "chain(20, 10**5), rows_of(np.full((10**6, 1), 1e9), y_long), N"),
    "pruning": ("repeat", "pruning.cost_complexity, chain(20, 10**5), range(20), 1e-12, N"),
}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("n_jobs", [4, 1])
@pytest.mark.parametrize("work", LONG)
def test_ctrl_c(work, n_jobs):
    """It ends what would go on for minutes; no thread stays at work, and all goes on as before."""
    function, arguments = LONG[work]
    run(f"""
        from dforest.estimators.results import pruning
        from dforest.estimators.results import importance, oob
        from dforest.engines.weights import TrainingRows
        N = {n_jobs}
        long = dict(max_iter=10**6, n_jobs=N, early_stopping=False)
        big = rng.standard_normal((100_000, 4))
        y_long = np.zeros(10**6)
        grown = RandomForestRegressor(100, n_jobs=N, random_state=0).fit(X[:1000], y[:1000])
        expected = grown.predict(X)

        def chained():
            model = RandomForestRegressor(1, n_jobs=N, random_state=0).fit([[0.0], [1.0]] * 5, [0.0, 1.0] * 5)
            model.forest_ = chain(20, 10**5)
            return model

        def repeat(function, *arguments):
            while True:
                function(*arguments)

        def rows_of(X, y):
            rows = TrainingRows([X], y, None)
            rows.number()
            return rows

        function, arguments = {function}, ({arguments},)
        threading.Timer(0.7, os.kill, [os.getpid(), signal.SIGINT]).start()  # when it is well under way
        try:
            function(*arguments)
            sys.exit("it came to its end")
        except KeyboardInterrupt:
            pass
        assert np.array_equal(grown.predict(X), expected)
        time.sleep(0.5)
        stats = [open(f"/proc/self/task/{{task}}/stat").read() for task in os.listdir("/proc/self/task")]
        states = [stat.rsplit(")", 1)[1].split()[0] for stat in stats]
        assert sum(state != "S" for state in states) <= 1, states
    """)


def test_memory_of_prediction_does_not_grow_with_classes():
    """Sums of a block's rows over 20,000 classes would take 655 MB."""
    run("""
        labels = np.arange(20_000)
        model = RandomForestClassifier(2, max_depth=2, max_features=1, random_state=0).fit(X, labels)
        few = model.predict(X[:5])
        limit_memory(1 << 28)
        assert np.array_equal(model.predict(X)[:5], few)
    """)


def test_memory_of_packing_does_not_grow_with_trees_but_for_their_nodes():
    """What is counted by depth took 2 KB a tree, twice."""
    run("""
        model = RandomForestRegressor(1, random_state=0).fit([[0.0], [1.0]] * 5, [0.0, 1.0] * 5)
        model.forest_ = chain(200_000, 1)
        limit_memory(1 << 27)
        assert model.predict(X[:1, :1]).shape == (1,)
    """)


LONG_FIT = """
import sys
import time
import numpy as np
from dforest import RandomForestClassifier
from dforest.splitter import Cut, PythonSplitter

class Slow(PythonSplitter):
    has_begun = False

    def find_split(self, node):
        if not Slow.has_begun:
            Slow.has_begun = True
            print("begun", flush=True)
        time.sleep(0.01)
        codes = np.unique(node.codes(0))
        return Cut(0, int(codes[len(codes) // 2 - 1])) if len(codes) > 1 else None

X = np.random.default_rng(0).standard_normal((5000, 2))
try:
    RandomForestClassifier(100, splitter=Slow(), method="dense", n_jobs=int(sys.argv[1])).fit(X, np.arange(5000) % 2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.slow(after=1)
def test_an_interrupt_ends_a_fit_in_python(n_jobs):
    process = subprocess.Popen([sys.executable, "-c", LONG_FIT, str(n_jobs)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        # Uninterrupted, it would take a quarter of an hour.
        rest, _ = process.communicate(timeout=60)
        assert rest.endswith("interrupted\n") and process.returncode == 0
    finally:
        process.kill()
        process.wait()
