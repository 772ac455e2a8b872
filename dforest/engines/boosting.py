"""Boosted trees over a shard: the driver of every engine whose work is worth starting for several nodes at once.

The nodes of highest gain are divided ahead of their turn, as many as `ahead` says (`dforest.engines.frontier`). This side keeps
the tables of nodes, which are few, and decides by the rules of `rules/boost.h`; the shard works on rows.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from dforest.core.forest.assembly import TreeArrays
from dforest.core.grow.trainer import tree_seeds
from dforest.core.search.feature_order import FeatureOrder
from dforest.core.tree.layout import lay_out, number_children
from dforest.engines.frontier import Frontier
from dforest.rules import arrays, boosting
from dforest.rules.losses import LOSSES
from dforest.rules.records import constants, record

N_LEAF_WORDS = 4  # rows twice, the value, and 0


class BoostShard(ABC):
    """The rows of one device, or of one rank, and what is known of them.

    Places of nodes are `df_open_node`s. All that a shard adds up is an integer of 64 bits, and whatever else it tells of rows is
    a greatest number: so what several shards say together has the same bits, however rows are divided among them.

    Attributes
    ----------
    n_rows : int
        Of all shards.
    """

    n_rows: int

    @abstractmethod
    def measure(self):
        """The largest gradient, in magnitude, and hessian of each tree of the round that begins: float64, (n_outputs, 2)."""

    @abstractmethod
    def refine(self, factors):
        """Make derivatives fine integers, by 2 to the power of their exponents.

        Parameters
        ----------
        factors : ndarray of shape (n_outputs, 2), dtype float64

        Returns
        -------
        ndarray of shape (n_outputs, 4), dtype int64
            The largest gradient, in magnitude, and hessian, and the sums of magnitudes, times integer weights.
        """

    @abstractmethod
    def begin(self, output, words):
        """Begin the tree of an output: all rows are in its root. Its integers have these `dforest.rules.boosting.Words`."""

    @abstractmethod
    def largest(self, open_nodes):
        """The heaviest weight, the largest gradient, in magnitude, and hessian of nodes: float64, (n_nodes, 3).

        Derivatives are those of the tree that grows, times the weights.
        """

    @abstractmethod
    def refine_again(self, open_nodes, factors):
        """Make the integers of nodes anew.

        Parameters
        ----------
        factors : ndarray of shape (n_nodes, 2), dtype float64
            2 to the power of the exponents of their gradients and hessians.
        """

    @abstractmethod
    def find_cuts(self, open_nodes, features, exponents):
        """The best cut of some features of each node.

        Parameters
        ----------
        features : ndarray of shape (n_nodes, n_tried), dtype int32
        exponents : ndarray of shape (n_nodes,), dtype int32
            Of coarse hessians.

        Returns
        -------
        ndarray of shape (n_nodes, n_tried), dtype df_boost_split
        """

    @abstractmethod
    def partition(self, open_nodes, cuts):
        """Move the rows that go left to the front of their node's run: how many rows do, ndarray of (n_nodes,), int64."""

    @abstractmethod
    def add_up(self, open_nodes):
        """Sums of the fine gradients and hessians of nodes: ndarray of shape (n_nodes, 2), dtype int64."""

    @abstractmethod
    def move_on(self, open_nodes, values):
        """Add the values of leaves to the raw predictions of their rows."""

    @abstractmethod
    def raw_sums(self):
        """The sums of leaf values of the shard's own rows: ndarray of shape (n_outputs, n_own_rows), dtype float64."""


