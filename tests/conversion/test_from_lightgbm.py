"""Models of LightGBM as ours: from the text that an early version has written, and, where it is installed, from itself."""

import json
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.read_models import assert_explained, classes_of, data
from helpers.rings import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import dforest
from dforest.errors import ConversionError
from dforest.interchange.conversion import from_lightgbm as conversion

STORED = json.loads((Path(__file__).parent / "data" / "lightgbm_2.3.1.json").read_text(encoding="utf-8"))
CASES = sorted(STORED)
pytestmark = pytest.mark.filterwarnings("ignore:LightGBM grew the model with")
SMALL = {"n_estimators": 8, "num_leaves": 8, "verbose": -1, "n_jobs": 1}


@pytest.fixture(scope="module")
def lightgbm():
    return pytest.importorskip("lightgbm")


def assert_same(estimator, X, raw, contributions):
    assert_explained(estimator, X, raw, contributions, {"rel": 1e-12, "abs": 1e-12}, {"rel": 1e-9, "abs": 1e-9})


def assert_same_as(booster, estimator, X):
    assert_same(estimator, X, booster.predict(X, raw_score=True), booster.predict(X, pred_contrib=True))
    gains = booster.feature_importance("gain")
    assert estimator.feature_importances_ == pytest.approx(gains / gains.sum(), abs=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_text_of_an_early_version(case, tmp_path):
    stored = STORED[case]
    X, share = np.array(stored["rows"], np.float64), 1 / 3 if case == "averaged" else 1
    path = tmp_path / "model.txt"
    path.write_text(stored["model"], encoding="utf-8")
    for model in (path, str(path), stored["model"]):
        estimator = dforest.from_lightgbm(model)
        assert_same(estimator, X, share * np.array(stored["raw"]), share * np.array(stored["contributions"]))
    assert estimator.n_iter_ == estimator.max_iter == 3
    assert estimator.loss == {"binary": "log_loss", "multiclass": "log_loss", "poisson": "poisson"}.get(case, "squared_error")
    assert estimator.categories_[3] is None or estimator.categories_[3].tolist() == list(range(8))
    estimator.save(tmp_path / "ours")
    assert np.array_equal(dforest.load(tmp_path / "ours").predict(X), estimator.predict(X))


REGRESSION = ["regression", "regression_l1", "mape", "huber", "fair", "quantile", "poisson", "gamma", "tweedie"]


@pytest.mark.parametrize("objective", REGRESSION)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_objectives_of_regression(objective, dtype, lightgbm):
    X, y = data()
    X = X.astype(dtype)
    parameters = {"objective": objective, "alpha": 0.7, "tweedie_variance_power": 1.3, "learning_rate": 0.2, **SMALL}
    model = lightgbm.LGBMRegressor(**parameters).fit(X, y)
    estimator = dforest.from_lightgbm(model)
    assert type(estimator) is dforest.HistGradientBoostingRegressor
    assert estimator.loss == conversion._LOSSES[objective] and estimator.learning_rate == 0.2
    assert estimator.quantile == (0.7 if objective == "quantile" else None)
    assert estimator.power == (1.3 if objective == "tweedie" else 1.5)
    assert_same_as(model.booster_, estimator, X)
    assert estimator.predict(X) == pytest.approx(model.predict(X), rel=1e-12)
    staged = list(estimator.staged_predict(X))
    assert staged[2] == pytest.approx(model.predict(X, num_iteration=3), rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("categorical", [[], [3]])
def test_classes(n_classes, categorical, lightgbm):
    X, y = data()
    labels = classes_of(y, n_classes)
    model = lightgbm.LGBMClassifier(min_data_per_group=5, cat_smooth=1.0, **SMALL).fit(X, labels, categorical_feature=categorical)
    estimator = dforest.from_lightgbm(model)
    assert estimator.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)
    assert np.array_equal(estimator.predict(X), model.predict(X))
    assert_same_as(model.booster_, estimator, X)
    assert (estimator.is_categorical_ is None) == (not categorical)
    assert dforest.from_lightgbm(model.booster_).classes_.tolist() == list(range(n_classes))


@pytest.mark.parametrize("objective", ["cross_entropy", "lambdarank", "rank_xendcg"])
def test_shares_and_ranks(objective, lightgbm):
    X, y = data()
    if objective == "cross_entropy":
        model = lightgbm.LGBMRegressor(objective=objective, **SMALL).fit(X, y / y.max())
    else:
        ranks = np.digitize(y, np.quantile(y, [0.3, 0.6]))
        model = lightgbm.LGBMRanker(objective=objective, data_sample_strategy="goss", **SMALL).fit(X, ranks, group=[20] * 25)
    estimator = dforest.from_lightgbm(model)
    assert_same_as(model.booster_, estimator, X)
    kind = "Classifier" if objective == "cross_entropy" else "Ranker"
    assert type(estimator).__name__ == f"HistGradientBoosting{kind}"
    predicted = estimator.predict_proba(X)[:, 1] if objective == "cross_entropy" else estimator.predict(X)
    assert predicted == pytest.approx(model.predict(X), abs=1e-12)


def frame_of(X, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"first": X[:, 0], "c": pd.Categorical(rng.choice([*"uvwxyz", None], len(X))), "third": X[:, 1]})
    return frame.assign(d=pd.Categorical(rng.choice([5, 7, 100], len(X))))


