"""Classes of equal shares: whatever votes takes the lowest of them. Balanced classes weigh the same but for rounding."""

import numpy as np
import pytest
from helpers import device_forests
from helpers.host_device import strict_device
from hypothesis import given
from hypothesis import strategies as st

from dforest import DecisionTreeClassifier, RandomForestClassifier
from dforest.core.objective import ClassObjective, MultiOutputClassObjective


def balanced(seed, n_classes, n=130):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return rng.normal(size=(n, 2)), y


def votes_of_leaves(forest, X):
    """The class that each tree votes for, for each row: of the largest share that its `tree_` shows, of equal ones the lowest."""
    return np.stack([tree.tree_.value[tree.apply(X), 0].argmax(axis=1) for tree in forest.estimators_], axis=1)


@given(st.lists(st.integers(2**58, 2**59) | st.sampled_from([2**58, 2**58 + 1, 2**58 + 3]), min_size=2, max_size=8))
def test_shares_that_are_equal_as_reported_are_equal(weight):
    weight = np.array([weight])
    shares = weight / weight.sum()
    expected = shares[0].tolist().index(shares.max())
    objective = ClassObjective(weight.shape[1])
    assert objective.leaf_class(weight).tolist() == [expected]
    np.testing.assert_array_equal(objective.leaf_votes(weight, None, "soft"), shares)
    np.testing.assert_array_equal(objective.leaf_votes(weight, None, "hard"), np.eye(weight.shape[1])[[expected]])
    both = MultiOutputClassObjective((weight.shape[1],) * 2)
    expected = np.hstack([np.eye(weight.shape[1])[[expected]]] * 2)
    np.testing.assert_array_equal(both.leaf_votes(np.hstack([weight] * 2), None, "hard"), expected)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
def test_a_leaf_of_balanced_classes_votes_for_the_lowest(class_weight):
    for seed in range(20):
        X, y = balanced(seed, 10)
        parameters = {"class_weight": class_weight, "min_samples_split": len(y) + 1, "random_state": 0}
        forest = RandomForestClassifier(1, bootstrap=False, voting="hard", **parameters).fit(X, y)
        value = forest.estimators_[0].tree_.value[0, 0]
        assert forest.predict(X[:1]) == [value.argmax()] == forest.estimators_[0].predict(X[:1])
        assert forest.predictor().predict(X[0]).argmax() == value.argmax()
    tree = DecisionTreeClassifier(class_weight="balanced", min_samples_split=len(y) + 1).fit(X, y)
    assert tree.predict(X[:1]) == [tree.tree_.value[0, 0].argmax()]


@pytest.mark.parametrize("n_leaves", [2, 6])
def test_hard_votes_and_estimates_out_of_bag_are_those_of_trees(n_leaves):
    """Of draws that are balanced anew for each tree, whose leaves often have equal shares."""
    for seed in range(8):
        X, y = balanced(seed, 3 + seed, n=90)
        parameters = {"class_weight": "balanced_subsample", "max_leaf_nodes": n_leaves, "random_state": seed, "oob_score": True}
        if n_leaves == 2:  # a single leaf, and many ties
            parameters |= {"max_leaf_nodes": None, "min_samples_split": len(y) + 1}
        forest = RandomForestClassifier(25, voting="hard", **parameters).fit(X, y)
        votes = votes_of_leaves(forest, X)
        counts = np.stack([(votes == k).sum(axis=1) for k in range(3 + seed)], axis=1)
        np.testing.assert_array_equal(forest.predict_proba(X), counts / 25)
        out_of_bag = np.stack([~np.isin(np.arange(len(y)), rows) for rows in forest.estimators_samples_], axis=1)
        counts = np.stack([((votes == k) & out_of_bag).sum(axis=1) for k in range(3 + seed)], axis=1)
        seen = counts.any(axis=1)
        np.testing.assert_array_equal(forest.oob_decision_function_[seen], counts[seen] / counts[seen].sum(axis=1, keepdims=True))
        with device_forests.standing_in(strict_device()):
            there = RandomForestClassifier(25, voting="hard", device="gpu", **parameters).fit(X, y)
            np.testing.assert_array_equal(there.predict_proba(X), forest.predict_proba(X))
            np.testing.assert_array_equal(there.oob_decision_function_, forest.oob_decision_function_)
