"""Random splits: where thresholds fall, and what holds for them as it does for best splits."""

import warnings

import numpy as np
import pytest
from helpers.device_forests import same_forest
from scipy.stats import chisquare, kstest

from dforest import (
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core.coding import code_columns
from dforest.core.data import DataView
from dforest.core.sampling import AllRows
from dforest.core.search.dense import RandomDenseSplitter
from dforest.engines import cpu
from dforest.estimators.forest import base

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
KINDS = pytest.mark.parametrize("kind", [ExtraTreesClassifier, ExtraTreesRegressor])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def problem(kind, seed=0, n=120, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)).astype(dtype)
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n) / 4
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.digitize(y, [0, 1.5]) if kind is ExtraTreesClassifier else y.astype(float)


def root_thresholds(kind, x, n_trees=2000, **parameters):
    """Thresholds of the roots of many trees on one column."""
    y = np.arange(len(x)) % 2
    model = kind(n_trees, max_depth=1, random_state=0, **parameters).fit(np.asarray(x)[:, None], y)
    assert model.forest_.threshold.dtype == np.asarray(x).dtype
    roots = model.forest_.node_offsets[:-1]
    assert (model.forest_.feature[roots] == 0).all()
    return model.forest_.threshold[roots]


# Where thresholds fall


@KINDS
@DTYPES
@pytest.mark.parametrize("x", [[-3, 7], [0, 0.01, 0.02, 1], [5, 5, -1, 100, 2], [1e-3, 1e-3, 1e3]], ids=str)
def test_dense_thresholds_are_uniform(kind, dtype, x):
    lo, hi = min(x), max(x)
    thresholds = root_thresholds(kind, np.array(x, dtype), method="dense")
    assert (thresholds >= dtype(lo)).all() and (thresholds < dtype(hi)).all()
    assert kstest((thresholds.astype(float) - lo) / (hi - lo), "uniform").pvalue > 0.001


@KINDS
@DTYPES
@pytest.mark.parametrize("max_bins", [256, 4])
def test_hist_thresholds_are_the_edges_nearest_to_uniform_ones(kind, dtype, max_bins):
    x = np.array([0, 0, 0, 20, 50, 55, 60, 90, 100], dtype)
    thresholds = root_thresholds(kind, x, method="hist", max_bins=max_bins)
    found, counts = np.unique(thresholds, return_counts=True)
    middles = np.array([10, 35, 52.5, 57.5, 75, 95])
    if max_bins == 4:
        assert len(found) == 3 and np.isin(found, middles).all()
    else:
        assert found.tolist() == middles.tolist()
    nearest = np.concatenate([[0], (found[1:] + found[:-1]) / 2, [100]])
    assert chisquare(counts, counts.sum() * np.diff(nearest) / 100).pvalue > 0.001


# Extremes


@KINDS
@DTYPES
def test_infinite_and_huge_values(kind, dtype):
    """Infinities are clamped to the largest number; no overflow."""
    largest = np.finfo(dtype).max
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in ([-np.inf, np.inf], [-largest, largest], [-np.inf, 0, np.inf]):
            thresholds = root_thresholds(kind, np.array(x, dtype), method="dense")
            assert np.isfinite(thresholds).all()
            assert kstest(thresholds.astype(float) / float(largest) / 2 + 0.5, "uniform").pvalue > 0.001
        thresholds = root_thresholds(kind, np.array([0, np.inf], dtype), method="dense")
        assert (thresholds >= 0).all() and kstest(thresholds.astype(float) / float(largest), "uniform").pvalue > 0.001


@KINDS
@METHODS
@DTYPES
@pytest.mark.parametrize("low_high", ["neighbours", "-inf", "inf", "denormal"])
def test_nothing_between_two_values(kind, method, dtype, low_high):
    info = np.finfo(dtype)
    lo, hi = {
        "neighbours": (dtype(1), np.nextafter(dtype(1), dtype(2))),
        "-inf": (-np.inf, info.min),
        "inf": (info.max, np.inf),
        "denormal": (dtype(0), info.smallest_subnormal),
    }[low_high]
    X, y = np.array([[lo], [hi], [lo], [hi]], dtype), [0, 1, 0, 1]
    model = kind(20, method=method, random_state=0).fit(X, y)
    thresholds = model.forest_.threshold[model.forest_.feature >= 0]
    assert (thresholds == dtype(lo)).all() and len(thresholds) == 20
    assert model.predict(X).tolist() == y


# As for best splits


