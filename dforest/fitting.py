"""From a problem to a forest: an engine grows the trees, and a sink puts them together."""

from importlib import import_module

import numpy as np

from dforest import pruning
from dforest.core.forest.arrays import Forest
from dforest.core.forest.assembly import Assembly
from dforest.engines.cpu import CpuEngine


def engine_on(device, n_threads, ranks):
    """The `Engine` of a device, or, for None, of the processor; either uses at most `n_threads` threads of the processor.

    It works alone, or together with other ranks, given their `Communicator`; these need a device.
    """
    if ranks.size > 1:
        return import_module("dforest.engines.ranks.engine").RankEngine(ranks, device, n_threads)
    if device is None:
        return CpuEngine(n_threads)
    return import_module("dforest.engines.device.engine").DeviceEngine(device, n_threads)


class ForestSink:
    """Puts new trees together to a forest, after the trees of an earlier one.

    Parameters
    ----------
    dtype : dtype
        The type of thresholds, which is that of X.
    n_trees : int
        How many trees the forest will have in the end.
    before : Forest, optional
        The earlier forest, whose trees come first.
    on_tree : callable, optional
        Called after each new tree with the number of new trees so far.
    n_threads : int, default=1
        How many threads may prepare trees at the same time, and put them together in the end.
    """

    def __init__(self, dtype, n_trees, before=None, on_tree=None, n_threads=1):
        self._assembly = Assembly(dtype, n_trees, before, n_threads)
        self._before = before
        self._on_tree = on_tree
        self._exponents = []  # of the new trees' weights

    def prepare(self, tree):
        """Put a tree in its place among all; see `Sink`."""
        self._assembly.add(tree.number, tree.arrays)
        return tree._replace(arrays=None)

    def put(self, tree):
        self._exponents.append(tree.weight_exponent)
        if self._on_tree is not None:
            self._on_tree(len(self._exponents))
        return True

    def forest(self, problem, **settings):
        """The `Forest` of all trees, earlier and new ones; ends the sink.

        Parameters
        ----------
        problem : Problem
            What the new trees were grown for.
        **settings
            Attributes of the forest that the problem does not tell: `n_categories`, `criterion`, `splitter`.
        """
        n_new = len(self._exponents)
        first = 0 if self._before is None else self._before.n_trees
        return Forest.assembled(
            self._assembly,
            self._before,
            n_new,
            n_rows=np.full(n_new, problem.n_rows, np.int64),
            plans=(problem.sampling,) * n_new,
            weight_exponent=np.array(self._exponents, np.int64),
            n_features=problem.n_features,
            objective=problem.objective,
            seed=problem.seed,
            seeds=problem.seeds_of(range(first, first + n_new)),
            **settings,
        )


def grow_forest(problem, engine, trees, sink, ccp_alpha, n_threads, **settings):
    """Grow some trees of a forest, and cut them back.

    Parameters
    ----------
    problem : Problem
    engine : Engine
    trees : range
        Numbers of the trees.
    sink : ForestSink
        Where they go; it has the trees of lower numbers.
    ccp_alpha : float
        What each leaf costs in cost-complexity pruning. If 0, nothing is cut back.
    n_threads : int
        How many threads cut trees back.
    **settings
        Passed on to `ForestSink.forest`.

    Returns
    -------
    Forest, FitReport
    """
    with engine.open(problem) as session:
        session.grow(trees, sink)
        report = session.report()
    forest = sink.forest(problem, **settings)
    return pruning.cost_complexity(forest, trees, ccp_alpha, n_threads), report
