"""What a driver (`dforest.engines.driver`) asks of the records that one device has, which kernels answer: of the draws of trees.

Nodes are handed over as arrays of `df_open_node`. Whatever a shard adds up is an integer of 64 bits, and whatever else it tells
of its records is a least or a greatest number. So what several shards say together is the sum, the least or the greatest of what
each says, in any order, to the bit: the shard of several ranks (`dforest.engines.ranks.shard`) needs nothing more.

A shard owns the draws of a batch of trees, or the rows of a boosted fit (`dforest.engines.device.boosting`), in the device's
memory. The driver knows nodes, and never sees rows.
"""

import numpy as np

from dforest.engines.device.training import median_bytes, median_groups, target_order_bytes
from dforest.engines.nodes import Subtrees
from dforest.rules import arrays
from dforest.rules import effects as effects_rules
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
    """The least and the greatest value of each node, given those of its chunks on the last axis.

    Of a node without draws the least one is the greatest number of all, and the greatest one the least.
    """
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


class DeviceShard:
    """Records of nodes in a device's memory, each node's one after another: what shards of forests and of boosted trees share.

    Parameters
    ----------
    device : Device or Recorder
    tuning : Tuning
    """

    # Set by subclasses: the records, as many to move them to, and where each goes.
    records = scratch = sides = None

    def __init__(self, device, tuning):
        self.device, self.tuning = device, tuning

    def _run(self, kernel, n, *arguments):
        """Run a kernel on n groups' worth of work."""
        self.device.run(kernel, min(n, self.tuning.n_groups), *arguments, n_items=self.tuning.n_items)

    def _run_items(self, kernel, n, *arguments):
        """Run a kernel with an item for each of n."""
        self.device.run(kernel, -(-n // self.tuning.n_items), *arguments, n_items=self.tuning.n_items)

    def _run_in_memory(self, kernel, n, n_bytes, *arguments, n_items=None):
        """Run a kernel whose groups need n_bytes of memory each: their own, or else global memory, in fewer groups."""
        tuning, n_bytes = self.tuning, -(-n_bytes // 8) * 8
        n_groups, is_own = min(n, tuning.n_groups), n_bytes <= tuning.local_bytes
        if not is_own:
            n_groups = min(n_groups, max(1, tuning.histogram_bytes // n_bytes))
        memory = None if is_own else self.device.empty((n_groups, n_bytes), np.uint8)
        n_local = n_bytes if is_own else 8
        self.device.run(kernel, n_groups, *arguments, memory, n_bytes, n_items=n_items or tuning.n_items, n_local=n_local)

    def _cut_up(self, open_nodes):
        """The chunks of nodes: here, there, how many."""
        chunks = cut_up(open_nodes["first"], open_nodes["n"], self.tuning.chunk)
        return chunks, self.device.array(chunks), len(chunks)

    def _each(self, kernel, open_nodes, *arguments):
        """Run a kernel on the chunks of nodes."""
        _, there, n = self._cut_up(open_nodes)
        self._run(kernel, n, self.records, there, n, *arguments)

    def _found(self, kernel, open_nodes, shape, dtype, *arguments):
        """What a kernel finds in the chunks of nodes, for `by_node`: these, the number of nodes, and an array of such values."""
        chunks, there, n = self._cut_up(open_nodes)
        found = self.device.empty((n, *shape), dtype)
        self._run(kernel, n, self.records, there, n, *arguments, found)
        return chunks, len(open_nodes), found.get()

    def _move(self, kernels, open_nodes, chunks, there, counted):
        """Move records to their sides, given how many of each chunk go left; tell how many of each node do.

        kernels : the one that moves them to the scratch, and the one that copies them back
        """
        n_left, *ends = destinations(open_nodes, chunks, counted.get())
        to_left, to_right = map(self.device.array, ends)
        self._run(kernels[0], len(chunks), self.records, self.sides, there, len(chunks), to_left, to_right, self.scratch)
        self._run(kernels[1], len(chunks), self.scratch, there, len(chunks), self.records)
        return n_left


class ForestShard(DeviceShard):
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

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), dtype df_open_node
        The roots of the trees; the driver sets their weights.
    weight_units : list of float
        The weights of each tree's draws are its integer weights times this.
    has_exact_weights : bool
        Whether the integer weights of some trees' draws were rounded, so that there are exact ones (`rules/weights.h`).
    layout : Layout
    labels : LabelSums or None
        What ranks labels, given the sums of the rows that order them, if trees order labels (`dforest.core.grow.label_order`).
    subtree_up_to : int
        Records of the largest node whose subtree the shard grows; -1: it grows none.
    histogram_bytes : int
        Most memory for histograms at a time.
    extra_features : int
        How many features at least are tried at once, in search of any cut.

    Notes
    -----
    If the problem has several outputs, what is said of sums and cuts depends on the scales of a node's outputs: `outputs`, an
    ndarray of shape (n_nodes, n_outputs), dtype df_output (`rules/outputs.h`). With one output it is None. Of trees for effects
    the targets follow from those of the node: `effects`, as the method of this name returns them; of others it is None.
    """

    def __init__(self, training, seeds, counts, weights):
        super().__init__(training.device, training.tuning)
        self.training, self.layout, self.labels = training, training.layout, training.labels
        self.subtree_up_to, self.extra_features = training.subtree_up_to, self.tuning.extra_features
        self.histogram_bytes, self.weight_units = self.tuning.histogram_bytes, [training.weight_unit] * len(seeds)
        weight, self.exact_weight, first_weight = None, training.exact_weight, np.zeros(len(seeds), np.int64)
        if weights is not None:
            weight = np.stack([of_tree.integers for of_tree in weights])
            self.weight_units = [of_tree.unit for of_tree in weights]
            training.max_weight = int(weight.max(initial=1))
            self.exact_weight, first_weight = self._exact_weights(weights)
        self.has_exact_weights, self.label_ranks = self.exact_weight is not None, None
        self.records, self.roots = self._draw(seeds, counts, weight)
        self.roots["first_weight"] = first_weight
        self.scratch = self.device.empty(self.records.shape, self.records.dtype)
        self.sides = self.device.empty(self.records.shape, np.uint8)

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
        there, stride = (t.weight, 0) if weight is None else (device.array(weight), n_rows)
        self._run("df_write_draws", drawn.size, n_trees, n_rows, counts.there, device.array(ends - drawn), t.target, there,
                  stride, draws)  # fmt: skip
        return draws, arrays.roots(drawn.sum(axis=1), seeds)

    def _there(self, outputs):
        """The outputs, or effects, of nodes on the device, or None."""
        return None if outputs is None else self.device.array(outputs)

    def add_up(self, open_nodes, outputs, effects=None):
        """Sums over the draws of nodes.

        Returns
        -------
        statistics : ndarray of shape (n_nodes, n_words), dtype int64
        extents : ndarray of shape (n_nodes, 2), dtype int64
            The least and the greatest integer target, of 32 bits; classes, several outputs: nothing in particular.
        """
        t, device = self.training, self.device
        chunks, there, n = self._cut_up(open_nodes)
        statistics = device.empty((n, self.layout.n_words), np.int64)
        extents = device.empty((n, 2), np.int32)
        n_bytes = 4 * int(t.problem["n_planes"])
        self._run_in_memory("df_add_chunks", n, n_bytes, t.problem_there, t.y, self._there(outputs), self._there(effects),
                            self.records, there, n, statistics, extents)  # fmt: skip
        totals = by_node(chunks, len(open_nodes), statistics.get(), np.add, 0)
        return totals, extremes_by_node(chunks, len(open_nodes), extents.get()).astype(np.int64)

    def target_extents(self, open_nodes, effects=None):
        """The least and the greatest exact target of nodes: ndarray of shape (n_nodes, n_outputs, 2), dtype float64.

        Regression only.
        """
        t, n_outputs = self.training, self.layout.n_outputs
        if effects is None:
            return self._extents(open_nodes, n_outputs, n_outputs)
        given = t.problem_there, t.y, self._there(effects)
        return extremes_by_node(*self._found("df_find_column_extents", open_nodes, (n_outputs, 2), np.float64, *given))

    def _extents(self, open_nodes, stride, n_numbers):
        """Those of the first numbers of rows of y, each of which has `stride`."""
        given = self.training.y, stride, n_numbers
        return extremes_by_node(*self._found("df_find_extents", open_nodes, (n_numbers, 2), np.float64, *given))

    def effects(self, open_nodes):
        """What is known of the effects in nodes (`rules/effects.h`): ndarray of shape (n_nodes, n), dtype float64."""
        t, rules = self.training, self.layout.effects
        n_read, n_moments = effects_rules.numbers_read(rules)
        known = effects_rules.scale(rules, self._extents(open_nodes, n_moments, n_read))
        shape, given = (1 + n_read * (1 + int(rules["n_treatments"][0])), 2), (t.problem_there, t.y, self._there(known))
        chunks, _, sums = self._found("df_add_moments", open_nodes, shape, np.int64, *given)
        effects_rules.solve(rules, chunks["node"].astype(np.int64), sums, known)
        return known

    def requantise(self, open_nodes):
        """Give the draws of nodes integer targets by the scales that the nodes have now.

        Regression with one output only.
        """
        self._each("df_requantise", open_nodes, self.device.array(open_nodes), self.training.y)

    def max_weight(self, open_nodes):
        """The largest exact weight of nodes: ndarray of shape (n_nodes,), dtype float64; infinite where there are none."""
        of_nodes = self.device.array(open_nodes), self.exact_weight
        return by_node(*self._found("df_find_max_weights", open_nodes, (), np.float64, *of_nodes), np.maximum, 0.0)

    def requantise_weights(self, open_nodes):
        """Give the draws of nodes integer weights by the shifts that the nodes have now."""
        self._each("df_weigh_draws", open_nodes, self.device.array(open_nodes), self.exact_weight)

    def label_sums(self, roots):
        """Sums of the rows that order the labels of trees (`dforest.core.grow.label_order`), whose roots have their scales.

        Returns
        -------
        ndarray of shape (n_trees, n_entries, n_words), dtype int64
            As of `LabelSums`.
        """
        return self.labels.add_up(self.rows(), roots)

    def take_label_ranks(self, ranks):
        """Learn how the trees order labels: ndarray of shape (n_trees, n_ranks), dtype uint32.

        `label_order` of a node is the number of its tree among these.
        """
        self.label_ranks = self.device.array(ranks)

    def key_ranges(self, open_nodes, features):
        """The least and the greatest key of features in nodes; a least one above the greatest: there is none.

        Parameters
        ----------
        features : ndarray of shape (n_nodes, n_tried), dtype uint32

        Returns
        -------
        ndarray of shape (n_nodes, n_tried, 2), dtype uint64
        """
        t, n_tried = self.training, features.shape[1]
        chunks, there, n = self._cut_up(open_nodes)
        ranges = self.device.empty((n, n_tried, 2), np.uint64)
        self._run("df_find_key_ranges", n * n_tried, t.problem_there, t.columns, t.codes, self.records, there, n,
                  self.device.array(features), n_tried, ranges)  # fmt: skip
        return extremes_by_node(chunks, len(open_nodes), ranges.get())

    def count(self, open_nodes, features, ranges, outputs, effects=None):
        """Histograms of features in nodes.

        Parameters
        ----------
        features : ndarray of shape (n_nodes, n_tried), dtype uint32
        ranges : ndarray or None
            What `key_ranges` returned, if any feature has keys: random cuts follow from the ranges, and each such histogram has
            one entry for either side.

        Returns
        -------
        object
            For `find_cuts`, where the shard wants it: sums of int64, of shape (n_nodes, n_tried, n_entries, n_words).
        """
        t, device = self.training, self.device
        n_nodes, n_tried = features.shape
        entries, planes = self.layout.max_entries, int(t.problem["n_planes"])
        histograms = device.zeros((n_nodes, n_tried, entries, self.layout.n_words), np.int64)
        chunks, there, n = self._cut_up(open_nodes)
        features = device.array(features)
        drafts = self._draft(open_nodes, features, n_tried, ranges)
        together, n_local = t.features_at_once(lambda k: 4 * k * entries * planes + 8 * self.layout.n_words * self.tuning.n_items)
        together = min(together, n_tried)
        self._run_in_memory("df_add_histograms", n * -(-n_tried // together), n_local, t.problem_there, t.codes, t.y,
                            self._there(outputs), self._there(effects), self.records, there, n, features, drafts, n_tried,
                            together, histograms)  # fmt: skip
        return histograms

    def find_cuts(self, open_nodes, totals, outputs, features, ranges, histograms):
        """The best cut of each feature in each node.

        Parameters
        ----------
        histograms : object or ndarray of shape (n_nodes, n_tried, n_entries, n_words), dtype int64
            What `count` returned; or such sums, for nodes whose draws may be elsewhere.
        totals : ndarray of shape (n_nodes, n_words), dtype int64
            Statistics of the nodes. `outputs` have been measured by them.

        Returns
        -------
        cuts : ndarray of shape (n_nodes, n_tried), dtype df_split
            Score -1 where there is no valid one.
        subsets : ndarray of shape (n_nodes, n_tried, n_subset_words), dtype uint64
        """
        t, device, layout = self.training, self.device, self.layout
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
            self._run_items("df_find_cuts", n_nodes * n_tried, t.problem_there, t.columns, *t.numbers, self.label_ranks, there,
                            n_nodes, of_outputs, totals, *found)  # fmt: skip
            return cuts.get(), subsets.get()
        n_draws, n_outputs = self.records.shape[0], layout.n_outputs
        order = [device.empty((n_outputs, n_draws), dtype) for dtype in (np.uint32, np.int32, np.int64)]
        for numbers in by_size(open_nodes["n"]):
            most, n = int(open_nodes["n"][numbers].max()), len(numbers)
            n_bytes, which = median_bytes(layout, self.tuning, most), (there, device.array(numbers), n, most)
            n_groups = [median_groups(self.tuning, n * k, n_bytes) for k in (n_outputs, n_tried)]
            self._run_in_memory("df_order_node_targets", n_groups[0], n_bytes, t.problem_there, self.records, n_draws, t.y,
                                of_outputs, *which, *order)  # fmt: skip
            self._run_in_memory("df_find_median_cuts", n_groups[1], n_bytes, t.problem_there, t.columns, *t.numbers, t.codes,
                                self.records, n_draws, *which, of_outputs, totals, *order, *found)  # fmt: skip
        return cuts.get(), subsets.get()

    def _draft(self, open_nodes, features, n_tried, ranges):
        """The random cuts of those features that have keys, `df_draft`s, given their ranges in the nodes; None without."""
        if ranges is None:
            return None
        t, device, n_nodes = self.training, self.device, len(open_nodes)
        drafts = device.empty((n_nodes, n_tried), record("df_draft"))
        self._run_items("df_draw_cuts", n_nodes * n_tried, t.problem_there, t.columns, device.array(open_nodes), n_nodes,
                        device.array(ranges), features, n_tried, drafts)  # fmt: skip
        return drafts

    def partition(self, open_nodes, cuts, subsets):
        """Move the draws that go left to the front of their node's run: how many records do, ndarray of (n_nodes,), int64."""
        t, device = self.training, self.device
        chunks, there, n = self._cut_up(open_nodes)
        counted, test = device.empty((n,), np.int64), (device.array(cuts), device.array(subsets))
        self._run("df_count_left", n, t.problem_there, t.columns, t.codes, self.records, there, n, *test, self.sides, counted)
        return self._move(("df_move_draws", "df_copy_draws"), open_nodes, chunks, there, counted)

    def leaf_words(self, nodes):
        """What nodes, as `df_grown`, keep as leaves: ndarray of shape (n_nodes, n_leaf_words), dtype int64.

        Draws and class weights; or draws, weight, and the bits of a value for each output and of the impurity. Of a node without
        draws all words are 0.
        """
        return self._leaf_words(self.device.array(nodes), np.arange(len(nodes)))[0]

    def class_parts(self, nodes, shifts):
        """`leaf_words` of classes with exact weights, in two parts (`rules/weights.h`), given the shifts of fine integers."""
        return self._leaf_words(self.device.array(nodes), np.arange(len(nodes)), self.device.array(shifts))

    def _leaf_words(self, nodes, numbers, shifts=None):
        """What some of `nodes`, on the device, keep as leaves: (words, what is beside these, which is of use with `shifts`)."""
        t, n = self.training, len(numbers)
        words = self.device.empty((n, self.layout.n_leaf_words), np.int64)
        high = self.device.empty(words.shape, np.int64) if self.has_exact_weights else None
        if n:
            self._run("df_find_leaf_words", n, t.problem_there, t.y, self.exact_weight, t.outputs, self.records, nodes,
                      self.device.array(numbers), shifts, n, self.tuning.alone_up_to, self.layout.n_leaf_words, words,
                      high)  # fmt: skip
        return words.get(), None if shifts is None else high.get()

    def grow_subtrees(self, open_nodes):
        """Grow all that is below nodes of few records: `dforest.engines.nodes.Subtrees`, in the order of the nodes."""
        t, device, subset_words = self.training, self.device, self.layout.subset_words
        n_grown = np.zeros(len(open_nodes), np.int64)
        grown = device.empty((2 * self.records.shape[0],), record("df_grown"))
        subsets = device.empty((2 * self.records.shape[0], subset_words), np.uint64)
        together, n_local = t.features_at_once(t.workspace_bytes)
        # The largest first; in batches short enough to be interrupted.
        by_size = np.argsort(-open_nodes["n"], kind="stable")
        batches = np.cumsum(open_nodes["n"][by_size]) // self.tuning.slice_records
        for batch in np.split(by_size, np.flatnonzero(np.diff(batches)) + 1):
            if len(batch) == 0:
                continue
            n_groups = min(len(batch), self.tuning.n_growing)
            most = int(open_nodes["n"][batch].max())
            medians, of_medians = None, 0
            if self.layout.has_medians:
                of_medians = target_order_bytes(self.layout, most) + median_bytes(self.layout, self.tuning, most)
                n_groups = median_groups(self.tuning, n_groups, of_medians)
                medians = device.empty((n_groups, of_medians), np.uint8)
            pending = device.empty((n_groups, most + 1), record("df_open_node"))
            features = device.empty((n_groups, constants()["DF_FEATURE_ARRAYS"], t.n_features), np.uint32)
            block = rows = y = weight = None
            if most * t.n_features * t.codes.dtype.itemsize <= self.tuning.cache_bytes:
                block = device.empty((n_groups, most, t.n_features), t.codes.dtype)
                rows = device.empty((n_groups, most), np.uint32)
                y = device.empty((n_groups, most * self.layout.n_outputs if t.y is not None else 0), np.float64)
                weight = device.empty((n_groups, most if self.has_exact_weights else 0), np.float64)
            numbers = device.empty((len(batch),), np.int64)
            self._run_in_memory("df_grow_subtrees", n_groups, n_local, t.problem_there, t.columns, *t.numbers, self.label_ranks,
                                t.codes, t.y, self.exact_weight, self.records, self.scratch, t.outputs,
                                device.array(open_nodes[batch]), len(batch), most, pending, features, block, rows, y, weight,
                                medians, of_medians, together, grown, subsets, numbers,
                                n_items=self.tuning.few_items)  # fmt: skip
            n_grown[batch] = numbers.get()
        ends = np.cumsum(n_grown)
        nodes = device.empty((ends[-1],), grown.dtype)
        gathered = device.empty((ends[-1], subset_words), np.uint64)
        self._run("df_gather_nodes", len(open_nodes), grown, subsets, subset_words, device.array(open_nodes),
                  device.array(n_grown), device.array(ends - n_grown), len(open_nodes), nodes, gathered)  # fmt: skip
        del grown, subsets
        # Of each node the host needs a quarter of what the device has.
        described = [device.empty((ends[-1],), dtype) for dtype in (np.int32, np.float64, np.uint8, np.int64)]
        self._run_items("df_describe_nodes", ends[-1], t.columns, *t.numbers[::2], self.layout.where, nodes, ends[-1],
                        *described)  # fmt: skip
        feature, thresholds, missing_left, firsts = (array.get() for array in described)
        keeping = self.layout.with_words(feature)
        words, _ = self._leaf_words(nodes, keeping)
        if self.layout.bounds_fractions:
            arrays.bound_fractions(words, nodes.get()[keeping])
        nodes = self.layout.nodes_of(feature, thresholds, missing_left.view(np.bool_), gathered.get(), words)
        return Subtrees(n_grown, nodes, firsts[feature < 0])

    def rows(self):
        """The row of each record, in the order in which growing left the records: leaf by leaf."""
        return self.records.get()["row"]
