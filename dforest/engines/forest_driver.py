"""The driver of forests' trees, level by level or best first: how nodes are evaluated, and how their trees are put together.

The shard (`dforest.engines.device.shard.ForestShard`) has the draws of the trees; `dforest.engines.driver` has the loop.
"""

from typing import NamedTuple

import numpy as np

from dforest.core.class_lists import ClassLists
from dforest.core.search.feature_order import FeatureOrder
from dforest.engines.driver import Driver
from dforest.rules import arrays, effects, outputs
from dforest.rules.records import record

MIN_AHEAD = 16  # nodes of a tree that are divided at once, if there are as many


class NodeTargets(NamedTuple):
    """What is known of the targets of nodes, if there are several outputs; else both are None.

    Attributes
    ----------
    outputs : ndarray of shape (n_nodes, n_outputs), dtype df_output, or None
    effects : ndarray of shape (n_nodes, n), dtype float64, or None
        As of `ForestShard.effects`.
    """

    outputs: np.ndarray | None
    effects: np.ndarray | None = None

    def of(self, nodes):
        """Those of some of the nodes."""
        return NodeTargets(*(None if known is None else known[nodes] for known in self))


class ForestDriver(Driver):
    """Grows some trees of a forest.

    Parameters
    ----------
    problem : Problem
    shard : ForestShard
    """

    def __init__(self, problem, shard):
        self.layout = shard.layout
        cut, subset = np.zeros(0, record("df_split")), np.zeros((0, self.layout.subset_words), np.uint64)
        super().__init__(problem, shard, shard.subtree_up_to, cut=cut, subset=subset)
        self.limits = self.rules.limits(problem.n_rows)
        self.splitter, self.n_features = problem.splitter, problem.n_features
        self.order = FeatureOrder(problem.n_features)
        self.rows = None  # of all draws, once they are asked for

    def grow(self, keep_leaves=False):
        """Grow the trees; return their `TreeArrays`, in order.

        Parameters
        ----------
        keep_leaves : bool, default=False
            Whether to remember for `record_table` where the draws of leaves are.
        """
        totals, extents = self._set_root_weights()
        if self.layout.n_label_ranks:
            self._order_labels(totals, extents)
        objective, trees = self.layout.objective, self.grow_trees(self.shard.roots, keep_leaves)
        return (_listed(tree, objective) for tree in trees) if objective.lists_classes else trees

    def ahead(self, n_leaves):
        return max(MIN_AHEAD, n_leaves // 2)

    def directions(self, cuts):
        return self.layout.table["monotonic_cst"][cuts["feature"]], cuts["midpoint"].copy()

    def record_table(self, t):
        """Which rows the leaves of tree t have, if that is kept: as `leaf_table` in `dforest/core/grow/tree.pxd` says."""
        if self.rows is None:
            self.rows = self.shard.rows()
        root, starts = self.shard.roots[t], self.leaf_starts[t]
        is_first = np.zeros(root["n"], bool)
        is_first[starts - root["first"]] = True
        return self.rows[root["first"] : root["first"] + root["n"]], is_first

    def _set_root_weights(self):
        """Say what roots weigh; return their statistics, and the extents of their targets, as of `ForestShard.add_up`."""
        roots = self.shard.roots
        self._requantise_weights(roots)
        totals, extents = self.shard.add_up(roots, self._unscaled(len(roots)))
        roots["root_weight"] = arrays.shifted_weights(totals[:, 1], roots["weight_shift"])
        return totals, extents

    def _order_labels(self, totals, extents):
        """Order the labels of the trees, given the statistics of their roots and the extents of their targets."""
        roots, labels = self.shard.roots, self.shard.labels
        if self.layout.objective.scales_targets:
            self._rescale(roots, totals, extents)
        size = max(1, self.shard.histogram_bytes // labels.tree_bytes)
        ranks = np.empty((len(roots), self.layout.n_label_ranks), np.uint32)
        for first in range(0, len(roots), size):
            some = slice(first, first + size)
            ranks[some] = labels.rank(self.shard.label_sums(roots[some]))
        roots["label_order"] = np.arange(len(roots))
        self.shard.take_label_ranks(ranks)

    def _requantise_weights(self, open_nodes):
        """Give nodes whose draws are all light another shift, and the draws other weights."""
        if not self.shard.has_exact_weights:
            return
        max_weight = self.shard.max_weight(open_nodes)
        shifts = arrays.shifts_if_light(open_nodes["weight_shift"], max_weight)
        nodes = np.flatnonzero(shifts != open_nodes["weight_shift"])
        if len(nodes):
            open_nodes["weight_shift"] = shifts
            self.shard.requantise_weights(open_nodes[nodes])

    def _unscaled(self, n_nodes):
        """The outputs of nodes, `df_output`s, which have no scales yet; None: there is one output."""
        return None if self.layout.outputs is None else np.tile(self.layout.outputs, (n_nodes, 1))

    def _open(self, open_nodes):
        """(statistics, `NodeTargets`, whether they are leaves) of large nodes; those that need other scales get them."""
        self._requantise_weights(open_nodes)
        targets, scales_targets = NodeTargets(self._unscaled(len(open_nodes))), self.layout.objective.scales_targets
        if self.layout.effects is not None:
            targets = targets._replace(effects=self.shard.effects(open_nodes))
        if targets.outputs is not None:
            totals, is_pure = self._scale_outputs(open_nodes, targets, scales_targets)
        else:
            totals, extents = self.shard.add_up(open_nodes, None)
            is_pure = self._rescale(open_nodes, totals, extents) if scales_targets else arrays.have_one_class(totals)
        is_leaf = is_pure | arrays.are_leaves(self.limits, open_nodes, totals)
        if self.rules.impurity_threshold > 0.0:
            is_leaf |= arrays.are_pure_enough(self.limits, self._impurities(open_nodes, totals))
        return totals, targets, is_leaf

    def _scale_outputs(self, open_nodes, targets, scales_targets):
        """Give the outputs of nodes scales of their own, and say all else that is known of them: (statistics, which are pure)."""
        number = self.layout.criterion_number
        if scales_targets:
            extents = self.shard.target_extents(open_nodes, targets.effects)
            outputs.scale(number, extents, targets.outputs)
            if targets.effects is not None:  # what bounds cuts has no part in scores
                n_scored = effects.scored(self.layout.effects)
                bounds, lowest = targets.outputs[:, n_scored:], extents[:, n_scored:, 0]
                bounds["scale"]["centre"] = np.where(bounds["is_pure"], lowest, bounds["scale"]["centre"])
                bounds["is_pure"] = 1
        totals, _ = self.shard.add_up(open_nodes, *targets)
        open_nodes["scale"]["exponent"], is_pure = outputs.measure(number, self.layout.is_wide, totals, targets.outputs)
        return totals, is_pure

    def _rescale(self, open_nodes, totals, extents):
        """Give nodes of narrow range a scale of their own, and new statistics; return which are pure."""
        is_pure = open_nodes["n"] == 1
        nodes = np.flatnonzero(arrays.are_narrow(open_nodes, extents))
        if len(nodes) == 0:
            return is_pure
        exact = self.shard.target_extents(open_nodes[nodes])[:, 0].copy()
        is_equal = exact[:, 0] == exact[:, 1]
        is_pure[nodes] = is_equal
        nodes = nodes[~is_equal]
        if len(nodes):
            open_nodes["scale"]["centre"][nodes], open_nodes["scale"]["exponent"][nodes] = arrays.choose_scales(exact[~is_equal])
            self.shard.requantise(open_nodes[nodes])
            totals[nodes], extents = self.shard.add_up(open_nodes[nodes], None)
            open_nodes["scale"]["range"][nodes] = extents[:, 1] - extents[:, 0]
        return is_pure

    def _impurities(self, open_nodes, totals):
        objective = self.layout.objective
        if not objective.keeps_values:
            return np.array([self.problem.criterion.impurity_of(total) for total in totals])
        words = self.shard.leaf_words(_grown(open_nodes))
        return words[:, objective.leaf_words["leaf_impurity"]].copy().view(np.float64)[:, 0]

    def evaluate(self, nodes, parents):
        totals, targets, is_leaf = self._open(nodes)
        cuts = np.zeros(len(nodes), record("df_split"))
        cuts["feature"] = -1
        subsets = np.zeros((len(nodes), self.layout.subset_words), np.uint64)
        cuts[~is_leaf], subsets[~is_leaf] = self._search(nodes[~is_leaf], totals[~is_leaf], targets.of(~is_leaf))
        scores = cuts["score"].copy()
        units = arrays.absolute_exponents(self.layout.criterion_number, nodes["scale"]["exponent"], nodes["weight_shift"])
        cuts["feature"][~arrays.decrease_enough(self.limits, scores, units, nodes["root_weight"])] = -1
        return {"cut": cuts, "score": scores, "unit": units, "subset": subsets}

    def _search(self, open_nodes, totals, targets):
        """The best cut of each node, as `df_split`, and its subset; feature -1 where there is none."""
        splitter, p = self.splitter, self.n_features
        cuts = np.zeros(len(open_nodes), record("df_split"))
        subsets = np.zeros((len(open_nodes), self.layout.subset_words), np.uint64)
        cuts["feature"] = -1
        cuts["score"] = -1.0
        node_bytes = 8 * self.layout.n_words * self.layout.max_entries
        counted = np.zeros(len(open_nodes), np.int64)  # features tried, against max_features
        nodes, tried, n = np.arange(len(open_nodes)), 0, splitter.max_features
        while len(nodes) and tried < p:
            size = max(1, self.shard.histogram_bytes // (node_bytes * n))
            for begin in range(0, len(nodes), size):
                some = nodes[begin : begin + size]
                seeds, node_keys = (np.ascontiguousarray(open_nodes[name][some]) for name in ("seed", "key"))
                features = self.order.draw_each(seeds, node_keys, tried, n)
                found, found_subsets = self._try(open_nodes[some], totals[some], targets.of(some), features)
                counts = (found["is_constant"] == 0) | (not splitter.skip_constant_features)
                is_first = counted[some, None] + np.cumsum(counts, axis=1) - counts < splitter.max_features
                counted[some] += counts.sum(axis=1)
                # Of the first ones the best is taken; without one, the first that has a cut. Of equal ones the one drawn earlier.
                best = np.where(is_first, found["score"], -1.0).argmax(axis=1)
                later = (~is_first & (found["score"] >= 0.0)).argmax(axis=1)
                for to, wins in ((best, found["score"] > cuts["score"][some, None]), (later, found["score"] >= 0.0)):
                    at = np.arange(len(some)), to
                    is_taken = wins[at] & (is_first[at] if to is best else cuts["feature"][some] < 0)
                    cuts[some[is_taken]] = found[at][is_taken]
                    subsets[some[is_taken]] = found_subsets[at][is_taken]
            tried += n
            nodes = nodes[(counted[nodes] < splitter.max_features) | (cuts["feature"][nodes] < 0)]
            # As many more as are still to be counted; or, in search of any cut, by turns that double.
            missing = splitter.max_features - counted[nodes].min(initial=splitter.max_features)
            n = min(missing if missing > 0 else max(self.shard.extra_features, tried), p - tried)
        return cuts, subsets

    def _try(self, open_nodes, totals, targets, features):
        """The best cuts of some features of each node: `df_split`s of the shape of `features`, and their subsets."""
        ranges = self.shard.key_ranges(open_nodes, features) if self.layout.has_keys else None
        histograms = self.shard.count(open_nodes, features, ranges, *targets)
        return self.shard.find_cuts(open_nodes, totals, targets.outputs, features, ranges, histograms)

    def describe(self, numbers, feature):
        nodes, cuts = _grown(self.table["node"][numbers]), self.table["cut"][numbers]
        for name in ("code", "above", "missing_left", "only_missing", "threshold"):
            nodes[name] = cuts[name]
        nodes["feature"] = feature
        keeping = self.layout.with_words(feature)
        words = np.zeros((0, self.layout.n_leaf_words), np.int64)
        if len(keeping):
            words = self.shard.leaf_words(nodes[keeping])
        if self.layout.bounds_fractions:
            arrays.bound_fractions(words, nodes[keeping])
        missing_left = (nodes["missing_left"] != 0) & (feature >= 0)
        return self.layout.nodes_of(feature, self.layout.thresholds(nodes), missing_left, self.table["subset"][numbers], words)


def _listed(tree, objective):
    """A tree whose leaves keep lists of classes, as a forest wants them."""
    leaves, entries = objective.list_leaves(tree.leaves[:, 0], ClassLists.of(tree.leaves[:, 1:]))
    return tree._replace(leaves=leaves, entries=entries)


def _grown(open_nodes):
    """The `df_grown` of nodes, without cuts."""
    grown = np.zeros(len(open_nodes), record("df_grown"))
    for name in ("first", "n", "first_weight", "weight_shift", "scale", "lower", "upper"):
        grown[name] = open_nodes[name]
    return grown
