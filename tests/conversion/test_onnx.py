"""ONNX models predict the same in onnxruntime, and clear errors say what they can't have."""

import io

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from helpers.conversion import data_of, held_rows, models, with_own_tests
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

import dforest
from dforest.errors import ConversionError
from dforest.interchange.conversion import onnx as conversion
from dforest.interchange.conversion.links import LINKS, rounding
from dforest.loss import PythonLoss
from dforest.rules.losses import LOSSES

pytestmark = pytest.mark.filterwarnings("ignore::dforest.errors.UnseenLabelsWarning")


def session_of(model, n_threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def outputs(model, rows, n_threads=1):
    return session_of(model, n_threads).run(None, {"X": rows})


def assert_same(model, estimator, rows, n_threads):
    """Whether all predictions are equal to the bit; but for exponentials, which may differ in their last bits."""
    *labels, found = outputs(model, rows, n_threads)
    expected = estimator.predict_proba(rows) if is_classifier(estimator) else estimator.predict(rows)[:, None]
    assert found.dtype == np.float64 and found.shape == expected.shape
    if labels:
        assert np.array_equal(labels[0], estimator.predict(rows))
    if LINKS[estimator._loss.name] == "identity" if hasattr(estimator, "_loss") else True:
        assert found.tobytes() == expected.tobytes()
    else:
        assert (np.abs(found - expected) <= rounding(expected, np.float64)).all()


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits(dtype, categories):
    for _, estimator in models(dtype, categories):
        model = estimator.to_onnx()
        onnx.checker.check_model(model)
        rows = held_rows(estimator, conversion.labels_of(estimator, np.float64))
        for n_threads in (1, 4):
            assert_same(model, estimator, rows, n_threads)
        for i in range(0, len(rows), 29):
            assert_same(model, estimator, rows[i : i + 1], 4)


@pytest.mark.parametrize("categories", [False, True])
def test_no_rows(categories):
    for name, estimator in models(categories=categories):
        *labels, found = outputs(estimator.to_onnx(verify=False), np.zeros((0, 6)))
        assert found.shape == (0, len(estimator.classes_) if is_classifier(estimator) else 1), name
        assert all(array.shape == (0,) for array in labels), name


@pytest.mark.filterwarnings("ignore:no tree has a split", "ignore:The number of unique classes")
def test_many_classes(monkeypatch):
    """The sum of their powers is rounded once for each; one that is wrong by more than that is found."""
    n = 2000
    weight = np.where(np.arange(n) == 0, 1.0, 2.0**-25)  # float32 forgets the others if it adds them to the first one
    model = dforest.HistGradientBoostingClassifier(max_iter=1, learning_rate=1e-3)
    model.fit(np.ones((n, 1)), np.arange(n), sample_weight=weight)
    rows = np.zeros((2, 1))
    for dtype in (np.float32, np.float64):
        label, found = outputs(model.to_onnx(dtype=dtype), rows.astype(dtype))
        assert label.tolist() == [0, 0]
        assert np.abs(found - model.predict_proba(rows)).max() <= (n + 32) * np.finfo(dtype).eps
    right = conversion._add_outputs

    def wrong(graph, sums, link, labels, dtype, *rest):
        more = np.where(np.arange(n) == 0, dtype(0.0), dtype(3e-3))
        return right(graph, graph.node("Add", sums, graph.constant(more)), link, labels, dtype, *rest)

    monkeypatch.setattr(conversion, "_add_outputs", wrong)
    with pytest.raises(ConversionError, match="for 1 of 1 rows"):
        model.to_onnx(dtype=np.float64)


@pytest.mark.parametrize("categories", [False, True])
def test_float32_reaches_the_same_leaves(categories, monkeypatch):
    """It is compared by the conversion itself; here the rows are others."""
    seen = []
    monkeypatch.setattr(conversion, "check_same", lambda library, rows, expected, found, *rest: seen.append((expected, found)))
    for name, estimator in models(np.float64, categories, seed=1):
        rows = held_rows(estimator, conversion.labels_of(estimator, np.float32), np.float32)
        encoded = estimator._features.encode(rows)
        monkeypatch.setattr(conversion, "probes_of", lambda *_, both=(encoded, rows), **__: both)
        seen.clear()
        model = estimator.to_onnx(dtype=np.float32)
        assert np.array_equal(*seen[0]), name
        *_, found = outputs(model, rows)
        assert found.dtype == np.float32
        expected = estimator.predict_proba(rows) if is_classifier(estimator) else estimator.predict(rows)[:, None]
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(20, 120), n_trees=st.integers(1, 40), leaves=st.sampled_from([None, 2, 5]))
def test_any_forest(seed, n, n_trees, leaves):
    X, z = data_of(n, seed, categories=bool(seed % 2))
    forest = dforest.RandomForestRegressor(
        n_trees, max_leaf_nodes=leaves, random_state=seed, categorical_features=[0, 1] if seed % 2 else None
    )
    forest.fit(X, z)
    assert_same(forest.to_onnx(), forest, held_rows(forest, conversion.labels_of(forest, np.float64)), 4)


