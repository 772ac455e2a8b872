"""Bags: boosted models that are grown side by side, each by chance of its own, and whose raw predictions are averaged as one.

A *bag* has seeds of its own: those of its trees, and that of the rows that it holds out and of its folds. In each iteration, the
bags grow their trees one after another, and the trees of the model follow each other as they came: those of the first bag, those
of the second one, and so on, then those of the next iteration. A bag learns from its own trees, whose leaves are whole. In the
model each leaf has its share of the mean over bags, its value divided by their number, and so nothing that reads a model knows
that there are bags. What is said below of one bag holds for models without bags too: they have one.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from statistics import mean
from typing import NamedTuple

import numpy as np

from dforest.core.forest.arrays import Forest
from dforest.core.forest.assembly import Assembly
from dforest.estimators.boosting.dropout import Dropout, DropoutSession, dropout_of
from dforest.estimators.boosting.early_stopping import MeanScores, Monitor
from dforest.estimators.boosting.loop import first_trees, with_weights
from dforest.estimators.boosting.rows import Sample
from dforest.estimators.boosting.scores import make_monitor
from dforest.estimators.randomness import check_random_state
from dforest.warning import warn


class Seeds(NamedTuple):
    """What the chance of a bag follows from.

    Attributes
    ----------
    trees : int
        Below 2**64.
    rows : int
        Of the rows that are held out, of folds and of statistics of labels; below 2**32.
    """

    trees: int
    rows: int

    @classmethod
    def of_bags(cls, numbers):
        """Those of each bag, given those of all bags in one list."""
        return [cls(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]


def draw_seeds(estimator, grown):
    """The `Seeds` of all bags in one list, as fits of one bag each draw them from one RandomState. A warm start keeps its own.

    Parameters
    ----------
    estimator : BoostingEstimator
    grown : Forest or None
        The trees to go on with, of one bag.
    """
    if grown is not None:
        return [grown.seed, estimator._row_seed]
    rng, numbers = check_random_state(estimator.random_state), []
    for _ in range(estimator.n_bags):
        of_rows = int(rng.randint(np.iinfo(np.uint32).max, dtype=np.uint64))
        numbers += [int(rng.randint(np.iinfo(np.int64).max, dtype=np.int64)), of_rows]
    return numbers


class Bag(NamedTuple):
    """What a bag grows its trees from.

    Attributes
    ----------
    seeds : Seeds
    training : Sample
        Bags that grow their trees on the same rows have one object.
    held_out : Sample or None
        The rows that are scored, if any.
    baseline : tuple of float or None
        What raw predictions begin with; None: it is not known yet.
    dropout : Dropout or None
        The iterations so far, of which some don't count while others are grown; None: all always count.
    """

    seeds: Seeds
    training: Sample
    held_out: Sample | None
    baseline: tuple | None = None
    dropout: Dropout | None = None


@dataclass(frozen=True, eq=False)
class BagsProblem:
    """The problems of several bags, as one for all that asks about trees by their numbers in the model.

    Attributes
    ----------
    of_bags : tuple of BoostingProblem
    """

    of_bags: tuple
    after_tree = None  # see `BoostingProblem`

    def __getattr__(self, name):
        if name not in ("n_features", "n_sums", "seed", "statistics"):  # which are those of the first bag
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.of_bags[0], name)

    def of_features(self):
        """See `BoostingProblem.of_features`."""
        return BagsProblem(tuple(problem.of_features() for problem in self.of_bags))

    @property
    def objective(self):
        """That of the model, whose sums begin with the mean of what those of the bags begin with."""
        baselines = zip(*(problem.baseline for problem in self.of_bags), strict=True)
        return replace(self.of_bags[0].objective, baseline=tuple(map(mean, baselines)))  # exact, and then rounded

    @property
    def n_trees_per_iteration(self):
        return len(self.of_bags) * self.of_bags[0].n_trees_per_iteration

    def statistics_of(self, tree):
        """See `BoostingProblem.statistics_of`."""
        return self.of_bags[tree // self.of_bags[0].n_trees_per_iteration % len(self.of_bags)].statistics

    def seeds_of(self, trees):
        """See `Problem.seeds_of`."""
        return np.array(self._gathered("seeds_of", trees), np.uint32)

    def plans_of(self, trees):
        """See `BoostingProblem.plans_of`."""
        return tuple(self._gathered("plans_of", trees))

    def n_rows_of(self, trees):
        """See `Problem.n_rows_of`."""
        return np.array(self._gathered("n_rows_of", trees), np.int64)

    def _gathered(self, name, trees):
        """What a method of the problems tells of each of some trees: list. trees : range, of whole iterations"""
        n_each, per_iteration = self.of_bags[0].n_trees_per_iteration, self.n_trees_per_iteration
        found = [None] * len(trees)
        for b, problem in enumerate(self.of_bags):
            own = getattr(problem, name)(range(*(n_each * (end // per_iteration) for end in (trees.start, trees.stop))))
            for k in range(n_each):
                found[b * n_each + k :: per_iteration] = own[k::n_each]
        return found


class BagsSession:
    """The sessions of several bags, as one: see `dforest.engines.base.BoostingSession`."""

    def __init__(self, sessions):
        self._sessions = sessions

    def grow(self, trees, sink):
        """Grow the trees of some iterations, which have their numbers in the model."""
        n_each = self._sessions[0].n_together
        n_bags = len(self._sessions)
        for iteration in range(trees.start // (n_each * n_bags), trees.stop // (n_each * n_bags)):
            for b, session in enumerate(self._sessions):
                own = range(iteration * n_each, (iteration + 1) * n_each)
                session.grow(own, _Renumbered(sink, (iteration * (n_bags - 1) + b) * n_each))

    @property
    def raw_sums(self):
        """Those of the rows of the bags, side by side: ndarray of shape (n_sums, n_rows of all bags), dtype float64."""
        return np.concatenate([session.raw_sums for session in self._sessions], axis=1)

    def report(self):
        """The `FitReport` of all of them. What ranks exchange, each of them tells in the end of all."""
        reports = [session.report() for session in self._sessions]
        sums = "n_trees", "bytes_written", "bytes_read", "bytes_most", "build_seconds", "upload_seconds", "train_seconds"
        kernels = {}
        for report in reports:
            for kernel, n in report.kernels.items():
                kernels[kernel] = kernels.get(kernel, 0) + n
        of_all = {name: sum(getattr(report, name) for report in reports) for name in sums}
        return replace(reports[-1], kernels=dict(sorted(kernels.items())), **of_all)


class _Renumbered:
    """A sink of a bag's trees, whose numbers in the model are higher by so many."""

    def __init__(self, sink, n_more):
        self._sink, self._n_more = sink, n_more

    def put(self, tree):
        """See `Sink`."""
        return self._sink.put(tree._replace(number=tree.number + self._n_more))


