"""What means over trees, and raw predictions of boosted trees, say of y: in words of other libraries, and computed by ours."""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier

from dforest.estimators.data.labels import labels_of
from dforest.estimators.data.outputs import classes_of, most_probable, prediction_columns
from dforest.estimators.kinds import DistributionTrees, Embedding, OutlierForest

# The link by the name of a loss in `dforest.rules.losses`. What y is like is a raw prediction itself, its exponential, or, of
# shares, its logistic function. The probability of the second class is its logistic function, or that of twice itself; those of
# several classes are a softmax.
LINKS = {
    "squared_error": "identity", "absolute_error": "identity", "quantile": "identity", "huber": "identity",
    "fair": "identity", "log_cosh": "identity", "mape": "identity",
    "poisson": "exponential", "gamma": "exponential", "tweedie": "exponential",
    "lambdarank": "identity", "pairwise": "identity",
    "cross_entropy": "share",
    "log_loss": "logistic", "focal": "logistic", "exponential": "logistic_of_twice", "multinomial": "softmax",
}  # fmt: skip


def link_of(estimator):
    """The link of a fitted estimator: a value of `LINKS`; None for a forest, whose means over trees are predictions.

    It is "raw" for a loss of the user's own, as other libraries can't say what its raw predictions mean, and "in_order" for
    several quantiles, which are raw predictions in ascending order.

    Raises
    ------
    ValueError
        If these are boosted trees of several labels, or of one tree for all classes, of each class against the rest, or of
        distributions.
    """
    if estimator.forest_.objective.baseline is None:
        return None
    if isinstance(estimator, DistributionTrees):
        raise ValueError(
            f"{type(estimator).__name__} predicts parameters of distributions, which models of other libraries have no names "
            "for; allowed are its method save, and dforest.serving, which reads the file"
        )
    n_outputs, loss = estimator.forest_.objective.n_outputs, estimator._loss
    if loss.one_vs_rest or is_classifier(estimator) and n_outputs > loss.n_targets:
        way = "one_vs_rest" if loss.one_vs_rest else "one_tree"
        raise ValueError(
            f'{type(estimator).__name__} has trees of multi_class="{way}", which are not converted, as other forms have a tree '
            'for each class, whose probabilities are a softmax; allowed is multi_class="multinomial"'
        )
    if is_classifier(estimator) and n_outputs > 1:
        raise ValueError(
            f"{type(estimator).__name__} has {n_outputs} outputs, and boosted trees of several labels "
            "are not converted; allowed is a model for each column, as sklearn.multioutput.MultiOutputClassifier makes"
        )
    if n_outputs > 1 and loss.levels:
        return "in_order"
    return LINKS.get(getattr(loss, "name", None), "raw")


class Scores(NamedTuple):
    """What mean lengths of paths say of rows in an isolation forest.

    The score of a row is -2 ** (begin - mean / longest); `offset` less, it is the decision.
    """

    longest: float
    begin: float
    offset: float
    least: float  # the least mean of a row that is no outlier


def finds_outliers(estimator):
    """Whether an estimator is an isolation forest; its single trees, which tell lengths of paths, are not."""
    return isinstance(estimator, OutlierForest)


def embeds(estimator):
    """Whether an estimator turns rows into the leaves that they reach, and predicts nothing."""
    return isinstance(estimator, Embedding)


def check_predicts(estimator, library):
    """Raise ValueError if an estimator predicts nothing."""
    if embeds(estimator):
        raise ValueError(
            f"{type(estimator).__name__} turns rows into leaves and predicts nothing, which a model of {library} would have to; "
            "allowed are to_onnx, to_c and to_sklearn"
        )


def scores_of(forest):
    """The `Scores` of an isolation forest."""
    longest, least, most = forest._average_path_length(), 0, int(np.float64(np.finfo(np.float64).max).view(np.int64))
    while least < most:  # the bits of floats from 0 on are in the order of these
        middle = (least + most) // 2
        length = np.int64(middle).view(np.float64)
        with np.errstate(over="ignore"):
            is_inlier = forest._scores(np.array([[length]]))[0] >= forest.offset_
        least, most = (least, middle) if is_inlier else (middle + 1, most)
    least = float(np.int64(least).view(np.float64))
    if longest == 0.0:  # trees of one draw: all scores are -0.5
        return Scores(np.inf, -1.0, forest.offset_, least)
    return Scores(longest, 0.0, forest.offset_, least)


def values_of(estimator):
    """As `Forest.added_values`; where nothing is predicted, a leaf's value is its place among all leaves, and values are 1."""
    if embeds(estimator):
        n_leaves = int(np.count_nonzero(estimator.forest_.feature < 0))
        return np.ones((n_leaves, 1)), np.arange(n_leaves, dtype=np.uint32)
    return estimator.forest_.added_values(getattr(estimator, "voting", "soft"))


def meaning(estimator, sums):
    """What a fitted estimator predicts, given means over trees or raw predictions.

    Parameters
    ----------
    estimator : estimator
    sums : ndarray of shape (n_rows, n_sums)

    Returns
    -------
    tuple of ndarray
        Labels of shape (n_rows, n_outputs), and probabilities of shape (n_rows, n_classes), those of one output after those of
        another; or numbers of shape (n_rows,) or (n_rows, n_outputs). Of an isolation forest, labels of shape (n_rows, 1), and
        numbers of shape (n_rows, 2): decisions, and scores. With a loss of the user's own, raw predictions take the place of
        probabilities, or of what is predicted.
    """
    sums = np.ascontiguousarray(sums, np.float64)
    if finds_outliers(estimator):
        scores = estimator._scores(sums)
        decisions = scores - estimator.offset_
        return np.where(decisions < 0, -1, 1)[:, None], np.stack([decisions, scores], axis=1)
    objective, is_sum = estimator.forest_.objective, estimator.forest_.objective.baseline is not None
    is_raw = link_of(estimator) == "raw"
    if not is_classifier(estimator):
        return (sums[:, 0] if is_raw else estimator._loss.predict(sums) if is_sum else sums,)
    if is_sum and sums.shape[1] == 1 and len(estimator.classes_) == 2:
        best = (sums > 0).astype(np.intp)
    else:
        best = most_probable(sums, prediction_columns(objective))
    return labels_of(classes_of(estimator), best.T), estimator._loss.probabilities(sums) if is_sum and not is_raw else sums


def rounding(predicted, dtype):
    """By how much two libraries' exponentials may differ, or shares in sums of these: an array like one of predictions.

    Sums of n positive terms, added up in any two orders, differ by no more than n roundings.
    """
    n_terms = predicted.shape[1] if predicted.ndim == 2 else 1
    return (32 + n_terms) * np.finfo(dtype).eps * np.maximum(1.0, np.abs(predicted))


def sum_rounding(forest, dtype):
    """By how much sums over trees, or means, may differ if another type or another order adds them up: a float."""
    baseline = forest.objective.baseline
    largest = forest.largest_added(forest.leaf_votes())
    if baseline is not None:
        largest = forest.n_trees * largest + np.abs(baseline).max()
    return 2 * forest.n_trees * (np.finfo(dtype).eps * largest + float(np.finfo(dtype).smallest_subnormal))
