"""What the ranks of a fit must agree upon before they grow trees: what is asked of them, and what their columns and classes are.

A *partition* is what a rank is given of X, y and the weights in one piece, with the *place* that its rows have among those of all
partitions. An ordinary fit is one partition on one rank, and needs no agreement.

All functions but those of `Partition` are collectives: every rank calls them, and what they raise they raise on every rank.
"""

import math
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from numbers import Integral
from types import FunctionType
from typing import NamedTuple

import numpy as np

from dforest.config import on_host
from dforest.core.forest.digest import digest_of
from dforest.core.sparse_rows import SparseRows
from dforest.estimators.data.encoder import CATEGORICAL, KINDS
from dforest.estimators.data.features import Features
from dforest.estimators.data.labels import sorted_labels
from dforest.estimators.data.tables import read_table
from dforest.estimators.subclasses import every_parameter


class Partition(NamedTuple):
    """Rows that a fit is given in one piece.

    Attributes
    ----------
    place : int
        Where the rows come among those of all partitions: partitions are put in the order of these numbers, and those of equal
        number in the order of ranks.
    X, y, sample_weight, groups, offset : array-like
        As for `fit`; estimators have `groups` or `offset`. Of estimators that are told more of rows, such as their treatments,
        `y` is a dict of all of this, by name.
    group_sizes : array-like
        Of ranking, in place of `groups`: see `NAMES_OF_RANKING`.
    """

    place: int
    X: object
    y: object = None
    sample_weight: object = None
    groups: object = None
    offset: object = None
    group_sizes: object = None

    @classmethod
    def of(cls, place, given):
        """The partition at a place, of which `given` has what `fit` takes, by name."""
        fields = {_FIELDS.get(name, name): value for name, value in given.items()}
        beside = {name: fields.pop(name) for name in list(fields) if name not in cls._fields}
        return cls(place, **(fields | {"y": {"y": fields.get("y"), **beside}} if beside else fields))

    def read(self):
        """This partition with X as a `Table`, and arrays of a device copied to the host."""
        place, X, *arrays = self
        return Partition(place, read_table(X), *map(on_host, arrays))


NAMES_OF_RANKING = {"groups": "qid", "group_sizes": "group"}  # by what a `Partition` calls them, arguments of `fit`
_FIELDS = {name: field for field, name in NAMES_OF_RANKING.items()}


def digest_of_rows(ranks, parts, numbers=None):
    """A digest of what training rows have, which depends neither on who holds which rows nor on the machine: str.

    Each number but 0, as a word, is mixed with its place among the numbers of all rows, and what is found is added up. So zeros
    that a sparse matrix does not store count like those of an array, and -0.0 like 0.0. The digest tells data apart that differ
    by chance, not those that somebody has made to deceive it. A collective.

    Parameters
    ----------
    ranks : Communicator
    parts : list of (ndarray of shape (n_rows of the part, ...), or SparseRows)
        What this rank's rows have, one part below the other. Numbers of 1, 2, 4 or 8 bytes; of one shape, but for its first
        number, and of one type in all parts of all ranks that have rows.
    numbers : ndarray of shape (n_own_rows,), dtype int64, optional
        The numbers of this rank's rows among those of all ranks. None means that these are all rows, in their order.

    Examples
    --------
    >>> from dforest.spmd.communicator import ALONE
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> digest_of_rows(ALONE, [X]) == digest_of_rows(ALONE, [X[::-1]], np.array([2, 1, 0]))
    True
    """
    n_before, total = 0, np.zeros(1, np.uint64)
    for part in parts:
        for first in range(0, len(part), _ROWS_AT_A_TIME):
            some = part[first : first + _ROWS_AT_A_TIME]
            own = slice(n_before + first, n_before + first + len(some))
            values, places = _placed(some, np.arange(own.start, own.stop) if numbers is None else numbers[own])
            words = values.view(f"u{values.itemsize}").astype(np.uint64)
            found = _mixed(words ^ _mixed(places * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)))
            total += (found * (values != 0)).sum()
        n_before += len(part)
    stated = next(((part.dtype.str, part.shape[1:]) for part in parts if len(part)), None)
    stated = next((of_rank for of_rank in ranks.gather_objects(stated) if of_rank is not None), None)
    what = stated, ranks.total(n_before), int(ranks.sum(total)[0])
    return sha256(repr(what).encode()).hexdigest()[:32]


