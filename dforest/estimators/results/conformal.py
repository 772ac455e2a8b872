"""Conformal intervals: bands that are widened, or narrowed, by what rows ask for that the model has not been fitted to.

A *band* is two predictions of a row between which its target is expected: those of two quantiles, or one prediction twice. The
*score* of a row is how far its target lies outside its band, and below 0 if it lies inside. If a model has scored rows, and one
more row is exchangeable with these, the band that is moved outwards on both sides by the covering score holds its target with a
probability of `level` at least.

Y. Romano, E. Patterson, E. J. Candès, "Conformalized quantile regression", NeurIPS 2019; with one prediction twice they are
those of J. Lei et al., "Distribution-free predictive inference for regression", Journal of the American Statistical Association
113(523), 2018.
"""

import numpy as np

_ROUNDING = 1e-6  # of a number of rows


def covering_rank(level, n):
    """Which of n ascending scores is the covering one, counted from 1: the least whole number from `level` (n + 1) on.

    There is no such score if it is above n. 0.9 * 10 counts as 9, although 0.9 is a little more than nine tenths.
    """
    return max(1, int(np.ceil(level * (n + 1) - _ROUNDING)))


def scores_of(y, lower, upper):
    """The score of each row: ndarray of shape (n_rows,), dtype float64; NaN where a row has no band."""
    return np.maximum(lower - y, y - upper)


def moved(lower, upper, scores, level):
    """The ends of bands that are moved outwards by the covering score: ndarray of shape (n_rows, 2), dtype float64.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_rows,), dtype float64
        The ends of the bands.
    scores : ndarray of shape (n,), dtype float64
        Ascending. If there is no covering one, intervals are infinite.
    level : float

    Returns
    -------
    ndarray of shape (n_rows, 2), dtype float64
        Ends that would cross are both in the middle of the band.
    """
    rank = covering_rank(level, len(scores))
    by = scores[rank - 1] if rank <= len(scores) else np.inf
    ends = np.column_stack([lower - by, upper + by])
    crossed = ends[:, 0] > ends[:, 1]
    ends[crossed] = (0.5 * lower + 0.5 * upper)[crossed, None]
    return ends
