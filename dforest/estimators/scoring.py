"""How predictions that are known already, such as those out of bag, are scored.

A *metric* takes true and predicted values, like the functions of `sklearn.metrics`; a *scorer* takes an estimator, rows
and true values, and is what `sklearn.metrics.make_scorer` makes of a metric.
"""

from copy import copy
from difflib import get_close_matches
from fractions import Fraction
from functools import partial
from inspect import signature

import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning

from dforest.core.predict.out_of_bag import add_up, square_exponent, total_of
from dforest.estimators.data.outputs import labels_of, most_probable
from dforest.warning import warn

# Metrics of probabilities, which say nothing about labels: scikit-learn's scorers of these ask for probabilities.
OF_PROBABILITIES = (
    metrics.average_precision_score,
    metrics.brier_score_loss,
    metrics.d2_log_loss_score,
    metrics.log_loss,
    metrics.roc_auc_score,
    metrics.top_k_accuracy_score,
)

SCORER = type(metrics.make_scorer(metrics.accuracy_score))


def accuracy(true, probability, ranks):
    """The share of the rows of all ranks whose most probable class is the true one, of equal ones the lowest. A collective.

    Parameters
    ----------
    true : ndarray of shape (n_rows,)
        The numbers of the true classes of this rank's rows.
    probability : ndarray of shape (n_rows, n_classes)
    ranks : Communicator

    Returns
    -------
    float
        NaN if there are no rows.
    """
    n_rows, n_right = ranks.sum(np.array([len(true), np.count_nonzero(probability.argmax(axis=1) == true)])).tolist()
    return n_right / n_rows if n_rows else np.nan


def r2(true, prediction, ranks):
    r"""The coefficient of determination of the rows of all ranks. A collective.

    .. math:: R^2 = 1 - \frac{\sum_i (y_i - p_i)^2}{\sum_i (y_i - m)^2}

    with targets :math:`y_i`, predictions :math:`p_i` and the mean :math:`m` of the targets. The mean is rounded once, and so is
    each deviation and its square; sums of these are exact. So they depend on no order of rows, and equal targets have no spread
    about their mean. Special cases are those of `sklearn.metrics.r2_score`: without errors the result is 1, with errors but no
    spread 0.

    Parameters
    ----------
    true, prediction : ndarray of shape (n_rows,), dtype float64
        Of this rank's rows.
    ranks : Communicator

    Returns
    -------
    float
        NaN if there are fewer than two rows; of one row, the rank 0 warns of this with an `UndefinedMetricWarning`.
    """
    n_rows = ranks.total(len(true))
    if n_rows < 2:
        if n_rows and ranks.rank == 0:
            message = "R^2 score is not well-defined with less than two samples."
            warn(message, UndefinedMetricWarning)
        return np.nan
    most = ranks.greatest(np.array([np.abs(numbers).max(initial=0) for numbers in (true, prediction)]))

    def total(numbers):
        return total_of(ranks.sum(add_up(numbers)))

    def squares(a, b, largest):
        """The sum of squares of a - b, of numbers scaled so that squares of the largest are in range."""
        exponent = square_exponent(largest)
        factor = 2.0**exponent
        return total((a * factor - b * factor) ** 2) / Fraction(4) ** exponent

    factor = 2.0 ** square_exponent(most[0])
    mean = float(total(true * factor) / n_rows) / factor
    error, spread = squares(true, prediction, most.max()), squares(true, mean, most[0])
    if not error or not spread:
        return 0.0 if error else 1.0
    try:
        return float(1 - error / spread)
    except OverflowError:
        return -np.inf


def named_scorer(given, parameter):
    """The scorer that a parameter names, as scikit-learn names it; anything but text is returned as it is."""
    if not isinstance(given, str):
        return given
    names = metrics.get_scorer_names()
    if given not in names:
        near = get_close_matches(given, names, 3)
        raise ValueError(
            f"{parameter}={given!r} names no scorer{'; near it are ' * bool(near)}{', '.join(map(repr, near))}; allowed are "
            "metrics, scorers, and the names that sklearn.metrics.get_scorer_names lists"
        )
    return metrics.get_scorer(given)


def is_known(score):
    """Whether a metric or a scorer is scikit-learn's, so that it may be tried on made-up predictions."""
    metric = score._score_func if isinstance(score, SCORER) else _parts_of(score)[0]
    return getattr(metric, "__module__", "").startswith("sklearn.")


