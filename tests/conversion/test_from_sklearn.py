"""Forests and trees of scikit-learn as ours: the same bits, and all that our estimators do with them."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from helpers.rings import examples
from helpers.sklearn_models import KINDS, assert_same_bits, data_of, is_single_tree
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import dforest
from dforest.errors import ConversionError
from dforest.interchange.conversion import from_sklearn as conversion


def model_of(kind, **parameters):
    is_tree = is_single_tree(kind)
    return getattr(sklearn.tree if is_tree else sklearn.ensemble, kind)(
        random_state=0, **({} if is_tree else {"n_estimators": 9}), **parameters
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_leaf_nodes", [None, 12])
def test_predictions_have_the_same_bits(kind, max_leaf_nodes, tmp_path):
    X, y = data_of(kind)
    model = model_of(kind, max_leaf_nodes=max_leaf_nodes).fit(X, y)
    estimator = dforest.from_sklearn(model)
    assert type(estimator) is getattr(dforest, kind)
    rows = np.random.default_rng(1).normal(3, 3, (500, 4)).astype(np.float32)
    assert_same_bits(model, estimator, rows)
    assert_same_bits(model, pickle.loads(pickle.dumps(estimator)), rows)
    estimator.save(tmp_path / "model")
    for mmap in (True, False):
        assert_same_bits(model, dforest.load(tmp_path / "model", mmap=mmap), rows)
    assert estimator.feature_importances_ == pytest.approx(model.feature_importances_, abs=1e-6)
    assert estimator.get_params()["max_leaf_nodes"] == max_leaf_nodes
    assert_same_bits(estimator.to_sklearn(), estimator, rows)


@settings(max_examples=examples(25), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    weights=st.sampled_from([None, "counts", "any"]),
    max_leaf_nodes=st.sampled_from([None, 2, 9]),
    ccp_alpha=st.sampled_from([0.0, 0.02]),
)
@example(seed=4, kind="ExtraTreesRegressor", weights=None, max_leaf_nodes=None, ccp_alpha=0.0)  # a mean beyond all leaves
def test_whatever_was_grown(seed, kind, weights, max_leaf_nodes, ccp_alpha):
    X, y = data_of(kind, 60, seed)
    rng = np.random.default_rng(seed)
    weight = {None: None, "counts": rng.integers(0, 3, len(y)), "any": rng.random(len(y))}[weights]
    model = model_of(kind, max_leaf_nodes=max_leaf_nodes, ccp_alpha=ccp_alpha).fit(X, y, weight)
    estimator = dforest.from_sklearn(model)
    if weights == "any" and is_classifier(model):
        assert np.abs(estimator.predict_proba(X) - model.predict_proba(X)).max() <= 1e-12
    else:
        assert_same_bits(model, estimator, X)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss", "squared_error", "absolute_error", "poisson"])
def test_trees_are_those_of_scikit_learn(criterion):
    kind = "DecisionTreeClassifier" if criterion in ("gini", "entropy", "log_loss") else "DecisionTreeRegressor"
    # scikit-learn allows no missing values with absolute_error, and 1.6 has other impurities with poisson then.
    X, y = data_of(kind, missing=criterion not in ("absolute_error", "poisson"))
    model = model_of(kind, criterion=criterion, max_depth=5).fit(X, y)
    ours, theirs = dforest.from_sklearn(model).tree_, model.tree_
    for name in ("children_left", "children_right", "feature", "threshold", "n_node_samples", "weighted_n_node_samples"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert ours.impurity == pytest.approx(theirs.impurity, rel=1e-9, abs=1e-9)
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)


def test_a_forest_goes_on():
    """With trees of ours after those of scikit-learn; what asks which rows the first ones drew is refused."""
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model = sklearn.ensemble.RandomForestClassifier(5, random_state=0).fit(X, y)
    forest = dforest.from_sklearn(model)
    with pytest.raises(ValueError, match="the tree was grown elsewhere, so the rows that it drew are not known"):
        forest.estimators_samples_  # noqa: B018
    with pytest.raises(ValueError, match="Out of bag estimation needs trees that dforest has grown with bootstrap=True"):
        forest.set_params(oob_score=True, warm_start=True, n_estimators=6).fit(X, y)
    assert len(forest) == 5
    assert "which the forest does not recognise as the rows that it was grown on" in forest.report(X, y).html
    forest.set_params(oob_score=False, warm_start=True, n_estimators=8).fit(X, y)
    assert len(forest) == 8
    shares = np.mean([tree.predict_proba(X) for tree in forest.estimators_[:5]], axis=0)
    assert shares == pytest.approx(model.predict_proba(X))
    assert forest.set_params(warm_start=False, n_estimators=3, oob_score=True).fit(X, y).oob_score_ > 0.8


def test_names_and_parameters():
    X, y = load_diabetes(return_X_y=True)
    frame = pd.DataFrame(X.astype(np.float32)).rename(columns=lambda j: f"column {j}")
    model = sklearn.ensemble.RandomForestRegressor(4, max_features=0.4, min_samples_leaf=3, n_jobs=2, max_depth=6).fit(frame, y)
    forest = dforest.from_sklearn(model)
    assert forest.feature_names_in_.tolist() == frame.columns.tolist()
    expected = {"max_features": 0.4, "min_samples_leaf": 3, "n_jobs": 2, "max_depth": 6, "method": "dense"}
    assert {name: forest.get_params()[name] for name in expected} == expected
    assert forest.predict(frame) == pytest.approx(model.predict(frame), rel=1e-12)
    assert np.array_equal(forest.apply(frame), model.apply(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        forest.predict(frame[frame.columns[::-1]])


def test_a_leaf_alone_and_nothing_shared():
    X = np.zeros((5, 2), np.float32)
    model = sklearn.tree.DecisionTreeRegressor().fit(X, np.arange(5.0))
    assert_same_bits(model, dforest.from_sklearn(model), X)
    classifier = sklearn.ensemble.RandomForestClassifier(3, class_weight={0: 1, 1: 2}).fit(load_iris().data, np.arange(150) % 2)
    before = pickle.dumps(classifier)
    forest = dforest.from_sklearn(classifier)
    forest.classes_[:] = 7
    forest.class_weight[0] = 7
    assert pickle.dumps(classifier) == before


def test_one_wrong_number_is_found(monkeypatch):
    X, y = data_of("Regressor")
    model = model_of("DecisionTreeRegressor").fit(X, y)
    right = conversion._tree_arrays

    def wrong(*args):
        arrays, is_exact = right(*args)
        arrays["leaf_value"] = np.nextafter(arrays["leaf_value"], np.inf)
        return arrays, is_exact

    monkeypatch.setattr(conversion, "_tree_arrays", wrong)
    with pytest.raises(ConversionError, match=r"predict differently for \d+ of \d+ rows .* the first of these, \["):
        dforest.from_sklearn(model)
    dforest.from_sklearn(model, verify=False)


def test_what_is_refused():
    X, y = data_of("Regressor", missing=False)
    with pytest.raises(TypeError, match="model is of the type GradientBoostingRegressor; allowed are scikit-learn's Dec"):
        dforest.from_sklearn(sklearn.ensemble.GradientBoostingRegressor(n_estimators=2).fit(X, y))
    with pytest.raises(TypeError, match="model is of the type RandomForestRegressor; allowed"):
        dforest.from_sklearn(dforest.RandomForestRegressor(2).fit(X, y))
    with pytest.raises(NotFittedError):
        dforest.from_sklearn(sklearn.ensemble.RandomForestRegressor())
    with pytest.raises(ValueError, match="model has 2 outputs; allowed is one"):
        dforest.from_sklearn(sklearn.tree.DecisionTreeRegressor().fit(X, np.column_stack([y, y])))
    model = sklearn.tree.DecisionTreeRegressor().fit(X, y)
    model.criterion = object()
    with pytest.raises(ValueError, match="model has criterion=<object .*; allowed are the names of scikit-learn's criteria"):
        dforest.from_sklearn(model)
