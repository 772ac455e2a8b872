"""Limits of a fit: it ends when one is reached, with the trees that there are."""

from math import inf
from numbers import Integral, Real
from time import monotonic

from dforest.callback.base import FitRecords, is_step
from dforest.errors import LimitError
from dforest.estimators.data.given import check_number
from dforest.estimators.growth import growth_of


class TimeLimit(FitRecords):
    """A callback that ends a fit when its time is up, and keeps the trees grown so far.

    The clock starts when the data have been checked, and is looked at whenever a tree, or an iteration of boosted trees, is
    finished. So a fit takes longer than the limit by what is left of the tree that is being grown when the time is up. The number
    of trees depends on the speed of the machine; the trees themselves do not.

    Parameters
    ----------
    seconds : float
        Time limit of a fit in seconds, a positive number.

    Raises
    ------
    LimitError
        By `fit`, if the time is up before the first tree is begun; the estimator is then left as it was. If there are trees of
        an earlier fit with ``warm_start=True``, these are kept, and the fit ends without an error after one more tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> from dforest.callback import TimeLimit
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10**6, random_state=0).set_callbacks(TimeLimit(0.5)).fit(X, y)
    >>> 0 < forest.n_estimators_ < 10**6
    True
    """

    def __init__(self, seconds):
        super().__init__()
        seconds = check_number("seconds", seconds, Real, "positive finite numbers", lambda n: 0 < n < inf)
        self.seconds = seconds

    def open(self, estimator, context):
        return monotonic() + self.seconds

    def on_fit_task_begin(self, estimator, context):
        if is_step(context) and context.task_id == 0 and monotonic() >= self.record(estimator):
            raise LimitError(
                f"TimeLimit(seconds={self.seconds}) was reached before the first tree was begun, so that there is nothing to "
                "keep; a longer time is needed"
            )

    def on_fit_task_end(self, estimator, context):
        return is_step(context) and monotonic() >= self.record(estimator)


class MemoryLimit(FitRecords):
    """A callback that refuses a fit that would take too much memory, and ends one that takes more than expected.

    Before the first tree of a forest, or of boosted trees, the memory is estimated, as by the method `estimate_memory`. While
    trees are grown, their nodes are counted; if there are so many more than expected that another tree or iteration would exceed
    the limit, the fit ends with the trees grown so far. As memory is not measured, which tree is the last depends on the trees
    alone. With `refit` or `validation_folds`, this is about the trees that all rows grow; what the search for their number takes
    before, `estimate_memory` tells.

    Parameters
    ----------
    max_bytes : int
        Memory limit of a fit in bytes, beside the X and y that it is given, from 1 on. It is the host's memory that counts. If
        several processes fit together, it is the limit of the process that has this callback, which holds for its own rows.

    Raises
    ------
    MemoryError
        By `fit`, before the first tree is begun, if the estimate for all trees exceeds the limit; or, on a device with memory of
        its own, if the estimate of that exceeds what the device has. The message shows the estimate piece by piece; the
        estimator is left as it was. If several processes fit together, all of them raise it.
    ValueError
        By `fit`, if the estimator is none of dforest's forests or boosted trees.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dforest import RandomForestClassifier
    >>> from dforest.callback import MemoryLimit
    >>> X, y = load_digits(return_X_y=True)
    >>> RandomForestClassifier(100).set_callbacks(MemoryLimit(512 * 2**20)).fit(X, y).n_estimators_
    100
    """

    needs = ("memory limit",)

    def __init__(self, max_bytes):
        super().__init__()
        max_bytes = check_number("max_bytes", max_bytes, Integral, "integers from 1", lambda n: n >= 1)
        self.max_bytes = max_bytes

    def open(self, estimator, context):
        growth_of(estimator, self)
        return {}

    def on_growth_begin(self, estimator):
        """Refuse the fit if it would take too much."""
        growth = growth_of(estimator, self)
        memory = growth.memory
        if memory.total > self.max_bytes:
            raise MemoryError(
                f"a fit of {growth.n_wanted} trees would take about {memory.total / 2**20:.1f} MiB, more than "
                f"MemoryLimit(max_bytes={self.max_bytes}) allows, which is {self.max_bytes / 2**20:.1f} MiB. Fewer trees or "
                f"threads, {growth.limits} make it smaller:\n{memory}"
            )
        memory_of_device = growth.device_bytes
        if memory.on_device > memory_of_device:
            raise MemoryError(
                f"a fit of {growth.n_wanted} trees would take about {memory.on_device / 2**20:.1f} MiB of the memory of the "
                f"device {growth.device_name!r}, which has {memory_of_device / 2**20:.1f} MiB. Fewer rows or columns, or lower "
                f"max_bins, make it smaller:\n{memory}"
            )
        n_nodes = (2 * memory.n_leaves - 1) * (growth.n_wanted - growth.n_before)
        self.record(estimator).update(beside=memory.data + memory.codes + memory.scratch, of_node=memory.forest / n_nodes)

    def on_tree_resumed(self, estimator):
        """Another tree of a checkpoint counts; returns whether the fit is to end with it."""
        return self._is_reached(estimator)

    def on_fit_task_end(self, estimator, context):
        return is_step(context) and self._is_reached(estimator)

    def _is_reached(self, estimator):
        """Whether one more tree would exceed the limit."""
        known, growth = self.record(estimator), growth_of(estimator, self)
        n_trees = growth.n_trees - growth.n_before
        expected = known["of_node"] * growth.n_nodes * (n_trees + growth.n_together) / n_trees
        return known["beside"] + expected > self.max_bytes
