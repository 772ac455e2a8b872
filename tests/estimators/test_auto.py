"""Blends of forests and boosted trees: weights by out-of-sample predictions."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dforest
from dforest import (
    AutoForestClassifier,
    AutoForestRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    config_context,
)
from dforest.errors import ModelFileError
from dforest.estimators.auto import members
from dforest.estimators.auto.weights import LEAST_WEIGHT, floored, log_weights, squared_weights
from dforest.spmd.threads import ThreadGroup

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
X_DIABETES, Y_DIABETES = load_diabetes(return_X_y=True)
X_CANCER, Y_CANCER = load_breast_cancer(return_X_y=True)
FEW = {"n_estimators": 20, "random_state": 0}
BOTH = pytest.mark.parametrize(
    ("blend", "X", "y"),
    [(AutoForestClassifier(**FEW), X_IRIS, Y_IRIS), (AutoForestRegressor(**FEW), X_DIABETES, Y_DIABETES)],
    ids=["classes", "numbers"],
)
FORESTS = ["random_forest", "extra_trees"]


# Weights

STEPS = 50
GRID = [np.array([i, j, STEPS - i - j]) / STEPS for i, j in product(range(STEPS + 1), repeat=2) if i + j <= STEPS]


def some_predictions(seed, n_classes=0, n=300):
    """(predictions of three members, targets, weights of rows)"""
    rng = np.random.default_rng(seed)
    if not n_classes:
        y = rng.standard_normal(n)
        common, noise = rng.standard_normal(n), rng.uniform(0.1, 1, 3)
        parts = [y + noise[i] * (0.5 * common + rng.standard_normal(n)) + rng.choice([0, 1]) for i in range(3)]
    else:
        y = rng.integers(0, n_classes, n)
        raised = [1 + rng.uniform(0, 4) * rng.random(n)[:, None] * np.eye(n_classes)[y] for _ in range(3)]
        parts = [rng.dirichlet(np.ones(n_classes), n) * up for up in raised]
        parts = [part / part.sum(axis=1, keepdims=True) for part in parts]
    return parts, y, rng.integers(0, 4, n).astype(float)


def squared(parts, weights, y, weight):
    return np.average((sum(w * part for w, part in zip(weights, parts, strict=True)) - y) ** 2, weights=weight)


def log(parts, weights, y, weight):
    mixed = sum(w * floored(part) for w, part in zip(weights, parts, strict=True))
    return np.average(-np.log(mixed[np.arange(len(y)), y]), weights=weight)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("find", "loss", "n_classes"), [(squared_weights, squared, 0), (log_weights, log, 2), (log_weights, log, 4)]
)
def test_no_weights_of_a_grid_are_better(seed, find, loss, n_classes, monkeypatch):
    parts, y, weight = some_predictions(seed, n_classes)
    for own in (None, weight):
        found = find(parts, y, own)
        assert found.min() >= 0 and found.sum() == pytest.approx(1, abs=1e-12)
        assert not ((found > 0) & (found < LEAST_WEIGHT)).any()
        least = min(loss(parts, weights, y, own) for weights in GRID)
        assert loss(parts, found, y, own) <= least * 1.005
        with monkeypatch.context() as exact:
            exact.setattr("dforest.estimators.auto.weights.LEAST_WEIGHT", 0)
            exact.setattr("dforest.estimators.auto.weights.DIGITS", 9)
            assert loss(parts, find(parts, y, own), y, own) <= least * (1 + 1e-6)


@pytest.mark.parametrize(("find", "n_classes"), [(squared_weights, 0), (log_weights, 3)])
def test_weights_of_rows_are_repetitions(find, n_classes):
    parts, y, weight = some_predictions(3, n_classes)
    times = weight.astype(int)
    np.testing.assert_allclose(find(parts, y, weight), find([p.repeat(times, axis=0) for p in parts], y.repeat(times)), atol=2e-3)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_weights_do_not_depend_on_the_scale_of_targets(scale):
    parts, y, _ = some_predictions(1)
    assert_array_equal(squared_weights([part * scale for part in parts], y * scale), squared_weights(parts, y))


def test_members_that_are_alike_or_perfect():
    y = np.arange(5.0)
    assert_array_equal(squared_weights([y, y], y), [0.5, 0.5])
    assert_array_equal(squared_weights([y + 1, y], y), [0, 1])
    assert squared_weights([y + 1, y + 1, y - 1], y)[2] == 0.5
    sure = np.eye(3)[[0, 1, 2, 0]]
    assert_array_equal(log_weights([sure, np.full((4, 3), 1 / 3)], np.array([0, 1, 2, 0])), [1, 0])


# Blends


@BOTH
def test_a_blend_is_its_members_by_weight(blend, X, y):
    model = clone(blend).fit(X, y)
    is_classes = hasattr(model, "classes_")
    names = [entry["name"] for entry in model.selection_]
    assert names == ["random_forest", "extra_trees", "boosted_trees"]
    kept = {entry["name"]: entry["weight"] for entry in model.selection_ if entry["weight"]}
    assert list(kept) == list(model.named_estimators_) and list(kept.values()) == model.weights_.tolist()
    assert list(model.named_estimators_.values()) == model.estimators_
    ask = "predict_proba" if is_classes else "predict"
    expected = sum(w * getattr(one, ask)(X) for w, one in zip(model.weights_, model.estimators_, strict=True))
    found = getattr(model, ask)(X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    if is_classes:
        assert_array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
        assert_array_equal(model.predict_log_proba(X), np.log(found))
        assert all("calibration_" in vars(one) for name, one in model.named_estimators_.items() if name in FORESTS)
    importances = sum(w * one.feature_importances_ for w, one in zip(model.weights_, model.estimators_, strict=True))
    np.testing.assert_allclose(model.feature_importances_, importances)
    assert model.oof_loss_ <= min(entry["loss"] for entry in model.selection_) * (1 + 1e-3)
    known = ~np.isnan(model.oof_prediction_.reshape(len(X), -1)[:, 0])
    assert known.mean() > 0.99 and model.oof_prediction_.shape == found.shape


@BOTH
def test_the_same_bits_on_any_number_of_threads(blend, X, y):
    first, other = (clone(blend).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    assert_array_equal(first.weights_, other.weights_)
    assert_array_equal(first.oof_prediction_, other.oof_prediction_)
    assert_array_equal(first.predict(X), other.predict(X))
    assert first.oof_loss_ == other.oof_loss_


@BOTH
def test_targets_that_are_noise(blend, X, y):
    """Out of sample, and on new rows, a blend is as good as a constant: no member looks at the rows that it predicts."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 5)), rng.permutation(np.resize(y, 1000))
    model = clone(blend).set_params(n_estimators=100).fit(X[:500], y[:500])
    if hasattr(model, "classes_"):
        shares = np.bincount(y[:500]) / 500
        constant = -(shares * np.log(shares)).sum()
        new = -np.log(model.predict_proba(X[500:])[np.arange(500), y[500:]]).mean()
    else:
        constant, new = y[:500].var(), ((model.predict(X[500:]) - y[500:]) ** 2).mean() * y[:500].var() / y[500:].var()
    assert 0.98 < model.oof_loss_ / constant < 1.06 and 0.97 < new / constant < 1.08