def test_categories_are_what_X_holds():
    """Labels that are no places among the labels, negative ones too, and unknown ones at prediction, whole or not."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-25.0, 10.0, 77.0, 2.0**24, -(2.0**24)], 300), rng.normal(size=300)])
    y = np.where(np.isin(X[:, 0], [77.0, 10.0, -25.0]), 1.0, -1.0) + X[:, 1]
    forest = dforest.RandomForestRegressor(5, categorical_features=[0], random_state=0).fit(X, y)
    trained = X.copy()
    X[::3, 0] = [np.nan, 3.5, -2.0, 1e5] * 25
    found = outputs(forest.to_onnx(), X)[0]
    assert found.tobytes() == forest.predict(X)[:, None].tobytes()
    forest.to_onnx(dtype=np.float32)
    for wrong in (2.5, 2.0**24 + 1):
        trained[0, 0] = wrong
        with pytest.raises(ValueError, match=rf"category {wrong}; allowed in a model of ONNX are integers from -16777216 to"):
            forest.fit(trained, y).to_onnx()


@pytest.mark.parametrize("weight", [None, "without labels"])
def test_a_category_of_which_all_values_are_missing(weight):
    """No tree tests it, so that a label at prediction changes nothing; other columns keep their categories."""
    X, z = data_of(categories=True)
    X[:, 1] = np.nan
    if weight is not None:
        X[::4, 1] = 7.0  # in rows that are dropped
        weight = np.where(np.isnan(X[:, 1]), 1.0, 0.0)
    for estimator in (dforest.RandomForestRegressor(4), dforest.HistGradientBoostingRegressor(max_iter=4)):
        estimator.set_params(categorical_features=[0, 1]).fit(X, z, sample_weight=weight)
        assert estimator.categories_[1].tolist() == [] and estimator.categories_[0].tolist() == list(range(0, 36, 3))
        rows = X.copy()
        rows[::3, 1] = 5.0
        model = estimator.to_onnx()
        assert outputs(model, rows)[0].tobytes() == outputs(model, X)[0].tobytes() == estimator.predict(X)[:, None].tobytes()


def test_frames_and_levels():
    X, z = data_of()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    forest = dforest.RandomForestRegressor(5, random_state=0).fit(frame, z)
    assert outputs(forest.to_onnx(), X)[0].tobytes() == forest.predict(frame)[:, None].tobytes()
    frame["a"] = pd.Categorical(np.where(X[:, 2] > 0, "red", "blue"))
    with pytest.raises(ValueError, match="column 'a' holds the category 'blue'; allowed in a model of ONNX are integers"):
        dforest.RandomForestRegressor(5).fit(frame, z).to_onnx()
    frame["a"] = frame["a"].cat.as_ordered()
    with pytest.raises(ValueError, match="column 'a' holds the labels of levels.*OrdinalEncoder"):
        dforest.HistGradientBoostingRegressor(max_iter=2).fit(frame, z).to_onnx()


def test_labels():
    X, z = data_of()
    kinds = {"i": z.astype(int) % 3, "b": z > 2, "f": (z > 2) * 0.5, "U": np.where(z > 2, "à", "b")}
    for kind, y in kinds.items():
        y = y.astype(float) * 2 if kind == "f" else y
        forest = dforest.RandomForestClassifier(5, random_state=0).fit(X, y)
        assert np.array_equal(outputs(forest.to_onnx(), X)[0], forest.predict(X)), kind
    mixed = np.array([b"one", b"two"], object)[(z > 2).astype(int)]
    forest.classes_ = np.array(sorted(set(mixed.tolist())), object)
    with pytest.raises(ValueError, match=r"the classes are \[b'one', b'two'\]; allowed in a model of ONNX are text"):
        forest.to_onnx()


def test_a_file(tmp_path):
    X, z = data_of()
    forest = dforest.RandomForestClassifier(5, random_state=0).fit(X, z > 2)
    onnx.save(forest.to_onnx(), tmp_path / "forest.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "forest.onnx", providers=["CPUExecutionProvider"])
    assert session.run(["probabilities"], {"X": X})[0].tobytes() == forest.predict_proba(X).tobytes()
    assert [output.name for output in session.get_outputs()] == ["label", "probabilities"]
    buffer = io.BytesIO()
    onnx.save(forest.to_onnx(verify=False), buffer)
    assert buffer.getvalue() == forest.to_onnx().SerializeToString()


def damaged(attribute, change):
    """A way to make attributes of trees that has one of them changed."""
    right = conversion.Graph.node

    def node(self, operator, *inputs, **attributes):
        if operator == "TreeEnsemble":
            changed = attributes[attribute]
            if isinstance(changed, onnx.TensorProto):
                array = onnx.numpy_helper.to_array(changed).copy()
                change(array)
                attributes[attribute] = onnx.numpy_helper.from_array(array, changed.name)
            else:
                change(changed)
        return right(self, operator, *inputs, **attributes)

    return node


def next_below(array):
    array[0] = np.nextafter(array[0], -np.inf)


def other(array):
    array[0] = 1 - array[0]


def one_more(array):
    array[-1] += 1


def as_last(array):
    array[0] = array[-1]


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("nodes_splits", next_below),
        ("nodes_featureids", one_more),
        ("nodes_missing_value_tracks_true", other),
        ("leaf_weights", as_last),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_wrong_number_is_found(attribute, change, dtype, monkeypatch):
    X, z = data_of()
    tree = dforest.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X[:, :4], z)
    tree.forest_.feature  # noqa: B018
    monkeypatch.setattr(conversion.Graph, "node", damaged(attribute, change))
    with pytest.raises(ConversionError, match=r"the model of ONNX and .* differently for \d+ of \d+ rows .* first of these, \["):
        tree.to_onnx(dtype=dtype)
    tree.to_onnx(dtype=dtype, verify=False)


class Cubed(PythonLoss):
    """What any loss of one's own is."""

    def fit_intercept_only(self, y_true, sample_weight):
        return 0.0

    def gradient_hessian(self, y_true, raw_prediction):
        return raw_prediction - y_true, np.ones(len(y_true))

    def loss(self, y_true, raw_prediction):
        return (raw_prediction - y_true) ** 2

    def predict(self, raw_prediction):
        return raw_prediction


