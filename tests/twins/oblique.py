"""The naive twin of oblique splits (`oblique.pyx`), for columns of numbers: a splitter in plain Python that grows equal trees."""

import math
from itertools import pairwise

import numpy as np
from twins.projections import PROJECTION, count_projections, draw_number, draw_weight, mean_and_scale, varies
from twins.splits import random_threshold

from dforest.splitter import PythonSplitter, Test
from dforest.testing.coding import middle
from dforest.testing.streams import THRESHOLD, Stream, feature_key


class Turns:
    """The columns of a node that vary, one turn after another."""

    def __init__(self, columns):
        self.columns, self.at, self.turn = list(columns), 0, 0

    def next(self, stream, goes_on):
        """The next column; None: the turn has ended. goes_on : whether another turn may begin"""
        if self.at == len(self.columns):
            self.at, self.turn = 0, self.turn + 1
            if not goes_on:
                return None
        if self.turn and len(self.columns) < 2:
            return None
        if self.turn:
            other = self.at + stream.below(len(self.columns) - self.at)
            self.columns[self.at], self.columns[other] = self.columns[other], self.columns[self.at]
        self.at += 1
        return self.columns[self.at - 1]


class NaiveOblique(PythonSplitter):
    """The twin of `dforest.splitter.ObliqueSplitter`."""

    def __init__(self, n_projections=None, projection_density=2.0, projection_weights="binary", projection_scaling="min_max",
                 thresholds="best", projections=None):  # fmt: skip
        self.n_projections, self.projection_density = n_projections, projection_density
        self.projection_weights, self.projection_scaling, self.thresholds = projection_weights, projection_scaling, thresholds
        self.projections = projections

    def find_split(self, node):
        X = node.X
        n_wanted = count_projections(self.n_projections, X.shape[1])
        if self.projections is not None:
            return self.find_given(node, n_wanted if X.shape[1] > 1 else 0)
        turns = Turns([feature for feature in node.order.tolist() if varies(X[:, feature])])
        best, n_tried, n_drawn = None, 0, 0
        while n_tried < (n_wanted if X.shape[1] > 1 else 0):
            stream, n_drawn = Stream(node.seed, feature_key(node.key, n_drawn), PROJECTION), n_drawn + 1
            number, columns = draw_number(stream.uniform(), X.shape[1], self.projection_density), []
            while len(columns) < number and (column := turns.next(stream, not columns)) is not None:
                columns.append(column)
                if turns.turn == 0:
                    best = self.by_itself(node, column, best)
            if not columns:
                break
            terms = []
            for column in columns:
                mean, scale = mean_and_scale(X[:, column], node.counts, self.projection_scaling)
                terms.append((column, draw_weight(stream, self.projection_weights) / scale, mean))
            if len(terms) > 1:
                best = self.better(node, terms, stream, best)
                n_tried += 1
        for column in turns.columns[turns.at :] if turns.turn == 0 else []:
            n_seen = turns.at if self.skip_constant_features else node.order.tolist().index(turns.columns[turns.at - 1]) + 1
            if turns.at and n_seen >= self.max_features and best is not None:
                break
            best = self.by_itself(node, column, best)
            turns.at += 1
        return best

    def find_given(self, node, n_wanted):
        """The best test of single columns, as many as in trees of these, and of some rows of the matrix of projections."""
        best, n_seen = None, 0
        for column in node.order.tolist():
            if n_seen >= self.max_features and best is not None:
                break
            if varies(node.X[:, column]):
                best = self.by_itself(node, column, best)
            n_seen += varies(node.X[:, column]) or not self.skip_constant_features
        left = list(range(len(self.projections)))
        for i in range(min(n_wanted, len(left))):
            stream = Stream(node.seed, feature_key(node.key, i), PROJECTION)
            at = i + stream.below(len(left) - i)
            left[i], left[at] = left[at], left[i]
            weights = self.projections[left[i]]
            columns = np.flatnonzero(weights).tolist()
            means = [mean_and_scale(node.X[:, column], node.counts, None)[0] for column in columns]
            best = self.better(node, [*zip(columns, weights[columns].tolist(), means, strict=True)], stream, best)
        return best

    def by_itself(self, node, column, best):
        """The best cut of a single column, if its score is higher than that of a test."""
        stream = Stream(node.seed, feature_key(node.key, column), THRESHOLD)
        return self.better(node, [(column, 1.0, math.nan)], stream, best, node.codes(column))

    def better(self, node, terms, stream, best, codes=None):
        """The best cut of a projection, if its score is higher than that of a test. codes : a cut parts no values of one code"""
        values, found = sums(terms, node.X), None
        for threshold, missing_left in self.cuts(node, values, stream, codes):
            left = sides(values, threshold, missing_left)
            score = node.score_sides(left)
            weights = node.counts.astype(object) * node.weights
            imbalance = 0 if score else abs(int(weights[left].sum()) - int(weights[~left].sum()))
            if score >= 0 and (found is None or (score, -imbalance) > found[:2]):
                found = score, -imbalance, Test([threshold, missing_left, *np.ravel(terms)], terms[0][0], score)
        return found[2] if found and (best is None or found[0] > best.score) else best

    def cuts(self, node, values, stream, codes):
        """All pairs (threshold, whether missing values go left) of a node; of equally good ones, the first wins."""
        missing = np.isnan(values)
        numbers = np.unique(values[~missing]) + 0.0
        if self.thresholds == "random":
            u = stream.uniform() if len(numbers) > 1 else None
            thresholds = [random_threshold(numbers[0], numbers[-1], u, False)] if u is not None else [np.inf]
        else:
            code_of = dict(zip((values + 0.0).tolist(), range(len(values)) if codes is None else codes.tolist(), strict=True))
            pairs = [pair for pair in pairwise(numbers.tolist()) if code_of[pair[0]] != code_of[pair[1]]]
            thresholds = [*(middle(*pair, False) for pair in pairs), np.inf]
        for threshold in thresholds:
            if not missing.any():
                if threshold < np.inf or self.thresholds == "random" and len(numbers) > 1:
                    yield threshold, 2 * node.counts[values <= threshold].sum() > node.n_draws
            elif not missing.all():
                yield threshold, False
                if (values > threshold).any():
                    yield threshold, True

    def goes_left(self, payload, X):
        return sides(sums(payload[2:].reshape(-1, 3), X), payload[0], payload[1] == 1.0)


def sums(terms, X):
    """The sums of a projection for some rows."""
    values = np.zeros(len(X))
    with np.errstate(invalid="ignore", over="ignore"):  # infinities may cancel out
        for column, weight, if_missing in terms:
            x = X[:, int(column)].astype(np.float64)
            values = values + weight * np.where(np.isnan(x), if_missing, x)
    return values


def sides(values, threshold, missing_left):
    """Which sums go left."""
    return (values <= threshold) | (missing_left & np.isnan(values))
