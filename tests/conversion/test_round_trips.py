"""Models of other libraries, read by dforest, become models of all formats and files that predict what the originals do."""

import shutil

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from helpers import rings
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier

import dforest

pytestmark = [
    pytest.mark.filterwarnings("ignore:(LightGBM|XGBoost) grew the model with"),
    pytest.mark.filterwarnings("ignore::dforest.errors.UnseenLabelsWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


def rows_of(seed, categories, n=120):
    """A frame with missing values, and with categories of text or numbers if there are any; and targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(1), columns=["a", "label", "c"])
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    y = np.nan_to_num(frame["a"] * frame["label"]) + 0.1 * rng.normal(size=n)
    if categories is not None:
        codes = rng.integers(0, len(categories), n)
        frame["d"] = pd.Categorical.from_codes(codes, categories)
        y = y + np.where(codes % 2, 1.0, -1.0)
    return frame, y


def targets_of(task, y):
    return y if task == "number" else np.digitize(y, np.quantile(y, [0.5] if task == "two" else [0.3, 0.6]))


def fitted(library, task, frame, y, seed):
    """(a model of another library, the estimator that it becomes)."""
    y, kind = targets_of(task, y), "Regressor" if task == "number" else "Classifier"
    has_labels = "d" in frame
    if library == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        options = {"n_estimators": 4, "num_leaves": 6, "min_child_samples": 2, "min_data_per_group": 2, "cat_smooth": 0.5}
        model = getattr(lightgbm, f"LGBM{kind}")(**options, random_state=seed, verbose=-1, n_jobs=1).fit(frame, y)
        return model, dforest.from_lightgbm(model)
    if library == "xgboost":
        xgboost = pytest.importorskip("xgboost", "3.1" if has_labels else "2.1")
        options = {"n_estimators": 4, "max_depth": 3, "enable_categorical": True, "n_jobs": 1}
        model = getattr(xgboost, f"XGB{kind}")(**options).fit(frame, y)
        return model, dforest.from_xgboost(model)
    options = {"max_iter": 4, "max_leaf_nodes": 6, "min_samples_leaf": 2, "random_state": seed}
    model = getattr(sklearn.ensemble, f"HistGradientBoosting{kind}")(**options, categorical_features="from_dtype").fit(frame, y)
    return model, dforest.from_sklearn(model)


def predicted(estimator, rows):
    return estimator.predict_proba(rows) if is_classifier(estimator) else estimator.predict(rows)


@settings(max_examples=examples(6), deadline=None)
@given(
    library=st.sampled_from(["lightgbm", "xgboost", "sklearn"]), task=st.sampled_from(["number", "two", "three"]),
    categories=st.sampled_from([None, ["u", "v", "w", "x"], [3, 5, 8]]), seed=st.integers(0, 1000),
)  # fmt: skip
def test_every_format(library, task, categories, seed, tmp_path_factory):
    """`to_onnx`, `to_c`, `to_treelite` and `to_shap` compare what they make with the estimator."""
    frame, y = rows_of(seed, categories)
    model, estimator = fitted(library, task, frame, y, seed)
    expected = predicted(model, frame)
    assert predicted(estimator, frame) == pytest.approx(expected, rel=1e-5, abs=1e-5)
    path = tmp_path_factory.mktemp("models") / "model"
    estimator.save(path)
    assert np.array_equal(predicted(dforest.load(path), frame), predicted(estimator, frame))
    pytest.importorskip("onnxruntime")
    estimator.to_onnx()
    if shutil.which("cc") and (rings.ALL or seed % 4 == 0):  # compilers are slow
        estimator.to_c()
    if categories is None or categories == [3, 5, 8]:
        pytest.importorskip("treelite")
        estimator.to_treelite()
        pytest.importorskip("shap")
        estimator.to_shap()


@pytest.mark.parametrize("library", ["lightgbm", "sklearn"])
def test_one_class(library, tmp_path):
    """Other libraries have a second probability, of no class, which is close to 0."""
    frame, y = rows_of(0, None)
    if library == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(frame, np.full(len(y), "one"))
        estimator = dforest.from_lightgbm(model)
    else:
        model = sklearn.ensemble.HistGradientBoostingClassifier(max_iter=2).fit(frame, np.full(len(y), "one"))
        estimator = dforest.from_sklearn(model)
    assert (estimator.predict_proba(frame) == 1.0).all() and estimator.predict_proba(frame).shape == (len(y), 1)
    assert model.predict_proba(frame)[:, 0] == pytest.approx(1.0, abs=1e-12)
    assert set(estimator.predict(frame)) == {"one"} == set(model.predict(frame))
    estimator.save(tmp_path / "ours")
    assert dforest.load(tmp_path / "ours").classes_.tolist() == ["one"]
    pytest.importorskip("onnxruntime")
    estimator.to_onnx()
    estimator.set_params(warm_start=True, max_iter=4).fit(frame, np.full(len(y), "one"))
    assert estimator.n_iter_ == 4


@pytest.mark.parametrize("kind", ["RandomForestClassifier", "ExtraTreesClassifier"])
def test_forests_of_one_class(kind):
    frame, y = rows_of(0, None)
    model = getattr(sklearn.ensemble, kind)(3).fit(frame.fillna(0.0), np.full(len(y), 7))
    estimator = dforest.from_sklearn(model)
    assert estimator.classes_.tolist() == [7] and (estimator.predict_proba(frame) == 1.0).all()
