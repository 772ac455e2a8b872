"""Isolation trees against those of the naive twin, node by node, on random small problems."""

import warnings

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twins import isolation, naive
from twins.sampling import twin_of

from dforest import IsolationForest


@st.composite
def problems(draw):
    """A data set and parameters of a small forest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(1, 80)), draw(st.integers(1, 5))
    X = rng.standard_normal((n, p)).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X = np.round(draw(st.sampled_from([1, 3])) * X)
    X[rng.random((n, p)) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    X[rng.random((n, p)) < draw(st.sampled_from([0.0, 0.1]))] = np.inf
    kinds = rng.integers(0, 3, p) * draw(st.booleans())
    for j in np.flatnonzero(kinds):
        X[:, j] = rng.integers(0, 6, n)
    weight = draw(st.sampled_from([None, None, rng.integers(0, 3, n) + (np.arange(n) == 0), np.full(n, 0.5)]))
    parameters = {
        "method": draw(st.sampled_from(["hist", "dense"])),
        "max_bins": draw(st.sampled_from([3, 256])),
        "max_features": draw(st.sampled_from([1.0, 0.5, 1])),
        "max_samples": draw(st.sampled_from(["auto", 0.3, 1.0, 1, min(n, 7)])),
        "bootstrap": draw(st.sampled_from([False, False, True, "weighted"])),
        "random_state": draw(st.integers(0, 2**31)),
        "n_jobs": draw(st.sampled_from([1, 2, 4])),
        "categorical_features": kinds == 1,
        "ordinal_features": kinds == 2,
        "categorical_split": draw(st.sampled_from(["subset", "one_hot"])),
        "extension_level": draw(st.sampled_from([0, 0, 1, p - 1])) if p > 1 else 0,
    }
    return X, weight, parameters


@pytest.mark.parametrize(
    "extreme", ["default", "codes of drawn rows", "codes of all rows", "ranks in place of keys", "share everything"]
)
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_every_node_is_that_of_the_twin(tuning, assert_twin, extreme, problem):
    X, weight, parameters = problem
    with tuning(extreme), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of more draws than rows of positive weight
        model = IsolationForest(3, **parameters).fit(X, sample_weight=weight)
    forest, trees = model.forest_, []
    names = "method", "max_bins", "categorical_split", "extension_level"
    rows = X.copy() if weight is None else X[weight > 0]
    for j in np.flatnonzero(forest.n_categories):
        seen = ~np.isnan(rows[:, j])
        rows[seen, j] = np.unique(rows[seen, j], return_inverse=True)[1]
    n_features = parameters["max_features"]
    for t in range(3):
        counts = twin_of(forest.plans[t]).counts(len(rows), int(forest.seeds[t])).tolist()
        trees.append(isolation.grow_tree(
            rows, counts, seed=forest.seeds[t], n_categories=forest.n_categories.tolist(), ordinal=parameters["ordinal_features"],
            max_depth=int(np.ceil(np.log2(max(model.max_samples_, 2)))),
            tree_features=n_features if n_features == 1 and type(n_features) is int else max(1, int(n_features * X.shape[1])),
            weight=None if weight is None else (2 * weight[weight > 0]).astype(int).tolist(),
            **{name: parameters[name] for name in names},
        ))  # fmt: skip
        nodes = naive.flatten(trees[-1], np.float64 if parameters["extension_level"] else X.dtype)
        if parameters["extension_level"]:  # thresholds of sums are in the payloads
            inner = np.flatnonzero(nodes["feature"] >= 0)
            words = [forest.payload_of(forest.node_offsets[t] + node)[:1] for node in inner]
            found = np.concatenate([np.empty(0, np.uint64), *words]).view(np.float64)
            np.testing.assert_array_equal(found, nodes["threshold"][inner])
            nodes["threshold"][inner] = np.nan
        assert_twin(forest, t, nodes)
        assert sum(counts) == model.max_samples_
    if not forest.n_categories.any():
        np.testing.assert_allclose(model.score_samples(X), isolation.score(X, trees, model.max_samples_), rtol=1e-12)
