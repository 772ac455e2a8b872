"""By what a report judges predictions: accuracy, R², or a score that the user chose."""

from functools import partial
from inspect import signature
from numbers import Real

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier

from dforest.estimators.scoring import SCORER, chosen_score, refusal, score_of_classes, score_of_numbers
from dforest.inspection.report.markup import number, percent
from dforest.inspection.report.text import clean

NAMES = {
    "r2": "R²",
    "roc_auc": "area under the ROC curve",
    "f1": "F1",
    "neg_brier_score": "Brier score",
    "d2_brier_score": "D² of the Brier score",
    "d2_log_loss_score": "D² of the log loss",
    "jaccard": "Jaccard index",
    "matthews_corrcoef": "Matthews correlation coefficient",
}  # those of other scorers are their names in scikit-learn
ERRORS = "neg_"


def _accuracy(true, prediction, weight):
    return float(np.average(prediction.argmax(axis=1) == true, weights=weight))


def _r2(true, prediction, weight):
    """`sklearn.metrics.r2_score` of numbers whose squares may be beyond the range of float64."""
    scale = np.abs(true).max() or 1.0
    return metrics.r2_score(true / scale, prediction[:, 0] / scale, sample_weight=weight) if len(true) > 1 else np.nan


def average_precision(true, prediction, weight, k):
    """`sklearn.metrics.average_precision_score` of class k, which is asked for so often here that its checks take long."""
    weight = np.ones(len(true)) if weight is None else weight
    order = np.argsort(-prediction[:, k], kind="stable")
    probability, weight = prediction[order, k], weight[order]
    last = np.append(np.flatnonzero(np.diff(probability)), len(order) - 1)  # of those that are equally probable
    found, taken = (np.cumsum(part)[last] for part in (weight * (true[order] == k), weight))
    if found[-1] == 0:
        return 0.0
    return float((np.diff(found, prepend=0) * found / taken).sum() / found[-1])


class Measure:
    """What says how good predictions are.

    Parameters
    ----------
    score : callable
        Given class numbers or numbers, predictions of shape (n_rows, n_classes) or (n_rows, 1), and weights of rows or None: a
        number, for which larger is better.
    name : str
        What people call it.
    takes_weights : bool, default=True
    is_error : bool, default=False
        Whether it is minus an error, which is shown without the minus.
    as_share : bool, default=False
        Whether it is shown as a percentage.
    is_chosen : bool, default=False
        Whether the user chose it.
    """

    def __init__(self, score, name, takes_weights=True, is_error=False, as_share=False, is_chosen=False):
        self._score, self.name, self.takes_weights = score, name, takes_weights
        self.is_error, self.as_share, self.is_chosen = is_error, as_share, is_chosen

    @classmethod
    def named(cls, estimator, scoring):
        """The measure that a user chose. Raises ValueError if it is none."""
        score = chosen_score(scoring)
        metric, is_error = score, False
        if isinstance(score, SCORER):
            metric, is_error = score._score_func, score._sign < 0
        name = scoring if isinstance(scoring, str) else getattr(getattr(metric, "func", metric), "__name__", "score")
        name = NAMES.get(name, name.removeprefix(ERRORS).removesuffix("_score").replace("_", " "))

        def checked(true, prediction, weight):
            try:
                if is_classifier(estimator):
                    found = score_of_classes(score, estimator.classes_, estimator.classes_[true], prediction, weight)
                else:
                    found = score_of_numbers(score, true, prediction[:, 0], weight)
            except Exception as error:
                classes = estimator.classes_ if is_classifier(estimator) else None
                raise refusal(f"scoring={scoring!r}", "y", error, score, classes) from error
            if not isinstance(found, Real):
                raise ValueError(f"scoring={scoring!r} returned {found!r}; allowed are numbers")
            return float(found)

        takes_weights = "sample_weight" in signature(metric).parameters
        return cls(checked, clean(name), takes_weights, is_error, scoring == "accuracy", is_chosen=True)

    @classmethod
    def usual(cls, estimator, rare, rare_name):
        """What is looked at if the user chose nothing: accuracy, the average precision of a rare class, or R²."""
        if not is_classifier(estimator):
            return cls(_r2, "R²")
        if rare is None or len(estimator.classes_) != 2:
            return cls(_accuracy, "accuracy", as_share=True)
        return cls(partial(average_precision, k=rare), f"average precision of {rare_name}")

    def __call__(self, true, prediction, weight=None):
        """The score of predictions, larger is better: float; weights of rows are given only if it `takes_weights`."""
        return self._score(true, prediction, weight)

    def shown(self, score):
        """The number that people are shown for a score, or for scores."""
        return -np.asarray(score) if self.is_error else np.asarray(score)

    def text(self, score):
        amount = float(self.shown(score))
        if not np.isfinite(amount):
            return "not defined"
        return percent(amount) if self.as_share else number(amount)

    @property
    def title(self):
        return self.name[0].upper() + self.name[1:]
