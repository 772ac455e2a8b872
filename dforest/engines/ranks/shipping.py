"""Subtrees that are grown by their owners: records go to an owner, and subtrees come back.

The size of a shipment bounds the memory that an owner needs for what it receives. `dforest.core.exchange` makes packed records.
"""

import heapq

import numpy as np

from dforest.core.exchange import pack, unpack
from dforest.engines.given import code_types, grow_given
from dforest.engines.nodes import Nodes, Subtrees


class Shipping:
    """Sends the records of subtrees to their owners, and all subtrees to all ranks.

    Parameters
    ----------
    ranks : Communicator
    problem : Problem
    training : Training
        What this rank knows of its own rows.
    shipment_records : int
        About how many records an owner is sent at a time.
    n_threads : int
        Threads that pack records and grow subtrees.
    """

    def __init__(self, ranks, problem, training, shipment_records, n_threads):
        self._ranks, self._problem, self._training = ranks, problem, training
        self._shipment_records, self._n_threads = shipment_records, n_threads
        self._y, self._has_weight = problem.targets.numbers, problem.targets.weight is not None
        self._n_targets = 0 if self._y is None else problem.objective.n_outputs

    def grow(self, open_nodes, own, draws, exact_weight, label_ranks):
        """Grow subtrees: a collective.

        Parameters
        ----------
        open_nodes : ndarray of shape (n_subtrees,), dtype df_open_node
            Of their roots, among the draws of all ranks.
        own : ndarray of shape (n_subtrees,), dtype df_open_node
            Of their roots, among this rank's own draws.
        draws : ndarray of df_record
            The own draws.
        exact_weight : ndarray, dtype float64, or None
            Exact weights of the own rows, of trees from `first_weight` of their nodes on.
        label_ranks : ndarray, dtype uint32, or None
            As of `grow_given`.

        Returns
        -------
        Subtrees
            In the order of `open_nodes`, on every rank.
        """
        owner, shipment = assign_owners(open_nodes["n"], self._ranks.size, self._shipment_records)
        lengths = np.stack(self._ranks.gather(own["n"].astype(np.int64)))
        numbers, grown = [], []
        for number in range(int(shipment.max()) + 1):
            ours = [np.flatnonzero((shipment == number) & (owner == rank)) for rank in range(self._ranks.size)]
            packed = self._ranks.exchange([self._pack(own[of_rank], draws, exact_weight) for of_rank in ours])
            mine = ours[self._ranks.rank]
            numbers.append(mine)
            grown.append(self._grow(open_nodes[mine], packed, lengths[:, mine], exact_weight is not None, label_ranks))
        numbers = np.concatenate(self._ranks.gather(np.concatenate(numbers)))
        return collect(self._ranks, numbers, grown, self._problem.objective)

    def _pack(self, own, draws, exact_weight):
        """The packed records of some nodes."""
        runs = own["first"].copy(), own["n"].copy(), own["first_weight"].copy()
        return pack(draws, *runs, self._training.codes.get(), self._y, self._has_weight, exact_weight, self._n_threads)

    def _grow(self, open_nodes, packed, lengths, has_exact, label_ranks):
        """Grow the subtrees that this rank owns, given their packed records by rank, and how many of each a rank has sent."""
        columns, records, y, exact_weight = unpack(
            packed, np.ascontiguousarray(lengths), self._training.codes.get(), self._n_targets, self._has_weight, has_exact,
            code_types(self._problem.columns), self._n_threads,
        )  # fmt: skip
        packed.clear()
        open_nodes = open_nodes.copy()
        open_nodes["n"] = lengths.sum(axis=0)
        open_nodes["first"] = np.cumsum(open_nodes["n"]) - open_nodes["n"]
        open_nodes["first_weight"] = np.minimum(open_nodes["first_weight"], 0)  # records have rows of their own
        return grow_given(self._problem, columns, records, y, open_nodes, self._n_threads, exact_weight, label_ranks)


def collect(ranks, numbers, grown, objective):
    """The subtrees, or trees, of all ranks, in order: a collective.

    Parameters
    ----------
    ranks : Communicator
    numbers : ndarray of shape (n_subtrees,)
        Of those that the ranks have grown, rank by rank.
    grown : list of Subtrees
        Those that this rank has grown; emptied.
    objective : Objective
        Theirs.
    """
    lengths, own, _ = zip(Subtrees.none(objective), *grown, strict=True)
    grown.clear()
    lengths = np.concatenate(ranks.gather(np.concatenate(lengths)))
    nodes = Nodes(*(np.concatenate(ranks.gather(array)) for array in Nodes.join(own)))
    order = np.argsort(numbers)
    return Subtrees(lengths[order], nodes.take((np.cumsum(lengths) - lengths)[order], lengths[order]), None)


def assign_owners(n_records, n_owners, shipment_records):
    """In which shipment each subtree is shipped, and to whom.

    Shipments are about equally large, and filled with the largest subtrees first. In a shipment the largest goes first, to
    whoever has least of the shipment so far: as the subtrees of a shipment have about one size, owners get about equally much,
    and nobody waits long for others.

    Parameters
    ----------
    n_records : ndarray of shape (n_subtrees,)
    n_owners : int
    shipment_records : int
        About how many records an owner gets in a shipment, at most.

    Returns
    -------
    owner, shipment : ndarray of shape (n_subtrees,), dtype int64

    Examples
    --------
    The first shipment has the subtrees of 9 and 6 records, the second one those of 5, 3 and 2: owner 0 gets that of 5, and
    owner 1 those of 3 and 2.

    >>> assign_owners(np.array([6, 9, 3, 5, 2]), 2, 7)
    (array([1, 0, 1, 0, 1]), array([0, 0, 1, 1, 1]))
    """
    owner = np.zeros(len(n_records), np.int64)
    order = np.argsort(-n_records, kind="stable")
    shipment = np.empty(len(n_records), np.int64)
    total = int(n_records.sum())
    n_shipments = -(-total // (n_owners * shipment_records))
    shipment[order] = (np.cumsum(n_records[order]) - n_records[order]) * n_shipments // max(1, total)
    loads, current = [], -1
    for i, n, number in zip(order.tolist(), n_records[order].tolist(), shipment[order].tolist(), strict=True):
        if number != current:
            loads, current = [(0, r) for r in range(n_owners)], number
        load, r = loads[0]
        owner[i] = r
        heapq.heapreplace(loads, (load + n, r))
    return owner, shipment
