"""Pipelines that hold our estimators, converted by skl2onnx."""

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.conversion import data_of, models, models_of_several_outputs
from skl2onnx import convert_sklearn, to_onnx
from skl2onnx._parse import sklearn_parsers_map
from skl2onnx._supported_operators import sklearn_operator_name_map
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)

import dforest
from dforest.errors import ConversionError
from dforest.interchange.conversion import skl2onnx as whole_pipeline
from dforest.interchange.conversion import skl2onnx_converter as conversion

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(autouse=True)
def _registered():
    dforest.register_onnx_converters()


def outputs(model, rows):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: rows})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("categories", [False, True])
def test_every_estimator(categories, dtype):
    """Categories are tested one by one; those that are unknown or no integers go where missing ones go."""
    X, _ = data_of(dtype=dtype, categories=categories)
    if categories:
        X[::9, 0], X[::7, 1] = 1000.0, 2.5
    kind = FloatTensorType if dtype is np.float32 else DoubleTensorType
    for name, estimator in models(dtype, categories):
        model = convert_sklearn(make_pipeline(estimator), initial_types=[("rows", kind([None, 6]))])
        *labels, found = outputs(model, X)
        expected = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)[:, None]
        if dtype is np.float64 and not hasattr(estimator, "_loss"):
            assert found.tobytes() == expected.tobytes(), name
        assert outputs(model, X[:0])[-1].shape == (0, *expected.shape[1:]), name
        assert found.dtype == dtype and found == pytest.approx(expected, rel=1e-5, abs=1e-5), name
        if labels:
            assert np.mean(labels[0] == estimator.predict(X)) > 0.99, name  # float32 rounds what is next to a tie


def test_several_outputs(monkeypatch):
    X, _ = data_of()
    X[:, 4:] = np.nan_to_num(X[:, 4:], posinf=9.0, neginf=-9.0)
    seen = []
    right = whole_pipeline.check_same
    monkeypatch.setattr(whole_pipeline, "check_same", lambda *args: seen.append(args) or right(*args))
    for name, estimator in models_of_several_outputs():
        seen.clear()
        pipeline = make_pipeline(StandardScaler().fit(X), estimator)
        found = outputs(dforest.pipeline_to_onnx(pipeline, X), X)
        n_outputs = pipeline.predict(X).shape[1]
        if not is_classifier(estimator):
            assert len(seen) == 1 and found[0] == pytest.approx(pipeline.predict(X), rel=1e-5, abs=1e-5), name
            continue
        assert len(seen) == len(found) == 2 * n_outputs
        for own, expected in zip(found[1::2], pipeline.predict_proba(X), strict=True):
            assert own == pytest.approx(expected, abs=1e-5), name


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
    frame = pd.DataFrame({"colour": pd.Categorical(np.where(X[:, 0] > 9, "red", "blue")), "length": X[:, 2]})
    of_text = dforest.RandomForestRegressor(2).fit(frame, z)
    with pytest.raises(ValueError, match="column 'colour' holds the category 'blue'; allowed in a model of ONNX are integers"):
        convert_sklearn(of_text, initial_types=[("X", FloatTensorType([None, 2]))])
    with pytest.raises(ValueError, match='"raw_scores" with "classic"; allowed as options of skl2onnx is one of them'):
        to_onnx(boosted().fit(X, z > 2), X[:1], options={"raw_scores": True, "classic": True})
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    with pytest.raises(ValueError, match="X of RandomForestRegressor is StringTensorType.*; allowed are numbers and booleans"):
        convert_sklearn(forest, initial_types=[("X", StringTensorType([None, 6]))])
    monkeypatch.setattr(conversion, "_MAX_EXACT", 3)
    with pytest.raises(ValueError, match=r"have \d+ distinct values; allowed in a pipeline that skl2onnx converts are up to 3"):
        to_onnx(forest, X[:1])