def test_boosted_trees_are_predicted_fold_by_fold():
    given = [("boosted", HistGradientBoostingRegressor(defaults="dforest")), "random_forest"]
    model = AutoForestRegressor(10, members=given, random_state=0).fit(X_DIABETES, Y_DIABETES)
    boosted = next(entry for entry in model.selection_ if entry["name"] == "boosted")
    score = cross_val_score(given[0][1], X_DIABETES, Y_DIABETES, scoring="neg_mean_squared_error", cv=5).mean()
    assert boosted["loss"] == pytest.approx(-score, rel=0.1)


def test_members_of_other_libraries_and_names():
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    own = RandomForestClassifier(15, min_samples_leaf=2, random_state=7, n_jobs=1)
    model = AutoForestClassifier(10, members=[("linear", linear), ("mine", own), "extra_trees"], random_state=0)
    model.fit(X_CANCER, Y_CANCER)
    assert model.named_estimators_["linear"][-1].coef_.shape == (1, 30) and not hasattr(linear, "classes_")
    assert model.n_features_in_ == 30 and model.weights_[0] > 0.2
    alone = AutoForestClassifier(members=[("mine", own)], random_state=0).fit(X_CANCER, Y_CANCER)
    assert_array_equal(alone.predict_proba(X_CANCER), clone(own).fit(X_CANCER, Y_CANCER).predict_proba(X_CANCER))
    assert alone.weights_.tolist() == [1.0] and alone.estimators_[0].random_state == 7
    with pytest.raises(AttributeError, match="feature_importances_"):
        model.feature_importances_  # noqa: B018
    ridge = AutoForestRegressor(10, members=[("ridge", Ridge()), "random_forest"], random_state=0).fit(X_DIABETES, Y_DIABETES)
    assert dict(zip(ridge.named_estimators_, ridge.weights_, strict=True))["ridge"] > 0.3


