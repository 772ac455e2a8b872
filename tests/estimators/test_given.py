"""What users pass is read exactly: masked cells, NA and NaN are missing, and labels keep their type and their value."""

import decimal
import inspect
from collections.abc import Iterator

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.kinds import OF_TREES
from numpy.testing import assert_array_equal

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRanker,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    check_table,
    config_context,
)
from dforest.estimators.data.given import given_values
from dforest.estimators.data.tables import exact_values, given_rows, read_table
from dforest.estimators.kinds import CausalTrees, RankingTrees, SurvivalTrees, UpliftTrees
from dforest.spmd.threads import ThreadGroup

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 3))
IS_MASKED = RNG.random(X.shape) < 0.2
HOLES = np.where(IS_MASKED, np.nan, X)
MASKED = np.ma.masked_array(np.where(IS_MASKED, -9999.0, X), IS_MASKED)
CLASSES = (X[:, 0] > 0).astype(np.int64)
LARGE = 2**60 + CLASSES
NO_VALUE = "Input {} contains NaN, or has no value: .* in row 3; every row needs a value"


def with_mask(values):
    return np.ma.masked_array(values, np.arange(len(values)) == 3)


def quiet(kind, **parameters):
    counts = {name: n for name, n in {"max_iter": 3, "n_estimators": 8}.items() if name in kind._parameter_constraints}
    return kind(random_state=0, **(counts | parameters))


ALL = pytest.mark.parametrize("kind", [OF_TREES[name] for name in sorted(OF_TREES)])


def given_to(kind, y=CLASSES):
    """(y, other arguments of `fit`) of an estimator, for the rows of X."""
    if issubclass(kind, SurvivalTrees):
        return np.c_[CLASSES, np.abs(X[:, 1]) + 0.1], {}
    if issubclass(kind, CausalTrees | UpliftTrees):
        return y, {"treatment": np.arange(N) % 2}
    return y, {"qid": np.arange(N) // 6} if issubclass(kind, RankingTrees) else {}


def told(found):
    """What an answer says, to be compared."""
    if hasattr(found, "toarray"):
        found = found.toarray()
    if isinstance(found, np.ndarray) and found.dtype != object:
        return found.dtype, found.shape, found.tobytes()
    if isinstance(found, dict):
        return {name: told(part) for name, part in found.items()}
    return list(map(told, found)) if isinstance(found, list | tuple | Iterator) else repr(found)


@ALL
@pytest.mark.filterwarnings("ignore")
def test_masked_cells_are_missing_values_in_all_methods(kind):
    known, (y, queries) = kind._parameter_constraints, given_to(kind)
    parameters = {"keep_training_data": True, "bootstrap": True, "oob_score": True}
    if kind is not IsolationForest:
        parameters = {name: value for name, value in parameters.items() if name in known}
    else:
        parameters = {}
    plain, masked = (quiet(kind, **parameters).fit(rows, y, **queries) for rows in (HOLES, MASKED))
    arguments = {"y": y, "q": 0.5, "features": [0], "quantiles": [0.5], "random_state": 0, "inplace": False} | queries
    asked = []
    for name in dir(kind):
        method = getattr(kind, name)
        if name.startswith(("_", "fit", "set_", "report", "estimate_memory")) or not inspect.isfunction(method):
            continue
        takes = inspect.signature(method).parameters
        if "X" not in takes:
            continue
        given, found = {name: value for name, value in arguments.items() if name in takes}, []
        for model, rows in ((plain, HOLES), (plain, MASKED), (masked, MASKED)):
            try:
                found.append(told(getattr(model, name)(rows, **given)))
            except ValueError as error:
                found.append(str(error))
        assert found[0] == found[1] == found[2], name
        asked.append(name)
    assert asked


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.ma.masked_array([[1, 2]], [[False, True]]), np.array([[1.0, np.nan]])),
        (np.ma.masked_array([[1, 2]], [[False, True]], np.uint8), np.array([[1.0, np.nan]])),
        (np.ma.masked_array([[2**60 + 1, 2]], [[False, True]]), np.array([[2**60 + 1, None]], object)),
        (np.ma.masked_array([[True, True]], [[False, True]]), np.array([[True, None]], object)),
        (np.ma.masked_array([["a", "b"]], [[False, True]]), np.array([["a", None]], object)),
        (np.ma.masked_array([[1, 2]], False), np.array([[1, 2]])),
        ([np.ma.masked_array([1.5, 2], [False, True])] * 2, np.array([[1.5, np.nan]] * 2)),
    ],
)
def test_masked_rows(X, expected):
    found = given_rows(X)
    assert type(found) is np.ndarray and found.dtype == expected.dtype
    assert_array_equal(found, expected)


