"""A worked example of the edge nearest to a number (rules/edges.h), and more against plain Python."""

import numpy as np
import pytest
from probes import rules as probe


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_four_edges(dtype):
    edges = np.array([1, 2, 4, 8], dtype)
    x = np.array([0.0, 1.0, 1.25, 1.5, 2.5, 3.0, 3.5, 7.0])
    assert probe.nearest_edges(edges, 0, 2, x).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert probe.nearest_edges(edges, 1, 1, x).tolist() == [1] * 8
    assert probe.nearest_edges(edges, 1, 3, x).tolist() == [1, 1, 1, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 66, 127, 128, 129, 1000])
def test_nearest_edges(n, dtype):
    rng = np.random.default_rng(n)
    edges = np.unique(rng.integers(-4 * n, 4 * n, 2 * n).astype(dtype))[:n]
    for _ in range(20):
        first, last = sorted(rng.integers(len(edges), size=2).tolist())
        x = np.concatenate([rng.uniform(edges[0] - 1, edges[-1] + 1, 50).astype(dtype), edges[:50], edges[:50] + dtype(0.5)])
        x = x.astype(np.float64)
        distance = np.abs(edges[first : last + 1].astype(np.float64) - x[:, None])
        expected = last - np.argmin(distance[:, ::-1], axis=1)  # the upper one of two as near
        assert probe.nearest_edges(edges, first, last, x).tolist() == expected.tolist()


def test_edges_that_there_are():
    with pytest.raises(ValueError, match="first=1, last=2; allowed are numbers in this order, below 2"):
        probe.nearest_edges(np.arange(2.0), 1, 2, np.zeros(1))
