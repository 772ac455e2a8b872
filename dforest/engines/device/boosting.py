"""Boosted trees on a device: the shard of its rows.

A `DeviceBoostingShard` owns codes, targets, raw predictions, integers and row numbers in the device's memory.
"""

import numpy as np

from dforest.engines.device.shard import by_node, cut_up, destinations
from dforest.engines.device.training import rows_of_codes
from dforest.engines.shard import BoostingShard
from dforest.rules import boosting
from dforest.rules.losses import LOSSES
from dforest.rules.records import record

SUM_BYTES = 24  # of an entry of a histogram


class DeviceBoostingShard(BoostingShard):
    """All rows of a fit, or those of a rank, on a device.

    Parameters
    ----------
    device : Device or Recorder
    tuning : dforest.engines.device.training.Tuning
    problem : BoostingProblem
    weights : RowWeights
    """

    def __init__(self, device, tuning, problem, weights):
        self.device, self.tuning = device, tuning
        rules, columns, n_outputs = problem.rules, problem.columns, problem.n_sums
        self.n_rows, self.n_features, self.n_outputs = len(problem.y), len(columns), n_outputs
        self.min_samples_leaf = rules.min_samples_leaf
        facts = LOSSES[problem.loss.name]
        self.loss, self.has_hessian = facts.number, weights.weight is not None or not facts.has_constant_hessian
        self.max_entries = max(1, max(len(column.values) + column.has_missing for column in columns))
        table = np.zeros(len(columns), record("df_column"))
        table["n_codes"] = [len(column.values) for column in columns]
        table["has_missing"] = [column.has_missing for column in columns]
        table["kind"] = [int(column.kind) for column in columns]
        self.columns = device.array(table)
        self.codes = device.array(rows_of_codes(columns, np.dtype(np.uint8)))
        self.y = device.array(problem.y)
        self.times = None if weights.times is None else device.array(weights.times)
        self.weight = None if weights.weight is None else device.array(weights.weight)
        self.baseline, self.parameter = device.array(np.array(problem.baseline)), device.array(np.array([problem.loss.parameter]))
        self.limits = device.array(np.array([rules.l1, rules.l2, rules.min_hessian, weights.unit]))
        n, self.per = self.n_rows, 2 if self.has_hessian else 1
        self.raw = device.empty((n_outputs, n), np.float64)
        self.raw.write(np.zeros((n_outputs, n)) if problem.raw is None else problem.raw)
        self.gradient = device.empty((n_outputs, n), np.float64)
        self.hessian = device.empty((n_outputs, n), np.float64) if self.has_hessian else None
        self.quantised = device.empty((n_outputs, n, self.per), np.int32)
        self.rows, self.scratch = device.empty((n,), np.uint32), device.empty((n,), np.uint32)
        self.sides = device.empty((n,), np.uint8)
        self.spill = boosting.SPILL if weights.times is None else boosting.WEIGHTED_SPILL

    def _run(self, kernel, n_groups, *arguments):
        """Run a kernel for so many groups' worth of work."""
        self.device.run(kernel, min(n_groups, self.tuning.n_groups), *arguments, n_items=self.tuning.n_items)

    def _groups_of_rows(self):
        """How many groups divide all rows among them; 0 if there is none."""
        return min(self.tuning.n_groups, -(-self.n_rows // self.tuning.chunk))

    def _cut_up(self, open_nodes):
        chunks = cut_up(open_nodes["first"], open_nodes["n"], self.tuning.chunk)
        return chunks, self.device.array(chunks)

    def measure(self):
        n_groups = self._groups_of_rows()
        largest = self.device.zeros((n_groups, self.n_outputs, 2), np.float64)
        self._run("df_boost_derive", n_groups, self.loss, self.raw, self.y, self.weight, self.baseline, self.parameter,
                  self.n_rows, self.n_outputs, self.gradient, self.hessian, largest)  # fmt: skip
        return largest.get().max(axis=0, initial=0.0)

    def quantise(self, factors):
        n_groups, n_outputs = self._groups_of_rows(), self.n_outputs
        extents = self.device.zeros((n_groups, n_outputs, 4), np.int64)
        self._run("df_boost_quantise", n_groups, self.gradient, self.hessian, self.times, self.weight is not None,
                  self.device.array(factors), self.n_rows, n_outputs, self.quantised, extents)  # fmt: skip
        found = extents.get()
        return np.concatenate([found[..., :2].max(axis=0, initial=0), found[..., 2:].sum(axis=0)], axis=1)

    def begin(self, output, words):
        self.output, self.words = output, words
        self._run("df_number_rows", self._groups_of_rows(), self.n_rows, self.rows)

    @property
    def _first_quantised(self):
        return self.output * self.n_rows * self.per

    def largest(self, open_nodes):
        chunks, there = self._cut_up(open_nodes)
        found = self.device.empty((len(chunks), 3), np.float64)
        self._run("df_boost_find_largest", len(chunks), self.rows, there, len(chunks), self.weight, self.gradient, self.hessian,
                  self.output * self.n_rows, found)  # fmt: skip
        return by_node(chunks, len(open_nodes), found.get(), np.maximum, 0.0)

    def quantise_again(self, open_nodes, factors):
        chunks, there = self._cut_up(open_nodes)
        self._run("df_boost_quantise_again", len(chunks), self.rows, there, len(chunks), self.gradient, self.hessian,
                  self.output * self.n_rows, self.device.array(factors), self.quantised, self._first_quantised)  # fmt: skip

    def find_cuts(self, open_nodes, features, exponents):
        cuts = np.zeros(features.shape, record("df_boost_cut"))
        at_once = max(1, self.tuning.histogram_bytes // (SUM_BYTES * self.max_entries * features.shape[1]))
        for first in range(0, len(open_nodes), at_once):
            some = slice(first, first + at_once)
            there = self.device.array(features[some])
            cuts[some] = self.best_cuts(there, self.count(open_nodes[some], there), exponents[some])
        return cuts

    def count(self, open_nodes, features):
        """Histograms of features, which are on the device, in nodes.

        Returns
        -------
        DeviceArray of shape (n_nodes, n_tried, n_entries, 3), dtype int64
            Sums of narrow gradients and hessians, and the number of rows.
        """
        device, tuning, n_tried = self.device, self.tuning, features.shape[1]
        histograms = device.zeros((*features.shape, self.max_entries, 3), np.int64)
        chunks, there = self._cut_up(open_nodes)
        width = 2 if self.times is not None or self.words.kind == boosting.WIDE else 1
        has_sums = tuning.chunk > self.spill
        feature_bytes = 8 * self.max_entries * (width + 3 * has_sums)
        together = max(1, min(tuning.n_together or n_tried, n_tried, tuning.together_bytes // feature_bytes))
        n_bytes = together * feature_bytes
        is_own = n_bytes <= tuning.local_bytes
        n_groups = min(len(chunks) * -(-n_tried // together), tuning.n_groups)
        if not is_own:
            n_groups = min(n_groups, max(1, tuning.histogram_bytes // n_bytes))
        memory = None if is_own else device.empty((n_groups, n_bytes), np.uint8)
        device.run("df_boost_count", n_groups, self.codes, self.n_features, self.rows, there, len(chunks), features, n_tried,
                   together, self.max_entries, self.words.kind, self.spill, has_sums, self.quantised, self._first_quantised,
                   self.times, histograms, memory, n_bytes, n_items=tuning.n_items, n_local=n_bytes if is_own else 8)  # fmt: skip
        return histograms

    def best_cuts(self, features, histograms, exponents):
        """The best cut of each histogram: ndarray of shape (n_nodes, n_tried), dtype df_boost_cut.

        Parameters
        ----------
        features : DeviceArray of shape (n_nodes, n_tried), dtype int32
        histograms : DeviceArray of shape (n_nodes, n_tried, n_entries, 3), dtype int64
            That `count` returned; or such sums, of nodes whose rows may be elsewhere.
        exponents : ndarray of shape (n_nodes, 2), dtype int32
            Of narrow gradients and hessians.
        """
        n_nodes, n_tried = features.shape
        cuts = self.device.empty((n_nodes, n_tried), record("df_boost_cut"))
        n_groups = -(-n_nodes * n_tried // self.tuning.n_items)
        self.device.run("df_boost_find_cuts", n_groups, self.columns, features, n_nodes, n_tried, self.max_entries, histograms,
                        self.limits, self.min_samples_leaf, self.device.array(exponents), cuts,
                        n_items=self.tuning.n_items)  # fmt: skip
        return cuts.get()

    def partition(self, open_nodes, cuts):
        chunks, there = self._cut_up(open_nodes)
        n, device = len(chunks), self.device
        counted = device.empty((n,), np.int64)
        self._run("df_boost_tell_sides", n, self.columns, self.codes, self.n_features, self.rows, there, n, device.array(cuts),
                  self.sides, counted)  # fmt: skip
        n_left, to_left, to_right = destinations(open_nodes, chunks, counted.get())
        self._run("df_move_rows", n, self.rows, self.sides, there, n, device.array(to_left), device.array(to_right), self.scratch)
        self._run("df_copy_rows", n, self.scratch, there, n, self.rows)
        return n_left

    def add_up(self, open_nodes):
        chunks, there = self._cut_up(open_nodes)
        sums = self.device.empty((len(chunks), 2), np.int64)
        self._run("df_boost_sum_leaves", len(chunks), self.rows, there, len(chunks), self.quantised, self._first_quantised,
                  self.per, self.times, sums)  # fmt: skip
        return by_node(chunks, len(open_nodes), sums.get(), np.add, 0)

    def move_on(self, open_nodes, values):
        chunks, there = self._cut_up(open_nodes)
        self._run("df_boost_move_on", len(chunks), self.rows, there, len(chunks), self.device.array(values), self.raw,
                  self.output * self.n_rows)  # fmt: skip

    def raw_sums(self):
        return self.raw.get()
