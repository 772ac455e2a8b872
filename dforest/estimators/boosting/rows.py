"""The rows of a boosted fit: those that trees are grown on, and those that are scored for early stopping."""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_samples

from dforest.core.sparse_rows import SparseRows
from dforest.engines.rows import RowShare
from dforest.estimators.boosting.offsets import check_offset
from dforest.estimators.boosting.queries import ToldQueries
from dforest.estimators.data.agreement import common_floats
from dforest.estimators.data.outputs import by_output
from dforest.estimators.data.rows import checked_rows, checked_targets
from dforest.estimators.data.tables import read_table
from dforest.estimators.data.validation import check_weights
from dforest.spmd.communicator import ALONE
from dforest.spmd.draws import assign_parts, stratified, subsampled

MAX_WEIGHT = 2.0**400  # sums of gradients of very many rows are in range


class Sample(NamedTuple):
    """Some rows.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64, or SparseRows
    y : ndarray of shape (n_rows,), dtype float64
        Targets, or class numbers.
    weight : ndarray of shape (n_rows,), dtype float64, or None
        Positive, classes' weights included; None: all 1.
    bin_weight : ndarray of shape (n_rows,), dtype float64, or None
        Without those of classes.
    offset : ndarray of shape (n_rows, n_sums), dtype float64, or None
        What is known of raw predictions; None: they begin with the baseline alone.
    queries : ndarray of shape (n_rows,), dtype int64, or None
        Of ranking, the number of each row's query among those of all ranks.
    share : RowShare or None
        Which of the rows of all ranks these are; None: these are all rows.
    """

    X: np.ndarray | SparseRows
    y: np.ndarray
    weight: np.ndarray | None = None
    bin_weight: np.ndarray | None = None
    offset: np.ndarray | None = None
    queries: np.ndarray | None = None
    share: RowShare | None = None

    def first_sums(self, n_sums):
        """What the raw predictions of the rows are before there are trees, without the baseline: new ndarray."""
        return np.zeros((len(self.y), n_sums)) if self.offset is None else self.offset.copy()

    def check_dense(self, asked, allowed):
        """Raise ValueError if X is sparse.

        asked, allowed : a parameter with its value that looks up values of rows, and with one that does not
        """
        if isinstance(self.X, SparseRows):
            raise ValueError(
                f"{asked} with a sparse X, whose values rows would have to look up; allowed are a dense X, and {allowed}"
            )

    def take(self, chosen, ranks=ALONE):
        """Some of the rows: those for which an ndarray of bool says so. A collective, where ranks have rows."""
        share = None if self.share is None else self.share.of_some(ranks, chosen)
        return Sample(*(None if part is None else part[chosen] for part in self[:-1]), share)

    def draw(self, n_draws, seed, n_classes, ranks):
        """Which of the rows are among so many, drawn of all: ndarray of bool. A collective.

        seed : int
            Below 2**32.
        n_classes : int
            Each class has its share of them; 0: targets are no classes.
        """
        share = self.share or RowShare.whole(len(self.y))
        if n_classes:
            return stratified(share, n_draws, seed, self.y, n_classes, ranks)
        return subsampled(share, n_draws, seed) > 0

    def draw_queries(self, n_draws, seed, ranks):
        """Which of the rows belong to so many queries, drawn of all that have rows: ndarray of bool. A collective."""
        own, n_queries = self._queries_with_rows(ranks)
        return (subsampled(RowShare.whole(n_queries), n_draws, seed) > 0)[own]

    def allocate(self, n_parts, seed, n_classes, ranks):
        """Which of so many parts each row falls into, if all are dealt out: ndarray of int64. A collective.

        Of ranking, whole queries are dealt out. seed, n_classes : as of `draw`
        """
        if self.queries is not None:
            own, n_queries = self._queries_with_rows(ranks)
            return assign_parts(RowShare.whole(n_queries), n_parts, seed, np.zeros(n_queries), 1, ALONE)[own]
        share = self.share or RowShare.whole(len(self.y))
        return assign_parts(share, n_parts, seed, self.y if n_classes else np.zeros(len(self.y)), n_classes or 1, ranks)

    def _queries_with_rows(self, ranks):
        """(the place of each row's query among all that have rows, how many these are). A collective."""
        numbers, own = np.unique(self.queries, return_inverse=True)
        of_all = np.sort(np.concatenate(ranks.gather(numbers)))
        return np.searchsorted(of_all, numbers)[own], len(of_all)


class ToScore(NamedTuple):
    """What `fit` is given to be scored: rows, their targets, and what belongs to them; None: nothing.

    Attributes
    ----------
    X, y, sample_weight, offset, groups, group_sizes : array-like, or None
        The last two as of `Partition`.
    """

    X: object = None
    y: object = None
    sample_weight: object = None
    offset: object = None
    groups: object = None
    group_sizes: object = None


def booster_weight(weight, name="sample_weight", ranks=ALONE):
    """Weights of rows as boosters take them.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,), dtype float64, or None
        Not negative, finite.
    name : str
        Whose they are, for errors.
    ranks : Communicator
        Who else has rows.

    Returns
    -------
    ndarray or None
        None if all are 1.

    Raises
    ------
    ValueError
        If one is so large that sums would leave the range of float64.
    """
    if weight is None or not ranks.any((weight != 1).any()):
        return None
    if weight.max(initial=0) > MAX_WEIGHT:
        raise ValueError(f"{name} holds {weight.max()}, class weights included; allowed are weights up to {MAX_WEIGHT}")
    return weight


