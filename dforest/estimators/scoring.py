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
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from dforest.backends import is_on_device
from dforest.config import on_host
from dforest.core.predict.out_of_bag import add_up, square_exponent, total_of
from dforest.estimators.data.given import given_numbers, given_values
from dforest.estimators.data.labels import labels_of
from dforest.estimators.data.outputs import most_probable
from dforest.estimators.other_names import METRICS
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


class ClassifierScore(ClassifierMixin):
    """scikit-learn's mixin for classifiers, with labels and weights read as `fit` reads them."""

    def score(self, X, y, sample_weight=None):
        """Return the accuracy of predictions: the share of rows whose class is predicted right.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        y : array-like of shape (n_rows,)
            The classes of the rows. None may be missing.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. None means that all weights are 1.

        Returns
        -------
        float
            From 0 to 1.
        """
        return super().score(*read_scored(X, y, sample_weight, given_values))


class RegressorScore(RegressorMixin):
    """scikit-learn's mixin for regressors, with targets and weights read as `fit` reads them."""

    def score(self, X, y, sample_weight=None):
        """Return the coefficient of determination of predictions, R2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The targets of the rows. None may be missing.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. None means that all weights are 1.

        Returns
        -------
        float
            At most 1, which is the score of predictions without errors. The mean of the targets as the prediction of each row
            scores 0. Of several outputs, it is the mean of their scores.
        """
        return super().score(*read_scored(X, y, sample_weight, given_numbers))


def read_scored(X, y, sample_weight, read):
    """Rows, targets and weights to be scored: those on a device stay there, as predictions do, and all others are NumPy's."""
    return (
        X if is_on_device(X) else on_host(X),
        y if is_on_device(y) else read("y", y),
        sample_weight if is_on_device(sample_weight) else given_numbers("sample_weight", sample_weight),
    )


def read_scored_column(X, y, sample_weight):
    """Rows, targets of one column and weights to be scored, of NumPy's, checked.

    Raises
    ------
    ValueError
        If they differ in length, or weights are below 0 or 0 everywhere.
    """
    X, y, sample_weight = map(on_host, read_scored(X, y, sample_weight, given_numbers))
    y = column_or_1d(y)
    check_consistent_length(X, y)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, y, ensure_non_negative=True)
        if not sample_weight.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
    return X, y, sample_weight


def share_of(is_right, ranks):
    """The share of the rows of all ranks that are predicted right. A collective.

    Parameters
    ----------
    is_right : ndarray of shape (n_rows,), dtype bool
        Of this rank's rows.
    ranks : Communicator

    Returns
    -------
    float
        NaN if there are no rows.
    """
    n_rows, n_right = ranks.sum(np.array([len(is_right), np.count_nonzero(is_right)])).tolist()
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
        told = f"; near it are {', '.join(map(repr, near))}" if near else ""
        if given in METRICS and (METRICS[given] in names or parameter == "scoring"):
            told = f"; it is called {METRICS[given]!r} here"
        raise ValueError(
            f"{parameter}={given!r} names no scorer{told}; allowed are metrics, scorers, and the names that "
            "sklearn.metrics.get_scorer_names lists"
        )
    return metrics.get_scorer(given)


def chosen_score(scoring):
    """The metric or the scorer that a user chose by the parameter `scoring`. Raises ValueError if it is none."""
    score = named_scorer(scoring, "scoring")
    if not callable(score):
        raise ValueError(f"scoring={scoring!r}; allowed are names of scikit-learn's scorers, callables and None")
    return score


def is_known(score):
    """Whether a metric or a scorer is scikit-learn's, so that it may be tried on made-up predictions."""
    return str(getattr(_parts_of(score)[0], "__module__", "")).startswith("sklearn.")


def refusal(given, what, error, score, classes):
    """The error of a metric or a scorer that can't score something, with the reason and with what is allowed.

    Parameters
    ----------
    given : str
        The parameter and its value.
    what : str
        What was to be scored.
    error : Exception
        What the metric or the scorer raised.
    score : callable
        The metric or the scorer.
    classes : ndarray of shape (n_classes,), list of ndarray, or None
        The labels of the classes; a list for several outputs, None for numbers.

    Returns
    -------
    ValueError
    """
    names = ["r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"]
    if isinstance(error, TypeError) and "'sample_weight'" in str(error) and not is_known(score):
        allowed = "functions that take the weights of the rows too: add sample_weight=None to the parameters of this one"
    elif isinstance(classes, list):
        allowed = "functions of true and predicted labels of shape (n_rows, n_outputs)"
    elif isinstance(score, SCORER) and _parts_of(score)[0] in OF_PROBABILITIES and score._response_method == "predict":
        allowed = f"scorers that ask for probabilities, as {as_scorer(score, classes)} does"
    else:
        kind = "numbers" if classes is None else "one class" if len(classes) == 1 else f"{len(classes)} classes"
        if classes is not None and len(classes) == 1:
            names = ["accuracy"]
        elif classes is not None:
            names = ["average_precision", "roc_auc"] if len(classes) == 2 else ["balanced_accuracy", "roc_auc_ovr", "f1_macro"]
            names.append("neg_log_loss")
        allowed = f"scores of {kind}, such as {', '.join(map(repr, names))}"
    return ValueError(f"{given} can't score {what}: {str(error).rstrip('.')}; allowed are {allowed}")


