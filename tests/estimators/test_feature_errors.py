"""Columns of labels that are refused, or that a warning tells of."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.tables import (
    ALL,
    TARGET,
    UNORDERED,
    WORDS,
    dictionary,
    encoded_by,
    learnt,
    make,
    mixed_frame,
)

from dforest import (
    DecisionTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.errors import UnseenLabelsWarning

THREE = np.eye(3)
FRAME = mixed_frame(pd)


def refused():
    """(X, categorical_features, ordinal_features, message)"""
    yield THREE, [3], None, "categorical_features holds 3; the 3 features of X have the numbers 0 to 2"
    yield THREE, None, [-1], "ordinal_features holds -1; the 3 features"
    yield THREE, [True], None, "categorical_features is a mask of length 1, but X has 3 features"
    yield THREE, None, np.ones(4, bool), "ordinal_features is a mask of length 4, but X has 3"
    yield THREE, ["a"], None, "categorical_features names 'a', but X has no column names"
    yield THREE, [0.5], None, "categorical_features holds values of the types float; allowed are"
    yield THREE, [0, "a"], None, "categorical_features holds values of the types int, str"
    yield THREE, THREE, None, "categorical_features has 2 dimensions"
    yield THREE, [1, 0, 1], None, "categorical_features lists 1 more than once"
    yield THREE, [0, 1], [2, 1], "X column 1 is in both"
    yield mixed_frame(pl), None, ["size", "size"], "ordinal_features lists 'size' more than once"
    yield mixed_frame(pa), ["word"], [False, True, False, False], "X column 'word' is in both"
    yield FRAME, ["Word"], None, "names 'Word'; the columns of X are 'real', 'word', 'whole', 'size'"
    # Labels
    yield FRAME, None, "from_dtype", "X column 'word' holds 2 different texts, such as 'x'; allowed are .*categorical_features"
    labels = pd.DataFrame({"size": pd.Categorical(["S", "M"])})
    yield labels, None, ["size"], "X column 'size' holds 'M', whose order is unknown; .*such as pandas' column.cat.as_ordered"
    yield FRAME, None, ["word"], "X column 'word' holds 'x', whose order is unknown; .* ordered categorical"
    yield np.array([["1"], ["2"]]), None, [0], "X column 0 holds '1', whose order is unknown"
    yield [["a", 1], [1, 2]], [0], None, "X column 0 holds labels of the types int, str, which can't be sorted"
    yield pd.DataFrame({"c": ["a", 1.5]}), [0], None, "X column 'c' holds labels of the types float, str"
    yield [[1, {}], [1, 2]], [1], None, "X column 1 can't be read as categories: .*unhashable type: 'dict'"
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        yield frame({"c": [[1], [2]]}), [0], None, "X column 'c' can't be read as categories: .*unhashable"
    yield np.array([[1], [2]], "M8[D]"), [0], None, "X column 0 can't be read as categories: values of type datetime64"
    # What is beside them
    yield np.array([[1], [2]], "M8[ns]"), None, [0], "X column 0 holds values of type datetime64"
    yield THREE * 1j, [0], None, "complex"
    yield pd.DataFrame({"c": ["a", "b"], "x": [1j, 1]}), [0], None, "X column 'x' holds .*complex128. Complex data not supported"
    yield [["a", 2**53 + 1], ["b", 1]], [0], None, "X column 1 holds the integer 9007199254740993"
    yield np.array([[1, 2**53 + 1], [2, 1]]), [0], None, "X column 1 holds the integer 9007199254740993"
    yield pd.DataFrame({"c": ["a", "b"], "x": ["a", "b"]}), ["c"], None, "X column 'x' holds 2 .* texts, such as 'a'; allowed"


@pytest.mark.parametrize(("X", "categorical", "ordinal", "message"), list(refused()))
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestRegressor])
def test_refused(kind, X, categorical, ordinal, message):
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    model = make(kind).fit(np.eye(2), [0, 1])
    model.set_params(categorical_features=categorical, ordinal_features=ordinal)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, np.arange(n_rows) % 2)
    assert dict(vars(model)) == before
    assert len(model.predict(np.eye(2))) == 2


@pytest.mark.parametrize("X", [["a", "b"], np.array(["a", "b"], object), pd.Series(["a", "b"])])
def test_one_dimension(X):
    with pytest.raises(ValueError, match="Expected (2D array, got 1D array|a 2-dimensional container)"):
        make(DecisionTreeClassifier, categorical_features=[0]).fit(X, [0, 1])


@pytest.mark.parametrize("build", UNORDERED.values(), ids=UNORDERED)
def test_no_rows(build):
    with pytest.raises(ValueError, match="0 sample"):
        make(DecisionTreeClassifier).fit(build([]), [])
    model = make(DecisionTreeClassifier).fit(build(WORDS), TARGET)
    assert model.is_categorical_.tolist() == [True]
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(build([]))


def test_ordered_chunks_that_disagree():
    chunks = [dictionary(["a", "b"], ["a", "b"], ordered=True), dictionary(["a", "b"], ["b", "a"], ordered=True)]
    with pytest.raises(ValueError, match="X column 'c' can't be read as categories: chunks that order their levels differently"):
        learnt(pa.table({"c": pa.chunked_array(chunks)}))
    chunks[1] = dictionary(["c", "b"], ["a", "b", "c"], ordered=True)
    assert learnt(pa.table({"c": pa.chunked_array(chunks)})).categories[0].tolist() == ["a", "b", "c"]


@ALL
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_too_many_categories(kind, method):
    X = pd.DataFrame({"x": np.zeros(65536), "c": pd.Categorical.from_codes(np.arange(65536), np.arange(65536))})
    y = np.arange(65536) // 40000
    model = make(kind, method=method, max_leaf_nodes=2)
    with pytest.raises(ValueError, match="X column 'c' has 65536 categories; allowed are up to 65535: leave the column out"):
        model.fit(X, y)
    assert len(model.fit(X, y, np.arange(65536)).categories_[1]) == 65535  # one row has no weight
    X.loc[7, "c"] = np.nan
    assert len(model.fit(X, y).categories_[1]) == 65535


def test_all_categories_are_encoded():
    X = np.arange(65536)[:, None] / 7
    features = learnt(X[1:], [0])
    features.check_limits()
    assert features.n_categories.tolist() == [65535]
    assert encoded_by(features, X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(encoded_by(features, X)[:, 0], [np.nan, *range(65535)])


# Labels that do not match those of training


@pytest.mark.parametrize(
    ("known", "given", "told"),
    [
        (["Bern", "Oslo"], ["bern", "OSLO", None], "2 of 2 .* missing: 'bern', 'OSLO'; the training data had 'Bern', 'Oslo'"),
        ([0, 1], [2, 3.0, 3], "3 of 3 rows .* missing: 3.0, 2; the training data had 0, 1"),
        ([None, None], ["Bern"], "1 of 1 rows .* missing: 'Bern'; the training data had none"),
        (list("abcde"), list("abvwxyz"), "5 of 7 rows .* missing: 'v', 'w', 'x', ...; the training data had 'a', 'b', 'c', ..."),
    ],
)
@pytest.mark.parametrize("as_frame", [False, True])
def test_columns_whose_labels_do_not_match_are_told_of(known, given, told, as_frame):
    def table(labels):
        columns = np.array([np.array(labels, object), np.zeros(len(labels))], object).T
        return pd.DataFrame(columns, columns=["city", "n"]) if as_frame else columns

    model = DecisionTreeClassifier(categorical_features=[0], random_state=0).fit(table(known), np.arange(len(known)) % 2)
    told = f"X column {chr(39) + 'city' + chr(39) if as_frame else 0}: {told}"
    for predict in (model.predict, model.predict_proba, model.apply):
        with pytest.warns(UnseenLabelsWarning, match=told):
            predict(table(given))


@pytest.mark.parametrize(
    ("known", "given", "told"),
    [
        ([394, 2], "394", "the text '394', but numbers in the training data, such as 2; allowed are numbers and missing"),
        ([0.5, 2], "x", "the text 'x', but numbers"),
        ([0, 1], "1", "the text '1', but numbers in the training data, such as 0; allowed are numbers, booleans and missing"),
        ([2, 1], True, "the boolean True, but numbers in the training data, such as 1; allowed are numbers and missing values"),
        (["Bern", "7"], 7, "the number 7, but text in the training data, such as '7'; allowed are text and missing values"),
        (["Bern", "Oslo"], 0.5, "the number 0.5, but text"),
        (["Bern", "Oslo"], False, "the boolean False, but text"),
        ([False, True], "1", "the text '1', but booleans in the training data, such as False; allowed are booleans, numbers and"),
    ],
)
@pytest.mark.parametrize("kind", ["array", "pandas", "arrow", "row"])
def test_a_value_of_another_type_than_all_labels_is_refused(known, given, told, kind):
    """Even in one row of many, where no warning would tell that the value counts as missing, or as 1."""

    def table(labels):
        columns = {"n": np.arange(len(labels), dtype=float), "city": pd.Series(labels, dtype=object)}
        frame = pd.DataFrame(columns)
        return frame.to_numpy() if kind == "array" else frame

    model = DecisionTreeClassifier(categorical_features=[1]).fit(table([*known * 3, None]), [0, 1] * 3 + [1])
    rows, predict = [given, *known * 3, None, np.nan], model.predict
    if kind == "arrow":
        frame = table([None, None])
        frame["city"] = pd.Series(pa.array([given, None])).astype(pd.ArrowDtype(pa.array([given]).type))
    elif kind == "row":
        frame, predict = {"n": 1.0, "city": given}, model.predictor().predict
        for missing in (None, np.nan, pd.NA):
            predict({"n": 1.0, "city": missing})
    else:
        frame = table(rows)
    with pytest.raises(ValueError, match=f"X column {'1' if kind == 'array' else repr('city')} holds {re.escape(told)}"):
        predict(frame)
    if kind != "row":
        model.predict(table(rows[1:]))


def test_a_number_stands_for_a_boolean_and_labels_of_two_types_take_all_types():
    frame = pd.DataFrame({"flag": [True, False] * 3})
    model = DecisionTreeClassifier(categorical_features=["flag"]).fit(frame, frame["flag"])
    assert model.predict(frame.astype(int)).tolist() == frame["flag"].tolist()
    assert model.predictor().predict_class({"flag": 1.0}) == 1
    mixed = pd.DataFrame({"flag": pd.Series([True, 2] * 3, dtype=object)})
    model = DecisionTreeClassifier(categorical_features=["flag"]).fit(mixed, [0, 1] * 3)
    assert model.categories_[0].tolist() == [True, 2] and model.predict(mixed).tolist() == [0, 1] * 3
    assert model.predictor().predict_class({"flag": "2"}) in (0, 1)


def test_few_labels_that_were_not_there_are_not_told_of():
    def frame(labels):
        return pd.DataFrame({"city": pd.Categorical(labels), "size": pd.Categorical(["s", "m"] * 2, ["s", "m"], ordered=True)})

    model = RandomForestClassifier(3, random_state=0).fit(frame(["Bern", "Oslo", "Rome", None]), [0, 1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for labels in (["Bern", "Oslo", "new", "newer"], ["Bern", None, None, None], [None] * 4, ["new", "Bern", None, None]):
            model.predict(frame(labels))
