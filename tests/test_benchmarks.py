"""The benchmarks run, with all values of their parameters on data cut small, and the comparison prints its table."""

import argparse
import importlib
import importlib.metadata
import inspect
import json
import os
import subprocess
import sys
from html import escape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.rings import combined, some

FOLDER = Path(__file__).parent.parent / "asv_benchmarks"
KINDS = ("time_", "peakmem_", "track_")

sys.path.insert(0, str(FOLDER))  # where asv imports them from
data, *MODULES = (
    importlib.import_module(f"benchmarks.{name}")
    for name in ["data", *sorted(path.stem for path in (FOLDER / "benchmarks").glob("[!_]*.py") if path.stem != "data")]
)
sys.path.remove(str(FOLDER))
pieces = sys.modules["benchmarks.pieces"]
sys.path.insert(0, str(FOLDER))
chart, libraries, measuring, quality, scaling, schedule = (
    importlib.import_module(name) for name in ["chart", "libraries", "measuring", "quality", "scaling", "schedule"]
)
sys.path.remove(str(FOLDER))
Piece = schedule.Piece


def methods_of(found):
    return [name for name in vars(found) if name.startswith(KINDS)]


CLASSES = [
    pytest.param(found, id=found.__name__)
    for module in MODULES
    for _, found in inspect.getmembers(module, inspect.isclass)
    if found.__module__ == module.__name__ and methods_of(found)
]


LONG = {"Quality", "BoostedDefaults"}  # benchmarks that fit each model to each of many tables


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(data, "DIVISOR", 200)


@pytest.mark.filterwarnings("error", "ignore:no tree has a split")
@pytest.mark.parametrize("benchmark", CLASSES)
def test_benchmark(benchmark, small):
    assert len(benchmark.params) == len(benchmark.param_names)
    combinations, skipped = combined(*benchmark.params), []
    if benchmark.__name__ in LONG:
        combinations = some(combinations, 2)
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


