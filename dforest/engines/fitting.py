"""From a problem to a forest: an engine grows the trees, and a sink puts them together."""

from importlib import import_module

import numpy as np

from dforest.backends import processor
from dforest.core.forest.arrays import Forest
from dforest.core.forest.assembly import Assembly
from dforest.core.threads import interrupt
from dforest.engines.cpu import CpuEngine


def engine_on(device, n_threads, ranks):
    """The `Engine` of a device, or, for None, of the processor; either uses at most `n_threads` threads of the processor.

    It works alone, or together with other ranks, given their `Communicator`. These need kernels, to which the processor is a
    device, too.
    """
    if ranks.size > 1:
        if device is None:
            device = processor(n_threads)
        return import_module("dforest.engines.ranks.engine").RankEngine(ranks, device, n_threads)
    if device is None:
        return CpuEngine(n_threads)
    return import_module("dforest.engines.device.engine").DeviceEngine(device, n_threads)


class GrowthInterrupted(KeyboardInterrupt):
    """Growing ends at once, and the trees that are finished are kept: handed to `dforest.core.threads.interrupt`."""


class ForestSink:
    """Puts new trees together to a forest, after the trees of an earlier one.

    Parameters
    ----------
    dtype : dtype
        The type of thresholds, which is that of X.
    n_trees : int
        How many trees the forest will have in the end.
    n_node_values : int
        Of the objective that trees are grown for.
    before : Forest, optional
        The earlier forest, whose trees come first.
    watcher : Sink, optional
        What sees each tree as well: by `prepare`, and by `put` in its turn, when the forest has it. Growing ends when it says so.
    n_threads : int, default=1
        How many threads may prepare trees at the same time, and put them together in the end.

    Attributes
    ----------
    n_put : int
        Trees that were put.
    n_trees : int
        These, and those of the earlier forest.
    """

    def __init__(self, dtype, n_trees, n_node_values, before=None, watcher=None, n_threads=1):
        self._assembly = Assembly(dtype, n_trees, n_node_values, before, n_threads)
        self._before = before
        self._watcher = watcher
        self._trees = []  # those that were put, without their arrays

    @property
    def n_put(self):
        return len(self._trees)

    @property
    def n_trees(self):
        return self.n_put + (0 if self._before is None else self._before.n_trees)

    def prepare(self, tree):
        """Put a tree in its place among all; see `Sink`."""
        self._assembly.add(tree.number, tree.arrays)
        return tree._replace(arrays=None) if self._watcher is None else self._watcher.prepare(tree)

    def put(self, tree):
        self._trees.append(tree._replace(arrays=None))
        return True if self._watcher is None else self._watcher.put(tree)

    def forest(self, problem, **settings):
        """The `Forest` of all trees, earlier and new ones; ends the sink.

        Parameters
        ----------
        problem : Problem
            What the new trees were grown for.
        **settings
            Attributes of the forest that the problem does not tell: `n_categories`, `criterion`, `splitter`.
        """
        return _assembled(self._assembly, self._before, self._trees, problem, **settings)


def forest_of(trees, problem, dtype, before=None, **settings):
    """The `Forest` of some grown trees, after those of an earlier one if there is one.

    Parameters
    ----------
    trees : list of GrownTree
        One after another; borrowed.
    problem : Problem
        What they were grown for.
    dtype : dtype
        The type of thresholds.
    before : Forest, optional
    **settings
        As of `ForestSink.forest`.
    """
    n_before = 0 if before is None else before.n_trees
    assembly = Assembly(dtype, n_before + len(trees), problem.objective.n_node_values, before)
    for number, tree in enumerate(trees, n_before):
        assembly.add(number, tree.arrays)
    return _assembled(assembly, before, trees, problem, **settings)


def lone_tree(tree, problem, **settings):
    """The `Forest` of a grown tree alone, lent as the tree is: for a quick look at it.

    Parameters
    ----------
    tree : GrownTree
    problem, **settings
        As of `forest_of`.
    """
    return Forest.view_of_trees(tree.arrays, np.array([0, len(tree.arrays.feature)]), **_of_trees([tree], problem), **settings)


def _assembled(assembly, before, trees, problem, **settings):
    """The `Forest` of an assembly of new trees, whose numbers and weight exponents are given, after those of an earlier one."""
    return Forest.assembled(assembly, before, len(trees), **_of_trees(trees, problem), **settings)


def _of_trees(trees, problem):
    """What a `Forest` knows of some trees that follow each other, and of what they were grown for."""
    first = trees[0].number if trees else 0
    numbers = range(first, first + len(trees))
    return {
        "n_rows": problem.n_rows_of(numbers),
        "plans": problem.plans_of(numbers),
        "weight_unit": np.array([tree.weight_unit for tree in trees], np.float64),
        "n_features": problem.n_features,
        "objective": problem.objective,
        "seed": problem.seed,
        "seeds": problem.seeds_of(numbers),
    }


def grow_forest(problem, engine, trees, sink, **settings):
    """Grow some trees of a forest.

    Parameters
    ----------
    problem : Problem
    engine : Engine
    trees : range
        Numbers of the trees.
    sink : ForestSink
        Where they go; it has the trees of lower numbers.
    **settings
        Passed on to `ForestSink.forest`.

    Returns
    -------
    Forest, FitReport

    Raises
    ------
    KeyboardInterrupt
        If growing was interrupted, unless that is a `GrowthInterrupted` and there is a tree: then the forest has the trees that
        there are.
    """
    with engine.open(problem) as session:
        try:
            session.grow(trees, sink)
        except GrowthInterrupted:
            if sink.n_trees == 0:
                raise
        finally:
            interrupt(None)
        report = session.report()
    return sink.forest(problem, **settings), report
