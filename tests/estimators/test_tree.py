"""Single trees, and what trees and forests have in common: attributes, paths, numbers, pickles, refits."""

import copy
import pickle

import numpy as np
import pytest
from helpers.device_forests import same_forest
from helpers.walker import Walker
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.exceptions import NotFittedError

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

TREES = [DecisionTreeClassifier, DecisionTreeRegressor]
FORESTS = [RandomForestClassifier, RandomForestRegressor]
CLASSIFIERS = [DecisionTreeClassifier, RandomForestClassifier]
ALL = TREES + FORESTS
KINDS = pytest.mark.parametrize("kind", ALL)
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])


def make(kind, **parameters):
    if kind in FORESTS:
        parameters = {"n_estimators": 5, **parameters}
    return kind(random_state=0, **parameters)


def on_all_rows(kind, **parameters):
    """An estimator whose trees see every row and every feature."""
    if kind in FORESTS:
        parameters = {"n_estimators": 3, "bootstrap": False, "max_features": None, **parameters}
    return kind(random_state=0, **parameters)


def data_of(kind):
    return load_wine(return_X_y=True) if kind in CLASSIFIERS else load_diabetes(return_X_y=True)


# Attributes and predictions


LABELS = [
    ["b", "c", "a"],
    ["zebra", "a", "ant"],
    [-1, -7, 3],
    [0.0, -1.0, 2.0],
    [True, False, True],
    np.array([10, 20, 30], np.uint8),
    np.array(["x", "yy", "zzz"], object),
]


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_of_any_type(kind, labels):
    X, codes = load_iris(return_X_y=True)
    y = np.asarray(labels)[codes]
    model = make(kind).fit(X, y.tolist() if y.dtype.kind in "Ub" else y)
    assert model.classes_.tolist() == sorted(set(y.tolist()))
    assert model.classes_.dtype == y.dtype
    assert model.n_classes_ == len(model.classes_)
    predicted = model.predict(X)
    assert predicted.dtype == y.dtype
    assert (predicted == y).mean() == model.score(X, y) > 0.95
    proba = model.predict_proba(X)
    assert proba.shape == (150, model.n_classes_)
    np.testing.assert_array_equal(predicted, model.classes_[proba.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(proba))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_equal_probabilities_give_the_lower_class(kind):
    model = on_all_rows(kind).fit([[0]] * 4, ["b", "a", "b", "a"])
    assert model.predict_proba([[0]]).tolist() == [[0.5, 0.5]]
    assert model.predict([[0]]).tolist() == ["a"]


# Numbers


@KINDS
@METHODS
def test_numbers_that_float32_would_merge(kind, method):
    X = np.array([[1.0], [1.0 + 1e-12], [1.0 + 2e-12]])
    assert len(np.unique(X.astype(np.float32))) == 1
    model = on_all_rows(kind, method=method).fit(X, [1, 2, 3])
    assert model.forest_.threshold.dtype == np.float64
    np.testing.assert_array_equal(model.predict(X), [1, 2, 3])


@KINDS
@METHODS
def test_a_float32_forest_decides_in_float32(kind, method):
    X, y = data_of(kind)
    X = X.astype(np.float32)
    model = make(kind, method=method).fit(X, y)
    assert model.forest_.threshold.dtype == np.float32
    np.testing.assert_array_equal(model.apply(X), model.apply(X.astype(np.float64)))
    np.testing.assert_array_equal(model.predict(X), model.predict(X.astype(np.float64)))
    arrays = model.forest_.as_dict()
    split = np.flatnonzero(arrays["feature"] >= 0)[0]
    threshold = np.float64(arrays["threshold"][split])
    probe = np.zeros((2, X.shape[1]))
    probe[:, arrays["feature"][split]] = threshold, np.nextafter(threshold, np.inf)
    below, above = (Walker(model.forest_).path(0, x) for x in probe.tolist())
    assert below[:2] == [0, 1] and above[1] == arrays["link"][split]
    assert model.apply(probe).reshape(2, -1)[:, 0].tolist() == [below[-1], above[-1]]


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@KINDS
@METHODS
@pytest.mark.parametrize("dtype", [*INTEGERS, bool, np.float16, ">i4"], ids=str)
def test_other_numbers_are_taken_as_float64(kind, method, dtype):
    random = np.random.RandomState(0)
    X = random.randint(0, 2 if dtype is bool else 100, size=(80, 3)).astype(dtype)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        X[0], X[1] = max(info.min, -(2**53)), min(info.max, 2**53)
    y = random.randint(3, size=80)
    model, plain = (make(kind, method=method).fit(x, y) for x in (X, X.astype(np.float64)))
    assert same_forest(model, plain)
    assert model.forest_.threshold.dtype == np.float64
    np.testing.assert_array_equal(model.apply(X), plain.apply(X.astype(np.float64)))


# Copies


# Failed refits


@KINDS
@pytest.mark.parametrize("fitted", [False, True])
def test_a_failed_fit_leaves_the_model_as_it_was(kind, fitted):
    X, y = data_of(kind)
    model = make(kind)
    if fitted:
        model.fit(X, y)
        expected, arrays = model.predict(X), copy.deepcopy(model.forest_.as_dict())
    text = X.astype(object)
    text[3, 2] = "text"
    failures = [
        lambda: model.fit(X[:, :2], np.where(y > 1, np.nan, 1.0)),
        lambda: model.fit(X[:, :2], y, -np.ones(len(y))),
        lambda: model.fit(X[:, :2], y, np.zeros(len(y))),
        lambda: model.fit(X[:, :2], y[:-1]),
        lambda: model.fit(text, y),
        lambda: model.fit(X[:0], y[:0]),
        lambda: model.set_params(max_depth=0).fit(X[:, :2], y),
    ]
    for fail in failures:
        before = dict(vars(model))
        with pytest.raises(ValueError):
            fail()
        model.set_params(max_features=before["max_features"], max_depth=before["max_depth"])
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())
        assert hasattr(model, "n_features_in_") == hasattr(model, "forest_") == fitted
        if fitted:
            np.testing.assert_array_equal(model.predict(X), expected)
            assert all(np.array_equal(model.forest_.as_dict()[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("kind", TREES)
@METHODS
def test_depth_and_leaves(kind, method):
    X, y = data_of(kind)
    for max_depth in (1, 4, None):
        tree = kind(max_depth=max_depth, method=method, random_state=0).fit(X, y)
        passed = tree.decision_path(X).sum(axis=1)
        assert tree.get_depth() == passed.max() - 1
        assert tree.get_n_leaves() == len(np.unique(tree.apply(X)))
    root = kind().fit(X, np.zeros(len(X)))
    assert (root.get_depth(), root.get_n_leaves()) == (0, 1)


@pytest.mark.parametrize("kind", FORESTS)
def test_a_forest_is_a_sequence_of_trees(kind):
    X, y = data_of(kind)
    model = make(kind).fit(X, y)
    assert len(model) == 5
    assert list(model) == model.estimators_ and model[1] is model.estimators_[1]
    for drawn, tree in zip(model.estimators_samples_, model, strict=True):
        assert len(drawn) == len(X)
        counts = np.bincount(drawn, minlength=len(X))
        leaves = tree.apply(X)
        f = tree.forest_
        for leaf in np.unique(leaves):
            assert counts[leaves == leaf].sum() == f.leaf_draws[f.leaf_row[leaf]]
    assert [s.tolist() for s in make(kind, bootstrap=False).fit(X, y).estimators_samples_] == [list(range(len(X)))] * 5
    assert "_trees" not in pickle.loads(pickle.dumps(model)).__dict__
    before = model.estimators_
    assert model.fit(X, y).estimators_ is not before


# Extremely randomised trees, and what callers of scikit-learn's trees pass


@pytest.mark.parametrize(
    ("tree", "forest"), [(ExtraTreeClassifier, ExtraTreesClassifier), (ExtraTreeRegressor, ExtraTreesRegressor)]
)
def test_an_extra_tree_is_one_of_its_forest(tree, forest):
    X, y = load_iris(return_X_y=True)
    many = forest(1, random_state=0, method="dense").fit(X, y)
    one = tree(random_state=int(many.forest_.seeds[0]), method="dense").fit(X, y)
    assert same_forest(one, many)
    assert type(many.estimators_[0]) is type(many.estimator) is type(many.estimator_) is tree
    assert one.splitter == "random" and one.max_features == forest().max_features
    assert one.method == "dense"


def test_estimator_is_an_unfitted_tree_with_the_forest_s_parameters():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=2, criterion="entropy", max_bins=16)
    assert type(forest.estimator) is DecisionTreeClassifier
    with pytest.raises(NotFittedError):
        forest.estimator_  # noqa: B018
    assert forest.fit(X, y).estimator_.get_params()["max_depth"] == 2
    assert (forest.estimator.criterion, forest.estimator.max_bins) == ("entropy", 16)
    with pytest.raises(NotFittedError):
        forest.estimator_.predict(X)
    assert "estimator" not in forest.get_params()


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor])
def test_check_input_is_taken_and_x_is_checked(kind):
    X, y = load_iris(return_X_y=True)
    tree, plain = kind(random_state=0).fit(X, y, check_input=False), kind(random_state=0).fit(X, y)
    assert same_forest(tree, plain)
    for method in ("predict", "apply", "decision_path", "predict_proba"):
        if hasattr(tree, method):
            found, expected = getattr(tree, method)(X, check_input=False), getattr(plain, method)(X)
            assert (found != expected).sum() == 0
            with pytest.raises(ValueError, match="X has 3 features"):
                getattr(tree, method)(X[:, :3], check_input=False)
            assert "check_input : bool" in getattr(kind, method).__doc__
    with pytest.raises(ValueError, match="2D array"):
        tree.fit(X[0], y, check_input=False)
