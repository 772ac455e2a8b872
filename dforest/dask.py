"""Forests that are grown on the workers of a Dask cluster: no row leaves its worker, and the forest is that of one process.

The estimators of this module have the parameters of those of `dforest`, and their method `fit` takes Dask collections. The
workers that have partitions grow the forest together; each of them is a *rank* (see `dforest.spmd`). The order of the rows is
that of the partitions, and the forest depends on this order alone, not on which worker has which partitions. With
``warm_start=True``, other workers than before may add trees.

A *partition* is a block of rows of a dask array, a partition of a dask dataframe, or what a delayed value stands for.
"""

import functools
import inspect
from copy import copy

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

import dforest
from dforest.config import config_context
from dforest.errors import RankError
from dforest.estimators.data.agreement import Partition, digest_of
from dforest.extras import install_command

try:
    import dask.array as da
    from dask import delayed
    from dask.delayed import Delayed
    from distributed import default_client, get_worker, wait
except ImportError as error:
    raise ImportError(f"dforest.dask needs Dask; install it: {install_command('dask')}") from error

from dforest.spmd.workers import run_on_workers, wait_for

__all__ = ["ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"]

# What a fit finds out of each row, which stays with the workers.
_OF_ROWS = ("oob_error_per_observation_", "oob_decision_function_", "oob_prediction_")


def _in_memory(method):
    """A method of the local estimators that raises TypeError if it is given a collection of Dask."""

    @functools.wraps(method)
    def checked(self, *args, **kwargs):
        for name, given in inspect.signature(method).bind_partial(self, *args, **kwargs).arguments.items():
            if _is_of_dask(given):
                raise TypeError(
                    f"{name} is of type {type(given).__name__}; {method.__name__} takes rows in memory: compute some rows "
                    f"first, or call to_local().{method.__name__} for each partition. predict and apply are lazy"
                )
        return method(self, *args, **kwargs)

    if not method.__module__.startswith("dforest."):  # whose text refers to pages of its own library
        checked.__doc__ = (
            f"`{method.__name__}` of the estimator of this name in `dforest`, for rows in memory.\n\n"
            "It raises TypeError if it is given a collection of Dask, whose rows would all be gathered here."
        )
    return checked