def test_a_class_that_a_fold_lacks():
    y = np.where(np.arange(150) == 3, 9, Y_IRIS)
    model = AutoForestClassifier(10, members=["random_forest", ("linear", LogisticRegression(max_iter=1000))], random_state=0)
    model.fit(X_IRIS, y)
    assert model.classes_.tolist() == [0, 1, 2, 9] and model.predict_proba(X_IRIS).shape == (150, 4)
    assert np.isfinite([entry["loss"] for entry in model.selection_]).all()


def test_frames_text_weights_and_sparse_rows():
    rng = np.random.default_rng(0)
    town = rng.choice([f"town {i}" for i in range(45)], 400)
    X = pd.DataFrame({"a": rng.standard_normal(400), "town": pd.Categorical(town)})
    X.loc[::7, "a"] = np.nan
    y = np.where(X.a.fillna(0) + pd.Series(town).str[5:].astype(int) / 20 > 1, "yes", "no")
    weight = rng.integers(0, 3, 400).astype(float)
    model = AutoForestClassifier(20, random_state=0).fit(X, y, sample_weight=weight)
    assert model.feature_names_in_.tolist() == ["a", "town"] and model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, y) > 0.85
    assert np.isnan(model.oof_prediction_[weight == 0]).all() or "boosted_trees" in model.named_estimators_
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"a": "b"}))
    wide = csr_matrix(np.where(rng.random((200, 6)) < 0.3, rng.standard_normal((200, 6)), 0.0))
    target = wide.toarray().sum(axis=1)
    sparse, dense = (AutoForestRegressor(10, random_state=0).fit(rows, target) for rows in (wide, wide.toarray()))
    assert_array_equal(sparse.predict(wide), dense.predict(wide.toarray()))


# Ends


def test_a_time_limit_leaves_members_out(capsys):
    model = AutoForestRegressor(20, time_limit=1e-6, verbose=1, random_state=0).fit(X_DIABETES, Y_DIABETES)
    first, *others = model.selection_
    assert first["weight"] == 1 and not first["note"] and list(model.named_estimators_) == ["random_forest"]
    for entry in others:
        assert entry["note"] == "not begun, as time_limit=1e-06 was reached" and entry["weight"] == 0 and np.isnan(entry["loss"])
    assert "boosted_trees: not begun" in capsys.readouterr().err
    alone = AutoForestRegressor(20, members=["random_forest"], random_state=0).fit(X_DIABETES, Y_DIABETES)
    assert_array_equal(model.predict(X_DIABETES), alone.predict(X_DIABETES))
    whole = AutoForestRegressor(20, time_limit=1000, random_state=0).fit(X_DIABETES, Y_DIABETES)
    assert not any(entry["note"] for entry in whole.selection_)


class Interrupted(Ridge):
    """Somebody presses Ctrl-C while it is fitted."""

    def fit(self, X, y):
        raise KeyboardInterrupt


def test_ctrl_c_leaves_a_blend_of_what_is_fitted():
    model = AutoForestRegressor(20, members=["random_forest", "extra_trees", ("slow", Interrupted()), ("last", Ridge())])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X_DIABETES, Y_DIABETES)
    assert [entry["note"] for entry in model.selection_] == ["", "", "interrupted", "not begun, as the fit was interrupted"]
    assert model.weights_.sum() == pytest.approx(1) and model.predict(X_DIABETES).shape == (442,)
    first = AutoForestRegressor(20, members=[("slow", Interrupted()), "random_forest"])
    with pytest.raises(KeyboardInterrupt):
        first.fit(X_DIABETES, Y_DIABETES)
    assert not hasattr(first, "weights_")


