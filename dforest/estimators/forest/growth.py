"""The growth of a forest while its trees come: what callbacks are told of it, and what they may ask for.

When a tree has come, the growth ends if a callback asks for that: the forest is then what a fit of as many trees leaves. *Votes*
are those of trees for the rows that they left out.
"""

import warnings
from copy import copy

from dforest.engines.fit_report import FitReport
from dforest.engines.fitting import lone_tree
from dforest.estimators.forest.memory import memory_of
from dforest.estimators.growth import Growth
from dforest.estimators.results import pruning
from dforest.estimators.results.oob import live_votes


class ForestGrowth(Growth):
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
    is_growing : bool
        Whether trees are being grown now.
    ends_at_once : bool
        Whether growing may be interrupted in the middle of a tree: several ranks are to end after the same one.
    is_wanted : bool
        Whether any tree is to be grown beside those that there are when growing begins.
    """

    offers = (*Growth.offers, "live votes", "live scores")
    free = (
        *Growth.free, "n_estimators", "oob_score", "variable_importance", "voting", "ccp_alpha", "keep_training_data",
        "calibration",
    )  # fmt: skip

    limits = "max_leaf_nodes, max_depth, min_samples_leaf or max_samples"

    def __init__(self, estimator, plan, rows, device, tasks, line, counts_votes):
        super().__init__(estimator, tasks, rows.ranks, plan.n_grown, plan.n_trees)
        self.rows, self._plan, self._device, self._line = rows, plan, device, line
        self.is_growing, self.ends_at_once = False, rows.ranks.size == 1
        self.is_wanted = self.n_wanted > self.n_before
        self._is_watched = tasks.are_watched and self.is_wanted
        self._counts_votes = counts_votes
        self._votes = None
        self._forest = plan.grown  # of the trees that have come before those in `_trees`
        self._trees = self.keep_trees() if self._is_watched and tasks.ask_for_fitted else []
        # Targets of the rows of all ranks; whether ranks make, after each tree, what `out_of_bag` returns; and that.
        self._y, self._makes_seen, self._seen = None, False, None
        self._made = None  # what `_fitted` returns, where several ranks have made it together

    def _count_votes(self):
        """Have votes counted as trees come: from then on there is a `curve`. A collective.

        Raises
        ------
        ValueError
            If trees leave out no rows, or if trees that there are were grown on other rows.
        """
        if self._plan.sampling is None:
            raise ValueError(
                f"bootstrap={self.estimator.bootstrap!r} leaves no row out of a tree; out-of-bag errors need bootstrap=True"
            )
        if self._plan.grown is not None:
            self.estimator._check_out_of_bag(self.rows, self._plan.grown)
        self._counts_votes = True

    # What callbacks ask for, from `on_growth_begin` on

    @property
    def dtype(self):
        return self.rows.parts[0].dtype

    @property
    def chosen(self):
        return getattr(self.estimator, "best_params_", {})

    @property
    def can_stop(self):
        return self.is_growing and self.n_trees > 0

    def _estimate_memory(self):
        n_trees = self.n_wanted - self.n_before
        return memory_of(self.estimator, self.problem, self.rows, n_trees, self._engine, self._tasks.data)

    @property
    def curve(self):
        """Out-of-bag errors after 1, 2, ... trees so far, as `oob_curve_` will have them: list of float."""
        return self._votes.curve

    @property
    def errors(self):
        """The errors of `curve` in a unit of their own, in which they are in range whatever the targets are: list of float."""
        return self._votes.errors

    @property
    def n_seen(self):
        """How many rows of all ranks some tree has left out."""
        return self._votes.n_seen

    def out_of_bag(self):
        """(encoded targets, predictions by the trees so far) of the training rows of all ranks that some tree left out."""
        return self._make_out_of_bag() if self._seen is None else self._seen

    def _make_out_of_bag(self):
        """See `out_of_bag`. A collective."""
        seen, prediction = self._votes.prediction()
        return self._y[seen], prediction

    def forest(self):
        """The `Forest` of all trees so far, not cut back; None if there is no tree."""
        if self._trees:
            self._forest = self.forest_of(self._trees, self._forest)
            self._trees.clear()
        return self._forest

    # What the fit does

    def begin(self):
        """Tell callbacks that the fit begins, and agree on the seed of the plan. A collective."""
        if self._is_watched and any(self._tasks.first_with(need) is not None for need in ("live votes", "live scores")):
            self._count_votes()
            self._makes_seen = self.rows.ranks.size > 1 and self._tasks.first_with("live scores") is not None
            if self._tasks.first_with("live scores") is not None:
                self._y = self.rows.of_all(self.rows.y)
        self._make_together()
        self._tasks.set_up(self.n_wanted - self.n_before, self._fitted)
        self._tasks.begin(None)
        seed, is_tree = self._plan.seed
        if self._tasks.are_watched:
            self.agree_on_seeds([seed])
            self._plan.seed = self.seeds[0], is_tree

    def start(self, problem, engine, **settings):
        """Begin with growing.

        Parameters
        ----------
        problem : Problem
        engine : Engine
        **settings
            As of `ForestSink.forest`.

        Returns
        -------
        before : Forest or None
            The trees that there are.
        """
        self._engine = engine
        found = self._begin(problem, settings, self._of_rows)
        self._forest = self._forest if found is None else found
        if self._counts_votes:
            voting = getattr(self.estimator, "voting", "soft")
            self._votes = live_votes(self.rows, problem.objective, voting, self._plan.grown, self._plan.n_threads)
        if found is not None:
            self._forest, has_ended = self._resume(found)
            self.is_wanted = self.is_wanted and not has_ended
        self.is_growing = True
        if self._line is not None:
            self._line.begin(self.n_trees)
        if self._is_watched and self.is_wanted:
            self._tasks.begin_step(None)
        return self._forest

    def _of_rows(self):
        """What training rows have, by name, and their numbers: see `Growth._begin`."""
        rows = self.rows
        weight = [] if rows.sample_weight is None else [rows.sample_weight]
        return {"X": rows.parts, "y": [rows.y], "sample_weight": weight}, rows.share.numbers()

    def _take(self, tree):
        if self._counts_votes:
            self._add_votes(self._votes.look(self._alone(tree)))
        super()._take(tree)

    def _add_votes(self, looked):
        self._votes.add(looked)
        if self._makes_seen:
            self._seen = self._make_out_of_bag()

    def _alone(self, tree):
        """The `Forest` of a grown tree alone, cut back."""
        alone = lone_tree(tree, self.problem, **self.settings)
        return pruning.cost_complexity(alone, range(1), self.estimator.ccp_alpha, 1)

    def prepare(self, tree):
        """See `Sink`: look at a tree, whatever its turn."""
        looked = self._votes.look(self._alone(tree)) if self._counts_votes else None
        kept = tree.arrays.copy() if self._kept else None
        return tree._replace(arrays=(looked, kept, len(tree.arrays.feature)))

    def put(self, tree):
        """See `Sink`: a tree has come."""
        looked, kept, n_nodes = tree.arrays
        if looked is not None:
            self._add_votes(looked)
        self._count(n_nodes)
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
            model._conclude(self.rows, self._plan, self._device, self)
        return {name: value for name, value in vars(model).items() if name not in ("_growth", "_callback_fit_ctx")}
