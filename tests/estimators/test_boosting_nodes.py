"""What boosted trees keep of their nodes: importances, leaves, and copies of models."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from helpers.boosting import CLASSIFICATION, REGRESSION, assert_equal_models, problem
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from twins import boosting as twin
from twins.losses import BY_QUANTILE

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor
from dforest.core.forest.arrays import Forest

ALL_LOSSES = pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)


def with_inner(forest, inner):
    """A forest with other numbers of inner nodes."""
    settings = {name: value for name, value in forest.__getstate__().items() if name != "arrays"}
    return Forest(forest.as_dict() | {"inner": inner}, **settings)


# Importances


@ALL_LOSSES
def test_importances_are_shares_of_the_twins_gains(loss):
    X, y, model = problem(loss, n=120)
    model.set_params(max_iter=3).fit(X, y)
    targets = y if loss in REGRESSION else np.searchsorted(model.classes_, y)
    grown = twin.grow_booster(
        X, targets, loss=loss, n_classes=3 if loss == "multinomial" else 2, max_iter=3, max_leaf_nodes=7, min_samples_leaf=3,
        max_bins=256, quantile=0.3 if loss == "quantile" else None,
    )  # fmt: skip
    gains = np.zeros(5)
    for trees in grown.rounds:
        for node in sum(map(twin.inner_nodes, trees), []):
            gains[node.feature] += node.gain
    importances = model.feature_importances_
    np.testing.assert_allclose(importances, gains / gains.sum(), rtol=1e-12)
    np.testing.assert_allclose(importances.sum(), 1.0)
    assert importances.argmax() == 0  # most of the signal


def test_gains_are_what_splits_save():
    """The loss is half the squared error, and falls by half the gains."""
    X, y, model = problem("squared_error", missing=False)
    model.set_params(max_iter=1, learning_rate=1.0).fit(X, y)
    saved = ((y - y.mean()) ** 2).sum() / 2 - ((y - model.predict(X)) ** 2).sum() / 2
    np.testing.assert_allclose(model.forest_.inner[:, 1].sum() / 2, saved, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_no_split_has_no_importance():
    X, y, model = problem("log_loss")
    model.set_params(min_samples_leaf=1000).fit(X, y)
    assert model.feature_importances_.tolist() == [0.0] * 5


def test_importances_of_huge_gains():
    X, y, model = problem("squared_error")
    expected = model.fit(X, y).feature_importances_
    np.testing.assert_array_equal(model.fit(X, y * 2.0**480).feature_importances_, expected)
    inner = model.forest_.inner.copy()
    inner[:, 1] = np.inf
    model.forest_ = forest = with_inner(model.forest_, inner)
    counts = np.bincount(forest.feature[forest.feature >= 0], minlength=5)
    np.testing.assert_allclose(model.feature_importances_, counts / counts.sum())


def test_permutation_importance():
    X, y, model = problem("log_loss")
    found = permutation_importance(model.fit(X, y), X, y, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 0 == model.feature_importances_.argmax()
    assert found.importances_mean[0] > 0.2


@pytest.mark.parametrize("attribute", ["feature_importances_", "apply", "predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize("kind", [HistGradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRanker])
def test_not_fitted(kind, attribute):
    if hasattr(kind, attribute):
        with pytest.raises(NotFittedError):
            getattr(kind(), attribute)([[0.0]])


# Nodes


@ALL_LOSSES
def test_node_tables(loss):
    X, y, model = problem(loss)
    forest = model.fit(X, y).forest_
    for t in range(forest.n_trees):
        tree, table = forest.tree(t), forest.node_table(t)
        inner = tree.feature >= 0
        assert table.draws[0] == table.weight[0, 0] == 300
        assert (table.decrease[inner] > 0).all() and not table.decrease[~inner].any() and not table.impurity.any()
        if loss in BY_QUANTILE:
            assert not table.value[inner].any()
        else:  # between those of the children
            value = table.value[:, 0]
            left, right = value[1:][inner[:-1]], value[tree.right_child[inner]]
            assert (np.minimum(left, right) <= value[inner]).all() and (value[inner] <= np.maximum(left, right)).all()
        assert (tree.node_table(0).value == table.value).all()
    total = forest.impurity_decrease().sum(axis=0)
    np.testing.assert_allclose(total / total.sum(), model.feature_importances_)


def test_trees_that_are_cut_back_predict_what_nodes_do():
    X, y, model = problem("log_loss")
    model.set_params(max_iter=1).fit(X, y)
    cut = model.forest_.depths() == 1
    small = model.forest_.cut_back(cut)
    shallow = clone(model).set_params(max_depth=1).fit(X, y).forest_
    assert small.packed().mean(X, 1).tobytes() == shallow.packed().mean(X, 1).tobytes()
    assert small.inner.tobytes() == shallow.inner.tobytes()


def test_gains_must_be_there():
    X, y, model = problem("squared_error")
    forest = model.fit(X, y).forest_
    n = len(forest.inner)
    with pytest.raises(ValueError, match=rf"inner has the shape \(0, 2\); that of this forest is \({n}, 2\)"):
        with_inner(forest, np.empty((0, 2)))
    with pytest.raises(ValueError, match="inner holds .*-1.0.*, which is not possible in a forest"):
        with_inner(forest, np.full((n, 2), -1.0))
    with pytest.raises(ValueError, match="inner holds .*nan.*, which is not possible in a forest"):
        with_inner(forest, np.full((n, 2), np.nan))


# Leaves


@ALL_LOSSES
def test_leaves_are_those_that_add_up(loss):
    X, y, model = problem(loss)
    leaves = model.fit(X, y).apply(X)
    assert leaves.dtype == np.int64
    assert leaves.shape == ((300, 8, 3) if loss == "multinomial" else (300, 8))
    forest, sums = model.forest_, np.zeros((300, model.n_trees_per_iteration_))
    for t, number in enumerate(leaves.reshape(300, -1).T):
        tree = forest.tree(t)
        assert (tree.feature[number] < 0).all()
        sums[:, t % sums.shape[1]] += tree.leaf_value[tree.leaf_row[number]]
    assert (sums + np.array(forest.objective.baseline)).tobytes() == model._raw(X).tobytes()
    for n_jobs in (2, 7):
        assert (model.set_params(n_jobs=n_jobs).apply(X) == leaves).all()


# Copies


def copies(model):
    """A model that has gone through everything that copies one."""
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    yield from (joblib.load(file), pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model))


@ALL_LOSSES
def test_copies_predict_the_same_bits(loss):
    X, y, model = problem(loss)
    model.set_params(early_stopping=True, max_iter=12).fit(X, y)
    methods = ["predict", "apply"] + ["predict_proba", "decision_function"] * (loss in CLASSIFICATION)
    for other in copies(model):
        assert_equal_models(model, other)
        assert other.feature_importances_.tobytes() == model.feature_importances_.tobytes()
        for method in methods:
            assert getattr(other, method)(X).tobytes() == getattr(model, method)(X).tobytes()
        assert [stage.tobytes() for stage in other.staged_predict(X)] == [stage.tobytes() for stage in model.staged_predict(X)]


def test_copies_of_the_unfitted():
    for other in copies(HistGradientBoostingClassifier(max_iter=7)):
        assert other.get_params() == HistGradientBoostingClassifier(max_iter=7).get_params()
