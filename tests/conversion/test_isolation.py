"""Isolation forests, and embeddings by random trees, as models of other libraries, with the same scores and columns."""

import pickle

import numpy as np
import onnx
import pytest
import shap
import sklearn.ensemble
import treelite
from onnx.reference import ReferenceEvaluator

import dforest
from dforest.errors import ConversionError
from dforest.interchange.conversion import onnx_operators
from dforest.interchange.conversion.links import scores_of

onnxruntime = pytest.importorskip("onnxruntime")

CLOSE = 1e-15  # exponentials of libraries differ by a bit or so


def rows_of(categories=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:3] *= 9
    X[rng.random(X.shape) < 0.05] = np.nan
    if categories:
        X[:, 0] = rng.integers(0, 6, len(X))
    return X


def isolation_forests():
    """(name, forest, rows)."""
    X, with_categories, common = rows_of(), rows_of(True), {"n_estimators": 9, "random_state": 0}
    yield "plain", dforest.IsolationForest(**common).fit(X), X
    yield "some features, some outliers", dforest.IsolationForest(contamination=0.1, max_features=2, **common).fit(X), X
    yield "categories", dforest.IsolationForest(categorical_features=[0], **common).fit(with_categories), with_categories
    yield "binned", dforest.IsolationForest(method="hist", contamination=0.05, **common).fit(X), X
    yield "weights", dforest.IsolationForest(**common).fit(X, sample_weight=np.arange(200) % 3), X
    yield "trees of two draws", dforest.IsolationForest(max_samples=2, **common).fit(X), X
    yield "trees of one draw", dforest.IsolationForest(max_samples=1, **common).fit(X), X
    yield "equal rows", dforest.IsolationForest(**common).fit(np.ones((9, 4))), X


FORESTS = pytest.mark.parametrize(("forest", "rows"), [pytest.param(*rest, id=name) for name, *rest in isolation_forests()])


def run(model, rows, n_threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})


@FORESTS
def test_onnx(forest, rows):
    model = forest.to_onnx()
    onnx.checker.check_model(model)
    assert [output.name for output in model.graph.output] == ["label", "scores", "score_samples"]
    for part in (rows, rows[:1], rows[:0]):
        label, scores, samples = run(model, part, 2)
        assert {array.shape for array in (label, scores, samples)} == {(len(part), 1)}
        if len(part):
            assert np.array_equal(label[:, 0], forest.predict(part))
            assert np.abs(scores[:, 0] - forest.decision_function(part)).max() <= CLOSE
            assert np.abs(samples[:, 0] - forest.score_samples(part)).max() <= CLOSE
    for dtype in (np.float32, np.float64):
        for operators in ("exact", "classic"):
            forest.to_onnx(dtype=dtype, operators=operators)  # which are compared
    if not forest.is_categorical_.any():  # classic operators of float32 are those that the reference knows
        model = forest.to_onnx(dtype=np.float32, operators="classic")
        _, scores, _ = ReferenceEvaluator(model).run(None, {"X": np.float32(rows)})
        assert np.abs(scores[:, 0] - forest.decision_function(np.float32(rows))).max() < 1e-5


@FORESTS
def test_other_libraries(forest, rows):
    rows = rows.astype(np.float32).astype(np.float64)
    theirs = forest.to_sklearn()
    assert type(theirs) is sklearn.ensemble.IsolationForest
    assert np.abs(theirs.score_samples(rows) - forest.score_samples(rows)).max() <= 1e-14
    assert (theirs.max_samples_, theirs.offset_) == (forest.max_samples_, forest.offset_)
    assert "model_decision_function" in forest.to_c()  # which is compiled and compared
    if forest.max_samples_ == 1:
        with pytest.raises(ValueError, match="max_samples_=1"):
            forest.to_treelite()
    else:
        assert np.abs(treelite.gtil.predict(forest.to_treelite(), rows).ravel() + forest.score_samples(rows)).max() < 1e-6
    with dforest.register_shap():
        explainer = shap.TreeExplainer(forest)
    ours, known = forest.shap_values(rows[:9]), ~np.isnan(rows[:9]).any(axis=1)
    assert np.abs(explainer.shap_values(rows[:9])[known] - ours.values[known]).max() < 1e-9


