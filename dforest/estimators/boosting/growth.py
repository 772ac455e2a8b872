"""The growth of boosted trees while iterations come: what callbacks are told of it, and what they may ask for."""

from dforest.estimators.boosting.bags import forest_of_bag
from dforest.estimators.boosting.defaults import SCIKIT_LEARN
from dforest.estimators.boosting.loop import with_sets
from dforest.estimators.boosting.memory import memory_of
from dforest.estimators.growth import Growth


class BoostedGrowth(Growth):
    """A fit of boosted trees, whose steps are iterations.

    Parameters
    ----------
    estimator : BoostingEstimator
    tasks : FitTasks
    ranks : Communicator
    n_before, n_wanted : int
        Iterations that there were before this fit, and that there will be if nothing stops it.
    n_together : int
        Trees of an iteration.
    to_score : ToScore
        What `fit` was given to be scored.
    """

    free = (*Growth.free, "max_iter", "scoring", "tol", "n_iter_no_change", "use_best_model")
    limits = "max_leaf_nodes, max_depth, min_samples_leaf or max_bins"
    can_stop = True  # after the iteration that is being grown

    def __init__(self, estimator, tasks, ranks, n_before, n_wanted, n_together, to_score):
        super().__init__(estimator, tasks, ranks, n_before * n_together, n_wanted * n_together, n_together)
        self.ends_at_once, self._to_score = False, to_score
        self._bags = self._monitor = self._fitted = None

    @property
    def dtype(self):
        return self._bags[0].training.X.dtype

    def _estimate_memory(self):
        n_iterations = (self.n_wanted - self.n_before) // self.n_together
        given = *self._tasks.data, *self._to_score
        return memory_of(self.estimator, self.problem, self._bags, n_iterations, self._engine, given, self._ranks)

    @property
    def chosen(self):
        names = [name for name in SCIKIT_LEARN if name not in self.free and getattr(self.estimator, name) == "auto"]
        return {name: getattr(self.estimator, f"{name}_") for name in names}

    @property
    def is_watched(self):
        """Whether any rank has callbacks."""
        return self._tasks.are_watched

    def begin(self):
        """Set the callbacks up."""
        self._tasks.set_up((self.n_wanted - self.n_before) // self.n_together, lambda forest: self._fitted(forest))

    def tell_of_begin(self, fitted, forest):
        """Tell callbacks that the fit begins.

        Parameters
        ----------
        fitted : callable
            As of `FitTasks.set_up`, of a `Forest` or None.
        forest : Forest or None
            The trees that there are.
        """
        self._fitted = fitted
        self._tasks.begin(forest)

    def tell_of_end(self, forest):
        """Tell callbacks that the fit has ended."""
        self._tasks.end(forest)
        self._fitted = None  # which leads back here, and to all that the fit took

    def start(self, problem, bags, monitor, engine, **settings):
        """Begin with growing.

        Parameters
        ----------
        problem : BoostingProblem or BagsProblem
            Of which the trees to go on with are not known yet.
        bags : list of Bag
        monitor : Monitor or None
        engine : Engine
        **settings
            As of `dforest.engines.fitting.ForestSink.forest`.

        Returns
        -------
        forest : Forest or None
            Trees to go on with, as they were grown, of which the monitor has the scores.
        has_ended : bool
            Whether the fit ends with them.
        """
        self._bags, self._monitor, self._engine = bags, monitor, engine
        if problem.statistics is not None:  # which trees test that are kept as they were grown
            settings["n_categories"] = problem.statistics.all_n_categories
        found = self._begin(problem, settings, self._of_rows)
        if found is None:
            return None, False
        for b, (bag, own) in enumerate(zip(bags, problem.of_bags, strict=True)):
            if bag.dropout is not None:
                bag.dropout.restart(forest_of_bag(found, b, len(bags)), own)
        if monitor is not None:
            monitor.begin(with_sets(found, problem), problem.n_sums)
        forest, has_ended = self._resume(found)
        for bag in bags:
            if bag.dropout is not None:
                bag.dropout.keep_first(forest.n_trees // self.n_together)
        if monitor is not None:
            monitor.keep_first(forest.n_trees // self.n_together)
        return forest, has_ended

    def _of_rows(self):
        """What training rows have, by name, and their numbers: see `Growth._begin`."""
        training = self._bags[0].training
        named = {"X": [training.X], "y": [training.y]}
        for name, array in (("sample_weight", training.bin_weight), ("offset", training.offset)):
            named[name] = [] if array is None else [array]
        if training.queries is not None:
            named["qid"] = [training.queries]
        return named, None if training.share is None else training.share.numbers()

    def _ends_after(self, n_trees):
        return self._monitor is not None and self._monitor.ends_after(n_trees // self.n_together)

    def begin_step(self, forest):
        """See `FitTasks`."""
        self._tasks.begin_step(forest)

    def end_step(self, forest):
        """See `FitTasks`."""
        return self._tasks.end_step(forest)

    def put(self, tree):
        """A tree has come, lent."""
        self._count(len(tree.arrays.feature))
        for trees in self._kept:
            trees.append(tree._replace(arrays=tree.arrays.copy()))
