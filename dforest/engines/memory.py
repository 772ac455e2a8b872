"""How much memory growing a forest on the processor takes, before it is grown.

Memory that is reserved and never written to costs nothing, and does not count: a thread reserves room for as many records as
there are rows, and a bootstrap of one draw per row fills 0.632 of that room.
"""

import math
from dataclasses import dataclass

from dforest.core.data import DataView, row_bytes
from dforest.core.grow.block import block_memory
from dforest.core.grow.label_order import label_order_bytes
from dforest.core.grow.trainer import bucketed_columns
from dforest.core.sampling import Bootstrap, WithLabelOrder
from dforest.core.search.feature_order import MANY_FEATURES
from dforest.core.search.splitter import RandomSplitter

_RECORD = 16  # bytes of a df_record
_NODE = 24  # bytes of a node that is being written
FOREST_NODE = 4 + 4 + 1  # bytes of a forest's node beside its threshold: feature, link, side of missing values
_LANES = range(3, 9)  # numbers of classes that are counted in lanes, for which a record has a slot


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimate of the memory that growing a forest on the processor takes, in bytes, piece by piece.

    It is the attribute `growth` of what the method `estimate_memory` of forests and single trees returns. Codes are the numbers
    of bins or ranks that stand for values; a record is a distinct row of a tree.

    Attributes
    ----------
    codes, values : int
        Bytes of the coded columns, and of the values that codes stand for. They exist before growing begins, and are not part of
        `total`.
    buckets : int
        Bytes of columns with many codes whose splits are searched by groups of codes ("buckets") first.
    rows : int
        Bytes of the codes row by row, which all threads share.
    records : int
        Bytes that each thread needs for the records of a tree and for scratch as large; with sparse columns also for the record
        of each row, and the codes of one column; and for the tree's order of labels, if it has one.
    search : int
        Bytes that each thread needs for searching the splits of the largest node: codes of one column, and lists of its splits.
    blocks : int
        Bytes that each thread needs for copies of the codes of subtrees.
    tree : int
        Bytes that each thread needs for the tree that it is growing.
    forest : int
        Bytes of the grown forest.
    moving : int
        Bytes that the forest's leaves take a second time, when all trees are grown and the threads' memory is free again.
    n_threads : int
        Number of threads that grow trees.

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
    buckets: int
    rows: int
    records: int
    search: int
    blocks: int
    tree: int
    forest: int
    moving: int
    n_threads: int

    @property
    def of_thread(self):
        """Bytes of scratch that each thread needs: int."""
        return self.records + self.search + self.blocks + self.tree

    @property
    def total(self):
        """Most bytes that are needed at a time, without those of the coded columns: int."""
        return self.forest + max(self.scratch, self.moving)

    @property
    def scratch(self):
        """Bytes that all threads need beside the forest while trees are grown: int."""
        return self.buckets + self.rows + self.n_threads * self.of_thread


def estimate_memory(problem, n_trees, n_threads, n_leaves=None, n_distinct=None):
    """Estimate the memory that growing a forest on the processor takes.

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

    Returns
    -------
    MemoryEstimate
    """
    targets, splitter, criterion, rules = problem.targets, problem.splitter, problem.criterion, problem.rules
    n_rows = len(targets.classes)
    given = targets.classes, targets.numbers, targets.weight, problem.directions
    data = DataView(problem.columns, *given, exact_weight=targets.exact_weight_or_room)
    n_records = distinct_rows(problem.sampling, n_rows)
    has_buckets = bucketed_columns(data, splitter, criterion)
    widths = [1 if few else column.codes.itemsize for column, few in zip(problem.columns, has_buckets, strict=True)]
    blocks = block_memory(data, splitter, rules, problem.sampling.max_records(n_rows))
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
        rows=_rows_bytes(problem, widths, blocks > 0),
        records=(2 * _RECORD + of_outputs) * n_records + (5 * n_rows if data.has_sparse else 0) + bytes_of_label_order(problem),
        search=_search_bytes(problem, widths, n_records),
        blocks=blocks,
        tree=n_nodes * _NODE + n_leaves * 8 * words_of_leaf(problem, n_leaves),
        forest=forest,
        moving=moving,
        n_threads=n_threads,
    )


def bytes_of_forest(problem, n_trees, n_leaves, n_distinct, n_threads):
    """(bytes of a `Forest`, bytes that its leaves take a second time when it is made). All as of `estimate_memory`."""
    n_nodes, n_words = 2 * n_leaves - 1, words_of_leaf(problem, n_leaves)
    of_trees = (n_trees + n_threads) * n_nodes * (FOREST_NODE + problem.columns[0].values.itemsize)
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


def _rows_bytes(problem, widths, has_blocks):
    """What rows have of all columns, or of sparse ones, one behind the other."""
    n_rows = len(problem.targets.classes)
    sparse = [column for column in problem.columns if column.rows is not None]
    if not sparse:
        return n_rows * row_bytes(widths) if has_blocks else 0
    if not has_blocks and problem.n_features < MANY_FEATURES:
        return 0
    return 8 * n_rows + sum(column.codes.nbytes + column.rows.nbytes for column in sparse)


def bytes_of_label_order(problem):
    """What a thread needs to order the labels of a tree, or to add up the rows here that do."""
    if not isinstance(problem.sampling, WithLabelOrder):
        return 0
    return label_order_bytes(problem.columns, problem.criterion, len(problem.targets.classes))


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
