"""What a driver asks of the records of all ranks: shards made of those of the ranks, by collectives.

Each rank asks the shard of its own rows (`dforest.engines.device.shard`), and the answers are put together. For most questions
`ANSWERS` says how; the others have methods. The best cuts of a level are found by all ranks together, each for its share of the
pairs of a node and a feature, as histograms are added up by share. So the rounds of a level do not depend on the number of its
nodes.

The runs of open nodes are given in a common numbering of all draws, as if one shard had them all. Which run of a rank's own draws
belongs to a node is known here alone.

A `RankShard` owns the table of runs; the draws are those of its own shard.
"""

from dataclasses import replace

import numpy as np

from dforest.engines.device.recorder import Recorder
from dforest.engines.families import row_ranges_of
from dforest.rules import arrays, outputs
from dforest.rules.records import record
from dforest.spmd.communicator import Communicator


def extremes(ranks, extents):
    """The least and the greatest numbers of all ranks, given this rank's, on the last axis."""
    if extents.dtype.kind == "u":  # the complement turns the order round
        least = ranks.least(np.stack([extents[..., 0], ~extents[..., 1]], axis=-1))
        return np.stack([least[..., 0], ~least[..., 1]], axis=-1)
    signs = np.array([1, -1], extents.dtype)
    return ranks.least(extents * signs) * signs + extents.dtype.type(0)  # 0.0 for -0.0


def own(_, answer):
    """What this rank's own shard says, if anything: the question is what to do with its rows."""
    return answer


# Questions about nodes, by the methods of shards, and what the answers of the ranks make together.
ANSWERS = {
    # of forests
    "target_extents": extremes,
    "requantise": own,
    "requantise_weights": own,
    "label_sums": Communicator.sum,
    "key_ranges": extremes,
    # of both
    "max_weight": Communicator.greatest,
    # of boosted trees
    "largest": Communicator.greatest,
    "add_up": Communicator.sum,
    "weights_of_bytes": Communicator.sum,
    "next_keys": Communicator.least,
    "sum_terms": Communicator.sum,
    "update_raw_predictions": own,
}


class RankShard:
    """Records of all ranks, as one of the ranks sees them: what shards of forests and of boosted trees share.

    Parameters
    ----------
    ranks : Communicator
    local : ForestShard or BoostingShard
        The records of this rank's own rows.
    """

    def __init__(self, ranks, local):
        self.ranks, self.local = ranks, local
        self._runs = {}  # by first and length among all: where the own ones of the node begin, and how many there are

    def __getattr__(self, name):
        """A question that `ANSWERS` has."""
        if name not in ANSWERS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        put_together, ask = ANSWERS[name], getattr(self.local, name)
        return lambda open_nodes, *given: put_together(self.ranks, ask(self.local_nodes(open_nodes), *given))

    def local_nodes(self, nodes):
        """Nodes, open or grown, with their runs among this rank's own records; None, which stands for all rows, stays."""
        if nodes is None:
            return None
        local = nodes.copy()
        local["first"], local["n"] = self.local_row_ranges(row_ranges_of(nodes)).T
        return local

    def local_row_ranges(self, row_ranges):
        """This rank's runs of nodes, given their (first, n) among the records of all ranks: ndarray of shape (n_nodes, 2)."""
        return np.array([self._runs[row_range] for row_range in row_ranges], np.int64).reshape(-1, 2)

    def note(self, firsts, lengths, own_firsts, own_lengths):
        """Learn which runs of own records belong to nodes, given where their runs lie among the records of all ranks."""
        runs = zip(own_firsts.tolist(), own_lengths.tolist(), strict=True)
        self._runs.update(zip(zip(firsts.tolist(), lengths.tolist(), strict=True), runs, strict=True))

    def note_children(self, open_nodes, n_left, local, local_left):
        """Learn of the children of nodes, given the nodes among all records and among own ones, and how many records go left."""
        self.note(open_nodes["first"], n_left, local["first"], local_left)
        self.note(open_nodes["first"] + n_left, open_nodes["n"] - n_left, local["first"] + local_left, local["n"] - local_left)