def test_classic_operators():
    X, z = data_of()
    for estimator, y in (
        (forest(), z > 2),
        (boosted(), z.astype(int) % 3),
        (dforest.HistGradientBoostingRegressor(loss="poisson", max_iter=4), z),
        (dforest.RandomForestRegressor(4, random_state=0), z),
    ):
        estimator.fit(X[:, :3], y)
        model = to_onnx(estimator, X[:1, :3], options={"classic": True})
        kinds = [node.op_type for node in model.graph.node if node.domain]
        assert kinds == ["TreeEnsembleClassifier" if is_classifier(estimator) else "TreeEnsembleRegressor"]
        found = outputs(model, X[:, :3])[-1]
        expected = estimator.predict_proba(X[:, :3]) if is_classifier(estimator) else estimator.predict(X[:, :3])[:, None]
        assert found.dtype == np.float64 and found == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_steps_of_pipelines_need_no_registration(monkeypatch):
    """skl2onnx asks estimators that it does not know for their converters."""
    X, y, z = calm_data(2)
    for end, target in ((boosted(), y), (dforest.RandomForestRegressor(3), z)):
        for known in (sklearn_operator_name_map, sklearn_parsers_map):
            monkeypatch.delitem(known, type(end))
        whole = make_pipeline(StandardScaler(), end).fit(X, target)
        found = outputs(to_onnx(whole, X[:1], options={id(end): {"zipmap": False}} if is_classifier(end) else None), X)
        assert found[-1].dtype == np.float64
        expected = whole.predict_proba(X) if is_classifier(end) else whole.predict(X)[:, None]
        assert np.isclose(found[-1], expected, rtol=1e-9).mean() > 0.9  # its scaler may round otherwise


def boosted(**parameters):
    return dforest.HistGradientBoostingClassifier(max_iter=4, random_state=0, **parameters)


def forest():
    return dforest.RandomForestClassifier(5, random_state=0)


def calm_data(n_classes):
    """Rows without missing and infinite values, which not all steps take, and classes."""
    X, z = data_of(300)
    X = np.nan_to_num(X, posinf=4.0, neginf=-4.0)
    return X, np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes)), z


HOLDERS = {
    "calibrated": lambda one: CalibratedClassifierCV(one, cv=2),
    "stacked": lambda one: StackingClassifier([("a", one), ("b", LogisticRegression())], LogisticRegression(), cv=2),
    "at the top of a stack": lambda one: StackingClassifier([("a", LogisticRegression())], one, cv=2),
    "voting": lambda one: VotingClassifier([("a", one), ("b", LogisticRegression())], voting="soft", flatten_transform=False),
    "bagged": lambda one: BaggingClassifier(one, 2, random_state=0),
    "one against the rest": OneVsRestClassifier,
    "one against one": OneVsOneClassifier,
    "after a step": lambda one: make_pipeline(StandardScaler(), one),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [boosted, lambda: boosted(loss="exponential"), forest], ids=["boosted", "exponential", "forest"])
@pytest.mark.parametrize("holder", HOLDERS)
def test_classifiers_that_hold_others(holder, make, n_classes):
    """The model is compared with them by the conversion, and once more here."""
    one = make()
    if n_classes == 3 and getattr(one, "loss", None) == "exponential":
        return  # it is a loss of two classes
    X, y, _ = calm_data(n_classes)
    whole = HOLDERS[holder](one).fit(X, y)
    model = dforest.pipeline_to_onnx(whole, X)
    label, *others = outputs(model, X)
    is_tie = np.zeros(len(X), bool)
    if hasattr(whole, "predict_proba"):  # older releases of scikit-learn choose another one of classes with equal probabilities
        most = np.sort(whole.predict_proba(X), axis=1)[:, ::-1]
        is_tie = most[:, 0] - most[:, 1] < 1e-6
        assert is_tie.mean() < 0.1
    assert np.array_equal(label.ravel()[~is_tie], whole.predict(X)[~is_tie])
    if hasattr(whole, "predict_proba"):
        assert np.allclose(others[0], whole.predict_proba(X), rtol=0, atol=1e-12)


