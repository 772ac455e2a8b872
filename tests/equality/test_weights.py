"""Integer weights are repeated rows; equal weights are none; scaling weights changes nothing."""

import numpy as np
import pytest

import dforest

KINDS = {
    "gini": dforest.RandomForestClassifier,
    "entropy": dforest.RandomForestClassifier,
    "squared_error": dforest.RandomForestRegressor,
}


def problem(seed, criterion):
    rng = np.random.default_rng(seed)
    n = 150
    X = np.round(rng.standard_normal((n, 5)), rng.integers(0, 3))
    X[rng.random((n, 5)) < 0.05] = np.nan
    y = rng.standard_normal(n) + np.nan_to_num(X[:, 0])
    return X, y if criterion == "squared_error" else np.digitize(y, [-0.5, 0.5]), rng.integers(0, 6, n)


@pytest.mark.parametrize("criterion", KINDS)
@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("seed", range(8))
def test_a_weight_is_a_row_repeated(seed, method, criterion, tree_nodes):
    X, y, weight = problem(seed, criterion)
    if seed > 5:                             # pairs of two targets: no cut scores above 0
        X, y, weight = np.repeat(X, 2, axis=0), np.tile([0, 1], len(y)), np.repeat(weight, 2)
    if seed % 2:
        weight = 2 * weight                  # all even: the integers they become are halved
    model = KINDS[criterion](
        n_estimators=3, criterion=criterion, method=method, max_bins=16, bootstrap=False, max_features=2, random_state=seed
    )
    weighted = model.fit(X, y, weight).forest_
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).forest_
    for t in range(3):
        a, b = tree_nodes(weighted, t), tree_nodes(repeated, t)
        a["weight"] = (a["weight"] * weighted.weight_unit[t]).astype(np.int64)
        assert a.pop("subsets") == b.pop("subsets")
        for name in a:
            if name == "draws":
                continue                     # rows against their copies
            if name == "missing_left":
                # Where a node has no missing value, they go with the side of more draws.
                continue
            assert a[name].tobytes() == b[name].tobytes(), name


@pytest.mark.parametrize("criterion", KINDS)
@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("integers", [True, False])
def test_scaling_by_a_power_of_two(integers, method, criterion, assert_equal):
    X, y, weight = problem(0, criterion)
    weight = weight if integers else np.random.default_rng(1).random(len(y))
    model = KINDS[criterion](n_estimators=3, criterion=criterion, method=method, max_bins=16, random_state=0)
    first = model.fit(X, y, weight).forest_
    for j in (-600, -1, 1, 5, 400):
        again = KINDS[criterion](**model.get_params()).fit(X, y, np.ldexp(weight.astype(float), j))
        assert (again.forest_.weight_unit == first.weight_unit * 2.0**j).all()
        assert_equal(model, again, j)


@pytest.mark.parametrize("criterion", KINDS)
def test_rows_of_weight_zero_are_not_there(criterion, assert_equal):
    X, y, weight = problem(0, criterion)
    model = KINDS[criterion](n_estimators=3, criterion=criterion, random_state=0)
    with_zeros = KINDS[criterion](**model.get_params()).fit(X, y, weight)
    assert_equal(model.fit(X[weight > 0], y[weight > 0], weight[weight > 0]), with_zeros)


@pytest.mark.parametrize("criterion", KINDS)
@pytest.mark.parametrize("factor", [4.0, 3.0, 0.1, 1 / 150, 1e-300, 1e300])
def test_equal_weights_are_no_weights(criterion, factor, assert_equal):
    X, y, times = problem(3, criterion)
    times[0] = 16  # with a least weight of 1 or more, the heaviest is no small multiple of any other number
    settings = {"n_estimators": 3, "criterion": criterion, "random_state": 0, "oob_score": True, "variable_importance": "mda_raw"}
    for weight in (np.ones(len(y)), times):
        model = KINDS[criterion](**settings).fit(X, y, weight)
        other = KINDS[criterion](**settings).fit(X, y, weight * factor)
        assert_equal(model, other)
        assert np.array_equal(model.feature_importances_, other.feature_importances_)
        assert np.array_equal(model.oob_curve_, other.oob_curve_)
        np.testing.assert_allclose(other.forest_.weight_unit, factor, rtol=1e-15)
        if (weight == 1).all():
            assert_equal(model, KINDS[criterion](**settings).fit(X, y))
