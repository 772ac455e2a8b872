"""Weights of training rows, quantiles and proximities: the twin in plain Python of what forests tell of the rows in their leaves.

Fractions are exact, so nothing here depends on an order.
"""

from fractions import Fraction

import numpy as np

SLACK = Fraction(1, 2**40)


def weights_of_row(leaf, leaves, masses, counts=None):
    """The weights of the training rows for a row.

    Parameters
    ----------
    leaf : ndarray of shape (n_trees,)
        The leaf of each tree that the row reaches.
    leaves, masses : ndarray of shape (n_training_rows, n_trees)
        The leaves that training rows reach, and what they weigh in each tree.
    counts : ndarray of shape (n_trees,), dtype bool, optional
        Which trees count. None means all.

    Returns
    -------
    list of Fraction
    """
    trees = range(len(leaf)) if counts is None else np.flatnonzero(counts).tolist()
    weights = [Fraction(0)] * len(leaves)
    for t in trees:
        inside = np.flatnonzero((leaves[:, t] == leaf[t]) & (masses[:, t] > 0)).tolist()
        total = sum(Fraction(masses[i, t]) for i in inside)
        for i in inside:
            weights[i] += Fraction(masses[i, t]) / total / len(trees)
    return weights


def proximity_of_row(leaf, leaves):
    """The share of the trees in which a row reaches the leaf of each training row: list of Fraction."""
    return [Fraction(int((leaf == other).sum()), len(leaf)) for other in leaves]


def quantile(y, weights, q):
    """The least target up to which the weights of training rows come to q, but for 2**-40: see `predict_quantiles`."""
    total, there = Fraction(0), np.array([weight > 0 for weight in weights])
    for value in sorted(set(y[there].tolist())):
        total += sum(weights[i] for i in np.flatnonzero(y == value).tolist())
        if total >= Fraction(q) - SLACK:
            return value
    return max(y[there].tolist())


def outlier_scores(leaves, group):
    """Breiman's measure of outlyingness, of training rows in groups: ndarray of shape (n_rows,)."""
    n, n_trees = leaves.shape
    raw = []
    for i in range(n):
        near = proximity_of_row(leaves[i], leaves)
        squares = sum(near[j] ** 2 for j in range(n) if j != i and group[j] == group[i])
        raw.append(float(n / max(squares, Fraction(1, n_trees**2))))
    raw, scores = np.array(raw), np.empty(n)
    for number in set(group.tolist()):
        own = group == number
        deviation = raw[own] - np.median(raw[own])
        spread = np.median(np.abs(deviation))
        with np.errstate(divide="ignore", invalid="ignore"):
            scores[own] = np.where(deviation == 0.0, 0.0, deviation / spread)
    return scores