@pytest.mark.parametrize("boosting", ["gbdt", "rf", "dart"])
@pytest.mark.parametrize("kind", ["LGBMClassifier", "LGBMRegressor"])
def test_frames_with_categories(kind, boosting, lightgbm):
    X, y = data()
    frame = frame_of(X)
    y = y + frame["c"].cat.codes.to_numpy() % 3 + frame["d"].cat.codes.to_numpy()
    y = np.digitize(y, np.quantile(y, [0.3, 0.6])) if kind == "LGBMClassifier" else y
    sampled = {"bagging_freq": 1, "bagging_fraction": 0.5, "boosting_type": boosting, "drop_rate": 0.5, "min_data_per_group": 5}
    model = getattr(lightgbm, kind)(**sampled, **SMALL).fit(frame, y)
    estimator = dforest.from_lightgbm(model)
    assert estimator.feature_names_in_.tolist() == list(frame.columns)
    assert [None if labels is None else labels.tolist() for labels in estimator.categories_] == [
        None, list("uvwxyz"), None, [5, 7, 100]
    ]  # fmt: skip
    share = 1 / 8 if boosting == "rf" else 1  # LightGBM's raw scores are sums then, its predictions means
    booster = model.booster_
    raw, contributions = booster.predict(frame, raw_score=True), booster.predict(frame, pred_contrib=True)
    assert_same(estimator, frame, share * raw, share * contributions)
    if kind == "LGBMClassifier":
        assert estimator.predict_proba(frame) == pytest.approx(model.predict_proba(frame), abs=1e-12)
    other = frame.assign(c=frame["c"].cat.rename_categories({"u": "new"}).cat.reorder_categories([*"zyxwv", "new"]))
    assert estimator.predict(other) == pytest.approx(model.predict(other), rel=1e-12)


