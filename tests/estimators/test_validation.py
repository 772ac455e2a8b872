"""Input of all kinds: what is taken as it is, and what is refused with a message that helps."""

import datetime
import decimal
import re
from numbers import Integral, Real

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.device_forests import same_forest
from scipy.sparse import csr_matrix
from sklearn.base import is_classifier
from sklearn.datasets import load_iris
from sklearn.utils._param_validation import InvalidParameterError

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraSurvivalTree,
    ExtraTreeRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
    RandomTreesEmbedding,
    SurvivalTree,
    config_context,
)  # fmt: skip
from dforest.estimators.data.given import check_number
from dforest.estimators.data.validation import count_features, count_samples
from dforest.sampling import RowSampling, SampledRows
from dforest.spmd.threads import ThreadGroup

TREES = [DecisionTreeClassifier, DecisionTreeRegressor]
FORESTS = [RandomForestClassifier, RandomForestRegressor]
CLASSIFIERS = [DecisionTreeClassifier, RandomForestClassifier]
REGRESSORS = [DecisionTreeRegressor, RandomForestRegressor]
ALL = TREES + FORESTS

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
BIG = 2**53 + 1


def make(kind, **parameters):
    if kind in FORESTS:
        parameters = {"n_estimators": 3, **parameters}
    return kind(random_state=0, **parameters)


# Frames


def to_pandas(X, names):
    return pd.DataFrame(X, columns=names)


def test_estimators_keep_feature_names():
    frame = to_pandas(X_IRIS, NAMES)
    model = make(RandomForestClassifier).fit(frame, Y_IRIS)
    assert model.estimators_[0].feature_names_in_.tolist() == NAMES
    assert model.estimators_[0].score(frame, Y_IRIS) > 0.8


@pytest.mark.parametrize("repeated", [["a", "a"], [0, 0]])
def test_columns_of_one_name_are_refused(repeated):
    with pytest.raises(ValueError, match=f"more than one column {repeated[0]!r}"):
        make(DecisionTreeClassifier).fit(pd.DataFrame(X_IRIS[:, :2], columns=repeated), Y_IRIS)


MIXED = {"whole": [1, 2, 3, 4], "real": [0.5, 0.1, np.nan, 3.0], "flag": [True, False, True, False]}
NULLS = {"whole": [1, 2, 3, None], "real": [0.5, None, 2.5, 3.0], "flag": [True, None, True, False]}
AS_FLOAT = {
    "mixed": [[1, 0.5, 1], [2, 0.1, 0], [3, np.nan, 1], [4, 3, 0]],
    "nulls": [[1, 0.5, 1], [2, np.nan, np.nan], [3, 2.5, 1], [np.nan, 3, 0]],
}


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pd.DataFrame(MIXED), "mixed"),
        (pl.DataFrame(MIXED, strict=False), "mixed"),
        (pd.DataFrame(NULLS).astype({"whole": "Int64", "real": "Float64", "flag": "boolean"}), "nulls"),
        (pd.DataFrame(NULLS).astype({"whole": "int16[pyarrow]", "real": "float[pyarrow]", "flag": "boolean"}), "nulls"),
        (pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in NULLS.items()}), "nulls"),
        (pl.DataFrame(NULLS), "nulls"),
        (pa.table(NULLS), "nulls"),
    ],
    ids=["pandas", "polars", "pandas nullable", "pandas arrow", "pandas objects", "polars nulls", "pyarrow nulls"],
)
def test_mixed_columns_and_nulls(kind, frame, expected):
    y = [0, 1, 2, 3]
    array = np.array(AS_FLOAT[expected])
    ours, plain = make(kind).fit(frame, y), make(kind).fit(array, y)
    assert same_forest(ours, plain)
    np.testing.assert_array_equal(ours.predict(frame), plain.predict(array))


def test_narrow_columns_of_a_frame_stay_exact():
    # float32 beside integers that float32 cannot hold
    whole, real = np.array([2**24, 2**24 + 1], np.int32), np.array([0.5, 0.5], np.float32)
    for frame in (pd.DataFrame({"a": whole, "b": real}), pl.DataFrame({"a": whole, "b": real})):
        assert make(DecisionTreeClassifier).fit(frame, [0, 1]).predict(frame).tolist() == [0, 1]


