"""Predictors for serving take rows by the names of columns, with labels."""

from collections import ChainMap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.tables import make

from dforest import (
    ExtraTreeRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

N = 200
RNG = np.random.default_rng(0)
COLUMNS = {
    "area": RNG.normal(size=N),
    "town": RNG.choice(["Bern", "Oslo", "Rome"], N),
    "size": pd.Categorical(RNG.choice(["S", "M"], N), ["S", "M"], ordered=True),
    "lift": RNG.random(N) < 0.5,
    "rooms": RNG.integers(1, 6, N),
}
X, Y = pd.DataFrame(COLUMNS), RNG.integers(0, 3, N)
X.loc[::7, "area"] = np.nan
KINDS = [RandomForestClassifier, RandomForestRegressor, ExtraTreeRegressor, HistGradientBoostingClassifier]


def fitted(kind, frame=X):
    return make(kind, categorical_features="auto").fit(frame, Y)


def expected(model, rows):
    name = "decision_function" if isinstance(model, HistGradientBoostingClassifier) else "predict_proba"
    return getattr(model, name, model.predict)(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_by_names_is_the_row_of_the_frame(kind):
    model = fitted(kind)
    predictor, rows = model.predictor(), X[:12]
    for i, row in enumerate(rows.to_dict("records")):
        want = expected(model, rows[i : i + 1])[0]
        backwards = dict(reversed(row.items()))
        for given in (row, backwards, rows.iloc[i], ChainMap(row)):
            np.testing.assert_array_equal(predictor.predict(given), want)
    np.testing.assert_array_equal(predictor.predict(rows), expected(model, rows))
    listed = [dict(reversed(row.items())) if i % 2 else ChainMap(row) for i, row in enumerate(rows.to_dict("records"))]
    for given in (listed, tuple(listed)):
        np.testing.assert_array_equal(predictor.predict(given), expected(model, rows))
    assert predictor.predict([]).shape == expected(model, rows)[:0].shape
    if kind is RandomForestClassifier:
        np.testing.assert_array_equal(predictor.predict_class(listed), expected(model, rows).argmax(axis=1))


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
def test_frames_of_other_libraries(library):
    columns = {name: COLUMNS[name] for name in ("area", "town", "lift", "rooms")}
    frame = library(columns)
    model = fitted(RandomForestClassifier, frame)
    np.testing.assert_array_equal(model.predictor().predict(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(model.predictor().predict_class(frame), model.predict_proba(frame).argmax(axis=1))
    assert model.predictor().predict_class({name: values[3] for name, values in columns.items()}) == model.predict(frame)[3]


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA])
def test_missing_values_and_unknown_labels(nothing):
    model = fitted(RandomForestClassifier)
    row = X[3:4].to_dict("records")[0]
    lost = X[3:4].assign(area=np.nan, town=None)
    for town in (nothing, "Atlantis"):
        np.testing.assert_array_equal(
            model.predictor().predict(row | {"area": nothing, "town": town}), model.predict_proba(lost)[0]
        )


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"area": 1.0}, ValueError, "X lacks 'town', 'size', 'lift', 'rooms'; allowed are the columns 'area', 'town'"),
        (X.iloc[0].to_dict() | {"id": 3}, ValueError, "X has 'id', which training rows did not have"),
        (X.iloc[0].to_dict() | {"area": "wide"}, ValueError, "X column 'area' holds 'wide'; allowed are numbers"),
        (X.iloc[0].to_dict() | {"area": [1]}, ValueError, r"X column 'area' holds \[1\]; allowed are numbers"),
        (X.iloc[0].to_dict() | {"area": 10**400}, ValueError, "X column 'area' holds 1000"),
        (X.iloc[0].to_dict() | {"lift": "True"}, ValueError, "X column 'lift' holds the text 'True', but booleans in the"),
        (X.iloc[0].to_dict() | {"lift": "1"}, ValueError, "X column 'lift' holds the text '1'"),
        (X.assign(lift=X["lift"].astype(object).where(X["rooms"] > 1, "maybe")), ValueError, "'lift' holds the text 'maybe'"),
        (X[["town", "area", "size", "lift", "rooms"]], ValueError, "X has its columns in another order, 'town', 'area'"),
        (X.rename(columns={"area": "Area"}), ValueError, "X lacks 'area' and has 'Area', which training rows did not have; all"),
        ([X.iloc[0].to_dict(), {"area": 1.0}], ValueError, "row 1: X lacks 'town', 'size', 'lift', 'rooms'; allowed are the"),
        ([X.iloc[0].to_dict() | {"aera": 1.0}], ValueError, "row 0: X has 'aera', which training rows did not have"),
        ([X.iloc[0].to_dict(), X.iloc[1].to_dict() | {"area": "wide"}], ValueError, "row 1: X column 'area' holds 'wide'"),
        ([X.iloc[0].to_dict(), [1.0]], TypeError, "row 1 of X is of type list; allowed are mappings of names to values"),
        (X.assign(area="wide"), ValueError, "X column 'area' holds the text 'wide'"),
        ([1.0, "Bern", "S", True, 2], TypeError, "row 0 of X is of type float; allowed are mappings"),
        ("Bern", TypeError, "X is of type str; allowed are arrays, mappings of names to values, lists of these"),
    ],
)
def test_refused(given, error, message):
    with pytest.raises(error, match=message):
        fitted(RandomForestClassifier).predictor().predict(given)


def test_without_names_there_are_arrays_alone():
    model = make(RandomForestClassifier).fit(X[["area", "rooms"]].to_numpy(), Y)
    with pytest.raises(TypeError):
        model.predictor().predict({"area": 1.0, "rooms": 2})


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_is_no_boolean(library):
    """Nor are few such texts: most labels are known here, so no warning would tell."""
    flags = {"x": COLUMNS["area"], "flag": COLUMNS["lift"]}
    text = ["True", *[None] * (N - 1)]
    model = fitted(RandomForestClassifier, library(flags))
    for frame in (library(flags | {"flag": text}), library({"x": flags["x"], "flag": pa.array(text).dictionary_encode()})):
        for method in (model.predict, model.predictor().predict):
            with pytest.raises(ValueError, match="X column 'flag' holds the text 'True', but booleans in the training data"):
                method(frame)
    # A column as it is read from a CSV file, with or without missing values.
    some = pd.DataFrame(flags | {"flag": flags["flag"].astype(object)})
    some.loc[3, "flag"] = None
    row = {"x": flags["x"][0], "flag": bool(flags["flag"][0])}
    np.testing.assert_array_equal(model.predict_proba(some)[0], model.predictor().predict(row))
    np.testing.assert_array_equal(model.predict_proba(some)[3], model.predictor().predict({"x": flags["x"][3], "flag": None}))
    with pytest.raises(ValueError, match="X column 'flag' holds .*'True'"):  # booleans as numbers
        make(RandomForestClassifier).fit(library(flags), Y).predict(library(flags | {"flag": text}))


def test_labels_that_no_row_has_may_be_text():
    model = fitted(RandomForestClassifier, pd.DataFrame({"x": COLUMNS["area"], "flag": COLUMNS["lift"]}))
    flags = pd.Categorical(COLUMNS["lift"].tolist(), [True, "unknown", False])
    new = pd.DataFrame({"x": COLUMNS["area"], "flag": flags})
    np.testing.assert_array_equal(model.predict(new), model.predict(new.assign(flag=COLUMNS["lift"])))
