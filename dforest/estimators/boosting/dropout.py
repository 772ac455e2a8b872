"""Dropouts in boosting (DART): while an iteration is grown, some of the iterations before it don't count.

Later trees of an ordinary model mend what little is left of a few rows. Here gradients are found as if some of the iterations
before, which are *dropped*, had not been grown, so that new trees learn again what these had learned. New and dropped trees
then share what they say: with k dropped iterations and the learning rate r, new trees, whose leaves were multiplied by r when
they were grown, get the *weight* 1 / (k + r), and the weights of dropped ones are multiplied by k / (k + r). So if a new tree
without the rate says the same as the dropped ones together, predictions stay as they were. If none is dropped, weights are 1, as
in ordinary boosting. Which iterations are dropped follows from the seed and the number of the iteration alone.

K. V. Rashmi, R. Gilad-Bachrach, "DART: Dropouts meet Multiple Additive Regression Trees", AISTATS 2015, has r = 1. The weights
for other rates are those of XGBoost, whose documentation has the formulas.

Trees are kept as they were grown. A model has their leaves times their weights after its last iteration: a model of fewer
iterations has other weights.
"""

from dataclasses import dataclass

import numpy as np

from dforest.engines.fitting import forest_of
from dforest.estimators.boosting.loop import with_sets
from dforest.estimators.data.validation import count_threads


@dataclass(frozen=True)
class DropRule:
    """Which iterations are dropped.

    Parameters
    ----------
    rate : float
        The chance of each iteration to be dropped.
    skip : float
        The chance of an iteration to drop none.
    most : int or None
        How many are dropped at most; None: any number.
    learning_rate : float
    seed : int
        Below 2**64.
    """

    rate: float
    skip: float
    most: int | None
    learning_rate: float
    seed: int

    def dropped(self, iteration):
        """The iterations that are dropped in one: ndarray of shape (n_dropped,), dtype int64, ascending."""
        rng = np.random.RandomState([self.seed & 0xFFFFFFFF, self.seed >> 32, iteration])
        skip, *chances = rng.random_sample(1 + iteration)
        if skip < self.skip or not chances:
            return np.zeros(0, np.int64)
        found = np.flatnonzero(np.less(chances, self.rate))
        if self.most is not None and len(found) > self.most:
            found = np.sort(found[np.argsort(np.take(chances, found), kind="stable")[: self.most]])
        return found

    def weights(self, n_dropped):
        """(weight of new trees, by what the weights of dropped ones are multiplied, and what of these this takes away)."""
        total = n_dropped + self.learning_rate
        return (1.0 / total, n_dropped / total, self.learning_rate / total) if n_dropped else (1.0, 1.0, 0.0)


class Dropout:
    """The iterations of a bag so far, as they were grown, and their weights.

    Parameters
    ----------
    rule : DropRule
    n_threads : int
        Of predictions.
    """

    def __init__(self, rule, n_threads):
        self.rule, self.n_threads = rule, n_threads
        self._grown = []  # for each iteration (trees as grown, trees of sets, both packed, number of the first, how many)

    def restart(self, forest, problem):
        """Take the iterations of a `Forest`, as they were grown for a `BoostingProblem`, for all there are.

        forest : None if there are none
        """
        self._grown = []
        if forest is not None:
            self.add(forest, problem)

    def add(self, forest, problem):
        """Take the iterations of a `Forest`, as they were grown for a `BoostingProblem`, behind those there are."""
        as_grown = packed = forest.packed(n_threads=self.n_threads)
        if problem.statistics is not None:
            packed = with_sets(forest, problem).packed(n_threads=self.n_threads)
        n_trees = forest.objective.n_trees_per_iteration
        self._grown += [(as_grown, packed, first, n_trees) for first in range(0, forest.n_trees, n_trees)]

    def keep_first(self, n_iterations):
        """Forget all iterations but the first ones."""
        del self._grown[n_iterations:]

    def add_up(self, iteration, X, sums, are_trained_on=False):
        """Add what an iteration's leaves, as they were grown, say of rows to ndarray `sums` of shape (n_rows, n_sums).

        are_trained_on : whether X has the columns that the trees were grown from, with the statistics of labels
        """
        as_grown, packed, first, n_trees = self._grown[iteration]
        (as_grown if are_trained_on else packed).add_up(X, sums, first, n_trees, self.n_threads)

    def sums_of(self, X, sums):
        """The `WeighedSums` of rows before the first iteration."""
        return WeighedSums(self, X, sums)

    def weights(self, n_iterations):
        """The weights of the first iterations, if there are no others: ndarray of shape (n_iterations,), dtype float64."""
        weights = np.ones(n_iterations)
        for iteration in range(n_iterations):
            self.enter(iteration, weights)
        return weights

    def enter(self, iteration, weights):
        """Change the weights of iterations, of which one more is to count. Returns those that are dropped in it."""
        dropped = self.rule.dropped(iteration)
        weights[iteration], kept, _ = self.rule.weights(len(dropped))
        weights[dropped] *= kept
        return dropped


