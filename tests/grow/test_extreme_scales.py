"""Trees with a limit on leaves do not depend on the unit of y: scores beyond the range of float64 order nodes as others do."""

import numpy as np
import pytest
from helpers import device_forests
from helpers.host_device import strict_device
from helpers.ranks import Cut, fit_by_ranks

from dforest import DecisionTreeRegressor, HistGradientBoostingRegressor, RandomForestRegressor

HALVES = Cut(np.array([0, 75, 150]), np.arange(2))


def problem(n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.round((rng.normal(size=n) * 0.3 + X[:, 0]) * 1024) / 1024 + 8


def assert_same_trees(forest, other, exponent):
    np.testing.assert_array_equal(forest.feature, other.feature)
    np.testing.assert_array_equal(forest.threshold, other.threshold)
    np.testing.assert_array_equal(np.ldexp(forest.leaf_value, exponent), other.leaf_value)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("exponent", [-1000, -600, 520, 700, 1000])
def test_best_first_knows_no_unit(criterion, exponent):
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0.1, 3, len(y))
    for method in ("hist", "dense"):
        model = RandomForestRegressor(2, criterion=criterion, method=method, max_leaf_nodes=20, random_state=0)
        assert_same_trees(model.fit(X, y, weight).forest_, model.fit(X, np.ldexp(y, exponent), weight).forest_, exponent)


@pytest.mark.parametrize("exponent", [-600, 520])
def test_nor_do_drivers(exponent):
    """Devices and ranks."""
    X, y = problem()
    model = RandomForestRegressor(2, max_leaf_nodes=20, random_state=0)
    scaled = np.ldexp(y, exponent)
    one = model.fit(X, y).forest_
    with device_forests.standing_in(strict_device()):
        there = RandomForestRegressor(2, max_leaf_nodes=20, random_state=0, device="gpu").fit(X, scaled)
        assert_same_trees(one, there.forest_, exponent)
    for rank in fit_by_ranks(model, X, scaled, None, HALVES, 2):
        assert_same_trees(one, rank.forest_, exponent)


@pytest.mark.parametrize("exponent", [-900, -560, 490])
def test_boosted_trees_know_no_unit(exponent):
    """Where gains are rounded to 0, too, which are splits nevertheless."""
    X, y = problem()
    model = HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=7, early_stopping=False, random_state=0)
    for depth in (None, 3):
        model.set_params(max_depth=depth, max_leaf_nodes=7 if depth is None else None)
        one = model.fit(X, y).forest_
        assert (one.feature >= 0).sum() > 15
        assert_same_trees(one, model.fit(X, np.ldexp(y, exponent)).forest_, exponent)
    scaled = np.ldexp(y, exponent)
    for rank in fit_by_ranks(model, X, scaled, None, HALVES, 2):
        assert_same_trees(one, rank.forest_, exponent)


@pytest.mark.parametrize("exponent", [-600, 520])
def test_what_is_in_the_unit_of_y_saturates(exponent):
    """Limits of impurity below which, or above which, all impurities are; importances, which know no unit."""
    X, y = problem()
    scaled = np.ldexp(y, exponent)
    tree = DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(X, scaled)
    assert tree.get_n_leaves() == 9
    expected = DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(X, y).feature_importances_
    np.testing.assert_array_equal(tree.feature_importances_, expected)
    for name in ("min_impurity_decrease", "impurity_threshold", "ccp_alpha"):
        limited = DecisionTreeRegressor(random_state=0, **{name: 1e-300 if exponent < 0 else 1e300}).fit(X, scaled)
        assert (limited.get_n_leaves() == 1) == (exponent < 0), name
