"""Shapley values of trees, and interactions: against their definitions over all sets of features, against shap, on any number of
threads."""

import pickle
import signal

import numpy as np
import pandas as pd
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from twins import shapley as twin

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    ShapInteractionValues,
    ShapValues,
)
from dforest.core import loops
from dforest.estimators.results import shapley
from dforest.splitter import PythonSplitter, Test

MODELS = [
    RandomForestRegressor(3),
    RandomForestRegressor(2, max_depth=2, criterion="absolute_error"),
    ExtraTreesRegressor(2, categorical_features=[0, 1]),
    RandomForestClassifier(3),
    RandomForestClassifier(3, voting="hard", class_weight="balanced_subsample"),
    ExtraTreesClassifier(2, categorical_features=[0], max_leaf_nodes=5),
    DecisionTreeClassifier(class_weight="balanced"),
    ExtraTreeClassifier(max_depth=1),
    DecisionTreeRegressor(method="dense"),
    HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1, max_leaf_nodes=6, categorical_features=[0]),
    HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2, max_leaf_nodes=5),
    HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2, subsample=0.7),
]
ALL = pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model).replace("\n", ""))


def problem(model, seed, n=20, n_classes=3, is_single=False, is_weighted=False, dtype=np.float64, several=False):
    """A fitted estimator, and new rows with infinities, missing values and categories that it has not seen.

    several : whether there are three outputs, of which the second one is constant
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n + 8, 4)).astype(dtype)
    X[:, 2:] = rng.normal(size=(len(X), 2)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(len(X)) < 0.1, 3] = np.inf
    X[n:, 0] += rng.integers(0, 2, 8)
    is_class = hasattr(model, "predict_proba")
    y = rng.integers(0, n_classes, n) if is_class else rng.normal(size=n) + np.nan_to_num(X[:n, 0])
    if is_class:
        y[:n_classes] = range(n_classes)
    elif is_single:
        y[:] = 2.5
    y = np.stack([y, y[:1].repeat(n), y[rng.permutation(n)]], axis=1) if several else y
    weight = rng.integers(1, 4, n) / 2 if is_weighted else None
    return clone(model).set_params(random_state=seed).fit(X[:n], y, weight), X[n:]


def compare(model, X, background=None):
    found = model.shap_values(X, background)
    votes = model.forest_.leaf_votes(getattr(model, "voting", "soft"))
    others = None if background is None else model._checked_rows(background)  # with labels as numbers
    values, base = twin.shapley_values(model.forest_, votes, found.data, others)
    scale = np.abs([*votes.ravel(), *base]).max()
    np.testing.assert_allclose(found.values.reshape(values.shape), values, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(np.ravel(found.base_values), base, rtol=0, atol=1e-13 * scale)
    assert found.additivity_error < 1e-13 * scale


def compare_interactions(model, X, background=None):
    found = model.shap_interaction_values(X, background)
    assert_adds_up(model, found, X, background)
    others = None if background is None else model._checked_rows(background)
    votes = model.forest_.leaf_votes(getattr(model, "voting", "soft"))
    values = twin.interaction_values(model.forest_, votes, found.data, others)
    np.testing.assert_allclose(found.values.reshape(values.shape), values, rtol=0, atol=1e-13 * np.abs(votes).max())


def assert_adds_up(model, found, X, background=None):
    """Matrices are symmetric, their rows add up to Shapley values, and all numbers of a row to its prediction."""
    alone = model.shap_values(X, background)
    scale = max(1.0, np.abs(model.forest_.leaf_votes(getattr(model, "voting", "soft"))).max())
    np.testing.assert_array_equal(found.values, np.swapaxes(found.values, 1, 2))
    np.testing.assert_allclose(found.values.sum(axis=2), alone.values, rtol=0, atol=1e-12 * scale)
    np.testing.assert_array_equal(found.base_values, alone.base_values)
    np.testing.assert_array_equal(found.data, alone.data)
    assert found.additivity_error < 1e-12 * scale


@ALL
@pytest.mark.filterwarnings("ignore::dforest.errors.UnseenLabelsWarning")
@settings(max_examples=examples(12), deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([np.float32, np.float64]), st.integers(2, 3), st.booleans())
def test_values_are_those_of_the_twin(model, seed, is_weighted, dtype, n_classes, is_single):
    model, X = problem(model, seed, 20, n_classes, is_single, is_weighted, dtype)
    for compare_all, method in ((compare, model.shap_values), (compare_interactions, model.shap_interaction_values)):
        compare_all(model, X[:3])
        compare_all(model, X[:2], X[3:])
        many = method(np.tile(X[:2], (500, 1)), np.tile(X[3:], (10, 1)))  # by tables
        np.testing.assert_allclose(many.values[:2], method(X[:2], X[3:]).values, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [*MODELS[:-3], HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1, max_leaf_nodes=6)],
    ids=lambda model: repr(model).replace("\n", ""),
)
@pytest.mark.filterwarnings("ignore::dforest.errors.UnseenLabelsWarning")
@pytest.mark.parametrize("has_background", [False, True])
def test_values_of_several_outputs_are_those_of_the_twin(model, has_background):
    """Numbers have an axis for the outputs; classes have a result for each output, as they have probabilities for each."""
    model, X = problem(model, 1, 20, is_weighted=True, several=True)
    rows, background = X[:3], X[3:] if has_background else None
    votes = model.forest_.leaf_votes(getattr(model, "voting", "soft"))
    others = None if background is None else model._checked_rows(background)
    for method, expected in (
        ("shap_values", twin.shapley_values(model.forest_, votes, model._checked_rows(rows), others)[0]),
        ("shap_interaction_values", twin.interaction_values(model.forest_, votes, model._checked_rows(rows), others)),
    ):
        results = getattr(model, method)(rows, background)
        is_list = isinstance(results, list)
        assert is_list == hasattr(model, "predict_proba")
        results = results if is_list else [results]
        assert [len(result.base_values) for result in results] == ([3, 1, 3] if is_list else [3])
        assert [result.output_names for result in results] == ([["0", "1", "2"], [str(model.classes_[1][0])], ["0", "1", "2"]]
                                                               if is_list else [None])  # fmt: skip
        found = np.concatenate([result.values for result in results], axis=-1)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(votes).max())
        predicted = np.hstack(model.predict_proba(rows)) if is_list else model.predict(rows)
        total = np.concatenate([result.base_values for result in results]) + found.sum(axis=tuple(range(1, found.ndim - 1)))
        np.testing.assert_allclose(total, predicted, atol=1e-13 * np.abs(votes).max())
        assert max(result.additivity_error for result in results) < 1e-13 * np.abs(votes).max()


def test_features_come_again_on_a_path():
    """Deep trees of two features, one of them with categories, whose paths have both many times."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 20, 60)])
    for model in (DecisionTreeRegressor(random_state=0), ExtraTreesRegressor(2, categorical_features=[1], random_state=0)):
        model = model.fit(X, rng.normal(size=60))
        compare(model, X[:5])
        compare(model, X[:5], X[5:20])
        compare_interactions(model, X[:5])
        compare_interactions(model, X[:5], X[5:20])


