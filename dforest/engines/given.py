"""Trees and subtrees of records that come from elsewhere, grown on threads of this process.

*Given* records are a node's, with the codes and exact targets of their rows; a `df_open_node` says where the records are, and
where the node stands in its tree. Whoever gives them may have split the nodes above, or may have drawn a whole tree and split
none of it. What grows below a node depends on nothing but what is given and the problem: not on the order of the node's records,
nor on what other rows there are.
"""

import numpy as np

from dforest.core.data import DataView
from dforest.core.grow.trainer import Finisher
from dforest.engines.nodes import Nodes, Subtrees
from dforest.rules.arrays import ROOT_KEY


def grow_given(problem, columns, records, y, open_nodes, n_threads, exact_weight=None, label_ranks=None):
    """Grow all that is below some nodes.

    Parameters
    ----------
    problem : Problem
        Of its columns all but the codes matter; of its targets only whether there are weights. If its splitter looks at rows of
        X, the problem has those of the given rows.
    columns : list of ndarray of shape (n,), dtype uint8, uint16, uint32 or uint64
        The codes of the given rows, of the types that `code_types` tells.
    records : ndarray of shape (n_records,), dtype df_record
        `row` is one of the given rows. The targets are class numbers, or integers by the scales of the open nodes; of
        several outputs they are never read.
    y : ndarray of shape (n,) or (n, n_outputs), dtype float64, or None
        Exact targets of the given rows, of several outputs also class numbers; None if there is one output with classes.
    open_nodes : ndarray of shape (n_nodes,), dtype df_open_node
        Nodes: `n` records from `first` on, one or more; seed and root weight are those of the whole tree. Roots, if growth is
        best first.
    n_threads : int
        Most threads.
    exact_weight : ndarray of shape (n,), dtype float64, optional
        Exact weights of the given rows, for the nodes whose `first_weight` is 0. None: all weights of records are exact.
    label_ranks : ndarray of shape (n_trees, n_ranks), dtype uint32, optional
        The ranks of trees' labels (`dforest.core.grow.label_order`), if they order them. `label_order` of a node is the number of
        its tree among these.

    Returns
    -------
    Subtrees
        In the order of `open_nodes`.

    Raises
    ------
    ValueError
        If nodes or records lead out of the arrays, or growth is best first and a node is not a root.
    """
    if len(open_nodes) == 0:
        return Subtrees.none(problem.objective)
    n_rows = len(columns[0])
    _check(problem, n_rows, records, open_nodes)
    if label_ranks is not None and not 0 <= open_nodes["label_order"].min() <= open_nodes["label_order"].max() < len(label_ranks):
        raise ValueError(f"open nodes have orders of labels up to {open_nodes['label_order'].max()}, of {len(label_ranks)} trees")
    columns = [known._replace(codes=column) for known, column in zip(problem.columns, columns, strict=True)]
    # Records have targets and weights of their own, so these are never read; but that there are weights matters.
    unread = np.zeros(n_rows, np.uint32)
    weight = None if problem.targets.weight is None else unread
    data = DataView(columns, unread.view(np.int32), y, weight, problem.monotonic_csts, problem.X, exact_weight=exact_weight)
    finisher = Finisher(
        data, problem.objective, problem.criterion, problem.splitter, problem.rules, problem.n_rows, open_nodes["n"].max(),
        n_threads, label_ranks,
    )  # fmt: skip
    by_size = np.argsort(-open_nodes["n"], kind="stable")
    found = {}  # by the number of the first node

    def put(first, arrays):
        found[first] = Nodes(*(getattr(arrays, name).copy() for name in Nodes._fields))

    finisher.grow(records, open_nodes[by_size], put)
    nodes = Nodes.join([found[first] for first in sorted(found)])
    # A subtree of k inner nodes has k + 1 leaves, so it ends where leaves first outnumber inner nodes.
    lead = np.cumsum(np.where(nodes.feature < 0, 1, -1))
    ends = np.flatnonzero(np.diff(np.maximum.accumulate(np.maximum(lead, 0)), prepend=0)) + 1
    lengths = np.empty(len(open_nodes), np.int64)
    lengths[by_size] = np.diff(ends, prepend=0)
    firsts = np.empty(len(open_nodes), np.int64)
    firsts[by_size] = ends - lengths[by_size]
    return Subtrees(lengths, nodes.take(firsts, lengths), None)


def code_types(columns):
    """The types that codes of columns have where each column lies alone: row by row they have that of the widest one.

    Parameters
    ----------
    columns : sequence of CodedColumn

    Returns
    -------
    list of dtype
    """
    return [
        column.codes.dtype if column.has_keys else np.min_scalar_type(max(0, len(column.values) - 1 + column.has_missing))
        for column in columns
    ]


def _check(problem, n_rows, records, open_nodes):
    if open_nodes["n"].min() < 1 or open_nodes["first"].min() < 0 or (open_nodes["first"] + open_nodes["n"]).max() > len(records):
        raise ValueError(f"open nodes lead out of {len(records)} records, or have none")
    if records["row"].max() >= n_rows:
        raise ValueError(f"records lead to row {records['row'].max()}, of {n_rows} rows")
    if problem.rules.max_leaf_nodes and (open_nodes["key"] != ROOT_KEY).any():
        raise ValueError("subtrees are grown best first; allowed are whole trees")
