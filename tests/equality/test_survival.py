"""Trees for survival times against those of the naive twin, node by node, on random small problems."""

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twins import naive
from twins.sampling import twin_of

import dforest
from dforest.testing.survival import ENTRY


@st.composite
def problems(draw):
    """A data set and parameters of a small forest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(1, 60)), draw(st.integers(1, 4))
    X = rng.standard_normal((n, p)).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X = np.round(2 * X)
    X[rng.random((n, p)) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    is_categorical = rng.random(p) < draw(st.sampled_from([0.0, 0.5]))
    for j in np.flatnonzero(is_categorical):
        X[:, j] = rng.integers(0, 6, n)
    time = rng.exponential(1.0, n) + np.nan_to_num(X[:, 0]) % 3
    time = np.round(time * draw(st.sampled_from([0.5, 2, 1000])), 3) if draw(st.booleans()) else np.floor(time)
    event = rng.random(n) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    event[rng.integers(n)] = True
    entry = np.zeros(n)
    if draw(st.booleans()):
        time, share = time + 1, draw(st.sampled_from([0.2, 1.0]))
        entry = np.where(rng.random(n) < share, time * rng.random(n), 0.0)
        entry = np.floor(entry) if draw(st.booleans()) else entry
    sample_weight = {
        "none": None,
        "integers": rng.integers(1, 5, n).astype(float),
        "floats": rng.random(n) + 1e-3,
        "even": 2.0 * rng.integers(1, 5, n),
        "twos": np.full(n, 2.0),
        "one heavy": np.where(np.arange(n) == 0, 1e12, 1.0),
        "orders of magnitude": 10.0 ** rng.uniform(-12, 12, n),
    }[draw(st.sampled_from(["none", "none", "integers", "floats", "even", "twos", "one heavy", "orders of magnitude"]))]
    parameters = {
        "criterion": draw(st.sampled_from(["logrank", "logrank_score"])),
        "method": draw(st.sampled_from(["hist", "dense"])),
        "max_bins": draw(st.sampled_from([3, 256])),
        "max_features": draw(st.integers(1, p)),
        "max_depth": draw(st.sampled_from([None, 1, 3])),
        "min_samples_split": draw(st.sampled_from([2, 6])),
        "min_samples_leaf": min(n, draw(st.sampled_from([1, 1, 3]))),
        "min_weight_fraction_leaf": draw(st.sampled_from([0.0, 0.0, 0.1])),
        "max_leaf_nodes": draw(st.sampled_from([None, None, 3, 6])),
        "splitter": draw(st.sampled_from(["best", "random"])),
        "bootstrap": draw(st.booleans()),
        "random_state": draw(st.integers(0, 2**31)),
        "n_jobs": draw(st.sampled_from([1, 2, 4])),
        "categorical_features": is_categorical,
        "categorical_split": draw(st.sampled_from(["subset", "one_hot"])),
        "regularization_factor": draw(st.sampled_from([1.0, 1.0, 1.0, 0.5])),
    }
    return X, event, time, entry, sample_weight, parameters


@pytest.mark.parametrize("extreme", ["default", "count always", "radix sort always", "share everything"])
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_every_node_is_that_of_the_twin(tuning, assert_twin, extreme, problem):
    X, event, time, entry, sample_weight, parameters = problem
    y = np.column_stack([event, time, entry] if entry.any() else [event, time])
    with tuning(extreme):
        model = dforest.RandomSurvivalForest(2, **parameters).fit(X, y, sample_weight)
    forest, event_times = model.forest_, np.unique(time[event])
    begin, end = (np.searchsorted(event_times, times, side="right") for times in (entry, time))
    codes = 2 * end + event + ENTRY * begin * entry.any()
    names = ("criterion", "method", "max_bins", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
             "max_leaf_nodes", "splitter", "max_features", "categorical_split")
    X = X.copy()
    for j in np.flatnonzero(forest.n_categories):
        seen = ~np.isnan(X[:, j])
        X[seen, j] = np.unique(X[seen, j], return_inverse=True)[1]
    for t in range(2):
        twin = naive.grow_tree(X, codes, sample_weight=sample_weight, n_times=len(event_times), sampling=twin_of(forest.plans[t]),
                               seed=forest.seeds[t], n_categories=forest.n_categories.tolist(),
                               regularization_factors=[parameters["regularization_factor"]] * X.shape[1],
                               **{name: parameters[name] for name in names})  # fmt: skip
        assert_twin(forest, t, naive.flatten(twin, X.dtype))
