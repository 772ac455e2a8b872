"""Conformal intervals: bands that are widened, or narrowed, by what rows ask for that the model has not been fitted to.

A *band* is two predictions of a row between which its target is expected: those of two quantiles, or one prediction twice. The
*score* of a row is how far its target lies outside its band, and below 0 if it lies inside. If a model has scored rows, and one
more row is exchangeable with these, the band that is moved outwards on both sides by the covering score holds its target with a
probability of `level` at least.

Y. Romano, E. Patterson, E. J. Candès, "Conformalized quantile regression", NeurIPS 2019; with one prediction twice they are
those of J. Lei et al., "Distribution-free predictive inference for regression", Journal of the American Statistical Association
113(523), 2018.

Where whole distributions are predicted, the score of a row is minus the *tail* of its target, which is the smaller one of the
probabilities of a target of at most this and of at least this. The interval of a row has all numbers whose tails are at least
that of the covering score. Of distributions with a density it is that of V. Chernozhukov, K. Wüthrich, Y. Zhu, "Distributional
conformal prediction", PNAS 118(48), 2021, whose score is |F(y) - 1/2|: the tail is 1/2 less this. Counts are held with a
probability of `level` or more, as an interval has either all of a count or nothing.
"""

import numpy as np

_ROUNDING = 1e-6  # of a number of rows
_SLACK = 1e-12  # of a tail, by which distribution functions may rise and fall by rounding


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
    # A target may have just the covering score, as equal targets of rows of equal predictions do: rounding must not leave it out.
    slack = 0.0 if np.isinf(by) else 4 * np.spacing(np.maximum(np.maximum(np.abs(lower), np.abs(upper)), abs(by)))
    ends = np.column_stack([lower - by - slack, upper + by + slack])
    crossed = ends[:, 0] > ends[:, 1]
    ends[crossed] = (0.5 * lower + 0.5 * upper)[crossed, None]
    return ends


def tails_of(predicted, y):
    """The tails of targets: ndarray of shape (n_rows,), dtype float64.

    Parameters
    ----------
    predicted : PredictedDistribution
    y : ndarray of shape (n_rows,), dtype float64

    Raises
    ------
    ValueError
        If a distribution function is no number from 0 to 1 somewhere.
    """
    tails = np.minimum(predicted.cdf(y), predicted._upper_tail(y))
    allowed = np.clip(tails, 0.0, 1.0)
    tails = np.where(np.abs(tails - allowed) <= _SLACK, allowed, tails)
    wrong = ~((tails >= 0) & (tails <= 1))
    if wrong.any():
        name = type(predicted.distribution).__name__
        raise ValueError(
            f"{name}.cdf is no number from 0 to 1 at a target of {float(y[wrong][0])}, or just below, as intervals need it"
        )
    return tails


def between_tails(predicted, scores, level):
    """The ends of intervals that have the tail of the covering score: ndarray of shape (n_rows, 2), dtype float64.

    Parameters
    ----------
    predicted : PredictedDistribution
    scores : ndarray of shape (n,), dtype float64
        Minus tails, ascending. If there is no covering one, or it is 0, intervals are infinite.
    level : float

    Returns
    -------
    ndarray of shape (n_rows, 2), dtype float64
        Ends that would cross are both at the median.
    """
    rank = covering_rank(level, len(scores))
    tail = -scores[rank - 1] if rank <= len(scores) else 0.0
    if tail <= 0:
        return np.tile([-np.inf, np.inf], (len(predicted), 1))
    targets = getattr(predicted.distribution, "targets", None)
    with np.errstate(invalid="ignore", over="ignore"):
        lower, upper = predicted.quantile(tail), predicted._upper_quantile(tail)
        if targets == "counts":
            middle = np.floor(predicted.mean())
            lower = _last_count(predicted.cdf, np.where(np.isfinite(lower), lower, middle), tail, -1)
            upper = _last_count(predicted._upper_tail, np.where(np.isfinite(upper), upper, middle), tail, 1)
        else:
            width = np.abs(upper - lower)
            lower, upper = (
                _outwards(predicted.cdf, lower, width, tail, -1), _outwards(predicted._upper_tail, upper, width, tail, 1)
            )  # fmt: skip
        if targets == "above_0":
            lower = np.maximum(lower, 0.0)
        ends = np.column_stack([np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)])
        crossed = ends[:, 0] > ends[:, 1]
        if crossed.any():
            ends[crossed] = predicted[crossed].median()[:, None]
    return ends


def _last_count(tail_of, near, tail, sign):
    """The counts farthest out, on the side of a sign, whose tail is large enough: ndarray of shape (n_rows,), dtype float64.

    near : ndarray of shape (n_rows,), dtype float64
        Whole numbers from which they are searched, as inverse functions of large counts and of small tails are far off.
    """
    least = tail * (1 - _SLACK)
    is_inside = tail_of(near) >= least
    direction, step = np.where(is_inside, sign, -sign), np.ones_like(near)
    far = near + direction
    while True:  # steps become longer, until an end is between the two numbers
        is_between = ~np.isfinite(far) | ((tail_of(np.where(np.isfinite(far), far, 0.0)) >= least) != is_inside)
        if is_between.all():
            break
        near, step = np.where(is_between, near, far), np.where(is_between, step, 2 * step)
        far = np.where(is_between, far, far + direction * step)
    inside, outside = np.where(is_inside, near, far), np.where(is_inside, far, near)
    while True:
        middle = np.floor(0.5 * inside + 0.5 * outside)
        if ((middle == inside) | (middle == outside)).all():
            return inside
        is_enough = tail_of(middle) >= least
        inside, outside = np.where(is_enough, middle, inside), np.where(is_enough, outside, middle)


def _outwards(tail_of, ends, width, tail, sign):
    """Ends beyond which all numbers have a smaller tail, however an inverse function was rounded: ndarray of shape (n_rows,).

    Targets may have just the score that covers, as equal targets of rows of equal predictions do, so that an end must not lie a
    little inside of them.
    """
    least = tail * (1 - _SLACK)
    finest = np.spacing(np.abs(ends))
    first = np.maximum(finest, np.where(np.isfinite(width), np.spacing(width), 0.0))
    step, found, beyond = first.copy(), ends, ends + sign * first
    while True:
        # An infinite number has no tail.
        within = np.isfinite(beyond)
        within &= tail_of(np.where(within, beyond, 0.0)) >= least
        if not within.any():
            break
        found = np.where(within, beyond, found)
        step[within] *= 2
        beyond = np.where(within, beyond + sign * step, beyond)
    return np.where((found != ends) | (first > finest), beyond, ends)
