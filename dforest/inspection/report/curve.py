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

MIN_TREES = 20  # for which a law is fitted


@dataclass(frozen=True)
class Trend:
    """A fitted law of how the out-of-bag error falls with the number of trees: error of n trees = limit + slope / n.

    `dforest.OutOfBagCurveDisplay` fits and draws it.

    Attributes
    ----------
    limit : float
        The error that infinitely many trees would have, in the unit of the error.
    slope : float
        How fast the error approaches the limit; negative if it rises as trees are added.
    spread : float
        Standard deviation of the chance deviations that single trees add to T times the error of T trees.
    first, last : int
        Least and greatest number of trees that the law was fitted to.

    Examples
    --------
    >>> from dforest.inspection.report.curve import Trend
    >>> trend = Trend(limit=0.1, slope=2.0, spread=0.0, first=25, last=100)
    >>> round(trend.at(100), 3), round(trend.at(200), 3)
    (0.12, 0.11)
    >>> round(trend.gain(100), 3)
    0.01
    """

    limit: float
    slope: float
    spread: float
    first: int
    last: int

    def at(self, n_trees):
        """Return the error of forests with this number of trees, or of an array of numbers of trees."""
        return self.limit + self.slope / n_trees

    def gain(self, n_more):
        """Return how much lower the error of `last` + `n_more` trees is expected to be than that of `last` trees."""
        return self.slope / self.last - self.slope / (self.last + n_more)

    def chance(self, n_more):
        """Return the standard deviation of the change of the error that `n_more` trees beside `last` bring by chance."""
        return self.spread * math.sqrt(1 / self.last - 1 / (self.last + n_more))


def fit_trend(curve, n_trees=None):
    """The law that an out-of-bag curve follows, by least squares.

    Parameters
    ----------
    curve : array-like of shape (n_points,)
        The error of some numbers of trees; NaN where there is none.
    n_trees : ndarray of shape (n_points,), optional
        These numbers, ascending. None means 1, 2, ...

    Returns
    -------
    Trend or None
        None for fewer than 20 trees, or for a curve that has no numbers in its last three quarters.
    """
    curve = np.asarray(curve, np.float64)
    n_trees = np.arange(1, len(curve) + 1) if n_trees is None else n_trees
    most = int(n_trees[-1]) if len(n_trees) else 0
    used = np.isfinite(curve) & (n_trees > most // 4)
    if most < MIN_TREES or used.sum() < MIN_TREES // 2:
        return None
    curve, n_trees = curve[used], n_trees[used]
    law = np.column_stack([np.ones(len(curve)), 1 / n_trees])
    scale = np.abs(curve).max() or 1.0  # squares of targets may be huge
    (limit, slope), *_ = np.linalg.lstsq(law, curve / scale, rcond=None)
    steps, more = np.diff(n_trees * (curve / scale)), np.diff(n_trees)
    strayed = (steps - more * steps.sum() / more.sum()) / np.sqrt(more)
    spread = math.sqrt((strayed**2).sum() / (len(strayed) - 1))
    return Trend(float(limit * scale), float(slope * scale), float(spread * scale), int(n_trees[0]), most)


@dataclass(frozen=True)
class Curve:
    """A score, or an error, by the number of trees of a forest or of iterations of boosted trees."""

    n_trees: np.ndarray  # of shape (n_points,): numbers of trees, or of iterations; ascending
    values: np.ndarray  # of shape (n_points,); NaN where there is none
    name: str  # such as "misclassification rate"
    is_error: bool  # whether lower is better
    where: str  # what is predicted, such as "out of bag"
    unit: str  # "tree" or "iteration"
    known_to: float = np.nan  # the standard error of the last value, as an estimate for new rows; NaN if it is not known
    other: np.ndarray | None = None  # the same of training rows
    n_scored: int | None = None  # how many of the rows of X, drawn at random, were scored; None: all, or rows that are not X
    n_kept: int | None = None  # how many iterations the model has, where later ones were dropped; None: all
    n_iter_no_change: int | None = None  # after how many iterations without a better one growing stops; None: it does not

    @property
    def sign(self):
        """What values are times to be errors, so that lower is better, and what errors are times to be values."""
        return 1 if self.is_error else -1

    @property
    def trend(self):
        """The law of the errors of a forest, or None. It holds for other smooth scores of means to first order too."""
        return fit_trend(self.sign * self.values, self.n_trees) if self.unit == "tree" else None

    @property
    def best(self):
        """(the number of trees or iterations of the best value, this value); of equal values the first."""
        k = int(np.nanargmin(self.sign * self.values))
        return int(self.n_trees[k]), float(self.values[k])

    @property
    def axis(self):
        return f"{self.name[0].upper()}{self.name[1:]} {self.where}"

    @property
    def lines(self):
        """What is drawn: a list of (values, name or None, colour)."""
        if self.other is None:
            return [(self.values, None if self.trend is None else "measured", "c0")]
        return [(self.other, "training rows", "c1"), (self.values, self.where.removeprefix("of "), "c0")]

    def at(self, n):
        """(the number of trees that a value is known for and that is nearest to n, the value)."""
        k = int(np.abs(self.n_trees - n).argmin())
        return int(self.n_trees[k]), float(self.values[k])
