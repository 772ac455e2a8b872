"""What is computed from trees for survival times: the curves of their leaves, the weights of events, Brier scores.

The curves of leaves are made after trees are grown, from the rows that each tree drew, which its seed and its sampling plan tell.
`LeafCurves` owns its arrays, which nobody writes to.
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.predict.survival import curves_of_leaves, mean_curves
from dforest.core.threads import each

BLOCK_BYTES = 1 << 26  # of the curves of rows that are formed together
BLOCK_ROWS = 4096  # whose curves are summed up at a time, where numbers are made of them


@dataclass(frozen=True, eq=False)
class LeafCurves:
    """The hazards of the leaves of some trees, one leaf after another in the order of nodes.

    Attributes
    ----------
    offsets : ndarray of shape (n_leaves + 1,), dtype int64
        Where the entries of each leaf begin.
    time : ndarray of shape (n,), dtype int32
        The number of an event time of the training rows, from 0.
    hazard : ndarray of shape (n,), dtype float64
        The share of the draws at risk that have an event then.
    """

    offsets: np.ndarray
    time: np.ndarray
    hazard: np.ndarray

    @classmethod
    def of_trees(cls, forest, trees, rows, code, entry, weight, n_threads):
        """The curves of trees on the rows that they were grown on.

        Parameters
        ----------
        forest : Forest
        trees : range
        rows : TrainingRows
            Of one rank, in one part.
        code : ndarray of shape (n_rows,), dtype int64
            Twice the number of event times up to the row's time, and 1 more for an event.
        entry : ndarray of shape (n_rows,), dtype int64
            The number of event times up to its entry.
        weight : ndarray of shape (n_rows,), dtype float64, or None
            What a draw of each row weighs.
        n_threads : int
        """
        order, entry = np.argsort(code, kind="stable"), entry if entry.any() else None
        found = [None] * len(trees)

        def look(i, _):
            tree = forest.tree(trees[i])
            leaf = (np.cumsum(tree.feature < 0) - 1)[tree.packed().apply(rows.parts[0], 1)[:, 0]]
            n_leaves = int(np.count_nonzero(tree.feature < 0))
            found[i] = curves_of_leaves(leaf, forest.row_counts(trees[i]), weight, code, order, entry, n_leaves)

        each(len(trees), look, n_threads)
        lengths, time, hazard = zip(*found, strict=True)
        return cls(np.cumsum(np.concatenate([[0], *lengths])), np.concatenate(time), np.concatenate(hazard))

    @classmethod
    def joined(cls, parts):
        """The curves of several forests' trees, one after another."""
        first = parts[0]
        for other in parts[1:]:
            offsets = np.concatenate([first.offsets, first.offsets[-1] + other.offsets[1:]])
            first = cls(offsets, np.concatenate([first.time, other.time]), np.concatenate([first.hazard, other.hazard]))
        return first

    def of_leaves(self, begin, end):
        """The curves of a range of the leaves."""
        offsets = self.offsets[begin : end + 1]
        entries = slice(offsets[0], offsets[-1])
        return LeafCurves(offsets - offsets[0], self.time[entries], self.hazard[entries])

    def check(self, forest):
        """Raise TypeError or ValueError unless these are curves of the leaves of a forest."""
        for name, kind in (("offsets", np.int64), ("time", np.int32), ("hazard", np.float64)):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
                raise TypeError(f"{name} of curves is {array!r}; in a fitted estimator it is an array of {np.dtype(kind)}")
        n_leaves, n = int(np.count_nonzero(forest.feature < 0)), len(self.time)
        if len(self.offsets) != n_leaves + 1 or self.offsets[0] != 0 or self.offsets[-1] != n or len(self.hazard) != n:
            raise ValueError(f"curves of {len(self.offsets) - 1} leaves, of {n} entries, don't fit a forest of {n_leaves} leaves")
        is_time = (self.time >= 0) & (self.time < forest.objective.n_times)
        if (np.diff(self.offsets) < 0).any() or not is_time.all() or not ((self.hazard > 0) & (self.hazard <= 1)).all():
            raise ValueError("curves hold offsets that fall, times that there are not, or hazards that are none")

    def means(self, forest, leaves, places, is_survival, n_threads, counts=None):
        """Means over trees of the curves of rows: ndarray of shape (n_rows, n_places), dtype float64.

        Parameters
        ----------
        forest : Forest
        leaves : ndarray of shape (n_rows, n_trees)
            As `PackedForest.apply` returns them.
        places : ndarray of shape (n_places,), dtype int64
            How many event times are not after each of the times asked for.
        is_survival : bool
        n_threads : int
        counts : ndarray of shape (n_rows, n_trees), dtype bool, optional
            Whether a row's mean has the curve of a tree; rows need one. None means all.
        """
        n_times = forest.objective.n_times
        numbers = np.cumsum(forest.feature < 0) - 1
        found = np.empty((len(leaves), len(places)))
        n_block = max(1, BLOCK_BYTES // (8 * (n_times + 1) * max(1, n_threads)))

        def fill(block, _):
            own = slice(block * n_block, (block + 1) * n_block)
            leaf = numbers[leaves[own] + forest.node_offsets[:-1]]
            if counts is not None:
                leaf[~counts[own]] = -1
            curve = np.empty((len(leaf), n_times))
            mean_curves(leaf, self.offsets, self.time, self.hazard, curve, is_survival)
            before = np.full((len(leaf), 1), float(is_survival))
            found[own] = np.hstack([before, curve])[:, places]

        each(-(-len(leaves) // n_block), fill, n_threads)
        return found


def not_censored(event, time):
    """The Kaplan-Meier estimate of the probability not to be censored up to a time: (times, ascending; the probability at each).

    At a time with events and censored rows, the events come first.
    """
    times, number = np.unique(time, return_inverse=True)
    events = np.bincount(number, event, len(times))
    censored = np.bincount(number, ~event, len(times))
    at_risk = len(time) - np.concatenate([[0], np.cumsum(events + censored)[:-1]]) - events
    share = np.divide(censored, at_risk, out=np.zeros(len(times)), where=censored > 0)
    return times, np.cumprod(1.0 - share)


def uno_weights(event, time):
    """1 / G(time)^2, with G the probability of `not_censored`; 0 where that is 0."""
    times, probability = not_censored(event, time)
    at_times = probability[np.searchsorted(times, time)]
    return np.divide(1.0, at_times**2, out=np.zeros(len(time)), where=at_times > 0)


def integrated_brier_score(event, time, at, survival_of):
    """The integrated Brier score of survival functions [1]_: 0 is best, and 0.25 is what a probability of 1/2 gives.

    The Brier score at a time t is the mean over rows of the squared difference between the survival function at t and 1 for rows
    that are seen after t, or 0 for rows that had an event. The former are divided by G(t), the latter by G at their own time,
    with G the probability of `not_censored`; rows that were censored before t count 0. Scores are integrated by the trapezoid
    rule, and divided by the length of the range.

    Parameters
    ----------
    event, time : ndarray of shape (n_rows,)
    at : ndarray of shape (n_times,)
        The times t, ascending, of which there are two or more.
    survival_of : callable
        The survival functions of a range of the rows, given as a slice, at these times: ndarray of shape (n, n_times).

    References
    ----------
    .. [1] E. Graf, C. Schmoor, W. Sauerbrei, M. Schumacher, "Assessment and comparison of prognostic classification schemes for
       survival data", Statistics in Medicine 18(17-18), 1999.
    """
    times, probability = not_censored(event, time)
    inverse = np.divide(1.0, probability, out=np.zeros(len(times)), where=probability > 0)
    of_row = np.where(event, inverse[np.searchsorted(times, time)], 0.0)[:, None]
    of_time = np.concatenate([[1.0], inverse])[np.searchsorted(times, at, side="right")]  # G is 1 before the first time
    total = np.zeros(len(at))
    for begin in range(0, len(time), BLOCK_ROWS):  # in this order on any number of threads
        own = slice(begin, begin + BLOCK_ROWS)
        survival, is_after = survival_of(own), time[own, None] > at
        total += np.where(is_after, (1.0 - survival) ** 2 * of_time, survival**2 * of_row[own]).sum(axis=0)
    return float(np.trapezoid(total / len(time), at) / (at[-1] - at[0]))
