"""Trees without sets of categories, for libraries whose tests all compare a number with a threshold.

X holds a number for each category, its *label*. The labels that a test of categories sends to one side lie in intervals between
those that it sends to the other side. So the test becomes a *chain* of tests of thresholds, from the lowest interval on: what is
not above a threshold goes to a *copy* of what follows on the interval's side, and the rest to the next test. Missing values go
where the first interval of their side goes. Ordered levels have labels, too, whose order may be another one than theirs, so
that their tests become chains likewise. Labels that training did not see go where their neighbours go.

In a copy, only the labels that lead there count, so that tests of the same column are shorter chains, or none. But path-dependent
Shapley values go both ways at all tests of a column that they take for unknown, by the weights of the children, and how often
both ways lead to a leaf must not change. Therefore the first copy of a side has its weight, and keeps what no label reaches.
The other copies have next to no weight, so that they don't matter where the column is unknown, and lack what no label reaches.
"""

from typing import NamedTuple

import numpy as np

# The share that a copy of next to no weight has of its side. Copies inside such copies, for other columns, have this share of
# that; 22 of them inside each other still have normal floats, and there would be millions of nodes before there were more.
_SHARE = 2.0**-44
_ALLOWED_TIMES, _ALLOWED_NODES = 20, 4_000_000  # how many times its nodes a forest may come to have, and how many in any case
_BLOCK = 1 << 16  # how many nodes are copied at a time


class ThresholdTree(NamedTuple):
    """A tree whose nodes are in depth-first preorder; the caller owns the arrays.

    Attributes
    ----------
    left, right : ndarray of shape (n_nodes,), dtype int64
        Numbers of the children; -1 for leaves.
    feature : ndarray of shape (n_nodes,), dtype int64
        -1 for leaves.
    threshold : ndarray of shape (n_nodes,), dtype float64
        A row goes left if x <= threshold.
    missing_left : ndarray of shape (n_nodes,), dtype bool
    depth : ndarray of shape (n_nodes,), dtype int64
    node : ndarray of shape (n_nodes,), dtype int64
        The node of the forest's tree that is copied, or a part of whose chain this is.
    weight : ndarray of shape (n_nodes,), dtype float64
        Total weight of the draws that reach each node: positive, and the sum of those of the children up to rounding.
    draws : ndarray of shape (n_nodes,), dtype int64
        Number of these draws, which is 0 in copies of next to no weight.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    depth: np.ndarray
    node: np.ndarray
    weight: np.ndarray
    draws: np.ndarray

    def levels(self):
        """The nodes that are not leaves, in an array for each depth, the deepest ones first."""
        inner = np.flatnonzero(self.left >= 0)
        inner = inner[np.argsort(-self.depth[inner], kind="stable")]
        return np.split(inner, np.flatnonzero(np.diff(self.depth[inner])) + 1)


def threshold_trees(forest, labels, library):
    """Yield the `ThresholdTree` of each tree of a forest.

    Parameters
    ----------
    forest : Forest
        Whose tests are no splitter's own.
    labels : list of ndarray or None
        For each feature, the numbers that X holds for its categories or levels; None for features that have none.
    library : str
        For messages.

    Raises
    ------
    ValueError
        If all trees together have too many nodes. It is raised before there is memory for many more than are allowed.
    """
    allowed, n_nodes = max(_ALLOWED_TIMES * len(forest.feature), _ALLOWED_NODES), 0

    def check(n_of_tree):
        if n_nodes + n_of_tree > allowed:
            raise ValueError(
                f"in trees of {library}, tests of categories become chains of tests of numbers, and what follows is copied for "
                f"each part of a chain: the {forest.n_trees} trees with {len(forest.feature)} nodes would have at least "
                f"{n_nodes + n_of_tree} nodes there; allowed are {allowed}. Grow fewer or smaller trees (max_depth), on columns "
                'of fewer categories, or with one category a test (categorical_split="one_hot"); or use to_onnx, to_treelite '
                "or to_c, whose models have sets of categories"
            )

    for t in range(forest.n_trees):
        tree = _Copying(forest.tree(t), labels, check).run()
        n_nodes += len(tree.node)
        yield tree


class _Sides:
    """On which side of a tree's tests labels are.

    Labels are known by their *places* in ascending order. At a *change* of a test, the label is on another side than the one
    before it.

    Attributes
    ----------
    column : ndarray of shape (n_nodes,)
        For each node, the number of its feature among those with labels that are tested; -1 for leaves and tests of numbers.
    n_labels : ndarray of shape (n_columns,)
        Of these features.
    """

    def __init__(self, tree, labels):
        tested = [j for j in np.unique(tree.feature).tolist() if j >= 0 and labels[j] is not None]
        column = np.full(tree.n_features + 1, -1)  # the last one is that of leaves
        column[tested] = np.arange(len(tested))
        self.column = column[tree.feature]
        self.n_labels = np.array([len(labels[j]) for j in tested], np.int64)
        order = [np.argsort(labels[j], kind="stable") for j in tested]
        below = [_below(labels[j][places].astype(np.float64)) for j, places in zip(tested, order, strict=True)]
        self._thresholds, self._first_threshold = np.concatenate([np.zeros(0), *below]), np.cumsum(self.n_labels) - self.n_labels
        nodes = np.flatnonzero(self.column >= 0)
        self._number = np.full(len(self.column), -1)  # of the tests
        self._number[nodes] = np.arange(len(nodes))
        self._find_changes(tree, nodes, [np.argsort(places) for places in order])

    def _find_changes(self, tree, nodes, place):
        """Find the changes of all tests, as places plus `_width` for each test before; place: of labels by number."""
        self._width = self.n_labels.max(initial=0) + 1
        by_threshold = tree.n_categories[tree.feature[nodes]] == 0
        sets = []
        for i, node in enumerate(nodes):
            places = place[self.column[node]]
            below = places[: int(np.clip(np.floor(tree.threshold[node]) + 1, 0, len(places)))] if by_threshold[i] else None
            sets.append(i * self._width + (places[tree.subset_of(node)] if below is None else below))
        members = np.sort(np.concatenate([np.zeros(0, np.int64), *sets]))
        is_apart = np.diff(members, prepend=-2, append=members[-1:] + 2) != 1
        starts, ends = members[is_apart[:-1]], members[is_apart[1:]] + 1
        is_lowest = starts % self._width == 0
        is_label = ends % self._width < self.n_labels[self.column[nodes[ends // self._width]]]
        self._changes = np.sort(np.concatenate([starts[~is_lowest], ends[is_label]]))
        self._first_change = np.searchsorted(self._changes, np.arange(len(nodes)) * self._width)
        # A set of categories is of the side opposite to missing values.
        self._lowest_right = by_threshold | ~tree.missing_left[nodes]
        self._lowest_right[starts[is_lowest] // self._width] ^= True

    def intervals(self, nodes, low, high):
        """The intervals of labels that are on one side of tests, if places are from `low` to `high` - 1.

        Returns
        -------
        change : ndarray of int64
            The number of the change between the first two intervals; those between others follow.
        n_intervals : ndarray of int64
        is_right : ndarray of bool
            Whether the first interval is on the right.
        """
        test = self._number[nodes]
        change = np.searchsorted(self._changes, test * self._width + low, "right")
        end = np.searchsorted(self._changes, test * self._width + high, "left")
        is_right = self._lowest_right[test] ^ ((change - self._first_change[test]) % 2 == 1)
        return change, np.where(low < high, end - change + 1, 0), is_right

    def place(self, change):
        return self._changes[change] % self._width

    def threshold(self, nodes, change):
        """Between the labels before and at a change of the nodes' tests."""
        return self._thresholds[self._first_threshold[self.column[nodes]] + self.place(change)]


