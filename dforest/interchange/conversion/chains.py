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
# that; 24 of them inside each other still have normal floats, and there would be millions of nodes before there were more.
_SHARE = 2.0**-42
_ALLOWED_TIMES, _ALLOWED_NODES = 2, 10_000_000  # how many times its nodes a forest may come to have, and how many in any case
_BLOCK = 1 << 16  # how many nodes are copied at a time


class ThresholdTree(NamedTuple):
    """A tree whose nodes come after their parents; the root is 0. Arrays have an entry for each node; the caller owns them."""

    left: np.ndarray  # int64: numbers of the children; -1 for leaves
    right: np.ndarray  # likewise
    feature: np.ndarray  # int64: -1 for leaves
    threshold: np.ndarray  # float64: a row goes left if x <= threshold
    missing_left: np.ndarray  # bool
    depth: np.ndarray  # int64
    node: np.ndarray  # int64: the node of the forest's tree that is copied, or a part of whose chain this is
    # float64: total weight of the draws that reach each node: positive, and the sum of those of the children up to rounding
    weight: np.ndarray
    draws: np.ndarray  # int64: number of these draws, which is 0 in copies of next to no weight

    def levels(self):
        """The nodes that are not leaves, in an array for each depth, the deepest ones first."""
        inner = np.flatnonzero(self.left >= 0)
        inner = inner[np.argsort(-self.depth[inner], kind="stable")]
        return np.split(inner, np.flatnonzero(np.diff(self.depth[inner])) + 1)


def threshold_trees(forest, labels, library):
    """Yield the `ThresholdTree` of each tree of a forest. Without tests of labels, nodes are those of the tree, in their order.

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
                f"a test of categories becomes a chain of thresholds in {library}'s trees, with a copy of what follows for each "
                f"part of the chain: {len(forest.feature)} nodes would become at least {n_nodes + n_of_tree}; allowed are "
                f"{allowed}. Grow fewer or smaller trees (max_depth), on columns of fewer categories, or with one category a "
                'test (categorical_split="one_hot"); or use to_onnx, to_treelite or to_c, whose models have sets of categories'
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
        cuts = [_cuts(labels[j][places].astype(np.float64)) for j, places in zip(tested, order, strict=True)]
        self._cuts, self._first_cut = np.concatenate([np.zeros(0), *cuts]), np.cumsum(self.n_labels) - self.n_labels
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
        """The places of changes."""
        return self._changes[change] % self._width

    def cuts(self, nodes, place):
        """Thresholds between the labels before and at places of the nodes' columns; at 0, one above all labels."""
        return self._cuts[self._first_cut[self.column[nodes]] + place]


def _cuts(labels):
    """For each of some labels, which ascend, a threshold between it and the one before it; for the first, one above all."""
    with np.errstate(over="ignore"):
        above, middle = 2 * np.maximum(labels[-1:], 0.0) + 1, labels[:-1] / 2 + labels[1:] / 2
    return np.append(above, np.where(middle < labels[1:], middle, labels[:-1]))


class _Items(NamedTuple):
    """Nodes that are to be copied. Arrays have an entry for each, those of two axes a column for each one of `_Sides`."""

    node: np.ndarray  # their numbers in the forest's tree
    slot: np.ndarray  # where copies go: twice the number of the parent, plus 1 for right children
    depth: np.ndarray  # of the copies
    share: np.ndarray  # which share of a node's weight its copy has
    low: np.ndarray  # the labels that lead there: places from `low` to `high` - 1
    high: np.ndarray
    # bool: whether a test of the column has led to a copy of next to no weight, where no missing values lead, either
    is_light: np.ndarray

    def at(self, which):
        return _Items(*(array[which] for array in self))


