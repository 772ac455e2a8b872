"""Forests and boosted trees grown on the workers of a Dask cluster: no row leaves its worker; trees are those of one process.

The estimators of this module have the parameters of those of `dforest`, and their method `fit` takes Dask collections. The
workers that have partitions grow the trees together; each of them is a *rank* (see `dforest.spmd`). The order of the rows is
that of the partitions, and the trees depend on this order alone, not on which worker has which partitions. With
``warm_start=True``, other workers than before may add trees.

A *partition* is a block of rows of a dask array, a partition of a dask dataframe, or what a delayed value stands for.

Methods whose answer for a row depends on no other row, such as `predict`, answer lazily if they are given a collection, `score`
computes on the workers, and all others take rows in memory.
"""

import inspect
from copy import copy

import numpy as np

import dforest
from dforest.config import config_context
from dforest.core.forest.digest import digest_of
from dforest.errors import RankError
from dforest.estimators.data.agreement import Partition
from dforest.estimators.randomness import go_on_as
from dforest.estimators.subclasses import unfitted
from dforest.extras import install_command

try:
    from dask import delayed
    from distributed import default_client, get_worker, wait
except ImportError as error:
    raise ImportError(f"dforest.dask needs Dask; install it: {install_command('dask')}") from error

from dforest.spmd.collections import alike, is_of_dask, n_rows_of, side_by_side
from dforest.spmd.lazy import for_collections
from dforest.spmd.workers import run_on_workers, wait_for

__all__ = [
    "CausalForest",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingDistribution",
    "HistGradientBoostingRanker",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "UpliftForestClassifier",
]

# What a fit finds out of each row, which stays with the workers.
_OF_ROWS = ("oob_error_per_observation_", "oob_decision_function_", "oob_prediction_", "oof_parameters_", "oof_prediction_")


class _OnWorkers:
    """What makes an estimator fit on, and predict for, the workers of a Dask cluster."""

    def __init_subclass__(cls, **kwargs):
        """Have methods of the local estimators that take rows answer for Dask's collections, or refuse to gather these here."""
        super().__init_subclass__(**kwargs)
        if cls.__module__ != __name__:
            return
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_") and name != "fit" and "X" in inspect.signature(method).parameters:
                setattr(cls, name, for_collections(method))

    def _fit_on_workers(self, client, given, to_score=None):
        """Fit to collections of Dask, by the names of arguments of `fit`, or None.

        to_score: of boosted trees, what a `ToScore` is made of, in its order
        """
        client = client or default_client()
        partitions = _partitions({name: collection for name, collection in given.items() if collection is not None}, client)
        addresses, held = _by_worker(partitions, client)
        model = self if self.warm_start else unfitted(self)
        send = client.scatter([model], workers=addresses, broadcast=True, hash=False, asynchronous=True)
        [model] = wait_for(client, addresses, send)
        arguments = [
            (model, to_score if rank == 0 else None, *(partitions[place] for place in places)) for rank, places in enumerate(held)
        ]
        found = run_on_workers(client, addresses, _fit, arguments)
        (fitted, digest), *others = found
        for rank, (_, other) in enumerate(others, start=1):
            if other != digest:
                raise RankError(f"rank {rank} has grown other trees than rank 0; this is a mistake in dforest")
        go_on_as(self.random_state, fitted.random_state)  # as if it had been used here
        self.__dict__ = fitted.__dict__ | self.get_params(deep=False)
        return self

    def to_local(self):
        """Return an estimator of `dforest` with the parameters of this one and, if it is fitted, with its trees."""
        kind = next(kind for kind in type(self).__mro__ if not issubclass(kind, _OnWorkers) and hasattr(kind, "fit"))
        local = kind.__new__(kind)
        local.__dict__.update(self.__dict__)
        return local


