"""The trees of boosted models one by one: what they predict, and how they are drawn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import dforest
from dforest import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    export_graphviz,
    export_text,
    plot_tree,
)

X, Y = load_diabetes(return_X_y=True, as_frame=True)


def regressor(**parameters):
    return HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=5, random_state=0, **parameters)


def test_what_trees_add_is_what_the_model_predicts():
    model = regressor().fit(X, Y)
    (baseline,) = model.forest_.objective.baseline
    trees = model.estimators_
    assert trees.shape == (4, 1)
    np.testing.assert_allclose(baseline + sum(tree.predict(X) for tree in trees[:, 0]), model.predict(X), rtol=1e-14)
    np.testing.assert_array_equal(np.stack([tree.apply(X) for tree in trees[:, 0]], axis=1), model.apply(X))


def test_trees_of_classes():
    iris, y = load_iris(return_X_y=True, as_frame=True)
    model = HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(iris, y)
    sums = np.array(model.forest_.objective.baseline) + np.zeros((150, 3))
    for trees in model.estimators_:
        sums += np.stack([tree.predict(iris) for tree in trees], axis=1)
    np.testing.assert_allclose(sums, model.decision_function(iris), rtol=1e-14)


def test_categories_keep_their_labels():
    table = pd.DataFrame({"town": pd.Categorical(np.array(["Bern", "Oslo", "Rome"])[np.arange(300) % 3])})
    model = regressor().fit(table, np.arange(300) % 3 == 1)
    tree = model.estimators_[0, 0]
    assert "town in {Oslo}" in export_text(tree) or "town in {Bern, Rome}" in export_text(tree)
    np.testing.assert_array_equal(tree.predict(table[:3]), tree.predict(table[3:6]))


@pytest.mark.parametrize("draw", [export_text, export_graphviz, plot_tree])
def test_drawings(draw):
    tree, grown = regressor().fit(X, Y).estimators_[1, 0], RandomForestRegressor(1, max_depth=2).fit(X, Y).estimators_[0]
    found, plain = draw(tree), draw(grown)
    if draw is plot_tree:
        found, plain = ("\n".join(box.get_text() for box in boxes) for boxes in (found, plain))
    assert "bmi" in found
    assert "squared_error" not in found
    assert draw is export_text or "squared_error" in plain


def test_trees_go_where_other_trees_go(tmp_path):
    tree = regressor().fit(X, Y).estimators_[2, 0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).predict(X), tree.predict(X))
    tree.save(tmp_path / "tree.dforest")
    np.testing.assert_array_equal(dforest.load(tmp_path / "tree.dforest").predict(X), tree.predict(X))
    np.testing.assert_allclose(tree.to_sklearn().predict(X), tree.predict(X), rtol=1e-6)
    values = tree.shap_values(X[:5])
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, tree.predict(X[:5]), rtol=1e-9)