@pytest.mark.parametrize("saved", [False, True])
def test_frames_with_labels_and_integers(saved, lightgbm):
    X, y = data(600)
    integers, rng = 3 * (np.arange(len(X)) % 11), np.random.default_rng(2)
    frame = frame_of(X).assign(number=integers, level=pd.Categorical(rng.choice([*"abcd"], len(X)), [*"dbca"], ordered=True))
    frame = frame.assign(same=pd.Categorical(["one"] * len(X)))
    y = y + 3 * frame["c"].cat.codes + 2 * np.isin(integers, [6, 15]) + 2 * frame["d"].cat.codes + 3 * frame["level"].cat.codes
    parameters = {"min_data_per_group": 5, "cat_smooth": 1.0, **SMALL, "n_estimators": 20}
    model = lightgbm.LGBMRegressor(**parameters).fit(frame, y, categorical_feature=["c", "d", "number"])
    given = model.booster_.model_to_string() if saved else model
    told = r"has the labels of 4 columns .* are \[\['u', 'v', 'w'\], .*the columns \[1, 3, 4\] .* pandas_categorical=\[...\] with"
    with pytest.raises(ValueError, match=told):
        dforest.from_lightgbm(given)
    for columns in (["level", "same", "d", "c"], [1, 3, 5, 6]):
        estimator = dforest.from_lightgbm(given, pandas_categorical=columns)
        other = frame.assign(level=frame["level"].cat.add_categories("new").where(X[:, 0] < 1, "new"))
        for rows in (frame, other, frame.sample(frac=1, random_state=0)):
            assert estimator.predict(rows) == pytest.approx(model.predict(rows), rel=1e-12)
        assert_same_as(model.booster_, estimator, frame)
    assert estimator.forest_.n_categories[[1, 3, 4, 5, 6]].tolist() == [6, 3, 11, 0, 1]
    assert estimator.categories_[4].tolist() == list(range(0, 33, 3)) and estimator.is_ordinal_[5]
    estimator.set_params(warm_start=True, max_iter=25).fit(frame, y)
    for wrong, message in [
        (["c", "d", "level"], r"labels of 4 columns .*but pandas_categorical=\['c', 'd', 'level'\]; allowed"),
        (["c", "c", "d", "level"], r"allowed are different names of columns, of \['first', 'c'"),
        ([1, 3, 5, 7], "numbers from 0 to 6"), ([1, 2, 3, 5], r"category -\d.* of column 2, whose 3 labels"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            dforest.from_lightgbm(given, pandas_categorical=wrong)
    with pytest.raises(ValueError, match=r"labels of 0 columns .*but pandas_categorical=\[0\]"):
        dforest.from_lightgbm(STORED["regression"]["model"], pandas_categorical=[0])


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    parameters=st.fixed_dictionaries(
        {
            "num_leaves": st.sampled_from([2, 5, 31]), "min_child_samples": st.sampled_from([1, 20, 400]),
            "use_missing": st.booleans(), "extra_trees": st.booleans(), "max_cat_to_onehot": st.sampled_from([1, 20]),
            "reg_lambda": st.sampled_from([0.0, 1.0]), "bagging_fraction": st.sampled_from([0.5, 1.0]),
        }
    ),
    missing=st.booleans(),
    scale=st.sampled_from([1.0, 1e-35, 1e-300, 1e300]),
)  # fmt: skip
def test_whatever_was_grown(seed, parameters, missing, scale, lightgbm):
    """Conversions compare predictions; some rows of these are next to zero, which has a rule of its own."""
    X, y = data(400, seed, missing)
    X[:, :3] = scale * np.rint(3 * X[:, :3])
    parameters = {**SMALL, **parameters, "bagging_freq": 1, "min_data_per_group": 2, "cat_smooth": 0.1, "random_state": seed}
    model = lightgbm.LGBMRegressor(**parameters).fit(X, y, categorical_feature=[3])
    estimator = dforest.from_lightgbm(model)
    assert estimator.predict(X) == pytest.approx(model.predict(X), rel=1e-12)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_early_stopping(lightgbm, tmp_path):
    X, y = data()
    model = lightgbm.LGBMRegressor(**{**SMALL, "n_estimators": 300, "learning_rate": 0.9})
    model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], callbacks=[lightgbm.early_stopping(3, verbose=False)])
    model.booster_.save_model(tmp_path / "model.txt")
    for one in (model, model.booster_, tmp_path / "model.txt"):
        estimator = dforest.from_lightgbm(one)
        assert estimator.n_iter_ == model.best_iteration_ < 300
        assert estimator.predict(X) == pytest.approx(model.predict(X), rel=1e-12)


