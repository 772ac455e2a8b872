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

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import NamedTuple

import numpy as np

# The share that a copy of next to no weight has of its side. Copies inside such copies, for other columns, have this share of
# that; 24 of them inside each other still have normal floats, and there would be millions of nodes before there were more.
_SHARE = 2.0**-42
_ALLOWED_TIMES, _ALLOWED_NODES = 2, 10_000_000  # how many times its nodes a forest may come to have, and how many in any case


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
    n_labels, cuts : dict
        Of features with labels that are tested, how many labels there are, and thresholds between the labels before and at
        places; at 0, one above all labels.
    """

    def __init__(self, tree, labels):
        self.n_labels, self.cuts, self._first_is_right, self._changes, place = {}, {}, {}, {}, {}
        for j in np.unique(tree.feature).tolist():
            if j >= 0 and labels[j] is not None:
                order = np.argsort(labels[j], kind="stable")
                self.n_labels[j], self.cuts[j] = len(order), _cuts(labels[j][order].astype(np.float64)).tolist()
                place[j] = np.argsort(order)
        for node in np.flatnonzero(np.isin(tree.feature, list(place))).tolist():
            is_right = _are_right(tree, node, place[tree.feature[node]])
            self._first_is_right[node] = bool(is_right[0])
            self._changes[node] = (np.flatnonzero(is_right[1:] != is_right[:-1]) + 1).tolist()

    def intervals(self, node, low, high):
        """(the places where intervals of labels on one side begin, and `high`; whether the first one is on the right).

        IN low, high: the labels that count are at places from `low` to `high` - 1.
        """
        changes = self._changes[node]
        first = bisect_right(changes, low)
        ends = [low, *changes[first : bisect_left(changes, high)], high] if low < high else []
        return ends, self._first_is_right[node] ^ (first % 2 == 1)


def _are_right(tree, node, place):
    """Which labels a test sends to the right, by their places: ndarray of bool. place: of labels by number."""
    is_member = np.zeros(len(place), bool)
    if tree.n_categories[tree.feature[node]] == 0:
        is_member[place[: int(np.clip(np.floor(tree.threshold[node]) + 1, 0, len(place)))]] = True
        return ~is_member
    is_member[place[tree.subset_of(node)]] = True
    return is_member == tree.missing_left[node]  # a set of categories is of the side opposite to missing values


def _cuts(labels):
    """For each of some labels, which ascend, a threshold between it and the one before it; for the first, one above all."""
    with np.errstate(over="ignore"):
        above, middle = 2 * np.maximum(labels[-1:], 0.0) + 1, labels[:-1] / 2 + labels[1:] / 2
    return np.append(above, np.where(middle < labels[1:], middle, labels[:-1]))


class _Copy(NamedTuple):
    """A node that is to be copied."""

    node: int  # its number in the forest's tree
    slot: int  # where the copy goes: twice the number of the parent, plus 1 for right children
    depth: int  # of the copy
    share: float  # which share of the node's weight the copy has
    # By features with labels that were tested on the way: (low, high, whether such a test has led to a copy of next to no weight,
    # where no missing values lead, either). The labels at places from `low` to `high` - 1 lead there.
    reach: dict


class _Piece(NamedTuple):
    """A part of a chain, which leads to a copy of a child: an interval, or what is on a side without any, as missing values."""

    on_right: bool
    low: int  # its labels are at places from `low` to `high` - 1; both are 0 if there are none
    high: int
    is_first: bool  # whether it is the first piece of its side


class _Copying:
    """The state of copying a tree, level by level; check: what is called with the least number of nodes that there will be."""

    def __init__(self, tree, labels, check):
        self._tree, self._check, self._sides = tree, check, _Sides(tree, labels)
        arrays = tree.feature, tree.right_child, tree.missing_left
        self._feature, self._right, self._missing_left = (array.tolist() for array in arrays)
        table = tree.node_table(0)
        self._weight = tree.objective.total_weight(table.weight).astype(np.float64) * tree.weight_unit[0]
        self._draws = table.draws
        self._nodes, self._slots = [], []

    def run(self):
        """Return the `ThresholdTree`."""
        if not self._sides.n_labels:
            return self._as_it_is()
        level = [_Copy(0, -1, 0, 1.0, {})]
        while level:
            tests = []
            for copy in level:
                if self._feature[copy.node] < 0:
                    self._add(copy.slot, -1, 0.0, False, copy.depth, copy.node, copy.share, copy.share)
                else:
                    tests.append((copy, self._pieces(copy)))
            n_pieces = sum(2 if pieces is None else len(pieces) for _, pieces in tests)
            self._check(len(self._nodes) + 2 * n_pieces - len(tests))
            level = [child for test in tests for child in self._add_test(*test)]
        feature, threshold, missing_left, depth, node, *shares = map(np.array, zip(*self._nodes, strict=True))
        links = np.full(2 * len(node) + 1, -1)  # the last one leads to the root
        links[self._slots] = np.arange(len(node))
        weight, draws = self._amounts(self._weight, node, *shares), self._amounts(self._draws, node, *shares)
        draws = np.rint(draws).astype(np.int64)
        return ThresholdTree(links[:-1:2], links[1::2], feature, threshold, missing_left, depth, node, weight, draws)

    def _as_it_is(self):
        tree, inner, node = self._tree, self._tree.feature >= 0, np.arange(len(self._weight))
        left, right = (np.where(inner, child, -1) for child in self._children(node))
        threshold = np.where(inner, tree.threshold.astype(np.float64), 0.0)
        missing_left, feature = inner & tree.missing_left, tree.feature.astype(np.int64)
        return ThresholdTree(left, right, feature, threshold, missing_left, tree.depths(), node, self._weight, self._draws)

    def _amounts(self, of_nodes, node, left_share, right_share):
        """How much of what reaches the forest's nodes reaches copies, and parts of chains, given shares of their children."""
        amounts = of_nodes[node] * left_share
        parts = np.flatnonzero(left_share != right_share)
        left, right = self._children(node[parts])
        amounts[parts] = of_nodes[left] * left_share[parts] + of_nodes[right] * right_share[parts]
        return amounts

    def _children(self, node):
        return node + 1, self._tree.right_child[node].astype(np.int64)

    def _add(self, slot, *fields):
        """Add a node, whose number is returned."""
        self._slots.append(slot)
        self._nodes.append(fields)
        return len(self._nodes) - 1

    def _reach(self, copy, column):
        return copy.reach.get(column) or (0, self._sides.n_labels[column], False)

    def _pieces(self, copy):
        """The pieces of the chain of a node, in their order; None if it tests a number."""
        column = self._feature[copy.node]
        if column not in self._sides.n_labels:
            return None
        low, high, is_light = self._reach(copy, column)
        ends, is_right = self._sides.intervals(copy.node, low, high)
        pieces = [_Piece(is_right ^ (k % 2 == 1), *both, k < 2) for k, both in enumerate(pairwise(ends))]
        lacking = [side for side in (False, True) if not is_light and all(piece.on_right != side for piece in pieces)]
        return pieces + [_Piece(side, 0, 0, True) for side in lacking]

    def _add_test(self, copy, pieces):
        """Add the test of a number, or a chain; returns the copies of children that follow."""
        node, column, share = copy.node, self._feature[copy.node], copy.share
        if pieces is None:
            threshold = float(self._tree.threshold[node])
            number = self._add(copy.slot, column, threshold, self._missing_left[node], copy.depth, node, share, share)
            return [
                _Copy(child, 2 * number + side, copy.depth + 1, share, copy.reach)
                for side, child in enumerate((node + 1, self._right[node]))
            ]
        _, high, is_light = self._reach(copy, column)
        n_of_side = [sum(piece.on_right == side for piece in pieces) for side in (False, True)]
        n_from, slot, depth, found = list(n_of_side), copy.slot, copy.depth, []  # n_from: how many come from a piece on
        for piece in pieces:
            at, is_last = slot, sum(n_from) == 1  # the last piece is what the others leave
            if not is_last:
                cut = self._sides.cuts[column][piece.high if piece.high < high else 0]
                missing_left = piece.is_first and piece.on_right != self._missing_left[node]
                shares = (self._share_from(share, *of_side, is_light) for of_side in zip(n_from, n_of_side, strict=True))
                number = self._add(slot, column, cut, missing_left, depth, node, *shares)
                at, slot, depth = 2 * number, 2 * number + 1, depth + 1
            n_same, child = n_of_side[piece.on_right], self._right[node] if piece.on_right else node + 1
            whole = 1.0 - (n_same - 1) * _SHARE if piece.is_first else _SHARE
            own = share * (1.0 / n_same if is_light else whole)
            if len(pieces) == 1:  # one side that has the weight of both
                own *= self._weight[node] / self._weight[child]
            reach = copy.reach | {column: (piece.low, piece.high, is_light or not piece.is_first)}
            found.append(_Copy(child, at, depth, own, reach))
            n_from[piece.on_right] -= 1
        return found

    @staticmethod
    def _share_from(share, n_from, n_of_side, is_light):
        """Which share of a side reaches a part of a chain from which `n_from` of the side's pieces come."""
        return share * (n_from / n_of_side if is_light else 1.0 if n_from == n_of_side else n_from * _SHARE)
