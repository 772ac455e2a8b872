"""Grows forests on a device, level by level: the same trees as `dforest.core.trainer`, to the bit.

Words: a *batch* is trees that are grown together. A node of more than `subtree_up_to` records is *large*: it is split
here, all large nodes of a level at once, their draws cut into *chunks*; whatever is smaller is a *subtree*, which one
group of the device grows to its end (kernels/subtree.hpp).

What runs on the device is started here and nowhere else; this side keeps the tables of large nodes, which are few, and
puts trees together. A `Training` owns the memory it holds on the device; kernels own nothing.
"""

import time
from itertools import count

import numpy as np

from dforest.core.assembly import TreeArrays
from dforest.core.criterion import Entropy, Gini
from dforest.core.hist import RandomHistSplitter
from dforest.core.regression import Poisson, SquaredError
from dforest.core.rows import draws_of_blocks
from dforest.core.splitter import FeatureOrder
from dforest.errors import DeviceError
from dforest.features import CATEGORICAL
from dforest.sycl import device as machinery
from dforest.sycl.recorder import Recorder
from dforest.sycl.records import constants, record

NAMES = {Gini: "gini", Entropy: "entropy", SquaredError: "squared_error", Poisson: "poisson"}

BLOCK = 4096  # rows of a block of the bootstrap
ROOT_PATH = 0x243F6A8885A308D3
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


def grow_trees(device, columns, target, y, weight, directions, criterion, splitter, limits, seed, trees, n_draws, scale, put,
               on_tree=None, reweigh=None):
    """Grow some trees of a forest on a device.

    Parameters
    ----------
    device : Device
    columns, target, y, weight, directions
        As for `DataView`.
    criterion, splitter, limits, seed, trees, n_draws, scale, put, on_tree, reweigh
        As for `dforest.core.trainer.grow_trees`; but on_tree is called by this thread, for the trees of a batch together.

    Returns
    -------
    FitReport

    Raises
    ------
    ValueError
        If there is no code on devices for what is asked.
    DeviceError
        If the device has not the memory that a tree needs, or fails.
    """  # fmt: skip
    what = f"a forest on the device {device.name!r}"
    if type(criterion) not in NAMES:
        raise ValueError(f"criterion={criterion!r} has no code for {what}; allowed are {', '.join(NAMES.values())}")
    if any(int(column.kind) == CATEGORICAL for column in columns):
        raise ValueError(f"categorical_features: {what} has numeric columns and ordinal ones only; fit with device=None")
    if directions.any():
        raise ValueError(f"monotonic_cst: {what} knows no constraints; fit with device=None")
    if limits["max_leaf_nodes"]:
        raise ValueError(f"max_leaf_nodes={limits['max_leaf_nodes']}: {what} is grown depth first; fit with device=None")
    if n_draws >= 1 << 32:
        raise ValueError(f"max_samples: {what} has up to 2**32 - 1 draws a tree, not {n_draws}")
    is_random = isinstance(splitter, RandomHistSplitter)
    tuning = Tuning(device, machinery.TUNING)
    recorder = Recorder(device)
    with recorder.timed("build"):
        device.build()
    with recorder.timed("upload"):
        training = Training(recorder, columns, target, y, weight, criterion, is_random, splitter.max_features, limits, seed, tuning)
    with recorder.timed("train"):
        training.grow(trees, n_draws, scale, put, on_tree, reweigh)
    return recorder.report(len(trees))