def test_raw_predictions():
    """Those of two classes are in two columns, as skl2onnx has them of other classifiers; labels are as ever."""
    for n_classes in (2, 3):
        X, y, _ = calm_data(n_classes)
        for loss in ("log_loss", "exponential")[: 4 - n_classes]:
            model = boosted(loss=loss).fit(X, y)
            label, found = outputs(to_onnx(model, X[:1], options={id(model): {"raw_scores": True}}), X)
            expected = model.decision_function(X)
            assert found.tolist() == (np.column_stack([-expected, expected]) if n_classes == 2 else expected).tolist()
            assert np.array_equal(label, model.predict(X))
    with pytest.raises(NameError, match="raw_scores"):
        to_onnx(forest().fit(X, y), X[:1], options={"raw_scores": True})


def test_a_stack_of_raw_predictions():
    X, y, _ = calm_data(3)
    stack = StackingClassifier([("a", boosted())], LogisticRegression(), cv=2, stack_method="decision_function").fit(X, y)
    _, found = outputs(dforest.pipeline_to_onnx(stack, X), X)
    assert np.allclose(found, stack.predict_proba(X), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"was fitted on one column for two classes.*allowed is stack_method=\"predict_proba\""):
        to_onnx(stack.fit(X, y > 0), X[:1], options={"zipmap": False})


def test_regressors_and_frames():
    X, _, z = calm_data(2)
    for whole in (
        VotingRegressor([("a", dforest.HistGradientBoostingRegressor(max_iter=3)), ("b", Ridge())]),
        StackingRegressor([("a", dforest.RandomForestRegressor(4, random_state=0))], Ridge(), cv=2),
        make_pipeline(StandardScaler(), dforest.HistGradientBoostingRegressor(loss="gamma", max_iter=3)),
    ):
        found = outputs(dforest.pipeline_to_onnx(whole.fit(X, z), X), X)[0]
        assert np.allclose(found[:, 0], whole.predict(X), rtol=1e-12)
    frame = pd.DataFrame({"colour": np.where(X[:, 0] > 0, "red", "blue"), "length": X[:, 2]})
    prepared = make_column_transformer((OneHotEncoder(sparse_output=False), ["colour"]), (StandardScaler(), ["length"]))
    whole = make_pipeline(prepared, dforest.RandomForestClassifier(3, random_state=0)).fit(frame, X[:, 2] + X[:, 0] > 0)
    assert len(dforest.pipeline_to_onnx(whole, frame).graph.input) == 2


def test_what_differs_is_found(monkeypatch):
    X, y, z = calm_data(3)
    isotonic = CalibratedClassifierCV(boosted(), cv=2, method="isotonic").fit(X[::2], y[::2])
    with pytest.raises(ConversionError, match=r"the model of ONNX and .* differently for \d+ of 300 rows"):
        dforest.pipeline_to_onnx(isotonic, X)  # scikit-learn interpolates between known scores, skl2onnx takes the nearest one
    assert dforest.pipeline_to_onnx(isotonic, X, verify=False).graph.output[1].name == "probabilities"
    dforest.pipeline_to_onnx(isotonic, X, tolerance=1.0)
    right = conversion.add_operators
    for whole, target in ((boosted(), y), (dforest.HistGradientBoostingRegressor(max_iter=4), z)):
        whole.fit(X, target)

        def wrong(graph, estimator, dtype, rows, to, is_raw, *rest):
            rows = graph.node("Add", rows, graph.constant(dtype(0.1)))
            return right(graph, estimator, dtype, rows, to, is_raw, *rest)

        monkeypatch.setattr(conversion, "add_operators", wrong)
        with pytest.raises(ConversionError, match="differently"):
            dforest.pipeline_to_onnx(whole, X)