class _OnWorkers:
    """What makes a forest fit on, and predict for, the workers of a Dask cluster."""

    def __init_subclass__(cls, **kwargs):
        """Have methods of the local estimators that take rows refuse Dask's collections, which they would gather here."""
        super().__init_subclass__(**kwargs)
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            is_lazy = any(name in vars(kind) for kind in cls.__mro__ if kind.__module__ == __name__)
            if not name.startswith("_") and not is_lazy and "X" in inspect.signature(method).parameters:
                setattr(cls, name, _in_memory(method))

    def fit(self, X, y, sample_weight=None, groups=None, client=None):
        """Grow the trees of the forest on the workers that have the training rows.

        Parameters
        ----------
        X : dask array of shape (n_rows, n_features), dask dataframe, or list of delayed arrays or dataframes
            Training rows, as for the estimator of this name in `dforest`. Sizes of partitions need not be known, and partitions
            may differ in the categories of a column.
        y : dask array of shape (n_rows,), dask series, or list of delayed arrays
            Targets, in the same number of partitions as X, with the same numbers of rows.
        sample_weight, groups : dask array of shape (n_rows,), dask series, or list of delayed arrays, optional
            Weights and groups of the rows, in the same number of partitions as X, with the same numbers of rows.
        client : distributed.Client, optional
            Client of the cluster, not an asynchronous one. None means the client that was made last.

        Returns
        -------
        self
            The fitted forest, with the attributes of an ordinary fit to all rows, except for out-of-bag attributes that have an
            entry for each row. `fit_report_` describes what the first worker did.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the message names the worker by its rank. The estimator is then left
            as it was, as after any other error.
        RankError
            Within ten seconds, if a worker leaves the cluster.

        Notes
        -----
        Partitions are persisted during the fit. If `n_jobs` is None, each worker uses as many threads as it has. Workers can do
        other tasks at the same time.
        """
        client = client or default_client()
        given = {"X": X, "y": y, "sample_weight": sample_weight, "groups": groups}
        partitions = _partitions({name: collection for name, collection in given.items() if collection is not None}, client)
        addresses, held = _by_worker(partitions, client)
        model = self if self.warm_start else clone(self)
        send = client.scatter([model], workers=addresses, broadcast=True, hash=False, asynchronous=True)
        [model] = wait_for(client, addresses, send)
        arguments = [(model, *(partitions[place] for place in places)) for places in held]
        found = run_on_workers(client, addresses, _fit, arguments)
        (fitted, digest), *others = found
        for rank, (_, other) in enumerate(others, start=1):
            if other != digest:
                raise RankError(f"rank {rank} has grown another forest than rank 0; this is a mistake in dforest")
        if isinstance(self.random_state, np.random.RandomState):  # it goes on as if it had been used here
            self.random_state.set_state(fitted.random_state.get_state())
        self.__dict__ = fitted.__dict__ | self.get_params(deep=False)
        return self

    def predict(self, X):
        """Predict the class or the target of each row.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed arrays or dataframes, or array-like
            Rows with the columns of the training data.

        Returns
        -------
        dask array of shape (n_rows,), list of delayed arrays, or ndarray of shape (n_rows,)
            Predictions as the estimator of this name in `dforest` makes them. They are lazy for Dask collections, and an
            ndarray for other X.
        """
        return self._lazy("predict", X, self._kind_of_targets())

    def apply(self, X):
        """Return the number of the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed arrays or dataframes, or array-like
            Rows with the columns of the training data.

        Returns
        -------
        dask array of shape (n_rows, n_estimators), list of delayed arrays, or ndarray of shape (n_rows, n_estimators)
            Numbers of nodes in their tree, dtype int64. They are lazy for Dask collections, and an ndarray for other X.
        """
        check_is_fitted(self)
        return self._lazy("apply", X, np.dtype(np.int64), self.n_estimators_)

    def to_local(self):
        """Return an estimator of `dforest` with the parameters of this one and, if it is fitted, with its trees."""
        kind = next(kind for kind in type(self).__mro__ if not issubclass(kind, _OnWorkers) and hasattr(kind, "fit"))
        local = kind.__new__(kind)
        local.__dict__.update(self.__dict__)
        return local

    def _kind_of_targets(self):
        check_is_fitted(self)
        return self.classes_.dtype if is_classifier(self) else np.dtype(np.float64)

    def _lazy(self, method, X, kind, n_columns=None):
        """What a method of the local estimator returns for each partition, of a type and with as many columns as given."""
        check_is_fitted(self)
        if not _is_of_dask(X):
            return getattr(super(), method)(X)
        model = delayed(self.to_local(), pure=False, traverse=False)
        meta = np.empty((0,) if n_columns is None else (0, n_columns), kind)
        if isinstance(X, list | tuple):
            return [delayed(_predict)(part, model, method, meta) for part in X]
        if isinstance(X, da.Array):
            X = _whole_rows(X, "X")
            chunks = (X.chunks[0],) if n_columns is None else (X.chunks[0], (n_columns,))
            drop = {"drop_axis": 1} if n_columns is None else {}
            return X.map_blocks(_predict, model=model, method=method, empty=meta, meta=meta, dtype=kind, chunks=chunks, **drop)
        return X.map_partitions(_predict, model, method, meta, meta=meta)


class _ClassesOnWorkers(_OnWorkers):
    """What classifiers have besides."""

    def predict_proba(self, X):
        """Predict the probability of each class for each row.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed arrays or dataframes, or array-like
            Rows with the columns of the training data.

        Returns
        -------
        dask array of shape (n_rows, n_classes), list of delayed arrays, or ndarray of shape (n_rows, n_classes)
            Probabilities, with columns in the order of `classes_`. They are lazy for Dask collections, and an ndarray for
            other X.
        """
        check_is_fitted(self)
        return self._lazy("predict_proba", X, np.dtype(np.float64), len(self.classes_))

    def predict_log_proba(self, X):
        """Predict the natural logarithm of the probability of each class for each row: see `predict_proba`."""
        check_is_fitted(self)
        return self._lazy("predict_log_proba", X, np.dtype(np.float64), len(self.classes_))


class RandomForestClassifier(_ClassesOnWorkers, dforest.RandomForestClassifier):
    """`dforest.RandomForestClassifier` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.RandomForestClassifier`, and `to_local` returns such an estimator.
    """


class RandomForestRegressor(_OnWorkers, dforest.RandomForestRegressor):
    """`dforest.RandomForestRegressor` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.RandomForestRegressor`, and `to_local` returns such an estimator.
    """


class ExtraTreesClassifier(_ClassesOnWorkers, dforest.ExtraTreesClassifier):
    """`dforest.ExtraTreesClassifier` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.ExtraTreesClassifier`, and `to_local` returns such an estimator.
    """


class ExtraTreesRegressor(_OnWorkers, dforest.ExtraTreesRegressor):
    """`dforest.ExtraTreesRegressor` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.ExtraTreesRegressor`, and `to_local` returns such an estimator.
    """


def _is_of_dask(given):
    is_list = isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(part, Delayed) for part in given)
    return is_list or isinstance(given, da.Array) or (hasattr(given, "map_partitions") and hasattr(given, "to_delayed"))


def _whole_rows(array, name):
    """A dask array none of whose rows is cut."""
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has {array.ndim} dimensions; allowed are 1 and 2")
    return array if array.ndim == 1 or array.numblocks[1] == 1 else array.rechunk({1: -1})


