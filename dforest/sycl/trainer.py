"""A SYCL device as an engine: it grows the trees that `dforest.engines.cpu` grows, to the bit.

Words: a *batch* is trees that are grown together: see `dforest.sycl.batch`.

What all batches share is laid out here: the data on the device, the sizes of the machinery, the draws. A `Training` owns
the memory it holds on the device; kernels own nothing.
"""

import numpy as np

from dforest.core.criterion import Entropy, Gini
from dforest.core.dense import RandomDenseSplitter
from dforest.core.hist import RandomHistSplitter
from dforest.core.out_of_bag import block_draws
from dforest.core.regression import Poisson, SquaredError
from dforest.core.splitter import FeatureOrder
from dforest.engines.base import Engine, GrownTree, Session, leaves_of_rows
from dforest.errors import DeviceError
from dforest.features import CATEGORICAL
from dforest.sycl import device as machinery
from dforest.sycl.batch import Batch
from dforest.sycl.best_first import BestFirstBatch
from dforest.sycl.recorder import Recorder
from dforest.sycl.records import constants, record
from dforest.validation import count_threads

NAMES = {Gini: "gini", Entropy: "entropy", SquaredError: "squared_error", Poisson: "poisson"}

BLOCK = 4096  # rows of a block of the bootstrap
ROOT_PATH = 0x243F6A8885A308D3
KEY_ENTRIES = 3  # of a histogram: see df_draft


class DeviceEngine(Engine):
    """Grows trees on a SYCL device.

    Parameters
    ----------
    device : Device
    """

    needs_keys = True

    def __init__(self, device):
        self.device = device
        self.name = device.name

    def open(self, problem):
        what = f"a forest on the device {self.name!r}"
        if type(problem.criterion) not in NAMES:
            raise ValueError(f"criterion={problem.criterion!r} has no code for {what}; allowed are {', '.join(NAMES.values())}")
        if problem.n_draws >= 1 << 32:
            raise ValueError(f"max_samples: {what} has up to 2**32 - 1 draws a tree, not {problem.n_draws}")
        return DeviceSession(problem, self.device)


