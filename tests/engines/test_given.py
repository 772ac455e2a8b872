"""Trees and subtrees of given records: those of the processor's own engine, to the bit, whoever split the nodes above."""

import numpy as np
import pytest
from helpers import device_forests
from helpers.host_device import strict_device
from sklearn.base import clone

import dforest
from dforest.core.grow import trainer
from dforest.engines import given
from dforest.engines.base import Engine, GrownTree, Session
from dforest.engines.cpu import CpuEngine
from dforest.engines.device import engine as device_engine
from dforest.engines.device.shard import ForestShard
from dforest.engines.device.training import Training
from dforest.engines.fit_report import Stopwatch
from dforest.engines.nodes import Nodes
from dforest.estimators.forest import base as estimators
from dforest.rules import arrays
from dforest.rules.arrays import ROOT_KEY
from dforest.rules.records import record
from dforest.testing import engine_check

LARGE = 1 << 20  # more than any tree has


def grow_given(problem, codes, *others):
    """`dforest.engines.given.grow_given`, for codes that lie row by row."""
    types = given.code_types(problem.columns)
    return given.grow_given(problem, [codes[:, j].astype(dtype) for j, dtype in enumerate(types)], *others)



def as_received(codes, records, y, exact_weight, open_nodes, seed):
    """Records of some nodes as another rank might send them: in any order, with what belongs to their rows alone.

    exact_weight : of each record, or None
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(open_nodes))  # in which their records come
    runs = [first + rng.permutation(n) for first, n in open_nodes[["first", "n"]][order].tolist()]
    chosen = np.concatenate([np.zeros(0, np.int64), *runs]).astype(np.int64)
    records, open_nodes = records[chosen], open_nodes.copy()
    open_nodes["first"][order] = np.cumsum(open_nodes["n"][order]) - open_nodes["n"][order]
    rows, to = records["row"].copy(), rng.permutation(len(records))
    received = np.empty((len(records), codes.shape[1]), codes.dtype)
    received[to] = codes[rows]
    exact = None if y is None else np.empty(len(records))
    if y is not None:
        exact[to] = y[rows]
    weights = None if exact_weight is None else np.empty(len(records))
    if exact_weight is not None:
        weights[to] = exact_weight[chosen]
    records["row"] = to
    return (received, records, exact, open_nodes), weights


def root_weight(records, exact_weight):
    """The weight of all draws of a tree, in the units of all rows."""
    weight, shift = records["weight"].astype(np.int64), 0
    if exact_weight is not None:
        (shift,) = arrays.shifts_if_light(np.zeros(1, np.int32), exact_weight.max(keepdims=True)).tolist()
    if shift:
        weight = np.maximum(1, np.rint(np.ldexp(exact_weight, shift - 992))).astype(np.int64)
    return np.ldexp(float((records["count"] * weight).sum()), -shift)


class GivenEngine(Engine):
    """Grows whole trees of given records."""

    name = "given"

    def __init__(self, n_threads):
        self.n_threads = n_threads

    estimate_memory = CpuEngine.estimate_memory

    def open(self, problem):
        return GivenSession(problem, self.n_threads)


class GivenSession(Session):
    def __init__(self, problem, n_threads):
        super().__init__(problem, Stopwatch("given"))
        self.n_threads = n_threads

    def close(self):
        pass

    def _take_targets(self):
        pass

    def _draw(self, seed):
        """(records, unit, exact weights of the records or None) of a tree."""
        problem, targets = self.problem, self.problem.targets
        counts = problem.sampling.counts(problem.n_rows, seed)
        weight, unit, exact = targets.weight, targets.weight_unit, targets.exact_weight
        if targets.balance is not None:
            ((counts,), ((weight, unit, exact),)) = problem.weigh_draws([seed])
        rows = np.flatnonzero(counts)
        records = np.zeros(len(rows), record("df_record"))
        records["row"], records["count"], records["target"] = rows, counts[rows], targets.classes[rows]
        records["weight"] = 1 if weight is None else weight[rows]
        return records, unit, None if exact is None else exact[rows]

    def _grow(self, trees, sink, keep_leaves):
        problem = self.problem
        seeds = problem.seeds_of(trees)
        drawn, units, exact = zip(*(self._draw(int(seed)) for seed in seeds), strict=True)
        records, open_nodes = np.concatenate(drawn), np.zeros(len(seeds), record("df_open_node"))
        open_nodes["n"] = [len(one) for one in drawn]
        open_nodes["first"] = np.cumsum(open_nodes["n"]) - open_nodes["n"]
        open_nodes["seed"], open_nodes["key"] = seeds, ROOT_KEY
        open_nodes["lower"], open_nodes["upper"] = -np.inf, np.inf
        open_nodes["first_weight"] = [0 if own is not None else -1 for own in exact]
        open_nodes["root_weight"] = [(one["count"].astype(np.int64) * one["weight"]).sum() for one in drawn]
        dtype = max((column.codes.dtype for column in problem.columns), key=lambda dtype: dtype.itemsize)
        codes = np.stack([column.codes.astype(dtype) for column in problem.columns], axis=1)
        of_records = None
        if any(own is not None for own in exact):
            pairs = list(zip(drawn, exact, strict=True))
            of_records = np.concatenate([np.zeros(len(one)) if own is None else own for one, own in pairs])
            open_nodes["root_weight"] = [root_weight(*pair) for pair in pairs]
        received, weights = as_received(codes, records, problem.targets.numbers, of_records, open_nodes, problem.seed % 2**32)
        grown = grow_given(problem, *received, self.n_threads, weights)
        assert grown.leaf_firsts is None
        found = grown.nodes.trees(np.concatenate([[0], np.cumsum(grown.lengths)]))
        for number, tree, unit in zip(trees, found, units, strict=True):
            if not sink.put(GrownTree(number, tree, unit)):
                return



def fit_given(estimator, X, y, weight, n_threads, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(estimators, "engine_on", lambda *_: GivenEngine(n_threads))
        return clone(estimator).fit(X, y, weight)


@pytest.mark.parametrize("tuning", [{}, {"parallel_from": 1, "parallel_visits_from": 0}, {"parallel_from": 50, "cache_bytes": 0}],
                         ids=["default", "share everything", "share subtrees"])  # fmt: skip
@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_whole_trees(n_threads, tuning, monkeypatch):
    monkeypatch.setattr(estimators, "TUNING", tuning)
    for seed in range(1000, 1040):
        estimator, X, y, weight = device_forests.random_fit(seed)
        here = clone(estimator).fit(X, y, weight)
        there = fit_given(estimator, X, y, weight, n_threads, monkeypatch)
        assert device_forests.differences(here, there) == [], (seed, estimator)


@pytest.mark.parametrize("parameters", [
    {"criterion": "absolute_error"},
    {"criterion": "absolute_error", "method": "dense", "min_impurity_decrease": 0.01},
    {"criterion": "absolute_error", "splitter": "random", "method": "dense", "max_depth": 6},
    {"criterion": "absolute_error", "monotonic_cst": [1, 0, -1, 0], "max_leaf_nodes": 30},
    {"criterion": "squared_error", "method": "dense", "monotonic_cst": [1, 0, -1, 0]},
    {"criterion": "poisson", "method": "dense", "max_leaf_nodes": 25, "max_features": 2},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("n_threads", [1, 8])
def test_whole_trees_of_what_no_kernel_has(n_threads, parameters, monkeypatch):
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((900, 4)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.exp(np.round(np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, 2]) + rng.standard_normal(900), 1))
    weight = rng.random(900) if n_threads == 8 else None
    estimator = dforest.RandomForestRegressor(5, random_state=3, **parameters)
    here = clone(estimator).fit(X, y, weight)
    there = fit_given(estimator, X, y, weight, n_threads, monkeypatch)
    assert device_forests.differences(here, there) == []


@pytest.fixture
def shipped(monkeypatch):
    """On devices, subtrees are grown from given records: the most records of one, for each call."""
    calls = []

    class KeepingTraining(Training):
        def __init__(self, device, stated, tuning, n_threads):
            super().__init__(device, stated, tuning, n_threads)
            self.stated = stated

    class ShippingShard(ForestShard):
        def grow_subtrees(self, open_nodes):
            t = self.training
            y, draws, exact = None if t.y is None else t.y.get(), self.records.get(), None
            if self.has_exact_weights:
                first = np.zeros(len(draws), np.int64)
                for open_node in open_nodes:
                    first[open_node["first"] : open_node["first"] + open_node["n"]] = open_node["first_weight"]
                exact = np.where(first < 0, 0.0, self.exact_weight.get()[np.maximum(first, 0) + draws["row"]])
            received, weights = as_received(t.codes.get(), draws, y, exact, open_nodes, len(calls))
            calls.append(open_nodes["n"].max(initial=0))
            return grow_given(t.stated, *received, (1, 2, 8)[len(calls) % 3], weights)

    monkeypatch.setattr(device_engine, "Training", KeepingTraining)
    monkeypatch.setattr(device_engine, "ForestShard", ShippingShard)
    return calls


@pytest.mark.parametrize("up_to", [0, 20, 300, LARGE])
def test_subtrees_below_what_is_grown_level_by_level(up_to, shipped, monkeypatch):
    tuning = {"subtree_up_to": up_to, "chunk": LARGE}
    for seed in range(2000, 2060):
        # Subtrees that are grown one after another share their nodes; or each is alone, and is shared itself.
        monkeypatch.setattr(estimators, "TUNING", ({}, {"parallel_visits_from": 0}, {"parallel_from": 1})[seed % 3])
        estimator, X, y, weight = device_forests.random_fit(seed)
        here = clone(estimator).fit(X, y, weight)
        with device_forests.standing_in(strict_device()):
            there = device_forests.fit_there(estimator, X, y, weight, tuning=tuning)
        assert device_forests.differences(here, there) == [], (seed, estimator)
    assert min(up_to, 20) <= max(shipped, default=0) <= up_to


def small_problem(**rules):
    """A problem of 300 rows, and one record that stands for each, of codes that differ."""
    _, problem = engine_check.random_problem(1, "weighted classes", **rules)
    codes = np.stack([column.codes for column in problem.columns], axis=1)
    _, first = np.unique(codes, axis=0, return_index=True)
    records = np.zeros(len(first), record("df_record"))
    records["row"], records["count"], records["target"] = first, 1, problem.targets.classes[first]
    records["weight"] = problem.targets.weight[first]
    return problem, codes, records


def open_node_of(first, n, depth=0, root_weight=1000):
    open_node = np.zeros(1, record("df_open_node"))
    open_node["first"], open_node["n"], open_node["depth"], open_node["root_weight"] = first, n, depth, root_weight
    open_node["seed"], open_node["key"], open_node["lower"], open_node["upper"] = 5, 77 if depth else ROOT_KEY, -np.inf, np.inf
    return open_node


def test_depth_is_limited_by_the_rows_of_the_problem():
    """A node of two records may be far below the root, whatever rows the other given records have."""
    problem, codes, records = small_problem()
    pair = records[[0, np.flatnonzero(records["target"] != records["target"][0])[0]]].copy()
    received, pair["row"] = codes[pair["row"]], [0, 1]
    for depth, n_nodes in ((298, 3), (300, 1)):
        (n,) = grow_given(problem, received, pair, None, open_node_of(0, 2, depth), 1).lengths
        assert n == n_nodes, depth
    problem, _, _ = small_problem(max_depth=7)
    assert grow_given(problem, received, pair, None, open_node_of(0, 2, 6), 1).lengths == 3
    assert grow_given(problem, received, pair, None, open_node_of(0, 2, 7), 1).lengths == 1


def test_rules_refer_to_the_weight_of_the_whole_tree():
    problem, codes, records = small_problem(min_weight_fraction_leaf=0.1)
    weight = int(records["weight"].sum())
    for root_weight, is_split in ((weight, True), (6 * weight, False)):
        grown = grow_given(problem, codes, records, None, open_node_of(0, len(records), 3, root_weight), 2)
        assert (grown.lengths > 1) == is_split
    problem, _, _ = small_problem(min_impurity_decrease=0.01)
    for root_weight, is_split in ((weight, True), (10**6 * weight, False)):
        grown = grow_given(problem, codes, records, None, open_node_of(0, len(records), 3, root_weight), 2)
        assert (grown.lengths > 1) == is_split


def test_results_are_in_the_order_of_the_nodes():
    """Of one record, and of more, alone or together, in any order; a record may be in several."""
    problem, codes, records = small_problem()
    rng = np.random.default_rng(3)
    firsts = rng.integers(0, len(records), 50)
    lengths = 1 + (rng.random(50) * rng.random(50) * (len(records) - firsts)).astype(int)
    lengths[:3] = 1
    open_nodes = np.concatenate([open_node_of(first, n, 9) for first, n in zip(firsts, lengths, strict=True)])
    together = grow_given(problem, codes, records, None, open_nodes, 3)
    trees = list(together.nodes.trees(np.concatenate([[0], np.cumsum(together.lengths)])))
    assert len(trees) == 50 and min(together.lengths) == 1 < max(together.lengths)
    for open_node, tree in zip(np.split(open_nodes, 50), trees, strict=True):
        alone = grow_given(problem, codes, records, None, open_node, 1)
        (expected,) = alone.nodes.trees(np.array([0, alone.lengths[0]]))
        for name, mine, right in zip(tree._fields, tree, expected, strict=True):
            assert mine.dtype == right.dtype and mine.shape == right.shape and mine.tobytes() == right.tobytes(), name


def test_no_nodes():
    problem, codes, records = small_problem()
    grown = grow_given(problem, codes[:0], records[:0], None, open_node_of(0, 1)[:0], 2)
    assert len(grown.lengths) == len(grown.nodes.feature) == 0 and list(grown.nodes.trees(np.zeros(1, np.int64))) == []
    assert Nodes.join([grown.nodes, grown.nodes]).leaves.shape == (0, problem.objective.n_leaf_words)


def test_what_cannot_be_is_refused():
    problem, codes, records = small_problem()
    for first, n in ((0, 0), (-1, 3), (len(records), 1), (0, len(records) + 1)):
        with pytest.raises(ValueError, match="open nodes"):
            grow_given(problem, codes, records, None, open_node_of(first, n), 1)
    with pytest.raises(ValueError, match=f"row {records['row'].max()}, of 3 rows"):
        grow_given(problem, codes[:3], records, None, open_node_of(0, 2), 1)
    problem, _, _ = small_problem(max_leaf_nodes=5)
    assert grow_given(problem, codes, records, None, open_node_of(0, 50), 1).lengths == 9
    with pytest.raises(ValueError, match="best first; allowed are whole trees"):
        grow_given(problem, codes, records, None, open_node_of(0, 50, 2), 1)


def test_threads_help_with_a_given_tree(monkeypatch):
    """One tree and many threads: it is grown in parts, and remains what it is."""
    joined = []

    def join_parts(parts):
        joined.append(len(parts))
        return join(parts)

    join = trainer.join_parts
    monkeypatch.setattr(trainer, "join_parts", join_parts)
    monkeypatch.setattr(estimators, "TUNING", {"parallel_from": 50, "parallel_visits_from": 2000})
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 6))
    y = X[:, 0] * X[:, 1] + rng.standard_normal(len(X))
    for parameters in ({}, {"criterion": "poisson"}, {"max_leaf_nodes": 500}):
        estimator = dforest.RandomForestRegressor(1, random_state=1, **parameters)
        here = clone(estimator).fit(X, np.exp(y), None)
        for _ in range(50):  # threads may be late
            there = fit_given(estimator, X, np.exp(y), None, 8, monkeypatch)
            assert device_forests.differences(here, there) == [], parameters
            if joined:
                break
    assert joined and min(joined) > 1
