"""The queries of ranking: which query a row belongs to, and what the rankings of queries are worth.

The rows of a *query* are compared with each other alone; other libraries call it a group. Of several ranks, each has whole
queries. A query has a number, from 0, among those of all ranks.
"""

import re
from numbers import Integral
from typing import NamedTuple

import numpy as np

from dforest.core.boost.loss import GroupedRows
from dforest.core.boost.ranking import GAINS, check_grades, scores_of_groups
from dforest.core.predict.out_of_bag import add_up, total_of
from dforest.engines.rows import RowShare
from dforest.estimators.data.agreement import common_labels, join_labels, unique_labels
from dforest.estimators.data.given import given_values
from dforest.spmd.communicator import ALONE

METRIC = re.compile(r"(ndcg|map)(?:@([1-9][0-9]*))?")
# Without it, what searches and cross-validation are given goes to `fit` alone, and not to `score`.
ROUTING = (
    ". Searches and cross-validation of scikit-learn pass qid on to both fit and score after "
    "sklearn.set_config(enable_metadata_routing=True), if the ranker asks for it: "
    "HistGradientBoostingRanker(...).set_fit_request(qid=True).set_score_request(qid=True)"
)
METRICS = '"ndcg", "map", and "ndcg@10" or "map@10" with any number from 1 on'


def numbers_of_queries(told, suffix="", ranks=ALONE):
    """The number of each own row's query, among those of all ranks: ndarray of shape (n_own_rows,), dtype int64. A collective.

    Queries that are told by labels are numbered in the order of these; those that are told by their sizes in the order in which
    they come.

    Parameters
    ----------
    told : list of ToldQueries
        Of the rows of each partition of this rank, which may have none.
    suffix : str
        What follows the names of parameters, for errors.
    ranks : Communicator, default=ALONE
        Who has rows. All rows of a query lie in one partition of one of them.

    Raises
    ------
    ValueError
        Unless queries are told in one of both ways, which fits the rows, or if rows of a query lie in several partitions.
    """
    own = [queries.way(suffix) for queries in told]
    there = sorted({way for ways in ranks.gather_objects(own) for way in ways})
    if len(there) > 1:
        raise ValueError(f"{' and '.join(there)} are given, for different rows; allowed is one of them for the rows of all ranks")
    if there == [f"qid{suffix}"]:
        return _numbers_of_labels(ranks, f"qid{suffix}", told, [queries.checked_labels(suffix) for queries in told])
    sizes = [queries.checked_sizes(suffix) for queries in told]
    firsts = RowShare.agreed(ranks, [queries.place for queries in told], list(map(len, sizes))).starts
    numbers = [np.repeat(np.arange(first, first + len(of_part)), of_part) for first, of_part in zip(firsts, sizes, strict=True)]
    return np.concatenate([np.zeros(0, np.int64), *numbers])


class ToldQueries(NamedTuple):
    """What `fit` is told of the queries of some rows.

    Attributes
    ----------
    place : int
        Where the rows come among those of all partitions: see `Partition`.
    qid : array-like of shape (n_rows,), or None
        Labels of queries.
    group : array-like of int, or None
        Sizes of queries whose rows follow each other.
    n_rows : int
    """

    place: int
    qid: object
    group: object
    n_rows: int

    def way(self, suffix):
        """The name of the parameter that tells the queries. Raises ValueError unless there is one."""
        if (self.qid is None) == (self.group is None):
            given = "neither qid{0} nor group{0} is" if self.qid is None else "qid{0} and group{0} are both"
            routing = "" if self.qid is not None or suffix else ROUTING
            raise ValueError(
                f"{given.format(suffix)} given; allowed is one of them: qid{suffix} has the label of each row's query, "
                f"group{suffix} the sizes of queries whose rows follow each other{routing}"
            )
        return f"qid{suffix}" if self.group is None else f"group{suffix}"

    def checked_labels(self, suffix):
        """`qid`: ndarray of shape (n_rows,). Raises ValueError unless it has labels of the rows."""
        labels = _one_column(f"qid{suffix}", self.qid)
        if len(labels) != self.n_rows:
            raise ValueError(
                f"qid{suffix} has {len(labels)} entries, and X{suffix} {self.n_rows} rows; allowed is an entry for each row"
            )
        if len(labels) and labels.dtype.kind == "c":
            raise ValueError(f"qid{suffix} holds {labels[0]} in row 0; allowed are labels of queries: whole numbers or text")
        return labels

    def checked_sizes(self, suffix):
        """`group`: ndarray of int64. Raises ValueError unless these are sizes that add up to the number of rows."""
        sizes = _one_column(f"group{suffix}", self.group)
        wrong = sizes.dtype.kind not in "iu" if len(sizes) else False
        if wrong and sizes.dtype.kind == "f" and (sizes == np.floor(sizes)).all():
            sizes, wrong = sizes.astype(np.int64), False
        if wrong or (sizes < 1).any():
            first = sizes.tolist()[0] if wrong else sizes[sizes < 1].tolist()[0]
            raise ValueError(f"group{suffix} holds {first!r}; allowed are integers from 1 on, the numbers of rows of queries")
        if int(sizes.sum()) != self.n_rows:
            raise ValueError(
                f"group{suffix} adds up to {int(sizes.sum())}, and X{suffix} has {self.n_rows} rows; allowed is one number"
            )
        return sizes.astype(np.int64)


