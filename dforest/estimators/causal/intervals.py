"""Effects of training rows by the trees that left them out, and how sure effects are, by little bags.

To first order, the effects move with the moments of each tree (`Moments.linearised`); what that tells of the means of bags is
what `dforest.estimators.results.intervals.mean_and_variance` says of any forest. This is the delta method of S. Athey,
J. Tibshirani, S. Wager, "Generalized random forests", Annals of Statistics 47(2), 2019, section 4.
"""

import numpy as np
from scipy.stats import norm

from dforest.core.draws import TreeDraws
from dforest.core.predict.out_of_bag import predict_out_of_bag
from dforest.estimators.results.intervals import BLOCK_BYTES, bag_size, by_tree, leaf_rows, mean_and_variance


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
    left_out = by_tree(forest.left_out, forest.n_trees, n_threads) if are_training_rows else None
    shape = len(X), moments.n_treatments, moments.n_outcomes
    effects, variances = np.empty(shape), np.empty(shape)
    at_a_time = max(1, BLOCK_BYTES // (8 * forest.n_trees * moments.n))
    table = forest.leaf_value
    for first in range(0, len(X), at_a_time):
        some = slice(first, first + at_a_time)
        counts = None if left_out is None else left_out[:, some].T
        own = table[leaf_rows(forest, X[some], n_threads)]
        if counts is None:
            mean = own.mean(axis=1)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = np.where(counts[:, :, None], own, 0.0).sum(axis=1) / counts.sum(axis=1)[:, None]
        effects[some] = moments.effects(mean)
        moved = moments.linearised(mean, effects[some], own)
        for k in range(shape[1]):
            for m in range(shape[2]):
                variances[some, k, m] = mean_and_variance(moved[:, :, k, m], size, counts)[1]
    return effects, variances


def ends_of(effects, variances, level):
    """The ends of normal intervals, in a last axis."""
    half = norm.ppf((1 + level) / 2) * np.sqrt(variances)
    return np.stack([effects - half, effects + half], axis=-1)