class BagScores(MeanScores):
    """What the rows of several bags score on average, told of the trees of the model, whose leaves are whole."""

    def begin(self, before, n_sums):
        """See `ScoredRows.begin`."""
        for b, part in enumerate(self._parts):
            part.begin(None if before is None else self._of_bag(before, b), n_sums)

    def add(self, forest):
        """See `ScoredRows.add`."""
        for b, part in enumerate(self._parts):
            part.add(self._of_bag(forest, b))

    def add_sums(self, sums):
        """See `ScoredRows.add_sums`. sums : those of the rows of all bags"""
        ends = np.cumsum([len(part.X) for part in self._parts])
        for part, end in zip(self._parts, ends, strict=True):
            part.add_sums(sums[end - len(part.X) : end])

    def keep_first(self, n_iterations):
        """See `ScoredRows.keep_first`."""
        for part in self._parts:
            part.keep_first(n_iterations)

    def drop_sums(self):
        """See `ScoredRows.drop_sums`."""
        for part in self._parts:
            part.drop_sums()

    def _of_bag(self, forest, bag):
        return forest_of_bag(forest, bag, len(self._parts))


def forest_of_bag(forest, bag, n_bags):
    """The `Forest` of the trees of a bag, given its number and that of whole iterations of all bags; of one bag, that forest."""
    if n_bags == 1:
        return forest
    trees = np.arange(forest.n_trees)
    chosen = trees[trees // forest.objective.n_trees_per_iteration % n_bags == bag].tolist()
    tree_of, assembly = forest.tree_reader(), Assembly(forest.threshold.dtype, len(chosen), forest.objective.n_node_values)
    for number, t in enumerate(chosen):
        assembly.add(number, tree_of(t))
    settings = forest.settings()
    settings |= {name: settings[name][chosen] for name in ("seeds", "n_rows", "weight_unit")}
    return Forest.assembled(assembly, **settings | {"plans": tuple(settings["plans"][t] for t in chosen)})


def begun(estimator, bags, grown, ranks):
    """The bags, of which it is known what raw predictions begin with and whether iterations are dropped. A collective."""
    found = []
    for bag in bags:
        known = [other.baseline for other in found if other.training is bag.training]
        baseline = known[0] if known else estimator._baseline(bag.training, grown, ranks)
        found.append(bag._replace(baseline=baseline, dropout=dropout_of(estimator, bag.seeds.trees)))
    return found


def problem_of_bags(estimator, bags, ranks, engine):
    """The problem of some bags, before there are trees: a `BoostingProblem` of one, and of more a `BagsProblem`. A collective.

    Bags that grow their trees on the same rows share coded columns.
    """
    problems = []
    for bag in bags:
        known = [problem for problem, other in zip(problems, bags, strict=False) if other.training is bag.training]
        columns = known[0].of_features().columns if known else None
        problems.append(estimator._make_problem(bag.training, bag.baseline, bag.seeds, ranks, engine, columns))
    return problems[0] if len(problems) == 1 else BagsProblem(tuple(problems))


def going_on(problem, bags, grown, n_threads):
    """The problem of some bags after the trees of a `Forest`: what they add up to in the rows of each bag is added.

    Trees are as they were grown, and test statistics of labels where the problem has them. None: there are none.
    """
    if grown is None:
        return problem
    problems = []
    for b, (own, (_, training, *_)) in enumerate(zip(problem.of_bags, bags, strict=True)):
        X = training.X if own.statistics is None else own.statistics.beside_columns(training.X)
        sums = training.first_sums(own.n_sums)
        forest = forest_of_bag(grown, b, len(bags))
        forest.packed(n_threads=n_threads).add_up(X, sums, 0, forest.n_trees, n_threads)
        used = np.bincount(forest.feature[forest.feature >= 0], minlength=len(own.columns)) > 0
        problems.append(replace(own, n_grown=forest.n_trees, raw=np.ascontiguousarray(sums.T), used=used))
    return problems[0] if len(problems) == 1 else BagsProblem(tuple(problems))


def model_of(forest, bags, n_iterations):
    """The `Forest` of a model of the first iterations of some bags, given that of all trees, whose leaves are whole or shares."""
    n_trees = forest.objective.n_trees_per_iteration
    forest = first_trees(forest, n_iterations * len(bags) * n_trees)
    if bags[0].dropout is None:
        return forest
    of_bags = np.column_stack([bag.dropout.weights(n_iterations) for bag in bags])
    return with_weights(forest, np.repeat(of_bags.reshape(-1), n_trees))


@contextmanager
def opened(engine, problem, bags, **settings):
    """The session of a problem, or of the problems of several bags, in a block.

    Parameters
    ----------
    engine : Engine
    problem : BoostingProblem or BagsProblem
    bags : list of Bag
        Whose problem it is.
    **settings
        As of `dforest.engines.fitting.ForestSink.forest`.
    """
    with ExitStack() as stack:
        sessions = []
        for own, bag in zip(problem.of_bags, bags, strict=True):
            session = stack.enter_context(engine.open(own))
            if bag.dropout is not None:
                session = DropoutSession(session, bag.dropout, own, bag.training, **settings)
            sessions.append(session)
        yield sessions[0] if len(sessions) == 1 else BagsSession(sessions)


def monitor_of_bags(estimator, bags, n_threads, ranks):
    """The `Monitor` of the iterations of some bags, whose scores are means over the bags. A collective."""
    monitors = [
        make_monitor(
            estimator, estimator._loss, bag.baseline, bag.training, bag.held_out, bag.seeds.rows, n_threads, ranks, bag.dropout
        )
        for bag in bags
    ]
    if len(monitors) == 1:
        return monitors[0]
    held_out = None if bags[0].held_out is None else BagScores([monitor.held_out for monitor in monitors])
    return Monitor(monitors[0].stopping, BagScores([monitor.training for monitor in monitors]), held_out)


def warn_of_equal_bags(problem, bags, ranks):
    """Warn if several bags grow equal trees, as no chance is in them."""
    first = problem.of_bags[0]
    is_drawn = first.rules.draw_columns(len(first.columns)) or first.n_drawn is not None or first.statistics is not None
    if len(bags) == 1 or is_drawn or any(bag.training is not bags[0].training for bag in bags) or ranks.rank > 0:
        return
    warn(
        f"n_bags={len(bags)}, but the bags grow equal trees, as neither rows nor columns are drawn by chance; a max_features, "
        "colsample_bytree, colsample_bylevel or subsample below 1 makes them differ"
    )
