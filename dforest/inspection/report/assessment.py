"""How well a forest predicts some rows, and what its predictions depend on; the figures are scikit-learn's."""

from dataclasses import dataclass

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier

from dforest.core.sparse_rows import column_of, with_column
from dforest.estimators.results.importance import features_used, score_decrease
from dforest.inspection.report.rows import SEED
from dforest.inspection.report.text import shortened

CALIBRATION_BINS = 10
ROWS_PER_BIN = 10  # at least, on average
EVENTS_PER_BIN = 5  # at least, expected
PERMUTED_ROWS, MIN_PERMUTED_ROWS = 2000, 200
PERMUTED_VISITS = 24_000_000  # rows times trees times features, over all permutations, that fewer rows are taken for
REPEATS = 5
PERMUTED_FEATURES = 40  # at most
DEPENDENCE_ROWS = 300
GRID = 25
SHOWN_CATEGORIES = 12  # of a column
SHOWN_CLASSES = 5  # of partial dependence
ROUNDING = 1e-12  # of a figure


@dataclass(frozen=True)
class Thresholds:
    """What is found of a class if rows are taken for it from some probability on. Arrays have an entry for each threshold."""

    threshold: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    n_found: np.ndarray  # int64: how many rows have at least this probability

    @classmethod
    def of(cls, is_class, probability):
        """Those of rows that are of the class or not, given their probabilities of it."""
        precision, recall, threshold = metrics.precision_recall_curve(is_class, probability)
        n_found = len(probability) - np.searchsorted(np.sort(probability), threshold)
        return cls(threshold, precision[:-1], recall[:-1], n_found)

    def at(self, threshold):
        """(precision, recall, how many are found) from a probability on; None if no row has it."""
        k = int(np.searchsorted(self.threshold, threshold))
        return None if k == len(self.threshold) else (self.precision[k], self.recall[k], int(self.n_found[k]))

    @property
    def best(self):
        """The threshold of the largest F1, the harmonic mean of precision and recall."""
        total = self.precision + self.recall
        score = np.divide(self.precision * self.recall, total, out=np.zeros(len(total)), where=total > 0)
        return float(self.threshold[score.argmax()])


@dataclass(frozen=True)
class ClassQuality:
    """How well classes are predicted."""

    true: np.ndarray  # of shape (n_rows,): class numbers
    predicted: np.ndarray  # likewise
    probability: np.ndarray  # of shape (n_rows, n_classes)
    figures: dict  # by their names; None where one is not defined
    constant: dict  # those of `constant_classes`
    stated: np.ndarray  # of shape (n_bins,): probabilities that were predicted, on average in each bin
    observed: np.ndarray  # of shape (n_bins,): the share of rows for which that came true
    error: np.ndarray  # of shape (n_bins,): standard errors of `observed`
    claim: np.ndarray  # of shape (n_rows,): the probabilities that bins are made of: that of one class, or of the predicted class
    thresholds: Thresholds | None  # of a rare class

    def of_class(self, k):
        """(which rows have class k, which are predicted to have it): two masks."""
        return self.true == k, self.predicted == k

    @property
    def calibration_error(self):
        """The mean difference of stated and observed probabilities over the bins."""
        return float(np.abs(self.stated - self.observed).mean())


@dataclass(frozen=True)
class NumberQuality:
    """How well numbers are predicted."""

    true: np.ndarray  # of shape (n_rows,)
    predicted: np.ndarray  # of shape (n_rows,)
    figures: dict  # by their names; None where one is not defined
    constant: dict  # those of the rows' mean, predicted for each row
    # Of shape (n_bins,): means among rows in the order of their predictions, about as many in each bin.
    stated: np.ndarray  # of predictions
    observed: np.ndarray  # of targets
    error: np.ndarray  # standard errors of `observed`; NaN in bins of one row


def magnitude(values):
    """What numbers are divided by where their squares may leave float64's range."""
    return float(np.abs(values).max(initial=0)) or 1.0


def deviation(values, ddof=0):
    """The standard deviation of numbers, however large."""
    scale = magnitude(values)
    return scale * float((values / scale).std(ddof=ddof))