def _one_column(name, given):
    array = given_values(name, given)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} has the shape {array.shape}; allowed are arrays of one dimension")
    return array


def _numbers_of_labels(ranks, name, told, parts):
    """The number of each own row's query, given the labels of the rows of each partition. A collective."""
    labels, numbers = np.zeros(0, np.int64), np.zeros(0, np.int64)
    there = [part for part in parts if len(part)]
    if there:
        labels, numbers = unique_labels(name, join_labels(name, there))
    of_all, numbers = common_labels(ranks, name, labels, numbers.astype(np.int64, copy=False))
    held = [len(labels)]
    if len(there) > 1:
        held = [np.unique(part) for part in np.split(numbers, np.cumsum(list(map(len, parts)))[:-1])]
        held = list(map(len, held))
    if ranks.total(sum(held)) > len(of_all):
        _refuse_divided_query(ranks, name, of_all, numbers, told)
    return numbers


def _refuse_divided_query(ranks, name, labels, numbers, told):
    """Raise the ValueError of the first query that has rows in several partitions. A collective.

    labels : ndarray
        Of all queries.
    numbers : ndarray
        The number of each own row's query.
    """
    place = np.repeat([queries.place for queries in told], [queries.n_rows for queries in told])
    pairs = np.concatenate(ranks.gather(np.unique(np.column_stack([numbers, place]), axis=0)))
    pairs = pairs[np.lexsort([pairs[:, 1], pairs[:, 0]])]
    second = int(np.flatnonzero(pairs[1:, 0] == pairs[:-1, 0])[0]) + 1
    query, first, other = labels[pairs[second, 0]], *pairs[second - 1 : second + 1, 1].tolist()
    places = ranks.gather_objects([queries.place for queries in told])
    where = ("on", "rank") if places == [[rank] for rank in range(ranks.size)] else ("in", "partition")
    raise ValueError(
        f"{name}: rows of the query {query.item() if isinstance(query, np.generic) else query!r} lie {' '.join(where)} {first} "
        f"and {' '.join(where)} {other}; allowed are queries all of whose rows lie {where[0]} one {where[1]}"
    )


def metric_of(scoring, allowed=f'"loss", {METRICS}'):
    """(the name of a metric, how many rows of a query count or None), by a value of `scoring`.

    Raises
    ------
    ValueError
        If it is none; it says what is `allowed`.
    """
    found = METRIC.fullmatch(scoring) if isinstance(scoring, str) else None
    if found is None:
        raise ValueError(f"scoring={scoring!r}; allowed for ranking are {allowed}")
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
    ranks : Communicator, default=ALONE
        Who else has queries, whose mean this is too. Making it, and calling it, are collectives.
    what : str
        What asks for the metric, for errors.

    Raises
    ------
    ValueError
        If grades have no gains, where these are needed.

    Attributes
    ----------
    total_weight : Fraction
        Of all queries.
    """

    def __init__(self, metric, k, y, weight, queries, gains=GAINS, n_threads=1, ranks=ALONE, what="NDCG"):
        if metric == "ndcg":
            check_grades(y, gains, what, "other grades have no gains" if what == "NDCG" else 'scoring="loss" takes any')
        self._given, self._n_threads, self._ranks = (metric, y, GroupedRows(queries), k, gains), n_threads, ranks
        sizes = np.bincount(queries)
        self._there = sizes > 0
        weights = sizes if weight is None else np.bincount(queries, weight)
        self._weight = np.ones(self._there.sum()) if weight is None else weights[self._there] / sizes[self._there]
        self.total_weight = self._sum(self._weight)

    def __call__(self, sums):
        """The score of rows, given their sums, of shape (n_rows, 1), to which a constant may be added."""
        return float(self.total_score(sums) / self.total_weight)

    def total_score(self, sums):
        """The sum of the scores of queries, times their weights: Fraction."""
        metric, y, rows, k, gains = self._given
        scores = scores_of_groups(metric, y, np.array(sums[:, 0]), rows, k, gains, self._n_threads)[self._there]
        return self._sum(scores * self._weight)

    def _sum(self, own):
        """The exact sum of what the queries of all ranks have: Fraction."""
        return total_of(self._ranks.sum(add_up(own)))


def check_k(k):
    """Raise ValueError unless k is a number of rows, or None."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, Integral) or k < 1):
        raise ValueError(f"k={k!r}; allowed are integers from 1 on, and None")
