"""Splits of categorical features against brute force over all of them."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import xlogy

from dforest import DecisionTreeClassifier, DecisionTreeRegressor

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])


def impurity(criterion, y, w):
    if criterion in ("gini", "entropy"):
        share = np.bincount(y, w) / w.sum()
        return 1 - (share**2).sum() if criterion == "gini" else -xlogy(share, share).sum() / np.log(2)
    mean = np.average(y, weights=w)
    if criterion == "squared_error":
        return np.average((y - mean) ** 2, weights=w)
    if criterion == "poisson":
        return np.average(xlogy(y, y / mean), weights=w)
    return min(np.average(np.abs(y - m), weights=w) for m in y)


def decrease(criterion, left, y, w):
    """The impurity decrease of dividing rows, times their weight."""
    return w.sum() * impurity(criterion, y, w) - sum(
        w[side].sum() * impurity(criterion, y[side], w[side]) for side in (left, ~left)
    )


def all_partitions(x):
    """All ways to part the categories of a column, and its missing values, in two: masks of rows."""
    atoms = [x == c for c in np.unique(x[~np.isnan(x)])] + [np.isnan(x)] * bool(np.isnan(x).any())
    for n in range(1, len(atoms)):
        for chosen in combinations(atoms[1:], n):
            yield np.any(chosen, axis=0)


def one_against_the_rest(x):
    """All tests by one category, missing values on either side of each, or alone."""
    missing = np.isnan(x)
    for c in np.unique(x[~missing]):
        yield x == c
        yield (x == c) | missing
    yield missing


def best_decrease(criterion, X, y, w, partitions):
    """The highest impurity decrease of any test of any column; by poisson, none with a side of zeros."""
    counts = y if criterion == "poisson" else np.ones(len(y))
    candidates = (left for x in X.T for left in partitions(x))
    return max(decrease(criterion, left, y, w) for left in candidates if counts[left].any() and counts[~left].any())


def column_problem(criterion, n_categories, missing, seed, n_classes=2, n=60):
    """Two columns of categories, and of each one a part of y; weights that are exact in integers."""
    rng = np.random.default_rng([seed, n_categories])
    X = rng.integers(0, n_categories, (n, 2)).astype(float)
    effects = rng.standard_normal((2, n_categories))
    y = effects[0, X[:, 0].astype(int)] + effects[1, X[:, 1].astype(int)] + rng.standard_normal(n)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    if criterion in ("gini", "entropy"):
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    elif criterion == "poisson":
        y = rng.poisson(np.exp(y - 0.5)) + np.where(rng.random(n) < 0.3, 0, 0.25)
    return X, y, rng.integers(1, 40, n) / 8


def assert_best(model, X, y, w, best):
    """Whether the root's split is worth `best`, by the rows on its sides and by the table of nodes."""
    found = decrease(model.criterion, model.apply(X) == 1, y, w)
    np.testing.assert_allclose(found, best, rtol=1e-9)
    unit = model.forest_.weight_unit[0]
    # That of absolute_error is a difference of impurities, of quantised targets.
    rtol = 1e-7 if model.criterion == "absolute_error" else 1e-9
    np.testing.assert_allclose(model.forest_.node_table(0).decrease[0] * unit, best, rtol=rtol)


def stump(criterion, **parameters):
    kind = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    return kind(criterion=criterion, max_depth=1, categorical_features=[0, 1], random_state=0, **parameters)


@METHODS
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_categories", [2, 3, 5, 8])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
def test_the_best_of_all_partitions(criterion, n_categories, missing, method):
    """No way to part the categories and the missing values is better than the split found."""
    for seed in range(3):
        X, y, w = column_problem(criterion, n_categories, missing, seed)
        model = stump(criterion, method=method).fit(X, y, w)
        assert_best(model, X, y, w, best_decrease(criterion, X, y, w, all_partitions))
        model.fit(X, y)
        one = np.ones(len(y))
        assert_best(model, X, y, one, best_decrease(criterion, X, y, one, all_partitions))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_categories", [2, 8, 20])
@METHODS
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "absolute_error"])
def test_the_best_single_category(criterion, n_categories, missing, method):
    """It is what "one_hot" takes, with any number of classes; "subset" finds better ones."""
    less = 0
    for seed in range(4):
        X, y, w = column_problem(criterion, n_categories, missing, seed, n_classes=2 + seed % 2)
        best = best_decrease(criterion, X, y, w, one_against_the_rest)
        assert_best(stump(criterion, method=method, categorical_split="one_hot").fit(X, y, w), X, y, w, best)
        of_subset = stump(criterion, method=method).fit(X, y, w).forest_.node_table(0).decrease[0]
        less += best < of_subset * np.ldexp(1.0, -3) * (1 - 1e-9)
    assert less if n_categories > 3 else not less or missing