def check_columns_of_y(estimator, partitions):
    """Raise ValueError if a y has several columns that are numbers, and the loss is for one.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
    partitions : list of Partition
        What this rank was given.
    """
    if not estimator._target.has_numbers or estimator.__sklearn_tags__().target_tags.multi_output:
        return
    for partition in partitions:
        shape = np.asarray(partition.y).shape
        if len(shape) == 2 and shape[1] > 1:
            levels = f" with quantile={estimator.quantile!r}" if estimator.loss == "quantile" else ""
            raise ValueError(
                f"loss={estimator.loss!r}{levels} is for a y of one column, and y has {shape[1]}; allowed are "
                f"{estimator._for_columns}"
            )


def check_given(estimator, to_score, has_offset):
    """Raise ValueError unless the rows to be scored are given as they must be, or not at all."""
    X, y, sample_weight, offset, groups, group_sizes = to_score
    if X is None and y is None and sample_weight is not None:
        raise ValueError("sample_weight_val is given without X_val and y_val; allowed are all three")
    for name, value in (("offset_val", offset), ("qid_val", groups), ("group_val", group_sizes)):
        if X is None and value is not None:
            raise ValueError(f"{name} is given without X_val and y_val; allowed are all three")
    if X is not None and (offset is not None) != has_offset:
        given, lacks = ("offset", "offset_val") if has_offset else ("offset_val", "offset")
        raise ValueError(f"{given} is given, but {lacks} is not; allowed with X_val are both or neither")
    if y is None and X is not None:
        raise ValueError("X_val is provided, but y_val was not provided; allowed are both or neither")
    if X is None and y is not None:
        raise ValueError("y_val is provided, but X_val was not provided; allowed are both or neither")
    n_folds = estimator.validation_folds
    if n_folds not in (1, "auto") and (X is not None or estimator.validation_fraction is None):
        why = "X_val and y_val are given" if X is not None else "validation_fraction=None"
        raise ValueError(
            f'validation_folds={n_folds}, and {why}, so that no rows of X are held out; allowed are then 1 and "auto"'
        )
    if X is not None and estimator.early_stopping is False:
        raise ValueError(
            "X_val and y_val are passed to fit while at the same time early_stopping=False; allowed are then "
            'early_stopping="auto" and True; with n_iter_no_change=max_iter and use_best_model=False they are only scored'
        )


def check_targets(estimator, y, ranks):
    """Raise ValueError if the loss does not allow that these are all targets that trees are grown on. A collective.

    Of several ranks' rows the extremes tell, or for ranking each rank of its own; a loss of the user's own gets the targets of
    all ranks.
    """
    if ranks.size > 1 and estimator._loss.name is None:
        y = np.concatenate(ranks.gather(y))
    elif ranks.size > 1 and not estimator._loss.of_groups:
        ends = ranks.least(np.stack([y.min(axis=0, initial=np.inf), -y.max(axis=0, initial=-np.inf)]))
        y = np.stack([ends[0], -ends[1]])
    estimator._loss.check_targets(y)


def scored_rows(estimator, to_score, ranks, suffix="_val"):
    """The rows to be scored that a caller gave, on this rank or others: a `Sample`, or None. A collective.

    suffix : what follows the names of parameters, for errors
    """
    X, y, sample_weight, offset, groups, group_sizes = to_score
    if not ranks.any(X is not None):
        return None
    n_sums, n_targets = estimator._loss.n_sums, estimator._loss.n_targets
    has_rows = X is not None and (ranks.size == 1 or _num_samples(X) > 0)
    if not has_rows:  # but others have some
        X, y = np.zeros((0, estimator.n_features_in_), np.float32), np.zeros((0, n_targets) if n_targets > 1 else 0)
        offset = np.zeros((0, n_sums)) if estimator._has_offset else None
        sample_weight = None
    is_weighted = ranks.any(sample_weight is not None)
    try:
        if has_rows:
            X = checked_rows(estimator, read_table(X), estimator._features)
            y = checked_targets(estimator, y, X)
            y = estimator._target.encode_known(estimator, by_output(y)).astype(np.float64)
            estimator._loss.check_targets(y, is_trained_on=False)
        (X,) = common_floats(ranks, [X])
        if is_weighted and sample_weight is None:
            sample_weight = np.ones(len(X))
        weight = check_weights([sample_weight], [X], ranks)
    except ValueError as error:
        raise ValueError(f"X{suffix}, y{suffix} or sample_weight{suffix}: {error}") from error
    offset = check_offset([offset], [len(X)], n_sums, f"offset{suffix}")
    queries = estimator._queries([ToldQueries(ranks.rank, groups, group_sizes, len(X))] * has_rows, ranks, suffix)
    share = None if ranks.size == 1 else RowShare.agreed(ranks, [ranks.rank], [len(X)])
    sample = Sample(X, y, booster_weight(weight, f"sample_weight{suffix}", ranks), offset=offset, queries=queries, share=share)
    return sample.take(weight > 0, ranks) if weight is not None and ranks.any(not weight.all()) else sample


def count_strata(estimator):
    """How many classes have their share of the rows that are drawn; 0: of numbers and of several outputs none has."""
    return len(estimator.classes_) if is_classifier(estimator) and not isinstance(estimator.classes_, list) else 0
