"""Frames that come as streams of Arrow's, by narwhals, or lazily, are the tables that they stand for."""

import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from dforest import HistGradientBoostingRegressor, RandomForestClassifier

RNG = np.random.default_rng(0)
N = 80
FRAME = pd.DataFrame(
    {"a": RNG.standard_normal(N), "b": np.where(RNG.random(N) < 0.2, np.nan, RNG.random(N)), "c": RNG.choice(["u", "v", "w"], N)}
)
FRAME["c"] = FRAME["c"].astype("category")
y = (FRAME["a"] > 0).to_numpy().astype(int) + (FRAME["c"] == "u").to_numpy()


class Stream:
    """What knows its columns, and hands them over as Arrow does."""

    def __init__(self, table):
        self.table, self.columns = table, table.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def of_narwhals(frame):
    return pytest.importorskip("narwhals").from_native(frame)


def of_duckdb(frame):
    return pytest.importorskip("duckdb").from_arrow(pa.Table.from_pandas(frame))


KINDS = {
    "stream": lambda frame: Stream(pa.Table.from_pandas(frame)),
    "narwhals of pandas": of_narwhals,
    "narwhals of polars": lambda frame: of_narwhals(pl.from_pandas(frame)),
    "narwhals of pyarrow": lambda frame: of_narwhals(pa.Table.from_pandas(frame)),
    "lazy frame of polars": lambda frame: pl.from_pandas(frame).lazy(),
    "lazy frame of narwhals": lambda frame: of_narwhals(pl.from_pandas(frame).lazy()),
    "duckdb": of_duckdb,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", [RandomForestClassifier(5, random_state=0), HistGradientBoostingRegressor(max_iter=3)])
def test_they_are_the_tables_that_they_stand_for(kind, estimator):
    given, is_lazy = KINDS[kind](FRAME), "lazy" in kind
    categorical = {"categorical_features": ["c"]}
    expected = estimator.set_params(random_state=0, **categorical).fit(FRAME, y)
    found = clone(expected)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found.fit(given, y)
        predicted = found.predict(given)
    assert found.digest() == expected.digest()
    assert list(found.feature_names_in_) == list(FRAME)
    np.testing.assert_array_equal(predicted, expected.predict(FRAME))
    assert {str(warning.message)[:35] for warning in caught} == ({"X is a lazy frame, which is collect"} if is_lazy else set())


def test_without_pyarrow_the_message_says_how_to_get_it(monkeypatch):
    given = KINDS["stream"](FRAME)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="X of the type Stream needs pyarrow; install it with: pip install"):
        RandomForestClassifier(3).fit(given, y)
