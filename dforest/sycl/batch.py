"""Trees grown together on a device, level by level.

Words: a node of more than `subtree_up_to` records is *large*: it is split here, all large nodes of a level at once, their
draws cut into *chunks*; whatever is smaller is a *subtree*, which one group of the device grows to its end
(kernels/subtree.hpp). A *reference* to a node is its number among the large ones, or -1 less the number of its subtree.

This side keeps the tables of large nodes, which are few. A `Batch` owns the draws of its trees, on the device.
"""

from itertools import pairwise

import numpy as np

from dforest.core.assembly import TreeArrays
from dforest.sycl.records import constants, record

REQUANTISE = 256  # a node's targets get a scale of their own below 1 / 256 of the range of theirs: see regression.pyx

_SIDES = (np.uint64(0xA0761D6478BD642F), np.uint64(0xE7037ED1A0B428DB))


def child_paths(paths, side):
    """The paths of children: `df_child_path` of random.h."""
    z = paths ^ _SIDES[side]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def scale_exponents(largest):
    """`df_scale_exponent` of numerics.h, for 31 bits."""
    exponent = 31 - np.frexp(largest)[1]
    return exponent - (np.rint(np.ldexp(largest, exponent)) >= 2.0**31)


def cut_up(firsts, lengths, size):
    """Chunks of at most `size` draws: df_chunk records, those of each stretch one after another."""
    n = -(-lengths // size)
    chunks = np.empty(n.sum(), record("df_chunk"))
    node = np.repeat(np.arange(len(n)), n)
    number = np.arange(len(node)) - np.repeat(np.cumsum(n) - n, n)
    chunks["node"] = node
    chunks["first"] = firsts[node] + number * size
    chunks["n"] = np.minimum(size, lengths[node] - number * size)
    return chunks


def by_node(chunks, values, reduce):
    """Values of chunks put together for each node."""
    starts = np.flatnonzero(np.diff(chunks["node"], prepend=-1))
    return reduce.reduceat(values, starts, axis=0)


class Batch:
    """Trees that are grown together, depth-first or as if they were.

    Parameters
    ----------
    training : Training
    draws : DeviceArray
        Of all trees.
    roots : ndarray of df_open_node
        The trees' roots, but for their weights.
    """

    def __init__(self, training, draws, roots):
        self.training, self.device, self.draws, self.roots = training, training.device, draws, roots
        self.scratch = self.device.empty(draws.shape, draws.dtype)
        self.large = []  # df_grown of the large nodes, by level
        self.subsets = []  # [n, subset_words] of each
        self.children = []  # references to the two children of each
        self.subtrees = []  # df_open_node, by level
        self.n_large = self.n_subtrees = 0
        self.leaf_starts = []  # where the draws of each tree's leaves begin, once it is grown
        self.rows = None  # of all draws, once they are asked for

    def grow(self):
        """Grow the trees; return their `TreeArrays`, in order."""
        self._set_root_weights()
        root_references, places = self._enter(self.roots)
        while len(places):
            places = self._grow_level(places)
        return self._assemble(root_references)

    def _enter(self, places):
        """References for new nodes; those that are large are returned too."""
        is_large = places["n"] > self.training.tuning.subtree_up_to
        references = np.empty(len(places), np.int64)
        references[is_large] = self.n_large + np.arange(is_large.sum())
        references[~is_large] = -1 - self.n_subtrees - np.arange((~is_large).sum())
        self.n_large += int(is_large.sum())
        self.n_subtrees += int((~is_large).sum())
        self.subtrees.append(places[~is_large])
        return references, places[is_large]

    def _statistics(self, chunks):
        """Statistics and target extents of chunks."""
        t = self.training
        there, n = self.device.array(chunks), len(chunks)
        statistics = self.device.empty((n, t.n_words), np.int64)
        extents = self.device.empty((n, 2), np.int32)
        n_bytes = 4 * int(t.problem["n_planes"])
        t.run_with_memory("df_add_chunks", min(n, t.tuning.n_groups), n_bytes, t.problem_there, self.draws, there, n, statistics,
                          extents)  # fmt: skip
        return statistics.get(), extents.get()

    def _cut_up(self, places):
        return cut_up(places["first"], places["n"], self.training.tuning.chunk)

    def _set_root_weights(self):
        chunks = self._cut_up(self.roots)
        statistics, _ = self._statistics(chunks)
        self.roots["root_weight"] = by_node(chunks, statistics, np.add)[:, 1]

    def _open(self, places):
        """(statistics, whether they are leaves) of large nodes; those that need another scale get it."""
        t, rules = self.training, self.training.rules
        chunks = self._cut_up(places)
        statistics, extents = self._statistics(chunks)
        if t.has_classes:
            totals = by_node(chunks, statistics, np.add)
            is_pure = (totals[:, 2:] > 0).sum(axis=1) <= 1
        else:
            is_pure = self._rescale(places, chunks, statistics, extents)
            totals = by_node(chunks, statistics, np.add)
        n, weight = totals[:, 0], totals[:, 1].astype(np.float64)
        least = 2.0 * rules.min_weight_fraction_leaf * places["root_weight"].astype(np.float64)
        p = t.problem
        is_small = (n < p["min_split"]) | (n < 2 * p["min_draws"]) | (weight < least)
        is_leaf = is_pure | is_small | (places["depth"] >= p["max_depth"])
        if rules.impurity_threshold > 0.0:
            is_leaf |= self._impurities(places, totals) < rules.impurity_threshold
        return totals, is_leaf

    def _rescale(self, places, chunks, statistics, extents):
        """Give nodes of narrow range a scale of their own, and their chunks new statistics; return which are pure."""
        t = self.training
        lows, highs = by_node(chunks, extents[:, 0], np.minimum), by_node(chunks, extents[:, 1], np.maximum)
        ranges = highs.astype(np.int64) - lows
        is_narrow = (ranges == 0) | (REQUANTISE * ranges < places["range"])
        is_pure = np.zeros(len(places), bool)
        if not is_narrow.any():
            return is_pure
        of_narrow = is_narrow[chunks["node"]]
        some = chunks[of_narrow]
        found = self.device.empty((len(some), 2), np.float64)
        t.run("df_find_extents", len(some), self.draws, self.device.array(some), len(some), t.y, found)
        found = found.get()
        nodes = np.flatnonzero(is_narrow)
        lo, hi = by_node(some, found[:, 0], np.minimum), by_node(some, found[:, 1], np.maximum)
        is_pure[nodes] = lo == hi
        lo, hi, nodes = lo[lo < hi], hi[lo < hi], nodes[lo < hi]
        if len(nodes):
            centre = 0.5 * lo + 0.5 * hi
            places["centre"][nodes] = centre
            places["exponent"][nodes] = scale_exponents(np.maximum(hi - centre, centre - lo))
            again = np.isin(chunks["node"], nodes)
            some = chunks[again]
            t.run("df_requantise", len(some), self.draws, self.device.array(some), len(some), self.device.array(places), t.y)
            statistics[again], extents[again] = self._statistics(some)
            lows, highs = by_node(some, extents[again][:, 0], np.minimum), by_node(some, extents[again][:, 1], np.maximum)
            places["range"][nodes] = highs.astype(np.int64) - lows
        return is_pure

    def _impurities(self, places, totals):
        nodes = np.zeros(len(places), record("df_grown"))
        for name in ("first", "n", "centre", "exponent", "lower", "upper"):
            nodes[name] = places[name]
        if self.training.has_classes:
            return np.array([self.training.impurity_of(total) for total in totals])
        return self._judge(self.device.array(nodes), np.arange(len(nodes)))[:, 3].view(np.float64)

    def _judge(self, nodes, numbers):
        """What some of `nodes`, on the device, keep as leaves."""
        t, n = self.training, len(numbers)
        words = self.device.empty((n, t.n_leaf_words), np.int64)
        if n:
            t.run("df_judge_nodes", n, t.problem_there, t.y, self.draws, nodes, self.device.array(numbers.astype(np.int64)), n,
                  t.tuning.alone_up_to, t.n_leaf_words, words)
        return words.get()

    def _evaluate(self, places):
        """The cuts of nodes, as `df_cut`, feature -1 if they are leaves, and their subsets. Some nodes get a new scale."""
        t = self.training
        totals, is_leaf = self._open(places)
        cuts = np.zeros(len(places), record("df_cut"))
        cuts["feature"] = -1
        subsets = np.zeros((len(places), t.subset_words), np.uint64)
        cuts[~is_leaf], subsets[~is_leaf] = self._search(places[~is_leaf], totals[~is_leaf])
        if t.rules.min_impurity_decrease > 0.0:
            decrease = self._scores(places, cuts) / places["root_weight"].astype(np.float64)
            cuts["feature"][decrease < t.rules.min_impurity_decrease] = -1
        return cuts, subsets

    def _scores(self, places, cuts):
        """Scores in units of weight times impurity."""
        power = {"squared_error": -2, "poisson": -1}.get(self.training.criterion, 0)
        return np.ldexp(cuts["score"], power * places["exponent"])

    def _keep(self, places, cuts, subsets):
        """The `df_grown` of large nodes, to be assembled."""
        grown = np.zeros(len(places), record("df_grown"))
        for name in ("first", "n", "centre", "exponent", "lower", "upper"):
            grown[name] = places[name]
        for name in ("feature", "code", "above", "missing_left", "only_missing", "threshold"):
            grown[name] = cuts[name]
        self.large.append(grown)
        self.subsets.append(subsets)

    def _grow_level(self, places):
        """Split large nodes; return the large ones among their children."""
        cuts, subsets = self._evaluate(places)
        self._keep(places, cuts, subsets)
        inner = np.flatnonzero(cuts["feature"] >= 0)
        n_left = self._partition(places[inner], cuts[inner], subsets[inner])
        references, below = self._enter(self._divide(places[inner], cuts[inner], n_left))
        children = np.zeros((len(places), 2), np.int64)
        children[inner] = references.reshape(-1, 2)
        self.children.append(children)
        return below

    def _search(self, places, totals):
        """The best cut of each node, as `df_cut`, and its subset; feature -1 where there is none."""
        t, p = self.training, self.training.n_features
        cuts, subsets = np.zeros(len(places), record("df_cut")), np.zeros((len(places), t.subset_words), np.uint64)
        cuts["feature"] = -1
        cuts["score"] = -1.0
        node_bytes = 8 * t.n_words * int(t.problem["most_entries"])
        counted = np.zeros(len(places), np.int64)  # features tried, against max_features
        nodes, tried, n = np.arange(len(places)), 0, t.max_features
        while len(nodes) and tried < p:
            size = max(1, t.tuning.histogram_bytes // (node_bytes * n))
            for begin in range(0, len(nodes), size):
                some = nodes[begin : begin + size]
                seeds, paths = (np.ascontiguousarray(places[name][some]) for name in ("seed", "path"))
                found, found_subsets = self._try(places[some], totals[some], t.order.draw_each(seeds, paths, tried, n))
                counts = (found["is_constant"] == 0) | (not t.skip_constant)
                is_first = counted[some, None] + np.cumsum(counts, axis=1) - counts < t.max_features
                counted[some] += counts.sum(axis=1)
                # Of the first ones the best is taken; without one, the first that has a cut. Of equal ones the one drawn earlier.
                best = np.where(is_first, found["score"], -1.0).argmax(axis=1)
                later = (~is_first & (found["score"] >= 0.0)).argmax(axis=1)
                for place, wins in ((best, found["score"] > cuts["score"][some, None]), (later, found["score"] >= 0.0)):
                    at = np.arange(len(some)), place
                    is_taken = wins[at] & (is_first[at] if place is best else cuts["feature"][some] < 0)
                    cuts[some[is_taken]] = found[at][is_taken]
                    subsets[some[is_taken]] = found_subsets[at][is_taken]
            tried += n
            nodes = nodes[(counted[nodes] < t.max_features) | (cuts["feature"][nodes] < 0)]
            # As many more as are still to be counted; or, in search of any cut, by turns that double.
            missing = t.max_features - counted[nodes].min(initial=t.max_features)
            n = min(missing if missing > 0 else max(t.tuning.extra_features, tried), p - tried)
        return cuts, subsets

    def _try(self, places, totals, features):
        """The best cuts of some features of each node: `df_cut`s of the shape of `features`, and their subsets."""
        t, device = self.training, self.device
        n_nodes, n_tried = features.shape
        entries, planes = int(t.problem["most_entries"]), int(t.problem["n_planes"])
        histograms = device.zeros((n_nodes, n_tried, entries, t.n_words), np.int64)
        there, places_there, totals_there = device.array(features), device.array(places), device.array(totals)
        chunks = self._cut_up(places)
        chunks_there = device.array(chunks)
        drafts = self._draft(places_there, chunks, chunks_there, there) if t.problem["has_keys"] else None
        together, n_local = t.features_at_once(lambda k: 4 * k * entries * planes + 8 * t.n_words * t.tuning.n_items)
        together = min(together, n_tried)
        n_groups = min(len(chunks) * -(-n_tried // together), t.tuning.n_groups)
        t.run_with_memory("df_add_histograms", n_groups, n_local, t.problem_there, t.codes, self.draws, chunks_there,
                          len(chunks), there, drafts, n_tried, together, histograms)  # fmt: skip
        cuts = device.empty((n_nodes, n_tried), record("df_cut"))
        subsets = device.empty((n_nodes, n_tried, t.subset_words), np.uint64)
        words = device.empty((n_nodes, n_tried, 3, t.n_words), np.int64)
        keys = device.empty((n_nodes, n_tried, t.most_categories), np.float64)
        ranked = device.empty((n_nodes, n_tried, t.most_categories), np.uint32)
        t.run_items("df_find_cuts", n_nodes * n_tried, t.problem_there, t.columns, *t.numbers, places_there, n_nodes,
                    totals_there, there, drafts, n_tried, histograms, words, keys, ranked, cuts, subsets)  # fmt: skip
        return cuts.get(), subsets.get()

    def _draft(self, places, chunks, chunks_there, features):
        """The random cuts of those features that have keys: `df_draft`s of the shape of `features`."""
        t, device = self.training, self.device
        n_nodes, n_tried = features.shape
        ranges = device.empty((len(chunks), n_tried, 2), np.uint64)
        t.run("df_find_key_ranges", len(chunks) * n_tried, t.problem_there, t.columns, t.codes, self.draws, chunks_there,
              len(chunks), features, n_tried, ranges)  # fmt: skip
        firsts = device.array(np.searchsorted(chunks["node"], np.arange(n_nodes + 1)))
        drafts = device.empty((n_nodes, n_tried), record("df_draft"))
        t.run_items("df_draw_cuts", n_nodes * n_tried, t.problem_there, t.columns, places, n_nodes, firsts, ranges, features,
                    n_tried, drafts)  # fmt: skip
        return drafts

    def _partition(self, places, cuts, subsets):
        """Partition the draws of nodes; return how many records go left."""
        t, device = self.training, self.device
        if len(places) == 0:
            return np.zeros(0, np.int64)
        chunks = self._cut_up(places)
        there, n = device.array(chunks), len(chunks)
        test = device.array(cuts), device.array(subsets)
        counted = device.empty((n,), np.int64)
        t.run("df_count_left", n, t.problem_there, t.columns, t.codes, self.draws, there, n, *test, counted)
        counted = counted.get()
        n_left = by_node(chunks, counted, np.add)
        node = chunks["node"]
        before = np.cumsum(counted) - counted  # of all nodes
        before -= before[np.flatnonzero(np.diff(node, prepend=-1))][node]
        to_left = places["first"][node] + before
        to_right = n_left[node] + chunks["first"] - before
        t.run("df_move_draws", n, t.problem_there, t.columns, t.codes, self.draws, there, n, *test, device.array(to_left),
              device.array(to_right), self.scratch)
        t.run("df_copy_draws", n, self.scratch, there, n, self.draws)
        return n_left

    def _divide(self, places, cuts, n_left):
        """The places of the children, left and right in turn."""
        children = np.repeat(places, 2)
        left, right = children[::2], children[1::2]
        left["n"] = n_left
        right["first"] += n_left
        right["n"] -= n_left
        children["depth"] += 1
        left["path"], right["path"] = child_paths(places["path"], 0), child_paths(places["path"], 1)
        direction = self.training.table["direction"][cuts["feature"]]
        rises, falls = direction > 0, direction < 0
        left["upper"][rises] = right["lower"][rises] = cuts["middle"][rises]
        left["lower"][falls] = right["upper"][falls] = cuts["middle"][falls]
        return children

    def _grow_subtrees(self):
        """The subtrees: where they begin; their nodes and subsets, on the device; how many nodes each has."""
        t, device = self.training, self.device
        places = np.concatenate(self.subtrees) if self.subtrees else self.roots[:0]
        if len(places) == 0:
            return places, None, None, np.zeros(0, np.int64)
        n_grown = np.zeros(len(places), np.int64)
        grown = device.empty((2 * self.draws.shape[0],), record("df_grown"))
        subsets = device.empty((2 * self.draws.shape[0], t.subset_words), np.uint64)
        together, n_local = t.features_at_once(t.desk_bytes)
        # The largest first; in turns short enough to be interrupted.
        by_size = np.argsort(-places["n"], kind="stable")
        turns = np.cumsum(places["n"][by_size]) // t.tuning.slice_records
        for turn in np.split(by_size, np.flatnonzero(np.diff(turns)) + 1):
            if len(turn) == 0:
                continue
            n_groups = min(len(turn), t.tuning.n_growing)
            most = int(places["n"][turn].max())
            pending = device.empty((n_groups, most + 1), record("df_open_node"))
            features = device.empty((n_groups, constants()["DF_FEATURE_ARRAYS"], t.n_features), np.uint32)
            block = rows = y = None
            if most * t.n_features * t.codes.dtype.itemsize <= t.tuning.block_bytes:
                block = device.empty((n_groups, most, t.n_features), t.codes.dtype)
                rows = device.empty((n_groups, most), np.uint32)
                y = device.empty((n_groups, most if t.y is not None else 0), np.float64)
            numbers = device.empty((len(turn),), np.int64)
            t.run_with_memory("df_grow_subtrees", n_groups, n_local, t.problem_there, t.columns, *t.numbers, t.codes, t.y,
                              self.draws, self.scratch, device.array(places[turn]), len(turn), most, pending, features, block,
                              rows, y, together, grown, subsets, numbers)  # fmt: skip
            n_grown[turn] = numbers.get()
        return places, grown, subsets, n_grown

    def _assemble(self, root_references):
        """The trees' arrays."""
        t, device = self.training, self.device
        places, grown, grown_subsets, n_grown = self._grow_subtrees()
        large = np.concatenate(self.large) if self.large else np.zeros(0, record("df_grown"))
        children = np.concatenate(self.children) if self.children else np.zeros((0, 2), np.int64)
        at, starts = self._lay_out(root_references, large["feature"], children, n_grown)
        at_large, at_subtree, n_nodes = at[: len(large)], at[len(large) :][::-1].copy(), starts[-1]
        gathered = device.empty((n_nodes,), record("df_grown"))
        gathered_subsets = device.empty((n_nodes, t.subset_words), np.uint64)
        if len(places):
            t.run("df_gather_nodes", len(places), grown, grown_subsets, t.subset_words, device.array(places),
                  device.array(n_grown), device.array(at_subtree), len(places), gathered, gathered_subsets)  # fmt: skip
        nodes, subsets = gathered.get(), gathered_subsets.get()
        # `right` is counted from the subtree's first node so far; from now on, from the tree's.
        tree_start = np.repeat(starts[:-1], np.diff(starts))
        first_of = np.zeros(n_nodes, np.int64)
        spans = np.repeat(at_subtree, n_grown)
        inside = np.arange(len(spans)) - np.repeat(np.cumsum(n_grown) - n_grown, n_grown)
        first_of[spans + inside] = spans
        is_kept = at_large >= 0
        at_large = at_large[is_kept]
        nodes[at_large] = large[is_kept]
        if len(large):
            subsets[at_large] = np.concatenate(self.subsets)[is_kept]
        right = nodes["right"].astype(np.int64) + first_of - tree_start
        right[at_large] = at[children[is_kept, 1]] - tree_start[at_large]
        is_leaf = nodes["feature"] < 0
        is_large = np.zeros(n_nodes, bool)
        is_large[at_large] = True
        leaves = np.empty((n_nodes, t.n_leaf_words), np.int64)
        small = np.flatnonzero(is_leaf & ~is_large)
        leaves[small] = self._judge(gathered, small)
        large_leaves = np.flatnonzero(is_kept & (large["feature"] < 0))
        leaves[at[large_leaves]] = self._judge(device.array(large), large_leaves)
        leaves = leaves[is_leaf]
        thresholds = self._thresholds(nodes)
        leaf_ends = np.cumsum(is_leaf)
        self.leaf_starts = [nodes["first"][first:last][is_leaf[first:last]] for first, last in pairwise(starts)]
        has_subset = ~is_leaf & (t.table["kind"][np.maximum(nodes["feature"], 0)] == constants()["DF_CATEGORICAL"])
        for first, last in pairwise(starts):
            leaf = slice(leaf_ends[first - 1] if first else 0, leaf_ends[last - 1])
            yield TreeArrays(
                nodes["feature"][first:last],
                thresholds[first:last],
                right[first:last].astype(np.uint32),
                nodes["missing_left"][first:last].astype(bool) & ~is_leaf[first:last],
                leaves[leaf],
                np.zeros((0, 2)),
                *self._payloads(subsets[first:last][has_subset[first:last]]),
            )

    def record_table(self, t):
        """The records of tree t of the batch, once it is grown: as `dforest.core.grower.Grower.record_table`."""
        if self.rows is None:
            self.rows = self.draws.get()["row"]
        root, starts = self.roots[t], self.leaf_starts[t]
        is_first = np.zeros(root["n"], bool)
        is_first[starts - root["first"]] = True
        return self.rows[root["first"] : root["first"] + root["n"]], is_first

    def _payloads(self, subsets):
        """(how many words of each subset to keep, these words): those of 0 at the end are left out."""
        is_kept = np.logical_or.accumulate((subsets != 0)[:, ::-1], axis=1)[:, ::-1]
        return is_kept.sum(axis=1), subsets[is_kept]

    def _lay_out(self, root_references, feature, children, n_grown):
        """(where each node or subtree comes to stand, where each tree begins and the last one ends): preorder, tree by tree.

        The first is by reference, negative ones counted from the end; -1: in no tree.
        """
        at = np.full(len(feature) + len(n_grown), -1)
        starts, n_nodes = [], 0
        for root in root_references.tolist():
            starts.append(n_nodes)
            pending = [root]
            while pending:
                reference = pending.pop()
                at[reference] = n_nodes
                if reference < 0:
                    n_nodes += int(n_grown[-1 - reference])
                    continue
                n_nodes += 1
                if feature[reference] >= 0:
                    pending += children[reference, ::-1].tolist()
        return at, [*starts, n_nodes]

    def _thresholds(self, nodes):
        """Where nodes cut, as `store_split` of the splitters has it; 0 for leaves."""
        t = self.training
        column = t.table[np.maximum(nodes["feature"], 0)]
        code, above = nodes["code"].astype(np.int64), nodes["above"].astype(np.int64)
        is_ordinal = column["kind"] == constants()["DF_ORDINAL"]
        if t.is_random:
            at = code
        else:
            at = np.where(is_ordinal, above - 1, code + (above - 1 - code) // 2)
        is_plain, has_keys = (nodes["feature"] >= 0) & (nodes["only_missing"] == 0), column["key_bits"] > 0
        at = np.where(is_plain & ~has_keys, column["first"] + at, 0)
        found = np.where(has_keys, nodes["threshold"], np.where(is_ordinal, t.highs[at], t.values[at]))
        found = np.where(is_plain, found, np.where(nodes["feature"] >= 0, np.inf, 0.0))
        return np.where((nodes["feature"] >= 0) & (column["kind"] == constants()["DF_CATEGORICAL"]), np.nan, found)