def test_shap_says_the_same_of_scikit_learn():
    X = np.nan_to_num(rows_of()).astype(np.float32)
    theirs = dforest.IsolationForest(9, random_state=0).fit(X).to_sklearn()
    ours = dforest.IsolationForest(9, random_state=0).fit(X).to_shap()
    assert shap.TreeExplainer(theirs).shap_values(X[:5]) == pytest.approx(shap.TreeExplainer(ours).shap_values(X[:5]), abs=1e-5)


@FORESTS
def test_the_least_length_of_an_inlier(forest, rows):
    least = scores_of(forest).least
    assert forest._scores(np.array([[least]]))[0] >= forest.offset_
    assert least == 0.0 or forest._scores(np.array([[np.nextafter(least, 0.0)]]))[0] < forest.offset_


def test_wrong_scores_are_found(monkeypatch):
    forest = dforest.IsolationForest(9, random_state=0).fit(rows_of())
    right = onnx_operators.scores_of
    monkeypatch.setattr(onnx_operators, "scores_of", lambda forest: right(forest)._replace(offset=-0.4))
    with pytest.raises(ConversionError):
        forest.to_onnx()


def test_what_is_refused():
    X = rows_of()
    extended = dforest.IsolationForest(3, extension_level=1, random_state=0).fit(X)
    for convert in ("to_onnx", "to_treelite", "to_shap", "to_c", "to_sklearn"):
        with pytest.raises(ValueError, match="allowed is extension_level=0"):
            getattr(extended, convert)()
    embedding = dforest.RandomTreesEmbedding(3, random_state=0).fit(X)
    for convert in ("to_treelite", "to_shap"):
        with pytest.raises(ValueError, match="predicts nothing"):
            getattr(embedding, convert)()
    with pytest.raises(ValueError, match="column 0 holds categories"):
        dforest.RandomTreesEmbedding(3, categorical_features=[0], random_state=0).fit(rows_of(True)).to_sklearn()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("categories", [False, True])
def test_embeddings(sparse, categories):
    X = rows_of(categories).astype(np.float32).astype(np.float64)
    options = {"categorical_features": [0] if categories else None, "sparse_output": sparse, "random_state": 0}
    embedding = dforest.RandomTreesEmbedding(5, **options).fit(X)
    expected = embedding.transform(X)
    dense = np.asarray(expected.todense()) if sparse else expected
    for operators in ("exact", "classic"):
        for dtype in (np.float32, np.float64):
            (found,) = run(embedding.to_onnx(operators=operators, dtype=dtype), X.astype(dtype))
            assert found.dtype == dtype and np.array_equal(found, dense)
    (found,) = run(embedding.to_onnx(), X[:0])
    assert found.shape == (0, dense.shape[1])
    assert f"model_n_leaves = {dense.shape[1]}" in embedding.to_c()  # which is compiled and compared
    if not categories:
        found = embedding.to_sklearn().transform(X)
        assert type(found) is type(expected)
        assert np.array_equal(np.asarray(found.todense()) if sparse else found, dense)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"max_features": 2, "contamination": 0.1}, {"bootstrap": True, "max_samples": 40}, {"max_samples": 1}],
    ids=lambda parameters: ", ".join(parameters),
)
def test_from_scikit_learn(parameters, tmp_path):
    X = rows_of().astype(np.float32)
    theirs = sklearn.ensemble.IsolationForest(n_estimators=7, random_state=0, **parameters).fit(X)
    ours = dforest.from_sklearn(theirs)
    ours.save(tmp_path / "model")
    for forest in (ours, pickle.loads(pickle.dumps(ours)), dforest.load(tmp_path / "model"), ours.to_sklearn()):
        assert np.abs(forest.score_samples(X) - theirs.score_samples(X)).max() <= 1e-15
        assert np.array_equal(forest.predict(X), theirs.predict(X))
    assert (ours.max_samples_, ours.offset_, len(ours)) == (theirs.max_samples_, theirs.offset_, 7)
    assert len(ours.set_params(warm_start=True, n_estimators=9).fit(X)) == 9


def test_embeddings_of_scikit_learn():
    X = np.nan_to_num(rows_of().astype(np.float32))
    theirs = sklearn.ensemble.RandomTreesEmbedding(5, random_state=0).fit(X)
    assert (dforest.from_sklearn(theirs).transform(X) != theirs.transform(X)).sum() == 0
    with pytest.raises(ValueError, match="allowed is max_leaf_nodes=None"):
        dforest.from_sklearn(theirs.set_params(max_leaf_nodes=9).fit(X))