def why_not(error):
    """Why a metric or a scorer could not score, given the exception, and what to do about it."""
    way_out = ""
    if "pos_label" in str(error):
        way_out = '. Say which class is the positive one, as functools.partial(metric, pos_label="...") does'
    return str(error).rstrip(".") + way_out


def told_classes(score, classes):
    """A metric or a scorer of probabilities that is told all classes, as rows may lack some; any other is returned as it is.

    Parameters
    ----------
    score : callable
    classes : ndarray of shape (n_classes,)
        The labels of the classes.
    """
    if isinstance(score, SCORER):
        if not _takes_labels(score._score_func, score._kwargs):
            return score
        told = copy(score)
        told._kwargs = {**score._kwargs, "labels": classes}
        return told
    return partial(score, labels=classes) if _takes_labels(*_parts_of(score)) else score


def _parts_of(metric):
    """(a metric, the keywords that it is given)."""
    return (metric.func, metric.keywords) if isinstance(metric, partial) else (metric, {})


def _takes_labels(metric, keywords):
    """Whether a metric of probabilities is to be told what the columns of these stand for."""
    is_known = any(metric is known for known in OF_PROBABILITIES)
    return is_known and "labels" in signature(metric).parameters and "labels" not in keywords


def _weights(sample_weight):
    """The keywords that a metric or a scorer is given for the weights of rows, if there are any."""
    return {} if sample_weight is None else {"sample_weight": sample_weight}


def score_of_classes(score, classes, true, probability, sample_weight=None):
    """What a metric or a scorer says of predicted classes.

    Parameters
    ----------
    score : callable
        A scorer or a metric. A metric is given labels, unless it is one of `OF_PROBABILITIES` or a `functools.partial` of
        one: it is then given the probabilities of all classes, or, of two classes, those of the second one or of the one
        that its keyword `pos_label` names.
    classes : ndarray of shape (n_classes,)
        The labels of the classes.
    true : ndarray of shape (n_rows,)
        The true labels.
    probability : ndarray of shape (n_rows, n_classes)
        The predicted probabilities.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights of the rows, which a score then has to take; None means that it is given none.

    Returns
    -------
    float
    """
    score, weights = told_classes(score, classes), _weights(sample_weight)
    predicted = _PredictedClasses(classes, probability)
    if isinstance(score, SCORER):
        return score(predicted, range(len(true)), true, **weights)
    metric, keywords = _parts_of(score)
    if not any(metric is known for known in OF_PROBABILITIES):
        return score(true, predicted.predict(), **weights)
    if len(classes) == 2:
        labels = classes.tolist()
        probability = probability[:, labels.index(keywords.get("pos_label", labels[1]))]
    return score(true, probability, **weights)


def score_of_outputs(score, classes, outputs, true, probability, sample_weight=None):
    """What a metric, or a scorer of predictions, says of the predicted classes of several outputs.

    Parameters
    ----------
    score : callable
    classes : list of ndarray
        The labels of the classes of each output.
    outputs : tuple of slice
        The columns of each output in `probability`.
    true : ndarray of shape (n_rows, n_outputs)
        The numbers of the true classes.
    probability : ndarray of shape (n_rows, n_values)
    sample_weight : ndarray of shape (n_rows,), optional

    Returns
    -------
    float
    """
    labels = (labels_of(classes, numbers.T) for numbers in (true, most_probable(probability, outputs)))
    return score_of_numbers(score, *labels, sample_weight)


def score_of_numbers(score, true, prediction, sample_weight=None):
    """What a metric or a scorer says of predicted numbers: ndarrays of shape (n_rows,) or (n_rows, n_outputs)."""
    weights = _weights(sample_weight)
    if isinstance(score, SCORER):
        return score(_PredictedNumbers(prediction), range(len(true)), true, **weights)
    return score(true, prediction, **weights)


class _PredictedClasses(ClassifierMixin, BaseEstimator):
    """A classifier, for scorers, that has predicted all rows it will be asked for."""

    def __init__(self, classes, probability):
        self.classes_ = classes
        self.probability = probability

    def predict_proba(self, X=None):
        return self.probability

    def predict(self, X=None):
        return self.classes_[self.probability.argmax(axis=1)]


class _PredictedNumbers(RegressorMixin, BaseEstimator):
    """A regressor, for scorers, that has predicted all rows it will be asked for."""

    def __init__(self, prediction):
        self.prediction = prediction

    def predict(self, X=None):
        return self.prediction