def _n_bins(n_rows):
    return max(1, min(CALIBRATION_BINS, n_rows // ROWS_PER_BIN))


def constant_classes(true, n_classes):
    """The shares of the classes, predicted for each row, which is what a model would do that has learnt nothing else."""
    return np.tile(np.bincount(true, minlength=n_classes) / len(true), (len(true), 1))


def without_rounding(value, beside):
    """A figure of a constant prediction, which is 0 if it is not more than the rounding of the figure that it stands beside."""
    is_rounding = value is not None and beside is not None and abs(value) <= ROUNDING * abs(beside)
    return 0.0 if is_rounding else value


def _class_figures(true, probability, classes, rare):
    """The figures of probabilities; None where one is not defined."""
    n_classes, predicted, present = probability.shape[1], probability.argmax(axis=1), np.unique(true)
    figures = {"Accuracy": metrics.accuracy_score(true, predicted)}
    if n_classes > 1:
        recall = metrics.recall_score(true, predicted, labels=present, average="macro", zero_division=0)
        figures["Balanced accuracy"] = recall
    if rare is not None:
        name, of_rare, found = shortened(classes[rare], 30), true == rare, predicted == rare
        figures[f"Average precision of {name}"] = metrics.average_precision_score(of_rare, probability[:, rare])
        figures[f"Recall of {name}"] = float(found[of_rare].mean())
        figures[f"Precision of {name}"] = float(of_rare[found].mean()) if found.any() else None
    if n_classes > 1:
        figures["Log loss"] = metrics.log_loss(true, probability, labels=np.arange(n_classes))
    if n_classes == 2:
        figures["Brier score"] = float(np.mean((probability[:, 1] - true) ** 2))
        figures["Area under the ROC curve"] = metrics.roc_auc_score(true, probability[:, 1]) if len(present) == 2 else None
    return figures


def assess_classes(true, probability, classes, positive, rare):
    """The `ClassQuality` of probabilities, ndarray of shape (n_rows, n_classes), for rows of these class numbers.

    Parameters
    ----------
    true : ndarray of shape (n_rows,)
    probability : ndarray of shape (n_rows, n_classes)
    classes : list of str
        Names of the classes.
    positive : int or None
        The class whose probability is looked at; None: that of the predicted class.
    rare : int or None
        A class that few rows have.
    """
    predicted = probability.argmax(axis=1)
    thresholds = None if rare is None else Thresholds.of(true == rare, probability[:, rare])
    shares = constant_classes(true, probability.shape[1])
    figures, constant = (_class_figures(true, found, classes, rare) for found in (probability, shares))
    if positive is None:
        came_true, claim = true == predicted, probability.max(axis=1)
    else:
        came_true, claim = true == positive, probability[:, positive]
    bins = _bins_of(np.clip(claim, 0, 1), positive is not None and positive == rare)
    stated, observed = (np.array([values[rows].mean() for rows in bins]) for values in (claim, came_true))
    error = np.sqrt(observed * (1 - observed) / [len(rows) for rows in bins])
    return ClassQuality(true, predicted, probability, figures, constant, stated, observed, error, claim, thresholds)


def _bins_of(claim, by_events):
    """Numbers of rows in bins by their probabilities, so that equal ones are in one bin; ascending.

    Each bin has about as many rows, or about as many for which the claim is expected to come true: where these are few, nearly
    all rows have a small probability, and bins of rows would be all alike.
    """
    order = np.argsort(claim, kind="stable")
    weight = claim[order] if by_events and claim.any() else np.ones(len(claim))
    before = np.cumsum(weight)
    n_bins = _n_bins(len(claim)) if not by_events else max(1, min(CALIBRATION_BINS, int(before[-1] / EVENTS_PER_BIN)))
    places = np.minimum(np.searchsorted(before, before[-1] * np.arange(1, n_bins) / n_bins), len(claim) - 1)
    edges = np.unique(claim[order][places])
    number = np.searchsorted(edges, claim, side="left")
    return [rows for rows in (np.flatnonzero(number == k) for k in range(len(edges) + 1)) if len(rows)]


def _number_figures(true, predicted):
    scale = magnitude(true)
    scaled = true / scale, predicted / scale
    return {
        "R²": metrics.r2_score(*scaled) if len(true) > 1 else None,
        "Root mean squared error": scale * float(np.sqrt(metrics.mean_squared_error(*scaled))),
        "Mean absolute error": metrics.mean_absolute_error(true, predicted),
        "Median absolute error": metrics.median_absolute_error(true, predicted),
    }


def constant_numbers(true):
    """The mean of the rows, predicted for each row: ndarray of shape (n_rows,)."""
    scale = magnitude(true)
    return np.full(len(true), (true / scale).mean() * scale)


def assess_numbers(true, predicted):
    """The `NumberQuality` of predictions, ndarray of shape (n_rows,)."""
    figures, constant = (_number_figures(true, found) for found in (predicted, constant_numbers(true)))
    bins = np.array_split(np.argsort(predicted, kind="stable"), _n_bins(len(true)))
    stated, observed = (np.array([values[rows].mean() for rows in bins]) for values in (predicted, true))
    error = np.array([deviation(true[rows], 1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan for rows in bins])
    return NumberQuality(true, predicted, figures, constant, stated, observed, error)


@dataclass(frozen=True)
class Importance:
    """Importances by permutation."""

    # Of shape (n_features,): by how much the score falls, on average over `REPEATS` permutations; NaN for features that were not
    # permuted, and 0 for those that no tree tests.
    mean: np.ndarray
    error: np.ndarray  # the standard errors of these means
    n_asked: int  # how many features were permuted: all that trees test, or, of many, those most important by the trees
    is_out_of_bag: bool  # whether each row was predicted by the trees that left it out
    n_rows: int  # of the rows that were permuted
    n_more: int  # how many of these were taken beyond their share, as they have a rare class; their weights make up for it


def permuted(rows, measure, own, rare=None):
    """The `Importance` of features by permutation, of `Rows` that have targets.

    Parameters
    ----------
    rows : Rows
    measure : Measure
        What the score is.
    own : ndarray of shape (n_features,)
        Importances by the trees.
    rare : int, optional
        A class of which more rows are taken.
    """
    model = rows.model
    trees = model.forest
    used = features_used(trees).any(axis=0)
    asked = np.zeros(len(used), bool)
    asked[np.argsort(np.where(used, -own, np.inf), kind="stable")[:PERMUTED_FEATURES]] = True
    asked &= used
    n_asked = np.count_nonzero(asked)
    most = PERMUTED_VISITS // (trees.n_trees * max(1, n_asked) * (REPEATS + 1))
    most = min(max(most, MIN_PERMUTED_ROWS), PERMUTED_ROWS)
    chosen = donors = rows.sample(most)
    weight, n_more = None, 0
    if rare is not None and measure.takes_weights and len(chosen) < len(rows):
        chosen, weight, n_more = _with_more_of(rows, rare, most)
    is_out_of_bag = rows.is_training and model.leaves_rows_out
    X, true = rows.X[chosen], rows.y[chosen]
    predict = model.out_of_bag(chosen) if is_out_of_bag else model.predict

    def score(prediction):
        seen = ~np.isnan(prediction).any(axis=1)
        if not seen.any():
            return np.nan
        return measure(true[seen], prediction[seen], None if weight is None else weight[seen])

    found = score_decrease(X, predict, score, asked, REPEATS, SEED, rows.X[donors])
    found[used & ~asked] = np.nan
    error = found.std(axis=1, ddof=1) / np.sqrt(REPEATS)
    return Importance(found.mean(axis=1), error, n_asked, is_out_of_bag, len(chosen), n_more)


def _with_more_of(rows, rare, most):
    """(numbers of so many rows, up to half of them of a rare class; weights that make up for it; how many there are beyond)."""
    random = np.random.RandomState(SEED)
    groups, chosen, weight = [np.flatnonzero((rows.y == rare) == is_rare) for is_rare in (True, False)], [], []
    n_rare = min(len(groups[0]), most // 2)
    for group, n in zip(groups, (n_rare, most - n_rare), strict=True):
        n = min(n, len(group))
        chosen.append(random.choice(group, n, replace=False))
        weight.append(np.full(n, len(group) / n if n else 0.0))
    chosen, weight = np.concatenate(chosen), np.concatenate(weight)
    order = np.argsort(chosen)
    n_more = n_rare - round(len(groups[0]) / len(rows) * most)
    return chosen[order], weight[order], max(0, n_more)


@dataclass(frozen=True)
class Dependence:
    """How predictions depend on one feature, all else as it is in some rows."""

    feature: int
    grid: np.ndarray  # of shape (n_values,): numbers, or the numbers of labels
    # Of shape (n_outputs, n_values): mean predictions of numbers, or of probabilities of the second of two classes, or of those
    # that are shown.
    mean: np.ndarray
    low: np.ndarray | None  # of shape (n_values,): 80% of the predictions are between `low` and `high`; None for several outputs
    high: np.ndarray | None
    shown: list  # class numbers; empty for regression


def shown_classes(rows, positive):
    """The numbers of the classes whose probabilities are shown: the one looked at, else those of the largest mean probability."""
    if not is_classifier(rows.model.estimator):
        return []
    if positive is not None:
        return [positive]
    mean = rows.model.predict(rows.X[rows.sample(DEPENDENCE_ROWS)]).mean(axis=0)
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
    estimator = rows.model.estimator
    X = rows.X[rows.sample(DEPENDENCE_ROWS)]
    X = X[np.isfinite(column_of(X, feature))]
    if not len(X):
        return None
    grid = _grid(column_of(X, feature), estimator.categories_[feature] is not None, rows.model.is_categorical[feature])
    found = np.stack([rows.model.predict(with_column(X, feature, value)) for value in grid])[:, :, shown or [0]]
    mean = found.mean(axis=1).T
    if len(shown) > 1:
        return Dependence(feature, grid, mean, None, None, shown)
    low, high = np.quantile(found[:, :, 0], [0.1, 0.9], axis=1)
    return Dependence(feature, grid, mean, low, high, shown)


def _grid(column, has_labels, is_categorical):
    """The values that a feature is given: all that there are, or so many from its 5% to its 95% quantile."""
    values, times = np.unique(column, return_counts=True)
    if is_categorical and len(values) > SHOWN_CATEGORIES:
        return values[np.sort(np.argsort(-times, kind="stable")[:SHOWN_CATEGORIES])]
    if has_labels or len(values) < GRID:
        return values
    low, high = np.quantile(column, [0.05, 0.95])
    if low == high:
        low, high = values[[0, -1]]
    return np.linspace(low, high, GRID).astype(column.dtype)
