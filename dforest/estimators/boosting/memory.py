"""How much memory a fit of boosted trees takes, told before it."""

from dataclasses import replace

import numpy as np

from dforest.core.sparse_rows import parts_of
from dforest.engines.fitting import engine_on
from dforest.engines.memory import bytes_of_waiting
from dforest.estimators.boosting.bags import Bag, Seeds, begun, draw_seeds, problem_of_bags
from dforest.estimators.boosting.dropout import bytes_of_sums
from dforest.estimators.boosting.rows import ToScore
from dforest.estimators.boosting.scores import MAX_SCORED
from dforest.estimators.boosting.search import divisions_of, is_searched
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.validation import count_threads
from dforest.estimators.memory import (
    FEW_ROWS,
    FIXED,
    FitMemory,
    bytes_of_coding,
    bytes_of_copies,
    columns_of_some,
    leaves_of_all,
    some_rows,
    unwatched,
)
from dforest.estimators.support import places_of_fit

_OF_BAGS = "rows", "gradients", "histograms", "tree", "batch", "messages", "on_device"  # what each bag has of an estimate
_PART = 8  # an iteration is grown on one in so many rows, and another one on half as many


def estimate_memory(
    self, X, y, sample_weight=None, *, offset=None, X_val=None, y_val=None, sample_weight_val=None, offset_val=None
):  # fmt: skip
    """Estimate how much memory `fit` will take.

    The data are checked and coded as in `fit`, and two iterations are grown on some of the rows, to learn how many leaves
    trees have. The estimator is left as it is.

    Parameters
    ----------
    X, y, sample_weight, offset, X_val, y_val, sample_weight_val, offset_val
        The data that `fit` would be given.

    Returns
    -------
    FitMemory
        The estimate in bytes, beside the data themselves; ``print`` shows it as a table. What a loss or a scorer of your own
        takes is not known. If several processes fit together, they estimate together too, and each learns what it will take
        itself.

    Raises
    ------
    ValueError
        If `fit` would refuse the parameters or the data.
    DeviceError
        If the device cannot be used.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> HistGradientBoostingRegressor(n_jobs=1).estimate_memory(X, y).total < 64 * 2**20
    True
    """
    partition = Partition(0, X, y, sample_weight, None, offset)
    return estimate_of(self, partition, ToScore(X_val, y_val, sample_weight_val, offset_val))


def estimate_of(self, partition, to_score):
    """The `FitMemory` of a fit to a `Partition`, whose place does not matter, with rows `ToScore`."""
    model = unwatched(self)
    with model._communicator().together() as ranks:
        partition = partition._replace(place=ranks.rank)
        places, device = places_of_fit(model, [partition], ranks, to_score)
        training, held_out, _ = model._learn([partition], to_score, ranks, places, None)
        seeds = Seeds.of_bags(ranks.first(draw_seeds(model, None)))
        engine, given = engine_on(device, count_threads(model.n_jobs), ranks), (*partition[1:], *to_score)

        def estimated(bags):
            bags = begun(model, bags, None, ranks)
            problem = problem_of_bags(model, bags, ranks, engine)
            return memory_of(model, problem, bags, model.max_iter_, engine, given, ranks)

        divisions = divisions_of(model, training, held_out, seeds, ranks)
        if not is_searched(model, divisions, held_out):
            return estimated([Bag(own, *division[:2]) for own, (division,) in zip(seeds, divisions, strict=True)])
        n_folds, n_bags = len(divisions[0]), len(seeds)
        of_first = estimated([Bag(seeds[0], *divisions[0][0][:2])])
        of_all, out_of_fold = estimated([Bag(own, training, None) for own in seeds]), 0
        if n_folds > 1:
            out_of_fold = 8 * len(training.y) * model._loss.n_sums
        return replace(
            of_all, data=of_all.data + out_of_fold,
            search=n_bags * n_folds * of_first.total + min(n_bags, 2) * out_of_fold,  # a sum, and what is added to it
            search_on_device=n_bags * n_folds * of_first.on_device,
        )  # fmt: skip


