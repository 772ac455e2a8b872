"""The naive twin of smoothed leaves: sums along paths, of the rows that reach each node.

A node's *own* prediction is the mean of the targets of its draws, by their weights; of classes, a target is a row of zeros with a
one.
"""

import numpy as np


def nodes_of_rows(tree, X):
    """Which rows reach each node of a `Forest` of one tree: ndarray of shape (n_nodes, n_rows), dtype bool."""
    reached, n = tree.packed().apply(X, 1)[:, 0], len(tree.feature)
    there = reached == np.arange(n)[:, None]
    for i in np.flatnonzero(tree.feature >= 0)[::-1]:
        there[i] = there[i + 1] | there[tree.right_child[i]]
    return there


def paths(tree):
    """The nodes from the root to each node, itself included: list of lists."""
    found = [[0]] + [None] * (len(tree.feature) - 1)
    for i in np.flatnonzero(tree.feature >= 0):
        for child in (i + 1, int(tree.right_child[i])):
            found[child] = [*found[i], child]
    return found


def smoothed(own, draws, path, strength):
    """What the last node of a path predicts: the sum over steps, as it is defined."""
    value = own[path[0]].copy()
    for parent, child in zip(path, path[1:], strict=False):
        value += (own[child] - own[parent]) / (1 + strength / draws[parent])
    return value


def say_of_nodes(draws, path, strength):
    """How much each node of a path has to say in what the last one predicts: list of numbers that add up to 1."""
    factors = [1.0, *(1 / (1 + strength / draws[node]) for node in path[:-1]), 0.0]
    return [before - after for before, after in zip(factors, factors[1:], strict=False)]


def smoothed_tree(tree, X, targets, counts, weight, strength):
    """What all nodes predict, and the mean of squared deviations of the targets that they stand for.

    Parameters
    ----------
    tree : Forest
        Of one tree.
    X : ndarray of shape (n_rows, n_features)
    targets : ndarray of shape (n_rows, n_values)
    counts : ndarray of shape (n_rows,)
        How often the tree draws each row.
    weight : ndarray of shape (n_rows,)
    strength : float

    Returns
    -------
    value : ndarray of shape (n_nodes, n_values)
    variance : ndarray of shape (n_nodes, n_values)
    """
    there = nodes_of_rows(tree, X)
    draws, shares = there @ counts, there * (counts * weight)
    shares = shares / shares.sum(axis=1, keepdims=True)
    own, found = shares @ targets, paths(tree)
    value = np.array([smoothed(own, draws, path, strength) for path in found])
    mixed = np.array([np.array(say_of_nodes(draws, path, strength)) @ shares[path] for path in found])
    np.testing.assert_allclose(mixed @ targets, value, rtol=1e-9, atol=1e-9 * np.abs(targets).max())
    variance = np.array([of_rows @ (targets - one) ** 2 for of_rows, one in zip(mixed, value, strict=True)])
    return value, variance
