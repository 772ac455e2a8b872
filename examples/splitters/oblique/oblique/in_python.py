"""The oblique splitter in plain Python: slow, but easier to read. It grows the same forest as the compiled splitter.

The terms (projection, term, payload) are explained in `oblique.splitter`.
"""

import numpy as np

from dforest.splitter import PythonSplitter, Test
from dforest.testing.streams import Stream
from oblique.splitter import check_combinations, count_entries, shares_of, text_of

PURPOSE = 64  # of random numbers: DF_CUSTOM of dforest/rules/random.pxd


def draw_projections(stream, n_projections, n_features, n_entries):
    """Lists of terms, none of them empty, from a matrix of -1, 0 and 1 with n_entries that are not 0."""
    taken, projections = set(), [[] for _ in range(n_projections)]
    n_cells = n_projections * n_features
    for last in range(n_cells - n_entries, n_cells):  # Floyd's algorithm: no cell twice, all sets equally likely
        drawn = stream.below(2 * (last + 1))
        cell = last if drawn // 2 in taken else drawn // 2
        taken.add(cell)
        projections[cell // n_features].append((-1 if drawn % 2 else 1) * (cell % n_features + 1))
    return [terms for terms in projections if terms]


def project(X, terms):
    """The values of a projection for some rows: ndarray of shape (n,), dtype float64; NaN is missing."""
    values = np.zeros(len(X))
    with np.errstate(invalid="ignore"):  # infinities may cancel out
        for term in np.array(terms, np.int64):
            values += np.sign(term) * X[:, abs(term) - 1].astype(np.float64)
    return values


def middle(low, high):
    """A number that is at least low and below high."""
    between = 0.5 * low + 0.5 * high
    return between if low <= between < high else low


def cuts(node, values):
    """All pairs (threshold, whether missing values go left) of a node; of equally good ones, the first wins."""
    missing = np.isnan(values)
    distinct = np.unique(values[~missing])
    for low, high in zip(distinct[:-1], distinct[1:], strict=True):
        if missing.any():
            yield middle(low, high), False
            yield middle(low, high), True
        else:
            yield middle(low, high), 2 * node.counts[values <= low].sum() > node.n_draws
    if missing.any() and not missing.all():
        yield np.inf, False


class PythonObliqueSplitter(PythonSplitter):
    """The splitter `oblique.ObliqueSplitter`, in Python.

    Parameters
    ----------
    feature_combinations : float, optional
        The average number of columns in a projection.
    """

    def __init__(self, feature_combinations=None):
        check_combinations(feature_combinations)
        self.feature_combinations = feature_combinations

    def find_split(self, node):
        """The best cut of some projections; if none has a valid cut, the best cut of the first single column that has one."""
        n_entries = count_entries(self.feature_combinations, self.max_features, node.n_features)
        stream = Stream(node.seed, node.key, PURPOSE)
        projections = draw_projections(stream, self.max_features, node.n_features, n_entries)
        best = self.best_test(node, projections)
        for feature in node.order.tolist():
            best = best or self.best_test(node, [[feature + 1]])
        return best

    def best_test(self, node, projections):
        """The best test of some projections; None if there is no valid test."""
        best = None
        for terms in projections:
            values = project(node.X, terms)
            for threshold, missing_left in cuts(node, values):
                score = node.score_sides(self.sides(values, threshold, missing_left))
                if score >= 0 and (best is None or score > best.score):
                    best = Test([threshold, missing_left, *terms], abs(terms[0]) - 1, score)
        return best

    @staticmethod
    def sides(values, threshold, missing_left):
        """Which numbers are on the left."""
        return (values <= threshold) | (missing_left & np.isnan(values))

    def goes_left(self, payload, X):
        """Whether rows are on the left of a test."""
        threshold, missing_left, *terms = payload
        return self.sides(project(X, terms), threshold, missing_left == 1)

    def used_features(self, payload):
        """The columns of a test, with equal shares."""
        return shares_of(payload)

    def describe(self, payload, names):
        """A test as text."""
        return text_of(payload, names)