@BOTH
def test_a_later_fit_goes_on(blend, X, y):
    frame = pd.DataFrame(X).add_prefix("x").assign(text=np.where(np.arange(len(X)) % 3, "a", "b"))
    blend = clone(blend).set_params(categorical_features="auto")
    whole = clone(blend).fit(frame, y)
    model = clone(blend).set_params(time_limit=1e-6, warm_start=True).fit(frame, y)
    first = model.selection_[0]["seconds"]
    model = pickle.loads(pickle.dumps(model)).set_params(time_limit=None).fit(frame.copy(), y)
    assert_array_equal(model.weights_, whole.weights_)
    assert_array_equal(model.oof_prediction_, whole.oof_prediction_)
    assert_array_equal(model.predict(frame), whole.predict(frame))
    seconds = [entry["seconds"] for entry in model.selection_]
    assert seconds[0] == first
    assert [entry["seconds"] for entry in model.fit(frame, y).selection_] == seconds  # nothing was left to be fitted
    kind = RandomForestClassifier if hasattr(whole, "classes_") else RandomForestRegressor
    one_more = kind(5, categorical_features="auto", bootstrap=True)
    model.set_params(members=[*FORESTS, "boosted_trees", ("last", one_more)])
    assert [entry["seconds"] for entry in model.fit(frame, y).selection_][:3] == seconds
    with pytest.raises(ValueError, match="X, y or sample_weight are others than those that members were fitted to"):
        model.fit(frame[::-1], y)
    assert not hasattr(model.set_params(warm_start=False).fit(frame, y), "_progress")


def test_members_whose_parameters_have_no_digest():
    """A function without a name can't be pickled, of which digests are made; only fits that may go on need one."""
    forest = RandomForestRegressor(5, oob_score=lambda true, predicted: -np.abs(true - predicted).mean(), random_state=0)
    blend = AutoForestRegressor(members=[("forest", forest)], random_state=0).fit(X_DIABETES, Y_DIABETES)
    assert list(blend.named_estimators_) == ["forest"]


def test_members_with_other_parameters_are_fitted_again():
    model = AutoForestRegressor(10, members=FORESTS, warm_start=True, random_state=0).fit(X_DIABETES, Y_DIABETES)
    model.set_params(n_estimators=20).fit(X_DIABETES, Y_DIABETES)
    whole = AutoForestRegressor(20, members=FORESTS, random_state=0).fit(X_DIABETES, Y_DIABETES)
    assert_array_equal(model.predict(X_DIABETES), whole.predict(X_DIABETES))
    assert_array_equal(model.weights_, whole.weights_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": ["shrub"]}, r"members holds 'shrub'; allowed are names \(random_forest, extra_trees, boosted_trees\)"),
        ({"members": [("a", 3)]}, r"members holds \('a', 3\); allowed are"),
        ({"members": []}, "members has the names .*at least one"),
        ({"members": ["extra_trees", ("extra_trees", Ridge())]}, "of different names"),
        ({"members": [(f"m{i}", Ridge()) for i in range(64)]}, "members has 64 entries; allowed are up to 63"),
        ({"time_limit": 0}, "'time_limit' parameter of AutoForestRegressor"),
        ({"n_estimators": 0}, "'n_estimators' parameter of AutoForestRegressor"),
    ],
)
def test_refused_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoForestRegressor(**parameters).fit(X_DIABETES, Y_DIABETES)


