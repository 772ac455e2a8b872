"""What compare.py and scaling.py share: one library's model measured in a process of its own, turns, and files of results.

A *point* is what is asked of all libraries: a problem of some rows and columns, a number of trees and of threads. At each
point the libraries take turns, seed by seed, so that a machine that gets slower on the way gets slower for all of them. A
file of results is JSON; `Results` says what is in it.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import warnings
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np
from libraries import BOOSTERS, FORESTS, LIBRARIES, model_by, serialised, use_one_thread
from scipy.sparse import csr_matrix, issparse, load_npz, save_npz

MIB = 2**20
WARM_UP_ROWS = 300
PREDICTIONS = 7  # of the test set after the first one; of one row ten times as many
FORMAT = 1


@dataclass
class Point:
    """Equal questions to all libraries, and what was measured.

    rows, columns : int
        Of the training rows; there is a test row for every three of them.
    runs : dict
        For each library, a dict of measurements for each seed: `fit` (s), `first`, `predict` and `row` (ms), `memory` and
        `pickled` (MiB), `score` (accuracy or R², of 1); or only `failed`, which says why.
    """

    problem: str
    task: str
    n_classes: int
    dtype: str
    rows: int
    columns: int
    test_rows: int
    trees: int
    threads: int
    runs: dict = field(default_factory=dict)


@dataclass
class Results:
    """A file of results.

    base : dict or None
        Where numbers of rows, columns, trees or threads are varied, what each of them is while another one is.
    """

    machine: dict
    versions: dict
    seeds: int
    points: list
    base: dict = None
    format: int = FORMAT

    @classmethod
    def begin(cls, libraries, seeds, base=None):
        versions = {LIBRARIES[library][1]: installed(LIBRARIES[library][1]) for library in libraries}
        machine = {
            "processor": processor(), "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version(),
            "date": date.today().isoformat(),
        }  # fmt: skip
        return cls(machine, versions, seeds, [], base)

    @classmethod
    def read(cls, path):
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if found.get("format") != FORMAT:
            raise ValueError(f"{path} has results of format {found.get('format')}, and this reads format {FORMAT}")
        return cls(**found | {"points": [Point(**point) for point in found["points"]]})

    def write(self, path):
        Path(path).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def told(self):
        """The machine and the versions, in a line."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        machine = self.machine
        return f"{machine['processor']}, {machine['cores']} cores; Python {machine['python']}, {versions}."


def memory_now(name):
    """VmRSS or VmHWM, its highest value so far, of this process in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/self/status has no {name}")


def seconds(work, times):
    durations = []
    for _ in range(times):
        start = perf_counter()
        work()
        durations.append(perf_counter() - start)
    return statistics.median(durations)


def keep(path, array):
    """Write an array, or a sparse matrix, for `read`."""
    if issparse(array):
        save_npz(path.with_suffix(".npz"), array, compressed=False)
    else:
        np.save(path.with_suffix(".npy"), array)


def read(path):
    found = path.with_suffix(".npz")
    return csr_matrix(load_npz(found)) if found.exists() else np.load(path.with_suffix(".npy"))


def measure(library, folder, task, tried, trees, jobs, seed):
    """One model's numbers, by the names that `Point` tells."""
    warnings.simplefilter("ignore")  # such as LightGBM's about column names
    X, y, X_test, y_test = (read(folder / name) for name in ["X", "y", "X_test", "y_test"])
    n_classes = int(y.max()) + 1 if task == "classification" else 0

    def model(n):
        return model_by(library, task, tried, *X.shape, n, jobs, seed)

    n_few = min(WARM_UP_ROWS, len(y))  # with all classes among them, as XGBoost wants it
    model(2).fit(X[:n_few], np.arange(n_few) % n_classes if n_classes else y[:n_few])

    found = {}
    measured = model(trees)
    has_memory = Path("/proc/self/clear_refs").exists()
    if has_memory:
        Path("/proc/self/clear_refs").write_text("5")  # the highest value is the present one again
        before = memory_now("VmRSS")
    found["fit"] = seconds(lambda: measured.fit(X, y), 1)
    if has_memory:
        found["memory"] = memory_now("VmHWM") - before
    found["first"] = 1e3 * seconds(lambda: measured.predict(X_test), 1)
    found["predict"] = 1e3 * seconds(lambda: measured.predict(X_test), PREDICTIONS)
    predicted = np.asarray(measured.predict(X_test))
    if n_classes:
        found["score"] = float((predicted == y_test).mean())
    else:
        found["score"] = float(1 - ((predicted - y_test) ** 2).mean() / y_test.var())
    found["pickled"] = len(serialised(measured)) / MIB
    use_one_thread(library, measured)
    row = X_test[:1]
    measured.predict(row)
    found["row"] = 1e3 * seconds(lambda: measured.predict(row), 10 * PREDICTIONS)
    return found


