"""The growth of trees during a fit: what callbacks of dforest's may ask about it, whatever the kind of trees.

A callback finds the `Growth` of the fit that it watches by `growth_of`, from its `setup` on. Trees *come* in the order of their
numbers; those of one *step*, of which callbacks are told, come together. Trees that are kept for callbacks are copies; all else
is borrowed from the fit.

A callback may have methods beside those of scikit-learn's protocol, which are called in this order:

- ``seeds_of_growth(estimator)`` returns the seeds by which trees are to be grown, or None;
- ``on_growth_begin(estimator)`` is called when the problem is known and before the first tree is begun; it may return a `Forest`
  of trees to go on with;
- ``on_tree_resumed(estimator)`` is called for each step of these, one after another, in place of the hooks of steps, and may end
  the fit there.

Several ranks see the same trees come, each with callbacks of its own. What these may need of the growth beyond the trees, ranks
make together: a callback names it in `needs` (`dforest.callback.base`). Seeds and trees to go on with are those of the first rank
that has a callback which needs "checkpoint".
"""

from abc import ABC, abstractmethod

import numpy as np

from dforest.engines.base import GrownTree
from dforest.engines.fitting import forest_of
from dforest.estimators.data.agreement import digest_of_rows


def growth_of(estimator, callback):
    """The `Growth` of a fit, for a callback. Raises ValueError if the estimator does not grow trees that callbacks see."""
    growth = getattr(estimator, "_growth", None)
    if growth is None or not set(callback.needs) <= set(growth.offers):
        kinds = "forests and boosted trees" if set(callback.needs) <= set(Growth.offers) else "forests"
        raise ValueError(f"{type(callback).__name__} can't watch a {type(estimator).__name__}; allowed are dforest's {kinds}")
    return growth


class Growth(ABC):
    """A fit of trees, as callbacks see it.

    Parameters
    ----------
    estimator : estimator
    tasks : FitTasks
    ranks : Communicator
    n_before, n_wanted : int
        How many trees there were before this fit, and how many there will be if nothing stops it.

    Attributes
    ----------
    n_trees : int
        How many trees have come by now, those before this fit included.
    n_nodes : int
        How many nodes the trees of this fit have that have come.
    n_together : int
        Trees of a step.
    seeds : list of int
        What all chance of the trees follows from; known from `agree_on_seeds` on.
    problem : Problem or BoostingProblem
        What trees are grown for; known when growing begins.
    settings : dict
        What a `Forest` knows beside that, as of `dforest.engines.fitting.ForestSink.forest`.
    digests : dict of str to str
        By name, a digest of what training rows have; known when growing begins, and only if a callback on some rank needs
        "checkpoint".
    memory : object
        The estimate of the memory of the whole fit; known when growing begins, and only if a callback on some rank needs
        "memory limit".
    offers : tuple of str
        Of what callbacks may need, what this growth has.
    free : tuple of str
        Names of parameters that no tree depends on.
    limits : str
        Names of parameters that make trees, or what they are grown from, smaller: for messages.
    """

    offers = ("memory limit", "checkpoint")
    free = ("n_jobs", "verbose", "device", "warm_start", "random_state")

    def __init__(self, estimator, tasks, ranks, n_before, n_wanted, n_together=1):
        self.estimator, self._tasks, self._ranks = estimator, tasks, ranks
        self.n_before = self.n_trees = n_before
        self.n_wanted, self.n_together, self.n_nodes = n_wanted, n_together, 0
        self.seeds = self.problem = self._engine = None
        self.settings, self.digests, self.memory = {}, {}, None
        self._kept = []  # lists to which each tree is added that comes

    # What callbacks ask for

    def keep_trees(self):
        """A list to which each tree is added when it comes, a `GrownTree` of copied arrays; the callback may empty it."""
        trees = []
        self._kept.append(trees)
        return trees

    def is_first_with(self, need):
        """Whether no rank before this one has a callback that needs something."""
        return self._tasks.first_with(need) == self._ranks.rank

    def forest_of(self, trees, before=None):
        """The `Forest` of some trees of `keep_trees`, not cut back, after those of another forest if there is one."""
        return forest_of(trees, self.problem, self.dtype, before, **self.settings)

    @property
    @abstractmethod
    def dtype(self):
        """The type of thresholds."""

    @property
    @abstractmethod
    def can_stop(self):
        """Whether a fit that is to end as soon as possible has a tree to be kept, now or after the step that is under way."""

    @abstractmethod
    def _estimate_memory(self):
        """The estimate of the memory of the whole fit. A collective."""

    @property
    def device_bytes(self):
        """How much memory the device has that trees are grown on; infinite without a device."""
        return getattr(getattr(self._engine, "device", None), "memory_bytes", np.inf)

    @property
    def device_name(self):
        """What the engine is called that grows trees."""
        return self._engine.name

    # What the fit does

    def _hooks(self, name):
        return [getattr(callback, name) for callback in self._tasks.callbacks if hasattr(callback, name)]

    def _of_first(self, found):
        """What the first rank has found that has a callback which needs "checkpoint". A collective, if there is such a rank."""
        first = self._tasks.first_with("checkpoint")
        return found if first is None or self._ranks.size == 1 else self._ranks.gather_objects(found)[first]

    @property
    def chosen(self):
        """Values of parameters that trees depend on and that were chosen for the data: dict by name."""
        return {}

    def agree_on_seeds(self, drawn):
        """Set `seeds`: those that were drawn, unless a callback knows better. A collective."""
        self.seeds = drawn
        for hook in self._hooks("seeds_of_growth"):
            self.seeds = hook(self.estimator) or self.seeds
        self.seeds = self._of_first(self.seeds)

    def _begin(self, problem, settings, rows):
        """Growing begins: returns the `Forest` of trees to go on with, or None. A collective.

        Parameters
        ----------
        problem, settings
            As the attributes.
        rows : callable
            It returns (a dict by name of what training rows have, as `digest_of_rows` takes it, the numbers of the rows).
        """
        self.problem, self.settings, found = problem, settings, None
        if self._tasks.first_with("checkpoint") is not None:
            named, numbers = rows()
            self.digests = {name: digest_of_rows(self._ranks, parts, numbers) for name, parts in named.items()}
        if self._tasks.first_with("memory limit") is not None:
            self.memory = self._estimate_memory()
        for hook in self._hooks("on_growth_begin"):
            forest = hook(self.estimator)
            found = found if forest is None else forest
        return self._of_first(found)

    def _resume(self, forest):
        """Let the trees of a forest come that were grown before, by another process.

        Returns
        -------
        forest : Forest
            Of those of them that count.
        has_ended : bool
            Whether the fit ends with them.
        """
        hooks, trees, tree_of = self._hooks("on_tree_resumed"), [], forest.tree_reader()
        for t in range(forest.n_trees):
            trees.append(GrownTree(t, tree_of(t), float(forest.weight_unit[t])))
            self._take(trees[-1])
            if len(trees) % self.n_together == 0:
                asks = any([hook(self.estimator) for hook in hooks])  # all of them are asked
                if self._ranks.any(asks) or self._ends_after(len(trees)):
                    return forest if len(trees) == forest.n_trees else self.forest_of(trees), True
        return forest, self.n_trees == self.n_wanted

    def _take(self, tree):
        """A tree has come that was grown before."""
        self._count(len(tree.arrays.feature))

    def _ends_after(self, n_trees):
        """Whether the fit itself ends after as many trees, a number of whole steps, whatever callbacks ask for."""
        return False

    def _count(self, n_nodes):
        self.n_nodes += n_nodes
        self.n_trees += 1
