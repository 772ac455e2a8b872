"""The naive twin's criteria: statistics, scores, impurities (`numerics.h`, `criterion.pyx`) again, slow and plain.

A *statistic* is a list of integers:

    [number of draws, sum of weights, weight of class 0, of class 1, ...]     classification
    [number of draws, sum of weights, sum of weight times quantised target]   regression

Scores are in units of quantised targets. float(i) of an integer i is the nearest float64, and expressions follow the core's
operation by operation, so that scores have the same bits.
"""

import math
from typing import NamedTuple

import numpy as np

# The power of the target's unit that an impurity has.
TARGET_POWER = {"squared_error": 2, "friedman_mse": 2, "poisson": 1, "absolute_error": 1}


class Record(NamedTuple):
    """Equal draws of a tree. target: a class number or a quantised target; weight: of one draw."""

    row: int
    count: int
    target: int
    weight: int


def statistic(draws, n_classes):
    """The statistic of some draws. n_classes is 0 for regression."""
    words = [0] * (2 + (n_classes or 1))
    for draw in draws:
        w = draw.count * draw.weight
        words[0] += draw.count
        words[1] += w
        if n_classes:
            words[2 + draw.target] += w
        else:
            words[2] += w * draw.target
    return words


# Scores, from the statistics of the left side and of the node ------------------------------------------


def gini_score(left, total):
    """Score of a cut for Gini impurity."""
    w, w_left = total[1], left[1]
    s = 0.0
    for c, c_left in zip(total[2:], left[2:], strict=True):
        d = float(w * c_left - w_left * c)
        s += d * d
    return s / ((float(w_left) * float(w - w_left)) * float(w))


def entropy_score(left, total):
    """Score of a cut for entropy in bits."""
    w, w_left = total[1], left[1]
    s = 0.0
    for c, c_left in zip(total[2:], left[2:], strict=True):
        if c > 0:
            cross = float(w * c_left - w_left * c)
            at_left = float(w_left) * float(c)
            at_right = float(w - w_left) * float(c)
            s += (at_left * entropy_term(cross / at_left) + at_right * entropy_term(-cross / at_right)) / float(w)
    return s * 1.4426950408889634


def hellinger_score(left, total):
    """Score of a cut for Hellinger distance: half its square, times the root of the product of both classes' weights."""
    first, second = float(total[2]), float(total[3])
    difference = float(left[2] * total[3] - left[3] * total[2]) / first / second
    squares = []
    for side in (left[2:4], [total[2] - left[2], total[3] - left[3]]):
        share = difference / (math.sqrt(float(side[0]) / first) + math.sqrt(float(side[1]) / second))
        squares.append(share * share)
    return 0.5 * math.sqrt(first * second) * (squares[0] + squares[1])


def squared_error_score(left, total):
    """Score of a cut for squared error, in units of quantised targets."""
    w, w_left = total[1], left[1]
    mean = total[2] // w  # rounded down
    d = float(w) * float(left[2] - w_left * mean) - float(w_left) * float(total[2] - w * mean)
    return d * d / ((float(w_left) * float(w - w_left)) * float(w))


def poisson_mean(total, scale):
    """A node's mean in units of quantised targets, counted from 0; above 0 unless all targets are 0.

    The centre is rounded, so that the target 0 is the integer 0 and no other side of a cut has a mean of 0.
    """
    base = float(round(math.ldexp(scale.centre, scale.exponent)))
    mean = total[2] // total[1]
    return (float(mean) + base) + float(total[2] - total[1] * mean) / float(total[1])


def poisson_score(left, total, scale):
    """Score of a cut for half the Poisson deviance."""
    w, w_left = float(total[1]), float(left[1])
    w_right = float(total[1] - left[1])
    mean = total[2] // total[1]
    d = w * float(left[2] - left[1] * mean) - w_left * float(total[2] - total[1] * mean)
    mean = poisson_mean(total, scale)
    x_left = d / ((w * w_left) * mean)
    x_right = -d / ((w * w_right) * mean)
    return mean * (w_left * entropy_term(x_left) + w_right * entropy_term(x_right))


def is_zero(side, scale):
    """Whether all targets of a side are 0, as far as its scale can tell."""
    return side[2] == side[1] * round(math.ldexp(0.0 - scale.centre, scale.exponent))


def lower_median(draws):
    """The lowest target of some draws up to which they have at least half of the weight."""
    total, upto = sum(draw.count * draw.weight for draw in draws), 0
    for draw in sorted(draws, key=lambda draw: draw.target):
        upto += draw.count * draw.weight
        if 2 * upto >= total:
            return draw.target


