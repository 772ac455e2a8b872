"""Models of XGBoost as ours: from files that several of its versions have written, and, where it is installed, from itself."""

import json
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.read_models import assert_explained
from helpers.rings import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dforest
from dforest.errors import ConversionError
from dforest.interchange.conversion import from_xgboost as conversion
from dforest.interchange.conversion import ubjson

STORED = {
    path.stem.removeprefix("xgboost_"): json.loads(path.read_text(encoding="utf-8"))
    for path in Path(__file__).parent.glob("data/xgboost_*.json")
}
pytestmark = pytest.mark.filterwarnings("ignore:XGBoost grew the model with")
VERSIONS = sorted(STORED)
CASES = sorted(STORED[VERSIONS[0]])
EIGHT = {3: range(8)}  # the categories of the last column, which the models do not know


@pytest.fixture(scope="module")
def xgboost():
    return pytest.importorskip("xgboost", "3.1")


def model_file(folder, model):
    path = folder / "model.json"
    path.write_text(json.dumps(model), encoding="utf-8")
    return path


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0] * X[:, 1]) + 0.1 * rng.normal(size=n)


def assert_same(estimator, X, raw, contributions):
    assert_explained(estimator, X, raw, contributions, {"abs": 3e-6}, {"abs": 3e-6})


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("version", VERSIONS)
def test_files_of_several_versions(version, case, tmp_path):
    stored = STORED[version][case]
    path = model_file(tmp_path, stored["model"])
    estimator = dforest.from_xgboost(path, categories=EIGHT if case == "categories" else None)
    X = np.array(stored["rows"], np.float64)
    assert_same(estimator, X, stored["raw"], stored["contributions"])
    assert estimator.n_iter_ == estimator.max_iter == 3
    assert estimator.loss == {"binary": "log_loss", "multiclass": "log_loss", "poisson": "poisson"}.get(case, "squared_error")
    estimator.save(tmp_path / "ours")
    assert np.array_equal(dforest.load(tmp_path / "ours").predict(X), estimator.predict(X))


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=examples(300), deadline=None)
@given(threshold=FLOATS)
@example(threshold=0.0)
@example(threshold=-0.0)
@example(threshold=float(np.finfo(np.float32).max))
@example(threshold=-float(np.finfo(np.float32).max))
@example(threshold=float(np.finfo(np.float32).smallest_subnormal))
@example(threshold=1.0)
@example(threshold=2.0**-126)
def test_thresholds_are_the_last_numbers_that_are_rounded_below(threshold):
    threshold = np.float32(threshold)
    (found,) = conversion.highest_below(np.array([threshold]))
    with np.errstate(over="ignore", under="ignore"):
        assert np.float32(found) < threshold
        assert np.float32(np.nextafter(found, np.inf)) >= threshold


@settings(max_examples=examples(60), deadline=None)
@given(case=st.sampled_from(CASES), data=st.data(), verify=st.booleans())
def test_damaged_models_are_refused_or_predict(case, data, verify, tmp_path_factory):
    """Whatever number or list is another one: nothing but ValueError is raised, and XGBoost does not end the process."""
    model = deepcopy(STORED["3.2.0"][case]["model"])
    place = model["learner"]
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(min(len(place), 40)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.integers(0, 9)) == 0:
            break
        place = place[key]
    place[key] = data.draw(st.sampled_from([-1, 0, 1, 3, 10**6, 2**40, -(2**40), 0.5, "", "3", "nan", None, [], {}, [1], True]))
    path = model_file(tmp_path_factory.mktemp("damaged"), model)
    try:
        estimator = dforest.from_xgboost(path, verify=verify, categories=EIGHT if case == "categories" else None)
    except ValueError:
        return
    estimator.predict(np.zeros((2, estimator.n_features_in_)))


