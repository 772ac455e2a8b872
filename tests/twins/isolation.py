"""The naive twin of isolation trees: random splits that no score compares, and leaves that keep the length of their paths."""

import math

import numpy as np
from twins.naive import Node, goes_left
from twins.splits import best_split, feature_order

from dforest.testing.coding import columns_of
from dforest.testing.scores import Record, log
from dforest.testing.streams import ROOT_PATH, THRESHOLD, Stream, child_path, feature_path

TREE_PATH = 0  # of the features that a tree draws


def average_path_length(n):
    """2 (H(n - 1) - (n - 1) / n), where the harmonic number is approximated as in the original paper."""
    if n <= 2:
        return float(n == 2)
    return 2.0 * (log(n - 1.0) + 0.5772156649015329) - 2.0 * (n - 1.0) / n


def grow_tree(X, counts, *, seed, method, max_bins=256, max_depth, tree_features, n_categories=None, ordinal=None,
              categorical_split="subset", weight=None):  # fmt: skip
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

    Returns
    -------
    twins.naive.Node
    """
    columns = columns_of(X, method, max_bins, weight or [1] * len(X), n_categories, ordinal)
    drawn = set(feature_order(X.shape[1], seed, TREE_PATH)[:tree_features])

    def grow(draws, path, depth):
        n_draws = sum(draw.count for draw in draws)
        node, split = Node(draws=n_draws, weight=[n_draws]), None
        if n_draws >= 2 and len(draws) > 1 and depth < max_depth:
            order = [feature for feature in feature_order(X.shape[1], seed, path) if feature in drawn]
            split = best_split(
                draws, columns, order, 1, criterion="path_length", categorical_split=categorical_split,
                stream_of=lambda feature: Stream(seed, feature_path(path, feature), THRESHOLD),
            )  # fmt: skip
        if split is None:
            node.value, node.impurity = depth + average_path_length(n_draws), 0.0
            return node
        node.feature, node.missing_left, node.threshold, node.subset = split[:4]
        sides = [], []
        for draw in draws:
            sides[not goes_left(node, X[draw.row])].append(draw)
        node.left, node.right = (grow(side, child_path(path, right), depth + 1) for right, side in enumerate(sides))
        return node

    return grow([Record(row, count, 0, 1) for row, count in enumerate(counts) if count], ROOT_PATH, 0)


def score(X, trees, n_draws):
    """The scores of rows by some trees of so many draws."""
    lengths = np.zeros(len(X))
    for i, x in enumerate(X):
        for node in trees:
            while node.feature >= 0:
                node = node.left if goes_left(node, x) else node.right
            lengths[i] += node.value
    longest = average_path_length(n_draws)
    return -np.array([math.pow(2.0, -length / (len(trees) * longest)) if longest else 0.5 for length in lengths])
