"""Mistakes that forest libraries have made, each with a test that it is not made here.

Mistakes that are tested elsewhere:

- the middle of two adjacent numbers, or one that overflows, as a threshold: search/test_dense.py;
- a random threshold that overflows, or leaves a child empty; infinities; limits on growth with random
  splits: search/test_random_splits.py;
- infinities in X; a value equal to a threshold: estimators/test_tree.py;
- a search that ends at cuts that break leaf rules or at constant features; missing values beside a
  single other one; XOR: search/test_splitter.py;
- the order of best-first growth, the number of leaves, depth; limits that take the weight of all rows
  for that of a tree's draws: grow/test_growth.py;
- rows that were never out of bag; trees that predict rows they drew: estimators/test_oob.py;
- trees without a split in importances: estimators/test_importance.py and estimators/test_forest.py;
- rows of weight 0: estimators/test_oob.py, estimators/test_validation.py and equality/test_weights.py.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from twins.sampling import Bootstrap

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core.coding import code_columns

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SPLITTERS = pytest.mark.parametrize("splitter", ["best", "random"])
FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
TREES = [DecisionTreeClassifier, DecisionTreeRegressor]


def leaves_of(tree):
    """The numbers of a tree's leaves among its nodes, and the draws in each."""
    leaf = np.flatnonzero(tree.feature < 0)
    return leaf, tree.leaf_draws[tree.leaf_row[leaf]]


def neighbours(dtype, starts, n):
    """Runs of n adjacent numbers."""
    values = np.array(starts, dtype)
    for _ in range(n - 1):
        values = np.append(values, np.nextafter(values[-len(starts) :], dtype(np.inf)))
    return values


# Values and thresholds


@METHODS
@DTYPES
@SPLITTERS
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("kind", FORESTS)
def test_training_rows_reach_the_leaf_that_counted_them(kind, method, dtype, splitter, bootstrap):
    """A side decided by codes in training and by numbers afterwards is the same, down to the last bit."""
    rng = np.random.default_rng(0)
    n, largest = 150, np.finfo(dtype).max
    X = np.empty((n, 5), dtype)
    X[:, 0] = rng.choice(neighbours(dtype, [1, -3, 1e-30, 2.0**100], 10), n)
    X[:, 1] = rng.choice(neighbours(dtype, [0, -np.finfo(dtype).smallest_subnormal * 9], 10), n)
    X[:, 2] = rng.choice(np.array([-np.inf, -largest, -1, -0.0, 0, 1, largest, np.inf], dtype), n)
    X[:, 3] = rng.standard_normal(n)
    X[:, 4] = rng.integers(0, 6, n) / 10
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, n)
    for max_bins, max_leaf_nodes in product([256, 6], [None, 12]) if method == "hist" else [(256, None), (256, 12)]:
        model = kind(4, method=method, splitter=splitter, bootstrap=bootstrap, max_bins=max_bins,
                     max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y)  # fmt: skip
        forest, reached = model.forest_, model.apply(X)
        for t in range(4):
            tree, counts = forest.tree(t), np.ones(n, int)
            if bootstrap:
                counts = Bootstrap(n).counts(n, forest.seeds[t])
            leaf, draws = leaves_of(tree)
            np.testing.assert_array_equal(np.bincount(reached[:, t], counts, len(tree.feature))[leaf], draws)
            for c in range(forest.objective.n_classes):
                of_class = np.bincount(reached[:, t], counts * (y == c), len(tree.feature))[leaf]
                np.testing.assert_array_equal(of_class, tree.leaf_weight[tree.leaf_row[leaf], c])


@METHODS
@DTYPES
@SPLITTERS
@pytest.mark.parametrize("kind", TREES)
def test_minus_zero_is_zero(kind, method, dtype, splitter):
    X, y = np.array([[-0.0], [0.0]] * 4, dtype), [0, 1] * 4
    assert len(kind(method=method, splitter=splitter).fit(X, y).forest_.feature) == 1
    for zero in (-0.0, 0.0):
        X = np.array([[zero], [np.finfo(dtype).smallest_subnormal]] * 4, dtype)
        model = kind(method=method, splitter=splitter).fit(X, y)
        assert model.predict(np.array([[-0.0], [0.0]], dtype)).tolist() == [0, 0]
        assert model.predict(X).tolist() == y


# Bins


@DTYPES
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("n", "max_bins"), [(1000, 2), (1000, 3), (5000, 256), (5000, 257), (70000, 65535)])
def test_all_bins_are_used(n, max_bins, missing, dtype):
    """As many codes as there may be, none of them empty, and of nearly equal shares."""
    x = np.random.default_rng(0).permutation(n).astype(dtype)
    if missing:
        x[0] = np.nan
    codes = code_columns(x[:, None], max_bins, None, 1)[0].codes
    assert codes.dtype == (np.uint8 if max_bins <= 256 else np.uint16)
    rows = np.bincount(codes)
    assert len(rows) == max_bins
    assert 1 <= rows[: max_bins - missing].min() >= rows[: max_bins - missing].max() - 1
    if missing:
        assert codes[0] == max_bins - 1 and rows[-1] == 1