# Exactness of numbers


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1, BIG], [2, 3]]),
        np.array([[1, -BIG], [2, 3]]),
        np.array([[1, 2**63], [2, 3]], np.uint64),
        np.array([[1, BIG], [2, 3]], ">i8"),
        np.array([[1, BIG], [2, 0.5]], object),
        [[1, BIG], [2, 0.5]],
        pd.DataFrame({"a": [0.5, 1.5], "1": [1, BIG]}),
        pd.DataFrame({"a": [0.5, 1.5], "1": pd.array([None, BIG], "Int64")}),
        pd.DataFrame({"a": [0.5, 1.5], "1": pd.array([None, BIG], "int64[pyarrow]")}),
        pl.DataFrame({"a": [0.5, 1.5], "1": [1, BIG]}),
        pl.DataFrame({"a": [0.5, 1.5], "1": [None, BIG]}),
        pa.table({"a": [0.5, 1.5], "1": [None, BIG]}),
    ],
    ids=lambda X: type(X).__name__,
)
def test_integers_that_float64_would_round_are_refused(X):
    with pytest.raises(ValueError, match=r"X column '?1'? holds the integer -?\d+; integers beyond 2\*\*53"):
        make(DecisionTreeClassifier).fit(X, [0, 1])


def test_integers_are_checked_at_predict_too():
    model = make(DecisionTreeClassifier).fit([[1], [2]], [0, 1])
    with pytest.raises(ValueError, match=f"X column 0 holds the integer {BIG}"):
        model.predict(np.array([[BIG]]))
    assert model.predict(np.array([[2**53], [-(2**53)]])).tolist() == [1, 0]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here")
def test_long_doubles():
    third = np.longdouble(1) / 3
    with pytest.raises(ValueError, match="X column 1 holds .*, which float64 would round"):
        make(DecisionTreeClassifier).fit(np.array([[1, third], [2, 2]], np.longdouble), [0, 1])
    X = np.array([[0.5], [np.nan], [np.inf]], np.longdouble)
    assert make(DecisionTreeClassifier).fit(X, [0, 1, 2]).predict(X).tolist() == [0, 1, 2]


# Things that are no numbers


@pytest.mark.parametrize(
    ("X", "column", "value"),
    [
        (np.array([[1, "red"], [2, "blue"]], object), "1", "'red'"),
        (np.array([["1", "2"], ["3", "red"]]), "1", "'red'"),
        ([[1, 2], [3, "red"]], "1", "'red'"),
        (pd.DataFrame({"size": [1, 2], "colour": ["red", "blue"]}), "'colour'", "'red'"),
        (pl.DataFrame({"size": [1, 2], "colour": ["red", None]}), "'colour'", "'red'"),
        (pa.table({"size": [1, 2], "colour": ["red", None]}), "'colour'", "'red'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_text_is_refused_by_column_and_value(X, column, value):
    for call in (
        lambda: make(RandomForestClassifier).fit(X, [0, 1]),
        lambda: make(DecisionTreeRegressor).fit([[1, 2], [3, 4]], [0, 1]).predict(np.asarray(X)),
    ):
        with pytest.raises(ValueError, match=r"X column .* holds .*; allowed are numbers, .*\"auto\"") as caught:
            call()
        assert value in str(caught.value)
    with pytest.raises(ValueError, match=f"X column {column} holds .*{value}"):
        make(RandomForestClassifier).fit(X, [0, 1])


@pytest.mark.parametrize(
    "X",
    [
        np.array([["2020-01-01"], ["NaT"]], "M8[D]"),
        np.array([[1], [2]], "m8[s]"),
        pd.DataFrame({"0": pd.to_datetime(["2020-01-01", None])}),
        pl.DataFrame({"0": [datetime.date(2020, 1, 1), None]}),
    ],
)
def test_times_are_refused(X):
    with pytest.raises(ValueError, match=r"X column '?0'? holds values of type .*; allowed are numbers"):
        make(DecisionTreeClassifier).fit(X, [0, 1])


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match=r"X column 1 holds {} \(.*\); allowed are numbers"):
        make(DecisionTreeClassifier).fit(np.array([[1, {}], [2, 2]], object), [0, 1])


def test_objects_that_are_numbers_are_taken():
    X = np.array([[1, decimal.Decimal("0.5")], [np.float32(2), None], [True, np.int8(3)]], object)
    plain = np.array([[1, 0.5], [2, np.nan], [1, 3]])
    y = [0, 1, 2]
    assert same_forest(make(DecisionTreeClassifier).fit(X, y), make(DecisionTreeClassifier).fit(plain, y))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros((0, 2)), ValueError, "0 sample"),
        (np.zeros((2, 0)), ValueError, "0 feature"),
        (np.zeros(2), ValueError, "Expected 2D array, got 1D array"),
        (np.zeros((2, 2, 2)), ValueError, "Expected 2D array, got 3D array"),
        (np.zeros((2, 2), complex), ValueError, "Complex data not supported"),
        (csr_matrix((2, 0)), ValueError, "0 feature"),
        (np.zeros((3, 2)), ValueError, r"inconsistent numbers of samples: \[3, 2\]"),
    ],
)
@pytest.mark.parametrize("kind", ALL)
def test_shape_and_type_of_X(kind, X, error, message):
    with pytest.raises(error, match=message):
        make(kind).fit(X, [0, 1])