class Tuning:
    """Sizes of the machinery; they change the speed, never the forest.

    Parameters
    ----------
    device : Device
    given : dict
        What is to be other than the device would have it.
    """

    def __init__(self, device, given):
        # On a CPU one item does best alone, and its group may have much to do; elsewhere many items share a group.
        self.subtree_up_to = given.get("subtree_up_to", 1 << 13 if device.is_cpu else 1000)
        self.chunk = given.get("chunk", 1 << 15 if device.is_cpu else 1 << 11)
        self.n_items = given.get("n_items", device.n_items)
        self.n_groups = given.get("n_groups", 64 * device.n_units)
        self.n_growing = given.get("n_growing", 8 * device.n_units)
        self.block_bytes = given.get("block_bytes", 1 << 19 if device.is_cpu else 0)
        self.local_bytes = given.get("local_bytes", device.local_bytes)
        self.n_together = given.get("n_together", 0)
        # What is counted at once: on a CPU, what its first cache holds.
        self.desk_bytes = given.get("desk_bytes", min(device.local_bytes, 1 << 14) if device.is_cpu else device.local_bytes)
        self.batch_bytes = given.get("batch_bytes", device.memory_bytes // 4)
        self.histogram_bytes = given.get("histogram_bytes", 1 << 28)
        self.slice_records = given.get("slice_records", 1 << 24)
        self.extra_features = given.get("extra_features", 8)
        self.alone_up_to = given.get("alone_up_to", 1 << 62 if device.is_cpu else 64)
        if not self.subtree_up_to <= self.chunk <= 1 << 20:
            raise ValueError(f"subtree_up_to={self.subtree_up_to}, chunk={self.chunk}; the first is at most the second, that 2**20")


class Training:
    """What a fit holds on a device.

    Parameters
    ----------
    device : Device or Recorder
    columns : list of CodedColumn
        None of them categorical.
    target, y, weight : ndarray
        As for `DataView`.
    criterion : Criterion
        Configured; one of `NAMES`.
    is_random : bool
        Whether a feature has one random cut.
    max_features : int
    limits : dict
        As for `Grower`.
    seed : int
    tuning : Tuning
    """

    def __init__(self, device, columns, target, y, weight, criterion, is_random, max_features, limits, seed, tuning):
        self.device = device
        self.tuning = tuning
        self.n_rows, self.n_features = len(target), len(columns)
        self.seed, self.limits = seed, limits
        self.criterion = NAMES[type(criterion)]
        self.impurity_of = criterion.impurity_of
        n_words, is_wide = criterion.n_words, criterion.is_wide
        self.is_random = is_random
        self.has_weight = weight is not None
        self.heaviest = int(weight.max()) if self.has_weight else 1
        self.order = FeatureOrder(self.n_features)
        most_entries = max(len(column.values) + column.has_missing for column in columns)
        self.problem = problem = np.zeros((), record("df_problem"))
        problem["seed"] = seed
        problem["n_features"] = self.n_features
        problem["max_features"] = self.max_features = max_features
        problem["code_bytes"] = max(column.codes.dtype.itemsize for column in columns)
        problem["most_entries"] = most_entries
        problem["criterion"] = constants()["DF_" + self.criterion.upper()]
        problem["n_words"] = self.n_words = n_words
        problem["is_unit"] = not self.has_weight
        problem["is_wide"] = is_wide
        problem["is_random"] = is_random
        problem["max_depth"] = self.n_rows if limits["max_depth"] is None else min(limits["max_depth"], self.n_rows)
        problem["min_split"] = limits["min_samples_split"]
        problem["min_draws"] = max(1, limits["min_samples_leaf"])
        problem["min_weight_fraction"] = limits["min_weight_fraction_leaf"]
        problem["impurity_threshold"] = limits["impurity_threshold"]
        problem["min_decrease"] = limits["min_impurity_decrease"]
        self.has_classes = self.criterion in ("gini", "entropy")
        self.n_leaf_words = n_words - 1 if self.has_classes else 4
        self._lay_columns(columns)
        self.target = device.array(target)
        self.y = None if y is None else device.array(y)
        self.weight = device.array(weight) if self.has_weight else None

    def _lay_columns(self, columns):
        """Codes row by row, and the numbers of all columns one after another."""
        device = self.device
        codes = np.empty((self.n_rows, self.n_features), f"u{int(self.problem['code_bytes'])}")
        rows = max(1, (1 << 18) // self.n_features)  # what is written stays in the cache
        for first in range(0, self.n_rows, rows):
            for j, column in enumerate(columns):
                codes[first : first + rows, j] = column.codes[first : first + rows]
        self.codes = device.array(codes)
        self.table = np.zeros(self.n_features, record("df_column"))
        self.table["n_codes"] = [len(column.values) for column in columns]
        self.table["first"] = np.cumsum(self.table["n_codes"]) - self.table["n_codes"]
        self.table["has_missing"] = [column.has_missing for column in columns]
        self.table["kind"] = [int(column.kind) for column in columns]
        self.table["is_float32"] = [column.values.dtype == np.float32 for column in columns]
        numbers = [np.concatenate([getattr(c, name) for c in columns], dtype=np.float64) for name in ("values", "lows", "highs")]
        self.values, _, self.highs = numbers
        self.numbers = [device.array(n) for n in numbers]
        self.columns = device.array(self.table)

    def _set_planes(self, most_drawn):
        """Lay out the planes of histograms, given how often a row is drawn at most: see kernels/histogram.hpp."""
        problem = self.problem
        bits = 32 - (self.tuning.chunk - 1).bit_length()
        heaviest = self.heaviest * most_drawn

        def pieces(most):
            return -(-(int(most).bit_length() + 1) // bits)

        problem["piece_bits"] = bits
        problem["weight_pieces"] = pieces(heaviest)
        problem["sum_pieces"] = pieces(most_drawn << 31 if problem["is_wide"] else heaviest << 31)
        n_classes = self.n_words - 2
        if self.has_classes:
            n = n_classes if problem["is_unit"] else 1 + n_classes * problem["weight_pieces"]
        else:
            n = 1 + (0 if problem["is_unit"] else problem["weight_pieces"])
            n += problem["sum_pieces"] * (2 if problem["is_wide"] else 1)
        problem["n_planes"] = n
        self.problem_there = self.device.array(problem.reshape(1))

    def run(self, kernel, n, *arguments):
        """Run a kernel on n groups' worth of work."""
        self.device.run(kernel, min(n, self.tuning.n_groups), *arguments, n_items=self.tuning.n_items)

    def run_with_memory(self, kernel, n_groups, n_bytes, *arguments):
        """Run a kernel whose groups need n_bytes of memory each: their own, or else global memory."""
        n_bytes = -(-n_bytes // 8) * 8
        is_own = n_bytes <= self.tuning.local_bytes
        memory = None if is_own else self.device.empty((n_groups, n_bytes), np.uint8)
        self.device.run(kernel, n_groups, *arguments, memory, n_bytes, n_items=self.tuning.n_items,
                        n_local=n_bytes if is_own else 8)  # fmt: skip

    def run_items(self, kernel, n, *arguments):
        """Run a kernel with an item for each of n."""
        self.device.run(kernel, -(-n // self.tuning.n_items), *arguments, n_items=self.tuning.n_items)

    def features_at_once(self, bytes_of):
        """How many features to try at once, and the memory that takes, given that of a number of them."""
        most = self.tuning.n_together or self.max_features
        most = min(most, self.max_features)
        while most > 1 and bytes_of(most) > self.tuning.desk_bytes:
            most -= 1
        return most, bytes_of(most)

    def desk_bytes(self, n_together):
        """Memory that a group needs to grow subtrees: see `df_desk` of kernels/subtree.hpp."""
        p = self.problem
        entries = int(p["most_entries"])
        words = (1 + 3 * n_together) * self.n_words + n_together * ((entries + 63) // 64)
        records = n_together * record("df_cut").itemsize + 4 * ((n_together + 1) // 2 * 2)
        planes = 4 * int(p["n_planes"]) * (1 + n_together * entries)
        return constants()["DF_SHARED_BYTES"] + 8 * words + records + planes

    def bytes_of_tree(self, n_draws):
        """Memory that a tree of a batch takes."""
        n = min(self.n_rows, n_draws) if n_draws else self.n_rows
        return n * (2 * record("df_draw").itemsize + 2 * record("df_grown").itemsize) + 4 * self.n_rows

    def batches(self, trees, n_draws):
        """Ranges of trees that fit the device."""
        need, have = self.bytes_of_tree(n_draws), self.tuning.batch_bytes
        if need > have:
            raise DeviceError(
                f"a tree of {self.n_rows} rows needs {need / 2**20:.0f} MiB on {self.device.name!r}, beside the data; "
                f"{have / 2**20:.0f} MiB are for trees"
            )
        size = max(1, min(have // need, 2 * self.device.n_units))
        return [trees[first : first + size] for first in range(0, len(trees), size)]

    def _draw(self, trees, n_draws, weight):
        """The draws of a batch's trees on the device, and their `df_open_node`s as roots."""
        device, n_rows = self.device, self.n_rows
        n_blocks = -(-n_rows // BLOCK)
        counts = None
        if n_draws:
            of_blocks = np.stack([draws_of_blocks(n_rows, n_draws, self.seed, tree) for tree in trees])
            counts = device.empty((len(trees), n_rows), np.uint32)
            drawn, highest = device.empty(of_blocks.shape, np.int64), device.empty(of_blocks.shape, np.uint32)
            self.run_items("df_draw_rows", of_blocks.size, self.seed, device.array(np.array(trees, np.uint32)), len(trees), n_rows,
                           device.array(of_blocks), counts, drawn, highest)
            drawn, most = drawn.get(), int(highest.get().max())
        else:
            drawn = np.full((len(trees), n_blocks), BLOCK, np.int64)
            drawn[:, -1] = n_rows - BLOCK * (n_blocks - 1)
            most = 1
        self._set_planes(most)
        ends = np.cumsum(drawn).reshape(drawn.shape)
        draws = device.empty((ends[-1, -1],), record("df_draw"))
        stride = 0
        if weight is not None:
            there, stride = device.array(weight), n_rows
        else:
            there = self.weight
        self.run_items("df_write_draws", drawn.size, len(trees), n_rows, counts, device.array(ends - drawn), self.target, there,
                       stride, draws)
        places = np.zeros(len(trees), record("df_open_node"))
        places["n"] = drawn.sum(axis=1)
        places["first"] = np.cumsum(places["n"]) - places["n"]
        places["tree"] = trees
        places["path"] = ROOT_PATH
        return draws, places

    def grow(self, trees, n_draws, scale, put, on_tree, reweigh):
        """Grow trees; see `dforest.core.trainer.grow_trees`."""
        numbers = count(1)
        for batch in self.batches(trees, n_draws):
            weight = None if reweigh is None else np.stack([reweigh(tree) for tree in batch])
            if weight is not None:
                self.heaviest = int(weight.max())
            draws, roots = self._draw(batch, n_draws, weight)
            roots["centre"], roots["exponent"], roots["range"] = scale
            for number, tree in zip(batch, Batch(self, draws, roots).grow(), strict=True):
                put(number, tree)
                if on_tree is not None:
                    on_tree(next(numbers))


class Batch:
    """Trees that are grown together.

    A *reference* to a node is its number among the large ones, or -1 less the number of its subtree.
    """

    def __init__(self, training, draws, roots):
        self.training, self.device, self.draws, self.roots = training, training.device, draws, roots
        self.scratch = self.device.empty(draws.shape, draws.dtype)
        self.large = []  # df_grown of the large nodes, by level
        self.children = []  # references to the two children of each
        self.subtrees = []  # df_open_node, by level
        self.n_large = self.n_subtrees = 0

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
        t, limits = self.training, self.training.limits
        chunks = self._cut_up(places)
        statistics, extents = self._statistics(chunks)
        if t.has_classes:
            totals = by_node(chunks, statistics, np.add)
            is_pure = (totals[:, 2:] > 0).sum(axis=1) <= 1
        else:
            is_pure = self._rescale(places, chunks, statistics, extents)
            totals = by_node(chunks, statistics, np.add)
        n, weight = totals[:, 0], totals[:, 1].astype(np.float64)
        least = 2.0 * limits["min_weight_fraction_leaf"] * places["root_weight"].astype(np.float64)
        p = t.problem
        is_leaf = is_pure | (places["depth"] >= p["max_depth"]) | (n < p["min_split"]) | (n < 2 * p["min_draws"]) | (weight < least)
        if limits["impurity_threshold"] > 0.0:
            is_leaf |= self._impurities(places, totals) < limits["impurity_threshold"]
        return totals, is_leaf

    def _rescale(self, places, chunks, statistics, extents):
        """Give nodes of narrow range a scale of their own, and their chunks new statistics; return which are pure."""
        t = self.training
        lows, highs = by_node(chunks, extents[:, 0], np.minimum), by_node(chunks, extents[:, 1], np.maximum)
        ranges = highs.astype(np.int64) - lows
        is_narrow = (ranges == 0) | (256 * ranges < places["range"])
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
        for name in ("first", "n", "centre", "exponent"):
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

    def _grow_level(self, places):
        """Split large nodes; return the large ones among their children."""
        t = self.training
        totals, is_leaf = self._open(places)
        grown = np.zeros(len(places), record("df_grown"))
        for name in ("first", "n", "centre", "exponent"):
            grown[name] = places[name]
        grown["feature"] = -1
        inner = np.flatnonzero(~is_leaf)
        cuts = self._search(places[inner], totals[inner])
        if t.limits["min_impurity_decrease"] > 0.0 and len(inner):
            power = {"squared_error": -2, "poisson": -1}.get(t.criterion, 0)
            decrease = np.ldexp(cuts["score"], power * places["exponent"][inner]) / places["root_weight"][inner].astype(np.float64)
            cuts["feature"][decrease < t.limits["min_impurity_decrease"]] = -1
        inner, cuts = inner[cuts["feature"] >= 0], cuts[cuts["feature"] >= 0]
        for name in ("feature", "code", "above", "missing_left", "only_missing"):
            grown[name][inner] = cuts[name]
        self.large.append(grown)
        n_left = self._partition(places[inner], cuts)
        references, below = self._enter(self._divide(places[inner], n_left))
        children = np.zeros((len(places), 2), np.int64)
        children[inner] = references.reshape(-1, 2)
        self.children.append(children)
        return below

    def _search(self, places, totals):
        """The best cut of each node, as `df_cut`; its feature is -1 where there is none."""
        t, p = self.training, self.training.n_features
        cuts = np.zeros(len(places), record("df_cut"))
        cuts["feature"] = -1
        size = max(1, t.tuning.histogram_bytes // (8 * t.n_words * int(t.problem["most_entries"]) * t.max_features))
        for begin in range(0, len(places), size):
            nodes = np.arange(begin, min(begin + size, len(places)))
            tried = 0
            while len(nodes) and tried < p:
                n = t.max_features if tried == 0 else min(t.tuning.extra_features, p - tried)
                orders = [t.order.draw(t.seed, int(at["tree"]), int(at["path"]), tried + n)[tried:] for at in places[nodes]]
                found = self._try(places[nodes], totals[nodes], np.array(orders, np.int32))
                # Of the first ones the best is taken, later the first that has a cut; of equal ones the one drawn earlier.
                key = found["score"] if tried == 0 else found["score"] >= 0.0
                best = found[np.arange(len(nodes)), key.argmax(axis=1)]
                has_cut = best["score"] >= 0.0
                cuts[nodes[has_cut]] = best[has_cut]
                nodes = nodes[~has_cut]
                tried += n
        return cuts

    def _try(self, places, totals, features):
        """The best cuts of some features of each node: `df_cut`s of the shape of `features`."""
        t, device = self.training, self.device
        n_nodes, n_tried = features.shape
        entries, planes = int(t.problem["most_entries"]), int(t.problem["n_planes"])
        histograms = device.zeros((n_nodes, n_tried, entries, t.n_words), np.int64)
        there, places_there, totals_there = device.array(features), device.array(places), device.array(totals)
        chunks = self._cut_up(places)
        together, n_local = t.features_at_once(lambda k: 4 * k * entries * planes + 8 * t.n_words * t.tuning.n_items)
        together = min(together, n_tried)
        n_groups = min(len(chunks) * -(-n_tried // together), t.tuning.n_groups)
        t.run_with_memory("df_add_histograms", n_groups, n_local, t.problem_there, t.codes, self.draws, device.array(chunks),
                          len(chunks), there, n_tried, together, histograms)  # fmt: skip
        cuts = device.empty((n_nodes, n_tried), record("df_cut"))
        words = device.empty((n_nodes, n_tried, 3, t.n_words), np.int64)
        t.run_items("df_find_cuts", n_nodes * n_tried, t.problem_there, t.columns, *t.numbers, places_there, n_nodes, totals_there,
                    there, n_tried, histograms, words, cuts)
        return cuts.get()

    def _partition(self, places, cuts):
        """Partition the draws of nodes; return how many records go left."""
        t, device = self.training, self.device
        if len(places) == 0:
            return np.zeros(0, np.int64)
        chunks = self._cut_up(places)
        there, cuts_there, n = device.array(chunks), device.array(cuts), len(chunks)
        counted = device.empty((n,), np.int64)
        t.run("df_count_left", n, t.problem_there, t.columns, t.codes, self.draws, there, n, cuts_there, counted)
        counted = counted.get()
        n_left = by_node(chunks, counted, np.add)
        node = chunks["node"]
        before = np.cumsum(counted) - counted  # of all nodes
        before -= before[np.flatnonzero(np.diff(node, prepend=-1))][node]
        to_left = places["first"][node] + before
        to_right = n_left[node] + chunks["first"] - before
        t.run("df_move_draws", n, t.problem_there, t.columns, t.codes, self.draws, there, n, cuts_there, device.array(to_left),
              device.array(to_right), self.scratch)
        t.run("df_copy_draws", n, self.scratch, there, n, self.draws)
        return n_left

    def _divide(self, places, n_left):
        """The places of the children, left and right in turn."""
        children = np.repeat(places, 2)
        left, right = children[::2], children[1::2]
        left["n"] = n_left
        right["first"] += n_left
        right["n"] -= n_left
        children["depth"] += 1
        left["path"], right["path"] = child_paths(places["path"], 0), child_paths(places["path"], 1)
        return children

    def _grow_subtrees(self):
        """The nodes of all subtrees on the device, and how many each has."""
        t, device = self.training, self.device
        places = np.concatenate(self.subtrees)
        n_grown = np.zeros(len(places), np.int64)
        grown = device.empty((2 * self.draws.shape[0],), record("df_grown"))
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
            order = device.empty((n_groups, 2, t.n_features), np.uint32)
            block = rows = y = None
            if most * t.n_features * t.codes.dtype.itemsize <= t.tuning.block_bytes:
                block = device.empty((n_groups, most, t.n_features), t.codes.dtype)
                rows = device.empty((n_groups, most), np.uint32)
                y = device.empty((n_groups, most if t.y is not None else 0), np.float64)
            numbers = device.empty((len(turn),), np.int64)
            t.run_with_memory("df_grow_subtrees", n_groups, n_local, t.problem_there, t.columns, *t.numbers, t.codes, t.y, self.draws,
                              self.scratch, device.array(places[turn]), len(turn), most, pending, order, block, rows, y, together,
                              grown, numbers)  # fmt: skip
            n_grown[turn] = numbers.get()
        return places, grown, n_grown

    def _assemble(self, root_references):
        """The trees' arrays."""
        t, device = self.training, self.device
        places, grown, n_grown = self._grow_subtrees()
        large = np.concatenate(self.large) if self.large else np.zeros(0, record("df_grown"))
        children = np.concatenate(self.children) if self.children else np.zeros((0, 2), np.int64)
        # Where each node, or subtree, comes to stand: in preorder, one tree after another.
        at = np.zeros(len(large) + len(places), np.int64)  # by reference: negative ones count from the end
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
                if large["feature"][reference] >= 0:
                    pending += children[reference, ::-1].tolist()
        starts.append(n_nodes)
        at_large, at_subtree = at[: len(large)], at[len(large) :][::-1].copy()
        gathered = device.empty((n_nodes,), record("df_grown"))
        if len(places):
            t.run("df_gather_nodes", len(places), grown, device.array(places), device.array(n_grown), device.array(at_subtree),
                  len(places), gathered)
        nodes = gathered.get()
        # `right` is counted from the subtree's first node so far; from now on, from the tree's.
        tree_start = np.repeat(starts[:-1], np.diff(starts))
        first_of = np.zeros(n_nodes, np.int64)
        spans = np.repeat(at_subtree, n_grown)
        inside = np.arange(len(spans)) - np.repeat(np.cumsum(n_grown) - n_grown, n_grown)
        first_of[spans + inside] = spans
        nodes[at_large] = large
        right = nodes["right"].astype(np.int64) + first_of - tree_start
        right[at_large] = at[children[:, 1]] - tree_start[at_large]
        gathered.write(nodes) if len(large) else None
        is_leaf = nodes["feature"] < 0
        leaves = self._judge(gathered, np.flatnonzero(is_leaf))
        thresholds = self._thresholds(nodes)
        leaf_ends = np.cumsum(is_leaf)
        for first, last in zip(starts, starts[1:], strict=False):
            leaf = slice(leaf_ends[first - 1] if first else 0, leaf_ends[last - 1])
            yield TreeArrays(
                nodes["feature"][first:last],
                thresholds[first:last],
                right[first:last].astype(np.uint32),
                nodes["missing_left"][first:last].astype(bool) & ~is_leaf[first:last],
                leaves[leaf],
                np.zeros((0, 2)),
                np.zeros(0, np.int64),
                np.zeros(0, np.uint64),
            )

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
        is_plain = (nodes["feature"] >= 0) & (nodes["only_missing"] == 0)
        at = np.where(is_plain, column["first"] + at, 0)
        found = np.where(is_ordinal, t.highs[at], t.values[at])
        return np.where(is_plain, found, np.where(nodes["feature"] >= 0, np.inf, 0.0))
