"""How well a forest predicts some rows, and what its predictions depend on; the figures are scikit-learn's."""

from dataclasses import dataclass

import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.calibration import calibration_curve
from sklearn.inspection import partial_dependence, permutation_importance

from dforest.config import communicator
from dforest.estimators.data.agreement import Partition
from dforest.estimators.powers import next_power
from dforest.estimators.results.importance import features_used, summarise
from dforest.inspection.report.rows import SEED

CALIBRATION_BINS = 10
ROWS_PER_BIN = 10  # at least, on average
PERMUTED_ROWS, MIN_PERMUTED_ROWS = 2000, 100
PERMUTED_VISITS = 400_000_000  # rows times trees times features, over all permutations, that fewer rows are taken for
REPEATS = 5
OUT_OF_BAG_VISITS = 200_000_000  # rows times trees times features, up to which importances are found out of bag
DEPENDENCE_ROWS = 500
GRID = 25
SHOWN_CATEGORIES = 12  # of a column
SHOWN_CLASSES = 5  # of partial dependence


@dataclass(frozen=True)
class ClassQuality:
    """How well classes are predicted.

    Attributes
    ----------
    true, predicted : ndarray of shape (n_rows,)
        Class numbers.
    figures : list of (str, float or None)
        Their names and values; None where one is not defined.
    commonest : float
        The accuracy of always predicting the class that most of the rows have.
    stated, observed : ndarray of shape (n_bins,)
        Probabilities that were predicted, on average in each bin, and the share of rows for which that came true.
    claim : ndarray of shape (n_rows,)
        The probabilities that these are made of: of two classes, that of the second one; else that of the predicted class.
    """

    true: np.ndarray
    predicted: np.ndarray
    figures: list
    commonest: float
    stated: np.ndarray
    observed: np.ndarray
    claim: np.ndarray

    @property
    def calibration_error(self):
        """The mean difference of stated and observed probabilities; bins hold about as many rows each."""
        return float(np.abs(self.stated - self.observed).mean())


@dataclass(frozen=True)
class NumberQuality:
    """How well numbers are predicted.

    Attributes
    ----------
    true, predicted : ndarray of shape (n_rows,)
    figures : list of (str, float or None)
    spread : float
        The root mean square error of always predicting the rows' mean.
    stated, observed : ndarray of shape (n_bins,)
        Means of predictions and of targets among rows in the order of their predictions, about as many in each bin.
    error : ndarray of shape (n_bins,)
        Standard errors of `observed`; NaN in bins of one row.
    """

    true: np.ndarray
    predicted: np.ndarray
    figures: list
    spread: float
    stated: np.ndarray
    observed: np.ndarray
    error: np.ndarray


def magnitude(values):
    """What numbers are divided by where their squares may leave float64's range."""
    return float(np.abs(values).max(initial=0)) or 1.0


def deviation(values, ddof=0):
    """The standard deviation of numbers, however large."""
    scale = magnitude(values)
    return scale * float((values / scale).std(ddof=ddof))


