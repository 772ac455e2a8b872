"""Gains that are multiplied by a factor where no split above uses a feature."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    corrected_importance,
)
from dforest.splitter import HistSplitter, PythonSplitter

rng = np.random.default_rng(0)
N = 400
X = np.c_[rng.standard_normal((N, 4)), rng.integers(0, 9, (N, 2))]
Y = (X[:, 0] + X[:, 1] + (X[:, 4] % 2) + 0.5 * rng.standard_normal(N) > 0.5).astype(int)


def test_a_tree_keeps_to_its_first_feature_while_that_has_any_gain():
    x = np.c_[np.arange(64.0), rng.standard_normal((64, 3))]
    tree = DecisionTreeRegressor(regularization_factor={1: 1e-300, 2: 1e-300, 3: 1e-300}, random_state=0).fit(x, x[:, 0] ** 2)
    assert set(tree.forest_.feature) == {-1, 0}
    free = DecisionTreeRegressor(regularization_factor=[1e-300, 1, 1, 1], max_depth=1, random_state=0).fit(x, x[:, 0] ** 2)
    assert free.forest_.feature[0] != 0


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_one_factor_changes_nothing_at_the_root(splitter, assert_equal):
    """Whatever order features are tried in: the categories of the best one are kept while others are tried."""
    x = np.random.default_rng(1).integers(0, 7, (100, 5))
    y = np.isin(x[:, 0], [1, 4]) + 0.5 * np.isin(x[:, 3], [0, 4, 5])
    parameters = {"splitter": splitter, "max_depth": 1, "max_features": None, "categorical_features": [0, 1, 2, 3, 4]}
    forests = [RandomForestRegressor(20, regularization_factor=f, random_state=0, **parameters).fit(x, y) for f in (1, 0.5)]
    assert_equal(*forests)


def test_the_product_is_what_min_impurity_decrease_and_the_order_of_splits_go_by():
    y = X[:, 0] > 0
    gain = 0.5 * 1.0 - (0.5 - 2 * y.mean() * (1 - y.mean()))  # of the root, whose sides are pure
    for factor in (0.9, 0.5):
        for limit, depth in ((gain * factor * 0.999, 1), (gain * factor * 1.001, 0)):
            tree = DecisionTreeClassifier(regularization_factor=factor, min_impurity_decrease=limit, method="dense").fit(X, y)
            assert tree.get_depth() == depth
    assert DecisionTreeClassifier(regularization_factor=0.5, method="dense").fit(X, y).feature_importances_[0] == 1.0


def test_ways_to_give_factors(assert_equal):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    given = ([0.5, 1, 0.25, 1, 1, 1], {"a": 0.5, "c": 0.25}, {0: 0.5, 2: 0.25})
    first, *others = (RandomForestClassifier(3, regularization_factor=f, random_state=0).fit(frame, Y) for f in given)
    for other in others:
        assert_equal(first, other)
    none, ones = (RandomForestClassifier(3, regularization_factor=f, random_state=0).fit(X, Y) for f in (1, np.ones(6)))
    assert_equal(none, ones)
    assert_equal(none, RandomForestClassifier(3, regularization_use_depth=True, random_state=0).fit(X, Y))


@pytest.mark.parametrize("extreme", ["share everything", "some buckets", "few buckets", "one bucket", "count by bitmaps always"])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("method", ["dense", "hist"])
def test_the_forest_is_one(method, criterion, extreme, assert_equal, tuning):
    """On any number of threads, and by any way to search, which for "dense" may be by buckets."""
    kind = RandomForestRegressor if criterion == "squared_error" else RandomForestClassifier
    parameters = {
        "regularization_factor": [0.9, 0.6, 1, 0.8, 0.7, 0.9], "categorical_features": [4], "max_features": 3,
        "method": method, "criterion": criterion, "random_state": 0,
    }  # fmt: skip
    first = kind(4, n_jobs=1, **parameters).fit(X, Y)
    with tuning(extreme):
        assert_equal(first, kind(4, n_jobs=1, **parameters).fit(X, Y))
        assert_equal(first, kind(4, n_jobs=4, **parameters).fit(X, Y))


@pytest.mark.parametrize("n_features", [40, 5000])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_sparse_X(kind, n_features, assert_equal):
    dense = np.where(rng.random((200, n_features)) < 0.05, rng.standard_normal((200, n_features)), 0.0)
    parameters = {"regularization_factor": 0.5, "random_state": 0, "method": "hist"}
    model = kind(3, **parameters).fit(dense, Y[:200])
    assert_equal(model, kind(3, **parameters).fit(csr_matrix(dense), Y[:200]))


def test_several_outputs_of_one_column():
    y = X[:, 0] + X[:, 1]
    forests = [RandomForestRegressor(3, regularization_factor=0.5, random_state=0).fit(X, t) for t in (y, np.c_[y, y])]
    assert forests[0].forest_.feature.tolist() == forests[1].forest_.feature.tolist()


def test_corrected_importances_take_factors():
    for factors in (0.5, {0: 0.5}, np.full(6, 0.5)):
        forest = RandomForestClassifier(20, regularization_factor=factors, random_state=0)
        assert corrected_importance(forest, X, Y, random_state=0).argmax() in (0, 1)


class Middle(PythonSplitter):
    def best_cut(self, node, feature):
        return None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization_factor": [0.5, 0.5]}, "regularization_factor is an array of shape .2,.; allowed are one number for"),
        ({"regularization_factor": [1, 1, 1, 0, 1, 1]}, "regularization_factor holds 0 for feature 3; allowed are numbers"),
        ({"regularization_factor": {2: 1.5}}, "regularization_factor holds 1.5 for feature 2; allowed are numbers above 0"),
        ({"regularization_factor": {2: np.nan}}, "regularization_factor holds nan for feature 2"),
        ({"regularization_factor": ["much"] * 6}, "regularization_factor=.*holds what is no number: .*; allowed are numbers"),
        ({"regularization_factor": {"a": 0.5}}, "regularization_factor names 'a', but X has no column names"),
        ({"regularization_factor": 0.5, "splitter": Middle()}, "regularization_factor=0.5 needs a built-in splitter"),
    ],
)
def test_what_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(2, **parameters).fit(X, Y)


def test_instances_of_built_in_splitters(assert_equal):
    parameters = {"regularization_factor": 0.5, "random_state": 0}
    first = RandomForestClassifier(2, **parameters).fit(X, Y)
    assert_equal(first, RandomForestClassifier(2, splitter=HistSplitter(), **parameters).fit(X, Y))
