"""Boosted trees by a loss of the user's own become models of raw predictions, in all formats; the labels of classes follow."""

import shutil

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dforest
from dforest.loss import PythonLoss


class Doubled(PythonLoss):
    """A loss of numbers, which predicts twice the raw prediction; and of classes, by the logistic function or a softmax."""

    def fit_intercept_only(self, y_true, sample_weight):
        return 0.125 if self.n_outputs == 1 else np.linspace(0.125, 0.25, self.n_outputs)

    def gradient_hessian(self, y_true, raw_prediction):
        if self.n_classes == 0:
            return raw_prediction - y_true, np.ones(len(y_true))
        if self.n_outputs == 1:
            share = 1 / (1 + np.exp(-raw_prediction))
            return share - y_true, share * (1 - share)
        share = np.exp(raw_prediction)
        share /= share.sum(axis=1, keepdims=True)
        return share - np.eye(self.n_outputs)[y_true.astype(int)], 2 * share * (1 - share)

    def inverse_link(self, raw_prediction):
        return 2 * raw_prediction if self.n_classes == 0 else None


def model_of(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1])
    if n_classes == 0:
        return dforest.HistGradientBoostingRegressor(loss=Doubled(), max_iter=4).fit(X, y), X, y
    labels = np.array(["few", "many", "more"])[np.digitize(y, [0.0] if n_classes == 2 else [-0.3, 0.3])]
    return dforest.HistGradientBoostingClassifier(loss=Doubled(), max_iter=4).fit(X, labels), X, labels


def raw_of(model, X):
    return model.predict(X) / 2 if hasattr(model, "n_outputs_") else model.decision_function(X)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_onnx(n_classes):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, X, _ = model_of(n_classes)
    session = runtime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    *labels, raw = session.run(None, {"X": X})
    assert session.get_outputs()[-1].name == ("variable" if n_classes == 0 else "raw_predictions")
    assert np.array_equal(raw, raw_of(model, X).reshape(raw.shape)) and raw.shape[1] == (3 if n_classes == 3 else 1)
    if labels:
        assert np.array_equal(labels[0], model.predict(X))
        with pytest.raises(ValueError, match=r'operators="classic" for a classifier by a loss of your own, Doubled\(\)'):
            model.to_onnx(operators="classic")
    else:
        model.to_onnx(operators="classic")
    model.to_onnx(dtype=np.float32)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_c(n_classes):
    """The comparison that `to_c` makes is of raw predictions and labels."""
    code = model_of(n_classes)[0].to_c()
    assert ("model_raw_predictions" in code) == (n_classes > 0) and "predict_proba" not in code
    assert ("the raw prediction, as the loss is not known here" in code) == (n_classes == 0)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_treelite_and_shap(n_classes):
    treelite, shap = pytest.importorskip("treelite"), pytest.importorskip("shap")
    model, X, _ = model_of(n_classes)
    raw = raw_of(model, X)
    assert treelite.gtil.predict(model.to_treelite(), X, nthread=1).reshape(raw.shape) == pytest.approx(raw, abs=1e-12)
    explainer = shap.TreeExplainer(model.to_shap())
    assert explainer.shap_values(X).sum(axis=1) + explainer.expected_value == pytest.approx(raw, abs=1e-9)


def test_skl2onnx_goes_on_with_what_is_predicted_and_refuses():
    pytest.importorskip("skl2onnx")
    model, X, y = model_of(0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    with pytest.raises(ValueError, match=r"loss=Doubled\(\) of HistGradientBoostingRegressor is your own, and a model of skl2"):
        dforest.pipeline_to_onnx(pipeline, X)
