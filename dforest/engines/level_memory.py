"""How much memory growing trees many nodes at a time takes, before they are grown: on devices, and on each of several ranks.

What is estimated is what one process needs for the rows that it has. Where a device is the processor itself, the device's memory
is the host's.
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.grow.label_order import words_of_label
from dforest.engines.boosting_memory import BOUNDED, bytes_of_trees
from dforest.engines.layout import Layout
from dforest.engines.memory import bytes_of_codes, bytes_of_forest, bytes_of_label_order, bytes_of_values, distinct_rows
from dforest.rules.records import record

RECORD_BYTES = 64  # that a record in a shipment takes, beside its codes: record, packed record, and what a grower moves it to
_SUMS = 24  # bytes of an entry of a histogram of boosted trees


@dataclass(frozen=True)
class LevelMemoryEstimate:
    """Estimate of the memory that growing trees on a device, or by several processes, takes, in bytes, piece by piece.

    It is the attribute `growth` of what the method `estimate_memory` returns for such fits: of one process, and the rows that it
    has. Codes are the numbers of bins or ranks that stand for values; a record is a distinct row of a tree.

    Attributes
    ----------
    codes, values : int
        Bytes of the coded columns, and of the values that codes stand for. They exist before growing begins, and are not part of
        `total`.
    rows : int
        Bytes of what is kept for each row while trees are grown.
    batch : int
        Bytes of the trees of a forest that are grown at the same time, with their records and their orders of labels.
    histograms : int
        Bytes of the histograms of nodes, and by absolute error of what medians are found in.
    messages : int
        Bytes of the records that processes send each other at a time, and of the rows of all processes, if each needs them.
    scores : int
        Bytes of the predictions of rows that are scored for early stopping, and of copies of trees that held-out rows wait for.
    forest : int
        Bytes of the grown trees, all of them on each process.
    moving : int
        Bytes that the trees' leaves take a second time, when all are grown; of a forest, other memory is free again then.
    is_forest : bool
        Whether they are those of a forest, and not boosted trees.
    on_device : int
        Bytes of the device's memory, where that is not the host's; they are not part of `total`.
    n_threads : int
        Number of threads that work beside the device, or as the device.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import HistGradientBoostingRegressor, config_context
    >>> from dforest.spmd.threads import ThreadGroup  # its ranks are threads
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def estimate(communicator):
    ...     own = slice(communicator.rank, None, 2)
    ...     with config_context(communicator=communicator):
    ...         return HistGradientBoostingRegressor().estimate_memory(X[own], y[own]).growth
    >>> growth, _ = ThreadGroup(2).run(estimate)
    >>> growth.total >= growth.forest + growth.rows
    True
    """

    codes: int
    values: int
    rows: int
    batch: int
    histograms: int
    messages: int
    scores: int
    forest: int
    moving: int
    is_forest: bool
    on_device: int
    n_threads: int

    @property
    def scratch(self):
        """Bytes that are needed beside the trees while they are grown: int."""
        return self.rows + self.batch + self.histograms + self.messages + self.scores

    @property
    def total(self):
        """Most bytes of the host's memory that are needed at a time, without those of the coded columns: int."""
        return self.forest + (max(self.scratch, self.moving) if self.is_forest else self.scratch + self.moving)


def _row_major_bytes(columns):
    """Of the codes row by row; of those of them that are a copy; and of those on the host, where a device has them too."""
    codes = columns[0].codes
    n_bytes = len(codes) * len(columns) * max(column.codes.itemsize for column in columns)
    if not isinstance(codes, np.ndarray):  # the device has made them
        return n_bytes, 0, 0
    return n_bytes, 0 if codes.base is not None and codes.base.ndim == 2 else n_bytes, n_bytes