class Unchanged(TransformerMixin, BaseEstimator):
    """A transformer that skl2onnx does not know."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (FunctionTransformer(np.abs), r"FunctionTransformer is not supported unless .* \(= identity\). It has no converter"),
        (Unchanged(), "Unable to find a shape calculator for type .*Unchanged'>'. It has no converter for .*'unchanged', of"),
        (make_column_transformer((FunctionTransformer(np.abs), [0]), remainder="passthrough"), "FunctionTransformer is not"),
    ],
)
def test_steps_that_skl2onnx_does_not_know(step, reason):
    X, y, _ = calm_data(2)
    whole = make_pipeline(step, forest()).fit(X, y)
    with pytest.raises(ValueError, match=rf"skl2onnx can't convert this pipeline: {reason}") as told:
        dforest.pipeline_to_onnx(whole, X)
    assert "by pipeline[-1].to_onnx(), and give that model what pipeline[:-1].transform returns" in str(told.value)
    label, probabilities = outputs(whole[-1].to_onnx(), whole[:-1].transform(X))
    assert np.array_equal(probabilities, whole.predict_proba(X)) and np.array_equal(label, whole.predict(X))
    held = make_pipeline(step, CalibratedClassifierCV(forest(), cv=2)).fit(X, y)
    with pytest.raises(ValueError, match=r"by pipeline_to_onnx\(pipeline\[-1\], pipeline\[:-1\]\.transform\(X\)\), and give"):
        dforest.pipeline_to_onnx(held, X)
    dforest.pipeline_to_onnx(held[-1], held[:-1].transform(X))
    with pytest.raises(ValueError, match=r"functions and classes of your own$"):
        dforest.pipeline_to_onnx(CalibratedClassifierCV(whole, cv=2).fit(X, y), X)


def test_the_step_without_a_converter_is_named(monkeypatch):
    """Whatever skl2onnx stumbles over because of it, which may be a column or a type that it never heard of."""
    X = pd.DataFrame({"town": ["a", "b "] * 20, "n": np.arange(40.0)})
    clean, columns = FunctionTransformer(lambda frame: frame.assign(n=frame["n"] + 1)), [("passthrough", ["n"])]
    whole = make_pipeline(clean, make_column_transformer(*columns), forest()).fit(X, [0, 1] * 20)
    with pytest.raises(ValueError, match="no converter for the step 'functiontransformer', of type FunctionTransformer;"):
        dforest.pipeline_to_onnx(whole, X)
    inner = make_pipeline(make_column_transformer((Unchanged(), ["n"])), forest()).fit(X, [0, 1] * 20)

    def fails(*args, **keywords):
        raise TypeError("cannot handle ArrowStringArray")

    monkeypatch.setattr("skl2onnx.convert_sklearn", fails)
    told = "handle ArrowStringArray. It has no converter for the step 'columntransformer__unchanged', of type Unchanged;"
    with pytest.raises(ValueError, match=told):
        dforest.pipeline_to_onnx(inner, X)
    known = FeatureUnion([("scale", StandardScaler()), ("same", FunctionTransformer())])
    stack = StackingClassifier([("line", LogisticRegression()), ("forest", forest())], cv=2)
    with pytest.raises(TypeError, match="cannot handle ArrowStringArray$"):
        dforest.pipeline_to_onnx(make_pipeline(make_column_transformer(*columns), known, stack).fit(X, [0, 1] * 20), X)


def test_what_is_no_pipeline():
    X, y, _ = calm_data(2)
    with pytest.raises(ValueError, match="pipeline=StandardScaler.*; allowed are .* estimators of dforest"):
        dforest.pipeline_to_onnx(StandardScaler().fit(X), X)
    with pytest.raises(ValueError, match="X has 0 rows"):
        dforest.pipeline_to_onnx(forest().fit(X, y), X[:0])


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, bool])
def test_integers_and_booleans(kind):
    X = np.random.default_rng(0).integers(0, 2 if kind is bool else 100, (80, 4)).astype(kind)
    forest = dforest.RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > X[:, 1])
    model = dforest.pipeline_to_onnx(make_pipeline(forest), X)
    assert outputs(model, X)[1].tobytes() == forest.predict_proba(X).tobytes()


def test_frames(monkeypatch):
    """Each column is an input, whatever its type; columns may be called by integers, as pandas does."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)))
    X[1], X[2] = (9 * X[1]).astype(int), X[2] > 0
    for names, inputs in (([0, 1, 2], ["_0", "_1", "_2"]), (["a", "b", "c"], ["a", "b", "c"])):
        frame = X.set_axis(names, axis=1)
        forest = dforest.RandomForestRegressor(3, random_state=0).fit(frame, rng.normal(size=60))
        model = dforest.pipeline_to_onnx(make_pipeline(forest), frame, tolerance=0)
        assert [one.name for one in model.graph.input] == inputs
        assert frame.columns.tolist() == names
        scaled = make_pipeline(StandardScaler(), forest).fit(frame.astype(float), rng.normal(size=60))
        dforest.pipeline_to_onnx(scaled, frame.astype(float))
        with pytest.raises(ValueError, match=r"allowed are transformers .* fit the pipeline on X.astype\(numpy.float64\)"):
            dforest.pipeline_to_onnx(scaled, frame)
    same = pd.DataFrame(np.zeros((9, 2)), columns=["1", 1])
    with pytest.raises(ValueError, match="some of whose names are the same text"):
        dforest.pipeline_to_onnx(dforest.RandomForestRegressor(2).fit(np.zeros((9, 2)), np.arange(9)), same)


