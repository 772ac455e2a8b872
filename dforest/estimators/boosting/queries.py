"""The queries of ranking: which query a row belongs to, and what the rankings of queries are worth.

The rows of a *query* are compared with each other alone; other libraries call it a group. A query has a number, from 0, in the
order of labels.
"""

import re
from math import fsum
from numbers import Integral

import numpy as np
from sklearn.utils.validation import _num_samples

from dforest.config import on_host
from dforest.core.boost.loss import GroupedRows
from dforest.core.boost.ranking import GAINS, check_grades, scores_of_groups

METRIC = re.compile(r"(ndcg|map)(?:@([1-9][0-9]*))?")
ALLOWED = '"loss", "ndcg", "map", and "ndcg@10" or "map@10" with any number from 1 on'


def numbers_of_queries(X, qid, group, suffix=""):
    """The number of each row's query: ndarray of shape (n_rows,), dtype int64.

    Parameters
    ----------
    X : array-like
        The rows.
    qid : array-like of shape (n_rows,), or None
        Labels of queries.
    group : array-like of int, or None
        Sizes of queries whose rows follow each other.
    suffix : str
        What follows the names of parameters, for errors.

    Raises
    ------
    ValueError
        Unless one of both is given, and fits the rows.
    """
    qid, group, n_rows = on_host(qid), on_host(group), _num_samples(X)
    name = f"qid{suffix}" if group is None else f"group{suffix}"
    if (qid is None) == (group is None):
        given = "neither qid{0} nor group{0} is" if qid is None else "qid{0} and group{0} are both"
        raise ValueError(
            f"{given.format(suffix)} given; allowed is one of them: qid{suffix} has the label of each row's query, group{suffix} "
            "the sizes of queries whose rows follow each other"
        )
    given = np.asarray(qid if group is None else group)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise ValueError(f"{name} has the shape {given.shape}; allowed are arrays of one dimension")
    if group is None:
        if len(given) != n_rows:
            raise ValueError(f"{name} has {len(given)} entries, and X{suffix} {n_rows} rows; allowed is an entry for each row")
        if given.dtype.kind == "c" or given.dtype.kind == "f" and np.isnan(given).any():
            wrong = int(np.flatnonzero(np.isnan(given))[0]) if given.dtype.kind == "f" else 0
            raise ValueError(f"{name} holds {given[wrong]} in row {wrong}; allowed are labels of queries: whole numbers or text")
        try:
            return np.unique(given, return_inverse=True)[1].astype(np.int64)
        except TypeError as error:
            raise ValueError(f"{name} has labels that have no order: {error}; allowed are whole numbers, or text") from None
    wrong = given.dtype.kind not in "iu" if len(given) else False
    if wrong and given.dtype.kind == "f" and (given == np.floor(given)).all():
        given, wrong = given.astype(np.int64), False
    if wrong or (given < 1).any():
        first = given.tolist()[0] if wrong else given[given < 1].tolist()[0]
        raise ValueError(f"{name} holds {first!r}; allowed are integers from 1 on, the numbers of rows of queries")
    if int(given.sum()) != n_rows:
        raise ValueError(f"{name} adds up to {int(given.sum())}, and X{suffix} has {n_rows} rows; allowed is one number")
    return np.repeat(np.arange(len(given), dtype=np.int64), given)


def metric_of(scoring):
    """(the name of a metric, how many rows of a query count or None), by a value of `scoring`. Raises ValueError if none."""
    found = METRIC.fullmatch(scoring) if isinstance(scoring, str) else None
    if found is None:
        raise ValueError(f"scoring={scoring!r}; allowed for ranking are {ALLOWED}")
    name, k = found.groups()
    return name, None if k is None else int(k)


class RankingMeasure:
    """What the rankings of queries are worth: the mean over queries, each of which weighs as much as its rows do on average.

    Parameters
    ----------
    metric : {"ndcg", "map"}
    k : int or None
        How many of the first rows count; None means all.
    y : ndarray of shape (n_rows,), dtype float64
    weight : ndarray of shape (n_rows,), dtype float64, or None
    queries : ndarray of shape (n_rows,), dtype int64
    gains : tuple of float
        Of the grades 0, 1, ...
    n_threads : int

    Raises
    ------
    ValueError
        If grades have no gains, where these are needed.
    """

    def __init__(self, metric, k, y, weight, queries, gains=GAINS, n_threads=1):
        if metric == "ndcg":
            check_grades(y, gains, "NDCG")
        self._given, self._n_threads = (metric, y, GroupedRows(queries), k, gains), n_threads
        sizes = np.bincount(queries)
        self._there = sizes > 0
        weights = sizes if weight is None else np.bincount(queries, weight)
        self._weight = np.ones(self._there.sum()) if weight is None else weights[self._there] / sizes[self._there]

    def __call__(self, sums):
        """The score of rows, given their sums, of shape (n_rows, 1), to which a constant may be added."""
        metric, y, rows, k, gains = self._given
        scores = scores_of_groups(metric, y, np.array(sums[:, 0]), rows, k, gains, self._n_threads)[self._there]
        return fsum(scores * self._weight) / fsum(self._weight)


def check_k(k):
    """Raise ValueError unless k is a number of rows, or None."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, Integral) or k < 1):
        raise ValueError(f"k={k!r}; allowed are integers from 1 on, and None")