def forest_memory(problem, n_trees, n_leaves, n_distinct, n_threads, is_host, n_together, large, histogram_bytes, room=0,
                  all_rows=0, medians=0):
    """The estimate for a forest.

    Parameters
    ----------
    problem : Problem
    n_trees, n_leaves, n_distinct, n_threads : int
        As of `dforest.engines.memory.estimate_memory`.
    is_host : bool
        Whether the device is the processor itself.
    n_together : int
        Trees of a batch.
    large : int
        Nodes of more records are searched for cuts by histograms of all of them.
    histogram_bytes : int
        Most memory for histograms at a time.
    room : int, default=0
        Most memory for a shipment of records, where ranks send each other such.
    all_rows : int, default=0
        Bytes of the rows of all ranks, where each has these.
    medians : int, default=0
        Bytes of what medians are found in.

    Returns
    -------
    LevelMemoryEstimate
    """
    targets, layout, columns = problem.targets, Layout(problem), problem.columns
    n_rows, n_together = len(targets.classes), min(n_trees, n_together)
    given = targets.classes, targets.numbers, targets.weight, targets.exact_weight
    matrix, copied, uploaded = _row_major_bytes(columns)
    there = sum(array.nbytes for array in given if array is not None) + 3 * 8 * len(layout.values)
    n_records = -(-distinct_rows(problem.sampling, problem.n_rows) * n_rows // problem.n_rows)
    draws = 2 * record("df_record").itemsize + 1
    n_nodes = 2 * n_leaves - 1
    of_node = record("df_grown").itemsize + 8 * layout.subset_words
    entries = problem.splitter.max_features * layout.max_entries * layout.n_words * 8
    n_large = -(-distinct_rows(problem.sampling, problem.n_rows) // max(1, large))
    histograms = min(histogram_bytes, n_together * min(n_large, n_leaves) * entries) + medians
    forest, moving = bytes_of_forest(problem, n_trees, n_leaves, n_distinct, n_threads)
    nodes = n_nodes * of_node
    batch = n_together * (4 * n_rows + draws * n_records)
    row_bytes = len(columns) * columns[0].codes.itemsize + RECORD_BYTES
    messages = min(room, n_together * n_records * row_bytes) + all_rows
    of_subtrees = 0 if problem.rules.max_leaf_nodes else n_together * (2 * n_records * of_node + nodes)
    if is_host:
        # Nodes lie all over the room where they are grown, unless they come in messages; and they are put together.
        rows, on_device = copied, 0
        batch += n_together * nodes // 2 + (of_subtrees if room == 0 else n_together * nodes // 2)
    else:
        on_device = matrix + there + batch + of_subtrees + histograms
        rows, batch, histograms = uploaded, 2 * n_together * nodes, 0
    if layout.n_label_ranks:  # ranks of labels, and the sums that they follow from
        ranks = n_together * 4 * layout.n_label_ranks
        sums = 8 * words_of_label(problem.criterion) * layout.n_label_ranks // layout.n_label_orders
        rows += sum(column.codes.nbytes for column, first in zip(columns, layout.table["first_rank"], strict=True) if first >= 0)
        batch += ranks + max(sums, min(histogram_bytes, n_together * sums)) + n_threads * bytes_of_label_order(problem)
        on_device += 0 if is_host else ranks
    return LevelMemoryEstimate(
        bytes_of_codes(columns), bytes_of_values(columns), rows, batch, histograms, messages, 0, forest, moving, True, on_device,
        n_threads,
    )  # fmt: skip


def boosting_memory(problem, n_trees, n_leaves, n_threads, is_host, n_ahead, histogram_bytes, scores, n_ranks=1, kept_bytes=0):
    """The estimate for boosted trees.

    Parameters
    ----------
    problem : BoostingProblem
    n_trees, n_leaves, n_threads : int
    is_host : bool
        Whether the device is the processor itself.
    n_ahead : int
        Nodes that are divided at once.
    histogram_bytes : int
        Most memory for histograms at a time.
    scores : int
        As the attribute.
    n_ranks : int
    kept_bytes : int, default=0
        Most memory for histograms that wait for the nodes below.

    Returns
    -------
    LevelMemoryEstimate
    """
    columns, facts, n_rows, n_sums = problem.columns, problem.loss.facts, len(problem.y), problem.n_sums
    n_outputs = n_sums // problem.n_trees_per_iteration
    matrix, copied, uploaded = _row_major_bytes(columns)
    has_hessian = problem.weight is not None or not facts.has_constant_hessian
    of_row = n_sums * (8 + 8 + 4 + (8 + 4) * has_hessian) + 4 + 4 + 1 + 8 * n_outputs * (not is_host or n_outputs > 1)
    of_row += (problem.n_drawn is not None) * (1 + 4 + 4) + (problem.weight is not None) * (4 + 8)
    of_row += (facts.number < 0) * 8 * (3 * n_sums + 1)
    n_open = 2 * (n_ahead if problem.rules.max_leaf_nodes else n_leaves)
    entries = len(columns) * max(len(column.values) + column.has_missing for column in columns) * n_outputs * _SUMS
    histograms = min(histogram_bytes, n_open * entries) * (1 if n_ranks == 1 else 2)
    histograms += min(kept_bytes, n_leaves * entries)
    if n_ranks > 1 and facts.leaf == "own":  # which is asked about the rows of all ranks, in an order of their own
        scores += 3 * 40 * problem.share.n_rows
    forest, moving = bytes_of_trees(problem, n_trees, n_leaves)
    rows, on_device = copied + of_row * n_rows, 0
    if not is_host:
        on_device = matrix + of_row * n_rows + histograms
        rows, histograms = uploaded + 8 * n_sums * n_rows, 0
    bounds = (problem.constraints.directions is not None) * n_outputs * BOUNDED
    table = 2 * n_leaves * (record("df_open_node").itemsize + record("df_boost_cut").itemsize + bounds + 64)
    return LevelMemoryEstimate(
        bytes_of_codes(columns), bytes_of_values(columns), rows, table, histograms, 0, scores, forest, moving, False, on_device,
        n_threads,
    )  # fmt: skip