# Targets


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_targets_must_be_finite(kind, value):
    y = np.where(Y_IRIS == 1, value, 0.0)
    with pytest.raises(ValueError, match="Input y contains " + ("NaN" if np.isnan(value) else "infinity")):
        make(kind).fit(X_IRIS, y)


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([1.0, None], object), "Input y contains NaN"),
        (["1", "2"], "y holds '1'; allowed are finite numbers"),
        (np.array([1, 2], "M8[D]"), "y holds .*; allowed are finite numbers"),
        ([1, BIG], f"y holds the integer {BIG}; integers beyond"),
        ([[[1, 2]], [[3, 4]]], "dim|axis"),
    ],
)
def test_targets_must_be_numbers(kind, y, message):
    with pytest.raises(ValueError, match=message):
        make(kind).fit([[1.0], [2.0]], y)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.5], "Unknown label type: continuous"),
        (np.array(["a", np.nan], object), "Input y contains NaN"),
        (np.array(["a", None], object), "None in row 1; every row needs a value"),
        (np.array(["a", 1], object), "y holds labels of the types int, str"),
        ([[[0, 1]], [[1, 0]]], "dim|axis"),
        (None, "requires y"),
    ],
)
def test_classes_must_be_classes(kind, y, message):
    with pytest.raises(ValueError, match=message):
        make(kind).fit([[1.0], [2.0]], y)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("value", [0, 7, -3.0])
def test_one_class_or_a_constant_target_gives_a_root(kind, value):
    model = make(kind).fit(X_IRIS, np.full(150, value))
    assert (model.forest_.feature == -1).all()
    assert len(model.forest_.feature) == (1 if kind in TREES else 3)
    np.testing.assert_array_equal(model.predict(X_IRIS), np.full(150, value))
    assert not model.feature_importances_.any()
    if is_classifier(model):
        assert model.predict_proba(X_IRIS).tolist() == [[1.0]] * 150


# Weights


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.where(Y_IRIS == 1, -0.5, 1), r"Negative values in data passed to `sample_weight`: got -0\.5; allowed are"),
        (np.zeros(150), "Sample weights must contain at least one non-zero number"),
        (np.where(Y_IRIS == 1, np.nan, 1), "sample_weight contains NaN"),
        (np.where(Y_IRIS == 1, np.inf, 1), "sample_weight contains infinity"),
        (np.ones(149), r"sample_weight.shape == \(149,\), expected \(150,\)"),
        (np.ones((150, 2)), "Sample weights must be 1D"),
    ],
)
def test_sample_weights(kind, weight, message):
    with pytest.raises(ValueError, match=message):
        make(kind).fit(X_IRIS, Y_IRIS, weight)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({3: 1.0}, r"class_weight names the class 3, but not 0; the classes are \[0, 1, 2\]"),
        ({"a": 1.0}, "class_weight names the class 'a'"),
        ({1: -2}, "class_weight gives the class 1 -2; allowed are finite numbers from 0"),
        ({1: np.nan}, "class_weight gives the class 1 nan"),
        ({1: np.inf}, "class_weight gives the class 1 inf"),
        ({1: "heavy"}, "class_weight gives the class 1 'heavy'"),
        ([{0: 1.0}], "class_weight is a list, which is for several outputs; y has one column"),
        ({0: 0, 1: 0, 2: 0}, "`class_weight` is zero for the classes of all rows"),
    ],
)
def test_class_weights(kind, class_weight, message):
    with pytest.raises(ValueError, match=message):
        make(kind, class_weight=class_weight).fit(X_IRIS, Y_IRIS)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_class_weights_of_classes_that_rows_lack(kind):
    """They change nothing, if all classes that there are have one; their factors are checked all the same."""
    some = Y_IRIS < 2
    X, y, outputs = X_IRIS[some], Y_IRIS[some], np.stack([Y_IRIS[some], 1 - Y_IRIS[some]], axis=1)
    few, more = {0: 1.0, 1: 3.0}, {0: 1.0, 1: 3.0, 2: 9.0, "other": 5.0}
    assert same_forest(make(kind, class_weight=more).fit(X, y), make(kind, class_weight=few).fit(X, y))
    assert same_forest(*(make(kind, class_weight=[one, one]).fit(X, outputs) for one in (more, few)))
    with pytest.raises(ValueError, match="class_weight gives the class 2 -1"):
        make(kind, class_weight={0: 1.0, 1: 3.0, 2: -1}).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight names the class 'other', but not 1; the classes are \[0, 1\]"):
        make(kind, class_weight={0: 1.0, "other": 5.0}).fit(X, y)


