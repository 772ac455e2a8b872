"""Trees of the compiled core against those of the naive twin, node by node, on random small problems."""

from fractions import Fraction

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twins import naive
from twins.sampling import twin_of

import dforest
from dforest.estimators.data.preferences import feature_preferences, gain_factors
from dforest.testing import coding

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 1.0, np.nextafter(np.float32(1), np.float32(2)), 3e38, -3e38]


@st.composite
def problems(draw):
    """A data set and parameters of a small forest, with everything that makes ties and corner cases."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    kind = draw(st.sampled_from(["few values", "continuous", "special", "mixed"]))
    X = rng.standard_normal((n, p)).astype(dtype)
    if kind != "continuous":
        X = np.round(X * draw(st.sampled_from([1, 2, 5]))).astype(dtype)
    if kind in ("special", "mixed"):
        where = rng.random((n, p)) < (0.6 if kind == "special" else 0.15)
        X[where] = rng.choice(np.array(SPECIAL, dtype), where.sum())
    if draw(st.booleans()):
        X[:, rng.integers(p)] = X[0, 0]                      # a constant column
    if draw(st.booleans()):                                  # columns that are constant below the root
        X[:, rng.random(p) < 0.7] = rng.integers(0, 2, (n, 1))
    kinds = draw(st.sampled_from(["numbers", "numbers", "all"]))
    kinds = rng.integers(0, 3, p) if kinds == "all" else np.zeros(p, int)
    for j in np.flatnonzero(kinds == 2):                     # few categories, or more than fit a word
        X[:, j] = rng.integers(0, rng.choice([2, 5, 12, 150]), n)
        X[rng.random(n) < rng.choice([0, 0.2]), j] = np.nan
    criterion = draw(st.sampled_from(["gini", "entropy", "squared_error", "poisson", "absolute_error"]))
    if criterion not in ("gini", "entropy"):
        y = rng.standard_normal(n) + np.nan_to_num(X[:, 0], posinf=3, neginf=-3).clip(-5, 5)
        if draw(st.booleans()):
            y = np.round(y)
        if draw(st.booleans()):
            y[rng.integers(n)] = draw(st.sampled_from([1e10, -1e300, 1e-300]))
        if criterion == "poisson":
            y = np.maximum(y, 0) if draw(st.booleans()) else np.abs(y)
            y[rng.integers(n)] += 1
    else:
        y = rng.integers(0, draw(st.integers(1, 4)), n)
    weight = draw(st.sampled_from(["none", "integers", "floats", "one heavy", "huge"]))
    sample_weight = {
        "none": None,
        "integers": rng.integers(1, 5, n).astype(float),
        "floats": rng.random(n) + 1e-3,
        "one heavy": np.where(np.arange(n) == 0, 1e12, 1.0),
        "huge": (rng.integers(1, 2**31, n) * 2.0**300),
    }[weight]
    if draw(st.sampled_from([False, False, True])):          # pairs of rows of two targets: no cut scores above 0
        X, n = np.repeat(X, 2, axis=0), 2 * n
        y = np.tile([1, 2] if criterion in ("gini", "entropy") else [1.0, 2.0], n // 2)
        sample_weight = None if sample_weight is None else np.repeat(sample_weight, 2)
    parameters = {
        "criterion": criterion,
        "method": draw(st.sampled_from(["hist", "dense"])),
        "max_bins": draw(st.sampled_from([2, 3, 5, 256])),
        "max_features": draw(st.integers(1, p)),
        "skip_constant_features": draw(st.booleans()),
        "max_depth": draw(st.sampled_from([None, 1, 3])),
        "min_samples_split": draw(st.sampled_from([2, 5])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 4])),
        "min_weight_fraction_leaf": draw(st.sampled_from([0.0, 0.0, 0.1])),
        "min_impurity_decrease": draw(st.sampled_from([0.0, 0.0, 0.01, 0.1])),
        "impurity_threshold": draw(st.sampled_from([0.0, 0.0, 0.3])),
        "max_leaf_nodes": draw(st.sampled_from([None, None, 2, 3, 6, 1000])),
        "splitter": draw(st.sampled_from(["best", "random"])),
        "bootstrap": draw(st.booleans()),
        "random_state": draw(st.integers(0, 2**31)),
        "n_jobs": draw(st.sampled_from([1, 2, 4])),
        "categorical_features": kinds == 2,
        "ordinal_features": kinds == 1,
        "categorical_split": draw(st.sampled_from(["subset", "subset", "one_hot"])),
        "monotonic_cst": None,
        "feature_weights": None,
        "always_split_features": None,
        "n_random_splits": 1,
        "regularization_factor": 1.0,
    }
    if draw(st.sampled_from([False, False, False, True])):
        parameters["feature_weights"] = np.append(rng.choice([0.0, 0.1, 1.0, 1e9], p - 1), 1.0) if draw(st.booleans()) else None
        parameters["always_split_features"] = rng.permutation(p)[: rng.integers(p + 1)]
    if draw(st.sampled_from([False, False, False, True])):
        parameters["regularization_factor"] = draw(st.sampled_from([0.9, 0.5, rng.choice([1.0, 0.9, 0.3, 1e-200], p)]))
        parameters["regularization_use_depth"] = draw(st.booleans())
    if parameters["splitter"] == "random":
        parameters["n_random_splits"] = draw(st.sampled_from([1, 1, 1, 2, 5]))
    if draw(st.booleans()) and (len(set(y.tolist())) <= 2 or criterion not in ("gini", "entropy")):
        parameters["monotonic_cst"] = np.where(kinds == 2, 0, rng.integers(-1, 2, p))
    if parameters["bootstrap"] and criterion != "absolute_error" and draw(st.booleans()):
        parameters["categorical_split"] = "order"
    if parameters["bootstrap"]:
        parameters["max_samples"] = draw(st.sampled_from([None, 0.5, 1]))
        n = {None: n, 0.5: max(1, round(0.5 * n)), 1: 1}[parameters["max_samples"]]
    parameters["min_samples_leaf"] = min(parameters["min_samples_leaf"], n)
    return X, y, sample_weight, parameters


def encoded(x):
    """Category numbers of a column, as estimators give them."""
    present = ~np.isnan(x)
    numbers = x.copy()
    numbers[present] = np.unique(x[present], return_inverse=True)[1]
    return numbers


@pytest.mark.parametrize("extreme", ["default", "count always", "count by bitmaps always", "insertion sort always",
                                     "radix sort always", "portable loops", "share everything"])
@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_every_node_is_that_of_the_twin(tuning, assert_twin, extreme, problem):
    X, y, sample_weight, parameters = problem
    is_classifier = parameters["criterion"] in ("gini", "entropy")
    kind = dforest.RandomForestClassifier if is_classifier else dforest.RandomForestRegressor
    with tuning(extreme):
        model = kind(n_estimators=2, **parameters).fit(X, y, sample_weight)
    forest = model.forest_
    feature_weights, always_tried = feature_preferences(model, X.shape[1])
    factors = gain_factors(model, X.shape[1])
    names = ("criterion", "method", "max_bins", "max_depth", "min_samples_split", "min_samples_leaf",
             "min_weight_fraction_leaf", "min_impurity_decrease", "impurity_threshold", "max_leaf_nodes", "splitter",
             "max_features", "skip_constant_features", "categorical_split", "monotonic_cst", "n_random_splits")
    n_categories = forest.n_categories.tolist()
    X = np.stack([encoded(x) if n_codes else x for x, n_codes in zip(X.T, n_categories, strict=True)], axis=1)
    classes = np.unique(y, return_inverse=True)[1] if is_classifier else y
    for t in range(2):
        twin = naive.flatten(
            naive.grow_tree(X, classes, sample_weight=sample_weight, n_classes=forest.objective.n_classes,
                            sampling=twin_of(forest.plans[t]), seed=forest.seeds[t], n_categories=n_categories,
                            ordinal=parameters["ordinal_features"], always_tried=always_tried,
                            feature_weights=None if feature_weights is None else feature_weights.tolist(),
                            regularization_factors=None if factors is None else factors.tolist(),
                            regularization_use_depth=model.regularization_use_depth,
                            **{name: parameters[name] for name in names}),
            X.dtype,
        )
        assert_twin(forest, t, twin)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 80), st.integers(2, 12), st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_bins_are_those_of_the_twin(seed, n, max_codes, weighted, dtype):
    from dforest.core.coding import code_columns

    rng = np.random.default_rng(seed)
    x = np.round(rng.standard_normal(n) * rng.choice([1, 3, 100])).astype(dtype)
    x[rng.random(n) < rng.choice([0, 0.2])] = rng.choice(np.array(SPECIAL, dtype))
    weight = rng.integers(1, rng.choice([3, 50]), n).astype(np.uint32) if weighted else None
    for most in (0, max_codes):
        column = code_columns(x[:, None], most, weight)[0]
        codes, values, lows, highs, has_missing = coding.code_column(x, most, weight)
        np.testing.assert_array_equal(column.lows, lows)
        np.testing.assert_array_equal(column.highs, highs)
        np.testing.assert_array_equal(column.values, values)
        np.testing.assert_array_equal(column.codes, codes)
        assert column.has_missing == has_missing
        assert column.values.dtype == x.dtype
        if most:
            assert len(column.values) + has_missing <= most


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=20) | st.lists(st.integers(1, 2**31), min_size=1, max_size=9))
def test_weights_and_targets_are_quantised_as_by_the_twin(numbers):
    from dforest.core.integer_weights import integer_weights
    from dforest.core.search.regression import quantise

    numbers = np.array(numbers, np.float64)
    weight, unit, exact = integer_weights(numbers)
    expected, expected_unit = coding.integer_weights(numbers)
    assert weight.tolist() == expected.tolist() and unit == expected_unit
    in_units = coding.Weights(numbers, len(numbers)).exact
    assert (exact is None) == (in_units is None)
    if exact is not None:
        assert [Fraction(x) / 2**992 for x in exact.tolist()] == in_units
    target, _, exponent = quantise(numbers)
    expected, scale = coding.quantise(numbers)
    assert target.tolist() == expected and exponent == scale.exponent
