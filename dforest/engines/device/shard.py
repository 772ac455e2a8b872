"""The draws of a batch of trees on a device: what a driver asks of a shard, by kernels."""

import numpy as np

from dforest.engines.device.training import median_bytes, median_groups, target_order_bytes
from dforest.engines.nodes import Subtrees
from dforest.engines.shard import ForestShard
from dforest.rules import arrays
from dforest.rules.records import constants, record


def cut_up(firsts, lengths, size):
    """Ranges of draws cut into chunks of at most `size` draws: df_chunk records, one range after another."""
    n = -(-lengths // size)
    chunks = np.empty(n.sum(), record("df_chunk"))
    node = np.repeat(np.arange(len(n)), n)
    number = np.arange(len(node)) - np.repeat(np.cumsum(n) - n, n)
    chunks["node"] = node
    chunks["first"] = firsts[node] + number * size
    chunks["n"] = np.minimum(size, lengths[node] - number * size)
    return chunks


def by_node(chunks, n_nodes, values, reduce, nothing):
    """Values of chunks put together for each of `n_nodes` nodes; `nothing` for a node without draws, which has no chunks."""
    found = np.full((n_nodes, *values.shape[1:]), nothing, values.dtype)
    starts = np.flatnonzero(np.diff(chunks["node"], prepend=-1))
    if len(starts):
        found[chunks["node"][starts]] = reduce.reduceat(values, starts, axis=0)
    return found


def extremes_by_node(chunks, n_nodes, values):
    """The least and the greatest value of each node, given those of its chunks on the last axis; without draws: see `Shard`."""
    if values.dtype.kind == "f":
        lowest, highest = -np.inf, np.inf
    else:
        lowest, highest = np.iinfo(values.dtype).min, np.iinfo(values.dtype).max
    ends = (values[..., 0], np.minimum, highest), (values[..., 1], np.maximum, lowest)
    return np.stack([by_node(chunks, n_nodes, *end) for end in ends], axis=-1)


def by_size(n_records):
    """The numbers of nodes in classes, the largest nodes first; those of a class are of sizes between two powers of two."""
    exponent = np.frexp(n_records.astype(np.float64))[1]
    for size in np.unique(exponent)[::-1]:
        yield np.flatnonzero(exponent == size)


def destinations(open_nodes, chunks, counted):
    """How many draws of each node go left, and where the first ones of each chunk go that do, and that don't.

    Parameters
    ----------
    open_nodes : ndarray of shape (n_nodes,), dtype df_open_node
    chunks : ndarray of shape (n_chunks,), dtype df_chunk
        Of the nodes.
    counted : ndarray of shape (n_chunks,), dtype int64
        How many draws of each chunk go left.

    Returns
    -------
    n_left : ndarray of shape (n_nodes,), dtype int64
    to_left, to_right : ndarray of shape (n_chunks,), dtype int64
    """
    n_left = by_node(chunks, len(open_nodes), counted, np.add, 0)
    node = chunks["node"]
    before = np.cumsum(counted) - counted  # of all nodes
    before -= before[np.searchsorted(node, node)]  # at the first chunk of the node
    return n_left, open_nodes["first"][node] + before, n_left[node] + chunks["first"] - before


class DeviceShard(ForestShard):
    """All draws of a batch: the one shard there is on a device.

    Parameters
    ----------
    training : Training
    seeds : ndarray of shape (n_trees,), dtype uint32
        Of the trees.
    counts : RowCounts
        How often the trees draw each row.
    weights : list of IntegerWeights, or None
        Weights of the rows that differ from tree to tree, in place of the ones that all trees share.
    """

    def __init__(self, training, seeds, counts, weights):
        self.training, self.device = training, training.device
        weight, self.exact_weight, first_weight = None, training.exact_weight, np.zeros(len(seeds), np.int64)
        if weights is not None:
            weight = np.stack([of_tree.integers for of_tree in weights])
            training.max_weight = int(weight.max(initial=1))
            self.exact_weight, first_weight = self._exact_weights(weights)
        self.has_exact_weights, self.label_ranks = self.exact_weight is not None, None
        self.draws, self.roots = self._draw(seeds, counts, weight)
        self.roots["first_weight"] = first_weight
        self.scratch = self.device.empty(self.draws.shape, self.draws.dtype)
        self.sides = self.device.empty(self.draws.shape, np.uint8)  # where each draw goes

    def _exact_weights(self, weights):
        """Exact weights of trees on the device, and where those of each begin, -1 of a tree that has none; None without any."""
        has_some = np.array([of_tree.exact is not None for of_tree in weights])
        if not has_some.any():
            return None, np.full(len(weights), -1)
        exact = np.concatenate([of_tree.exact for of_tree in weights if of_tree.exact is not None])
        return self.device.array(exact), np.where(has_some, (np.cumsum(has_some) - 1) * self.training.n_rows, -1)

    def _draw(self, seeds, counts, weight):
        """The draws of trees of these seeds on the device, and their `df_open_node`s as roots."""
        t, device, n_rows = self.training, self.device, self.training.n_rows
        n_trees, drawn = len(seeds), counts.n_drawn
        t.set_planes(counts.most)
        ends = np.cumsum(drawn).reshape(drawn.shape)
        draws = device.empty((int(drawn.sum()),), record("df_record"))
        stride = 0
        if weight is not None:
            there, stride = device.array(weight), n_rows
        else:
            there = t.weight
        t.run("df_write_draws", drawn.size, n_trees, n_rows, counts.there, device.array(ends - drawn), t.target, there, stride,
              draws)  # fmt: skip
        return draws, arrays.roots(drawn.sum(axis=1), seeds)

    def _cut_up(self, open_nodes):
        return cut_up(open_nodes["first"], open_nodes["n"], self.training.tuning.chunk)

    def _there(self, outputs):
        """The outputs of nodes on the device; None: there is one."""
        return None if outputs is None else self.device.array(outputs)

    def rows(self):
        return self.draws.get()["row"]

    def add_up(self, open_nodes, outputs):
        t, device = self.training, self.device
        chunks = self._cut_up(open_nodes)
        there, n = device.array(chunks), len(chunks)
        statistics = device.empty((n, t.layout.n_words), np.int64)
        extents = device.empty((n, 2), np.int32)
        n_bytes = 4 * int(t.problem["n_planes"])
        t.run_with_memory("df_add_chunks", min(n, t.tuning.n_groups), n_bytes, t.problem_there, t.y, self._there(outputs),
                          self.draws, there, n, statistics, extents)  # fmt: skip
        totals = by_node(chunks, len(open_nodes), statistics.get(), np.add, 0)
        return totals, extremes_by_node(chunks, len(open_nodes), extents.get()).astype(np.int64)

    def target_extents(self, open_nodes):
        t, device = self.training, self.device
        chunks = self._cut_up(open_nodes)
        n_outputs = t.layout.n_outputs
        found = device.empty((len(chunks), n_outputs, 2), np.float64)
        t.run("df_find_extents", len(chunks), self.draws, device.array(chunks), len(chunks), t.y, n_outputs, found)
        return extremes_by_node(chunks, len(open_nodes), found.get())

    def requantise(self, open_nodes):
        t, device = self.training, self.device
        chunks = self._cut_up(open_nodes)
        t.run("df_requantise", len(chunks), self.draws, device.array(chunks), len(chunks), device.array(open_nodes), t.y)

    def max_weight(self, open_nodes):
        device, chunks = self.device, self._cut_up(open_nodes)
        found = device.empty((len(chunks),), np.float64)
        self.training.run("df_find_max_weights", len(chunks), self.draws, device.array(chunks), len(chunks),
                          device.array(open_nodes), self.exact_weight, found)  # fmt: skip
        return by_node(chunks, len(open_nodes), found.get(), np.maximum, 0.0)

    def requantise_weights(self, open_nodes):
        device, chunks = self.device, self._cut_up(open_nodes)
        self.training.run("df_weigh_draws", len(chunks), self.draws, device.array(chunks), len(chunks), device.array(open_nodes),
                          self.exact_weight)  # fmt: skip

    def label_sums(self, roots):
        return self.training.labels.add_up(self.rows(), roots)

    def take_label_ranks(self, ranks):
        self.label_ranks = self.device.array(ranks)

    def key_ranges(self, open_nodes, features):
        t, device = self.training, self.device
        chunks, n_tried = self._cut_up(open_nodes), features.shape[1]
        ranges = device.empty((len(chunks), n_tried, 2), np.uint64)
        t.run("df_find_key_ranges", len(chunks) * n_tried, t.problem_there, t.columns, t.codes, self.draws, device.array(chunks),
              len(chunks), device.array(features), n_tried, ranges)  # fmt: skip
        return extremes_by_node(chunks, len(open_nodes), ranges.get())

    def count(self, open_nodes, features, ranges, outputs):
        t, device = self.training, self.device
        n_nodes, n_tried = features.shape
        entries, planes = t.layout.max_entries, int(t.problem["n_planes"])
        histograms = device.zeros((n_nodes, n_tried, entries, t.layout.n_words), np.int64)
        chunks = self._cut_up(open_nodes)
        features = device.array(features)
        drafts = self._draft(open_nodes, features, n_tried, ranges)
        together, n_local = t.features_at_once(lambda k: 4 * k * entries * planes + 8 * t.layout.n_words * t.tuning.n_items)
        together = min(together, n_tried)
        n_groups = min(len(chunks) * -(-n_tried // together), t.tuning.n_groups)
        t.run_with_memory("df_add_histograms", n_groups, n_local, t.problem_there, t.codes, t.y, self._there(outputs),
                          self.draws, device.array(chunks), len(chunks), features, drafts, n_tried, together,
                          histograms)  # fmt: skip
        return histograms

    def find_cuts(self, open_nodes, totals, outputs, features, ranges, histograms):
        t, device, layout = self.training, self.device, self.training.layout
        n_nodes, n_tried = features.shape
        if isinstance(histograms, np.ndarray):
            histograms = device.array(histograms)
        features = device.array(features)
        drafts = self._draft(open_nodes, features, n_tried, ranges)
        cuts = device.empty((n_nodes, n_tried), record("df_split"))
        subsets = device.empty((n_nodes, n_tried, layout.subset_words), np.uint64)
        words = device.empty((n_nodes, n_tried, 3, layout.n_words), np.int64)
        keys = device.empty((n_nodes, n_tried, layout.max_categories), np.float64)
        ranked = device.empty((n_nodes, n_tried, layout.max_categories), np.uint32)
        found = features, drafts, n_tried, histograms, words, keys, ranked, cuts, subsets
        there, of_outputs, totals = device.array(open_nodes), self._there(outputs), device.array(totals)
        if not layout.has_medians:
            t.run_items("df_find_cuts", n_nodes * n_tried, t.problem_there, t.columns, *t.numbers, self.label_ranks, there,
                        n_nodes, of_outputs, totals, *found)  # fmt: skip
            return cuts.get(), subsets.get()
        n_draws, n_outputs = self.draws.shape[0], layout.n_outputs
        order = [device.empty((n_outputs, n_draws), dtype) for dtype in (np.uint32, np.int32, np.int64)]
        for numbers in by_size(open_nodes["n"]):
            most, n = int(open_nodes["n"][numbers].max()), len(numbers)
            n_bytes, which = median_bytes(layout, t.tuning, most), (there, device.array(numbers), n, most)
            n_groups = [median_groups(t.tuning, n * k, n_bytes) for k in (n_outputs, n_tried)]
            t.run_with_memory("df_order_node_targets", n_groups[0], n_bytes, t.problem_there, self.draws, n_draws, t.y,
                              of_outputs, *which, *order)  # fmt: skip
            t.run_with_memory("df_find_median_cuts", n_groups[1], n_bytes, t.problem_there, t.columns, *t.numbers, t.codes,
                              self.draws, n_draws, *which, of_outputs, totals, *order, *found)  # fmt: skip
        return cuts.get(), subsets.get()

    def _draft(self, open_nodes, features, n_tried, ranges):
        """The random cuts of those features that have keys, `df_draft`s, given their ranges in the nodes; None without."""
        if ranges is None:
            return None
        t, device, n_nodes = self.training, self.device, len(open_nodes)
        drafts = device.empty((n_nodes, n_tried), record("df_draft"))
        t.run_items("df_draw_cuts", n_nodes * n_tried, t.problem_there, t.columns, device.array(open_nodes), n_nodes,
                    device.array(ranges), features, n_tried, drafts)  # fmt: skip
        return drafts

    def partition(self, open_nodes, cuts, subsets):
        t, device = self.training, self.device
        chunks = self._cut_up(open_nodes)
        there, n = device.array(chunks), len(chunks)
        test = device.array(cuts), device.array(subsets)
        counted = device.empty((n,), np.int64)
        t.run("df_count_left", n, t.problem_there, t.columns, t.codes, self.draws, there, n, *test, self.sides, counted)
        n_left, to_left, to_right = destinations(open_nodes, chunks, counted.get())
        t.run("df_move_draws", n, self.draws, self.sides, there, n, device.array(to_left), device.array(to_right), self.scratch)
        t.run("df_copy_draws", n, self.scratch, there, n, self.draws)
        return n_left

    def leaf_words(self, nodes):
        return self._leaf_words(self.device.array(nodes), np.arange(len(nodes)))

    def _leaf_words(self, nodes, numbers):
        """What some of `nodes`, on the device, keep as leaves."""
        t, n = self.training, len(numbers)
        words = self.device.empty((n, t.layout.n_leaf_words), np.int64)
        high = self.device.empty(words.shape, np.int64) if self.has_exact_weights else None
        if n:
            t.run("df_find_leaf_words", n, t.problem_there, t.y, self.exact_weight, t.outputs, self.draws, nodes,
                  self.device.array(numbers), n, t.tuning.alone_up_to, t.layout.n_leaf_words, words,
                  high)  # fmt: skip
        return words.get()

    def grow_subtrees(self, open_nodes):
        t, device, subset_words = self.training, self.device, self.training.layout.subset_words
        if len(open_nodes) == 0:
            return Subtrees.none(t.layout.objective)
        n_grown = np.zeros(len(open_nodes), np.int64)
        grown = device.empty((2 * self.draws.shape[0],), record("df_grown"))
        subsets = device.empty((2 * self.draws.shape[0], subset_words), np.uint64)
        together, n_local = t.features_at_once(t.workspace_bytes)
        # The largest first; in batches short enough to be interrupted.
        by_size = np.argsort(-open_nodes["n"], kind="stable")
        batches = np.cumsum(open_nodes["n"][by_size]) // t.tuning.slice_records
        for batch in np.split(by_size, np.flatnonzero(np.diff(batches)) + 1):
            if len(batch) == 0:
                continue
            n_groups = min(len(batch), t.tuning.n_growing)
            most = int(open_nodes["n"][batch].max())
            medians, of_medians = None, 0
            if t.layout.has_medians:
                of_medians = target_order_bytes(t.layout, most) + median_bytes(t.layout, t.tuning, most)
                n_groups = median_groups(t.tuning, n_groups, of_medians)
                medians = device.empty((n_groups, of_medians), np.uint8)
            pending = device.empty((n_groups, most + 1), record("df_open_node"))
            features = device.empty((n_groups, constants()["DF_FEATURE_ARRAYS"], t.n_features), np.uint32)
            block = rows = y = weight = None
            if most * t.n_features * t.codes.dtype.itemsize <= t.tuning.cache_bytes:
                block = device.empty((n_groups, most, t.n_features), t.codes.dtype)
                rows = device.empty((n_groups, most), np.uint32)
                y = device.empty((n_groups, most * t.layout.n_outputs if t.y is not None else 0), np.float64)
                weight = device.empty((n_groups, most if self.has_exact_weights else 0), np.float64)
            numbers = device.empty((len(batch),), np.int64)
            t.run_with_memory("df_grow_subtrees", n_groups, n_local, t.problem_there, t.columns, *t.numbers, self.label_ranks,
                              t.codes, t.y, self.exact_weight, self.draws, self.scratch, t.outputs,
                              device.array(open_nodes[batch]), len(batch), most, pending, features, block, rows, y, weight,
                              medians, of_medians, together, grown, subsets, numbers, n_items=t.tuning.few_items)  # fmt: skip
            n_grown[batch] = numbers.get()
        ends = np.cumsum(n_grown)
        nodes = device.empty((ends[-1],), grown.dtype)
        gathered = device.empty((ends[-1], subset_words), np.uint64)
        t.run("df_gather_nodes", len(open_nodes), grown, subsets, subset_words, device.array(open_nodes), device.array(n_grown),
              device.array(ends - n_grown), len(open_nodes), nodes, gathered)  # fmt: skip
        del grown, subsets
        # Of each node the host needs a quarter of what the device has.
        described = [device.empty((ends[-1],), dtype) for dtype in (np.int32, np.float64, np.uint8, np.int64)]
        t.run("df_describe_nodes", -(-ends[-1] // t.tuning.n_items), t.columns, *t.numbers[::2], t.layout.where, nodes, ends[-1],
              *described)  # fmt: skip
        feature, thresholds, missing_left, firsts = (array.get() for array in described)
        keeping = t.layout.with_words(feature)
        words = self._leaf_words(nodes, keeping)
        if t.layout.bounds_fractions:
            arrays.bound_fractions(words, nodes.get()[keeping])
        nodes = t.layout.nodes_of(feature, thresholds, missing_left.view(np.bool_), gathered.get(), words)
        return Subtrees(n_grown, nodes, firsts[feature < 0])
