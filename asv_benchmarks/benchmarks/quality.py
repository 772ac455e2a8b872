"""Loss of models by default on small tables that come with scikit-learn, or are made: log loss, or the root mean squared error.

A loss is the mean over three splits, each with a third of the rows for the test. Fits are deterministic, so a loss changes where
models do.
"""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

import dforest

from . import data

FLOOR = 0.001  # added to probabilities, which would else have infinite losses


def three_digits():
    """Images of 3, 8 and 9."""
    X, y = load_digits(return_X_y=True)
    return tuple(array[np.isin(y, [3, 8, 9])] for array in (X, y))


def labelled():
    """Classes that follow from 150 labels, of 13 rows each, and from two columns of numbers, with noise."""
    random = np.random.default_rng(0)
    label = random.integers(0, 150, 2000)
    X = np.column_stack([random.standard_normal((2000, 2)), label])
    return X, (random.standard_normal(150)[label] + X[:, 0] + random.standard_normal(2000) > 0).astype(int)


# name: (X and y, columns of labels)
TABLES = {
    "breast cancer": (lambda: load_breast_cancer(return_X_y=True), None),
    "diabetes": (lambda: load_diabetes(return_X_y=True), None),
    "digits": (three_digits, None),
    "friedman": (lambda: make_friedman1(1000, noise=1.0, random_state=0), None),
    "labels": (labelled, [2]),
    "wine": (lambda: load_wine(return_X_y=True), None),
}
MODELS = ["RandomForest", "ExtraTrees", "HistGradientBoosting"]


def of_test(model, X, y):
    """The loss of a fitted model on test rows."""
    if not hasattr(model, "predict_proba"):
        return root_mean_squared_error(y, model.predict(X))
    known = model.predict_proba(X) + FLOOR
    return log_loss(y, known / known.sum(axis=1, keepdims=True), labels=model.classes_)


def splits_of(y, is_class, n_splits=3, most_train=10_000, most_test=10_000):
    """Splits of rows into some to train on and some for the test: iterator of (ndarray, ndarray)."""
    n_test = min(len(y) // 3, most_test)
    splitter = (StratifiedShuffleSplit if is_class else ShuffleSplit)(
        n_splits, train_size=min(len(y) - n_test, most_train), test_size=n_test, random_state=0
    )
    return splitter.split(np.zeros(len(y)), y)


@cache
def loss(table, model, most_rows=None):
    """The mean loss of a model on the splits of a table, or of its first rows: float."""
    made, labels = TABLES[table]
    X, y = (array[:most_rows] for array in made())
    is_class, found = y.dtype.kind == "i", []
    kind = getattr(dforest, model + ("Classifier" if is_class else "Regressor"))
    for seed, (train, test) in enumerate(splits_of(y, is_class)):
        fitted = kind(categorical_features=labels, random_state=seed).fit(X[train], y[train])
        found.append(of_test(fitted, X[test], y[test]))
    return float(np.mean(found))


class Quality:
    """Loss on test rows."""

    params = (list(TABLES), MODELS)
    param_names = ("table", "model")
    unit = "loss"
    timeout = 600

    def setup(self, table, model):
        self.most_rows = None if data.DIVISOR == 1 else 600

    def track_loss(self, table, model):
        return loss(table, model, self.most_rows)