def _partitions(given, client):
    """The partitions as futures of `Partition`, which have the partition's part of each collection, and lie on one worker each.

    Parameters
    ----------
    given : dict
        By the name that a `Partition` has for them, collections of Dask.
    """
    for name, collection in given.items():
        if not _is_of_dask(collection):
            raise TypeError(
                f"{name} is of type {type(collection).__name__}; allowed are dask arrays and dataframes, and lists of delayed "
                f"partitions. To fit data in memory, use the estimators of dforest instead of those of dforest.dask"
            )
    collections = []
    for name, collection in given.items():
        if isinstance(collection, da.Array):
            collection = _whole_rows(collection, name)
            rows = collections[0].chunks[0] if collections and isinstance(collections[0], da.Array) else collection.chunks[0]
            if collection.chunks[0] != rows and sum(collection.chunks[0]) == sum(rows):  # so all sizes are known
                collection = collection.rechunk({0: rows})
        collections.append(collection)
    stored = client.persist([part for collection in collections for part in _as_list(collection)])  # kept until `wait` returns
    parts, rest = [], iter(stored)
    for collection in collections:
        own = [next(rest) for _ in _as_list(collection)]
        parts.append(own if _as_list(collection) is collection else np.ravel(own[0].to_delayed()).tolist())
    numbers = {name: len(part) for name, part in zip(given, parts, strict=True)}
    if len(set(numbers.values())) > 1:
        said = ", ".join(f"{name} has {number}" for name, number in numbers.items())
        raise ValueError(f"{said} partitions; allowed is the same number for all")
    together = delayed(_together, pure=False)
    futures = client.compute([together(place, list(given), *part) for place, part in enumerate(zip(*parts, strict=True))])
    wait(futures)
    for future in futures:
        if future.status != "finished":
            future.result()
    del stored
    return futures


def _as_list(collection):
    return collection if isinstance(collection, list | tuple) else [collection]


def _together(place, names, *parts):
    return Partition(place, **dict(zip(names, parts, strict=True)))


def _by_worker(partitions, client):
    """The addresses of workers, and the places of the partitions that each of them has."""
    held = {}
    who_has = client.who_has(partitions)
    for place, partition in enumerate(partitions):
        where = who_has.get(partition.key)
        if not where:
            raise RankError(f"partition {place} of the data is no longer on any worker")
        held.setdefault(min(where), []).append(place)
    return sorted(held), [held[address] for address in sorted(held)]


def _fit(ranks, model, *partitions):
    """What each rank does: fit, and return a digest of the forest, and on rank 0 the estimator."""
    model = copy(model)  # the worker keeps what it was given
    n_jobs = model.n_jobs
    if n_jobs is None:
        model.n_jobs = get_worker().state.nthreads
    with ranks.together() as ranks, config_context(communicator=ranks):
        n_batches = len(model._batches) if model.warm_start and hasattr(model, "forest_") else 0
        model._fit_partitions(lambda rank: list(partitions))
        if len(model._batches) > n_batches:
            *before, batch = model._batches
            lengths = [_n_rows(partition.X) for partition in partitions]
            model._batches = [*before, _of_all_rows(ranks, batch, [partition.place for partition in partitions], lengths)]
    model.n_jobs = n_jobs
    for name in _OF_ROWS:
        model.__dict__.pop(name, None)
    return model if ranks.rank == 0 else None, digest_of(model.forest_)


def _n_rows(X):
    return len(X) if hasattr(X, "__len__") else X.shape[0]


def _of_all_rows(ranks, batch, places, lengths):
    """What `_batches` tells of trees grown by this rank and others, as one process with all rows would tell it. A collective.

    Parameters
    ----------
    places, lengths : list of int
        Of this rank's partitions: where they come among all, and how many rows they have.
    """
    kept = np.ones(batch.n_rows, bool) if batch.kept is None else np.unpackbits(batch.kept, count=batch.n_rows).view(bool)
    parts = np.split(kept, np.cumsum(lengths)[:-1])
    packed = [None if part.all() else np.packbits(part) for part in parts]
    everywhere = [part for of_rank in ranks.gather_objects(list(zip(places, lengths, packed, strict=True))) for part in of_rank]
    kept = None
    if any(packed is not None for _, _, packed in everywhere):
        parts = [
            np.ones(length, bool) if packed is None else np.unpackbits(packed, count=length).view(bool)
            for _, length, packed in sorted(everywhere, key=lambda part: part[0])
        ]
        kept = np.packbits(np.concatenate(parts))
    return batch._replace(n_rows=sum(length for _, length, _ in everywhere), kept=kept, share=None)


def _predict(X, model, method, empty):
    return getattr(model, method)(X) if _n_rows(X) else empty