def test_pipelines_that_end_in_other_estimators():
    X = np.random.default_rng(0).normal(size=(90, 3))
    grades = np.digitize(X[:, 0], [-1, 0, 1])
    ranker = make_pipeline(StandardScaler(), dforest.HistGradientBoostingRanker(max_iter=3))
    ranker.fit(X, grades, histgradientboostingranker__group=[30, 30, 30])
    survival = make_pipeline(StandardScaler(), dforest.RandomSurvivalForest(3, random_state=0))
    survival.fit(X, np.column_stack([X[:, 0] > 0, np.exp(X[:, 1])]))
    for pipeline in (ranker, survival, GridSearchCV(survival, {"randomsurvivalforest__max_depth": [2]}, cv=2)):
        if isinstance(pipeline, GridSearchCV):
            pipeline.fit(X, np.column_stack([X[:, 0] > 0, np.exp(X[:, 1])]))
        (found,) = outputs(dforest.pipeline_to_onnx(pipeline, X), X)
        assert found[:, 0] == pytest.approx(pipeline.predict(X), rel=1e-5)
    isolation = make_pipeline(StandardScaler(), dforest.IsolationForest(5, contamination=0.1, random_state=0)).fit(X)
    label, scores, samples = outputs(dforest.pipeline_to_onnx(isolation, X), X)
    assert np.mean(label[:, 0] == isolation.predict(X)) > 0.97
    assert samples[:, 0] == pytest.approx(isolation.score_samples(X), abs=1e-5)
    for sparse in (False, True):
        embedding = make_pipeline(StandardScaler(), dforest.RandomTreesEmbedding(3, sparse_output=sparse, random_state=0)).fit(X)
        (found,) = outputs(dforest.pipeline_to_onnx(embedding, X), X)
        expected = embedding.transform(X)
        assert np.array_equal(found, expected.toarray() if sparse else expected)
        on_top = make_pipeline(embedding, LogisticRegression()).fit(X, grades > 1)
        assert outputs(dforest.pipeline_to_onnx(on_top, X), X)[1] == pytest.approx(on_top.predict_proba(X), abs=1e-5)


