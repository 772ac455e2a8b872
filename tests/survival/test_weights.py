"""Weights of rows for survival times: curves and risks by exact weights, and whole weights as rows given several times."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import dforest
from dforest import ExtraSurvivalTree, RandomSurvivalForest, SurvivalTree
from dforest.core.integer_weights import IntegerWeights, integer_weights

SEEDS = st.integers(0, 2**32)
ONE_LEAF = {"max_depth": 1, "min_samples_split": 10**6, "min_samples_leaf": 1}


def targets(rng, n, entered):
    """Some y of few times, so that there are ties and rows that are never at risk at an event time."""
    time, event = rng.integers(1, 9, n).astype(float), rng.random(n) < 0.6
    event[0] = True
    entry = np.where(rng.random(n) < 0.5, np.floor(time * rng.random(n)), 0.0)
    return np.column_stack([event, time, entry] if entered else [event, time])


def hazards(y, weight, times):
    """The Nelson-Aalen estimate at some times, by rational numbers."""
    weight, found = [Fraction(float(w)) for w in weight], []
    entry = y[:, 2] if y.shape[1] > 2 else np.full(len(y), -1.0)
    for time in times:
        d = sum(w for w, row in zip(weight, y, strict=True) if row[0] and row[1] == time)
        n = sum(w for w, row, at in zip(weight, y, entry, strict=True) if at < time <= row[1])
        found.append(d / n + (found[-1] if found else 0))
    return np.array([float(h) for h in found])


@settings(max_examples=examples(300))
@given(SEEDS, st.integers(1, 20), st.booleans(), st.sampled_from([0, 1, 12, 300]))
def test_hazards_are_those_of_rational_numbers(seed, n, entered, orders):
    rng = np.random.default_rng(seed)
    y, weight = targets(rng, n, entered), 10.0 ** rng.uniform(-orders, orders, n)
    tree = SurvivalTree(**ONE_LEAF).fit(np.zeros((n, 1)), y, weight)
    right = hazards(y, weight, tree.event_times_)
    found = tree.predict_cumulative_hazard_function([[0]], return_array=True, times=tree.event_times_)[0]
    np.testing.assert_allclose(found, right, rtol=1e-12)
    assert tree.predict([[0]])[0] == pytest.approx(right.sum(), rel=1e-12)


def test_a_heavy_row_that_leaves_the_risk_set_leaves_the_others():
    y, weight = [(0, 1.0), (1, 2.0), (1, 3.0), (1, 4.0)], [1e17, 1, 1, 1]
    tree = SurvivalTree(**ONE_LEAF).fit(np.zeros((4, 1)), y, weight)
    found = tree.predict_cumulative_hazard_function([[0]], return_array=True, times=[1, 2, 3, 4])
    np.testing.assert_allclose(found, [[0, 1 / 3, 5 / 6, 11 / 6]])
    assert tree.predict_survival_function([[0]], return_array=True, times=[4])[0, 0] == 0


@pytest.mark.parametrize("entered", [False, True])
def test_forests_of_float_weights_are_kept(tmp_path, entered):
    rng = np.random.default_rng(0)
    X, y, weight = rng.random((80, 3)), targets(rng, 80, entered), 10.0 ** rng.uniform(-10, 10, 80)
    forest = RandomSurvivalForest(5, oob_score=True, random_state=0).fit(X, y, weight)
    hazard = forest.predict_cumulative_hazard_function(X, return_array=True, times=forest.event_times_)
    np.testing.assert_allclose(hazard.sum(axis=1), forest.predict(X), rtol=1e-12)
    forest.save(tmp_path / "forest.safetensors")
    for again in (dforest.load(tmp_path / "forest.safetensors"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(again.predict_cumulative_hazard_function(X, True, times=forest.event_times_), hazard)
        np.testing.assert_array_equal(again.predict(X), forest.predict(X))


@settings(max_examples=examples(300))
@given(SEEDS, st.sampled_from([SurvivalTree, ExtraSurvivalTree]), st.sampled_from(["logrank", "logrank_score"]),
       st.sampled_from(["dense", "hist"]), st.sampled_from([None, 4]), st.booleans(), st.sampled_from([1, 2, 1000]))  # fmt: skip
def test_whole_weights_are_rows_that_are_there_several_times(seed, kind, criterion, method, max_leaf_nodes, entered, times):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    X, y = rng.standard_normal((n, 3)).round(int(rng.integers(3))), targets(rng, n, entered)
    X[rng.random((n, 3)) < rng.choice([0.0, 0.2])] = np.nan
    weight = rng.integers(1, 1 + rng.integers(1, 5), n)
    own = {"min_samples_leaf": 1, "min_samples_split": 2, "criterion": criterion, "method": method, "random_state": 0}
    weighted = kind(**own, max_leaf_nodes=max_leaf_nodes).fit(X, y, times * weight)
    X, y = np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0)
    repeated = kind(**own, max_leaf_nodes=max_leaf_nodes).fit(X, y, np.full(len(X), times))
    for name in ("feature", "threshold", "inner"):
        np.testing.assert_array_equal(getattr(weighted.forest_, name), getattr(repeated.forest_, name))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    np.testing.assert_array_equal(weighted.predict_survival_function(X, True), repeated.predict_survival_function(X, True))


def test_equal_weights_that_are_no_whole_numbers_are_none():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 3)), targets(rng, 60, False)
    plain, *others = (SurvivalTree(random_state=0).fit(X, y, weight) for weight in (None, np.full(60, 0.3), np.full(60, 2.5)))
    for other in others:
        np.testing.assert_array_equal(other.forest_.inner, plain.forest_.inner)


def test_weights_as_counts():
    for weight, integers, unit in [
        ([4, 2, 2], [4, 2, 2], 1.0),
        ([2, 2, 2], [2, 2, 2], 1.0),
        ([0.5, 1, 1], [1, 2, 2], 0.5),
        ([2.0**33, 2.0**33, 2.0**34], [2**29 - 1, 2**29 - 1, 2**30 - 2], 2.0**33 / (2**29 - 1)),
    ]:
        found = integer_weights(np.array(weight, np.float64)).as_counts(3)
        assert found.integers.tolist() == integers and found.unit == unit
    assert IntegerWeights(None, 3.0).as_counts(2).integers.tolist() == [3, 3]
    assert IntegerWeights(None).as_counts(2).integers is None
