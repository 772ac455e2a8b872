"""Out-of-bag estimates: each row predicted by the trees that left it out.

Breiman, "Out-of-bag estimation", 1996. Which rows a tree left out is computed again by its sampling
plan; nothing is stored for it.

Where several ranks have rows, or one has several parts of them, each predicts its own rows, part by part, on the processor,
even if a device grew the trees. Sparse rows, which would be dense on a device, are predicted on the processor too. Sums over rows
are exact: those of all ranks have the bits that one process with all rows gets.
"""

from dataclasses import dataclass
from functools import reduce
from importlib import import_module

import numpy as np

from dforest.core.draws import TreeDraws
from dforest.core.predict.out_of_bag import (
    N_DIGITS,
    VoteCounts,
    curve_of,
    leaves_out_of_bag,
    predict_out_of_bag,
    square_exponent,
)
from dforest.core.sparse_rows import SparseRows
from dforest.estimators.data.validation import count_threads
from dforest.estimators.powers import times_power
from dforest.rules.arrays import BLOCK
from dforest.spmd.communicator import ALONE
from dforest.spmd.draws import DrawAllocator

SUM_EXPONENT = 16  # sums of 2**32 squares are in range if their roots are divided by two to this power
TREES_ASKED = 8  # of each call of `fit`, whether they drew from some rows


@dataclass
class OutOfBag:
    """Estimates for the rows of this rank, and what they come to over the rows of all ranks; NaN for rows that every tree drew.

    Attributes
    ----------
    prediction : ndarray of shape (n_rows, n_classes) or (n_rows, 1), dtype float64
        Mean over the trees that left the row out of what their leaves add to a prediction.
    error_per_row : ndarray of shape (n_rows,), dtype float64
        Of classes: 1 if the class with most votes of these trees is wrong, else 0; of classes with equally many votes,
        the lowest counts. Of numbers: the squared deviation of the prediction. Empty if the objective has no errors of rows.
    error : float
        Mean of `error_per_row` over the rows of all ranks that some tree left out, or else their `Objective.error_of`.
    curve : ndarray of shape (n_trees,), dtype float64
        What `error` would be after 1, 2, ... trees. Empty if the objective has no errors of rows.
    n_never : int
        Number of rows of all ranks that every tree drew.
    """

    prediction: np.ndarray
    error_per_row: np.ndarray
    error: float
    curve: np.ndarray
    n_never: int

    @classmethod
    def mean_of(cls, outputs):
        """The estimates of several outputs: predictions side by side, and the means of errors."""
        per_row, curve = (mean_in_order([getattr(one, name) for one in outputs]) for name in ("error_per_row", "curve"))
        return cls(np.hstack([one.prediction for one in outputs]), per_row, float(curve[-1]), curve, outputs[0].n_never)


def mean_in_order(summands):
    """The mean of numbers, or of arrays entry by entry, added up one after another; the sum may be beyond float64's range."""
    power = len(summands).bit_length()
    return times_power(reduce(np.add, [np.ldexp(one, -power) for one in summands]) / len(summands), power)


def drew_from(forest, trees, parts, n_threads, numbers=slice(None), ranks=ALONE):
    """Whether trees drew from rows, in the order of these: each leaf knows how many draws reached it. A collective.

    Parameters
    ----------
    forest : Forest
    trees : range
        The trees that one call of `fit` grew, of which a few are asked.
    parts : list of ndarray of shape (n_rows of the part, n_features), or of SparseRows
        The rows of this rank, encoded.
    n_threads : int
    numbers : ndarray, optional
        Their places among the rows of all ranks, of which there are as many as trees drew from.
    ranks : Communicator, default=ALONE
    """
    for t in np.unique(np.linspace(trees.start, trees.stop - 1, min(TREES_ASKED, len(trees))).astype(int)):
        tree, counts = forest.tree(t), forest.row_counts(t)[numbers]
        packed, n_nodes = tree.packed(), len(tree.feature)
        leaf = np.concatenate([np.empty(0, np.int64), *(packed.apply(X, n_threads)[:, 0] for X in parts)])
        draws = ranks.sum(np.bincount(leaf, counts, n_nodes).astype(np.int64))
        is_leaf = tree.feature < 0
        if not np.array_equal(draws[is_leaf], tree.leaf_draws[tree.leaf_row[is_leaf]]):
            return False
    return True


