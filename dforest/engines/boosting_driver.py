"""The driver of boosted trees: how nodes are evaluated, what their leaves are, and the trees of one iteration after another.

The shard (`dforest.engines.device.boosting.BoostingShard`) has the rows, and `dforest.engines.driver` has the loop. The rules are
those of `rules/boost.h`.

Leaves that are no Newton steps are weighted quantiles of the residuals of their rows (`dforest.core.boost.quantiles`).
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.boost.quantiles import find_quantiles
from dforest.core.boost.tried_columns import TriedColumns
from dforest.core.integer_weights import integer_weights
from dforest.engines.driver import Driver
from dforest.engines.nodes import Nodes
from dforest.rules import arrays, boosting
from dforest.rules.losses import most_robust_term, relative_weights
from dforest.rules.records import constants, record

N_LEAF_WORDS = 3  # beside values: rows twice, and 0
NODES_AT_ONCE = 4096  # whose quantiles are looked for, as each takes 2 KiB for the weights of bytes
_NAMES_OF_NODES = ("seed", np.uint32), ("key", np.uint64), ("depth", np.int64)  # what decides the columns that a node tries


@dataclass
class RowWeights:
    """The weights of a shard's rows, as they enter its integers.

    Attributes
    ----------
    times : ndarray of shape (n_rows,), dtype uint32, or None
        Integer weights that integers are multiplied by; None: all are 1.
    weight : ndarray of shape (n_rows,), dtype float64, or None
        Weights in units, that derivatives are multiplied by.
    unit : float
        The unit of weights.
    total : int
        Of this shard's integer weights, or the number of its rows.
    max_weight : float, default=0.0
        The largest weight of all shards, in units, if nodes may be light (`boost.h`); else 0.
    integers, exact : ndarray of shape (n_rows,), dtype uint32 and float64, or None
        The integer and the exact weights by which quantiles are weighted.
    """

    times: np.ndarray | None
    weight: np.ndarray | None
    unit: float
    total: int
    max_weight: float = 0.0
    integers: np.ndarray | None = None
    exact: np.ndarray | None = None

    @classmethod
    def of(cls, problem, ranks=None):
        """Those of a problem's rows. A collective, if ranks have some each.

        Parameters
        ----------
        problem : BoostingProblem
        ranks : Communicator, optional
        """
        found = cls._of_derivatives(problem, ranks)
        if problem.loss.facts.leaf == "relative":
            of_leaves = integer_weights(relative_weights(problem.y, problem.weight), ranks)
            found.integers, found.exact = of_leaves.integers, of_leaves.exact
        return found

    @classmethod
    def _of_derivatives(cls, problem, ranks):
        """`of`, if leaves have the weights of derivatives. A collective."""
        weight, n_rows = problem.weight, len(problem.y)
        if weight is None:
            return cls(None, None, 1.0, n_rows)
        found = integer_weights(weight, ranks)
        (integers, unit, exact), weight = found, found.in_units.astype(np.float64, copy=False)
        largest, own_total = np.array([integers.max(initial=1)], np.int64), int(integers.sum(dtype=np.uint64))
        ends, total = np.array([weight.min(initial=np.inf), -weight.max(initial=0.0)]), own_total
        if ranks is not None:
            largest, total, ends = ranks.greatest(largest), ranks.total(total), ranks.least(ends)
        if not boosting.takes_times(int(largest[0]), total):
            may_be_light = boosting.are_light(ends[:1], -ends[1:])[0]
            return cls(None, weight, unit, n_rows, float(-ends[1]) if may_be_light else 0.0, integers, exact)
        is_one = largest[0] <= 1
        return cls(None if is_one else integers, None, unit, n_rows if is_one else own_total, 0.0, integers)


class Iterations:
    """Grows the trees of one iteration after another, as `dforest.core.boost.booster.Booster` does on the processor.

    Parameters
    ----------
    problem : BoostingProblem
        Its columns are the shard's; their values are those of all shards.
    shard : BoostingShard
    is_wide : bool, default=False
        Whether words are wide wherever there are Hessians, for tests.
    """

    def __init__(self, problem, shard, is_wide=False):
        self.problem, self.weights, self.shard, self.is_wide = problem, shard.weights, shard, is_wide
        self.n_trees = problem.n_grown
        ordinal = constants()["DF_ORDINAL"]
        # Thresholds, by code.
        self.values = [column.highs if int(column.kind) == ordinal else column.values for column in problem.columns]
        self.is_category = np.array([int(column.kind) == constants()["DF_CATEGORICAL"] for column in problem.columns])
        rules, self.monotonic_csts = problem.rules, problem.constraints.directions
        self.tried = TriedColumns(
            problem.n_features,
            rules.max_features,
            rules.colsample_bytree,
            rules.colsample_bylevel,
            problem.constraints,
            problem.can_split,
        )
        self.is_of_classes = problem.loss.facts.is_of_classes
        self.n_outputs, self.leaf = problem.n_sums // problem.n_trees_per_iteration, problem.loss.facts.leaf
        self.parameters = problem.loss.parameters.tolist()  # of the loss in the iteration, for each sum

    @property
    def raw_sums(self):
        """What offsets and leaf values of rows of the shard add up to: ndarray of shape (n_sums, n_rows), dtype float64."""
        return self.shard.raw_sums()

    def grow_iteration(self):
        """Grow the trees of an iteration: list of `TreeArrays`."""
        problem, shard = self.problem, self.shard
        n_trees = problem.n_trees_per_iteration
        seed_of = problem.seeds_of(range(self.n_trees, self.n_trees + n_trees)).tolist()
        total, parameters = shard.draw(seed_of[0]), problem.loss.parameters
        if problem.loss.name == "huber":  # delta, beyond which rows are outliers, of all rows
            parameters = _quantiles(shard, None, 0, float(parameters[0]), np.zeros(1, np.int32))
        self.parameters = parameters.tolist()
        exponents = boosting.gradient_exponents(shard.measure(parameters))
        if not shard.has_hessian:
            exponents[:, 1] = 0
        extents = shard.quantise(np.ldexp(1.0, exponents))
        trees, is_weighted = [], self.weights.weight is not None
        for tree in range(n_trees):
            sums = range(tree * self.n_outputs, (tree + 1) * self.n_outputs)

            def words_of(is_wide, sums=sums):
                given = shard.has_hessian, is_weighted
                return [boosting.choose_packing(*given, extents[k], total, tuple(exponents[k].tolist()), is_wide) for k in sums]

            words = words_of(self.is_wide)
            words = words_of(self.is_wide or any(of_output.kind == boosting.WIDE for of_output in words))
            has_tail = not self.is_of_classes and any(boosting.has_heavy_tail(extents[k], total) for k in sums)
            shard.begin(tree, words[0].kind)
            trees.append(BoostingDriver(self, words, has_tail, seed_of[tree]).grow())
            self.n_trees += 1
        return trees


class BoostingDriver(Driver):
    """Grows a boosted tree.

    Parameters
    ----------
    iterations : Iterations
    words : list of dforest.rules.boosting.Words
        Those of the tree's integers, of one kind, for each output.
    has_tail : bool
        Whether derivatives have a heavy tail, so that nodes may be light (`boost.h`) without it.
    seed : int
        The tree's.
    """

    def __init__(self, iterations, words, has_tail, seed):
        n_bounds = 0 if iterations.monotonic_csts is None else len(words)
        super().__init__(
            iterations.problem,
            iterations.shard,
            subtree_up_to=-1,
            parent=np.zeros(0, np.int64),
            cut=np.zeros(0, record("df_boost_cut")),
            subset=np.zeros(0, object),  # of the cut: of categories, a bit for each code that goes left
            # The exponents of the quantised gradients of the node's rows, by output, and the largest weight of the rows that
            # these were chosen for.
            exponents=np.zeros((0, len(words), 2), np.int32),
            reference=np.zeros(0),
            # Bounds of the node's steps by output, in units of predictions, and where the cut parts them.
            bounds=np.zeros((0, n_bounds, 2)),
            midpoints=np.zeros((0, n_bounds)),
        )
        self.iterations, self.words, self.has_tail, self.seed = iterations, words, has_tail, seed
        self.weights, self.monotonic_csts = iterations.weights, iterations.monotonic_csts

    def ahead(self, n_leaves):
        return self.shard.ahead

    def grow(self):
        """Grow the tree, and add its values to the raw predictions: `TreeArrays`."""
        (tree,) = self.grow_trees(arrays.roots(np.array([self.shard.n_rows]), np.array([self.seed])))
        return tree

    def evaluate(self, nodes, parents):
        rules, n = self.rules, len(nodes)
        if parents is None:
            of_root = [of_output.quantised for of_output in self.words]
            exponents, reference = np.array([of_root] * n, np.int32), np.full(n, self.weights.max_weight)
        else:
            exponents, reference = self.table["exponents"][parents], self.table["reference"][parents]
        self._requantise(nodes, exponents, reference)
        narrow = self._narrow(exponents)
        cuts, gains, subsets = np.zeros(n, record("df_boost_cut")), np.zeros(n), np.full(n, None)
        bounds = self._bounds(n, parents)
        midpoints = np.zeros(bounds.shape[:2])
        may_be_split = nodes["n"] >= 2 * max(1, rules.min_samples_leaf)
        if rules.max_depth is not None:
            may_be_split &= nodes["depth"] < rules.max_depth
        parents = np.full(n, -1, np.int64) if parents is None else parents
        features = self._features(nodes[may_be_split], parents[may_be_split])
        may_be_split[may_be_split] = features[:, 0] >= 0
        searched = np.flatnonzero(may_be_split)
        if len(searched):
            some, features, within = nodes[searched], features[features[:, 0] >= 0], None
            units = np.diff(narrow[searched])[:, :, 0]
            if self.monotonic_csts is not None:
                within = np.ldexp(bounds[searched], -units[:, :, None])
            cuts[searched], found, parted = self.shard.find_cuts(some, features, narrow[searched], within)
            if self.monotonic_csts is not None:
                midpoints[searched] = np.ldexp(parted, units)
            for number, subset in zip(searched.tolist(), found, strict=True):
                subsets[number] = subset
            gains[searched] = self._gains(cuts[searched], narrow[searched])
        units = boosting.units_of_scores(narrow)
        gains = boosting.enough_gains(gains, units, self.weights.unit, rules.min_gain)
        cuts["feature"][gains <= 0.0] = -1
        found = {"parent": parents, "cut": cuts, "subset": subsets, "score": gains, "unit": units}
        return {**found, "exponents": exponents, "reference": reference, "bounds": bounds, "midpoints": midpoints}

    def _bounds(self, n, parents):
        """The bounds of n new nodes: ndarray of shape (n, n_bounds, 2). parents : left and right children in turn, or None"""
        if parents is None or self.monotonic_csts is None:
            return np.tile([-np.inf, np.inf], (n, self.table["bounds"].shape[1], 1))
        numbers = parents[::2]
        monotonic_csts = self.monotonic_csts[self.table["cut"]["feature"][numbers]]
        return boosting.bounds_of_children(self.table["bounds"][numbers], self.table["midpoints"][numbers], monotonic_csts)

    def _gains(self, cuts, narrow):
        """What cuts gain, as `boosting.gains` says; 0 where there is none."""
        if len(self.words) > 1:
            return np.where(cuts["score"] > 0.0, cuts["score"], 0.0)
        limits = self.rules.l1, self.rules.l2, narrow[:, 0], self.weights.unit
        return boosting.gains(cuts["score"], cuts["gradient"], cuts["hessian"], *limits, self.monotonic_csts is not None)

    def directions(self, cuts):
        return np.zeros(len(cuts), np.int32), np.zeros(len(cuts))  # nodes have their bounds in the table

    def _narrow(self, exponents):
        """The exponents of narrow gradients and hessians, given those of quantised ones."""
        lost = [np.subtract(of_output.narrow, of_output.quantised) for of_output in self.words]
        return exponents + np.array(lost, np.int32)

    def _weigh_leaves(self, numbers):
        """Give leaves of a finished tree exponents of their own where they need them for their values."""
        if self.has_tail:
            nodes, exponents, reference = (self.table[name][numbers] for name in ("node", "exponents", "reference"))
            self._requantise(nodes, exponents, reference, are_leaves=True)
            self.table["exponents"][numbers] = exponents

    def _requantise(self, nodes, exponents, reference, are_leaves=False):
        """Give light nodes exponents of their own. INOUT exponents, reference"""
        if not self._may_be_light:
            return
        largest, has_hessian = self.shard.largest(nodes), self.shard.has_hessian
        light = np.zeros(len(nodes), bool)
        if self.weights.max_weight > 0.0:
            light |= boosting.are_light(largest[:, 0, 0], reference)
        if self.has_tail:
            light |= boosting.are_far_below(largest[:, :, 1:], exponents, has_hessian, are_leaves)
        if light.any():
            reference[light] = largest[light, 0, 0]
            found = boosting.gradient_exponents(largest[light, :, 1:].reshape(-1, 2)).reshape(exponents[light].shape)
            if not has_hessian:
                found[:, :, 1] = 0  # they are counted
            exponents[light] = found
            self.shard.quantise_again(nodes[light], np.ldexp(1.0, exponents[light]))

    def _features(self, nodes, parents):
        """The features that nodes try: see `TriedColumns.draw_each`."""
        if self.iterations.tried.tries_all:
            return np.tile(np.arange(len(self.iterations.values), dtype=np.int32), (len(nodes), 1))
        columns = (np.ascontiguousarray(nodes[name], dtype) for name, dtype in _NAMES_OF_NODES)
        tested = [self._tested_above(parent) for parent in parents.tolist()]
        ends = np.cumsum([len(features) for features in tested], dtype=np.int64)
        return self.iterations.tried.draw_each(*columns, np.array([j for features in tested for j in features], np.int32), ends)

    def _tested_above(self, number):
        """The features that an evaluated node and those above it test, which constraints ask for: list of int."""
        constraints, found = self.iterations.problem.constraints, set()
        while number >= 0 and (constraints.groups is not None or constraints.most_features):
            found.add(int(self.table["cut"]["feature"][number]))
            number = int(self.table["parent"][number])
        return sorted(found)

    def describe(self, numbers, feature):
        """Find the values of all nodes, and add those of leaves to the raw predictions."""
        is_leaf = feature < 0
        values = self._values(numbers, is_leaf)
        leaves, cuts = self.table["node"][numbers[is_leaf]], self.table["cut"][numbers]
        self.shard.update_raw_predictions(leaves, values[is_leaf])
        words = np.zeros((len(leaves), N_LEAF_WORDS + len(self.words)), np.int64)
        words[:, 0] = words[:, 1] = leaves["n"]
        words[:, 2:-1] = values[is_leaf].view(np.int64)
        thresholds, subsets = np.zeros(len(numbers)), [np.zeros(0, np.uint64)]
        for i in np.flatnonzero(~is_leaf).tolist():
            if self.iterations.is_category[feature[i]]:
                thresholds[i] = np.nan
                n_categories = len(self.iterations.values[feature[i]])
                subsets.append(_payload(self.table["subset"][numbers[i]], cuts["missing_left"][i], n_categories))
            else:
                thresholds[i] = self.iterations.values[feature[i]][cuts["code"][i]]
        of_nodes = values if self.iterations.leaf == "newton" else np.zeros_like(values)
        gains = boosting.absolute_gains(self.table["score"][numbers], self.table["unit"][numbers], self.weights.unit)
        inner = np.column_stack([of_nodes, gains])[~is_leaf]
        missing_left = (cuts["missing_left"] != 0) & ~is_leaf
        payloads = np.array([len(subset) for subset in subsets[1:]], np.int64), np.concatenate(subsets)
        return Nodes(feature, thresholds, missing_left, words, inner, *payloads)

    def _values(self, numbers, is_leaf):
        """What each node of the tree adds to raw predictions, or would add as a leaf, given their numbers, ascending.

        Returns
        -------
        ndarray of shape (n_nodes, n_outputs), dtype float64
        """
        if self.iterations.leaf != "newton":
            return self._weighed_values(numbers, is_leaf)
        nodes, exponents, children = (self.table[name] for name in ("node", "exponents", "children"))
        leaves = numbers[is_leaf]
        in_vain = leaves[children[leaves].any(axis=1)]  # divided
        if self._may_be_light and len(in_vain):  # rows below them may have integers of other exponents
            self.shard.quantise_again(nodes[in_vain], np.ldexp(1.0, exponents[in_vain]))
        self._weigh_leaves(leaves)
        of_leaves, parents = self.shard.add_up(nodes[leaves]), np.ascontiguousarray(numbers[~is_leaf][::-1])
        left, values = np.ascontiguousarray(children[parents, 0]), np.empty((len(numbers), len(self.words)))
        rules, step_limits = self.rules, self._step_limits
        l1, l2 = rules.l1 / self.weights.unit, rules.l2 / self.weights.unit
        for k in range(len(self.words)):
            sums = np.zeros(len(nodes), record("df_gradient_sums"))
            sums["gradient_exponent"], sums["hessian_exponent"] = exponents[:, k].T
            sums["gradient"][leaves], sums["hessian"][leaves] = of_leaves[:, k].T
            boosting.add_up_children(sums, parents, left)
            values[:, k] = boosting.newton_values(sums[numbers], rules.learning_rate, l1, l2, *step_limits)
        if self.monotonic_csts is None:
            return self._smoothed(values, numbers)
        steps = self.table["bounds"][numbers]
        bounds = boosting.values_of_steps(steps.ravel(), rules.learning_rate, *step_limits).reshape(steps.shape)
        return self._smoothed(boosting.clip(values, bounds), numbers, bounds)

    def _smoothed(self, values, numbers, bounds=None):
        """Values of nodes, drawn towards those of the nodes above them if rules ask for it. All of the nodes `numbers` alone."""
        if self.rules.path_smooth == 0.0:
            return values
        parents = np.searchsorted(numbers, self.table["parent"][numbers])
        parents[0] = -1
        n_rows = np.ascontiguousarray(self.table["node"]["n"][numbers], np.int64)
        return boosting.smoothed_values(np.ascontiguousarray(values), parents, n_rows, self.rules.path_smooth, bounds)

    @property
    def _may_be_light(self):
        """Whether nodes may be light: bool."""
        return self.weights.max_weight > 0.0 or self.has_tail

    @property
    def _step_limits(self):
        """What the sizes of leaves follow from, beside the learning rate: see `dforest.rules.boosting.newton_values`."""
        loss = self.iterations.problem.loss
        return self.rules.max_delta_step, loss.is_damped, loss.n_coupled

    def _weighed_values(self, numbers, is_leaf):
        """`_values` of leaves that are quantiles, robust means, or said by the loss.

        Inner nodes get such values too where those of leaves depend on them: with bounds, or if they are smoothed.
        """
        nodes = self.table["node"]
        values = np.zeros((len(nodes), len(self.words)))
        asked = numbers[is_leaf] if self.monotonic_csts is None and self.rules.path_smooth == 0.0 else numbers
        some = nodes[asked]
        shifts = np.zeros(len(some), np.int32)
        if self.weights.exact is not None:
            shifts = arrays.shifts_if_light(shifts, self.shard.max_weight(some))
        for k in range(len(self.words)):
            steps = self._steps(some, k, shifts)
            values[asked, k] = boosting.values_of_steps(steps, self.rules.learning_rate, *self._step_limits)
        if self.monotonic_csts is None:
            return self._smoothed(values[numbers], numbers)
        parents = np.ascontiguousarray(numbers[~is_leaf])
        monotonic_csts = self.monotonic_csts[self.table["cut"]["feature"][parents]]
        bounds = boosting.bounds_of_values(values, parents, self.table["children"][parents], monotonic_csts)
        return self._smoothed(boosting.clip(values, bounds)[numbers], numbers, np.ascontiguousarray(bounds[numbers]))

    def _steps(self, nodes, output, shifts):
        """The steps of nodes by the rows that they have, in an output."""
        iterations = self.iterations
        if iterations.leaf == "own":
            return self.shard.custom_values(nodes)
        parameter = iterations.parameters[output]
        quantile = parameter if iterations.leaf == "quantile" else 0.5
        found = _quantiles(self.shard, nodes, output, quantile, shifts)
        if iterations.leaf != "robust":
            return found
        most = most_robust_term(iterations.problem.loss.name, parameter)
        (exponent,) = boosting.gradient_exponents(np.array([[most]]))[0].tolist()
        sums = self.shard.sum_terms(nodes, output, found, parameter, np.ldexp(1.0, exponent), shifts).tolist()
        means = [float(low + (high << 31)) / weight for low, high, weight in sums]
        return found + np.ldexp(means, -exponent)


def _quantiles(shard, nodes, output, quantile, shifts):
    """The weighted quantiles of the residuals of nodes' rows: ndarray of shape (n_nodes,), dtype float64.

    Parameters
    ----------
    shard : BoostingShard
    nodes : ndarray of df_open_node, or None
        None: of the distances of all rows from their targets.
    output : int
    quantile : float
    shifts : ndarray of shape (n_nodes,), dtype int32
        Of the nodes' weights.
    """
    found = []
    for first in range(0, len(shifts), NODES_AT_ONCE):
        part = slice(first, first + NODES_AT_ONCE)
        own, own_shifts = None if nodes is None else nodes[part], shifts[part]
        found.append(
            find_quantiles(
                len(own_shifts),
                quantile,
                lambda which, keys, own=own, shifts=own_shifts: shard.weights_of_bytes(own, output, which, keys, shifts),
                lambda some, keys, own=own: shard.next_keys(None if own is None else own[some], output, keys),
            )
        )
    return np.concatenate(found)


def _payload(subset, missing_left, n_categories):
    """The categories that don't go where missing values go, a bit each, without words of 0 at the end."""
    bits = int.from_bytes(subset.astype("<u8").tobytes(), "little")
    if missing_left:
        bits = ~bits
    bits &= (1 << n_categories) - 1
    n_words = -(-bits.bit_length() // 64)
    return np.frombuffer(bits.to_bytes(8 * n_words, "little"), "<u8").astype(np.uint64)