class _Pieces(NamedTuple):
    """The parts of chains, in their order: what leads to a copy of a child each.

    A piece is an interval, or else what is on a side that has no interval: missing values, or nothing. A test of numbers has two
    pieces. Arrays have an entry for each piece; the last two have two rows, for the left and the right.
    """

    item: np.ndarray  # int64: the place of the piece's item
    k: np.ndarray  # int64: the place of the piece in its chain
    n_pieces: np.ndarray  # int64: of the chain
    column: np.ndarray  # int64: that of `_Sides`; -1 for tests of numbers
    low: np.ndarray  # int64: the labels of the piece: places from `low` to `high` - 1; both are 0 if there are none
    high: np.ndarray  # int64
    is_before: np.ndarray  # bool: whether another interval comes after the piece
    on_right: np.ndarray  # bool: whether the piece is on the right
    is_first: np.ndarray  # bool: whether it is the first one of its side
    is_light: np.ndarray  # bool: whether the item is of next to no weight
    n_of_side: np.ndarray  # int64: how many pieces of its chain are on each side
    n_from: np.ndarray  # int64: how many of these come from the piece on


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
        if not len(self._sides.n_labels):
            return self._as_it_is()
        n_labels, root = self._sides.n_labels[None], np.zeros(1, np.int64)
        nowhere = np.zeros_like(n_labels)
        waiting = [_Items(root, root - 1, root, np.ones(1), nowhere, n_labels, nowhere > 0)]
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
        draws = np.rint(draws).astype(np.int64)
        return ThresholdTree(links[:-1:2], links[1::2], feature, threshold, missing_left, depth, node, weight, draws)

    def _as_it_is(self):
        tree, inner, node = self._tree, self._tree.feature >= 0, np.arange(len(self._weight))
        left, right = (np.where(inner, child, -1) for child in self._children(node))
        threshold = np.where(inner, tree.threshold.astype(np.float64), 0.0)
        missing_left, feature = inner & tree.missing_left, tree.feature.astype(np.int64)
        return ThresholdTree(left, right, feature, threshold, missing_left, tree.depths(), node, self._weight, self._draws)

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
        """The `_Pieces` of nodes that are no leaves."""
        sides, n_items, column = self._sides, len(items.node), self._sides.column[items.node]
        low, high, change = np.zeros((3, n_items), np.int64)
        n_intervals, is_right, is_light = np.full(n_items, 2), np.full(n_items, False), np.full(n_items, False)
        at = np.flatnonzero(column >= 0)
        low[at], high[at], is_light[at] = (array[at, column[at]] for array in items[4:])
        change[at], n_intervals[at], is_right[at] = sides.intervals(items.node[at], low[at], high[at])
        n_of_side = np.stack([(n_intervals + 1 - is_right) // 2, (n_intervals + is_right) // 2])
        lacks = (n_of_side == 0) & ~is_light
        n_of_side += lacks
        n_pieces = n_of_side.sum(axis=0)
        self._check(self._n_nodes + self._n_waiting + 2 * int(n_pieces.sum()) - n_items)

        item = np.repeat(np.arange(n_items), n_pieces)
        k = np.arange(len(item)) - (np.cumsum(n_pieces) - n_pieces)[item]
        column, n_intervals, is_right = column[item], n_intervals[item], is_right[item]
        is_interval = k < n_intervals
        is_before, is_after = (column >= 0) & (k < n_intervals - 1), (column >= 0) & (k > 0) & is_interval
        low, high = np.where(is_interval, low[item], 0), np.where(is_interval, high[item], 0)
        low[is_after], high[is_before] = (sides.place((change[item] + k)[of] - by) for of, by in ((is_after, 1), (is_before, 0)))
        on_right = np.where(is_interval, is_right ^ (k % 2 == 1), ~lacks[0, item] | (k > n_intervals))
        is_first = ~is_interval | (k < 2)
        n_left = (k + 1 - is_right) // 2  # before the piece
        return _Pieces(
            item, k, n_pieces[item], column, low, high, is_before, on_right, is_first, is_light[item], n_of_side[:, item],
            n_of_side[:, item] - np.stack([n_left, k - n_left]),
        )  # fmt: skip

    def _add_tests(self, items):
        """Add chains for nodes that are no leaves; returns the copies of children that follow."""
        tree, pieces = self._tree, self._pieces(items)
        item, k, node = pieces.item, pieces.k, items.node[pieces.item]
        is_tested = k < pieces.n_pieces - 1  # the last piece is what the others leave
        number = self._n_nodes + np.cumsum(is_tested) - 1  # of the test of the piece, or of the one before
        begins, goes_on = is_tested & (k == 0), is_tested & (k > 0)
        self._links.append((items.slot[item[begins]], number[begins]))
        self._links.append((2 * number[goes_on] - 1, number[goes_on]))
        threshold, at = tree.threshold[node].astype(np.float64), np.flatnonzero(pieces.column >= 0)
        threshold[at] = self._sides.cuts(node[at], np.where(pieces.is_before[at], pieces.high[at], 0))
        whole = np.where(pieces.n_from == pieces.n_of_side, 1.0, pieces.n_from * _SHARE)
        with np.errstate(divide="ignore", invalid="ignore"):  # a side without pieces, where nothing is tested
            shares = items.share[item] * np.where(pieces.is_light, pieces.n_from / pieces.n_of_side, whole)
        missing_left = pieces.is_first & (pieces.on_right != tree.missing_left[node])
        parts = tree.feature[node].astype(np.int64), threshold, missing_left, items.depth[item] + k, node, shares.T
        self._parts.append(tuple(array[is_tested] for array in parts))
        self._n_nodes += int(is_tested.sum())
        is_only = pieces.n_pieces == 1
        slot = np.where(is_tested, 2 * number, np.where(is_only, items.slot[item], 2 * number + 1))
        return self._following(items, pieces, slot)

    def _following(self, items, pieces, slot):
        item, at = pieces.item, np.flatnonzero(pieces.column >= 0)
        node, last = items.node[item], pieces.n_pieces - 1
        child = np.where(pieces.on_right, self._tree.right_child[node], node + 1)
        n_same = np.where(pieces.on_right, *pieces.n_of_side[::-1])
        whole = np.where(pieces.is_first, 1.0 - (n_same - 1) * _SHARE, _SHARE)
        share = items.share[item] * np.where(pieces.is_light, 1.0 / n_same, whole)
        is_only = last == 0  # one side that has the weight of both
        share[is_only] *= self._weight[node[is_only]] / self._weight[child[is_only]]
        depth = items.depth[item] + np.minimum(pieces.k + 1, last)
        found = _Items(child, slot, depth, share, *(array[item] for array in items[4:]))
        column = pieces.column[at]
        found.low[at, column], found.high[at, column] = pieces.low[at], pieces.high[at]
        found.is_light[at, column] |= ~pieces.is_first[at]
        return found
