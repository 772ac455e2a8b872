"""Worked examples of the rules of cuts (rules/cut.h), and each against plain Python."""

import numpy as np
import pytest
from probes import rules as probe

from dforest.rules import arrays
from dforest.rules.records import constants, record


def rules_of(min_draws, min_weight):
    rules = np.zeros(1, record("df_leaf_rules"))
    rules["min_draws"], rules["min_weight"] = min_draws, min_weight
    return rules


# What is valid ---------------------------------------------------------------------------------------


def test_valid_cuts_of_a_node_of_ten_draws():
    total, left = np.array([10, 40, 7]), np.array([[1, 9, 0], [3, 10, 2], [7, 31, 2], [8, 32, 3]])
    assert probe.are_valid(rules_of(3, 0.0), left, total).tolist() == [False, True, True, False]
    assert probe.valid_run(rules_of(3, 0.0), left, total) == slice(1, 3)
    # A weight of 9.5 on the left and on the right: 31 leaves 9.
    assert probe.are_valid(rules_of(1, 9.5), left, total).tolist() == [False, True, False, False]
    assert probe.valid_run(rules_of(1, 9.0), left, total) == slice(0, 3)
    assert probe.valid_run(rules_of(6, 0.0), left, total) == slice(2, 2)


def test_valid_runs_of_random_cuts():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 9))
        left = np.cumsum(rng.integers(0, 4, (n, 2)), axis=0)
        total = left[-1] + rng.integers(0, 4, 2)
        min_draws, min_weight = int(rng.integers(1, 6)), float(rng.integers(0, 12)) / 2
        right = total - left
        expected = [
            min(left[i, 0], right[i, 0]) >= min_draws and min(left[i, 1], right[i, 1]) >= min_weight for i in range(n)
        ]
        rules = rules_of(min_draws, min_weight)
        assert probe.are_valid(rules, left, total).tolist() == expected
        run = probe.valid_run(rules, left, total)
        assert expected == [run.start <= i < run.stop for i in range(n)]


# What is allowed -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("monotonic_cst", "allowed"), [(0, [True, True, True, True, True]), (1, [True, False, True, False, False]),
                                   (-1, [False, True, True, False, False])]
)  # fmt: skip
def test_bounds_and_directions(monotonic_cst, allowed):
    left, right = np.array([2.0, 5.0, 3.0, 0.5, 4.0]), np.array([4.0, 1.0, 3.0, 2.0, 5.5])
    assert probe.are_allowed(1.0, 5.0, monotonic_cst, left, right).tolist() == allowed


# Which is taken --------------------------------------------------------------------------------------

NONE = (-1.0, 0, 0, 0)  # score, imbalance, place, n_left: as of every cut here


@pytest.mark.parametrize(
    ("left", "right", "goes_left"),
    [
        ((6.0, 0, 2, 6), (5.0, 0, 1, 6), True),  # the higher score
        ((5.0, 0, 1, 6), (6.0, 0, 2, 6), False),
        ((5.0, 0, 1, 6), (5.0, 0, 2, 6), True),  # of equal ones the lower cut
        ((5.0, 0, 2, 6), (5.0, 0, 2, 6), False),  # of equal cuts the one with the missing values on the right
        ((0.0, 3, 9, 6), (0.0, 4, 1, 6), True),  # of cuts that score 0 the evener
        ((0.0, 4, 1, 6), (0.0, 3, 9, 6), False),
        ((0.0, 4, 1, 6), NONE, True),
        (NONE, (0.0, 4, 1, 6), False),
        (NONE, NONE, False),
    ],
)
def test_side_of_missing_values(left, right, goes_left):
    assert probe.missing_side(left, right, 2, 20) == (goes_left, False)


def test_without_missing_values_they_go_with_more_draws():
    assert probe.missing_side(NONE, (5.0, 0, 1, 6), 0, 12) == (False, False)
    assert probe.missing_side(NONE, (5.0, 0, 1, 7), 0, 12) == (True, False)


def test_missing_values_against_the_rest():
    assert probe.missing_side(NONE, (5.0, 0, 1, 10), 2, 12) == (False, True)
    assert probe.missing_side(NONE, (5.0, 0, 1, 9), 2, 12) == (False, False)
    assert probe.missing_side((6.0, 0, 1, 10), (5.0, 0, 1, 10), 2, 12) == (True, False)


# Thresholds ------------------------------------------------------------------------------------------


def nodes_of(**fields):
    nodes = np.zeros(1, record("df_grown"))
    for name, value in fields.items():
        nodes[name] = value
    return nodes


@pytest.fixture
def columns():
    """Ten bins; ten ordinal values; categories; keys."""
    columns = np.zeros(4, record("df_column"))
    columns["first"] = 0, 10, 20, 30
    columns["n_codes"] = 10, 10, 10, 2
    columns["kind"] = [constants()[f"DF_{kind}"] for kind in ("CONTINUOUS", "ORDINAL", "CATEGORICAL", "CONTINUOUS")]
    columns["key_bits"] = 0, 0, 0, 32
    return columns


VALUES, HIGHS = np.arange(31.0), np.arange(31.0) + 100.0


@pytest.mark.parametrize(
    ("node", "is_random", "threshold"),
    [
        (dict(feature=-1), False, 0.0),
        (dict(feature=0, code=3, above=4), False, 3.0),
        (dict(feature=0, code=3, above=8), False, 5.0),  # of the edges 3, ..., 7 the one in the middle
        (dict(feature=0, code=3, above=7), False, 4.0),  # of two the lower one
        (dict(feature=0, code=3, above=10), False, 6.0),  # above: none
        (dict(feature=0, code=3), True, 3.0),
        (dict(feature=1, code=3, above=8), False, 117.0),  # the value before the lowest on the right
        (dict(feature=1, code=3), True, 113.0),
        (dict(feature=0, code=9, above=10, only_missing=1), False, np.inf),
        (dict(feature=3, code=77, threshold=0.25), True, 0.25),
        (dict(feature=3, code=77, threshold=0.25, only_missing=1), True, np.inf),
        (dict(feature=2, code=3, above=4), False, np.nan),
    ],
)
def test_thresholds(columns, node, is_random, threshold):
    where = arrays.where_thresholds_are(is_random, False)
    found = arrays.thresholds(nodes_of(**node), columns, where, VALUES, HIGHS)
    np.testing.assert_array_equal(found, [threshold])


@pytest.mark.parametrize(
    ("node", "threshold"),
    [
        (dict(feature=0, code=3, above=8), 5.5),  # in the middle of the values, not at an edge
        (dict(feature=1, code=3, above=8), 117.0),
        (dict(feature=0, code=9, above=10, only_missing=1), np.inf),
        (dict(feature=2, code=3, above=4), np.nan),
    ],
)
def test_thresholds_between_values(columns, node, threshold):
    found = arrays.thresholds(nodes_of(**node), columns, arrays.where_thresholds_are(False, True), VALUES, HIGHS)
    np.testing.assert_array_equal(found, [threshold])