def universal(value):
    """A value in Universal Binary JSON."""
    if isinstance(value, dict):
        return b"{" + b"".join(universal(name)[1:] + universal(each) for name, each in value.items()) + b"}"
    if isinstance(value, list) and value and all(isinstance(each, float) for each in value):
        return b"[$D#" + universal(len(value)) + np.array(value, ">f8").tobytes()
    if isinstance(value, list):
        return b"[#" + universal(len(value)) + b"".join(map(universal, value))
    if isinstance(value, str):
        return b"S" + universal(len(value.encode())) + value.encode()
    if isinstance(value, bool) or value is None:
        return {True: b"T", False: b"F", None: b"Z"}[value]
    return b"D" + np.array(value, ">f8").tobytes() if isinstance(value, float) else b"L" + np.array(value, ">i8").tobytes()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values) | st.lists(st.floats(allow_nan=False)),
    max_leaves=20,
)


@settings(max_examples=examples(100), deadline=None)
@given(value=st.dictionaries(st.text(), JSON), place=st.floats(0, 1), other=st.integers(0, 255))
def test_universal_binary_json(value, place, other):
    """What is written is read, and damaged bytes are read as something or refused by ValueError."""
    written = universal(value)
    assert ubjson.loads(written) == value
    assert ubjson.is_object(written) == (len(value) > 0)
    damaged = bytearray(written)
    damaged[int(place * (len(damaged) - 1))] = other
    for content in (bytes(damaged), written[: int(place * len(written))]):
        try:
            ubjson.loads(content)
        except ValueError:
            pass
    with pytest.raises(ValueError, match="1 bytes follow the end of the value; allowed is one value"):
        ubjson.loads(written + b"}")


@pytest.mark.parametrize("case", CASES)
def test_files_of_universal_binary_json(case, tmp_path):
    stored = STORED["3.2.0"][case]
    (tmp_path / "model.ubj").write_bytes(universal(stored["model"]))
    given = EIGHT if case == "categories" else None
    estimator = dforest.from_xgboost(tmp_path / "model.ubj", categories=given)
    expected = dforest.from_xgboost(model_file(tmp_path, stored["model"]), categories=given)
    X = np.array(stored["rows"], np.float64)
    assert estimator.predict(X).tobytes() == expected.predict(X).tobytes()
    content = universal(stored["model"])
    for damaged in (content[:-9], content + content, b"{", b"\x00" + content):
        (tmp_path / "model.ubj").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model.ubj' is neither JSON nor Universal Binary JSON"):
            dforest.from_xgboost(tmp_path / "model.ubj", categories=given)


def test_a_damaged_tree_with_nodes_that_nothing_reaches(tmp_path):
    """Files of XGBoost may have such nodes, which pruning has left."""
    stored = STORED["3.2.0"]["binary"]
    model = deepcopy(stored["model"])
    tree = model["learner"]["gradient_booster"]["model"]["trees"][1]
    node = next(node for node, left in enumerate(tree["left_children"]) if left > 0 and node > 0)
    tree["left_children"][node] = -(2**40)
    estimator = dforest.from_xgboost(model_file(tmp_path, model))
    assert estimator.forest_.node_offsets[2] - estimator.forest_.node_offsets[1] < len(tree["left_children"])


