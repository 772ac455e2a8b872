"""A worked example of the order of features (rules/feature_order.h), and more against plain Python."""

import numpy as np
import pytest
from helpers.device_forests import standing_in
from helpers.host_device import strict_device
from scipy import stats
from twins import splits

from dforest import RandomForestClassifier
from dforest.core.search.feature_order import FeatureOrder
from dforest.testing import streams


class Chosen(streams.Stream):
    """Random places that are chosen, in place of random ones."""

    def __init__(self, *places):
        self.places = iter(places)

    def below(self, n):
        return next(self.places)


def test_four_features(monkeypatch):
    """The example of the header: place 2 of 0, ..., 3, then place 3 of 1, ..., 3."""
    monkeypatch.setattr(splits, "Stream", lambda *_: Chosen(2, 2, 0, 0))  # counted from where the draws so far end
    assert splits.feature_order(4, 0, 0) == [2, 3, 0, 1]


@pytest.mark.parametrize("n_features", [1, 2, 4, 37])
def test_orders_are_those_of_the_twin(n_features):
    order, rng = FeatureOrder(n_features), np.random.default_rng(n_features)
    for _ in range(50):
        seed, node_key = int(rng.integers(2**32)), int(rng.integers(2**64, dtype=np.uint64))
        expected = splits.feature_order(n_features, seed, node_key)
        n = int(rng.integers(n_features + 1))
        assert order.draw(seed, node_key, n) == expected[:n]
        first = int(rng.integers(n + 1))
        drawn = order.draw_each(np.array([seed], np.uint32), np.array([node_key], np.uint64), first, n - first)
        assert drawn.tolist() == [expected[first:n]]


@pytest.mark.parametrize("n_features", [4095, 4096, 4097, 5000, 8192, 70_001])
def test_many_features(n_features):
    """From 4096 on the order is a permutation; places are those of the twin, and `places` is its inverse."""
    order, rng = FeatureOrder(n_features), np.random.default_rng(n_features)
    for _ in range(2):
        seed, node_key = int(rng.integers(2**32)), int(rng.integers(2**64, dtype=np.uint64))
        expected = splits.feature_order(n_features, seed, node_key)
        assert sorted(expected) == list(range(n_features))
        assert order.draw(seed, node_key, 300) == expected[:300]
        assert order.draw(seed, node_key, n_features) == expected
        if n_features >= splits.MANY_FEATURES:
            assert [expected[place] for place in order.places(seed, node_key)] == list(range(n_features))
    if n_features < splits.MANY_FEATURES:
        with pytest.raises(ValueError, match="4095 features; allowed are 4096 or more"):
            order.places(0, 0)


def test_first_of_many_are_uniform():
    order = FeatureOrder(5000)
    drawn = np.array([order.draw(seed, streams.ROOT_KEY, 50) for seed in range(2000)])
    for by in (lambda j: j // 50, lambda j: j % 64):  # upper and lower bits, which are not all equally frequent
        expected = np.bincount(by(np.arange(5000)))
        found = np.bincount(by(drawn).ravel(), minlength=len(expected))
        assert stats.chisquare(found, expected / expected.sum() * found.sum()).pvalue > 1e-4
    first, second = drawn[:, 0] // 500, drawn[:, 1] // 500  # and of one another
    assert stats.chi2_contingency(np.histogram2d(first, second, bins=10)[0]).pvalue > 1e-4


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_many_features_on_a_device(splitter):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 4200)).astype(float), rng.integers(0, 2, 60)
    found = []
    for device in (None, "sycl"):
        forest = RandomForestClassifier(2, splitter=splitter, max_features=5, random_state=0, device=device)
        with standing_in(strict_device()):
            found.append(forest.fit(X, y).forest_.as_dict())
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], err_msg=name)