class DeviceSession(Session):
    """A device at work on a problem; see `Session`. What the device knows of the problem stays there from call to call."""

    def __init__(self, problem, device):
        super().__init__(problem)
        tuning = Tuning(device, machinery.TUNING)
        self._recorder = Recorder(device)
        with self._recorder.timed("build"):
            device.build()
        with self._recorder.timed("upload"):
            self._training = Training(self._recorder, problem, tuning)

    def close(self):
        self._training = None

    def _take_targets(self):
        with self._recorder.timed("upload"):
            self._training.set_targets(self.problem.targets)

    def _grow(self, trees, sink, keep_leaves):
        problem, training = self.problem, self._training
        seeds = problem.seeds_of(trees)
        with self._recorder.timed("train"):
            for some in training.batches(len(trees), problem.n_draws):
                weight, exponents = None, np.full(len(trees[some]), problem.targets.weight_exponent)
                if problem.targets.balance is not None:
                    weights, exponents = zip(*map(problem.weigh_draws, seeds[some].tolist()), strict=True)
                    weight = np.stack(weights)
                batch = training.begin(seeds[some], problem.n_draws, weight)
                for t, (arrays, exponent) in enumerate(zip(batch.grow(), exponents, strict=True)):
                    number = trees[some][t]
                    if keep_leaves:
                        self._leaves[number] = leaves_of_rows(problem.n_rows, *batch.record_table(t), arrays.feature)
                    if not sink.put(GrownTree(number, arrays, int(exponent))):
                        return

    def report(self):
        return self._recorder.report(self._n_trees)


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
        # Some is left for what the compiler puts there.
        self.local_bytes = given.get("local_bytes", device.local_bytes - (0 if device.is_cpu else 1 << 12))
        self.n_together = given.get("n_together", 0)
        # What is counted at once: on a CPU, what its first cache holds; elsewhere two groups share a unit's memory.
        together_bytes = min(self.local_bytes, 1 << 14) if device.is_cpu else self.local_bytes // 2
        self.together_bytes = given.get("together_bytes", together_bytes)
        self.batch_bytes = given.get("batch_bytes", min(device.memory_bytes // 4, 1 << 32))
        self.array_bytes = given.get("array_bytes", device.array_bytes)
        self.histogram_bytes = given.get("histogram_bytes", 1 << 28)
        self.slice_records = given.get("slice_records", 1 << 20 if device.is_cpu else 1 << 24)
        self.extra_features = given.get("extra_features", 8)
        self.alone_up_to = given.get("alone_up_to", 1 << 62 if device.is_cpu else 64)
        if not self.subtree_up_to <= self.chunk <= 1 << 20:
            raise ValueError(
                f"subtree_up_to={self.subtree_up_to}, chunk={self.chunk}; allowed are numbers in this order, up to 2**20"
            )


class Training:
    """What a fit holds on a device.

    Parameters
    ----------
    device : Device or Recorder
    stated : Problem
        Its criterion is one of `NAMES`; its splitter a HistSplitter, RandomHistSplitter or RandomDenseSplitter.
    tuning : Tuning
    """

    def __init__(self, device, stated, tuning):
        columns, criterion, splitter, directions = stated.columns, stated.criterion, stated.splitter, stated.directions
        self.device = device
        self.tuning = tuning
        self.n_rows, self.n_features = stated.n_rows, stated.n_features
        self.rules = rules = stated.rules
        self.criterion = NAMES[type(criterion)]
        self.impurity_of = criterion.impurity_of
        n_words, is_wide = criterion.n_words, criterion.is_wide
        self.is_random = isinstance(splitter, RandomHistSplitter | RandomDenseSplitter)
        self.has_weight = stated.targets.weight is not None
        self.order = FeatureOrder(self.n_features)
        most_entries = max(KEY_ENTRIES if column.has_keys else len(column.values) + column.has_missing for column in columns)
        self.problem = problem = np.zeros((), record("df_problem"))
        problem["n_features"] = self.n_features
        problem["max_features"] = self.max_features = splitter.max_features
        problem["skip_constant"] = self.skip_constant = splitter.skip_constant_features
        problem["code_bytes"] = max(column.codes.dtype.itemsize for column in columns)
        problem["most_entries"] = most_entries
        problem["has_keys"] = any(column.has_keys for column in columns)
        problem["criterion"] = constants()["DF_" + self.criterion.upper()]
        problem["n_words"] = self.n_words = n_words
        problem["is_unit"] = not self.has_weight
        problem["is_wide"] = is_wide
        problem["is_random"] = self.is_random
        problem["one_hot"] = splitter.one_hot
        categories = [len(column.values) for column in columns if int(column.kind) == CATEGORICAL]
        problem["most_categories"] = self.most_categories = max(categories, default=0)
        problem["subset_words"] = self.subset_words = -(-self.most_categories // 64)
        problem["is_bounded"] = directions.any()
        problem["max_depth"] = self.n_rows if rules.max_depth is None else min(rules.max_depth, self.n_rows)
        problem["min_split"] = rules.min_samples_split
        problem["min_draws"] = max(1, rules.min_samples_leaf)
        problem["min_weight_fraction"] = rules.min_weight_fraction_leaf
        problem["impurity_threshold"] = rules.impurity_threshold
        problem["min_decrease"] = rules.min_impurity_decrease
        self.has_classes = self.criterion in ("gini", "entropy")
        self.n_leaf_words = n_words - 1 if self.has_classes else 4
        self._lay_columns(columns, directions)
        self.set_targets(stated.targets)

    def set_targets(self, targets):
        """Put targets and weights on the device."""
        array = self.device.array
        self.heaviest = targets.heaviest
        self.target = array(targets.classes)
        self.y = None if targets.numbers is None else array(targets.numbers)
        self.weight = None if targets.weight is None else array(targets.weight)

    def _lay_columns(self, columns, directions):
        """Codes row by row, and the numbers of all columns one after another."""
        device = self.device
        codes = np.empty((self.n_rows, self.n_features), f"u{int(self.problem['code_bytes'])}")
        rows = max(1, (1 << 18) // self.n_features)  # what is written stays in the cache
        for first in range(0, self.n_rows, rows):
            for j, column in enumerate(columns):
                codes[first : first + rows, j] = column.codes[first : first + rows]
        self.codes = device.array(codes)
        self.table = np.zeros(self.n_features, record("df_column"))
        n_values = np.array([len(column.values) for column in columns])
        self.table["n_codes"] = [KEY_ENTRIES - 1 if column.has_keys else len(column.values) for column in columns]
        self.table["first"] = np.cumsum(n_values) - n_values
        self.table["key_bits"] = [8 * column.codes.dtype.itemsize if column.has_keys else 0 for column in columns]
        self.table["has_missing"] = [column.has_missing for column in columns]
        self.table["kind"] = [int(column.kind) for column in columns]
        self.table["direction"] = directions
        self.table["is_float32"] = [column.values.dtype == np.float32 for column in columns]
        numbers = [np.concatenate([getattr(c, name) for c in columns], dtype=np.float64) for name in ("values", "lows", "highs")]
        # For leaves and missing values something has to be there, even if no column has a value.
        self.values, _, self.highs = numbers = [np.append(n, 0.0) for n in numbers]
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
        """Run a kernel whose groups need n_bytes of memory each: their own, or else global memory, in fewer groups."""
        n_bytes = -(-n_bytes // 8) * 8
        is_own = n_bytes <= self.tuning.local_bytes
        if not is_own:
            n_groups = min(n_groups, max(1, self.tuning.histogram_bytes // n_bytes))
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
        while most > 1 and bytes_of(most) > self.tuning.together_bytes:
            most -= 1
        return most, bytes_of(most)

    def desk_bytes(self, n_together):
        """Memory that a group needs to grow subtrees: see `df_desk` of kernels/subtree.hpp."""
        p = self.problem
        entries = int(p["most_entries"])
        words = (1 + 3 * n_together) * self.n_words + n_together * ((entries + 63) // 64 + self.most_categories)
        words += (1 + n_together) * self.subset_words + (n_together * (1 + self.most_categories) + 1) // 2
        records = n_together * (record("df_cut").itemsize + record("df_draft").itemsize)
        planes = 4 * int(p["n_planes"]) * (1 + n_together * entries)
        return constants()["DF_SHARED_BYTES"] + 8 * words + records + planes

    def bytes_of_tree(self, n_draws):
        """(memory that a tree of a batch takes, that of it which is in one array), at most."""
        n = min(self.n_rows, n_draws) if n_draws else self.n_rows
        grown, subset = 2 * record("df_grown").itemsize, 16 * self.subset_words  # twice: where they grow, and put together
        return n * (2 * record("df_draw").itemsize + 2 * grown + 2 * subset) + 8 * self.n_rows, n * max(grown, subset)

    def batches(self, n_trees, n_draws):
        """Slices of the trees, each of which fits the device."""
        need, in_array = self.bytes_of_tree(n_draws)
        have, array = self.tuning.batch_bytes, self.tuning.array_bytes
        if need > have or in_array > array:
            raise DeviceError(
                f"a tree of {self.n_rows} rows needs {need / 2**20:.0f} MiB on {self.device.name!r}, beside the data, and "
                f"{in_array / 2**20:.0f} MiB in one array; {have / 2**20:.0f} MiB are for trees, and {array / 2**20:.0f} MiB for "
                "one array"
            )
        size = max(1, min(have // need, array // in_array, 2 * self.device.n_units))
        return [slice(first, first + size) for first in range(0, n_trees, size)]

    def _draw(self, seeds, n_draws, weight):
        """The draws of trees of these seeds on the device, and their `df_open_node`s as roots."""
        device, n_rows = self.device, self.n_rows
        n_blocks, n_trees = -(-n_rows // BLOCK), len(seeds)
        counts = None
        if n_draws:
            of_blocks = block_draws(n_rows, np.full(n_trees, n_draws), seeds, count_threads(-1))
            counts = device.empty((n_trees, n_rows), np.uint32)
            drawn, highest = device.empty(of_blocks.shape, np.int64), device.empty(of_blocks.shape, np.uint32)
            self.run_items("df_draw_rows", of_blocks.size, device.array(seeds), n_trees, n_rows, device.array(of_blocks), counts,
                           drawn, highest)  # fmt: skip
            drawn, most = drawn.get(), int(highest.get().max())
        else:
            drawn = np.full((n_trees, n_blocks), BLOCK, np.int64)
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
        self.run_items("df_write_draws", drawn.size, n_trees, n_rows, counts, device.array(ends - drawn), self.target, there,
                       stride, draws)
        places = np.zeros(n_trees, record("df_open_node"))
        places["n"] = drawn.sum(axis=1)
        places["first"] = np.cumsum(places["n"]) - places["n"]
        places["seed"] = seeds
        places["path"] = ROOT_PATH
        places["lower"], places["upper"] = -np.inf, np.inf
        return draws, places

    def begin(self, seeds, n_draws, weight):
        """A `Batch` of trees, by their seeds; weight of shape (n_trees, n_rows): theirs in place of all trees' own, or None."""
        if weight is not None:
            self.heaviest = int(weight.max())
        draws, roots = self._draw(seeds, n_draws, weight)
        return (BestFirstBatch if self.rules.max_leaf_nodes else Batch)(self, draws, roots)