def _placed(rows, numbers):
    """(what is stored of rows, the place of each value among those of all rows, as uint64), given the numbers of the rows."""
    width = math.prod(rows.shape[1:])
    if isinstance(rows, SparseRows):
        values, columns, starts = rows.matrix_arrays()
        numbers = np.repeat(numbers, np.diff(starts))
    else:
        values, columns = np.ascontiguousarray(rows).reshape(len(rows), width), np.arange(width)
        numbers = numbers[:, None]
    return values, numbers.astype(np.uint64) * np.uint64(width) + columns.astype(np.uint64)


_ROWS_AT_A_TIME = 1 << 14


def _mixed(words):
    """Each of some words of 64 bits as another one, in which each bit depends on all: the end of SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def check_alike(ranks, estimator, partitions, forest):
    """Raise ValueError unless all ranks ask for the same forest, of columns that are alike; of one partition nothing is asked.

    Parameters
    ----------
    ranks : Communicator
    estimator : TreeEstimator
    partitions : list of Partition
        Read.
    forest : Forest or None
        That there is already.
    """
    if ranks.size == 1 and len(partitions) == 1:
        return
    stated = {"the version of dforest": version("dforest"), "the class of the estimator": type(estimator).__name__}
    for name, value in every_parameter(estimator, deep=True).items():
        if name not in _OWN_PARAMETERS:
            stated[name] = comparable(value)
    if isinstance(estimator.random_state, Integral):
        stated["random_state"] = int(estimator.random_state)
    stated["the digest of the forest that there is"] = None if forest is None else digest_of(forest)
    for partition in partitions:
        names = partition.X.names
        _state(stated, "the number of columns of X", partition.X.n_columns)
        _state(stated, "the names of the columns of X", None if names is None else list(map(str, names)))
        _state(stated, "whether there is sample_weight", partition.sample_weight is not None)
        has_groups = partition.groups is not None or partition.group_sizes is not None
        _state(stated, "whether there are groups", has_groups)
        _state(stated, "whether there is an offset", partition.offset is not None)
    everywhere = ranks.gather_objects(stated)
    known = {}
    for rank, said in enumerate(everywhere):
        for what, value in said.items():
            there, first = known.setdefault(what, (value, rank))
            if there != value:
                raise ValueError(f"{what} is {there} on rank {first}, but {value} on rank {rank}; allowed is one for all ranks")


# Parameters that each rank may have as it likes: where and how it works; and where seeds come from, unless that is a number, as
# the seed of rank 0 is taken.
_OWN_PARAMETERS = ("n_jobs", "verbose", "device", "random_state")


def _state(stated, what, value):
    if stated.setdefault(what, value) != value:
        raise ValueError(f"{what} is {stated[what]} in one partition, but {value} in another; allowed is one for all partitions")


def comparable(value):
    """What is compared of the value of a parameter: numbers, text, None, and lists of these.

    Of an object that does not say what it is, it is the name of its class.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return sorted([repr(key), comparable(number)] for key, number in value.items())
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [comparable(one) for one in value]
    if isinstance(value, set | frozenset):  # whose order may differ from process to process
        return sorted((comparable(one) for one in value), key=repr)
    if isinstance(value, FunctionType):  # whose repr has an address
        return f"{value.__module__}.{value.__qualname__}"
    if type(value).__repr__ is object.__repr__:
        return f"{type(value).__module__}.{type(value).__qualname__}"
    return value if isinstance(value, str | int | float | None) else repr(value)


def common_features(ranks, found, tables):
    """What the columns of X are, given what they are in each partition of this rank: `Features` with the labels of all rows.

    A partition in which a column has no value, such as one of missing numbers where others have labels, does not count for it.

    Parameters
    ----------
    ranks : Communicator
    found : list of Features
        Of each partition.
    tables : list of Table
        X of each partition.

    Raises
    ------
    ValueError
        If a column is of another kind in another partition, or the levels of an ordinal column have another order.
    """
    if ranks.size == 1 and len(found) == 1:
        return found[0]
    everywhere = [features for of_rank in ranks.gather_objects(found) for features in of_rank if len(features.kinds)]
    if not everywhere:
        return Features([], [])
    n, names = len(everywhere[0].kinds), everywhere[0].names
    open_to = [j for j in range(n) if len({(features.kinds[j], features.is_encoded(j)) for features in everywhere}) > 1]
    silent = ranks.gather_objects([{j for j in open_to if table.says_nothing(j)} for table in tables if table.n_columns])
    silent = [columns for of_rank in silent for columns in of_rank]
    kinds, categories = [], []
    for j in range(n):
        first, *others = [one for one, columns in zip(everywhere, silent, strict=True) if j not in columns] or everywhere
        for features in others:
            if features.kinds[j] != first.kinds[j]:
                both = " in one partition, but ".join(KINDS[f.kinds[j]] for f in (first, features))
                raise ValueError(f"{first.title(j)} is {both} in another; allowed is one kind of column for all rows")
        labels, title = [features.categories[j] for features in (first, *others)], first.title(j)
        kinds.append(first.kinds[j])
        categories.append((_all_categories if first.kinds[j] == CATEGORICAL else _one_order)(labels, title))
    return Features(kinds, categories, names)