def test_masked_columns_of_labels():
    labels = np.ma.masked_array(np.array(["a", "b", "c"])[RNG.integers(0, 3, (N, 1))], np.arange(N)[:, None] < 9)
    plain = np.ma.getdata(labels).astype(object)
    plain[:9] = None
    ours, other = (quiet(RandomForestClassifier, categorical_features=[0]).fit(rows, CLASSES) for rows in (labels, plain))
    assert_array_equal(ours.predict_proba(labels), other.predict_proba(plain))
    assert ours.categories_[0].tolist() == ["a", "b", "c"]


def test_predictors_refuse_masked_arrays():
    predictor = quiet(RandomForestClassifier).fit(X, CLASSES).predictor()
    with pytest.raises(TypeError, match="X is a masked array; allowed are arrays with NaN"):
        predictor.predict(MASKED)


def test_masked_tables_are_checked():
    table = np.ma.masked_array(X.copy(), False)
    table[:, 1] = np.ma.masked
    assert "missing" in str(check_table(table, CLASSES))


def test_ranks_take_masked_rows():
    whole = quiet(RandomForestClassifier).fit(HOLES, CLASSES)

    def fit(communicator):
        own = slice(0, 30) if communicator.rank == 0 else slice(30, N)
        with config_context(communicator=communicator):
            return quiet(RandomForestClassifier).fit(MASKED[own], CLASSES[own])

    for model in ThreadGroup(2).run(fit):
        assert_array_equal(model.predict_proba(MASKED), whole.predict_proba(HOLES))


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, HistGradientBoostingRegressor])
@pytest.mark.parametrize(
    "hole",
    [
        with_mask,
        lambda values: pd.Series(values, dtype="Int64").where(np.arange(N) != 3),
        lambda values: pa.array([None if i == 3 else value for i, value in enumerate(values.tolist())]),
        lambda values: pl.Series([None if i == 3 else value for i, value in enumerate(values.tolist())]),
        lambda values: [None if i == 3 else value for i, value in enumerate(values.tolist())],
        lambda values: np.where(np.arange(N) == 3, pd.NA, values.astype(object)),
        lambda values: np.where(np.arange(N) == 3, np.nan, values),
    ],
    ids=["masked", "pandas", "pyarrow", "polars", "list", "NA", "NaN"],
)
def test_values_that_are_missing(kind, hole):
    model = quiet(kind)
    with pytest.raises(ValueError, match=NO_VALUE.format("y")):
        model.fit(X, hole(CLASSES))
    with pytest.raises(ValueError, match=NO_VALUE.format("sample_weight")):
        model.fit(X, CLASSES, sample_weight=hole(CLASSES + 1))
    assert not hasattr(model, "forest_")
    model.fit(X, CLASSES)
    with pytest.raises(ValueError, match=NO_VALUE.format("y")):
        model.score(X, hole(CLASSES))
    with pytest.raises(ValueError, match=NO_VALUE.format("sample_weight")):
        model.score(X, CLASSES, hole(CLASSES))
    if kind is HistGradientBoostingRegressor:
        with pytest.raises(ValueError, match=NO_VALUE.format("offset")):
            model.fit(X, CLASSES, offset=hole(CLASSES))
    elif kind is RandomForestClassifier:
        with pytest.raises(ValueError, match=NO_VALUE.format("groups")):
            model.set_params(bootstrap="group").fit(X, CLASSES, groups=hole(CLASSES))


def test_queries_that_are_missing():
    with pytest.raises(ValueError, match=NO_VALUE.format("qid")):
        quiet(HistGradientBoostingRanker).fit(X, CLASSES, qid=with_mask(np.arange(N) // 6))
    with pytest.raises(ValueError, match=NO_VALUE.format("group")):
        quiet(HistGradientBoostingRanker).fit(X, CLASSES, group=with_mask(np.full(6, 10)))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier, HistGradientBoostingClassifier])
