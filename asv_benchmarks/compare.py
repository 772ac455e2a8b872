"""Compare dforest with other libraries of forests and boosted trees that are installed, on made data.

    pip install scikit-learn-intelex lightgbm xgboost ydf hessboost
    python asv_benchmarks/compare.py --trees 100 --jobs 2 --seeds 3 >table.md
    python asv_benchmarks/compare.py --libraries boosted --jobs 2 >boosted.md

Each measurement has a process of its own. The libraries take turns, seed by seed, so that a machine
that gets slower on the way gets slower for all of them. doc/speed.md says what is measured, and how.
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
from pathlib import Path
from time import perf_counter

import numpy as np
from libraries import BOOSTERS, FORESTS, LIBRARIES, model_by, serialised, use_one_thread

MIB = 2**20
WARM_UP_ROWS = 300
PREDICTIONS = 7  # of the test set after the first one; of one row ten times as many

# Measurement: heading of its column, and how its numbers are written.
COLUMNS = {
    "fit": ("fit, s", ".3g"),
    "first": ("first prediction, ms", ".3g"),
    "predict": ("prediction, ms", ".3g"),
    "row": ("one row, ms", ".3g"),
    "memory": ("memory of fit, MiB", ".3g"),
    "pickled": ("pickle, MiB", ".3g"),
}


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


def measure(library, folder, task, tried, trees, jobs, seed):
    """One model's numbers, by the names of COLUMNS, and its score."""
    warnings.simplefilter("ignore")  # such as LightGBM's about column names
    X, y, X_test, y_test = (np.load(folder / f"{name}.npy") for name in ["X", "y", "X_test", "y_test"])
    n_classes = int(y.max()) + 1 if task == "classification" else 0

    def model(n):
        return model_by(library, task, tried, *X.shape, n, jobs, seed)

    few = slice(min(WARM_UP_ROWS, len(X)))  # with all classes among them, as XGBoost wants it
    model(2).fit(X[few], np.arange(len(X[few])) % n_classes if n_classes else y[few])

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
    command = [sys.executable, __file__, "--measure", arguments]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {timeout} s"}
    if finished.returncode or not result.exists():
        lines = finished.stderr.strip().splitlines()
        return {"failed": lines[-1] if lines else f"ended with status {finished.returncode}"}
    return json.loads(result.read_text())


def cell(of_library, of_first, name):
    """A median, and how many times the first library's median it is."""
    if name not in of_library[0]:
        return "—"
    here, first = (statistics.median(found[name] for found in runs) for runs in (of_library, of_first))
    written = format(here, COLUMNS[name][1])
    return written if of_library is of_first or not first else f"{written} (×{here / first:.2f})"


def score_cell(of_library, of_first):
    """The mean score, and the mean difference to the first library by seed, in points, with its standard error."""
    scores, first = ([100 * found["score"] for found in runs] for runs in (of_library, of_first))
    written = f"{statistics.mean(scores):.2f}"
    if of_library is of_first:
        return written
    differences = [a - b for a, b in zip(scores, first, strict=True)]
    if len(differences) == 1:
        return f"{written} ({differences[0]:+.2f})"
    error = statistics.stdev(differences) / len(differences) ** 0.5
    return f"{written} ({statistics.mean(differences):+.2f} ± {error:.2f})"


def table_of(runs, task):
    """Lines of a table, given the measurements of each library; the first library's must not have failed."""
    score = "accuracy, %" if task == "classification" else "R², %"
    yield "| | " + " | ".join(heading for heading, _ in COLUMNS.values()) + f" | {score} |"
    yield "|---|" + "---:|" * (len(COLUMNS) + 1)
    of_first = next(iter(runs.values()))
    for library, of_library in runs.items():
        title = LIBRARIES[library][0]
        failures = [found["failed"] for found in [*of_first, *of_library] if "failed" in found]
        if failures:
            yield f"| {title} | failed: {failures[0].replace('|', '/')} |" + " |" * len(COLUMNS)
            continue
        cells = [cell(of_library, of_first, name) for name in COLUMNS]
        yield f"| {title} | " + " | ".join([*cells, score_cell(of_library, of_first)]) + " |"


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


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--libraries", default="forests",
        help=f"of {', '.join(LIBRARIES)}; forests is {','.join(FORESTS)}, and boosted {','.join(BOOSTERS)}; ratios are to the "
        "first one (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--problems", default="waves,grid,friedman,wide", help="see benchmarks/data.py (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=100_000, help="a quarter of them test rows (default: %(default)s)")
    parser.add_argument("--trees", type=int, default=100, help="of a forest, or rounds of boosted trees (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="threads (default: all, %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="models by each library (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=1200, help="seconds for one measurement (default: %(default)s)")
    parser.add_argument("--chart", help="a file for a chart of the times, drawn with matplotlib in the format of its ending")
    parser.add_argument("--measure", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    known = {"forests": FORESTS, "boosted": BOOSTERS}
    args.libraries, args.problems = known.get(args.libraries, args.libraries.split(",")), args.problems.split(",")
    for library in args.libraries:
        if library not in LIBRARIES:
            parser.error(f"no library {library!r}; there are {', '.join(LIBRARIES)}")
    if min(args.rows, args.trees, args.jobs, args.seeds) < 1:
        parser.error("--rows, --trees, --jobs and --seeds are numbers from 1")
    return args


def main():
    args = parse_arguments()
    if args.measure:
        folder = Path(args.measure.pop("folder"))
        (folder / "result.json").write_text(json.dumps(measure(folder=folder, **args.measure)))
        return

    import chart
    from benchmarks import data

    versions = {LIBRARIES[library][1]: installed(LIBRARIES[library][1]) for library in args.libraries}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        print(f"not installed, so left out: {', '.join(missing)}", file=sys.stderr)
    libraries = [library for library in args.libraries if versions[LIBRARIES[library][1]]]
    if not libraries:
        sys.exit("compare: none of the libraries is installed")
    told = [f"{name} {version}" for name, version in versions.items() if version]
    print(
        f"{args.trees} trees, {args.jobs} threads, medians of {args.seeds} models. {processor()}, {os.cpu_count()} cores; "
        f"Python {platform.python_version()}, {', '.join(told)}."
    )

    measured = {}
    for name in args.problems:
        problem = data.load(name, args.rows)
        n_rows, n_features = problem.X.shape
        tried = max(1, int(n_features**0.5) if problem.task == "classification" else n_features // 3)
        runs = {library: [] for library in libraries}
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for part in ["X", "y", "X_test", "y_test"]:
                np.save(folder / f"{part}.npy", getattr(problem, part))
            for seed in range(args.seeds):
                for library in libraries:
                    print(f"{name}, seed {seed}: {library}", file=sys.stderr)
                    runs[library].append(measure_apart(
                        library, folder, args.timeout, task=problem.task, tried=tried, trees=args.trees, jobs=args.jobs, seed=seed
                    ))  # fmt: skip
        kind = f"{problem.n_classes} classes" if problem.n_classes else "regression"
        print(f"\n**{name}**: {kind}, {n_rows} × {n_features} {problem.X.dtype}, {len(problem.X_test)} test rows\n")
        for line in table_of(runs, problem.task):
            print(line)
        sys.stdout.flush()
        measured[name] = runs
    if args.chart:
        chart.draw(measured, {library: title for library, (title, _) in LIBRARIES.items()}, args.chart)


if __name__ == "__main__":
    main()