@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_class_weight_times_sample_weight_out_of_range(factor):
    with pytest.raises(ValueError, match="`class_weight` times `sample_weight` is beyond the range of float64"):
        make(DecisionTreeClassifier, class_weight={1: factor}).fit(X_IRIS, Y_IRIS, np.full(150, factor))


# Parameters


def test_names_there_are_are_listed_in_order():
    names = """one of "squared_error", "absolute_error", "poisson", "friedman_mse" \\(deprecated\\), an instance of .*Criterion"""
    with pytest.raises(InvalidParameterError, match=names + ".* a subclass of dforest.criterion.Criterion. Got 'mse' instead"):
        RandomForestRegressor(criterion="mse").fit(X_IRIS, Y_IRIS)
    with pytest.raises(InvalidParameterError, match='must be one of "gini", "entropy", "log_loss", "hellinger", an instance'):
        RandomForestClassifier(criterion="mse").fit(X_IRIS, Y_IRIS)
    with pytest.raises(InvalidParameterError, match='must be one of "best", "random", an instance'):
        RandomForestClassifier(splitter="exact").fit(X_IRIS, Y_IRIS)


def test_words_of_scikit_learn_s_messages():
    """Users and other projects' tests look for them."""
    for y, words in {
        (-1.0, 2.0): "Some value(s) of y are negative which is not allowed for Poisson regression.",
        (0.0, 0.0): "Sum of y is not strictly positive which is necessary for Poisson regression.",
    }.items():
        with pytest.raises(ValueError, match=re.escape(words)):
            RandomForestRegressor(criterion="poisson").fit([[0], [1]], y)
    words = "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set `max_sample=None`."
    with pytest.raises(ValueError, match=re.escape(words)):
        RandomForestRegressor(max_samples=0.5, bootstrap=False).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("kind", [RandomForestRegressor, DecisionTreeRegressor])
def test_friedman_mse_is_deprecated(kind):
    with pytest.warns(FutureWarning, match='criterion="friedman_mse" is deprecated') as caught:
        model = kind(criterion="friedman_mse")
    assert caught[0].filename == __file__
    assert model.criterion == "squared_error"


@pytest.mark.parametrize("kind", ALL)
def test_more_features_than_there_are(kind):
    """All are tried, as in scikit-learn."""
    models = [make(kind, max_features=n, max_depth=3).fit(X_IRIS, Y_IRIS) for n in (4, 5, 10**30)]
    assert all(same_forest(models[0], other) for other in models[1:])


@pytest.mark.parametrize("kind", FORESTS)
def test_max_samples_needs_bootstrap(kind):
    with pytest.raises(ValueError, match="max_samples=0.5 needs bootstrap=True"):
        make(kind, max_samples=0.5, bootstrap=False).fit(X_IRIS, Y_IRIS)


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("max_samples", [1e300, 2**70, 2**32, 3e7])
def test_more_draws_than_can_be_counted(kind, max_samples):
    model = make(kind).fit(X_IRIS, Y_IRIS)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="max_samples=.* is too much for 150 rows; allowed are up to 4294967295 draws"):
        model.set_params(max_samples=max_samples).fit(X_IRIS, Y_IRIS)
    assert {**vars(model), "max_samples": None} == before


