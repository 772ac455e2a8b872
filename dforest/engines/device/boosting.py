"""Boosted trees on a device: the shard of its rows.

A `BoostingShard` owns codes, targets, raw predictions, integers and row numbers in the device's memory. Where nodes try all
features, it keeps their histograms, each node's in a *slot* of one array, until the node is divided: of its children the one of
fewer rows is counted, and the other takes the slot, from which the histograms of the first are subtracted.
"""

from functools import partial

import numpy as np

from dforest.core.boost.quantiles import NO_KEY
from dforest.core.sampling import Subsample
from dforest.engines.device.coding import codes_there
from dforest.engines.device.shard import DeviceShard, by_node
from dforest.engines.device.training import rows_of_codes
from dforest.engines.families import Families, row_ranges_of
from dforest.engines.layout import table_of
from dforest.engines.nodes import range_entries
from dforest.engines.rows import RowShare
from dforest.engines.work_items import NO_SUBSET, BestCuts, WorkItems, first_of_each, offsets
from dforest.rules import arrays, boosting
from dforest.rules.records import constants, record
from dforest.spmd.draws import drawn_by

SUM_BYTES = 24  # of an entry of a histogram
_ROW = np.dtype([("node", np.int64), ("row", np.int64), ("y", np.float64), ("raw", np.float64), ("weight", np.float64)])
CUT_LANES = 8  # as DF_CUT_LANES
BYTE_VALUES = 256  # as DF_BYTE_VALUES
ROOT_KEY = int(arrays.roots(np.array([1]), np.zeros(1, np.uint32))["key"][0])