def changed(case, *changes):
    """A stored model with other values at some places."""
    model = deepcopy(STORED["3.2.0"][case]["model"])
    for keys, value in changes:
        place = model["learner"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
    return model


TREE = ("gradient_booster", "model", "trees", 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([(("objective", "name"), "binary:hinge")], "model has objective='binary:hinge', with 0 classes; allowed are reg:squ"),
        ([(("gradient_booster", "name"), "gblinear")], "model has booster='gblinear'; allowed are those of trees"),
        ([(("learner_model_param", "num_target"), "2")], "model has 2 outputs; allowed is one"),
        ([((*TREE, "tree_param", "size_leaf_vector"), "2")], "tree 0 has a value for each output"),
        ([(("learner_model_param", "base_score"), "[0.1,0.2]")], r"model has base_score=\[0.1, 0.2\]; allowed are 1 numbers"),
        ([(("learner_model_param", "base_score"), "[1.5E0]")], r"model has base_score=\[1.5\]; allowed are 1 numbers whose raw"),
        ([((*TREE, "left_children", 0), 0)], "has children beyond these"),
        ([((*TREE, "left_children", 1), 5)], "has a node with two parents"),
        ([((*TREE, "sum_hessian"), [1.0])], "tree 0 has arrays of the lengths"),
        ([((*TREE, "split_indices", 0), 9)], "tests feature 9; allowed are 0 to 3"),
        ([((*TREE, "split_type", 0), 1)], "tree 0 has sets of categories at other nodes"),
        ([(("gradient_booster", "model", "tree_info"), [0, 0, 1])], "model has trees for"),
        ([(("gradient_booster", "model", "tree_info"), [])], "the model has 0 trees"),
        ([(("gradient_booster", "model", "trees"), [])], "model has 0 trees, and 1 sums; allowed is at least one tree"),
        ([(("learner_model_param", "num_feature"), str(10**12))], "model has num_feature=1000000000000; allowed are 1"),
        ([(("feature_names",), ["a", "b"])], "model has num_feature=4 and 2 feature_names; allowed are"),
    ],
)  # fmt: skip
def test_what_is_refused(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        dforest.from_xgboost(model_file(tmp_path, changed("binary", *changes)))


def test_what_is_no_model(tmp_path):
    with pytest.raises(TypeError, match="model is of the type int; allowed are XGBoost's Booster"):
        dforest.from_xgboost(3)
    text = json.dumps(STORED["3.2.0"]["regression"]["model"])
    for glued in (text + text, text[:-5], "", "tree"):
        (tmp_path / "model.json").write_text(glued)
        with pytest.raises(ValueError, match=r"model.json' is neither JSON nor Universal Binary JSON"):
            dforest.from_xgboost(tmp_path / "model.json")
    with pytest.raises(ValueError, match="is not the file of a model of XGBoost"):
        dforest.from_xgboost(model_file(tmp_path, [1]))
    with pytest.raises(OSError):
        dforest.from_xgboost(tmp_path / "nothing.json")
    with pytest.raises(ValueError, match="is a folder"):
        dforest.from_xgboost(tmp_path)


def test_categories_that_are_not_known(tmp_path):
    path = model_file(tmp_path, STORED["3.2.0"]["categories"]["model"])
    stored = STORED["3.2.0"]["categories"]
    with pytest.raises(ValueError, match=r"the categories of column 3 are not known: .* allowed is categories=\{3: \[...\]\}"):
        dforest.from_xgboost(path)
    with pytest.raises(ValueError, match=r"categories has the columns \[1\]; the categorical columns of the model are \[3\]"):
        dforest.from_xgboost(path, categories={1: "ab"})
    with pytest.raises(ValueError, match=r"the categories of column 3 are \['a', 'b'\]; allowed are different ones"):
        dforest.from_xgboost(path, categories={3: "ab"})
    with pytest.raises(ValueError, match=r"allowed are different ones"):
        dforest.from_xgboost(path, categories={3: "abcdefghija"})
    with pytest.raises(TypeError, match=r"categories=\[3\]; allowed are None, and dicts"):
        dforest.from_xgboost(path, categories=[3])
    labelled = dforest.from_xgboost(path, categories={3: "abcdefgh"})
    rows = pd.DataFrame(np.array(stored["rows"], np.float64))
    rows[3] = [None if np.isnan(code) else "abcdefgh"[int(code)] for code in rows[3]]
    assert labelled.predict(rows.to_numpy(object)) == pytest.approx(np.array(stored["raw"]), abs=1e-5)
    # Where missing values go left at all splits, so do all codes that no split names.
    model = changed("categories")
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        tree["default_left"] = [1] * len(tree["default_left"])
    dforest.from_xgboost(model_file(tmp_path, model))


def test_one_wrong_number_is_found(monkeypatch, tmp_path, xgboost):
    path = model_file(tmp_path, STORED["3.2.0"]["regression"]["model"])
    right = conversion.highest_below
    monkeypatch.setattr(conversion, "highest_below", lambda thresholds: np.nextafter(right(thresholds), np.inf))
    with pytest.raises(ConversionError, match=r"the model of XGBoost and the estimator predict differently for \d+ of \d+ rows"):
        dforest.from_xgboost(path)
    dforest.from_xgboost(path, verify=False)


LIVE = [
    *(("XGBRegressor", {"objective": name}) for name in ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror")),
    *(("XGBRegressor", {"objective": name}) for name in ("reg:gamma", "reg:tweedie", "reg:squaredlogerror")),
    ("XGBRegressor", {"objective": "reg:quantileerror", "quantile_alpha": 0.3}),
    *(("XGBClassifier", {"objective": name}) for name in ("binary:logistic", "binary:logitraw")),
    ("XGBClassifier", {"booster": "dart", "rate_drop": 0.3}),
    ("XGBRFClassifier", {}), ("XGBRFRegressor", {}), ("XGBRanker", {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters"), LIVE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_models_of_xgboost(kind, parameters, dtype, xgboost):
    X, y = data()
    X = X.astype(dtype)
    y = np.digitize(y, [-0.2, 0.2]) if "Classifier" in kind and "binary" not in str(parameters) else np.abs(y) + 0.1
    y = (y > 0.2).astype(int) if "binary" in str(parameters) else y
    model = getattr(xgboost, kind)(n_estimators=6, max_depth=4, **parameters)
    model.fit(X, np.digitize(y, [0.2, 0.4]), qid=np.arange(len(y)) // 20) if kind == "XGBRanker" else model.fit(X, y)
    estimator = dforest.from_xgboost(model)
    rows = xgboost.DMatrix(X)
    booster = model.get_booster()
    assert_same(estimator, X, booster.predict(rows, output_margin=True), booster.predict(rows, pred_contribs=True))
    if "logitraw" not in str(parameters):
        assert np.mean(estimator.predict(X) == pytest.approx(model.predict(X), rel=1e-4)) == 1
    gains = booster.get_score(importance_type="total_gain")
    gains = np.array([gains.get(f"f{j}", 0.0) for j in range(4)])
    assert estimator.feature_importances_ == pytest.approx(gains / gains.sum(), abs=1e-5)


def test_frames_with_categories(xgboost):
    X, y = data()
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frame["c"] = pd.Categorical(rng.choice([*"uvwxyz", None], len(y)))
    frame["d"] = pd.Categorical(rng.choice([5, 7, 100], len(y)))
    y += (frame["c"].cat.codes % 3).to_numpy()
    for most in (1, 10):  # with sets, or with single categories
        model = xgboost.XGBRegressor(n_estimators=8, max_depth=4, enable_categorical=True, max_cat_to_onehot=most).fit(frame, y)
        estimator = dforest.from_xgboost(model)
        assert estimator.feature_names_in_.tolist() == list("abcd")
        assert estimator.categories_[2].tolist() == list("uvwxyz") and estimator.categories_[3].tolist() == [5, 7, 100]
        rows = xgboost.DMatrix(frame, enable_categorical=True)
        booster = model.get_booster()
        assert_same(estimator, frame, booster.predict(rows, output_margin=True), booster.predict(rows, pred_contribs=True))
        other = frame.assign(c=pd.Categorical(frame["c"], categories=list("zyxwvu")))  # labels in another order
        assert np.array_equal(estimator.predict(other), estimator.predict(frame))
    frame["c"] = frame["c"].cat.rename_categories({"u": "ü"})
    model = xgboost.XGBRegressor(n_estimators=8, max_depth=4, enable_categorical=True).fit(frame, y)
    known = {"c": list(frame["c"].cat.categories)}
    assert dforest.from_xgboost(model, categories=known).predict(frame) == pytest.approx(model.predict(frame), abs=1e-5)


def test_categories_beyond_ascii_are_asked_for(xgboost):
    """XGBoost cuts off the bytes of their text, so that the model can't tell them."""
    X, y = data()
    frame = pd.DataFrame({"c": pd.Categorical(np.random.default_rng(0).choice(["Köln", "Bern", "Łódź"], len(y))), "x": X[:, 0]})
    model = xgboost.XGBRegressor(n_estimators=4, enable_categorical=True).fit(frame, y + 2 * (frame["c"] == "Köln"))
    message = r"the categories of column 'c' have characters beyond ASCII, .* allowed is categories=\{'c': \[...\]\}, with all"
    with pytest.raises(ValueError, match=message):
        dforest.from_xgboost(model)
    estimator = dforest.from_xgboost(model, categories={"c": frame["c"].cat.categories})
    assert estimator.predict(frame) == pytest.approx(model.predict(frame), abs=1e-5)


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_the_softmax_of_two_classes(objective, tmp_path, xgboost):
    X, y = data()
    rows = xgboost.DMatrix(X, y > 0)
    model = xgboost.train({"objective": objective, "num_class": 2, "max_depth": 3}, rows, 5)
    model.save_model(tmp_path / "model.json")
    raw, contributions = model.predict(rows, output_margin=True), model.predict(rows, pred_contribs=True)
    for one in (model, tmp_path / "model.json"):
        estimator = dforest.from_xgboost(one)
        assert_same(estimator, X, raw[:, 1] - raw[:, 0], contributions[:, 1:] - contributions[:, :1])
        assert estimator.n_iter_ == 10 and estimator.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_base_scores_at_the_ends(share, tmp_path, xgboost):
    """XGBoost takes no probability below 1e-6, nor one above 1 - 1e-6."""
    X, y = data()
    for parameters, targets in (({}, np.full(len(y), share)), ({"base_score": share}, y > 0)):
        rows = xgboost.DMatrix(X, targets)
        model = xgboost.train({"objective": "binary:logistic", **parameters}, rows, 3)
        model.save_model(tmp_path / "model.json")
        for one in (model, tmp_path / "model.json"):
            assert dforest.from_xgboost(one).predict_proba(X)[:, 1] == pytest.approx(model.predict(rows), abs=1e-6)
    counts = xgboost.train({"objective": "count:poisson"}, xgboost.DMatrix(X, np.zeros(len(y))), 2)
    with pytest.raises(ValueError, match=r"model has base_score=\[0.0\]; allowed are 1 numbers whose raw predictions are finite"):
        dforest.from_xgboost(counts)


def test_one_class(tmp_path, xgboost):
    X, y = data()
    rows = xgboost.DMatrix(X, np.zeros(len(y)))
    model = xgboost.train({"objective": "multi:softprob", "num_class": 1}, rows, 2)
    model.save_model(tmp_path / "model.json")
    for one in (model, tmp_path / "model.json"):
        estimator = dforest.from_xgboost(one)
        assert estimator.classes_.tolist() == [0] and (estimator.predict_proba(X) == model.predict(rows)[:, None]).all()
        assert set(estimator.predict(X)) == {0}
    model = xgboost.XGBClassifier(n_estimators=2).fit(X, np.zeros(len(y), int))  # to which there are two classes
    assert dforest.from_xgboost(model).predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-6)


def test_tweedie_of_power_1(xgboost):
    X, y = data()
    rows = xgboost.DMatrix(X, np.floor(np.exp(y)))
    model = xgboost.train({"objective": "reg:tweedie", "tweedie_variance_power": 1.0}, rows, 4)
    estimator = dforest.from_xgboost(model)
    assert estimator.loss == "poisson" and estimator.predict(X) == pytest.approx(model.predict(rows), rel=1e-5)


def test_objectives_of_the_users_own(xgboost):
    X, y = data()
    rows = xgboost.DMatrix(X, y)
    model = xgboost.train({"max_depth": 3}, rows, 3, obj=lambda raw, rows: (raw - rows.get_label(), np.ones_like(raw)))
    assert dforest.from_xgboost(model).predict(X) == pytest.approx(model.predict(rows), abs=1e-5)


def test_parameters_that_a_warm_start_goes_on_with(tmp_path, xgboost):
    X, y = data()
    parameters = {
        "eta": 0.5, "max_depth": 3, "max_leaves": 5, "grow_policy": "lossguide", "min_child_weight": 4.0, "lambda": 2.0,
        "alpha": 0.25, "max_delta_step": 5.0, "subsample": 0.5, "colsample_bytree": 0.75, "colsample_bylevel": 0.5,
        "colsample_bynode": 0.5, "max_bin": 63, "monotone_constraints": "(1,0)", "interaction_constraints": "[[0, 1]]",
    }  # fmt: skip
    booster = xgboost.train(parameters, xgboost.DMatrix(X, y), 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = dforest.from_xgboost(booster)
    given = estimator.get_params()
    expected = {
        "learning_rate": 0.5, "max_leaf_nodes": 5, "max_depth": 3, "min_samples_leaf": 1, "min_sum_hessian_in_leaf": 4.0,
        "l1_regularization": 0.25, "l2_regularization": 2.0, "max_delta_step": 5.0, "colsample_bytree": 0.75,
        "colsample_bylevel": 0.5, "max_features": 0.5, "subsample": 0.5, "max_bins": 63, "monotonic_cst": [1, 0, 0, 0],
        "interaction_cst": [[0, 1], [2], [3]],
    }  # fmt: skip
    assert {name: given[name] for name in expected} == expected
    estimator.set_params(warm_start=True, max_iter=15).fit(X, y)
    weighted = xgboost.XGBClassifier(n_estimators=2, scale_pos_weight=3.0, gamma=0.5).fit(X, y > 0)
    with pytest.warns(UserWarning, match="XGBoost grew the model with min_split_loss=0.5, which boosted trees of dforest do not"):
        estimator = dforest.from_xgboost(weighted)
    assert estimator.class_weight == {1: 3.0} and estimator.max_leaf_nodes is None and estimator.max_depth == 6
    booster.save_model(tmp_path / "model.json")
    assert dforest.from_xgboost(tmp_path / "model.json").learning_rate_ == 0.1


def test_early_stopping_and_files(tmp_path, xgboost):
    """An estimator predicts with its best iterations, and so does its file; a Booster with all."""
    X, y = data()
    y = np.digitize(y, [-0.2, 0.2])
    model = xgboost.XGBClassifier(n_estimators=50, learning_rate=0.9, early_stopping_rounds=3)
    model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    n_best, n = model.best_iteration + 1, model.get_booster().num_boosted_rounds()
    assert n_best < n
    for suffix in ("json", "ubj"):
        model.save_model(tmp_path / f"model.{suffix}")
        estimator = dforest.from_xgboost(str(tmp_path / f"model.{suffix}"))
        assert estimator.n_iter_ == n_best
        assert estimator.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-5)
    assert dforest.from_xgboost(model).n_iter_ == n_best
    assert dforest.from_xgboost(model.get_booster()).n_iter_ == n


def test_estimators_that_are_refused(xgboost):
    X, y = data(60)
    with pytest.raises(ValueError, match=r"model has missing=-999.0; allowed is NaN"):
        dforest.from_xgboost(xgboost.XGBRegressor(n_estimators=2, missing=-999.0).fit(X, y))
    with pytest.raises(ValueError, match="booster='gblinear'"):
        dforest.from_xgboost(xgboost.XGBRegressor(n_estimators=2, booster="gblinear").fit(X, y))
    for strategy in ("multi_output_tree", "one_output_per_tree"):
        model = xgboost.XGBRegressor(n_estimators=2, multi_strategy=strategy).fit(X, np.column_stack([y, -y]))
        with pytest.raises(ValueError, match="model has 2 outputs; allowed is one"):
            dforest.from_xgboost(model)


def test_base_margins(xgboost):
    X, y = data()
    margin = np.random.default_rng(1).normal(size=len(y))
    y += margin + 3.0
    rows = xgboost.DMatrix(X, y, base_margin=margin)
    model = xgboost.train({"max_depth": 3, "base_score": 1.0}, rows, 5)
    estimator, before = dforest.from_xgboost(model), model.predict(rows)
    offset = margin - estimator.forest_.objective.baseline[0]
    assert estimator.predict(X, offset=offset) == pytest.approx(before, abs=1e-5)
    estimator.set_params(warm_start=True, max_iter=9).fit(X, y, offset=offset)
    assert np.mean((estimator.predict(X, offset=offset) - y) ** 2) < np.mean((before - y) ** 2)


def test_more_trees_after_them(tmp_path):
    stored = STORED["1.7.6"]["categories"]
    estimator = dforest.from_xgboost(model_file(tmp_path, stored["model"]), categories=EIGHT)
    X = np.array(stored["rows"], np.float64)
    before = estimator.predict(X)
    y = before + X[:, 0] * (X[:, 0] > 0)
    y[np.isnan(y)] = 0.0
    estimator.set_params(warm_start=True, max_iter=20, min_samples_leaf=1).fit(X, y)
    assert estimator.n_iter_ == 20
    assert np.array_equal(estimator.predict(X, n_iter=3), before)
    assert np.mean((estimator.predict(X) - y) ** 2) < np.mean((before - y) ** 2) / 2
    estimator.estimators_[0, 0].predict(X)
