"""How much memory a fit of boosted trees takes, told before it."""

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from dforest.core.sparse_rows import parts_of
from dforest.engines.boosting_memory import estimate_boosting_memory
from dforest.engines.cpu import CpuEngine
from dforest.estimators.boosting.scores import MAX_SCORED
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
)
from dforest.estimators.support import DEVICE, places_of, said_of_place

_PART = 8  # an iteration is grown on one in so many rows, and another one on half as many


class BoostingMemoryPart:
    """What boosted trees tell of a fit's memory before it."""

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
            takes is not known.

        Raises
        ------
        ValueError
            If trees would be grown on a device or by several processes, for which there is no estimate, or if `fit` would refuse
            the parameters or the data.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from dforest import HistGradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> HistGradientBoostingRegressor(n_jobs=1).estimate_memory(X, y).total < 16 * 2**20
        True
        """
        model = clone(self)
        for name in ("_skl_callbacks", "_parent_callback_ctx"):
            model.__dict__.pop(name, None)
        model.warm_start = False
        model._validate_params()
        to_score = X_val, y_val, sample_weight_val, offset_val
        with model._communicator().together() as ranks:
            if ranks.size > 1:
                raise ValueError(f"memory can't be estimated for a fit by {ranks.size} ranks; allowed is one rank")
            partitions = [Partition(0, X, y, sample_weight, None, offset)]
            places = places_of(model, [*partitions[0][1:], *to_score], False)
            if DEVICE in places:
                raise ValueError(f"memory can't be estimated for {said_of_place(DEVICE, model.device)}; allowed is the processor")
            training, held_out = model._learn(partitions, to_score, ranks, places, None)
            seed, model._row_seed = model._draw_seeds(None)
            training, held_out = model._held_out(training, held_out, ranks)
            engine = CpuEngine(count_threads(model.n_jobs))
            problem = model._state_problem(training, model._baseline(training, None, ranks), seed, ranks, engine)
        given = X, y, sample_weight, offset, *to_score
        return memory_of(model, problem, training, held_out, model.max_iter, engine, given)


def memory_of(estimator, problem, training, held_out, n_iterations, engine, given):
    """The `FitMemory` of a fit.

    Parameters
    ----------
    estimator : BoostingEstimator
        Its parameters, and its loss.
    problem : BoostingProblem
    training, held_out : Sample
        The latter may be None.
    n_iterations : int
    engine : Engine
    given : tuple
        What `fit` is given.
    """
    n_rows, n_sums, n_threads = len(training.y), problem.n_sums, engine.n_threads
    own = [array for sample in (training, held_out) if sample is not None for array in (*parts_of(sample.X), *sample[1:5])]
    n_leaves = count_leaves(problem, engine)
    n_scored = n_ahead = 0
    if estimator.do_early_stopping_:
        n_scored = n_sums * (2 * min(n_rows, MAX_SCORED) + (0 if held_out is None else 2 * len(held_out.y)))
        n_ahead = 0 if held_out is None else min(estimator.n_iter_no_change + 1, n_iterations)
    sizes = n_iterations * problem.n_trees_per_iteration, n_threads, n_leaves, n_scored, n_ahead * problem.n_trees_per_iteration
    growth = estimate_boosting_memory(problem, *sizes)
    coding = bytes_of_coding(n_rows, len(problem.columns), n_threads)
    data = FIXED + bytes_of_copies(own, given)
    return FitMemory(data, growth.codes + growth.values, coding, growth, 0, n_leaves)


def count_leaves(problem, engine):
    """How many leaves a tree has, about: measured on trees of few rows, of the first iteration.

    Parameters
    ----------
    problem : BoostingProblem
    engine : Engine
    """
    n_rows, rules = problem.n_rows, problem.rules
    most = max(1, (n_rows if problem.n_drawn is None else problem.n_drawn) // max(1, rules.min_samples_leaf))
    for limit in (rules.max_leaf_nodes, None if rules.max_depth is None else 1 << min(rules.max_depth, 62)):
        most = most if limit is None else min(most, limit)
    sizes = [n_rows] if n_rows <= FEW_ROWS else [n_rows // (2 * _PART), n_rows // _PART]
    counts = []
    for chosen in some_rows(n_rows, sizes):
        counted = _Leaves()
        few = problem if len(chosen) == n_rows else _some(problem, chosen)
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


def _some(problem, chosen):
    """The problem of some of the rows."""

    def of_some(array, axis=0):
        return None if array is None else np.ascontiguousarray(np.take(array, chosen, axis))

    share = len(chosen) / problem.n_rows
    return replace(
        problem,
        columns=columns_of_some(problem.columns, chosen, len(problem.y)),
        y=of_some(problem.y),
        weight=of_some(problem.weight),
        raw=of_some(problem.raw, 1),
        n_rows=len(chosen),
        n_drawn=None if problem.n_drawn is None else max(1, round(problem.n_drawn * share)),
    )
