"""The loop over the iterations of boosting: an engine grows trees, a sink puts them together, scores say when to stop."""

import numpy as np

from dforest.core.forest.arrays import Forest
from dforest.core.forest.assembly import Assembly
from dforest.engines.fitting import ForestSink, forest_of


class Trees:
    """The trees of the iterations so far, as they come: a sink.

    Parameters
    ----------
    problem : BoostingProblem or BagsProblem
    dtype : dtype
        The type of thresholds.
    n_trees : int
        How many there will be at most, with those before.
    before : Forest or None
    keeps_latest : bool
        Whether trees are kept in `latest`, whose leaves are whole, whatever share of them the forest has.
    watcher : object or None
        Whose method `put` is given each tree, as it was grown.
    n_threads : int
    **settings
        As of `ForestSink.forest`.

    Attributes
    ----------
    latest : list of GrownTree
        Copies of the trees that came since this was emptied.
    """

    def __init__(self, problem, dtype, n_trees, before, keeps_latest, watcher, n_threads, **settings):
        self._problem, self._forest, self._sink = problem.of_features(), before, None
        self._statistics_of, self._n_bags, self._objective = problem.statistics_of, len(problem.of_bags), problem.objective
        self._given = dtype, n_trees, problem.objective.n_node_values
        self._n_threads, self._settings = n_threads, settings
        self._keeps_latest, self._watcher, self.latest = keeps_latest, watcher, []

    def put(self, tree):
        """See `Sink`."""
        if self._sink is None:
            self._sink = ForestSink(*self._given, self._forest, n_threads=self._n_threads)
        if self._watcher is not None:
            self._watcher.put(tree)
        statistics = self._statistics_of(tree.number)
        if statistics is not None:
            tree = tree._replace(arrays=statistics.with_sets(tree.arrays))
        if self._keeps_latest:
            self.latest.append(tree._replace(arrays=tree.arrays.copy()))
        if self._n_bags > 1:
            tree = tree._replace(arrays=_share_of(tree.arrays, self._objective, self._n_bags))
        self._sink.put(self._sink.prepare(tree))
        return True

    def forest(self):
        """The `Forest` of all trees so far; None if there is none."""
        if self._sink is not None:
            self._forest, self._sink = self._sink.forest(self._problem, **self._settings), None
        return self._forest

    def latest_forest(self):
        """The `Forest` of `latest`, which is emptied."""
        trees, self.latest = self.latest, []
        return forest_of(trees, self._problem, self._given[0], **self._settings)


def with_sets(forest, problem):
    """The `Forest` of trees as a problem's were grown, with sets of labels in place of `LabelStatistics`, if there are any."""
    statistics = problem.statistics
    if statistics is None:
        return forest
    settings = {"n_features": statistics.n_features, "n_categories": statistics.n_categories}
    return _changed(forest, lambda t, tree: problem.statistics_of(t).with_sets(tree), settings)


def with_shares(forest, problem):
    """The `Forest` of trees whose leaves are whole, with the shares of leaves that the model of the bags of a problem has."""
    n_bags = len(problem.of_bags)
    return forest if n_bags == 1 else _changed(forest, lambda t, tree: _share_of(tree, forest.objective, n_bags), {})


def with_weights(forest, weights):
    """The `Forest` of trees whose leaves, and what else they say of sums and losses, are multiplied by weights.

    weights : ndarray of shape (n_trees,), dtype float64
    """
    return _changed(forest, lambda t, tree: _scaled(tree, forest.objective, lambda values: values * weights[t]), {})


def _changed(forest, change, settings):
    """The `Forest` of trees that a function makes of the number of each and its `TreeArrays`, with some other settings."""
    tree_of, assembly = forest.tree_reader(), Assembly(forest.threshold.dtype, forest.n_trees, forest.objective.n_node_values)
    for t in range(forest.n_trees):
        assembly.add(t, change(t, tree_of(t)))
    return Forest.assembled(assembly, **forest.settings() | settings)


def _share_of(tree, objective, n_bags):
    """A tree whose leaves, and what else it says of sums and losses, are divided by the number of bags: `TreeArrays`."""
    return _scaled(tree, objective, lambda values: values / n_bags)


def _scaled(tree, objective, scale):
    """A tree whose leaves, and what else it says of sums and losses, a function has scaled: `TreeArrays`."""
    leaves = tree.leaves.copy()
    for name, span in objective.leaf_words.items():
        if name in ("leaf_value", "leaf_bounds", "leaf_slopes"):
            leaves[:, span] = scale(np.ascontiguousarray(leaves[:, span]).view(np.float64)).view(np.int64)
    return tree._replace(leaves=leaves, inner=scale(tree.inner))


def first_trees(forest, n_trees):
    """The `Forest` of the first trees of another one, as if no others had been grown."""
    if n_trees == forest.n_trees:
        return forest
    tree_of, assembly = forest.tree_reader(), Assembly(forest.threshold.dtype, n_trees, forest.objective.n_node_values)
    for t in range(n_trees):
        assembly.add(t, tree_of(t))
    return Forest.assembled(assembly, **forest.settings(slice(n_trees)))


def grow(
    session, problem, dtype, iterations, before=None, monitor=None, on_iteration=None, tasks=None, n_threads=1, **settings
):  # fmt: skip
    """Grow the trees of some iterations, or fewer if scores say so.

    Where rows are held out, their scores are found for several iterations at once: for as many as will be grown however these
    score. With `tasks`, the scores of one iteration are found at a time, so that all is known that a fit which ended there would
    leave.

    Parameters
    ----------
    session : BoostingSession or BagsSession
        Which has the trees of the iterations before.
    problem : BoostingProblem or BagsProblem
    dtype : dtype
        The type of thresholds.
    iterations : range
        Their numbers; at least one.
    before : Forest, optional
        The trees of the iterations before.
    monitor : Monitor, optional
        Which has begun. None: all iterations are grown.
    on_iteration : callable, optional
        Called after each iteration with the number of iterations so far.
    tasks : object, optional
        Told of each iteration: `begin_step` before it and `end_step` after it, given a function that returns the `Forest` so far,
        or None if there is no tree; and of each tree, by `put`. Growing stops when `end_step` returns True. Given on all ranks or
        on none.
    n_threads : int
    **settings
        As of `dforest.engines.fitting.ForestSink.forest`.

    Returns
    -------
    Forest
        Of all iterations.
    """
    n_trees = problem.n_trees_per_iteration
    holds_out = monitor is not None and monitor.held_out is not None
    trees = Trees(problem, dtype, iterations.stop * n_trees, before, holds_out, tasks, n_threads, **settings)
    done = iterations.start
    while done < iterations.stop:
        ahead = iterations.stop - done
        if monitor is not None:
            ahead = min(ahead, max(1, monitor.earliest()))
        if tasks is not None:
            ahead = 1
            tasks.begin_step(trees.forest)
        for number in range(done, done + ahead):
            session.grow(range(number * n_trees, (number + 1) * n_trees), trees)
            if monitor is not None:
                monitor.training.add_sums(session.raw_sums.T)
            if on_iteration is not None and not holds_out:
                on_iteration(number + 1)
        if holds_out:
            monitor.held_out.add(trees.latest_forest())
            if on_iteration is not None:
                for number in range(done, done + ahead):
                    on_iteration(number + 1)
        done += ahead
        if tasks is not None and tasks.end_step(trees.forest):
            break
        if monitor is not None and monitor.earliest() == 0:
            break
    return trees.forest()