class BoostingShard(DeviceShard):
    """All rows of a fit, or those of a rank, on a device.

    Parameters
    ----------
    device : Device or Recorder
    tuning : dforest.engines.device.training.Tuning
    problem : BoostingProblem
    weights : RowWeights

    Attributes
    ----------
    n_rows : int
        Those that trees are grown from: all, or those that `draw` has drawn.
    n_all : int
        All rows.
    n_sums, n_outputs : int
        How many raw predictions a row has, and for how many of them a tree is.
    n_midpoints : int
        The outputs of a tree; 0: features have no directions.
    weights : RowWeights
    ahead : int
        How many nodes are divided at once, if there is a limit on leaves.
    has_hessian : bool
        Whether a row has an integer for its Hessian.
    """

    def __init__(self, device, tuning, problem, weights):
        super().__init__(device, tuning)
        self.weights, self.ahead = weights, tuning.ahead
        rules, columns, n_sums = problem.rules, problem.columns, problem.n_sums
        self.n_rows = self.n_all = len(problem.y)
        self.n_sums = n_sums
        self.n_outputs = n_sums // problem.n_trees_per_iteration
        self.n_drawn, self.share = problem.n_drawn, problem.share or RowShare.whole(self.n_all)
        self.sampling = problem.sampling or (self.n_drawn and Subsample(self.n_drawn))
        facts, self._own = problem.loss.facts, None
        self.loss, self.has_hessian = facts.number, weights.weight is not None or not facts.has_constant_hessian
        if facts.number < 0:  # the processor asks a loss of the user's own
            self._own = partial(problem.loss.derivatives, problem.y, problem.baseline)
            self._leaf_values, self._row_weight = problem.loss.leaf_values, problem.weight
        self.n_entries = np.array([max(1, len(column.values) + column.has_missing) for column in columns])
        self.is_category = np.array([int(column.kind) == constants()["DF_CATEGORICAL"] for column in columns])
        self.n_words = np.where(self.is_category, -(-self.n_entries // 64), 0)
        self.is_wide = self.n_entries > constants()["DF_BOOST_CODES"]
        self.max_entries = max(self.n_entries[~self.is_wide], default=1)  # of a narrow column
        numbers = constants()
        self.room_numbers = numbers["DF_ROOM_NUMBERS"] + numbers["DF_OUTPUT_NUMBERS"] * (self.n_outputs > 1)
        self.places = (np.arange(len(columns)) + np.cumsum(self.is_wide) - self.is_wide).astype(np.int32)
        self.columns = device.array(table_of(columns))
        self.places_there = device.array(self.places)
        self.codes = codes_there(columns)
        if self.codes is None:
            self.codes = device.array(rows_of_codes(_bytes_of_codes(columns, self.is_wide), np.dtype(np.uint8)))
        self.y = device.array(np.ascontiguousarray(problem.y.T))
        self.times = None if weights.times is None else device.array(weights.times)
        self.weight = None if weights.weight is None else device.array(weights.weight)
        self.integer_weight = self.exact_weight = None  # by which leaves are weighed that are no Newton steps
        if problem.loss.facts.leaf != "newton" and weights.integers is not None:
            self.integer_weight = device.array(weights.integers)
            self.exact_weight = None if weights.exact is None else device.array(weights.exact)
        monotonic_csts = problem.constraints.directions
        self.monotonic_csts = None if monotonic_csts is None else device.array(monotonic_csts.astype(np.int32))
        self.n_midpoints = 0 if monotonic_csts is None else self.n_outputs
        self.baseline = device.array(np.array(problem.baseline))
        limits = (
            rules.l1, rules.l2, rules.min_hessian, rules.categorical_smoothing, weights.unit, rules.min_samples_leaf,
            rules.min_samples_category,
        )  # fmt: skip
        self.limits = device.array(np.array([limits], record("df_boost_limits")))
        n, self.per = self.n_all, 2 if self.has_hessian else 1
        self.raw = device.empty((n_sums, n), np.float64)
        self.raw.write(np.zeros((n_sums, n)) if problem.raw is None else problem.raw)
        self.gradient = device.empty((n_sums, n), np.float64)
        self.hessian = device.empty((n_sums, n), np.float64) if self.has_hessian else None
        self.quantised = device.empty((n_sums, n, self.per), np.int32)
        self.records, self.scratch = device.empty((n,), np.uint32), device.empty((n,), np.uint32)
        self.sides = device.empty((n,), np.uint8)
        # The rows that an iteration draws, which come before the others in the order in which its trees begin.
        self.drawn, self._order = None if self.n_drawn is None else device.empty((n,), np.uint8), None
        self._families, self._kept = Families(), {}  # the slots of nodes, by range of rows
        self._n_slots, self._free, self._slots = 0, [], None
        self._others = {}  # the run of rows that were not drawn of each node of the tree, by its key: (first, n)
        self._run("df_number_rows", self._groups_of_rows(), n, self.records)
        self.spill = boosting.SPILL if weights.times is None else boosting.WEIGHTED_SPILL

    def _groups_of_rows(self):
        """How many groups divide all rows among them; 0 if there is none."""
        return min(self.tuning.n_groups, -(-self.n_all // self.tuning.chunk))

    def draw(self, seed):
        """Draw the rows of an iteration, where it draws some of all: the integer weight of all shards' drawn rows."""
        if self.n_drawn is None:
            return self.weights.total
        counts = drawn_by(self.sampling, self.share, seed)
        order = np.concatenate([np.flatnonzero(counts), np.flatnonzero(counts == 0)])
        self.n_rows, self._order = int(counts.sum()), order.astype(np.uint32)
        self.drawn.write(counts.astype(np.uint8))
        return self.n_rows if self.weights.times is None else int(self.weights.times[order[: self.n_rows]].sum(dtype=np.uint64))

    def measure(self, parameters):
        """The largest gradient, in magnitude, and hessian of each sum of the iteration that begins: float64, (n_sums, 2).

        parameters : ndarray of shape (n_sums,), dtype float64
            Of the loss, for each sum.
        """
        if self._own is not None:
            return self._measure_own()
        n_groups = self._groups_of_rows()
        largest = self.device.zeros((n_groups, self.n_sums, 2), np.float64)
        self._run("df_boost_derive", n_groups, self.loss, self.raw, self.y, self.weight, self.baseline,
                  self.device.array(np.ascontiguousarray(parameters)), self.drawn, self.n_all, self.n_sums, self.gradient,
                  self.hessian, largest)  # fmt: skip
        return largest.get().max(axis=0, initial=0.0)

    def _measure_own(self):
        """`measure` of a loss of the user's own."""
        largest = np.zeros((self.n_sums, 2))
        if self.n_all == 0:
            return largest
        some = slice(None) if self._order is None else self._order[: self.n_rows]
        of_rows = self._own(np.ascontiguousarray(self.raw.get().T))
        for i, (found, there) in enumerate(zip(of_rows, (self.gradient, self.hessian), strict=True)):
            if there is not None:
                numbers = found if self.weights.weight is None else found * self.weights.weight[:, None]
                there.write(np.ascontiguousarray(numbers.T))
                largest[:, i] = np.abs(numbers[some]).max(axis=0, initial=0.0)
        return largest

    def quantise(self, factors):
        """Make derivatives quantised gradients, by 2 to the power of their exponents.

        Parameters
        ----------
        factors : ndarray of shape (n_sums, 2), dtype float64

        Returns
        -------
        ndarray of shape (n_sums, 4), dtype int64
            The largest gradient, in magnitude, and hessian, and the sums of magnitudes, times integer weights.
        """
        n_groups, n_sums = self._groups_of_rows(), self.n_sums
        extents = self.device.zeros((n_groups, n_sums, 4), np.int64)
        self._run("df_boost_quantise", n_groups, self.gradient, self.hessian, self.times, self.weight is not None,
                  self.device.array(factors), self.drawn, self.n_all, n_sums, self.quantised, extents)  # fmt: skip
        found = extents.get()
        return np.concatenate([found[..., :2].max(axis=0, initial=0), found[..., 2:].sum(axis=0)], axis=1)

    def begin(self, tree, kind):
        """Begin a tree of the iteration, of this number: all rows are in its root. kind : of its words, as of `Words`"""
        self._first_sum, self._kind = tree * self.n_outputs, kind
        self._families = Families()
        self._forget_histograms()
        if self._order is None:
            self._run("df_number_rows", self._groups_of_rows(), self.n_all, self.records)
        else:
            self.records.write(self._order)
        self._others = {ROOT_KEY: (self.n_rows, self.n_all - self.n_rows)}

    def _firsts(self, width=1):
        """Where what the outputs of the tree have of rows begins, of so many numbers a row: list of int."""
        return [(self._first_sum + k) * self.n_all * width for k in range(self.n_outputs)]

    def largest(self, open_nodes):
        """The largest weight, the largest gradient, in magnitude, and hessian of nodes: float64, (n_nodes, n_outputs, 3).

        Derivatives are those of the tree that grows, times the weights; 0 stands for what rows have not.
        """
        found = np.empty((len(open_nodes), self.n_outputs, 3))
        for k, first in enumerate(self._firsts()):
            of_rows = self.weight, self.gradient, self.hessian, first
            found[:, k] = by_node(*self._found("df_boost_find_largest", open_nodes, (3,), np.float64, *of_rows), np.maximum, 0.0)
        return found

    def quantise_again(self, open_nodes, factors):
        """Make the integers of nodes anew.

        Parameters
        ----------
        factors : ndarray of shape (n_nodes, n_outputs, 2), dtype float64
            2 to the power of the exponents of their gradients and hessians.
        """
        self._families.quantise_again(open_nodes)
        for k, first in enumerate(self._firsts()):
            there = self.device.array(np.ascontiguousarray(factors[:, k]))
            of_rows = self.gradient, self.hessian, first, there, self.quantised, self.per * first
            self._each("df_boost_quantise_again", open_nodes, *of_rows)

    def find_cuts(self, open_nodes, features, exponents, bounds):
        """The best cut of each node by some features.

        Parameters
        ----------
        features : ndarray of shape (n_nodes, n_tried), dtype int32
            -1: none. Each node tries one at least.
        exponents : ndarray of shape (n_nodes, n_outputs, 2), dtype int32
            Of narrow gradients and hessians.
        bounds : ndarray of shape (n_nodes, n_outputs, 2), dtype float64, or None
            Of nodes' steps, in units of these; None: features have no directions.

        Returns
        -------
        cuts : ndarray of shape (n_nodes,), dtype df_boost_cut
            Of equal ones that of the first feature.
        subsets : list of ndarray, dtype uint64
            If the feature has categories, a bit for each code that goes left.
        midpoints : ndarray of shape (n_nodes, n_outputs) or, without bounds, (n_nodes, 0), dtype float64
            Between the steps of both sides of a cut, if its feature has a direction.
        """
        best = BestCuts(len(open_nodes), self.n_midpoints)
        entry_bytes = SUM_BYTES * self.n_outputs + 8 * self.room_numbers * int(self.is_wide.any())
        most_slots = self.tuning.histogram_bytes // (entry_bytes * int(self.n_entries.sum()))
        if len(open_nodes) <= most_slots and self._are_all(features):
            work_items = self._count_in_slots(open_nodes, features, most_slots)
            best.take(work_items, *self.best_cuts(work_items, self._slots, exponents, bounds))
            return best.found
        self._n_slots, self._slots = 0, None
        self._forget_histograms()
        for work_items in self.work_items(features).batches(self.tuning.histogram_bytes // entry_bytes):
            best.take(work_items, *self.best_cuts(work_items, self.count(open_nodes, work_items), exponents, bounds))
        return best.found

    def _are_all(self, features):
        return features.shape[1] == len(self.n_entries) and bool((features == np.arange(len(self.n_entries))).all())

    def _forget_histograms(self):
        self._kept, self._free = {}, list(range(self._n_slots))

    def _count_in_slots(self, open_nodes, features, most_slots):
        """Bring the histograms of nodes, of all features, into slots: the nodes' `WorkItems`, whose entries are there."""
        row_ranges, node_entries = row_ranges_of(open_nodes), int(self.n_entries.sum())
        differences, counted = self._families.differences(row_ranges, self._kept)
        if len(counted) > len(self._free):
            if self._n_slots < most_slots:
                self._n_slots = min(most_slots, 2 * (self._n_slots + len(row_ranges)))
                self._slots = None  # it ends before there is another one
                self._slots = self.device.empty((self.n_outputs, self._n_slots * node_entries, 3), np.int64)
            self._forget_histograms()
            differences, counted = {}, row_ranges
        slots = {row_range: self._free.pop() for row_range in counted}
        nodes = np.zeros(len(counted), open_nodes.dtype)
        nodes["first"], nodes["n"] = np.array(counted, np.int64).T
        firsts = np.array([slots[row_range] for row_range in counted]) * node_entries
        self._run_in_slots("df_boost_clear", len(firsts), self.device.array(firsts))
        self._add_to(self._slots, nodes, self._work_items_at(np.tile(features[:1], (len(counted), 1)), firsts))
        taken = [(self._kept.pop(parent), slots[sibling]) for parent, sibling in differences.values()]
        slots |= zip(differences, (slot for slot, _ in taken), strict=True)
        if taken:
            self._run_in_slots("df_boost_subtract", len(taken), self.device.array(np.array(taken) * node_entries))
        # Slots of divided nodes, and of siblings that nobody asked for, are free again.
        self._free += [self._kept.pop(parent) for parent in set(map(self._families.parent_of, row_ranges)) & self._kept.keys()]
        self._free += [slots[row_range] for row_range in slots.keys() - set(row_ranges)]
        self._kept |= {row_range: slots[row_range] for row_range in row_ranges}
        return self._work_items_at(features, np.array([slots[row_range] for row_range in row_ranges]) * node_entries)

    def _run_in_slots(self, kernel, n_nodes, firsts):
        n_numbers = 3 * int(self.n_entries.sum())
        n_items = n_nodes * self.n_outputs * n_numbers
        self._run(kernel, -(-n_items // self.tuning.n_items), firsts, n_nodes, self.n_outputs, n_numbers, self._slots.shape[1],
                  self._slots)  # fmt: skip

    def _work_items_at(self, features, firsts):
        """`WorkItems` of nodes and all features, given where the entries of each node begin."""
        work_items = self.work_items(features)
        entries = (firsts[:, None] + offsets(self.n_entries)[:-1]).ravel()
        return work_items._replace(entries=np.append(entries, 0))

    def work_items(self, features):
        """`WorkItems` of nodes and features, of shape (n_nodes, n_tried), which may be -1."""
        return WorkItems.of_nodes(features, self.n_entries, self.n_words)

    def count(self, open_nodes, work_items):
        """Histograms of work items.

        Returns
        -------
        DeviceArray of shape (n_outputs, n_entries, 3), dtype int64
            Sums of narrow gradients and hessians, and the number of rows.
        """
        histograms = self.device.zeros((self.n_outputs, int(work_items.entries[-1]), 3), np.int64)
        self._add_to(histograms, open_nodes, work_items)
        return histograms

    def _add_to(self, histograms, open_nodes, work_items):
        """Add nodes to histograms of work items."""
        is_wide = self.is_wide[work_items.feature]
        for count, some in ((self._count_narrow, np.flatnonzero(~is_wide)), (self._count_wide, np.flatnonzero(is_wide))):
            if len(some):
                node = work_items.node[some]
                firsts = first_of_each(node)
                tried = np.append(firsts, len(some)), self.places[work_items.feature[some]], work_items.entries[some]
                n_tried = int(np.diff(tried[0]).max())
                count(open_nodes[node[firsts]], [self.device.array(array) for array in tried], n_tried, histograms)

    def _count_narrow(self, open_nodes, tried, n_tried, histograms):
        """Add nodes to histograms of narrow columns.

        Parameters
        ----------
        tried : list of DeviceArray
            Where the pairs of each node begin, and the last ones end; the place of each pair's column; its first entry.
        n_tried : int
            WorkItems of a node, at most.
        histograms : DeviceArray of shape (n_outputs, n_entries, 3), dtype int64
        """
        tuning = self.tuning
        _, there, n_chunks = self._cut_up(open_nodes)
        width = 2 if self.times is not None or self._kind == boosting.WIDE else 1
        has_sums = tuning.chunk > self.spill
        feature_bytes = int(8 * self.max_entries * (width + 3 * has_sums))
        together = max(1, min(tuning.n_together or n_tried, n_tried, tuning.together_bytes // feature_bytes))
        n_passes = -(-n_tried // together)
        for k, first in enumerate(self._firsts(self.per)):
            self._run_in_memory(
                "df_boost_count", n_chunks * n_passes, together * feature_bytes, self.codes, self.codes.shape[1], self.records,
                there, n_chunks, *tried, n_passes, together, self.max_entries, self._kind, self.spill, has_sums,
                self.quantised, first, self.times, histograms, k * histograms.shape[1],
            )  # fmt: skip

    def _count_wide(self, open_nodes, tried, _, histograms):
        """Add nodes to histograms of wide columns. Parameters: as of `_count_narrow`"""
        _, there, n = self._cut_up(open_nodes)
        for k, first in enumerate(self._firsts(self.per)):
            self._run("df_boost_count_wide", n, self.codes, self.codes.shape[1], self.records, there, n, *tried,
                      self._kind, self.quantised, first, self.times, histograms, k * histograms.shape[1])  # fmt: skip

    def best_cuts(self, work_items, histograms, exponents, bounds):
        """The best cut of each pair.

        Parameters
        ----------
        work_items : WorkItems
        histograms : DeviceArray of shape (n_outputs, n_entries, 3), dtype int64
            That `count` returned; or such sums, of nodes whose rows may be elsewhere.
        exponents : ndarray of shape (n_nodes, n_outputs, 2), dtype int32
            Of narrow gradients and hessians.
        bounds : ndarray of shape (n_nodes, n_outputs, 2), dtype float64, or None
            What cuts have to keep to, where features have directions.

        Returns
        -------
        cuts : ndarray of shape (n_work_items,), dtype df_boost_cut
        words : ndarray of shape (n_words,), dtype uint64
            Their subsets, one after another.
        midpoints : ndarray of shape (n_work_items, n_midpoints), dtype float64
            Where they part the steps of nodes.
        """
        device, n = self.device, len(work_items.node)
        lanes = -(-self.n_entries[work_items.feature] // CUT_LANES) * CUT_LANES
        room = self.room_numbers * lanes
        has_room = 8 * room > self.tuning.together_bytes  # others have the memory of their group
        n_local = 8 * int(room[~has_room].max(initial=0))
        rooms = offsets(np.where(has_room, room, 0))
        table = np.zeros(n, record("df_boost_pair"))
        table["node"], table["feature"], table["room"] = work_items.node, work_items.feature, np.where(has_room, rooms[:-1], -1)
        table["entry"], table["word"] = work_items.entries[:-1], work_items.words[:-1]
        memory = device.empty((int(rooms[-1]),), np.float64) if rooms[-1] else None
        subsets = device.empty((int(work_items.words[-1]),), np.uint64) if work_items.words[-1] else None
        cuts, midpoints = device.empty((n,), record("df_boost_cut")), None
        if bounds is not None:
            bounds, midpoints = device.array(np.ascontiguousarray(bounds)), device.empty((n, self.n_midpoints), np.float64)
        # Categories, and several outputs, are for one item of a group.
        is_shared = self.n_outputs == 1 and not self.is_category[work_items.feature].all()
        n_items = self.tuning.n_items if is_shared else self.tuning.few_items
        device.run("df_boost_find_cuts", min(n, self.tuning.n_groups), self.columns, device.array(table), n, self.n_outputs,
                   histograms.shape[1], histograms, self.limits,
                   device.array(np.ascontiguousarray(exponents)), self.monotonic_csts, bounds, memory, subsets, cuts, midpoints,
                   n_items=n_items, n_local=n_local)  # fmt: skip
        midpoints = np.zeros((n, 0)) if midpoints is None else midpoints.get()
        return cuts.get(), NO_SUBSET if subsets is None else subsets.get(), midpoints

    def _with_others(self, open_nodes):
        """Nodes, and after them, if some rows were not drawn, the same nodes with the runs of such rows."""
        if self.n_rows == self.n_all:
            return open_nodes
        others = open_nodes.copy()
        runs = [self._others[key] for key in open_nodes["key"].tolist()]
        others["first"], others["n"] = np.array(runs, np.int64).reshape(-1, 2).T
        return np.concatenate([open_nodes, others])

    def partition(self, open_nodes, cuts, subsets):
        """Move the rows that go left to the front of their node's run: how many rows do, ndarray of (n_nodes,), int64."""
        nodes = self._with_others(open_nodes)
        n = len(open_nodes)
        times = len(nodes) // n
        n_left = self._partition(nodes, np.concatenate([cuts] * times), np.concatenate([subsets] * times))
        if len(nodes) > n:
            nothing = np.zeros(n)
            children = arrays.children(nodes[n:], n_left[n:], nothing.astype(np.int32), nothing)
            runs = zip(children["first"].tolist(), children["n"].tolist(), strict=True)
            self._others.update(zip(children["key"].tolist(), runs, strict=True))
        if self._kept:
            self._families.divide(open_nodes, n_left[:n])
        return n_left[:n]

    def _partition(self, open_nodes, cuts, subsets):
        """Partition the rows of runs, each by a cut."""
        first_words = offsets([len(subset) for subset in subsets])
        words = self.device.array(np.concatenate(subsets)) if first_words[-1] else None
        chunks, there, n = self._cut_up(open_nodes)
        counted, test = self.device.empty((n,), np.int64), (self.device.array(cuts), words, self.device.array(first_words))
        self._run("df_boost_tell_sides", n, self.columns, self.places_there, self.codes, self.codes.shape[1], self.records, there,
                  n, *test, self.sides, counted)  # fmt: skip
        return self._move(("df_move_rows", "df_copy_rows"), open_nodes, chunks, there, counted)

    def add_up(self, open_nodes):
        """Sums of the quantised gradients and hessians of nodes: ndarray of shape (n_nodes, n_outputs, 2), dtype int64."""
        found = np.empty((len(open_nodes), self.n_outputs, 2), np.int64)
        for k, first in enumerate(self._firsts(self.per)):
            of_rows = self.quantised, first, self.per, self.times
            found[:, k] = by_node(*self._found("df_boost_sum_leaves", open_nodes, (2,), np.int64, *of_rows), np.add, 0)
        return found

    def max_weight(self, open_nodes):
        """The largest exact weight (`rules/weights.h`) of nodes: float64, (n_nodes,). Where there are exact weights only."""
        found = self._found("df_boost_find_max_weights", open_nodes, (), np.float64, self.exact_weight)
        return by_node(*found, np.maximum, 0.0)

    def _residuals_of(self, open_nodes, output):
        """(Nodes, of which None stands for a root of all rows; what kernels find the residuals of their rows from, in an output).

        The residuals of all rows are asked for as magnitudes.
        """
        is_absolute = open_nodes is None
        if is_absolute:
            open_nodes = arrays.roots(np.array([self.n_all]), np.zeros(1, np.uint32))
        return open_nodes, (self.y, self.raw, self.baseline, output, output * self.n_all, is_absolute)

    def weights_of_bytes(self, open_nodes, output, which, keys, shifts):
        """The weight of each value of a byte of the residuals of nodes' rows: see `dforest.core.boost.quantiles.find_quantiles`.

        Parameters
        ----------
        open_nodes : ndarray of df_open_node, or None
            None: one node with all rows, drawn or not, of which the distances from targets are looked at.
        output : int
        which : int
            The byte, from 0, the first, to 7.
        keys : ndarray of shape (n_nodes,), dtype uint64
        shifts : ndarray of shape (n_nodes,), dtype int32

        Returns
        -------
        ndarray of shape (n_nodes, 256), dtype int64
        """
        nodes, residuals = self._residuals_of(open_nodes, output)
        _, there, n = self._cut_up(nodes)
        totals = self.device.zeros((len(nodes), BYTE_VALUES), np.int64)
        self._run_in_memory("df_boost_weigh_bytes", n, 8 * BYTE_VALUES, self.records, there, n, *residuals, which,
                            self.device.array(keys), self.integer_weight, self.exact_weight, self.device.array(shifts),
                            totals)  # fmt: skip
        return totals.get()

    def next_keys(self, open_nodes, output, keys):
        """The least key above each node's: ndarray of shape (n_nodes,), dtype uint64; the greatest number where there is none."""
        nodes, residuals = self._residuals_of(open_nodes, output)
        found = self._found("df_boost_find_next_key", nodes, (), np.uint64, *residuals, self.device.array(keys))
        return by_node(*found, np.minimum, NO_KEY)

    def sum_terms(self, open_nodes, output, medians, parameter, factor, shifts):
        """Sums for robust means, of an output: ndarray of shape (n_nodes, 3), dtype int64.

        The lower 31 bits of terms, quantised by the factor, times weights; the rest of these; and weights.
        """
        nodes, residuals = self._residuals_of(open_nodes, output)
        there = (self.device.array(numbers) for numbers in (medians, np.array([parameter, factor]), shifts))
        medians, of_terms, shifts = there
        given = *residuals, self.loss, medians, of_terms, self.integer_weight, self.exact_weight, shifts
        return by_node(*self._found("df_boost_sum_terms", nodes, (3,), np.int64, *given), np.add, 0)

    def rows_of(self, open_nodes):
        """The rows of nodes, node by node, with what a loss of the user's own is told of them: an ndarray of `_ROW`."""
        found = np.empty(int(open_nodes["n"].sum()), _ROW)
        rows = self.records.get()[range_entries(open_nodes["first"], open_nodes["n"])]
        found["node"], found["row"] = np.repeat(np.arange(len(open_nodes)), open_nodes["n"]), self.share.numbers()[rows]
        found["y"], found["raw"] = self.y.get()[rows], self.raw.get()[0, rows] + self.baseline.get()[0]
        found["weight"] = 1.0 if self._row_weight is None else self._row_weight[rows]
        return found

    def custom_values(self, open_nodes, rows=None):
        """The values of nodes that a loss of the user's own says, given their rows: ndarray of shape (n_nodes,), float64."""
        rows = self.rows_of(open_nodes) if rows is None else rows
        rows = rows[np.lexsort([rows["row"], rows["node"]])]  # inner nodes have other orders
        columns = (np.ascontiguousarray(rows[name]) for name in ("y", "raw", "weight"))
        return self._leaf_values(*columns, np.bincount(rows["node"], minlength=len(open_nodes)))

    def update_raw_predictions(self, open_nodes, values):
        """Add the values of leaves, of shape (n_nodes, n_outputs), to the raw predictions of the rows that reach them, drawn or
        not.
        """
        nodes = self._with_others(open_nodes)
        values = np.concatenate([values] * (len(nodes) // max(1, len(open_nodes))))
        for k, first in enumerate(self._firsts()):
            there = self.device.array(np.ascontiguousarray(values[:, k]))
            self._each("df_boost_move_on", nodes, there, self.raw, first)

    def raw_sums(self):
        """The sums of leaf values of the shard's own rows: ndarray of shape (n_sums, n_own_rows), dtype float64."""
        return self.raw.get()


def _bytes_of_codes(columns, is_wide):
    """The bytes that rows have of columns: list of ndarray of shape (n_rows,); of a wide column two, the lower one first."""
    found = []
    for column, has_two in zip(columns, is_wide.tolist(), strict=True):
        found += list(column.codes.astype("<u2").view(np.uint8).reshape(-1, 2).T) if has_two else [column.codes]
    return found