def test_what_it_cannot_have():
    X, z = data_of()
    with pytest.raises(NotFittedError):
        dforest.RandomForestClassifier().to_onnx()
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    for wrong in (np.int32, "float16", "half a byte"):
        with pytest.raises(ValueError, match=r"dtype=.*; allowed are numpy.float32 and numpy.float64"):
            forest.to_onnx(dtype=wrong)
    with pytest.raises(ValueError, match=r"Own\(\) makes tests of its own, and ONNX's trees"):
        with_own_tests(forest).to_onnx()


def test_own_losses():
    X, z = data_of()
    model = dforest.HistGradientBoostingRegressor(loss=Cubed(), max_iter=2).fit(X, z)
    with pytest.raises(ValueError, match=r"loss=.* is user-defined, and a model of ONNX can't say"):
        model.to_onnx()


def test_limits(monkeypatch):
    X, z = data_of()
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    monkeypatch.setattr(conversion, "_MAX_EXACT", 10)
    with pytest.raises(ValueError, match=r"float32 for a forest whose leaves have \d+ distinct values; allowed are up to 10"):
        forest.to_onnx(dtype=np.float32)
    monkeypatch.setattr(conversion, "_MAX_BYTES", 1000)
    with pytest.raises(ValueError, match=r"would have \d+ bytes; allowed are 1000: grow fewer"):
        forest.to_onnx()


def test_packages_that_are_not_there(monkeypatch):
    X, z = data_of()
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"to_onnx\(verify=True\) needs onnxruntime; install it with: pip install 'onnx"):
        forest.to_onnx()
    forest.to_onnx(verify=False)


def test_every_loss_has_a_link():
    assert set(LINKS) == set(LOSSES)
