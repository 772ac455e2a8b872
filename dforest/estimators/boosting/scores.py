"""How iterations of boosted trees are scored for early stopping, and by which rows.

A *scorer* is what `sklearn.metrics.check_scoring` makes: it takes an estimator, rows and true values. Here the estimator has
predicted its rows before, from sums of leaves.
"""

from collections.abc import Mapping
from math import isnan
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring

from dforest.core.sparse_rows import SparseRows
from dforest.estimators.boosting.early_stopping import Monitor, ScoredRows, Stopping
from dforest.estimators.boosting.losses import MeanLoss
from dforest.estimators.boosting.predictions import decisions, predicted_labels, predicted_shares
from dforest.estimators.boosting.rows import count_strata
from dforest.estimators.data.labels import labels_of
from dforest.estimators.scoring import check_scorer, named_scorer, refusal, told_classes
from dforest.spmd.communicator import ALONE

MAX_SCORED = 10_000  # training rows that scorers are given


def make_monitor(estimator, loss, baseline, training, held_out, seed, n_threads, ranks, dropout=None):
    """The `Monitor` of an estimator's iterations. A collective, as scoring is.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Its parameters, and its classes.
    loss : Loss
    baseline : tuple of float
    training : Sample
    held_out : Sample or None
    seed : int
        Of the choice of training rows that scorers are given.
    n_threads : int
    ranks : Communicator
        Who else has rows.
    dropout : Dropout, optional
        As of `ScoredRows`.
    """
    samples = [training] if held_out is None else [training, held_out]
    scorings, by_loss = _scorings(estimator._scoring(samples, ranks)), None
    if "loss" in scorings.values():
        by_loss = loss.at_start(baseline, training.y, training.weight, ranks, training.offset)

    def scored(sample, which):
        own = {
            name: _MinusLoss(by_loss.bound(sample.queries), baseline, sample, n_threads, ranks)
            if scoring == "loss"
            else estimator._measure(scoring, sample, n_threads, ranks)
            for name, scoring in scorings.items()
        }
        measures, some, part = {}, None, sample
        if sample is training and None in own.values() and ranks.total(len(sample.y)) > MAX_SCORED:
            some = sample.draw(MAX_SCORED, seed, count_strata(estimator), ranks)
            part = sample.take(some, ranks)
        for name, scoring in scorings.items():
            measures[name] = own[name]
            if own[name] is None:
                measures[name] = _Scorer(estimator, scoring, loss, baseline, part, some, which, ranks)
        return ScoredRows(sample.X, sample.offset, measures, n_threads, dropout)

    held_out = None if held_out is None else scored(held_out, "validation")
    return Monitor(Stopping(estimator.n_iter_no_change_, estimator.tol_), scored(training, "training"), held_out)


def score_of_sums(estimator, scoring, sample, n_threads):
    """What scores given rows by a fitted estimator.

    Parameters
    ----------
    estimator : BoostingEstimator
    scoring : str, callable or None
        As of early stopping.
    sample : Sample
        The rows, all of which are here.
    n_threads : int

    Returns
    -------
    callable
        Given the sums of the rows, ndarray of shape (n_rows, n_sums), it returns their score.
    """
    loss, baseline = estimator._loss, estimator.forest_.objective.baseline
    if scoring == "loss":
        loss = loss.at_start(baseline, sample.y, sample.weight, ALONE, sample.offset)
        return _MinusLoss(loss.bound(sample.queries), baseline, sample, n_threads, ALONE)
    measure = estimator._measure(scoring, sample, n_threads, ALONE)
    return _Scorer(estimator, scoring, loss, baseline, sample, None, "given", ALONE) if measure is None else measure


def _scorings(scoring):
    """What scores iterations: dict of a name to "loss", a name of scikit-learn's scorers, a callable or None.

    Raises
    ------
    ValueError
        If `scoring` is none of these, nor a list of names or a dict of names to these.
    """
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        return {scoring if isinstance(scoring, str) else "score": scoring}
    named = dict(scoring) if isinstance(scoring, Mapping) else {name: name for name in scoring if isinstance(name, str)}
    allowed = all(value is None or isinstance(value, str) or callable(value) for value in named.values())
    if not named or len(named) != len(scoring) or not all(isinstance(name, str) for name in named) or not allowed:
        raise ValueError(
            f"scoring={scoring!r}; allowed are a name, a callable and None, a list of different names, and a dict of names to "
            "names, callables or None"
        )
    return named


