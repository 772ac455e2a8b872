"""The loop over rounds: the compiled booster grows trees, an assembly puts them together, scores say when to stop.

A round grows a tree for each of the loss's sums; the *sums* of a row are those of the leaves that it reaches, without the
baseline. *Scores* are numbers, the higher the better, one before the first round and one after each. Rows are *held out* if no
tree is grown on them.
"""

from dataclasses import dataclass

import numpy as np

from dforest.core.forest.arrays import Forest
from dforest.core.forest.assembly import Assembly
from dforest.core.grow.trainer import tree_seeds
from dforest.core.objective import SumObjective
from dforest.core.sampling import AllRows, Subsample


@dataclass(frozen=True)
class Stopping:
    """When to stop: when none of the last scores is better than the one before them.

    Parameters
    ----------
    n_rounds : int
        How many scores must be no better.
    tol : float
        By how much a score is higher that is better.
    """

    n_rounds: int
    tol: float

    def earliest(self, scores):
        """After how many more rounds growing may stop, however they score; 0: now.

        Parameters
        ----------
        scores : list of float
            At least one.
        """
        for first in range(max(0, len(scores) - self.n_rounds - 1), len(scores)):
            if not any(score > scores[first] + self.tol for score in scores[first + 1 :]):
                return first + self.n_rounds + 1 - len(scores)
        raise AssertionError("nothing comes after the last score")


class ScoredRows:
    """Rows, and what they score by the trees so far.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    score : callable
        Their score, given their sums: ndarray of shape (n_rows, n_sums).
    n_threads : int

    Attributes
    ----------
    scores : list of float
    """

    def __init__(self, X, score, n_threads):
        self.X, self.score, self.n_threads = X, score, n_threads
        self.scores, self._sums = [], None

    def begin(self, before, n_sums):
        """Score the baseline, and then each round of the trees there are, if any: a `Forest`."""
        self._sums = np.zeros((len(self.X), n_sums))
        self.scores = [self.score(self._sums)]
        if before is not None:
            self.add(before)

    def add(self, forest):
        """Score each round that the trees of a forest, grown since the last call, have grown."""
        n_sums = self._sums.shape[1]
        for first in range(0, forest.n_trees, n_sums):
            forest.packed().add_up(self.X, self._sums, first, n_sums, self.n_threads)
            self.scores.append(self.score(self._sums))

    def add_sums(self, sums):
        """Score the next round, whose sums are known."""
        self.scores.append(self.score(sums))

    def drop_sums(self):
        """Forget the sums, as those of later rounds will be known."""
        self._sums = None


class Monitor:
    """Scores of the rounds, and whether to go on.

    Parameters
    ----------
    stopping : Stopping
    training : ScoredRows
    held_out : ScoredRows or None
        None: there are none, and the training rows' scores decide.
    """

    def __init__(self, stopping, training, held_out):
        self.stopping, self.training, self.held_out = stopping, training, held_out

    @property
    def deciding_scores(self):
        return (self.held_out or self.training).scores

    def begin(self, before, n_sums):
        """Score the trees there are, round by round: whatever scored them before may have been other rows, or another scorer.

        Parameters
        ----------
        before : Forest or None
        n_sums : int
            How many trees grow in a round.
        """
        self.training.begin(before, n_sums)
        self.training.drop_sums()
        if self.held_out is not None:
            self.held_out.begin(before, n_sums)

    def earliest(self):
        """After how many more rounds growing may stop: see `Stopping.earliest`."""
        return self.stopping.earliest(self.deciding_scores)

    def best(self):
        """(after how many rounds the score that decides is highest, of equal ones the fewest, from 1 on; this score)."""
        scores = self.deciding_scores
        n_rounds = int(np.argmax(scores[1:])) + 1
        return n_rounds, scores[n_rounds]

    def scores_after(self, n_rounds):
        """(the score of the training rows, that of the rows held out or None) after some rounds."""
        return self.training.scores[n_rounds], None if self.held_out is None else self.held_out.scores[n_rounds]


