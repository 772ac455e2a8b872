"""Pipelines that hold our estimators, converted by skl2onnx."""

import numpy as np
import onnxruntime
import pytest
from helpers.conversion import data_of, models
from skl2onnx import convert_sklearn, to_onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType
from sklearn.base import is_classifier
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import dforest
from dforest.conversion import skl2onnx as conversion


@pytest.fixture(autouse=True)
def _registered():
    dforest.register_onnx_converters()


def outputs(model, rows):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: rows})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_estimator(dtype):
    X, _ = data_of(dtype=dtype)
    kind = FloatTensorType if dtype is np.float32 else DoubleTensorType
    for name, estimator in models(dtype):
        model = convert_sklearn(make_pipeline(estimator), initial_types=[("rows", kind([None, 6]))])
        *labels, found = outputs(model, X)
        expected = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)[:, None]
        if dtype is np.float64 and not hasattr(estimator, "_loss"):
            assert found.tobytes() == expected.tobytes(), name
        assert outputs(model, X[:0])[-1].shape == (0, *expected.shape[1:]), name
        assert found.dtype == dtype and found == pytest.approx(expected, rel=1e-5, abs=1e-5), name
        if labels:
            assert np.mean(labels[0] == estimator.predict(X)) > 0.99, name  # float32 rounds what is next to a tie


def test_a_pipeline():
    X, z = data_of()
    X[:, :5] = np.nan_to_num(X[:, :5], neginf=-5.0)
    X[:, 0] = np.abs(X[:, 0]).round()
    prepared = make_column_transformer((OneHotEncoder(sparse_output=False), [0]), (StandardScaler(), [1, 2, 3]))
    pipeline = make_pipeline(prepared, dforest.RandomForestClassifier(5, random_state=0)).fit(X[:, :4], z > 2)
    label, probabilities = outputs(to_onnx(pipeline, X[:1, :4]), X[:, :4])
    assert np.mean(probabilities == pipeline.predict_proba(X[:, :4])) > 0.99  # its scaler may round otherwise
    assert np.mean(label == pipeline.predict(X[:, :4])) > 0.99
    with_option = to_onnx(pipeline, X[:1, :4], options={id(pipeline): {"zipmap": False}})
    assert with_option.graph.output == to_onnx(pipeline, X[:1, :4]).graph.output


def test_what_it_cannot_have(monkeypatch):
    X, z = data_of(categories=True)
    forest = dforest.RandomForestRegressor(2, categorical_features=[0], random_state=0).fit(X, z)
    with pytest.raises(ValueError, match="column 0 holds categories, and skl2onnx's trees only take numbers"):
        to_onnx(forest, X[:1])
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    with pytest.raises(ValueError, match="X of RandomForestRegressor is .*; allowed is one matrix, a FloatTensorType"):
        convert_sklearn(forest, initial_types=[("X", Int64TensorType([None, 6]))])
    with pytest.raises(ValueError, match="allowed is one matrix"):
        convert_sklearn(forest, initial_types=[("a", FloatTensorType([None, 3])), ("b", FloatTensorType([None, 3]))])
    monkeypatch.setattr(conversion, "_MOST_EXACT", 3)
    with pytest.raises(ValueError, match=r"have \d+ distinct values; allowed in a pipeline that skl2onnx converts are up to 3"):
        to_onnx(forest, X[:1])
