"""The template grows the same forests as dforest's own splitter, to the bit."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from template import TemplateSplitter

from dforest import DecisionTreeClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.testing import check_splitter


def assert_equal_forests(a, b):
    a, b = a.forest_.as_dict(), b.forest_.as_dict()
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes(), name


def hard_rows(task):
    """Rows with missing values, infinities, categories, a constant column and weights."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((700, 6)), 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[rng.random(700) < 0.02, 1] = np.inf
    X[:, 2] = rng.integers(0, 9, 700)
    X[:, 3] = 1.0
    y = np.nan_to_num(X[:, 0]) + (X[:, 2] % 3 == 0) + rng.random(700)
    weight = rng.integers(1, 5, 700)
    return X, (y > 0.7) if task == "classification" else y, weight


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits, load_diabetes])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_bins": 9, "min_samples_leaf": 4},
        {"max_bins": 1000, "max_features": 1.0},
        {"max_leaf_nodes": 20},
        {"bootstrap": False, "max_depth": 3},
        {"min_impurity_decrease": 0.001, "n_jobs": 2},
    ],
)
def test_the_forest_is_that_of_the_built_in_splitter(load, parameters):
    X, y = load(return_X_y=True)
    kind = RandomForestRegressor if load is load_diabetes else RandomForestClassifier
    forests = [kind(7, random_state=0, splitter=splitter, **parameters).fit(X, y) for splitter in ("best", TemplateSplitter)]
    assert_equal_forests(*forests)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize("split", ["subset", "one_hot"])
def test_also_of_rows_of_every_sort(kind, split):
    X, y, weight = hard_rows("classification" if kind is RandomForestClassifier else "regression")
    parameters = {"categorical_features": [2], "categorical_split": split, "random_state": 1, "min_weight_fraction_leaf": 0.01}
    forests = [kind(7, splitter=splitter, **parameters).fit(X, y, weight) for splitter in ("best", TemplateSplitter())]
    assert_equal_forests(*forests)
    monotonic = [
        kind(7, splitter=splitter, random_state=1, monotonic_cst=[1, 0, -1, 0, 0, 0]).fit(X, y)
        for splitter in ("best", TemplateSplitter())
    ]
    assert_equal_forests(*monotonic)


def test_other_estimators_take_it_and_pickles_keep_it():
    X, y = load_diabetes(return_X_y=True)
    forest = ExtraTreesRegressor(5, splitter=TemplateSplitter(), method="hist", random_state=0).fit(X, y)
    assert_equal_forests(forest, pickle.loads(pickle.dumps(forest)))
    assert_equal_forests(forest, ExtraTreesRegressor(5, splitter="best", method="hist", random_state=0).fit(X, y))


def test_it_is_for_bins():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="method='hist'"):
        DecisionTreeClassifier(splitter=TemplateSplitter(), method="dense").fit(X, y)


def test_it_keeps_the_contract():
    check_splitter(TemplateSplitter)
