"""Honest trees in plain Python, which are slow and meant for comparison.

The criterion is Gini impurity or squared error, depending on the task. Features must be numbers without missing values.
"""

import numpy as np

from dforest.splitter import Cut, PythonSplitter
from dforest.testing.streams import ROOT_KEY, Stream, feature_key

CUSTOM = 64  # the first free purpose of random numbers: DF_CUSTOM of rules/random.h


def structure_rows(seed, rows, structure_share=0.5):
    """Which rows choose the splits of a tree: ndarray of bool.

    Parameters
    ----------
    seed : int
        The seed of the tree, one of ``forest_.seeds``.
    rows : ndarray of int
        The numbers of the rows, where only rows of positive weight are numbered.
    structure_share : float, default=0.5
    """
    stream = Stream(seed, ROOT_KEY, CUSTOM)
    key = stream.next() << 32 | stream.next()
    limit = int(structure_share * 2.0**64)
    return np.array([feature_key(key, int(row)) < limit for row in rows], bool)


class PythonHonestSplitter(PythonSplitter):
    """The splitter `honest.HonestSplitter`, in Python.

    Parameters
    ----------
    structure_share : float, default=0.5
        The share of the rows that choose splits, on average.
    """

    def __init__(self, structure_share=0.5):
        self.structure_share = structure_share

    def structure(self, node):
        """Which records of a node belong to its structure half."""
        return structure_rows(node.seed, node.rows, self.structure_share)

    def leaf_records(self, node):
        structure = self.structure(node)
        return structure if structure.all() else ~structure

    def find_split(self, node):
        structure = self.structure(node)
        if not structure.any() or structure.all() or np.ptp(node.targets[structure]) == 0:
            return None
        numbers = node.targets[:, None] if node.n_classes == 0 else node.targets[:, None] == np.arange(node.n_classes)
        best, n_counted = None, 0
        for feature in node.order.tolist():
            if n_counted >= self.max_features and best is not None:
                break
            codes = node.codes(feature)
            n_counted += not self.skip_constant_features or np.ptp(codes[structure]) > 0
            left = np.cumsum(np.bincount(codes[~structure], node.counts[~structure], node.n_codes(feature)))
            enough = np.flatnonzero((left >= node.min_draws) & (left[-1] - left >= node.min_draws))
            if not len(enough):
                continue
            # All cuts between two neighbouring codes of the structure half divide it alike, and one may suit the other half.
            clipped = codes[structure].clip(enough[0], enough[-1] + 1)
            for code in np.unique(clipped)[:-1].tolist():
                left = codes[structure] <= code
                if min(node.counts[structure][left].sum(), node.counts[structure][~left].sum()) < node.min_draws:
                    continue
                score = decrease(numbers[structure], node.counts[structure], left)
                if best is None or score > best.score:
                    best = Cut(feature, code, score)
        return best


def decrease(numbers, counts, left):
    """The impurity decrease of a cut, times weights. It is exact up to the last roundings if the numbers are integers.

    Parameters
    ----------
    numbers : ndarray of shape (n_records, n)
        The target of each record; or, for each class, whether the record belongs to it.
    counts : ndarray of shape (n_records,)
    left : ndarray of shape (n_records,), dtype bool
    """
    w, w_left = float(counts.sum()), float(counts[left].sum())
    total = 0.0
    for column in numbers.T * counts.astype(np.float64):
        cross = w * float(column[left].sum()) - w_left * float(column.sum())
        total += cross * cross
    return total / (w_left * (w - w_left) * w)
