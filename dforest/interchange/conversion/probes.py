"""Rows that show whether a model makes the same tests as the forest that it was made of, and the comparison of predictions.

The *box* of a node holds the values that a row may have, feature by feature, if it is to reach the node: an interval of numbers,
or a set of categories, and whether a missing value leads there. A *probe* of a node is a row in its box whose value is the node's
threshold, the next number below or above that, or missing; or a category on either side, or one that is unknown.
"""

import numpy as np

from dforest.errors import ConversionError
from dforest.interchange.conversion.oblique import is_oblique, rows_at_tests

MAX_NODES = 2000  # of a forest, that are probed
_MAX_OBLIQUE = 500  # of an oblique one, of which a row that reaches a node takes longer to find
_MAX_VALUES = 1 << 23  # of the rows of these nodes: of more columns, fewer nodes are probed

_AT_BOUND = 0.3  # the probability that a value lies at the lower end of its box, and as much for the upper end
_MISSING = 0.05  # the probability that a value is missing where it may be


def round_down(numbers, dtype):
    """The largest numbers of a type that are not above others of float64."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = numbers.astype(dtype)
    return np.where(rounded > numbers, next_number(rounded, -1), rounded)


def next_number(numbers, direction):
    """The next numbers of the same type below (direction -1) or above (1) others, of which those beyond all are infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(numbers, numbers.dtype.type(direction * np.inf))


