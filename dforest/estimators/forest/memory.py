"""How much memory a fit of a forest or of a single tree takes, told before it."""

from dataclasses import replace
from hashlib import blake2b
from numbers import Integral

import numpy as np
from scipy.stats import poisson

from dforest.core.sampling import Bootstrap, WithLabelOrder
from dforest.core.sparse_rows import parts_of
from dforest.engines.fitting import engine_on
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.validation import count_samples
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

_PARTS = {0: 8, 16: 4, 64: 2}  # from so many trees on, two are grown on an 8th, a 4th, half of the rows, and two on half as many
_PACKING = 8  # bytes for each node, beside its slot, while nodes are packed


def estimate_memory(self, X, y=None, sample_weight=None, groups=None):
    """Estimate how much memory `fit` will take.

    The data are checked and coded as in `fit`, and a few trees are grown on some of the rows, to learn how many leaves trees
    have. That takes a few hundredths of the time of a fit of many trees, and a larger share for few trees or many columns,
    where coding is a large part of the fit. The estimator is left as it is.

    Parameters
    ----------
    X, y, sample_weight, groups
        The data that `fit` would be given.

    Returns
    -------
    FitMemory
        The estimate in bytes, beside X and y themselves; ``print`` shows it as a table. If several processes fit together,
        they estimate together too, and each learns what it will take itself.

    Raises
    ------
    ValueError
        If `fit` would refuse the parameters or the data.
    DeviceError
        If the device cannot be used, or has too little memory for a tree.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> RandomForestClassifier(500, n_jobs=1).estimate_memory(X, y).total < 64 * 2**20
    True
    """
    model = unwatched(self)
    with model._communicator().together() as ranks:
        partitions = [Partition(ranks.rank, X, y, sample_weight, groups)]
        places, device = places_of_fit(model, partitions, ranks)
        partitions, plan = model._read(partitions, ranks), model._plan()
        rows = model._prepared_rows(partitions, plan, places, ranks)
        splitter = model._configured_splitter(model.n_features_in_)
        plan.seed = ranks.first(model._seed(plan))
        engine = engine_on(device, plan.n_threads, ranks)
        problem = model._make_problem(plan, rows, splitter, engine)
        return memory_of(model, problem, rows, plan.n_trees, engine, (X, y, sample_weight))


def memory_of(estimator, problem, rows, n_trees, engine, given):
    """The `FitMemory` of a fit. A collective.

    Parameters
    ----------
    estimator : TreeEstimator
        Its parameters say what is estimated afterwards.
    problem : Problem
    rows : TrainingRows
    n_trees : int
    engine : Engine
    given : tuple
        What `fit` is given: X, y and the weights.
    """
    n_threads = engine.n_threads
    n_leaves, n_distinct = count_leaves(problem, n_trees, engine, estimator, rows.ranks)
    growth = engine.estimate_memory(problem, n_trees, n_leaves, n_distinct)
    keeps = getattr(estimator, "keep_training_data", False)
    own = [*(array for part in rows.parts for array in parts_of(part)), rows.y, rows.weight, rows.sample_weight]
    own += [problem.targets.weight, problem.targets.response]
    own += [problem.targets.numbers] * (rows.y.ndim == 2)  # class numbers as float64; numbers are those of y
    data = FIXED + bytes_of_copies(own, given)
    data += keeps * rows.ranks.total(sum(part.nbytes for part in rows.parts) + rows.y.nbytes)
    data += estimator._target.bytes_beside(problem, n_trees)
    estimates = 0
    is_calibrated = getattr(estimator, "calibration", None) is not None
    permutes = getattr(estimator, "variable_importance", None) in ("mda_raw", "mda_scaled")
    if is_calibrated or permutes or getattr(estimator, "oob_score", False):
        n_nodes, n_values = (2 * n_leaves - 1) * n_trees, problem.objective.n_values
        slots = n_nodes * 2 * problem.columns[0].values.itemsize  # a threshold, and as much beside it
        estimates = slots + max(_PACKING * n_nodes, len(rows.y) * (24 * n_values + 48))
        if rows.is_divided and (is_calibrated or not isinstance(estimator.oob_score, bool)):  # which look at rows of all ranks
            estimates += rows.n_rows * (16 * n_values + 24)
    coding = bytes_of_coding(len(rows.y), len(problem.columns), n_threads)
    return FitMemory(data, growth.codes + growth.values, coding, growth, estimates, n_leaves)