class RankForestShard(RankShard):
    """All draws of a batch, as one of the ranks sees them.

    Parameters
    ----------
    ranks : Communicator
    local : ForestShard
        The draws on this rank's own rows.
    problem : Problem
    shipping : Shipping or WholeTrees
        What grows subtrees.
    ship_up_to : int
        Records of the largest node that is shipped.
    histogram_bytes : int
        As of `ForestShard`.
    """

    def __init__(self, ranks, local, problem, shipping, ship_up_to, histogram_bytes):
        super().__init__(ranks, local)
        self._shipping, self.layout, self.labels, self.weight_units = shipping, local.layout, local.labels, local.weight_units
        self.histogram_bytes, self.extra_features = histogram_bytes, local.extra_features
        self._y, self._has_classes = problem.targets.numbers, not problem.objective.scales_targets
        self.has_exact_weights, self._label_ranks = local.has_exact_weights, None
        self.roots = local.roots.copy()
        self.roots["n"] = ranks.sum(local.roots["n"])
        self.roots["first"] = np.cumsum(self.roots["n"]) - self.roots["n"]
        self.note(self.roots["first"], self.roots["n"], local.roots["first"], local.roots["n"])
        self.subtree_up_to = ship_up_to
        if problem.rules.max_leaf_nodes:  # trees are shipped whole, or not at all
            self.subtree_up_to = -1 if (self.roots["n"] > ship_up_to).any() else int(self.roots["n"].max())

    def add_up(self, open_nodes, outputs, effects=None):
        totals, extents = self.local.add_up(self.local_nodes(open_nodes), outputs, effects)
        if not self._has_classes and outputs is None:
            extents = extremes(self.ranks, extents)
        return self.ranks.sum(totals), extents

    def take_label_ranks(self, ranks):
        self._label_ranks = ranks
        self.local.take_label_ranks(ranks)

    def count(self, open_nodes, features, ranges, outputs, effects=None):
        histograms = self.local.count(self.local_nodes(open_nodes), features, ranges, outputs, effects).get()
        n_nodes, n_tried, *shape = histograms.shape
        return self.ranks.sum_scattered(histograms.reshape(n_nodes * n_tried, *shape))

    def find_cuts(self, open_nodes, totals, outputs, features, ranges, histograms):
        edges = self.ranks.edges(features.size)
        pairs = np.arange(edges[self.ranks.rank], edges[self.ranks.rank + 1])
        node = pairs // features.shape[1]
        cuts, subsets = self.local.find_cuts(
            open_nodes[node],
            totals[node],
            None if outputs is None else outputs[node],
            features.reshape(-1, 1)[pairs],
            None if ranges is None else ranges.reshape(-1, 1, 2)[pairs],
            histograms[:, None],
        )
        found = np.empty(len(pairs), [("cut", cuts.dtype), ("subset", np.uint64, (self.layout.subset_words,))])
        found["cut"], found["subset"] = cuts[:, 0], subsets[:, 0]
        found = np.concatenate(self.ranks.gather(found)).reshape(features.shape)
        return found["cut"], found["subset"]

    def partition(self, open_nodes, cuts, subsets):
        local = self.local_nodes(open_nodes)
        local_left = self.local.partition(local, cuts, subsets)
        n_left = self.ranks.sum(local_left)
        self.note_children(open_nodes, n_left, local, local_left)
        return n_left

    def leaf_words(self, nodes):
        if not self.has_exact_weights:
            return self._leaf_words(nodes, None)
        words = np.empty((len(nodes), self.layout.n_leaf_words), np.int64)
        is_exact = nodes["first_weight"] < 0  # which holds for whole trees
        for which, exact_weight in ((is_exact, None), (~is_exact, self.local.exact_weight.get())):
            if which.any():
                words[which] = self._leaf_words(nodes[which], exact_weight)
        return words

    def _leaf_words(self, nodes, exact_weight):
        """`leaf_words` of nodes, given the exact weights of the own rows, if there are any."""
        local = self.local_nodes(nodes)
        if self._has_classes and exact_weight is None:
            return self.ranks.sum(self.local.leaf_words(local))
        shifts = None
        if exact_weight is not None:
            shifts = arrays.fine_shifts(self.ranks.greatest(self.local.max_weight(_open_nodes(local))))
        if self._has_classes:
            words, high = (self.ranks.sum(part) for part in self.local.class_parts(local, shifts))
            arrays.finalize_classes(words, high, shifts, self.layout.objective.weight_columns)
            return words
        records = self.local.records.get()
        n_draws = None if shifts is None else self.ranks.sum(arrays.count_draws(local, records))
        return self._number_words(nodes, local, records, exact_weight, shifts, n_draws)

    def _number_words(self, nodes, local, records, exact_weight, shifts, n_draws):
        """`leaf_words` of numbers: those of each output, put together."""
        number, is_wide, by_output = self.layout.criterion_number, self.layout.is_wide, self._targets_by_output()
        extents = extremes(self.ranks, self.local.target_extents(_open_nodes(local)))
        extents = [np.ascontiguousarray(extents[:, o]) for o in range(len(by_output))]
        scaled = [(nodes, local)]
        if len(by_output) > 1:  # each output has the leaf's own scale
            scaled = [tuple(self._scaled(some, of_output) for some in (nodes, local)) for of_output in extents]
        sums = self.ranks.sum(np.stack([
            arrays.leaf_sums(there, records, y, of_output, is_wide, exact_weight, shifts, n_draws)
            for (_, there), y, of_output in zip(scaled, by_output, extents, strict=True)
        ]))  # fmt: skip
        squares = self.ranks.sum(np.stack([
            arrays.impurity_sums(number, there, records, y, of_output, of_sums, is_wide, exact_weight)
            for (_, there), y, of_output, of_sums in zip(scaled, by_output, extents, sums, strict=True)
        ]))  # fmt: skip
        return arrays.join_outputs(np.stack([
            arrays.leaf_words(number, of_all, of_output, of_sums, of_squares, is_wide, shifts)
            for (of_all, _), of_output, of_sums, of_squares in zip(scaled, extents, sums, squares, strict=True)
        ]))  # fmt: skip

    def _targets_by_output(self):
        """The exact targets of each output, contiguous."""
        n_outputs = self.layout.n_outputs
        return [self._y] if n_outputs == 1 else [np.ascontiguousarray(self._y[:, o]) for o in range(n_outputs)]

    def _scaled(self, nodes, extents):
        """Nodes whose scale is that of one of several outputs, given the extents of its targets in them."""
        nodes, is_mixed = nodes.copy(), extents[:, 0] < extents[:, 1]
        bits = outputs.output_bits(self.layout.criterion_number)
        nodes["scale"]["centre"][is_mixed], nodes["scale"]["exponent"][is_mixed] = arrays.choose_scales(extents[is_mixed], bits)
        return nodes

    def grow_subtrees(self, open_nodes):
        exact_weight = self.local.exact_weight.get() if self.has_exact_weights else None
        local = self.local_nodes(open_nodes)
        return self._shipping.grow(open_nodes, local, self.local.records.get(), exact_weight, self._label_ranks)


def _open_nodes(nodes):
    """Where the draws of nodes that are grown lie, as the shard of the own rows is asked for them."""
    open_nodes = np.zeros(len(nodes), record("df_open_node"))
    for name in ("first", "n", "first_weight"):
        open_nodes[name] = nodes[name]
    return open_nodes


class RankRecorder(Recorder):
    """Keeps what this rank's work does on its device, and what ranks exchange.

    Parameters
    ----------
    ranks : Communicator
    device : Device
    ship_up_to : int, default=0
        Records of the largest node that is shipped.
    """

    def __init__(self, ranks, device, ship_up_to=0):
        super().__init__(device)
        self._ranks, self._ship_up_to = ranks, ship_up_to

    def report(self, n_trees):
        traffic = self._ranks.traffic
        return replace(
            super().report(n_trees), n_ranks=self._ranks.size, n_rounds=traffic.n_rounds, bytes_sent=traffic.bytes_sent,
            ship_up_to=self._ship_up_to, wait_seconds=traffic.seconds_waited,
        )  # fmt: skip
