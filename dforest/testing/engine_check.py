"""What an engine must do, tried on small problems: a test of dforest's engines, and of any other.

The trees of any engine are compared with those of the processor on one thread, which other tests compare with naive twins.
"""

import numpy as np

from dforest.core.coding import code_columns
from dforest.core.integer_weights import integer_weights
from dforest.core.objective import ClassObjective, NumberObjective
from dforest.core.sampling import AllRows, Bootstrap
from dforest.engines.cpu import CpuEngine
from dforest.engines.fitting import ForestSink
from dforest.engines.problem import GrowthRules, Problem, Targets, needs_wide_sums
from dforest.engines.weights import ClassBalance
from dforest.estimators.forest.base import SPLITTERS

TWO_THIRDS = Bootstrap(200)  # of the rows of a random problem


class Kept:
    """A sink that keeps copies of trees.

    Parameters
    ----------
    most : int, optional
        How many trees it wants. None means all.
    """

    def __init__(self, most=None):
        self.trees = []
        self._most = most

    def put(self, tree):
        if len(self.trees) == self._most:
            raise AssertionError(f"tree {tree.number} came after the sink had enough")
        self.trees.append(tree._replace(arrays=tree.arrays.copy()))
        return len(self.trees) != self._most


def random_targets(seed, n_rows, kind):
    """Random targets: "classes", "weighted classes", "balanced classes", "numbers" or "numbers of many magnitudes of weights"."""
    rng = np.random.default_rng(seed)
    if kind.startswith("numbers"):
        classes, numbers = np.zeros(n_rows, np.int32), np.round(rng.standard_normal(n_rows), 2)
        if kind == "numbers":
            return Targets(classes, numbers)
        weights = integer_weights(10.0 ** rng.uniform(-40.0, 0.0, n_rows))
        return Targets(classes, numbers, weights.integers, weights.unit, exact_weight=weights.exact)
    classes = rng.integers(0, 3, n_rows).astype(np.int32)
    classes[:3] = 0, 1, 2
    if kind == "classes":
        return Targets(classes)
    weight = rng.integers(1, 5, n_rows).astype(np.uint32)
    return Targets(classes, None, weight, 0, ClassBalance(classes, 3) if kind == "balanced classes" else None)


def random_problem(seed, kind="classes", n_rows=300, sampling=TWO_THIRDS, **rules):
    """A random problem of three columns, for method "hist": (X, Problem)."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n_rows, 3)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    columns = code_columns(X, 16, None, 1, np.zeros(3, np.int8), np.zeros(3, np.int32), False)
    objective, name = (NumberObjective(), "squared_error") if kind.startswith("numbers") else (ClassObjective(3), "gini")
    splitter = SPLITTERS["hist", "best"]().configure(2, False, {}, True)
    targets = random_targets(seed, n_rows, kind)
    monotonic_csts = np.zeros(3, np.int8)
    criterion, rules = objective.make_criterion(name, needs_wide_sums(targets, n_rows)), GrowthRules(**rules)
    return X, Problem(tuple(columns), targets, objective, criterion, splitter, rules, sampling, seed, False, monotonic_csts)


def assert_equal_trees(trees, others):
    """Raise AssertionError unless lists of `GrownTree` are equal to the bit."""
    assert [tree.number for tree in trees] == [tree.number for tree in others]
    for tree, other in zip(trees, others, strict=True):
        assert tree.weight_unit == other.weight_unit, tree.number
        is_leaf = other.arrays.feature < 0
        for name in tree.arrays._fields:
            mine, right = getattr(tree.arrays, name), getattr(other.arrays, name)
            if name == "right":  # for leaves it means nothing
                mine, right = mine[~is_leaf], right[~is_leaf]
            assert mine.dtype == right.dtype and mine.tobytes() == right.tobytes(), (tree.number, name)


def check_engine(engine, seed=0):
    """Check that an engine, which says where trees are grown, does what `dforest.engines.base` demands; raise an error if not.

    Trees that the engine grows for random problems are compared with those that the processor grows on one thread.

    Parameters
    ----------
    engine : dforest.engines.base.Engine
        The engine.
    seed : int, default=0
        Seed of the random problems.

    Raises
    ------
    AssertionError
        If the engine breaks a rule.

    Examples
    --------
    >>> from dforest.engines.cpu import CpuEngine
    >>> from dforest.testing.engine_check import check_engine
    >>> check_engine(CpuEngine(2))
    """
    for kind in ("classes", "weighted classes", "balanced classes", "numbers", "numbers of many magnitudes of weights"):
        for rules in ({}, {"max_leaf_nodes": 9}, {"max_depth": 3, "min_samples_leaf": 4}):
            for sampling in (AllRows(), TWO_THIRDS):
                _check_session(engine, *random_problem(seed, kind, sampling=sampling, **rules))


def _check_session(engine, X, problem):
    reference = Kept()
    CpuEngine(1).open(problem).grow(range(7), reference)
    right = reference.trees
    with engine.open(problem) as session:
        # Trees in two calls are those of one call; no trees at all are allowed.
        kept = Kept()
        session.grow(range(0), kept)
        session.grow(range(3), kept)
        session.grow(range(3, 7), kept, keep_leaves=True)
        assert_equal_trees(kept.trees, right)
        _check_leaves(session, X, problem, right)
        # A sink that has enough gets the first trees, whoever was faster.
        for most in (1, 4):
            few = Kept(most)
            session.grow(range(7), few)
            assert_equal_trees(few.trees, right[:most])
        assert session.report().n_trees == 7 + 1 + 4
        # Other targets, in a session that has seen some.
        kind = "classes" if problem.objective.predicts_shares else "numbers"
        if problem.targets.exact_weight is not None:
            kind = "numbers of many magnitudes of weights"
        elif problem.targets.weight is not None:
            kind = "weighted classes" if problem.targets.balance is None else "balanced classes"
        others = random_targets(problem.seed + 1, problem.n_rows, kind)
        kept, reference = Kept(), Kept()
        session.grow(range(4), kept, targets=others)
        CpuEngine(1).open(problem.with_targets(others)).grow(range(4), reference)
        assert_equal_trees(kept.trees, reference.trees)


def _check_leaves(session, X, problem, trees):
    """Raise AssertionError unless `Session.leaves` has the leaves that rows reach by walking down the trees."""
    sink = ForestSink(X.dtype, len(trees), problem.objective.n_node_values)
    for tree in trees:
        sink.put(sink.prepare(tree))
    forest = sink.forest(problem, n_categories=np.zeros(problem.n_features, np.int32), criterion="any", splitter=None)
    down = forest.packed().apply(X, 1)
    for t in range(3, 7):
        leaves = session.leaves(t)
        drawn = leaves >= 0
        assert leaves.shape == (problem.n_rows,) and leaves.dtype == np.int64
        np.testing.assert_array_equal(leaves[drawn], down[drawn, t])
        first = forest.node_offsets[t]
        of_leaf = forest.leaf_row[first : forest.node_offsets[t + 1]]
        draws = forest.leaf_draws[of_leaf[np.unique(leaves[drawn])]].sum()
        assert draws == problem.n_draws
        np.testing.assert_array_equal(drawn, forest.row_counts(t) > 0)
    try:
        session.leaves(2)
    except ValueError as error:
        assert "tree=2" in str(error)
    else:
        raise AssertionError("leaves of an earlier call were kept")
