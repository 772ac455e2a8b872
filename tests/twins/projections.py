"""The naive twins of what oblique splits draw (`projection.pxd`), and of boosted trees' sums (`projected_columns.pyx`)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from twins.sampling import Subsample

from dforest.testing.coding import CATEGORICAL, Column, bin_edges
from dforest.testing.streams import ROOT_KEY, Stream, feature_key, tree_seed

PROJECTION = 10  # purpose of random numbers
STEPS = 2**15
MOST_CODES = 255


def varies(x):
    """Whether a column has two values in a node, where missing is a value."""
    missing = np.isnan(x)
    return len(set(x[~missing])) + missing.any() > 1


def mean_and_scale(x, counts, scaling):
    """The mean of the finite values of a column in a node, and what its weights are divided by."""
    finite = np.isfinite(x)
    lowest, highest = (float(x[finite].min()), float(x[finite].max())) if finite.any() else (np.nan, np.nan)
    half_range = 0.5 * highest - 0.5 * lowest
    if not half_range > 0.0:
        return lowest + 0.0, highest - lowest if scaling == "min_max" and highest > lowest else 1.0
    steps = [int((0.5 * float(value) - 0.5 * lowest) / half_range * STEPS + 0.5) for value in x[finite]]
    draws = counts[finite].tolist()
    mean = sum(step * count for step, count in zip(steps, draws, strict=True)) / sum(draws)
    variance = sum(step * step * count for step, count in zip(steps, draws, strict=True)) / sum(draws) - mean * mean
    scale = 1.0
    if scaling == "min_max" and highest - lowest < np.inf:
        scale = highest - lowest
    elif scaling == "standard" and variance > 0 and 2.0 * half_range < np.inf:
        scale = 2.0 * half_range * math.sqrt(variance) / STEPS
    return lowest * (1.0 - mean / STEPS) + highest * (mean / STEPS) + 0.0, scale


def binomial(n, share, k):
    """The chance of k."""
    return math.comb(n, k) * share**k * (1.0 - share) ** (n - k)


def draw_number(u, n, density):
    """How many columns a projection is to have, for a uniform number."""
    share, k = min(1.0, density / n), 0
    cumulated = binomial(n, share, 0)
    while u >= cumulated and k < n:
        k += 1
        cumulated += binomial(n, share, k)
    return max(2, k)


def draw_weight(stream, kind):
    """The weight of a column before it is divided by its scale."""
    if kind == "binary":
        return 1.0 - 2.0 * stream.below(2)
    if kind == "continuous":
        return 2.0 * stream.uniform() - 1.0
    if kind == "integer":
        drawn = stream.below(10)
        return 1.0 + drawn if drawn < 5 else 4.0 - drawn
    drawn = stream.below(14)
    return (-1.0 if drawn % 2 else 1.0) * 2.0 ** (drawn // 2 - 3)


def count_projections(n_projections, n_numbers):
    """How many projections there are, given the parameter and the number of columns of numbers."""
    if n_projections is None:
        return n_numbers
    return n_projections if isinstance(n_projections, int) else math.ceil(n_numbers**n_projections)


@dataclass(frozen=True)
class Rule:
    """Which projections there are: the parameters of an `ObliqueSplitter`, and sizes."""

    n_projections: object = None
    projection_density: float = 2.0
    projection_weights: str = "binary"
    projection_scaling: str = "min_max"
    projections: object = None  # ndarray of shape (n_rows_of_the_matrix, n_features), or None
    max_codes: int = 255
    n_sampled: int = 1024


class Term(NamedTuple):
    """A column of a sum."""

    column: int
    weight: float
    if_missing: float


def sum_of(terms, x):
    """A row's sum."""
    total = 0.0
    for column, weight, if_missing in terms:
        value = float(x[column])
        total += weight * (value if value == value else if_missing)
    return total