@pytest.mark.parametrize("kind", FORESTS)
def test_more_threads_than_can_be_numbered(kind):
    with pytest.raises(ValueError, match="n_jobs=1099511627776 means .* threads; allowed are up to 2147483647"):
        make(kind, n_jobs=2**40).fit(X_IRIS, Y_IRIS)


@pytest.mark.parametrize("kind", ALL)
def test_more_leaves_than_rows_is_no_limit(kind):
    models = [make(kind, max_leaf_nodes=n).fit(X_IRIS, Y_IRIS) for n in (len(X_IRIS), 2**31, 2**70)]
    assert len(models[0].forest_.feature) > 10
    assert all(same_forest(models[0], other) for other in models[1:])
    # A tree of one row has one leaf.
    assert len(make(kind, max_leaf_nodes=2**70).fit(X_IRIS[:1], Y_IRIS[:1]).forest_.feature) == (3 if kind in FORESTS else 1)


@pytest.mark.parametrize("kind", ALL)
def test_limits_above_the_rows(kind):
    """Trees are roots, as in scikit-learn."""
    for name in ("min_samples_split", "min_samples_leaf"):
        for limit in (151, 2**62, 10**30):
            assert (make(kind, **{name: limit}).fit(X_IRIS, Y_IRIS).forest_.feature == -1).all()
    for name in ("min_samples_split", "min_samples_leaf"):
        assert make(kind, **{name: 30}).fit(X_IRIS, Y_IRIS).forest_.feature[0] >= 0


@pytest.mark.parametrize("limit", [5, 0.9])
def test_trees_of_fewer_draws_than_a_leaf_may_have_are_roots(limit):
    """As searches over folds come upon, and survival forests of few rows with their defaults."""
    X, y, time = [[0], [1], [2], [3]], [0.0, 1.0, 2.0, 3.0], [(1, 1.0), (0, 2.0), (1, 3.0), (1, 4.0)]
    for kind in (
        ExtraTreesRegressor,
        ExtraTreeRegressor,
        RandomTreesEmbedding,
        RandomForestRegressor,
        RandomSurvivalForest,
        SurvivalTree,
        ExtraSurvivalTree,
    ):
        model = kind(min_samples_leaf=limit).fit(X, time if "Survival" in kind.__name__ else y)
        assert (model.forest_.feature == -1).all(), kind

    def fit(rank):
        with config_context(communicator=rank):
            return RandomForestRegressor(3, min_samples_leaf=limit, random_state=0).fit(X[rank.rank :: 2], y[rank.rank :: 2])

    for model in ThreadGroup(2).run(fit):
        assert (model.forest_.feature == -1).all()


def test_numbers_of_things():
    assert [count_features(f, 10) for f in (None, "sqrt", "log2", 1.0, 0.25, 0.01, 7)] == [10, 3, 3, 10, 2, 1, 7]
    assert [count_features(f, 1) for f in (None, "sqrt", "log2", 0.5)] == [1, 1, 1, 1]
    rows = SampledRows(10, None, None, None, None, None)
    plans = [RowSampling().plan(rows._replace(max_samples=d)) for d in (None, 0.5, 0.26, 0.01, 1.0, 4, 1.5)]
    assert [plan.n_draws for plan in plans] == [10, 5, 3, 1, 10, 4, 15]
    assert [count_samples(s, 10, 2) for s in (2, 0.5, 0.51, 0.01, 1.0, 11, 99)] == [2, 5, 6, 2, 10, 11, 99]


# Predicting


def test_numbers_are_those_of_python():
    """NumPy's numbers of few bits overflow, and round, in arithmetic with others."""
    for value in (np.int8(3), np.uint64(3), np.float16(0.5), np.float32(0.5), 3, 0.5):
        kind = Integral if value == 3 else Real
        found = check_number("n", value, kind, "numbers", lambda n: n > 0)
        assert found == value and type(found) is (int if kind is Integral else float)
    with pytest.raises(ValueError, match="n=nan; allowed are numbers"):
        check_number("n", np.float32("nan"), Real, "numbers", lambda n: n > 0)
