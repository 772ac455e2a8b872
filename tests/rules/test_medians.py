"""Worked examples of the rules of absolute error (rules/medians.h), and more against plain Python."""

from math import inf
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from probes import rules as probe

from dforest.testing.coding import median_target
from dforest.testing.scores import absolute_cost, lower_median

WEIGHTS = st.one_of(st.integers(1, 4), st.integers(1, 2**57))
TARGETS = st.one_of(st.integers(-5, 5), st.integers(1 - 2**31, 2**31 - 1))


def spread(target, weight):
    return probe.spread(np.array(target, np.int32), np.array(weight, np.int64))


def midpoint(y, weight):
    return probe.middle_of_medians(np.array(y, np.float64), np.array(weight, np.int64))


def test_three_draws():
    assert spread([2, 5, 9], [1, 1, 1]) == (5, 7)
    assert spread([2, 5, 9], [2, 1, 1]) == (2, 10)
    assert midpoint([2, 5, 9], [1, 1, 1]) == 5
    assert midpoint([2, 5, 9], [2, 1, 1]) == 3.5


@given(st.lists(st.tuples(TARGETS, WEIGHTS), min_size=1, max_size=12))
def test_medians_and_costs_are_those_of_the_twin(draws):
    draws = sorted(draws)
    twin = [SimpleNamespace(count=1, target=target, weight=weight) for target, weight in draws]
    assert spread(*zip(*draws, strict=True)) == (lower_median(twin), absolute_cost(twin))


@given(st.dictionaries(st.floats(-inf, inf, allow_infinity=False).map(lambda y: y + 0.0), WEIGHTS, min_size=1, max_size=12))
def test_leaves_are_those_of_the_twin(weights):
    y = sorted(weights)
    assert midpoint(y, [weights[v] for v in y]) == median_target(y, [weights[v] for v in y])


def test_keys_of_targets():
    target = np.array([1 - 2**31, -1, 0, 1, 2**31 - 1], np.int32)
    keys, back = probe.target_keys(target)
    assert keys == sorted(keys) and keys[0] > 0 and back == target.tolist()