def count_leaves(problem, n_trees, engine, estimator, ranks):
    """How many leaves a tree has, and how many different leaves all trees have, about: measured on trees of few rows.

    The number of leaves rises by a power of the number of rows. Some leaves come again and again: those of one row, which have
    the same words in each tree that draws the row equally often. Two trees tell how many such rows there are: if a tree draws a
    row c times with the probability p(c), a row has the same leaf in both with the probability of the sum of all p(c)**2.

    Parameters
    ----------
    problem, n_trees, engine
        As of `memory_of`.
    estimator : TreeEstimator
        Whose limits hold for trees of few rows too: those that are shares mean fewer rows there.
    ranks : Communicator

    Returns
    -------
    n_leaves, n_distinct : int
    """
    n_rows = problem.n_rows
    part = next(part for least, part in reversed(_PARTS.items()) if n_trees >= least)
    is_whole = n_rows <= FEW_ROWS or problem.drawn is not None  # two trees draw few rows
    sizes = [n_rows] if is_whole else [n_rows // (2 * part), n_rows // part]
    counts, trees = [], range(1 if problem.is_tree else 2) if problem.drawn is None else problem.drawn.trees[:2]
    for size, (chosen, share) in zip(sizes, some_rows(n_rows, sizes, problem.share, ranks), strict=True):
        seen = _Leaves()
        few = problem if size == n_rows else _some(problem, chosen, size, share, estimator)
        with engine.open(few) as session:
            session.grow(trees, seen)
        counts.append(np.mean(seen.counts))
    n_leaves = counts[-1]
    if len(counts) > 1:
        n_leaves = leaves_of_all(counts, sizes, n_rows, problem.rules.max_leaf_nodes or n_rows)
    n_leaves = max(1, round(n_leaves))
    distinct = np.mean([len(words) for words in seen.words])
    if n_trees == 1:
        return n_leaves, round(distinct / counts[-1] * n_leaves)
    shared = np.intersect1d(*seen.words).size if len(seen.words) > 1 else 0
    drawn = [1.0]  # the probability that a tree draws a row once, twice, ...
    sampling = problem.sampling.plan if isinstance(problem.sampling, WithLabelOrder) else problem.sampling
    if isinstance(sampling, Bootstrap):
        drawn = poisson.pmf(np.arange(1, 20), problem.n_draws / n_rows)
    coming_again = min(shared / np.square(drawn).sum(), distinct / np.sum(drawn))
    new_ones = distinct - coming_again * np.sum(drawn)
    in_all = new_ones * n_trees + coming_again * np.sum(1 - (1 - np.array(drawn)) ** n_trees)
    return n_leaves, round(in_all * n_leaves / counts[-1])


class _Leaves:
    """A sink that counts the leaves of trees, and keeps those that differ: their words, as one number of many bytes each."""

    def __init__(self):
        self.counts, self.words = [], []

    def put(self, tree):
        leaves, entries = np.ascontiguousarray(tree.arrays.leaves), tree.arrays.entries
        self.counts.append(len(leaves))
        if len(entries):  # lists of classes, each of which a digest stands for
            lists = np.split(entries, np.cumsum(leaves[:-1, 1]))
            texts = (leaf.tobytes() + own.tobytes() for leaf, own in zip(leaves, lists, strict=True))
            digests = [blake2b(text, digest_size=16).digest() for text in texts]
            leaves = np.frombuffer(b"".join(digests), np.int64).reshape(-1, 2)
        self.words.append(np.unique(leaves.view(f"V{leaves.itemsize * leaves.shape[1]}").ravel()))
        return True


def _some(problem, chosen, n_rows, share, estimator):
    """The problem of some of the rows, given which of those here are among them, and how many there are on all ranks."""
    targets, sampling = problem.targets.of_rows(chosen), problem.sampling
    if sampling.leaves_rows_out:  # whichever they are, as many draws
        orders_labels = isinstance(sampling, WithLabelOrder)
        sampling = Bootstrap(max(1, round(problem.n_draws * n_rows / problem.n_rows)))
        sampling = WithLabelOrder(sampling) if orders_labels else sampling
    columns = columns_of_some(problem.columns, chosen, len(problem.targets.classes))
    rules = problem.rules
    n_draws = sampling.count_draws(n_rows)
    for name, least in (("min_samples_split", 2), ("min_samples_leaf", 1)):
        limit = estimator._value(name)
        if not isinstance(limit, Integral):
            rules = replace(rules, **{name: count_samples(limit, n_draws, least)})
    X = None if problem.X is None else np.ascontiguousarray(problem.X[chosen])
    return replace(problem, columns=columns, targets=targets, sampling=sampling, rules=rules, X=X, share=share)
