"""The problems that are measured: made from random numbers, or bundled with scikit-learn.

Made problems have as many rows as are asked for; equal questions give equal rows.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes, load_digits, make_friedman1
from sklearn.model_selection import train_test_split

# All made data are smaller by this factor; tests, which only look whether benchmarks run, raise it.
DIVISOR = 1

MADE = {}
SPARSE = ("text", "one_hot")
BUNDLED = {"digits": ("classification", load_digits), "diabetes": ("regression", load_diabetes)}


class Problem(NamedTuple):
    task: str  # "classification" or "regression"
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    labels: tuple = ()  # places of the categorical features

    @property
    def n_classes(self):
        return int(self.y.max()) + 1 if self.task == "classification" else 0


def scaled(n):
    return max(40, n // DIVISOR)


def load(name, n_rows=None, n_features=None):
    """A problem by its name. A made one has n_rows rows, a quarter of which are test rows.

    n_features is for "waves" and "friedman", which have 5 columns or more; the first five matter.
    """
    if name in SPARSE:
        X, classes, _ = sparse(name, n_rows)
        return Problem("classification", *_divided(X, classes))
    if name in BUNDLED:
        task, read = BUNDLED[name]
        X, y = read(return_X_y=True)
        return Problem(task, *_divided(X, y))
    task, make, labels = MADE[name]
    chosen = {} if n_features is None else {"n_features": n_features}
    return Problem(task, *_divided(*make(scaled(n_rows), np.random.default_rng(0), **chosen)), labels)


def _divided(X, y):
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    return X, y, X_test, y_test


def _made(name, task, labels=()):
    def keep(make):
        MADE[name] = task, make, labels
        return make

    return keep


@_made("waves", "classification")
def _waves(n_rows, random, n_features=20):
    """Two classes, as many values as rows in float32; deep trees, as one row in ten is mislabelled."""
    X = random.standard_normal((n_rows, n_features), dtype=np.float32)
    height = np.cos(3 * X[:, 0]) + X[:, 1] * X[:, 2] + np.maximum(X[:, 3], X[:, 4])
    return X, ((height > np.median(height)) ^ (random.random(n_rows) < 0.1)).astype(np.int64)


@_made("grid", "classification")
def _grid(n_rows, random):
    """Six classes; 16 columns of whole numbers from 0 to 30, and 32 of zeros and ones."""
    X = np.hstack([random.binomial(30, 0.4, (n_rows, 16)), random.random((n_rows, 32)) < 0.2]).astype(np.float32)
    votes = (X - X.mean(axis=0)) @ random.standard_normal((48, 6)) + random.gumbel(scale=2, size=(n_rows, 6))
    y = votes.argmax(axis=1)
    y[:6] = range(6)  # all of them, however few the rows
    return X, y


@_made("covers", "classification")
def _covers(n_rows, random):
    """Seven classes, most rows of two of them; 10 columns of numbers, and a 1 in each of two groups of 4 and of 40 columns."""
    numbers = random.integers(0, 400, (n_rows, 10)) * random.random((n_rows, 10)) ** 0.5
    areas, soils = random.integers(0, 4, n_rows), random.geometric(0.08, n_rows) % 40
    X = np.hstack([numbers.round(), np.eye(4)[areas], np.eye(40)[soils]]).astype(np.float32)
    height = numbers[:, 0] + 0.3 * numbers[:, 1] * (areas == 1) + 120 * random.standard_normal(40)[soils]
    height += 30 * random.standard_normal(n_rows) + 40 * np.sin(numbers[:, 2] / 40)
    y = np.digitize(height, np.quantile(height, [0.02, 0.05, 0.4, 0.88, 0.93, 0.97]))
    y[:7] = range(7)
    return X, y


@_made("many_classes", "classification")
def _many_classes(n_rows, random):
    """26 classes of as many rows each, at least 20 of them, and 16 columns of numbers."""
    n_rows = max(n_rows, 26 * 20)
    y = random.permutation(np.arange(n_rows) % 26)
    X = random.standard_normal((26, 16))[y] + random.standard_normal((n_rows, 16)) * (1 + 0.5 * (y % 3)[:, None])
    return X.astype(np.float32), y


@_made("friedman", "regression")
def _friedman(n_rows, random, n_features=10):
    """Friedman's first function of 5 of 10 columns, in float64."""
    return make_friedman1(n_rows, n_features, noise=1.0, random_state=0)


@_made("wide", "classification")
def _wide(n_rows, random):
    """Two classes, 20 times fewer rows than asked for, and 500 columns of which 10 matter."""
    X = random.standard_normal((max(40, n_rows // 20), 500), dtype=np.float32)
    return X, (X[:, :10].sum(axis=1) > 0).astype(np.int64)


@_made("labels", "regression", labels=(0, 1, 2))
def _labels(n_rows, random):
    """Columns of 4, 30 and 200 categories and five of numbers, a tenth of them missing."""
    sizes = 4, 30, 200
    labels = np.column_stack([random.integers(size, size=n_rows) for size in sizes])
    numbers = random.standard_normal((n_rows, 5))
    y = sum(random.standard_normal(size)[labels[:, j]] for j, size in enumerate(sizes)) * (1 + (numbers[:, 0] > 0))
    numbers[random.random(numbers.shape) < 0.1] = np.nan
    return np.hstack([labels, numbers]), y + 0.3 * random.standard_normal(n_rows)


def sparse(name, n_rows):
    """A sparse X by its name, "text" or "one_hot", and classes and numbers for its rows: (csr_array, ndarray, ndarray).

    A row of "text" stores 80 of 20,000 words, frequent ones most often; one of "one_hot" a 1 in each of 20 groups of 25 columns.
    """
    n_rows, random = scaled(n_rows), np.random.default_rng(0)
    if name == "text":
        n_features, n_stored = 20_000, 80
        shares = np.cumsum(1 / np.arange(30, n_features + 30))
        words = np.searchsorted(shares / shares[-1], random.random((n_rows, n_stored)))
        columns, values = random.permutation(n_features)[words], random.exponential(size=(n_rows, n_stored))
    else:
        n_features, n_stored = 500, 20
        columns = random.integers(0, 25, (n_rows, n_stored)) + 25 * np.arange(n_stored)
        values = np.ones((n_rows, n_stored))
    starts = n_stored * np.arange(n_rows + 1)
    X = csr_array((values.ravel().astype(np.float32), columns.ravel(), starts), shape=(n_rows, n_features))
    X.sum_duplicates()
    numbers = X @ random.normal(size=n_features)
    numbers += 0.3 * numbers.std() * random.normal(size=n_rows)
    return X, np.digitize(numbers, np.quantile(numbers, [0.25, 0.5, 0.75])), numbers
