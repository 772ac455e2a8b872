"""What a fit holds on a device: codes, targets, tables; and the sizes of the machinery.

A `Training` owns the memory it holds on the device; kernels own nothing.
"""

import numpy as np

from dforest.core.data import DataView
from dforest.core.grow.label_order import LabelSums
from dforest.core.search.heterogeneity import Heterogeneity
from dforest.engines.device.coding import codes_there
from dforest.engines.given import code_types
from dforest.engines.layout import Layout
from dforest.errors import DeviceError
from dforest.rules.records import constants, record

_OF_LAYOUT = (  # fields of a df_problem that are attributes of a `Layout`
    "n_outputs", "max_entries", "has_keys", "n_words", "is_random", "max_categories", "subset_words", "n_missing_sides",
    "n_label_orders", "n_label_ranks",
)  # fmt: skip


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
        self.chunk = given.get("chunk", 1 << 15 if device.is_cpu else 1 << 13)
        self.n_items = given.get("n_items", device.n_items)
        self.n_groups = given.get("n_groups", device.n_groups)
        # Of groups in which much is done by one item, as where subtrees grow: units have room for more such groups then.
        self.few_items = min(32, self.n_items)
        self.n_growing = given.get("n_growing", (8 if device.is_cpu else 16) * device.n_units)
        self.cache_bytes = given.get("cache_bytes", 1 << 19 if device.is_cpu else 0)
        # Some is left for what the compiler puts there.
        self.local_bytes = given.get("local_bytes", device.local_bytes - (0 if device.is_cpu else 1 << 12))
        self.n_together = given.get("n_together", 0)
        # What is counted at once: on a CPU, half of what its second cache holds; elsewhere four groups share a unit's memory.
        together_bytes = min(self.local_bytes // 2, 1 << 17) if device.is_cpu else self.local_bytes // 4
        self.together_bytes = given.get("together_bytes", together_bytes)
        batch_bytes = min(device.memory_bytes // 4, 1 << 32) if device.is_cpu else device.memory_bytes // 2
        self.batch_bytes = given.get("batch_bytes", batch_bytes)
        self.array_bytes = given.get("array_bytes", device.array_bytes)
        self.histogram_bytes = given.get("histogram_bytes", 1 << 28)
        self.slice_records = given.get("slice_records", 1 << 20 if device.is_cpu else 1 << 24)
        self.extra_features = given.get("extra_features", 8)
        self.ahead = given.get("ahead", 1 if device.is_cpu else 8)
        self.alone_up_to = given.get("alone_up_to", 1 << 62 if device.is_cpu else 64)
        if not self.subtree_up_to <= self.chunk <= 1 << 20:
            raise ValueError(
                f"subtree_up_to={self.subtree_up_to}, chunk={self.chunk}; allowed are numbers in this order, up to 2**20"
            )


def subtree_up_to(problem, tuning):
    """Records of the largest node whose subtree is grown by a group; -1: the driver grows all, in its order, or by effects."""
    is_driven = problem.rules.max_leaf_nodes or isinstance(problem.criterion, Heterogeneity)
    return -1 if is_driven else tuning.subtree_up_to


def rows_of_codes(codes, dtype):
    """Codes row by row: ndarray of shape (n_rows, n_columns). If columns are those of such a matrix, it is taken.

    Parameters
    ----------
    codes : sequence of ndarray of shape (n_rows,)
        Of each column.
    dtype : dtype
        Of the longest ones.
    """
    n_rows, n_columns = len(codes[0]), len(codes)
    matrix = codes[0].base
    if matrix is not None and (matrix.shape, matrix.dtype) == ((n_rows, n_columns), dtype) and matrix.flags.c_contiguous:
        if all(column.base is matrix for column in codes):
            return matrix
    found = np.empty((n_rows, n_columns), dtype)
    rows = max(1, (1 << 18) // n_columns)  # what is written stays in the cache
    for first in range(0, n_rows, rows):
        for j, column in enumerate(codes):
            found[first : first + rows, j] = column[first : first + rows]
    return found


class Training:
    """What a fit holds on a device.

    Parameters
    ----------
    device : Device or Recorder
    stated : Problem
        As for `Layout`.
    tuning : Tuning
    n_threads : int, default=1
        Threads of the processor that add up the rows that order labels.

    Attributes
    ----------
    labels : LabelSums or None
        Of the rows that order trees' labels, which the processor adds up. None: nodes order them.
    """

    def __init__(self, device, stated, tuning, n_threads=1):
        splitter = stated.splitter
        self._stated, self._n_threads = stated, n_threads
        self.device = device
        self.tuning, self.subtree_up_to = tuning, subtree_up_to(stated, tuning)
        self.layout = layout = Layout(stated)
        self.n_rows, self.n_features = len(stated.targets.classes), stated.n_features  # rows that are here
        self.max_features = splitter.max_features
        self.problem = problem = np.zeros((), record("df_problem"))
        for name in _OF_LAYOUT:
            problem[name] = getattr(layout, name)
        problem["n_features"], problem["max_features"] = self.n_features, splitter.max_features
        problem["skip_constant"], problem["one_hot"] = splitter.skip_constant_features, splitter.one_hot
        problem["code_bytes"] = max(column.codes.dtype.itemsize for column in stated.columns)
        problem["criterion"], problem["is_wide"] = layout.criterion_number, stated.criterion.is_wide
        problem["is_unit"], problem["is_bounded"] = stated.targets.weight is None, stated.monotonic_csts.any()
        if layout.effects is not None:
            problem["effects"] = layout.effects[0]
        problem["limits"] = stated.rules.limits(stated.n_rows)[0]
        dtype = np.dtype(f"u{int(problem['code_bytes'])}")
        self.codes = codes_there(stated.columns)
        if self.codes is None:
            self.codes = device.array(rows_of_codes([column.codes for column in stated.columns], dtype))
        self.numbers = [device.array(numbers) for numbers in (layout.values, layout.lows, layout.highs)]
        self.columns = device.array(layout.table)
        self.outputs = None if layout.outputs is None else device.array(layout.outputs)
        self.set_targets(stated.targets)

    def set_targets(self, targets):
        """Put targets and weights on the device."""
        array = self.device.array
        self.max_weight, self.weight_unit = targets.max_weight, targets.weight_unit
        self.target = array(targets.classes)
        self.y = None if targets.numbers is None else array(targets.numbers)
        self.weight = None if targets.weight is None else array(targets.weight)
        self.exact_weight = None if targets.exact_weight is None else array(targets.exact_weight)
        self.labels = None
        if self.layout.n_label_ranks:
            stated, places = self._stated, self.layout.table["first_rank"].tolist()
            columns = [column for column, place in zip(stated.columns, places, strict=True) if place >= 0]
            columns = [
                column._replace(codes=np.ascontiguousarray(column.codes, dtype))
                for column, dtype in zip(columns, code_types(columns), strict=True)
            ]
            data = DataView(columns, targets.classes, targets.numbers, targets.weight, response=targets.response)
            numbers = None if stated.share is None else stated.share.numbers().astype(np.uint32)
            self.labels = LabelSums(data, stated.criterion, numbers, self._n_threads)

    def set_planes(self, max_drawn):
        """Lay out the planes of histograms, given how often a row is drawn at most: see kernels/target.hpp."""
        problem = self.problem
        bits = 32 - (self.tuning.chunk - 1).bit_length()
        max_weight = self.max_weight * max_drawn

        def limbs(most):
            return -(-(int(most).bit_length() + 1) // bits)

        problem["limb_bits"] = bits
        if self.device.adds_64_bits:
            n_count = problem["weight_limbs"] = problem["sum_limbs"] = 2
        else:
            n_count = 1
            problem["weight_limbs"] = limbs(max_weight)
            problem["sum_limbs"] = limbs(max_drawn << 31 if problem["is_wide"] else max_weight << 31)
        layout, objective = self.layout, self.layout.objective
        if layout.outputs is not None:
            n_words, has_classes = layout.n_words - 2, not objective.scales_targets
            n = n_count + (0 if problem["is_unit"] else problem["weight_limbs"])
            n += n_words * problem["weight_limbs" if has_classes else "sum_limbs"]
        elif objective.n_classes:
            n = objective.n_classes if problem["is_unit"] else n_count + objective.n_classes * problem["weight_limbs"]
        else:
            n = n_count + (0 if problem["is_unit"] else problem["weight_limbs"])
            n += problem["sum_limbs"] * (2 if problem["is_wide"] else 1)
        problem["n_planes"] = n
        self.problem_there = self.device.array(problem.reshape(1))

    def features_at_once(self, bytes_of):
        """How many features to try at once, and the memory that takes, given that of a number of them."""
        most = self.tuning.n_together or self.max_features
        most = min(most, self.max_features)
        while most > 1 and bytes_of(most) > self.tuning.together_bytes:
            most -= 1
        return most, bytes_of(most)

    def workspace_bytes(self, n_together):
        """Memory that a group needs to grow subtrees: see `df_workspace` of kernels/subtree.hpp."""
        p = self.problem
        entries = int(p["max_entries"])
        words = (1 + 3 * n_together) * self.layout.n_words + n_together * ((entries + 63) // 64 + self.layout.max_categories)
        words += (1 + n_together) * self.layout.subset_words + (n_together * (1 + self.layout.max_categories) + 1) // 2
        records = n_together * (record("df_split").itemsize + record("df_draft").itemsize)
        planes = 4 * int(p["n_planes"]) * (1 + n_together * entries)
        outputs = 0 if self.layout.outputs is None else self.layout.outputs.nbytes
        return constants()["DF_SHARED_BYTES"] + 8 * words + records + outputs + planes

    def batches(self, n_trees, n_records):
        """Slices of the trees, each of which fits the device, given how many records a tree has at most."""
        size = trees_of_batch(self.device, self.tuning, self.n_rows, n_records, self.layout)
        return [slice(first, first + size) for first in range(0, n_trees, size)]


def median_bytes(layout, tuning, n):
    """Memory that a group needs to look for medians in nodes of up to n records: `df_median_room` of medians.hpp."""
    c, n_items = constants(), tuning.n_items
    n_cuts = 1 if layout.is_random else 1 + min(n, layout.max_entries)
    of_cuts = c["DF_MEDIAN_CUT_BYTES"] * n_cuts * layout.n_missing_sides + 4 * (n_cuts + 3)
    n_counts = n_items << (8 if n_items == 1 else 4)  # see df_digit_bits
    of_node = c["DF_SHARED_BYTES"] + c["DF_MEDIAN_RECORD_BYTES"] + c["DF_MEDIAN_CUT_BYTES"]  # an entry, and a query, of no record
    return -(-(of_node + c["DF_MEDIAN_RECORD_BYTES"] * n + of_cuts + 4 * (layout.max_categories + n_counts)) // 8) * 8


def target_order_bytes(layout, n):
    """Memory for the targets of n records in order: `df_target_order` of medians.hpp."""
    return 16 * layout.n_outputs * n


def median_groups(tuning, n, n_bytes):
    """How many groups, at most n, look for medians at a time, each in memory of its own."""
    return min(n, tuning.n_growing, max(1, tuning.histogram_bytes // n_bytes))


def median_memory(layout, tuning, subtree_up_to, n_trees, n_records, max_features):
    """Most memory that is needed to look for medians, in a batch of trees of so many records."""
    if not layout.has_medians:
        return 0
    n_small = min(n_records, max(0, subtree_up_to))
    order, of_group = target_order_bytes(layout, n_small), median_bytes(layout, tuning, n_small)
    small = median_groups(tuning, 2 * n_trees * -(-n_records // max(1, n_small)), order + of_group) * (order + of_group)
    of_group = median_bytes(layout, tuning, n_records)
    large = target_order_bytes(layout, n_trees * n_records) + median_groups(tuning, n_trees * max_features, of_group) * of_group
    return max(small * (n_small > 0), large * (n_small < n_records))


def trees_of_batch(device, tuning, n_rows, n_records, layout):
    """How many trees of so many records at most, of so many rows, fit a device at the same time.

    Raises
    ------
    DeviceError
        If not even one does.
    """
    grown, subset = 2 * record("df_grown").itemsize, 16 * layout.subset_words  # twice: where they grow, and put together
    need = n_records * (2 * record("df_record").itemsize + 1 + 2 * grown + 2 * subset) + 8 * n_rows + 4 * layout.n_label_ranks
    in_array, have, array = max(n_records * max(grown, subset), 4 * layout.n_label_ranks), tuning.batch_bytes, tuning.array_bytes
    if need > have or in_array > array:
        raise DeviceError(
            f"a tree of {n_rows} rows needs {need / 2**20:.0f} MiB on {device.name!r} in addition to the data, and "
            f"{in_array / 2**20:.0f} MiB of it in one array; available are {have / 2**20:.0f} MiB for trees, and "
            f"{array / 2**20:.0f} MiB for one array"
        )
    return max(1, min(have // need, array // in_array, 2 * device.n_units))
