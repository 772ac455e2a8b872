"""Models for serving predict what their estimators do, to the bit, with NumPy alone, and look at rows as predictors do."""

import json
import pickle
import subprocess
import sys
from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.rings import examples
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from twins import model_files as twin

import dforest
from dforest import serving
from dforest.errors import ModelFileError, UnseenLabelsWarning
from dforest.loss import PythonLoss
from dforest.public import ESTIMATORS

CLASSES = ("predict", "predict_proba", "predict_log_proba")
BOOSTED = ("predict", "predict_proba", "decision_function")
TIMES = (
    "predict", "predict_survival_function", "predict_cumulative_hazard_function", "predict_quantiles", "predict_restricted_mean",
)  # fmt: skip
LINKS = ("squared_error", "absolute_error", "gamma", "poisson", "tweedie", "huber", "quantile", "fair", "log_cosh", "mape")
DISTRIBUTIONS = "predict", "predict_interval"
POSITIVE = "normal", "lognormal", "gamma", "student"
COUNTS = "negative_binomial", "zero_inflated_poisson"
FEW = {"n_estimators": 4, "random_state": 0}
ROUNDS = {"max_iter": 4, "random_state": 0}
# (estimator, parameters, target, methods)
MODELS = [
    *((name, FEW, "classes", CLASSES) for name in ("RandomForestClassifier", "ExtraTreesClassifier")),
    *((name, FEW, "numbers", ("predict",)) for name in ("RandomForestRegressor", "ExtraTreesRegressor")),
    *((name, {"random_state": 0}, "classes", CLASSES) for name in ("DecisionTreeClassifier", "ExtraTreeClassifier")),
    *((name, {"random_state": 0}, "numbers", ("predict",)) for name in ("DecisionTreeRegressor", "ExtraTreeRegressor")),
    ("RandomForestClassifier", FEW | {"voting": "hard"}, "texts", CLASSES),
    ("RandomForestClassifier", FEW | {"n_estimators": 20, "calibration": "oob"}, "texts", CLASSES),
    ("RandomForestClassifier", FEW, "labels", CLASSES),
    ("RandomForestClassifier", FEW | {"split_axis": "oblique"}, "labels", CLASSES),
    ("RandomForestClassifier", FEW, "many classes", CLASSES),
    ("RandomForestRegressor", FEW, "columns", ("predict",)),
    *(("HistGradientBoostingClassifier", ROUNDS, target, BOOSTED) for target in ("classes", "texts", "labels", "one class")),
    *(("HistGradientBoostingClassifier", ROUNDS | {"loss": loss}, "two classes", BOOSTED) for loss in ("exponential", "focal")),
    *(("HistGradientBoostingRegressor", ROUNDS | {"loss": loss, "quantile": 0.3}, "numbers", ("predict",)) for loss in LINKS),
    ("HistGradientBoostingRegressor", ROUNDS | {"loss": "cross_entropy"}, "shares", ("predict",)),
    ("HistGradientBoostingRegressor", ROUNDS | {"loss": "poisson", "n_bags": 2}, "columns", ("predict",)),
    ("HistGradientBoostingRegressor", ROUNDS | {"leaf_model": "linear", "n_bags": 2}, "numbers", ("predict",)),
    ("HistGradientBoostingClassifier", ROUNDS | {"leaf_model": "linear"}, "classes", BOOSTED),
    ("HistGradientBoostingClassifier", ROUNDS | {"split_axis": "oblique"}, "classes", BOOSTED),
    ("HistGradientBoostingRegressor", ROUNDS | {"split_axis": "oblique", "n_bags": 2}, "columns", ("predict",)),
    *(("HistGradientBoostingRanker", ROUNDS | {"loss": loss}, "queries", ("predict",)) for loss in ("lambdarank", "pairwise")),
    *(("HistGradientBoostingDistribution", ROUNDS | {"loss": loss}, "numbers", DISTRIBUTIONS) for loss in POSITIVE),
    *(("HistGradientBoostingDistribution", ROUNDS | {"loss": loss}, "classes", DISTRIBUTIONS) for loss in COUNTS),
    ("CausalForest", FEW, "effects", ("predict",)),
    ("UpliftForestClassifier", FEW | {"min_samples_leaf": 5}, "uplift", ("predict", "predict_outcome")),
    ("IsolationForest", FEW | {"contamination": 0.1}, "none", ("predict", "score_samples", "decision_function")),
    ("IsolationForest", FEW | {"extension_level": 1}, "none", ("predict", "score_samples", "decision_function")),
    *((name, {"random_state": 0}, "times", TIMES) for name in ("SurvivalTree", "ExtraSurvivalTree")),
    *((name, FEW, "times", TIMES) for name in ("RandomSurvivalForest", "ExtraSurvivalTrees")),
    ("AutoForestClassifier", FEW, "texts", CLASSES),
    ("AutoForestRegressor", FEW, "numbers", ("predict",)),
]  # fmt: skip


