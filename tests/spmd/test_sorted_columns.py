"""Sorted columns, their runs and places, and codes written by rules: against NumPy."""

import numpy as np
import pytest

from dforest.core.coding.code_rule import CodeRule, write_codes
from dforest.core.coding.sorted_keys import places_of, runs_of, sort_columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_columns_of_several_matrices_are_sorted(dtype, is_weighted):
    rng = np.random.default_rng(1)
    X = np.round(rng.standard_normal((3000, 4)), 2).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = np.nan
    weight = rng.integers(1, 2**31, 3000).astype(np.uint32) if is_weighted else None
    parts = [X[:1500], np.asfortranarray(X[1500:1500]), np.asfortranarray(X[1500:])]
    for j, column in zip([2, 0, 3], sort_columns(parts, [2, 0, 3], dtype, weight, 50), strict=True):
        x = X[:, j]
        there = ~np.isnan(x)
        order = np.argsort(x[there], kind="stable")
        assert np.array_equal(np.unique(column.keys, return_counts=True)[1], np.unique(x[there], return_counts=True)[1])
        assert (np.diff(column.keys.astype(np.float64)) >= 0).all()
        weights = (np.ones(3000, np.int64) if weight is None else weight.astype(np.int64))[there][order]
        if is_weighted:
            assert column.sums[-1:].tolist() == np.cumsum(weights)[-1:].tolist()
        totals = np.array([weights[x[there][order] == v].sum() for v in np.unique(x[there])])
        light = totals[totals <= weights.sum() // 50].astype(float)
        assert column.weight == weights.sum()
        assert column.n_distinct == len(totals)
        assert column.has_missing
        if len(light):
            assert column.jump == pytest.approx((light**2).sum() / light.sum())


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_runs_and_places(dtype):
    rng = np.random.default_rng(2)
    for _ in range(50):
        n = int(rng.integers(0, 60))
        keys = np.sort(np.repeat(rng.integers(0, 30, n), rng.integers(1, 9, n))).astype(dtype)
        cut_points = np.unique(rng.integers(0, 32, 9)).astype(np.uint64)
        low, high = cut_points[:-1], cut_points[1:]
        probes = [np.unique(rng.integers(a, b, 2)).astype(np.uint64) for a, b in zip(low, high, strict=True)]
        begins, ends, places = places_of(keys, low, high, np.array([len(p) for p in probes]), np.concatenate(probes))
        assert begins.tolist() == np.searchsorted(keys, low.astype(dtype), "right").tolist()
        assert ends.tolist() == np.searchsorted(keys, high.astype(dtype), "right").tolist()
        assert places.tolist() == np.searchsorted(keys, np.concatenate(probes).astype(dtype), "right").tolist()
        most = int(rng.integers(1, 6))
        n_runs, run_begins, run_ends = runs_of(keys, begins, ends, most)
        expected = [np.unique(keys[a:b]) for a, b in zip(begins, ends, strict=True)]
        assert n_runs.tolist() == [len(run) if len(run) <= most else -1 for run in expected]
        kept = np.concatenate([run for run in expected if len(run) <= most] or [keys[:0]])
        assert keys[run_begins].tolist() == keys[run_ends - 1].tolist() == kept.tolist()
        assert (run_ends - run_begins).tolist() == [np.sum(keys == key) for key in kept]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 10**6])
def test_codes_by_search(dtype, n_rows):
    """Wherever the values lie, and however many keys share a bucket."""
    rng = np.random.default_rng(3)
    for scale in (1, 1e-30, 1e30):
        for n in (0, 1, 2, 300, 5000):
            highs = np.unique((scale * rng.standard_normal(n) ** 3).astype(dtype))
            if n > 2:
                highs = np.unique(np.append(highs, np.array([-np.inf, 0, 1e-40, np.inf], dtype)))
            sorted_keys = sort_columns([highs[:, None]], [0], dtype)[0].keys if n else np.empty(0, f"u{dtype().itemsize}")
            others = (scale * rng.standard_normal(2000)).astype(dtype), np.array([np.nan, -0.0, np.inf, -np.inf], dtype)
            neighbours = (np.nextafter(highs, dtype(end)) for end in (np.inf, -np.inf))
            x = np.concatenate([highs, *neighbours, *others])
            codes = np.empty(len(x), np.uint16)
            write_codes(x[:, None], 0, np.zeros(1, np.int64), [CodeRule(60000, sorted_keys, n_rows=n_rows)], [codes])
            expected = np.where(np.isnan(x), 60000, np.searchsorted(highs, x, "left"))
            np.testing.assert_array_equal(codes, expected)
