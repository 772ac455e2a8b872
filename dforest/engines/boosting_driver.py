"""The driver of boosted trees: how nodes are evaluated, what their leaves are, and the trees of one iteration after another.

The shard (`dforest.engines.shard.BoostingShard`) has the rows, and `dforest.engines.driver` has the loop. The rules are those of
`rules/boost.h`.
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.boost.tried_columns import TriedColumns
from dforest.core.forest.assembly import TreeArrays
from dforest.core.integer_weights import integer_weights
from dforest.core.tree.layout import lay_out, number_children
from dforest.engines.driver import Driver
from dforest.rules import arrays, boosting
from dforest.rules.losses import LOSSES
from dforest.rules.records import constants, record

N_LEAF_WORDS = 4  # rows twice, the value, and 0
_NAMES_OF_NODES = ("seed", np.uint32), ("path", np.uint64), ("depth", np.int64)  # what decides the columns that a node tries


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
    def of(cls, problem, ranks=None):
        """Those of a problem's rows. A collective, if ranks have some each.

        Parameters
        ----------
        problem : BoostingProblem
        ranks : Communicator, optional
        """
        weight, n_rows = problem.weight, problem.n_rows
        if weight is None:
            return cls(None, None, 1.0, n_rows)
        integers, unit, _ = integer_weights(weight, ranks)
        largest, total = np.array([integers.max(initial=1)], np.int64), int(integers.sum(dtype=np.uint64))
        ends = np.array([weight.min(initial=np.inf), -weight.max(initial=0.0)])
        if ranks is not None:
            largest, total, ends = ranks.greatest(largest), ranks.total(total), ranks.least(ends)
        if not boosting.takes_times(int(largest[0]), total):
            may_be_light = boosting.are_light(ends[:1], -ends[1:])[0]
            return cls(None, weight, 1.0, n_rows, float(-ends[1]) if may_be_light else 0.0)
        return cls(integers, None, unit, total) if largest[0] > 1 else cls(None, None, unit, n_rows)


def check_supported(problem, what):
    """Raise ValueError if drivers have no code for a `BoostingProblem`. what : where it was to be solved, for the message"""
    loss, constraints = problem.loss, problem.constraints
    is_constrained = constraints.directions is not None or constraints.groups is not None or constraints.most_features > 0
    refused = [
        ("several outputs", problem.y.ndim > 1, "one"),
        ("loss", getattr(loss, "name", None) not in LOSSES or LOSSES[loss.name].leaf != "newton", "losses with Newton's steps"),
        ("n_drawn", problem.n_drawn is not None, "None"),
        ("constraints", is_constrained, "none"),
    ]
    for name, is_refused, allowed in refused:
        if is_refused:
            raise ValueError(f"{name} of the problem are not supported for boosted trees {what}; allowed are {allowed}")


class Iterations:
    """Grows the trees of one iteration after another, as `dforest.core.boost.booster.Booster` does on the processor.

    Parameters
    ----------
    problem : BoostingProblem
        Its columns are the shard's; their values are those of all shards.
    weights : RowWeights
    shard : BoostingShard
    ahead : int, default=1
        How many nodes are divided at once, if there is a limit on leaves.
    is_wide : bool, default=False
        Whether words are wide wherever there are Hessians, for tests.
    """

    def __init__(self, problem, weights, shard, ahead=1, is_wide=False):
        self.problem, self.weights, self.shard, self.ahead, self.is_wide = problem, weights, shard, ahead, is_wide
        self.n_trees = problem.n_grown
        ordinal = constants()["DF_ORDINAL"]
        # Thresholds, by code.
        self.values = [column.highs if int(column.kind) == ordinal else column.values for column in problem.columns]
        self.is_category = np.array([int(column.kind) == constants()["DF_CATEGORICAL"] for column in problem.columns])
        rules = problem.rules
        self.tried = TriedColumns(problem.n_features, rules.max_features, rules.colsample_bytree, rules.colsample_bylevel)

    @property
    def raw_sums(self):
        """What offsets and leaf values of rows of the shard add up to: ndarray of shape (n_sums, n_rows), dtype float64."""
        return self.shard.raw_sums()

    def grow_iteration(self):
        """Grow the trees of an iteration: list of `TreeArrays`."""
        problem, shard = self.problem, self.shard
        exponents = boosting.gradient_exponents(shard.measure())
        if not shard.has_hessian:
            exponents[:, 1] = 0
        extents = shard.quantise(np.ldexp(1.0, exponents))
        trees = []
        for output in range(problem.n_sums):
            own, is_weighted = tuple(exponents[output].tolist()), self.weights.weight is not None
            words = boosting.choose_words(shard.has_hessian, is_weighted, extents[output], self.weights.total, own, self.is_wide)
            shard.begin(output, words)
            seed = int(problem.seeds_of(range(self.n_trees, self.n_trees + 1))[0])
            trees.append(BoostingDriver(self, words, seed).grow())
            self.n_trees += 1
        return trees


class BoostingDriver(Driver):
    """Grows a boosted tree.

    Parameters
    ----------
    iterations : Iterations
    words : dforest.rules.boosting.Words
        Those of the tree's integers.
    seed : int
        The tree's.
    """

    def __init__(self, iterations, words, seed):
        super().__init__(
            iterations.problem.rules.max_leaf_nodes,
            subtree_up_to=-1,
            node=np.zeros(0, record("df_open_node")),
            cut=np.zeros(0, record("df_boost_cut")),
            score=np.zeros(0),  # the gain, in units of the loss
            # The exponents of the quantised gradients of the node's rows, and the heaviest of the rows that these were chosen for
            exponents=np.zeros((0, 2), np.int32),
            reference=np.zeros(0),
        )
        self.iterations, self.words, self.seed = iterations, words, seed
        self.rules, self.weights, self.shard = iterations.problem.rules, iterations.weights, iterations.shard

    def ahead(self, n_leaves):
        return self.iterations.ahead

    def grow(self):
        """Grow the tree, and add its values to the raw predictions: `TreeArrays`."""
        return self._assemble(*self.grow_nodes(arrays.roots(np.array([self.shard.n_rows]), np.array([self.seed]))))

    def evaluate(self, nodes, parents):
        rules, words, n = self.rules, self.words, len(nodes)
        if parents is None:
            exponents, reference = np.array([words.quantised] * n, np.int32), np.full(n, self.weights.heaviest)
        else:
            exponents, reference = self.table["exponents"][parents], self.table["reference"][parents]
        self._weigh(nodes, exponents, reference)
        narrow = exponents + np.array(words.narrow, np.int32) - np.array(words.quantised, np.int32)
        cuts, gains = np.zeros(n, record("df_boost_cut")), np.zeros(n)
        may_be_split = nodes["n"] >= 2 * max(1, rules.min_samples_leaf)
        if rules.max_depth is not None:
            may_be_split &= nodes["depth"] < rules.max_depth
        searched = np.flatnonzero(may_be_split)
        if len(searched):
            some = nodes[searched]
            found = self.shard.find_cuts(some, self._features(some), narrow[searched])
            found = found[np.arange(len(some)), found["score"].argmax(axis=1)]
            cuts[searched] = found
            columns = (np.ascontiguousarray(found[name]) for name in ("score", "gradient", "hessian"))
            gains[searched] = boosting.gains(*columns, rules.l1, rules.l2, narrow[searched], self.weights.unit)
        cuts["feature"][gains <= 0.0] = -1
        return {"cut": cuts, "score": gains, "exponents": exponents, "reference": reference}

    def partition(self, numbers):
        nodes, nothing = self.table["node"][numbers], np.zeros(len(numbers))
        n_left = self.shard.partition(nodes, self.table["cut"][numbers])
        return arrays.children(nodes, n_left, nothing.astype(np.int32), nothing)

    def _weigh(self, nodes, exponents, reference):
        """Give light nodes exponents of their own. INOUT exponents, reference"""
        if self.weights.heaviest == 0.0:
            return
        largest = self.shard.largest(nodes)
        light = boosting.are_light(np.ascontiguousarray(largest[:, 0]), reference)
        if light.any():
            reference[light] = largest[light, 0]
            exponents[light] = boosting.gradient_exponents(largest[light, 1:])
            self.shard.quantise_again(nodes[light], np.ldexp(1.0, exponents[light]))

    def _features(self, nodes):
        """The features that nodes try, in ascending order: ndarray of shape (n_nodes, n_tried), dtype int32."""
        if self.iterations.tried.tries_all:
            return np.tile(np.arange(len(self.iterations.values), dtype=np.int32), (len(nodes), 1))
        columns = (np.ascontiguousarray(nodes[name], dtype) for name, dtype in _NAMES_OF_NODES)
        return self.iterations.tried.draw_each(*columns)

    def _assemble(self, roots, feature, children):
        """Find the values of all nodes, add those of leaves to the raw predictions, and write the tree in preorder."""
        at, _, ends = lay_out(roots, feature, children, np.zeros(0, np.int64))
        numbers, in_tree = np.empty(ends[-1], np.int64), np.flatnonzero(at >= 0)
        numbers[at[in_tree]] = in_tree
        feature = feature[numbers]
        is_leaf, right = feature < 0, np.zeros(len(numbers), np.uint32)
        number_children(feature, right)
        values = self._values(numbers, is_leaf, children)
        leaves = self.table["node"][numbers[is_leaf]]
        self.shard.move_on(leaves, values[is_leaf])
        words = np.zeros((len(leaves), N_LEAF_WORDS), np.int64)
        words[:, 0] = words[:, 1] = leaves["n"]
        words[:, 2] = values[is_leaf].view(np.int64)
        cuts = self.table["cut"][numbers]
        thresholds, lengths, subsets = np.zeros(len(numbers)), [], [np.zeros(0, np.uint64)]
        for i in np.flatnonzero(~is_leaf).tolist():
            if self.iterations.is_category[feature[i]]:
                thresholds[i] = np.nan
                subsets.append(_subset(cuts[i], len(self.iterations.values[feature[i]])))
                lengths.append(len(subsets[-1]))
            else:
                thresholds[i] = self.iterations.values[feature[i]][cuts["code"][i]]
        inner = np.column_stack([values, self.table["score"][numbers]])[~is_leaf]
        missing_left = (cuts["missing_left"] != 0) & ~is_leaf
        payloads = np.array(lengths, np.int64), np.concatenate(subsets)
        return TreeArrays(feature, thresholds, right, missing_left, words, inner, *payloads)

    def _values(self, numbers, is_leaf, children):
        """What each node of the tree adds to raw predictions, or would add as a leaf, given its nodes in preorder."""
        nodes, exponents, leaves = self.table["node"], self.table["exponents"], numbers[is_leaf]
        sums = np.zeros(len(nodes), record("df_gradient_sums"))
        sums["gradient_exponent"], sums["hessian_exponent"] = exponents.T
        in_vain = np.array([number for number in leaves.tolist() if number in self.children], np.int64)  # divided
        if self.weights.heaviest > 0.0 and len(in_vain):  # rows below them may have integers of other exponents
            self.shard.quantise_again(nodes[in_vain], np.ldexp(1.0, exponents[in_vain]))
        sums["gradient"][leaves], sums["hessian"][leaves] = self.shard.add_up(nodes[leaves]).T
        parents = np.ascontiguousarray(numbers[~is_leaf][::-1])
        boosting.add_up_children(sums, parents, np.ascontiguousarray(children[parents, 0]))
        rules, is_damped = self.rules, not LOSSES[self.iterations.problem.loss.name].has_constant_hessian
        l1, l2, n_sums = rules.l1 / self.weights.unit, rules.l2 / self.weights.unit, self.iterations.problem.n_sums
        return boosting.newton_values(sums[numbers], rules.learning_rate, l1, l2, rules.max_delta_step, is_damped, n_sums)


def _subset(cut, n_categories):
    """The categories that don't go where missing values go, a bit each, without words of 0 at the end."""
    bits = int.from_bytes(cut["left"].astype("<u8").tobytes(), "little")
    if cut["missing_left"]:
        bits = ~bits
    bits &= (1 << n_categories) - 1
    n_words = -(-bits.bit_length() // 64)
    return np.frombuffer(bits.to_bytes(8 * n_words, "little"), "<u8").astype(np.uint64)
