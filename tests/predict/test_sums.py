"""Predictions that are sums of leaves and a baseline, as those of boosted trees are: trees take turns at the sums."""

import pickle

import numpy as np
import pytest
from helpers.host_device import strict_device

from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.core.forest.arrays import Forest
from dforest.core.objective import SumObjective
from dforest.engines.device.predictor import DevicePredictor


def sums_of(n_sums, dtype=np.float64, n_trees=12, n=700, missing=False, max_depth=None):
    """A forest whose trees were grown by another objective, as one of sums, and rows."""
    rng = np.random.default_rng(n_sums)
    X = rng.normal(size=(n, 5)).astype(dtype)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    grown = RandomForestRegressor(n_trees, random_state=0, max_depth=max_depth).fit(X, rng.normal(size=n)).forest_
    baseline = tuple(rng.normal(size=n_sums).tolist())
    settings = {name: value for name, value in grown.__getstate__().items() if name != "arrays"}
    gains = np.ones(((grown.feature >= 0).sum(), 2))
    return Forest(grown.as_dict() | {"inner": gains}, **{**settings, "objective": SumObjective(baseline)}), X


def slow_sums(forest, X, first, n_trees, sums):
    """Tree by tree, in order; without the baseline."""
    for t in range(first, first + n_trees):
        sums[:, t % sums.shape[1]] += forest.tree(t).packed().mean(X, 1)[:, 0]
    return sums


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_sums", [1, 2, 3])
def test_sums_are_those_of_trees_one_by_one(n_sums, dtype, missing):
    forest, X = sums_of(n_sums, dtype, missing=missing)
    expected = slow_sums(forest, X, 0, forest.n_trees, np.zeros((len(X), n_sums))) + np.array(forest.objective.baseline)
    for n_threads in (1, 3):
        assert forest.packed().mean(X, n_threads).tobytes() == expected.tobytes()
    for n in (1, 5, 17):  # one row down many trees, or many rows down one
        assert forest.packed().mean(X[:n], 1).tobytes() == expected[:n].tobytes()
    np.testing.assert_array_equal(forest.packed().most(X, 2), expected.argmax(axis=1))


@pytest.mark.parametrize("max_depth", [3, None])  # trees that are copied with keys, and others
@pytest.mark.parametrize("n_sums", [1, 3])
def test_some_trees_are_added_to_what_there_is(n_sums, max_depth):
    forest, X = sums_of(n_sums, max_depth=max_depth)
    packed = forest.packed()
    for n in (2, len(X)):
        start = np.random.default_rng(0).normal(size=(n, n_sums))
        expected, found = start.copy(), start.copy()
        for first, n_trees in [(0, 3), (3, 1), (4, 0), (4, 8), (11, 1)]:
            packed.add_up(X[:n], found, first, n_trees, 2)
            assert found.tobytes() == slow_sums(forest, X[:n], first, n_trees, expected).tobytes()


def test_what_can_not_be_added():
    forest, X = sums_of(2)
    packed = forest.packed()
    with pytest.raises(ValueError, match="trees 10 to 12 of a forest of 12"):
        packed.add_up(X, np.zeros((len(X), 2)), 10, 3, 1)
    with pytest.raises(ValueError, match=r"sums of shape \(700, 1\), for 700 rows and 2 outputs"):
        packed.add_up(X, np.zeros((len(X), 1)), 0, 3, 1)


@pytest.mark.parametrize("n_sums", [1, 2, 3])
def test_devices_give_the_bits_of_the_processor(n_sums):
    forest, X = sums_of(n_sums)
    packed = forest.packed()
    predictor = DevicePredictor(strict_device(n_threads=2), packed)
    assert predictor.mean(X).tobytes() == packed.mean(X, 1).tobytes()
    assert predictor.most(X).tobytes() == packed.most(X, 1).tobytes()


def test_means_can_be_added_up_too():
    X = np.random.default_rng(0).normal(size=(300, 4))
    forest = RandomForestClassifier(5, random_state=0).fit(X, np.arange(300) % 3).forest_
    sums = np.zeros((300, 3))
    forest.packed().add_up(X, sums, 0, 2, 1)
    forest.packed().add_up(X, sums, 2, 3, 1)
    assert (sums / 5).tobytes() == forest.packed().mean(X, 1).tobytes()


@pytest.mark.parametrize("n_sums", [1, 3])
def test_predictor_and_pickle(n_sums):
    forest, X = sums_of(n_sums)
    expected = forest.packed().mean(X, 1)
    for known in (forest, pickle.loads(pickle.dumps(forest))):
        predictor = known.predictor()
        assert predictor.n_outputs == n_sums
        assert predictor.predict(X).tobytes() == expected.tobytes()
        assert np.ndim(predictor.predict(X)) == (1 if n_sums == 1 else 2)
        np.testing.assert_array_equal(predictor.predict(X[5]), expected[5, 0] if n_sums == 1 else expected[5])


def test_a_tree_alone_predicts_its_own_leaves():
    forest, X = sums_of(2)
    tree = forest.tree(3)
    assert tree.objective == SumObjective((0.0,))
    leaves = tree.leaf_value[tree.leaf_row[tree.feature < 0]]
    np.testing.assert_array_equal(np.unique(tree.packed().mean(X, 1)), np.unique(leaves))
