"""Oblique trees against those of the naive twin, node by node, on random small problems."""

import numpy as np
import pytest
from helpers.device_forests import assert_same
from helpers.rings import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twins.oblique import NaiveOblique

from dforest import DecisionTreeClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor


@st.composite
def problems(draw):
    """Training rows, and parameters of a small forest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(2, 70)), draw(st.integers(1, 6))
    X = rng.standard_normal((n, p)).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X = np.round(draw(st.sampled_from([1, 3])) * X)
    X *= draw(st.sampled_from([1.0, 1e-300, 1e300])) if X.dtype == np.float64 else 1.0
    X[rng.random((n, p)) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    X[rng.random((n, p)) < draw(st.sampled_from([0.0, 0.0, 0.1]))] = np.inf
    X[rng.random((n, p)) < draw(st.sampled_from([0.0, 0.0, 0.1]))] = -np.inf
    X[:, rng.random(p) < 0.1] = 1.0
    kind = draw(st.sampled_from([DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor, ExtraTreesRegressor]))
    y = rng.integers(0, draw(st.sampled_from([1, 2, 3, 4, 9, 40])), n)
    if "Regressor" in kind.__name__:
        y = y + np.round(rng.standard_normal(n), 1)
    weight = draw(st.sampled_from([None, rng.integers(0, 3, n) + (np.arange(n) == 0), rng.random(n) + 0.1]))
    oblique = {
        "n_projections": draw(st.sampled_from([None, None, 1, 3, 12, 0.5, 1.5])),
        "projection_density": draw(st.sampled_from([0.3, 1.0, 2.0, 3.7, 50.0])),
        "projection_weights": draw(st.sampled_from(["binary", "continuous", "integer", "power_of_two"])),
        "projection_scaling": draw(st.sampled_from([None, "min_max", "standard"])),
    }
    if p > 1 and draw(st.sampled_from([True, False, False])):
        given = rng.integers(-2, 3, (draw(st.integers(1, 9)), p)) * rng.choice([1.0, 0.3, 1e-5])
        given[np.arange(len(given)), rng.integers(1, p, len(given))] = 1.0  # so that two at least are not 0
        given[:, 0] = -0.7
        oblique = {"n_projections": oblique["n_projections"], "projections": given}
    parameters = {
        "method": draw(st.sampled_from(["hist", "dense"])),
        "max_bins": draw(st.sampled_from([5, 256])),
        "splitter": draw(st.sampled_from(["best", "best", "random"])),
        "max_features": draw(st.sampled_from([1, "sqrt", None])),
        "skip_constant_features": draw(st.booleans()),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 4])),
        "max_leaf_nodes": draw(st.sampled_from([None, None, 5])),
        "random_state": draw(st.integers(0, 2**31)),
    }
    if kind is not DecisionTreeClassifier:
        parameters |= {"n_estimators": 2, "n_jobs": draw(st.sampled_from([1, 2])), "bootstrap": draw(st.booleans())}
    return kind, X, y, weight, parameters, oblique


@pytest.mark.parametrize("extreme", ["default", "no copies", "few copies", "classes present always", "share everything"])
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_every_node_is_that_of_the_twin(tuning, extreme, problem):
    kind, X, y, weight, parameters, oblique = problem
    with tuning(extreme):
        fast = kind(split_axis="oblique", **parameters, **oblique).fit(X, y, weight)
    twin = NaiveOblique(**oblique, thresholds=parameters["splitter"])
    plain = kind(**parameters | {"splitter": twin}).fit(X, y, weight)
    assert_same(fast, plain)
    np.testing.assert_array_equal(fast.predict(X), plain.predict(X))