@pytest.mark.parametrize("n_features", [9, 14])
def test_paths_of_many_features(n_features):
    """More points than one walk takes, and more features than tables are made for."""
    rng = np.random.default_rng(n_features)
    X = rng.integers(0, 2, (2**9, n_features)).astype(float)
    y = (X * 2.0 ** np.arange(n_features)).sum(axis=1) + rng.normal(size=len(X))
    tree = ExtraTreeClassifier(max_features=1, max_leaf_nodes=40, random_state=n_features).fit(X, y > np.median(y))
    regressor = DecisionTreeRegressor(max_leaf_nodes=n_features + 20, random_state=0)
    regressor = regressor.fit(X, np.cumprod(X + 0.1, axis=1).sum(axis=1))
    for model in (tree, regressor):
        if n_features < 10:
            compare(model, X[:2])
            compare(model, X[:2], X[2:4])
            compare_interactions(model, X[:1])
            compare_interactions(model, X[:1], X[2:4])
        for background in (None, X[100:200]):
            assert model.shap_values(X[:100], background).additivity_error < 1e-12
            assert_adds_up(model, model.shap_interaction_values(X[:100], background), X[:100], background)


@ALL
@pytest.mark.filterwarnings("ignore::dforest.errors.UnseenLabelsWarning")
@pytest.mark.parametrize("has_background", [False, True])
@pytest.mark.parametrize("method", ["shap_values", "shap_interaction_values"])
def test_values_depend_on_no_number_of_threads(model, method, has_background):
    model, X = problem(model, 1, 200)
    X = np.tile(X, (40, 1))
    background = X[:70] if has_background else None
    first = getattr(model, method)(X, background)
    if "n_jobs" in model.get_params():
        second = getattr(model.set_params(n_jobs=3), method)(X, background)
        assert first.values.tobytes() == second.values.tobytes()
        np.testing.assert_array_equal(first.base_values, second.base_values)
    some = getattr(pickle.loads(pickle.dumps(model)), method)(X[5:7], background).values
    if has_background:  # few rows may go another way: see the next test
        np.testing.assert_allclose(some, first.values[5:7], rtol=0, atol=1e-14 * max(1.0, np.abs(first.values).max()))
    else:
        assert some.tobytes() == first.values[5:7].tobytes()


