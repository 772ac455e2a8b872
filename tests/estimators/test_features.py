"""Columns of labels: which columns hold labels, and the numbers that labels get."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.device_forests import assert_same
from helpers.tables import (
    ALL,
    CASES,
    FLAGS,
    FORESTS,
    LEVELS,
    LIBRARIES,
    OF_FLAGS,
    OF_NUMBERS,
    OF_WHOLE,
    OF_WORDS,
    ORDERED,
    REAL,
    SIZES,
    TARGET,
    WHOLE,
    WORDS,
    dictionary,
    encoded_by,
    known,
    learnt,
    make,
    mixed_frame,
    numbers,
)

from dforest import DecisionTreeClassifier
from dforest.estimators.data.encoder import CATEGORICAL, CONTINUOUS, ORDINAL
from dforest.estimators.data.rows import checked_rows
from dforest.estimators.data.tables import read_table


def checked(X, features):
    return checked_rows(DecisionTreeClassifier(), read_table(X), features, reset=True)


# Categories


@pytest.mark.parametrize(("values", "build"), CASES)
def test_categories_and_numbers(values, build):
    X = build(values)
    features = learnt(X, [0])
    labels = sorted(set(known(values)))
    assert features.kinds.tolist() == [CATEGORICAL]
    assert features.categories[0].tolist() == labels
    assert features.n_categories.tolist() == [len(labels)]
    assert features.encodes
    encoded = encoded_by(features, X)
    assert encoded.dtype == (X.dtype if build is OF_WHOLE["float32 array"] else np.float64)
    np.testing.assert_array_equal(encoded[:, 0], numbers(values, labels))


@pytest.mark.parametrize("values", [WORDS, WHOLE, FLAGS, REAL], ids=lambda values: repr(values[0]))
def test_labels_are_the_same_in_all_types(values):
    """Trained on one, predicted on another, with labels that were not in training."""
    builders = {"red": OF_WORDS, 3: OF_WHOLE, True: OF_FLAGS, 0.5: OF_NUMBERS}[values[0]]
    seen = [value for value in values if value not in (values[1], None)]
    labels = sorted(set(seen))
    expected = numbers(values, labels)
    assert np.isnan(expected).sum() == 2 + values.count(values[1])
    others = [build(values) for build in builders.values()]
    for build in builders.values():
        features = learnt(build([*seen, None]), [0])
        for X in others:
            np.testing.assert_array_equal(encoded_by(features, X)[:, 0], expected)


def test_arrays_of_one_type():
    for X, labels in (
        (np.array([["b"], ["a"], ["b"]]), ["a", "b"]),
        (np.array([[b"b"], [b"a"], [b"b"]]), [b"a", b"b"]),
        (np.array([[3], [-4], [3]], np.int8), [-4, 3]),
        (np.array([[100], [-128], [127], [0]] * 99, np.int8), [-128, 0, 100, 127]),
        (np.array([[2**64 - 1], [2**64 - 3], [5]], np.uint64), [5, 2**64 - 3, 2**64 - 1]),
        (np.array([[-(2**63)], [2**63 - 1], [2**63 - 2]], ">i8"), [-(2**63), 2**63 - 2, 2**63 - 1]),
        (np.array([[True], [False]]), [False, True]),
        (np.array([[1.5], [0.5], [np.nan], [2.5]], np.float16), [0.5, 1.5, 2.5]),
        (np.array([[np.nan], [np.nan]]), []),
        (np.array([[None], [None]], object), []),
        (np.array([[np.inf], [-np.inf], [np.nan]]), [-np.inf, np.inf]),
        (np.array([[decimal.Decimal("0.1")], [decimal.Decimal(2)], [1]], object), [decimal.Decimal("0.1"), 1, 2]),
    ):
        features = learnt(X, [0])
        assert features.categories[0].tolist() == labels
        values = [None if value is None or value != value else value for value in X[:, 0].tolist()]
        np.testing.assert_array_equal(encoded_by(features, X)[:, 0], numbers(values, labels))


@pytest.mark.parametrize("dtype", [np.int16, np.uint32, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 0.5, 1000])
@pytest.mark.parametrize("low", [0, 7, 20000])
def test_many_numbers(dtype, step, low):
    """Dense numbers and sparse ones are looked up in different ways."""
    values = (low + step * np.random.default_rng(0).integers(0, 12, 300)).astype(dtype)
    features = learnt(values[:200, None], [0])
    labels = np.unique(values[:200])
    np.testing.assert_array_equal(features.categories[0], labels)
    np.testing.assert_array_equal(encoded_by(features, values[:, None])[:, 0], numbers(values.tolist(), labels.tolist()))


def test_equal_numbers_are_one_category():
    X = np.array([[0.0], [-0.0], [1.0], [np.nan]])
    features = learnt(X, [0])
    assert [str(label) for label in features.categories[0].tolist()] == ["0.0", "1.0"]
    for other in (X, [[0], [0.0], [True], [None]], np.array([[0], [0], [1], [9]]), pd.DataFrame([False, -0.0, 1, None])):
        np.testing.assert_array_equal(encoded_by(features, other)[:, 0], [0, 0, 1, np.nan])
    assert learnt([[1], [1.0], [True], [0]], [0]).categories[0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="X column 0 holds the text '0', but numbers"):
        encoded_by(features, [["0"], ["1"]])


def test_large_integers_are_not_rounded():
    labels = [2**53, 2**53 + 1, 2**62 + 1]
    X = np.array(labels)[:, None]
    features = learnt(X, [0])
    assert features.categories[0].tolist() == labels
    assert encoded_by(features, X)[:, 0].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(encoded_by(features, X.astype(float))[:, 0], [0, 0, np.nan])
    for frame in (
        pd.DataFrame({"c": pd.array([*labels, None], "Int64")}),
        pl.DataFrame({"c": [*labels, None]}),
        pa.table({"c": [*labels, None]}),
        [[label] for label in [*labels, None]],
    ):
        assert learnt(frame, [0]).categories[0].tolist() == labels
        np.testing.assert_array_equal(encoded_by(features, frame)[:, 0], [0, 1, 2, np.nan])
    mixed = learnt([[2**53 + 1], [0.5]], [0])
    assert mixed.categories[0].tolist() == [0.5, 2**53 + 1]


def test_only_categories_that_occur():
    for X in (
        pd.DataFrame({"c": pd.Categorical(["b", "a", "b"], ["z", "b", "q", "a"])}),
        pl.DataFrame({"c": pl.Series(["z", "b", "q", "a", "b"], dtype=pl.Categorical)})[[1, 3, 4]],
        pa.table({"c": pa.array(["z", "b", "a", "b"]).dictionary_encode()}).slice(1),
    ):
        features = learnt(X)
        assert features.categories[0].tolist() == ["a", "b"]
        assert encoded_by(features, X)[:, 0].tolist() == [1, 0, 1]


def test_another_order_of_categories_at_prediction():
    features = learnt(pd.DataFrame({"c": pd.Categorical(["b", "a", "c"])}))
    other = pd.DataFrame({"c": pd.Categorical(["c", "new", "a", None], ["new", "c", "b", "a"])})
    np.testing.assert_array_equal(encoded_by(features, other)[:, 0], [2, np.nan, 0, np.nan])


def test_dictionaries_with_null_and_repeated_labels():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), pa.array(["b", None, "a", "b"]))
    for X in (pa.table({"c": column}), pa.RecordBatch.from_pydict({"c": column})):
        features = learnt(X)
        assert features.categories[0].tolist() == ["a", "b"]
        np.testing.assert_array_equal(encoded_by(features, X)[:, 0], [1, np.nan, 0, 1, np.nan])


# Which columns


N, O, C = CONTINUOUS, ORDINAL, CATEGORICAL  # noqa: E741


@LIBRARIES
@pytest.mark.parametrize(
    ("categorical", "ordinal", "kinds"),
    [
        ("from_dtype", "from_dtype", [N, C, N, O]),
        ("from_dtype", None, [N, C, N, C]),
        (None, "from_dtype", [N, N, N, O]),
        (None, None, [N, N, N, N]),
        ("from_dtype", [2], [N, C, O, C]),
        (["whole"], "from_dtype", [N, N, C, O]),
        (["size"], "from_dtype", [N, N, N, C]),
        ([1, 2], ["size"], [N, C, C, O]),
        ([False, True, True, False], [True, False, False, False], [O, C, C, N]),
        (np.array([3, 1]), np.zeros(4, bool), [N, C, N, C]),
        ([], [], [N, N, N, N]),
        (pd.Index(["word"]), ("size", "real"), [O, C, N, O]),
        (pl.Series(["word"]), pd.Series([True, False, False, False]), [O, C, N, N]),
    ],
)
def test_which_columns(library, categorical, ordinal, kinds):
    features = learnt(mixed_frame(library), categorical, ordinal)
    assert features.kinds.dtype == np.uint8
    assert features.kinds.tolist() == kinds
    assert features.n_categories.dtype == np.int32
    known_numbers = {1: 2, 2: 5, 3: 3}  # of labels that occur
    assert features.n_categories.tolist() == [known_numbers[j] if kind == C else 0 for j, kind in enumerate(kinds)]
    levels = features.categories[3]
    assert (None if levels is None else levels.tolist()) == {N: None, C: ["L", "M", "S"], O: LEVELS}[kinds[3]]


@LIBRARIES
def test_all_kinds_in_one_frame(library):
    X = mixed_frame(library)
    features = learnt(X)
    expected = [[0.5, 0, 1, 0], [1.5, 1, 2, 1], [np.nan, 1, 3, np.nan], [2.5, np.nan, 4, 2], [0.5, 0, 5, 0]]
    np.testing.assert_array_equal(encoded_by(features, X), expected)


def test_arrays_have_no_types_of_labels():
    for X in (np.array([["a"], ["b"]], object), np.array([["1"], ["2"]]), [["a"], [1]], np.eye(2), np.eye(2, dtype=int)):
        features = learnt(X)
        assert not features.kinds.any()
        assert not features.encodes


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((2, 2, 2)), [1, 2, 3], [[1], [2, 3]], "text", 5, None, pd.Series([1.0])])
def test_what_is_no_table_is_refused(X):
    with pytest.raises(ValueError, match="2D array|2-dimensional|dim 3|inhomogeneous"):
        read_table(X)


# Ordinal columns


@pytest.mark.parametrize("build", ORDERED.values(), ids=ORDERED)
def test_levels(build):
    features = learnt(build(SIZES, LEVELS))
    assert features.kinds.tolist() == [ORDINAL]
    assert features.n_categories.tolist() == [0]
    assert features.categories[0].tolist() == LEVELS
    expected = numbers(SIZES, LEVELS)
    others = [build(SIZES, ["L", "S", "new", "M"]) for build in ORDERED.values()] + [build(SIZES) for build in OF_WORDS.values()]
    for other in others:
        np.testing.assert_array_equal(encoded_by(features, other)[:, 0], expected)
    undeclared = build(["new", "XL", "S"], ["S", "new", "XL"])
    np.testing.assert_array_equal(encoded_by(features, undeclared)[:, 0], [np.nan, 3, 0])


@pytest.mark.parametrize("build", [build for name, build in (OF_WHOLE | OF_FLAGS).items() if "NA" not in name.split()])
def test_ordinal_numbers_stay_numbers(build):
    values = FLAGS if build is OF_FLAGS["pandas boolean"] else WHOLE
    X = build(values)
    features = learnt(X, None, [0])
    assert features.kinds.tolist() == [ORDINAL]
    assert features.categories == [None]
    assert not features.encodes
    np.testing.assert_array_equal(encoded_by(features, X)[:, 0], np.array(values, float))


def test_ordered_types_of_numbers():
    ascending = pd.DataFrame({"c": pd.Categorical([3, 1, None], [1, 2, 3], ordered=True)})
    assert learnt(ascending).categories == [None]
    np.testing.assert_array_equal(encoded_by(learnt(ascending), ascending)[:, 0], [3, 1, np.nan])
    other = pd.DataFrame({"c": pd.Categorical([3, 1, None], [3, 2, 1], ordered=True)})
    assert learnt(other).categories[0].tolist() == [3, 2, 1]
    np.testing.assert_array_equal(encoded_by(learnt(other), other)[:, 0], [0, 2, np.nan])


def test_intervals_are_levels():
    values = np.array([0.5, 3.5, np.nan, 1.5])
    X = pd.DataFrame({"c": pd.cut(values, [0, 1, 2, 4])})
    features = learnt(X)
    assert features.kinds.tolist() == [ORDINAL]
    np.testing.assert_array_equal(encoded_by(features, X)[:, 0], [0, 2, np.nan, 1])


@pytest.mark.parametrize("build", [*OF_WORDS.values()], ids=OF_WORDS)
def test_text_without_an_order_is_not_ordinal(build):
    X = build(["S", "M", None, "L"])
    if learnt(X).kinds.tolist() == [ORDINAL]:
        return
    with pytest.raises(ValueError, match="X column '?[c0]'? holds '[SML]', whose order is unknown; .*ordered categorical"):
        learnt(X, None, [0])


# Numbers beside labels


def test_other_columns_of_a_frame():
    """Every kind of number gets into the encoded array as it is."""
    values = {
        "i8": np.array([1, -2, 3], np.int8), "flag": [True, False, True], "object": np.array([1, None, 2.5], object),
        "Int64": pd.array([1, None, 2**53], "Int64"), "boolean": pd.array([True, None, False], "boolean"),
        "Float32": pd.array([0.5, None, 0.1], "Float32"), "arrow": pd.array([5, None, 6], "int16[pyarrow]"),
        "category": pd.Categorical([5, None, -6]), "text": pd.Series(["1.5", "-inf", None], dtype="str"),
        "f2": np.array([0.5, np.inf, 0.1], np.float16),
    }  # fmt: skip
    frame = pd.DataFrame({**values, "word": ["a", "b", "a"]})
    tenth = float(np.float32(0.1)), float(np.float16(0.1))
    expected = [
        [1, 1, 1, 1, 1, 0.5, 5, 5, 1.5, 0.5, 0],
        [-2, 0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, -np.inf, np.inf, 1],
        [3, 1, 2.5, 2**53, 0, tenth[0], 6, -6, np.nan, tenth[1], 0],
    ]
    np.testing.assert_array_equal(encoded_by(learnt(frame, ["word"], None), frame), expected)
    table = {"whole": [1, None, 3], "flag": [True, None, False], "real": [0.5, None, -0.0], "word": ["a", "b", "a"]}
    expected = [[1, 1, 0.5, 0], [np.nan, np.nan, np.nan, 1], [3, 0, 0, 0]]
    for X in (pl.DataFrame(table), pa.table(table)):
        np.testing.assert_array_equal(encoded_by(learnt(X, ["word"]), X), expected)


def test_float32_stays_if_all_else_is():
    label, narrow, wide = ["a", "b"], np.array([0.5, 0.1], np.float32), np.array([1, 2**24 + 1], np.int32)
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        for columns, dtype in (
            ({"c": label, "x": narrow}, np.float32),
            ({"c": label, "x": narrow, "y": wide}, np.float64),
            ({"c": label, "y": wide}, np.float64),
            ({"c": label}, np.float64),
        ):
            X = frame(columns)
            encoded = encoded_by(learnt(X, ["c"]), X)
            assert encoded.dtype == dtype
            for j, name in enumerate(columns):
                np.testing.assert_array_equal(encoded[:, j], [0, 1] if name == "c" else columns[name])
    X = np.array([[0.1, 5], [0.2, 7]], np.float32)
    assert encoded_by(learnt(X, [1]), X).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_arrays_are_not_copied(dtype):
    X = np.random.default_rng(0).random((8, 3)).astype(dtype)
    for features in (learnt(X), learnt(X, None, [1]), learnt(X, [], [0, 2])):
        assert encoded_by(features, X) is X
        assert np.shares_memory(checked(X, features), X)
    before = X.copy()
    encoded = checked(X, learnt(X, [0]))
    assert encoded.dtype == dtype
    assert not np.shares_memory(encoded, X)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("build", [*OF_WORDS.values()], ids=OF_WORDS)
def test_input_stays_as_it_was(build):
    X, untouched = build(WORDS), build(WORDS)
    make(DecisionTreeClassifier, categorical_features=[0]).fit(X, TARGET).predict(X)
    if isinstance(X, pd.DataFrame):
        pd.testing.assert_frame_equal(X, untouched)
    elif isinstance(X, np.ndarray | list):
        assert repr(X) == repr(untouched)
    else:
        assert X.equals(untouched)


def test_blocks_of_rows():
    values = np.random.default_rng(0).integers(0, 200, 5000)
    X = pd.DataFrame({"c": pd.Categorical(values), "x": values / 7})
    encoded = encoded_by(learnt(X), X)
    np.testing.assert_array_equal(encoded[:, 0], np.unique(values, return_inverse=True)[1])
    np.testing.assert_array_equal(encoded[:, 1], values / 7)
    assert encoded.flags.c_contiguous


# Estimators


@ALL
@LIBRARIES
def test_fit_and_predict(kind, library):
    X, y = mixed_frame(library), [0, 1, 0, 1, 1]
    model = make(kind, bootstrap=False) if kind in FORESTS else make(kind)
    model.fit(X, y)
    assert model.is_categorical_.tolist() == [False, True, False, False]
    assert model.is_ordinal_.tolist() == [False, False, False, True]
    assert model.is_categorical_.dtype == model.is_ordinal_.dtype == bool
    assert [None if labels is None else labels.tolist() for labels in model.categories_] == [None, ["x", "y"], None, LEVELS]
    assert model.feature_names_in_.tolist() == ["real", "word", "whole", "size"]
    expected = model.predict(X)
    for other in (pd, pl, pa):
        np.testing.assert_array_equal(model.predict(mixed_frame(other)), expected)
    # Plain text where there were types of labels.
    text = mixed_frame(pd).astype({"word": object, "size": object})
    np.testing.assert_array_equal(model.predict(text), expected)
    assert model.apply(X).shape[0] == 5
    assert model.score(X, y) > 0
    if kind in FORESTS:
        for tree in model.estimators_:
            assert tree._features is model._features
            assert tree.is_categorical_ is model.is_categorical_
            assert tree.is_ordinal_ is model.is_ordinal_
            assert tree.categories_ is model.categories_
        np.testing.assert_allclose(model.estimators_[0].predict(X), model.estimators_[0].predict(text))


@ALL
def test_arrays_of_labels(kind):
    X = np.array([["a", 1.5], ["b", None], [None, 2.5], ["c", 0.5]] * 4, object)
    y = [0, 1, 0, 1] * 4
    ours = make(kind, categorical_features=[0]).fit(X, y)
    plain = np.c_[numbers(X[:, 0], "abc"), X[:, 1].astype(float)]
    by_list = make(kind, categorical_features=[True, False]).fit(X.tolist(), y)
    by_number = make(kind, categorical_features=[0]).fit(plain, y)
    for other in (by_list, by_number):
        assert_same(ours, other)
    np.testing.assert_array_equal(ours.predict(X), by_number.predict(plain))
    np.testing.assert_array_equal(ours.predict([["new", 1.5]]), ours.predict([[None, 1.5]]))


@ALL
def test_without_labels_the_attributes_say_so(kind):
    model = make(kind).fit(np.eye(3), [0, 1, 1])
    assert model.is_categorical_.tolist() == model.is_ordinal_.tolist() == [False] * 3
    assert model.categories_ == [None] * 3


@ALL
def test_categories_of_rows_without_weight_are_left_out(kind):
    words = np.array(["d", "a", "c", "b", None, "c"] * 4, object)
    X, y = pd.DataFrame({"c": pd.Categorical(words), "s": pd.Categorical(words, ["d", "c", "b", "a"], ordered=True)}), [0, 1] * 12
    weight = np.isin(words, ["d", "b", None]).astype(float)
    whole = make(kind).fit(X, y, weight)
    part = make(kind).fit(X[weight > 0], np.array(y)[weight > 0], weight[weight > 0])
    assert whole.categories_[0].tolist() == part.categories_[0].tolist() == ["b", "d"]
    assert whole.categories_[1].tolist() == ["d", "c", "b", "a"]
    assert_same(whole, part)
    np.testing.assert_array_equal(whole.predict(X), part.predict(X))


def test_categories_of_classes_without_weight_are_left_out():
    X = pd.DataFrame({"c": pd.Categorical(["a", "b", "c", "a"])})
    model = DecisionTreeClassifier(class_weight={1: 0}).fit(X, [0, 1, 0, 0])
    assert model.categories_[0].tolist() == ["a", "c"]


# Prediction with other columns


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@LIBRARIES
def test_names_and_number_come_before_contents(library):
    model = make(DecisionTreeClassifier).fit(mixed_frame(library), [0, 1, 0, 1, 1])
    frame = mixed_frame(pd)
    for other in (frame[["word", "real", "whole", "size"]], frame.rename(columns={"word": "Word"}), frame[["real", "word"]]):
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            model.predict(other)
    with pytest.raises(ValueError, match="X has 2 features, but DecisionTreeClassifier is expecting 4"):
        model.predict([[1.0, "x"]])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(np.zeros(4))
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict([1.0, "x", 2, "S"])
    with pytest.raises(ValueError, match="X column 'real' holds the text 'x'; allowed are numbers"):
        model.predict(frame.assign(real="x"))


def test_dictionaries_of_numbers_keep_their_nulls():
    """They are decoded even where nothing is a label."""
    X = pa.table({"c": dictionary([10, 20, None, 20]), "x": [1, 2, 3, None]})
    expected = [[10, 1], [20, 2], [np.nan, 3], [20, np.nan]]
    for choice in (None, [], [1]):
        encoded = checked(X, learnt(X, choice, None))
        np.testing.assert_array_equal(encoded[:, 0], np.array(expected)[:, 0])
    np.testing.assert_array_equal(checked(X, learnt(X, None, None)), expected)


# Warm start


@pytest.mark.parametrize("kind", FORESTS)
def test_warm_start_keeps_the_first_features(kind):
    words = ["d", "a", "c", "b", None, "c"] * 4
    X, y = pd.DataFrame({"c": pd.Categorical(words), "s": pd.Categorical(words, list("dcba"), ordered=True)}), [0, 1] * 12
    model = make(kind, warm_start=True).fit(X, y)
    first = model._features
    # Other categories and another order in the type, and a label that only rows of weight 0 have.
    fewer = {"c": pd.Categorical(["new", "c", "b"] * 8), "s": pd.Categorical(["a", "d", "b"] * 8, list("bda"), ordered=True)}
    weight = np.array([0.0, 1.0, 1.0] * 8)
    model.set_params(n_estimators=5).fit(pd.DataFrame(fewer), y, weight)
    assert model._features.categories is first.categories
    assert model.categories_[0].tolist() == ["a", "b", "c", "d"]
    assert model.forest_.n_trees == 5
    expected = np.c_[[np.nan, 2.0, 1.0] * 8, [3.0, 0.0, 2.0] * 8]
    np.testing.assert_array_equal(encoded_by(model._features, pd.DataFrame(fewer)), expected)
    # The last trees are those grown on these numbers.
    plain = make(kind, warm_start=True, categorical_features=[0], ordinal_features=[1]).fit(encoded_by(first, X), y)
    plain.set_params(n_estimators=5).fit(expected, y, weight)
    assert_same(model, plain)


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c": pd.Categorical(["new", "a"] * 4)}, "'c' holds 'new', but warm_start=True goes on with trees grown on 'a', 'b'"),
        ({"c": [1, 2] * 4}, "'c' is continuous, but warm_start=True goes on with trees grown on it as categorical"),
        ({"c": pd.Categorical(["a", "b"] * 4, ordered=True)}, "'c' is ordinal, but"),
        ({"s": pd.Categorical(["S", "XXL"] * 4, ["S", "XXL"], ordered=True)}, "'s' holds 'XXL', but .* on 'S', 'M', 'L', 'XL'"),
        ({"s": pd.Categorical(["S", "L"] * 4)}, "'s' is categorical, but"),
        ({"s": pd.Categorical([1, 2] * 4, ordered=True)}, "'s' holds numbers, but .* grown on levels"),
        ({"x": pd.Categorical([1, 2] * 4, ordered=True)}, "'x' is ordinal, but .* as continuous"),
    ],
)
def test_warm_start_with_other_features(kind, change, message):
    sizes = pd.Categorical(["S", "L"] * 4, LEVELS, ordered=True)
    X = pd.DataFrame({"c": pd.Categorical(["a", "b"] * 4), "s": sizes, "x": np.arange(8.0)})
    model = make(kind, warm_start=True).fit(X, TARGET)
    before = dict(vars(model))
    model.set_params(n_estimators=5)
    with pytest.raises(ValueError, match=f"X column {message}"):
        model.fit(X.assign(**change), TARGET)
    assert dict(vars(model)) == before | {"n_estimators": 5}


# Frames of sparse columns


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("float32", 0), ("float32", np.nan), ("float32", 2), ("float64", 0), ("float64", np.nan), ("int16", 0), ("bool", False)],
)
@ALL
def test_frames_of_sparse_columns(kind, dtype, fill):
    """Whatever value they leave out: the trees are those of dense columns, of float32 too."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2 if dtype == "bool" else 4, (40, 3)).astype(dtype)
    y = np.arange(40) % 3
    dense = pd.DataFrame(values, columns=list("abc"))
    sparse = dense.astype(pd.SparseDtype(dtype, fill))
    model, expected = make(kind).fit(sparse, y), make(kind).fit(dense, y)
    assert_same(model, expected)
    assert np.array_equal(model.predict(sparse), expected.predict(dense))
    assert np.array_equal(model.apply(sparse), expected.apply(dense))
    labelled = make(kind, categorical_features=["b"]).fit(sparse, y), make(kind, categorical_features=["b"]).fit(dense, y)
    assert np.array_equal(labelled[0].predict(sparse), labelled[1].predict(dense))


def test_a_frame_of_sparse_columns_is_checked():
    sparse = pd.DataFrame({"a": [1, 2**53 + 1]}).astype(pd.SparseDtype("int64", 0))
    with pytest.raises(ValueError, match="X column 'a' holds the integer 9007199254740993"):
        DecisionTreeClassifier().fit(sparse, [0, 1])
    model = DecisionTreeClassifier().fit(pd.DataFrame({"a": [1, 2]}), [0, 1])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame({"b": [1, 2]}).astype(pd.SparseDtype("int64", 0)))
