"""Forests that are made of the trees of several estimators."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import dforest

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("family", [dforest.RandomForestClassifier, dforest.ExtraTreesRegressor])
def test_the_mean_of_all_trees(family, tmp_path):
    parts = [family(4 + i, random_state=i).fit(X[i::3], Y[i::3], sample_weight=np.arange(1.0, 51)) for i in range(3)]
    forest = dforest.combine(parts)
    assert type(forest) is family and forest.n_estimators == 15 and forest.forest_.n_trees == 15
    predict = "predict_proba" if family is dforest.RandomForestClassifier else "predict"
    trees = [getattr(tree, predict)(X) for part in parts for tree in part.estimators_]
    np.testing.assert_allclose(getattr(forest, predict)(X), np.mean(trees, axis=0), rtol=1e-13, atol=1e-15)
    for tree, expected in zip(forest.estimators_, trees, strict=True):
        np.testing.assert_array_equal(getattr(tree, predict)(X), expected)
    forest.save(tmp_path / "forest")
    for again in (pickle.loads(pickle.dumps(forest)), dforest.load(tmp_path / "forest")):
        np.testing.assert_array_equal(getattr(again, predict)(X), getattr(forest, predict)(X))
    importances = np.mean([tree.feature_importances_ for part in parts for tree in part.estimators_], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, importances / importances.sum(), rtol=1e-12)
    with pytest.raises(ValueError, match="leave out no rows, or it is not known which"):
        forest.oob_importance(X[:50], Y[:50])


def test_a_forest_and_itself_grown_on():
    """The first trees of a forest and the others, taken apart, make the same forest."""
    forest = dforest.RandomForestClassifier(5, random_state=3).fit(X, Y)
    halves = [dforest.combine(forest.estimators_[:2]), dforest.combine(forest.estimators_[2:])]
    assert all(type(half) is dforest.RandomForestClassifier for half in halves)
    np.testing.assert_array_equal(dforest.combine(halves).predict_proba(X), forest.predict_proba(X))


def test_each_tree_has_the_bag_that_it_is_given():
    X, y = load_diabetes(return_X_y=True)
    counts = np.random.default_rng(0).multinomial(len(y), np.full(len(y), 1 / len(y)), 5)
    trees = [dforest.DecisionTreeRegressor(random_state=t).fit(X, y, sample_weight=own) for t, own in enumerate(counts)]
    forest = dforest.combine(trees)
    assert isinstance(forest, dforest.RandomForestRegressor)
    for t, tree in enumerate(trees):
        np.testing.assert_array_equal(forest.estimators_[t].predict(X), tree.predict(X))


def test_labels_and_types_of_thresholds():
    frame = pd.DataFrame({"town": pd.Categorical(np.array(["Bern", "Cadiz", "Delft"])[Y]), "x": X[:, 0]})
    forests = [dforest.RandomForestClassifier(3, random_state=i).fit(frame, Y) for i in range(2)]
    assert dforest.combine(forests).predict(frame).tolist() == Y.tolist()
    both = [dforest.RandomForestClassifier(3, random_state=0).fit(X.astype(dtype), Y) for dtype in (np.float32, np.float64)]
    assert dforest.combine(both).forest_.threshold.dtype == np.float64


def test_isolation_forests(tmp_path):
    """Scores follow from the mean length of paths over all trees."""
    parts = [dforest.IsolationForest(4 + i, max_samples=40, random_state=i).fit(X[i::3]) for i in range(3)]
    forest = dforest.combine(parts)
    assert type(forest) is dforest.IsolationForest and forest.n_estimators == forest.forest_.n_trees == 15
    assert (forest.offset_, forest.max_samples_, forest.contamination) == (-0.5, 40, "auto")
    lengths = [np.log2(-part.score_samples(X)) for part in parts]
    np.testing.assert_allclose(np.log2(-forest.score_samples(X)), np.average(lengths, axis=0, weights=[4, 5, 6]), atol=1e-13)
    np.testing.assert_array_equal(forest.predict(X), np.where(forest.decision_function(X) < 0, -1, 1))
    forest.save(tmp_path / "forest")
    for again in (pickle.loads(pickle.dumps(forest)), dforest.load(tmp_path / "forest")):
        np.testing.assert_array_equal(again.decision_function(X), forest.decision_function(X))
    shares = [dforest.IsolationForest(3, contamination=0.1, random_state=i).fit(X) for i in range(2)]
    with pytest.raises(ValueError, match=r"estimators\[1\] has offset_ -0\.\d+, and estimators\[0\] has -0\.\d+"):
        dforest.combine(shares)
    with pytest.raises(ValueError, match=r"estimators\[1\] has max_samples_ 50, and estimators\[0\] has 40"):
        dforest.combine([parts[0], dforest.IsolationForest(3, random_state=1).fit(X[::3])])
    one = dforest.IsolationForest(3, contamination=0.1, random_state=0).fit(X)
    np.testing.assert_allclose(dforest.combine([one, one]).decision_function(X), one.decision_function(X), atol=1e-14)


def test_refused():
    forest = dforest.RandomForestClassifier(2, random_state=0)
    fitted = clone(forest).fit(X, Y)
    with pytest.raises(ValueError, match="estimators is empty"):
        dforest.combine([])
    with pytest.raises(NotFittedError):
        dforest.combine([fitted, forest])
    with pytest.raises(TypeError, match=r"estimators\[1\] is of the type ExtraTreesClassifier; allowed are forests or single"):
        dforest.combine([fitted, dforest.ExtraTreesClassifier(2).fit(X, Y)])
    with pytest.raises(TypeError, match=r"estimators\[0\] is of the type HistGradientBoostingRegressor"):
        dforest.combine([dforest.HistGradientBoostingRegressor(max_iter=2).fit(X, Y)])
    with pytest.raises(ValueError, match=r"estimators\[1\] has columns 3, and estimators\[0\] has 4"):
        dforest.combine([fitted, clone(forest).fit(X[:, :3], Y)])
    with pytest.raises(ValueError, match=r"estimators\[2\] has classes \[\[1, 2\]\], and estimators\[0\] has \[\[0, 1, 2\]\]"):
        dforest.combine([fitted, fitted, clone(forest).fit(X[Y > 0], Y[Y > 0])])
    with pytest.raises(ValueError, match=r"estimators\[1\] has the criterion 'entropy'"):
        dforest.combine([fitted, clone(forest).set_params(criterion="entropy").fit(X, Y)])
