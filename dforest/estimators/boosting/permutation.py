"""The method of boosted trees that permutes columns of rows."""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from dforest.config import on_host
from dforest.estimators.boosting.rows import ToScore, scored_rows
from dforest.estimators.boosting.scores import score_of_sums
from dforest.estimators.data.given import check_number
from dforest.estimators.data.validation import count_threads
from dforest.estimators.results.importance import features_used, numbers_of_groups, score_decrease
from dforest.spmd.communicator import ALONE


def permutation_importance(
    self, X, y, sample_weight=None, *, offset=None, scoring=None, n_repeats=5, random_state=None, feature_groups=None
):  # fmt: skip
    """Compute importances by permutation: how much the score of rows falls when a feature's values are permuted among them.

    Rows that were not used for training tell most: those that were make features important that the trees have only learned
    by heart. The result is that of ``sklearn.inspection.permutation_importance`` for one scorer, with the same permutations,
    in less time. Rows of weight 0 are left out before columns are permuted.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows with the columns of the training data.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Targets of the rows.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows, from 0 on. None means that all weights are 1.
    offset : array-like of shape (n_rows,), (n_rows, n_classes) or (n_rows, n_outputs), optional
        What each row's raw prediction begins with, as in `fit`. None means zeros.
    scoring : str, callable or None, default=None
        What predictions are scored by: "loss", which is minus the mean loss, a name of scikit-learn's scorers, or a callable
        that is given an estimator, rows and targets, and returns a number, the higher the better. That estimator predicts
        these rows only. None means what `score` returns, accuracy or R2.
    n_repeats : int, default=5
        Number of permutations of each feature.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the permutations.
    feature_groups : list of array-like, or dict, default=None
        Features, as names, numbers or a mask, that are permuted together, so that rows keep what these tell of each other.
        Importances are then those of groups, in the order given. None means that each feature is permuted by itself.

    Returns
    -------
    Bunch
        importances : ndarray of shape (n_features, n_repeats) or (n_groups, n_repeats)
            By how much each permutation lowers the score; 0 for features that no tree tests.
        importances_mean, importances_std : ndarray of shape (n_features,) or (n_groups,)
            The mean and the standard deviation (ddof 0) over the permutations.

    Raises
    ------
    ValueError
        If the rows or a parameter are not as described, or if `scoring` can't score the predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X[::2], y[::2])
    >>> result = model.permutation_importance(X[1::2], y[1::2], random_state=0)
    >>> X.columns[result.importances_mean.argmax()]
    'petal length (cm)'
    """
    return permuted(self, ToScore(X, y, sample_weight, offset), scoring, n_repeats, random_state, feature_groups)


def permuted(self, given, scoring, n_repeats, random_state, feature_groups):
    """`permutation_importance` of the rows of a `ToScore`."""
    check_is_fitted(self)
    n_repeats = check_number("n_repeats", n_repeats, Integral, "integers from 1", lambda n: n >= 1)
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise ValueError(f"scoring={scoring!r}; allowed are a name, a callable and None")
    groups = None if feature_groups is None else numbers_of_groups(self, feature_groups)
    if given.X is None:
        raise ValueError("X=None; allowed are rows to score")
    sample = scored_rows(self, ToScore(*map(on_host, given)), ALONE, suffix="")
    forest, n_threads = self.forest_, count_threads(self.n_jobs)
    packed = forest.packed(n_threads=n_threads)
    start = np.zeros((len(sample.y), forest.objective.n_sums)) if sample.offset is None else sample.offset

    def predict(X):
        sums = start.copy()
        packed.add_up(X, sums, 0, forest.n_trees, n_threads)
        return sums

    score = score_of_sums(self, self._usual_scoring(sample) if scoring is None else scoring, sample, n_threads)
    found = score_decrease(sample.X, predict, score, features_used(forest).any(axis=0), n_repeats, random_state, None, groups)
    return Bunch(importances=found, importances_mean=found.mean(axis=1), importances_std=found.std(axis=1))
