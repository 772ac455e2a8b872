"""The naive twin's losses of boosted trees (`losses.h`) and e^x (`numerics.h`) again, slow and plain.

Words are those of `losses.h`: a *raw prediction* F is what trees add up; the *gradient* and the *hessian* are the derivatives of
a row's loss by it. Every function takes and returns Python floats, and follows the core operation for operation, so that results
have the same bits.
"""

import math

import numpy as np

from dforest.testing.coding import mean_target
from dforest.testing.scores import atanh_tail, log

LARGEST = 1.7976931348623157e308
ROUNDER = 6755399441055744.0  # 1.5 * 2**52: adding and subtracting it rounds to an integer

ROBUST = ("huber", "fair", "log_cosh")  # whose leaves are robust means
BY_QUANTILE = ("absolute_error", "quantile", "mape", *ROBUST)  # whose leaves are not Newton's steps
CONSTANT_HESSIAN = ("squared_error", *BY_QUANTILE)


def exp(x):
    """e**x, with x kept within [-708, 709]."""
    x = min(max(x, -708.0), 709.0)
    k = (x * 1.4426950408889634 + ROUNDER) - ROUNDER
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = 1.0 / 6227020800.0
    for factorial in (479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0):
        p = p * r + 1.0 / factorial
    return (1.0 + (r + (r * r) * p)) * 2.0 ** int(k)


def log1p(x):
    """ln(1 + x) for x from 0 on."""
    if x > 0.41:
        return log(1.0 + x)
    s = x / (2.0 + x)
    return 2.0 * s + 2.0 * s * atanh_tail(s)


def probabilities(x):
    """1 / (1 + e**-x) and 1 / (1 + e**x)."""
    e = exp(-abs(x))
    larger = 1.0 / (1.0 + e)
    smaller = e * larger
    return (smaller, larger) if x < 0.0 else (larger, smaller)


def relative_weight(y):
    """What a row counts by the loss "mape"."""
    return 1.0 / max(1.0, abs(y))


def derivatives(loss, raw, y, parameter=0.0):
    """(gradient, hessian) of a row's loss, for losses of one raw prediction.

    Parameters
    ----------
    loss : str
    raw, y : float
    parameter : float
        The quantile of "quantile", Huber's delta of "huber", the c of "fair", the power of "tweedie", the gamma of "focal".
    """
    if loss == "squared_error":
        return raw - y, 1.0
    if loss == "absolute_error":
        return (1.0 if raw > y else -1.0), 1.0
    if loss == "quantile":
        return (1.0 - parameter if raw > y else -parameter), 1.0
    if loss == "huber":
        return max(min(raw - y, parameter), -parameter), 1.0
    if loss == "fair":
        return (raw - y) * (parameter / (abs(raw - y) + parameter)), 1.0
    if loss == "log_cosh":
        e = exp(-2.0 * abs(raw - y))
        return math.copysign((1.0 - e) / (1.0 + e), raw - y), 1.0
    if loss == "mape":
        return math.copysign(relative_weight(y), 1.0 if raw > y else -1.0), 1.0
    if loss == "poisson":
        return exp(raw) - y, exp(raw)
    if loss == "gamma":
        ratio = min(y * exp(-raw), LARGEST)
        return 1.0 - ratio, ratio
    if loss == "tweedie":
        of_mean, of_target = exp((2.0 - parameter) * raw), min(y * exp((1.0 - parameter) * raw), LARGEST)
        return of_mean - of_target, (2.0 - parameter) * of_mean + (parameter - 1.0) * of_target
    if loss in ("log_loss", "cross_entropy"):
        p, other = probabilities(raw)
        return (1.0 - y) * p - y * other, p * other
    if loss == "focal":
        gradient, hessian = derivatives("log_loss", raw, y)
        p, other = probabilities(raw if y == 1.0 else -raw)
        far, near = value("log_loss", raw, 1.0 - y), value("log_loss", raw, y)
        share, power = p * near / other, exp(-parameter * far)
        return power * (1.0 + parameter * share) * gradient, power * (1.0 + parameter * (2.0 + parameter * share)) * hessian
    assert loss == "exponential"
    wrong, right = (1.0 - y) * exp(raw), y * exp(-raw)
    return wrong - right, wrong + right


def prediction(loss, raw):
    """What a raw prediction says of y: its mean, median or quantile, or the probability of class 1."""
    if loss in ("poisson", "gamma", "tweedie"):
        return exp(raw)
    if loss in ("log_loss", "focal", "cross_entropy", "exponential"):
        return probabilities(2.0 * raw if loss == "exponential" else raw)[0]
    return raw