def test_values_depend_on_no_set_of_loops():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(5, max_depth=9, random_state=0).fit(X, y)
    ways, found = (forest.shap_values, forest.shap_interaction_values), set()
    try:
        for name in loops.names():
            loops.use(name)
            results = [way(X, background) for way in ways for background in (None, X[:90])]
            found.add(tuple(result.values.tobytes() for result in results))
    finally:
        loops.use()
    assert len(found) == 1


def test_shapes_and_attributes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    result = forest.shap_values(X)
    assert type(result) is ShapValues and result.values.shape == (150, 4, 3) and result.base_values.shape == (3,)
    assert result.feature_names == list(X.columns) and result.output_names == ["0", "1", "2"]
    np.testing.assert_array_equal(result.data, X)
    assert np.asarray(result).tobytes() == result.values.tobytes()
    assert "(150, 4, 3)" in repr(result)
    np.testing.assert_allclose(result.base_values + result.values.sum(axis=1), forest.predict_proba(X), atol=1e-14)
    assert RandomForestClassifier(3).fit(X, y > 1).shap_values(X[:2]).values.shape == (2, 4, 2)
    assert RandomForestClassifier(3).fit(X, 0 * y).shap_values(X[:2]).values.tolist() == np.zeros((2, 4, 1)).tolist()
    array = X.to_numpy()
    boosted = HistGradientBoostingClassifier(max_iter=5).fit(array, y > 1)
    result = boosted.shap_values(array)
    assert result.values.shape == (150, 4) and type(result.base_values) is float and result.feature_names is None
    np.testing.assert_allclose(result.base_values + result.values.sum(axis=1), boosted.decision_function(array), atol=1e-13)
    assert HistGradientBoostingClassifier(max_iter=5).fit(X, y).shap_values(X).values.shape == (150, 4, 3)
    assert not hasattr(RandomTreesEmbedding(), "shap_values") and not hasattr(RandomTreesEmbedding(), "shap_interaction_values")


