"""Policy trees: those of a search through all trees, on any number of threads, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from twins.policy import best_tree

from dforest import PolicyTree


def as_tuple(tree, node=0):
    """A tree as its twin has it."""
    if tree.feature[node] < 0:
        return (int(tree.action[node]),)
    below = (as_tuple(tree, child) for child in (tree.children_left[node], tree.children_right[node]))
    return int(tree.feature[node]), float(tree.threshold[node]), *below


def problem(n, p, n_actions, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    rewards = random.normal(size=(n, n_actions))
    rewards[:, 1] += np.where((X[:, 0] > 0) & (X[:, -1] > 0.3), 0.5, -0.5)
    return X, rewards


@st.composite
def small_problems(draw):
    depth = draw(st.integers(0, 3))
    n, p, n_actions = draw(st.integers(1, 13 if depth < 3 else 8)), draw(st.integers(1, 3)), draw(st.integers(2, 4))
    X = draw(st.lists(st.lists(st.integers(0, 7), min_size=p, max_size=p), min_size=n, max_size=n))
    rewards = draw(st.lists(st.lists(st.integers(-6, 6), min_size=n_actions, max_size=n_actions), min_size=n, max_size=n))
    return X, rewards, depth, draw(st.integers(1, 4)), draw(st.integers(1, 3))


@given(small_problems(), st.sampled_from([1, 2]))
@settings(max_examples=examples(700))
def test_trees_are_the_best_of_all(small, n_jobs):
    X, rewards, depth, least, step = small
    place = [{value: i // step for i, value in enumerate(sorted({row[j] for row in X}))} for j in range(len(X[0]))]
    value, tree = best_tree(X, rewards, list(range(len(X))), depth, least, lambda j, low, high: place[j][low] != place[j][high])
    found = PolicyTree(depth, least, step, n_jobs=n_jobs).fit(X, rewards)
    assert found.value_ * len(X) == pytest.approx(value, abs=1e-9)
    assert as_tuple(found.tree_) == tree
    assert found.score(X, rewards) == pytest.approx(found.value_)


@pytest.mark.parametrize("least", [1, 7])
@pytest.mark.parametrize("n_actions", [2, 3])
def test_numbers_that_all_differ(least, n_actions):
    X, rewards = problem(45, 2, n_actions, least)
    whole = np.rint(rewards * 1000).astype(int)
    value, tree = best_tree(X.tolist(), whole.tolist(), list(range(45)), 2, least)
    found = PolicyTree(2, least).fit(X, whole)
    assert found.value_ * 45 == pytest.approx(value)
    assert found.tree_.feature[0] == tree[0] and found.tree_.threshold[0] == pytest.approx(tree[1])
    assert found.tree_.n_node_samples[found.tree_.is_leaf].min() >= least


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("least", [1, 20])
def test_threads_and_the_order_of_rows_make_no_difference(depth, least):
    X, rewards = problem(200 if depth == 3 else 2000, 3, 3, 0)
    trees = [as_tuple(PolicyTree(depth, least, n_jobs=n_jobs).fit(X, rewards).tree_) for n_jobs in (1, 2, 3)]
    order = np.random.default_rng(1).permutation(len(X))
    trees.append(as_tuple(PolicyTree(depth, least).fit(X[order], rewards[order]).tree_))
    trees.append(as_tuple(PolicyTree(depth, least).fit(X, rewards * 2.0**40).tree_))
    assert trees == trees[:1] * 5


def test_a_tree_that_no_first_split_leads_to():
    X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    effect = np.where((X[:, 0] > 0) == (X[:, 1] > 0), 1.0, -1.0)
    rewards = np.column_stack([np.zeros(400), effect])
    assert PolicyTree(2).fit(X, rewards).score(X, rewards) == np.maximum(effect, 0).mean()
    assert PolicyTree(1).fit(X, rewards).score(X, rewards) < 0.6 * np.maximum(effect, 0).mean()


def test_deeper_trees_are_no_worse():
    X, rewards = problem(150, 2, 2, 3)
    values = [PolicyTree(depth).fit(X, rewards).value_ for depth in range(5)]
    assert values == sorted(values)
    assert PolicyTree(200).fit(X[:30], rewards[:30]).value_ == pytest.approx(rewards[:30].max(axis=1).mean())


def test_whole_weights_are_rows_that_are_there_several_times():
    X, rewards = problem(300, 2, 2, 4)
    weight = np.random.default_rng(0).integers(0, 4, 300)
    weighted, repeated = (
        PolicyTree(2).fit(X, rewards, weight),
        PolicyTree(2).fit(np.repeat(X, weight, axis=0), np.repeat(rewards, weight, axis=0)),
    )
    assert as_tuple(weighted.tree_) == as_tuple(repeated.tree_)
    assert weighted.value_ == pytest.approx(repeated.value_)
    assert weighted.score(X, rewards, weight) == pytest.approx(weighted.value_)
    assert weighted.tree_.n_node_samples[0] == (weight > 0).sum()


def test_costs_are_taken_off():
    X, rewards = problem(300, 2, 3, 5)
    costs = [0.0, 0.3, 0.1]
    own = PolicyTree(2, costs=costs).fit(X, rewards)
    assert as_tuple(own.tree_) == as_tuple(PolicyTree(2).fit(X, rewards - np.array(costs)).tree_)
    assert own.score(X, rewards) == pytest.approx(own.value_)
    assert (PolicyTree(2, costs=[0, 100, 100]).fit(X, rewards).predict(X) == 0).all()


def test_a_step_finds_nearly_as_good_a_tree():
    X, rewards = problem(1000, 2, 2, 6)
    every, few = PolicyTree(2).fit(X, rewards), PolicyTree(2, split_step=20).fit(X, rewards)
    assert 0.9 * every.value_ < few.value_ < every.value_
    n_left = (X[:, few.tree_.feature[0]] <= few.tree_.threshold[0]).sum()
    assert n_left % 20 == 0


def test_leaves_and_actions_are_those_of_the_nodes():
    X, rewards = problem(500, 3, 3, 7)
    own = PolicyTree(2).fit(X, rewards)
    leaves = own.apply(X)
    assert own.tree_.is_leaf[leaves].all()
    assert np.array_equal(np.bincount(leaves, minlength=own.tree_.node_count)[own.tree_.is_leaf],
                          own.tree_.n_node_samples[own.tree_.is_leaf])  # fmt: skip
    assert np.array_equal(own.predict(X), own.tree_.action[leaves])
    assert own.score(X, rewards) == pytest.approx(rewards[np.arange(500), own.predict(X)].mean())
    again = pickle.loads(pickle.dumps(own))
    assert np.array_equal(again.predict(X), own.predict(X))
    assert clone(own).get_params() == own.get_params()


def test_thresholds_are_between_values():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    own = PolicyTree(1).fit([[low], [high]], [[1, 0], [0, 1]])
    assert own.tree_.threshold[0] == low and own.predict([[low], [high]]).tolist() == [0, 1]
    huge = PolicyTree(1).fit([[-1.7e308], [1.7e308]], [[1, 0], [0, 1]])
    assert huge.tree_.threshold[0] == 0.0


def test_text():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "risk": [0.0, 1.0, 0.0, 1.0]})
    own = PolicyTree(2).fit(frame, pd.DataFrame({"wait": [0, 0, 0, 0], "treat": [-1, -1, -1, 2]}))
    assert own.export_text(action_names=["wait", "treat"], decimals=1).splitlines() == [
        "|--- age <= 3.5",
        "|   |--- action: wait",
        "|--- age >  3.5",
        "|   |--- action: treat",
    ]
    assert own.export_text(feature_names=["a", "b"]).splitlines()[3] == "|   |--- action: 1"
    with pytest.raises(ValueError, match="feature_names=.*list of 2 names"):
        own.export_text(feature_names=["a"])
    with pytest.raises(ValueError, match="action_names='ab'.*list of 2 names"):
        own.export_text(action_names="ab")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan, 0.0], [1.0, 1.0]]}, "NaN"),
        ({"X": [[np.inf, 0.0], [1.0, 1.0]]}, "infinity"),
        ({"rewards": [[0.0, np.nan], [1.0, 0.0]]}, "rewards contains NaN"),
        ({"rewards": [[0.0, np.inf], [1.0, 0.0]]}, "rewards has the value inf; allowed are finite"),
        ({"rewards": [0.0, 1.0]}, "rewards has the shape"),
        ({"rewards": [[0.0], [1.0]]}, "two actions or more"),
        ({"rewards": [[0.0, 1.0]]}, "a row for each of 2 rows"),
        ({"rewards": [["a", "b"], ["c", "d"]]}, "rewards has the type"),
        ({"costs": [1.0]}, "costs has the shape"),
        ({"costs": [1.0, np.nan]}, "costs contains NaN"),
        ({"max_depth": -1}, "max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"split_step": 0}, "split_step"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight"),
    ],
)
def test_what_is_refused(change, message):
    given = {"X": [[0.0, 0.0], [1.0, 1.0]], "rewards": [[0.0, 1.0], [1.0, 0.0]], "sample_weight": None} | change
    parameters = {name: given.pop(name) for name in list(given) if name not in ("X", "rewards", "sample_weight")}
    with pytest.raises(ValueError, match=message):
        PolicyTree(**parameters).fit(**given)


def test_predictions_are_refused():
    with pytest.raises(NotFittedError):
        PolicyTree().predict([[0.0]])
    own = PolicyTree().fit([[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="2 features"):
        own.predict([[0.0, 1.0]])
    with pytest.raises(ValueError, match="NaN"):
        own.predict([[np.nan]])
    with pytest.raises(ValueError, match="3 columns; the tree has 2 actions"):
        own.score([[0.0]], [[0.0, 1.0, 2.0]])
