"""The tests of oblique trees, which add up columns, and rows that are about to turn at them."""

from itertools import pairwise

import numpy as np

from dforest.core.search.oblique import ObliqueSplitter
from dforest.core.search.oblique_test import ObliqueTest

_TURNS = 8  # how often the tests on the way to a node are gone through, to find a row that reaches the node
_INFINITE = 0.02  # the probability that a number of a row is infinite
_MISSING = 0.05  # the probability that one is missing


def is_oblique(forest):
    """Whether nodes of a forest may add up columns."""
    return isinstance(forest.splitter, ObliqueSplitter)


def test_at(forest, node):
    """The `ObliqueTest` of a node that is no leaf, given its place in the arrays of nodes."""
    return ObliqueTest.read(forest.payload_of(node))


def rows_at_tests(tree, nodes, dtype, missing, infinite, rng):
    """As `probes.probe_rows` for some nodes of an oblique tree: four rows for each of them, and fewer without missing values.

    A row that reaches a node is sought from a random row by going through the tests on the way and changing a column where one
    leads elsewhere. Where none is found in a few turns, the row goes somewhere else, and is compared as well.
    """
    usual, parts = _Usual(tree, rng), []
    parent = {}
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        parent[node + 1] = parent[int(tree.right_child[node])] = node
    for node in nodes.tolist():
        row, way = usual.row(), [node]
        while way[-1] in parent:
            way.append(parent[way[-1]])
        way = [(usual.tests[above], below == above + 1) for below, above in pairwise(way)][::-1]
        for _ in range(_TURNS):
            turned = [usual.turn(row, test, is_left) for test, is_left in way if goes_left(row, test) != is_left]
            if not turned:
                break
        numbers = tree.n_categories == 0
        if missing:
            row[rng.random(len(row)) < _MISSING] = np.nan
        if infinite:
            row[numbers & (rng.random(len(row)) < _INFINITE)] = rng.choice([-np.inf, np.inf])
        parts.append(_at_test(row, usual.tests[node], tree.n_categories, dtype, missing, rng))
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate(parts).astype(dtype)


def sum_of(row, test):
    """What a test of numbers adds up, in the order in which trees do."""
    total = 0.0
    with np.errstate(all="ignore"):
        for x, (weight, if_missing) in zip(row[test.columns], test.terms, strict=True):
            total += weight * (if_missing if np.isnan(x) else x)
    return total


def goes_left(row, test):
    """Whether a row of codes and numbers goes left."""
    if test.terms is None:
        code = row[test.columns[0]]
        return (code in _categories(test)) != test.missing_left
    total = sum_of(row, test)
    return bool(total <= test.threshold or (total != total and test.missing_left))


def _categories(test):
    """The categories of a test's subset: list of int."""
    return np.flatnonzero(np.unpackbits(test.subset.astype("<u8").view(np.uint8), bitorder="little")).tolist()


def _at_test(row, test, n_categories, dtype, missing, rng):
    """Rows like another one that are about to turn at a test: at its threshold, below and above it, and with a missing value."""
    place = rng.integers(len(test.columns))
    column = test.columns[place]
    if test.terms is None:
        inside, n = _categories(test), n_categories[column]
        outside = sorted(set(range(n)).difference(inside))
        values = [rng.choice(side) if side else n for side in (inside, outside)] + [n]
    else:
        at = row.copy()
        at[column] = 0.0
        with np.errstate(all="ignore"):
            value = dtype((test.threshold - sum_of(at, test)) / test.terms[place, 0])
        value = value if np.isfinite(value) else dtype(0.0)
        values = [value, np.nextafter(value, dtype(-np.inf)), np.nextafter(value, dtype(np.inf))]
    rows = np.repeat(row[None, :], len(values) + missing, axis=0)
    rows[: len(values), column] = values
    if missing:
        rows[-1, column] = np.nan
    return rows


class _Usual:
    """Numbers that columns of a tree's rows usually have, for all that its nodes tell: those that tests compare with.

    Attributes
    ----------
    tests : dict of int to ObliqueTest
        Those of all nodes.
    """

    def __init__(self, tree, rng):
        self.tests = {node: test_at(tree, node) for node in np.flatnonzero(tree.feature >= 0).tolist()}
        self.n_categories, self.rng = tree.n_categories, rng
        known = {}
        for test in self.tests.values():
            if test.terms is not None:
                found = test.terms[:, 1] if test.is_sum else [test.threshold]
                for column, number in zip(test.columns.tolist(), found, strict=True):
                    known.setdefault(column, []).append(number)
                    # Weights are in inverse proportion to what the column's values are spread over.
                    with np.errstate(all="ignore"):
                        known[column] += [number + sign / test.terms[0, 0] for sign in (-1.0, 1.0)] if test.is_sum else []
        self.known = {column: np.array(numbers)[np.isfinite(numbers)] for column, numbers in known.items()}

    def row(self):
        """A row of such numbers, and of random categories; zeros in columns of which nothing is known."""
        row = np.zeros(len(self.n_categories))
        for column, numbers in self.known.items():
            row[column] = self.rng.choice(numbers) if len(numbers) else 0.0
        for column in np.flatnonzero(self.n_categories):
            row[column] = self.rng.integers(self.n_categories[column])
        return row

    def turn(self, row, test, left):
        """Change a column of a row so that it is likely to go to the other side of a test. left : whether that is the left one"""
        place = self.rng.integers(len(test.columns))
        column = test.columns[place]
        if test.terms is None:
            side = _categories(test)
            if left == test.missing_left:
                side = sorted(set(range(self.n_categories[column])).difference(side))
            row[column] = self.rng.choice(side) if side else self.n_categories[column]
            return
        total, weight = sum_of(row, test), test.terms[place, 0]
        if test.threshold == np.inf or total != total:
            row[column] = 0.0 if left != test.missing_left else np.nan
            return
        with np.errstate(all="ignore"):
            step = (test.threshold - total) / weight * (1.0 + self.rng.random())
            value = (test.terms[place, 1] if np.isnan(row[column]) else row[column]) + step
        row[column] = np.nextafter(value, np.copysign(np.inf, step)) if np.isfinite(value) else 0.0
