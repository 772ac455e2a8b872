"""The growth of a forest while its trees come: what callbacks are told of it, and what they may ask for.

Trees *come* in the order of their numbers. When a tree has come, the growth ends if a callback asks for that: the forest is then
what a fit of as many trees leaves. *Votes* are those of trees for the rows that they left out.

A callback of dforest's finds the `ForestGrowth` of the fit that it watches by `growth_of`, from its `setup` on. If the callback
has a method `on_growth_begin(estimator)`, this is called when the problem is known and before the first tree is begun; it may
return a `Forest` of trees to go on with. The trees of that forest come first, one after another: callbacks are told of no step
for them, but their methods `on_tree_resumed(estimator)` are called, which may end the fit there. Trees that are kept for
callbacks are copies; all else is borrowed from the fit.

Several ranks see the same trees come, each with callbacks of its own. What these may need of the growth beyond the trees is there
in one process alone: a callback names it in `needs` (`dforest.callback.base`).
"""

import warnings
from copy import copy
from dataclasses import replace

from dforest.engines.base import GrownTree
from dforest.engines.fit_report import FitReport
from dforest.engines.fitting import forest_of, lone_tree
from dforest.estimators.forest.memory import memory_of
from dforest.estimators.results import pruning
from dforest.estimators.results.oob import live_votes


def growth_of(estimator, callback):
    """The `ForestGrowth` of a fit, for a callback. Raises ValueError if the estimator is not a forest that is being fitted."""
    growth = getattr(estimator, "_growth", None)
    if growth is None:
        raise ValueError(
            f"{type(callback).__name__} can't watch a {type(estimator).__name__}; allowed are dforest's forests: "
            "RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier and ExtraTreesRegressor"
        )
    return growth


