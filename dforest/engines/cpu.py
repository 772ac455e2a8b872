"""The processor as an engine: threads that grow trees depth first, or best first (`dforest.core.grow.trainer`)."""

import numpy as np

from dforest.core.boost.booster import Booster
from dforest.core.boost.preferences import Preferences
from dforest.core.data import DataView
from dforest.core.grow.trainer import Trainer
from dforest.engines.base import BoostingSession, Engine, GrownTree, Session, leaves_of_rows
from dforest.engines.fit_report import Stopwatch
from dforest.engines.memory import boosting_memory, forest_memory
from dforest.engines.problem import BoostingProblem


class CpuEngine(Engine):
    """Grows trees on threads of the process.

    Parameters
    ----------
    n_threads : int
        Most of them.
    """

    name = "cpu"
    takes_sparse = True
    takes_drawn = True

    def __init__(self, n_threads):
        self.n_threads = n_threads

    def open(self, problem):
        if isinstance(problem, BoostingProblem):
            return BoostingSession(problem, booster_of(problem, self.n_threads), Stopwatch(self.name))
        return CpuSession(problem, self.n_threads)

    def estimate_memory(self, problem, n_trees, n_leaves, n_distinct=None, scores=0):
        if isinstance(problem, BoostingProblem):
            return boosting_memory(problem, n_trees, self.n_threads, n_leaves, scores)
        return forest_memory(problem, n_trees, self.n_threads, n_leaves, n_distinct)


class CpuSession(Session):
    """Threads at work on a problem; see `Session`. The growers of the threads keep their scratch from call to call."""

    def __init__(self, problem, n_threads):
        super().__init__(problem, Stopwatch(CpuEngine.name))
        targets = problem.targets
        given = targets.classes, targets.numbers, targets.weight, problem.monotonic_csts, problem.X, targets.exact_weight_or_room
        self._data = DataView(problem.columns, *given, targets.response)
        self._trainer = Trainer(
            self._data, problem.objective, problem.criterion, problem.splitter, problem.rules, problem.sampling, n_threads,
            drawn=problem.drawn,
        )  # fmt: skip

    def close(self):
        self._data = self._trainer = None

    def _take_targets(self):
        targets = self.problem.targets
        self._data.set_targets(targets.classes, targets.numbers, targets.weight, targets.exact_weight_or_room, targets.response)

    def _grow(self, trees, sink, keep_leaves):
        problem = self.problem
        weigh_draws = None if problem.targets.balance is None else self._weigh_draws

        def put(number, arrays, unit, records):
            if keep_leaves:
                rows, is_first = records
                if problem.drawn is not None:
                    rows = problem.drawn.numbers[rows]
                self._leaves[number] = leaves_of_rows(problem.n_rows, rows, is_first, arrays.feature)
            return sink.put(GrownTree(number, arrays, problem.targets.weight_unit if unit is None else unit))

        self._trainer.grow(trees, problem.seeds_of(trees), put, weigh_draws, keep_leaves)

    def _weigh_draws(self, seed):
        """`Problem.weigh_draws` of a single tree."""
        return tuple(of_trees[0] for of_trees in self.problem.weigh_draws([seed]))


def booster_of(problem, n_threads):
    """The `Booster` that grows the trees of a `BoostingProblem` with at most so many threads, all of them on one tree."""
    constraints = problem.constraints
    preferences = None
    if constraints.has_preferences:
        preferences = Preferences(
            len(problem.columns), constraints.costs, constraints.monotone_penalty, constraints.directions, problem.used,
            constraints.origins,
        )  # fmt: skip
    return Booster(
        problem.columns, problem.loss.number, problem.y, problem.weight, n_classes=problem.n_sums,
        one_tree=problem.loss.n_trees_per_iteration == 1, n_directions=problem.loss.n_directions,
        parameter=problem.loss.parameters, baseline=np.array(problem.baseline), seed=problem.seed, n_threads=n_threads,
        n_drawn=problem.n_drawn, by_chance=problem.by_chance, sampling=problem.sampling, n_trees=problem.n_grown, raw=problem.raw,
        constraints=constraints, preferences=preferences, forced=[split.coded(problem.columns) for split in problem.forced],
        can_split=problem.can_split, X=problem.X, splitter=problem.splitter, **problem.rules.asdict(),
    )  # fmt: skip
