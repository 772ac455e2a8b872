"""The plateau of the out-of-bag error: when more trees no longer help."""

from math import isnan
from numbers import Integral, Real

import numpy as np

from dforest.callback.base import FitRecords, is_step
from dforest.estimators.data.given import check_number
from dforest.estimators.growth import growth_of
from dforest.estimators.scoring import named_scorer, refusal


class OutOfBagPlateau(FitRecords):
    """A callback that ends the fit of a forest when its out-of-bag error no longer falls.

    The error is that of the attribute `oob_curve_`, for which each row is predicted by the trees that left it out. Computing it
    takes about as long as ``oob_score=True`` does, and somewhat longer if trees are small. When the fit ends depends on the trees
    alone, so it is the same on any number of threads and ranks, and on any device. If several ranks fit the forest, it is enough
    that one of them has this callback; with a scorer, all rows' targets and out-of-bag predictions are sent to each rank after
    each tree.

    The forest keeps all trees that were grown. Unlike the iterations of boosted trees, more trees do not overfit: that the error
    is least after some number of trees is chance, and the out-of-bag estimates of a forest cut there would be too good.

    Parameters
    ----------
    scorer : str or callable, default=None
        A metric or a scorer, or the name of one, whose greater values are better, of the kinds that `oob_score` takes. It is
        called after each tree, for the rows that some tree left out. None means the error of `oob_curve_`: the share of
        misclassified rows, or the mean squared error; of several outputs, the mean over these. Of survival times, it means 1
        less Harrell's concordance.
    rounds : int, default=25
        Number of trees, from 1 on, to wait for a new best value; the fit ends when this many trees in a row brought none. Trees
        after which the value is NaN, as that of a metric may be while few rows are left out, don't count.
    tolerance : float, default=0.001
        Share of the magnitude of the best value so far by which a value must be better to be a new best; from 0 on and below 1.

    Raises
    ------
    ValueError
        By `fit`, if ``bootstrap=False``, with which no tree leaves out rows, if the estimator is not a forest, or if the value is
        NaN after `rounds` trees in a row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> from dforest.callback import OutOfBagPlateau
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(2000, oob_score=True, random_state=0).set_callbacks(OutOfBagPlateau(rounds=50)).fit(X, y)
    >>> forest.n_estimators_ < 2000
    True
    >>> int(forest.oob_curve_.argmin()) < forest.n_estimators_
    True
    """

    def __init__(self, scorer=None, rounds=25, tolerance=0.001):
        super().__init__()
        if scorer is not None and not callable(named_scorer(scorer, "scorer")):
            raise ValueError(f"scorer={scorer!r}; allowed are None, names of scorers, and callables, such as metrics and scorers")
        rounds = check_number("rounds", rounds, Integral, "integers from 1", lambda n: n >= 1)
        tolerance = check_number("tolerance", tolerance, Real, "numbers from 0 and below 1", lambda n: 0 <= n < 1)
        self.scorer = scorer
        self.rounds = rounds
        self.tolerance = tolerance

    @property
    def needs(self):
        """See `dforest.callback.base.Callback`."""
        return ("live votes",) if self.scorer is None else ("live scores",)

    def open(self, estimator, context):
        growth_of(estimator, self)
        return _Best(self.rounds, self.tolerance)

    def on_tree_resumed(self, estimator):
        """Another tree of a checkpoint counts; returns whether the fit is to end with it."""
        return self._look(estimator)

    def on_fit_task_end(self, estimator, context):
        return is_step(context) and self._look(estimator)

    def _look(self, estimator):
        """Look at the error after the latest tree; returns whether the plateau is reached."""
        best, growth = self.record(estimator), growth_of(estimator, self)
        values = [-error for error in growth.errors[best.n_seen :]] if self.scorer is None else [self._score(estimator, growth)]
        is_reached = best.is_plateau(values)
        if best.n_undefined >= self.rounds:
            what = "the out-of-bag error" if self.scorer is None else f"the value of scorer={self.scorer!r}"
            raise ValueError(
                f"{what} is NaN after each of {best.n_undefined} trees in a row, with {growth.n_seen} rows that some tree left "
                "out; allowed are numbers, or a fit without OutOfBagPlateau"
            )
        return is_reached

    def _score(self, estimator, growth):
        true, prediction = growth.out_of_bag()
        if not len(true):
            return np.nan
        scorer = named_scorer(self.scorer, "scorer")
        try:
            return estimator._target.score(estimator, scorer, true, prediction, growth.problem.objective.outputs)
        except Exception as error:
            classes = getattr(estimator, "classes_", None)
            raise refusal(f"scorer={self.scorer!r}", "y", error, scorer, classes) from error


class _Best:
    """The best of the values so far, of which greater ones are better."""

    def __init__(self, rounds, tolerance):
        self._rounds, self._tolerance = rounds, tolerance
        self._best, self._since = None, 0
        self.n_seen = self.n_undefined = 0  # the latter: the last ones that are NaN

    def is_plateau(self, values):
        """Take the next values; returns whether enough of them have come since the best one."""
        for value in values:
            self.n_seen += 1
            if isnan(value):
                self.n_undefined += 1
                continue
            self.n_undefined = 0
            self._since += 1
            if self._best is None or value > self._best + self._tolerance * abs(self._best):
                self._best, self._since = value, 0
        return self._since >= self._rounds
