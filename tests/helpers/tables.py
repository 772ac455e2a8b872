"""Columns of labels in every type that a table may give them, and estimators to try them on."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils.validation import check_array

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.estimators.data.features import Features
from dforest.estimators.data.tables import read_table

TREES = [DecisionTreeClassifier, DecisionTreeRegressor]
FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
ALL = pytest.mark.parametrize("kind", TREES + FORESTS)

WORDS = ["red", "blue", None, "green", "blue", "red", "red", None]
WHOLE = [3, -1, None, 7, 3, -1, 0, None]
FLAGS = [True, False, None, True, True, False, False, None]
REAL = [0.5, -2.5, None, np.inf, 0.5, 1e300, -2.5, None]
TARGET = [0, 1, 0, 1, 0, 1, 0, 1]
SIZES = ["S", "M", None, "L", "M", "S", "S", None]
LEVELS = ["S", "M", "L", "XL"]


def make(kind, **parameters):
    if kind in FORESTS:
        parameters = {"n_estimators": 3, **parameters}
    return kind(random_state=0, **parameters)


def numbers(values, labels):
    """The place of each value in a list of labels, NaN for others; by brute force."""
    found = []
    for value in values:
        places = [place for place, label in enumerate(labels) if value is not None and label == value]
        found.append(float(places[0]) if places else np.nan)
    return np.array(found)


def known(values):
    return [value for value in values if value is not None]


def dictionary(values, levels=None, ordered=False):
    levels = list(dict.fromkeys(known(values))) if levels is None else levels
    codes = pa.array([None if value is None else levels.index(value) for value in values], pa.int8())
    return pa.DictionaryArray.from_arrays(codes, levels or pa.array([], pa.string()), ordered=ordered)


def pandas_dictionary(values, **keywords):
    values = dictionary(values, **keywords)
    return pd.DataFrame({"c": pd.Series(values, dtype=pd.ArrowDtype(values.type))})


# Functions from values, None where missing, to X with the one column "c" or 0.
ANY = {
    "object array": lambda v: np.array(v, object)[:, None],
    "object array, NaN": lambda v: np.array([np.nan if a is None else a for a in v], object)[:, None],
    "object array, NA": lambda v: np.array([pd.NA if a is None else a for a in v], object)[:, None],
    "list": lambda v: [[a] for a in v],
    "pandas category": lambda v: pd.DataFrame({"c": pd.Categorical(v)}),
    "pandas object": lambda v: pd.DataFrame({"c": pd.Series(v, dtype=object)}),
    "pandas dictionary": pandas_dictionary,
    "polars": lambda v: pl.DataFrame({"c": v}),
    "pyarrow": lambda v: pa.table({"c": v}),
    "pyarrow dictionary": lambda v: pa.table({"c": dictionary(v)}),
    "pyarrow chunks": lambda v: pa.table({"c": pa.chunked_array([dictionary(v[:2]), dictionary(v[2:])])}),
    "pyarrow batch": lambda v: pa.RecordBatch.from_pydict({"c": dictionary(v)}),
}
OF_WORDS = ANY | {
    "pandas str": lambda v: pd.DataFrame({"c": pd.Series(v, dtype="str")}),
    "pandas string": lambda v: pd.DataFrame({"c": pd.Series(v, dtype="string")}),
    "pandas arrow string": lambda v: pd.DataFrame({"c": pd.Series(v, dtype=pd.ArrowDtype(pa.string()))}),
    "polars categorical": lambda v: pl.DataFrame({"c": pl.Series(v, dtype=pl.Categorical)}),
    "polars enum": lambda v: pl.DataFrame({"c": pl.Series(v, dtype=pl.Enum(sorted(set(known(v)), reverse=True)))}),
    "pyarrow large string": lambda v: pa.table({"c": pa.array(v, pa.large_string())}),
}
OF_NUMBERS = ANY | {
    "float array": lambda v: np.array(v, float)[:, None],
    "pandas float": lambda v: pd.DataFrame({"c": np.array(v, float)}),
    "polars float": lambda v: pl.DataFrame({"c": pl.Series(v, dtype=pl.Float64)}),
    "pyarrow float": lambda v: pa.table({"c": pa.array(v, pa.float64())}),
}
OF_WHOLE = OF_NUMBERS | {
    "pandas Int64": lambda v: pd.DataFrame({"c": pd.array(v, "Int64")}),
    "pandas arrow int": lambda v: pd.DataFrame({"c": pd.Series(v, dtype=pd.ArrowDtype(pa.int16()))}),
    "polars int8": lambda v: pl.DataFrame({"c": pl.Series(v, dtype=pl.Int8)}),
    "float32 array": lambda v: np.array(v, np.float32)[:, None],
}
OF_FLAGS = OF_NUMBERS | {
    "pandas boolean": lambda v: pd.DataFrame({"c": pd.array(v, "boolean")}),
}
CASES = [
    pytest.param(values, build, id=f"{values[0]!r} {name}")
    for values, builders in ((WORDS, OF_WORDS), (WHOLE, OF_WHOLE), (FLAGS, OF_FLAGS), (REAL, OF_NUMBERS))
    for name, build in builders.items()
]
ORDERED = {
    "pandas": lambda v, levels: pd.DataFrame({"c": pd.Categorical(v, levels, ordered=True)}),
    "pandas dictionary": lambda v, levels: pandas_dictionary(v, levels=levels, ordered=True),
    "polars": lambda v, levels: pl.DataFrame({"c": pl.Series(v, dtype=pl.Enum(levels))}),
    "pyarrow": lambda v, levels: pa.table({"c": dictionary(v, levels, ordered=True)}),
}
UNORDERED = {
    "pandas": lambda v: pd.DataFrame({"c": pd.Categorical(v)}),
    "pandas dictionary": pandas_dictionary,
    "polars": lambda v: pl.DataFrame({"c": pl.Series(v, dtype=pl.Categorical)}),
    "pyarrow": lambda v: pa.table({"c": dictionary(v)}),
}


def mixed_frame(library):
    sizes, words = [["S", "M", None, "L", "S"], ["x", "y", "y", None, "x"]]
    real, whole = [0.5, 1.5, None, 2.5, 0.5], [1, 2, 3, 4, 5]
    if library is pd:
        return pd.DataFrame({"real": real, "word": pd.Categorical(words), "whole": whole,
                             "size": pd.Categorical(sizes, LEVELS, ordered=True)})  # fmt: skip
    if library is pl:
        return pl.DataFrame({"real": real, "word": pl.Series(words, dtype=pl.Categorical), "whole": whole,
                             "size": pl.Series(sizes, dtype=pl.Enum(LEVELS))})  # fmt: skip
    return pa.table({"real": real, "word": dictionary(words), "whole": whole, "size": dictionary(sizes, LEVELS, ordered=True)})


LIBRARIES = pytest.mark.parametrize("library", [pd, pl, pa], ids=lambda library: library.__name__)


def learnt(X, *chosen):
    """What `Features` learn of X, given the parameters of estimators that say which columns are categorical and ordinal."""
    return Features.learn(read_table(X), *chosen)


def encoded_by(features, X):
    """X as `features` encode it: what scikit-learn makes numbers of as they do, as it is, if it is an array."""
    encoded = features.encode(read_table(X))
    return encoded if isinstance(encoded, np.ndarray) else check_array(encoded, dtype=np.float64, ensure_all_finite=False)