def test_shapes_of_interactions():
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    result = forest.shap_interaction_values(X)
    assert type(result) is ShapInteractionValues and result.values.shape == (150, 4, 4, 3) and result.base_values.shape == (3,)
    assert result.feature_names == list(X.columns) and result.output_names == ["0", "1", "2"]
    assert np.asarray(result).tobytes() == result.values.tobytes()
    assert repr(result).startswith("<ShapInteractionValues of shape (150, 4, 4, 3), additivity_error=")
    total = result.base_values + result.values.sum(axis=(1, 2))
    np.testing.assert_allclose(total, forest.predict_proba(X), atol=1e-14)
    np.testing.assert_allclose(result.values.sum(axis=3), 0.0, atol=1e-15)
    assert (np.abs(result.values).max(axis=(0, 3)) > 0.01).sum() > 6
    of_one_class = RandomForestClassifier(3).fit(X, 0 * y).shap_interaction_values(X[:2]).values
    assert of_one_class.shape == (2, 4, 4, 1) and not of_one_class.any()
    for target, shape in ((y > 1, (150, 4, 4)), (y, (150, 4, 4, 3))):
        boosted = HistGradientBoostingClassifier(max_iter=5).fit(X, target)
        result = boosted.shap_interaction_values(X)
        assert result.values.shape == shape
        total = result.base_values + result.values.sum(axis=(1, 2))
        np.testing.assert_allclose(total, boosted.decision_function(X), atol=1e-13)


def test_interactions_of_the_first_iterations():
    X, y = load_diabetes(return_X_y=True)
    model = HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=6, random_state=0).fit(X, y)
    shorter = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=6, random_state=0).fit(X, y)
    for background in (None, X[:9]):
        found, expected = model.shap_interaction_values(X, background, n_iter=3), shorter.shap_interaction_values(X, background)
        np.testing.assert_array_equal(found.values, expected.values)
    with pytest.raises(ValueError, match="n_iter=9; allowed are integers from 1 to n_iter_=8"):
        model.shap_interaction_values(X, n_iter=9)


def test_many_features_take_groups_of_rows():
    """Matrices so large that a block is one group; most of the features are tested nowhere."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)).astype(np.float32)
    y = X[:, 0] * X[:, 299] + X[:, 17]
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    X = X[:12]
    for background in (None, X[:4]):
        compare_interactions(model, X[:1], background)
        result = model.shap_interaction_values(X, background)
        assert_adds_up(model, result, X, background)
        by_row = np.concatenate([model.shap_interaction_values(X[i : i + 1], background).values for i in range(len(X))])
        np.testing.assert_allclose(result.values, by_row, rtol=0, atol=1e-15 if background is None else 1e-13)
        assert len(np.unique(np.nonzero(result.values)[1])) < 8


def test_columns_of_text():
    frame = pd.DataFrame({"colour": pd.Categorical(["red", "blue", None, "green"] * 10), "size": np.arange(40.0)})
    model = RandomForestRegressor(5, random_state=0).fit(frame, (frame["colour"] == "red") * 10.0 + frame["size"])
    result = model.shap_values(frame, frame[:7])
    assert result.feature_names == ["colour", "size"] and result.data[0].tolist() == [2.0, 0.0]
    assert result.additivity_error < 1e-12
    assert (result.values[::4, 0] > 0).all()


def test_huge_targets():
    X = np.arange(20.0)[:, None]
    y = np.where(X[:, 0] < 10, -1.0, 1.0) * 1.5e308
    result = DecisionTreeRegressor().fit(X, y).shap_values(X)
    np.testing.assert_allclose(result.values[:, 0], y, rtol=1e-14)
    result = DecisionTreeRegressor().fit(np.column_stack([X, X % 10]), y).shap_interaction_values(np.column_stack([X, X % 10]))
    np.testing.assert_allclose(result.values.sum(axis=(1, 2)), y, rtol=1e-14)
    result = DecisionTreeRegressor().fit(X, y / 1e308 + 1e9).shap_values(X)
    np.testing.assert_allclose(result.values[:, 0], y / 1e308, rtol=1e-6)


@pytest.mark.parametrize("n_features", [1, 40])
def test_deep_chains(n_features):
    """Two thousand levels: each cut takes off a row. With one feature, its value is the prediction less the mean."""
    n = 2001
    X, y = np.repeat(np.arange(float(n))[:, None], n_features, axis=1), np.arange(n) % 2
    tree = DecisionTreeClassifier(method="dense", max_features=1, random_state=0).fit(X, y)
    assert tree.get_depth() >= n - 1 if n_features == 1 else tree.get_depth() > 500
    rows = X[:: n // 20]
    for background in (None, X[:70]):
        result = tree.shap_values(rows, background)
        assert result.additivity_error < 1e-11
        interactions = tree.shap_interaction_values(rows, background)
        np.testing.assert_allclose(interactions.values.sum(axis=2), result.values, rtol=0, atol=1e-11)
        assert interactions.additivity_error < 1e-11
        if n_features == 1:
            np.testing.assert_allclose(result.values[:, 0], tree.predict_proba(rows) - result.base_values, atol=1e-11)


def of_all_features(function, *arguments, **parameters):
    """What a method returns if features that no tree tests are looked at like others."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shapley, "_of_tested_features", lambda forest: (forest, np.arange(forest.n_features)))
        return function(*arguments, **parameters)


