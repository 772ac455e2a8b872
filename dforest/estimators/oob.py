"""Out-of-bag estimates: each row predicted by the trees that left it out.

Breiman, "Out-of-bag estimation", 1996. Which rows a tree left out is computed again by its sampling
plan; nothing is stored for it.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from dforest.core.predict.out_of_bag import predict_out_of_bag
from dforest.core.sampling import TreeDraws
from dforest.estimators.validation import count_threads


@dataclass
class OutOfBag:
    """Estimates for some rows; NaN for rows that every tree drew.

    Attributes
    ----------
    prediction : ndarray of shape (n_rows, n_classes) or (n_rows, 1), dtype float64
        Mean over the trees that left the row out of what their leaves add to a prediction.
    error_per_row : ndarray of shape (n_rows,), dtype float64
        Of classes: 1 if the class with most votes of these trees is wrong, else 0; of classes with equally many votes,
        the lowest counts. Of numbers: the squared deviation of the prediction.
    error : float
        Mean of `error_per_row` over the rows that some tree left out.
    curve : ndarray of shape (n_trees,), dtype float64
        What `error` would be after 1, 2, ... trees.
    n_never : int
        Number of rows that every tree drew.
    """

    prediction: np.ndarray
    error_per_row: np.ndarray
    error: float
    curve: np.ndarray
    n_never: int


def check_available(forest, n_rows):
    """Raise ValueError if a tree of a forest, which may be None, left out no rows or was not grown on `n_rows` rows."""
    if forest is None:
        return
    if not all(plan.leaves_rows_out for plan in forest.plans):
        raise ValueError("Out of bag estimation needs trees grown with bootstrap=True: without it they leave out no rows")
    if (forest.n_rows != n_rows).any():
        raise ValueError(
            f"X has {n_rows} rows of positive weight, but trees were grown on {forest.n_rows[0]} rows: which rows "
            "a tree left out is known for those only"
        )


def draws_of(forest, n_threads, device):
    """The `TreeDraws` of a forest whose trees all drew from one number of rows. For a device, all threads deal draws out."""
    return TreeDraws(forest.plans, forest.seeds, int(forest.n_rows[0]), n_threads if device is None else count_threads(-1))


def estimate(forest, X, target, voting, n_threads, device=None):
    """Out-of-bag estimates of a forest on the rows it was grown on.

    Parameters
    ----------
    forest : Forest
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
    target : ndarray of shape (n_rows,)
        Class numbers, or numbers.
    voting : {"soft", "hard"}
    n_threads : int
    device : Device, optional
        Where to work. None means the processor without SYCL.

    Returns
    -------
    OutOfBag
    """
    target = target.astype(np.float64)
    leaf_class = forest.leaf_class() if forest.objective.has_classes else None
    work = (forest.packed_leaves(voting), X, target, leaf_class, draws_of(forest, n_threads, device))
    if device is None:
        sums, votes, n_votes, errors, n_seen = predict_out_of_bag(*work, n_threads)
    else:
        on_device = import_module("dforest.engines.device.out_of_bag")
        sums, votes, n_votes, errors, n_seen = on_device.predict_out_of_bag(device, *work)
    seen = n_votes > 0
    prediction = np.full(sums.shape, np.nan)
    prediction[seen] = sums[seen] / n_votes[seen, None]
    per_row = np.full(len(target), np.nan)
    if forest.objective.has_classes:
        per_row[seen] = votes[seen].argmax(axis=1) != target[seen]
    else:
        per_row[seen] = (prediction[seen, 0] - target[seen]) ** 2
    curve = np.divide(errors, n_seen, out=np.full(len(errors), np.nan), where=n_seen > 0)
    n_never = int((~seen).sum())
    if n_never:
        warnings.warn(
            f"Some inputs do not have OOB scores: {n_never} of {len(target)} rows were drawn by each of the "
            f"{forest.n_trees} trees; more trees leave out more rows",
            UserWarning,
            stacklevel=6,
        )
    return OutOfBag(prediction, per_row, float(curve[-1]), curve, n_never)
