"""Nodes none of whose cuts scores above 0: they are halved, so that trees are no deeper than need be."""

import math

import numpy as np
import pytest

import dforest
from dforest.splitter import PythonSplitter, Test

CRITERIA = ["gini", "entropy", "squared_error", "poisson", "absolute_error"]


def pairs(n_values, seed=0):
    """Each of n_values numbers twice, with the targets 1 and 2: on either side of any cut there are as many of both."""
    order = np.random.default_rng(seed).permutation(2 * n_values)
    return (np.arange(2 * n_values) // 2).astype(float)[order, None], np.tile([1, 2], n_values)[order]


def tree(criterion, **parameters):
    kind = dforest.DecisionTreeClassifier if criterion in ("gini", "entropy") else dforest.DecisionTreeRegressor
    return kind(criterion=criterion, random_state=0, **parameters)


@pytest.mark.parametrize("kind", ["continuous", "ordinal", "categorical"])
@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_values", [3, 30, 250, 1000])
def test_depth_is_the_logarithm_of_the_number_of_values(n_values, criterion, method, kind):
    """In nodes of all sizes, which are searched in different ways."""
    X, y = pairs(n_values)
    model = tree(criterion, method=method, max_bins=1001, **({} if kind == "continuous" else {f"{kind}_features": [0]}))
    for classes in (2, 3):
        if classes == 3:                     # more than two classes are searched in other ways
            X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2) + np.tile([0, 1], len(y))
        model.fit(X, y)
        assert model.get_n_leaves() == n_values
        assert model.get_depth() == math.ceil(math.log2(n_values))


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_a_cut_that_scores_more_is_preferred(method):
    """Whether the useless ones are more even or not, and in whichever order features are tried."""
    X, y = pairs(100)
    X = np.hstack([X, X == 3, X])
    y = np.where(X[:, 0] == 3, 3, y)
    for seed in range(8):
        model = dforest.DecisionTreeClassifier(method=method, max_depth=1, random_state=seed).fit(X, y)
        if model.forest_.feature[0] == 1:
            break
        assert abs(model.tree_.threshold[0] - 3) < 1
    else:
        pytest.fail("the second feature is never the first that is tried")


class Along(PythonSplitter):
    """Cuts of numbers as tests of its own."""

    def find_split(self, node):
        score, threshold, _ = node.best_along(node.values(0))
        return Test([threshold], 0, score) if score >= 0 else None

    def goes_left(self, payload, X):
        return X[:, 0] <= payload[0]


def test_tests_of_a_splitter_of_ones_own():
    X, y = pairs(1000)
    model = dforest.DecisionTreeClassifier(splitter=Along()).fit(X, y)
    assert model.get_n_leaves() == 1000
    assert model.get_depth() == 10
