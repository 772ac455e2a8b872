"""What methods of estimators answer for collections of Dask, given the methods for rows in memory.

A method that answers row by row does so lazily: each partition is answered on a worker. `score` adds up sums of partitions. Any
other method raises TypeError, rather than to gather all rows in this process.
"""

import inspect
import warnings
from copy import copy
from functools import partial, wraps
from operator import attrgetter, itemgetter

import dask.array as da
import numpy as np
from dask import compute, delayed
from sklearn.base import is_classifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from dforest.estimators.data.given import given_numbers, given_values
from dforest.estimators.kinds import DistributionTrees
from dforest.spmd.collections import alike, check_numbers, is_of_dask, kind_of, n_rows_of, side_by_side
from dforest.warning import warn

# By method whose answer for a row depends on no other row: what finds the array in its answer for rows in memory, and what there
# is to be said of the lazy array.
_ROW_BY_ROW = dict.fromkeys(
    [
        "apply",
        "decision_function",
        "forest_weights",
        "predict",
        "predict_interval",
        "predict_log_proba",
        "predict_outcome",
        "predict_proba",
        "predict_quantiles",
        "proximity",
        "score_samples",
    ],
    (None, ""),
)
_ROW_BY_ROW["decision_path"] = itemgetter(0), " It stands for `indicator`, and its blocks are sparse matrices."
_ROW_BY_ROW["shap_values"] = _ROW_BY_ROW["shap_interaction_values"] = (
    attrgetter("values"),
    " It holds `values`. All else, such as `base_values`, is in the object that the method returns for any rows in memory.",
)
_ROWS = "X", "offset"  # their arguments that have an entry for each row
_NOTE = (
    "For collections of Dask the answer is lazy: it is a dask array for a dask array or dataframe, and a list of delayed arrays "
    "for a list of delayed rows."
)
_SCORE = """Score the predictions for some rows: by accuracy, by the coefficient of determination, or by the mean log density.

If all that is given are collections of Dask, each partition is predicted and compared on a worker, and only sums are sent.
Accuracy without weights equals that of the estimator of this name in `dforest`; otherwise the last digits may differ, as sums
are rounded."""
_SCORE_OF_RANKING = """Score the rankings of queries by the mean of NDCG, the normalized discounted cumulative gain.

If X is a collection of Dask, each partition is predicted and scored on a worker, and only sums and the labels of queries are
sent. `y`, `sample_weight` and `qid` are collections then, `k` is a number or None, and all rows of a query lie in one partition.
The score is that of `dforest.HistGradientBoostingRanker`, to the bit."""


def for_collections(method):
    """The method of an estimator of `dforest.dask` that answers, or refuses, collections of Dask.

    Parameters
    ----------
    method : function
        The method of the estimator of this name in `dforest`, with a parameter X.
    """
    name = method.__name__
    if name == "score":
        if "qid" in inspect.signature(method).parameters:
            return _also_for_collections(method, _score_rankings, _SCORE_OF_RANKING)
        return _also_for_collections(method, _score, _SCORE)
    if name not in _ROW_BY_ROW:
        return _in_memory(method)
    summary, _, rest = inspect.getdoc(method).partition("\n\n")
    note = _NOTE + _ROW_BY_ROW[name][1]
    if "offset" in inspect.signature(method).parameters:
        note += " An `offset` is then a collection of the same kind."
    return _also_for_collections(method, _map_rows, f"{summary}\n\n{note}\n\n{rest}")


def _in_memory(method):
    signature, name = inspect.signature(method), method.__name__
    why = f"{name} takes rows in memory: compute some rows first, or call to_local().{name} for each partition"

    @wraps(method)
    def checked(self, *args, **kwargs):
        _check_in_memory(_by_name(signature, (self, *args), kwargs), why)
        return method(self, *args, **kwargs)

    return checked


def _by_name(signature, args, kwargs):
    """Arguments by name, unchecked: the method itself says which it takes."""
    return dict(zip(signature.parameters, args, strict=False)) | kwargs


def _check_in_memory(given, why):
    for name, value in given.items():
        if is_of_dask(value):
            raise TypeError(f"{name} is of type {type(value).__name__}; {why}")