class ForestGrowth:
    """A fit of a forest, as a sink that sees the trees (`dforest.engines.fitting.ForestSink`).

    Parameters
    ----------
    estimator : ForestEstimator
    plan : Plan
    rows : TrainingRows
    device : Device or None
        Where estimates are made that are asked for.
    tasks : FitTasks
    line : ProgressLine or None
        Told of each tree.
    counts_votes : bool
        Whether votes are counted as trees come, for the line; callbacks may ask for them too.

    Attributes
    ----------
    n_before, n_trees, n_wanted : int
        How many trees there were before this fit, how many have come by now, and how many there will be if nothing stops it.
    is_growing : bool
        Whether trees are being grown now.
    ends_at_once : bool
        Whether growing may be interrupted in the middle of a tree: several ranks are to end after the same one.
    is_wanted : bool
        Whether any tree is to be grown beside those that there are when growing begins.
    problem : Problem
        What trees are grown for; known when growing begins.
    settings : dict
        What a `Forest` knows beside that, as of `ForestSink.forest`.
    n_nodes : int
        How many nodes the trees of this fit have that have come.
    """

    def __init__(self, estimator, plan, rows, device, tasks, line, counts_votes):
        self.estimator, self.rows, self._plan, self._device = estimator, rows, plan, device
        self._tasks, self._line = tasks, line
        self.n_before = self.n_trees = plan.n_grown
        self.n_wanted = plan.n_trees
        self.is_growing, self.ends_at_once = False, rows.ranks.size == 1
        self.is_wanted = self.n_wanted > self.n_before
        self.problem = None
        self.n_nodes = 0
        self.settings = {}
        self._is_watched = tasks.are_watched and self.is_wanted
        self._kept = []  # lists to which each tree is added that comes
        self._counts_votes = counts_votes
        self._votes = None
        self._forest = plan.grown  # of the trees that have come before those in `_trees`
        self._trees = self.keep_trees() if self._is_watched and tasks.ask_for_fitted else []
        self._made = None  # what `_fitted` returns, where several ranks have made it together

    # What callbacks ask for in `setup`

    def count_votes(self):
        """Have votes counted as trees come: from then on there is a `curve`.

        Raises
        ------
        ValueError
            If trees leave out no rows, or if trees that there are were grown on other rows.
        """
        if not self.estimator.bootstrap:
            raise ValueError(
                f"bootstrap={self.estimator.bootstrap} leaves no row out of a tree; out-of-bag errors need bootstrap=True"
            )
        if self._plan.grown is not None:
            self.estimator._check_out_of_bag(self.rows, self._plan.grown)
        self._counts_votes = True

    def keep_trees(self):
        """A list to which each tree is added when it comes, a `GrownTree` of copied arrays; the callback may empty it."""
        trees = []
        self._kept.append(trees)
        return trees

    # What they ask for later, from `on_growth_begin` on

    def estimate_memory(self):
        """The `FitMemory` of the whole fit."""
        return memory_of(
            self.estimator, self.problem, self.rows, self.n_wanted - self.n_before, self._plan.n_threads, self._tasks.data
        )

    def reseed(self, seed):
        """Have trees grown by another seed of the forest."""
        self.problem = replace(self.problem, seed=seed)

    @property
    def curve(self):
        """Out-of-bag errors after 1, 2, ... trees so far, as `oob_curve_` will have them: list of float."""
        return self._votes.curve

    @property
    def errors(self):
        """The errors of `curve` in a unit of their own, in which they are in range whatever the targets are: list of float."""
        return self._votes.errors

    def out_of_bag(self):
        """`LiveVotes.prediction` by the trees so far."""
        return self._votes.prediction()

    def forest_of(self, trees, before=None):
        """The `Forest` of some trees of `keep_trees`, not cut back, after those of another forest if there is one."""
        return forest_of(trees, self.problem, self.rows.parts[0].dtype, before, **self.settings)

    def forest(self):
        """The `Forest` of all trees so far, not cut back; None if there is no tree."""
        if self._trees:
            self._forest = self.forest_of(self._trees, self._forest)
            self._trees.clear()
        return self._forest

    # What the fit does

    def begin(self):
        """Tell callbacks that the fit begins."""
        self._make_together()
        self._tasks.begin(self.n_wanted - self.n_before, self._fitted, None)

    def start(self, problem, **settings):
        """Begin with growing.

        Parameters
        ----------
        problem : Problem
        **settings
            As of `ForestSink.forest`.

        Returns
        -------
        problem : Problem
            What trees are to be grown for, which differs in its seed if there are trees of another seed.
        before : Forest or None
            The trees that there are.
        """
        self.problem, self.settings = problem, settings
        for callback in self._tasks.callbacks:
            if hasattr(callback, "on_growth_begin"):
                found = callback.on_growth_begin(self.estimator)
                self._forest = self._forest if found is None else found
        if self._counts_votes:
            voting = getattr(self.estimator, "voting", "soft")
            self._votes = live_votes(self.rows, problem.objective, voting, self._plan.grown, self._plan.n_threads)
        if self._forest is not self._plan.grown:
            self._resume(self._forest)
        self.is_growing = True
        if self._line is not None:
            self._line.begin(self.n_trees)
        self.is_wanted = self.is_wanted and self.n_trees < self.n_wanted
        if self._is_watched and self.is_wanted:
            self._tasks.begin_step(None)
        return self.problem, self._forest

    def _resume(self, forest):
        """Let the trees of a forest come that were grown before, by another process."""
        hooks = [callback.on_tree_resumed for callback in self._tasks.callbacks if hasattr(callback, "on_tree_resumed")]
        tree_of, trees = forest.tree_reader(), []
        for t in range(forest.n_trees):
            trees.append(GrownTree(t, tree_of(t), float(forest.weight_unit[t])))
            looked = self._votes.look(self._alone(trees[t])) if self._counts_votes else None
            self._count(looked, len(trees[t].arrays.feature))
            if any([hook(self.estimator) for hook in hooks]):  # all of them are asked
                self._forest, self.is_wanted = self.forest_of(trees), False
                return

    def _alone(self, tree):
        """The `Forest` of a grown tree alone, cut back."""
        alone = lone_tree(tree, self.problem, **self.settings)
        return pruning.cost_complexity(alone, range(1), self.estimator.ccp_alpha, 1)

    def _count(self, looked, n_nodes):
        """Count a tree that has come, given what it says of the rows that it left out."""
        if looked is not None:
            self._votes.add(looked)
        self.n_nodes += n_nodes
        self.n_trees += 1

    def prepare(self, tree):
        """See `Sink`: look at a tree, whatever its turn."""
        looked = self._votes.look(self._alone(tree)) if self._counts_votes else None
        kept = tree.arrays.copy() if self._kept else None
        return tree._replace(arrays=(looked, kept, len(tree.arrays.feature)))

    def put(self, tree):
        """See `Sink`: a tree has come."""
        looked, kept, n_nodes = tree.arrays
        self._count(looked, n_nodes)
        for trees in self._kept:
            trees.append(tree._replace(arrays=kept))
        if self._line is not None:
            self._line.tell(self.n_trees, self.curve[-1] if self._counts_votes else None)
        if not self._is_watched:
            return True
        self._make_together()
        if self._tasks.end_step(None):
            return False
        if self.n_trees < self.n_wanted:
            self._tasks.begin_step(None)
        return True

    def stop(self):
        """Growing has ended, or failed."""
        self.is_growing = False
        if self._line is not None:
            self._line.end()

    def end(self):
        """Tell callbacks that the fit has ended."""
        self._tasks.end(None)

    def estimate(self):
        """Out-of-bag estimates by the votes that were counted as trees came; None if they were not counted."""
        return None if self._votes is None else self._votes.estimate()

    def _make_together(self):
        """Make what hooks may ask for, if they do on any of several ranks, as all ranks make estimates. A collective."""
        if self._tasks.ask_for_fitted and self.rows.ranks.size > 1:
            self._made = self._make_fitted()

    def _fitted(self, _):
        """The attributes that `fit` would leave if it ended now, `fit_report_` without kernels; None if there is no tree."""
        return self._make_fitted() if self.rows.ranks.size == 1 else self._made

    def _make_fitted(self):
        """See `_fitted`. A collective."""
        forest = self.forest()
        if forest is None:
            return None
        model = copy(self.estimator)
        n_old, n_new = self._plan.n_grown, self.n_trees - self._plan.n_grown
        model.forest_ = pruning.cost_complexity(forest, range(n_old, self.n_trees), model.ccp_alpha, self._plan.n_threads)
        model.fit_report_ = FitReport(self.estimator.device or "cpu", n_new)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows that no tree has left out so far
            model._after_growth(self.rows, self._plan, self._device, self)
        return {name: value for name, value in vars(model).items() if name not in ("_growth", "_callback_fit_ctx")}
