"""Rows that show whether a model makes the same tests as the forest that it was made of, and the comparison of predictions.

The *box* of a node holds the values that a row may have, feature by feature, if it is to reach the node. A *probe* of a node is a
row in its box whose value is the node's threshold, the next number below or above that, or missing.
"""

import numpy as np

from dforest.errors import ConversionError

MOST_NODES = 2000  # of a forest, that are probed

_AT_BOUND = 0.3  # the probability that a value lies at the lower end of its box, and as much for the upper end
_MISSING = 0.05  # the probability that a value is missing where it may be


def round_down(numbers, dtype):
    """The largest numbers of a type that are not above others of float64."""
    with np.errstate(over="ignore"):
        rounded = numbers.astype(dtype)
    return np.where(rounded > numbers, np.nextafter(rounded, dtype(-np.inf)), rounded)


def probe_rows(forest, dtype, missing=True, n_nodes=MOST_NODES, seed=0):
    """Rows that reach nodes of a forest and are about to turn there.

    Parameters
    ----------
    forest : Forest
        All of whose tests compare numbers with thresholds.
    dtype : type
        ``np.float32`` or ``np.float64``: of the rows, and of the numbers that are next to a threshold.
    missing : bool
        Whether rows may have NaN.
    n_nodes : int
        At most how many nodes are probed. If more have tests, so many of them are drawn.
    seed : int
        Which nodes are drawn, and the values of other features, follow from it.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        Finite but for NaN; three or four rows for each node that is probed, and a last one of zeros.
    """
    rng = np.random.default_rng(seed)
    nodes = np.flatnonzero(forest.feature >= 0)
    if len(nodes) > n_nodes:
        nodes = np.sort(rng.choice(nodes, n_nodes, replace=False))
    tree = np.searchsorted(forest.node_offsets, nodes, "right") - 1
    parts = [np.zeros((1, forest.n_features), dtype)]
    for t in np.unique(tree):
        parts.append(_rows_of_tree(forest.tree(t), nodes[tree == t] - forest.node_offsets[t], dtype, missing, rng))
    return np.concatenate(parts[::-1])


def _rows_of_tree(tree, nodes, dtype, missing, rng):
    feature, each = tree.feature[nodes], np.arange(len(nodes))
    low, high, may_miss = _boxes(tree, nodes)
    least, most = _ends(low, high, dtype)
    rows = _inside(least, most, dtype, rng)
    if missing:  # where a test has asked whether a value is missing, and then another one asks more, nothing else leads there
        rows[may_miss & ((low >= high) | (rng.random(rows.shape) < _MISSING))] = np.nan
    at = round_down(tree.threshold[nodes].astype(np.float64), dtype)
    probes = []
    for value in (at, np.nextafter(at, dtype(-np.inf)), np.nextafter(at, dtype(np.inf))):
        probe = rows.copy()
        # A test whose threshold is infinite only asks whether a value is missing: its box has no threshold in it.
        probe[each, feature] = np.clip(value, least[each, feature], most[each, feature])
        probes.append(probe)
    if missing:
        rows[each, feature] = np.nan
        probes.append(rows)
    return np.concatenate(probes)


def _boxes(tree, nodes):
    """For each node and feature: which values lead there, above `low` up to `high`, and whether a missing one does too."""
    inner = np.flatnonzero(tree.feature >= 0)
    parent = np.full(len(tree.feature), -1)
    parent[inner + 1] = parent[tree.right_child[inner]] = inner
    shape = len(nodes), tree.n_features
    low, high, may_miss = np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, bool)
    at = nodes
    while (parent[at] >= 0).any():
        i = np.flatnonzero(parent[at] >= 0)
        above = parent[at[i]]
        is_left, feature, threshold = at[i] == above + 1, tree.feature[above], tree.threshold[above]
        high[i, feature] = np.where(is_left, np.minimum(high[i, feature], threshold), high[i, feature])
        low[i, feature] = np.where(is_left, low[i, feature], np.maximum(low[i, feature], threshold))
        may_miss[i, feature] &= tree.missing_left[above] == is_left
        at = np.where(parent[at] >= 0, parent[at], at)
    return low, high, may_miss


def _ends(low, high, dtype):
    """The least and the greatest number of a type in each box, of those that are finite."""
    most = np.finfo(dtype).max
    least = np.nextafter(round_down(low, dtype), dtype(np.inf))
    return np.clip(least, -most, most), np.clip(round_down(high, dtype), -most, most)


def _inside(least, most, dtype, rng):
    """A number in each box: its least, its greatest, or one between, which is small where the box is wide."""
    start, end = least.astype(np.float64), most.astype(np.float64)
    with np.errstate(over="ignore"):
        start, end = np.maximum(start, np.minimum(end, 0.0) * 2 - 1), np.minimum(end, np.maximum(start, 0.0) * 2 + 1)
    between = (start + (end - start) * rng.random(start.shape)).astype(dtype)
    where = rng.random(start.shape)
    return np.where(where < _AT_BOUND, least, np.where(where < 2 * _AT_BOUND, most, between))


def check_same(library, rows, expected, found):
    """Raise ConversionError unless two arrays have the same bits, row by row.

    Parameters
    ----------
    library : str
        Whose model has found the second ones, for the message.
    rows : ndarray of shape (n_rows, n_features)
    expected, found : ndarray of shape (n_rows, ...)
        What the estimator and the model predict for the rows.
    """
    expected, found = np.asarray(expected), np.asarray(found).reshape(np.shape(expected))
    differs = np.flatnonzero((expected != found).reshape(len(rows), -1).any(axis=1))
    if len(differs):
        first = differs[0]
        raise ConversionError(
            f"the model of {library} predicts otherwise for {len(differs)} of {len(rows)} probes; the first is "
            f"{rows[first].tolist()}, for which it gives {found[first].tolist()}, and the estimator {expected[first].tolist()}"
        )
