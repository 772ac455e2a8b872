"""Forests and trees as scikit-learn's: the same bits, and clear errors where that can't be."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from helpers.conversion import labelled, labelled_models
from helpers.rings import examples
from helpers.sklearn_models import KINDS, assert_same_bits, data_of, is_single_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.inspection import partial_dependence

import dforest
from dforest import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.errors import ConversionError
from dforest.interchange.conversion import sklearn as conversion


def model_of(kind, **parameters):
    if not is_single_tree(kind):
        parameters = {"n_estimators": 12, **parameters}
    return getattr(dforest, kind)(random_state=0, **parameters)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("several", [False, True])
def test_predictions_have_the_same_bits(kind, dtype, several):
    X, y = data_of(kind, dtype=dtype, several=several)
    given = model_of(kind).fit(X, y)
    model = given.to_sklearn()
    module = sklearn.tree if is_single_tree(kind) else sklearn.ensemble
    assert type(model) is getattr(module, kind)
    rows = np.random.default_rng(1).normal(3, 3, (500, 4)).astype(np.float32)
    assert_same_bits(model, given, rows)
    assert_same_bits(pickle.loads(pickle.dumps(model)), given, X.astype(np.float32))
    assert np.array_equal(model.apply(rows), given.apply(rows))
    assert model.get_params()["random_state"] == 0
    clone(model).fit(np.nan_to_num(X), y)  # it is one that can be fitted, too


@settings(max_examples=examples(25), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    dtype=st.sampled_from([np.float32, np.float64]),
    method=st.sampled_from(["hist", "dense"]),
    max_leaf_nodes=st.sampled_from([None, 2, 9]),
    weighted=st.booleans(),
    several=st.booleans(),
    scale=st.sampled_from([1e-38, 1.0, 1e30]),
)
def test_whatever_was_grown(seed, kind, dtype, method, max_leaf_nodes, weighted, several, scale):
    X, y = data_of(kind, 60, seed, dtype, several)
    X *= dtype(scale)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)) if weighted else None
    given = model_of(kind, method=method, max_leaf_nodes=max_leaf_nodes).fit(X, y, weight)
    assert_same_bits(given.to_sklearn(), given, X.astype(np.float32))


def test_votes_pruning_and_names():
    X, y = data_of("Classifier")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    given = RandomForestClassifier(30, voting="hard", ccp_alpha=0.01, n_jobs=2, random_state=0).fit(frame, y)
    model = given.to_sklearn()
    assert_same_bits(model.set_params(n_jobs=1), given, frame)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.get_params()["ccp_alpha"] == 0.01
    assert model.n_estimators == len(model.estimators_) == 30


def test_a_tree_that_is_a_leaf():
    X = np.zeros((5, 2), np.float32)
    for kind in ("DecisionTreeRegressor", "RandomForestRegressor"):
        given = model_of(kind).fit(X, np.arange(5.0))
        assert_same_bits(given.to_sklearn(), given, X)


def test_for_tools_that_want_scikit_learns():
    X, y = data_of("Regressor")
    given = RandomForestRegressor(20, random_state=0).fit(np.nan_to_num(X), y)
    model = given.to_sklearn()
    grid = {"grid_resolution": 5, "kind": "average"}
    slow = partial_dependence(given, np.nan_to_num(X), [0], method="brute", **grid).average
    fast = partial_dependence(model, np.nan_to_num(X), [0], method="recursion", **grid).average
    assert fast.shape == slow.shape
    assert np.corrcoef(fast.ravel(), slow.ravel())[0, 1] > 0.99  # the one weighs branches by training rows
    assert model.feature_importances_ == pytest.approx(given.feature_importances_, abs=1e-6)


def test_parameters_that_scikit_learn_does_not_allow_stay_at_its_defaults():
    X, y = data_of("Classifier")
    model = RandomForestClassifier(5, criterion="hellinger", max_features=3, random_state=0).fit(X, y > "few").to_sklearn()
    assert model.criterion == "gini"
    assert model.max_features == 3


def test_nothing_is_shared_and_nothing_changes():
    X, y = data_of("Classifier")
    given = RandomForestClassifier(5, class_weight={"few": 1, "many": 1, "more": 2}, random_state=0).fit(X, y)
    before = pickle.dumps(given)
    model = given.to_sklearn()
    model.classes_[:] = "changed"
    model.class_weight["few"] = 7
    model.estimators_[0].tree_.value[:] = 0.0
    assert pickle.dumps(given) == before


@pytest.mark.parametrize("seed", [0, 1])
def test_categories(seed):
    for name, estimator, frame in labelled_models(seed):
        if not hasattr(estimator, "to_sklearn"):
            continue
        model = estimator.to_sklearn()
        assert_same_bits(model, estimator, frame)
        importances = estimator.feature_importances_
        assert model.feature_importances_ == pytest.approx(importances, rel=1e-9, abs=1e-9), name
        for tree in (one.tree_ for one in getattr(model, "estimators_", [model])):
            inner, draws, weight = tree.children_left >= 0, tree.n_node_samples, tree.weighted_n_node_samples
            children = tree.children_left[inner], tree.children_right[inner]
            assert np.array_equal(draws[inner], draws[children[0]] + draws[children[1]]), name
            assert weight[inner] == pytest.approx(weight[children[0]] + weight[children[1]], rel=1e-12), name
            assert (weight > 0).all(), name
            assert tree.compute_node_depths().max() == tree.max_depth + 1, name


def test_a_chain():
    """Categories 20 and 40 of four, and missing values, go to one side; levels 3, 1 of 3, 1, 2, 4 to one side."""
    X = pd.DataFrame({"category": pd.Categorical([10.0, 20.0, 30.0, 40.0, np.nan] * 4)})
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0] * 4)
    given = DecisionTreeRegressor(max_depth=1).fit(X, y)
    tree = given.to_sklearn().tree_
    inner = tree.children_left >= 0
    assert tree.threshold[inner].tolist() == [15.0, 25.0, 35.0]
    assert tree.missing_go_to_left[inner].tolist() == [0, 1, 0]
    assert tree.predict(np.array([[10], [20], [30], [40], [np.nan]], np.float32)).ravel().tolist() == [0, 1, 0, 1, 1]
    assert sorted(tree.n_node_samples[~inner].tolist()) == [0, 0, 8, 12]
    X = pd.DataFrame({"level": pd.Categorical([3, 1, 2, 4] * 4, categories=[3, 1, 2, 4], ordered=True)})
    tree = DecisionTreeRegressor(max_depth=1).fit(X, np.array([0.0, 0.0, 1.0, 1.0] * 4)).to_sklearn().tree_
    assert tree.threshold[tree.children_left >= 0].tolist() == [1.5, 2.5, 3.5]


def test_a_converted_model_of_categories_does_not_come_back():
    X, z, _ = labelled(0)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, z).to_sklearn()
    with pytest.raises(ValueError, match="leaves whose n_node_samples are 0.*which the method save writes"):
        dforest.from_sklearn(model)


def damage_threshold(nodes, values, last):
    nodes["threshold"][last] = np.nextafter(np.float32(nodes["threshold"][last]), np.float32(-np.inf))


def damage_feature(nodes, values, last):
    nodes["feature"][last] = (nodes["feature"][last] + 1) % 4


def damage_missing(nodes, values, last):
    """Of the root: a missing value may be unable to reach other nodes."""
    nodes["missing_go_to_left"][0] ^= 1


def damage_value(nodes, values, last):
    values[last + 1] = np.nextafter(values[last + 1], np.inf)


@pytest.mark.parametrize("damage", [damage_threshold, damage_feature, damage_missing, damage_value])
def test_one_wrong_number_is_found(damage, monkeypatch):
    """In the last inner node of a tree and its left child, which is a leaf; of thresholds and values, the last bit."""
    X, y = data_of("Regressor")
    given = model_of("DecisionTreeRegressor", method="dense").fit(X, y)
    right = conversion._give_tree

    def wrong(model, *others):
        right(model, *others)
        state = model.tree_.__getstate__()
        nodes, values = state["nodes"].copy(), state["values"].copy()
        damage(nodes, values, np.flatnonzero(nodes["left_child"] >= 0)[-1])
        model.tree_.__setstate__({**state, "nodes": nodes, "values": values})

    monkeypatch.setattr(conversion, "_give_tree", wrong)
    with pytest.raises(ConversionError, match=r"of scikit-learn and .* differently for \d+ of \d+ rows .* first of these, \["):
        given.to_sklearn()
    given.to_sklearn(verify=False)


def test_what_scikit_learns_trees_cannot_have():
    X, y = data_of("Classifier")
    frame = pd.DataFrame({"number": X[:, 0], "colour": pd.Categorical(np.where(X[:, 1] > 2, "red", "blue"))})
    text = "column 'colour' holds the label 'blue', and scikit-learn's trees only compare numbers.*OrdinalEncoder"
    with pytest.raises(ValueError, match=text):
        DecisionTreeClassifier().fit(frame, y).to_sklearn()
    frame["colour"] = pd.Categorical(frame["colour"], ordered=True)
    with pytest.raises(ValueError, match=text):
        RandomForestClassifier(5).fit(frame, y).to_sklearn()
    frame["colour"] = pd.Categorical(np.where(X[:, 1] > 2, 2**24, 2**24 + 1))
    with pytest.raises(ValueError, match="two that are equal, as numbers of float32, to which scikit-learn rounds X"):
        RandomForestClassifier(5).fit(frame, y).to_sklearn()
    for other in (dforest.RandomSurvivalForest, dforest.HistGradientBoostingRegressor):
        assert not hasattr(other, "to_sklearn")
