"""The page on conversions: its table has all estimators, and each cell says what the estimator really does."""

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.conversion import HAS_ONNXRUNTIME, with_own_tests
from helpers.kinds import OF_TREES
from sklearn.exceptions import NotFittedError

import dforest

PAGE = Path(__file__).parents[2] / "doc" / "conversion.md"
CONVERSIONS = "to_onnx", "to_c", "to_treelite", "to_shap", "to_sklearn"


def rows_of_table():
    """(text of the first cell, cells by the name of the method)."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| estimator |"))
    names = [next(name for name in CONVERSIONS if name in cell) for cell in lines[start].split("|")[2:-1]]
    assert tuple(names) == CONVERSIONS
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        first, *cells = (cell.strip() for cell in line.split("|")[1:-1])
        yield first, dict(zip(names, cells, strict=True))


def fitted(kind, **parameters):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    if "Ranker" in kind.__name__:
        return kind(max_iter=2, **parameters).fit(X, y, qid=np.arange(60) // 6)
    if "Surviv" in kind.__name__:
        return kind(**parameters).fit(X, np.column_stack([y > 0, 1.0 + y]))
    if "Causal" in kind.__name__:
        return kind(**parameters).fit(X, X[:, 0], treatment=y > 0)
    if "Uplift" in kind.__name__:
        return kind(**parameters).fit(X, y > 0, treatment=np.arange(60) % 2)
    return kind(**parameters).fit(X, y)


CELLS = [
    pytest.param(name, parameters, convert, cell, id=f"{name}, {convert}")
    for first, cells in rows_of_table()
    for name, parameters in re.findall(r"`(\w+)(?:\((.*?)\))?`", first)
    for convert, cell in cells.items()
]


def test_all_estimators_are_there():
    assert {cell.values[0] for cell in CELLS} == set(OF_TREES)


@pytest.mark.parametrize(("name", "parameters", "convert", "cell"), CELLS)
def test_cells(name, parameters, convert, cell):
    kind = getattr(dforest, name)
    given = {"n_estimators": 3} if "n_estimators" in kind().get_params() else {}
    given |= eval(f"dict({parameters})")
    estimator = fitted(kind, **given)
    if cell == "refused":
        with pytest.raises((AttributeError, ValueError)):
            getattr(estimator, convert)()
        return
    assert converted(estimator, convert) is not None


@pytest.mark.parametrize("convert", CONVERSIONS)
def test_what_no_library_has(convert):
    """Estimators that are not fitted, and splitters with tests of their own."""
    for kind in (dforest.RandomForestRegressor, dforest.IsolationForest, dforest.RandomTreesEmbedding):
        with pytest.raises(NotFittedError):
            getattr(kind(), convert)()
    with pytest.raises(ValueError, match=r"Own\(\) makes tests of its own, and (ONNX|C code|treelite|shap|scikit-learn)'s trees"):
        getattr(with_own_tests(fitted(dforest.RandomForestRegressor, n_estimators=2)), convert)()


def converted(estimator, convert):
    """The model of another library, compared with the estimator, but for ONNX where its runtime has no wheel."""
    given = {} if HAS_ONNXRUNTIME or convert != "to_onnx" else {"verify": False}
    return getattr(estimator, convert)(**given)


def test_of_several_outputs():
    X = np.random.default_rng(0).normal(size=(60, 3))
    for estimator in (
        dforest.RandomForestRegressor(3).fit(X, X[:, :2]),
        dforest.ExtraTreesClassifier(3).fit(X, X[:, :2] > 0),
        dforest.HistGradientBoostingRegressor(max_iter=3).fit(X, X[:, :2]),
    ):
        for convert in CONVERSIONS:
            if hasattr(estimator, convert):
                converted(estimator, convert)