@dataclass(frozen=True)
class BoostRules:
    """All that decides boosted trees, beside their rows.

    Parameters
    ----------
    loss : str
        Of `dforest.rules.losses.LOSSES`, with leaves by Newton's steps.
    n_outputs : int
        Trees of a round.
    learning_rate, l2, min_hessian : float
    max_leaf_nodes, max_depth : int or None
    min_samples_leaf : int
    max_features : int or float
        How many features a node tries, or which share of all.
    seed : int
    weight_unit : float
        Of integer weights, if the rows' integers are multiplied by these; else 1.
    total_weight : int
        Their sum, or the number of rows.
    is_weighted : bool
        Whether derivatives are multiplied by weights that are no such integers.
    heaviest : float, default=0.0
        The weight of the heaviest row, if nodes may be light (`boost.h`); else 0.
    max_delta_step : float, default=inf
        Largest magnitude of a leaf's value before it is multiplied by the learning rate.
    """

    loss: str
    n_outputs: int
    learning_rate: float
    l2: float
    min_hessian: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    max_features: int | float
    seed: int
    weight_unit: float
    total_weight: int
    is_weighted: bool
    heaviest: float = 0.0
    max_delta_step: float = math.inf

    @property
    def has_hessian(self):
        """Whether a row has an integer for its hessian."""
        return self.is_weighted or not LOSSES[self.loss].has_constant_hessian

    @property
    def value_limits(self):
        """What `boosting.newton_values` is to know of leaves."""
        is_damped = not LOSSES[self.loss].has_constant_hessian
        return self.learning_rate, self.l2 / self.weight_unit, self.max_delta_step, is_damped, self.n_outputs


@dataclass
class RowWeights:
    """The weights of a shard's rows, as they enter its integers.

    Attributes
    ----------
    times : ndarray of shape (n_rows,), dtype uint32, or None
        Integer weights that integers are multiplied by; None: all are 1.
    weight : ndarray of shape (n_rows,), dtype float64, or None
        Weights that derivatives are multiplied by.
    unit : float
        Weights are integer weights times this.
    total : int
        Of all shards' integer weights, or the number of their rows.
    heaviest : float, default=0.0
        The heaviest weight of all shards, if nodes may be light (`boost.h`); else 0.
    """

    times: np.ndarray | None
    weight: np.ndarray | None
    unit: float
    total: int
    heaviest: float = 0.0

    @classmethod
    def of(cls, weight, integers, unit, largest, total, ends, n_rows):
        """Those of a shard's rows.

        Parameters
        ----------
        weight : ndarray of shape (n_own_rows,), dtype float64, or None
            None: all are 1, and the next two are not looked at.
        integers : ndarray of shape (n_own_rows,), dtype uint32
            ``weight / unit``, rounded.
        largest, total : int
            The largest of all shards' integers, and their sum.
        ends : ndarray of shape (2,), dtype float64
            The lightest and the heaviest weight of all shards.
        n_rows : int
            Of all shards.
        """
        if weight is None:
            return cls(None, None, 1.0, n_rows)
        if not boosting.takes_times(largest, total):
            may_be_light = boosting.are_light(ends[:1], ends[1:])[0]
            return cls(None, weight, 1.0, n_rows, float(ends[1]) if may_be_light else 0.0)
        return cls(integers, None, unit, total) if largest > 1 else cls(None, None, unit, n_rows)


class Rounds:
    """Grows boosted trees, with the methods of `dforest.core.boost.booster.Booster`.

    Parameters
    ----------
    rules : BoostRules
    shard : BoostShard
    columns : sequence of CodedColumn
        Of the shard; their values are those of all shards.
    n_trees : int
        How many trees there are already; the shard has what they add up to.
    ahead : int
        How many nodes are divided at once, if so many may be split.
    is_wide : bool
        Whether words are wide wherever there are hessians, for tests.
    """

    def __init__(self, rules, shard, columns, n_trees=0, ahead=1, is_wide=False):
        self.rules, self.shard, self.n_trees, self.ahead, self.is_wide = rules, shard, n_trees, ahead, is_wide
        ordinal = constants()["DF_ORDINAL"]
        # Thresholds, by code.
        self.values = [column.highs if int(column.kind) == ordinal else column.values for column in columns]
        self.order = FeatureOrder(len(columns))
        p, asked = len(columns), rules.max_features
        self.n_tried = min(asked, p) if isinstance(asked, Integral) else max(1, math.ceil(asked * p))

    @property
    def raw_sums(self):
        """The sums of leaf values of each row of the shard: ndarray of shape (n_outputs, n_rows), dtype float64."""
        return self.shard.raw_sums()

    def grow_round(self):
        """Grow the trees of a round: list of `TreeArrays`."""
        rules, shard = self.rules, self.shard
        exponents = boosting.fine_exponents(shard.measure())
        if not rules.has_hessian:
            exponents[:, 1] = 0
        extents = shard.refine(np.ldexp(1.0, exponents))
        trees = []
        for output in range(rules.n_outputs):
            fine = tuple(exponents[output].tolist())
            words = boosting.choose_words(
                rules.has_hessian, rules.is_weighted, extents[output], rules.total_weight, fine, self.is_wide
            )
            shard.begin(output, words)
            trees.append(_Tree(self, words, int(tree_seeds(rules.seed, range(self.n_trees, self.n_trees + 1))[0])).grow())
            self.n_trees += 1
        return trees


