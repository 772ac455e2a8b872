"""The best cut of a node of the naive twin's boosted trees (`boost.h` and `boost_cuts.h`), slow and plain.

Sums of rows are triples: of narrow gradients, of narrow Hessians, and the number of rows. The *limits* are those of
`twins.boosting.Limits`.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from twins.gradients import scaled

from dforest.testing.coding import CATEGORICAL

NOTHING = 0, 0, 0  # sums of no rows


class Cut(NamedTuple):
    """The best cut of a node."""

    feature: int
    left: set  # of codes
    left_sums: tuple
    gain: float  # in units of the loss
    order: Fraction  # the gain if the integer weights were the weights, by which nodes are compared


class Judge:
    """What judges the cuts of a node by one of the outputs, in units of its integers, given bounds in those of predictions."""

    def __init__(self, rows, integers, limits, bounds):
        g, h = integers.coarse_exponents
        self.limits, self.unit, self.total = limits, h - g, sums_of(rows, integers)
        self.bounds = [scaled(bound, -self.unit) for bound in bounds]
        self.l1 = scaled(limits.l1 / integers.weight_unit, g)
        self.l2, self.min_hessian, self.smoothing = (
            scaled(x / integers.weight_unit, h) for x in (limits.l2, limits.min_hessian, limits.categorical_smoothing)
        )
        self.exponent = h - 2 * g  # of scores, in units of the loss

    def is_enough(self, sums):
        """Whether a side of a cut has rows and hessian enough."""
        _, h, n = sums
        return n >= self.limits.min_samples_leaf and float(h) >= self.min_hessian and float(h) + self.l2 > 0.0

    def step(self, sums):
        """The step of some rows."""
        return within(-shrunk(float(sums[0]), self.l1) / (float(sums[1]) + self.l2), self.bounds)

    def is_divided(self, left, right, feature):
        """Whether both sides of a cut have enough, and their steps the direction of a constraint."""
        if not (self.is_enough(left) and self.is_enough(right)):
            return False
        return self.limits.monotonic is None or self.limits.monotonic[feature] * (self.step(right) - self.step(left)) >= 0.0

    def steps(self, left, right, feature):
        """Those of both sides of a cut, which are the node's where it is not divided."""
        if self.is_divided(left, right, feature):
            return self.step(left), self.step(right)
        return (self.step(self.total) if float(self.total[1]) + self.l2 > 0.0 else within(0.0, self.bounds),) * 2

    def score(self, left, right):
        """What cuts are compared by."""
        if not self.limits.is_bounded:
            return cut_score(self.l2, left, right)
        of_left, of_right, of_node = (
            (2.0 * float(g) + (float(h) + self.l2) * v) * v + 2.0 * self.l1 * abs(v)
            for (g, h, _), v in ((sums, self.step(sums)) for sums in (left, right, self.total))
        )
        gain = of_node - (of_left + of_right)
        return gain if gain > 0.0 else -1.0

    def common(self):
        """What a score is above the gain."""
        return 0.0 if self.limits.is_bounded else common_score(self.l2, self.total)


