"""What the raw predictions of a built-in distribution begin with, and their unit, by moments of the targets of all ranks.

Sums are exact, and what follows from moments by a math library is rounded to a few bits, so that the bits of a model do not
depend on the order of rows, on ranks, or on the machine.
"""

import math
from dataclasses import dataclass

import numpy as np

from dforest.core.boost.distributions import logarithms
from dforest.core.boost.intercept import sums_of_columns

MAX_STEPS, MAX_HALVINGS = 100, 12  # of a search
LEAST_GAIN = 2.0**-30  # of a step, in the mean loss, after which no other one is taken
_LEAST = 2.0**-500  # of units


@dataclass(frozen=True)
class Moments:
    """Of targets, or of their logarithms.

    Attributes
    ----------
    mean, variance : float
    no_zeros : float
        The share of targets that are not 0.
    mean_log : float
        The mean of logarithms of targets that are above 0, and 0 of others.
    """

    mean: float
    variance: float
    no_zeros: float
    mean_log: float

    @classmethod
    def of(cls, y, weight, ranks, is_of_logarithms=False):
        """Those of the rows of all ranks. A collective."""
        logs = np.zeros(len(y))
        logs[y > 0] = logarithms(np.ascontiguousarray(y[y > 0]))
        values = logs if is_of_logarithms else y
        first = np.column_stack([np.ones(len(y)), values, y != 0, logs])
        together = ranks if ranks.size > 1 else None
        together = ranks if ranks.size > 1 else None
        total, mean, no_zeros, mean_log = sums_of_columns(first, weight, together)
        mean /= total
        (variance,) = sums_of_columns((values - mean)[:, None] ** 2, weight, together) / total
        ends = np.array([values.min(initial=np.inf), -values.max(initial=-np.inf)])
        ends = ends if together is None else ranks.least(ends)
        if ends[0] == -ends[1]:  # all are equal, of which the mean is rounded
            mean, variance = float(ends[0]), 0.0
        return cls(mean, variance, no_zeros / total, mean_log / total)


def unit_of(loss, y, weight, ranks):
    """The unit of a distribution: the power of two that is nearest to the standard deviation, by its logarithm. A collective.

    Of equal targets, it is that of their magnitude.
    """
    moments = Moments.of(y, weight, ranks, loss.is_of_logarithms)
    spread = math.sqrt(moments.variance) or abs(moments.mean) or 1.0
    return 2.0 ** round(math.log2(max(spread, _LEAST)))


def start_of(loss, y, weight, ranks):
    """Raw predictions near those of least loss: ndarray of shape (n_outputs,). A collective."""
    moments = Moments.of(y, weight, ranks, loss.is_of_logarithms)
    mean, variance = moments.mean, moments.variance
    if loss.parameter_names[:2] == ("location", "scale"):
        scale = math.sqrt(variance) / loss.unit
        return np.array([mean / loss.unit, _rounded(math.log(max(scale, 2.0**-20)))] + [2.0] * (loss.name == "student"))
    log_mean = _rounded(math.log(max(mean, 2.0**-500)))
    if loss.name == "gamma":
        d = max(log_mean - moments.mean_log, 2.0**-20)  # of a shape k, it is about 1 / (2 k)
        return np.array([log_mean, _rounded(math.log((3 - d + math.sqrt((d - 3) ** 2 + 24 * d)) / (12 * d)))])
    if loss.name == "negative_binomial":
        beyond = max(variance - mean, 0.01 * mean, 2.0**-400)
        return np.array([log_mean, _rounded(2 * log_mean - math.log(beyond))])
    # Of all that are no zeros, the mean is rate / (1 - exp(-rate)).
    share = max(moments.no_zeros, 2.0**-20)
    rate = of_positive = mean / share
    for _ in range(50):
        rate = of_positive * -math.expm1(-max(rate, 0.01))
    zeros = min(max(1 - share / -math.expm1(-max(rate, 0.01)), 0.001), 0.999)
    return np.array([_rounded(math.log(max(rate, 0.01))), _rounded(math.log(zeros / (1 - zeros)))])


def search_start(ask, start):
    """Search raw predictions of least loss: ndarray of shape (n_outputs,). A step is halved until it lowers the loss.

    Parameters
    ----------
    ask : callable
        Given raw predictions of all rows, it returns the sums of weights, losses, gradients and second derivatives over the rows
        of all ranks: ndarray of shape (2 + 2 * n_outputs,). A collective.
    start : ndarray of shape (n_outputs,), dtype float64
    """
    raw, sums, n_outputs = start, ask(start), len(start)
    for _ in range(MAX_STEPS):
        gradient, information = sums[2:].reshape(2, n_outputs)
        step = -np.divide(gradient, information, out=np.zeros(n_outputs), where=information > 0.0)
        new = ask(raw + step)
        for _ in range(MAX_HALVINGS):
            if new[1] < sums[1]:
                break
            step *= 0.5
            new = ask(raw + step)
        if not new[1] < sums[1]:
            break
        gain = sums[1] - new[1]
        raw, sums = raw + step, new
        if gain < LEAST_GAIN * sums[0]:
            break
    return raw


def _rounded(x):
    """A number to 8 bits after the point."""
    return math.ldexp(round(math.ldexp(x, 8)), -8)
