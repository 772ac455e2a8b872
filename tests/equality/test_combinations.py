"""Criteria, kinds of features and ways to grow, in all combinations: the same bits on 1 and 4 threads, and the twin's trees.

The problem is small, and each combination is grown at both extremes of the machinery's thresholds.
"""

from itertools import product

import numpy as np
import pytest
from helpers.rings import combined
from twins import naive, sampling

import dforest

NUMBER_CRITERIA = ["squared_error", "poisson"]
CLASS_CRITERIA = ["gini", "entropy", "log_loss"]


def problem_of_all_kinds(criterion, n=130):
    """Columns: continuous, ordinal, few categories, more than a word's 64, continuous; missing values and weights."""
    rng = np.random.default_rng(0)
    few, many = rng.integers(0, 5, n), rng.permutation(n) % 80
    X = np.stack([rng.standard_normal(n), rng.integers(-3, 4, n) / 2, few, many, rng.integers(0, 9, n)], axis=1)
    y = X[:, 0] + np.abs(X[:, 1]) + few % 2 + rng.standard_normal(80)[many] + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    for j in (2, 3):                         # the numbers that those categories get that are left
        present = ~np.isnan(X[:, j])
        X[present, j] = np.unique(X[present, j], return_inverse=True)[1]
    if criterion in CLASS_CRITERIA:
        y = np.digitize(y, [1])
    elif criterion == "poisson":
        y = np.maximum(y, 0)
    n_categories = np.array([0, 0, 1, 1, 0]) * (np.nanmax(X, axis=0).astype(int) + 1)
    assert n_categories[3] > 64
    return X, y, rng.integers(1, 9, n) / 4, n_categories.tolist()


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("criterion", [*CLASS_CRITERIA, *NUMBER_CRITERIA, "absolute_error"])
def test_all_kinds_of_features(criterion, constrained, method, extremes, tuning, assert_equal, assert_twin):
    """Ordinal features, categories and constraints: the twin's forest by all criteria, at each extreme of the machinery."""
    X, y, weight, n_categories = problem_of_all_kinds(criterion)
    kind = dforest.RandomForestClassifier if criterion in CLASS_CRITERIA else dforest.RandomForestRegressor
    directions = [1, -1, 0, 0, 1] if constrained else None
    ways = product(["best", "random"], [None, 12], ["subset", "one_hot"])
    for turn, (splitter, max_leaf_nodes, categorical_split) in enumerate(ways):
        parameters = {
            "criterion": criterion, "method": method, "splitter": splitter, "max_leaf_nodes": max_leaf_nodes,
            "categorical_split": categorical_split, "monotonic_cst": directions, "max_bins": 20, "max_features": 3,
        }  # fmt: skip
        first = None
        for extreme, n_jobs in combined(extremes, [1, 4], turn=turn):
            forest = kind(3, n_jobs=n_jobs, random_state=0, categorical_features=[2, 3], ordinal_features=[1], **parameters)
            with tuning(extreme):
                forest.fit(X, y, weight)
            first = first or forest
            assert_equal(first, forest, (parameters, extreme, n_jobs))
        twin = naive.flatten(
            naive.grow_tree(
                X, y, n_classes=2 * (criterion in CLASS_CRITERIA), sample_weight=weight, seed=first.forest_.seeds[2],
                sampling=sampling.Bootstrap(len(y)), n_categories=n_categories, ordinal=[False, True, False, False, False],
                **parameters,
            )
        )  # fmt: skip
        assert_twin(first.forest_, 2, twin, parameters)
