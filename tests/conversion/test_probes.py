"""Probes reach every node, and are about to turn there."""

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dforest import ExtraTreesRegressor, RandomForestClassifier
from dforest.errors import ConversionError
from dforest.interchange.conversion.probes import check_same, probe_rows, round_down


@settings(max_examples=examples(20), deadline=None)
@given(seed=st.integers(0, 10**6), dtype=st.sampled_from([np.float32, np.float64]), missing=st.booleans())
def test_every_node_is_passed(seed, dtype, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)).astype(dtype)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    forest = RandomForestClassifier(4, random_state=seed).fit(X, rng.integers(0, 3, 80))
    rows = probe_rows(forest.forest_, dtype, missing)
    paths, _ = forest.decision_path(rows)
    assert (paths.sum(axis=0) > 0).all()
    assert missing or np.isfinite(rows).all()


@settings(max_examples=examples(20), deadline=None)
@given(seed=st.integers(0, 10**6), infinite=st.booleans(), n_categories=st.sampled_from([2, 5, 70]))
@example(seed=1, infinite=True, n_categories=5)  # a leaf of what is above minus infinity
def test_every_node_is_passed_by_categories_and_infinite_values(seed, infinite, n_categories):
    """And so is every child of a node that tests categories, by missing and unknown ones too where these may come."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    X[:, 1:] = rng.integers(0, n_categories, (80, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(80) < 0.1, 0] = np.inf
    X[rng.random(80) < 0.1, 0] = -np.inf
    model = RandomForestClassifier(4, categorical_features=[1, 2], random_state=seed).fit(X, rng.integers(0, 3, 80))
    forest = model.forest_
    rows = probe_rows(forest, np.float64, infinite=infinite)
    leaves = forest.packed().apply(rows, 1)
    reached = [set((forest.node_offsets[t] + leaves[:, t]).tolist()) for t in range(4)]
    for t in range(4):
        nodes = range(forest.node_offsets[t], forest.node_offsets[t + 1])
        needed = {i for i in nodes if forest.feature[i] < 0}
        if infinite:
            assert reached[t] == needed
        assert len(reached[t]) > len(needed) // 2 or len(needed) == 1
    assert np.isinf(rows).any() == (infinite and len(rows) > 1)
    codes = rows[:, 1:][~np.isnan(rows[:, 1:])]
    assert (codes == codes.round()).all() and codes.min() >= 0 and codes.max() <= n_categories


def test_both_sides_of_every_threshold():
    """Some row has each threshold itself, and some the next number above, in rows that are at that node."""
    X = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    model = ExtraTreesRegressor(3, random_state=0).fit(X, X[:, 0])
    forest = model.forest_
    rows = probe_rows(forest, np.float32)
    paths = model.decision_path(rows)[0].tocsc()
    for node in np.flatnonzero(forest.feature >= 0):
        there = rows[paths.indices[paths.indptr[node] : paths.indptr[node + 1]], forest.feature[node]]
        at = np.float32(forest.threshold[node])
        assert {float(at), float(np.nextafter(at, np.float32(np.inf)))} <= set(there.tolist())


def test_so_many_nodes():
    X = np.random.default_rng(0).normal(size=(300, 2))
    forest = ExtraTreesRegressor(5, random_state=0).fit(X, X[:, 0]).forest_
    assert len(probe_rows(forest, np.float64, n_nodes=10)) == 41
    assert len(probe_rows(forest, np.float64, missing=False, n_nodes=10)) == 31


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_rounding_down(numbers):
    numbers = np.array(numbers)
    rounded = round_down(numbers, np.float32)
    assert rounded.dtype == np.float32
    assert (rounded <= numbers).all()
    with np.errstate(over="ignore"):
        above = np.nextafter(rounded, np.float32(np.inf))
    assert ((above > numbers) | (rounded == numbers)).all()


def test_the_first_row_that_differs_is_named():
    rows = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    check_same("a library", rows, np.ones((3, 1)), np.ones(3))
    check_same("a library", rows[:0], np.ones((0, 1)), np.ones(0))
    with pytest.raises(ConversionError, match=r"a library and .* differently for 2 of 3 rows .* these, \[3.0, nan\]"):
        check_same("a library", rows, np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, np.nan]))