def test_options_of_trees_and_classes():
    """They are those that skl2onnx has for scikit-learn's forests, and say the same."""
    X, y = data_of(60)
    X = np.nan_to_num(X, posinf=9, neginf=-9)
    text = np.array(["few", "many"])[(y > np.median(y)).astype(int)]
    for estimator in (
        dforest.RandomForestClassifier(3, random_state=0).fit(X, text),
        dforest.RandomForestRegressor(3, random_state=0).fit(X, y),
        dforest.DecisionTreeClassifier(max_depth=3).fit(X, text),
        dforest.RandomForestRegressor(2).fit(X, np.zeros(len(X))),
    ):
        options = {"decision_path": True, "decision_leaf": True} | ({"nocl": True} if is_classifier(estimator) else {})
        for classic in (False, True):
            model = to_onnx(estimator, X[:1], options={id(estimator): options | {"classic": classic}})
            assert [one.name for one in model.graph.output][-2:] == ["decision_path", "decision_leaf"]
            *others, path, leaf = outputs(model, X)
            assert leaf.dtype == np.int64 and np.array_equal(leaf, estimator.apply(X).reshape(len(X), -1))
            indicator = estimator.decision_path(X)
            indicator = (indicator[0] if isinstance(indicator, tuple) else indicator).toarray()
            assert ["".join(row) for row in path] == ["".join(map(str, row)) for row in indicator]
            if is_classifier(estimator):
                assert np.array_equal(estimator.classes_[others[0]], estimator.predict(X))
    theirs = dforest.RandomForestClassifier(3, random_state=0).fit(X.astype(np.float32), text).to_sklearn()
    found = outputs(
        to_onnx(theirs, X[:1].astype(np.float32), options={id(theirs): options | {"nocl": True, "zipmap": False}}), np.float32(X)
    )
    ours = dforest.RandomForestClassifier(3, random_state=0).fit(X.astype(np.float32), text)
    own = outputs(to_onnx(ours, X[:1].astype(np.float32), options={id(ours): options | {"nocl": True}}), np.float32(X))
    assert np.array_equal(own[2], found[2]) and np.array_equal(own[3], found[3])
    both = outputs(to_onnx(ours, X[:1], options={id(ours): {"decision_leaf": True}}), X)
    assert len(both) == 3
    boosted_one = boosted().fit(X, text)
    with pytest.raises(NameError, match="decision_leaf"):
        to_onnx(boosted_one, X[:1], options={id(boosted_one): {"decision_leaf": True}})


BINS = {"n_bins": 4, "quantile_method": "averaged_inverted_cdf"} if "quantile_method" in KBinsDiscretizer().get_params() else {}


@pytest.mark.parametrize(
    ("step", "missing"),
    [
        (SimpleImputer(), np.nan),
        (SimpleImputer(strategy="most_frequent", add_indicator=True), np.nan),
        (SimpleImputer(missing_values=-1, strategy="constant", fill_value=3.5, add_indicator=True), -1.0),
        (KBinsDiscretizer(encode="ordinal", **BINS), None),
        (KBinsDiscretizer(encode="onehot", **BINS), None),
        (KBinsDiscretizer(encode="onehot-dense", strategy="uniform", n_bins=3), None),
        (PolynomialFeatures(3), None),
        (PolynomialFeatures(2, interaction_only=True, include_bias=False), None),
        (PolynomialFeatures(1), None),
        (PowerTransformer(), None),
        (PowerTransformer(standardize=False), None),
        (PowerTransformer("box-cox"), None),
    ],
    ids=repr,
)
def test_steps_that_skl2onnx_knows_for_float32_alone(step, missing):
    """In float64 they are those of scikit-learn, to the bit but for powers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    X[:, 3] = rng.integers(1, 4, 90)
    if missing is not None:
        X[rng.random(X.shape) < 0.1], X[:, 1] = missing, X[0, 1] if missing == -1 else np.nan
    X = np.abs(X) if isinstance(step, PowerTransformer) and step.method == "box-cox" else X
    y = rng.normal(size=90)
    tolerance = 1e-12 if isinstance(step, PowerTransformer) else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a column without values
        embedding = make_pipeline(step, dforest.RandomForestRegressor(3, random_state=0)).fit(X, y)
        model = dforest.pipeline_to_onnx(embedding, X, tolerance=tolerance)
        of_frame = pd.DataFrame(X, columns=list("abcd"))
        by_columns = make_column_transformer((step, ["a", "b", "d"]), ("passthrough", ["c"]))
        dforest.pipeline_to_onnx(make_pipeline(by_columns, dforest.ExtraTreesRegressor(3)).fit(of_frame, y), of_frame)
        if not (isinstance(step, SimpleImputer) or step.get_params().get("encode") == "onehot"):
            single = X.astype(np.float32)  # for which skl2onnx's converters are left
            dforest.pipeline_to_onnx(embedding.fit(single, y), single, verify=False)
    assert outputs(model, X[:1])[0].dtype == np.float64
