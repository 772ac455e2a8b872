"""How much memory growing trees takes, before they are grown: on the processor, on a device, and on each of several ranks.

Memory that is reserved and never written to costs nothing, and does not count: a thread reserves room for as many records as
there are rows, and a bootstrap of one draw per row fills 0.632 of that room. What each piece of boosted trees stands for is
allocated by `dforest.core.boost.booster.Booster` and by what this has: bundles of columns, histograms, the rows of a tree. Of
ranks, it is what one process needs for the rows that it has. Where a device is the processor itself, its memory is the host's.
"""

import math
from dataclasses import dataclass

import numpy as np

from dforest.core.boost.bundles import size_of_rows
from dforest.core.boost.projected_columns import MAX_CODES, MAX_SAMPLED, bytes_of_blocks, count_columns
from dforest.core.coding.columns import CATEGORICAL
from dforest.core.data import DataView, row_bytes
from dforest.core.grow.label_order import label_order_bytes, words_of_label
from dforest.core.grow.subtree_cache import subtree_cache_bytes
from dforest.core.grow.trainer import bucketed_columns
from dforest.core.sampling import Bootstrap, WithLabelOrder
from dforest.core.search.feature_order import MANY_FEATURES
from dforest.core.search.oblique import ObliqueSplitter, bytes_of_copies
from dforest.core.search.splitter import RandomSplitter
from dforest.engines.layout import Layout
from dforest.engines.tree_steps import trees_together
from dforest.rules.records import record

_FILLING = 150  # bytes of a record that fills a leaf, and its copies: see `dforest.engines.tree_steps`
_RECORD = 16  # bytes of a df_record
_NODE = 24  # bytes of a node that is being written
_FOREST_NODE = 4 + 4 + 1  # bytes of a forest's node beside its threshold: feature, link, side of missing values
_LANES = range(3, 9)  # numbers of classes that are counted in lanes, for which a record has a slot
_LEAF = 24  # bytes of a leaf of a forest beside its words
_NARROW = 256  # most codes of a column that are not in lists
_SPILL = 4095  # most rows of an entry of a histogram that is one word: DF_SPILL of rules/boost.h
_WEIGHED = 16  # bytes of a df_weighed
_PACKING = 8  # bytes for each node, beside its slot, while nodes are packed
_BOUNDED = 24  # bytes of the bounds of an output of a node, and of where its cut parts them
_GROWN, _GROWN_OUTPUT = 64, 24  # bytes of a BoostNode beside its records, and of a BoostOutput (core/boost/boosted_tree.pxd)
RECORD_BYTES = 64  # that a record in a shipment takes, beside its codes: record, packed record, and what a grower moves it to
_SUMS = 24  # bytes of an entry of a histogram of boosted trees


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimate of the memory that growing trees takes in one process, in bytes, piece by piece.

    It is the attribute `growth` of what the method `estimate_memory` of estimators returns. Codes are the numbers of bins or
    ranks that stand for values; a record is a distinct row of a tree. A piece that there is not, because trees are grown in
    another way, has 0 bytes.

    Attributes
    ----------
    codes, values : int
        Bytes of the coded columns, and of the values that codes stand for. They exist before growing begins, and are not part of
        `total`.
    rows : int
        Bytes of the codes row by row, which all threads share, and on a device or by several processes of whatever else is kept
        for each row.
    forest : int
        Bytes of the grown trees; if several processes grow them, all of them on each process.
    moving : int
        Bytes that the trees' leaves take a second time, when all trees are grown. Of a forest, the threads' memory is free again
        then.
    n_threads : int
        Number of threads that grow trees, or that work beside a device, or as the device.
    is_forest : bool
        Whether they are the trees of a forest, and not boosted trees.
    buckets : int
        Bytes of columns with many codes whose splits are searched by groups of codes ("buckets") first.
    records : int
        Bytes that each thread needs for the records of a tree and for scratch as large; with sparse columns also for the record
        of each row, and the codes of one column; and for the tree's order of labels, if it has one.
    search : int
        Bytes that each thread needs for searching the splits of the largest node: codes of one column, and lists of its splits.
    subtree_caches : int
        Bytes that each thread needs for copies of the codes of subtrees.
    tree : int
        Bytes of a tree that is being grown, which of a forest each thread has.
    gradients : int
        Bytes of what boosted trees keep for each row: raw predictions, gradients and Hessians, weights, and the rows' numbers.
        Where weights or gradients are of many magnitudes, 16 bytes for each row and output come on top, which are not counted.
    histograms : int
        Bytes of the histograms of nodes, and by absolute error of what medians are found in.
    batch : int
        Bytes of trees that are grown at the same time, with their records and their orders of labels.
    messages : int
        Bytes of the records that processes send each other at a time, and of the rows of all processes, if each needs them.
    scores : int
        Bytes of the predictions of rows that are scored for early stopping, and of copies of trees that held-out rows wait for.
    on_device : int
        Bytes of the device's memory, where that is not the host's; they are not part of `total`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> growth = RandomForestClassifier(500, n_jobs=1).estimate_memory(X, y).growth
    >>> growth.n_threads, growth.total >= growth.forest
    (1, True)
    """

    codes: int
    values: int
    rows: int
    forest: int
    moving: int
    n_threads: int
    is_forest: bool
    buckets: int = 0
    records: int = 0
    search: int = 0
    subtree_caches: int = 0
    tree: int = 0
    gradients: int = 0
    histograms: int = 0
    batch: int = 0
    messages: int = 0
    scores: int = 0
    on_device: int = 0

    @property
    def of_thread(self):
        """Bytes of scratch that each thread needs by itself: int."""
        return self.records + self.search + self.subtree_caches + self.tree * self.is_forest

    @property
    def scratch(self):
        """Bytes that are needed beside the trees while they are grown, by all threads: int."""
        shared = self.buckets + self.rows + self.gradients + self.histograms + self.batch + self.messages + self.scores
        return shared + self.tree * (not self.is_forest) + self.n_threads * self.of_thread

    @property
    def total(self):
        """Most bytes of the host's memory that are needed at a time, without those of the coded columns: int."""
        return self.forest + (max(self.scratch, self.moving) if self.is_forest else self.scratch + self.moving)