def rows_of(rng, n=120):
    """Random rows as a frame of numbers, some missing, and of labels."""
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(1), columns=["a", "b", "c"])
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    frame["town"] = rng.choice(["Bern", "Oslo", "Rome"], n)
    frame["size"] = pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True)
    return frame


def targets_of(rng, kind, frame):
    n, score = len(frame), frame["a"] + (frame["town"] == "Bern") + 0.3 * rng.normal(size=len(frame))
    numbers = (score - score.min() + 0.1).to_numpy()
    three = np.digitize(numbers, np.quantile(numbers, [0.3, 0.7]))
    return {
        "shares": numbers / numbers.max(),
        "classes": three, "numbers": numbers, "texts": np.array(["low", "mid", "high"])[three], "none": None,
        "labels": np.column_stack([three > 0, three > 1]), "many classes": np.arange(n) % 70, "one class": np.zeros(n, int),
        "two classes": three > 1, "columns": np.column_stack([numbers, 2 * numbers + 1]), "queries": three, "effects": numbers,
        "uplift": three > 1,
        "times": np.column_stack([rng.random(n) < 0.7, numbers]),
    }[kind]  # fmt: skip


def fitted(name, parameters, target, rng, frame, as_array=False):
    model = getattr(dforest, name)(**parameters)
    if "categorical_features" in model.get_params() and not as_array:
        model.set_params(categorical_features="auto")
    X, y = frame.drop(columns=["town", "size"]).to_numpy(np.float32) if as_array else frame, targets_of(rng, target, frame)
    if as_array and name.startswith("AutoForest"):
        X = X.astype(float)
    more = {"queries": {"qid": np.arange(len(frame)) // 10}, "effects": {"treatment": np.arange(len(frame)) % 2}}
    more["uplift"] = more["effects"]
    return model.fit(X, y, **more.get(target, {}))


def assert_same(found, expected):
    """Arrays of the same bytes, or lists of such."""
    if isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        return
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if expected.dtype == object:
        assert (found == expected).all()
    else:
        assert found.tobytes() == expected.tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, parameters, target, methods", MODELS)
@pytest.mark.parametrize("seed", range(10))
def test_predictions_have_the_bits_of_the_estimator(name, parameters, target, methods, seed, tmp_path):
    rng = np.random.default_rng(seed)
    frame, new = rows_of(rng), rows_of(rng, 40)
    for as_array in (False, True):
        model = fitted(name, parameters, target, rng, frame, as_array)
        rows = new.drop(columns=["town", "size"]).to_numpy(np.float32 if seed % 2 else np.float64) if as_array else new
        model.save(tmp_path / "model", serving=bool(seed % 3))
        served = serving.load(tmp_path / "model", mmap=seed % 4 > 0, n_threads=1 + seed % 2)
        assert served.estimator_name == name and repr(served) == f"<{name} for serving>"
        for method in methods:
            assert_same(getattr(served, method)(rows), getattr(model, method)(rows))
        if target == "times":
            given = {"return_array": True, "times": [0.5, 1.5]}
            assert_same(served.predict_survival_function(rows, **given), model.predict_survival_function(rows, **given))
        if name.startswith("Hist"):
            assert_same(served.predict(rows, n_iter=2), model.predict(rows, n_iter=2))
        if not name.startswith(("Auto", "Causal", "Uplift")) and parameters.get("calibration") is None:
            rows = np.ascontiguousarray(rows) if as_array else rows
            assert_same(served.predictor(2).predict(rows), model.predictor().predict(rows))


def test_all_estimators_are_served_but_for_one():
    assert {*serving._KINDS, "RandomTreesEmbedding"} == set(ESTIMATORS)
    assert {name for name, *_ in MODELS} == serving._KINDS.keys()


def test_all_that_predicts_is_served():
    """No method of an estimator whose name begins in this way is forgotten."""
    for name, kind in serving._KINDS.items():
        methods = {method for method in dir(getattr(dforest, name)) if method.startswith(("predict", "decision_func", "score_s"))}
        of_training_rows = {"predict_interval", "predict_local_linear", "predict_quantiles"}
        assert methods - set(dir(kind)) <= of_training_rows, name


ALONE = """
import json
import sys
OTHERS = {"joblib", "pandas", "scipy", "sklearn", "threadpoolctl"}
class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in OTHERS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing)
from dforest.serving import load
found = []
for path, rows, methods in json.load(sys.stdin):
    model = load(path)
    for method in methods:
        try:
            said = getattr(model, method)(rows)
        except ModuleNotFoundError as error:
            found.append(str(error))
            continue
        if method.endswith("_function") and said.dtype == object:
            said = [one.y for one in said]
        found.append([part.tolist() for part in said])
assert not OTHERS & {name.partition(".")[0] for name in sys.modules}
print(json.dumps(found))
"""


@pytest.mark.filterwarnings("ignore")
def test_numpy_is_enough(tmp_path):
    """Where nothing else can be imported, all models predict rows by name; quantiles of distributions say what they lack."""
    asks = "quantiles, probabilities and scores of distributions take SciPy, which is not installed: pip install scipy"
    rng = np.random.default_rng(0)
    frame = rows_of(rng)
    rows = json.loads(frame[:5].to_json(orient="records"))
    asked, expected = [], []
    for i, (name, parameters, target, methods) in enumerate(MODELS):
        model = fitted(name, parameters, target, rng, frame)
        path = str(tmp_path / str(i))
        model.save(path)
        methods = [method for method in methods if method != "predict_log_proba"]  # of 0
        asked.append([path, rows, methods])
        for method in methods:
            if name == "HistGradientBoostingDistribution" and method == "predict_interval":
                expected.append(asks)
                continue
            said = getattr(model, method)(frame[:5])
            said = [one.y for one in said] if method.endswith("_function") and said.dtype == object else said
            expected.append([part.tolist() for part in said])
    done = subprocess.run([sys.executable, "-c", ALONE], input=json.dumps(asked), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for one, other in zip(json.loads(done.stdout), expected, strict=True):
        assert one == other


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """(a forest fitted with names, the path of its file, the rows)."""
    rng = np.random.default_rng(0)
    frame = rows_of(rng)
    forest = fitted("RandomForestClassifier", FEW, "texts", rng, frame)
    path = tmp_path_factory.mktemp("served") / "model"
    forest.save(path)
    return forest, path, frame


def forms(frame):
    """The rows of a frame in all ways that name columns."""
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    columns = {name: column.astype(object).where(column.notna(), None) for name, column in frame.items()}
    yield frame
    yield records
    yield tuple(ChainMap(record) for record in records)
    yield [dict(reversed(record.items())) for record in records]
    yield {name: column.tolist() for name, column in columns.items()}
    yield dict(reversed([(name, column.to_numpy()) for name, column in columns.items()]))
    yield dict(frame.items())
    yield dict(pl.from_pandas(frame.astype({"size": str})).to_dict())
    yield dict(zip(frame, map(pa.array, (column.tolist() for column in columns.values())), strict=True))


def test_rows_by_name(named):
    forest, path, frame = named
    served, predictor = serving.load(path), forest.predictor()
    rows = frame[10:40]
    expected = forest.predict_proba(rows)
    for given in forms(rows):
        assert_same(served.predict_proba(given), expected)
        assert_same(predictor.predict(given), expected)
    for i, record in enumerate(rows.to_dict("records")):
        for given in (record, rows.iloc[i]):
            assert_same(served.predict_proba(given), expected[i : i + 1])
            assert_same(served.predictor().predict(given), expected[i])
    assert served.predict([]).shape == (0,) and served.predict_proba([]).shape == (0, 3)
    assert_same(served.predict_proba(rows.to_numpy(object)), expected)
    assert_same(served.predict_proba(rows.to_numpy(object).tolist()), expected)
    assert served.feature_names_in_.tolist() == list(frame) and served.n_features_in_ == 5
    assert served.classes_.tolist() == ["high", "low", "mid"]


ROW = {"a": 0.5, "b": None, "c": 1, "town": "Bern", "size": "M"}
REFUSED = [
    ({**ROW, "tonw": "Bern"}, ValueError, "X has 'tonw', which training rows did not have; allowed are the columns 'a', 'b'"),
    ({"a": 1.0, "b": 1.0, "C": 1, "town": "Bern", "size": "M"}, ValueError, "X lacks 'c' and has 'C', which training rows did"),
    ([ROW, {"a": 1.0}], ValueError, "row 1: X lacks 'b', 'c', 'town', 'size'; allowed"),
    ({**ROW, "a": "much"}, ValueError, "X column 'a' holds 'much'; allowed are numbers"),
    ({**ROW, "a": [1]}, ValueError, r"X column 'a' holds \[1\]; allowed are numbers"),
    ({**ROW, "town": 3}, ValueError, "X column 'town' holds the number 3, but text in the training data"),
    ({**ROW, "size": True}, ValueError, "X column 'size' holds the boolean True, but text"),
    ({**ROW, "town": ["Bern"]}, ValueError, r"X column 'town' holds \['Bern'\]"),
    ([ROW, 3], TypeError, "row 1 of X is of type int; allowed are mappings"),
    ({name: [value] * (1 + (name == "c")) for name, value in ROW.items()}, ValueError, "X column 'c' has 2 values, and column"),
    ({name: [value] for name, value in ROW.items() if name != "c"}, ValueError, "X lacks 'c'"),
    ({name: [value] for name, value in {**ROW, "a": "much"}.items()}, ValueError, "X column 'a' holds the text 'much'"),
    ({name: [value] for name, value in {**ROW, "town": 3}.items()}, ValueError, "X column 'town' holds the number 3"),
    (pd.DataFrame([ROW])[["b", "a", "c", "town", "size"]], ValueError, "X has its columns in another order"),
    (np.zeros((2, 4)), ValueError, "X has 4 columns; allowed are the 5 that the model was fitted with"),
    (np.zeros(5), ValueError, r"Expected 2D array, got 1D array instead: X has the shape \(5,\); allowed are rows with columns"),
    ("row", ValueError, "Expected 2D array, got scalar instead"),
]  # fmt: skip


@pytest.mark.parametrize("rows, error, message", REFUSED)
def test_rows_that_are_refused(named, rows, error, message):
    _, path, _ = named
    served = serving.load(path)
    with pytest.raises(error, match=message):
        served.predict(rows)
    assert served.n_samples_seen_ == 0 and not served.n_unseen_labels_.any() and not served.n_out_of_range_.any()


def test_names_that_may_be_missing(named):
    forest, path, frame = named
    served = serving.load(path, missing="allow")
    expected = forest.predict_proba(frame[:3].assign(c=np.nan, town=None))
    for given in forms(frame[:3].drop(columns=["c", "town"])):
        if not hasattr(given, "iloc"):
            assert_same(served.predict_proba(given), expected)
    with pytest.raises(ValueError, match="X has 'tonw', which training rows did not have"):
        served.predict({"a": 1.0, "tonw": "Bern"})
    with pytest.raises(ValueError, match="X lacks 'c', 'town'"):
        served.predict(frame[:3].drop(columns=["c", "town"]))
    assert served.predict({}).shape == (1,)


def test_what_is_new_is_counted(named):
    _, path, frame = named
    low, high = frame[["a", "b", "c"]].min(), frame[["a", "b", "c"]].max()
    rows = [
        {**ROW, "a": high["a"], "b": low["b"]},  # not outside
        {**ROW, "a": high["a"] + 1, "town": "Nowhere"},
        {**ROW, "a": low["a"] - 1, "c": np.inf, "town": None, "size": "XS"},
    ]
    served = serving.load(path)
    for times, given in enumerate([rows, *forms(pd.DataFrame(rows).astype({"a": float, "b": float}))], 1):
        served.predict(given)
        assert served.n_samples_seen_ == 3 * times
        assert served.n_out_of_range_.tolist() == [2 * times, 0, times, 0, 0]
        assert served.n_unseen_labels_.tolist() == [0, 0, 0, times, times]
    served.n_unseen_labels_[:] = 0  # a copy
    assert served.n_unseen_labels_.any()
    served.predictor().predict(rows[1])
    assert served.n_samples_seen_ == 3 * times + 1 and served.n_out_of_range_[0] == 2 * times + 1
    with pytest.warns(UnseenLabelsWarning, match="X column 'town': 2 of 2 rows hold labels that were not"):
        served.predict({name: [value] * 2 for name, value in rows[1].items()})


def test_threads_count_together(named):
    _, path, _ = named
    served = serving.load(path)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(served.predict, [{**ROW, "town": "Nowhere", "a": 99.0}] * 400))
    assert served.n_samples_seen_ == served.n_unseen_labels_[3] == served.n_out_of_range_[0] == 400


@pytest.mark.filterwarnings("ignore")
def test_blends_count_rows_once(tmp_path):
    rng = np.random.default_rng(0)
    frame = rows_of(rng)
    fitted("AutoForestClassifier", FEW, "texts", rng, frame).save(tmp_path / "model")
    served = serving.load(tmp_path / "model")
    served.predict([{**ROW, "town": "Nowhere"}] * 2)
    assert served.n_samples_seen_ == 2 and served.n_unseen_labels_.tolist() == [0, 0, 0, 2, 0]
    assert served.n_out_of_range_.tolist() == [0] * 5


def test_sparse_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = csr_array(rng.normal(size=(100, 4)) * (rng.random((100, 4)) < 0.3))
    model = dforest.RandomForestRegressor(**FEW).fit(X, X.toarray()[:, 0])
    model.save(tmp_path / "model")
    served = serving.load(tmp_path / "model")
    assert_same(served.predict(2 * X), model.predict(2 * X))
    ranges = X.toarray().min(axis=0), X.toarray().max(axis=0)
    doubled = 2 * X.toarray()
    assert served.n_out_of_range_.tolist() == ((doubled < ranges[0]) | (doubled > ranges[1])).sum(axis=0).tolist()


def test_models_without_names(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = dforest.RandomForestClassifier(**FEW).fit(X, y)
    model.save(tmp_path / "model")
    served = serving.load(tmp_path / "model")
    table = pa.table(pd.DataFrame(X, columns=list("abcd")))
    for given in (X, X.tolist(), np.asfortranarray(X), X.astype(">f8"), pd.DataFrame(X), table):
        assert_same(served.predict_proba(given), model.predict_proba(X))
    for given in ({"a": 1.0}, [{"a": 1.0}], pd.Series({"a": 1.0})):
        with pytest.raises(TypeError, match="X has rows by names, but the model was fitted without names; allowed"):
            served.predict(given)
    assert not hasattr(served, "feature_names_in_")
    with pytest.raises(TypeError, match="can't be pickled"):
        pickle.dumps(served)


class Quartic(PythonLoss):
    """A loss of the user's."""

    def gradient_hessian(self, y_true, raw_prediction):
        away = raw_prediction - y_true
        return 4 * away**3, 12 * away**2 + 1


class Forest(dforest.RandomForestRegressor):
    """A class of the user's."""


def test_what_is_the_users_own(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "model"
    model = dforest.HistGradientBoostingRegressor(Quartic(), max_iter=5, early_stopping=False, random_state=0).fit(X, y)
    model.save(path)
    assert_same(serving.load(path, components=[Quartic]).predict(X), model.predict(X))
    with pytest.raises(ModelFileError, match="it needs 'Quartic'"):
        serving.load(path)
    for other in (Forest(**FEW).fit(X, y), dforest.RandomTreesEmbedding(**FEW).fit(X)):
        other.save(path)
        with pytest.raises(ModelFileError, match="it has a model of the class .*; allowed for serving are AutoForest"):
            serving.load(path, components=[Forest])


FIXTURES = Path(__file__).parent / "storage" / "files"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.safetensors")), ids=lambda path: path.stem)
def test_files_of_earlier_versions(path):
    if "embedding" in path.stem:
        pytest.skip("it predicts nothing")
    served = serving.load(path)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as known:
        for name in set(known) - {"X", "apply"}:
            assert np.array_equal(getattr(served, name)(known["X"]), known[name]), name
        assert served.n_out_of_range_ is None and served.n_samples_seen_ > 0


ARGUMENTS = [
    ({"missing": "maybe"}, 'missing=\'maybe\'; allowed are "error" and "allow"'),
    ({"n_threads": 0}, "n_threads=0; allowed are integers from 1"),
    ({"n_threads": True}, "n_threads=True; allowed"),
    ({"mmap": 1}, "mmap=1; allowed are True and False"),
    ({"components": [3]}, "components holds 3; allowed are classes and functions"),
]


@pytest.mark.parametrize("given, message", ARGUMENTS)
def test_arguments_that_are_refused(named, given, message):
    with pytest.raises(ValueError, match=message):
        serving.load(named[1], **given)


def test_paths_that_are_refused(tmp_path):
    with pytest.raises(ValueError, match="is a folder; allowed are regular files"):
        serving.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        serving.load(tmp_path / "none")
    (tmp_path / "text").write_text("tree\nnum_class=1")
    with pytest.raises(ModelFileError, match="it does not begin like one"):
        serving.load(tmp_path / "text")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, parameters, target, methods", MODELS[::4])
@pytest.mark.parametrize("change", [twin.mutated, twin.with_other_number, lambda blob, rng: twin.signed(twin.mutated(blob, rng))])
def test_damaged_files(name, parameters, target, methods, change, tmp_path):
    """An error that says so, or the same predictions; where checksums are right, nothing goes wrong but in Python's ways."""
    rng = np.random.default_rng(0)
    frame = rows_of(rng)
    model, path = fitted(name, parameters, target, rng, frame), tmp_path / "model"
    model.save(path)
    blob, expected, n_refused = path.read_bytes(), model.predict(frame), 0
    n_changes = examples(100)
    for i in range(n_changes):
        path.unlink()
        path.write_bytes(change(blob, rng))
        try:
            served = serving.load(path, mmap=i % 2 == 0)
        except ModelFileError:
            n_refused += 1
            continue
        if change is twin.mutated:
            assert_same(served.predict(frame), expected)
            continue
        try:
            served.predict(frame)
        except (ValueError, TypeError, IndexError, AttributeError, KeyError):  # labels, say, of which there are fewer
            n_refused += 1
    assert n_refused or change is twin.with_other_number


SOON = """
import sys, numpy
n = len(sys.modules)
from dforest.serving import load
load(sys.argv[1]).predict(dict(a=1.0, b=None, c=1.0, town="Bern", size="M"))
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(len(sys.modules) - n, peak)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of memory there")
def test_a_process_starts_soon(named):
    """Little is imported besides NumPy, which is counted, as times depend on what else runs; and little memory is taken."""
    done = subprocess.run([sys.executable, "-c", SOON, str(named[1])], capture_output=True, text=True, check=True)
    n_modules, peak = map(int, done.stdout.split())
    assert n_modules < 180 and peak < 60_000  # KiB