def _below(labels):
    """Thresholds between each of some labels, which ascend, and the label before it: the middle, or else that label."""
    before = np.append(-np.inf, labels[:-1])
    middle = before / 2 + labels / 2
    return np.where(middle < labels, middle, before)


class _Items(NamedTuple):
    """Nodes that are to be copied.

    Attributes
    ----------
    node : ndarray of shape (n_items,)
        Their numbers in the forest's tree.
    slot, depth : ndarray of shape (n_items,)
        Where copies go: twice the number of the parent, plus 1 for right children; and their depth.
    share : ndarray of shape (n_items,)
        Which share of a node's weight its copy has.
    low, high : ndarray of shape (n_items, n_columns)
        For each column of `_Sides`, the labels that lead there: places from `low` to `high` - 1.
    missing : ndarray of shape (n_items, n_columns), dtype bool
        Whether missing values do.
    is_light : ndarray of shape (n_items, n_columns), dtype bool
        Whether a test of the column has led to a copy of next to no weight.
    """

    node: np.ndarray
    slot: np.ndarray
    depth: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    is_light: np.ndarray

    def at(self, which):
        return _Items(*(array[which] for array in self))

    def of_column(self, column):
        """`low`, `high`, `missing` and `is_light` of a column for each item."""
        return (array[np.arange(len(column)), column] for array in self[4:])