def test_refused_data_leave_a_blend_as_it_was():
    model = AutoForestRegressor(10, members=FORESTS, random_state=0).fit(X_DIABETES, Y_DIABETES)
    before = model.predict(X_DIABETES)
    for X, y, message in [
        (X_DIABETES, np.c_[Y_DIABETES, Y_DIABETES], "y should be a 1d array"),
        (X_DIABETES[:1], Y_DIABETES[:1], "n_samples = 1"),
        (X_DIABETES[:9], Y_DIABETES[:8], "inconsistent numbers of samples"),
        (X_DIABETES, None, "requires y to be passed"),
        (X_DIABETES, np.where(np.arange(442) == 5, np.nan, Y_DIABETES), "y contains NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'groups'"):
        model.fit(X_DIABETES, Y_DIABETES, groups=Y_DIABETES)
    assert_array_equal(model.predict(X_DIABETES), before)


def test_several_ranks_are_refused():
    def fit(communicator):
        with config_context(communicator=communicator):
            return AutoForestRegressor(5).fit(X_DIABETES, Y_DIABETES)

    for error in ThreadGroup(2).run(fit):
        assert isinstance(error, ValueError) and "communicator of 2 ranks" in str(error)


# scikit-learn's tools, and files


def test_tools_of_scikit_learn():
    blend = AutoForestClassifier(5, members=FORESTS, random_state=0)
    assert clone(blend).get_params() == blend.get_params() and repr(blend) == repr(clone(blend))
    search = GridSearchCV(blend, {"n_estimators": [3, 10], "members": [FORESTS, FORESTS[:1]]}, cv=3).fit(X_IRIS, Y_IRIS)
    assert set(search.best_params_) == {"n_estimators", "members"} and search.best_score_ > 0.9
    pipeline = make_pipeline(StandardScaler(), blend).fit(X_IRIS, Y_IRIS)
    assert pipeline.score(X_IRIS, Y_IRIS) > 0.95
    given = AutoForestClassifier(members=[("mine", RandomForestClassifier(3))])
    assert clone(given).members[0][1] is not given.members[0][1]


@BOTH
@pytest.mark.parametrize("serving", [True, False])
def test_files_and_pickles(blend, X, y, serving, tmp_path):
    model = clone(blend).fit(X, y)
    model.save(tmp_path / "model", serving=serving)
    loaded = [dforest.load(tmp_path / "model", mmap=mmap) for mmap in (True, False)]
    for again in [*loaded, pickle.loads(pickle.dumps(model))]:
        assert_array_equal(again.predict(X), model.predict(X))
        assert_array_equal(again.feature_importances_, model.feature_importances_)
        assert again.get_params() == model.get_params() and again.selection_ == model.selection_
        assert list(again.named_estimators_) == list(model.named_estimators_)


class OwnBlend(AutoForestRegressor):
    """A blend of somebody's own."""


def test_files_of_a_class_of_ones_own(tmp_path):
    model = OwnBlend(5, members=FORESTS, random_state=0).fit(X_DIABETES, Y_DIABETES)
    model.save(tmp_path / "model")
    again = dforest.load(tmp_path / "model", components=[OwnBlend])
    assert type(again) is OwnBlend and (again.predict(X_DIABETES) == model.predict(X_DIABETES)).all()


@pytest.mark.parametrize("blend", [AutoForestClassifier(), AutoForestRegressor()])
def test_blends_that_are_not_fitted_say_so(blend, tmp_path):
    asked = [lambda: blend.feature_importances_, lambda: blend.named_estimators_, lambda: blend.save(tmp_path / "model")]
    asked += [lambda name=name: getattr(blend, name)(X_IRIS) for name in ("predict", "predict_proba") if hasattr(blend, name)]
    for ask in asked:
        with pytest.raises(NotFittedError):
            ask()


def test_what_files_and_pickles_may_not_have(tmp_path):
    given = AutoForestRegressor(5, members=[("ridge", Ridge()), "random_forest"], random_state=0).fit(X_DIABETES, Y_DIABETES)
    with pytest.raises(ValueError, match=r"parameters\.members\.0\.1=Ridge\(\) can't be written"):
        given.save(tmp_path / "model")
    model = AutoForestRegressor(5, members=FORESTS, random_state=0).fit(X_DIABETES, Y_DIABETES)
    state, weights = model.__getstate__(), model.weights_
    other = ExtraTreesRegressor(2).fit(X_DIABETES[:, :3], Y_DIABETES)
    for damaged in (
        {"weights_": weights[:1]}, {"weights_": weights * 2}, {"weights_": None}, {"_names": ["a"]},
        {"estimators_": [other, other]}, {"estimators_": []},
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            AutoForestRegressor().__setstate__(state | damaged)
    model.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    for told, lied in ((b"RandomForestRegressor", b"RandomForestXegressor"), (b"AutoForestRegressor", b"ExtraTreesRegressor")):
        (tmp_path / "damaged").write_bytes(content.replace(told, lied))
        with pytest.raises(ModelFileError):
            dforest.load(tmp_path / "damaged")


def test_members_by_name_are_what_the_page_says():
    for table, forest, boosted in (
        (members.CLASSIFIERS, RandomForestClassifier, HistGradientBoostingClassifier),
        (members.REGRESSORS, RandomForestRegressor, HistGradientBoostingRegressor),
    ):
        assert table["random_forest"][0] is forest and table["boosted_trees"] == (boosted, {"validation_folds": 5})
        assert table["extra_trees"][1]["bootstrap"]
