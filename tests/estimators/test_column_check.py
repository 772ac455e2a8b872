"""Tables that can't be taken as they are: one error names all columns, what is in them and what to do; "auto" takes labels."""

import datetime
import decimal
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.device_forests import differences
from helpers.tables import make

from dforest import DecisionTreeClassifier, DecisionTreeRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from dforest.errors import UnseenLabelsWarning
from dforest.estimators.data.encoder import CATEGORICAL, CONTINUOUS, ORDINAL

N = 60
DAYS = pd.date_range("2020-01-01", periods=N, freq="D")
REFUSED = {
    "city": (["Rome", "Oslo", "Bonn"] * (N // 3), "3 different texts, such as 'Rome': name it in categorical_features"),
    "member": (["yes", None] * (N // 2), "the text 'yes': name it in categorical_features"),
    "joined": (DAYS, "values of type datetime64"),
    "left": ([str(day.date()) for day in DAYS], "text of dates, such as '2020-01-01': make numbers of it"),
    "seen": (["3/14/24", "12/1/23"] * (N // 2), "text of dates, such as '3/14/24'"),
    "at": ([datetime.time(3, 4)] * N, "times such as '03:04:00': make numbers of it"),
    "fee": ([f"${1000 * i:,.2f}" for i in range(N)], r"text of amounts, such as '\$0.00': take the signs away"),
    "share": ([f"{i} %" for i in range(N)], "text of amounts, such as '0 %'"),
    "price": (["12.50 EUR"] * N, "text of amounts, such as '12.50 EUR'"),
    "id": ([f"C{i:05d}" for i in range(N)], "text that differs in each row, such as 'C00000': leave it out"),
    "age": (["unknown", *range(18, 17 + N)], "'unknown' among numbers: make it missing"),
    "list": ([[1]] * N, r"\[1\] \(float\(\) argument must be"),
    "wave": (np.full(N, 1j), "values of type complex128"),
    "key": ([2**60] * N, "the integer 1152921504606846976; integers beyond"),
}
TAKEN = {
    "size": np.arange(N) % 7.0,
    "flag": np.arange(N) % 2 == 0,
    "text": [str(i % 5) for i in range(N)],
    "exact": [decimal.Decimal(i) for i in range(N)],
    "kind": pd.Categorical(["a", "b"] * (N // 2)),
}
Y = np.arange(N) % 2


def test_one_error_names_all_columns():
    X = pd.DataFrame(TAKEN | {name: pd.Series(values) for name, (values, _) in REFUSED.items()})
    with pytest.raises(ValueError, match=f"{len(REFUSED)} columns of X can't be taken as they are") as caught:
        make(RandomForestClassifier).fit(X, Y)
    first, *lines = str(caught.value).splitlines()
    assert "allowed are numbers, booleans and missing values" in first
    for line, (name, (_, what)) in zip(lines, REFUSED.items(), strict=True):
        assert re.match(f"X column '{name}' holds {what}", line), line


@pytest.mark.parametrize("name", REFUSED)
def test_one_column_has_a_message_of_one_line(name):
    values, what = REFUSED[name]
    what, *advice = what.split(": ")
    error = TypeError if name == "list" else ValueError
    allowed = "; allowed are numbers, booleans and missing values"
    with pytest.raises(error, match=f"^X column '{name}' holds {what}.*{allowed}") as caught:
        make(RandomForestClassifier).fit(pd.DataFrame(TAKEN | {name: pd.Series(values)}), Y)
    message = str(caught.value)
    assert "\n" not in message
    assert not advice or f". {advice[0].capitalize()}" in message


def test_very_many_columns_are_not_all_listed():
    X = pd.DataFrame({f"c{i}": ["a", "b"] for i in range(100)})
    with pytest.raises(ValueError, match="100 columns of X") as caught:
        make(RandomForestClassifier).fit(X, [0, 1])
    assert str(caught.value).splitlines()[-1] == "and 80 more columns"


def test_long_text_is_shortened():
    X = pd.DataFrame({"note": ["1" + 3000 * " " + "x1", "2"]})
    with pytest.raises(ValueError, match="such as '1 *\\.\\.\\.'; allowed") as caught:
        make(RandomForestClassifier).fit(X, [0, 1])
    assert len(str(caught.value)) < 300


def test_targets_get_no_advice_for_columns():
    with pytest.raises(ValueError, match="^y holds .*; allowed are numbers, booleans and missing values$"):
        make(DecisionTreeRegressor).fit([[1.0], [2.0]], [1, 2**60])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("kind", [RandomForestClassifier, HistGradientBoostingClassifier])
def test_auto_takes_text_and_booleans_as_categories(kind, library):
    columns = {
        "size": np.arange(N) % 7.0,
        "flag": np.arange(N) % 3 == 0,
        "text": ["b", "a", None, "c"] * (N // 4),
        "digits": [str(i % 5) for i in range(N)],
    }
    X, y = library(columns), (np.arange(N) % 4 == 1) ^ (np.arange(N) % 3 == 0)
    auto = make(kind, categorical_features="auto").fit(X, y)
    named = make(kind, categorical_features=["flag", "text", "digits"]).fit(X, y)
    np.testing.assert_array_equal(auto._features.kinds, [CONTINUOUS, CATEGORICAL, CATEGORICAL, CATEGORICAL])
    assert not differences(auto, named)
    unseen = library(columns | {"text": ["new"] * N})
    with pytest.warns(UnseenLabelsWarning, match="X column 'text': 60 of 60 rows"):
        found = auto.predict_proba(unseen)
    np.testing.assert_array_equal(found, auto.predict_proba(library(columns | {"text": [None, *["new"] * (N - 1)]})))


def test_auto_leaves_ordered_types_and_numbers():
    X = pd.DataFrame(
        {
            "size": pd.Categorical(["S", "L"] * (N // 2), ["S", "L"], ordered=True),
            "kind": pd.Categorical(["a", "b"] * (N // 2)),
            "mixed": [1, None, 2.5] * (N // 3),
            "maybe": pd.Series([True, None, False] * (N // 3), dtype=object),
        }
    )
    model = make(DecisionTreeClassifier, categorical_features="auto").fit(X, Y)
    np.testing.assert_array_equal(model._features.kinds, [ORDINAL, CATEGORICAL, CONTINUOUS, CATEGORICAL])


@pytest.mark.parametrize("X", [np.array([["a", 1], ["b", 2]], object), np.array([["a", "1"], ["b", "2"]]), [["a", 1], ["b", 2]]])
def test_auto_looks_into_arrays_and_lists(X):
    kinds = make(DecisionTreeClassifier, categorical_features="auto").fit(X, [0, 1])._features.kinds
    assert kinds[0] == CATEGORICAL
    assert kinds[1] == (CATEGORICAL if getattr(X, "dtype", None) == "<U1" else CONTINUOUS)


def test_auto_takes_arrays_of_numbers_as_they_are():
    X = np.random.default_rng(0).normal(size=(N, 3))
    auto = make(DecisionTreeClassifier, categorical_features="auto").fit(X, Y)
    assert not differences(auto, make(DecisionTreeClassifier).fit(X, Y))
