"""Worked examples of the rules of nodes (rules/node.h), and each against plain Python."""

from math import ldexp

import numpy as np
import pytest
from probes import rules as probe

from dforest.engines.problem import GrowthRules
from dforest.rules import arrays
from dforest.rules.losses import exact_mean
from dforest.rules.records import constants, record
from dforest.testing import streams
from dforest.testing.coding import mean_target, scale_exponent


def places_of(**fields):
    """Nodes with these fields."""
    places = np.zeros(len(next(iter(fields.values()))), record("df_open_node"))
    for name, values in fields.items():
        places[name] = values
    return places


# Statistics ------------------------------------------------------------------------------------------


def draws_of(count, target, weight):
    draws = np.zeros(len(count), record("df_record"))
    draws["count"], draws["target"], draws["weight"] = count, target, weight
    return draws


def test_a_statistic_is_the_sum_over_draws():
    draws = draws_of([3, 1], [1, 0], [2, 5])
    assert probe.sum_draws(constants()["DF_CLASS_WEIGHTS"], draws, 4).tolist() == [4, 11, 5, 6]
    assert probe.sum_draws(constants()["DF_TARGET_SUM"], draws, 3).tolist() == [4, 11, 6]


@pytest.mark.parametrize("target", [5, -5, 2**31 - 1, -(2**31)])
def test_wide_sums_are_low_31_bits_and_the_rest(target):
    draws = draws_of([3], [target], [2**31 - 1])
    n, weight, low, high = probe.sum_draws(constants()["DF_TARGET_SUM_WIDE"], draws, 4).tolist()
    product = (2**31 - 1) * target
    assert (n, weight) == (3, 3 * (2**31 - 1))
    assert (low, high) == (3 * (product % 2**31), 3 * (product // 2**31))


def test_nodes_of_one_class():
    assert arrays.have_one_class(np.array([[5, 5, 5, 0], [5, 5, 2, 3], [2, 9, 0, 9]])).tolist() == [True, False, True]


# Leaves ----------------------------------------------------------------------------------------------


def test_limits_of_an_estimator():
    limits = GrowthRules(max_depth=None, min_samples_leaf=0, min_samples_split=7).limits(100)[0]
    assert (limits["max_depth"], limits["min_samples_leaf"], limits["min_samples_split"]) == (100, 1, 7)
    assert GrowthRules(max_depth=300).limits(100)["max_depth"] == 100


@pytest.mark.parametrize(
    ("rules", "first", "second"),
    [
        ({"max_depth": 3}, dict(depth=2), dict(depth=3)),
        ({"min_samples_split": 6}, dict(n=6), dict(n=5)),
        ({"min_samples_leaf": 3}, dict(n=6), dict(n=5)),
        ({"min_weight_fraction_leaf": 0.1}, dict(weight=20), dict(weight=19)),
    ],
)
def test_a_node_at_a_limit_and_one_past_it(rules, first, second):
    nodes = [{"depth": 0, "n": 50, "weight": 60} | case for case in (first, second)]
    places = places_of(depth=[node["depth"] for node in nodes], root_weight=[100, 100])
    totals = np.array([[node["n"], node["weight"], 1, 1] for node in nodes])
    assert arrays.are_leaves(GrowthRules(**rules).limits(1000), places, totals).tolist() == [False, True]


def test_a_decrease_at_the_limit_is_enough():
    limits = GrowthRules(min_impurity_decrease=0.25).limits(9)
    weights = np.array([8.0, 8.0])
    units, scores = np.zeros(2, np.int32), np.array([2.0, np.nextafter(2.0, 0.0)])
    assert arrays.decrease_enough(limits, scores, units, weights).tolist() == [True, False]
    assert arrays.decrease_enough(limits, scores * 2.0**-1000, units + 1000, weights).tolist() == [True, False]
    assert arrays.decrease_enough(GrowthRules().limits(9), np.array([0.0, -1.0]), units, weights).all()
    largest = GrowthRules(min_impurity_decrease=1e308).limits(9)  # which a weight times a decrease may exceed
    assert arrays.decrease_enough(largest, np.array([4.0, 3.0]), units + 1024, weights).tolist() == [False, False]
    assert arrays.decrease_enough(largest, np.array([5.0, 8.0]), units + 1024, weights).tolist() == [True, True]


def test_units_of_scores():
    of_targets, of_weights = np.array([2, -1], np.int32), np.zeros(2, np.int32)
    numbers = constants()
    assert arrays.absolute_exponents(numbers["DF_GINI"], of_targets, of_weights).tolist() == [0, 0]
    assert arrays.absolute_exponents(numbers["DF_SQUARED_ERROR"], of_targets, of_weights).tolist() == [-4, 2]
    assert arrays.absolute_exponents(numbers["DF_POISSON"], of_targets, of_weights).tolist() == [-2, 1]
    assert arrays.absolute_exponents(numbers["DF_ABSOLUTE_ERROR"], of_targets, of_weights).tolist() == [-2, 1]
    assert arrays.absolute_exponents(numbers["DF_GINI"], of_targets, np.array([0, 4], np.int32)).tolist() == [0, -4]


def test_a_node_below_the_threshold_is_pure_enough():
    impurities = np.array([0.25, np.nextafter(0.25, 0.0), 0.0])
    assert arrays.are_pure_enough(GrowthRules(impurity_threshold=0.25).limits(9), impurities).tolist() == [False, True, True]
    assert not arrays.are_pure_enough(GrowthRules().limits(9), impurities).any()


# Children --------------------------------------------------------------------------------------------


def test_children_of_a_node():
    places = places_of(first=[10], n=[7], key=[arrays.ROOT_KEY], depth=[4], root_weight=[90], seed=[5])
    left, right = arrays.children(places, np.array([3]), np.array([0], np.int32), np.array([3.0]))
    assert (left["first"], left["n"], right["first"], right["n"]) == (10, 3, 13, 4)
    assert left["depth"] == right["depth"] == 5
    assert (left["root_weight"], left["seed"]) == (90, 5)
    assert [int(child["key"]) for child in (left, right)] == [streams.child_key(streams.ROOT_KEY, side) for side in (0, 1)]


@pytest.mark.parametrize(
    ("monotonic_cst", "bounds"), [(1, [(0, 3), (3, 8)]), (-1, [(3, 8), (0, 3)]), (0, [(0, 8), (0, 8)])]
)
def test_bounds_of_children(monotonic_cst, bounds):
    places = places_of(n=[2], lower=[0.0], upper=[8.0])
    found = arrays.children(places, np.array([1]), np.array([monotonic_cst], np.int32), np.array([3.0]))
    assert [(child["lower"], child["upper"]) for child in found] == bounds


def test_each_node_has_its_own_children():
    places = places_of(first=[0, 5], n=[5, 9])
    found = arrays.children(places, np.array([1, 8]), np.zeros(2, np.int32), np.zeros(2))
    assert found["first"].tolist() == [0, 1, 5, 13]
    assert found["n"].tolist() == [1, 4, 8, 1]


# Scales ----------------------------------------------------------------------------------------------


def test_nodes_that_need_another_scale():
    # A range of 4 is 1 / 256 of 1024: not below it. One target needs none; equal integers need a look at the targets.
    places = places_of(n=[9, 9, 9, 1])
    places["scale"]["range"] = [1024, 1025, 8, 8]
    extents = np.array([[-2, 2], [-2, 2], [3, 3], [3, 3]])
    assert arrays.are_narrow(places, extents).tolist() == [False, True, True, False]


def test_scales_of_worked_examples():
    # 7.5 * 2 is 15, below 2**4; 7.75 * 2 is rounded to 16, which is not; 0.25 * 2**5 is 8.
    centres, exponents = arrays.choose_scales(np.array([[-7.5, 7.5], [0.0, 15.5], [1.0, 1.5]]), 4)
    assert centres.tolist() == [0.0, 7.75, 1.25]
    assert exponents.tolist() == [1, 0, 5]


@pytest.mark.parametrize("bits", [31, 62])
def test_scales_like_the_twin(bits):
    rng = np.random.default_rng(bits)
    extents = np.sort(rng.normal(size=(200, 2)) * 2.0 ** rng.integers(-400, 400, (200, 1)), axis=1)
    centres, exponents = arrays.choose_scales(extents, bits)
    for (lo, hi), centre, exponent in zip(extents.tolist(), centres.tolist(), exponents.tolist(), strict=True):
        assert centre == 0.5 * lo + 0.5 * hi
        assert exponent == scale_exponent(max(hi - centre, centre - lo), bits)


def test_integers_of_targets():
    assert probe.quantise(np.array([1.0, 1.25, 1.5]), 1.25, 2).tolist() == [-1, 0, 1]
    # 2.0 ** 1100 is beyond float64.
    tiny = np.array([0.0, 5e-324, -5e-324])
    assert probe.quantise(tiny, 0.0, 1100).tolist() == [0, 2**26, -(2**26)]


def test_integers_of_random_targets():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500) * 2.0 ** rng.integers(-60, 60)
    (centre,), (exponent,) = arrays.choose_scales(np.array([[y.min(), y.max()]]))
    expected = [round(ldexp(value - centre, int(exponent))) for value in y.tolist()]  # to even, as rint
    assert probe.quantise(y, centre, exponent).tolist() == expected
    assert 2**30 <= max(map(abs, expected)) < 2**31


def test_means_of_targets():
    # Integers 1 and 2 of weight 1 and 3 mean 7 / 4, in units of 2**-2 from 10 on; in two words, the higher one is 2**31 each.
    assert probe.mean_targets(np.array([[2, 4, 7]]), False, 10.0, 2).tolist() == [10.4375]
    assert probe.mean_targets(np.array([[2, 4, 7, 0], [2, 4, 8, 1]]), True, 10.0, 2).tolist() == [10.4375, 10.5 + 2.0**27]


# Leaves' values --------------------------------------------------------------------------------------


def test_values_of_leaves():
    ones = np.ones(3, np.uint32)
    assert exact_mean(np.array([1.0, 2.0, 6.0]), ones) == 3.0
    assert exact_mean(np.array([1.0, 2.0, 6.0]), np.array([4, 1, 1], np.uint32)) == 2.0
    assert exact_mean(np.array([0.1, 0.1, 0.1]), ones) == 0.1  # though 0.1 + 0.1 + 0.1 > 0.3
    assert exact_mean(np.array([-1.7e308, 1.7e308]), ones[:2]) == 0.0


def test_values_of_random_leaves_like_the_twin():
    rng = np.random.default_rng(1)
    for n in range(1, 40):
        y, weight = rng.normal(size=n) * 2.0 ** rng.integers(-300, 300), rng.integers(1, 1000, n).astype(np.uint32)
        assert exact_mean(y, weight) == mean_target(y.tolist(), weight.tolist())
