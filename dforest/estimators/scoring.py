"""How out-of-bag predictions are scored.

Words: a *metric* takes true and predicted values, like the functions of `sklearn.metrics`; a *scorer* takes an estimator, rows
and true values, and is what `sklearn.metrics.make_scorer` makes of a metric.
"""

from functools import partial

from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

# Metrics of probabilities, which say nothing about labels: scikit-learn's scorers of these ask for probabilities.
OF_PROBABILITIES = (
    metrics.average_precision_score,
    metrics.brier_score_loss,
    metrics.d2_log_loss_score,
    metrics.log_loss,
    metrics.roc_auc_score,
    metrics.top_k_accuracy_score,
)

_SCORER = type(metrics.make_scorer(metrics.accuracy_score))


def score_of_classes(score, classes, true, probability):
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

    Returns
    -------
    float
    """
    predicted = _PredictedClasses(classes, probability)
    if isinstance(score, _SCORER):
        return score(predicted, range(len(true)), true)
    metric, keywords = (score.func, score.keywords) if isinstance(score, partial) else (score, {})
    if not any(metric is known for known in OF_PROBABILITIES):
        return score(true, predicted.predict())
    if len(classes) == 2:
        labels = classes.tolist()
        probability = probability[:, labels.index(keywords.get("pos_label", labels[1]))]
    return score(true, probability)


def score_of_numbers(score, true, prediction):
    """What a metric or a scorer says of predicted numbers: ndarrays of shape (n_rows,)."""
    if isinstance(score, _SCORER):
        return score(_PredictedNumbers(prediction), range(len(true)), true)
    return score(true, prediction)


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