def probe_rows(forest, dtype, missing=True, infinite=False, n_nodes=MAX_NODES, seed=0):
    """Rows that reach nodes of a forest and are about to turn there.

    Parameters
    ----------
    forest : Forest
        Whose tests are no splitter's own, but for those of oblique trees.
    dtype : type
        ``np.float32`` or ``np.float64``: of the rows, and of the numbers that are next to a threshold.
    missing : bool
        Whether rows may have NaN.
    infinite : bool
        Whether rows may have infinite values.
    n_nodes : int
        At most how many nodes are probed; fewer of more than 4,194 columns, and of an oblique forest. If more have tests, so many
        of them are drawn.
    seed : int
        Which nodes are drawn, and the values of other features, follow from it.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        Three or four rows for each node that is probed, and a last one of zeros. Categories are their numbers; an unknown one
        has the number of categories, where a missing value would go the same way.
    """
    rng = np.random.default_rng(seed)
    nodes, n_nodes = np.flatnonzero(forest.feature >= 0), min(n_nodes, max(1, _MAX_VALUES // forest.n_features))
    rows_of = rows_at_tests if is_oblique(forest) else _rows_of_tree
    n_nodes = min(n_nodes, _MAX_OBLIQUE) if is_oblique(forest) else n_nodes
    if len(nodes) > n_nodes:
        nodes = np.sort(rng.choice(nodes, n_nodes, replace=False))
    tree = np.searchsorted(forest.node_offsets, nodes, "right") - 1
    parts = [np.zeros((1, forest.n_features), dtype)]
    for t in np.unique(tree):
        parts.append(rows_of(forest.tree(t), nodes[tree == t] - forest.node_offsets[t], dtype, missing, infinite, rng))
    return np.concatenate(parts[::-1])


def _rows_of_tree(tree, nodes, dtype, missing, infinite, rng):
    feature, each = tree.feature[nodes], np.arange(len(nodes))
    low, high, may_miss, subsets = _boxes(tree, nodes)
    least, most = _ends(low, high, dtype, infinite)
    rows = _inside(least, most, dtype, rng)
    # Where a test has asked whether a value is missing, and then another one asks more, nothing else leads there.
    only_missing = low >= high
    for j in np.flatnonzero(tree.n_categories):
        for i in each:
            inside = subsets.get((i, j))
            allowed = np.arange(tree.n_categories[j]) if inside is None else np.flatnonzero(inside)
            rows[i, j] = rng.choice(allowed) if len(allowed) else tree.n_categories[j]
            only_missing[i, j] = len(allowed) == 0
    if missing:
        rows[may_miss & (only_missing | (rng.random(rows.shape) < _MISSING))] = np.nan
    at = round_down(tree.threshold[nodes].astype(np.float64), dtype)
    probes = []
    for value in (at, next_number(at, -1), next_number(at, 1)):
        probe = rows.copy()
        # A test whose threshold is infinite only asks whether a value is missing: its box has no threshold in it.
        probe[each, feature] = np.clip(value, least[each, feature], most[each, feature])
        probes.append(probe)
    for i in np.flatnonzero(tree.n_categories[feature]):
        values = _categories_of(tree, nodes[i], subsets.get((i, feature[i])), may_miss[i, feature[i]], rng)
        for probe, value in zip(probes, values, strict=True):
            probe[i, feature[i]] = rows[i, feature[i]] if value is None else value
    if missing:
        rows[each, feature] = np.nan
        probes.append(rows)
    return np.concatenate(probes)


def _categories_of(tree, node, inside, may_miss, rng):
    """A category in a node's subset, one that is not, and one that is unknown; None where none of these leads to the node."""
    n_categories = tree.n_categories[tree.feature[node]]
    in_subset = np.zeros(n_categories, bool)
    in_subset[tree.subset_of(node)] = True
    inside = np.ones(n_categories, bool) if inside is None else inside
    found = [np.flatnonzero(inside & side) for side in (in_subset, ~in_subset)]
    return *(rng.choice(side) if len(side) else None for side in found), n_categories if may_miss else None


def _boxes(tree, nodes):
    """What leads to each node.

    Returns
    -------
    low, high : ndarray of shape (n, n_features)
        Numbers above `low` up to `high` do.
    may_miss : ndarray of shape (n, n_features), dtype bool
        Whether a missing value does; for a category, an unknown one too.
    subsets : dict of ndarray of shape (n_categories,), dtype bool
        Which categories do, by the place in `nodes` and the feature; all of them, if it is not there.
    """
    inner = np.flatnonzero(tree.feature >= 0)
    parent = np.full(len(tree.feature), -1)
    parent[inner + 1] = parent[tree.right_child[inner]] = inner
    shape = len(nodes), tree.n_features
    low, high, may_miss, subsets = np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, bool), {}
    # Above minus infinity is every other number; a low of minus infinity would let that in too.
    parent, least = parent.tolist(), -np.finfo(np.float64).max
    for i, node in enumerate(nodes.tolist()):
        while parent[node] >= 0:
            above, is_left = parent[node], node == parent[node] + 1
            j, threshold = tree.feature[above], tree.threshold[above]
            may_miss[i, j] &= tree.missing_left[above] == is_left
            if tree.n_categories[j]:
                _keep_categories(subsets, tree, i, above, is_left)
            elif is_left:
                high[i, j] = min(high[i, j], threshold)
            else:
                low[i, j] = max(low[i, j], threshold, least)
            node = above
    return low, high, may_miss, subsets


def _keep_categories(subsets, tree, place, node, left):
    """Keep those categories of a box that go to one side of a node on the way."""
    feature = tree.feature[node]
    stays = np.zeros(tree.n_categories[feature], bool)
    stays[tree.subset_of(node)] = True
    # A subset is of the categories on the side opposite to the missing values.
    stays ^= tree.missing_left[node] == left
    subsets[place, feature] = stays & subsets.get((place, feature), True)


def _ends(low, high, dtype, infinite):
    """The least and the greatest number of a type in each box."""
    most = np.inf if infinite else np.finfo(dtype).max
    least = np.where(low == -np.inf, dtype(-np.inf), next_number(round_down(low, dtype), 1))
    return np.clip(least, -most, most).astype(dtype), np.clip(round_down(high, dtype), -most, most).astype(dtype)


def _inside(least, most, dtype, rng):
    """A number in each box: its least, its greatest, or one between, which is small where the box is wide."""
    start, end = least.astype(np.float64), most.astype(np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        start, end = np.maximum(start, np.minimum(end, 0.0) * 2 - 1), np.minimum(end, np.maximum(start, 0.0) * 2 + 1)
        between = (start + (end - start) * rng.random(start.shape)).astype(dtype)
    between = np.where(np.isnan(between), most, between)  # the box holds one infinite number alone
    where = rng.random(start.shape)
    return np.where(where < _AT_BOUND, least, np.where(where < 2 * _AT_BOUND, most, between))


def within_leaves(forest, means):
    """Means that another library has found, as the forest keeps them between its leaves: see `bounds_of_means`.

    Parameters
    ----------
    forest : Forest
    means : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    """
    bounds = forest.packed().arrays().bounds
    return means if bounds is None else np.clip(means, *bounds)


def check_same(library, rows, expected, found, tolerance=None):
    """Raise ConversionError unless two arrays are equal, row by row.

    Parameters
    ----------
    library : str
        Whose model has found the second ones, for the message.
    rows : ndarray of shape (n_rows, n_features)
    expected, found : ndarray of shape (n_rows, ...)
        What the estimator and the model predict for the rows.
    tolerance : float or ndarray, optional
        By how much numbers may differ. None: they are equal.
    """
    expected, found = np.asarray(expected), np.asarray(found).reshape(np.shape(expected))
    differs = expected != found if tolerance is None else ~(np.abs(expected - found) <= tolerance)
    differs = np.flatnonzero(differs.any(axis=tuple(range(1, differs.ndim))))
    if len(differs):
        first = differs[0]
        raise ConversionError(
            f"the model of {library} and the estimator predict differently for {len(differs)} of {len(rows)} rows on which they "
            f"were compared; for the first of these, {rows[first].tolist()}, the model predicts {found[first].tolist()}, and the "
            f"estimator {expected[first].tolist()}"
        )