class _Tree:
    """A tree as it grows.

    Nodes are numbered in the order in which they are evaluated, both children of one together.
    """

    def __init__(self, rounds, words, seed):
        self.rounds, self.rules, self.shard, self.words = rounds, rounds.rules, rounds.shard, words
        root = np.zeros(1, record("df_open_node"))
        root["n"], root["path"], root["seed"] = self.shard.n_rows, arrays.ROOT_PATH, seed
        self.open_nodes, self.cuts, self.gains = root[:0], np.zeros(0, record("df_boost_split")), np.zeros(0)
        # Of nodes: the exponents of their rows' fine integers, and the heaviest weight of the rows that these were chosen for.
        self.exponents, self.reference = np.zeros((0, 2), np.int32), np.zeros(0)
        self.left = {}  # of divided nodes: the number of the left child
        self.add(root, np.array([words.fine], np.int32), np.array([self.rules.heaviest]))

    def grow(self):
        """Grow it to the end, and add its values to the rows: `TreeArrays`."""
        max_leaves = self.rules.max_leaf_nodes or math.inf
        ahead = math.inf if max_leaves == math.inf else self.rounds.ahead  # without a limit, all that wait will be split
        frontier = Frontier(0, max_leaves, lambda number: self.gains[number] if self.gains[number] > 0.0 else None, self.left)
        self.inner = frontier.inner
        while numbers := frontier.advance(lambda _: ahead):
            self.divide(numbers)
        return self.assemble()

    def divide(self, numbers):
        """Partition the rows of nodes, and evaluate their children."""
        open_nodes = self.open_nodes[numbers]
        n_left = self.shard.partition(open_nodes, self.cuts[numbers])
        nothing = np.zeros(len(numbers))
        children = arrays.children(open_nodes, n_left, nothing.astype(np.int32), nothing)
        parents = np.repeat(numbers, 2)
        first = self.add(children, self.exponents[parents], self.reference[parents])
        self.left.update(zip(numbers, range(first, len(self.open_nodes), 2), strict=True))

    def add(self, open_nodes, exponents, reference):
        """Evaluate new nodes; return the number of the first.

        Parameters
        ----------
        exponents, reference
            As of their parents; changed where nodes are light.
        """
        first, rules, words = len(self.open_nodes), self.rules, self.words
        self.weigh(open_nodes, exponents, reference)
        coarse = exponents + np.array(words.coarse, np.int32) - np.array(words.fine, np.int32)
        cuts, gains = np.zeros(len(open_nodes), self.cuts.dtype), np.zeros(len(open_nodes))
        may_be_split = open_nodes["n"] >= 2 * max(1, rules.min_samples_leaf)
        if rules.max_depth is not None:
            may_be_split &= open_nodes["depth"] < rules.max_depth
        searched = np.flatnonzero(may_be_split)
        if len(searched):
            some = open_nodes[searched]
            found = self.shard.find_cuts(some, self.features(some), np.ascontiguousarray(coarse[searched, 1]))
            found = found[np.arange(len(some)), found["score"].argmax(axis=1)]
            cuts[searched] = found
            columns = (np.ascontiguousarray(found[name]) for name in ("score", "gradient", "hessian"))
            gains[searched] = boosting.gains(*columns, rules.l2, coarse[searched], rules.weight_unit)
        self.open_nodes = np.concatenate([self.open_nodes, open_nodes])
        self.cuts, self.gains = np.concatenate([self.cuts, cuts]), np.concatenate([self.gains, gains])
        self.exponents = np.concatenate([self.exponents, exponents])
        self.reference = np.concatenate([self.reference, reference])
        return first

    def weigh(self, open_nodes, exponents, reference):
        """Give light nodes exponents of their own. INOUT exponents, reference"""
        if self.rules.heaviest == 0.0:
            return
        largest = self.shard.largest(open_nodes)
        light = boosting.are_light(np.ascontiguousarray(largest[:, 0]), reference)
        if light.any():
            reference[light] = largest[light, 0]
            exponents[light] = boosting.fine_exponents(largest[light, 1:])
            self.shard.refine_again(open_nodes[light], np.ldexp(1.0, exponents[light]))

    def features(self, open_nodes):
        """The features that nodes try, in ascending order: ndarray of shape (n_nodes, n_tried), dtype int32."""
        order, n_tried = self.rounds.order, self.rounds.n_tried
        n = len(self.rounds.values)
        if n_tried == n:
            return np.tile(np.arange(n, dtype=np.int32), (len(open_nodes), 1))
        seeds, paths = (np.ascontiguousarray(open_nodes[name]) for name in ("seed", "path"))
        return np.sort(order.draw_each(seeds, paths, 0, n_tried), axis=1)

    def assemble(self):
        """Find the values of all nodes, add those of leaves to the rows, and write the tree in preorder."""
        numbers, features = self.in_preorder()
        is_leaf, right = features < 0, np.zeros(len(numbers), np.uint32)
        number_children(features, right)
        sums = np.zeros(len(self.open_nodes), record("df_fine_sums"))
        sums["gradient_exponent"], sums["hessian_exponent"] = self.exponents.T
        leaves = numbers[is_leaf]
        divided = np.array([number for number in leaves.tolist() if number in self.left], np.int64)  # in vain
        if self.rules.heaviest > 0.0 and len(divided):  # rows below them may have integers of other exponents
            self.shard.refine_again(self.open_nodes[divided], np.ldexp(1.0, self.exponents[divided]))
        sums["gradient"][leaves], sums["hessian"][leaves] = self.shard.add_up(self.open_nodes[leaves]).T
        parents = np.ascontiguousarray(numbers[~is_leaf][::-1], np.int64)
        boosting.add_up_children(sums, parents, np.array([self.left[number] for number in parents.tolist()], np.int64))
        values = boosting.newton_values(sums[numbers], *self.rules.value_limits)
        self.shard.move_on(self.open_nodes[leaves], values[is_leaf])
        words = np.zeros((len(leaves), N_LEAF_WORDS), np.int64)
        words[:, 0] = words[:, 1] = self.open_nodes["n"][leaves]
        words[:, 2] = values[is_leaf].view(np.int64)
        cuts = self.cuts[numbers]
        thresholds = np.zeros(len(numbers))
        for i in np.flatnonzero(~is_leaf).tolist():
            thresholds[i] = self.rounds.values[features[i]][cuts["code"][i]]
        inner = np.column_stack([values, self.gains[numbers]])[~is_leaf]
        missing_left = (cuts["missing_left"] != 0) & ~is_leaf
        return TreeArrays(features, thresholds, right, missing_left, words, inner, np.zeros(0, np.int64), np.zeros(0, np.uint64))

    def in_preorder(self):
        """(the numbers of the tree's nodes in preorder, the feature of each; -1: a leaf)."""
        inner = np.array(sorted(self.inner), np.int64)
        left = np.array([self.left[number] for number in inner.tolist()], np.int64)
        features, children = np.full(len(self.open_nodes), -1, np.int32), np.zeros((len(self.open_nodes), 2), np.int64)
        features[inner], children[inner] = self.cuts["feature"][inner], np.column_stack([left, left + 1])
        at, _, ends = lay_out(np.zeros(1, np.int64), features, children, np.zeros(0, np.int64))
        numbers, in_tree = np.empty(ends[-1], np.int64), np.flatnonzero(at >= 0)
        numbers[at[in_tree]] = in_tree
        return numbers, features[numbers]
