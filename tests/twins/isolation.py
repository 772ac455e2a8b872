"""The naive twin of isolation trees: random splits that no score compares, and leaves that keep the length of their paths."""

import math
import sys

import numpy as np
from twins.naive import Node, goes_left
from twins.splits import best_split, feature_order

from dforest.testing.coding import columns_of
from dforest.testing.scores import Record, log
from dforest.testing.streams import ROOT_KEY, THRESHOLD, Stream, child_key, feature_key

TREE_PATH = 0  # of the features that a tree draws
FARTHEST = 1e9  # in ranges of a feature in a node


def average_path_length(n):
    """2 (H(n - 1) - (n - 1) / n), where the harmonic number is approximated as in the original paper."""
    if n <= 2:
        return float(n == 2)
    return 2.0 * (log(n - 1.0) + 0.5772156649015329) - 2.0 * (n - 1.0) / n


def grow_tree(X, counts, *, seed, method, max_bins=256, max_depth, tree_features, n_categories=None, ordinal=None,
              categorical_split="subset", weight=None, extension_level=0):  # fmt: skip
    """Grow an isolation tree.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        NaN means missing; a categorical column holds category numbers.
    counts : sequence of int
        How often the tree draws each row.
    seed, method, max_bins, max_depth, n_categories, ordinal, categorical_split
        As of `twins.naive.grow_tree`.
    tree_features : int
        How many features the tree draws.
    weight : list of int, optional
        Weights of the rows, which bins are made by.
    extension_level : int
        How many features a split combines beside a first one.

    Returns
    -------
    twins.naive.Node
        With `extension_level`, an inner node's `sum_of` is a function of a row, whose value is at most the threshold in rows that
        go left.
    """
    columns = columns_of(X, method, max_bins, weight or [1] * len(X), n_categories, ordinal)
    drawn = set(feature_order(X.shape[1], seed, TREE_PATH)[:tree_features])

    def grow(draws, node_key, depth):
        n_draws = sum(draw.count for draw in draws)
        node, split = Node(draws=n_draws, weight=[n_draws]), None
        can_split = n_draws >= 2 and len(draws) > 1 and depth < max_depth
        order = [feature for feature in feature_order(X.shape[1], seed, node_key) if feature in drawn]
        if can_split and extension_level:
            rows, counts_here = zip(*((X[draw.row], draw.count) for draw in draws), strict=True)
            split = hyperplane(rows, counts_here, order, extension_level, n_categories, seed, node_key)
        elif can_split:
            split = best_split(
                draws, columns, order, 1, criterion="path_length", categorical_split=categorical_split,
                stream_of=lambda feature: Stream(seed, feature_key(node_key, feature), THRESHOLD),
            )  # fmt: skip
        if split is None:
            node.value, node.impurity = depth + average_path_length(n_draws), 0.0
            return node
        if extension_level:
            node.feature, node.threshold, node.sum_of = split
        else:
            node.feature, node.missing_left, node.threshold, node.subset = split[:4]
        sides = [], []
        for draw in draws:
            sides[not is_left(node, X[draw.row])].append(draw)
        node.left, node.right = (grow(side, child_key(node_key, right), depth + 1) for right, side in enumerate(sides))
        return node

    return grow([Record(row, count, 0, 1) for row, count in enumerate(counts) if count], ROOT_KEY, 0)


def is_left(node, x):
    """Whether a row goes to the left child of an inner node, of either kind."""
    return node.sum_of(x) <= node.threshold if hasattr(node, "sum_of") else goes_left(node, x)


def hyperplane(rows, counts, order, extension_level, n_categories, seed, node_key):
    """A split of a node by several features: (the first of them, the threshold, the function of a row that is compared to it).

    None if no feature varies, or all sums are equal.
    """
    terms = []
    for feature in order:
        values = [float(x[feature]) for x in rows]
        if len(set(map(str, (value + 0.0 for value in values)))) > 1 and len(terms) <= extension_level:
            is_categorical = bool(n_categories) and n_categories[feature] > 0
            terms.append((feature, *term(values, counts if is_categorical else None, seed, feature_key(node_key, feature))))
    if not terms:
        return None

    def sum_of(x):
        total = 0.0
        for feature, coefficient, number_of in terms:
            total += coefficient * number_of(float(x[feature]))
        return total

    sums = [sum_of(x) for x in rows]
    lowest, highest = min(sums), max(sums)
    threshold = lowest + Stream(seed, node_key, THRESHOLD).uniform() * (highest - lowest)
    return (terms[0][0], threshold if threshold < highest else lowest, sum_of) if lowest < highest else None


def term(values, counts, seed, node_key):
    """(the coefficient of a feature with some values in a node, the number that is made from a value).

    IN counts: how often each value is drawn, of a column of categories, else None.
    """
    stream = Stream(seed, node_key, THRESHOLD)
    square = 2.0
    while not 0.0 < square < 1.0:
        u, v = 2.0 * stream.uniform() - 1.0, 2.0 * stream.uniform() - 1.0
        square = u * u + v * v
    coefficient, if_missing = u * math.sqrt(-2.0 * log(square) / square), stream.uniform()
    if counts is not None and not any(map(math.isnan, values)):
        rarest = min(set(values), key=lambda value: (sum(n for v, n in zip(values, counts, strict=True) if v == value), value))
        if_missing = Stream(seed, feature_key(node_key, int(rarest)), THRESHOLD).uniform()
    finite = [value for value in values if math.isfinite(value)]
    lowest = min(finite, default=0.0)
    width = min(max(max(finite, default=0.0) - lowest, sys.float_info.min), sys.float_info.max)

    def number_of(value):
        if math.isnan(value):
            return if_missing
        if counts is not None:
            return Stream(seed, feature_key(node_key, int(value)), THRESHOLD).uniform()
        return max(-FARTHEST, min(FARTHEST, (value - lowest) / width))

    return coefficient, number_of


def score(X, trees, n_draws):
    """The scores of rows by some trees of so many draws."""
    lengths = np.zeros(len(X))
    for i, x in enumerate(X):
        for node in trees:
            while node.feature >= 0:
                node = node.left if is_left(node, x) else node.right
            lengths[i] += node.value
    longest = average_path_length(n_draws)
    return -np.array([math.pow(2.0, -length / (len(trees) * longest)) if longest else 0.5 for length in lengths])