def _also_for_collections(method, answer, doc):
    """A method that takes rows in memory as it does, and collections, too.

    Parameters
    ----------
    method : function
    answer : callable
        What answers for collections, given the local estimator, the name of the method and the arguments by name.
    doc : str
        The description.
    """
    signature = inspect.signature(method)

    @wraps(method)
    def answering(self, *args, **kwargs):
        given = _by_name(signature, (self, *args), kwargs)
        if is_of_dask(given.get("X")):
            check_is_fitted(self)
            given = signature.bind(self, *args, **kwargs).arguments
            del given["self"]
            return answer(self.to_local(), method.__name__, given)
        _check_in_memory(given, f"{method.__name__} takes it in memory if X is in memory: compute it first")
        return method(self, *args, **kwargs)

    answering.__doc__ = doc
    return answering


def _map_rows(model, method, given):
    """The lazy answer of a method in `_ROW_BY_ROW`, given its arguments by name."""
    rows = {name: given.pop(name) for name in _ROWS if given.get(name) is not None}
    _check_in_memory(given, f"{method} takes it in memory: compute it first")
    take, _ = _ROW_BY_ROW[method]
    here = copy(model)
    here.device = None  # it may be one that workers have
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the columns have no names
        whole = getattr(here, method)(np.full((1, model.n_features_in_), np.nan), **given)
    one = whole if take is None else take(whole)
    if isinstance(one, list):
        raise TypeError(
            f"{method} is a list of arrays for several outputs, which is not lazy; call to_local().{method} for each partition"
        )
    answers = _of_partitions(partial(_answer, model, method, take, list(rows), given), rows, one)
    return (answers, *whole[1:]) if isinstance(whole, tuple) else answers


def _answer(model, method, take, names, given, *rows):
    answer = getattr(model, method)(**dict(zip(names, rows, strict=True)), **given)
    return answer if take is None else take(answer)


def _of_partitions(function, rows, one):
    """What a function returns for each partition of collections, which are given by name: a collection like the first of these.

    Parameters
    ----------
    function : callable
    rows : dict
    one : ndarray or sparse matrix
        What it returns for one row.
    """
    collections, kinds = alike(rows), {name: kind_of(collection) for name, collection in rows.items()}
    X, *others = collections
    for name, kind in kinds.items():
        if kind != kinds["X"]:
            raise TypeError(f"X is a {kinds['X']}, but {name} a {kind}; allowed is one kind of collection")
    keywords = {"function": delayed(function, pure=False, traverse=False), "empty": one[:0]}
    if isinstance(X, list | tuple):
        return [delayed(_call)(*parts, **keywords) for parts in side_by_side(rows, collections)]
    check_numbers(rows, [collection.npartitions for collection in collections])
    if not isinstance(X, da.Array):
        found = X.map_partitions(_call, *others, **keywords, meta=one[:0], align_dataframes=False)
        return da.Array(found.dask, found.name, found.chunks, meta=one[:0])  # else blocks pass as dense
    pairs = [part for k, array in enumerate(collections) for part in (array, (0, -1 - k)[: array.ndim])]
    columns = dict(enumerate(one.shape[1:], start=1))
    return da.blockwise(
        _call, (0, *columns), *pairs, **keywords, new_axes=columns, concatenate=True, align_arrays=False, meta=one[:0]
    )


def _call(X, *rows, function, empty):
    return function(X, *rows) if n_rows_of(X) else empty


def _score(model, method, given):
    """The accuracy, R2 or mean log density of the rows of collections, given by name."""
    sums, score = (_sums_of_classes, _accuracy) if is_classifier(model) else (_sums_of_numbers, _r2)
    if isinstance(model, DistributionTrees):
        sums, score = _sums_of_densities, _accuracy
    weight, *columns = (np.stack(column) for column in zip(*_sums_of_partitions(sums, model, given).values(), strict=True))
    _check_weight(weight.sum())
    return score(weight, *columns)


def _sums_of_partitions(sums, model, given):
    """What a function finds of the rows of each partition of collections, given by name: dict by number of the partition.

    Partitions without rows are left out.
    """
    rows = {name: collection for name, collection in given.items() if collection is not None}
    function = delayed(partial(_sums_by_name, sums, model, list(rows)), pure=False, traverse=False)
    parts = [delayed(_call)(*parts, function=function, empty=None) for parts in side_by_side(rows, alike(rows))]
    found = {place: part for place, part in enumerate(compute(*parts)) if part is not None}
    if not found:
        raise ValueError("X has 0 rows; allowed are 1 or more")
    return found