class _MinusLoss:
    """Minus the mean loss of rows with some sums."""

    def __init__(self, loss, baseline, sample, n_threads, ranks):
        self._mean = MeanLoss(loss, baseline, sample.y, sample.weight, n_threads, ranks)

    def __call__(self, sums):
        return 0.0 - self._mean(sums)  # no -0.0


class _Scorer:
    """What a scorer says of rows with some sums; `which` are these rows. some : which of those with sums they are; None: all

    Of ranks, each is given the rows of all, and the one score counts that rank 0 finds. Scorers that have names look at no X.
    """

    def __init__(self, estimator, scoring, loss, baseline, sample, some, which, ranks):
        self._some, self._baseline, self._ranks = some, np.array(baseline), ranks
        self._share, X = sample.share, sample.X
        if self._share is not None:
            X = self._share.gathered_X(ranks, np.zeros((len(X), 0)) if isinstance(scoring, str) or scoring is None else X)
        y = self._of_all(sample.y)
        if is_classifier(estimator):
            self._predicted = PredictedClasses(loss, estimator.classes_)
            numbers = y.astype(np.intp)
            self._y = labels_of(estimator.classes_, numbers.T) if y.ndim == 2 else estimator.classes_[numbers]
        else:
            self._predicted = PredictedNumbers(loss)
            self._y = y
        self._X = X.matrix() if isinstance(X, SparseRows) else X
        self._weight = {} if sample.weight is None else {"sample_weight": self._of_all(sample.weight)}
        self._given, self._which = f"scoring={scoring!r}", f"the {len(self._y)} {which} rows"
        self._classes = estimator.classes_ if is_classifier(estimator) else None
        check_scorer(self._given, scoring, self._classes)
        self._scorer = check_scoring(self._predicted, named_scorer(scoring, "scoring"))
        if self._classes is not None and y.ndim == 1:
            self._scorer = told_classes(self._scorer, self._classes)
            lacking = self._classes[~np.isin(self._classes, self._y)].tolist()
            self._which += f", which lack the classes {lacking}" if lacking else ""

    def _of_all(self, own):
        """What the rows of all ranks have, in the order of their numbers."""
        return own if self._share is None else self._share.gathered(self._ranks, own)

    def __call__(self, sums):
        raw = np.add(sums if self._some is None else sums[self._some], self._baseline, order="C")
        return self._ranks.first(self._score(self._of_all(raw)))

    def _score(self, raw):
        """The score of rows that have these raw predictions."""
        self._predicted.raw = raw
        try:
            score = self._scorer(self._predicted, self._X, self._y, **self._weight)
        except Exception as error:
            raise refusal(self._given, self._which, error, self._scorer, self._classes) from error
        score = float(score) if isinstance(score, Real) else score
        if not isinstance(score, float) or isnan(score):
            raise ValueError(f"{self._given} returned {score!r} for {self._which}; allowed are numbers other than NaN")
        return score


class PredictedNumbers(RegressorMixin, BaseEstimator):
    """A regressor that has predicted all rows it will be asked for.

    Attributes
    ----------
    raw : ndarray of shape (n_rows, 1)
    """

    def __init__(self, loss):
        self.loss = loss

    def fit(self, X, y):
        raise NotImplementedError("it predicts rows that are known")

    def predict(self, X=None):
        return self.loss.predict(self.raw)

    def predict_distribution(self, X=None):
        return self.loss.distribution_of(self.raw)

    def score(self, X, y, sample_weight=None):
        if getattr(self.loss, "distribution", None) is not None:
            return self.predict_distribution().mean_log_density(y, sample_weight)
        if self.loss.levels:
            return self.loss.score(self.predict(), y, sample_weight)
        return super().score(X, y, sample_weight)

    def __sklearn_is_fitted__(self):
        return True


class PredictedClasses(ClassifierMixin, BaseEstimator):
    """A classifier that has predicted all rows it will be asked for.

    Attributes
    ----------
    raw : ndarray of shape (n_rows, n_sums)
    classes_ : ndarray, or list of ndarray
    """

    def __init__(self, loss, classes):
        self.loss, self.classes_ = loss, classes

    def fit(self, X, y):
        raise NotImplementedError("it predicts rows that are known")

    def decision_function(self, X=None):
        return decisions(self.raw)

    def predict(self, X=None):
        return predicted_labels(self.raw, self.classes_)

    def predict_proba(self, X=None):
        return predicted_shares(self.loss, self.raw, self.classes_)

    def __sklearn_is_fitted__(self):
        return True
