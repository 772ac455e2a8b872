"""How much memory growing boosted trees on the processor takes, before they are grown.

What each piece stands for is allocated by `dforest.core.boost.booster.Booster` and by what this has: bundles of columns,
histograms, the rows of a tree.
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.boost.bundles import size_of_rows
from dforest.core.data import row_bytes
from dforest.engines.memory import FOREST_NODE, bytes_of_codes, bytes_of_values
from dforest.rules.records import record

_LEAF = 24  # bytes of a leaf of a forest beside its words
_NARROW = 256  # most codes of a column that are not in lists
_SPILL = 4095  # most rows of an entry of a histogram that is one word: DF_SPILL of rules/boost.h
_WEIGHED = 16  # bytes of a df_weighed
_PACKING = 8  # bytes for each node, beside its slot, while nodes are packed
BOUNDED = 24  # bytes of the bounds of an output of a node, and of where its cut parts them
_GROWN, _GROWN_OUTPUT = 64, 24  # bytes of a BoostNode beside its records, and of a BoostOutput (core/boost/boosted_tree.pxd)


@dataclass(frozen=True)
class BoostingMemoryEstimate:
    """Estimate of the memory that growing boosted trees on the processor takes, in bytes, piece by piece.

    It is the attribute `growth` of what the method `estimate_memory` of boosted trees returns. Codes are the numbers of bins that
    stand for values.

    Attributes
    ----------
    codes, values : int
        Bytes of the coded columns, and of the values that codes stand for. They exist before growing begins, and are not part of
        `total`.
    rows : int
        Bytes of the codes row by row.
    gradients : int
        Bytes of what is kept for each row: raw predictions, gradients and Hessians, weights, and the rows' numbers. Where weights
        or gradients are of many magnitudes, 16 bytes for each row and output come on top, which are not counted.
    histograms : int
        Bytes of the histograms of nodes.
    tree : int
        Bytes of the tree that is being grown.
    scores : int
        Bytes of the predictions of rows that are scored for early stopping, and of copies of trees that held-out rows wait for.
    forest : int
        Bytes of the grown trees.
    moving : int
        Bytes that the trees' leaves take a second time, when all are grown.
    n_threads : int
        Number of threads that grow trees.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> growth = HistGradientBoostingRegressor().estimate_memory(X, y).growth
    >>> growth.total >= growth.forest + growth.histograms
    True
    """

    codes: int
    values: int
    rows: int
    gradients: int
    histograms: int
    tree: int
    scores: int
    forest: int
    moving: int
    n_threads: int

    @property
    def scratch(self):
        """Bytes that are needed beside the trees while they are grown: int."""
        return self.rows + self.gradients + self.histograms + self.tree + self.scores

    @property
    def total(self):
        """Most bytes that are needed at a time, without those of the coded columns: int."""
        return self.forest + self.scratch + self.moving


def estimate_boosting_memory(problem, n_trees, n_threads, n_leaves, scores=0):
    """Estimate the memory that growing boosted trees on the processor takes.

    Parameters
    ----------
    problem : BoostingProblem
    n_trees, n_threads : int
        How many trees, and at most how many threads.
    n_leaves : int
        Leaves of a tree.
    scores : int, default=0
        As the attribute.

    Returns
    -------
    BoostingMemoryEstimate
    """
    columns, facts, n_rows, n_sums = problem.columns, problem.loss.facts, len(problem.y), problem.n_sums
    n_outputs = n_sums // problem.n_trees_per_iteration
    n_drawn = n_rows if problem.n_drawn is None else problem.n_drawn
    n_codes = np.array([len(column.values) + column.has_missing for column in columns])
    n_stored = np.array([n_rows if column.rows is None else len(column.rows) for column in columns])
    is_listed = (n_codes > _NARROW) | (n_stored < n_rows)
    n_bytes, n_entries = size_of_rows(n_rows, n_codes[~is_listed].tolist())
    rows = n_rows * row_bytes([1] * n_bytes) + (n_rows * n_bytes if n_bytes < np.count_nonzero(~is_listed) else 0)
    if is_listed.any():
        rows += 4 * int(n_stored[is_listed].sum()) + 8 * n_rows
        n_entries += int(n_codes[is_listed].sum())
    has_hessian = problem.weight is not None or not facts.has_constant_hessian
    of_row = 8 * n_sums + (8 if has_hessian else 4) * n_sums + (8 * n_outputs if n_outputs > 1 else 0)
    if problem.weight is not None:
        of_row += 4 + 8
    if problem.n_drawn is not None:
        of_row += 4
    if facts.leaf not in ("newton", "own"):
        of_row += _WEIGHED
    if facts.number < 0:  # with copies that a loss of the user's is given, and what it returns
        of_row += 8 * (5 * n_sums + 1) + (24 if facts.leaf == "own" else 0)
    if problem.loss.of_groups:  # numbers and order of the groups, and copies of the above in this order
        of_row += 8 * (3 * n_sums + 4)
    n_open = n_leaves if problem.rules.max_leaf_nodes else 2 + 2 * n_leaves.bit_length()  # nodes that have histograms at a time
    most = int((np.minimum(n_stored, n_drawn) / n_codes).max(initial=0))  # rows of an entry, if codes are about equally frequent
    has_sums = most > _SPILL or problem.weight is not None and has_hessian
    n_large = min(n_open, 1 + n_drawn // max(1, most, _SPILL)) if has_sums else 0
    words = 8 * n_entries * n_outputs
    histograms = words * (n_open + 2 * n_large) + words * n_threads * (1 + 3 * has_sums)
    grown = record("df_open_node").itemsize + record("df_boost_cut").itemsize + _GROWN
    bounded = BOUNDED * (problem.constraints.directions is not None)
    grown += n_outputs * (record("df_gradient_sums").itemsize + _GROWN_OUTPUT + bounded)
    forest, moving = bytes_of_trees(problem, n_trees, n_leaves)
    return BoostingMemoryEstimate(
        codes=bytes_of_codes(columns),
        values=bytes_of_values(columns),
        rows=rows,
        gradients=n_rows * of_row + 8 * n_drawn,
        histograms=histograms,
        tree=(2 * n_leaves - 1) * grown + 2 * _of_tree(problem, n_leaves),
        scores=scores,
        forest=forest,
        moving=moving,
        n_threads=n_threads,
    )


def _of_tree(problem, n_leaves):
    """Bytes of a tree's arrays."""
    n_nodes, n_words = 2 * n_leaves - 1, problem.objective.n_leaf_words
    of_node = FOREST_NODE + problem.columns[0].values.itemsize
    return n_nodes * of_node + (n_leaves - 1) * 8 * problem.objective.n_node_values + n_leaves * 8 * n_words


def bytes_of_trees(problem, n_trees, n_leaves):
    """(bytes of so many trees as a `Forest`, bytes that their leaves take a second time when the forest is made)."""
    n_words = problem.objective.n_leaf_words
    return n_trees * (_of_tree(problem, n_leaves) + n_leaves * _LEAF), n_trees * n_leaves * 8 * n_words


def bytes_of_waiting(problem, n_trees, n_leaves):
    """Bytes of copies of trees that held-out rows are to be predicted by, of a `Forest` of these, and of its packed nodes."""
    slots = (2 * n_leaves - 1) * (_PACKING + 2 * problem.columns[0].values.itemsize)
    return n_trees * (2 * _of_tree(problem, n_leaves) + n_leaves * _LEAF + slots)
