"""Worked examples of the rules of categories (rules/categories.h), and each against plain Python."""

import numpy as np
import pytest
from probes import rules as probe
from twins import splits

from dforest.testing import streams


def test_mean_responses_of_classes():
    """Of the classes' weights 6, 8 and 8 the second is the largest one, and the first of two such."""
    statistics = np.array([[4, 8, 2, 2, 4], [6, 10, 3, 5, 2], [2, 4, 1, 1, 2]])
    total = statistics.sum(axis=0)
    assert total.tolist() == [12, 22, 6, 8, 8]
    responses = probe.mean_responses(statistics, total, True)
    assert responses.tolist() == [0.25, 0.5, 0.25]
    assert probe.order_categories(responses) == [0, 2, 1]  # of equal ones the lower category


def test_mean_responses_of_numbers():
    """Means of 5, -7 and 2 1/3, relative to that of the node, -4 / 9, rounded down: -1."""
    statistics = np.array([[2, 2, 10], [3, 3, -21], [4, 4, 7]])
    assert statistics.sum(axis=0).tolist() == [9, 9, -4]
    responses = probe.mean_responses(statistics, statistics.sum(axis=0), False)
    assert responses.tolist() == [12 / 2, -18 / 3, 11 / 4]
    assert probe.order_categories(responses) == [1, 2, 0]


def test_sums_of_two_words():
    """A sum is 2**31 times the second word and the first one."""
    one = np.array([[2, 2, 10, 0], [3, 3, -21, 0]])
    two = np.array([[2, 2, 10 - (3 << 31), 3], [3, 3, -21 + (5 << 31), -5]])
    expected = probe.mean_responses(one, one.sum(axis=0), False, True)
    assert expected.tolist() == [8.0, -4.0]  # above -3
    assert probe.mean_responses(two, two.sum(axis=0), False, True).tolist() == expected.tolist()


def test_order_of_random_responses():
    rng = np.random.default_rng(0)
    for n in range(1, 30):
        responses = rng.integers(0, 8, n) / 8
        assert probe.order_categories(responses) == np.argsort(responses, kind="stable").tolist()


def test_a_random_category_or_subset():
    """A category alone goes left; of several, neither none nor all."""
    assert probe.draw_categories(1, 2, 3, False, 1).tolist() == [True]
    assert probe.draw_categories(1, 2, 3, True, 1).tolist() == [True]
    drawn = {tuple(probe.draw_categories(seed, 2, 3, False, 3).tolist()) for seed in range(200)}
    assert len(drawn) == 6
    assert {sum(probe.draw_categories(seed, 2, 3, True, 40)) for seed in range(200)} == {1}


@pytest.mark.parametrize("n", [2, 3, 31, 32, 33, 64, 65, 200])
@pytest.mark.parametrize("one_hot", [False, True])
def test_random_categories_are_those_of_the_twin(n, one_hot):
    for seed in range(30):
        stream = streams.Stream(seed, streams.feature_key(7 * seed, 5), streams.THRESHOLD)
        expected = [stream.below(n)] if one_hot else splits.random_subset(range(n), stream)
        assert np.flatnonzero(probe.draw_categories(seed, 7 * seed, 5, one_hot, n)).tolist() == expected