def check_scorer(given, score, classes):
    """Raise ValueError if what a parameter was `given` as is a metric, where a scorer, of three arguments, is needed."""
    if not callable(score) or _takes(score, 3) or not _takes(score, 2):
        return
    raise ValueError(
        f"{given} is a metric, of true and predicted values; allowed are scorers, such as {as_scorer(score, classes)} with "
        "make_scorer of sklearn.metrics, or functions of an estimator, rows and true values"
    )


def _takes(function, n):
    try:
        signature(function).bind(*range(n))
    except (TypeError, ValueError):  # the latter: it has no signature
        return False
    return True


def as_scorer(score, classes):
    """How the scorer of a metric is written: a call of `make_scorer`, as text. scikit-learn's names of metrics tell errors."""
    metric, keywords = _parts_of(score)
    name = getattr(metric, "__name__", "")
    name = name if name.isidentifier() else "metric"
    settings = {"greater_is_better": False} if name.endswith(("_loss", "_error", "_deviance")) else {}
    if metric in OF_PROBABILITIES:
        settings["response_method"] = "predict_proba"
    settings |= keywords | ({} if classes is None else _positive(metric, keywords, classes))
    return f"make_scorer({', '.join([name, *(f'{key}={value!r}' for key, value in settings.items())])})"


def told_classes(score, classes):
    """A metric or a scorer of scikit-learn that is told what it has to know of the classes; any other is returned as it is.

    Metrics of probabilities are told all classes (`labels`), as rows may lack some. Metrics that have a `pos_label` are told the
    positive one of two classes, unless they were given one: the class 1 if there is one, as scikit-learn has it, and else the
    second class, whose probability is the second column of `predict_proba`.

    Parameters
    ----------
    score : callable
    classes : ndarray of shape (n_classes,)
        The labels of the classes.
    """
    if not is_known(score):
        return score
    metric, keywords = _parts_of(score)
    told = _positive(metric, keywords, classes)
    if metric in OF_PROBABILITIES and "labels" in signature(metric).parameters and "labels" not in keywords:
        told["labels"] = classes
    if not isinstance(score, SCORER):
        return partial(score, **told)
    scorer = copy(score)
    scorer._kwargs = {**score._kwargs, **told}
    return scorer


def _parts_of(score):
    """(the metric that a metric or a scorer is made of, the keywords that it is given)."""
    keywords = {}
    if isinstance(score, SCORER):
        score, keywords = score._score_func, score._kwargs
    return (score.func, {**score.keywords, **keywords}) if isinstance(score, partial) else (score, keywords)


def _positive(metric, keywords, classes):
    """The keyword by which a metric is told the positive class, see `told_classes`, if it is."""
    takes, labels = signature(metric).parameters, classes.tolist()
    if "pos_label" not in takes or "pos_label" in keywords or len(labels) != 2:
        return {}
    if "average" in takes and takes["average"].default == "binary" != keywords.get("average", "binary"):
        return {"pos_label": None}  # in a mean over classes, as in the scorers that scikit-learn has names for
    return {"pos_label": 1 if 1 in labels else labels[1]}


def _weights(sample_weight):
    """The keywords that a metric or a scorer is given for the weights of rows, if there are any."""
    return {} if sample_weight is None else {"sample_weight": sample_weight}


def score_of_classes(score, classes, true, probability, sample_weight=None):
    """What a metric or a scorer says of predicted classes.

    Parameters
    ----------
    score : callable
        A scorer or a metric. A metric is given labels, unless it is one of `OF_PROBABILITIES` or a `functools.partial` of
        one: it is then given the probabilities of all classes, or, of two classes, those of the positive one (see
        `told_classes`).
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
    if metric not in OF_PROBABILITIES:
        return score(true, predicted.predict(), **weights)
    if len(classes) == 2:
        labels = classes.tolist()
        positive = keywords.get("pos_label", labels[1])
        if positive not in labels:
            raise ValueError(f"pos_label={positive!r} is none of the classes {labels}")
        probability = probability[:, labels.index(positive)]
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
