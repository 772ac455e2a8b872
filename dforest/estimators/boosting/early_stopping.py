"""Scores of boosted trees, iteration by iteration, and when to stop by them.

*Scores* are numbers, the higher the better, one before the first iteration and one after each. A *measure* is what scores rows;
there may be several, of which the first decides. Rows are *held out* if no tree is grown on them. The *sums* of a row are its
raw predictions without the baseline: its offset, if it has one, and the leaves that it reaches.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stopping:
    """When to stop: when none of the last scores is better than the one before them.

    Parameters
    ----------
    n_iterations : int
        How many scores must be no better.
    tol : float
        By how much a score is higher that is better.
    """

    n_iterations: int
    tol: float

    def earliest(self, scores):
        """After how many more iterations growing may stop, however they score; 0: now.

        Parameters
        ----------
        scores : list of float
            At least one.
        """
        for first in range(max(0, len(scores) - self.n_iterations - 1), len(scores)):
            if not any(score > scores[first] + self.tol for score in scores[first + 1 :]):
                return first + self.n_iterations + 1 - len(scores)
        raise AssertionError("nothing comes after the last score")


class ScoredRows:
    """Rows, and what they score by the trees so far.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), or SparseRows
    offset : ndarray of shape (n_rows, n_sums), dtype float64, or None
        What their sums begin with; None means zeros.
    measures : dict
        For each name a callable that scores the rows, given their sums: ndarray of shape (n_rows, n_sums).
    n_threads : int
    dropout : Dropout, optional
        Which has the iterations that are scored, if their weights change.

    Attributes
    ----------
    history : dict of str to list of float
        The scores by each measure.
    """

    def __init__(self, X, offset, measures, n_threads, dropout=None):
        self.X, self.offset, self.measures, self.n_threads, self._dropout = X, offset, measures, n_threads, dropout
        self.history, self._sums, self._weighed = {name: [] for name in measures}, None, None

    @property
    def scores(self):
        """Those by the measure that decides."""
        return next(iter(self.history.values()))

    def begin(self, before, n_sums):
        """Score the baseline, and then each iteration of the trees there are, if any: a `Forest`."""
        self._sums = np.zeros((len(self.X), n_sums)) if self.offset is None else self.offset.copy()
        self._weighed = None if self._dropout is None else self._dropout.sums_of(self.X, self._sums)
        self.history = {name: [] for name in self.measures}
        self.add_sums(self._sums)
        if before is not None:
            self.add(before)

    def add(self, forest):
        """Score each iteration that the trees of a forest, grown since the last call, have grown."""
        n_trees = forest.objective.n_trees_per_iteration
        for first in range(0, forest.n_trees, n_trees):
            if self._weighed is None:
                forest.packed().add_up(self.X, self._sums, first, n_trees, self.n_threads)
            else:
                self._weighed.advance()
            self.add_sums(self._sums)

    def add_sums(self, sums):
        """Score the next iteration, whose sums are known."""
        for name, measure in self.measures.items():
            self.history[name].append(measure(sums))

    def keep_first(self, n_iterations):
        """Forget the scores of later iterations; none will be added."""
        self.history = {name: scores[: n_iterations + 1] for name, scores in self.history.items()}

    def drop_sums(self):
        """Forget the sums, as those of later iterations will be known."""
        self._sums = self._weighed = None


class MeanScores:
    """What several groups of rows score on average, each by trees of its own: they are told as those of `ScoredRows` are.

    Parameters
    ----------
    parts : list of ScoredRows
    """

    def __init__(self, parts):
        self._parts, self.measures = parts, parts[0].measures

    @property
    def history(self):
        return {name: np.mean([part.history[name] for part in self._parts], axis=0).tolist() for name in self.measures}

    @property
    def scores(self):
        return next(iter(self.history.values()))


class Monitor:
    """Scores of the iterations, and whether to go on.

    Parameters
    ----------
    stopping : Stopping
    training : ScoredRows, or MeanScores
    held_out : ScoredRows, MeanScores, or None
        None: there are none, and the training rows' scores decide.
    """

    def __init__(self, stopping, training, held_out):
        self.stopping, self.training, self.held_out = stopping, training, held_out

    @property
    def deciding_scores(self):
        return (self.held_out or self.training).scores

    def begin(self, before, n_sums):
        """Score the trees there are, iteration by iteration: whatever scored them before may have been other rows, or another
        scorer.

        Parameters
        ----------
        before : Forest or None
        n_sums : int
            How many raw predictions a row has.
        """
        self.training.begin(before, n_sums)
        self.training.drop_sums()
        if self.held_out is not None:
            self.held_out.begin(before, n_sums)

    def earliest(self):
        """After how many more iterations growing may stop: see `Stopping.earliest`."""
        return self.stopping.earliest(self.deciding_scores)

    def ends_after(self, n_iterations):
        """Whether scores ask for an end after some iterations, of which there may be more by now."""
        return self.stopping.earliest(self.deciding_scores[: n_iterations + 1]) == 0

    def keep_first(self, n_iterations):
        """Forget the scores of later iterations, which do not count; if there are any, none will be added."""
        for _, scored in self._rows():
            scored.keep_first(n_iterations)

    def best(self):
        """(after how many iterations the score that decides is highest, of equal ones the fewest, from 1 on; this score)."""
        scores = self.deciding_scores
        n_iterations = int(np.argmax(scores[1:])) + 1
        return n_iterations, scores[n_iterations]

    def history(self):
        """All scores: a dict by measure of dicts with the keys "training" and "validation", the latter if rows are held out."""
        return {
            name: {which: np.array(scored.history[name]) for which, scored in self._rows()} for name in self.training.measures
        }

    def scores_after(self, n_iterations):
        """Yield all scores after some iterations, as (name of the measure, "training" or "validation", score)."""
        for name in self.training.measures:
            for which, scored in self._rows():
                yield name, which, scored.history[name][n_iterations]

    def _rows(self):
        rows = ("training", self.training), ("validation", self.held_out)
        return [(which, scored) for which, scored in rows if scored is not None]