class _ForestOnWorkers(_OnWorkers):
    """What makes a forest fit on the workers of a Dask cluster."""

    def fit(self, X, y, sample_weight=None, groups=None, client=None):
        """Grow the trees of the forest on the workers that have the training rows.

        Parameters
        ----------
        X : dask array of shape (n_rows, n_features), dask dataframe, or list of delayed arrays or dataframes
            Training rows, as for the estimator of this name in `dforest`. Sizes of partitions need not be known, and partitions
            may differ in the categories of a column. They may be sparse matrices of SciPy, as blocks of a dask array too.
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
        return self._fit_on_workers(client, {"X": X, "y": y, "sample_weight": sample_weight, "groups": groups})


class _BoostingOnWorkers(_OnWorkers):
    """What makes boosted trees fit on the workers of a Dask cluster."""

    def fit(
        self, X, y, sample_weight=None, *, offset=None, X_val=None, y_val=None, sample_weight_val=None, offset_val=None,
        client=None,
    ):  # fmt: skip
        """Grow trees on the workers that have the training rows, one iteration after another.

        Parameters
        ----------
        X : dask array of shape (n_rows, n_features), dask dataframe, or list of delayed arrays or dataframes
            Training rows, as for the estimator of this name in `dforest`. Sizes of partitions need not be known, and partitions
            may differ in the categories of a column. They may be sparse matrices of SciPy, as blocks of a dask array too.
        y : dask array of shape (n_rows,), dask series, or list of delayed arrays
            Targets, in the same number of partitions as X, with the same numbers of rows.
        sample_weight : dask array of shape (n_rows,), dask series, or list of delayed arrays, optional
            Weights of the rows, in the same number of partitions as X, with the same numbers of rows.
        offset : dask array of shape (n_rows,) or (n_rows, n_classes), dask series or dataframe, or list of delayed, optional
            What raw predictions of the rows begin with, in the same number of partitions as X, with the same numbers of rows.
        X_val, y_val, sample_weight_val, offset_val : array-like, optional
            Validation rows in memory, which the first worker is given, and what belongs to them.
        client : distributed.Client, optional
            Client of the cluster, not an asynchronous one. None means the client that was made last.

        Returns
        -------
        self
            The fitted estimator, with the attributes of an ordinary fit to all rows, except for predictions out of fold, which
            have an entry for each row. `fit_report_` describes what the first worker did.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described, or if it is not supported for rows that several workers have; the
            message names the worker by its rank. The estimator is then left as it was, as after any other error.
        RankError
            Within ten seconds, if a worker leaves the cluster.

        Notes
        -----
        Partitions are persisted during the fit. If `n_jobs` is None, each worker uses as many threads as it has. Workers can do
        other tasks at the same time.
        """
        to_score = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val, "offset_val": offset_val}
        given = {"X": X, "y": y, "sample_weight": sample_weight, "offset": offset}
        return self._fit_on_workers(client, given, _in_memory(to_score))


def _in_memory(to_score):
    """What belongs to validation rows, given by name, as a tuple. Raises TypeError if any of it is a collection."""
    for name, value in to_score.items():
        if is_of_dask(value):
            raise TypeError(f"{name} is of type {type(value).__name__}; allowed are validation rows in memory")
    return tuple(to_score.values())


class RandomForestClassifier(_ForestOnWorkers, dforest.RandomForestClassifier):
    """`dforest.RandomForestClassifier` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.RandomForestClassifier`, and `to_local` returns such an estimator.
    """


class RandomForestRegressor(_ForestOnWorkers, dforest.RandomForestRegressor):
    """`dforest.RandomForestRegressor` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.RandomForestRegressor`, and `to_local` returns such an estimator.
    """


class ExtraTreesClassifier(_ForestOnWorkers, dforest.ExtraTreesClassifier):
    """`dforest.ExtraTreesClassifier` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.ExtraTreesClassifier`, and `to_local` returns such an estimator.
    """


class ExtraTreesRegressor(_ForestOnWorkers, dforest.ExtraTreesRegressor):
    """`dforest.ExtraTreesRegressor` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.ExtraTreesRegressor`, and `to_local` returns such an estimator.
    """


class IsolationForest(_OnWorkers, dforest.IsolationForest):
    """`dforest.IsolationForest` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.IsolationForest`, and `to_local` returns such an estimator.
    """

    def fit(self, X, y=None, sample_weight=None, client=None):
        """Grow the trees of the forest on the workers that have the training rows.

        Parameters
        ----------
        X : dask array of shape (n_rows, n_features), dask dataframe, or list of delayed arrays or dataframes
            Training rows, as for `dforest.IsolationForest`.
        y : object, optional
            Ignored.
        sample_weight : dask array of shape (n_rows,), dask series, or list of delayed arrays, optional
            Weights of the rows, in the same number of partitions as X, with the same numbers of rows.
        client : distributed.Client, optional
            Client of the cluster, not an asynchronous one. None means the client that was made last.

        Returns
        -------
        self
            The fitted forest, with the attributes of an ordinary fit to all rows. `fit_report_` describes what the first worker
            did.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the message names the worker by its rank. The estimator is then left
            as it was, as after any other error.
        RankError
            Within ten seconds, if a worker leaves the cluster.
        """
        return self._fit_on_workers(client, {"X": X, "sample_weight": sample_weight})


class CausalForest(_OnWorkers, dforest.CausalForest):
    """`dforest.CausalForest` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.CausalForest`, and `to_local` returns such an estimator.
    """

    def fit(
        self, X, y, treatment=None, instrument=None, sample_weight=None, groups=None, y_hat=None, w_hat=None, z_hat=None,
        client=None,
    ):  # fmt: skip
        """Grow the trees of the forest on the workers that have the training rows.

        Parameters
        ----------
        X : dask array of shape (n_rows, n_features), dask dataframe, or list of delayed arrays or dataframes
            Training rows, as for `dforest.CausalForest`. Sizes of partitions need not be known, and partitions may differ in the
            categories of a column. They may be sparse matrices of SciPy, as blocks of a dask array too.
        y, treatment, instrument, sample_weight, groups, y_hat, w_hat, z_hat : dask array, series or dataframe, or list of delayed
            What `dforest.CausalForest` is told of the rows, each in the same number of partitions as X, with the same numbers of
            rows. A partition need not have all labels of the treatment; if they are of a categorical type, all partitions have
            the same categories.
        client : distributed.Client, optional
            Client of the cluster, not an asynchronous one. None means the client that was made last.

        Returns
        -------
        self
            The fitted forest, with the attributes of an ordinary fit to all rows. `fit_report_` describes what the first worker
            did.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described, or a model of outcomes or treatments is no forest of dforest; the
            message names the worker by its rank. The estimator is then left as it was, as after any other error.
        RankError
            Within ten seconds, if a worker leaves the cluster.

        Notes
        -----
        Each worker gets all but X of the rows of all workers, and the codes of their columns while trees are grown; with
        ``keep_training_data=True``, also X.
        """
        told = {"y": y, "treatment": treatment, "instrument": instrument, "y_hat": y_hat, "w_hat": w_hat, "z_hat": z_hat}
        return self._fit_on_workers(client, {"X": X, **told, "sample_weight": sample_weight, "groups": groups})


class UpliftForestClassifier(_OnWorkers, dforest.UpliftForestClassifier):
    """`dforest.UpliftForestClassifier` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.UpliftForestClassifier`, and `to_local` returns such an estimator.
    """

    def fit(self, X, y, treatment=None, sample_weight=None, groups=None, client=None):
        """Grow the trees of the forest on the workers that have the training rows.

        Parameters
        ----------
        X : dask array of shape (n_rows, n_features), dask dataframe, or list of delayed arrays or dataframes
            Training rows, as for `dforest.UpliftForestClassifier`. Sizes of partitions need not be known, and partitions may
            differ in the categories of a column. They may be sparse matrices of SciPy, as blocks of a dask array too.
        y, treatment, sample_weight, groups : dask array of shape (n_rows,), dask series, or list of delayed arrays
            What `dforest.UpliftForestClassifier` is told of the rows, each in the same number of partitions as X, with the same
            numbers of rows.
        client : distributed.Client, optional
            Client of the cluster, not an asynchronous one. None means the client that was made last.

        Returns
        -------
        self
            The fitted forest, with the attributes of an ordinary fit to all rows. `fit_report_` describes what the first worker
            did.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the message names the worker by its rank. The estimator is then left
            as it was, as after any other error.
        RankError
            Within ten seconds, if a worker leaves the cluster.

        Notes
        -----
        Each worker gets outcomes and treatments of the rows of all workers, and the codes of their columns while trees are grown.
        """
        told = {"X": X, "y": y, "treatment": treatment, "sample_weight": sample_weight, "groups": groups}
        return self._fit_on_workers(client, told)


class HistGradientBoostingClassifier(_BoostingOnWorkers, dforest.HistGradientBoostingClassifier):
    """`dforest.HistGradientBoostingClassifier` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.HistGradientBoostingClassifier`, and `to_local` returns such an estimator.
    """


class HistGradientBoostingRegressor(_BoostingOnWorkers, dforest.HistGradientBoostingRegressor):
    """`dforest.HistGradientBoostingRegressor` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.HistGradientBoostingRegressor`, and `to_local` returns such an estimator.
    """


class HistGradientBoostingDistribution(_BoostingOnWorkers, dforest.HistGradientBoostingDistribution):
    """`dforest.HistGradientBoostingDistribution` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.HistGradientBoostingDistribution`, and `to_local` returns such an estimator.
    """


class HistGradientBoostingRanker(_OnWorkers, dforest.HistGradientBoostingRanker):
    """`dforest.HistGradientBoostingRanker` for rows that lie on the workers of a Dask cluster.

    Parameters and attributes are those of `dforest.HistGradientBoostingRanker`, and `to_local` returns such an estimator. All
    rows of a query must lie in one partition.
    """

    def fit(
        self, X, y, sample_weight=None, *, qid, offset=None, X_val=None, y_val=None, sample_weight_val=None, qid_val=None,
        group_val=None, offset_val=None, client=None,
    ):  # fmt: skip
        """Grow trees on the workers that have the training rows, one iteration after another.

        Parameters
        ----------
        X : dask array of shape (n_rows, n_features), dask dataframe, or list of delayed arrays or dataframes
            Training rows, as for `dforest.HistGradientBoostingRanker`. Sizes of partitions need not be known, and partitions may
            differ in the categories of a column. They may be sparse matrices of SciPy, as blocks of a dask array too.
        y : dask array of shape (n_rows,), dask series, or list of delayed arrays
            Grades, in the same number of partitions as X, with the same numbers of rows.
        sample_weight : dask array of shape (n_rows,), dask series, or list of delayed arrays, optional
            Weights of the rows, in the same number of partitions as X, with the same numbers of rows.
        qid : dask array of shape (n_rows,), dask series, or list of delayed arrays
            Label of each row's query, in the same number of partitions as X, with the same numbers of rows. All rows of a query
            must lie in one partition.
        offset : dask array of shape (n_rows,), dask series, or list of delayed arrays, optional
            What raw predictions of the rows begin with, in the same number of partitions as X, with the same numbers of rows.
        X_val, y_val, sample_weight_val, qid_val, group_val, offset_val : array-like, optional
            Validation rows in memory, which the first worker is given, and what belongs to them.
        client : distributed.Client, optional
            Client of the cluster, not an asynchronous one. None means the client that was made last.

        Returns
        -------
        self
            The fitted estimator, with the attributes of an ordinary fit to all rows, except for predictions out of fold, which
            have an entry for each row. `fit_report_` describes what the first worker did.

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
        to_score = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val, "offset_val": offset_val}
        to_score |= {"qid_val": qid_val, "group_val": group_val}
        given = {"X": X, "y": y, "sample_weight": sample_weight, "qid": qid, "offset": offset}
        return self._fit_on_workers(client, given, _in_memory(to_score))