def dropout_of(estimator, seed):
    """The `Dropout` of a bag of an estimator without trees, given the seed of its trees; None: no iteration is dropped."""
    if estimator.boosting != "dart":
        return None
    rule = DropRule(estimator.drop_rate, estimator.skip_drop, estimator.max_drop, estimator.learning_rate_, seed)
    return Dropout(rule, count_threads(estimator.n_jobs))


def bytes_of_sums(n_rows, n_sums):
    """How much memory the `WeighedSums` of rows take at most: sums, those of dropped and of new iterations, and a product."""
    return 4 * 8 * n_rows * n_sums


class WeighedSums:
    """What the iterations that count add up to in some rows, as their weights change.

    Parameters
    ----------
    dropout : Dropout
    X : ndarray of shape (n_rows, n_features), or SparseRows
    sums : ndarray of shape (n_rows, n_sums), dtype float64
        What sums begin with, when no iteration counts; it is written to.
    are_trained_on : bool, default=False
        As of `Dropout.add_up`.
    """

    def __init__(self, dropout, X, sums, are_trained_on=False):
        self._dropout, self._X, self._are_trained_on, self.sums = dropout, X, are_trained_on, sums
        self._weights = np.ones(64)
        self._n, self._of_dropped = 0, None

    def of_dropped(self):
        """What those add up to that are dropped in the iteration that comes: ndarray as `sums`, or None if none is; lent."""
        if self._of_dropped is None:
            dropped = self._dropout.rule.dropped(self._n)
            for iteration in dropped:
                own = self._of_iteration(iteration)
                own *= self._weights[iteration]
                self._of_dropped = own if self._of_dropped is None else np.add(self._of_dropped, own, out=own)
        return self._of_dropped

    def _of_iteration(self, iteration):
        """What an iteration's leaves, as they were grown, add up to: ndarray as `sums`."""
        found = np.zeros_like(self.sums)
        self._dropout.add_up(iteration, self._X, found, self._are_trained_on)
        return found

    def advance(self):
        """One more iteration counts."""
        of_dropped, new = self.of_dropped(), self._of_iteration(self._n)
        if self._n == len(self._weights):
            self._weights = np.concatenate([self._weights, np.ones(self._n)])
        n_dropped = len(self._dropout.enter(self._n, self._weights))
        weight, _, lost = self._dropout.rule.weights(n_dropped)
        if of_dropped is not None:
            new *= weight
            of_dropped *= lost
            self.sums -= of_dropped
        self.sums += new
        self._n, self._of_dropped = self._n + 1, None


class DropoutSession:
    """A `BoostingSession` on the processor, whose iterations are grown without those that are dropped in them.

    Parameters
    ----------
    session : BoostingSession
    dropout : Dropout
        Which has the iterations that the session's problem has.
    problem : BoostingProblem
    training : Sample
    **settings
        As of `dforest.engines.fitting.ForestSink.forest`.
    """

    def __init__(self, session, dropout, problem, training, **settings):
        self._session, self._dropout, self._problem, self._dtype = session, dropout, problem, training.X.dtype
        X, statistics = training.X, problem.statistics
        if statistics is not None:
            X, settings["n_categories"] = statistics.beside_columns(X), statistics.all_n_categories
        self._settings = settings
        self._rows = WeighedSums(dropout, X, training.first_sums(problem.n_sums), are_trained_on=True)
        for _ in range(problem.n_grown // problem.n_trees_per_iteration):
            self._rows.advance()

    @property
    def n_together(self):
        """See `BoostingSession`."""
        return self._session.n_together

    @property
    def raw_sums(self):
        """See `BoostingSession`."""
        return self._rows.sums.T

    def report(self):
        """See `Session.report`."""
        return self._session.report()

    def grow(self, trees, sink):
        """Grow the trees of some iterations."""
        for first in range(trees.start, trees.stop, self.n_together):
            of_dropped, raw = self._rows.of_dropped(), self._session.raw_sums
            raw[:] = self._rows.sums.T
            if of_dropped is not None:
                raw -= of_dropped.T
            copies = _Copies(sink)
            self._session.grow(range(first, first + self.n_together), copies)
            if len(copies.trees) < self.n_together:
                return  # growing ends
            self._dropout.add(forest_of(copies.trees, self._problem, self._dtype, **self._settings), self._problem)
            self._rows.advance()


class _Copies:
    """A sink that keeps copies of the trees that it hands on."""

    def __init__(self, sink):
        self._sink, self.trees = sink, []

    def put(self, tree):
        """See `Sink`."""
        self.trees.append(tree._replace(arrays=tree.arrays.copy()))
        return self._sink.put(tree)
