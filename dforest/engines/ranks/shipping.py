"""Subtrees that are grown by their owners: records go there, and trees come back.

Words: a *lot* is as many subtrees as are shipped at a time: it bounds the memory that an owner needs for what it receives.
"""

import heapq

import numpy as np

from dforest.engines.given import grow_given
from dforest.engines.nodes import Nodes, Subtrees, stretches
from dforest.rules.records import record


class Shipping:
    """Sends the records of subtrees to their owners, and all subtrees to all ranks.

    Parameters
    ----------
    ranks : Communicator
    problem : Problem
    training : Training
        What this rank knows of its own rows.
    lot_records : int
        About how many records an owner is sent at a time.
    n_threads : int
        Threads that grow subtrees.
    """

    def __init__(self, ranks, problem, training, lot_records, n_threads):
        self._ranks, self._problem, self._training = ranks, problem, training
        self._lot_records, self._n_threads = lot_records, n_threads
        self._y = problem.targets.numbers

    def grow(self, places, own, draws):
        """Grow subtrees: a collective.

        Parameters
        ----------
        places : ndarray of shape (n_subtrees,), dtype df_open_node
            Of their roots, among the draws of all ranks.
        own : ndarray of shape (n_subtrees,), dtype df_open_node
            The same among this rank's own draws.
        draws : ndarray of df_record
            The own draws.

        Returns
        -------
        Subtrees
            In the order of `places`, on every rank.
        """
        owner, lot = deal(places["n"], self._ranks.size, self._lot_records)
        numbers, grown = [], []
        for number in range(int(lot.max(initial=-1)) + 1):
            ours = [np.flatnonzero((lot == number) & (owner == rank)) for rank in range(self._ranks.size)]
            numbers.append(ours[self._ranks.rank])
            grown.append(self._grow_lot(places, own, draws, ours))
        return self._collect(numbers, grown)

    def _grow_lot(self, places, own, draws, ours):
        """The subtrees of a lot that this rank owns, given which ones each rank owns."""
        parts = [self._pack(own[of_rank], draws) for of_rank in ours]
        codes, records, y, lengths = self._unpack(self._ranks.exchange(parts), len(ours[self._ranks.rank]))
        mine = places[ours[self._ranks.rank]]
        mine["n"] = lengths
        mine["first"] = np.cumsum(lengths) - lengths
        return grow_given(self._problem, codes, records, y, mine, self._n_threads)

    def _pack(self, own, draws):
        """The records of some nodes, and what belongs to their rows, as bytes: lengths, records, targets, codes."""
        index = stretches(own["first"], own["n"])
        records = draws[index]
        rows = records["row"]
        parts = [own["n"].astype(np.int64), records]
        if self._y is not None:
            parts.append(self._y[rows])
        parts.append(self._training.codes.get()[rows])
        return np.concatenate([part.reshape(-1).view(np.uint8) for part in parts])

    def _unpack(self, parts, n_nodes):
        """What `_pack` has made, on all ranks, for n_nodes nodes of this one.

        Returns
        -------
        codes : ndarray of shape (n_records, n_features)
            In the order in which they came.
        records : ndarray of shape (n_records,), dtype df_record
            Those of each node together; `row` is where the record's codes are.
        y : ndarray of shape (n_records,), dtype float64, or None
            In the order of the codes.
        lengths : ndarray of shape (n_nodes,), dtype int64
            Records of each node.
        """
        kinds = [np.dtype(record("df_record")), np.dtype(np.float64), self._training.codes.dtype]
        n_features = self._problem.n_features
        by_rank = np.stack([part[: 8 * n_nodes].view(np.int64) for part in parts])
        n_records = by_rank.sum(axis=1)
        total = int(n_records.sum())
        codes = np.empty((total, n_features), kinds[2])
        records = np.empty(total, kinds[0])
        y = None if self._y is None else np.empty(total)
        lengths = by_rank.sum(axis=0)
        # Where the records of each rank begin in each node.
        firsts = np.cumsum(lengths) - lengths + np.cumsum(by_rank, axis=0) - by_rank
        done = 0
        for part, n, first, length in zip(parts, n_records.tolist(), firsts, by_rank, strict=True):
            at = 8 * n_nodes
            came = slice(done, done + n)
            own = part[at : at + n * kinds[0].itemsize].view(kinds[0])
            at += own.nbytes
            if y is not None:
                y[came] = part[at : at + 8 * n].view(np.float64)
                at += 8 * n
            codes[came] = part[at:].view(kinds[2]).reshape(n, n_features)
            place = stretches(first, length)
            records[place] = own
            records["row"][place] = np.arange(done, done + n)
            done += n
        return codes, records, y, lengths

    def _collect(self, numbers, grown):
        """The subtrees of all ranks, in order, given the numbers of those that this one has grown."""
        gather = self._ranks.gather
        numbers = np.concatenate(gather(np.concatenate([*numbers, np.zeros(0, np.int64)])))
        if len(numbers) == 0:
            return Subtrees.none(self._problem.objective.n_leaf_words)
        lengths = np.concatenate(gather(np.concatenate([subtrees.lengths for subtrees in grown])))
        own = Nodes.join([subtrees.nodes for subtrees in grown])
        nodes = Nodes(*(np.concatenate(gather(array)) for array in own))
        order = np.argsort(numbers)
        return Subtrees(lengths[order], nodes.take((np.cumsum(lengths) - lengths)[order], lengths[order]), None)


def deal(n_records, n_owners, lot_records):
    """Who grows each subtree, and in which lot: the largest first, each to whoever has least so far.

    Parameters
    ----------
    n_records : ndarray of shape (n_subtrees,)
    n_owners : int
    lot_records : int
        About how many records an owner gets in a lot.

    Returns
    -------
    owner, lot : ndarray of shape (n_subtrees,), dtype int64
    """
    owner, lot = np.zeros((2, len(n_records)), np.int64)
    loads = [(0, r) for r in range(n_owners)]
    order = np.argsort(-n_records, kind="stable")
    for i, n in zip(order.tolist(), n_records[order].tolist(), strict=True):
        load, r = loads[0]
        owner[i], lot[i] = r, load // lot_records
        heapq.heapreplace(loads, (load + n, r))
    return owner, lot