def _partitions(given, client):
    """The partitions as futures of `Partition`, which have the partition's part of each collection, and lie on one worker each.

    Parameters
    ----------
    given : dict
        By the name of an argument of `fit`, collections of Dask.
    """
    collections = alike(given)
    are_lists = [isinstance(collection, list | tuple) for collection in collections]
    flat = [part for own, is_list in zip(collections, are_lists, strict=True) for part in (own if is_list else [own])]
    stored = iter(client.persist(flat))
    stored = [  # kept until `wait` returns
        [next(stored) for _ in own] if is_list else next(stored) for own, is_list in zip(collections, are_lists, strict=True)
    ]
    together = delayed(_together, pure=False)
    parts = enumerate(side_by_side(given, stored))
    futures = client.compute([together(place, list(given), *part) for place, part in parts])
    wait(futures)
    for future in futures:
        if future.status != "finished":
            future.result()
    return futures


def _together(place, names, *parts):
    return Partition.of(place, dict(zip(names, parts, strict=True)))


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


def _fit(ranks, model, to_score, *partitions):
    """What each rank does: fit, and return a digest of the trees, and on rank 0 the estimator."""
    model = copy(model)  # the worker keeps what it was given
    n_jobs = model.n_jobs
    if n_jobs is None:
        model.n_jobs = get_worker().state.nthreads
    with ranks.together() as ranks, config_context(communicator=ranks):
        n_batches = len(getattr(model, "_batches", ()))  # of a forest
        model._fit_partitions(lambda rank: list(partitions), *([] if to_score is None else [to_score]))
        if len(getattr(model, "_batches", ())) > n_batches:
            *before, batch = model._batches
            lengths = [n_rows_of(partition.X) for partition in partitions]
            model._batches = [*before, _of_all_rows(ranks, batch, [partition.place for partition in partitions], lengths)]
    model.n_jobs = n_jobs
    for name in _OF_ROWS:
        model.__dict__.pop(name, None)
    return model if ranks.rank == 0 else None, digest_of(model.forest_)


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