@METHODS
@pytest.mark.parametrize("n_classes", [0, 2, 3, 7, 12])
def test_nodes_of_very_many_draws(method, n_classes):
    """More than one packed word has room for: as rows of weights, which have no such words."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((45_000, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X).sum(axis=1) + rng.standard_normal(len(X))
    if n_classes:
        y = np.digitize(y, np.linspace(-2, 2, n_classes - 1))
    weight = rng.integers(1, 3, len(X))
    assert weight.sum() >= 1 << 16
    kind = ExtraTreesClassifier if n_classes else ExtraTreesRegressor
    model = kind(2, method=method, max_depth=4, random_state=0)
    weighted = model.fit(X, y, weight).forest_
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).forest_
    assert len(repeated.feature) > 40
    for name in ("feature", "threshold", "missing_left"):
        np.testing.assert_array_equal(getattr(repeated, name), getattr(weighted, name))


@pytest.mark.parametrize(
    ("extra", "random", "tree"),
    [
        (ExtraTreesClassifier, RandomForestClassifier, ExtraTreeClassifier),
        (ExtraTreesRegressor, RandomForestRegressor, ExtraTreeRegressor),
    ],
)
@METHODS
def test_extra_trees_are_a_random_forest_with_other_defaults(extra, random, tree, method):
    X, y = problem(extra)
    defaults, others = extra().get_params(), random().get_params()
    assert {name for name in defaults if defaults[name] != others[name]} == {"splitter", "bootstrap", "method"}
    assert (defaults["splitter"], defaults["bootstrap"], defaults["method"]) == ("random", "auto", "dense")
    model = extra(5, method=method, random_state=0).fit(X, y)
    assert set(model.forest_.plans) == {AllRows()} and (model.forest_.n_draws == len(X)).all()
    assert same_forest(model, random(5, splitter="random", bootstrap=False, method=method, random_state=0).fit(X, y))
    assert not same_forest(model, extra(5, splitter="best", method=method, random_state=0).fit(X, y))
    forest = extra(1, max_features=None, method=method, random_state=0).fit(X, y)
    single = tree(max_features=None, method=method, random_state=int(forest.forest_.seeds[0])).fit(X, y)
    for name in ("feature", "threshold", "link", "missing_left"):
        np.testing.assert_array_equal(getattr(single.forest_, name), getattr(forest.forest_, name))
    assert type(model.estimators_[0]) is tree and model.estimators_[0].splitter == "random"


# Keys in place of ranks


def awkward_columns(rng, n):
    """Columns whose keys have 32 bits and 64, with values of all kinds that floats have."""
    x = rng.standard_normal(n)
    zeros = [-0.0, 0.0, 5e-324, -5e-324, 1e-46, -1e-46]
    limits = [np.inf, -np.inf, 1e308, -1e308, 3.5e38, -3.5e38, np.finfo(np.float32).max, -np.finfo(np.float32).max]
    columns = [
        x, np.round(x), x.astype(np.float32), 1e9 + 1e-6 * x, rng.choice(zeros, n), rng.choice(zeros[:2], n),
        rng.choice(limits, n), rng.choice([np.inf, -np.inf, 0.25], n), rng.choice(limits[-2:], n), np.where(x > 1, np.nan, x),
        np.where(x > 0.5, np.nan, np.round(x, 1)), np.full(n, np.nan),
    ]  # fmt: skip
    return np.column_stack(columns)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@DTYPES
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_keys_and_ranks_give_the_same_forest(dtype, seed, criterion, monkeypatch):
    """A column is coded by keys unless a subclass may look into it: then by the ranks of its values."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 500))
    X = awkward_columns(rng, n).astype(dtype)
    y = rng.integers(0, [2, 3, 12][seed % 3], n)
    weight = rng.random(n) if seed % 2 else None
    parameters = {"random_state": seed, "min_samples_leaf": 1 + seed % 2, "max_leaf_nodes": [None, 25][seed // 2]}
    kind = ExtraTreesClassifier if criterion == "gini" else ExtraTreesRegressor
    if criterion != "gini" and seed % 2:
        parameters["monotonic_cst"] = rng.integers(-1, 2, X.shape[1])

    def fit(**more):
        return kind(4, criterion=criterion, method="dense", **parameters, **more).fit(X, y, weight)

    class Looking(RandomDenseSplitter):
        pass

    by_keys = fit(n_jobs=2)
    assert same_forest(by_keys, fit(splitter=Looking()))
    monkeypatch.setitem(base.TUNING, "keys", False)
    assert same_forest(by_keys, fit())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_coded_by_keys(dtype):
    rng = np.random.default_rng(0)
    X = awkward_columns(rng, 200)
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
        single = X.astype(np.float32).astype(dtype)
    for j, column in enumerate(code_columns(X, takes_keys=True)):
        x = X[:, j]
        fits = np.array_equal(x, single[:, j], equal_nan=True)
        assert column.codes.dtype == (np.uint32 if fits else np.uint64)
        assert column.has_missing == np.isnan(x).any()
        _, ranks = np.unique(np.where(np.isnan(x), np.nan, x + 0.0), return_inverse=True)
        assert np.array_equal(np.unique(column.codes, return_inverse=True)[1], ranks)


def test_columns_are_not_sorted(monkeypatch):
    """What each kind of splitter looks at: keys where a cut needs a range and a count; else ranks or bins."""
    seen = []
    monkeypatch.setattr(cpu, "DataView", lambda columns, *rest: seen.extend(columns) or DataView(columns, *rest))
    X, y = problem(ExtraTreesRegressor)
    for method, splitter, has_keys in [("dense", "random", True), ("dense", "best", False), ("hist", "random", False)]:
        seen.clear()
        RandomForestRegressor(2, method=method, splitter=splitter, ordinal_features=[1]).fit(np.round(X, 1), y)
        assert [column.has_keys for column in seen] == [has_keys, False, has_keys, has_keys]