@pytest.mark.parametrize("hole", [float("nan"), None, pd.NA, pd.NaT])
def test_lists_of_text_have_no_class_for_missing_labels(kind, hole):
    labels = ["a", "b", "b", hole] * (N // 4)
    objects = np.array(labels, object)
    for y in (labels, tuple(labels), objects, pd.Series(objects), pd.Series(objects, dtype="string")):
        with pytest.raises(ValueError, match=NO_VALUE.format("y")):
            quiet(kind).fit(X, y)


@pytest.mark.parametrize("kind", [RandomForestClassifier, HistGradientBoostingClassifier])
@pytest.mark.parametrize(
    "given",
    [
        lambda values: pd.Series(values, dtype="Int64"),
        lambda values: pd.Series(values, dtype="uint64[pyarrow]"),
        lambda values: pd.array(values, dtype="Int64"),
        lambda values: pd.Series(pd.Categorical(values)),
        lambda values: pd.DataFrame({"y": pd.Series(values, dtype="Int64")}),
        lambda values: pl.Series(values),
        lambda values: pa.chunked_array([values[:9], values[9:]]),
        lambda values: pa.array(values).dictionary_encode(),
        lambda values: values.tolist(),
    ],
)
def test_large_labels_are_told_apart(kind, given):
    y = given(LARGE)
    model = quiet(kind).fit(X, y)
    assert model.classes_.dtype.kind in "iu" and model.classes_.tolist() == [2**60, 2**60 + 1]
    assert model.predict(X).dtype.kind in "iu"
    assert model.score(X, y) == (model.predict(X) == LARGE).mean()


@pytest.mark.parametrize("missing", [None, np.nan])
def test_text_of_numpy_of_any_length(missing):
    y = np.array(["a", "b", "a"] * (N // 3), np.dtypes.StringDType(na_object=missing))
    assert quiet(RandomForestClassifier).fit(X, y).classes_.tolist() == ["a", "b"]
    y[3] = missing
    with pytest.raises(ValueError, match=NO_VALUE.format("y")):
        quiet(RandomForestClassifier).fit(X, y)


@pytest.mark.parametrize("dtype", [bool, "boolean", "bool[pyarrow]"])
def test_truth_values_stay_truth_values(dtype):
    y = pd.Series(CLASSES == 1, dtype=dtype)
    model = quiet(RandomForestClassifier).fit(X, y)
    assert model.classes_.dtype == bool and model.predict(X).dtype == bool


def test_large_groups_are_told_apart():
    groups = 2**60 + np.arange(N) // 5
    ours, other = (
        quiet(RandomForestClassifier, bootstrap="group").fit(X, CLASSES, groups=own)
        for own in (pd.Series(groups, dtype="Int64"), groups)
    )
    assert_array_equal(ours.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("kind", [RandomForestRegressor, HistGradientBoostingRegressor])
@pytest.mark.parametrize(
    "y",
    [
        pd.Series(LARGE + 1, dtype="Int64"),
        pd.Series(LARGE + 1, dtype="int64[pyarrow]"),
        (LARGE + 1).astype(object),
        (LARGE + 1).tolist(),
        [decimal.Decimal(value) for value in (LARGE + 1).tolist()],
        [*LARGE[1:].tolist(), 0.5],
    ],
)
def test_targets_that_floats_would_round(kind, y):
    with pytest.raises(ValueError, match="y holds the integer 11529215046068469.*would be rounded"):
        quiet(kind).fit(X, y)


@pytest.mark.parametrize("value", [2**60 + 1, decimal.Decimal(2**60 + 1), str(2**60 + 1)], ids=lambda value: type(value).__name__)
def test_columns_that_floats_would_round(value):
    columns = np.full((N, 1), value, object)
    for rows in (columns, pd.DataFrame(columns), columns.tolist(), pd.DataFrame({"a": pa.array([2**60 + 1] * N)})):
        with pytest.raises(ValueError, match="holds the integer 1152921504606846977; integers beyond"):
            quiet(RandomForestRegressor).fit(rows, CLASSES)


def test_text_of_large_numbers_that_are_no_integers():
    rows = pd.DataFrame({"a": np.where(CLASSES == 1, "1e300", "-2.5e17")})
    assert quiet(DecisionTreeClassifier).fit(rows, CLASSES).score(rows, CLASSES) == 1


@pytest.mark.parametrize("missing", [pd.NA, pd.NaT, np.ma.masked])
@pytest.mark.filterwarnings("ignore:.*converting a masked element")
def test_objects_without_a_value_are_missing(missing):
    values = [value if i % 3 else None for i, value in enumerate(X[:, 0].tolist())]
    other = np.fromiter((missing if value is None else value for value in values), object, N)
    plain = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    expected = quiet(HistGradientBoostingClassifier).fit(plain, CLASSES)
    for rows in (pd.DataFrame({"a": pd.Series(other, dtype=object)}), other[:, None], other[:, None].tolist()):
        model = quiet(HistGradientBoostingClassifier).fit(rows, CLASSES)
        assert_array_equal(model.predict_proba(rows), expected.predict_proba(plain))


Y_FRAMES = {
    "category and bool": (pd.Categorical(["u", "v"] * 30), np.array([True, False] * 30)),
    "category and Int64": (pd.Categorical(["u", "v"] * 30), pd.array([1, 2, 3] * 20, dtype="Int64")),
    "bool and int": (np.array([True, False] * 30), np.array([5, 6, 7] * 20)),
    "large and half": (2**60 + np.arange(N) % 2, np.arange(N) % 3),
    "text and text": (np.array(["a", "b"] * 30), np.array(["c", "d", "e"] * 20)),
}


@pytest.mark.parametrize("name", Y_FRAMES)
@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars"])
def test_frames_of_several_columns(name, library):
    parts = [np.asarray(part).tolist() for part in Y_FRAMES[name]]
    y = pd.DataFrame(dict(zip("ab", Y_FRAMES[name], strict=True)))
    if library != "pandas":
        y = {"pyarrow": pa.table, "polars": pl.DataFrame}[library](dict(zip("ab", parts, strict=True)))
    for kind in (RandomForestClassifier, DecisionTreeClassifier):
        model = quiet(kind).fit(np.arange(N)[:, None], y)
        for output, own in enumerate(parts):
            assert model.classes_[output].tolist() == sorted(set(own))
            assert {type(label) for label in model.classes_[output].tolist()} == {type(own[0])}
    assert model.predict(np.arange(N)[:, None]).T.tolist() == parts


FRAMES = pytest.mark.parametrize("make", [pa.table, pa.record_batch, pl.DataFrame, pd.DataFrame], ids=lambda make: make.__name__)


@ALL
@FRAMES
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_frames_of_all_libraries(kind, make):
    """X and y; names of columns are those of the frame."""
    rows, (y, queries) = make({name: HOLES[:, j] for j, name in enumerate("abc")}), given_to(kind)
    frame = make({"event": y[:, 0] == 1, "time": y[:, 1]}) if y.ndim == 2 else make({"y": y})
    ours, other = (quiet(kind).fit(*given, **queries) for given in ((rows, frame), (HOLES, y)))
    assert ours.feature_names_in_.tolist() == ["a", "b", "c"]
    for name in ("predict", "predict_proba", "transform", "score_samples"):
        if hasattr(ours, name):
            assert told(getattr(ours, name)(rows)) == told(getattr(other, name)(HOLES))


@FRAMES
def test_frames_of_several_targets(make):
    y = np.c_[X[:, 0], X[:, 1] ** 2]
    for kind in (RandomForestRegressor, DecisionTreeRegressor, HistGradientBoostingRegressor):
        ours, other = (quiet(kind).fit(X, given) for given in (make({"p": y[:, 0], "q": y[:, 1]}), y))
        assert told(ours.predict(X)) == told(other.predict(X))


def test_lists_that_numpy_would_change():
    assert given_values("y", ["a", "b"]).dtype.kind == "U"
    assert given_values("y", [1, "a"]).tolist() == [1, "a"]
    assert given_values("y", [2**60 + 1, 0.5]).tolist() == [2**60 + 1, 0.5]
    assert given_values("y", [(1, 2), (3, 4)]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="y holds labels of the types int, str"):
        quiet(RandomForestClassifier).fit(X, ["a", 1] * (N // 2))
    with pytest.raises(ValueError, match="groups holds labels of the types int, str"):
        quiet(RandomForestClassifier, bootstrap="group").fit(X, CLASSES, groups=["a", 1] * (N // 2))


def test_one_number_as_the_weight_of_all_rows():
    ours, other = (quiet(RandomForestClassifier).fit(X, CLASSES, weight).predict_proba(X) for weight in (2.0, None))
    assert_array_equal(ours, other)
    for weight in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Input sample_weight contains"):
            quiet(RandomForestClassifier).fit(X, CLASSES, weight)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(["a", None], dtype="category"), ["a", None]),
        (pd.Series([2**60 + 1, None], dtype="Int64"), [2**60 + 1, None]),
        (pd.Series(pd.arrays.SparseArray([0, 1])), [0, 1]),
        (pd.Series([decimal.Decimal(1)], dtype=pd.ArrowDtype(pa.decimal128(10, 0))), [decimal.Decimal(1)]),
        (pl.Series(["a", None], dtype=pl.Enum(["b", "a"])), ["a", None]),
        (pl.Series([True, False]), [True, False]),
        (pa.chunked_array([["a"], [None]]).dictionary_encode(), ["a", None]),
        (pa.array([2**60 + 1, None]), [2**60 + 1, None]),
        (pd.Index([1, 2]), [1, 2]),
    ],
)
def test_exact_values(column, expected):
    assert exact_values(column).tolist() == expected


def test_exact_columns_of_arrays():
    from scipy.sparse import csr_array

    for rows in (np.array([[1, 0], [2, 3]]), csr_array([[1, 0], [2, 3]])):
        assert read_table(rows).exact(1).tolist() == [0, 3]
