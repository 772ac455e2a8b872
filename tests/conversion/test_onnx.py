"""ONNX models predict the same in onnxruntime, and clear errors say what they can't have."""

import io
from itertools import chain

import numpy as np
import onnx
import pandas as pd
import pytest
from helpers.conversion import data_of, held_rows, model_of_quantiles, models, models_of_several_outputs
from onnx.reference import ReferenceEvaluator
from sklearn.base import is_classifier

import dforest
from dforest.core.boost.ranking import RANK_LOSSES
from dforest.errors import ConversionError
from dforest.estimators.data.tables import read_table
from dforest.interchange.conversion import onnx as conversion
from dforest.interchange.conversion import onnx_operators
from dforest.interchange.conversion.links import LINKS, rounding
from dforest.rules.losses import LOSSES

onnxruntime = pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.filterwarnings("ignore::dforest.errors.UnseenLabelsWarning")


def session_of(model, n_threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def outputs(model, rows, n_threads=1):
    return session_of(model, n_threads).run(None, {"X": rows})


def predicted(estimator, rows):
    """What the outputs of a model should be: labels and probabilities of each output of y, or numbers."""
    if not is_classifier(estimator):
        return [estimator.predict(rows).reshape(len(rows), -1)]
    labels, probabilities = estimator.predict(rows), estimator.predict_proba(rows)
    if labels.ndim == 1:
        return [labels, probabilities]
    return list(chain.from_iterable(zip(labels.T, probabilities, strict=True)))


def assert_same(model, estimator, rows, n_threads):
    """Whether all predictions are equal to the bit; but for exponentials, which may differ in their last bits."""
    is_exact = not hasattr(estimator, "_loss") or LINKS[estimator._loss.name] == "identity"
    for found, expected in zip(outputs(model, rows, n_threads), predicted(estimator, rows), strict=True):
        assert found.shape == expected.shape
        if found.ndim == 1:
            assert np.array_equal(found, expected)
        elif is_exact:
            assert found.dtype == np.float64 and found.tobytes() == expected.tobytes()
        else:
            assert found.dtype == np.float64 and (np.abs(found - expected) <= rounding(expected, np.float64)).all()


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits(dtype, categories):
    for name, estimator in chain(models(dtype, categories), models_of_several_outputs(dtype, categories)):
        model = estimator.to_onnx()
        onnx.checker.check_model(model)
        of_a_row = predicted(estimator, np.zeros((1, 6)))
        of_none = outputs(model, np.zeros((0, 6)))
        assert [array.shape for array in of_none] == [(0, *array.shape[1:]) for array in of_a_row], name
        rows = held_rows(estimator, conversion.labels_of(estimator, np.float64))
        for n_threads in (1, 4):
            assert_same(model, estimator, rows, n_threads)
        for i in range(0, len(rows), 29):
            assert_same(model, estimator, rows[i : i + 1], 4)


@pytest.mark.parametrize("categories", [False, True])
def test_quantiles_are_in_order(categories):
    estimator = model_of_quantiles(categories=categories)
    rows = held_rows(estimator, conversion.labels_of(estimator, np.float64))
    assert_same(estimator.to_onnx(), estimator, rows, 1)
    X, _ = data_of(dtype=np.float32, categories=categories)
    (found,) = outputs(estimator.to_onnx(dtype=np.float32, operators="classic"), X, 4)
    assert found == pytest.approx(estimator.predict(X), rel=1e-5, abs=1e-5)


def test_more_trees_than_a_block_of_sums():
    """onnxruntime adds up more than 512 numbers in blocks, and so in another order, unless the graph says how."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)) * [1.0, 1e6]
    forest = {"n_estimators": 514, "max_leaf_nodes": 4, "random_state": 0}
    boosted = {"max_iter": 520, "max_leaf_nodes": 3, "min_samples_leaf": 2, "early_stopping": False}
    for estimator in (
        dforest.ExtraTreesRegressor(**forest).fit(X, y),
        dforest.RandomForestClassifier(**forest).fit(X, np.digitize(y[:, 0], [-0.5, 0.5])),
        dforest.HistGradientBoostingRegressor(**boosted).fit(X, y[:, 0]),
        dforest.HistGradientBoostingRegressor(**boosted).fit(X, y),
    ):
        model = estimator.to_onnx()
        for n_threads in (1, 4):
            for rows in (X, X[:1]):
                assert_same(model, estimator, rows, n_threads)
        assert all(len(found) == 0 for found in outputs(model, X[:0]))


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
    right = onnx_operators._add_outputs

    def wrong(graph, sums, link, labels, dtype, *rest):
        more = np.where(np.arange(n) == 0, dtype(0.0), dtype(3e-3))
        right(graph, graph.node("Add", sums, graph.constant(more)), link, labels, dtype, *rest)

    monkeypatch.setattr(onnx_operators, "_add_outputs", wrong)
    with pytest.raises(ConversionError, match="for 1 of 1 rows"):
        model.to_onnx(dtype=np.float64)


@pytest.mark.parametrize("categories", [False, True])
def test_float32_reaches_the_same_leaves(categories, monkeypatch):
    """It is compared by the conversion itself; here the rows are others."""
    seen = []
    monkeypatch.setattr(conversion, "check_same", lambda library, rows, expected, found, *rest: seen.append((expected, found)))
    for name, estimator in chain(models(np.float64, categories, seed=1), models_of_several_outputs(categories=categories)):
        rows = held_rows(estimator, conversion.labels_of(estimator, np.float32), np.float32)
        encoded = estimator._features.encode(read_table(rows))
        monkeypatch.setattr(conversion, "probes_of", lambda *_, both=(encoded, rows), **__: both)
        seen.clear()
        model = estimator.to_onnx(dtype=np.float32)
        assert np.array_equal(*seen[0]), name
        for found, expected in zip(outputs(model, rows), predicted(estimator, rows), strict=True):
            if found.ndim == 2:
                assert found.dtype == np.float32 and found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_conversions_work_where_underflow_is_an_error():
    """Where a library had called `numpy.seterr(all="raise")`, `to_onnx` failed with a FloatingPointError about underflow."""
    X = np.linspace(-1.0, 1.0, 41)[:, None]
    tree = dforest.DecisionTreeRegressor(max_depth=1).fit(X[X != 0.0][:, None], X[X != 0.0] > 0)  # the threshold is 0
    with np.errstate(all="raise"):
        model = tree.to_onnx(dtype=np.float32)
    assert outputs(model, np.float32([[-0.5], [0.0], [0.5]]))[0].tolist() == [[0.0], [0.0], [1.0]]


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
        with pytest.raises(ValueError, match=rf"category {wrong}; allowed in a model of ONNX are text and integers from -1677"):
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
        assert estimator.to_treelite().num_tree == len(estimator.to_shap()["trees"]) == 4
        assert not hasattr(estimator, "to_sklearn") or len(estimator.to_sklearn().estimators_) == 4


def test_frames_and_levels():
    X, z = data_of()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    forest = dforest.RandomForestRegressor(5, random_state=0).fit(frame, z)
    assert outputs(forest.to_onnx(), X)[0].tobytes() == forest.predict(frame)[:, None].tobytes()
    frame["a"] = pd.Categorical(np.where(X[:, 2] > 0, 2, 1), [2, 1], ordered=True)
    with pytest.raises(ValueError, match="column 'a' holds the labels of levels, and ONNX only takes levels that are.*OrdinalE"):
        dforest.HistGradientBoostingRegressor(max_iter=2).fit(frame, z).to_onnx()
    frame["a"] = pd.Categorical(np.where(X[:, 2] > 0, 2.5, 1))
    with pytest.raises(ValueError, match="column 'a' holds the category 2.5; allowed in a model of ONNX are text and integers"):
        dforest.RandomForestRegressor(5).fit(frame, z).to_onnx()


def frame_with_text(n=400, seed=0):
    """Columns of text that is no identifier of C, of levels, of numbers, and of categories that are numbers; and targets."""
    rng = np.random.default_rng(seed)
    colours, sizes = ["", "red", "blue", "é \n", "?"], ["S", "M", "L", "XL"]
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(colours, n, p=[0.1, 0.4, 0.3, 0.1, 0.1])),
            "size": pd.Categorical(rng.choice(sizes, n), sizes, ordered=True),
            "length": rng.normal(size=n).astype(np.float32),
            "code": pd.Categorical(rng.choice([3, 7, 12], n)),
        }
    )
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    frame.loc[rng.random(n) < 0.1, "size"] = None
    y = (frame["colour"] == "red") * 1 + (frame["size"] == "M") * (frame["length"] > 0) + (frame["code"] == 7)
    return frame, y.to_numpy()


def given_columns(frame, dtype):
    """A frame as inputs: what is missing among text is text that is no label."""
    is_text = {"colour", "size"}
    return {
        name: (frame[[name]].astype(object).fillna("missing") if name in is_text else frame[[name]].astype(dtype)).to_numpy()
        for name in frame
    }


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("operators", ["exact", "classic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_text(dtype, operators):
    """Labels go in as they are; what is no label goes where missing values go."""
    frame, y = frame_with_text()
    rows = frame_with_text(seed=1)[0].astype({"colour": object, "size": object})
    rows.loc[::5, "colour"], rows.loc[::7, "size"] = "unknown", "XXL"
    for kind in ("RandomForestClassifier", "ExtraTreesRegressor", "HistGradientBoostingClassifier"):
        estimator = getattr(dforest, kind)(**{"max_iter" if "Hist" in kind else "n_estimators": 10}, random_state=0)
        estimator.fit(frame, np.array(["a", "b", "c", "d"])[y] if "C" in kind else y)
        model = estimator.to_onnx(dtype=dtype, operators=operators)
        onnx.checker.check_model(model)
        session = session_of(model)
        assert [(one.name, one.type) for one in session.get_inputs()] == [
            ("colour", "tensor(string)"),
            ("size", "tensor(string)"),
            *((name, f"tensor({'float' if dtype is np.float32 else 'double'})") for name in ("length", "code")),
        ]
        *labels, found = session.run(None, given_columns(rows, dtype))
        expected = estimator.predict_proba(rows) if labels else estimator.predict(rows)[:, None]
        if operators == "exact" and dtype is np.float64 and not hasattr(estimator, "_loss"):
            assert found.tobytes() == expected.tobytes()
        assert found == pytest.approx(expected, rel=0, abs=1e-6)
        if labels:
            assert np.mean(labels[0] == estimator.predict(rows)) > 0.98  # others are ties


def test_text_without_names():
    rng = np.random.default_rng(0)
    X = np.array([["a", 1.0], ["b", 2.0], ["c", 0.5]], object)[rng.integers(0, 3, 100)]
    tree = dforest.DecisionTreeClassifier(categorical_features=[0]).fit(X, X[:, 0] == "b")
    label, _ = session_of(tree.to_onnx()).run(None, {"x0": X[:, :1], "x1": X[:, 1:].astype(np.float64)})
    assert np.array_equal(label, X[:, 0] == "b")


@pytest.mark.parametrize("damage", ["keys", "order"])
def test_wrong_codes_are_found(damage, monkeypatch):
    frame, y = frame_with_text()
    forest = dforest.RandomForestRegressor(3, random_state=0).fit(frame, y)
    right = conversion.Graph.node

    def node(self, operator, *inputs, **attributes):
        if operator == "LabelEncoder":
            keys = attributes["keys_strings"]
            attributes["keys_strings"] = keys[::-1] if damage == "order" else [f"not {key}" for key in keys]
        return right(self, operator, *inputs, **attributes)

    monkeypatch.setattr(conversion.Graph, "node", node)
    with pytest.raises(ConversionError, match=r"the model of ONNX and .* differently for \d+ of \d+ rows"):
        forest.to_onnx()


@pytest.mark.parametrize("operators", ["exact", "classic"])
@pytest.mark.parametrize("name", ["label", "variable", "probabilities", "result_0", "constant_1", "X", "", "a\nb"])
def test_columns_may_have_the_names_of_other_things(name, operators):
    frame, y = frame_with_text()
    frame = frame.rename(columns={"length": name})
    if name == "":
        frame = frame.rename(columns={frame.columns[0]: f"x{frame.columns.get_loc('')}"})
    for forest, outputs in (
        (dforest.RandomForestClassifier(2, random_state=0).fit(frame, y), ["label", "probabilities"]),
        (dforest.HistGradientBoostingRegressor(max_iter=2).fit(frame, y), ["variable"]),
    ):
        model = forest.to_onnx(operators=operators)
        inputs = [one.name for one in model.graph.input]
        assert inputs == [one or f"_x{frame.columns.get_loc('')}" for one in frame.columns]
        assert [one.name for one in model.graph.output] == [f"_{one}" if one == name else one for one in outputs]


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
        if attribute in attributes:
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


def test_what_it_cannot_have():
    X, z = data_of()
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    for wrong in (np.int32, "float16", "half a byte"):
        with pytest.raises(ValueError, match=r"dtype=.*; allowed are numpy.float32 and numpy.float64"):
            forest.to_onnx(dtype=wrong)


def test_limits(monkeypatch):
    X, z = data_of()
    forest = dforest.RandomForestRegressor(2, random_state=0).fit(X, z)
    monkeypatch.setattr(onnx_operators, "_MAX_EXACT", 10)
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
    assert set(LINKS) == set(LOSSES) | set(RANK_LOSSES)


def is_one_class(estimator):
    return is_classifier(estimator) and len(estimator.classes_) == 1


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classic_operators(dtype, categories):
    """Leaves are compared by the conversion; here, predictions for other rows, and by ONNX's own runtime too."""
    for name, estimator in chain(models(dtype, categories), models_of_several_outputs(dtype, categories)):
        if is_classifier(estimator) and (is_one_class(estimator) or isinstance(estimator.classes_, list)):
            continue
        model = estimator.to_onnx(dtype=dtype, operators="classic")
        onnx.checker.check_model(model)
        versions = {one.domain: one.version for one in model.opset_import}
        assert versions == {"": 11, "ai.onnx.ml": 1 if dtype is np.float32 else 3} and model.ir_version == 6
        kinds = [node.op_type for node in model.graph.node if node.domain]
        assert kinds == ["TreeEnsembleClassifier" if is_classifier(estimator) else "TreeEnsembleRegressor"]
        X, _ = data_of(dtype=dtype, categories=categories, seed=7)
        *_, expected = predicted(estimator, X)
        *labels, found = outputs(model, X, 4)
        assert found.dtype == dtype and found == pytest.approx(expected, rel=2e-6, abs=2e-6), name
        if labels:
            assert np.mean(labels[0] == estimator.predict(X)) > 0.98, name  # others are ties
        if dtype is np.float32:
            *_, found = ReferenceEvaluator(model).run(None, {"X": X[:20]})
            assert found == pytest.approx(expected[:20], rel=2e-6, abs=2e-6), name


@pytest.mark.parametrize("operators", ["exact", "classic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sets_that_no_label_is_in(dtype, operators):
    """Statistics part the training rows of a node, but, as they are in the end, no labels."""
    X, z = data_of(52, 481727, np.float32, categories=True)
    y = np.digitize(z, np.quantile(z, [1 / 3, 2 / 3]))
    model = dforest.HistGradientBoostingClassifier(
        max_iter=2, min_samples_leaf=2, categorical_features=[0, 1], random_state=481727
    ).fit(X, y)
    forest = model.forest_
    tests = [node for node in np.flatnonzero(forest.feature >= 0) if forest.n_categories[forest.feature[node]]]
    assert any(len(forest.subset_of(node)) == 0 for node in tests)
    model.to_onnx(dtype=dtype, operators=operators)


@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_classic_operators_with_no_value_below_zero(loss):
    """Then onnxruntime takes sums for probabilities, unless it is kept from that."""
    X, y = np.zeros((100, 2)), np.arange(100) < 55
    model = dforest.HistGradientBoostingClassifier(max_iter=2, loss=loss).fit(X, y)
    label, found = outputs(model.to_onnx(operators="classic"), X[:1])
    assert label.tolist() == [True] and found == pytest.approx(np.array([[0.45, 0.55]]), abs=1e-6)


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("nodes_values", lambda array: array.__setitem__(0, np.nextafter(np.float32(array[0]), np.float32(-np.inf)))),
        ("nodes_featureids", lambda array: array.__setitem__(0, (array[0] + 1) % 4)),
        ("nodes_missing_value_tracks_true", other),
        ("class_weights", lambda array: array.__setitem__(0, array[0] + 1e-4)),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_wrong_number_of_classic_operators_is_found(attribute, change, n_classes, monkeypatch):
    X, z = data_of(dtype=np.float32)
    tree = dforest.DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[:, :4], z.astype(int) % n_classes)
    monkeypatch.setattr(conversion.Graph, "node", damaged(attribute, change))
    with pytest.raises(ConversionError, match=r"the model of ONNX and .* differently for \d+ of \d+ rows"):
        tree.to_onnx(dtype=np.float32, operators="classic")
    tree.to_onnx(dtype=np.float32, operators="classic", verify=False)


def test_what_classic_operators_cannot_have():
    X, z = data_of()
    with pytest.raises(ValueError, match='operators="classic" for a classifier of one class; allowed are more classes'):
        dforest.RandomForestClassifier(2).fit(X, np.zeros(len(X))).to_onnx(operators="classic")
    with pytest.raises(ValueError, match='operators="classic" for a classifier of 2 outputs, but .* operators="exact"'):
        dforest.RandomForestClassifier(2).fit(X, np.stack([z > 1, z > 2], axis=1)).to_onnx(operators="classic")
    with pytest.raises(ValueError, match="operators=3; allowed are \"exact\" and \"classic\""):
        dforest.RandomForestRegressor(2).fit(X, z).to_onnx(operators=3)
    message = r'operators="classic" for trees that add values of up to .*e\+5[01] .* operators="exact"'
    with pytest.raises(ValueError, match=message):
        dforest.RandomForestRegressor(2, random_state=0).fit(X, z * 1e50).to_onnx(operators="classic")


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", ["numbers", "logarithms", "two classes", "three classes", "bags", "categories"])
def test_linear_leaves(kind, n_threads):
    """Each leaf's line, its bounds, and rows whose values are missing, infinite or far away."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((500, 5)), 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = rng.integers(0, 6, 500)
    y = 3.0 * np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + (X[:, 4] > 2) + 0.1 * rng.standard_normal(500)
    given = {"leaf_model": "linear", "max_iter": 12, "random_state": 0, "early_stopping": False, "max_leaf_features": 3}
    given |= {"bags": {"n_bags": 2}, "categories": {"categorical_features": [4]}}.get(kind, {})
    if kind.endswith("classes"):
        model = dforest.HistGradientBoostingClassifier(**given).fit(X, np.digitize(y, [0.0, 3.0] if kind[:2] == "th" else [1.0]))
    else:
        given["loss"] = "poisson" if kind == "logarithms" else "squared_error"
        model = dforest.HistGradientBoostingRegressor(**given).fit(X, np.exp(y / 4) if kind == "logarithms" else y)
    rows = np.concatenate([X, 100.0 * X])
    rows[::9, 0], rows[1::9, 1], rows[:, 4] = np.inf, -np.inf, np.tile(X[:, 4], 2)
    assert_same(model.to_onnx(), model, rows, n_threads)
    found = outputs(model.to_onnx(dtype=np.float32), rows.astype(np.float32), n_threads)[-1]
    expected = predicted(model, rows.astype(np.float32))[-1]
    assert found.dtype == np.float32 and np.allclose(found, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match='operators="classic" for leaf_model="linear".*allowed is operators="exact"'):
        model.to_onnx(operators="classic")
