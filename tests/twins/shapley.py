"""Shapley values and interactions by their definitions, over all sets of features: the twin in plain Python of `shap_values`
and `shap_interaction_values`.

Fractions are exact, so nothing here depends on an order.
"""

from fractions import Fraction
from itertools import combinations, permutations
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
        return sum(forest.leaf_weight[leaf].tolist()) / Fraction(2) ** shift
    return cover(forest, root, i + 1) + cover(forest, root, int(forest.right_child[root + i]))


def expected(forest, votes, root, row, known, other=None, i=0, missed=frozenset()):
    """What a row is expected to find below a node, if some of its features are known: list of Fraction.

    other : the row that the other features are taken from; None: both sides are passed, by the shares of their cover
    missed : the features by which the row would go elsewhere
    """
    node, feature = root + i, int(forest.feature[root + i])
    if feature < 0:
        leaf = forest.leaf_row[node]
        of_line = terms_of(forest, leaf, row, known, missed) if forest.objective.line_tables else 0
        return [Fraction(vote) + of_line for vote in votes[leaf].tolist()]
    sides = i + 1, int(forest.right_child[node])
    if feature in known or other is not None:
        value = float(row[feature] if feature in known else other[feature])
        return expected(forest, votes, root, row, known, other, sides[not goes_left(forest, node, value)], missed)
    weights = [cover(forest, root, side) for side in sides]
    is_left = goes_left(forest, node, float(row[feature]))
    missed = [missed | {feature} if is_left == is_right else missed for is_right in (False, True)]
    found = [expected(forest, votes, root, row, known, other, *one) for one in zip(sides, missed, strict=True)]
    return [(weights[0] * left + weights[1] * right) / sum(weights) for left, right in zip(*found, strict=True)]


def terms_of(forest, leaf, row, known, missed):
    """What the linear function of a leaf adds for the features that are known, where none is known to lead elsewhere."""
    features = [j for j in forest.leaf_features[leaf].tolist() if j >= 0]
    if not np.isfinite(row[features]).all():
        return 0
    table = zip(features, forest.leaf_centers[leaf].tolist(), forest.leaf_slopes[leaf].tolist(), strict=False)
    terms = {j: Fraction(slope) * (Fraction(float(row[j])) - Fraction(center)) for j, center, slope in table if j not in missed}
    total, value = sum(terms.values()), Fraction(float(forest.leaf_value[leaf]))
    least, greatest = (Fraction(end) - value for end in forest.leaf_bounds[leaf].tolist())
    scale = 1 if least <= total <= greatest else min(max(total, least), greatest) / total
    return scale * sum(term for j, term in terms.items() if j in known)


def games(forest, votes, X, background=None):
    """Yield, for each tree and row, and each row of the background, what is expected if features are known.

    Yields
    ------
    i : int
        The number of the row.
    outputs : sequence of int
        The outputs that the tree adds to.
    part : Fraction
        The share of the game in the values of the row.
    used : list of int
        The features that the tree tests.
    found : dict of frozenset to list of Fraction
        What is expected of each output if some of these features are known.
    """
    baseline, n_trees = forest.objective.baseline, forest.n_trees
    n_outputs = votes.shape[1] if baseline is None else len(baseline)
    others = [None] if background is None else list(background)
    part = Fraction(1, len(others) * (n_trees if baseline is None else 1))
    for t in range(n_trees):
        root, end = int(forest.node_offsets[t]), int(forest.node_offsets[t + 1])
        used = sorted({int(feature) for feature in forest.feature[root:end] if feature >= 0})
        outputs = range(n_outputs) if votes.shape[1] == n_outputs else [t % n_outputs]
        for other in others:
            for i, row in enumerate(X):
                found = {
                    known: expected(forest, votes, root, row, known, other)
                    for size in range(len(used) + 1)
                    for known in map(frozenset, combinations(used, size))
                }
                yield i, outputs, part, used, found


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
    n_outputs = votes.shape[1] if baseline is None else len(baseline)
    values = [[[Fraction(0)] * n_outputs for _ in range(forest.n_features)] for _ in X]
    base = [Fraction(0)] * n_outputs if baseline is None else [Fraction(number) for number in baseline]
    for i, outputs, part, used, found in games(forest, votes, X, background):
        if i == 0:
            for output, number in zip(outputs, found[frozenset()], strict=True):
                base[output] += part * number
        for known, numbers in found.items():
            for feature in set(used) - known:
                weight = part * factorial(len(known)) * factorial(len(used) - len(known) - 1) / factorial(len(used))
                for output, less, more in zip(outputs, numbers, found[known | {feature}], strict=True):
                    values[i][feature][output] += weight * (more - less)
    return np.array(values, float).reshape(len(X), forest.n_features, n_outputs), np.array(base, float)


def interaction_values(forest, votes, X, background=None):
    """Half the interaction of each two features, and on the diagonal what is left of the values of each feature.

    Parameters
    ----------
    forest, votes, X, background
        See `shapley_values`.

    Returns
    -------
    ndarray of shape (n_rows, n_features, n_features, n_outputs), dtype float64
    """
    values, _ = shapley_values(forest, votes, X, background)
    n_rows, n_features, n_outputs = values.shape
    matrix = [[[[Fraction(0)] * n_outputs for _ in range(n_features)] for _ in range(n_features)] for _ in X]
    for i, outputs, part, used, found in games(forest, votes, X, background):
        for known, numbers in found.items():
            for one, other in permutations(set(used) - known, 2):
                weight = part * factorial(len(known)) * factorial(len(used) - len(known) - 2) / (2 * factorial(len(used) - 1))
                both, first, second = found[known | {one, other}], found[known | {one}], found[known | {other}]
                for k, output in enumerate(outputs):
                    matrix[i][one][other][output] += weight * (both[k] - first[k] - second[k] + numbers[k])
    matrix = np.array(matrix, float).reshape(n_rows, n_features, n_features, n_outputs)
    for feature in range(n_features):
        matrix[:, feature, feature] = values[:, feature] - matrix[:, feature].sum(axis=1)
    return matrix
