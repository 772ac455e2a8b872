"""Integer weights are repeated rows; equal weights are none; weights times a constant change nothing."""

import numpy as np
import pytest
from helpers import device_forests
from helpers.host_device import strict_device
from helpers.ranks import Cut, fit_by_ranks
from sklearn.base import clone

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


def real_weights(n):
    """Numbers that are no multiples of a common one, for whose products with 3, 7 and 1000 there are bits enough."""
    return np.floor(np.random.default_rng(1).uniform(0.1, 3, n) * 2**40) / 2**40


def fits_of_weights():
    """(name, estimator, X, y) of fits that weights decide."""
    X, y, _ = problem(1, "squared_error")
    classes = np.digitize(y, [-0.5, 0.5])
    for draws in (True, "weighted"):
        parameters = {"n_estimators": 5, "bootstrap": draws, "random_state": 0}
        yield f"numbers, {draws}", dforest.RandomForestRegressor(**parameters), X, y
        yield f"medians, {draws}", dforest.RandomForestRegressor(criterion="absolute_error", **parameters), X, y
        yield f"classes, {draws}", dforest.RandomForestClassifier(method="dense", **parameters), X, classes
        yield f"best first, {draws}", dforest.ExtraTreesRegressor(max_leaf_nodes=20, **parameters), X, y
    balanced = {"n_estimators": 5, "class_weight": "balanced_subsample", "random_state": 0}
    yield "balanced draws", dforest.RandomForestClassifier(**balanced), X, classes
    yield "outliers", dforest.IsolationForest(5, random_state=0), X, None
    parameters = {"max_iter": 5, "min_sum_hessian_in_leaf": 0, "min_samples_leaf": 5, "defaults": "scikit-learn"}
    for loss in ("squared_error", "huber"):
        yield f"boosted, {loss}", dforest.HistGradientBoostingRegressor(loss, **parameters), X, y
    yield "boosted classes", dforest.HistGradientBoostingClassifier(**parameters), X, classes


FITS = {name: given for name, *given in fits_of_weights()}
OF_TREES = ("node_offsets", "feature", "threshold", "missing_left")


@pytest.mark.parametrize("factor", [3, 7, 1000.0, 0.1, 1 / 3])
@pytest.mark.parametrize("name", FITS)
def test_weights_times_a_constant(name, factor):
    """Weights times a constant give the trees of the weights, to the bit where no product is rounded.

    Where weights are chances of being drawn, the draws are equal, too.
    """
    model, X, y = FITS[name]
    weight = real_weights(len(X))
    predict = next(getattr(model, method) for method in ("predict_proba", "score_samples", "predict") if hasattr(model, method))
    first, of_first = model.fit(X, y, weight).forest_.as_dict(), predict(X)
    again, of_again = model.fit(X, y, weight * factor).forest_.as_dict(), predict(X)
    is_rounded = factor < 1 or "balanced" in name  # products with the weights of classes are
    for key in OF_TREES if is_rounded else set(first) - {"weight_unit", "inner"}:
        assert first[key].tobytes() == again[key].tobytes(), key
    np.testing.assert_allclose(of_again, of_first, rtol=1e-12)


@pytest.mark.parametrize("name", ["numbers, weighted", "numbers, True", "outliers", "boosted, huber"])
def test_weights_times_a_constant_on_ranks_and_devices(name):
    model, X, y = FITS[name]
    weight = real_weights(len(X))
    targets = np.zeros(len(X)) if y is None else y
    expected = model.fit(X, y, weight).forest_.as_dict()
    models = fit_by_ranks(model, X, targets, weight * 7, Cut(np.array([0, 40, 150]), np.arange(2)), 2)
    if y is not None:
        with device_forests.standing_in(strict_device()):
            models.append(clone(model).set_params(device="gpu").fit(X, y, weight * 7))
    for other in models:
        found = other.forest_.as_dict()
        for key in set(found) - {"weight_unit", "inner"}:
            assert found[key].tobytes() == expected[key].tobytes(), key


@pytest.mark.parametrize("factor", [0.1, 1 / 7, 1e-3])
def test_many_multiples_of_a_number_are_counts(factor, assert_equal):
    """Weights whose least one is several hundred times a number, such as hours in days."""
    X, y, _ = problem(1, "squared_error")
    times = np.random.default_rng(2).integers(300, 5000, len(y)).astype(float)
    for draws in (True, "weighted"):
        model = dforest.RandomForestRegressor(3, bootstrap=draws, random_state=0).fit(X, y, times)
        assert_equal(model, dforest.RandomForestRegressor(3, bootstrap=draws, random_state=0).fit(X, y, times * factor))
