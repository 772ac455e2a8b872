"""Effects of training rows by the trees that left them out, and how sure effects are, by little bags.

To first order, the effects move with the moments of each tree (`Moments.linearised`); what that tells of the means of bags is
what `dforest.estimators.results.intervals.mean_and_variance` says of any forest. This is the delta method of S. Athey,
J. Tibshirani, S. Wager, "Generalized random forests", Annals of Statistics 47(2), 2019, section 4.
"""

import numpy as np
from scipy.stats import norm

from dforest.core.draws import TreeDraws
from dforest.core.predict.out_of_bag import predict_out_of_bag
from dforest.estimators.powers import times_power
from dforest.estimators.results.intervals import BLOCK_BYTES, bag_size, by_tree, leaf_rows, mean_and_variance, mean_over_trees

_ARRAYS = 4  # of a block's size that there are at a time


def moments_out_of_bag(forest, X, n_threads):
    """The means of the moments over the trees that left each training row out: ndarray of shape (n_rows, n_moments); else NaN."""
    draws = TreeDraws(forest.used_plans, forest.seeds, len(X), n_threads)
    packed = forest.packed_leaves(n_threads=n_threads)
    sums, _, n_trees, _, _ = predict_out_of_bag(packed, X, np.zeros(len(X)), None, draws, 0, n_threads)
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums / n_trees[:, None]


def effects_and_variances(forest, X, n_threads, are_training_rows):
    """Effects, and their variances: two ndarrays of shape (n_rows, n_treatments, n_outcomes).

    Parameters
    ----------
    forest : Forest
        Of two little bags or more.
    X : ndarray of shape (n_rows, n_features)
        Encoded rows.
    n_threads : int
    are_training_rows : bool
        Whether the trees that left a row out count alone.
    """
    moments, size = forest.objective.moments, bag_size(forest.plans[0])
    shape = len(X), moments.n_treatments, moments.n_outcomes
    effects, variances = np.empty(shape), np.empty(shape)
    for some, own, counts in _blocks(forest, X, n_threads, are_training_rows):
        mean = mean_over_trees(own, counts)
        effects[some] = moments.effects(mean)
        moved = moments.linearised(mean, effects[some], own)
        for k in range(shape[1]):
            for m in range(shape[2]):
                variances[some, k, m] = mean_and_variance(moved[:, :, k, m], size, counts)[1]
    return effects, variances


def expected_losses(forest, X, y, n_trees, n_threads, power=0, numbers=None):
    """Of training rows, the squared residual out of bag that a forest of more trees is expected to have.

    The residual is that of outcomes given the effects, both with what is expected taken off: the loss of X. Nie, S. Wager,
    "Quasi-oracle estimation of heterogeneous treatment effects", Biometrika 108(2), 2021, whose expectation is least for the true
    effects. What few trees add to it beyond what all will add is taken off, to first order.

    Parameters
    ----------
    forest : Forest
        A small one.
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows, n_moments), dtype float64
        The moments of the rows.
    n_trees : int
        How many trees there will be.
    n_threads : int
    power : int
        Residuals are multiplied by two to this power, so that squares are in range.
    numbers : ndarray of shape (n_rows,), dtype int64, optional
        Which of the training rows these are; None: all.

    Returns
    -------
    ndarray of shape (n_rows,), dtype float64
        Sums over outcomes; NaN for rows that fewer than two trees left out.
    """
    moments, found = forest.objective.moments, np.empty(len(X))
    for some, own, counts in _blocks(forest, X, n_threads, True, numbers):
        mean, n_out = mean_over_trees(own, counts), counts.sum(axis=1)
        outcomes, treatments = moments.parts(y[some])[:2]
        effects = moments.effects(mean)
        residual = times_power(outcomes - (treatments[:, :, None] * effects).sum(axis=1), power)
        apart = times_power((treatments[:, None, :, None] * moments.linearised(mean, effects, own)).sum(axis=2), power)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(counts[:, :, None], np.square(apart), 0.0).sum(axis=1) / (n_out - 1)[:, None]
            noise = variance * np.maximum(1 / n_out - 1 / n_trees, 0.0)[:, None]
            losses = (np.square(residual) - np.minimum(noise, np.square(residual))).sum(axis=1)  # the noise of a row is uncertain
        found[some] = np.where(n_out > 1, losses, np.nan)
    return found


def _blocks(forest, X, n_threads, are_training_rows, numbers=None):
    """Of one block of rows after another: (a slice, the moments that each tree has for each row, which trees count or None)."""
    left_out = by_tree(forest.left_out, forest.n_trees, n_threads) if are_training_rows else None
    if numbers is not None:
        left_out = left_out[:, numbers]
    at_a_time = max(1, BLOCK_BYTES // (_ARRAYS * 8 * forest.n_trees * forest.objective.n_values))
    for first in range(0, len(X), at_a_time):
        some = slice(first, first + at_a_time)
        counts = None if left_out is None else left_out[:, some].T
        yield some, forest.leaf_value[leaf_rows(forest, X[some], n_threads)], counts


def ends_of(effects, variances, level):
    """The ends of normal intervals, in a last axis."""
    half = norm.ppf((1 + level) / 2) * np.sqrt(variances)
    return np.stack([effects - half, effects + half], axis=-1)
