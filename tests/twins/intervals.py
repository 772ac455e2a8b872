"""Intervals around predictions: the twin in plain Python of `predict_interval`, row by row as the papers say it."""

import math
from fractions import Fraction

import numpy as np
from scipy.stats import norm
from twins.neighbours import quantile, weights_of_row


def out_of_bag_means(trees, counts):
    """The mean prediction of the trees that left each training row out, given what trees predict for these rows.

    Parameters
    ----------
    trees : ndarray of shape (n_rows, n_trees)
    counts : ndarray of shape (n_rows, n_trees)
        How often each tree drew each row.
    """
    return [np.mean([p for p, c in zip(own, n, strict=True) if c == 0] or [np.nan]) for own, n in zip(trees, counts, strict=True)]


def by_errors(there, trees, counts, y, level):
    """Out-of-bag errors around the mean of what trees predict for a row (`there`)."""
    errors = [a - b for a, b in zip(y, out_of_bag_means(trees, counts), strict=True) if not np.isnan(b)]
    return [np.mean(there) + np.quantile(errors, q) for q in ((1 - level) / 2, (1 + level) / 2)]


def by_jackknife(there, trees, counts, y, level):
    """Jackknife+ after bootstrap."""
    low, high = [], []
    for target, mean, n in zip(y, out_of_bag_means(trees, counts), counts, strict=True):
        if (n == 0).any():
            here = np.mean([p for p, c in zip(there, n, strict=True) if c == 0])
            low.append(here - abs(target - mean))
            high.append(here + abs(target - mean))
    low, high, n = sorted(low), sorted(high), len(low)
    level = Fraction(str(level))
    first, last = math.floor((1 - level) * (n + 1)), math.ceil(level * (n + 1))
    return [low[first - 1] if first >= 1 else -np.inf, high[last - 1] if last <= n else np.inf]


def by_infinitesimal_jackknife(there, counts, level):
    """The bias-corrected infinitesimal jackknife."""
    n_trees = len(there)
    variance = sum(np.cov(n, there, bias=True)[0, 1] ** 2 for n in counts)
    variance -= counts[:, 0].sum() / n_trees * np.var(there)
    half = norm.ppf((1 + level) / 2) * np.sqrt(max(variance, 0.0))
    return [np.mean(there) - half, np.mean(there) + half]


def conformal(lower, upper, y, bands, level):
    """A band that is moved outwards by the score that covers, of rows whose targets and bands are known.

    Parameters
    ----------
    lower, upper : float
        The ends of the band.
    y : sequence of float
        Targets of other rows.
    bands : sequence of (float, float)
        Their bands.
    level : float
    """
    scores = sorted(max(low - target, target - high) for target, (low, high) in zip(y, bands, strict=True))
    rank = math.ceil(Fraction(str(level)) * (len(scores) + 1))
    by = scores[rank - 1] if rank <= len(scores) else math.inf
    ends = [lower - by, upper + by]
    return ends if ends[0] <= ends[1] else [(lower + upper) / 2] * 2


def tail(distribution, y):
    """The smaller one of the probabilities of a target of at most, and of at least, y. distribution : of scipy.stats, frozen"""
    is_count = hasattr(distribution, "pmf") and hasattr(distribution.dist, "pmf")
    return min(distribution.cdf(y), distribution.sf(y - 1 if is_count else y))


def covering_tail(distributions, y, level):
    """The tail that all numbers of a conformal interval have at least, given distributions and targets of other rows."""
    tails = sorted((tail(own, target) for own, target in zip(distributions, y, strict=True)), reverse=True)
    rank = math.ceil(Fraction(str(level)) * (len(tails) + 1))
    return tails[rank - 1] if rank <= len(tails) else 0.0


def by_quantiles(leaf, leaves, counts, y, level):
    """Quantiles by the weights of training rows, moved by what training rows ask for out of bag.

    Parameters
    ----------
    leaf : ndarray of shape (n_trees,)
        The leaves that the row reaches.
    leaves, counts : ndarray of shape (n_rows, n_trees)
        The leaves that training rows reach, and how often each tree drew them.
    """

    def band(leaf, counting=None):
        weights = weights_of_row(leaf, leaves, counts, counting)
        return [quantile(y, weights, q) for q in ((1 - level) / 2, (1 + level) / 2)]

    seen = [i for i in range(len(y)) if (counts[i] == 0).any()]
    bands = [band(leaves[i], counts[i] == 0) for i in seen]
    return conformal(*band(leaf), [y[i] for i in seen], bands, level)