def memory_of(estimator, problem, bags, n_iterations, engine, given, ranks):
    """The `FitMemory` of a fit. A collective.

    Parameters
    ----------
    estimator : BoostingEstimator
        Its parameters, and its loss.
    problem : BoostingProblem or BagsProblem
    bags : list of Bag
        Whose problem it is.
    n_iterations : int
    engine : Engine
    given : tuple
        What `fit` is given.
    ranks : Communicator
    """
    problems, n_bags, (_, training, held_out, *_) = problem.of_bags, len(bags), bags[0]
    problem, n_rows, n_sums, n_threads = problems[0], len(training.y), problem.n_sums, engine.n_threads
    samples = [sample for bag in bags for sample in (bag.training, bag.held_out) if sample is not None]
    own = [array for sample in samples for array in (*parts_of(sample.X), *sample[1:6])]
    own += [bag.statistics.rows for bag in problems if bag.statistics is not None]
    n_leaves, scores = count_leaves(problem, engine, ranks), 0
    if estimator.do_early_stopping_:
        scores = 16 * n_sums * min(n_rows, MAX_SCORED)
    if estimator.do_early_stopping_ and held_out is not None:
        n_ahead = min(estimator.n_iter_no_change_ + 1, n_iterations) * problem.n_trees_per_iteration
        scores += 16 * n_sums * len(held_out.y) + bytes_of_waiting(problem, n_ahead, n_leaves)
    if bags[0].dropout is not None:
        n_weighed = n_rows + (0 if held_out is None or not estimator.do_early_stopping_ else len(held_out.y))
        of_trees = bytes_of_waiting(problem, n_iterations * problem.n_trees_per_iteration, n_leaves)
        scores += bytes_of_sums(n_weighed, n_sums) + of_trees * (1 if problem.statistics is None else 2)
    n_trees = n_bags * n_iterations * problem.n_trees_per_iteration
    growth = engine.estimate_memory(problem, n_trees, n_leaves, scores=n_bags * scores)
    n_columns = len({id(column.codes) for bag in problems for column in bag.columns})
    of_bags = {name: n_bags * getattr(growth, name) for name in _OF_BAGS}
    of_columns = {name: n_columns * getattr(growth, name) // len(problem.columns) for name in ("codes", "values")}
    growth = replace(growth, **of_bags, **of_columns)
    coding = bytes_of_coding(n_rows, len(problem.columns), n_threads)
    data = FIXED + bytes_of_copies(own, given)
    return FitMemory(data, growth.codes + growth.values, coding, growth, 0, n_leaves)


def count_leaves(problem, engine, ranks):
    """How many leaves a tree has, about: measured on trees of few rows, of the first iteration.

    Parameters
    ----------
    problem : BoostingProblem
    engine : Engine
    ranks : Communicator
    """
    n_rows, rules = problem.n_rows, problem.rules
    most = max(1, (n_rows if problem.n_drawn is None else problem.n_drawn) // max(1, rules.min_samples_leaf))
    for limit in (rules.max_leaf_nodes, None if rules.max_depth is None else 1 << min(rules.max_depth, 62)):
        most = most if limit is None else min(most, limit)
    sizes = [n_rows] if n_rows <= FEW_ROWS else [n_rows // (2 * _PART), n_rows // _PART]
    counts = []
    for size, (chosen, share) in zip(sizes, some_rows(n_rows, sizes, problem.share, ranks), strict=True):
        counted = _Leaves()
        few = problem if size == n_rows else _some(problem, chosen, size, share)
        raw = np.zeros((problem.n_sums, len(few.y))) if few.raw is None else few.raw.copy()  # which engines write to
        with engine.open(replace(few, raw=raw)) as session:
            session.grow(range(problem.n_grown, problem.n_grown + problem.n_trees_per_iteration), counted)
        counts.append(np.mean(counted.counts))
    return max(1, round(counts[0] if len(counts) == 1 else leaves_of_all(counts, sizes, n_rows, most)))


class _Leaves:
    """A sink that counts the leaves of trees."""

    def __init__(self):
        self.counts = []

    def put(self, tree):
        self.counts.append(np.count_nonzero(tree.arrays.feature < 0))
        return True


def _some(problem, chosen, n_rows, share):
    """The problem of some of the rows, given which of those here are among them, and how many there are on all ranks."""

    def of_some(array, axis=0):
        return None if array is None else np.ascontiguousarray(np.take(array, chosen, axis))

    return replace(
        problem,
        columns=columns_of_some(problem.columns, chosen, len(problem.y)),
        y=of_some(problem.y),
        weight=of_some(problem.weight),
        loss=problem.loss.of_some(chosen),
        raw=of_some(problem.raw, 1),
        X=of_some(problem.X),
        n_rows=n_rows,
        n_drawn=None if problem.n_drawn is None else max(1, round(problem.n_drawn * n_rows / problem.n_rows)),
        sampling=None,  # as many rows, whichever they are
        share=share,
    )