def _all_categories(arrays, title):
    """The labels of a categorical column in ascending order."""
    there = [array for array in arrays if len(array)] or arrays[:1]
    if all(array.dtype.kind in "biuf" for array in there):
        return np.unique(np.concatenate(there))
    return sorted_labels([label for array in there for label in array.tolist()], title)


def _one_order(levels, title):
    """The declared levels of an ordinal column, which are the same in all partitions; None for numbers."""
    declared = [None if array is None else array.tolist() for array in levels]
    for other in declared:
        if other != declared[0]:
            raise ValueError(
                f"{title} has the levels {declared[0]} in one partition, but {other} in another; allowed is one order"
            )
    return levels[0]


def common_floats(ranks, parts):
    """The parts of X as arrays of one type: float32 if all rows of all ranks have that type, or else float64."""
    if ranks.size == 1 and len(parts) == 1:
        return parts
    is_wide = ranks.any(any(part.dtype == np.float64 and len(part) for part in parts))
    return [part.astype(np.float64 if is_wide else np.float32, copy=False) for part in parts]


def error_of_types(name, labels):
    """The ValueError to raise where labels of an argument are not of one type; no collective."""
    types = sorted({type(label).__name__ for label in labels})
    return ValueError(f"{name} holds labels of the types {', '.join(types)}; allowed are labels of one type")


def join_labels(name, arrays):
    """The labels of several arrays, one after another; no collective.

    Parameters
    ----------
    name : str
        Of the argument that holds them.
    arrays : list of ndarray
        At least one; all of them text, or all numbers, or all of another sort.

    Returns
    -------
    ndarray
        The array itself if it is the only one.

    Raises
    ------
    ValueError
        If labels of different types would have to become those of one type, or integers might be rounded.
    """
    if len({_SORTS.get(array.dtype.kind) for array in arrays}) > 1:
        raise error_of_types(name, [label for array in arrays for label in array[:1].tolist()])
    if len(arrays) == 1:
        return arrays[0]
    joined = np.concatenate(arrays)
    if joined.dtype.kind == "f":
        for array in arrays:
            large = np.abs(array.astype(joined.dtype)) >= 2**53 if array.dtype.kind in "iu" else np.zeros(0, bool)
            if large.any():
                raise ValueError(
                    f"{name} holds the integer {array[large][0]}, and in other rows numbers of another type; as integers from "
                    "2**53 on would be rounded, allowed are labels of one type"
                )
    return joined


_SORTS = {"U": "text", "O": "text", "S": "bytes", "M": "times", "m": "durations"}  # by kind of dtype; others are numbers


def unique_labels(name, labels):
    """(different labels in ascending order, the number of each label among these); no collective.

    Raises
    ------
    ValueError
        If the labels have no order.
    """
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:
        raise error_of_types(name, labels.tolist()) from None


def common_labels(ranks, name, labels, numbers):
    """The labels of all ranks in ascending order, and each row's number among them, given those of this rank's rows.

    Parameters
    ----------
    ranks : Communicator
    name : str
        Of the argument that holds them.
    labels : ndarray of shape (n_own_labels,)
        Different ones, ascending; empty if this rank has no rows.
    numbers : ndarray of shape (n_rows,)
        Integers; what is returned has their type.

    Raises
    ------
    ValueError
        If the ranks' labels have no common order.
    """
    if ranks.size == 1:
        return labels, numbers
    there = [other for other in ranks.gather_objects(labels) if len(other)]
    everything, _ = unique_labels(name, join_labels(name, there))
    if len(numbers) == 0:
        return everything, numbers
    return everything, np.searchsorted(everything, labels).astype(numbers.dtype)[numbers]
