"""The gain ratio in plain Python, which is slow and meant for comparison."""

import math
from functools import cache

import numpy as np

from dforest.criterion import PythonCriterion

UNIT = 2.0**-30


@cache
def n_log_n(n):
    """n * log2(n) of an integer, in units, rounded to an integer, so that sums don't depend on their order."""
    return round(n * math.log2(n) / UNIT) if n else 0


def bits(weights):
    """`n_log_n` of an array of integers that are stored as float64."""
    return np.array([n_log_n(int(n)) for n in weights.flat], np.int64).reshape(weights.shape)


def entropy(side):
    """The entropy of each side times its weight, in units."""
    return bits(side.weight) - bits(side.class_weight).sum(axis=1)


class PythonGainRatio(PythonCriterion):
    """The criterion `gain_ratio.GainRatio`, in Python.

    Parameters
    ----------
    correct : bool, default=True
        Whether features pay for having many cuts to choose from.
    """

    def __init__(self, correct=True):
        self.correct = correct

    def impurity(self, statistics):
        return entropy(statistics) * UNIT / statistics.weight

    def score(self, left, right, node):
        remaining = entropy(left) + entropy(right)
        best, n = remaining.argmin(), len(remaining)
        weight = node.weight[0]
        gain = (entropy(node)[0] - remaining[best]) * UNIT
        if self.correct:
            gain -= n_log_n(n) * UNIT / n * (weight / node.draws[0])
        information = bits(node.weight)[0] - bits(left.weight)[best] - bits(right.weight)[best]
        scores = np.full(n, -np.inf)
        scores[best] = weight * (max(gain, 0.0) / (information * UNIT))
        return scores