def _n_bins(n_rows):
    return max(1, min(CALIBRATION_BINS, n_rows // ROWS_PER_BIN))


def assess_classes(true, probability):
    """The `ClassQuality` of probabilities, ndarray of shape (n_rows, n_classes), for rows of these class numbers."""
    n_classes = probability.shape[1]
    predicted = probability.argmax(axis=1)
    numbers = np.arange(n_classes)
    figures = [("Accuracy", metrics.accuracy_score(true, predicted))]
    present = np.unique(true)
    if n_classes > 1:
        recall = metrics.recall_score(true, predicted, labels=present, average="macro", zero_division=0)
        figures.append(("Balanced accuracy", recall))
        figures.append(("Log loss", metrics.log_loss(true, probability, labels=numbers)))
    if n_classes == 2:
        figures.append(("Brier score", float(np.mean((probability[:, 1] - true) ** 2))))
        both = len(present) == 2
        figures.append(("Area under the ROC curve", metrics.roc_auc_score(true, probability[:, 1]) if both else None))
        came_true, claim = true == 1, probability[:, 1]
    else:
        came_true, claim = true == predicted, probability.max(axis=1)
    observed, stated = calibration_curve(came_true, np.clip(claim, 0, 1), n_bins=_n_bins(len(true)), strategy="quantile",
                                         pos_label=True)  # fmt: skip
    commonest = float(np.bincount(true).max() / len(true))
    return ClassQuality(true, predicted, figures, commonest, stated, observed, claim)


def assess_numbers(true, predicted):
    """The `NumberQuality` of predictions, ndarray of shape (n_rows,)."""
    scale = magnitude(true)
    scaled = true / scale, predicted / scale
    figures = [
        ("R²", metrics.r2_score(*scaled) if len(true) > 1 else None),
        ("Root mean squared error", scale * float(np.sqrt(metrics.mean_squared_error(*scaled)))),
        ("Mean absolute error", metrics.mean_absolute_error(true, predicted)),
        ("Median absolute error", metrics.median_absolute_error(true, predicted)),
    ]
    bins = np.array_split(np.argsort(predicted, kind="stable"), _n_bins(len(true)))
    stated, observed = (np.array([values[rows].mean() for rows in bins]) for values in (predicted, true))
    error = np.array([deviation(true[rows], 1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan for rows in bins])
    return NumberQuality(true, predicted, figures, deviation(true), stated, observed, error)


@dataclass(frozen=True)
class Importance:
    """Importances by permutation.

    Attributes
    ----------
    mean, std : ndarray of shape (n_features,)
        By how much the misclassification rate rises, or the mean squared error, as a share of the targets' variance.
    is_out_of_bag : bool
        Whether they were found on the rows that each tree left out, tree by tree; else on all trees' predictions, with
        `REPEATS` permutations of `n_rows` rows.
    n_rows : int
    """

    mean: np.ndarray
    std: np.ndarray
    is_out_of_bag: bool
    n_rows: int


def permuted(rows):
    """The `Importance` of features by permutation, of `Rows` that have targets."""
    forest = rows.forest
    trees = forest.forest_
    leaves_out = all(plan.leaves_rows_out for plan in trees.plans) and all(batch.kept is None for batch in forest._batches)
    is_alone = communicator().size == 1  # what follows is a collective
    if rows.is_training and leaves_out and is_alone and len(rows) * trees.n_trees * trees.n_features <= OUT_OF_BAG_VISITS:
        by_tree, power = forest._out_of_bag_rises(lambda rank: [Partition(rank, *rows.given)])
        unit = _unit(rows, slice(None))
        scale = next_power(unit)
        mean, std = summarise(by_tree, power - 2 * scale)
        unit = np.ldexp(unit, -scale)
        return Importance(mean / unit / unit, std / unit / unit, True, len(rows))
    most = PERMUTED_VISITS // (trees.n_trees * trees.n_features * (REPEATS + 1))
    chosen = rows.sample(min(max(most, MIN_PERMUTED_ROWS), PERMUTED_ROWS))
    X, y, unit = rows.X[chosen].copy(), rows.y[chosen], _unit(rows, chosen)
    # scikit-learn permutes the rows' numbers, feature by feature, as it takes no infinite values.
    places = np.arange(len(X))[:, None]
    mean, std = np.zeros(trees.n_features), np.zeros(trees.n_features)
    for j in np.flatnonzero(features_used(trees).any(axis=0)):
        column = X[:, j].copy()

        def score(_, places, y, j=j, column=column):
            X[:, j] = column[places[:, 0]]
            prediction = rows.predict(X)
            if is_classifier(forest):
                return np.mean(prediction.argmax(axis=1) == y)
            return -np.mean(((prediction[:, 0] - y) / unit) ** 2)

        found = permutation_importance(forest, places, y, scoring=score, n_repeats=REPEATS, random_state=SEED).importances[0]
        X[:, j] = column
        mean[j], std[j] = found.mean(), found.std(ddof=1)
    return Importance(mean, std, False, len(chosen))


def _unit(rows, chosen):
    """What the squares of numbers are divided by the square of: the standard deviation of some rows' targets."""
    return 1.0 if is_classifier(rows.forest) else deviation(rows.y[chosen]) or 1.0


class _Encoded(BaseEstimator):
    """A fitted forest as scikit-learn's functions want it, for rows whose labels are numbers already."""

    def __init__(self, rows):
        self.rows = rows

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):  # scikit-learn asks whether there is one
        raise NotImplementedError("the forest is fitted already")


class _EncodedClassifier(ClassifierMixin, _Encoded):
    @property
    def classes_(self):
        return self.rows.forest.classes_

    def predict_proba(self, X):
        return self.rows.predict(X)


class _EncodedRegressor(RegressorMixin, _Encoded):
    def predict(self, X):
        return self.rows.predict(X)[:, 0]


@dataclass(frozen=True)
class Dependence:
    """How predictions depend on one feature, all else as it is in some rows.

    Attributes
    ----------
    feature : int
    grid : ndarray of shape (n_values,)
        Numbers, or the numbers of labels.
    mean : ndarray of shape (n_outputs, n_values)
        Mean predictions: of numbers; of the probability of the second of two classes, or of the classes `shown`.
    low, high : ndarray of shape (n_values,), or None
        Between which the predictions for 80% of the rows are; None for several outputs.
    shown : list of int
        Class numbers; empty for regression.
    """

    feature: int
    grid: np.ndarray
    mean: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    shown: list


def shown_classes(rows):
    """The numbers of the classes whose probabilities are shown: the second of two, else those of the largest mean probability."""
    if not is_classifier(rows.forest):
        return []
    if rows.forest.n_classes_ == 2:
        return [1]
    mean = rows.predict(rows.X[rows.sample(DEPENDENCE_ROWS)]).mean(axis=0)
    return np.sort(np.argsort(-mean, kind="stable")[:SHOWN_CLASSES]).tolist()


def dependence(rows, feature, shown):
    """The `Dependence` of predictions on a feature, or None if no row of a subsample has a value of it.

    Parameters
    ----------
    rows : Rows
    feature : int
    shown : list of int
        What `shown_classes` returns.
    """
    forest = rows.forest
    X = rows.X[rows.sample(DEPENDENCE_ROWS)]
    X = X[np.isfinite(X[:, feature])]
    if not len(X):
        return None
    has_labels = forest.categories_[feature] is not None
    ends = np.quantile(X[:, feature], [0.05, 0.95])
    percentiles = (0.05, 0.95) if ends[0] < ends[1] else (0, 1)
    estimator = (_EncodedClassifier if is_classifier(forest) else _EncodedRegressor)(rows)
    found = partial_dependence(
        estimator, X, [feature], categorical_features=[feature] if has_labels else None, percentiles=percentiles,
        grid_resolution=GRID, kind="both", method="brute",
    )  # fmt: skip
    grid, mean, each = found["grid_values"][0], found["average"], found["individual"]
    if has_labels and len(grid) > SHOWN_CATEGORIES and forest.is_categorical_[feature]:
        times = np.array([np.count_nonzero(X[:, feature] == value) for value in grid])
        kept = np.sort(np.argsort(-times, kind="stable")[:SHOWN_CATEGORIES])
        grid, mean, each = grid[kept], mean[:, kept], each[:, :, kept]
    if len(shown) > 1:
        return Dependence(feature, grid, mean[shown], None, None, shown)
    low, high = np.quantile(each[0], [0.1, 0.9], axis=0)
    return Dependence(feature, grid, mean, low, high, shown)