class Growth:
    """What is known of the trees of a boosted forest beside their nodes, and how they become one.

    Parameters
    ----------
    dtype : dtype
        Of thresholds.
    n_rows : int
    n_categories : ndarray of shape (n_features,), dtype int32
        0 for features that are not categorical.
    baseline : tuple of float
    seed : int
        Of the forest.
    n_drawn : int, optional
        How many rows each round draws without replacement. None: trees are grown from all rows.
    """

    def __init__(self, dtype, n_rows, n_categories, baseline, seed, n_drawn=None):
        self.dtype, self.n_rows, self.n_categories, self.baseline, self.seed = dtype, n_rows, n_categories, baseline, seed
        self.n_drawn = n_drawn

    @property
    def n_sums(self):
        return len(self.baseline)

    def forest(self, assembly, n_new, before=None):
        """The `Forest` of assembled trees, those of `before` first, and then `n_new` ones."""
        first = 0 if before is None else before.n_trees
        seeds = tree_seeds(self.seed, range(first, first + n_new))
        return Forest.assembled(
            assembly,
            before,
            n_new,
            n_rows=np.full(n_new, self.n_rows, np.int64),
            plans=self._plans(seeds),
            weight_unit=np.ones(n_new),
            n_features=len(self.n_categories),
            objective=SumObjective(self.baseline),
            n_categories=self.n_categories,
            criterion="squared_error",
            splitter=None,
            seed=self.seed,
            seeds=seeds,
        )

    def _plans(self, seeds):
        """The sampling plans of the trees of whole rounds, which draw by the seed of the round's first tree."""
        if self.n_drawn is None:
            return (AllRows(),) * len(seeds)
        of_rounds = np.repeat(seeds[:: self.n_sums], self.n_sums)
        return tuple(Subsample(self.n_drawn, int(seed)) for seed in of_rounds)


class Prefix:
    """The trees of the rounds so far, put together as they come.

    Parameters
    ----------
    growth : Growth
    n_trees : int
        How many there will be at most, with those before.
    before : Forest or None
    n_threads : int
    """

    def __init__(self, growth, n_trees, before, n_threads):
        self._growth, self._most, self._n_threads = growth, n_trees, n_threads
        self._forest, self._assembly = before, None
        self._n = 0 if before is None else before.n_trees

    def add(self, tree):
        """Take the next tree."""
        if self._assembly is None:
            self._assembly = Assembly(self._growth.dtype, self._most, SumObjective.n_node_values, self._forest, self._n_threads)
        self._assembly.add(self._n, tree)
        self._n += 1

    def forest(self):
        """The `Forest` of all trees so far; None if there is none."""
        if self._assembly is not None:
            n_new = self._n - (0 if self._forest is None else self._forest.n_trees)
            self._forest, self._assembly = self._growth.forest(self._assembly, n_new, self._forest), None
        return self._forest


def first_trees(forest, n_trees):
    """The `Forest` of the first trees of another one, as if no others had been grown."""
    if n_trees == forest.n_trees:
        return forest
    tree_of, assembly = forest.tree_reader(), Assembly(forest.threshold.dtype, n_trees, forest.objective.n_node_values)
    for t in range(n_trees):
        assembly.add(t, tree_of(t))
    return Forest.assembled(assembly, **forest.settings(slice(n_trees)))


def grow(booster, growth, rounds, before=None, monitor=None, on_round=None, tasks=None, n_threads=1):
    """Grow the trees of some rounds, or fewer if scores say so.

    Where rows are held out, their scores are found for several rounds at once: for as many as will be grown however these score.
    With `tasks`, the scores of one round are found at a time, so that all is known that a fit which ended there would leave.

    Parameters
    ----------
    booster : Booster
        Which has grown the rounds before.
    growth : Growth
    rounds : range
        Their numbers; at least one.
    before : Forest, optional
        The trees of the rounds before.
    monitor : Monitor, optional
        Which has begun. None: all rounds are grown.
    on_round : callable, optional
        Called after each round with the number of rounds so far.
    tasks : object, optional
        Told of each round: `begin_step` before it and `end_step` after it, given a function that returns the `Forest` so far, or
        None if there is no tree. Growing stops when the latter returns True.
    n_threads : int

    Returns
    -------
    Forest
        Of all rounds.
    """
    n_sums = growth.n_sums
    prefix = Prefix(growth, rounds.stop * n_sums, before, n_threads)
    done = rounds.start
    while done < rounds.stop:
        ahead = rounds.stop - done
        if monitor is not None:
            ahead = min(ahead, max(1, monitor.earliest()))
        if tasks is not None:
            ahead = 1
            tasks.begin_step(prefix.forest)
        holds_out = monitor is not None and monitor.held_out is not None
        latest = Assembly(growth.dtype, ahead * n_sums, SumObjective.n_node_values) if holds_out else None
        for i in range(ahead):
            for k, tree in enumerate(booster.grow_round()):
                prefix.add(tree)
                if holds_out:
                    latest.add(i * n_sums + k, tree)
            if monitor is not None:
                monitor.training.add_sums(booster.raw_sums.T)
            if on_round is not None and not holds_out:
                on_round(done + i + 1)
        if holds_out:
            monitor.held_out.add(growth.forest(latest, ahead * n_sums))
            if on_round is not None:
                for i in range(ahead):
                    on_round(done + i + 1)
        done += ahead
        if tasks is not None and tasks.end_step(prefix.forest):
            break
        if monitor is not None and monitor.earliest() == 0:
            break
    return prefix.forest()
