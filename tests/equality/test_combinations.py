"""Every legal combination of the parameters that change how a forest grows: same bits on 1 and 4 threads, and the twin's trees.

The problem is small, and each combination is grown at both extremes of the machinery's thresholds.
"""

from itertools import product

import numpy as np
import pytest

import dforest
from dforest.testing import naive

ROWS, COLUMNS = 40, 4


def problem(criterion, missing, weighted):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((ROWS, COLUMNS)), 1)
    X[:, 1] = np.round(X[:, 1])
    if missing:
        X[rng.random((ROWS, COLUMNS)) < 0.15] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.5 * rng.standard_normal(ROWS)
    if criterion != "squared_error":
        y = np.digitize(y, [-0.5, 0.5])
    return X, y, {"none": None, "integers": rng.integers(1, 4, ROWS), "floats": rng.random(ROWS) + 0.01}[weighted]


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("weighted", ["none", "integers", "floats"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_same_bits_and_the_twins(criterion, missing, weighted, bootstrap, extremes, tuning, assert_equal, assert_twin):
    X, y, weight = problem(criterion, missing, weighted)
    kind = dforest.RandomForestRegressor if criterion == "squared_error" else dforest.RandomForestClassifier
    for method, splitter, max_leaf_nodes in product(["hist", "dense"], ["best", "random"], [None, 7, 1000]):
        parameters = {
            "criterion": criterion, "method": method, "splitter": splitter, "max_leaf_nodes": max_leaf_nodes,
            "bootstrap": bootstrap, "max_bins": 8, "max_features": 2,
        }  # fmt: skip
        first = None
        for extreme, n_jobs in product(extremes, [1, 4]):
            with tuning(extreme):
                forest = kind(4, n_jobs=n_jobs, random_state=0, **parameters).fit(X, y, weight)
            first = first or forest
            assert_equal(first, forest, (parameters, extreme, n_jobs))
        twin = naive.flatten(
            naive.grow_tree(
                X, y, n_classes=3, sample_weight=weight, seed=forest.forest_.seed, tree=3, n_draws=ROWS, **parameters
            )
        )
        assert_twin(first.forest_, 3, twin, parameters)
