"""Boosting as the work of an engine: a session that grows the trees of one iteration after another.

Each engine has something that grows them: `dforest.core.boost.booster.Booster` on the processor, and
`dforest.engines.boosting_driver.Iterations` on devices and ranks. It owns the raw predictions of the rows.
"""

from dforest.engines.base import GrownTree, Session


class BoostingSession(Session):
    """An engine at work on a `BoostingProblem`; see `Session`. A call of `grow` is for the trees of whole iterations.

    Parameters
    ----------
    problem : BoostingProblem
    grower : object
        It has the method `grow_iteration`, which returns the `TreeArrays` of an iteration in a list, and the attribute
        `raw_sums`.
    recorder : Stopwatch or Recorder
        What keeps how long growing takes, and reports it.
    with_more : callable, default=None
        Given the recorder's `FitReport`, it returns one that says more.
    """

    def __init__(self, problem, grower, recorder, with_more=None):
        super().__init__(problem)
        self.n_together = problem.n_trees_per_iteration
        self._grower, self._recorder, self._with_more = grower, recorder, with_more

    def close(self):
        self._grower = None

    @property
    def raw_sums(self):
        """What offsets and leaf values of the rows here add up to: ndarray of shape (n_sums, n_rows), dtype float64; lent."""
        return self._grower.raw_sums

    def _take_targets(self):
        raise ValueError("the targets of boosted trees do not change between trees")

    def _grow(self, trees, sink, keep_leaves):
        if keep_leaves:
            raise ValueError("it is not told which leaves the rows reach while boosted trees are grown")
        with self._recorder.timed("train"):
            for first in range(trees.start, trees.stop, self.problem.n_trees_per_iteration):
                for number, arrays in enumerate(self._grower.grow_iteration(), first):
                    if not sink.put(GrownTree(number, arrays, 1.0)):
                        return

    def report(self):
        found = self._recorder.report(self._n_trees)
        return found if self._with_more is None else self._with_more(found)
