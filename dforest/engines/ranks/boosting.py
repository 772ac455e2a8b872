"""Boosted trees on the rows of all ranks: a shard made of those of the ranks, by collectives.

Each rank asks the shard of its own rows, and the answers are put together: sums of integers, and greatest numbers. Best cuts are
found by all ranks, each for its share of the pairs of a node and a feature, as histograms are added up by share. The runs of open
nodes are given in a common numbering of all rows, as if one shard had them all.
"""

import numpy as np

from dforest.engines.device.boosting import SUM_BYTES
from dforest.engines.pairs import BestCuts
from dforest.engines.ranks.shard import Runs
from dforest.engines.shard import BoostingShard

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
        nothing = np.zeros(1, np.int64)
        self._runs.note(nothing, nothing + self.n_rows, nothing, nothing + self.own.n_rows)

    def largest(self, open_nodes):
        return self.ranks.greatest(self.own.largest(self._own(open_nodes)))

    def quantise_again(self, open_nodes, factors):
        self.own.quantise_again(self._own(open_nodes), factors)

    def find_cuts(self, open_nodes, features, exponents):
        best, own_nodes = BestCuts(len(open_nodes)), self._own(open_nodes)
        for pairs in self.own.pairs(features).batches(self.ranks.room // (SUM_BYTES * self.own.n_outputs)):
            best.take(pairs, *self._best_cuts(open_nodes, own_nodes, pairs, exponents))
        return best.cuts, best.subsets

    def _own(self, open_nodes):
        """Nodes with their runs among this rank's own rows; None stays what it is."""
        return None if open_nodes is None else self._runs.own_open_nodes(open_nodes)

    def _best_cuts(self, open_nodes, own_nodes, pairs, exponents):
        """The best cuts of pairs whose histograms there is room for, and their subsets."""
        ranks, own = self.ranks, self.own
        edges = np.searchsorted(pairs.entries, ranks.edges(int(pairs.entries[-1])))  # shares of as many entries, nearly
        sums = np.moveaxis(own.count(own_nodes, pairs).get(), 0, 1)
        sums = ranks.sum_scattered(sums, pairs.entries[edges])
        share = pairs.some(edges[ranks.rank], edges[ranks.rank + 1])
        by_output = own.device.array(np.ascontiguousarray(np.moveaxis(sums, 1, 0)))
        found = own.best_cuts(open_nodes, share, by_output, exponents)
        return [np.concatenate(ranks.gather(array)) for array in found]

    def partition(self, open_nodes, cuts, subsets):
        own = self._own(open_nodes)
        own_left = self.own.partition(own, cuts, subsets)
        n_left = self.ranks.sum(own_left)
        self._runs.note_children(open_nodes, n_left, own, own_left)
        return n_left

    def add_up(self, open_nodes):
        return self.ranks.sum(self.own.add_up(self._own(open_nodes)))

    def heaviest(self, open_nodes):
        return self.ranks.greatest(self.own.heaviest(self._own(open_nodes)))

    def weigh_bytes(self, open_nodes, output, which, keys, shifts):
        return self.ranks.sum(self.own.weigh_bytes(self._own(open_nodes), output, which, keys, shifts))

    def next_keys(self, open_nodes, output, keys):
        return self.ranks.least(self.own.next_keys(self._own(open_nodes), output, keys))

    def sum_terms(self, open_nodes, medians, delta, factor, shifts):
        return self.ranks.sum(self.own.sum_terms(self._own(open_nodes), medians, delta, factor, shifts))

    def move_on(self, open_nodes, values):
        self.own.move_on(self._own(open_nodes), values)

    def raw_sums(self):
        return self.own.raw_sums()
