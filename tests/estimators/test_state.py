"""Attributes of fitted estimators that contradict each other are refused, and those of a fit never are."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import dforest
from dforest.estimators.data.features import Features

X, Y = load_iris(return_X_y=True)
KINDS = [
    *(f"{name}{task}" for name in ("RandomForest", "ExtraTrees", "HistGradientBoosting") for task in ("Classifier", "Regressor")),
    *(f"{name}{task}" for name in ("DecisionTree", "ExtraTree") for task in ("Classifier", "Regressor")),
    "IsolationForest",
    "RandomTreesEmbedding",
]


def fitted(kind, rows=X, y=Y):
    model = getattr(dforest, kind)(random_state=0)
    return model.set_params(**{name: 4 for name in ("n_estimators", "max_iter") if name in model.get_params()}).fit(rows, y)


def set_again(model, **changes):
    """What a pickle of the model gives if it has some other attributes."""
    state = {**model.__getstate__(), **changes}
    type(model).__new__(type(model)).__setstate__(state)


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_fit(kind):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = pd.Categorical(frame["b"].round())
    frame["c"] = pd.Categorical(frame["c"].round().astype(str), ordered=True)
    for rows in (X, frame):
        model = fitted(kind, rows)
        for again in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
            name = "transform" if hasattr(model, "transform") else "predict"
            found, expected = (getattr(one, name)(rows) for one in (again, model))
            assert np.array_equal(found.toarray(), expected.toarray()) if name == "transform" else np.array_equal(found, expected)
    unfitted = pickle.loads(pickle.dumps(getattr(dforest, kind)()))
    assert not hasattr(unfitted, "forest_")


@pytest.mark.parametrize("kind", KINDS)
def test_other_columns(kind):
    model, other = fitted(kind), fitted(kind, X[:, :3])
    with pytest.raises(ValueError, match=r"n_features_in_: 3; for this forest it must be 4"):
        set_again(model, n_features_in_=3)
    with pytest.raises(ValueError, match="columns in _features: 3; for this forest it must be 4"):
        set_again(model, _features=other._features)
    with pytest.raises(ValueError, match="n_features_in_: 4; for this forest it must be 3"):
        set_again(model, forest_=other.forest_)
    with pytest.raises(ValueError, match="feature_names_in_: 2;"):
        set_again(model, feature_names_in_=np.array(["a", "b"], object))
    categorical = fitted(kind, pd.DataFrame(X).astype({0: "category"}))
    with pytest.raises(ValueError, match=r"categories in _features: \[35, 0, 0, 0\]; for this forest it must be \[0, 0, 0, 0\]"):
        set_again(model, _features=categorical._features)
    for name in ("forest_", "_features"):
        with pytest.raises(TypeError, match=f"{name} is of the type list"):
            set_again(model, **{name: []})
    with pytest.raises(TypeError, match="_features is of the type NoneType"):
        set_again(model, _features=None)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "Classifier" in kind])
def test_other_classes(kind):
    model = fitted(kind)
    for classes in (np.arange(2), np.arange(4)):
        with pytest.raises(ValueError, match=f"the number of classes_: {len(classes)}; for this forest it must be 3"):
            set_again(model, classes_=classes)
    for classes in (None, [0, 1, 2], np.zeros((3, 3))):
        with pytest.raises(TypeError, match="classes_ is"):
            set_again(model, classes_=classes)
    with pytest.raises(ValueError, match="n_classes_: 7"):
        set_again(model, n_classes_=7)
    two = fitted(kind, X[:100], Y[:100])
    pickle.loads(pickle.dumps(two))
    with pytest.raises(ValueError):
        set_again(model, forest_=two.forest_)


@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
@pytest.mark.parametrize("name", ["DecisionTree", "HistGradientBoosting", "RandomForest"])
def test_a_forest_for_another_task(name, task):
    other = {"Classifier": "Regressor", "Regressor": "Classifier"}[task]
    with pytest.raises(ValueError, match="is a classifier|n_trees_per_iteration_|_batches|the number of raw predictions"):
        set_again(fitted(name + task), forest_=fitted(name + other).forest_)


def test_other_trees():
    model = fitted("RandomForestRegressor")
    with pytest.raises(ValueError, match="trees in _batches: 4; for this forest it must be 1"):
        set_again(model, forest_=model.forest_.tree(0))


KIND, LABELS = np.array([0, 1, 2], np.uint8), [None, np.array(["a"]), np.array(["b", "c"])]
BAD_FEATURES = {
    "a dict": None,
    "must be a dict": {"kinds": KIND},
    "kinds of features": {"kinds": KIND + 1, "categories": LABELS, "names": None},
    "kinds of features are ": {"kinds": KIND.tolist(), "categories": LABELS, "names": None},
    "categories of 3 features": {"kinds": KIND, "categories": LABELS[:2], "names": None},
    "names of 3 features": {"kinds": KIND, "categories": LABELS, "names": ["x"]},
    "of a continuous feature": {"kinds": KIND, "categories": [LABELS[1], *LABELS[1:]], "names": None},
    "of a categorical feature can't be None": {"kinds": KIND, "categories": [*LABELS[:2], None], "names": None},
    "arrays of one axis": {"kinds": KIND, "categories": [None, np.zeros((1, 2)), LABELS[2]], "names": None},
}


@pytest.mark.parametrize("message", BAD_FEATURES)
def test_features(message):
    with pytest.raises(ValueError, match=message):
        Features.__new__(Features).__setstate__(BAD_FEATURES[message])


@pytest.mark.parametrize("kind", KINDS)
def test_parts_that_are_something_else(kind):
    """Whatever an attribute is that a fit sets: it is refused as such, or does not count."""
    model = fitted(kind)
    if "keep_training_data" in model.get_params():
        model = model.set_params(keep_training_data=True, bootstrap=True).fit(X, Y)
    settings = model.forest_.__getstate__()
    for value in (None, 0, -1, 2**70, 0.5, "x", b"x", [], [0], (1, 2), {}, {"a": 1}, np.zeros(3), np.zeros((2, 2)), object()):
        for name in model.__getstate__().keys() - model.get_params().keys():
            try:
                set_again(model, **{name: value})
            except (ValueError, TypeError):
                continue
        for name in settings:
            with pytest.raises((ValueError, TypeError)):
                type(model.forest_).__new__(type(model.forest_)).__setstate__(settings | {name: value})
                raise ValueError  # where the value is what there was
        with pytest.raises((ValueError, TypeError)):
            type(model).__new__(type(model)).__setstate__([value])
