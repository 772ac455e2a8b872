"""Methods of forests that permute columns of the training rows, out of bag: functions that classes take as theirs."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from dforest.estimators.data.agreement import Partition, check_alike
from dforest.estimators.data.given import check_number
from dforest.estimators.data.rows import checked_parts, weighed_rows
from dforest.estimators.data.validation import count_threads
from dforest.estimators.powers import times_power
from dforest.estimators.results import importance, oob
from dforest.estimators.results.calibration import calibrated
from dforest.estimators.scoring import chosen_score, refusal


def oob_importance(self, X, y, sample_weight=None, *, scoring=None, n_repeats=5, random_state=None, feature_groups=None):
    """Compute importances by permutation, on the rows that each tree left out.

    A feature is important if predictions get worse when its values are permuted among the rows. Each tree is asked about
    the rows that its bootstrap left out, so that no other rows are needed.

    By default, the error of each tree is looked at (mean decrease of accuracy). With `scoring`, it is the score of the
    forest's predictions out of bag, which are those of `oob_decision_function_` or `oob_prediction_`. Where a class is rare,
    choose a score such as "average_precision": the accuracy hardly changes, whatever is permuted.

    Parameters
    ----------
    X, y, sample_weight
        The data that the forest was fitted on, in the same order. Rows of weight 0, or of a class of weight 0, are left
        out, as they were in the fit; the other rows are weighted in errors and scores. If several processes fitted the
        forest together (see `dforest.config_context`), all of them must call this method, each with its own rows, and each
        is given the importances computed from all rows. They need not be the processes that fitted the forest, but all
        rows must come in the same order.
    scoring : str or callable, default=None
        What the predictions out of bag are scored by: a name of scikit-learn's scorers, such as "roc_auc"; what
        ``sklearn.metrics.make_scorer`` returns; or a metric that is called with true and predicted values, and with
        `sample_weight` if there are weights. Larger scores must be better; so wrap errors by
        ``make_scorer(metric, greater_is_better=False)``. Of two classes, scores of scikit-learn that have a `pos_label` look
        at the class 1, or, if there is no such class, at ``classes_[1]``. A fit by several processes needs None, which means
        the errors of single trees.
    n_repeats : int, default=5
        Number of permutations of each feature with `scoring`. Without it, each tree has one permutation.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the permutations with `scoring`. Without it, they follow from the seeds of the trees.
    feature_groups : list of array-like, or dict, default=None
        With `scoring`: the features, as names, numbers or a mask, that are permuted together, so that rows keep what these
        tell of each other. Importances are then those of groups, in the order given; a dict has their names. None means
        that each feature is permuted by itself.

    Returns
    -------
    Bunch
        importances : ndarray of shape (n_features, n_estimators), or (n_features, n_repeats) or (n_groups, n_repeats)
            The rise of each tree's error (misclassification rate, mean squared error, or 1 - concordance of survival
            times) when the feature is permuted. It is positive where that hurts, 0 for a tree that doesn't test the
            feature, and NaN for a tree that left out no row. With `scoring`: by how much each permutation lowers the score.
        importances_mean, importances_std : ndarray of shape (n_features,)
            The mean and the standard deviation (ddof 1) over the trees that left out rows. With `scoring`: over the
            permutations (ddof 0), as ``sklearn.inspection.permutation_importance`` returns them.
        importances_scaled : ndarray of shape (n_features,)
            The mean divided by its standard error; 0 where the standard error is 0. With `scoring`, there is no such entry.

    Raises
    ------
    ValueError
        If the forest has no out-of-bag rows, if it was grown on other rows or on these in another order, if `scoring` can't
        score the predictions, or if processes that call this together have different forests.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45(1), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> result = forest.oob_importance(X, y)
    >>> X.columns[result.importances_mean.argsort()[::-1][:2]].tolist()
    ['petal length (cm)', 'petal width (cm)']
    >>> result = forest.oob_importance(X, y, scoring="neg_log_loss", random_state=0)
    >>> result.importances.shape
    (4, 5)
    """
    if scoring is None:
        if feature_groups is not None:
            raise ValueError('feature_groups needs scoring, such as "accuracy" or "r2"; allowed without it is None')
        return importance_of_partitions(self, lambda rank: [Partition(rank, X, y, sample_weight)])
    n_repeats = check_number("n_repeats", n_repeats, Integral, "integers from 1", lambda n: n >= 1)
    score = chosen_score(scoring)
    groups = None if feature_groups is None else importance.numbers_of_groups(self, feature_groups)
    with self._communicator().together() as ranks:
        if ranks.size > 1:
            raise ValueError(f"scoring={scoring!r} needs one process that has all rows; with {ranks.size} allowed is None")
        rows, _ = known_rows(self, [Partition(0, X, y, sample_weight)], ranks)
    score_of = _out_of_bag_scorer(self, rows, score, f"scoring={scoring!r}")
    used = importance.features_used(self.forest_).any(axis=0)
    predict = oob.Predictor(self.forest_, rows, getattr(self, "voting", "soft"), count_threads(self.n_jobs))
    if "calibration_" in vars(self):
        shares_of = predict

        def predict(X):
            return calibrated(shares_of(X), self.calibration_)

    found = importance.score_decrease(rows.parts[0], predict, score_of, used, n_repeats, random_state, None, groups)
    return Bunch(importances=found, importances_mean=found.mean(axis=1), importances_std=found.std(axis=1))


def oob_local_importance(self, X, y, sample_weight=None):
    """Compute the importance of each feature for each row, on the trees that left the row out.

    Parameters
    ----------
    X, y, sample_weight
        The data that the forest was fitted on, in the same order, of one process. Errors of single rows have no weights.

    Returns
    -------
    ndarray of shape (n_rows, n_features), dtype float64
        By how much the row's error (1 for a wrong class, 0 for the right one; or the squared error) rises when the feature is
        permuted among the rows that a tree left out, in the mean over the trees that left out this one. It is negative where
        that helps, and NaN for a row that every tree drew, or whose weight is 0. The mean over the rows of a class is the
        importance for this class [1]_.

    Raises
    ------
    ValueError
        If the forest has no out-of-bag rows, if it was grown on other rows or on these in another order, if several processes
        have the rows, or if rows have no errors by themselves, as is so with survival times.

    References
    ----------
    .. [1] L. Breiman, A. Cutler, "Manual for setting up, using, and understanding random forests", 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> local = forest.oob_local_importance(X, y)
    >>> local[y == 0].mean(axis=0).argmax() >= 2  # petals
    np.True_
    """
    check_is_fitted(self)
    if not self.forest_.objective.has_errors_of_rows:
        raise ValueError(f"{type(self).__name__} has no errors of single rows; allowed is oob_importance")
    with self._communicator().together() as ranks:
        if ranks.size > 1:
            raise ValueError(f"importances of single rows need one process that has all rows; there are {ranks.size}")
        rows, _ = known_rows(self, [Partition(0, X, y, sample_weight)], ranks)
    found = np.full((len(rows.kept), self.n_features_in_), np.nan)
    found[rows.kept] = importance.local_rise(self.forest_, rows, count_threads(self.n_jobs))
    return found


def _out_of_bag_scorer(self, rows, score, given):
    """A function that scores predictions out of bag of encoded `TrainingRows`; rows that have none (NaN) don't count.

    It raises ValueError where the score, which was `given` so, can't score such rows or isn't a number.
    """

    def score_of(prediction):
        seen = ~np.isnan(prediction).any(axis=1)
        weight = None if rows.sample_weight is None else rows.sample_weight[seen]
        if not seen.any():
            raise ValueError(f"{given} has nothing to score, as no tree left out any row; allowed are more trees")
        try:
            found = self._target.score(self, score, rows.y[seen], prediction[seen], self.forest_.objective.outputs, weight)
        except Exception as error:
            raise refusal(given, "y", error, score, getattr(self, "classes_", None)) from error
        if not isinstance(found, Real) or np.isnan(found):
            raise ValueError(f"{given} returned {found!r}; allowed are numbers other than NaN")
        return float(found)

    return score_of


def importance_of_partitions(self, partitions_of):
    """`oob_importance` of the partitions of this rank, given a function that returns them for the rank's number.

    All ranks of the estimator's communicator do this together.
    """
    with self._communicator().together() as ranks:
        rows, device = known_rows(self, partitions_of(ranks.rank), ranks)
        by_tree, power = importance.accuracy_decrease(self.forest_, rows, count_threads(self.n_jobs), device)
    mean, std = importance.summarise(by_tree, power)
    return Bunch(
        importances=times_power(by_tree, power).T,
        importances_mean=mean,
        importances_std=std,
        importances_scaled=importance.summarise(by_tree, power, scaled=True)[0],
    )


def known_rows(self, partitions, ranks):
    """(the `TrainingRows` of this rank's partitions, the device that they are on). A collective.

    Raises ValueError unless they are the rows that the forest was grown on.
    """
    check_is_fitted(self)
    device = self._device(*(array for partition in partitions for array in partition[1:]))
    partitions = [partition.read() for partition in partitions]
    partitions = [partition._replace(y=self._target.read_known(self, partition.y)) for partition in partitions]
    check_alike(ranks, self, partitions, self.forest_)
    parts, targets = checked_parts(self, partitions, self._features, ranks)
    y = self._target.encode_known(self, np.concatenate(targets)) if targets else self._target.encode_none(self)
    rows = weighed_rows(self, partitions, parts, y, ranks)
    self._check_out_of_bag(rows, self.forest_)
    return rows, device
