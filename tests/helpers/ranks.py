"""Forests grown by ranks that are threads of one process, to be compared with those of one process.

Words: a *cut* says which rows each rank has: consecutive pieces of the rows, and the rank that each piece goes to.
"""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from dforest.config import config_context
from dforest.engines.ranks import engine
from dforest.estimators.data.agreement import Partition
from dforest.spmd.threads import ThreadGroup

CUTS = ("even", "random", "empty", "one row", "all on one", "interleaved")


class Cut(NamedTuple):
    """Which rows each rank has.

    Attributes
    ----------
    edges : ndarray of shape (n_pieces + 1,)
        Where each piece begins, and the last one ends.
    owner : ndarray of shape (n_pieces,)
        The rank of each piece.
    """

    edges: np.ndarray
    owner: np.ndarray

    @classmethod
    def random(cls, rng, n_rows, size, kind):
        """A random cut of a kind of `CUTS` for `size` ranks."""
        if kind == "even":
            return cls(np.arange(size + 1) * n_rows // size, np.arange(size))
        if kind == "all on one":
            return cls(np.array([0, n_rows]), rng.integers(0, size, 1))
        if kind == "interleaved":
            edges = np.unique(np.concatenate([[0, n_rows], rng.integers(0, n_rows + 1, 5 * size)]))
            return cls(edges, rng.integers(0, size, len(edges) - 1))
        edges = np.sort(np.concatenate([[0, n_rows], rng.integers(0, n_rows + 1, size - 1)]))
        if kind == "empty" and size > 1:
            edges[rng.integers(1, size)] = edges[0]
            edges.sort()
        if kind == "one row" and size > 1:
            edges[1] = min(1, n_rows)
            edges[2:] = np.maximum(edges[2:], edges[1])
        return cls(edges, np.arange(size))

    def rows(self, rank):
        """The numbers of the rows of a rank, in the order in which it has them."""
        pieces = [np.arange(*self.edges[i : i + 2]) for i in np.flatnonzero(self.owner == rank)]
        return np.concatenate([*pieces, np.zeros(0, np.int64)])

    def partitions(self, rank, X, y, sample_weight, groups=None):
        """The partitions of a rank."""
        given, found = (X, y, sample_weight, groups), []
        for i in np.flatnonzero(self.owner == rank).tolist():
            own = slice(*self.edges[i : i + 2].tolist())
            found.append(Partition(i, *(None if array is None else array[own] for array in given)))
        return found or [Partition(0, *(None if array is None else array[:0] for array in given))]


@contextmanager
def sizes(**given):
    """Set sizes of the machinery of ranks, which no forest depends on, for a block of code."""
    before = dict(engine.TUNING)
    engine.TUNING.update(given)
    try:
        yield
    finally:
        engine.TUNING.clear()
        engine.TUNING.update(before)


def one_of(rng, *choices):
    """One of some values, by chance."""
    return choices[rng.integers(len(choices))]


def by_ranks(size, work):
    """What `work` returns on each of `size` ranks, whose `fit` would be one by ranks; raises what it raises.

    It is called with the communicator of a rank.
    """

    def run(communicator):
        with config_context(communicator=communicator):
            return work(communicator)

    return without_error(ThreadGroup(size).run(run))


def without_error(found):
    """What ranks have returned; raises what one of them has raised."""
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found


def fit_by_ranks(model, X, y, sample_weight, cut, size, groups=None, callbacks=None):
    """Fit clones of an estimator on ranks.

    Parameters
    ----------
    model : estimator
    X, y, sample_weight : ndarray
        All rows; `sample_weight` may be None.
    cut : Cut
    size : int
        How many ranks there are.
    groups : ndarray, optional
    callbacks : list of list, optional
        Those of each rank.

    Returns
    -------
    list
        By rank, the fitted estimator, or the exception that its `fit` raised.
    """

    def fit(communicator):
        own = clone(model)
        own.set_params(random_state=model.random_state)
        if callbacks is not None:
            own.set_callbacks(*callbacks[communicator.rank])
        with config_context(communicator=communicator):
            return own._fit_partitions(lambda rank: cut.partitions(rank, X, y, sample_weight, groups))

    return ThreadGroup(size).run(fit)
