"""Gradient boosting for ranking: trees that bring the rows of each query in order."""

from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted, column_or_1d

from dforest.config import on_host
from dforest.core.boost.loss import Loss as BoostingLoss
from dforest.core.boost.ranking import GAINS, RANK_LOSSES, have_gains
from dforest.estimators.boosting.base import BoostingEstimator
from dforest.estimators.boosting.losses import OwnLoss
from dforest.estimators.boosting.memory import estimate_of
from dforest.estimators.boosting.parameters import BOOSTING_PARAMETERS
from dforest.estimators.boosting.permutation import permuted
from dforest.estimators.boosting.predictions import BoostedRanks
from dforest.estimators.boosting.queries import RankingMeasure, ToldQueries, check_k, metric_of, numbers_of_queries
from dforest.estimators.boosting.rows import ToScore
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.fits import instance_of
from dforest.estimators.data.given import given_numbers
from dforest.estimators.data.validation import check_weights, count_threads
from dforest.estimators.declaration import has_parameters
from dforest.estimators.other_names import with_hints
from dforest.estimators.reporting import report_on
from dforest.estimators.targets.numbers import Numbers


@has_parameters("boosting ranker", table=BOOSTING_PARAMETERS)
class HistGradientBoostingRanker(BoostedRanks, BoostingEstimator):
    """Gradient-boosted trees for ranking: each tree corrects the order that those before it give to the rows of a query.

    Rows belong to *queries*, such as the documents that a search may show, or what a customer may be offered; `fit` is told
    them by `qid` or `group`. The targets are *grades*: of two rows of a query, the one of higher grade is to have the higher
    prediction. Rows of different queries are never compared, so that predictions are comparable only within a query.

    Each iteration grows a tree that decreases a loss of pairs of rows, to second order. The values of each feature are sorted
    into bins, trees are grown best first, and missing values go to the side that has more gain. The trees are the same to the
    bit on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    HistGradientBoostingRegressor : Gradient-boosted trees for regression.
    dforest.loss.LambdaRank : The loss for ranking, with its parameters.

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24(2), 1996, of `n_bags`.
    C. J. C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", Microsoft Research, MSR-TR-2010-82, 2010.
    G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import HistGradientBoostingRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(2000, 5)), np.arange(2000) // 20
    >>> grade = np.clip(np.round(X[:, 0] + np.abs(X[:, 1])), 0, 4)
    >>> model = HistGradientBoostingRanker(max_iter=20, random_state=0).fit(X[:1000], grade[:1000], qid=qid[:1000])
    >>> model.score(X[1000:], grade[1000:], qid=qid[1000:]) > 0.95
    True
    """

    _target = Numbers()
    _for_columns = "grades in one column"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _make_loss(self, n_outputs):
        loss = RANK_LOSSES[self.loss]() if isinstance(self.loss, str) else instance_of(BoostingLoss, "loss", self.loss)
        return OwnLoss(loss)

    def _measure(self, scoring, sample, n_threads, ranks):
        metric, k = metric_of(scoring)
        return RankingMeasure(
            metric, k, sample.y, sample.weight, sample.queries, self._gains(), n_threads, ranks, f"scoring={scoring!r}"
        )

    def _scoring(self, samples, ranks):
        if self.scoring is not None:
            return self.scoring
        lacks_gains = any(not have_gains(sample.y, self._gains()).all() for sample in samples)
        return "loss" if ranks.any(lacks_gains) else "ndcg@10"

    def _queries(self, told, ranks, suffix=""):
        return numbers_of_queries(told, suffix, ranks)

    def _gains(self):
        """What rows of the grades 0, 1, ... add to DCG at the first place."""
        return getattr(self._loss.loss, "gains", GAINS)

    @with_hints
    def fit(
        self, X, y, sample_weight=None, *, qid=None, group=None, offset=None, X_val=None, y_val=None, sample_weight_val=None,
        qid_val=None, group_val=None, offset_val=None,
    ):  # fmt: skip
        """Grow trees on training rows, one iteration after another.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows: numbers or booleans, and in categorical and ordinal columns text too (see
            `categorical_features`). NaN, None, NA, null and masked cells are missing values, and infinities are ordinary values.
        y : array-like of shape (n_rows,)
            Grades: integers from 0 to 31, unless the loss takes other numbers; the higher, the nearer to the top a row belongs.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on, by which their derivatives are multiplied: a pair moves each of its rows by that row's
            weight. To weigh queries, give all rows of a query the same weight. Rows of weight 0 are left out, and make no pairs.
            None means that all weights are 1.
        qid : array-like of shape (n_rows,), optional
            Label of each row's query, an integer or text. Rows of a query need not follow each other. Of several processes that
            fit together, one must have all rows of a query.
        group : array-like of int, optional
            Numbers of rows of the queries, whose rows follow each other, as in LightGBM; they add up to n_rows. Either `qid` or
            `group` must be given. Several processes that fit together have queries of their own then.
        offset : array-like of shape (n_rows,), optional
            What is known of each row's raw prediction, such as the prediction of another model: a raw prediction begins with the
            row's offset. Predictions count an offset only if they are given one. None means that there is none.
        X_val, y_val : {array-like, sparse matrix} of shape (n_val, n_features) and array-like of shape (n_val,), optional
            Validation rows and their grades, which are scored for early stopping. None means that with early stopping
            some queries are held out instead: see `validation_fraction`.
        sample_weight_val : array-like of shape (n_val,), optional
            Weights of the validation rows. None means that all weights are 1.
        qid_val, group_val : array-like, optional
            As `qid` and `group`, one of which must be given if `X_val` is.
        offset_val : array-like of shape (n_val,), optional
            Offsets of the validation rows, which must be given if `offset` and `X_val` are.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then left as it was.
        """
        partition = X, y, sample_weight, qid, offset, group
        to_score = ToScore(X_val, y_val, sample_weight_val, offset_val, qid_val, group_val)
        return self._fit_partitions(lambda rank: [Partition(rank, *partition)], to_score)

    def estimate_memory(
        self, X, y, sample_weight=None, *, qid=None, group=None, offset=None, X_val=None, y_val=None, sample_weight_val=None,
        qid_val=None, group_val=None, offset_val=None,
    ):  # fmt: skip
        """Estimate how much memory `fit` will take: see `HistGradientBoostingRegressor.estimate_memory`.

        Parameters
        ----------
        X, y, sample_weight, qid, group, offset, X_val, y_val, sample_weight_val, qid_val, group_val, offset_val
            The data that `fit` would be given.

        Returns
        -------
        FitMemory
            The estimate in bytes, beside the data themselves; ``print`` shows it as a table.

        Raises
        ------
        ValueError
            If `fit` would refuse the parameters or the data.
        DeviceError
            If the device cannot be used.
        """
        partition = Partition(0, X, y, sample_weight, qid, offset, group)
        return estimate_of(self, partition, ToScore(X_val, y_val, sample_weight_val, offset_val, qid_val, group_val))

    def score(self, X, y, sample_weight=None, *, qid=None, group=None, k=None):
        """Return the mean over queries of NDCG, the normalized discounted cumulative gain: 1 where all rows are in order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        y : array-like of shape (n_rows,)
            Grades: integers from 0 on.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. A query weighs as much as its rows do on average. None means that all weights are 1.
        qid, group : array-like, optional
            As in `fit`; one of them must be given.
        k : int, optional
            How many rows of the highest predictions of each query count. None means all.

        Returns
        -------
        float
            From 0 to 1. A query whose rows all have the grade 0 counts as 1. Rows of equal predictions count by the mean over
            their orders.
        """
        total_score, total_weight = self._sums_of_scores(X, y, sample_weight, qid=qid, group=group, k=k)
        return float(total_score / total_weight)

    def _sums_of_scores(self, X, y, sample_weight=None, *, qid=None, group=None, k=None):
        """The sum of the scores of queries, times their weights, and the sum of these: two Fractions. See `score`."""
        check_is_fitted(self)
        check_k(k)
        queries = numbers_of_queries([ToldQueries(0, qid, group, _num_samples(X))])
        raw, y = on_host(self._raw(X)), self._target.encode_known(self, column_or_1d(given_numbers("y", y)))
        check_consistent_length(raw, y)
        weight = check_weights([sample_weight], [raw])
        there = slice(None) if weight is None else weight > 0
        weight, n_threads = None if weight is None else weight[there], count_threads(self.n_jobs)
        measure = RankingMeasure("ndcg", k, y[there], weight, queries[there], self._gains(), n_threads)
        return measure.total_score(raw[there]), measure.total_weight

    def permutation_importance(
        self, X, y, sample_weight=None, *, qid=None, group=None, offset=None, scoring=None, n_repeats=5, random_state=None,
        feature_groups=None,
    ):  # fmt: skip
        """Compute importances by permutation: how much the score of rows falls when a feature's values are permuted among them.

        It is `HistGradientBoostingRegressor.permutation_importance`, but for the score, which is about queries. Values are
        permuted among the rows of all queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        y : array-like of shape (n_rows,)
            Grades of the rows.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. A query weighs as much as its rows do on average. None means that all weights are 1.
        qid, group : array-like, optional
            As in `fit`; one of them must be given.
        offset : array-like of shape (n_rows,), optional
            What each row's raw prediction begins with, as in `fit`. None means zeros.
        scoring : str or None, default=None
            "ndcg", "map", these with a number of places, such as "ndcg@5", or "loss". None means "ndcg", which is what `score`
            returns, or "loss" if some grade has no gain.
        n_repeats : int, default=5
            Number of permutations of each feature.
        random_state : int, RandomState, Generator or None, default=None
            Seed of the permutations.
        feature_groups : list of array-like, or dict, default=None
            Features, as names, numbers or a mask, that are permuted together. None means that each feature is permuted by itself.

        Returns
        -------
        Bunch
            With the entries `importances`, `importances_mean` and `importances_std`.

        Raises
        ------
        ValueError
            If the rows or a parameter are not as described.
        """
        given = ToScore(X, y, sample_weight, offset, qid, group)
        return permuted(self, given, scoring, n_repeats, random_state, feature_groups)

    def _usual_scoring(self, sample):
        return "ndcg" if have_gains(sample.y, self._gains()).all() else "loss"

    def report(self, X=None, y=None, *, qid=None, group=None, path=None, scoring=None, verbose=0):
        """Make a report: one HTML page, which needs no network.

        It is that of `HistGradientBoostingRegressor.report`, but for the section on predictions, which shows NDCG and average
        precisions, how the scores of queries are distributed, and the grades of the rows at each place. Where it is computed from
        some of the rows, these are whole queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            Rows to show predictions for, best such as were not used for training. None means that the page shows only what the
            estimator itself knows.
        y : array-like of shape (n_rows,), optional
            The grades of these rows. None means that the page says nothing about the quality of rankings.
        qid, group : array-like, optional
            As in `fit`; one of them must be given if `y` is.
        path : str or path-like, optional
            A file to write the page to. Whether it can be written is tried before anything is computed.
        scoring : str, default=None
            What rankings are judged by at the head of the page, in the curve by the number of iterations, and in importances by
            permutation: "ndcg", "map", or these with a number of places, such as "ndcg@5". None means "ndcg@10", or, if grades
            have no gains, "map@10"; with early stopping the curve is then that of the rows held out.
        verbose : int, default=0
            Whether progress is shown on the error stream: 1 means a line that is written anew after each section of the page, and
            2 a line for each.

        Returns
        -------
        dforest.inspection.report.report.Report
            The report. Notebooks show it, its method `save` writes it to a file, and ``str`` gives its HTML.

        Raises
        ------
        OSError
            If the file can't be written.
        ValueError
            If X, y or queries don't fit each other or the estimator, or if there is no such `scoring`.
        TypeError
            If X or y are Dask collections.
        """
        check_is_fitted(self)
        if y is None and (qid is not None or group is not None):
            raise ValueError(f"{'group' if qid is None else 'qid'} is given without y; allowed are both, or neither")
        return report_on(self, X, y, path, scoring, None, verbose, (qid, group))