def absolute_cost(draws):
    """The least sum of weighted distances of the targets from one number, which a median is."""
    median = lower_median(draws)
    return sum(draw.count * draw.weight * abs(draw.target - median) for draw in draws)


def absolute_error_score(left, right):
    """Score of a cut for absolute error, from the draws of both sides."""
    return float(absolute_cost(left + right) - absolute_cost(left) - absolute_cost(right))


SCORES = {"gini": gini_score, "entropy": entropy_score, "log_loss": entropy_score, "hellinger": hellinger_score,
          "squared_error": squared_error_score, "friedman_mse": squared_error_score,
          "path_length": lambda left, total: 0.0}  # fmt: skip

OF_CLASSES = ("gini", "entropy", "log_loss", "hellinger")


def score_of(criterion, left, total, draws_left, draws_right, scale):
    """Score of a cut for any criterion, from the draws for absolute error, from statistics for the others."""
    if criterion == "absolute_error":
        return absolute_error_score(draws_left, draws_right)
    if criterion == "poisson":
        return poisson_score(left, total, scale)
    return SCORES[criterion](left, total)


def evenness(score, left, total):
    """What decides between cuts of equal scores: minus the difference of the sides' weights for cuts that score 0, else 0."""
    return -abs(2 * left[1] - total[1]) if score == 0.0 else 0


# Impurities ------------------------------------------------------------------------------------------


def in_units_of_y(x, criterion, exponent):
    """A score or impurity of targets quantised at 2**exponent, in units of the targets: infinite where math.ldexp would raise."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(x, -TARGET_POWER[criterion] * exponent))


def impurity(draws, words, criterion, scale):
    """Impurity of a node with this statistic, in units of the targets."""
    w = float(words[1])
    if criterion in ("squared_error", "friedman_mse"):
        mean = words[2] // words[1]
        remainder = float(words[2] - words[1] * mean) / w
        squares = sum(d.count * d.weight * (d.target - mean) ** 2 for d in draws)
        return in_units_of_y(float(squares) / w - remainder * remainder, criterion, scale.exponent)
    if criterion == "absolute_error":
        return in_units_of_y(float(absolute_cost(draws)) / w, criterion, scale.exponent)
    if criterion == "poisson":
        if len({draw.target for draw in draws}) == 1:
            return 0.0  # their mean may be 0
        base = float(round(math.ldexp(scale.centre, scale.exponent)))
        mean = poisson_mean(words, scale)
        deviance = 0
        for d in draws:
            term = mean * entropy_term((float(d.target) + base - mean) / mean)
            deviance += d.count * d.weight * round(term * 2.0**20)
        return in_units_of_y(float(deviance) / w, criterion, scale.exponent + 20)
    if criterion == "hellinger":
        return math.sqrt(float(words[2]) * float(words[3])) / w
    total = 0.0
    for c in words[2:]:
        p = float(c) / w
        if criterion == "gini":
            total += p * (1.0 - p)
        elif c > 0:
            total -= p * log2(p)
    return total


# Logarithms; math.log differs between machines --------------------------------------------------------


def entropy_term(x):
    """(1 + x) ln(1 + x) - x, by series near 0."""
    u = 1.0 + x
    if u <= 0.0:
        return 1.0
    if 0.71 < u < 1.41:
        s = x / (2.0 + x)
        return x * s + u * (2.0 * s * atanh_tail(s))
    return u * log(u) - x


def log_of_fraction(x):
    """(ln m, exponent) of x = m * 2**exponent with m around 1."""
    m, exponent = math.frexp(x)
    m, exponent = 2.0 * m, exponent - 1  # m in [1, 2)
    if m > 1.4142135623730951:
        m, exponent = m * 0.5, exponent + 1
    s = (m - 1.0) / (m + 1.0)
    return 2.0 * s + 2.0 * s * atanh_tail(s), exponent


def log(x):
    """Natural logarithm."""
    fraction, exponent = log_of_fraction(x)
    return exponent * 0.6931471805599453 + fraction


def log2(x):
    """Binary logarithm, exact for powers of two."""
    fraction, exponent = log_of_fraction(x)
    return exponent + fraction * 1.4426950408889634


def atanh_tail(s):
    """Sum over i from 1 to 12 of s**(2i) / (2i + 1)."""
    z = s * s
    r = 1.0 / 25
    for odd in range(23, 2, -2):
        r = r * z + 1.0 / odd
    return r * z
