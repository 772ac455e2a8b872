"""Fits, predictions and conversions do what they do where `numpy.seterr` makes errors of all rounding to zero, and the like."""

import warnings

import numpy as np
import pytest
from helpers.conversion import HAS_ONNXRUNTIME, data_of, models
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

import dforest

WAYS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "apply", "decision_path", "shap_values",
    "shap_interaction_values", "staged_predict", "staged_predict_proba",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _everything_raises():
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("ignore")
        yield


def predicted(model, X, y):
    """By name whatever an estimator says of rows, drawings of its first tree too."""
    found = {}
    for name in WAYS:
        if hasattr(model, name):
            result = getattr(model, name)(X)
            found[name] = list(result) if name.startswith("staged") else result
    if getattr(model, "keep_training_data", False):
        found["neighbours"] = model.forest_weights(X), model.proximity(X)
    if hasattr(model, "feature_importances_"):
        found["importances"] = model.feature_importances_
    if hasattr(model, "estimators_"):
        tree = np.ravel(model.estimators_)[0]
        found["drawing"] = dforest.export_graphviz(tree, filled=True), dforest.export_text(tree)
        if hasattr(model, "estimators_samples_"):
            found["pruned"] = tree.prune(X, y, inplace=False).predict(X)
    return found


def convert(model, dtypes=(np.float64, np.float32), has_categories=False):
    """Make all models of other libraries, which compares what they predict."""
    for dtype in dtypes:
        model.to_onnx(dtype=dtype, verify=HAS_ONNXRUNTIME)
    model.to_treelite()
    if has_categories:
        return
    for dtype in dtypes:
        kind = FloatTensorType if dtype is np.float32 else DoubleTensorType
        convert_sklearn(model, initial_types=[("X", kind([None, 6]))])
    model.to_shap()
    if hasattr(model, "to_sklearn"):
        dforest.from_sklearn(model.to_sklearn())


@pytest.mark.parametrize("categories", [False, True])
def test_every_estimator(categories, tmp_path):
    dforest.register_onnx_converters()
    X, z = data_of(categories=categories)
    for name, model in models(categories=categories):
        if name == "one class":
            continue
        predicted(model, X, z if not hasattr(model, "classes_") else model.predict(X))
        convert(model, has_categories=categories)
        model.save(tmp_path / "model")
        assert np.array_equal(dforest.load(tmp_path / "model").predict(X), model.predict(X))


SCALES = {
    "tiny targets": (1.0, 1e-300, 1.0), "targets without all digits": (1.0, 3e-320, 1.0), "large targets": (1.0, 1e70, 1.0),
    "tiny columns": (1e-310, 1.0, 1.0), "large columns": (1e307, 1.0, 1.0), "tiny weights": (1.0, 1.0, 1e-290),
    "large weights": (1.0, 1.0, 1e250),
}  # fmt: skip


@pytest.mark.parametrize("scale", SCALES)
def test_numbers_at_the_ends_of_the_range(scale):
    """Predictions are those of a fit for which NumPy says nothing, to the bit."""
    dforest.register_onnx_converters()
    x_scale, y_scale, w_scale = SCALES[scale]
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        X, z = data_of(150)
        X, y, weight = X * x_scale, z * y_scale, rng.random(150) ** 4 * w_scale
    three = np.digitize(z, np.quantile(z, [0.3, 0.6]))
    forests = {"random_state": 0, "oob_score": True, "variable_importance": "mda_scaled", "keep_training_data": True}
    fits = [
        (dforest.RandomForestRegressor(5, **forests), y),
        (dforest.RandomForestRegressor(5, criterion="absolute_error", ccp_alpha=1e-5, random_state=0), y),
        (dforest.ExtraTreesRegressor(4, criterion="poisson", random_state=0), y),
        (dforest.RandomForestClassifier(5, class_weight="balanced_subsample", **forests), three),
    ]
    if 1e-290 < w_scale < 1e200 and y_scale != 3e-320:  # boosted trees refuse others
        fits += [
            (dforest.HistGradientBoostingRegressor(max_iter=4, loss=loss, early_stopping=True, random_state=0), y)
            for loss in ("squared_error", "absolute_error", "huber", "poisson")
        ]
        fits += [(dforest.HistGradientBoostingClassifier(max_iter=4, random_state=0), labels) for labels in (three, three > 0)]
    for model, target in fits:
        found = predicted(model.fit(X, target, sample_weight=weight), X, target)["predict"]
        convert(model, [np.float64] if target is y and y_scale != 1.0 else [np.float64, np.float32])
        with np.errstate(all="ignore"):
            expected = model.fit(X, target, sample_weight=weight).predict(X)
        assert found.tobytes() == expected.tobytes()


def test_values_beyond_float32():
    """They are refused, where those of the model would all be infinite, or zero."""
    X, z = data_of(100)
    dforest.register_onnx_converters()
    for scale in (1e140, 1e-140):
        for model in (dforest.RandomForestRegressor(3), dforest.HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5)):
            model.fit(X, z * scale)
            with pytest.raises(ValueError, match=r"trees that add values of up to .*; allowed are from 1\.17.*e-38 to 3\.4"):
                model.to_onnx(dtype=np.float32, verify=HAS_ONNXRUNTIME)
            with pytest.raises(ValueError, match=r"float32 for trees that add values of up to"):
                convert_sklearn(model, initial_types=[("X", FloatTensorType([None, 6]))])
            model.to_onnx(dtype=np.float64, verify=HAS_ONNXRUNTIME)


def test_drawings_have_large_thresholds():
    X = np.linspace(-1.0, 1.0, 40)[:, None] * 1e307
    tree = dforest.DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0] > 1e306)
    assert f"x[0] <= {tree.tree_.threshold[0]}" in dforest.export_graphviz(tree) and np.isfinite(tree.tree_.threshold[0])