def test_many_categories(lightgbm):
    """More than our boosted trees have bins."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 400, 3000) * 1000, rng.normal(size=3000)])
    y = (X[:, 0] // 1000 % 7) + X[:, 1]
    parameters = {**SMALL, "max_bin": 1000, "min_data_per_group": 1, "min_data_in_bin": 1, "min_child_samples": 2}
    model = lightgbm.LGBMRegressor(**parameters).fit(X, y, categorical_feature=[0])
    estimator = dforest.from_lightgbm(model)
    assert len(estimator.categories_[0]) > 255
    assert_same_as(model.booster_, estimator, X)
    assert np.array_equal(pickle.loads(pickle.dumps(estimator)).predict(X), estimator.predict(X))


@pytest.mark.parametrize("has_names", [False, True])
def test_more_trees_after_them(has_names, lightgbm):
    X, y = data()
    frame = frame_of(X)
    y = y + frame["c"].cat.codes.to_numpy() % 3
    rows, categorical = (frame, "auto") if has_names else (X, [3])
    estimator = dforest.from_lightgbm(lightgbm.LGBMRegressor(**SMALL).fit(rows, y, categorical_feature=categorical))
    before, score = estimator.predict(rows), estimator.score(rows, y)
    estimator.set_params(warm_start=True, max_iter=30).fit(rows, y)
    assert np.array_equal(estimator.predict(rows, n_iter=8), before)
    assert estimator.n_iter_ == 30 and estimator.score(rows, y) > score + 0.1
    estimator.estimators_[0, 0].predict(rows)


def test_going_on_from_a_model_with_initial_scores(lightgbm):
    X, y = data()
    scores = np.random.default_rng(1).normal(size=len(y))
    model = lightgbm.LGBMRegressor(**SMALL).fit(X, y, init_score=scores)
    one, other = dforest.from_lightgbm(model), dforest.from_lightgbm(model)
    assert one.predict(X, offset=scores) == pytest.approx(scores + model.predict(X), rel=1e-12)
    one.set_params(warm_start=True, max_iter=12).fit(X, y, offset=scores)
    other.set_params(warm_start=True, max_iter=12).fit(X, y - scores)
    assert one.predict(X, n_iter=8).tobytes() == dforest.from_lightgbm(model).predict(X).tobytes()
    assert one.predict(X) == pytest.approx(other.predict(X), abs=1e-6)
    with pytest.raises(ValueError, match="offset is not given, but warm_start=True goes on with trees grown with one"):
        one.set_params(max_iter=14).fit(X, y)


def test_zeros_as_missing_values(lightgbm):
    """They are exact where zeros go where the numbers next to them go."""
    X, y = data(missing=False)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    model = lightgbm.LGBMRegressor(zero_as_missing=True, **SMALL)
    with pytest.raises(ValueError, match=r"node \d+ of tree \d sends zeros as missing values away from the numbers"):
        dforest.from_lightgbm(model.fit(X, y))
    model.set_params(n_estimators=1, num_leaves=2).fit(np.abs(X), np.abs(X[:, 0]))
    estimator = dforest.from_lightgbm(model)
    assert estimator.forest_.feature.max() == 0
    rows = np.concatenate([np.abs(X), np.full((1, 4), np.nan), np.full((1, 4), 1e-36)])
    assert estimator.predict(rows) == pytest.approx(model.predict(rows), rel=1e-12)


def test_models_that_are_refused(lightgbm):
    X, y = data(100)
    with pytest.raises(ValueError, match="tree 0 has linear models in its leaves"):
        dforest.from_lightgbm(lightgbm.LGBMRegressor(linear_tree=True, **SMALL).fit(X, y))
    for parameters, what in [
        ({"reg_sqrt": True}, "regression sqrt"),
        ({"objective": "cross_entropy_lambda"}, "cross_entropy_lambda"),
    ]:
        with pytest.raises(ValueError, match=f"model has (objective=)?{what}"):
            dforest.from_lightgbm(lightgbm.LGBMRegressor(**parameters, **SMALL).fit(X, y / y.max()))
    for parameters, what in [
        ({"objective": "multiclassova"}, "multiclassova num_class:3"), ({"sigmoid": 2.0}, "binary sigmoid:2"),
    ]:  # fmt: skip
        classes = np.arange(100) % (3 if "num_class" in what else 2)
        with pytest.raises(ValueError, match=f"model has objective={what}"):
            dforest.from_lightgbm(lightgbm.LGBMClassifier(**parameters, **SMALL).fit(X, classes))
    with pytest.raises(NotFittedError):
        dforest.from_lightgbm(lightgbm.LGBMRegressor())


def test_what_is_no_model(tmp_path):
    with pytest.raises(TypeError, match="model is of the type int; allowed are LightGBM's Booster"):
        dforest.from_lightgbm(3)
    with pytest.raises(ValueError, match="model begins with 'three"):
        dforest.from_lightgbm("three\nwords\n")
    with pytest.raises(OSError):
        dforest.from_lightgbm(tmp_path / "nothing.txt")
    text = STORED["categories"]["model"]
    for old, new, message in [
        ("version=v3", "version=v9", "model has version=v9 of LightGBM's format; allowed are v2, v3, v4"),
        ("end of trees", "", "its text was cut off"),
        ("max_feature_idx=3", "max_feature_idx=30", "model has 4 feature_names; max_feature_idx says that there are 31"),
        ("num_leaves=6", "num_leaves=5", "allowed are 4 numbers"),
        ("left_child=", "left_child=9 ", "tree 0 has left_child=.*; allowed are 5 numbers"),
        ("num_tree_per_iteration=1\n", "", "model has num_tree_per_iteration=None; allowed are integers"),
        ("per_iteration=1", "per_iteration=9999999999", "model has 3 trees, and num_tree_per_iteration=9999999999"),
        ("\nleaf_count=", "\nleaves=", "tree 0 has leaf_count=None; allowed are 6 numbers"),
        ("pandas_categorical:null", "pandas_categorical:nothing", "model has pandas_categorical:nothing, which is not JSON"),
    ]:
        assert old in text
        with pytest.raises(ValueError, match=message):
            dforest.from_lightgbm(text.replace(old, new, 1), verify=False)


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_other_line_ends_and_a_mark_of_the_encoding(ends, tmp_path):
    stored = STORED["binary"]
    expected = dforest.from_lightgbm(stored["model"]).predict_proba(np.array(stored["rows"], np.float64))
    text = "\ufeff" + stored["model"].replace("\n", ends)
    (tmp_path / "model.txt").write_bytes(text.encode())
    for model in (text, tmp_path / "model.txt"):
        assert dforest.from_lightgbm(model).predict_proba(np.array(stored["rows"], np.float64)).tobytes() == expected.tobytes()


def test_texts_of_several_models_or_of_parts(tmp_path):
    text, other = STORED["regression"]["model"], STORED["binary"]["model"]
    for glued in (text + other, text + "\n" + text, text.partition("\nparameters:")[0] + "\n" + other):
        with pytest.raises(ValueError, match=r"model has trees after its line 'end of trees'; allowed is the text of one model"):
            dforest.from_lightgbm(glued)
    first, second, _ = (f"\nTree={text.split(chr(10) + 'Tree=')[t]}" for t in (1, 2, 3))
    for changed, message in [
        (text.replace(first, ""), "model has Tree='1' where Tree=0 should be: its text lacks parts, or has too many"),
        (text.replace(second, second + second), "model has Tree='1' where Tree=2 should be"),
        (text.replace("\nleaf_value=", "\nleaf_value=1\nleaf_value="), "tree 0 has the line 'leaf_value' twice"),
        (text.replace("tree_sizes=", "tree_sizes=7 "), "model has tree_sizes of 4 trees, and 3 trees"),
    ]:
        with pytest.raises(ValueError, match=message):
            dforest.from_lightgbm(changed)
    (tmp_path / "model.txt").write_bytes(text.encode("utf-16"))
    with pytest.raises(ValueError, match=r"model.txt' is not the file of a model of LightGBM, which is text in UTF-8"):
        dforest.from_lightgbm(tmp_path / "model.txt")


WRITTEN = ["", "-1", "0", "7", " ", "99999999999", "nan", "\n", "="]
FIELDS = [
    "num_leaves", "num_cat", "split_feature", "threshold", "decision_type", "left_child", "right_child", "leaf_value",
    "leaf_count", "cat_boundaries", "cat_threshold", "max_feature_idx", "num_tree_per_iteration", "tree_sizes",
]  # fmt: skip

@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@settings(max_examples=examples(60), deadline=None)
@given(
    case=st.sampled_from(CASES), name=st.sampled_from(["", *FIELDS]), place=st.floats(0, 1), other=st.sampled_from(WRITTEN),
    verify=st.booleans(),
)  # fmt: skip
@example(case="multiclass", name="right_child", place=0.0, other="10", verify=True)
@example(case="categories", name="cat_boundaries", place=0.0, other="7", verify=True)
@example(case="categories", name="decision_type", place=0.7, other="-2147483648", verify=True)
def test_damaged_texts_are_refused_or_predict(case, name, place, other, verify):
    """Whatever character or number is another one: nothing but ValueError is raised, and LightGBM does not end the process."""
    text = STORED[case]["model"].partition("\nfeature importances")[0]
    found = [match.span(1) for match in re.finditer(rf"\n{name}=(.*)", text)] if name else []
    if found:
        start, end = found[int(place * (len(found) - 1))]
        words = text[start:end].split(" ")
        words[int(place * (len(words) - 1))] = other
        text = text[:start] + " ".join(words) + text[end:]
    else:
        place = int(place * (len(text) - 1))
        text = text[:place] + other + text[place + 1 :]
    try:
        estimator = dforest.from_lightgbm(text, verify=verify)
    except ValueError:
        return
    estimator.predict(np.zeros((2, 4)))


def test_the_softmax_of_two_classes(lightgbm):
    X, y = data()
    labels = (y > np.median(y)).astype(int)
    booster = lightgbm.train({"objective": "multiclass", "num_class": 2, **SMALL}, lightgbm.Dataset(X, labels), 6)
    for model in (booster, booster.model_to_string()):
        estimator = dforest.from_lightgbm(model)
        assert estimator.predict_proba(X) == pytest.approx(booster.predict(X), abs=1e-12)
        raw, contributions = booster.predict(X, raw_score=True), booster.predict(X, pred_contrib=True)
        of_second, of_first = contributions[:, 5:], contributions[:, :5]
        assert_same(estimator, X, raw[:, 1] - raw[:, 0], of_second - of_first)
    assert estimator.n_iter_ == estimator.max_iter == 16 and estimator.classes_.tolist() == [0, 1]


def focal(raw, dataset):
    share = 1 / (1 + np.exp(-raw))
    return share - dataset.get_label(), share * (1 - share)


def multinomial(raw, dataset):
    share = np.exp(raw - raw.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    return share - np.eye(3)[dataset.get_label().astype(int)], 2 * share * (1 - share)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_objectives_of_the_users_own(n_classes, lightgbm, tmp_path):
    """Predictions are raw predictions, as LightGBM's are."""
    X, y = data()
    labels = np.digitize(y, np.quantile(y, [0.5] if n_classes == 1 else [0.3, 0.6]))
    parameters = {**SMALL, "objective": focal if n_classes == 1 else multinomial, "num_class": n_classes}
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, labels))
    for model in (booster, booster.model_to_string()):
        estimator = dforest.from_lightgbm(model)
        assert type(estimator) is dforest.HistGradientBoostingRegressor
        assert estimator.predict(X) == pytest.approx(booster.predict(X), rel=1e-12)
        assert_same(estimator, X, booster.predict(X, raw_score=True), booster.predict(X, pred_contrib=True))
    assert estimator.n_iter_ == 8 * n_classes and estimator.n_outputs_ == n_classes
    estimator.save(tmp_path / "ours")
    again = dforest.load(tmp_path / "ours")
    assert np.array_equal(again.predict(X), estimator.predict(X))
    y = labels if n_classes == 1 else np.eye(3)[labels]
    again.set_params(warm_start=True, max_iter=8 * n_classes + 20).fit(X, y)
    assert again.score(X, y) > 0.5


