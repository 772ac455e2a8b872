"""A worked example of the order of features (rules/feature_order.h), and more against plain Python."""

import numpy as np
import pytest

from dforest.core.search.feature_order import FeatureOrder
from dforest.testing import splits, streams


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
        seed, path = int(rng.integers(2**32)), int(rng.integers(2**64, dtype=np.uint64))
        expected = splits.feature_order(n_features, seed, path)
        n = int(rng.integers(n_features + 1))
        assert order.draw(seed, path, n) == expected[:n]
        first = int(rng.integers(n + 1))
        drawn = order.draw_each(np.array([seed], np.uint32), np.array([path], np.uint64), first, n - first)
        assert drawn.tolist() == [expected[first:n]]
