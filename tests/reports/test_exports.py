"""Faults of models for other libraries, as users would report them."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV

import dforest
from dforest.errors import ConversionError

onnxruntime = pytest.importorskip("onnxruntime")


def session_of(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_onnx_of_boosted_trees_takes_no_rows():
    """The ONNX model of boosted trees failed in onnxruntime when X had 0 rows, with an error of a Reshape operator."""
    X = np.arange(60.0).reshape(-1, 1)
    for model, shape in (
        (dforest.HistGradientBoostingRegressor(max_iter=2).fit(X, X[:, 0]), (0, 1)),
        (dforest.HistGradientBoostingClassifier(max_iter=2).fit(X, X[:, 0] > 9), (0, 2)),
        (dforest.HistGradientBoostingClassifier(max_iter=2).fit(X, X[:, 0] // 20), (0, 3)),
    ):
        assert session_of(model.to_onnx()).run(None, {"X": X[:0]})[-1].shape == shape


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_onnx_of_thousands_of_classes_is_not_taken_for_wrong():
    """`to_onnx` of boosted trees raised a ConversionError for right models of many classes: the comparison of probabilities
    allowed no more rounding than for three."""
    n = 2000
    weight = np.where(np.arange(n) == 0, 1.0, 2.0**-25)
    model = dforest.HistGradientBoostingClassifier(max_iter=1).fit(np.ones((n, 1)), np.arange(n), sample_weight=weight)
    probabilities = session_of(model.to_onnx(dtype=np.float32)).run(["probabilities"], {"X": np.ones((1, 1), np.float32)})[0]
    assert np.allclose(probabilities, model.predict_proba([[1.0]]), rtol=0, atol=1e-4)


def test_a_category_of_which_all_values_are_missing_is_no_reason_to_refuse_an_export():
    """With a categorical column that only had missing values, all conversions were refused, with words about labels of levels."""
    X = np.column_stack([np.arange(60.0), np.full(60, np.nan)])
    forest = dforest.RandomForestRegressor(3, categorical_features=[1], random_state=0).fit(X, X[:, 0])
    expected = forest.predict(X)
    assert session_of(forest.to_onnx()).run(None, {"X": X})[0].tolist() == expected[:, None].tolist()
    assert forest.to_sklearn().predict(X.astype(np.float32)).tolist() == expected.tolist()
    assert forest.to_treelite().num_tree == len(forest.to_shap()["trees"]) == 3


def test_conversions_work_where_underflow_is_an_error():
    """Where a library had called `numpy.seterr(all="raise")`, `to_onnx` failed with a FloatingPointError about underflow."""
    X = np.linspace(-1.0, 1.0, 41)[:, None]
    tree = dforest.DecisionTreeRegressor(max_depth=1).fit(X[X != 0.0][:, None], X[X != 0.0] > 0)  # the threshold is 0
    with np.errstate(all="raise"):
        model = tree.to_onnx(dtype=np.float32)
    assert session_of(model).run(None, {"X": np.float32([[-0.5], [0.0], [0.5]])})[0].tolist() == [[0.0], [0.0], [1.0]]


def test_calibrated_boosted_trees_in_onnx_have_the_probabilities_of_the_pipeline():
    """skl2onnx made a `CalibratedClassifierCV` of boosted trees a model whose probabilities were off by up to .67, without an
    error: it calibrated probabilities in place of raw predictions."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    for y in (X[:, 0] > 0, np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])):
        whole = CalibratedClassifierCV(dforest.HistGradientBoostingClassifier(max_iter=5, random_state=0), cv=2).fit(X, y)
        found = session_of(dforest.pipeline_to_onnx(whole, X)).run(["probabilities"], {"X": X})[0]
        assert np.allclose(found, whole.predict_proba(X), rtol=0, atol=1e-12)


def test_a_pipeline_that_skl2onnx_converts_wrongly_is_found():
    """No error said that the predictions of a model that skl2onnx had made were not those of the pipeline."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    boosted = dforest.HistGradientBoostingClassifier(random_state=0)
    # Between the scores that it was calibrated by, scikit-learn interpolates, and skl2onnx takes the nearest one.
    y = X[:, 0] + np.random.default_rng(1).normal(size=300) > 0
    whole = CalibratedClassifierCV(boosted, cv=[(np.arange(200), np.arange(200, 220))], method="isotonic").fit(X, y)
    with pytest.raises(ConversionError, match="predict differently"):
        dforest.pipeline_to_onnx(whole, X)