class Projected:
    """The projections of a fit, iteration by iteration.

    Parameters
    ----------
    rule : Rule
    X : ndarray of shape (n_rows, n_features)
    columns : list of Column
        The coded columns of X.
    seed : int
        Of the model.
    """

    def __init__(self, rule, X, columns, seed):
        self.rule, self.X = rule, X
        numbers = [j for j, column in enumerate(columns) if column.kind != CATEGORICAL]
        scaling = None if rule.projections is not None else rule.projection_scaling
        once = np.ones(len(X), int)
        self.spread = {j: mean_and_scale(X[:, j].astype(float), once, scaling) for j in numbers}
        self.varying = [j for j in numbers if varies(X[:, j])]
        self.n = count_projections(rule.n_projections, len(numbers)) if len(numbers) > 1 else 0
        if rule.projections is not None:
            self.n = min(count_projections(rule.n_projections, len(numbers)), len(rule.projections))
        elif len(self.varying) < 2:
            self.n = 0
        self.n_numbers, self.n_codes = len(numbers), max(1, min(rule.max_codes, MOST_CODES))
        seed = tree_seed(seed, 0)
        n_sampled = min(rule.n_sampled, len(X))
        self.sampled = X if n_sampled == len(X) else X[Subsample(n_sampled, seed).counts(len(X), seed) > 0]

    def terms_of(self, seed):
        """The terms of each projection of the iteration whose first tree has a seed."""
        found, given = [], list(range(len(self.rule.projections))) if self.rule.projections is not None else []
        for p in range(self.n):
            stream = Stream(seed, feature_key(ROOT_KEY, p), PROJECTION)
            if given:
                at = p + stream.below(len(given) - p)
                given[p], given[at] = given[at], given[p]
                weights = self.rule.projections[given[p]]
                found.append([Term(j, float(weights[j]), self.spread[j][0]) for j in np.flatnonzero(weights).tolist()])
                continue
            n_terms = min(draw_number(stream.uniform(), self.n_numbers, self.rule.projection_density), len(self.varying))
            drawn = list(self.varying)
            for k in range(n_terms):
                at = k + stream.below(len(drawn) - k)
                drawn[k], drawn[at] = drawn[at], drawn[k]
            weights = [draw_weight(stream, self.rule.projection_weights) for _ in range(n_terms)]
            found.append(
                [Term(j, w / self.spread[j][1], self.spread[j][0]) for j, w in zip(drawn[:n_terms], weights, strict=True)]
            )
        return found

    def columns_of(self, terms):
        """Projections as columns, given the terms of each."""
        return [self._column(own) for own in terms]

    def _column(self, terms):
        sums, sampled = ([sum_of(terms, x) for x in rows] for rows in (self.X, self.sampled))
        edges = bin_edges(np.array([v for v in sampled if v == v]), self.n_codes) or []
        edges = np.array(edges + [math.inf] * (self.n_codes - len(edges)))
        codes = np.array([np.count_nonzero(edges < v) if v == v else self.n_codes for v in sums], np.int64)
        return Column(codes, edges, edges, edges, False)


def set_payloads(root, terms, columns, n_features):
    """Give the inner nodes of a tree their payloads, and those that test a projection their terms, and its first column.

    Parameters
    ----------
    root : twins.boosting.Node
    terms : list of list of Term
        Of the tree's projections, which are the columns from number `n_features` on.
    columns : list of Column
    n_features : int
    """
    if root.feature < 0:
        return
    head = [root.threshold, 1.0 if root.missing_left else 0.0]
    column = columns[root.feature]
    if root.feature >= n_features:
        root.terms = terms[root.feature - n_features]
        root.payload = words(head + [number for term in root.terms for number in term])
        root.feature = root.terms[0].column
    elif column.kind == CATEGORICAL:
        bits = sum(1 << category for category in root.categories)
        root.payload = words([*head, root.feature]) + [
            bits >> 64 * i & 2**64 - 1 for i in range(-(-column.missing // 64))
        ]  # fmt: skip
    else:
        root.payload = words([*head, root.feature, 1.0, math.nan])
    for child in (root.left, root.right):
        set_payloads(child, terms, columns, n_features)


def words(numbers):
    """Numbers as words of 64 bits."""
    return np.array(numbers, np.float64).view(np.uint64).tolist()