def forest_memory(problem, n_trees, n_threads, n_leaves=None, n_distinct=None):
    """The `MemoryEstimate` of a forest that the processor grows.

    Parameters
    ----------
    problem : Problem
    n_trees, n_threads : int
        How many trees, and at most how many threads, which take one tree each.
    n_leaves : int, optional
        Leaves of a tree, if this is known: it depends on the noise in the targets. None means as many as a tree has rows for
        numbers, and a fifth of that for classes, or as many as the growth rules allow, if these are fewer.
    n_distinct : int, optional
        How many different leaves all trees have, which the forest keeps once, if this is known. None means that those of numbers
        are all different, as are lists of many classes, and that those of few classes are few.
    """
    targets, splitter, criterion, rules = problem.targets, problem.splitter, problem.criterion, problem.rules
    n_rows = len(targets.classes)
    given = targets.classes, targets.numbers, targets.weight, problem.monotonic_csts
    data = DataView(problem.columns, *given, exact_weight=targets.exact_weight_or_room)
    n_records = distinct_rows(problem.sampling, n_rows)
    has_buckets = bucketed_columns(data, splitter, criterion)
    widths = [1 if few else column.codes.itemsize for column, few in zip(problem.columns, has_buckets, strict=True)]
    subtree_caches = subtree_cache_bytes(data, splitter, rules, problem.sampling.max_records(n_rows))
    n_leaves = _leaves(problem, n_records) if n_leaves is None else n_leaves
    n_nodes = 2 * n_leaves - 1
    n_threads = min(n_threads, n_trees)
    n_outputs = problem.objective.n_outputs
    of_outputs = _RECORD + 8 + 4 * n_outputs if n_outputs > 1 else 0  # a record's copy, with a target, and all targets' integers
    forest, moving = bytes_of_forest(problem, n_trees, n_leaves, n_distinct, n_threads)
    return MemoryEstimate(
        codes=bytes_of_codes(problem.columns),
        values=bytes_of_values(problem.columns),
        buckets=n_rows * sum(has_buckets),
        rows=_rows_bytes(problem, widths, subtree_caches > 0),
        records=(2 * _RECORD + of_outputs) * n_records + (5 * n_rows if data.has_sparse else 0) + bytes_of_label_order(problem)
        + bytes_of_filling(problem, n_rows, n_records),
        search=_search_bytes(problem, widths, n_records),
        subtree_caches=subtree_caches,
        tree=n_nodes * _NODE + n_leaves * 8 * words_of_leaf(problem, n_leaves),
        forest=forest,
        moving=moving,
        n_threads=n_threads,
        is_forest=True,
    )


