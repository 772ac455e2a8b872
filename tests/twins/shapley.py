"""Shapley values by their definition, over all sets of features: the twin in plain Python of `shap_values`.

Fractions are exact, so nothing here depends on an order.
"""

from fractions import Fraction
from itertools import combinations
from math import factorial, isnan

import numpy as np


def goes_left(forest, node, value):
    """Whether a row goes left at a node, given its place in the node arrays and the value of the feature that it tests."""
    missing_left = bool(forest.missing_left[node])
    if forest.n_categories[forest.feature[node]]:
        return (not isnan(value) and value in forest.subset_of(node)) != missing_left
    return missing_left if isnan(value) else bool(value <= float(forest.threshold[node]))


def cover(forest, root, i):
    """The weight of the training draws in node i of the tree that begins at a place in the node arrays."""
    if forest.feature[root + i] < 0:
        leaf = forest.leaf_row[root + i]
        shift = int(forest.leaf_shift[leaf]) if len(forest.leaf_shift) else 0
        return int(forest.leaf_weight[leaf].sum()) / Fraction(2) ** shift
    return cover(forest, root, i + 1) + cover(forest, root, int(forest.right_child[root + i]))


def expected(forest, votes, root, row, known, other=None, i=0):
    """What a row is expected to find below a node, if some of its features are known: list of Fraction.

    other : the row that the other features are taken from; None: both sides are passed, by the shares of their cover
    """
    node, feature = root + i, int(forest.feature[root + i])
    if feature < 0:
        return [Fraction(vote) for vote in votes[forest.leaf_row[node]].tolist()]
    sides = i + 1, int(forest.right_child[node])
    if feature in known or other is not None:
        value = float(row[feature] if feature in known else other[feature])
        return expected(forest, votes, root, row, known, other, sides[not goes_left(forest, node, value)])
    weights = [cover(forest, root, side) for side in sides]
    found = [expected(forest, votes, root, row, known, other, side) for side in sides]
    return [(weights[0] * left + weights[1] * right) / sum(weights) for left, right in zip(*found, strict=True)]


def shapley_values(forest, votes, X, background=None):
    """The values of each feature, and what is expected where nothing is known.

    Parameters
    ----------
    forest : Forest
        Whose trees test few features each.
    votes : ndarray of shape (n_leaves, n_values), dtype float64
        What leaves add to predictions.
    X : ndarray of shape (n_rows, n_features)
    background : ndarray of shape (n_background, n_features), optional

    Returns
    -------
    values : ndarray of shape (n_rows, n_features, n_outputs), dtype float64
    base : ndarray of shape (n_outputs,), dtype float64
    """
    baseline = forest.objective.baseline
    n_outputs, n_trees = votes.shape[1] if baseline is None else len(baseline), forest.n_trees
    others = [None] if background is None else list(background)
    values = [[[Fraction(0)] * n_outputs for _ in range(forest.n_features)] for _ in X]
    base = [Fraction(0)] * n_outputs if baseline is None else [Fraction(number) for number in baseline]
    for t in range(n_trees):
        root, end = int(forest.node_offsets[t]), int(forest.node_offsets[t + 1])
        used = sorted({int(feature) for feature in forest.feature[root:end] if feature >= 0})
        outputs = range(n_outputs) if baseline is None else [t % n_outputs]
        part = Fraction(1, len(others) * (n_trees if baseline is None else 1))
        for other in others:
            for output, number in zip(outputs, expected(forest, votes, root, X[0], set(), other), strict=True):
                base[output] += part * number
            for row, of_row in zip(X, values, strict=True):
                found = {
                    known: expected(forest, votes, root, row, known, other)
                    for size in range(len(used) + 1)
                    for known in map(frozenset, combinations(used, size))
                }
                for known, numbers in found.items():
                    for feature in set(used) - known:
                        weight = part * factorial(len(known)) * factorial(len(used) - len(known) - 1) / factorial(len(used))
                        for output, less, more in zip(outputs, numbers, found[known | {feature}], strict=True):
                            of_row[feature][output] += weight * (more - less)
    return np.array(values, float).reshape(len(X), forest.n_features, n_outputs), np.array(base, float)
