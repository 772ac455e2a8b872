"""The benchmarks run, with all values of their parameters on data cut small, and the comparison prints its table."""

import importlib
import inspect
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "asv_benchmarks"
KINDS = ("time_", "peakmem_", "track_")

sys.path.insert(0, str(FOLDER))  # where asv imports them from
data, *MODULES = (
    importlib.import_module(f"benchmarks.{name}")
    for name in ["data", *sorted(path.stem for path in (FOLDER / "benchmarks").glob("[!_]*.py") if path.stem != "data")]
)
sys.path.remove(str(FOLDER))
pieces = sys.modules["benchmarks.pieces"]


def methods_of(found):
    return [name for name in vars(found) if name.startswith(KINDS)]


CLASSES = [
    pytest.param(found, id=found.__name__)
    for module in MODULES
    for _, found in inspect.getmembers(module, inspect.isclass)
    if found.__module__ == module.__name__ and methods_of(found)
]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(data, "DIVISOR", 200)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("benchmark", CLASSES)
def test_benchmark(benchmark, small):
    assert len(benchmark.params) == len(benchmark.param_names)
    combinations, skipped = list(itertools.product(*benchmark.params)), []
    for values in combinations:
        subject = benchmark()
        try:
            subject.setup(*values)
        except NotImplementedError as reason:  # asv skips these
            skipped.append(str(reason))
            continue
        for name in methods_of(benchmark):
            result = getattr(subject, name)(*values)
            assert isinstance(result, (int, float)) == name.startswith("track_"), name
    if len(skipped) == len(combinations):
        pytest.skip(skipped[0])


def test_all_that_asv_finds_is_in_a_class():
    assert len(CLASSES) >= 19
    for module in MODULES:
        assert not [name for name, _ in inspect.getmembers(module, inspect.isfunction) if name.startswith(KINDS)]


def stump_of(benchmark, *values):
    subject = benchmark()
    subject.setup(*values)
    (tree,) = subject.growth.run()
    return len(tree.arrays.feature)


def test_pieces_are_what_they_say(small):
    """Stumps, and nodes that stay whole though they are searched."""
    for codes in ["uint8", "uint16", "uint32"]:
        assert stump_of(pieces.Divide, codes, "whole") == 1
        assert stump_of(pieces.Divide, codes, "divided") == 3
    assert stump_of(pieces.Root, "uint8", "gini 2", "sort") == 3
    assert stump_of(pieces.Random, "dense", "squared_error") == 3
    assert stump_of(pieces.Bootstrap, 1000) == 1


@pytest.mark.parametrize("codes", ["uint8", "uint16", "uint32"])
def test_codes_are_as_wide_as_they_say(codes):
    columns, _ = pieces.made_columns(pieces.LARGE, 1, codes)
    assert columns[0].codes.dtype == codes


def test_settings():
    lines = (FOLDER / "asv.conf.json").read_text(encoding="utf-8").splitlines()
    settings = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    assert (FOLDER / settings["benchmark_dir"] / "__init__.py").is_file()
    assert (FOLDER / settings["repo"] / "pyproject.toml").is_file()
    ignored = (FOLDER.parent / ".gitignore").read_text(encoding="utf-8").split()
    assert {f"asv_benchmarks/{settings[name]}/" for name in ["env_dir", "html_dir", "results_dir"]} <= set(ignored)


def compare(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    command = [sys.executable, str(FOLDER / "compare.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, env=environment)


@pytest.mark.slow
def test_comparison():
    finished = compare(
        "--libraries", "dforest,sklearn", "--problems", "friedman", "--rows", "400", "--trees", "3", "--jobs", "1", "--seeds", "1"
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    told, problem, heading, rule, *rows = (line for line in finished.stdout.splitlines() if line)
    assert told.startswith("3 trees, 1 threads, medians of 1 forests.") and "scikit-learn 1." in told
    assert problem == "**friedman**: regression, 300 × 10 float64, 100 test rows"
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in [heading, rule, *rows]]
    assert {len(row) for row in cells} == {8}
    (title, *ours), (other, *theirs) = cells[2:]
    assert (title, other) == ("dforest", "scikit-learn")
    assert not any("×" in cell for cell in ours)
    assert all("(×" in cell for cell, first in zip(theirs[:-1], ours, strict=False) if cell != "—" and first != "0")
    assert float(ours[-1]) > 40


@pytest.mark.slow
def test_comparison_says_what_failed():
    finished = compare(
        "--libraries", "dforest", "--problems", "friedman", "--rows", "400", "--trees", "3", "--jobs", "1", "--timeout", "0"
    )  # fmt: skip
    assert "| dforest | failed: took more than 0 s |" in finished.stdout, finished.stderr
    finished = compare("--libraries", "oak")
    assert finished.returncode == 2 and "no library 'oak'" in finished.stderr