def bytes_of_forest(problem, n_trees, n_leaves, n_distinct, n_threads):
    """(bytes of a `Forest`, bytes that its leaves take a second time when it is made). All as of `forest_memory`."""
    n_nodes, n_words = 2 * n_leaves - 1, words_of_leaf(problem, n_leaves)
    of_trees = (n_trees + n_threads) * n_nodes * (_FOREST_NODE + problem.columns[0].values.itemsize)
    if _is_oblique(problem):
        of_trees += (n_trees + n_threads) * (n_leaves - 1) * _bytes_of_test(problem)
    if not problem.criterion.is_additive:  # values of inner nodes
        of_trees += (n_trees + n_threads) * (n_leaves - 1) * 8 * problem.objective.n_node_values
    if n_distinct is None:
        n_distinct = n_trees * n_leaves if problem.objective.keeps_values or problem.objective.lists_classes else 0
    of_leaves = n_distinct * (8 * n_words + 24)  # in a table of words, numbers and hashes
    return of_trees + of_leaves, n_distinct * 8 * n_words


def words_of_leaf(problem, n_leaves):
    """How many words of 64 bits a leaf keeps, of n_leaves in a tree: in lists of classes at most two for each of its rows."""
    objective = problem.objective
    if not objective.lists_classes:
        return objective.n_leaf_words
    if problem.after_tree is not None and problem.after_tree.lists_all_classes:
        return 2 + 2 * objective.n_weights
    n_rows = distinct_rows(problem.sampling, len(problem.targets.classes))
    return 2 + 2 * min(objective.n_weights, objective.n_outputs * max(1, -(-n_rows // n_leaves)))


def bytes_of_codes(columns):
    """Of coded columns, without the values that codes stand for."""
    return sum(column.codes.nbytes + (0 if column.rows is None else column.rows.nbytes) for column in columns)


def bytes_of_values(columns):
    """Of what the codes of columns stand for."""
    return sum(
        array.nbytes
        for column in columns
        for array in {id(array): array for array in (column.values, column.lows, column.highs)}.values()
    )


def _rows_bytes(problem, widths, has_subtree_caches):
    """What rows have of all columns, or of sparse ones, one behind the other."""
    n_rows = len(problem.targets.classes)
    sparse = [column for column in problem.columns if column.rows is not None]
    if not sparse:
        return n_rows * row_bytes(widths) if has_subtree_caches else 0
    if not has_subtree_caches and problem.n_features < MANY_FEATURES:
        return 0
    return 8 * n_rows + sum(column.codes.nbytes + column.rows.nbytes for column in sparse)


def bytes_of_label_order(problem):
    """What a thread needs to order the labels of a tree, or to add up the rows here that do."""
    if not isinstance(problem.sampling, WithLabelOrder):
        return 0
    return label_order_bytes(problem.columns, problem.criterion, len(problem.targets.classes))


def bytes_of_filling(problem, n_rows, n_records):
    """What a thread needs to fill the leaves of a tree with other draws than those that its splits were chosen by."""
    if problem.sampling.filling() == problem.sampling:
        return 0
    n_words = 1 + problem.objective.n_weights + problem.objective.n_node_values
    return trees_together(problem) * (4 * n_rows + (_FILLING + 16 * n_words) * n_records)


def distinct_rows(plan, n_rows):
    """How many rows a tree draws, about."""
    plan = plan.plan if isinstance(plan, WithLabelOrder) else plan
    if isinstance(plan, Bootstrap):
        return min(n_rows, math.ceil(-n_rows * math.expm1(-plan.n_draws / n_rows)))
    return plan.max_records(n_rows)


def _leaves(problem, n_records):
    rules = problem.rules
    most = [n_records // problem.objective.draws_per_leaf, problem.n_draws // rules.min_samples_leaf]
    if rules.max_leaf_nodes is not None:
        most.append(rules.max_leaf_nodes)
    if rules.max_depth is not None:
        most.append(1 << min(rules.max_depth, 62))
    return max(1, min(most))


def _search_bytes(problem, widths, n_records):
    """What the search for splits has for each record of the largest node, or each value of a column of many codes."""
    criterion, is_unit = problem.criterion, problem.targets.weight is None
    if problem.splitter.has_own_tests:  # a row, a number and two sort keys; of oblique splits, two columns
        return (4 + 8 + 2 * 8) * n_records + (bytes_of_copies(n_records) if _is_oblique(problem) else 0)
    if isinstance(problem.splitter, RandomSplitter):
        return n_records * max(4, *widths)
    slots = 4 * n_records if is_unit and criterion.n_classes in _LANES else 0
    n_codes = max((len(column.values) for column, width in zip(problem.columns, widths, strict=True) if width > 1), default=0)
    if n_codes == 0:
        return slots
    n_values = min(n_codes, n_records)
    packs = is_unit and criterion.n_outputs == 1 and criterion.n_classes in (0, 2)
    if packs:  # codes of the records; counters; a packed word, and a code, for each value
        return slots + 4 * n_records + 8 * n_codes + 12 * n_values
    return slots + 8 * max(criterion.n_words, 4) * n_codes + (8 * criterion.n_words + 4) * n_values  # with whole left sides


def _is_oblique(problem):
    return isinstance(problem.splitter, ObliqueSplitter)


def _bytes_of_test(problem):
    """Bytes of an oblique test: a payload with its end: a threshold, a side, and three numbers for each column of a sum."""
    own = problem.splitter.projections
    density = problem.splitter.projection_density if own is None else len(own.values) / own.shape[0]
    return int(8 * (3 + 3 * min(max(3.0, density + 1.0), len(problem.columns))))


def bytes_of_projected(problem, n_threads):
    """(bytes of the projections of boosted trees as columns, how many codes each has: ndarray of int)."""
    if problem.splitter is None:
        return 0, np.zeros(0, np.int64)
    is_number = np.array([column.kind != CATEGORICAL for column in problem.columns[: problem.X.shape[1]]])
    n = count_columns(problem.splitter, is_number)
    n_codes, itemsize = min(problem.rules.max_codes, MAX_CODES), problem.X.itemsize
    n_bytes = len(problem.y) * n + 8 * MAX_CODES * n + min(len(problem.y), MAX_SAMPLED) * problem.X.shape[1] * itemsize
    n_bytes += (4 + 8 * n_threads) * len(problem.y)  # numbers of rows, and a copy of a column for each thread
    return n_bytes + bytes_of_blocks(len(problem.y), np.count_nonzero(is_number)), np.full(n, n_codes, np.int64)


def boosting_memory(problem, n_trees, n_threads, n_leaves, scores=0):
    """The `MemoryEstimate` of boosted trees that the processor grows.

    Parameters
    ----------
    problem : BoostingProblem
    n_trees, n_threads : int
        How many trees, and at most how many threads.
    n_leaves : int
        Leaves of a tree.
    scores : int, default=0
        As the attribute.
    """
    columns, facts, n_rows, n_sums = problem.columns, problem.loss.facts, len(problem.y), problem.n_sums
    n_outputs = n_sums // problem.n_trees_per_iteration
    n_drawn = n_rows if problem.n_drawn is None else problem.n_drawn
    projected, of_projected = bytes_of_projected(problem, n_threads)
    n_codes = np.append([len(column.values) + column.has_missing for column in columns], of_projected)
    n_stored = np.append([n_rows if column.rows is None else len(column.rows) for column in columns], 0 * of_projected + n_rows)
    is_listed = (n_codes > _NARROW) | (n_stored < n_rows)
    n_bytes, n_entries = size_of_rows(n_rows, n_codes[~is_listed].tolist())
    rows = n_rows * row_bytes([1] * n_bytes) + (n_rows * n_bytes if n_bytes < np.count_nonzero(~is_listed) else 0)
    rows += projected
    if is_listed.any():
        rows += 4 * int(n_stored[is_listed].sum()) + 8 * n_rows
        n_entries += int(n_codes[is_listed].sum())
    n_directions, n_columns_of_y = problem.loss.n_directions, problem.y.size // max(1, n_rows)
    has_hessian = problem.weight is not None or problem.by_chance or not facts.has_constant_hessian
    of_row = 8 * n_sums + (8 if has_hessian else 4) * n_sums + (8 * n_columns_of_y if n_columns_of_y > 1 else 0)
    of_row += 8 * n_columns_of_y * problem.loss.one_vs_rest + 8 * n_directions
    if problem.by_chance:  # derivatives, and what rows are drawn by
        of_row += 16 * n_sums + 13
    of_row += (4 + 8) * ((problem.weight is not None) + (facts.leaf == "relative"))
    if problem.n_drawn is not None:
        of_row += 4 if problem.by_chance else 4 + 1
    of_row += bytes_of_plan(problem)
    if facts.leaf not in ("newton", "own"):
        of_row += _WEIGHED
    n_growers = n_threads if problem.n_trees_per_iteration > 1 else 1  # at most
    of_drawn = 8 + (8 * n_growers * (problem.rules.leaf_features + 1) if problem.rules.leaf_features > 0 else 0)
    if facts.number < 0:  # with copies that a loss of the user's is given, and what it returns
        of_row += 8 * (5 * n_sums + 1) + (24 if facts.leaf == "own" else 0)
    if problem.loss.of_groups:  # numbers and order of the groups, and copies of the above in this order
        of_row += 8 * (3 * n_sums + 4)
    n_open = n_leaves if problem.rules.max_leaf_nodes else 2 + 2 * n_leaves.bit_length()  # nodes that have histograms at a time
    most = int((np.minimum(n_stored, n_drawn) / n_codes).max(initial=0))  # rows of an entry, if codes are about equally frequent
    has_sums = most > _SPILL or problem.weight is not None and has_hessian
    n_large = min(n_open, 1 + n_drawn // max(1, most, _SPILL)) if has_sums else 0
    words = 8 * n_entries * (n_directions or n_outputs)
    histograms = words * (n_open + 2 * n_large) + words * n_threads * (1 + 3 * has_sums)
    grown = record("df_open_node").itemsize + record("df_boost_cut").itemsize + _GROWN
    bounded = _BOUNDED * (problem.constraints.directions is not None)
    grown += (n_directions + n_outputs) * (record("df_gradient_sums").itemsize + _GROWN_OUTPUT + bounded)
    forest, moving = bytes_of_trees(problem, n_trees, n_leaves)
    return MemoryEstimate(
        codes=bytes_of_codes(columns),
        values=bytes_of_values(columns),
        rows=rows,
        gradients=n_rows * of_row + of_drawn * (n_rows if problem.by_chance else n_drawn),
        histograms=histograms,
        tree=(2 * n_leaves - 1) * grown + 2 * _of_tree(problem, n_leaves),
        scores=scores,
        forest=forest,
        moving=moving,
        n_threads=n_threads,
        is_forest=False,
    )


def _of_tree(problem, n_leaves):
    """Bytes of a tree's arrays."""
    n_nodes, n_words = 2 * n_leaves - 1, problem.objective.n_leaf_words
    of_node = _FOREST_NODE + problem.columns[0].values.itemsize
    if problem.splitter is not None:
        of_node += _bytes_of_test(problem) / 2  # as every second node is no leaf
    return int(n_nodes * of_node) + (n_leaves - 1) * 8 * problem.objective.n_node_values + n_leaves * 8 * n_words


def bytes_of_plan(problem):
    """How many bytes of each row a sampling plan has that knows all rows: the number of its stratum or group, and an order."""
    return 0 if problem.sampling is None else 4 + 2


def bytes_of_trees(problem, n_trees, n_leaves):
    """(bytes of so many trees as a `Forest`, bytes that their leaves take a second time when the forest is made)."""
    n_words = problem.objective.n_leaf_words
    return n_trees * (_of_tree(problem, n_leaves) + n_leaves * _LEAF), n_trees * n_leaves * 8 * n_words


def bytes_of_waiting(problem, n_trees, n_leaves):
    """Bytes of copies of trees that held-out rows are to be predicted by, of a `Forest` of these, and of its packed nodes."""
    slots = (2 * n_leaves - 1) * (_PACKING + 2 * problem.columns[0].values.itemsize)
    return n_trees * (2 * _of_tree(problem, n_leaves) + n_leaves * _LEAF + slots)


def _row_major_bytes(columns):
    """Of the codes row by row; of those of them that are a copy; and of those on the host, where a device has them too."""
    codes = columns[0].codes
    n_bytes = len(codes) * len(columns) * max(column.codes.itemsize for column in columns)
    if not isinstance(codes, np.ndarray):  # the device has made them
        return n_bytes, 0, 0
    return n_bytes, 0 if codes.base is not None and codes.base.ndim == 2 else n_bytes, n_bytes


def forest_memory_by_level(
    problem, n_trees, n_leaves, n_distinct, n_threads, is_host, n_together, large, histogram_bytes, room=0, all_rows=0, medians=0
):  # fmt: skip
    """The `MemoryEstimate` of a forest whose nodes are grown many at a time.

    Parameters
    ----------
    problem : Problem
    n_trees, n_leaves, n_distinct, n_threads : int
        As of `forest_memory`.
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
    return MemoryEstimate(
        bytes_of_codes(columns), bytes_of_values(columns), rows, forest, moving, n_threads, is_forest=True, batch=batch,
        histograms=histograms, messages=messages, on_device=on_device,
    )  # fmt: skip


def boosting_memory_by_level(
    problem, n_trees, n_leaves, n_threads, is_host, n_ahead, histogram_bytes, scores, n_ranks=1, kept_bytes=0
):
    """The `MemoryEstimate` of boosted trees whose nodes are grown many at a time.

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
    """
    columns, facts, n_rows, n_sums = problem.columns, problem.loss.facts, len(problem.y), problem.n_sums
    n_outputs = n_sums // problem.n_trees_per_iteration
    matrix, copied, uploaded = _row_major_bytes(columns)
    has_hessian = problem.weight is not None or not facts.has_constant_hessian
    of_row = n_sums * (8 + 8 + 4 + (8 + 4) * has_hessian) + 4 + 4 + 1 + 8 * n_outputs * (not is_host or n_outputs > 1)
    of_row += (problem.n_drawn is not None) * (1 + 4 + 4) + (4 + 8) * ((problem.weight is not None) + (facts.leaf == "relative"))
    of_row += (facts.number < 0) * 8 * (3 * n_sums + 1) + bytes_of_plan(problem)
    n_open = 2 * (n_ahead if problem.rules.max_leaf_nodes else n_leaves)
    entries = len(columns) * max(len(column.values) + column.has_missing for column in columns) * n_outputs * _SUMS
    histograms = min(histogram_bytes, n_open * entries) * (1 if n_ranks == 1 else 2)
    if not problem.rules.draw_columns(problem.n_features):  # else a node's histograms are not those that its children need
        histograms += min(kept_bytes, n_leaves * entries)
    if n_ranks > 1 and facts.leaf == "own":  # which is asked about the rows of all ranks, in an order of their own
        scores += 3 * 40 * problem.share.n_rows
    forest, moving = bytes_of_trees(problem, n_trees, n_leaves)
    rows, on_device = copied + of_row * n_rows, 0
    if not is_host:
        on_device = matrix + of_row * n_rows + histograms
        rows, histograms = uploaded + 8 * n_sums * n_rows, 0
    bounds = (problem.constraints.directions is not None) * n_outputs * _BOUNDED
    table = 2 * n_leaves * (record("df_open_node").itemsize + record("df_boost_cut").itemsize + bounds + 64)
    return MemoryEstimate(
        bytes_of_codes(columns), bytes_of_values(columns), rows, forest, moving, n_threads, is_forest=False, batch=table,
        histograms=histograms, scores=scores, on_device=on_device,
    )  # fmt: skip
