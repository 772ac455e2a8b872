"""Estimates of the memory of fits, measured in processes of their own."""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.device_forests import standing_in
from helpers.host_device import strict_device
from helpers.ranks import Cut
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

import dforest
from dforest import (
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from dforest.callback.base import Callback
from dforest.engines.cpu import CpuEngine
from dforest.estimators.forest.memory import count_leaves
from dforest.spmd.communicator import ALONE
from dforest.spmd.threads import ThreadGroup

# What is resident at most during a fit, beyond what was before; and what is expected.
MEASURED = """
import ctypes, json, sys
from pathlib import Path
import numpy as np
import dforest

kind, n_rows, n_features, n_classes, parameters, place = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.random((n_rows, n_features), np.float32)
y = X[:, 0] * X[:, 1] + 0.5 * rng.random(n_rows)
for j in parameters.get("categorical_features", []):
    X[:, j] = np.floor(500 * X[:, j])
if n_classes:
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))

def everywhere(work, n):
    # What `work` says of a model and n rows: alone, on a device, or on two ranks, each with half of them.
    model = getattr(dforest, kind)(random_state=0, **parameters)
    if place == "processor":
        return [work(model, X[:n], y[:n])]
    if place == "device":
        from helpers.device_forests import standing_in
        from dforest.backends.host import HostDevice
        with standing_in(HostDevice(2)):
            return [work(model.set_params(device="sycl"), X[:n], y[:n])]
    from dforest.spmd.threads import ThreadGroup
    from sklearn.base import clone
    def run(ranks):
        own = slice(n * ranks.rank // 2, n * (ranks.rank + 1) // 2)
        with dforest.config_context(communicator=ranks):
            return work(clone(model), X[own], y[own])
    return ThreadGroup(2).run(run)

def fit(model, *data):
    model.fit(*data)

everywhere(fit, 300)                            # all that is imported, and threads, are there
expected = sum(everywhere(lambda model, *data: model.estimate_memory(*data).total, n_rows))

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

ctypes.CDLL(None).malloc_trim(0)
Path("/proc/self/clear_refs").write_text("5")   # the peak begins anew
before = resident("VmRSS")
everywhere(fit, n_rows)
print(json.dumps([resident("VmHWM") - before, expected]))
"""


def resets_peaks():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return sys.platform == "linux"


def measured(*problem, which=statistics.median):
    """(bytes that a fit takes, bytes that were expected): the median of three fits, or another one, by what they take."""
    command, path = [sys.executable, "-P", "-c", MEASURED, json.dumps(problem)], str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])}
    runs = [subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout for _ in range(3)]
    return which(json.loads(run) for run in runs)


@pytest.mark.slow
@pytest.mark.skipif(not resets_peaks(), reason="this system does not measure the peak since a moment")
@pytest.mark.parametrize(
    "problem",
    [
        ("RandomForestRegressor", 150_000, 10, 0, dict(n_estimators=20, n_jobs=2, oob_score=True)),
        ("RandomForestClassifier", 300_000, 5, 4, dict(n_estimators=20, n_jobs=2, oob_score=True)),
        ("ExtraTreesRegressor", 100_000, 10, 0, dict(n_estimators=20, n_jobs=1)),
        ("RandomForestClassifier", 400_000, 10, 2, dict(n_estimators=10, n_jobs=2, method="dense")),
        ("HistGradientBoostingRegressor", 300_000, 20, 0, dict(max_iter=20, n_jobs=2, early_stopping=True)),
        ("HistGradientBoostingClassifier", 200_000, 10, 5, dict(max_iter=5, n_jobs=2, early_stopping=False)),
        ("HistGradientBoostingRegressor", 300_000, 10, 0, dict(max_iter=20, n_jobs=1, max_bins=1000, subsample=0.5)),
        ("HistGradientBoostingClassifier", 200_000, 6, 5, dict(max_iter=5, n_jobs=1, categorical_features=[0, 1, 2])),
        ("HistGradientBoostingRegressor", 200_000, 10, 0, dict(max_iter=20, n_jobs=2, max_leaf_nodes=None, min_samples_leaf=5)),
    ],
    ids=lambda problem: f"{problem[0]}, {problem[-1]}",
)
def test_a_fit_takes_what_is_estimated(problem):
    """Within a quarter: the median of three fits, as how threads meet moves the peak of one by a tenth."""
    peak, expected = measured(*problem, "processor")
    assert 0.75 * peak <= expected <= 1.25 * peak, f"{peak / 2**20:.0f} MiB, and {expected / 2**20:.0f} were expected"


