"""C code predicts the same once it is compiled, without a warning; and clear errors say what it can't have."""

import ctypes
import shutil
import subprocess
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from helpers.c_code import WARNINGS, Compiled, assert_same
from helpers.conversion import data_of, held_rows, model_of_quantiles, models, models_of_several_outputs

import dforest
from dforest.errors import ConversionError
from dforest.estimators.data.tables import read_table
from dforest.interchange.conversion import c as conversion

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.filterwarnings("ignore::dforest.errors.UnseenLabelsWarning"),
]

@pytest.mark.slow(after=2)
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_estimator(dtype, categories, tmp_path):
    for i, (_, estimator) in enumerate(chain(models(dtype, categories), models_of_several_outputs(dtype, categories))):
        X, _ = data_of(dtype=dtype, categories=categories, seed=5)
        rows = X.astype(np.float64) if categories else np.concatenate([X.astype(np.float64), held_rows(estimator)])
        compiled = Compiled(estimator.to_c(prefix=f"m{i}", verify=False), tmp_path, f"m{i}")
        assert_same(compiled, estimator, rows, estimator._features.encode(read_table(rows)))


def test_quantiles_are_in_order(tmp_path):
    estimator = model_of_quantiles()
    compiled = Compiled(estimator.to_c(), tmp_path)
    assert_same(compiled, estimator, held_rows(estimator), held_rows(estimator))


def frame_of(n=300):
    rng = np.random.default_rng(0)
    odd = ["red", "blue", 'é ??/ "\\\n*/ model_leaf']
    X = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(odd, n)),
            "model_year": rng.normal(size=n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
            "number": pd.Categorical(rng.choice([-3.5, 7.0, 2.0**40], n)),
            "grade": pd.Categorical(rng.choice([3, 1, 2], n), [3, 1, 2], ordered=True),
        }
    )
    X.loc[rng.random(n) < 0.1, "colour"] = None
    y = (X["colour"] == odd[2]) * 2 + (X["size"] == "M") + (X["number"] == 7) * X["model_year"] + (X["grade"] == 1)
    return X, y.to_numpy()


def test_labels_and_names(tmp_path):
    """Names of the code that occur in labels and columns stay there as they are; unknown labels are missing."""
    X, y = frame_of()
    model = dforest.HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, np.where(y > 1, "model_set ja", "nein"))
    code = model.to_c(tmp_path / "given.c", prefix="car")
    assert (tmp_path / "given.c").read_text(encoding="ascii") == code
    compiled = Compiled(code, tmp_path, "car")
    of_text = compiled.function("code_of_text", [ctypes.c_int, ctypes.c_char_p], ctypes.c_double)
    of_number = compiled.function("code_of_number", [ctypes.c_int, ctypes.c_double], ctypes.c_double)
    rows = X.astype(object)
    rows.loc[::7, "colour"], rows.loc[::11, "size"], rows.loc[::13, "number"] = "unknown", "XL", 8.0
    codes = np.array(
        [
            [
                of_text(0, str(row.colour).encode()),
                row.model_year,
                of_text(2, row.size.encode()),
                of_number(3, row.number),
                of_number(4, row.grade),
            ]
            for row in rows.itertuples()
        ],
        np.float64,
    )
    assert np.isnan(of_text(1, b"red")) and np.isnan(of_number(0, 7.0))
    assert np.array_equal(codes, model._features.encode(read_table(rows)), equal_nan=True)
    assert np.isnan(codes).sum() > 60
    assert_same(compiled, model, rows, codes)
    names = (ctypes.c_char_p * 5).in_dll(compiled.library, "car_features")
    assert [name.decode() for name in names] == X.columns.tolist()
    classes = (ctypes.c_char_p * 2).in_dll(compiled.library, "car_classes")
    assert [label.decode() for label in classes] == model.classes_.tolist()


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([-(2**63), 2**63 - 1], ctypes.c_int64), ([-1.5, np.inf], ctypes.c_double), ([False, True], ctypes.c_int64)],
)
def test_classes(labels, kind, tmp_path):
    X, z = data_of()
    model = dforest.DecisionTreeClassifier(max_depth=2).fit(X, (z > 2).astype(int))
    model.classes_ = np.array(labels)
    compiled = Compiled(model.to_c(verify=False), tmp_path)
    assert list((kind * 2).in_dll(compiled.library, "model_classes")) == labels


def test_two_models_in_one_program(tmp_path):
    X, z = data_of()
    tree = dforest.DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, z)
    (tmp_path / "both.c").write_text(tree.to_c(prefix="one", verify=False) + tree.to_c(prefix="two", verify=False))
    subprocess.run(["cc", "-std=c99", *WARNINGS, "-c", tmp_path / "both.c", "-o", tmp_path / "both.o"], check=True)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("value <= node->threshold", "value < node->threshold"),
        ("at + 1 : node->link", "node->link : at + 1"),
        ("(node->kind & model_missing_left)", "!(node->kind & model_missing_left)"),
        ("sums[k] += value[k]", "sums[k] += 1.001 * value[k]"),
        ("sums[k] > sums[highest]", "sums[k] < sums[highest]"),
        ("sums[k] /=", "nonsense sums[k] /="),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_what_differs_is_found(text, other, several, monkeypatch):
    X, z = data_of()
    y = np.stack([z > 2, z > 3], axis=1) if several else z > 2
    tree = dforest.DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    for name in ("_LEAF_OF", "_ADD", "_MEAN", "_HIGHEST"):
        monkeypatch.setattr(conversion, name, getattr(conversion, name).replace(text, other))
    right = conversion._Source.predictions
    monkeypatch.setattr(conversion._Source, "predictions", lambda self: (part.replace(text, other) for part in right(self)))
    with pytest.raises(ConversionError, match=r"(?s)model of C and .* differently for \d+ of|cc refuses the model: .*error"):
        tree.to_c()
    tree.to_c(verify=False)


def test_what_it_cannot_have(monkeypatch, tmp_path):
    X, z = data_of()
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    for wrong in ("", "1st", "a-b", "é", None):
        with pytest.raises(ValueError, match="prefix=.*; allowed are names of C that begin with a letter"):
            forest.to_c(prefix=wrong)
    for wrong in (("a tuple",), "nul\0", 2**60 + 1):
        frame = pd.DataFrame({"when": pd.Categorical([wrong, type(wrong)()] * 200)})
        with pytest.raises(ValueError, match=r"column 'when' holds the label .*; allowed in C code are text and numbers of"):
            dforest.RandomForestRegressor(2).fit(frame, z).to_c()
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(FileNotFoundError, match="there is none called 'no-such-compiler -m64': install one"):
        forest.to_c(tmp_path / "model.c")
    assert not (tmp_path / "model.c").exists()
    forest.to_c(verify=False)