def run_script(name, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    command = [sys.executable, str(FOLDER / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, env=environment)


def compare(*arguments):
    return run_script("compare.py", *arguments)


@pytest.mark.slow
def test_comparison(tmp_path):
    pytest.importorskip("matplotlib")
    finished = compare(
        "--libraries", "dforest,sklearn", "--problems", "friedman", "--rows", "400", "--trees", "3", "--jobs", "1",
        "--seeds", "1", "--chart", tmp_path / "chart.svg", "--results", tmp_path / "peers.json",
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    told, problem, heading, rule, *rows = (line for line in finished.stdout.splitlines() if line)
    assert told.startswith("3 trees, 1 threads, medians of 1 models.") and "scikit-learn 1." in told
    assert problem == "**friedman**: regression, 300 × 10 float64, 100 test rows"
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in [heading, rule, *rows]]
    assert {len(row) for row in cells} == {8}
    (title, *ours), (other, *theirs) = cells[2:]
    assert (title, other) == ("dforest", "scikit-learn")
    assert not any("×" in cell for cell in ours)
    assert all("(×" in cell for cell, first in zip(theirs[:-1], ours, strict=False) if cell != "—" and first != "0")
    assert float(ours[-1]) > 40
    drawn = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert all(title in drawn for title in ["Training time, dforest = 1", "Prediction time, dforest = 1", "scikit-learn"])
    finished = run_script("chart.py", tmp_path / "peers.json", tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "peers.svg").read_text(encoding="utf-8") == drawn


LEAVES = "max_leaf_nodes", "num_leaves", "max_leaves"


def is_installed(distribution):
    try:
        return bool(importlib.metadata.version(distribution))
    except importlib.metadata.PackageNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["waves", "grid", "covers", "friedman"])
def test_comparison_of_boosted_trees(problem):
    """Of all libraries that are installed; others are left out."""
    small = ["--rows", "800", "--trees", "8", "--jobs", "1", "--seeds", "1"]
    finished = compare("--libraries", "boosted", "--problems", problem, *small)
    assert finished.returncode == 0, finished.stderr
    told, _, heading, _, *rows = (line for line in finished.stdout.splitlines() if line)
    assert told.startswith("8 trees, 1 threads, medians of 1 models.")
    scores = {title.strip(): last.partition("(")[0] for _, title, *_, last, _ in (row.split("|") for row in rows)}
    assert {"dforest, boosted trees", "scikit-learn, boosted trees"} <= scores.keys() and "failed" not in finished.stdout
    for name in ["lightgbm", "xgboost", "hessboost"]:
        title, distribution = libraries.LIBRARIES[f"{name}-boosted"]
        assert (title in scores) == is_installed(distribution)
    assert max(map(float, scores.values())) - min(map(float, scores.values())) < 10


def test_boosted_trees_are_compared_by_the_same_parameters():
    there = [library for library in ["dforest", "lightgbm", "xgboost", "hessboost"] if is_installed(library)]
    for library in there:
        found = libraries.model_by(f"{library}-boosted", "regression", 3, 500, 8, 17, 2, 5).get_params()
        rounds, leaves = found.get("max_iter") or found["n_estimators"], [found.get(name) for name in LEAVES]
        assert (rounds, found["learning_rate"], found["n_jobs"], found["random_state"]) == (17, 0.1, 2, 5)
        assert 31 in leaves


def test_chart_leaves_out_what_failed():
    runs = {"a": [{"fit": 2.0}, {"fit": 4.0}, {"fit": 3.0}], "b": [{"fit": 6.0}] * 3, "c": [{"fit": 1.0}, {"failed": "why"}]}
    assert chart.ratios(runs, "fit") == {"a": 1.0, "b": 2.0}
    assert chart.ratios({"c": runs["c"], "a": runs["a"]}, "fit") == {}


def test_chart_is_of_libraries_that_no_problem_lacks():
    points = [
        SimpleNamespace(runs={"a": [{"fit": 1.0}], "b": [{"fit": 2.0}], "c": [{"fit": 1.0}]}),
        SimpleNamespace(runs={"a": [{"fit": 1.0}], "b": [{"fit": 8.0}], "c": [{"failed": "why"}]}),
    ]
    assert chart.mean_ratios(points, "fit") == {"a": 1.0, "b": pytest.approx(4.0)}


def test_one_number_is_varied_at_a_time():
    base = {"rows": 30, "columns": 5, "trees": 2, "threads": 1}
    asked = scaling.questions(base, [scaling.varied("rows=90,30"), scaling.varied("threads=1,2")])
    assert asked == [base, base | {"rows": 90}, base | {"threads": 2}]
    for text in ["leaves=3", "rows", "rows=", "rows=0,3"]:
        with pytest.raises((ValueError, argparse.ArgumentTypeError)):
            scaling.varied(text)


@pytest.mark.slow
def test_growth_is_measured_and_drawn(tmp_path):
    """Times by rows and by threads; training rows are as many as asked for; the same file draws the same charts."""
    pytest.importorskip("matplotlib")
    finished = run_script(
        "scaling.py", "--libraries", "dforest,sklearn", "--vary", "rows=100,200", "columns=5,20", "--rows", "100", "--trees", "2",
        "--jobs", "1", "--seeds", "1", "--results", tmp_path / "forests.json", "--charts", tmp_path,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    results = measuring.Results.read(tmp_path / "forests.json")
    assert [(point.rows, point.columns, point.test_rows) for point in results.points] == [
        (100, 20, 34),
        (200, 20, 67),
        (100, 5, 34),
    ]
    for point in results.points:
        for (found,) in point.runs.values():
            assert {"fit", "first", "predict", "row", "pickled", "score"} <= found.keys() and found["fit"] > 0
    assert results.versions["dforest"] == importlib.metadata.version("dforest")
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == ["forests_columns.svg", "forests_rows.svg"]
    (tmp_path / "again").mkdir()
    finished = run_script("chart.py", tmp_path / "forests.json", tmp_path / "again")
    assert finished.returncode == 0, finished.stderr
    for path in tmp_path.glob("*.svg"):
        assert (tmp_path / "again" / path.name).read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_results_of_another_format_are_refused(tmp_path):
    (tmp_path / "results.json").write_text('{"format": 7}', encoding="utf-8")
    with pytest.raises(ValueError, match="results of format 7, and this reads format 1"):
        measuring.Results.read(tmp_path / "results.json")


@pytest.mark.parametrize("name", ["peers", "forests", "boosted"])
def test_the_pages_charts_are_of_the_results_that_are_kept(name, tmp_path):
    """The libraries of the files in asv_benchmarks/measured are in the pictures of the pages."""
    pictures = FOLDER.parent / "doc" / "pictures"
    results = measuring.Results.read(FOLDER / "measured" / f"{name}.json")
    drawn = ["dforest", "dforest-dense", "sklearnex", "ydf", "sklearn"] if name == "peers" else list(results.points[0].runs)
    for picture in [f"{name}_{axis}.svg" for axis in chart.AXES] if results.base else [f"{name}.svg"]:
        text = (pictures / picture).read_text(encoding="utf-8")
        assert drawn[0] in results.points[0].runs
        for library in drawn:
            assert f">{escape(chart.title_of(library), quote=False)}<" in text


@pytest.mark.slow
def test_comparison_says_what_failed():
    finished = compare(
        "--libraries", "dforest", "--problems", "friedman", "--rows", "400", "--trees", "3", "--jobs", "1", "--timeout", "0"
    )  # fmt: skip
    assert "| dforest | failed: took more than 0 s |" in finished.stdout, finished.stderr
    finished = compare("--libraries", "oak")
    assert finished.returncode == 2 and "no library 'oak'" in finished.stderr


def test_pieces_one_after_another():
    assert schedule.list_schedule([3, 1, 1, 2], 1) == 7
    assert schedule.list_schedule([3, 1, 1, 2], 2) == 4  # 3, and 1 1 2
    assert schedule.list_schedule([3, 1, 1, 2], 9) == 3


def test_schedule_of_trees():
    """Ten alike, of a root and two subtrees: whoever is free takes the next tree, then a subtree of another's."""
    tree = Piece(10_000, 1.0, (Piece(6000, 2.0), Piece(4000, 4.0)))
    assert schedule.grow_schedule([tree] * 10, 1) == 70
    assert schedule.grow_schedule([tree] * 10, 1, after=0.5) == 75
    assert schedule.grow_schedule([tree] * 10, 5) == 14
    # Two subtrees side by side; then a third thread has nothing to do.
    assert schedule.grow_schedule([tree], 2) == schedule.grow_schedule([tree], 3) == 5
    assert schedule.grow_schedule([tree], 2, after=0.5) == 5.5
    # Three trees, two threads: 7, and the third one from there, in 1 + 4.
    assert schedule.grow_schedule([tree] * 3, 2) == 12


def test_nodes_that_idle_threads_share():
    tree = Piece(100_000, 8.0, (Piece(60_000, 2.0), Piece(40_000, 4.0)))
    assert schedule.grow_schedule([tree], 4, n_tried=4) == 2 + 4
    assert schedule.grow_schedule([tree], 4, n_tried=2) == 4 + 4
    assert schedule.grow_schedule([tree], 4, n_tried=1) == 8 + 4  # too few visits


def test_a_tree_as_pieces():
    draws, right = [9, 5, 3, 2, 4], [4, 3, 0, 0, 0]
    tree = schedule.pieces_of(draws, right, [1.0, 2.0, 4.0, 8.0, 16.0], parallel_from=5)
    assert tree == Piece(9, 1.0, (Piece(5, 2.0, (Piece(3, 4.0), Piece(2, 8.0))), Piece(4, 16.0)))
    assert schedule.pieces_of(draws, right, [1.0, 2.0, 4.0, 8.0, 16.0], parallel_from=6).children[0] == Piece(5, 14.0)


def test_the_simulation_prints_its_table(capsys):
    schedule.main(["--problems", "waves,friedman", "--rows", "3000", "--trees", "3", "--threads", "1,2,64"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 2 * 3
    for problem, first in (("waves", 2), ("friedman", 5)):
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[first : first + 3]]
        assert [row[:2] for row in cells] == [[problem, "1"], [problem, "2"], [problem, "64"]]
        assert float(cells[0][2]) == 1 and 1 < float(cells[1][2]) <= 2.05 < 64
        for row in cells:
            assert abs(sum(map(float, row[4:])) - 100) < 0.5


def test_a_check_names_models_that_became_worse():
    earlier = {table: {"RandomForest": 1.0, "ExtraTrees": 2.0} for table in "abc"}
    assert not quality.worse(earlier, earlier)
    found = {table: {"RandomForest": 1.009, "ExtraTrees": 2.03} for table in "abc"}
    assert quality.worse(found, earlier) == {"ExtraTrees": pytest.approx(1.015)}
    found["a"]["ExtraTrees"] = 1.9  # the mean counts
    assert not quality.worse(found, earlier)


def test_the_kept_losses_are_of_all_tables_and_models():
    earlier = json.loads(quality.EARLIER.read_text())
    assert {table: list(own) for table, own in earlier.items()} == dict.fromkeys(quality.quality.TABLES, quality.quality.MODELS)


def test_the_page_of_quality_is_made_of_what_was_measured(monkeypatch, tmp_path):
    page = tmp_path / "quality.md"
    page.write_text(quality.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(quality, "PAGE", page)
    quality.main(["page"])
    assert page.read_text(encoding="utf-8") == (FOLDER.parent / "doc/quality.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("is_class", [True, False])
def test_models_are_given_labels_as_they_take_them(monkeypatch, tmp_path, is_class):
    """Losses are kept as they come, and fitted once."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"number": rng.standard_normal(90), "label": rng.choice(["a", "b", None], 90)})
    frame["label"] = frame["label"].astype("category")
    y = rng.integers(0, 3, 90) if is_class else rng.standard_normal(90)
    monkeypatch.setattr(quality, "MEASURED", tmp_path / "measured.json")
    monkeypatch.setattr(quality, "table_of", lambda name: (frame, y, is_class))
    models = ["dforest RandomForest", "scikit-learn ExtraTrees", "LightGBM "]
    for splits in ("1", "2"):
        quality.main(["run", "--tables", "car/SLID", "--splits", splits, "--models", *models])
    kept = json.loads((tmp_path / "measured.json").read_text())
    assert [(entry["model"], entry["split"]) for entry in kept] == [(model, split) for split in range(2) for model in models]
    assert all(0 < entry["loss"] < 9 for entry in kept)
