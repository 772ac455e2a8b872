"""What is computed from trees for survival times: the curves of their leaves, concordance, importances by permutation.

The curves of leaves are made after trees are grown, from the rows that each tree drew, which its seed and its sampling plan tell.
`LeafCurves` owns its arrays, which nobody writes to.
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.predict.survival import count_pairs, curves_of_leaves, mean_curves
from dforest.core.sparse_rows import dense
from dforest.core.threads import each
from dforest.estimators.results.importance import features_used

BLOCK_BYTES = 1 << 26  # of the curves of rows that are formed together


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
    def of_trees(cls, forest, trees, rows, code, weight, n_threads):
        """The curves of trees on the rows that they were grown on.

        Parameters
        ----------
        forest : Forest
        trees : range
        rows : TrainingRows
            Of one rank, in one part.
        code : ndarray of shape (n_rows,), dtype int64
            Twice the number of event times up to the row's time, and 1 more for an event.
        weight : ndarray of shape (n_rows,), dtype float64, or None
            What a draw of each row weighs.
        n_threads : int
        """
        order = np.argsort(code, kind="stable")
        found = [None] * len(trees)

        def look(i, _):
            tree = forest.tree(trees[i])
            leaf = (np.cumsum(tree.feature < 0) - 1)[tree.packed().apply(rows.parts[0], 1)[:, 0]]
            n_leaves = int(np.count_nonzero(tree.feature < 0))
            found[i] = curves_of_leaves(leaf, forest.row_counts(trees[i]), weight, code, order, n_leaves)

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

    def means(self, forest, leaves, places, is_survival, n_threads):
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
        """
        n_times = forest.objective.n_times
        numbers = np.cumsum(forest.feature < 0) - 1
        found = np.empty((len(leaves), len(places)))
        n_block = max(1, BLOCK_BYTES // (8 * (n_times + 1) * max(1, n_threads)))

        def fill(block, _):
            own = slice(block * n_block, (block + 1) * n_block)
            leaf = numbers[leaves[own] + forest.node_offsets[:-1]]
            curve = np.empty((len(leaf), n_times))
            mean_curves(leaf, self.offsets, self.time, self.hazard, curve, is_survival)
            before = np.full((len(leaf), 1), float(is_survival))
            found[own] = np.hstack([before, curve])[:, places]

        each(-(-len(leaves) // n_block), fill, n_threads)
        return found


def concordance(event, time, risk, weight=None):
    """Harrell's concordance index [1]_; with weights of events, those of Uno, for example [2]_. NaN if no pairs are comparable.

    Parameters
    ----------
    event, time : ndarray of shape (n_rows,)
    risk : ndarray of shape (n_rows,)
        Higher numbers mean an earlier event.
    weight : ndarray of shape (n_rows,), optional

    References
    ----------
    .. [1] F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee, R. A. Rosati, "Evaluating the yield of medical tests", Journal of
       the American Medical Association 247(18), 1982.
    .. [2] H. Uno, T. Cai, M. J. Pencina, R. B. D'Agostino, L. J. Wei, "On the C-statistics for evaluating overall adequacy of
       risk prediction procedures with censored survival data", Statistics in Medicine 30(10), 2011.
    """
    order = np.argsort(time, kind="stable")
    ranks = [np.unique(numbers, return_inverse=True)[1].astype(np.int64)[order] for numbers in (time, risk)]
    own = None if weight is None else np.ascontiguousarray(weight[order], np.float64)
    concordant, comparable = count_pairs(np.ascontiguousarray(event[order], np.uint8), *ranks, own)
    return concordant / comparable if comparable > 0 else np.nan


def uno_weights(event, time):
    """1 / G(time)^2, with G the Kaplan-Meier estimate of the probability not to be censored; 0 where that is 0.

    At a time with events and censored rows, the events come first.
    """
    times, number = np.unique(time, return_inverse=True)
    events = np.bincount(number, event, len(times))
    censored = np.bincount(number, ~event, len(times))
    at_risk = len(time) - np.concatenate([[0], np.cumsum(events + censored)[:-1]]) - events
    share = np.divide(censored, at_risk, out=np.zeros(len(times)), where=censored > 0)
    not_censored = np.cumprod(1.0 - share)[number]
    return np.divide(1.0, not_censored**2, out=np.zeros(len(time)), where=not_censored > 0)


def concordance_decrease(forest, rows, event, time, n_threads):
    """By how much the concordance of each tree falls, on the rows that it left out, when a feature is permuted.

    Parameters
    ----------
    forest : Forest
    rows : TrainingRows
        Of one rank, in one part.
    event, time : ndarray of shape (n_rows,)
    n_threads : int

    Returns
    -------
    ndarray of shape (n_trees, n_features), dtype float64
        NaN for a tree that left out no comparable rows.
    """
    X, used = rows.parts[0], features_used(forest)
    X = dense(X)
    decrease = np.zeros((forest.n_trees, forest.n_features))

    def look(t, _):
        out = np.flatnonzero(forest.row_counts(t) == 0)
        own, packed = np.ascontiguousarray(X[out]), forest.tree(t).packed()
        if len(out) == 0:
            decrease[t] = np.nan
            return
        score = concordance(event[out], time[out], packed.mean(own, 1)[:, 0])
        if np.isnan(score):
            decrease[t] = np.nan
            return
        draws = np.random.RandomState(int(forest.seeds[t]))  # whose streams stay what they are
        for j in range(forest.n_features):
            place = draws.permutation(len(out))
            if used[t, j]:
                values = own[:, j].copy()
                own[:, j] = values[place]
                decrease[t, j] = score - concordance(event[out], time[out], packed.mean(own, 1)[:, 0])
                own[:, j] = values

    each(forest.n_trees, look, n_threads)
    return decrease
