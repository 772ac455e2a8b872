"""The naive twin's linear leaves of boosted trees, operation for operation as `rules/linear_leaf.h` has the rules.

A leaf's *line* is (least, greatest, terms); a term is (feature, centre, slope).
"""

import math
from typing import NamedTuple

from dforest.testing.coding import CATEGORICAL, ORDINAL, scale_exponent

PLACE_BITS, GREATEST_SCALE = 20, 1000


class Line(NamedTuple):
    """The linear function of a leaf."""

    least: float
    greatest: float
    terms: list

    def value(self, constant, x):
        """What a row adds."""
        value = unbounded(constant, self.terms, x)
        return constant if not self.terms else self.least if not value >= self.least else min(value, self.greatest)


def unbounded(constant, terms, x):
    """What a row adds, without bounds."""
    if not all(math.isfinite(x[feature]) for feature, _, _ in terms):
        return constant
    value = constant
    for feature, centre, slope in terms:
        value += slope * (float(x[feature]) - centre)
    return value


def added(leaf, x):
    """What a leaf adds to the sums of a row, a number for each output."""
    return leaf.values if leaf.line is None else [leaf.line.value(leaf.values[0], x)]


def find_lines(root, X, columns, n_terms, l2, limits):
    """Set the lines of all leaves of a tree, whose values are known."""

    def visit(node, path):
        if node.feature >= 0:
            visit(node.left, [*path, (node, 0)])
            visit(node.right, [*path, (node, 1)])
            return
        node.line = line_of(node, X, features_of(path, columns)[:n_terms], l2 / node.integers[0].weight_unit, limits)

    visit(root, [])


def features_of(path, columns):
    """The features of a leaf, the one tested last first, without those that have a single code there."""
    codes = {}
    for node, side in reversed(path):
        column = columns[node.feature]
        if column.kind == CATEGORICAL:
            continue
        low, high = codes.get(node.feature, (0, len(column.values) - 1))
        edges = column.highs if column.kind == ORDINAL else column.values
        cut = [float(edge) for edge in edges].index(node.threshold)
        codes[node.feature] = (low, min(high, cut)) if side == 0 else (max(low, cut + 1), high)
    return [feature for feature, (low, high) in codes.items() if low < high]


def line_of(leaf, X, features, l2, limits):
    """The line of a leaf that may have some features."""
    rows, integers, constant = leaf.rows, leaf.integers[0], leaf.values[0]
    ranges = []
    for feature in features:
        values = [float(X[row, feature]) for row in rows if math.isfinite(X[row, feature])]
        if not values or min(values) == max(values) or not 0.5 * max(values) - 0.5 * min(values) > 0.0:
            continue
        exponent = scale_exponent(0.5 * max(values) - 0.5 * min(values), PLACE_BITS)
        if abs(exponent) <= GREATEST_SCALE:
            ranges.append((feature, 0.5 * min(values) + 0.5 * max(values), math.ldexp(1.0, exponent)))
    rows_of_line = [row for row in rows if all(math.isfinite(X[row, feature]) for feature, _, _ in ranges)]
    places = [[round((float(X[row, feature]) - middle) * factor) for row in rows_of_line] for feature, middle, factor in ranges]
    g, h = ([own[row] for row in rows_of_line] for own in (integers.quantised_gradient, integers.quantised_hessian))
    terms = slopes_of(ranges, places, g, h, l2, integers.exponents, limits.learning_rate)
    extremes = [constant]
    if terms:
        for row in rows:
            extremes.append(unbounded(constant, terms, X[row]))
    least, greatest = (limits.value(value / limits.learning_rate, value) for value in (min(extremes), max(extremes)))
    return Line(min(constant, least), max(constant, greatest), terms)


def slopes_of(ranges, places, g, h, l2, exponents, learning_rate):
    """The terms of a line, from its rows' places and integers."""
    n, G, H = len(ranges), float(sum(g)), float(sum(h))
    if n == 0 or not H > 0.0:
        return []

    def total(*factors):
        return float(sum(math.prod(own) for own in zip(*factors, strict=True)))

    mean = [total(h, own) / H for own in places]
    variance = [total(h, own, own) / H - m * m for own, m in zip(places, mean, strict=True)]
    is_free = [v > 0.0 for v in variance]
    sd = [math.sqrt(v) if v > 0.0 else 1.0 for v in variance]
    right = [-((total(g, own) - m * G) / s) / H for own, m, s in zip(places, mean, sd, strict=True)]
    lower = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            if i == j:
                r = 1.0 + l2 / (H * math.ldexp(1.0, -exponents[1]))
            else:
                r = (total(h, places[i], places[j]) / H - mean[i] * mean[j]) / (sd[i] * sd[j])
            for k in range(j):
                r -= lower[i][k] * lower[j][k]
            if i == j:
                is_free[i] = is_free[i] and r > 1e-9
                lower[i][i] = math.sqrt(r) if is_free[i] else 1.0
            else:
                lower[i][j] = r / lower[j][j] if is_free[i] and is_free[j] else 0.0
    for i in range(n):
        right[i] = right[i] if is_free[i] else 0.0
        for k in range(i):
            right[i] -= lower[i][k] * right[k]
        right[i] = right[i] / lower[i][i] if is_free[i] else 0.0
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            right[i] -= lower[k][i] * right[k]
        right[i] = right[i] / lower[i][i] if is_free[i] else 0.0
    terms = []
    for j, (feature, middle, factor) in enumerate(ranges):
        slope = learning_rate * math.ldexp(right[j] / sd[j], exponents[1] - exponents[0]) * factor
        centre = middle + mean[j] / factor
        if slope != 0.0 and math.isfinite(slope) and math.isfinite(centre):
            terms.append((feature, centre, slope))
    return terms