@pytest.mark.parametrize("has_background", [False, True])
def test_features_that_no_tree_tests_are_left_out(has_background):
    X = np.random.default_rng(0).integers(0, 3, (30, 20)).astype(float)
    X[:, 12], y = X[:, 12] + np.nan, X[:, 3] * X[:, 7] + X[:, 19]
    background = X[:6] if has_background else None
    for model in (
        RandomForestRegressor(2, max_depth=2, max_features=None, random_state=0).fit(X, y),
        RandomForestClassifier(2, max_depth=2, max_features=None, categorical_features=[3, 5], random_state=0).fit(X, y > 2),
        HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5).fit(X, y),
    ):
        assert 1 < len(shapley._of_tested_features(model.forest_)[1]) <= 10
        for name in ("shap_values", "shap_interaction_values"):
            call = getattr(model, name)
            found, whole = call(X, background), of_all_features(call, X, background)
            np.testing.assert_array_equal(found.values, whole.values)
            np.testing.assert_array_equal(found.base_values, whole.base_values)


FORMATS = [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array, sparse.coo_array, np.asarray]


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("has_background", [False, True])
def test_sparse_values_are_the_dense_ones(layout, has_background, monkeypatch):
    """Of columns of which trees test a few; rows are explained in several blocks."""
    monkeypatch.setattr(shapley, "_BLOCK_VALUES", 70)
    X = sparse.random(40, 50, density=0.1, random_state=0, format="csr")
    X.data = np.round(4 * X.data) - 1  # with zeros that are stored
    X, y = layout(X.toarray()), np.asarray(X.sum(axis=1)).ravel()
    background = X[:7] if has_background and hasattr(X, "__getitem__") and layout is not sparse.coo_array else None
    for model in (
        RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, y),
        RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, np.round(y) % 3),
        RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, np.stack([y, y**2], axis=1)),
        HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5).fit(X, y),
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5).fit(X, y % 3 > 1),
        IsolationForest(3, random_state=0).fit(X),
        RandomForestRegressor(2, min_samples_leaf=99).fit(X, y),  # roots
    ):
        dense = of_all_features(model.shap_values, X, background)
        found = model.shap_values(X, background, sparse_output=True)
        matrices = found.values if dense.values.ndim == 3 else [found.values]
        kind = sparse.csr_array if layout in (np.asarray, sparse.coo_array) else layout
        for matrix, of_output in zip(matrices, dense.values.reshape(40, 50, -1).transpose(2, 0, 1), strict=True):
            assert type(matrix) is type(found.data) is kind
            np.testing.assert_array_equal(matrix.toarray(), of_output)
            assert matrix.nnz == np.count_nonzero(of_output) < 40 * 50
        np.testing.assert_array_equal(found, dense.values)
        np.testing.assert_array_equal(found.data.toarray(), dense.data)
        np.testing.assert_array_equal(found.base_values, dense.base_values)
        assert found.additivity_error < 1e-12 and repr(found).split(", add")[0] == repr(dense).split(", add")[0]
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again, found)