@pytest.mark.slow
@pytest.mark.skipif(not resets_peaks(), reason="this system does not measure the peak since a moment")
@pytest.mark.parametrize("place", ["device", "ranks"])
@pytest.mark.parametrize(
    "problem",
    [
        ("RandomForestRegressor", 150_000, 10, 0, dict(n_estimators=8, n_jobs=1)),
        ("RandomForestClassifier", 150_000, 10, 3, dict(n_estimators=8, n_jobs=1)),
        ("HistGradientBoostingClassifier", 100_000, 10, 4, dict(max_iter=3, n_jobs=1, early_stopping=True)),
    ],
    ids=lambda problem: problem[0],
)
def test_a_fit_elsewhere_takes_what_is_estimated(problem, place):
    """Within two fifths: of a device whose memory is the host's, and of two ranks together, whose peaks need not coincide.

    The one of three fits counts that takes most.
    """
    peak, expected = measured(*problem, place, which=max)
    assert 0.6 * peak <= expected <= 1.4 * peak, f"{peak / 2**20:.0f} MiB, and {expected / 2**20:.0f} were expected"


X, Y = load_digits(return_X_y=True)
X = np.ascontiguousarray(X)


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(random_state=0), ExtraTreesRegressor(random_state=0), DecisionTreeClassifier(random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_the_estimator_stays_as_it_is(model):
    before = dict(vars(model))
    found = model.estimate_memory(X, Y)
    assert vars(model) == before
    assert found == clone(model).estimate_memory(X, Y)  # chance plays no part
    model.fit(X, Y)
    before = dict(vars(model))
    assert model.estimate_memory(X, Y) == found
    assert vars(model) == before


def test_pieces():
    model = RandomForestClassifier(100, n_jobs=2, random_state=0)
    found = model.estimate_memory(X, Y)
    assert found.total == found.data + found.codes + max(found.coding, found.forest + found.scratch)
    text = str(found)
    assert "growing, 2 threads" in text and f"{found.total / 2**20:.1f} MiB" in text
    assert model.set_params(n_jobs=1).estimate_memory(X, Y).scratch < found.scratch
    assert model.set_params(n_estimators=300).estimate_memory(X, Y).forest > 2 * found.forest
    assert model.set_params(max_leaf_nodes=3).estimate_memory(X, Y).forest < found.forest
    assert model.set_params(keep_training_data=True).estimate_memory(X, Y).data >= X.nbytes
    assert RandomForestClassifier(100, oob_score=True).estimate_memory(X, Y).estimates > 0
    copied = RandomForestClassifier(100).estimate_memory(X.tolist(), Y).data
    assert copied > RandomForestClassifier(100).estimate_memory(X, Y).data + 0.9 * X.nbytes


def test_leaves_are_counted():
    """About as many as there are, also different ones."""
    rng = np.random.default_rng(0)
    rows = rng.random((20_000, 5))
    targets = {RandomForestRegressor: rows[:, 0] + rng.random(20_000), RandomForestClassifier: rng.integers(0, 3, 20_000)}
    for kind, y in targets.items():
        model, seen = kind(20, random_state=0, max_features=0.5), []

        class Looker(Callback):
            def on_growth_begin(self, estimator, seen=seen):
                seen.append(count_leaves(estimator._growth.problem, 20, CpuEngine(1), estimator, ALONE))

        forest = model.set_callbacks(Looker()).fit(rows, y).forest_
        n_leaves, n_distinct = seen[0]
        assert n_leaves == pytest.approx(np.count_nonzero(forest.feature < 0) / 20, rel=0.15)
        assert n_distinct == pytest.approx(len(forest.leaf_draws), rel=0.25) or n_distinct < 0.05 * 20 * n_leaves


LIMITS = [dict(min_samples_split=0.05), dict(min_samples_leaf=0.01), dict(min_samples_leaf=50)]


@pytest.mark.parametrize("limit", LIMITS, ids=repr)
def test_leaves_under_limits(limit):
    rng = np.random.default_rng(0)
    rows = rng.random((20_000, 5))
    y = rows[:, 0] + rng.random(20_000)
    model = RandomForestRegressor(10, random_state=0, **limit)
    expected = model.estimate_memory(rows, y).n_leaves
    assert expected == pytest.approx(np.count_nonzero(model.fit(rows, y).forest_.feature < 0) / 10, rel=0.3)


@pytest.mark.parametrize("kind", ["several outputs", "several outputs of classes", "weights", "weights by class"])
def test_some_of_many_rows(kind):
    """Leaves are counted on some of the rows, which have their own targets and weights."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 4))
    numbers, weight = X[:, :2] + 0.1 * rng.standard_normal((9000, 2)), rng.lognormal(size=9000)
    model, y = RandomForestRegressor(4, random_state=0, n_jobs=1), numbers
    if kind == "several outputs of classes":
        model, y = RandomForestClassifier(4, random_state=0, n_jobs=1), (numbers > 0).astype(int)
    elif kind == "weights by class":
        model, y = RandomForestClassifier(4, class_weight="balanced_subsample", random_state=0), (numbers > 0)[:, 0]
    elif kind == "weights":
        y = numbers[:, 0]
    weight = weight if "weights" in kind else None
    found = model.estimate_memory(X, y, weight)
    grown = model.fit(X, y, weight).forest_
    nodes = sum(array.nbytes for array in grown.as_dict().values() if isinstance(array, np.ndarray))
    assert 0.5 * nodes < found.forest < 4 * nodes


def test_boosted_trees():
    model = HistGradientBoostingClassifier(random_state=0, n_jobs=1, defaults="scikit-learn")
    before = dict(vars(model))
    found = model.estimate_memory(X, Y)
    assert vars(model) == before
    assert found == model.fit(X, Y).estimate_memory(X, Y)  # chance plays no part, nor do the trees that there are
    assert found.total == found.data + max(found.codes + max(found.coding, found.growth.total), found.forest)
    assert clone(model).set_params(max_iter=300).estimate_memory(X, Y).forest > 2 * found.forest
    assert clone(model).set_params(max_leaf_nodes=3).estimate_memory(X, Y).forest < found.forest
    numbers = HistGradientBoostingRegressor(random_state=0, n_jobs=1, defaults="scikit-learn")
    plain = numbers.estimate_memory(X, Y)
    assert plain.growth.gradients < found.growth.gradients  # of ten classes
    assert clone(numbers).set_params(early_stopping=True).estimate_memory(X, Y).growth.scores > plain.growth.scores
    assert clone(numbers).set_params(loss="absolute_error").estimate_memory(X, Y).growth.gradients > plain.growth.gradients
    offset = {"offset": np.zeros(len(X)), "X_val": X, "y_val": Y, "offset_val": np.zeros(len(X))}
    assert clone(numbers).set_params(early_stopping=True).estimate_memory(X, Y, **offset).total > plain.total
    with pytest.raises(ValueError, match="y has the shape|inconsistent numbers"):
        numbers.estimate_memory(X, Y[:-1])


@pytest.mark.parametrize("parameters", [{"max_leaf_nodes": None}, {"max_leaf_nodes": None, "max_depth": 4}, {"subsample": 0.3}])
def test_leaves_of_boosted_trees(parameters):
    rng = np.random.default_rng(0)
    rows = rng.random((20_000, 5))
    model = HistGradientBoostingRegressor(max_iter=5, early_stopping=False, random_state=0, **parameters)
    expected = model.estimate_memory(rows, rows[:, 0] + rng.random(20_000)).n_leaves
    grown = model.fit(rows, rows[:, 0] + rng.random(20_000)).forest_
    assert expected == pytest.approx(np.count_nonzero(grown.feature < 0) / 5, rel=0.3)


ELSEWHERE = [
    RandomForestRegressor(6, random_state=0),
    RandomForestRegressor(6, random_state=0, criterion="absolute_error"),
    RandomForestRegressor(6, random_state=0, criterion="absolute_error", method="dense", max_leaf_nodes=20),
    RandomForestClassifier(6, random_state=0, max_leaf_nodes=20),
    ExtraTreesRegressor(4, random_state=0, max_depth=5),
    HistGradientBoostingRegressor(max_iter=4, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, random_state=0, early_stopping=True, subsample=0.5, defaults="scikit-learn"),
]


@pytest.mark.parametrize("model", ELSEWHERE, ids=lambda model: type(model).__name__)
def test_memory_of_a_device(model):
    """Of one with memory of its own, which the account of its arrays tells."""
    rng = np.random.default_rng(0)
    rows = rng.random((6000, 8))
    y = rows[:, 0] + rng.random(6000)
    y = np.digitize(y, [0.7, 1.3]) if hasattr(model, "predict_proba") else y
    with standing_in(strict_device(is_cpu=False)):
        model = clone(model).set_params(device="sycl")
        found = model.estimate_memory(rows, y)
        most = model.fit(rows, y).fit_report_.bytes_most
    assert 0.5 * most <= found.on_device <= 2 * most, (most, found.on_device)
    assert "on the device" in str(found)
    assert found.n_leaves == clone(model).set_params(device=None).estimate_memory(rows, y).n_leaves


@pytest.mark.parametrize("model", ELSEWHERE, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", ["random", "empty"])
def test_memory_of_ranks(model, kind):
    """All know how many leaves trees have, those of a process that has all rows; each has the memory of its own rows."""
    rng = np.random.default_rng(0)
    rows = rng.random((6000, 8))
    y = rows[:, 0] + rng.random(6000)
    y = np.digitize(y, [0.7, 1.3]) if hasattr(model, "predict_proba") else y
    cut = Cut.random(rng, 6000, 3, kind)

    def estimate(ranks):
        own = cut.rows(ranks.rank)
        with dforest.config_context(communicator=ranks):
            return len(own), clone(model).estimate_memory(rows[own], y[own])

    found = ThreadGroup(3).run(estimate)
    alone = clone(model).estimate_memory(rows, y)
    for n_own, own in found:
        assert own.n_leaves == alone.n_leaves
        assert own.growth.codes == alone.growth.codes * n_own // 6000 or model.get_params().get("early_stopping")
        assert own.forest >= 0.9 * alone.forest and own.on_device == 0


def test_embeddings_too():
    assert RandomTreesEmbedding(50).estimate_memory(load_iris().data).total > 0


def test_bad_input():
    with pytest.raises(ValueError, match="max_depth"):
        RandomForestClassifier(max_depth=-1).estimate_memory(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RandomForestClassifier().estimate_memory(X, Y[:-1])