def check_available(forest, n_trees, rows, n_threads):
    """Raise ValueError unless it is known which of some rows the trees of a forest left out. A collective.

    Parameters
    ----------
    forest : Forest
    n_trees : list of int
        How many trees each call of `fit` grew.
    rows : TrainingRows
        Numbered and encoded.
    n_threads : int
    """
    if not all(plan.leaves_rows_out for plan in forest.plans):
        raise ValueError(
            "Out of bag estimation needs trees that dforest has grown with bootstrap=True: others leave out no rows, or it is "
            "not known which"
        )
    if (forest.n_rows != rows.n_rows).any():
        raise ValueError(
            f"X has {rows.n_rows} rows of positive weight, but trees were grown on {forest.n_rows[0]} rows: which rows "
            "a tree left out is known for those only"
        )
    end = 0
    for n in n_trees:
        begin, end = end, end + n
        if not drew_from(forest, range(begin, end), rows.parts, n_threads, rows.share.numbers(), rows.ranks):
            raise ValueError(
                f"X has other rows than those that trees {begin} to {end - 1} were grown on, or has them in another order: which "
                "rows a tree left out is known for those only. Allowed are the rows that `fit` was given, in the same order, and "
                "with the same weights"
            )


def place_of(rows, device, n_threads):
    """(the device, the number of threads) that estimates from `TrainingRows` are made with; None means the processor."""
    if device is None or any(isinstance(part, SparseRows) for part in rows.parts):
        return None, n_threads if device is None else count_threads(-1)
    return device, n_threads