def value(loss, raw, y, parameter=0.0):
    """The loss of a row."""
    d = abs(raw - y)
    if loss == "squared_error":
        return 0.5 * (d * d)
    if loss == "absolute_error":
        return d
    if loss == "quantile":
        return (1.0 - parameter) * d if raw > y else parameter * d
    if loss == "huber":
        return parameter * (d - 0.5 * parameter) if d > parameter else 0.5 * (d * d)
    if loss == "fair":
        return min(parameter * (d - parameter * log1p(min(d / parameter, LARGEST))), LARGEST)
    if loss == "log_cosh":
        return d + (log1p(exp(-2.0 * d)) - math.log(2.0))
    if loss == "mape":
        return relative_weight(y) * d
    if loss == "poisson":
        return exp(raw) - y * raw
    if loss == "gamma":
        return raw + min(y * exp(-raw), LARGEST)
    if loss == "tweedie":
        of_target = min(y * exp((1.0 - parameter) * raw), LARGEST)
        return min(exp((2.0 - parameter) * raw) / (2.0 - parameter) + of_target / (parameter - 1.0), LARGEST)
    if loss == "focal":
        return exp(-parameter * value("log_loss", raw, 1.0 - y)) * value("log_loss", raw, y)
    if loss in ("log_loss", "cross_entropy"):
        away = y * -raw if raw < 0.0 else (1.0 - y) * raw
        return away + log1p(exp(-abs(raw)))
    assert loss == "exponential"
    return (1.0 - y) * exp(raw) + y * exp(-raw)


# Several classes: raw is a list of a number for each --------------------------------------------------


def powers_of(raw):
    """e to the power of each raw prediction less the highest one, the class of that, and the sum of all the others."""
    highest = raw.index(max(raw))
    powers = [exp(f - raw[highest]) for f in raw]
    rest = 0.0
    for k, power in enumerate(powers):
        rest += 0.0 if k == highest else power
    return powers, highest, rest


def class_predictions(raw):
    """The probabilities of the classes."""
    powers, _, rest = powers_of(raw)
    scale = 1.0 / (1.0 + rest)
    return [power * scale for power in powers]


def class_derivatives(raw, y):
    """(gradients, hessians) of the multinomial loss of a row of class y."""
    powers, highest, rest = powers_of(raw)
    total = 1.0 + rest
    scale = 1.0 / total
    p = [power * scale for power in powers]
    other = [(rest if k == highest else total - power) * scale for k, power in enumerate(powers)]
    return [-other[k] if k == y else p[k] for k in range(len(raw))], [a * b for a, b in zip(p, other, strict=True)]


def class_value(raw, y):
    """The multinomial loss of a row of class y."""
    _, highest, rest = powers_of(raw)
    return (raw[highest] - raw[y]) + log1p(rest)


def own_derivatives(own, raw, y):
    """For each row the gradients and the hessians that a loss of one's own gives."""
    raw = np.array(raw)
    gradient, hessian = own.gradient_hessian(np.array(y, np.float64), raw if raw.shape[1] > 1 else raw[:, 0])
    if own.constant_hessian:
        hessian = np.ones(raw.shape)
    return [([float(v) for v in g], [float(v) for v in h])
            for g, h in zip(np.reshape(gradient, raw.shape), np.reshape(hessian, raw.shape), strict=True)]  # fmt: skip


# What a booster begins with ---------------------------------------------------------------------------


def weighted_quantile(values, weight, quantile):
    """The least value up to which values have this share of the weight; if exactly it, the middle between it and the next one."""
    weight_of = dict.fromkeys(sorted(v + 0.0 for v in values), 0)
    for v, w in zip(values, weight, strict=True):
        weight_of[v + 0.0] += w
    share = quantile * float(sum(weight))
    upto = 0
    values = list(weight_of)
    for i, v in enumerate(values):
        upto += weight_of[v]
        if float(upto) >= share:
            return 0.5 * v + 0.5 * values[i + 1] if float(upto) == share and i + 1 < len(values) else v


def baselines(loss, y, weight, n_classes, quantile):
    """What raw predictions begin with: a list of one number, or of one for each class.

    Parameters
    ----------
    loss : str
    y : list of float or of int
    weight : list of int
        For the loss "mape", relative weights.
    n_classes : int
        Of classification.
    quantile : float
        Of the loss "quantile".
    """
    if loss == "squared_error":
        return [mean_target(y, weight)]
    if loss in BY_QUANTILE:
        return [weighted_quantile(y, weight, quantile if loss == "quantile" else 0.5)]
    if loss in ("poisson", "gamma", "tweedie"):
        return [log(mean_target(y, weight))]
    if loss == "cross_entropy":
        mean = min(max(mean_target(y, weight), 2.0**-52), 1.0 - 2.0**-52)
        return [log(mean / (1.0 - mean))]
    of_class = [sum(w for v, w in zip(y, weight, strict=True) if v == k) for k in range(n_classes)]
    sizes = [float(w) if w else 2.0**-52 * float(sum(of_class)) for w in of_class]
    if loss != "multinomial":
        ratio = log(sizes[1] / sizes[0])
        return [0.5 * ratio if loss == "exponential" else ratio]  # of "focal", where a search for what loses least begins
    logs = [log(size / float(sum(of_class))) for size in sizes]
    total = 0.0
    for x in logs:
        total += x
    return [x - total / float(n_classes) for x in logs]
