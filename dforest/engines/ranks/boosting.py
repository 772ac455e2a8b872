"""Boosted trees on the rows of all ranks: a shard made of those of the ranks, by collectives.

What ranks know is put together as `dforest.engines.ranks.shard` says. Where nodes try all features, a rank's share is the same
features in all nodes, and it keeps the sums of these until a node is divided: of its children the one of fewer rows is counted
and added up, and the histograms of the other are the difference.

A `RankBoostingShard` owns the histograms that it keeps.
"""

import numpy as np

from dforest.engines.device.boosting import SUM_BYTES
from dforest.engines.families import Families, row_ranges_of
from dforest.engines.ranks.shard import RankShard
from dforest.engines.work_items import BestCuts, offsets
from dforest.rules.records import record

KEPT_ROOM = 16  # times the room of a rank that kept histograms may take
AHEAD = 4  # nodes that are divided at once, ahead of their turn, so that ranks meet less often; equal on all ranks


class RankBoostingShard(RankShard):
    """All rows of a fit, as one of the ranks sees them.

    Parameters
    ----------
    ranks : Communicator
    local : BoostingShard
        The rows of this rank.
    """

    def __init__(self, ranks, local):
        super().__init__(ranks, local)
        self.weights, self.ahead = local.weights, AHEAD
        self.n_rows, self.has_hessian = ranks.total(local.n_rows), local.has_hessian
        # Where the entries of each feature begin among those of all, and which features this rank finds cuts of.
        self._entries = offsets(local.n_entries)
        self._shares = np.searchsorted(self._entries, ranks.edges(int(self._entries[-1])))
        self._most_entries = int(np.diff(self._entries[self._shares]).max())
        # What is added up of an entry: a Hessian of 1 is a number of rows.
        self._added = [0, 1, 2] if local.has_hessian or local.times is not None else [0, 2]
        self._kept, self._families = {}, Families()

    def draw(self, seed):
        total = self.ranks.total(self.local.draw(seed))
        self.n_rows = self.ranks.total(self.local.n_rows)
        return total

    def measure(self, parameters):
        return self.ranks.greatest(self.local.measure(parameters))

    def quantise(self, factors):
        found = self.local.quantise(factors)
        return np.concatenate([self.ranks.greatest(found[:, :2]), self.ranks.sum(found[:, 2:])], axis=1)

    def begin(self, tree, kind):
        self.local.begin(tree, kind)
        self._runs = {(0, self.n_rows): (0, self.local.n_rows)}
        self._kept, self._families = {}, Families()

    def quantise_again(self, open_nodes, factors):
        self.local.quantise_again(self.local_nodes(open_nodes), factors)
        self._families.quantise_again(open_nodes)

    def find_cuts(self, open_nodes, features, exponents, bounds):
        node_bytes = SUM_BYTES * self.local.n_outputs * int(self._entries[-1])
        all_features = np.tile(np.arange(len(self.local.n_entries), dtype=features.dtype), (len(features), 1))
        if np.array_equal(features, all_features) and node_bytes <= self.ranks.room:
            return self._find_all_cuts(open_nodes, exponents, bounds, node_bytes)
        best, local_nodes = BestCuts(len(open_nodes), self.local.n_midpoints), self.local_nodes(open_nodes)
        for work_items in self.local.work_items(features).batches(self.ranks.room // (SUM_BYTES * self.local.n_outputs)):
            best.take(work_items, *self._best_cuts(local_nodes, work_items, exponents, bounds))
        return best.found

    def _best_cuts(self, local_nodes, work_items, exponents, bounds):
        """`best_cuts` of pairs whose histograms there is room for."""
        ranks, local = self.ranks, self.local
        edges = np.searchsorted(work_items.entries, ranks.edges(int(work_items.entries[-1])))  # shares of as many entries, nearly
        sums = np.moveaxis(local.count(local_nodes, work_items).get(), 0, 1)
        sums = ranks.sum_scattered(sums, work_items.entries[edges])
        share = work_items.slice(edges[ranks.rank], edges[ranks.rank + 1])
        by_output = local.device.array(np.ascontiguousarray(np.moveaxis(sums, 1, 0)))
        cuts, words, midpoints = local.best_cuts(share, by_output, exponents, bounds)
        midpoints = np.zeros((len(work_items.node), 0)) if bounds is None else np.concatenate(ranks.gather(midpoints))
        return np.concatenate(ranks.gather(cuts)), np.concatenate(ranks.gather(words)), midpoints

    def _find_all_cuts(self, open_nodes, exponents, bounds, node_bytes):
        """`find_cuts` of all features. node_bytes : of the histograms of a node"""
        ranks, row_ranges = self.ranks, row_ranges_of(open_nodes)
        first, end = self._shares[ranks.rank], self._shares[ranks.rank + 1]
        differences, counted = self._families.differences(row_ranges, self._kept)
        sums = self._add_up_histograms(counted, ranks.room // node_bytes)
        for row_range, (parent, sibling) in differences.items():
            sums[row_range] = self._kept[parent] - sums[sibling]
        for row_range in row_ranges:
            self._kept.pop(self._families.parent_of(row_range), None)
        local = BestCuts(len(row_ranges), self.local.n_midpoints)
        if first < end:
            work_items = self.local.work_items(np.tile(np.arange(first, end, dtype=np.int32), (len(row_ranges), 1)))
            n_entries = int(self._entries[end] - self._entries[first])
            histograms = np.empty((self.local.n_outputs, len(row_ranges), n_entries, 3), np.int64)
            for i, row_range in enumerate(row_ranges):
                histograms[:, i, :, self._added] = np.moveaxis(sums[row_range], 2, 0)
                if 1 not in self._added:
                    histograms[:, i, :, 1] = histograms[:, i, :, 2]
            histograms = self.local.device.array(histograms.reshape(self.local.n_outputs, -1, 3))
            local.take(work_items, *self.local.best_cuts(work_items, histograms, exponents, bounds))
        # Equal on all ranks, as all must count the same nodes: so many as the rank of most entries has room for.
        n_kept = KEPT_ROOM * ranks.room * int(self._entries[-1]) // (node_bytes * self._most_entries)
        for row_range in row_ranges[: max(0, n_kept - len(self._kept))]:
            self._kept[row_range] = sums[row_range]
        return self._best_of_ranks(local)

    def _add_up_histograms(self, row_ranges, at_once):
        """This rank's share of the histograms of nodes over the rows of all ranks.

        Returns
        -------
        dict of ndarray of shape (n_outputs, n_entries, n_added), dtype int64
            By range of rows.
        """
        local, found, n_features = self.local, {}, len(self.local.n_entries)
        for first in range(0, len(row_ranges), at_once):
            some = row_ranges[first : first + at_once]
            work_items = local.work_items(np.tile(np.arange(n_features, dtype=np.int32), (len(some), 1)))
            nodes = np.zeros(len(some), record("df_open_node"))
            nodes["first"], nodes["n"] = self.local_row_ranges(some).T
            histograms = local.count(nodes, work_items).get()[:, :, self._added]
            by_entry = histograms.reshape(local.n_outputs, len(some), -1, len(self._added)).transpose(2, 1, 0, 3)
            share = self.ranks.sum_scattered(np.ascontiguousarray(by_entry), self._entries[self._shares])
            found |= zip(some, np.ascontiguousarray(share.transpose(1, 2, 0, 3)), strict=True)
        return found

    def _best_of_ranks(self, local):
        """`found` of the best cuts of all ranks' shares, given those of this rank's: of equal ones the first one."""
        cuts = np.stack(self.ranks.gather(local.cuts))
        rank = cuts["score"].argmax(axis=0)
        best, midpoints = cuts[rank, np.arange(len(rank))], local.midpoints
        if self.local.n_midpoints:
            midpoints = np.stack(self.ranks.gather(local.midpoints))[rank, np.arange(len(rank))]
        if not self.local.n_words.any():
            return best, local.subsets, midpoints
        words = self.ranks.gather(np.concatenate(local.subsets))
        n_words = np.where(np.isneginf(cuts["score"]), 0, self.local.n_words[cuts["feature"]])
        firsts = np.cumsum(n_words, axis=1) - n_words
        return best, [words[r][firsts[r, i] :][: n_words[r, i]] for i, r in enumerate(rank.tolist())], midpoints

    def partition(self, open_nodes, cuts, subsets):
        local = self.local_nodes(open_nodes)
        local_left, n_left = self.local.partition(local, cuts, subsets), cuts["n_left"].copy()
        self.note_children(open_nodes, n_left, local, local_left)
        self._families.divide(open_nodes, n_left)
        return n_left

    def custom_values(self, open_nodes):
        rows = self.ranks.gather(self.local.rows_of(self.local_nodes(open_nodes)))
        return self.local.custom_values(open_nodes, np.concatenate(rows))

    def raw_sums(self):
        return self.local.raw_sums()
