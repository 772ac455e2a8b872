"""Whether more trees would help: the law that the out-of-bag error of a forest follows as trees are added.

The mean squared error of a mean over T independent trees is its limit plus the trees' variance divided by T. The error rate of
a majority vote approaches its limit as 1 / T too, for large T [1]_, though it need not fall [2]_. So ``limit + slope / T`` is
fitted to the curve, without its first quarter, where rows have been left out by few trees.

Trees are drawn by chance, and the curve strays from the law as a mean of independent numbers, one from each tree, strays from
what it is expected to be. By the law, the differences of T times the error of T trees are all alike but for these numbers,
whose standard deviation is thus found. It says by how much chance may move the error as trees are added.

References
----------
.. [1] M. E. Lopes, "Estimating the algorithmic variance of randomized ensembles via the bootstrap", Annals of Statistics 47(2),
   2019.
.. [2] P. Probst, A.-L. Boulesteix, "To tune or not to tune the number of trees in random forest", Journal of Machine Learning
   Research 18, 2018.
"""

import math
from dataclasses import dataclass

import numpy as np

LEAST_TREES = 20  # for which a law is fitted


@dataclass(frozen=True)
class Trend:
    """The law ``limit + slope / n`` of the error of n trees.

    Attributes
    ----------
    limit : float
        The error of infinitely many trees.
    slope : float
        Negative if the error rises as trees are added.
    spread : float
        The standard deviation of what single trees add to T times the error of T trees.
    first, last : int
        The least and the greatest number of trees that it was fitted to.
    """

    limit: float
    slope: float
    spread: float
    first: int
    last: int

    def at(self, n_trees):
        """The error of a number of trees, or of an array of numbers."""
        return self.limit + self.slope / n_trees

    def gain(self, n_more):
        """How much lower the error is expected to be with so many trees more than `last`."""
        return self.slope / self.last - self.slope / (self.last + n_more)

    def chance(self, n_more):
        """The standard deviation of the change of the error, with so many trees more than `last`, that chance brings."""
        return self.spread * math.sqrt(1 / self.last - 1 / (self.last + n_more))


def fit_trend(curve):
    """The law that an out-of-bag curve follows, by least squares.

    Parameters
    ----------
    curve : array-like of shape (n_trees,)
        The error of the first 1, 2, ... trees; NaN where there is none.

    Returns
    -------
    Trend or None
        None for fewer than 20 trees, or for a curve that has no numbers in its last three quarters.
    """
    curve = np.asarray(curve, np.float64)
    n_trees = np.arange(1, len(curve) + 1)
    used = np.isfinite(curve) & (n_trees > len(curve) // 4)
    if len(curve) < LEAST_TREES or used.sum() < LEAST_TREES // 2:
        return None
    law = np.column_stack([np.ones(used.sum()), 1 / n_trees[used]])
    scale = np.abs(curve[used]).max() or 1.0  # squares of targets may be huge
    (limit, slope), *_ = np.linalg.lstsq(law, curve[used] / scale, rcond=None)
    steps = np.diff(n_trees * (curve / scale))[len(curve) // 4 :]
    spread = steps[np.isfinite(steps)].std(ddof=1)
    first, last = n_trees[used][[0, -1]].tolist()
    return Trend(float(limit * scale), float(slope * scale), float(spread * scale), first, last)
