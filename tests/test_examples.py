"""The examples run, and print and draw what they say."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

TOP = Path(__file__).parent.parent
QUICKSTART = TOP / "examples" / "quickstart.py"
METHODS = ["hist", "dense", "scikit-learn"]
ROW = re.compile(r"(\S.*?)  +(\d+) x (\d+)  (\S+) +(\d+) +(-?\d\.\d{3}) (accuracy|R2) +\d+\.\d{3} s +\d+\.\d{3} s")

pytest.importorskip("matplotlib")


@pytest.fixture
def run(monkeypatch, capsys):
    """A function that runs a script with some arguments, and returns what it prints."""

    def run(script, *arguments):
        monkeypatch.setattr(sys, "argv", [str(script), *map(str, arguments)])
        runpy.run_path(str(script), run_name="__main__")
        return capsys.readouterr().out

    return run


@pytest.fixture
def quickstart(run):
    return lambda *arguments: run(QUICKSTART, "--trees", "5", "--jobs", "2", *arguments)


def rows_of(printed):
    """The table's rows: (data, rows, columns, method, trees, score, measure)."""
    rows = []
    for line in printed.splitlines():
        match = ROW.fullmatch(line)
        if match:
            name, n_rows, n_columns, method, trees, score, measure = match.groups()
            rows.append((name, int(n_rows), int(n_columns), method, int(trees), float(score), measure))
    return rows


def assert_drawn(path, n_panels):
    from matplotlib import pyplot as plt

    pixels = plt.imread(path)
    assert pixels.shape[1] >= 500 * n_panels
    assert pixels[..., :3].std() > 0.05


@pytest.fixture
def table(tmp_path):
    """400 rows with text, true/false, numbers and empty cells, in a CSV file."""
    random = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame({
        "town": random.choice(["Aachen", "Bern", "Cádiz", None], n),
        "rooms": random.integers(1, 8, n).astype(float),
        "area": random.normal(100, 30, n),
        "garden": random.choice([True, False, None], n),
        "never": np.full(n, np.nan),
    })
    table["price"] = table["area"] * (table["town"] == "Bern") + 20 * table["rooms"]
    table["size"] = np.where(table["area"] > 100, "large", "small")
    table["floors"] = np.where(table["rooms"] > 4, 2, 1)
    for name in ["rooms", "area"]:
        table.loc[random.random(n) < 0.1, name] = np.nan
    table.loc[:6, "price"] = np.nan
    table.to_csv(tmp_path / "houses.csv", index=False)
    return tmp_path / "houses.csv"


def test_bundled_data(quickstart, tmp_path):
    printed = quickstart("--plot", tmp_path / "importances.png")
    rows = rows_of(printed)
    expected = [("digits", 1797, 64, "accuracy"), ("breast cancer", 569, 30, "accuracy"), ("diabetes", 442, 10, "R2")]
    assert [(*row[:5], row[6]) for row in rows] == [
        (name, n_rows, n_columns, method, 5, measure)
        for name, n_rows, n_columns, measure in expected
        for method in METHODS
    ]
    for name, *_, score, _ in rows:
        assert score > {"digits": 0.85, "breast cancer": 0.9, "diabetes": -0.1}[name]
    lines = printed.splitlines()
    assert len({len(line) for line in lines[:10]}) == 1, "the table is not aligned"
    assert_drawn(tmp_path / "importances.png", n_panels=3)


@pytest.mark.slow
def test_csv_regression(quickstart, table, tmp_path):
    printed = quickstart("--csv", table, "--target", "price", "--plot", tmp_path / "importances.png")
    rows = rows_of(printed)
    assert [row[:5] for row in rows] == [("houses", 393, 7, method, 5) for method in METHODS]
    assert all(measure == "R2" and score > 0.5 for *_, score, measure in rows)
    assert "left out 7 of 400 rows, whose cell in 'price' is empty" in printed
    assert_drawn(tmp_path / "importances.png", n_panels=1)
    rows_of(quickstart("--csv", table, "--target", "price", "--plot", tmp_path / "importances.pdf"))
    assert (tmp_path / "importances.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("target", ["size", "floors", "garden"])
@pytest.mark.slow(after=1)
def test_csv_classification(quickstart, table, target):
    rows = rows_of(quickstart("--csv", table, "--target", target))
    assert [row[3] for row in rows] == METHODS
    assert {row[6] for row in rows} == {"accuracy"}
    if target != "garden":  # which is random
        assert all(row[5] > 0.8 for row in rows)


@pytest.mark.slow
def test_task_overrides_the_guess(quickstart, table):
    rows = rows_of(quickstart("--csv", table, "--target", "floors", "--task", "regression"))
    assert [row[6] for row in rows] == ["R2"] * 3


@pytest.mark.slow
def test_text_never_seen_in_training(quickstart, tmp_path):
    table = pd.DataFrame({"name": [f"n{i}" for i in range(60)], "x": range(60), "y": ["a", "b"] * 30})
    table.to_csv(tmp_path / "names.csv", index=False)
    rows = rows_of(quickstart("--csv", tmp_path / "names.csv", "--target", "y"))
    assert [row[:4] for row in rows] == [("names", 60, 2, method) for method in METHODS]


def test_errors(run, table, tmp_path, capsys):
    (tmp_path / "nothing.csv").write_text("")
    for arguments, message in [
        (["--csv", table, "--target", "cost"], "no column 'cost'; its columns are 'town', 'rooms', 'area'"),
        (["--csv", tmp_path / "gone.csv", "--target", "a"], "there is no file"),
        (["--csv", tmp_path / "nothing.csv", "--target", "a"], "not a CSV file that can be read"),
        (["--csv", table, "--target", "never"], "0 rows with a target"),
        (["--csv", table, "--target", "size", "--task", "regression"], "regression needs a target of numbers"),
        (["--plot", tmp_path / "gone" / "a.png"], "there is no folder"),
        (["--plot", tmp_path / "a.doc"], "a.doc has no suffix that is known: ."),
    ]:
        with pytest.raises(SystemExit) as ended:  # and nothing else, which would come with a traceback
            run(QUICKSTART, *arguments)
        code = ended.value.code  # a message, where parse_arguments has not printed one
        assert code not in (None, 0)
        assert message in (code if isinstance(code, str) else capsys.readouterr().err)


def test_readme_example(capsys):
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    code = readme.split("```python\n")[1].split("```")[0]
    exec(code, {})
    score, column = capsys.readouterr().out.splitlines()
    assert float(score) > 0.9
    assert column in load_breast_cancer().feature_names


ENSEMBLES = TOP / "examples" / "ensembles.py"


def cells(lines):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_ensembles(run):
    heading, _, *rows = run(ENSEMBLES, "--trees", "3", "--seeds", "2").splitlines()
    page = (TOP / "doc" / "ensembles.md").read_text(encoding="utf-8")
    assert heading in page  # the page's table is this one
    shown = [line for line in page.splitlines() if "±" in line and line.startswith("| ")]
    assert [row[0] for row in cells(rows)] == [row[0] for row in cells(shown)]
    for _, *scores, fit, predict, size in cells(rows):
        assert all(float(score.partition(" ± ")[0]) > 0.5 for score in scores[:4])
        assert float(fit) >= 0 and float(predict) >= 0 and float(size) > 1


def test_ensembles_refuse_no_trees(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run(ENSEMBLES, "--trees", "0")
    assert "--trees and --seeds are numbers from 1" in capsys.readouterr().err
