"""Out-of-bag estimates: each row predicted by the trees that left it out.

Breiman, "Out-of-bag estimation", 1996. Which rows a tree left out is computed again by its sampling
plan; nothing is stored for it.

Where several ranks have rows, or one has several parts of them, each predicts its own rows, part by part, on the processor,
even if a device grew the trees. Sums over rows are exact: those of all ranks have the bits that one process with all rows gets.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from dforest.core.predict.out_of_bag import N_DIGITS, curve_of, predict_out_of_bag, square_exponent
from dforest.core.sampling import TreeDraws
from dforest.estimators.validation import count_threads
from dforest.rules.arrays import BLOCK
from dforest.spmd.draws import DrawDealer


@dataclass
class OutOfBag:
    """Estimates for the rows of this rank, and what they come to over the rows of all ranks; NaN for rows that every tree drew.

    Attributes
    ----------
    prediction : ndarray of shape (n_rows, n_classes) or (n_rows, 1), dtype float64
        Mean over the trees that left the row out of what their leaves add to a prediction.
    error_per_row : ndarray of shape (n_rows,), dtype float64
        Of classes: 1 if the class with most votes of these trees is wrong, else 0; of classes with equally many votes,
        the lowest counts. Of numbers: the squared deviation of the prediction.
    error : float
        Mean of `error_per_row` over the rows of all ranks that some tree left out.
    curve : ndarray of shape (n_trees,), dtype float64
        What `error` would be after 1, 2, ... trees.
    n_never : int
        Number of rows of all ranks that every tree drew.
    """

    prediction: np.ndarray
    error_per_row: np.ndarray
    error: float
    curve: np.ndarray
    n_never: int


def check_available(forest, n_rows):
    """Raise ValueError if a tree of a forest, or None, left out no rows or was not grown on `n_rows` rows, those of all ranks."""
    if forest is None:
        return
    if not all(plan.leaves_rows_out for plan in forest.plans):
        raise ValueError("Out of bag estimation needs trees grown with bootstrap=True: without it they leave out no rows")
    if (forest.n_rows != n_rows).any():
        raise ValueError(
            f"X has {n_rows} rows of positive weight, but trees were grown on {forest.n_rows[0]} rows: which rows "
            "a tree left out is known for those only"
        )


def is_divided(rows):
    """Whether `TrainingRows` lie on several ranks, or in several parts of this one."""
    return rows.ranks.size > 1 or len(rows.parts) != 1


def stretches_of(forest, rows, n_threads, device=None):
    """Which rows the trees of a forest drew, for each part of this rank's rows that has any. A collective.

    Parameters
    ----------
    forest : Forest
        All of whose trees drew from these rows.
    rows : TrainingRows
    n_threads : int
    device : Device, optional
        None means the processor without SYCL. For a device, all threads deal draws out.

    Returns
    -------
    list of (ndarray, slice, TreeDraws)
        The part, the places of its rows among those of this rank, and the draws of these rows.
    """
    if not is_divided(rows):
        n_threads = n_threads if device is None else count_threads(-1)
        return [(rows.parts[0], slice(None), TreeDraws(forest.plans, forest.seeds, rows.n_rows, n_threads))]
    dealer = DrawDealer(rows.ranks, rows.n_rows, rows.share)
    dealt = dealer.deal(forest.plans, forest.seeds, n_threads)
    stretches, end = [], 0
    for part, first in zip(rows.parts, rows.share.starts.tolist(), strict=True):
        begin, end = end, end + len(part)
        if len(part):
            blocks = np.searchsorted(dealer.blocks, [first // BLOCK, (first + len(part) - 1) // BLOCK])
            of_block = dealt[:, blocks[0] : blocks[1] + 1]
            draws = TreeDraws(forest.plans, forest.seeds, rows.n_rows, n_threads, (first, len(part)), of_block)
            stretches.append((part, slice(begin, end), draws))
    return stretches


def exponent_of(forest, rows):
    """The power of two by which errors of numbers are scaled; 0 for classes. A collective."""
    if forest.objective.has_classes:
        return 0
    return square_exponent(*rows.extent(), forest.leaf_value.min(), forest.leaf_value.max())


def estimate(forest, rows, voting, n_threads, device=None):
    """Out-of-bag estimates of a forest on the rows it was grown on. A collective.

    If some rows were drawn by every tree, the rank 0 warns, with the number of such rows of all ranks.

    Parameters
    ----------
    forest : Forest
    rows : TrainingRows
        Numbered. What they have as y are class numbers, or numbers.
    voting : {"soft", "hard"}
    n_threads : int
    device : Device, optional
        Where to work if all rows lie in one part. None means the processor without SYCL.

    Returns
    -------
    OutOfBag
    """
    ranks, target, n_own = rows.ranks, rows.y.astype(np.float64), len(rows.y)
    has_classes = forest.objective.has_classes
    leaf_class, exponent = forest.leaf_class() if has_classes else None, exponent_of(forest, rows)
    packed = forest.packed_leaves(voting)
    prediction, per_row = np.full((n_own, packed.n_outputs), np.nan), np.full(n_own, np.nan)
    totals, n_new = np.zeros((N_DIGITS, forest.n_trees), np.int64), np.zeros(forest.n_trees, np.int64)
    for X, own, draws in stretches_of(forest, rows, n_threads, device):
        work = packed, X, target[own], leaf_class, draws, exponent
        if device is None or is_divided(rows):
            sums, votes, n_votes, added, n_first = predict_out_of_bag(*work, n_threads)
        else:
            on_device = import_module("dforest.engines.device.out_of_bag")
            sums, votes, n_votes, added, n_first = on_device.predict_out_of_bag(device, *work)
        seen = n_votes > 0
        prediction[own][seen] = sums[seen] / n_votes[seen, None]
        if has_classes:
            per_row[own][seen] = votes[seen].argmax(axis=1) != target[own][seen]
        else:
            per_row[own][seen] = (prediction[own][seen, 0] - target[own][seen]) ** 2
        totals += added
        n_new += n_first
    errors, n_seen = curve_of(ranks.sum(totals), exponent), np.cumsum(ranks.sum(n_new))
    curve = np.divide(errors, n_seen, out=np.full(len(errors), np.nan), where=n_seen > 0)
    n_never = rows.n_rows - int(n_seen[-1])
    if n_never and ranks.rank == 0:
        warnings.warn(
            f"Some inputs do not have OOB scores: {n_never} of {rows.n_rows} rows were drawn by each of the "
            f"{forest.n_trees} trees; more trees leave out more rows",
            UserWarning,
            stacklevel=6,
        )
    return OutOfBag(prediction, per_row, float(curve[-1]), curve, n_never)