class _Pieces(NamedTuple):
    """The parts of chains, in their order: what leads to a copy of a child each.

    A piece is an interval, or else what is on a side that has no interval: missing values, or nothing. A test of numbers has two
    pieces. Attributes are arrays with an entry for each piece.

    Attributes
    ----------
    item : ndarray
        The place of the piece's item.
    k, n_pieces, n_intervals : ndarray
        The place of the piece in its chain; how many pieces and intervals there are.
    column, change : ndarray
        The column of `_Sides`, or -1; the number of the change between the first two intervals.
    on_right, is_first, has_missing, is_light : ndarray of bool
        Whether the piece is on the right; whether it is the first one of its side; whether missing values that lead to the node
        are in it; whether the item is of next to no weight.
    n_of_side, n_from : ndarray of shape (2, n)
        How many pieces of its chain are on the left and on the right; how many of these come from the piece on.
    """

    item: np.ndarray
    k: np.ndarray
    n_pieces: np.ndarray
    n_intervals: np.ndarray
    column: np.ndarray
    change: np.ndarray
    on_right: np.ndarray
    is_first: np.ndarray
    has_missing: np.ndarray
    is_light: np.ndarray
    n_of_side: np.ndarray
    n_from: np.ndarray


class _Copying:
    """The state of copying a tree; check: what is called with the least number of nodes that there will be."""

    def __init__(self, tree, labels, check):
        self._tree, self._check, self._sides = tree, check, _Sides(tree, labels)
        table = tree.node_table(0)
        self._weight = tree.objective.total_weight(table.weight).astype(np.float64) * tree.weight_unit[0]
        self._draws = table.draws
        self._n_nodes, self._parts, self._links = 0, [], []

    def run(self):
        """Return the `ThresholdTree`."""
        n_labels, root = self._sides.n_labels[None], np.zeros(1, np.int64)
        all_of, none_of = np.full(n_labels.shape, True), np.full(n_labels.shape, False)
        waiting = [_Items(root, root - 1, root, np.ones(1), np.zeros_like(n_labels), n_labels, all_of, none_of)]
        while waiting:
            items = waiting.pop()
            if len(items.node) > _BLOCK:
                waiting.append(items.at(slice(_BLOCK, None)))
                items = items.at(slice(_BLOCK))
            is_leaf = self._tree.feature[items.node] < 0
            self._n_waiting = sum(len(others.node) for others in waiting)
            self._add_leaves(items.at(is_leaf))
            if not is_leaf.all():
                waiting.append(self._add_tests(items.at(~is_leaf)))
        feature, threshold, missing_left, depth, node, shares = map(np.concatenate, zip(*self._parts, strict=True))
        slot, to = map(np.concatenate, zip(*self._links, strict=True))
        links = np.full(2 * self._n_nodes + 1, -1)  # the last one leads to the root
        links[slot] = to
        weight, draws = self._amounts(self._weight, node, shares), self._amounts(self._draws, node, shares)
        return _in_preorder(
            ThresholdTree(
                links[:-1:2], links[1::2], feature, threshold, missing_left, depth, node, weight, np.rint(draws).astype(np.int64)
            )
        )

    def _amounts(self, of_nodes, node, shares):
        """How much of what reaches the forest's nodes reaches copies, and parts of chains; shares: of left and right children."""
        amounts = of_nodes[node] * shares[:, 0]
        parts = np.flatnonzero(shares[:, 0] != shares[:, 1])
        left, right = self._children(node[parts])
        amounts[parts] = of_nodes[left] * shares[parts, 0] + of_nodes[right] * shares[parts, 1]
        return amounts

    def _children(self, node):
        return node + 1, self._tree.right_child[node].astype(np.int64)

    def _add_leaves(self, items):
        n = len(items.node)
        self._links.append((items.slot, self._n_nodes + np.arange(n)))
        no_test = np.full(n, -1), np.zeros(n), np.full(n, False)
        self._parts.append((*no_test, items.depth, items.node, np.stack([items.share, items.share], axis=1)))
        self._n_nodes += n

    def _pieces(self, items):
        sides, n_items = self._sides, len(items.node)
        n_intervals, is_right, change = np.full(n_items, 2), np.full(n_items, False), np.zeros(n_items, np.int64)
        missing, is_light = np.full(n_items, True), np.full(n_items, False)
        column, missing_right = sides.column[items.node], ~self._tree.missing_left[items.node]
        chained = np.flatnonzero(column >= 0)
        if len(chained):
            low, high, missing[chained], is_light[chained] = items.at(chained).of_column(column[chained])
            change[chained], n_intervals[chained], is_right[chained] = sides.intervals(items.node[chained], low, high)
        n_of_side = np.stack([(n_intervals + 1 - is_right) // 2, (n_intervals + is_right) // 2])
        lacks = (n_of_side == 0) & (~is_light | missing & (missing_right == [[False], [True]]))
        n_of_side += lacks
        n_pieces = n_of_side.sum(axis=0)
        self._check(self._n_nodes + self._n_waiting + 2 * int(n_pieces.sum()) - n_items)
        item = np.repeat(np.arange(n_items), n_pieces)
        k = np.arange(len(item)) - (np.cumsum(n_pieces) - n_pieces)[item]
        n_intervals, is_right = n_intervals[item], is_right[item]
        is_interval = k < n_intervals
        on_right = np.where(is_interval, is_right ^ (k % 2 == 1), ~lacks[0, item] | (k > n_intervals))
        is_first = ~is_interval | (k < 2)
        n_left = (k + 1 - is_right) // 2  # before the piece
        return _Pieces(
            item, k, n_pieces[item], n_intervals, column[item], change[item], on_right, is_first,
            has_missing=is_first & (on_right == missing_right[item]),
            is_light=is_light[item],
            n_of_side=n_of_side[:, item],
            n_from=n_of_side[:, item] - np.stack([n_left, k - n_left]),
        )  # fmt: skip

    def _add_tests(self, items):
        """Add chains for nodes that are no leaves; returns what follows."""
        tree, pieces = self._tree, self._pieces(items)
        item, k, node = pieces.item, pieces.k, items.node[pieces.item]
        is_tested = k < pieces.n_pieces - 1  # the last piece is what the others leave
        number = self._n_nodes + np.cumsum(is_tested) - 1  # of the test of the piece, or of the one before
        begins, goes_on = is_tested & (k == 0), is_tested & (k > 0)
        self._links.append((items.slot[item[begins]], number[begins]))
        self._links.append((2 * number[goes_on] - 1, number[goes_on]))
        is_cut = (pieces.column >= 0) & (k < pieces.n_intervals - 1)
        threshold = np.where(pieces.column >= 0, np.inf, tree.threshold[node].astype(np.float64))  # infinite: nothing is above
        threshold[is_cut] = self._sides.threshold(node[is_cut], (pieces.change + k)[is_cut])
        whole = np.where(pieces.n_from == pieces.n_of_side, 1.0, pieces.n_from * _SHARE)
        with np.errstate(divide="ignore", invalid="ignore"):  # a side without pieces, where nothing is tested
            shares = items.share[item] * np.where(pieces.is_light, pieces.n_from / pieces.n_of_side, whole)
        parts = tree.feature[node].astype(np.int64), threshold, pieces.has_missing, items.depth[item] + k, node, shares.T
        self._parts.append(tuple(array[is_tested] for array in parts))
        self._n_nodes += int(is_tested.sum())
        is_only = pieces.n_pieces == 1
        slot = np.where(is_tested, 2 * number, np.where(is_only, items.slot[item], 2 * number + 1))
        return self._following(items, pieces, slot)

    def _following(self, items, pieces, slot):
        """The copies of children that pieces lead to."""
        item, k, at = pieces.item, pieces.k, np.flatnonzero(pieces.column >= 0)
        node, last = items.node[item], pieces.n_pieces - 1
        child = np.where(pieces.on_right, self._tree.right_child[node], node + 1)
        n_same = np.where(pieces.on_right, *pieces.n_of_side[::-1])
        whole = np.where(pieces.is_first, 1.0 - (n_same - 1) * _SHARE, _SHARE)
        share = items.share[item] * np.where(pieces.is_light, 1.0 / n_same, whole)
        is_only = last == 0  # one side that has the weight of both
        share[is_only] *= self._weight[node[is_only]] / self._weight[child[is_only]]
        found = _Items(child, slot, items.depth[item] + np.minimum(k + 1, last), share, *(array[item] for array in items[4:]))
        column, change, k, n_intervals = (array[at] for array in (pieces.column, pieces.change + k, k, pieces.n_intervals))
        low, high = found.low[at, column], found.high[at, column]
        is_interval = k < n_intervals
        is_above, is_below = is_interval & (k > 0), k < n_intervals - 1  # another interval
        low[is_above], high[is_below] = self._sides.place(change[is_above] - 1), self._sides.place(change[is_below])
        found.low[at, column], found.high[at, column] = np.where(is_interval, low, 0), np.where(is_interval, high, 0)
        found.missing[at, column] &= pieces.has_missing[at]
        found.is_light[at, column] |= ~pieces.is_first[at]
        return found


def _in_preorder(tree):
    size, place, levels = np.ones(len(tree.node), np.int64), np.zeros(len(tree.node), np.int64), tree.levels()
    for level in levels:
        size[level] += size[tree.left[level]] + size[tree.right[level]]
    for level in levels[::-1]:
        place[tree.left[level]] = place[level] + 1
        place[tree.right[level]] = place[level] + 1 + size[tree.left[level]]
    order = np.argsort(place)
    left, right = (np.where(children < 0, -1, place[children])[order] for children in (tree.left, tree.right))
    return ThresholdTree(left, right, *(array[order] for array in tree[2:]))