def test_tweedie_of_the_least_and_the_greatest_power(lightgbm):
    X, y = data()
    for power, loss in ((1.0, "poisson"), (1.9999999, "tweedie")):
        booster = lightgbm.train({**SMALL, "objective": "tweedie", "tweedie_variance_power": power}, lightgbm.Dataset(X, y))
        estimator = dforest.from_lightgbm(booster)
        assert estimator.loss == loss
        assert estimator.predict(X) == pytest.approx(booster.predict(X), rel=1e-12)
        estimator.set_params(warm_start=True, max_iter=10).fit(X, y)


def test_parameters_that_a_warm_start_goes_on_with(lightgbm):
    X, y = data(missing=False)
    parameters = {
        "learning_rate": 0.3, "num_leaves": 9, "max_depth": 4, "min_data_in_leaf": 7, "min_sum_hessian_in_leaf": 0.5,
        "lambda_l1": 0.25, "lambda_l2": 2.0, "max_delta_step": 5.0, "feature_fraction": 0.75, "feature_fraction_bynode": 0.5,
        "path_smooth": 1.5, "bagging_fraction": 0.5, "bagging_freq": 1, "max_bin": 63, "monotone_constraints": [1, 0, -1, 0],
        "interaction_constraints": [[0, 1, 2], [2, 3]], "verbose": -1,
    }  # fmt: skip
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y), 5)
    for model in (booster, booster.model_to_string()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            estimator = dforest.from_lightgbm(model)
        given = estimator.get_params()
        expected = {
            "learning_rate": 0.3, "max_leaf_nodes": 9, "max_depth": 4, "min_samples_leaf": 7, "min_sum_hessian_in_leaf": 0.5,
            "l1_regularization": 0.25, "l2_regularization": 2.0, "path_smooth": 1.5, "max_delta_step": 5.0,
            "colsample_bytree": 0.75, "max_features": 0.5, "subsample": 0.5, "max_bins": 63, "monotonic_cst": [1, 0, -1, 0],
            "interaction_cst": [[0, 1, 2], [2, 3]],
        }  # fmt: skip
        assert {name: given[name] for name in expected} == expected
    estimator.set_params(warm_start=True, max_iter=15).fit(X, y)
    grid = np.tile(X[:1], (50, 1))
    grid[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(estimator.predict(grid)) >= 0).all()
    defaults = dforest.from_lightgbm(lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, y), 2)).get_params()
    assert (defaults["max_depth"], defaults["max_delta_step"], defaults["monotonic_cst"]) == (None, None, None)