def best_cut(rows, columns, features, integers, limits, bounds, code_of=None):
    """The best cut of a node that gains something, or None. Of several outputs scores are added up.

    bounds : of each output; code_of : given a feature of numbers and the codes of the rows, the one code that its cut may be
    after; None: it may be after any
    """
    judges = [Judge(rows, one, limits, own) for one, own in zip(integers, bounds, strict=True)]
    exponent = max(judge.exponent for judge in judges)
    units = [scaled(1.0, judge.exponent - exponent) for judge in judges]
    best, best_score = None, -1.0
    for feature in features:
        column = columns[feature]
        rows_of = {}
        for row in rows:
            rows_of.setdefault(int(column.codes[row]), []).append(row)
        sums = [{code: sums_of(members, one) for code, members in rows_of.items()} for one in integers]
        if column.kind == CATEGORICAL:
            least = limits.min_samples_category
            spreads = [
                spread(own, judge.smoothing, least) * unit for own, judge, unit in zip(sums, judges, units, strict=True)
            ]
            widest = spreads.index(max(spreads))
            first = by_gradient(sums[widest], judges[widest].smoothing, least)
        else:
            first = list(range(column.missing))
        others = set(range(column.missing + 1)) - set(first)
        rest = [judge.total for judge in judges]
        for code in first:
            rest = [less(a, own.get(code, NOTHING)) for a, own in zip(rest, sums, strict=True)]
        n_rest = rest[0][2]
        below = [NOTHING] * len(judges)
        for i, code in enumerate(first):
            below = [add(a, own.get(code, NOTHING)) for a, own in zip(below, sums, strict=True)]
            if code_of and column.kind != CATEGORICAL and code != code_of(feature, rows_of):
                continue
            for rest_left in (False, True) if n_rest > 0 else (False,):
                left = [add(a, b) for a, b in zip(below, rest, strict=True)] if rest_left else below
                right = [less(judge.total, a) for judge, a in zip(judges, left, strict=True)]
                divided = [judge.is_divided(a, b, feature) for judge, a, b in zip(judges, left, right, strict=True)]
                if not any(divided):
                    continue
                if len(judges) == 1:
                    score = judges[0].score(left[0], right[0])
                else:
                    score = 0.0
                    for judge, a, b, unit, is_valid in zip(judges, left, right, units, divided, strict=True):
                        score += (max(judge.score(a, b), 0.0) if is_valid else judge.common()) * unit
                if score > best_score:
                    best_score = score
                    goes_left = rest_left if n_rest > 0 else left[0][2] > right[0][2]
                    best = feature, set(first[: i + 1]) | (others if goes_left else set()), left[0]
    if best is None:
        return None
    common = 0.0
    for judge, unit in zip(judges, units, strict=True):
        common += judge.common() * unit
    gain = best_score - common
    if gain <= 0.0:
        return None
    return Cut(*best, scaled(integers[0].weight_unit * gain, exponent), Fraction(gain) * Fraction(2) ** exponent)


def by_gradient(sums, smoothing, min_rows):
    """Those categories of a node that have rows enough, by their gradients."""
    many = [code for code, (_, _, n) in sums.items() if n >= min_rows]
    return sorted(many, key=lambda code: (float(sums[code][0]) / (float(sums[code][1]) + smoothing), code))


def spread(sums, smoothing, min_rows):
    """How much the categories of a node that have rows enough differ: the weighted variance of what they are ordered by."""
    many = [sums[code] for code in sorted(sums) if sums[code][2] >= min_rows]
    if not many:
        return 0.0
    weights = [float(h) + smoothing for _, h, _ in many]
    total = 0.0
    for weight in weights:
        total += weight
    mean, found = float(sum(g for g, _, _ in many)) / total, 0.0
    for (g, _, _), weight in zip(many, weights, strict=True):
        d = float(g) / weight - mean
        found += weight * (d * d)
    return found


def shrunk(gradient, l1):
    """A sum of gradients, brought closer to 0 by l1."""
    return gradient if l1 == 0.0 else math.copysign(max(abs(gradient) - l1, 0.0), gradient)


def within(value, bounds):
    """A value, kept within bounds."""
    return bounds[0] if value < bounds[0] else bounds[1] if value > bounds[1] else value


def add(a, b):
    """The sum of two triples."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def less(a, b):
    """A triple less another one."""
    return tuple(x - y for x, y in zip(a, b, strict=True))


def sums_of(rows, integers):
    """The sums of narrow gradients and hessians, and the number of rows."""
    return sum(integers.gradient[row] for row in rows), sum(integers.hessian[row] for row in rows), len(rows)


def cut_score(l2, left, right):
    """What cuts of a node are compared by."""
    a, b = float(left[1]) + l2, float(right[1]) + l2
    d = b * float(left[0]) - a * float(right[0])
    return divide(d * d, (a * b) * (a + b))


def common_score(l2, total):
    """What a cut's score is above its gain, for all cuts of a node."""
    g, h = float(total[0]), float(total[1])
    return 0.0 if l2 == 0.0 else divide(l2 * (g * g), (h + l2) * (h + (l2 + l2)))


def divide(a, b):
    """a / b as IEEE has it, for a and b from 0 on."""
    return a / b if b != 0.0 else math.inf if a > 0.0 else math.nan
