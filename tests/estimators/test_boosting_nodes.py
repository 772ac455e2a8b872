"""What boosted trees keep of their nodes: importances and leaves."""

import numpy as np
import pytest
from helpers.boosting import CLASSIFICATION, REGRESSION, problem
from sklearn.base import clone
from twins import boosting as twin
from twins.losses import BY_QUANTILE

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
        start=list(model.forest_.objective.baseline) if loss == "focal" else None,
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
