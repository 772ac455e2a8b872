"""By what a report judges predictions: accuracy, R², or a score that the user chose."""

from functools import partial
from inspect import signature
from numbers import Real

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier

from dforest.estimators.scoring import SCORER, named_scorer, score_of_classes, score_of_numbers, why_not
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


def _r2(true, predicted, sample_weight=None):
    """`sklearn.metrics.r2_score` of numbers whose squares may be beyond the range of float64."""
    scale = np.abs(true).max() or 1.0
    return metrics.r2_score(true / scale, predicted / scale, sample_weight=sample_weight)


class Measure:
    """What says how good predictions are.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    score : callable
        A metric or a scorer, for which larger is better.
    name : str
        What people call it.
    is_error : bool, default=False
        Whether it is minus an error, which is shown without the minus.
    as_share : bool, default=False
        Whether it is shown as a percentage.
    given : str, default=None
        What the user gave; None if this is the report's choice.
    """

    def __init__(self, estimator, score, name, is_error=False, as_share=False, given=None):
        self._estimator, self._score, self.name = estimator, score, name
        self.is_error, self.as_share, self.given = is_error, as_share, given
        metric = score._score_func if isinstance(score, SCORER) else score
        self.takes_weights = "sample_weight" in signature(metric).parameters

    @classmethod
    def named(cls, estimator, scoring):
        """The measure that a user chose. Raises ValueError if it is none."""
        score = named_scorer(scoring, "scoring")
        if not callable(score):
            raise ValueError(f"scoring={scoring!r}; allowed are names of scikit-learn's scorers, callables and None")
        metric, is_error = score, False
        if isinstance(score, SCORER):
            metric, is_error = score._score_func, score._sign < 0
        name = scoring if isinstance(scoring, str) else getattr(getattr(metric, "func", metric), "__name__", "score")
        name = NAMES.get(name, name.removeprefix(ERRORS).removesuffix("_score").replace("_", " "))
        return cls(estimator, score, clean(name), is_error, scoring == "accuracy", f"scoring={scoring!r}")

    @classmethod
    def usual(cls, estimator, rare, rare_name):
        """What is looked at if the user chose nothing: accuracy, the average precision of a rare class, or R²."""
        if not is_classifier(estimator):
            return cls(estimator, _r2, "R²")
        if rare is None or len(estimator.classes_) != 2:
            return cls(estimator, metrics.accuracy_score, "accuracy", as_share=True)
        label = estimator.classes_.tolist()[rare]
        score = partial(metrics.average_precision_score, pos_label=label)
        return cls(estimator, score, f"average precision of {rare_name}")

    def __call__(self, true, prediction, weight=None):
        """The score of predictions, larger is better: float.

        Parameters
        ----------
        true : ndarray of shape (n_rows,)
            Class numbers, or numbers.
        prediction : ndarray of shape (n_rows, n_classes) or (n_rows, 1)
        weight : ndarray of shape (n_rows,), optional
            Given only if it `takes_weights`.
        """
        try:
            if is_classifier(self._estimator):
                classes = self._estimator.classes_
                found = score_of_classes(self._score, classes, classes[true], prediction, weight)
            else:
                found = score_of_numbers(self._score, true, prediction[:, 0], weight)
        except Exception as error:
            if self.given is None:
                raise
            raise ValueError(f"{self.given} can't score y: {why_not(error)}") from error
        if not isinstance(found, Real):
            raise ValueError(f"{self.given} returned {found!r}; allowed are numbers")
        return float(found)

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