def test_rows_drawn_by_class_and_by_query(lightgbm):
    X, y = data(missing=False)
    labels, drawn = (y > np.median(y)).astype(int), {"bagging_freq": 1, "bagging_fraction": 0.9}
    of_two = {**SMALL, "objective": "binary", "pos_bagging_fraction": 0.5, "neg_bagging_fraction": 0.25, **drawn}
    ranked = {**SMALL, "objective": "lambdarank", "bagging_by_query": True, **drawn}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dforest.from_lightgbm(lightgbm.train(of_two, lightgbm.Dataset(X, labels), 2))
        assert found.subsample == {0: 0.25, 1: 0.5} and found.sampling == "uniform"
        found.set_params(warm_start=True, max_iter=12).fit(X, labels)
        named = lightgbm.LGBMClassifier(**{**of_two, "n_estimators": 2}).fit(X, np.array(["no", "yes"])[labels])
        assert dforest.from_lightgbm(named).subsample == {"no": 0.25, "yes": 0.5}
        rows = lightgbm.Dataset(X, labels, group=[10] * (len(X) // 10) + [len(X) % 10] * (len(X) % 10 > 0))
        found = dforest.from_lightgbm(lightgbm.train(ranked, rows, 2))
        assert (found.subsample, found.sampling) == (0.9, "query")
        by_share = {**SMALL, **drawn, "pos_bagging_fraction": 0.5}  # which only two classes have
        assert dforest.from_lightgbm(lightgbm.train(by_share, lightgbm.Dataset(X, y), 2)).subsample == 0.9
    with pytest.warns(UserWarning, match="LightGBM grew the model with bagging_freq=2, which"):
        dforest.from_lightgbm(lightgbm.train({**of_two, "bagging_freq": 2}, lightgbm.Dataset(X, labels), 2))


def test_parameters_that_have_no_name_here(lightgbm):
    X, y = data(missing=False)
    labels, of_three = np.digitize(y, np.quantile(y, [0.3, 0.6])), {"objective": "multiclass", "num_class": 3}
    for parameters, what in [
        ({"linear_lambda": 1.0, "use_quantized_grad": True}, "use_quantized_grad=1, which boosted trees of dforest do not have"),
        ({"boosting": "dart", "max_bin_by_feature": [9, 9, 9, 9]}, "boosting=dart, max_bin_by_feature=9,9,9,9"),
        ({"bagging_fraction": 0.5, "bagging_freq": 3}, "bagging_freq=3"),
        ({"interaction_constraints": [[0, 1]]}, r"interaction_constraints without the columns \[2, 3\]"),
        ({**of_three, "monotone_constraints": [0, 1, 0, 0]}, r"monotone_constraints of the columns \[1\]"),
        ({"objective": "tweedie", "is_unbalance": True}, "is_unbalance=1"),
    ]:
        booster = lightgbm.train({**SMALL, **parameters}, lightgbm.Dataset(X, labels), 2)
        with pytest.warns(UserWarning, match=f"LightGBM grew the model with {what}") as record:
            dforest.from_lightgbm(booster)
        assert record[0].filename == __file__
    kept = lightgbm.LGBMClassifier(class_weight="balanced", **SMALL).fit(X, labels)
    assert dforest.from_lightgbm(kept).class_weight == "balanced"
    names = np.array(["no", "yes"])[(labels > 0).astype(int)]
    kept = lightgbm.LGBMClassifier(scale_pos_weight=3.0, **SMALL).fit(X, names)
    assert dforest.from_lightgbm(kept).class_weight == {"yes": 3.0}


def test_one_wrong_number_is_found(monkeypatch, lightgbm):
    monkeypatch.setattr(conversion, "_NEARLY_ZERO", 0.5)
    with pytest.raises(ConversionError, match=r"the model of LightGBM and the estimator predict differently for \d+ of \d+ rows"):
        dforest.from_lightgbm(STORED["regression"]["model"])
    dforest.from_lightgbm(STORED["regression"]["model"], verify=False)


def test_names_of_a_frame_with_spaces(lightgbm, tmp_path):
    X, y = data()
    frame = pd.DataFrame(X, columns=["mean area", "worst radius", "x", "code of town"])
    model = lightgbm.LGBMRegressor(**SMALL).fit(frame, y)
    estimator = dforest.from_lightgbm(model, feature_names=frame.columns)
    assert estimator.predict(frame) == pytest.approx(model.predict(frame), rel=1e-12)
    unnamed = dforest.from_lightgbm(model)
    with pytest.raises(ValueError, match=r"match those that.*\n(.*\n)*X has spaces .*from_lightgbm\(model, feature_names=X.col"):
        unnamed.predict(frame)
    with pytest.raises(ValueError, match="match those that") as other:
        unnamed.predict(frame.rename(columns={"x": "y"}))
    assert "from_lightgbm" not in str(other.value)
    with pytest.raises(ValueError, match="feature_names has 1 names; allowed are 4, one for each column"):
        dforest.from_lightgbm(model, feature_names=["x"])
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    with pytest.raises(dforest.errors.ModelFileError, match="not begin like one; dforest.from_lightgbm reads LightGBM's text"):
        dforest.load(path)


@pytest.mark.parametrize("name", ["feature_names", "pandas_categorical"])
def test_a_text_is_no_list_of_names(name):
    """Its letters were taken for names."""
    with pytest.raises(ValueError, match=f"{name}='xyz'; allowed are lists of names"):
        dforest.from_lightgbm("tree\n", **{name: "xyz"})