def test_sparse_values_of_several_outputs_of_classes_and_of_text():
    model, X = problem(RandomForestClassifier(3), 0, several=True)
    for own, other in zip(model.shap_values(X, sparse_output=True), model.shap_values(X), strict=True):
        np.testing.assert_array_equal(own, other)
        np.testing.assert_array_equal(own.data.toarray(), other.data)
    table = pd.DataFrame({"town": list("abca"), "x": [1.0, 0, 2, 0]})
    tree = DecisionTreeRegressor(categorical_features=["town"]).fit(table, [1, 2, 3, 5])
    found = tree.shap_values(table, sparse_output=True)
    np.testing.assert_array_equal(found, tree.shap_values(table))
    assert found.feature_names == ["town", "x"]
    with pytest.raises(ValueError, match="sparse_output='csr'; allowed are True and False"):
        tree.shap_values(table, sparse_output="csr")


def test_errors():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but RandomForestClassifier is expecting 4"):
        forest.shap_values(X[:, :3])
    with pytest.raises(ValueError, match=r"background=ndarray of the shape \(0, 4\).*one row or more"):
        forest.shap_values(X, X[:0])
    with pytest.raises(ValueError, match=r"background=ndarray of the shape \(150, 3\).*columns of the training data"):
        forest.shap_values(X, X[:, :3])
    framed = RandomForestClassifier(3).fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match=r"background=DataFrame.*feature names"):
        framed.shap_values(pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(X, columns=list("abce")))


class SumTest(PythonSplitter):
    """Tests of the sum of two features."""

    def find_split(self, node):
        score, threshold, _ = node.best_along(node.values(0) + node.values(1))
        return Test([threshold], feature=0, score=score) if score >= 0 else None

    def goes_left(self, payload, X):
        return X[:, 0].astype(float) + X[:, 1] <= payload[0]


def test_own_tests_are_refused():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(2, splitter=SumTest(), max_depth=2).fit(X, y)
    for method in (forest.shap_values, forest.shap_interaction_values):
        with pytest.raises(ValueError, match=r"splitter=SumTest\(\).*several features at a time.*allowed are"):
            method(X)


def test_an_interrupt_is_heard():
    """What Ctrl-C does ends the work, soon; an alarm stands for it, as SIGINT may be ignored where tests run."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 20))
    forest = RandomForestRegressor(20, n_jobs=2, random_state=0).fit(X, rng.normal(size=4000))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for method in (forest.shap_values, forest.shap_interaction_values):
            for background in (None, X[:500]):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                with pytest.raises(KeyboardInterrupt):
                    method(np.tile(X, (50, 1)), background)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_against_shap():
    shap = pytest.importorskip("shap")
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    for model, target in ((RandomForestClassifier(10, random_state=0), y), (RandomForestRegressor(10, random_state=0), X[:, 0])):
        model = model.fit(X.astype(np.float32), target)
        theirs = shap.TreeExplainer(model.to_sklearn())
        scale = np.abs(target).max()
        np.testing.assert_allclose(theirs.shap_values(X[:50]), model.shap_values(X[:50]).values, atol=1e-9 * scale)
        theirs = shap.TreeExplainer(model.to_sklearn(), X[50:90], feature_perturbation="interventional")
        found = theirs.shap_values(X[:20], check_additivity=False)
        np.testing.assert_allclose(found, model.shap_values(X[:20], X[50:90]).values, atol=1e-6 * scale)


def test_explanation():
    shap = pytest.importorskip("shap")
    pytest.importorskip("matplotlib").use("agg")
    X, y = load_iris(return_X_y=True, as_frame=True)
    explanation = RandomForestClassifier(5, random_state=0).fit(X, y).shap_values(X).explanation()
    one = explanation[:, :, 0]
    assert type(one) is shap.Explanation and one.feature_names == list(X.columns)
    shap.plots.beeswarm(one, show=False)
    shap.plots.waterfall(one[3], show=False)
    shap.plots.bar(one, show=False)


def test_shap_is_asked_for(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "shap", None)
    X, y = load_diabetes(return_X_y=True)
    result = RandomForestRegressor(2).fit(X, y).shap_values(X[:2])
    with pytest.raises(ImportError, match="explanation\\(\\) needs shap; install it with: pip install"):
        result.explanation()
