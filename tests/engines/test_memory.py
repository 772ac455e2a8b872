"""Estimates of memory: what a fit takes, measured in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from dforest.core.sampling import AllRows, Bootstrap
from dforest.engines.memory import forest_memory
from dforest.testing.engine_check import random_problem

# What is resident at most while a forest is grown, beyond what was before; and what is expected.
MEASURED = """
import sys
from pathlib import Path
import numpy as np
from dforest.core.coding import code_columns
from dforest.core.objective import ClassObjective, NumberObjective
from dforest.core.sampling import Bootstrap
from dforest.engines.cpu import CpuEngine
from dforest.engines.memory import forest_memory
from dforest.estimators.forest.base import SPLITTERS
from dforest.engines.fitting import ForestSink
from dforest.engines.problem import GrowthRules, Problem, Targets

kind, method, n_rows, n_features, n_trees = *sys.argv[1:3], *map(int, sys.argv[3:])
rng = np.random.default_rng(0)
X = rng.random((n_rows, n_features), np.float32)
if method == "hist":
    X = np.floor(200 * X)
columns, y = tuple(code_columns(X)), X[:, 0] * X[:, 1] + X.max() ** 2 * rng.random(n_rows)
del X
if kind == "classes":
    targets, objective, criterion = Targets((y > np.median(y)).astype(np.int32)), ClassObjective(2), "gini"
else:
    targets, objective, criterion = Targets(np.zeros(n_rows, np.int32), y.astype(float)), NumberObjective(), "squared_error"
splitter = SPLITTERS[method, "best"]().configure(5, False, {}, True)
rules, sampling, none = GrowthRules(min_samples_leaf=5), Bootstrap(n_rows), np.zeros(n_features, np.int8)
problem = Problem(columns, targets, objective, objective.make_criterion(criterion), splitter, rules, sampling, 0, False, none)

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

def grow():
    sink = ForestSink(np.float32, n_trees, 2, n_threads=8)
    CpuEngine(8).open(problem).grow(range(n_trees), sink)
    return sink.forest(problem, n_categories=none.astype(np.int32), criterion=criterion, splitter=None)

Path("/proc/self/clear_refs").write_text("5")   # the peak begins anew
before = resident("VmRSS")
forest = grow()
peak = resident("VmHWM") - before
n_leaves = (len(forest.feature) // n_trees + 1) // 2
print(peak, forest_memory(problem, n_trees, 8, n_leaves).total)
"""


def resets_peaks():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


@pytest.mark.slow(after=2)
@pytest.mark.skipif(not resets_peaks(), reason="this system does not measure peaks anew")
@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_fit_on_8_threads_takes_what_is_estimated(kind, method):
    """Within a quarter. Threads keep their memory from tree to tree: of 24 trees, all use all of theirs, even on one core."""
    arguments = [sys.executable, "-c", MEASURED, kind, method, "150000", "20", "24"]
    peak, expected = map(int, subprocess.run(arguments, capture_output=True, check=True, text=True).stdout.split())
    assert 0.75 * peak <= expected <= 1.25 * peak, f"{peak / 2**20:.0f} MiB, and {expected / 2**20:.0f} were expected"


def estimate(n_trees=10, n_threads=4, kind="classes", **given):
    return forest_memory(random_problem(0, kind, n_rows=9000, **given)[1], n_trees, n_threads)


def test_pieces_by_hand():
    """9000 rows of three columns of one byte, padded to 8; three classes, whose leaves have four words."""
    found = estimate(sampling=AllRows())
    assert found.values > 0
    assert (found.codes, found.buckets, found.rows) == (27_000, 0, 72_000)
    assert (found.records, found.search) == (32 * 9000, 4 * 9000)
    assert found.tree == 3599 * 24 + 1800 * 32
    assert found.forest == 14 * 3599 * (9 + 8)
    assert found.total == 72_000 + 4 * found.of_thread + found.forest


def test_what_the_estimate_follows():
    one = estimate(sampling=AllRows())
    assert estimate(sampling=Bootstrap(9000)).records == pytest.approx(0.632 * one.records, rel=0.01)
    assert estimate(n_threads=99, sampling=AllRows()).n_threads == 10
    assert estimate(sampling=AllRows(), max_leaf_nodes=7).tree == 13 * 24 + 7 * 32
    assert estimate(sampling=AllRows(), max_leaf_nodes=7).rows == 0  # grown without blocks
    assert estimate(sampling=AllRows(), max_depth=3).tree == 15 * 24 + 8 * 32
    assert estimate(sampling=AllRows(), min_samples_leaf=90).tree == 199 * 24 + 100 * 32
    assert estimate(sampling=AllRows(), kind="numbers").tree > one.tree