def _sums_by_name(sums, model, names, *rows):
    return sums(model, **dict(zip(names, rows, strict=True)))


def _check_weight(total):
    """Raise ValueError if all rows have no weight together."""
    if not total:
        raise ValueError("sample_weight is 0 in all rows; allowed is one row of positive weight, or more")


def _score_rankings(model, _, given):
    """The mean of NDCG of the queries of collections, given by name."""
    k = given.pop("k", None)
    if given.get("group") is not None or given.get("qid") is None:
        raise TypeError("the queries of collections are told by qid; allowed are qid, and group=None")
    found, known = _sums_of_partitions(partial(_sums_of_queries, k), model, given), {}
    for place, (*_, labels) in found.items():
        for label in labels:
            if known.setdefault(label, place) != place:
                raise ValueError(
                    f"qid: rows of the query {label!r} lie in partition {known[label]} and in partition {place}; allowed are "
                    "queries all of whose rows lie in one partition"
                )
    score, weight = (sum(of_partition[i] for of_partition in found.values()) for i in (0, 1))
    _check_weight(weight)
    return float(score / weight)


def _sums_of_queries(k, model, X, y, qid, sample_weight=None):
    """Of some rows: the sum of the scores of queries, times their weights, the sum of these, and the labels of queries."""
    labels = np.unique(qid).tolist()
    if sample_weight is not None and not np.any(sample_weight):
        return 0, 0, labels
    return *model._sums_of_scores(X, y, sample_weight, qid=qid, k=k), labels


def _sums_of_classes(model, X, y, sample_weight=None):
    """The weights of all rows, and of those whose class is predicted, added up."""
    y, sample_weight = given_values("y", y), given_numbers("sample_weight", sample_weight)
    total = n_rows_of(X) if sample_weight is None else np.sum(sample_weight)
    return total, accuracy_score(y, model.predict(X), sample_weight=sample_weight, normalize=False) if total else 0.0


def _sums_of_densities(model, X, y, sample_weight=None):
    """The weights of all rows, and the logarithms of their densities, added up."""
    y, sample_weight = column_or_1d(given_numbers("y", y)), given_numbers("sample_weight", sample_weight)
    total = n_rows_of(X) if sample_weight is None else np.sum(sample_weight)
    return total, total * model.predict_distribution(X).mean_log_density(y, sample_weight) if total else 0.0


def _accuracy(weight, right):
    return float(right.sum() / weight.sum())


def _sums_of_numbers(model, X, y, sample_weight=None):
    """Of some rows: their weight and number, and by output the mean of y, and the sums of squares about it and of errors."""
    y = check_array(given_numbers("y", y), ensure_2d=False, dtype=np.float64)
    weight = np.ones(len(y)) if sample_weight is None else given_numbers("sample_weight", sample_weight)
    weight = column_or_1d(check_array(weight, ensure_2d=False, dtype=np.float64))
    y, prediction = (numbers.reshape(len(numbers), -1) for numbers in (y, model.predict(X)))
    check_consistent_length(y, prediction, weight)
    total = weight.sum()
    mean = y[0] + (weight @ (y - y[0]) / total if total else 0.0)  # of equal targets it is their value
    return total, len(y), mean, weight @ (y - mean) ** 2, weight @ (y - prediction) ** 2


def _r2(weight, n_rows, mean, spread, error):
    """R2 of rows in several partitions, with special cases as in `sklearn.metrics.r2_score`."""
    if n_rows.sum() < 2:
        warn("R^2 score is not well-defined with less than two samples.", UndefinedMetricWarning)
        return np.nan
    shift = mean - mean[0]
    shift -= weight @ shift / weight.sum()
    spread, error = spread.sum(axis=0) + weight @ shift**2, error.sum(axis=0)
    no_spread = np.where(error == 0, 1.0, 0.0)
    return float(np.mean(np.where(spread == 0, no_spread, 1 - error / np.where(spread == 0, 1.0, spread))))