def measure_apart(library, folder, timeout, **settings):
    """What `measure` finds in a new process, or {"failed": why}."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    arguments = json.dumps({"library": library, "folder": str(folder), **settings})
    command = [sys.executable, __file__, arguments]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {timeout} s"}
    if finished.returncode or not result.exists():
        lines = finished.stderr.strip().splitlines()
        return {"failed": lines[-1] if lines else f"ended with status {finished.returncode}"}
    return {name: float(f"{number:.5g}") for name, number in json.loads(result.read_text()).items()}


def processor():
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def installed(distribution):
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def add_arguments(parser):
    """The arguments of both scripts."""
    parser.add_argument(
        "--libraries", default="forests",
        help=f"of {', '.join(LIBRARIES)}; forests is {','.join(FORESTS)}, and boosted {','.join(BOOSTERS)}; ratios are to the "
        "first one (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--seeds", type=positive, default=3, help="models by each library (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=1200, help="seconds for one measurement (default: %(default)s)")
    parser.add_argument("--results", help="a file for all measurements, as JSON, from which chart.py draws")


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}, which is not a number from 1")
    return number


def chosen(parser, text):
    """The libraries that are named and installed."""
    named = {"forests": FORESTS, "boosted": BOOSTERS}.get(text, text.split(","))
    for library in named:
        if library not in LIBRARIES:
            parser.error(f"no library {library!r}; there are {', '.join(LIBRARIES)}")
    there = [library for library in named if installed(LIBRARIES[library][1])]
    missing = sorted({LIBRARIES[library][1] for library in named} - {LIBRARIES[library][1] for library in there})
    if missing:
        print(f"not installed, so left out: {', '.join(missing)}", file=sys.stderr)
    if not there:
        sys.exit(f"{Path(sys.argv[0]).stem}: none of the libraries is installed")
    return there


def measure_point(libraries, name, problem, trees, threads, seeds, timeout):
    """The `Point` of a problem: the libraries take turns, seed by seed."""
    rows, columns = problem.X.shape
    point = Point(
        name, problem.task, problem.n_classes, str(problem.X.dtype), rows, columns, len(problem.y_test), trees, threads,
        {library: [] for library in libraries},
    )  # fmt: skip
    tried = max(1, int(columns**0.5) if problem.task == "classification" else columns // 3)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for part in ["X", "y", "X_test", "y_test"]:
            keep(folder / part, getattr(problem, part))
        for seed in range(seeds):
            for library in libraries:
                print(f"{name}, {rows} x {columns}, {trees} trees, {threads} threads, seed {seed}: {library}", file=sys.stderr)
                settings = {"task": problem.task, "tried": tried, "trees": trees, "jobs": threads, "seed": seed}
                point.runs[library].append(measure_apart(library, folder, timeout, **settings))
    return point


if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    folder = Path(settings.pop("folder"))
    (folder / "result.json").write_text(json.dumps(measure(folder=folder, **settings)))