def row_ranges_of(forest, rows, n_threads, device=None, allocator=None):
    """Which rows the trees of a forest drew, for each part of this rank's rows that has any. A collective.

    Parameters
    ----------
    forest : Forest
        All of whose trees drew from these rows.
    rows : TrainingRows
    n_threads : int
    device : Device, optional
        None means the processor. For a device, all threads deal draws out.
    allocator : DrawAllocator, optional
        Of these rows, if they are divided; None: one is made.

    Returns
    -------
    list of (ndarray or SparseRows, slice, TreeDraws)
        The part, the places of its rows among those of this rank, and the draws of these rows.
    """
    if not rows.is_divided:
        n_threads = n_threads if device is None else count_threads(-1)
        return [(rows.parts[0], slice(None), TreeDraws(forest.used_plans, forest.seeds, rows.n_rows, n_threads))]
    allocator = allocator or DrawAllocator(rows.ranks, rows.n_rows, rows.share)
    allocated = allocator.allocate(forest.used_plans, forest.seeds, n_threads)
    row_ranges, end = [], 0
    for part, first in zip(rows.parts, rows.share.starts.tolist(), strict=True):
        begin, end = end, end + len(part)
        if len(part):
            blocks = np.searchsorted(allocator.blocks, [first // BLOCK, (first + len(part) - 1) // BLOCK])
            of_block = allocated[:, blocks[0] : blocks[1] + 1]
            draws = TreeDraws(forest.used_plans, forest.seeds, rows.n_rows, n_threads, (first, len(part)), of_block)
            row_ranges.append((part, slice(begin, end), draws))
    return row_ranges


def exponent_of(forest, rows):
    """The power of two by which errors of numbers are scaled; 0 for shares of classes. A collective."""
    return _exponent(forest.objective, rows, forest)


def _exponent(objective, rows, forest):
    """`exponent_of`, of a forest that may have no tree yet, and is None then."""
    if objective.predicts_shares:
        return 0
    # Leaves of other trees that come predict something between the least and the greatest target.
    return square_exponent(*rows.extent(), *(() if forest is None else (forest.leaf_value.min(), forest.leaf_value.max())))


def estimate(forest, rows, voting, n_threads, device=None):
    """Out-of-bag estimates of a forest on the rows it was grown on. A collective.

    Parameters
    ----------
    forest : Forest
    rows : TrainingRows
        Numbered. What they have as y are class numbers, or numbers.
    voting : {"soft", "hard"}
    n_threads : int
    device : Device, optional
        Where to work if all rows lie in one part. None means the processor.

    Returns
    -------
    OutOfBag
    """
    if rows.y.ndim == 2:
        outputs = range(rows.y.shape[1])
        return OutOfBag.mean_of([estimate(forest.of_output(o), rows.of_output(o), voting, n_threads, device) for o in outputs])
    exponent = exponent_of(forest, rows)
    return conclude(count(forest, rows, voting, exponent, n_threads, device), rows, exponent, forest.objective)


def count(forest, rows, voting, exponent, n_threads, device=None):
    """The votes of a forest's trees, `Counted`, for the rows of this rank. exponent : as of `exponent_of`. A collective."""
    device, n_threads = place_of(rows, device, n_threads)
    packed, target, leaf_class = forest.packed_leaves(voting, n_threads), rows.y.astype(np.float64), forest.leaf_class()
    counted = None if not rows.is_divided else Counted.nothing(len(rows.y), forest.objective, forest.n_trees)
    for X, own, draws in row_ranges_of(forest, rows, n_threads, device):
        work = packed, X, target[own], leaf_class, draws, exponent
        if device is None or rows.is_divided:
            found = predict_out_of_bag(*work, n_threads)
        else:
            found = import_module("dforest.engines.device.out_of_bag").predict_out_of_bag(device, *work)
        if counted is None:  # these are all rows
            counted = Counted(*found)
        else:
            counted.put(own, *found)
    return counted


class Predictor:
    """Predicts training rows out of bag, as often as asked, also with other values in their columns.

    Parameters
    ----------
    forest : Forest
    rows : TrainingRows
        Numbered, in one part of one rank.
    voting : {"soft", "hard"}
    n_threads : int
    """

    def __init__(self, forest, rows, voting, n_threads):
        self._draws = TreeDraws(forest.used_plans, forest.seeds, rows.n_rows, n_threads)
        self._n_threads, several = n_threads, rows.y.ndim == 2
        self._outputs = []
        for o in range(rows.y.shape[1] if several else 1):
            trees, own = (forest.of_output(o), rows.of_output(o)) if several else (forest, rows)
            target = own.y.astype(np.float64), trees.leaf_class(), self._draws, exponent_of(trees, own)
            self._outputs.append((trees.packed_leaves(voting, n_threads), target))

    def __call__(self, X):
        """Predictions for the rows with the values of an encoded X, as `OutOfBag.prediction` has them."""
        found = []
        for packed, target in self._outputs:
            sums, _, n_votes, *_ = predict_out_of_bag(packed, X, *target, self._n_threads)
            seen = n_votes[:, None] > 0
            found.append(np.divide(sums, n_votes[:, None], out=np.full(sums.shape, np.nan), where=seen))
        return np.hstack(found)


@dataclass
class Counted:
    """The votes of trees for the rows of this rank that they never drew: see `predict_out_of_bag`."""

    sums: np.ndarray
    votes: np.ndarray
    n_votes: np.ndarray
    totals: np.ndarray
    n_new: np.ndarray

    @classmethod
    def nothing(cls, n_rows, objective, n_trees):
        """No votes for some rows, by some trees."""
        sums, votes = np.zeros((n_rows, objective.n_values)), np.zeros((n_rows, objective.n_classes), np.int32)
        counts = np.zeros(n_rows, np.int32), np.zeros((N_DIGITS, n_trees), np.int64), np.zeros(n_trees, np.int64)
        return cls(sums, votes, *counts)

    def put(self, own, sums, votes, n_votes, totals, n_new):
        """Put the votes for a range of rows, given their places, to the others."""
        self.sums[own], self.votes[own], self.n_votes[own] = sums, votes, n_votes
        self.totals += totals
        self.n_new += n_new


def live_votes(rows, objective, voting, before, n_threads):
    """The `LiveVotes` of a fit, or, if there are several outputs, the `LiveVotesOfOutputs`, which take the same parameters."""
    kind = LiveVotes if rows.y.ndim == 1 else LiveVotesOfOutputs
    return kind(rows, objective, voting, before, n_threads)


class LiveVotes:
    """Votes that are counted while trees come, for the rows of this rank.

    Counting goes in two steps. `look` may be called by several threads at the same time, with trees in any order; `add` takes
    what it returned, tree by tree. All of it is a collective: where several ranks have rows, they look at trees in their order.

    Parameters
    ----------
    rows : TrainingRows
    objective : Objective
    voting : {"soft", "hard"}
    before : Forest or None
        Trees whose votes are counted at once.
    n_threads : int

    Attributes
    ----------
    curve : list of float
        `OutOfBag.curve` of the trees so far.
    errors : list of float
        The same in units of two to the power `power`, in which squares of any targets are in range.
    n_seen : int
        How many rows of all ranks some tree has left out.
    """

    def __init__(self, rows, objective, voting, before, n_threads):
        self._rows, self._voting = rows, voting
        self._allocator = DrawAllocator(rows.ranks, rows.n_rows, rows.share) if rows.is_divided else None
        self._exponent, self._objective = _exponent(objective, rows, before), objective
        self._counted = Counted.nothing(len(rows.y), objective, 0)
        # The targets of all ranks, where errors are those of all rows together.
        self._y = None if objective.has_errors_of_rows else rows.of_all(rows.y)
        self.errors, self.power = [], _power(self._exponent) if self._y is None else 0
        if before is not None and self._y is None:
            self._counted = count(before, rows, voting, self._exponent, n_threads)
            self.errors = _mean_errors(self._counted, self._rows.ranks)[0].tolist()
        self.curve = times_power(self.errors, self.power).tolist()
        counted = self._counted
        target = rows.y.astype(np.float64)
        self._counts = VoteCounts(target, counted.sums, counted.votes, counted.n_votes, self._exponent)
        self._totals, self._n_new = list(counted.totals.T), counted.n_new.tolist()  # of this rank's rows
        # Of all ranks' rows: digits of 33 bits, as there are never so many trees that these overflow; and rows that have votes.
        *self._sum, self.n_seen = rows.ranks.sum(np.append(counted.totals.sum(axis=1), counted.n_new.sum()))
        for t in range(0 if before is None or self._y is None else before.n_trees):
            self.add(self.look(before.tree(t)))

    def look(self, tree):
        """What the next tree, a `Forest` of it alone, says of the rows that it left out."""
        packed, numbers, leaves = tree.packed_leaves(self._voting), [], []
        for X, own, draws in row_ranges_of(tree, self._rows, 1, None, self._allocator):
            found = leaves_out_of_bag(packed, X, draws)
            numbers.append(found[0] + np.uint32(own.start or 0))
            leaves.append(found[1])
        if len(numbers) != 1:
            nothing = np.zeros(0, np.uint32)
            numbers, leaves = [np.concatenate([nothing, *numbers])], [np.concatenate([nothing, *leaves])]
        return numbers[0], leaves[0], tree.votes(self._voting), tree.leaf_class()

    def add(self, looked):
        """Count the votes of a tree, given what `look` has returned."""
        digits, n_new = self._counts.add_tree(*looked)
        self._totals.append(digits)
        self._n_new.append(n_new)
        *of_all, n_new_of_all = self._rows.ranks.sum(np.append(digits, n_new))
        self._sum = np.add(self._sum, of_all)
        self.n_seen += n_new_of_all
        if self._y is None:
            (error,) = curve_of(self._sum[:, None], SUM_EXPONENT)
            self.errors.append(float(error) / int(self.n_seen) if self.n_seen else np.nan)
        else:
            seen, prediction = self.prediction()
            self.errors.append(self._objective.error_of(self._y[seen], prediction))
        self.curve.append(float(times_power(self.errors[-1], self.power)))

    def prediction(self):
        """The rows of all ranks that some tree left out, ndarray of bool, and their predictions, as of `OutOfBag.prediction`."""
        sums, n_votes = self._rows.of_all(self._counted.sums), self._rows.of_all(self._counted.n_votes)
        seen = n_votes > 0
        return seen, sums[seen] / n_votes[seen, None]

    def estimate(self):
        """The `OutOfBag` estimates of the trees so far: see `estimate`."""
        counted, totals = self._counted, np.stack(self._totals, axis=1)
        counted = Counted(counted.sums, counted.votes, counted.n_votes, totals, np.array(self._n_new, np.int64))
        return conclude(counted, self._rows, self._exponent, self._objective)


class LiveVotesOfOutputs:
    """The `LiveVotes` of several outputs, whose errors are means over these."""

    def __init__(self, rows, objective, voting, before, n_threads):
        self._outputs = [
            LiveVotes(rows.of_output(o), objective.of_output(o), voting, before and before.of_output(o), n_threads)
            for o in range(objective.n_outputs)
        ]
        self.power = max(votes.power for votes in self._outputs)
        self.errors = [self._mean(errors) for errors in zip(*(votes.errors for votes in self._outputs), strict=True)]
        self.curve = [float(mean_in_order(errors)) for errors in zip(*(votes.curve for votes in self._outputs), strict=True)]

    @property
    def n_seen(self):
        return self._outputs[0].n_seen

    def _mean(self, errors):
        powers = [votes.power - self.power for votes in self._outputs]
        return float(mean_in_order([times_power(error, power) for error, power in zip(errors, powers, strict=True)]))

    def look(self, tree):
        return [votes.look(tree.of_output(o)) for o, votes in enumerate(self._outputs)]

    def add(self, looked):
        for votes, of_output in zip(self._outputs, looked, strict=True):
            votes.add(of_output)
        self.errors.append(self._mean([votes.errors[-1] for votes in self._outputs]))
        self.curve.append(float(mean_in_order([votes.curve[-1] for votes in self._outputs])))

    def prediction(self):
        seen, predictions = zip(*(votes.prediction() for votes in self._outputs), strict=True)
        return seen[0], np.hstack(predictions)

    def estimate(self):
        return OutOfBag.mean_of([votes.estimate() for votes in self._outputs])


def _power(exponent):
    """The power of two that mean errors of scaled targets are in units of, given the exponent of that scale."""
    return 2 * (SUM_EXPONENT - exponent)


def _mean_errors(counted, ranks):
    """(mean errors after 1, 2, ... trees, in units of two to a `_power`; how many rows have votes after them). A collective."""
    errors, n_seen = curve_of(ranks.sum(counted.totals), SUM_EXPONENT), np.cumsum(ranks.sum(counted.n_new))
    return np.divide(errors, n_seen, out=np.full(len(errors), np.nan), where=n_seen > 0), n_seen


def conclude(counted, rows, exponent, objective):
    """The `OutOfBag` estimates by the votes that were `Counted`. A collective."""
    ranks, target = rows.ranks, rows.y.astype(np.float64)
    prediction, per_row = np.full(counted.sums.shape, np.nan), np.full(len(target), np.nan)
    seen = counted.n_votes > 0
    with np.errstate(under="ignore"):
        np.divide(counted.sums, counted.n_votes[:, None], out=prediction, where=seen[:, None])
        if not objective.has_errors_of_rows:
            y, of_all, seen = (rows.of_all(array) for array in (rows.y, prediction, seen))
            nothing = np.zeros(0)
            return OutOfBag(prediction, nothing, objective.error_of(y[seen], of_all[seen]), nothing, int((~seen).sum()))
        if counted.votes.shape[1]:
            per_row[seen] = counted.votes[seen].argmax(axis=1) != target[seen]
        else:
            factor = 2.0**exponent
            per_row[seen] = times_power((prediction[seen, 0] * factor - target[seen] * factor) ** 2, -2 * exponent)
    errors, n_seen = _mean_errors(counted, ranks)
    curve = times_power(errors, _power(exponent))
    n_never = rows.n_rows - int(n_seen[-1])
    return OutOfBag(prediction, per_row, float(curve[-1]), curve, n_never)