@DTYPES
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_bins", [3, 256, 257])
@pytest.mark.parametrize("kind", TREES)
def test_the_first_and_the_last_bin_can_be_cut_off(kind, max_bins, missing, dtype):
    n = 5000
    x = np.random.default_rng(0).permutation(n).astype(dtype)
    x[0] = np.nan if missing else x[0]
    codes = code_columns(x[:, None], max_bins, None, 1)[0].codes
    for bin_ in (0, max_bins - 1 - missing):
        y = (codes == bin_).astype(int)
        model = kind(max_depth=1, max_bins=max_bins, random_state=0).fit(x[:, None], y)
        np.testing.assert_array_equal(model.predict(x[:, None]), y)
        assert model.predict(np.array([[-np.inf], [np.inf]], dtype)).tolist() == [int(bin_ == 0), int(bin_ > 0)]


@DTYPES
@pytest.mark.parametrize("max_bins", [10, 11, 256, 65535])
@pytest.mark.parametrize("kind", TREES)
def test_more_bins_than_values(kind, max_bins, dtype):
    """Each value has a bin; no further ones, and no empty ones between them."""
    x = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, np.nan, 8, 7], dtype)
    column = code_columns(x[:, None], max_bins, None, 1)[0]
    assert column.codes.dtype == np.uint8
    assert column.codes.tolist() == [2, 0, 3, 0, 4, 8, 1, 5, 4, 9, 7, 6]
    assert len(column.values) == 9
    y = np.arange(12) % 5
    model, exact = (kind(method=m, max_bins=max_bins, random_state=0).fit(x[:, None], y) for m in ("hist", "dense"))
    np.testing.assert_array_equal(model.forest_.feature, exact.forest_.feature)
    np.testing.assert_array_equal(model.apply(x[:, None]), exact.apply(x[:, None]))
    alone = kind(max_bins=max_bins).fit(x[:1, None], y[:1])
    assert alone.predict([[0.0], [np.nan]]).tolist() == [0, 0]


# Numbers of draws


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize(
    ("n", "max_samples", "expected"),
    [(100, 0.29, 29), (200, 0.145, 29), (10, 1e-9, 1), (1, 0.3, 1), (7, 0.5, 4), (9, 0.99, 9), (3, 0.4, 1), (3, 2, 2)],
)
def test_a_share_of_the_rows_is_rounded_and_never_0(kind, n, max_samples, expected):
    """0.29 of 100 rows are 29, though 100 * 0.29 is less in float64; rows of weight 0 don't count."""
    X, y = np.arange(2.0 * n)[:, None], np.arange(2 * n) % 2
    model = kind(3, bootstrap=True, max_samples=max_samples, random_state=0)
    model.fit(X, y, np.repeat([0.5, 0], n))
    assert model.forest_.n_draws.tolist() == [expected] * 3
    for t in range(3):
        assert leaves_of(model.forest_.tree(t))[1].sum() == expected


# Impurities and importances


@METHODS
@pytest.mark.parametrize("scale", [1.0, 8.0, 1e-3])
@pytest.mark.parametrize("offset", [0, 10**6, -(2**40)])
def test_squared_error_is_the_weighted_variance(method, scale, offset):
    """By hand: not of the rows alone, and not a difference of squares that cancels far from 0."""
    X, target, weight = [[0], [1], [2]], [0, 1, 4], [1, 2, 5]
    mean = Fraction(sum(w * q for w, q in zip(weight, target, strict=True)), 8)
    variance = float(sum(w * (q - mean) ** 2 for w, q in zip(weight, target, strict=True)) / 8)
    assert variance == 2.6875
    weight, y = scale * np.array(weight), np.array(target) + float(offset)
    for factor, is_split in ((1 - 1e-9, True), (1 + 1e-9, False)):
        model = DecisionTreeRegressor(method=method, impurity_threshold=variance * factor).fit(X, y, weight)
        assert (len(model.forest_.feature) > 1) == is_split
    # The root's best cut leaves 0 and 1 on the left: the variance falls by 2.6875 - 3/8 * 2/9.
    decrease = variance - 3 / 8 * 2 / 9
    for factor, is_split in ((1 - 1e-9, True), (1 + 1e-9, False)):
        model = DecisionTreeRegressor(method=method, min_impurity_decrease=decrease * factor).fit(X, y, weight)
        assert (len(model.forest_.feature) > 1) == is_split
