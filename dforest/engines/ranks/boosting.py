"""Boosted trees on the rows of all ranks: a shard made of those of the ranks, by collectives.

Each rank asks the shard of its own rows, and the answers are put together: sums of integers, and greatest numbers. Best cuts are
found by all ranks, each for its share of the pairs of a node and a feature, as histograms are added up by share. The runs of open
nodes are given in a common numbering of all rows, as if one shard had them all.

Where nodes try all features, a rank's share is the same features in all nodes, and it keeps the sums of these until a node is
divided: of its children the one of fewer rows is counted and added up, and the histograms of the other are the difference.

A `RankBoostingShard` owns the table of runs, and the histograms that it keeps.
"""

import numpy as np

from dforest.engines.device.boosting import SUM_BYTES
from dforest.engines.families import Families, row_ranges_of
from dforest.engines.pairs import BestCuts, offsets
from dforest.engines.ranks.shard import Runs
from dforest.engines.shard import BoostingShard
from dforest.rules.records import record

KEPT_ROOM = 16  # times the room of a rank that kept histograms may take
AHEAD = 4  # nodes that are divided at once, ahead of their turn, so that ranks meet less often; equal on all ranks


class RankBoostingShard(BoostingShard):
    """All rows of a fit, as one of the ranks sees them.

    Parameters
    ----------
    ranks : Communicator
    own : DeviceBoostingShard
        The rows of this rank.
    """

    def __init__(self, ranks, own):
        self.ranks, self.own = ranks, own
        self.n_rows, self.has_hessian = ranks.total(own.n_rows), own.has_hessian
        self._runs = Runs()
        # Where the entries of each feature begin among those of all, and which features this rank finds cuts of.
        self._entries = offsets(own.n_entries)
        self._shares = np.searchsorted(self._entries, ranks.edges(int(self._entries[-1])))
        self._most_entries = int(np.diff(self._entries[self._shares]).max())
        # What is added up of an entry: a Hessian of 1 is a number of rows.
        self._added = [0, 1, 2] if own.has_hessian or own.times is not None else [0, 2]
        self._kept, self._families = {}, Families()

    def draw(self, seed):
        total = self.ranks.total(self.own.draw(seed))
        self.n_rows = self.ranks.total(self.own.n_rows)
        return total

    def measure(self, parameter):
        return self.ranks.greatest(self.own.measure(parameter))

    def quantise(self, factors):
        found = self.own.quantise(factors)
        return np.concatenate([self.ranks.greatest(found[:, :2]), self.ranks.sum(found[:, 2:])], axis=1)

    def begin(self, tree, kind):
        self.own.begin(tree, kind)
        self._runs = Runs()
        self._kept, self._families = {}, Families()
        nothing = np.zeros(1, np.int64)
        self._runs.note(nothing, nothing + self.n_rows, nothing, nothing + self.own.n_rows)

    def largest(self, open_nodes):
        return self.ranks.greatest(self.own.largest(self._own(open_nodes)))

    def quantise_again(self, open_nodes, factors):
        self.own.quantise_again(self._own(open_nodes), factors)
        self._families.quantise_again(open_nodes)

    def find_cuts(self, open_nodes, features, exponents, bounds):
        node_bytes = SUM_BYTES * self.own.n_outputs * int(self._entries[-1])
        all_features = np.tile(np.arange(len(self.own.n_entries), dtype=features.dtype), (len(features), 1))
        if np.array_equal(features, all_features) and node_bytes <= self.ranks.room:
            return self._find_all_cuts(open_nodes, exponents, bounds, node_bytes)
        best, own_nodes = BestCuts(len(open_nodes), self.own.n_midpoints), self._own(open_nodes)
        for pairs in self.own.pairs(features).batches(self.ranks.room // (SUM_BYTES * self.own.n_outputs)):
            best.take(pairs, *self._best_cuts(own_nodes, pairs, exponents, bounds))
        return best.found

    def _own(self, open_nodes):
        """Nodes with their runs among this rank's own rows; None stays what it is."""
        return None if open_nodes is None else self._runs.own_open_nodes(open_nodes)

    def _best_cuts(self, own_nodes, pairs, exponents, bounds):
        """`best_cuts` of pairs whose histograms there is room for."""
        ranks, own = self.ranks, self.own
        edges = np.searchsorted(pairs.entries, ranks.edges(int(pairs.entries[-1])))  # shares of as many entries, nearly
        sums = np.moveaxis(own.count(own_nodes, pairs).get(), 0, 1)
        sums = ranks.sum_scattered(sums, pairs.entries[edges])
        share = pairs.some(edges[ranks.rank], edges[ranks.rank + 1])
        by_output = own.device.array(np.ascontiguousarray(np.moveaxis(sums, 1, 0)))
        cuts, words, midpoints = own.best_cuts(share, by_output, exponents, bounds)
        midpoints = np.zeros((len(pairs.node), 0)) if bounds is None else np.concatenate(ranks.gather(midpoints))
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
        own = BestCuts(len(row_ranges), self.own.n_midpoints)
        if first < end:
            pairs = self.own.pairs(np.tile(np.arange(first, end, dtype=np.int32), (len(row_ranges), 1)))
            n_entries = int(self._entries[end] - self._entries[first])
            histograms = np.empty((self.own.n_outputs, len(row_ranges), n_entries, 3), np.int64)
            for i, row_range in enumerate(row_ranges):
                histograms[:, i, :, self._added] = np.moveaxis(sums[row_range], 2, 0)
                if 1 not in self._added:
                    histograms[:, i, :, 1] = histograms[:, i, :, 2]
            histograms = self.own.device.array(histograms.reshape(self.own.n_outputs, -1, 3))
            own.take(pairs, *self.own.best_cuts(pairs, histograms, exponents, bounds))
        # Equal on all ranks, as all must count the same nodes: so many as the rank of most entries has room for.
        n_kept = KEPT_ROOM * ranks.room * int(self._entries[-1]) // (node_bytes * self._most_entries)
        for row_range in row_ranges[: max(0, n_kept - len(self._kept))]:
            self._kept[row_range] = sums[row_range]
        return self._best_of_ranks(own)

    def _add_up_histograms(self, row_ranges, at_once):
        """This rank's share of the histograms of nodes over the rows of all ranks.

        Returns
        -------
        dict of ndarray of shape (n_outputs, n_entries, n_added), dtype int64
            By range of rows.
        """
        own, found, n_features = self.own, {}, len(self.own.n_entries)
        for first in range(0, len(row_ranges), at_once):
            some = row_ranges[first : first + at_once]
            pairs = own.pairs(np.tile(np.arange(n_features, dtype=np.int32), (len(some), 1)))
            nodes = np.zeros(len(some), record("df_open_node"))
            nodes["first"], nodes["n"] = self._runs.own_of_row_ranges(some).T
            histograms = own.count(nodes, pairs).get()[:, :, self._added]
            by_entry = histograms.reshape(own.n_outputs, len(some), -1, len(self._added)).transpose(2, 1, 0, 3)
            share = self.ranks.sum_scattered(np.ascontiguousarray(by_entry), self._entries[self._shares])
            found |= zip(some, np.ascontiguousarray(share.transpose(1, 2, 0, 3)), strict=True)
        return found

    def _best_of_ranks(self, own):
        """`found` of the best cuts of all ranks' shares, given those of this rank's: of equal ones the first one."""
        cuts = np.stack(self.ranks.gather(own.cuts))
        rank = cuts["score"].argmax(axis=0)
        best, midpoints = cuts[rank, np.arange(len(rank))], own.midpoints
        if self.own.n_midpoints:
            midpoints = np.stack(self.ranks.gather(own.midpoints))[rank, np.arange(len(rank))]
        if not self.own.n_words.any():
            return best, own.subsets, midpoints
        words = self.ranks.gather(np.concatenate(own.subsets))
        n_words = np.where(np.isneginf(cuts["score"]), 0, self.own.n_words[cuts["feature"]])
        firsts = np.cumsum(n_words, axis=1) - n_words
        return best, [words[r][firsts[r, i] :][: n_words[r, i]] for i, r in enumerate(rank.tolist())], midpoints

    def partition(self, open_nodes, cuts, subsets):
        own = self._own(open_nodes)
        own_left, n_left = self.own.partition(own, cuts, subsets), cuts["n_left"].copy()
        self._runs.note_children(open_nodes, n_left, own, own_left)
        self._families.divide(open_nodes, n_left)
        return n_left

    def add_up(self, open_nodes):
        return self.ranks.sum(self.own.add_up(self._own(open_nodes)))

    def max_weight(self, open_nodes):
        return self.ranks.greatest(self.own.max_weight(self._own(open_nodes)))

    def weights_of_bytes(self, open_nodes, output, which, keys, shifts):
        return self.ranks.sum(self.own.weights_of_bytes(self._own(open_nodes), output, which, keys, shifts))

    def next_keys(self, open_nodes, output, keys):
        return self.ranks.least(self.own.next_keys(self._own(open_nodes), output, keys))

    def sum_terms(self, open_nodes, medians, delta, factor, shifts):
        return self.ranks.sum(self.own.sum_terms(self._own(open_nodes), medians, delta, factor, shifts))

    def own_values(self, open_nodes):
        return self.own.own_values(open_nodes, np.concatenate(self.ranks.gather(self.own.rows_of(self._own(open_nodes)))))

    def update_raw_predictions(self, open_nodes, values):
        self.own.update_raw_predictions(self._own(open_nodes), values)

    def raw_sums(self):
        return self.own.raw_sums()
